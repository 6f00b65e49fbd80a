r"""Errors of the laws of U U^T and of a single layer against networks trained with torch.

Three things come between one layer under SGD and Theorem 4.1, and each is measured by leaving out
the others: the step, as gradient descent on the second moment S of the data has
:math:`(I - c\,\mathrm{lr}\,S)^t` for :math:`e^{-c\,\mathrm{lr}\,S t}`; the sample, whose S is not
diag(a); the noise, as each batch has an S of its own.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from studies.plan import Plan
from studies.study import Numbers, Study, plain_numbers, plain_rows, recorded_rows, rows_of_shares
from swingby.errors import InvalidInput
from swingby.lab.figures.evidence import Kind
from swingby.lab.networks.setting import Data, Floats, Integers, Network, Optimizer, Setting
from swingby.lab.networks.training import train
from swingby.lab.networks.training_clock import clock
from swingby.lab.networks.training_points import training_points
from swingby.lab.networks.training_run import TrainingRun
from swingby.lab.networks.weights import gram, initial_weights
from swingby.simulate.series import first_reach
from swingby.theory import numbers
from swingby.theory.one_layer import one_layer_output
from swingby.theory.share import Share, share_of
from swingby.theory.task import SIMTask
from swingby.verify.predict import predict
from swingby.verify.predict_batch import BatchSchedule, predict_batch
from swingby.verify.predict_swing import predict_swing_batch

#: Successive signals differ by such factors, and the largest and smallest by at most the last.
RATIOS, LARGEST_RATIO = (1.3, 4.0), 8.0
#: eta a_max.
STEP_SIZES = (0.002, 0.05)
#: Recorded steps of a run: enough for a parabola through a peak.
RECORDED = 1500
#: The leading law is as predicted where every half-time of a run is so near.
NEAR = 0.1
LEADING = f"leading half-times to {NEAR:.0%}"
#: Smallest swing of the test loss that counts, as a part of its start.
SWING = 0.01
#: Runs that are trained together, and how much longer than until their last predicted half-time:
#: a stage that comes later than that is missed, and counts as an error.
GROUP, MARGIN = 50, 1.25


@dataclass(frozen=True, eq=False)
class Starts:
    """Settings of U U^T that are trained together, and U (n, d, d') of each."""

    settings: tuple[Setting, ...]
    U: Floats

    def __len__(self) -> int:
        return len(self.settings)

    @functools.cached_property
    def W0(self) -> Floats:
        """U U^T of each."""
        return gram(self.U)

    @property
    def signal(self) -> Floats:
        """The signal of each, shape (n, d)."""
        return np.stack([setting.task.signal for setting in self.settings])

    @property
    def eta(self) -> Floats:
        """Time of the theory per step, shape (n,)."""
        return np.array([clock(setting) for setting in self.settings])

    @property
    def law(self) -> BatchSchedule:
        """The stage law for gradient descent."""
        return predict_batch(self.signal, self.W0, self.eta, "gd")

    @property
    def leading(self) -> BatchSchedule:
        """Its leading order, the closed form."""
        return predict_batch(self.signal, self.W0, self.eta, "gd", accuracy="leading")


def draw_starts(
    count: int,
    d: int,
    rng: np.random.Generator | int | None = None,
    *,
    omega: tuple[float, float] = (1e-8, 1e-5),
    width: int | None = None,
) -> Starts:
    r"""Draw settings of 0 steps and Gaussian U(0) with :math:`\mathbb E\,w_{ii}(0) = \omega`.

    Successive signals differ by factors between 1.3 and 4 and all by at most 8, in random order;
    eta a_max lies between 0.002 and 0.05, omega is uniform in its logarithm, and the losses of the
    paper and of torch take turns.
    """
    source = numbers.random_source(rng)
    columns = width or d
    network = Network(2, columns, bias=False, symmetric=True)
    settings, factors = [], []
    for k in range(count):
        signal = _signal(d, source)
        scale = math.exp(source.uniform(math.log(omega[0]), math.log(omega[1])))
        optimizer = Optimizer("gd", lr=1.0, loss=("paper", "torch")[k % 2])
        task = SIMTask.from_signal(signal.tolist())
        unscaled = Setting(task, Data(None), network, optimizer, steps=0, precision="float64")
        rate = source.uniform(*STEP_SIZES) / float(signal.max()) / clock(unscaled)
        settings.append(replace(unscaled, optimizer=replace(optimizer, lr=rate)))
        factors.append(source.standard_normal((d, columns)) * math.sqrt(scale / columns))
    return Starts(tuple(settings), np.stack(factors))


def _signal(d: int, rng: np.random.Generator) -> Floats:
    """Between 1 and at most :data:`LARGEST_RATIO`."""
    while True:
        ratios = rng.uniform(*RATIOS, d - 1)
        if np.prod(ratios) <= LARGEST_RATIO:
            return rng.permuted(np.cumprod(np.concatenate([[1.0], ratios])))


def groups(half_times: ArrayLike) -> Iterator[tuple[list[int], int]]:
    """Places of runs of similar duration, by what is predicted, and the steps that they take."""
    times = np.asarray(half_times)
    last = np.where(np.isfinite(times), times, 0).max(axis=1)
    order = np.argsort(last).tolist()
    for first in range(0, len(order), GROUP):
        chosen = order[first : first + GROUP]
        yield chosen, math.ceil(MARGIN * float(last[chosen[-1]])) + 20


class LawErrors(NamedTuple):
    """Trained networks against the law. Made by :func:`law_errors`."""

    #: abs(predicted / observed - 1) of every stage predicted to be learned; inf if it was not.
    half_times: Floats
    #: Predicted less observed, in steps.
    off: Floats
    #: Of each run: concepts foreseen as trapped; trapped in the prediction alone; in the run alone.
    traps: Integers
    #: Errors of time and height for every minor entry with a peak after the start, (n, 2).
    peaks: Floats
    #: Of each run: whether it has as many descents as predicted; another number; is undecided.
    descents: Integers
    #: Error of the step of every turn, of runs with as many turns as predicted.
    turns: Floats
    #: Of each run, and of each run against the prediction for the next: the largest number of steps
    #: off, the largest error of the leading law, whether descents are as predicted (nan: open).
    runs: Floats
    controls: Floats


def law_errors(starts: Starts, *, gradient: str = "autograd") -> LawErrors:
    """Train U U^T from starts and compare with the law.

    >>> found = law_errors(draw_starts(2, 2, 0), gradient="written")
    >>> bool((found.half_times < 0.005).all())
    True
    """
    errors = []
    for chosen, steps in groups(starts.law.half_times):
        settings = tuple(replace(starts.settings[k], steps=steps) for k in chosen)
        errors.append(_compare(Starts(settings, starts.U[chosen]), gradient))
    return join_errors(errors)


def join_errors(parts: Sequence[LawErrors]) -> LawErrors:
    """The errors of several sets of runs together."""
    return LawErrors(*(np.concatenate(same) for same in zip(*parts, strict=True)))


def _compare(starts: Starts, gradient: str) -> LawErrors:
    record = max(1, starts.settings[0].total_steps // RECORDED)
    run = train(starts.settings, start=[[U] for U in starts.U], record=record, gradient=gradient)
    law = starts.law
    predicted, observed, leading = law.half_times, run.jacobian_half_times, starts.leading
    learned = ~law.trapped & np.isfinite(predicted)
    off = (predicted - observed)[learned]
    # A concept may be there before the first step; then nothing but 0 is right.
    error = np.where(np.isnan(off), np.inf, np.abs(off) / np.maximum(observed[learned], 1.0))
    missing = np.isnan(observed)
    traps = [law.trapped & missing, law.trapped & ~missing, learned & missing]
    points = np.stack([setting.task.test_point for setting in starts.settings])
    swing = predict_swing_batch(
        starts.signal, starts.W0, starts.eta, "gd", test_point=points, swing=SWING
    )
    same, open_ = swing.descents == run.descents(SWING), swing.undecided
    descents = np.stack([same & ~open_, ~same & ~open_, open_], axis=1).astype(np.int64)

    def judged(shift: int) -> Floats:
        """The worst of each run against the prediction for another."""
        full, closed = (np.roll(each.half_times, shift, axis=0) for each in (law, leading))
        counts = np.roll(np.where(open_, np.nan, swing.descents), shift)
        right = np.where(np.isnan(counts), np.nan, counts == run.descents(SWING))
        off, error = np.abs(full - observed), np.abs(closed / np.maximum(observed, 1.0) - 1)
        return np.stack([_worst(off, full), _worst(error, closed), right], axis=1)

    peaks: list[tuple[float, float]] = []
    turns: list[float] = []
    for network in range(len(starts)):
        _compare_curve(starts, run, network, peaks, turns)
    return LawErrors(
        error,
        off,
        np.stack([cases.sum(axis=1) for cases in traps], axis=1),
        np.array(peaks).reshape(-1, 2),
        descents,
        np.array(turns),
        judged(0),
        judged(1),
    )


def _worst(error: Floats, predicted: Floats) -> Floats:
    """The largest error of a run over concepts with a half-time; inf where none was observed."""
    errors = np.where(np.isnan(error), np.inf, error)
    return np.asarray(np.where(np.isfinite(predicted), errors, 0.0).max(axis=1))


def _compare_curve(
    starts: Starts, run: TrainingRun, network: int, peaks: list[Any], turns: list[float]
) -> None:
    task = starts.settings[network].task
    schedule = predict(task, starts.W0[network], eta=starts.eta[network], dynamics="gd")
    predicted = {(event.entry, event.event): event.time for event in schedule.events}
    for (entry, name), time in predicted.items():
        # A peak at the end of the run is not over yet.
        if name == "peak" and 0 < time < 0.98 * run.steps[-1]:
            step, height = peak_of(run.steps, np.abs(run.jacobian[network, :, entry[0], entry[1]]))
            # Seen at the start alone, there is no peak to be near.
            late = abs(time / step - 1) if step else math.inf
            peaks.append((late, abs(predicted[entry, "peak height"] / height - 1)))
    foretold = [event for event in schedule.events if event.event.startswith("loss ")]
    # The law's list has the swings of a thousandth, and neither start nor end.
    turns_seen = run.extrema(network, 1e-3)[1:-1]
    if [event.event for event in foretold] == [f"loss {kind}" for _, _, kind in turns_seen]:
        pairs = zip(foretold, turns_seen, strict=True)
        turns += [abs(event.time / step - 1) for event, (step, _, _) in pairs]


def peak_of(steps: Integers, values: Floats) -> tuple[float, float]:
    """Where a recorded curve is largest, by the parabola through three neighbours.

    >>> peak_of(np.arange(0, 50, 5), -(np.arange(0, 50, 5) - 21.0) ** 2)
    (21.0, 0.0)
    """
    peak = int(values.argmax())
    neighbours = slice(max(peak - 1, 0), peak + 2)
    if len(set(np.diff(steps[neighbours]))) > 1:
        return float(steps[peak]), float(values[peak])
    return _vertex(
        steps[neighbours].astype(np.float64), values[neighbours], peak - neighbours.start
    )


class OutputErrors(NamedTuple):
    """Output at the test point less Theorem 4.1. Made by :func:`output_errors`."""

    #: Largest error over steps and concepts, in units of mu, with the signal of the task; (r,).
    population: Floats
    #: The same with the second moment of the run's own sample in place of diag(a).
    own: Floats
    #: Observed less predicted step at which the output passes half of mu; (r, s).
    half_times: Floats
    own_half_times: Floats
    #: The observed ones.
    times: Floats


def output_errors(settings: Sequence[Setting]) -> OutputErrors:
    """Train one layer without bias on data that is not rotated, and compare with Theorem 4.1.

    >>> optimizer = Optimizer("gd", lr=0.001, loss="paper")
    >>> one = Setting(SIMTask([1, 2]), Data(None), Network(bias=False), optimizer, steps=3000)
    >>> bool(output_errors([one]).population[0] < 0.001)
    True
    """
    for setting in settings:
        bare = (
            not setting.network.bias and not setting.data.rotation and setting.task.rotation is None
        )
        if setting.network.depth != 1 or not bare:
            required = "must be one layer without bias on data that is not rotated"
            raise InvalidInput("settings", setting, required, "Theorem 4.1")
    run = train(settings)
    columns_ = zip(*(_output_error(run, network) for network in range(len(run))), strict=True)
    population, own_moment_, half_times, own_half_times = map(np.array, columns_)
    return OutputErrors(population, own_moment_, half_times, own_half_times, run.half_times)


def _output_error(run: TrainingRun, network: int) -> tuple[float, float, Floats, Floats]:
    setting = run.settings[network]
    mu = setting.task.test_point[: setting.task.s]
    # In float32 the network starts from the rounded weights.
    W0 = initial_weights(setting)[0].astype(setting.precision).astype(np.float64)
    steps = np.arange(setting.total_steps + 1)
    law = one_layer_output(setting.task, W0, steps * clock(setting))[:, : len(mu)]
    own_law = law if setting.data.infinite else _own_output(setting, W0, steps)[:, : len(mu)]
    off, halves = [], []
    for law_output in (law, own_law):
        off.append(float(np.abs((run.output[network, :, -1] - law_output[run.steps]) / mu).max()))
        first = [first_reach(column, 0.5) for column in (law_output / mu).T]
        halves.append(run.half_times[network] - first)
    return off[0], off[1], halves[0], halves[1]


def own_moment(setting: Setting) -> Floats:
    """Second moment of the sample of a setting, in the coordinates of the concepts."""
    points, _ = training_points(setting)
    return np.asarray(points.T @ points / len(points))


def _own_output(setting: Setting, W0: Floats, steps: Integers) -> Floats:
    r"""Theorem 4.1 with that moment: :math:`\hat x + (W(0) - I) e^{-S t} \hat x`."""
    values, basis = np.linalg.eigh(own_moment(setting))
    point = setting.task.test_point
    decay = np.exp(-np.outer(steps * clock(setting), values))
    remaining = (decay * (basis.T @ point)) @ basis.T
    return np.asarray(point + remaining @ (W0 - np.eye(len(point))).T)


def _autograd_cells(plan: Plan) -> Mapping[str, Any]:
    rng = np.random.default_rng(plan["seed"])
    return {
        f"omega {name}, d = {d}": (
            f"omega {name}, d = {d}",
            draw_starts(plan["runs"], d, rng, omega=tuple(ends)),
        )
        for name, ends in plan["omega"].items()
        for d in plan["dimensions"]
    }


def _autograd_rows(cell: Any) -> list[dict[str, Any]]:
    """U U^T trained by torch from random weights, against the stage law and its leading order."""
    name, starts = cell
    errors = law_errors(starts)
    shares, other = _autograd_shares(errors.runs), _autograd_shares(errors.controls)
    controls = {statement: share.value for statement, share in other.items()}
    *full, leading = shares.items()
    # Training steps the recursion that the full law integrates; the leading law is a formula.
    rows = [*rows_of_shares("autograd", name, Kind.NUMERICS, dict(full), controls)]
    return plain_rows(
        [*rows, *rows_of_shares("autograd", name, Kind.LAW, dict([leading]), controls)]
    )


def _autograd_shares(runs: Floats) -> dict[str, Share]:
    off, leading, descents = runs.T
    return {
        "half-times to the step": share_of(off <= 1),
        "number of descents": share_of(descents[~np.isnan(descents)] == 1),
        LEADING: share_of(leading <= NEAR),
    }


def _autograd_canary(plan: Plan) -> Numbers:
    _, starts = _autograd_cells(plan)[plan["canary"]]
    first = Starts(starts.settings[: plan["canary_runs"]], starts.U[: plan["canary_runs"]])
    errors = law_errors(first)
    return {
        "crossing": plain_numbers(first.law.crossing),
        "leading": plain_numbers(first.leading.crossing),
        "off": plain_numbers(errors.off),
        "peaks": plain_numbers(errors.peaks),
        "descents": plain_numbers(errors.descents),
    }


STUDY = Study(
    "U U^T trained by automatic differentiation",
    _autograd_cells,
    _autograd_rows,
    _autograd_canary,
    recorded_rows,
)


def _vertex(t: Floats, values: Floats, index: int) -> tuple[float, float]:
    """Vertex of the parabola through three neighbouring points on an even sample."""
    if not 0 < index < len(t) - 1:
        return float(t[index]), float(values[index])
    before, top, behind = values[index - 1 : index + 2].tolist()
    bend = before - 2 * top + behind
    move = 0.5 * (before - behind) / bend if bend else 0.0
    return float(t[index] + move * (t[1] - t[0])), float(top - 0.25 * (before - behind) * move)
