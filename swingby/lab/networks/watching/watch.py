"""`watch`: forecasts of when a network learns each component of its data, in its training loop."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from swingby.errors import named
from swingby.simulate.on_torch import load_torch
from swingby.theory import numbers

if TYPE_CHECKING:
    from swingby.lab.networks.watching.watcher import Watch


@named
def watch(
    model: Any,
    optimizer: Any,
    X: Any,
    Y: Any,
    *,
    loss: Any = "mse",
    at: Iterable[int] = (),
    level: float = 0.5,
    schedule: Any = None,
    every: int = 1,
    steps: int = 100_000,
    share: float = 0.012,
) -> Watch:
    r"""Watch a training loop of torch, to know when its network learns each component of its data.

    The components are the principal components of the best linear fit of Y by X. The outputs have
    a share :math:`a_k` of each, which can be read off any network; a component is learned at the
    first step with :math:`a_k` at least `level`. One hook on ``optimizer.step`` says what has been
    learned, and forecasts what has not, in one of three grades:

    *law*
        A chain of linear layers without biases, trained by SGD (momentum, Nesterov, weight decay)
        on a multiple of the squared error: right to the bar.
    *copy*
        Any network, trained by SGD, Adam or AdamW: coarse copies of this very training, in longer
        and longer steps, three times, extrapolated. No theory, and no evidence for one.
    *none*
        Nothing is forecast, for a reason that is named: Dropout, BatchNorm, RMSprop, Adam in
        minibatches, ...

    Learning rate, momentum, decay, the multiple of the loss, clipping and minibatches are read from
    the run; clipped minibatches are not forecast, and none before their multiple is known. A change
    of the learning rate voids what was forecast, and it is forecast again.
    The run is left as it was, to the last bit.

    Parameters
    ----------
    model : torch.nn.Module
    optimizer : torch.optim.Optimizer
        Of the parameters of the model.
    X, Y : tensor or array
        All training inputs (n, ...) and targets (n, q), on the device of the model.
    loss : callable, or {"mse", "sum", "half"}
        The loss of (outputs, targets) as in the loop; a multiple is found out. "mse" is torch's
        mean over all entries, "sum" its sum, "half" half the squared error, mean over points.
    at : whole numbers
        Steps of the optimizer after which forecasts are made, beside the one at the start.
    level : float
        Share from which a component counts as learned, between 0 and 1.
    schedule : callable or scheduler of torch, optional
        The learning rate of the step after `t` steps, as a function of t (a number for the first
        group, or one for each), or a scheduler.
    every : int
        Steps of the optimizer between two of the scheduler: the batches of an epoch, often.
    steps : int
        How long the training may be: nothing is forecast beyond.
    share : float
        Part of `steps` that gradients for a forecast by copies may amount to.

    Returns
    -------
    Watch
        ``grade`` and its ``reason``; ``learned`` in steps, nan where not yet; ``forecasts``;
        ``forecast()`` makes one; ``print``, ``plot()`` and ``to_frame()`` show all; ``close()``
        ends it, as does the end of a ``with`` block.

    Raises
    ------
    InvalidInput
        For arguments that are swapped or do not fit together, with the line to type.

    Notes
    -----
    Errors of forecasts: half the width of bars that are meant for 95 %. In minibatches they hold
    batches drawn with replacement; reshuffled epochs are quieter.

    Examples
    --------
    >>> import torch
    >>> generator = torch.Generator().manual_seed(0)
    >>> X = torch.randn(64, 3, generator=generator, dtype=torch.float64)
    >>> Y = X * torch.tensor([3.0, 2.0, 1.0])
    >>> model = torch.nn.Sequential(
    ...     torch.nn.Linear(3, 8, bias=False), torch.nn.Linear(8, 3, bias=False)
    ... ).double()
    >>> for layer in model:
    ...     _ = torch.nn.init.normal_(layer.weight, std=0.02, generator=generator)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.03)
    >>> with watch(model, optimizer, X, Y) as watched:
    ...     for _ in range(400):
    ...         optimizer.zero_grad()
    ...         torch.nn.functional.mse_loss(model(X), Y).backward()
    ...         optimizer.step()
    >>> watched.grade
    'law'
    >>> bool((watched.forecasts[0].half_times == watched.learned).all())
    True
    """
    load_torch()
    from swingby.lab.networks.watching import watch_arguments
    from swingby.lab.networks.watching.components import components
    from swingby.lab.networks.watching.observer import Observer
    from swingby.lab.networks.watching.watcher import Watch

    X, Y = watch_arguments.checked_data(model, optimizer, X, Y)
    call = watch_arguments.checked_loss(loss)
    watch_arguments.checked_schedule(schedule, optimizer)
    level = watch_arguments.checked_level(level)
    share = watch_arguments.checked_share(share)
    inputs, targets = (entry.detach().cpu().double().numpy() for entry in (X, Y))
    centred = any(entry.ndim == 1 for entry in model.parameters())
    flat = (entry.reshape(len(entry), -1) for entry in (inputs, targets))
    data = components(*flat, centred=centred)
    observer = Observer(watch_arguments.unwrapped(model), X, Y, call, data)
    watch_arguments.check_outputs(observer)
    return Watch(
        observer,
        optimizer,
        at=watch_arguments.checked_steps(at),
        level=level,
        steps=numbers.whole(steps, "steps", 1),
        share=share,
        schedule=schedule,
        every=numbers.whole(every, "every", 1),
    )
