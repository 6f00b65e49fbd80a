r"""What the theory of U U^T expects of other networks.

**Two layers.** While :math:`W_2 W_1` is small, :math:`\dot W_1 = W_2^\top A` and
:math:`\dot W_2 = A W_1^\top`. So :math:`U = (W_1^\top + W_2)/2` grows as :math:`e^{At}` and
:math:`(W_1^\top - W_2)/2` decays as :math:`e^{-At}`, both at eta = c lr. Once anything is large
enough to matter, :math:`W_1^\top = W_2 = U` has been reached, and the network is one that started
from :math:`U(0)`. From there, with :math:`W = U U^\top`,

.. math:: \dot W_2 = (A - W A)\, U, \qquad \dot W_1^\top = (A - A W)\, U :

their mean is :math:`\dot U = B U`, that of (D.2), but they differ by the commutator
:math:`A W - W A`. So the two layers stay equal only as far as W is diagonal: half-times, which
depend on the pivots, carry over; the transient of a pair (k, j) splits into a small
:math:`w_{jk}` and a large :math:`w_{kj}` (:func:`tail`).

**ReLU.** A neuron answers to cluster p only where its weight on concept p is positive, and there
it stays so only if its growing mode is. So W(0) is taken from U with every other entry set to
zero, three in eight of them left. **GELU** passes half of each neuron while it is small: W(0) is
half of the growing mode, and its clock at first runs at half of c lr.

**Deeper networks** have no growing mode: they grow by powers of themselves, and the Jacobian at
the start is not positive semidefinite. Of them the theory can only be asked what is typical of a
Gaussian W(0) of the same size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from swingby.errors import InvalidInput
from swingby.training.clock import loss_factor
from swingby.training.points import directions
from swingby.training.setting import Setting
from swingby.training.starts import gram
from swingby.training.weights import initial_weights, turned
from swingby.verify.predict_batch import predict_batch
from swingby.verify.predict_swing import predict_swing_batch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_MODES = {"linear": "growing mode", "relu": "rectified mode", "gelu": "half mode"}
#: Gaussian W(0) drawn where a network has none of its own, for one that is trained.
TYPICAL = 20


@dataclass(frozen=True, eq=False)
class Expected:
    """What the theory says of some networks. Made by :func:`expect`.

    Parameters
    ----------
    source : str
        What was taken as W(0): "own W(0)", "growing mode", "rectified mode" (ReLU), "half mode"
        (GELU) or "typical W(0)".
    half_times : ndarray of shape (n, s)
        Steps on the clock of two linear layers; nan where the law is undecided or a concept
        trapped.
    order : ndarray of int, shape (n, s)
        Concepts as they are learned.
    descents : ndarray of int, shape (m,)
        Of the test loss; -1 where undecided. m is n, or more for what is typical.
    transient : ndarray of shape (m,)
        Largest minor entry.
    """

    source: str
    half_times: Floats
    order: NDArray[np.int64]
    descents: NDArray[np.int64]
    transient: Floats

    @property
    def typical(self) -> bool:
        """Whether descents and transients are those of other, like W(0)."""
        return self.source == "typical W(0)"


def expect(settings: Sequence[Setting], swing: float) -> Expected:
    """What the theory says of networks before they are trained.

    Parameters
    ----------
    settings : sequence of Setting
        Of one network and one task, without rotation.
    swing : float
        Smallest swing of the test loss that counts, as a part of its start.

    Raises
    ------
    InvalidInput
        For one layer, which Theorem 4.1 describes, for AdamW, and for settings that differ in more
        than seed and numbers.
    """
    if not settings or not all(isinstance(one, Setting) for one in settings):
        raise InvalidInput("settings", settings, "must be at least one Setting")
    if len({(one.task.dim, one.task.s, one.network, one.width) for one in settings}) > 1:
        raise InvalidInput("settings", f"{len(settings)} settings", "must be of one network")
    first = settings[0]
    network, task = first.network, first.task
    if network.depth < 2 or first.optimizer.kind == "adamw":
        shown = f"depth {network.depth}, {first.optimizer.kind}"
        raise InvalidInput("settings", shown, "must have two layers or more, and sgd or gd")
    eta = np.array([_step(one) for one in settings])
    signal = np.stack([one.task.signal for one in settings])
    s = task.s
    if network.symmetric:
        source, W0 = "own W(0)", np.stack([gram(_weights(one)[0]) for one in settings])
    elif network.depth == 2:
        W0 = np.stack([growing_mode(one) for one in settings])
        source = _MODES[network.activation]
    else:
        source, W0 = "typical W(0)", _typical(settings)
        eta, signal = np.repeat(eta, TYPICAL), np.repeat(signal, TYPICAL, axis=0)
    law = predict_batch(signal, W0, eta, "gd")
    usable = np.isfinite(law.crossing) & ~law.undecided
    half_times = np.where(usable, law.crossing, np.nan)[:, :s]
    if source == "typical W(0)":
        middle = np.nanmedian(half_times.reshape(len(settings), TYPICAL, s), axis=1)
        half_times = np.broadcast_to(np.median(middle, axis=0), middle.shape)
    found = predict_swing_batch(
        signal,
        W0,
        eta,
        "gd",
        test_point=np.broadcast_to(task.test_point, signal.shape),
        swing=swing,
    )
    descents = found.descents
    if source == "typical W(0)":
        # Undecided counts lie at the threshold: as often the smaller number as the larger one.
        either = np.where(np.arange(len(W0)) % 2, found.most_descents, found.least_descents)
        descents = np.where(found.undecided, either, descents)
    return Expected(
        source=source,
        half_times=np.array(half_times),
        order=np.argsort(half_times, axis=1, kind="stable"),
        descents=descents,
        transient=found.transient,
    )


def _step(setting: Setting) -> float:
    rate = setting.optimizer.lr * loss_factor(setting)
    return 2 * rate if setting.network.symmetric else rate


def _weights(setting: Setting) -> list[Floats]:
    """Initial weights in the coordinates of the concepts, without biases."""
    frame, d = directions(setting), setting.task.dim
    found = turned(setting, initial_weights(setting), frame, d)
    return [one for one in found if one.ndim == 2]


def growing_mode(setting: Setting) -> Floats:
    r"""W(0) of two layers: :math:`U U^\top` with :math:`U = (W_1^\top + W_2)/2`.

    With ReLU only entries of U remain that are positive where :math:`W_1^\top` is; with GELU it
    is half of :math:`U U^\top`.

    Parameters
    ----------
    setting : Setting
        With two layers that are not symmetric.

    Raises
    ------
    InvalidInput
        For other networks.
    """
    if setting.network.depth != 2 or setting.network.symmetric:
        raise InvalidInput("setting", setting, "must have two layers W2 W1 to have a growing mode")
    first, second = _weights(setting)
    U = (first.T + second) / 2
    if setting.network.activation == "relu":
        U = U * ((first.T > 0) & (U > 0))
    return gram(U) / (2 if setting.network.activation == "gelu" else 1)


def _typical(settings: Sequence[Setting]) -> Floats:
    """Gaussian U U^T whose entries are as large as those of the Jacobian at the start."""
    first = settings[0]
    squares = []
    for one in settings:
        product = np.eye(one.task.dim)
        for weight in _weights(one):
            product = weight @ product
        squares.append(float(np.square(product).mean()))
    omega = math.sqrt(float(np.mean(squares)))
    d, width = first.task.dim, first.width
    rng = np.random.default_rng([first.seed, len(settings), d, width])
    U = rng.standard_normal((len(settings) * TYPICAL, d, width)) * math.sqrt(omega / width)
    return gram(U)


def tail(strong: float, weak: float) -> tuple[float, float]:
    r"""How the transient of a pair ends in two layers, once the stronger concept is learned.

    With :math:`w_{kk} = 1`, entries :math:`p = w_{jk}` and :math:`q = w_{kj}` obey
    :math:`\dot p = a_j q - a_k p` and :math:`\dot q = a_j (p - q)`; what lasts is the slower mode.
    In U U^T both decay at :math:`(a_k - a_j)/2`.

    Parameters
    ----------
    strong, weak : float
        Signals a_k > a_j > 0.

    Returns
    -------
    rate : float
        Of the decay, per unit of eta times steps.
    ratio : float
        w_jk / w_kj.

    Raises
    ------
    InvalidInput

    Examples
    --------
    >>> rate, ratio = tail(4.0, 1.0)
    >>> round(rate, 4), round(ratio, 4)
    (0.6972, 0.3028)
    """
    if not 0 < weak < strong < math.inf:
        raise InvalidInput("strong, weak", (strong, weak), "must be signals, the larger one first")
    total = strong + weak
    rate = (total - math.sqrt(total * total - 4 * weak * (strong - weak))) / 2
    return rate, weak / (strong - rate)
