"""Events of a prediction, with their lemma windows: half-times, peaks, suppression, loss, end.

For events that are not stage times the composite W(t) is sampled where it moves, around every stage
and along the decay after it, and each is refined on a second, finer sample. The definitions are
those of a run (:mod:`swingby.simulate.series`), so that both sides of a comparison mean the same.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.report.entry_pictures import entry_name
from swingby.simulate.observation import END
from swingby.simulate.series import loss_at, turning_points
from swingby.theory import lemmas
from swingby.theory.gaussian import QUANTILES, GaussianTimes
from swingby.theory.numbers import Booleans, Floats
from swingby.theory.task import SIMTask

if TYPE_CHECKING:
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
    `closed_form`: the closed form of a half-time, in real steps; nan for other events.
    """

    entry: tuple[int, int]
    event: str
    time: float
    lower: float = math.nan
    upper: float = math.nan
    error: float = math.nan
    reason: str = ""
    spread: tuple[float, float] = (math.nan, math.nan)
    closed_form: float = math.nan

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
        names = ("event", "time", "lower", "upper", "error", "closed_form")
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


def median_events(
    task: SIMTask, times: GaussianTimes, median: Floats, spread: Floats
) -> list[Event]:
    """Medians over Gaussian initializations; peaks of minor entries to leading order."""
    with np.errstate(divide="ignore"):
        high = median + math.log(SUPPRESSION_LEVEL / (1 - SUPPRESSION_LEVEL)) / times.growth
    none = np.full(len(median), np.nan)
    events = _major_events(task, median, high, none, spread)
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
