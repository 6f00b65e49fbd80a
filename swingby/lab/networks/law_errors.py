r"""The law where it is made for the network: U U^T, one layer, and forecasts from a first stage.

Three things come between one layer under SGD and Theorem 4.1, and each is measured by leaving out
the others: the step, as gradient descent on the second moment S of the data has
:math:`(I - c\,\mathrm{lr}\,S)^t` for :math:`e^{-c\,\mathrm{lr}\,S t}`; the sample, whose S is not
diag(a); the noise, as each batch has an S of its own. A forecast cuts a run once its first concept
is learned: its logit rises by :math:`g_{kk}` a step, a clock on which the stage law goes on from
W(T). Beside it stand each concept alone, by the logistic curve through its own :math:`w_{kk}(T)`,
and times in the ratio of the signals, :math:`t_k = t_1 a_1 / a_k`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from swingby.errors import InvalidInput
from swingby.lab.networks.setting import (
    Booleans,
    Data,
    Floats,
    Integers,
    Network,
    Optimizer,
    Setting,
)
from swingby.lab.networks.training import train
from swingby.lab.networks.training_clock import clock
from swingby.lab.networks.training_points import training_points
from swingby.lab.networks.training_run import TrainingRun
from swingby.lab.networks.weights import initial_weights
from swingby.simulate.outcome import first_reach
from swingby.theory import numbers
from swingby.theory.one_layer import one_layer_output
from swingby.theory.task import SIMTask
from swingby.verify.predict import predict
from swingby.verify.predict_batch import BatchSchedule, predict_batch
from swingby.verify.predict_swing import predict_swing_batch
from swingby.verify.schedule import vertex

if TYPE_CHECKING:
    import pandas as pd

#: Successive signals differ by such factors, and the largest and smallest by at most the last.
RATIOS, LARGEST_RATIO = (1.3, 4.0), 8.0
#: eta a_max.
STEP_SIZES = (0.002, 0.05)
#: Recorded steps of a run: enough for a parabola through a peak.
RECORDED = 1500
#: Smallest swing of the test loss that counts, as a part of its start.
SWING = 0.01
#: Level of the first concept at which a run is cut, and between which its growth is measured.
CUT, LEVELS = 0.6, (0.05, 0.5)
#: Most that W(T) may differ from its transpose, as a part of its largest minor entry.
LARGEST_SKEW = 0.5
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
        return np.stack([one.task.signal for one in self.settings])

    @property
    def eta(self) -> Floats:
        """Time of the theory per step, shape (n,)."""
        return np.array([clock(one) for one in self.settings])

    @property
    def law(self) -> BatchSchedule:
        """The stage law for gradient descent."""
        return predict_batch(self.signal, self.W0, self.eta, "gd")


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
        plain = Setting(task, Data(None), network, optimizer, steps=0, precision="float64")
        rate = source.uniform(*STEP_SIZES) / float(signal.max()) / clock(plain)
        settings.append(replace(plain, optimizer=replace(optimizer, lr=rate)))
        factors.append(source.standard_normal((d, columns)) * math.sqrt(scale / columns))
    return Starts(tuple(settings), np.stack(factors))


def _signal(d: int, rng: np.random.Generator) -> Floats:
    """Between 1 and at most :data:`LARGEST_RATIO`."""
    while True:
        ratios = rng.uniform(*RATIOS, d - 1)
        if np.prod(ratios) <= LARGEST_RATIO:
            return rng.permuted(np.cumprod(np.concatenate([[1.0], ratios])))


def gram(U: Floats) -> Floats:
    """U U^T, symmetric to the last bit."""
    W = U @ U.swapaxes(-1, -2)
    return np.asarray((W + W.swapaxes(-1, -2)) / 2)


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


def law_errors(starts: Starts, *, gradient: str = "autograd") -> LawErrors:
    """Train U U^T from given starts and compare with the law.

    >>> found = law_errors(draw_starts(2, 2, 0), gradient="written")
    >>> bool((found.half_times < 0.005).all())
    True
    """
    parts = []
    for chosen, steps in groups(starts.law.half_times):
        settings = tuple(replace(starts.settings[k], steps=steps) for k in chosen)
        parts.append(_compare(Starts(settings, starts.U[chosen]), gradient))
    return join_errors(parts)


def join_errors(parts: Sequence[LawErrors]) -> LawErrors:
    """The errors of several sets of runs as one."""
    return LawErrors(*(np.concatenate(same) for same in zip(*parts, strict=True)))


def _compare(starts: Starts, gradient: str) -> LawErrors:
    record = max(1, starts.settings[0].total_steps // RECORDED)
    run = train(starts.settings, start=[[U] for U in starts.U], record=record, gradient=gradient)
    law = starts.law
    said, seen = law.half_times, run.jacobian_half_times
    learned = ~law.trapped & np.isfinite(said)
    off = (said - seen)[learned]
    # A concept may be there before the first step; then nothing but 0 is right.
    error = np.where(np.isnan(off), np.inf, np.abs(off) / np.maximum(seen[learned], 1.0))
    missing = np.isnan(seen)
    traps = [law.trapped & missing, law.trapped & ~missing, learned & missing]
    points = np.stack([one.task.test_point for one in starts.settings])
    swing = predict_swing_batch(
        starts.signal, starts.W0, starts.eta, "gd", test_point=points, swing=SWING
    )
    same, open_ = swing.descents == run.descents(SWING), swing.undecided
    descents = np.stack([same & ~open_, ~same & ~open_, open_], axis=1).astype(np.int64)
    peaks: list[tuple[float, float]] = []
    turns: list[float] = []
    for place in range(len(starts)):
        _compare_curve(starts, run, place, peaks, turns)
    return LawErrors(
        error,
        off,
        np.stack([one.sum(axis=1) for one in traps], axis=1),
        np.array(peaks).reshape(-1, 2),
        descents,
        np.array(turns),
    )


def _compare_curve(
    starts: Starts, run: TrainingRun, place: int, peaks: list[Any], turns: list[float]
) -> None:
    task = starts.settings[place].task
    schedule = predict(task, starts.W0[place], eta=starts.eta[place], dynamics="gd")
    said = {(event.entry, event.event): event.time for event in schedule.events}
    for (entry, name), time in said.items():
        # A peak at the end of the run is not over yet.
        if name == "peak" and 0 < time < 0.98 * run.steps[-1]:
            step, seen = peak_of(run.steps, np.abs(run.jacobian[place, :, entry[0], entry[1]]))
            # Seen at the start alone, there is no peak to be near.
            late = abs(time / step - 1) if step else math.inf
            peaks.append((late, abs(said[entry, "peak height"] / seen - 1)))
    wanted = [event for event in schedule.events if event.event.startswith("loss ")]
    # The law's list has the swings of a thousandth, and neither start nor end.
    found = run.extrema(place, 1e-3)[1:-1]
    if [event.event for event in wanted] == [f"loss {kind}" for _, _, kind in found]:
        pairs = zip(wanted, found, strict=True)
        turns += [abs(event.time / step - 1) for event, (step, _, _) in pairs]


def peak_of(steps: Integers, values: Floats) -> tuple[float, float]:
    """Where a recorded curve is largest, by the parabola through three neighbours.

    >>> peak_of(np.arange(0, 50, 5), -(np.arange(0, 50, 5) - 21.0) ** 2)
    (21.0, 0.0)
    """
    place = int(values.argmax())
    near = slice(max(place - 1, 0), place + 2)
    if len(set(np.diff(steps[near]))) > 1:
        return float(steps[place]), float(values[place])
    return vertex(steps[near].astype(np.float64), values[near], place - near.start)


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
    for one in settings:
        plain = not one.network.bias and not one.data.rotation and one.task.rotation is None
        if one.network.depth != 1 or not plain:
            required = "must be one layer without bias on data that is not rotated"
            raise InvalidInput("settings", one, required, "Theorem 4.1")
    run = train(settings)
    found = zip(*(_output_error(run, place) for place in range(len(run))), strict=True)
    population, own, half_times, own_half_times = map(np.array, found)
    return OutputErrors(population, own, half_times, own_half_times, run.half_times)


def _output_error(run: TrainingRun, place: int) -> tuple[float, float, Floats, Floats]:
    setting = run.settings[place]
    mu = setting.task.test_point[: setting.task.s]
    # In float32 the network starts from the rounded weights.
    W0 = initial_weights(setting)[0].astype(setting.precision).astype(np.float64)
    steps = np.arange(setting.total_steps + 1)
    law = one_layer_output(setting.task, W0, steps * clock(setting))[:, : len(mu)]
    own = law if setting.data.infinite else _own_output(setting, W0, steps)[:, : len(mu)]
    off, halves = [], []
    for said in (law, own):
        off.append(float(np.abs((run.output[place, :, -1] - said[run.steps]) / mu).max()))
        first = [first_reach(one, 0.5) for one in (said / mu).T]
        halves.append(run.half_times[place] - first)
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
    left = (decay * (basis.T @ point)) @ basis.T
    return np.asarray(point + left @ (W0 - np.eye(len(point))).T)


_FORECASTS = ("law", "alone", "ratio")


@dataclass(frozen=True, eq=False)
class Forecast:
    """Half-times of the concepts that come after the first. Made by :func:`forecast`."""

    #: Recorded step up to which the run was looked at, (r,); nan where there was nothing to see.
    cut: Floats
    #: The concept that was learned by then, (r,); -1 where there is none.
    first: Integers
    #: Time of the theory per step, from the growth of that concept, (r,).
    eta: Floats
    #: Forecasts in steps, (r, s); nan for the first concept and where there is none.
    law: Floats
    alone: Floats
    ratio: Floats
    #: The half-times, nan for the first concept and where a concept is never learned.
    observed: Floats
    #: Whether the law is made for the network, U U^T without noise, (r,). Two linear layers obey
    #: it as long as W is nearly diagonal; for everything else `law` is an extrapolation.
    within: Booleans
    #: Why there is no forecast, "" where there is one for every concept.
    reason: tuple[str, ...]

    def errors(self, name: str) -> Floats:
        """abs(forecast - observed) / (observed - cut), (r, s), of "law", "alone" or "ratio".

        Only of concepts of which all three exist: the three are compared on the same.
        """
        if name not in _FORECASTS:
            raise InvalidInput("name", name, "must be law, alone or ratio")
        left = self.observed - self.cut[:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            found = np.abs(getattr(self, name) - self.observed) / left
        known = np.isfinite(self.law) & np.isfinite(self.alone) & np.isfinite(self.ratio)
        return np.asarray(np.where(known & (left > 0), found, np.nan))

    def worst(self, name: str) -> Floats:
        """The largest error over the concepts of a run, (r,); nan where there is none."""
        errors = self.errors(name)
        found = np.where(np.isnan(errors), -np.inf, errors).max(axis=1)
        return np.where(np.isnan(errors).all(axis=1), np.nan, found)

    @property
    def best(self) -> Booleans:
        """Where the largest error of a run is smaller for the law than for both others, (r,)."""
        law, alone, ratio = map(self.worst, _FORECASTS)
        return (law < alone) & (law < ratio)

    @property
    def judged(self) -> Booleans:
        """Runs with a forecast that can be compared with what happened, shape (r,)."""
        return np.asarray(np.isfinite(self.worst("law")))

    def to_frame(self) -> pd.DataFrame:
        """One row per network and later concept."""
        import pandas as pd

        run, concept = np.nonzero(np.arange(self.law.shape[1]) != self.first[:, None])
        columns: dict[str, Any] = {"network": run, "concept": concept + 1, "cut": self.cut[run]}
        columns |= {name: getattr(self, name)[run, concept] for name in (*_FORECASTS, "observed")}
        reason = [self.reason[k] for k in run]
        return pd.DataFrame({**columns, "within": self.within[run], "reason": reason})


def forecast(run: TrainingRun) -> Forecast:
    """Forecast the later half-times of every network from its run up to the cut, and no further.

    Steps have to be recorded densely enough to see the first concept rise to :data:`CUT`.

    >>> U = Network(2, bias=False, symmetric=True, initialization="gaussian", scale=0.01)
    >>> optimizer = Optimizer("gd", lr=0.01, loss="paper")
    >>> task, steps = SIMTask([1, 2]), 1500
    >>> run = train(Setting(task, Data(None), U, optimizer, steps=steps, precision="float64"))
    >>> bool(abs(forecast(run).errors("law")[0, 0]) < 0.01)
    True
    """
    if not isinstance(run, TrainingRun):
        raise InvalidInput("run", run, "must be a TrainingRun")
    *fields, reasons = zip(*(_forecast_one(run, place) for place in range(len(run))), strict=True)
    cut, first, eta, law, alone, ratio, observed = map(np.array, fields)
    within = [
        one.network.symmetric and one.data.infinite and one.optimizer.kind == "gd"
        for one in run.settings
    ]
    return Forecast(cut, first, eta, law, alone, ratio, observed, np.array(within), reasons)


def _forecast_one(run: TrainingRun, place: int) -> tuple[Any, ...]:
    """The fields of the forecast for one network, but for `within`."""
    seen = run.jacobian_half_times[place]
    stage = _first_stage(run, place)
    if isinstance(stage, str):
        nothing = np.full(len(seen), np.nan)
        return math.nan, -1, math.nan, nothing, nothing, nothing, nothing, stage
    at, which, eta = stage
    W, cut = run.jacobian[place, at], float(run.steps[at])
    signal = run.settings[place].task.signal[: len(seen)]
    later, reason = _continued(W, signal, eta, which)
    growth = np.where(signal > 0, 2 * np.log1p(eta * signal), np.nan)
    now = np.diagonal(W)
    with np.errstate(divide="ignore", invalid="ignore"):
        alone = cut - np.log(now / (1 - now)) / growth
        ratio = seen[which] * signal[which] / signal
    others = np.arange(len(seen)) != which
    times = (np.where(others, one, np.nan) for one in (cut + later, alone, ratio, seen))
    return cut, which, eta, *times, reason


def _first_stage(run: TrainingRun, place: int) -> tuple[int, int, float] | str:
    """Place of the cut in the recorded steps, the first concept and the clock; or why not."""
    major = np.diagonal(run.jacobian[place], axis1=1, axis2=2)
    reached = (major >= CUT).any(axis=1)
    if not reached.any():
        return "no concept is learned"
    at = int(reached.argmax())
    which = int(major[at].argmax())
    if at == 0:
        return "a concept is learned before the first step"
    if (np.delete(major[at], which) >= 0.5).any():
        return "undecided: another concept is learned by the cut, stages overlap"
    rise = major[: at + 1, which]
    below = np.flatnonzero(rise < LEVELS[0])
    begin = int(below[-1]) + 1 if below.size else 0
    shown = np.arange(begin, at + 1)
    shown = shown[rise[shown] <= LEVELS[1]] if (rise[shown] <= LEVELS[1]).sum() > 2 else shown
    values = rise[shown]
    if len(shown) < 3 or not (np.diff(values) > 0).all():
        return "undecided: too few recorded steps while the first concept rises"
    signal = float(run.settings[place].task.signal[which])
    return at, which, _clock(run.steps[shown].astype(np.float64), values, signal)


def _clock(steps: Floats, values: Floats, signal: float) -> float:
    """Time of the theory per step, from the rise of one major entry."""
    logit = np.log(values / (1 - values))
    h = 0.0
    # The logit itself rises along a straight line for small steps only; h is eta a.
    for _ in range(4):
        line = logit + _koenigs(values, h)
        h = min(math.expm1(float(np.polyfit(steps, line, 1)[0]) / 2), 0.5)
    return h / signal


def _koenigs(w: Floats, h: float) -> Floats:
    """u(w) with logit(w) + u(w) advancing by 2 log(1 + h) a step of w (1 + h (1 - w))^2, to h^4."""
    log_rest = np.log1p(-np.minimum(w, 1 - 1e-6))
    third = 21 * w * w / 16 - 9 * w / 8 + 0.75 * log_rest
    return np.asarray(h * (1.5 * log_rest + h * (1.25 * w - 0.5 * log_rest + h * third)))


def _continued(W: Floats, signal: Floats, eta: float, which: int) -> tuple[Floats, str]:
    """The stage law from W(T) on: steps after the cut, and why it does not apply, or ""."""
    nothing = np.full(len(signal), np.nan)
    minor = np.abs(W - np.diag(np.diagonal(W))).max()
    skew = np.abs(W - W.T).max() / 2
    if minor > 0 and skew > LARGEST_SKEW * minor:
        return nothing, "undecided: W is not symmetric"
    symmetric = (W + W.T) / 2
    if float(np.linalg.eigvalsh(symmetric)[-1]) >= 0.95:
        return nothing, "undecided: an eigenvalue of W is already near 1"
    if not 0 < eta * float(signal.max()) < 0.5:
        return nothing, "undecided: steps are too large for the law"
    law = predict_batch(signal, symmetric, eta, "gd")
    found = np.where(law.undecided | law.trapped, np.nan, law.crossing)
    open_ = np.isnan(found)
    open_[which] = False
    if open_.any():
        shown = ", ".join(str(k + 1) for k in np.flatnonzero(open_))
        return found, f"undecided for concept {shown}: W has no positive pivot left for it"
    return found, ""
