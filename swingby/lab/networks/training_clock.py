"""The clock of a training run: time of the theory that passes in a step, by the loss it takes."""

from __future__ import annotations

from swingby.errors import InvalidInput
from swingby.lab.field_checks import instance
from swingby.lab.networks.setting import Setting


def loss_factor(setting: Setting) -> float:
    r"""Factor of the trained loss in units of (2.1): ``mse_loss`` is 2/d times as large.

    Parameters
    ----------
    setting : Setting

    Returns
    -------
    float

    References
    ----------
    (2.1).

    Examples
    --------
    >>> from swingby.theory.task import SIMTask
    >>> loss_factor(Setting(SIMTask([1, 2], dim=64)))
    0.03125
    """
    instance(setting, "setting", Setting)
    return 1.0 if setting.optimizer.loss == "paper" else 2.0 / setting.task.dim


def clock(setting: Setting) -> float:
    r"""Time of the theory that passes in one step of gradient descent.

    With the factor c of :func:`loss_factor`, gradient descent is an Euler step of

    * one layer: :math:`\dot W = (I - W) A`, the time of Theorem 4.1, at c lr;
    * :math:`U U^\top`: (D.2), in which :math:`\dot U = B U`, at eta = 2 c lr, since the loss
      depends on U twice;
    * :math:`W_2 W_1` with :math:`W_1^\top = W_2 = U`: again :math:`\dot U = B U`, at eta = c lr,
      if :math:`U U^\top` is diagonal. Otherwise :math:`W_1^\top` and :math:`W_2` part by terms of
      order :math:`(U U^\top)^2`, and the clock is that of their growth while they are small.

    Deeper networks have no such clock: while small they grow by powers of themselves.

    Parameters
    ----------
    setting : Setting

    Returns
    -------
    float
        eta of one step.

    Raises
    ------
    InvalidInput
        For a network of depth 3 or more, an activation, or an optimizer other than plain
        gradient descent: with momentum or decay :func:`swingby.predict_network` has the law, and
        with Adam there is none.

    References
    ----------
    (2.1), (4.1), Theorem 4.1, (D.2).

    Examples
    --------
    >>> from swingby.lab.networks import Network, Optimizer
    >>> from swingby.theory.task import SIMTask
    >>> U = Network(depth=2, bias=False, symmetric=True)
    >>> task, steps = SIMTask([1, 2], dim=64), Optimizer(lr=0.5, loss="paper")
    >>> [clock(Setting(task, network=one, optimizer=steps)) for one in (Network(), U, Network(2))]
    [0.5, 1.0, 0.5]
    >>> clock(Setting(task, optimizer=Optimizer(lr=0.5, loss="torch")))
    0.015625
    """
    instance(setting, "setting", Setting)
    network = setting.network
    if network.depth > 2 or not network.linear:
        summary = f"depth {network.depth}, {network.activation}"
        required = "must be linear with one or two layers to run on the clock of the theory"
        raise InvalidInput("network", summary, required, "(D.2)")
    if reason := why_no_law(setting):
        required = f"must be plain sgd or gd to run on the clock of the theory: {reason}"
        raise InvalidInput("optimizer", setting.optimizer.kind, required)
    return rate_of(setting)


def why_no_law(setting: Setting) -> str:
    """Why the theory says nothing of the steps of an optimizer, or ""."""
    rule = setting.optimizer
    if rule.adaptive:
        return f"{rule.kind} divides each entry by its own size, so no law of growth holds"
    if rule.plain:
        return ""
    words = f"momentum={rule.momentum:g}, weight_decay={rule.weight_decay:g}"
    return f"swingby.predict_network(weights, task, lr=..., {words}) has a law of these steps"


def rate_of(setting: Setting) -> float:
    """The clock of any network; deeper networks get that of two layers."""
    rate = setting.optimizer.lr * loss_factor(setting)
    return 2.0 * rate if setting.network.symmetric else rate
