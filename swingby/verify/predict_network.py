"""Prediction of the half-times of a linear network from its layers at the start, on any data."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from swingby.errors import MISSING, InvalidInput, named
from swingby.theory import numbers
from swingby.theory.growth import require_accuracy
from swingby.theory.law.descent_flow import Descent
from swingby.theory.law.rounding import rounding_bars
from swingby.theory.linear_modes import LinearModes, data_modes, task_modes
from swingby.theory.numbers import Booleans, Floats
from swingby.theory.task import SIMTask, as_task
from swingby.theory.verdict import Verdict
from swingby.verify import network_input
from swingby.verify.network_schedule import NetworkSchedule

#: lr times the fastest rate of the flow (its `sharpness`) up to which bars are given.
_LARGEST_STEP = 0.5
#: Tolerance of the integration that is reported, and of the one that it is compared with.
_TOLERANCES = (1e-6, 1e-5)
#: A wait of so many steps is not predicted: floats hardly count them.
_LONGEST = 1e15
#: Levels at which the leading order cuts chains, to see how much that matters: the law says 1.
_LEVELS = (0.5, 2.0)
#: Bars of the leading order at depth L, in units of what these change, stage by stage: L - 1 times
#: this. Calibrated so that Wilson's interval of the share of networks covered lies above 95 % in
#: every cell of studies/deep_networks.py with 100 bars or more (120 runs each, of seeds 31 and
#: 32: 119 or all are covered). It is judged on others.
_SPREAD = 20.0
#: Largest norm of W(0) for bars of the leading order.
_SMALL = 0.1
#: Layers below this are lost in the roundings of a chain of size 1.
_FAINT = 1e-8
#: Gradients that a prediction may cost, unless it is told otherwise: a second or two of small ones.
GRADIENTS = 150_000
#: The bar of the law for any data, beside the difference to a coarser path: of the time; in steps.
_RELATIVE, _ABSOLUTE = 1e-6, 1e-3
_CHAOTIC = "lr is near instability, where rounding grows into other half-times"
#: Modes whose sigma are nearer to each other than this have directions by rounding alone.
_TIED = 1e-9


class _Times(NamedTuple):
    """Half-times in real steps with their bars, and what is said of them; each (m,)."""

    first: Floats
    error: Floats
    retained: Floats
    settles: Floats
    reasons: list[str]


@named
def predict_network(
    weights: Sequence[ArrayLike],
    task: SIMTask | Sequence[Any] | None = None,
    *,
    X: ArrayLike | None = None,
    Y: ArrayLike | None = None,
    lr: Any,
    momentum: Any = 0,
    nesterov: bool = False,
    weight_decay: Any = 0,
    loss: str = "half",
    batch: int | None = None,
    replacement: bool = False,
    accuracy: str = "full",
    budget: int = GRADIENTS,
) -> NetworkSchedule:
    r"""Predict when a linear network :math:`W = W_L \cdots W_1` learns each mode of its data.

    The training is gradient descent as in torch's SGD. With data, a mode is a principal component
    of the best linear fit, :math:`K S^{-1/2} = \sum_k \sigma_k u_k x_k^\top` with
    :math:`S = X^\top X/n` and :math:`K = Y^\top X/n`. The share of it that the network has learned
    is

    .. math:: a_k = u_k^\top W d_k/\sigma_k, \qquad d_k = S^{1/2} x_k,

    and the mode is learned at the first step with :math:`a_k \ge 1/2`. With a task, K = S = A, the
    modes are its concepts, and a_k is :math:`w_{kk}`.

    For large steps, half-times come from the map itself; for small steps, from its modified flow of
    third order (:mod:`swingby.theory.law.descent_path`). For gradient descent on a task they come
    from :mod:`swingby.theory.law.deep_law`; depth 1 has a closed form.

    Parameters
    ----------
    weights : sequence of L arrays
        The initial layers, in the order in which they are applied: of shapes (m, p), (m', m), ...,
        (q, m''), without biases. Tensors, a ``torch.nn.Sequential`` of ``Linear(...,
        bias=False)``, its state dict, or a file of it (.safetensors, .npz) are accepted too.
    task : SIMTask or sequence of numbers
        The task, or its signal a; of dimension d = p = q. Without a task, pass X and Y.
    X, Y : array-like of shape (n, p) and (n, q)
        The samples. A nonzero mean is a mode too: subtract the mean if you do not want it.
    lr : number or text
    momentum, nesterov, weight_decay
        As in ``torch.optim.SGD``.
    loss : {"half", "mse", "sum"}
        ``"half"``: half the squared error, summed over outputs and averaged over samples.
        ``"mse"``: torch's mean over all entries, 2/q times that. ``"sum"``: torch's sum. A task has
        the loss (4.1), :math:`\tfrac12 \lVert (W - I) A^{1/2} \rVert_F^2`.
    batch : int, optional
        Size of minibatches. Half-times are then means over the orders of samples, and bars are two
        standard deviations over these orders (:mod:`swingby.theory.law.batch_noise`).
        Where the noise is not of first order, they are undecided. It need not divide n: bars hold a
        smaller last batch, and one that is dropped.
    replacement : bool
        Whether batches are drawn with replacement. If not, each epoch is reshuffled, as torch's
        DataLoader does, and bars are lower bounds: *at least*.
    accuracy : {"full", "leading"}
        ``"leading"``, for gradient descent on a task: homogeneous flow and deflation. Its cost does
        not depend on the scale of the weights. For small weights it is accurate to a few percent,
        with a bar that was calibrated on trials.
    budget : int
        Largest number of gradients. Modes that are not decided within it are undecided.

    Returns
    -------
    NetworkSchedule
        ``half_times`` and ``error`` in steps, the mode of the largest sigma first; ``explained``,
        ``never``, ``settles``, ``retained``, ``lost``. ``error`` is the difference to a coarser
        integration of one order less in lr, plus the sizes of the terms that both neglect.

    Raises
    ------
    InvalidInput
        For layers that do not fit together or to the data, biases, activations, numbers that are
        not finite, samples beyond 1e50 or below 1e-50 in size, a product of layers below 1e-200, lr
        that is not positive, a momentum outside [0, 1), another loss, or replacement without batch.

    References
    ----------
    The law is ours. Modes: Saxe, McClelland and Ganguli, ICLR 2014 (white inputs); Baldi and
    Hornik, Neural Networks 2, 1989. Derivation, range and failures: docs/own_network.md and
    docs/deep.md; the loss of a task is (4.1).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> layers = [0.1 * rng.normal(size=shape) for shape in ((5, 3), (5, 5), (3, 5))]
    >>> schedule = predict_network(layers, SIMTask.from_signal([4, 2, 1]), lr=0.01)
    >>> schedule.order, str(schedule.verdict)
    ((0, 1, 2), 'holds')
    >>> bool((schedule.error < 0.5).all())
    True

    Samples of one's own, and torch's mean square:

    >>> X = rng.normal(size=(100, 4))
    >>> Y = X @ np.diag([3, 2, 1, 0.5])[:, :3] + 0.1 * rng.normal(size=(100, 3))
    >>> layers = [0.01 * rng.normal(size=shape) for shape in ((5, 4), (3, 5))]
    >>> schedule = predict_network(layers, X=X, Y=Y, lr=0.02, momentum=0.9, loss="mse")
    >>> schedule.half_times.tolist(), schedule.explained.round(2).tolist()
    ([32.0, 47.0, 78.0], [0.67, 0.27, 0.06])
    """
    matrices = network_input.read_weights(weights)
    require_accuracy(accuracy)
    gradients = numbers.whole(budget, "budget", 1)
    step = network_input.read_rate(lr, "(4.1)" if task is not None else "")
    h = numbers.within_float(step, "lr")
    m = network_input.read_momentum(momentum, nesterov)
    decay = network_input.read_decay(weight_decay)
    plain = not m and not decay
    samples = None
    if task is None:
        if X is None and Y is None:
            words = "must be given, or samples: predict_network(weights, X=X, Y=Y, lr=...)"
            raise InvalidInput("task", MISSING, words)
        samples = network_input.read_samples(X, Y, matrices)
        modes, n = data_modes(*samples), len(samples[0])
        if accuracy == "leading":
            raise InvalidInput("accuracy", accuracy, "must be full where samples are given")
    else:
        task = _read_task(task, X, Y, loss, batch)
        modes, n = task_modes(np.asarray(task.signal, dtype=np.float64)), 1
        if accuracy == "leading" and not plain:
            words = "must be full where there is momentum or weight decay"
            raise InvalidInput("accuracy", accuracy, words)
    q, p = modes.K.shape
    layers = network_input.read_layers(matrices, p, q, narrow=accuracy == "full")
    size = n if batch is None else network_input.read_batch(batch, n)
    # An epoch's last batch may be smaller, of which a sum is smaller, too.
    points = size if replacement else n / math.ceil(n / size)
    if replacement and batch is None:
        words = "must come with the size of minibatches: batch=10, replacement=True"
        raise InvalidInput("replacement", replacement, words)
    rule = Descent(h, network_input.loss_multiple(loss, points, q), m, bool(nesterov), decay)
    wide = min(min(layer.shape) for layer in layers) >= len(modes.sigma)
    if task is not None and plain and wide:
        times = _of_task(layers, np.asarray(task.signal, dtype=np.float64), h, accuracy)
    else:
        spacing = max(map(numbers.spacing, matrices))
        times = _of_data(layers, modes, rule, gradients, spacing)
        times = _with_rounding(times, layers, spacing)
        if task is not None:
            times = _all_concepts(times, task, layers)
    if samples is not None and batch is not None and size < n:
        times = _in_batches(
            times, layers, samples, modes, rule, size, replacement=bool(replacement), loss=loss
        )
    order = _order(times, "concepts" if task is not None else "modes")
    signal = None if task is None else np.asarray(task.signal, dtype=np.float64)
    return NetworkSchedule(
        task=task,
        lr=step,
        widths=(p, *(layer.shape[0] for layer in layers)),
        accuracy=accuracy,
        half_times=np.ceil(times.first),
        crossing=times.first,
        error=times.error,
        order=order,
        verdict=Verdict.UNDECIDED if times.reasons else Verdict.HOLDS,
        reasons=tuple(times.reasons),
        retained=np.ceil(times.retained),
        settles=times.settles,
        explained=modes.explained if signal is None else signal / signal.sum(),
        fitted=_fitted(modes, samples),
        momentum=m,
        nesterov=bool(nesterov),
        weight_decay=decay,
        loss=loss,
        batch=size if batch is not None else None,
        replacement=bool(replacement),
        modes=modes,
        rule=rule,
        start=tuple(layers),
        budget=gradients,
    )


def _read_task(task: Any, X: Any, Y: Any, loss: object, batch: object) -> SIMTask:
    """The task; InvalidInput for what belongs to samples."""
    if X is not None or Y is not None:
        name = "X" if X is not None else "Y"
        raise InvalidInput(name, "samples", "must not be given together with a task")
    if getattr(task, "ndim", 0) == 2:
        words = "must be a SIMTask or its signal; samples have names: X=X, Y=Y"
        raise InvalidInput("task", "a matrix", words)
    if isinstance(task, (list, tuple)) and any(np.ndim(entry) == 2 for entry in task):
        words = "must come after the weights: predict_network(weights, task, lr=...)"
        raise InvalidInput("task", "matrices", words)
    if batch is not None:
        raise InvalidInput("batch", batch, "must be given with samples X and Y: a task has none")
    if loss != "half":
        words = 'must be "half" with a task, whose loss is (4.1)'
        raise InvalidInput("loss", loss, words, "(4.1)")
    return as_task(task)


def _fitted(modes: LinearModes, samples: tuple[Floats, Floats] | None) -> float:
    """The share of the mean square of Y that the best linear fit has; nan with a task."""
    if samples is None:
        return math.nan
    return float((modes.fit**2).sum() / np.square(samples[1]).mean(axis=0).sum())


def _order(times: _Times, noun: str) -> tuple[int, ...]:
    """Modes in the order of their half-times, with a reason where two bars overlap."""
    crossing, error = times.first, times.error
    order = [int(k) for k in np.argsort(crossing, kind="stable") if np.isfinite(crossing[k])]
    for i, j in itertools.pairwise([k for k in order if crossing[k] > 0]):
        if np.isfinite(error[[i, j]]).all() and crossing[j] - crossing[i] <= error[i] + error[j]:
            words = f"the order of {noun} {i + 1} and {j + 1} is undecided: bars overlap"
            times.reasons.append(words)
    return tuple(order)


def _of_task(layers: list[Floats], signal: Floats, h: float, accuracy: str) -> _Times:
    """Gradient descent on a task, all of whose concepts fit through the network."""
    if len(layers) == 1:
        crossing, error, reasons = _one_layer(layers[0], signal, h)
    else:
        crossing, error, reasons = _deep(layers, signal, h, accuracy)
    return _Times(crossing, error, crossing, np.full(len(signal), np.nan), reasons)


def _of_data(
    layers: list[Floats], modes: LinearModes, rule: Descent, gradients: int, spacing: float
) -> _Times:
    """Half-times by the fine path, with bars from the coarse one."""
    from swingby.theory.law.descent_law import amplified_rounding, mode_times
    from swingby.theory.law.descent_path import COARSE

    fine = mode_times(layers, modes, rule, gradients=gradients)
    coarse = mode_times(layers, modes, rule, accuracy=COARSE, gradients=gradients)
    first, reasons = fine.first, []
    with np.errstate(invalid="ignore"):
        error = np.abs(first - coarse.first) + _RELATIVE * first + _ABSOLUTE
    error = np.where((first == 0) | (np.isinf(first) & np.isinf(coarse.first)), 0.0, error)
    unknown, open_ = np.isnan(first), np.isnan(fine.retained)
    if unknown.any():
        reasons.append(f"half-time of mode {_concept_numbers(unknown)}: {fine.reason}")
    elif open_.any():
        reasons.append(_retained_words(open_, fine.reason))
    without = ~unknown & ~np.isfinite(error)
    if without.any():
        words = f"the coarser path differs: {coarse.reason or 'learned or never'}"
        reasons.append(f"no bar for mode {_concept_numbers(without)}: {words}")
    amplified, fleeting = amplified_rounding(
        fine, layers, modes, rule, spacing=spacing, gradients=gradients
    )
    retained = np.where(fleeting, np.nan, fine.retained)
    chaotic = ~unknown & np.isinf(amplified)
    if chaotic.any():
        reasons.append(f"no bar for mode {_concept_numbers(chaotic)}: {_CHAOTIC}")
    elif fleeting.any() and not open_.any():
        reasons.append(_retained_words(fleeting, _CHAOTIC))
    error = error + amplified
    if not np.array_equal(modes.K, modes.S):
        reasons += _tied(modes.sigma)
    error = np.where(np.isnan(error), np.inf, error)
    return _Times(first, error, retained, fine.settles, reasons)


def _tied(sigma: Floats) -> list[str]:
    """Which modes, of descending sigma, have one and the same."""
    apart = np.flatnonzero(np.abs(np.diff(sigma)) >= _TIED * sigma[0]) + 1
    groups = [group for group in np.split(np.arange(len(sigma)), apart) if len(group) > 1]
    return [
        f"modes {', '.join(f'{k + 1}' for k in group)} have the same sigma: their directions are "
        "arbitrary"
        for group in groups
    ]


def _retained_words(which: Booleans, reason: str) -> str:
    """Why it is undecided whether modes that are learned stay so."""
    verb = "is" if which.sum() == 1 else "are"
    return f"from when on mode {_concept_numbers(which)} {verb} retained: {reason}"


def _with_rounding(times: _Times, layers: list[Floats], spacing: float) -> _Times:
    """Wider bars where floats of the weights' kind lose small layers beside a learned mode."""
    small = network_input.smallest_norm(layers)
    bars = rounding_bars(times.first, np.full(len(times.first), small), spacing)
    if np.isinf(bars).any():
        kind = {2.0**-23: "float32", 2.0**-52: "float64"}.get(spacing, "floats this short")
        words = f"{kind} beside layers of {small:.2g}: what is learned after the first mode is "
        times.reasons.append(f"{words}rounding")
    return times._replace(error=times.error + bars)


def _all_concepts(times: _Times, task: SIMTask, layers: list[Floats]) -> _Times:
    """The same with the directions that have no signal, which are never learned."""
    from swingby.theory.law.layer_flow import product

    signal = np.asarray(task.signal, dtype=np.float64)
    present = signal > 0
    start = np.where(np.diagonal(product(layers)) >= 0.5, 0.0, np.inf)
    first, error, retained = start.copy(), np.zeros(len(signal)), start
    settles = np.full(len(signal), np.nan)
    for whole, those in zip((first, error, retained, settles), times, strict=False):
        whole[present] = those
    return _Times(first, error, retained, settles, times.reasons)


def _in_batches(
    times: _Times,
    layers: list[Floats],
    samples: tuple[Floats, Floats],
    modes: LinearModes,
    rule: Descent,
    batch: int,
    *,
    replacement: bool,
    loss: str,
) -> _Times:
    """Half-times in minibatches: their mean, and two deviations in their bars."""
    from swingby.theory.law.batch_noise import DEVIATIONS, batch_spread
    from swingby.theory.law.descent_law import principal

    X, Y = samples[0] @ modes.directions, samples[1]
    state, modes = principal(layers, modes)
    delay, deviation = batch_spread(
        state.layers,
        X,
        Y,
        modes,
        rule,
        times.first,
        batch=batch,
        replacement=replacement,
        summed=loss == "sum",
    )
    beyond = np.isinf(deviation)
    if beyond.any():
        words = "the noise of minibatches is too large for its theory of first order"
        times.reasons.append(f"no bar for mode {_concept_numbers(beyond)}: {words}")
    return times._replace(
        first=times.first + delay,
        error=times.error + DEVIATIONS * deviation,
        retained=times.retained + delay,
    )


def _one_layer(W: Floats, signal: Floats, h: float) -> tuple[Floats, Floats, list[str]]:
    """1 - w_kk shrinks by 1 - lr a_k a step."""
    remaining = 1 - np.diagonal(W)
    rate = h * signal
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.log(2 * remaining) / -np.log1p(-np.minimum(rate, 1.0))
    # A step with lr a_k = 1 or more ends above 1/2, whatever is left.
    steps = np.where(rate < 1, steps, 1.0)
    steps = np.where(remaining <= 0.5, 0.0, np.where(rate > 0, steps, np.inf))
    return steps, np.where(np.isfinite(steps), 1e-12 * steps, 0.0), []


def _deep(
    layers: list[Floats], signal: Floats, h: float, accuracy: str
) -> tuple[Floats, Floats, list[str]]:
    """Crossings and bars in steps, and reasons for what is undecided."""
    from swingby.theory.law import deep_law, layer_flow

    tight, loose = _TOLERANCES
    x, end = h * layer_flow.sharpness(layers, signal), _LONGEST * h
    if accuracy == "leading":
        times, reason = deep_law.leading(layers, signal, h, tight, end)
        times = times / h
        at_levels = [
            deep_law.leading(layers, signal, h, tight, end, level)[0] / h for level in _LEVELS
        ]
        changes = np.abs(np.array(at_levels) / times - 1).sum(axis=0)
        # What one stage gets wrong, the later ones inherit.
        by_time = np.argsort(times)
        error = np.empty(len(times))
        spread = _SPREAD * (len(layers) - 1)
        error[by_time] = spread * np.cumsum(changes[by_time]) * times[by_time] + 1
        error += 20 * tight * times
    else:
        times, reason = deep_law.followed(layers, signal, h, 2, tight, end)
        rough, _ = deep_law.followed(layers, signal, h, 1, loose, end)
        times, rough = times / h, rough / h
        # What the second order leaves out is of third: x^3/4 of the rate, for the time 1/rate.
        error = np.abs(times - rough) + 20 * tight * times + x**2 / 4
    learned = signal > 0
    times = np.where(learned | (times == 0), times, np.inf)
    unknown, reasons = np.isnan(times), []
    if unknown.any():
        reasons.append(f"half-time of concept {_concept_numbers(unknown)}: {reason}")
    faint = min(float(np.linalg.norm(layer, 2)) for layer in layers)
    size = float(np.linalg.norm(layer_flow.product(layers), 2))
    outside = []
    if x > _LARGEST_STEP:
        outside.append(f"lr times the fastest rate is {x:.3g}, above {_LARGEST_STEP}")
    if 0 < faint < _FAINT:
        outside.append(f"a layer has the norm {faint:.3g}, below {_FAINT}")
    if accuracy == "leading" and size > _SMALL:
        outside.append(f"the norm of W(0) is {size:.3g}, above {_SMALL}")
    reasons += [f"out of range: {cause}" for cause in outside]
    if outside:
        error = np.full(len(signal), np.inf)
    open_ = np.isnan(error) & learned
    if open_.any() and not unknown.any():
        words = "the coarser integration was given up"
        reasons.append(f"no bar for concept {_concept_numbers(open_)}: {words}")
    error = np.where(np.isnan(error), np.inf, error)
    # What starts above 1/2, and what has no signal, is no matter of the law.
    return times, np.where(np.isinf(times) | (times == 0), 0.0, error), reasons


def _concept_numbers(which: Any) -> str:
    return ", ".join(str(k + 1) for k in np.flatnonzero(which))
