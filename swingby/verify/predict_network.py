"""Prediction of the half-times of a deep linear network from its layers at the start."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from swingby.errors import InvalidInput, named
from swingby.report import Drawn, Grid
from swingby.report.entry_pictures import entry_name
from swingby.report.number_text import as_typed, scientific, steps_text
from swingby.report.result_formats import ReadOnly
from swingby.theory import numbers
from swingby.theory.growth import require_accuracy
from swingby.theory.numbers import Floats
from swingby.theory.task import SIMTask, as_task
from swingby.theory.verdict import Verdict
from swingby.verify.schedule import given_text, json_ready

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


@dataclass(frozen=True)
class NetworkSchedule(Drawn, ReadOnly):
    """Predicted half-times of a linear network. Made by :func:`predict_network`."""

    task: SIMTask
    #: Learning rate, for the loss (4.1).
    lr: Fraction
    #: Of the input, of the hidden layers, and of the output: depth + 1 numbers.
    widths: tuple[int, ...]
    #: "full" or "leading".
    accuracy: str
    #: First step at which w_kk is at least 1/2; inf where a_k = 0, nan where undecided; (d,).
    half_times: Floats
    #: Real step at which w_kk crosses 1/2, and the half-width of its bar; inf out of range.
    crossing: Floats
    error: Floats
    #: Concepts as they are learned, counted from 0; those that are not are left out.
    order: tuple[int, ...]
    #: *holds* where every half-time has a bar and no two bars of neighbours overlap; else
    #: *undecided*, and why.
    verdict: Verdict
    reasons: tuple[str, ...]

    @property
    def depth(self) -> int:
        """Number of layers L."""
        return len(self.widths) - 1

    def __repr__(self) -> str:
        times = ", ".join(f"{value:.6g}" for value in self.half_times)
        lr = as_typed(self.lr)
        return f"<NetworkSchedule depth {self.depth}, lr={lr}: half_times=({times})>"

    def to_grid(self) -> Grid:
        """A row for each concept, in the order of learning."""
        widths = " x ".join(map(str, self.widths))
        facts = [f"lr = {as_typed(self.lr)}", f"depth {self.depth}", f"widths {widths}"]
        line = given_text(self.task.exact_signal, *facts, f"{self.accuracy} accuracy")
        rows = []
        for k in (*self.order, *(k for k in range(self.task.dim) if k not in self.order)):
            time, error = self.half_times[k], self.error[k]
            bar = "out of range" if math.isinf(error) else steps_text(error, 2)
            time_text = "undecided" if math.isnan(time) else steps_text(time, 0)
            rows.append([entry_name(k, k), time_text, bar if math.isfinite(time) else "-"])
        below = [f"{self.verdict}{': ' if self.reasons else ''}{'; '.join(self.reasons)}"]
        columns = ("entry", ">half at step", ">+-")
        return Grid("Predicted half-times", columns, rows, above=[line], below=below)

    def to_frame(self) -> Any:
        """One row per concept: signal, half_time, crossing, error."""
        import pandas

        columns = {"half_time": self.half_times, "crossing": self.crossing, "error": self.error}
        return pandas.DataFrame({"signal": self.task.signal, **columns})

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, ready for JSON; inf and nan as text."""
        return {
            "signal": [str(value) for value in self.task.exact_signal],
            "lr": scientific(self.lr, 15),
            "widths": list(self.widths),
            "accuracy": self.accuracy,
            **{
                name: [*map(json_ready, getattr(self, name))]
                for name in ("half_times", "crossing", "error")
            },
            "order": list(self.order),
            "verdict": str(self.verdict),
            "reasons": list(self.reasons),
        }


@named
def predict_network(
    weights: Sequence[ArrayLike], task: SIMTask | Sequence[Any], *, lr: Any, accuracy: str = "full"
) -> NetworkSchedule:
    r"""Predict when a linear network :math:`W = W_L \cdots W_1` learns each concept.

    The training is gradient descent with rate lr on the loss (4.1),
    :math:`\tfrac12 \lVert (W - I) A^{1/2} \rVert_F^2`, with the exact gradient. (The mean square
    over the d outputs is 2/d times that loss: there, pass 2/d times the learning rate.) Half-times
    are those of the modified flow of the layers, integrated to second order in lr
    (:mod:`swingby.theory.law.deep_law`). Depth 1 has a closed form.

    Parameters
    ----------
    weights : sequence of L arrays
        The layers at the start, the one applied first first: of shapes (m, d), (m', m), ...,
        (d, m''), all hidden widths at least d. No biases.
    task : SIMTask or sequence of numbers
        The task, or its signal a; of dimension d.
    lr : number or text
    accuracy : {"full", "leading"}
        ``"leading"``: homogeneous flow and deflation, whose cost does not depend on the scale of
        the weights; a few percent where they are small, with a bar that was calibrated on trials.

    Returns
    -------
    NetworkSchedule
        ``half_times`` and ``error`` in steps. ``error`` is the difference to a coarser
        integration to one order less in lr, and the sizes of what both leave out; it is inf where
        lr times the fastest rate of the flow is above 1/2.

    Raises
    ------
    InvalidInput
        For layers that do not fit together, hidden layers narrower than d, numbers that are not
        finite, a product of layers below 1e-200, or lr not positive.

    References
    ----------
    The law is ours; the loss is (4.1). Derivation, range and failures: docs/deep.md.

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
    """
    task = as_task(task)
    require_accuracy(accuracy)
    step = numbers.positive(lr, "lr", "(4.1)")
    h = numbers.within_float(step, "lr", "(4.1)")
    layers = _layers(weights, task.dim)
    signal = np.asarray(task.signal, dtype=np.float64)
    if len(layers) == 1:
        crossing, error, reasons = _one_layer(layers[0], signal, h)
    else:
        crossing, error, reasons = _deep(layers, signal, h, accuracy)
    order = tuple(int(k) for k in np.argsort(crossing, kind="stable") if np.isfinite(crossing[k]))
    for i, j in itertools.pairwise(order):
        if np.isfinite(error[[i, j]]).all() and crossing[j] - crossing[i] <= error[i] + error[j]:
            reasons.append(f"the order of concepts {i + 1} and {j + 1} is undecided: bars overlap")
    return NetworkSchedule(
        task=task,
        lr=step,
        widths=(task.dim, *(layer.shape[0] for layer in layers)),
        accuracy=accuracy,
        half_times=np.ceil(crossing),
        crossing=crossing,
        error=error,
        order=order,
        verdict=Verdict.UNDECIDED if reasons else Verdict.HOLDS,
        reasons=tuple(reasons),
    )


def _layers(weights: Any, dim: int) -> list[Floats]:
    """The layers as arrays; InvalidInput if they do not make a network."""
    if hasattr(weights, "parameters"):
        listed = "must be a list of matrices: [layer.weight for layer in model]"
        raise InvalidInput("weights", type(weights).__name__, listed)
    listed = "must be a sequence of matrices, one a layer"
    if isinstance(weights, (str, bytes, dict)) or not hasattr(weights, "__len__"):
        raise InvalidInput("weights", weights, listed)
    if not len(weights):
        raise InvalidInput("weights", "no layer", listed)
    layers, wide = [], dim
    for index, weight in enumerate(weights):
        name = f"weights[{index}]"
        layer = numbers.real_array(weight, name)
        if layer.ndim != 2 or layer.shape[1] != wide:
            requirement = f"must be a matrix of {wide} columns"
            raise InvalidInput(name, f"shape {layer.shape}", requirement)
        wide = layer.shape[0]
        if index == len(weights) - 1 and wide != dim:
            raise InvalidInput(name, f"{wide} rows", f"must have {dim} rows, as the last layer")
        if wide < dim:
            need = f"must have at least {dim} rows: a narrower network cannot learn all concepts"
            raise InvalidInput(name, f"{wide} rows", need)
        layers.append(np.array(layer, dtype=np.float64))
    sizes = [float(np.abs(layer).max()) for layer in layers]
    if min(sizes) > 0 and sum(map(math.log10, sizes)) < -200:
        raise InvalidInput("weights", sizes, "must have a product of sizes above 1e-200")
    if max(sizes) > 1e6:
        raise InvalidInput("weights", max(sizes), "must be at most 1e6 in size")
    return layers


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
