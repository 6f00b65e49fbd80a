"""What a prediction is: half-times, W(t) in closed form, and events.

For events that are not stage times (peaks, suppression, loss, end) the composite W(t) is sampled
where it moves, around every stage and along the decay after it, and each is refined on a second,
finer sample. The definitions are those of a run (:mod:`swingby.simulate.outcome`), so that both
sides of a comparison mean the same.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from swingby.errors import MISSING, InvalidInput
from swingby.report import Grid
from swingby.report.numbers import steps_text
from swingby.report.pictures import COLORS, Pictured, draw_entries, entry_label, finish_entries
from swingby.simulate.outcome import loss_at, turning_points
from swingby.simulate.state import END
from swingby.theory import numbers
from swingby.theory.gaussian import GaussianTimes
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
        separator = "," if max(self.entry) > 8 else ""
        return f"w_{self.entry[0] + 1}{separator}{self.entry[1] + 1}"

    @property
    def row(self) -> dict[str, Any]:
        """The event in a table."""
        names = ("event", "time", "lower", "upper", "error")
        return {"entry": self.label} | {name: getattr(self, name) for name in names}


def plain(value: Any) -> Any:
    """Ready for JSON: inf and nan as text."""
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    return value


@dataclass(frozen=True)
class Schedule(Pictured, numbers.ReadOnly):
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
    make_events, make_window_reason : callable
        Make :attr:`events` and :attr:`window_reason`.
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
    make_events: Callable[[], tuple[Event, ...]] = field(repr=False, compare=False)
    make_window_reason: Callable[[], str] = field(repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """What a copy takes along: the events in place of what makes them."""
        made = functools.partial(tuple, self.events), functools.partial(str, self.window_reason)
        return vars(self) | dict(zip(("make_events", "make_window_reason"), made, strict=True))

    @functools.cached_property
    def events(self) -> tuple[Event, ...]:
        """All predicted events; found on first use, because half-times alone are cheaper."""
        return self.make_events()

    @functools.cached_property
    def window_reason(self) -> str:
        """Why the lemma windows are empty, or which constants they use."""
        return self.make_window_reason()

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
        return (
            f"<Schedule {self.dynamics}, eta={numbers.scientific(self.eta)}: half_times=({times})>"
        )

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
            "eta": numbers.scientific(self.eta, 15),
            "signal": [str(value) for value in self.task.exact_signal],
            "half_times": [plain(value) for value in self.half_times],
            "error": [plain(value) for value in self.error],
            "trapped": [bool(value) for value in self.trapped],
            "events": [
                {name: plain(value) for name, value in event.row.items()} for event in self.events
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
        """Draw the composite, its loss over `start` and half-times; returns what concepts."""
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
        given = [f"eta = {numbers.scientific(self.eta)}", self.dynamics]
        columns = ["entry", "event", f">{unit}", ">+-", ">lemma from", ">lemma to"]
        if self.gaussian is not None:
            given.append(f"median over Gaussian U(0) of width {self.gaussian.width}")
            columns[3] = ">5 % to 95 %"
        below = [*self.warnings, self.window_reason]
        return Grid(
            title="Predicted stages",
            columns=columns,
            rows=[self._cells(event, number) for event in self.events],
            above=[given_text(self.task.exact_signal, *given)],
            below=["", *(line for line in below if line)],
            minor=["lemma from", "lemma to"],
        )

    def _cells(self, event: Event, number: NumberText) -> list[str]:
        time, *window = (number(event.event, one) for one in (event.time, event.lower, event.upper))
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
    """The signal, and what else was given, in the line above a table."""
    return ", ".join([f"a = ({', '.join(map(numbers.scientific, signal))})", *more])


#: How a number of an event is written: its event, the number, digits after the point of steps.
NumberText = Callable[..., str]


def number_in(unit: str, eta: Fraction) -> NumberText:
    """Numbers of events as text, their times in a unit."""
    length = numbers.per_step(unit, eta)

    def number(event: str, value: float, digits: int = 0) -> str:
        plain = event == "peak height" or unit != "step"
        if plain and math.isfinite(value):
            return f"{value * (1.0 if event == 'peak height' else length):.4g}"
        return steps_text(value, digits)

    return number


def bar_text(event: str, value: float, error: float, number: NumberText) -> str:
    """The error bar of a predicted number."""
    if not math.isfinite(value):
        return "-"
    return "out of range" if math.isinf(error) else number(event, error, 1)


def in_unit(frame: Any, unit: str, eta: Fraction) -> Any:
    """A frame of events with its times in another unit; heights and relative errors have none."""
    length = numbers.per_step(unit, eta)
    times = frame.columns.difference(["entry", "event", "relative_error", "inside"])
    frame.loc[frame["event"] != "peak height", times] *= length
    return frame


#: Turning points of the test loss count when they swing by this share of the initial loss.
LOSS_SWING = 1e-3
#: The level of a major entry from which Lemma D.7 promises suppression.
SUPPRESSION_LEVEL = 0.8
#: Looks between two steps of the integration.
_BETWEEN = 16


@dataclass(frozen=True)
class MinorPeak:
    """The largest size of a minor entry.

    `entry`: user indices from 0, ascending; `time`: step; `height`: |w_ij| there, 0 when it lies
    below the float range; `suppressed`: step at which it has fallen back to half of that, inf if it
    never does.
    """

    entry: tuple[int, int]
    time: float
    height: float
    suppressed: float


@dataclass(frozen=True)
class CurveEvents:
    """What the composite does besides its stage times.

    `turning`: turning points of the test loss; `end`: step from which ``max |W - I| <= 0.01`` on
    the concepts, nan if some are not learned; `high` (d,): step at which each w_kk reaches 0.8, the
    level of Lemma D.7, inf and nan as half-times.
    """

    peaks: tuple[MinorPeak, ...]
    turning: tuple[tuple[float, str], ...]
    end: float
    high: Floats


def curve_events(stages: Stages) -> CurveEvents:
    """Find the events of a composite."""
    t = _sample(stages)
    if t.size < 3:
        return CurveEvents((), (), math.nan, stages.crossing)
    W = stages.evaluate(t)
    finite = np.isfinite(loss_at(stages.task.test_point, W)) & np.isfinite(W).all(axis=(1, 2))
    if finite.sum() < 3:
        return CurveEvents((), (), math.nan, stages.crossing)
    t, W = t[finite], W[finite]
    concepts = [k for k in range(stages.task.dim) if stages.task.exact_signal[k] > 0]
    pairs = [
        pair
        for pair in itertools.combinations(range(stages.task.dim), 2)
        if pair[0] in concepts or pair[1] in concepts
    ]
    order = {k: rank for rank, k in enumerate(stages.task.order)}
    pairs.sort(key=lambda pair: sorted((order[pair[0]], order[pair[1]])))
    peaks = tuple(_minor_peak(stages, t, W, pair) for pair in pairs)
    return CurveEvents(
        peaks, _loss_turning(stages, t, W), _end(stages, t, W, concepts), _high(stages, t, W)
    )


def _sample(stages: Stages) -> Floats:
    """Steps at which W(t) is looked at: the same number between any two of the integration."""
    times = stages.curve.times / stages.eta
    if len(times) < 2:
        return times
    share = np.arange(_BETWEEN) / _BETWEEN
    between = times[:-1, None] + np.diff(times)[:, None] * share
    return np.unique(np.append(between.ravel(), times[-1]))


def _high(stages: Stages, t: Floats, W: Floats) -> Floats:
    """First step at which each w_kk of the composite is at least 0.8."""
    high = stages.crossing.copy()
    for k in np.flatnonzero(np.isfinite(high)):
        reached = np.flatnonzero(W[:, k, k] >= SUPPRESSION_LEVEL)
        high[k] = math.nan
        if reached.size and reached[0] > 0:
            fine = np.linspace(t[reached[0] - 1], t[reached[0]], 41)
            values = stages.evaluate(fine)[:, k, k]
            high[k] = float(np.interp(SUPPRESSION_LEVEL, values, fine))
        elif reached.size:
            high[k] = float(t[0])
    return high


def _around(t: Floats, place: int, points: int = 41) -> Floats:
    """A finer sample over the two intervals around t[place]."""
    low, high = t[max(place - 1, 0)], t[min(place + 1, len(t) - 1)]
    return np.linspace(low, high, points)


def _minor_peak(stages: Stages, t: Floats, W: Floats, pair: tuple[int, int]) -> MinorPeak:
    i, j = pair
    size = np.abs(W[:, i, j])
    place = int(size.argmax())
    if not size[place] > 0:
        return MinorPeak(pair, math.nan, 0.0, math.nan)
    if place == 0:
        time, height = 0.0, float(size[0])
    else:
        fine = _around(t, place)
        near = np.abs(stages.evaluate(fine)[:, i, j])
        best = int(near.argmax())
        time, height = vertex(fine, near, best)
    later = np.flatnonzero((t > time) & (size <= height / 2))
    if not later.size:
        return MinorPeak(pair, time, height, math.inf)
    fine = np.linspace(max(t[later[0] - 1], time), t[later[0]], 41)
    near = np.abs(stages.evaluate(fine)[:, i, j])
    return MinorPeak(pair, time, height, _fall_to(fine, near, height / 2))


def vertex(t: Floats, values: Floats, place: int) -> tuple[float, float]:
    """Vertex of the parabola through three neighbouring points on an even sample."""
    if not 0 < place < len(t) - 1:
        return float(t[place]), float(values[place])
    left, top, right = values[place - 1 : place + 2].tolist()
    bend = left - 2 * top + right
    move = 0.5 * (left - right) / bend if bend else 0.0
    return float(t[place] + move * (t[1] - t[0])), float(top - 0.25 * (left - right) * move)


def _fall_to(t: Floats, values: Floats, level: float) -> float:
    """Step at which falling values reach a level, linear in the logarithm."""
    below = np.flatnonzero(values <= level)
    if not below.size:
        return float(t[-1])
    place = int(below[0])
    if place == 0 or values[place] <= 0:
        return float(t[place])
    before, after = math.log(values[place - 1]), math.log(values[place])
    share = (before - math.log(level)) / (before - after) if before > after else 1.0
    return float(t[place - 1] + share * (t[place] - t[place - 1]))


def _loss_turning(stages: Stages, t: Floats, W: Floats) -> tuple[tuple[float, str], ...]:
    loss = loss_at(stages.task.test_point, W)
    found = []
    # The last one is where the series ends or has come to rest: nothing confirms it.
    for point in turning_points(loss, LOSS_SWING * float(loss[0]), np.arange(len(t)))[:-1]:
        if point.step == 0:
            continue
        fine = _around(t, point.step)
        near = loss_at(stages.task.test_point, stages.evaluate(fine))
        best = int(near.argmin() if point.kind == "min" else near.argmax())
        found.append((vertex(fine, near, best)[0], str(point.kind)))
    return tuple(found)


def _end(stages: Stages, t: Floats, W: Floats, concepts: list[int]) -> float:
    times = stages.crossing[concepts]
    if not np.isfinite(times).all():
        return math.nan
    block = np.ix_(concepts, concepts)

    def distance(values: Floats) -> Floats:
        here = values[:, block[0], block[1]] - np.eye(len(concepts))
        return np.asarray(np.abs(here).max(axis=(1, 2)))

    far = np.flatnonzero(distance(W) > END)
    if not far.size or far[-1] + 1 >= len(t):
        return 0.0 if not far.size else math.nan
    fine = np.linspace(t[far[-1]], t[far[-1] + 1], 41)
    return _fall_to(fine, distance(stages.evaluate(fine)), END)
