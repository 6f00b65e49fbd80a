"""The schedule of a prediction: half-times, W(t) in closed form, and events.

For events that are not stage times (peaks, suppression, loss, end) the composite W(t) is sampled
where it moves, around every stage and along the decay after it, and each is refined on a second,
finer sample. The definitions are those of a run (:mod:`swingby.simulate.series`), so that both
sides of a comparison mean the same.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from swingby.errors import MISSING, InvalidInput
from swingby.report import Grid
from swingby.report.entry_pictures import draw_entries, entry_label, entry_name, finish_entries
from swingby.report.number_text import scientific, steps_text
from swingby.report.pictures import COLORS, Pictured
from swingby.report.result_formats import ReadOnly
from swingby.simulate.observation import END
from swingby.simulate.series import loss_at, turning_points
from swingby.theory import lemmas, numbers
from swingby.theory.gaussian import QUANTILES, GaussianTimes
from swingby.theory.growth import per_step
from swingby.theory.numbers import Booleans, Floats
from swingby.theory.task import SIMTask

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from swingby.theory.law.stages import Stages


@dataclass(frozen=True)
class Event:
    """One predicted event.

    `entry`: index of the entry of W, counted from 0; (-1, -1) for the test loss and the end.
    `event`: ``half``, ``0.8``, ``peak``, ``peak height``, ``suppressed``, ``loss min``, ``loss
    max`` or ``end``.
    `time`: step; the size |w_ij| for ``peak height``. inf for never, nan where nothing is
    predicted.
    `lower`, `upper`: Lemma window in the same unit, or nan.
    `error`: error bar of `time`, same unit; inf where the law is out of its range.
    `reason`: why the window is empty, or what it rests on.
    `spread`: 5 % and 95 % quantiles over Gaussian initializations, when no W(0) was given.
    """

    entry: tuple[int, int]
    event: str
    time: float
    lower: float = math.nan
    upper: float = math.nan
    error: float = math.nan
    reason: str = ""
    spread: tuple[float, float] = (math.nan, math.nan)

    @property
    def label(self) -> str:
        """``w_21`` with concepts counted from 1 as in the paper, ``loss`` or ``all``."""
        if self.entry == (-1, -1):
            return "all" if self.event == "end" else "loss"
        return entry_name(*self.entry)

    def in_whole_steps(self) -> Event:
        """As a run counts: the nearest step for extrema, the next for passages."""
        if self.event == "peak height":
            return self
        nearest = self.event == "peak" or self.event.startswith("loss")
        return replace(self, time=float((np.rint if nearest else np.ceil)(self.time)))

    @property
    def row(self) -> dict[str, Any]:
        """The event in a table."""
        names = ("event", "time", "lower", "upper", "error")
        return {"entry": self.label} | {name: getattr(self, name) for name in names}


#: The level of a major entry from which Lemma D.7 promises suppression.
SUPPRESSION_LEVEL = 0.8
#: Events in which a major entry reaches a level.
LEVELS = {"half": 0.5, f"{SUPPRESSION_LEVEL}": SUPPRESSION_LEVEL}


@dataclass(frozen=True)
class Windows:
    """Lemma windows, or the reason why there are none.

    `scale`: None where there are none; `log_start`: smallest and largest log w_kk(0) per concept;
    `reason`: which constants are in use, or which assumption fails.
    """

    scale: lemmas.Scale | None
    log_start: tuple[tuple[float, float], ...]
    signal: Floats
    edition: str
    reason: str

    def beside(self, event: Event) -> Event:
        """The event with its window, where a lemma has one for it."""
        k, level, scale = event.entry[0], LEVELS.get(event.event), self.scale
        lower = upper = math.nan
        if event.event == "peak height":
            if scale is not None:
                lower, upper = 0.0, math.exp(lemmas.log_minor_bound(scale))
        elif level is None or not self.signal[k]:
            return event
        elif scale is not None:
            (low, high), a = self.log_start[k], float(self.signal[k])
            lower = lemmas.reach_not_before(scale, a, high, math.log(level))
            upper = lemmas.reach_by(scale, a, low, level, self.edition)
        return replace(event, lower=lower, upper=upper, reason=self.reason)


def json_ready(value: Any) -> Any:
    """Ready for JSON: inf and nan as text."""
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    return value


@dataclass(frozen=True)
class Schedule(Pictured, ReadOnly):
    """Predicted stages.

    Parameters
    ----------
    task : SIMTask
    eta : Fraction
    dynamics : str
    half_times : ndarray of shape (d,)
        First step at which w_kk is at least 1/2, a whole number when W(0) was given (the real
        crossing time is ``stages.crossing``); else inf where a_k = 0, nan where trapped.
    error : ndarray of shape (d,)
        Error bar in steps; inf where the law is out of its range.
    trapped : ndarray of bool, shape (d,)
        The law's answer; `warnings` says where it is undecided.
    warnings : tuple of str
        Where and why the law is out of range or undecided.
    stages : Stages or None
        The law itself, when W(0) was given.
    gaussian : GaussianTimes or None
        The distribution, when (omega, width) were given.
    spread : ndarray of shape (2, d)
        5 % and 95 % quantiles over Gaussian initializations; equal to half_times from a W(0).
    make_windows : callable
        Makes :attr:`windows`.
    """

    task: SIMTask
    eta: Fraction
    dynamics: str
    half_times: Floats
    error: Floats
    trapped: Booleans
    warnings: tuple[str, ...]
    stages: Stages | None
    gaussian: GaussianTimes | None
    spread: Floats = field(repr=False)
    make_windows: Callable[[], Windows] = field(repr=False, compare=False)

    @functools.cached_property
    def windows(self) -> Windows:
        """The lemma windows, computed on first use, because half-times alone are cheaper."""
        return self.make_windows()

    @functools.cached_property
    def events(self) -> tuple[Event, ...]:
        """All predicted events, each with its lemma window."""
        if self.stages is None:
            events = _median_events(self)
        else:
            events = [event.in_whole_steps() for event in curve_events(self.stages)]
        return tuple(map(self.windows.beside, events))

    @property
    def window_reason(self) -> str:
        """Reason for empty lemma windows, or the constants that they use."""
        return self.windows.reason

    @property
    def crossing(self) -> Floats:
        """Real step at which each w_kk crosses 1/2, shape (d,); the median without a W(0)."""
        return self.half_times if self.stages is None else self.stages.crossing

    @property
    def undecided(self) -> Booleans:
        """Where the law cannot say whether a concept is trapped, shape (d,)."""
        if self.stages is None:
            return np.zeros(self.task.dim, dtype=bool)
        return self.stages.undecided

    @property
    def blow_up(self) -> float:
        """Step at which a negative pivot has run out of the float range; inf if none does."""
        return math.inf if self.stages is None else self.stages.blow_up

    @property
    def blow_up_error(self) -> float:
        """Error bar of `blow_up` in steps."""
        return math.inf if self.stages is None else self.stages.blow_up_error

    def evaluate(self, t: ArrayLike) -> Floats:
        """W at given steps: to about 1e-6, and minor entries to 1e-4 of their peaks.

        `t` (n,): steps; need not be whole. Returns shape (n, d, d). Raises InvalidInput if the
        schedule was made without a W(0), or a time is negative or not finite.
        """
        if self.stages is None:
            raise InvalidInput("W0", MISSING, "must be given to evaluate W(t)", "(D.2)")
        moments = np.atleast_1d(numbers.real_array(t, "t"))
        if moments.ndim != 1 or (moments < 0).any():
            raise InvalidInput("t", t, "must be one axis of steps, none negative")
        return self.stages.evaluate(moments)

    def test_loss(self, t: ArrayLike) -> Floats:
        """Test loss of the composite, |W(t) x - x|^2 / 2, at given steps t (n,)."""
        return loss_at(self.task.test_point, self.evaluate(t))

    def __repr__(self) -> str:
        times = ", ".join(f"{value:.6g}" for value in self.half_times)
        return f"<Schedule {self.dynamics}, eta={scientific(self.eta)}: half_times=({times})>"

    def to_frame(self, unit: str = "step") -> Any:
        """A pandas DataFrame, one row per event: entry, event, time, lower, upper, error.

        `unit` in {"step", "eta t"}: of all times.
        """
        import pandas

        frame = pandas.DataFrame([event.row for event in self.events])
        return in_unit(frame, unit, self.eta)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, ready for JSON; inf and nan as text."""
        return {
            "dynamics": self.dynamics,
            "eta": scientific(self.eta, 15),
            "signal": [str(value) for value in self.task.exact_signal],
            "half_times": [json_ready(value) for value in self.half_times],
            "error": [json_ready(value) for value in self.error],
            "trapped": [bool(value) for value in self.trapped],
            "events": [
                {name: json_ready(value) for name, value in event.row.items()}
                for event in self.events
            ],
            "warnings": list(self.warnings),
            "windows": self.window_reason,
        }

    def draw(self, ax: Axes) -> None:
        """Draw the predicted entries and test loss, and half-times with their bars or quantiles."""
        times = self.spread[np.isfinite(self.spread)]
        first = max(1.0, float(times.min(initial=np.inf)) / 8) if times.size else 1.0
        last = max(2 * first, 1.5 * float(times.max(initial=first)))
        start = 1.0 if self.stages is None else float(self.test_loss(np.zeros(1))[0])
        order = self.draw_curves(ax, first, last, start)
        for k, color in zip(order, itertools.cycle(COLORS), strict=False):
            ax.plot([], [], "v-", color=color, label=entry_label(k, k))
        if self.stages is not None:
            ax.plot([], [], color="black", alpha=0.3, linewidth=3.2, label="test loss / start")
        finish_entries(ax, first, last, f"predicted, {self.dynamics}")

    def draw_curves(self, ax: Axes, first: float, last: float, start: float) -> list[int]:
        """Draw the composite, its loss over `start` and half-times; returns the concepts drawn."""
        order = [k for k in self.task.order if self.task.exact_signal[k] > 0]
        if self.stages is not None:
            grid = np.unique(np.geomspace(first, last, 400))
            loss = self.test_loss(grid) / start
            draw_entries(ax, grid, self.evaluate(grid), order, loss, faint=True)
        for k, color in zip(order, itertools.cycle(COLORS), strict=False):
            time = self.half_times[k]
            if math.isfinite(time) and first <= time <= last:
                early, late = np.abs(self.spread[:, k] - time)
                width = self.error[k] if math.isfinite(self.error[k]) else 0.0
                ax.errorbar(
                    [time],
                    [0.5],
                    xerr=[[min(max(width, early), time)], [max(width, late)]],
                    color=color,
                    marker="v",
                    markersize=6,
                    markeredgecolor="white",
                    markeredgewidth=0.6,
                    capsize=2,
                    zorder=5,
                )
        return order

    def to_grid(self, unit: str = "step") -> Grid:
        """The predicted events, with their bars and the lemma windows; `unit`: step or eta t."""
        number = number_in(unit, self.eta)
        facts = [f"eta = {scientific(self.eta)}", self.dynamics]
        columns = ["entry", "event", f">{unit}", ">+-", ">lemma from", ">lemma to"]
        if self.gaussian is not None:
            facts.append(f"median over Gaussian U(0) of width {self.gaussian.width}")
            columns[3] = ">5 % to 95 %"
        below = [*self.warnings, self.window_reason]
        return Grid(
            title="Predicted stages",
            columns=columns,
            rows=[self._cells(event, number) for event in self.events],
            above=[given_text(self.task.exact_signal, *facts)],
            below=["", *(line for line in below if line)],
            minor=["lemma from", "lemma to"],
        )

    def _cells(self, event: Event, number: NumberText) -> list[str]:
        time, *window = (
            number(event.event, value) for value in (event.time, event.lower, event.upper)
        )
        bar = bar_text(event.event, event.time, event.error, number)
        if self.gaussian is not None:
            low, high = event.spread
            ends = (number(event.event, low), number(event.event, high))
            bar = "-" if math.isnan(low) else " to ".join(ends)
        elif event.event == "half" and self.stages is not None and math.isnan(event.time):
            concept = event.entry[0]
            trapped = "trapped" if self.trapped[concept] else "cut off"
            time = "undecided" if self.stages.undecided[concept] else trapped
        return [event.label, event.event, time, bar, *window]


def given_text(signal: Iterable[Any], *more: str) -> str:
    """The signal and the other arguments, in the line above a table."""
    return ", ".join([f"a = ({', '.join(map(scientific, signal))})", *more])


#: How a number of an event is written: its event, the number, digits after the point of steps.
NumberText = Callable[..., str]


def number_in(unit: str, eta: Fraction) -> NumberText:
    """Numbers of events as text, their times in a unit."""
    length = per_step(unit, eta)

    def number(event: str, value: float, digits: int = 0) -> str:
        in_eta_t = event == "peak height" or unit != "step"
        if in_eta_t and math.isfinite(value):
            return f"{value * (1.0 if event == 'peak height' else length):.4g}"
        return steps_text(value, digits)

    return number


def bar_text(event: str, value: float, error: float, number: NumberText) -> str:
    """The error bar of a predicted number, as text."""
    if not math.isfinite(value):
        return "-"
    return "out of range" if math.isinf(error) else number(event, error, 1)


def in_unit(frame: Any, unit: str, eta: Fraction) -> Any:
    """A frame of events with its times in another unit; heights and relative errors have none."""
    length = per_step(unit, eta)
    times = frame.columns.difference(["entry", "event", "relative_error", "inside"])
    frame.loc[frame["event"] != "peak height", times] *= length
    return frame


#: Turning points of the test loss count when they swing by this share of the initial loss.
LOSS_SWING = 1e-3
#: Looks between two steps of the integration, and in an interval that is looked at again.
_BETWEEN, _FINE = 16, 41


def _major_events(
    task: SIMTask, half_times: Floats, high: Floats, error: Floats, spread: Floats
) -> list[Event]:
    """Every w_kk at 1/2 and at 0.8, by descending signal."""
    events = []
    for k in task.order:
        entry, half = (k, k), float(half_times[k])
        early, late = spread[:, k].tolist()
        if task.exact_signal[k] == 0:
            reason = "a free direction is not learned"
            events.append(Event(entry, "half", half, reason=reason, spread=(early, late)))
            continue
        bar = float(error[k])
        events.append(Event(entry, "half", half, error=bar, spread=(early, late)))
        events.append(Event(entry, f"{SUPPRESSION_LEVEL}", float(high[k]), error=bar))
    return events


def _median_events(schedule: Schedule) -> list[Event]:
    """Medians over Gaussian initializations; peaks of minor entries to leading order."""
    times, median = schedule.gaussian, schedule.half_times
    assert times is not None
    with np.errstate(divide="ignore"):
        high = median + math.log(SUPPRESSION_LEVEL / (1 - SUPPRESSION_LEVEL)) / times.growth
    none = np.full(len(median), np.nan)
    events = _major_events(schedule.task, median, high, none, schedule.spread)
    if np.isnan(median).any():  # entries start above their half
        return events
    for entry, quantiles in times.peak_heights(QUANTILES).items():
        low, height, top = quantiles.tolist()
        events.append(Event(entry, "peak height", height, spread=(low, top)))
    return events


class _Series:
    """A number of W(t) at the looks t, and between them on request."""

    def __init__(
        self, stages: Stages, t: Floats, W: Floats, number: Callable[[Floats], Floats]
    ) -> None:
        self.stages, self.t, self.number, self.values = stages, t, number, number(W)

    def near(self, start: float, end: float) -> tuple[Floats, Floats]:
        """A finer sample of an interval."""
        t = np.linspace(start, end, _FINE)
        return t, self.number(self.stages.evaluate(t))

    def turn(self, index: int, *, top: bool) -> tuple[float, float]:
        """Time and value of the extremum near a look."""
        fine, values = self.near(self.t[max(index - 1, 0)], self.t[min(index + 1, len(self.t) - 1)])
        return vertex(fine, values, int(values.argmax() if top else values.argmin()))

    def passage(self, there: Booleans, level: float, never: float, start: float = 0.0) -> float:
        """Time at which a level is reached before the first look beyond it, linear in the log."""
        if not there.any():
            return never
        index = int(there.argmax())
        if index == 0:
            return float(self.t[0])
        t, values = self.near(max(self.t[index - 1], start), self.t[index])
        beyond = values <= level if values[0] > level else values >= level
        after = int(beyond.argmax()) if beyond.any() else len(t) - 1
        if after == 0 or not (beyond.any() and (values[after - 1 : after + 1] > 0).all()):
            return float(t[after])
        before, behind = np.log(values[after - 1 : after + 1]).tolist()
        share = (before - math.log(level)) / (before - behind)
        return float(t[after - 1] + share * (t[after] - t[after - 1]))


@np.errstate(all="ignore")
def curve_events(stages: Stages) -> list[Event]:
    """The events of a composite, in real steps.

    A minor entry is suppressed when it has fallen back to half of its peak, inf if it never does;
    its height is 0 below the float range. The end is nan if some concept is not learned.
    """
    task, d = stages.task, stages.task.dim
    t = _sample(stages)
    W = stages.evaluate(t)
    finite = np.isfinite(loss_at(task.test_point, W)) & np.isfinite(W).all(axis=(1, 2))
    series = functools.partial(_Series, stages, t[finite], W[finite])
    high, minor, end = stages.crossing.copy(), [], math.nan
    if finite.sum() >= 3:
        for k in np.flatnonzero(np.isfinite(high)).tolist():
            entry = series(operator.itemgetter(np.s_[:, k, k]))
            high[k] = entry.passage(entry.values >= SUPPRESSION_LEVEL, SUPPRESSION_LEVEL, math.nan)
        rank = {k: position for position, k in enumerate(task.order)}
        grow = [k for k in range(d) if task.exact_signal[k] > 0]
        pairs = [pair for pair in itertools.combinations(range(d), 2) if {*pair} & {*grow}]
        for i, j in sorted(pairs, key=lambda pair: sorted((rank[pair[0]], rank[pair[1]]))):
            minor += _minor_events(series, i, j)
        minor += _loss_events(series(lambda W: loss_at(task.test_point, W)))
        if np.isfinite(stages.crossing[grow]).all():
            away = series(lambda W: np.abs(W - np.eye(d))[:, grow][:, :, grow].max(axis=(1, 2)))
            close = np.logical_and.accumulate(away.values[::-1] <= END)[::-1]
            end = away.passage(close, END, math.nan)
    none = np.full((2, d), np.nan)
    major = _major_events(task, stages.crossing, high, stages.error, none)
    return [*major, *minor, Event((-1, -1), "end", end)]


def _sample(stages: Stages) -> Floats:
    """Steps at which W(t) is looked at: the same number between any two of the integration."""
    times = stages.curve.times / stages.eta
    share = np.arange(_BETWEEN) / _BETWEEN
    between = times[:-1, None] + np.diff(times)[:, None] * share
    return np.unique(np.append(between.ravel(), times[-1:]))


def _minor_events(series: Callable[..., _Series], i: int, j: int) -> list[Event]:
    """The peak of a minor entry, and its suppression."""
    size = series(lambda W: np.abs(W[:, i, j]))
    index = int(size.values.argmax())
    time, height, suppressed = math.nan, 0.0, math.nan
    if size.values[index] > 0:
        time, height = size.turn(index, top=True) if index else (0.0, float(size.values[0]))
        fallen = (size.t > time) & (size.values <= height / 2)
        suppressed = size.passage(fallen, height / 2, math.inf, time)
    values = {"peak": time, "peak height": height, "suppressed": suppressed}
    return [Event((i, j), name, value) for name, value in values.items()]


def _loss_events(loss: _Series) -> list[Event]:
    """Turning points of the test loss."""
    swing, looks = LOSS_SWING * float(loss.values[0]), np.arange(len(loss.t))
    # The last one is where the series ends or has come to rest: nothing confirms it.
    return [
        Event((-1, -1), f"loss {point.kind}", loss.turn(point.step, top=point.kind == "max")[0])
        for point in turning_points(loss.values, swing, looks)[:-1]
        if point.step
    ]


def vertex(t: Floats, values: Floats, index: int) -> tuple[float, float]:
    """Vertex of the parabola through three neighbouring points on an even sample."""
    if not 0 < index < len(t) - 1:
        return float(t[index]), float(values[index])
    before, top, behind = values[index - 1 : index + 2].tolist()
    bend = before - 2 * top + behind
    move = 0.5 * (before - behind) / bend if bend else 0.0
    return float(t[index] + move * (t[1] - t[0])), float(top - 0.25 * (before - behind) * move)
