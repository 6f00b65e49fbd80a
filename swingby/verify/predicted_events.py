"""Events of a prediction, with their lemma windows: half-times, peaks, suppression, loss, end.

Events that are not half-times are read from W(t) of the law. The definitions are those of a run
(:mod:`swingby.simulate.series`), so that both sides of a comparison mean the same.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.hints import Hinted
from swingby.report.entry_pictures import entry_name
from swingby.simulate.observation import END
from swingby.simulate.series import loss_at, turning_points
from swingby.theory import lemmas
from swingby.theory.gaussian import CLOSED, QUANTILES, GaussianTimes
from swingby.theory.numbers import Booleans, Floats
from swingby.theory.task import SIMTask
from swingby.verify.turns_and_passages import (
    EntrySize,
    Located,
    Mark,
    locate,
    rival_passages,
    rival_tops,
)

if TYPE_CHECKING:
    from swingby.theory.law.curve import Curve
    from swingby.theory.law.map_states import MapStates
    from swingby.theory.law.stages import Stages


@dataclass(frozen=True)
class Event(Hinted):
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

    def __str__(self) -> str:
        unit = "of size" if self.event == "peak height" else "at step"
        bar = f" +- {self.error:.3g}" if math.isfinite(self.error) else ""
        window = f", lemma window {self.lower:.6g} to {self.upper:.6g}"
        window = "" if math.isnan(self.lower) else window
        return f"{self.label} {self.event} {unit} {self.time:.6g}{bar}{window}"

    @property
    def label(self) -> str:
        """``w_21`` with concepts counted from 1 as in the paper, ``loss`` or ``all``."""
        if self.entry == (-1, -1):
            return "all" if self.event == "end" else "loss"
        return entry_name(*self.entry)

    def in_whole_steps(self, *, exact: bool = False) -> Event:
        """As a run counts: the nearest step for extrema, the next for passages.

        Unless whole steps are exact, an error that reaches over to others is the distance to them.
        """
        if self.event == "peak height" or not math.isfinite(self.time):
            return self
        nearest = self.event == "peak" or self.event.startswith("loss")
        times = self.time + np.array([0.0, -self.error, self.error])
        whole, *ends = (np.rint if nearest else np.ceil)(times).tolist()
        more = 0.0 if exact else max(abs(end - whole) for end in ends)
        return replace(self, time=whole, error=max(self.error, more))

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
class Windows(Hinted):
    """Lemma windows, or the reason why there are none.

    `scale`: None where there are none; `log_start`: smallest and largest log w_kk(0) per concept;
    `reason`: which constants are in use, or which assumption fails.
    """

    scale: lemmas.Scale | None
    log_start: tuple[tuple[float, float], ...]
    signal: Floats
    edition: str
    reason: str

    def __str__(self) -> str:
        return self.reason

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

#: What never falls below this share of its largest size has not turned.
_TURNED = 1 - 1e-6

#: A number of each of n matrices (n, d, d).
Number = Callable[[Floats], Floats]


def _major_events(task: SIMTask, times: Floats, errors: Floats, spreads: Floats) -> list[Event]:
    """Every w_kk at 1/2 and at 0.8, by descending signal; of both times and errors (2, d).

    `spreads` (2, 2, d): 5 % and 95 % quantiles of both.
    """
    events = []
    for k in task.order:
        half, high = (
            Event((k, k), name, float(time[k]), error=float(error[k]), spread=(early, late))
            for name, time, error, (early, late) in zip(
                LEVELS, times, errors, spreads[:, :, k].tolist(), strict=True
            )
        )
        if task.exact_signal[k] == 0:
            reason = "a free direction is not learned"
            events.append(replace(half, error=math.nan, reason=reason))
            continue
        events += [half, high]
    return events


def median_events(
    task: SIMTask, times: GaussianTimes, median: Floats, spread: Floats
) -> list[Event]:
    """Medians over Gaussian initializations; peaks of minor entries to leading order.

    What only the leading law knows is left out where it does not hold: peaks, and the passages of
    0.8, which are a constant later than half-times.
    """
    with np.errstate(divide="ignore"):
        later = math.log(SUPPRESSION_LEVEL / (1 - SUPPRESSION_LEVEL)) / times.growth
    both, none = np.stack([median, median + later]), np.full((2, len(median)), np.nan)
    events = _major_events(task, both, none, np.stack([spread, spread + later]))
    if times.out_of_range or not times.apart:
        return [event for event in events if event.event == "half"]
    if times.basis != CLOSED:
        return events
    for entry, quantiles in times.peak_heights(QUANTILES).items():
        low, height, top = quantiles.tolist()
        events.append(Event(entry, "peak height", height, spread=(low, top)))
    return events


def half_time_events(stages: Stages) -> list[Event]:
    """Half-times alone, in whole steps, by descending signal."""
    times, errors = (np.stack([values] * 2) for values in (stages.half_times, stages.error))
    events = _major_events(stages.task, times, errors, np.full((2, *times.shape), np.nan))
    return [event for event in events if event.event == "half"]


def curve_events(stages: Stages) -> list[Event]:
    """The events of W(t), in real steps, each with its error.

    A minor entry is suppressed when it has fallen back to half of its peak, inf if it never does;
    its height, that of a whole step, is 0 below the float range. The end is nan if some concept is
    not learned. Where W(t) is that of the map itself, times are whole steps.
    """
    with np.errstate(all="ignore"):
        if stages.states:
            exact, shifted = (_Looks(stages, states).events() for states in stages.states)
            return _with_differences(exact, shifted)
        return _Looks(stages, stages.curves[0], stages.curves).events()


#: An event that is looked for, or needs no search.
_Search = tuple[tuple[int, int], str, Mark | Located]
_NOWHERE = Located(math.nan, math.nan, (math.nan,))


class _Looks:
    """W(t) at its looks, and the curves to look between them: none where it is that of a map."""

    def __init__(
        self, stages: Stages, path: Curve | MapStates, curves: Sequence[Curve] = ()
    ) -> None:
        self.stages, self.task = stages, stages.task
        self.curves, self.doubt, t = curves, stages.log_error, path.looks()
        if not curves:  # the steps themselves: nothing is left out, but each rounds
            self.doubt = np.where(np.isfinite(self.doubt), 2.0**-53 * len(t), np.inf)
        W = path.at_looks()
        finite = np.isfinite(loss_at(self.task.test_point, W)) & np.isfinite(W).all(axis=(1, 2))
        self.t, self.W, self.cut_off = t[finite], W[finite], path.runs_away
        self.runs_away = _beside_a_runaway(stages) & self.cut_off
        # Each entry in a row of its own: many are read, one after the other.
        self._rows = np.ascontiguousarray(self.W.transpose(1, 2, 0))
        self.grow = [k for k in range(self.task.dim) if self.task.exact_signal[k] > 0]

    def events(self) -> list[Event]:
        """All events, in the order of a table."""
        d, crossing = self.task.dim, self.stages.crossing
        high, high_error, minor = crossing.copy(), np.full(d, np.nan), []
        others, end = [], Event((-1, -1), "end", math.nan)
        if len(self.t) >= 3:
            highs, peaks = self._highs(), self._peaks()
            first = self._located([*highs, *peaks, *self._turns(), *self._ends()])
            for event, _ in first[: len(highs)]:
                high[event.entry[0]], high_error[event.entry[0]] = event.time, event.error
            peaked = first[len(highs) : len(highs) + len(peaks)]
            falls = self._located([self._fall(peak, place) for peak, place in peaked])
            for (peak, place), (fall, _) in zip(peaked, falls, strict=True):
                doubt = float(self.doubt[list(peak.entry)].sum())
                size = Event(peak.entry, "peak height", place.sizes[0])
                minor += [peak, replace(size, error=place.size_error(doubt)), fall]
            others = [event for event, _ in first[len(highs) + len(peaks) :]]
            ends = [event for event in others if event.event == "end"]
            end = max(ends, key=lambda event: event.time, default=end)
        errors = np.stack([self._half_errors(), high_error])
        none = np.full((2, 2, d), np.nan)
        major = _major_events(self.task, np.stack([crossing, high]), errors, none)
        return [*major, *minor, *(event for event in others if event.event != "end"), end]

    def _half_errors(self) -> Floats:
        """Errors of half-times; at least what they are off the steps of the map."""
        error, times = self.stages.error.copy(), self.stages.half_times
        for k in [] if self.curves else np.flatnonzero(np.isfinite(times)).tolist():
            first = self.t[self.W[:, k, k] >= 0.5][:1]
            error[k] = max(error[k], abs(float(first[0]) - times[k]) if len(first) else math.inf)
        return error

    def _located(self, searches: Sequence[_Search]) -> list[tuple[Event, Located]]:
        """The events of searches, with all that is known of their places."""
        marks = [place for _, _, place in searches if isinstance(place, Mark)]
        if self.curves:
            rate = 2 * self.stages.eta * float(self.task.signal.max())
            places = iter(locate(self.curves, self.t, marks, rate) if marks else ())
        else:
            places = map(self._at_look, marks)
        events = []
        for entry, name, place in searches:
            located = next(places) if isinstance(place, Mark) else place
            events.append((Event(entry, name, located.time, error=located.error), located))
        return events

    def _at_look(self, mark: Mark) -> Located:
        """The step of a map that shows an event."""
        span = slice(mark.look, mark.look + 1)
        error = 0.0 if math.isfinite(mark.doubt) else math.inf
        return Located(float(self.t[mark.look]), error, (float(mark.number(self.W[span])[0]),))

    def _passage(
        self,
        number: Number,
        there: Booleans,
        levels: tuple[float, ...],
        doubt: float,
        start: int = 0,
    ) -> Mark | Located:
        """The first look that is there, if any is."""
        if not there.any():
            return _NOWHERE
        index = int(there.argmax())
        if index == 0:
            return Located(0.0, 0.0, levels)
        rival = rival_passages(self.t, self._values(number), index, levels[0], doubt, start)
        return Mark(number, index, doubt, levels=levels, rival=rival)

    def _values(self, number: Number) -> Floats:
        """A number at all looks."""
        if isinstance(number, EntrySize):
            return number.of(self._rows[number.row, number.column])
        return number(self.W)

    def _levels(self, level: float) -> tuple[float, ...]:
        return (level,) * max(len(self.curves), 1)

    def _highs(self) -> list[_Search]:
        """Major entries at the level of suppression."""
        searches: list[_Search] = []
        for k in np.flatnonzero(np.isfinite(self.stages.crossing)).tolist():
            number = EntrySize(k, k)
            there = self._values(number) >= SUPPRESSION_LEVEL
            doubt = (1 - SUPPRESSION_LEVEL) * float(self.doubt[k])
            place = self._passage(number, there, self._levels(SUPPRESSION_LEVEL), doubt)
            searches.append(((k, k), f"{SUPPRESSION_LEVEL}", place))
        return searches

    def _peaks(self) -> list[_Search]:
        """Minor entries at their peaks, stage by stage."""
        rank = {k: position for position, k in enumerate(self.task.order)}
        pairs = itertools.combinations(range(self.task.dim), 2)
        joined = [pair for pair in pairs if {*pair} & {*self.grow}]
        searches: list[_Search] = []
        for i, j in sorted(joined, key=lambda pair: sorted((rank[pair[0]], rank[pair[1]]))):
            number = EntrySize(i, j)
            values, doubt = self._values(number), float(self.doubt[[i, j]].sum())
            index = int(values.argmax())
            # What is at rest has not turned; what runs away has no peak.
            last = index == len(values) - 1 or values[-1] > _TURNED * values[index]
            grows = self.cut_off and values[-1] * _TURNED > values[-2]
            away = grows or bool(self.runs_away[[i, j]].any())
            place: Mark | Located
            if values[index] == 0 or away:
                place = Located(math.nan, math.nan, (0.0 if values[index] == 0 else math.nan,))
            elif index == 0 or last:
                sizes = self._levels(float(values[index]))
                place = Located(float(self.t[index]), math.nan if last else 0.0, sizes)
            else:
                rival = rival_tops(self.t, values, index, doubt)
                place = Mark(number, index, doubt, rival=rival)
            searches.append(((i, j), "peak", place))
        return searches

    def _fall(self, peak: Event, place: Located) -> _Search:
        """A minor entry at half of its peak."""
        if not place.sizes[0] > 0:
            return peak.entry, "suppressed", _NOWHERE
        number, doubt = EntrySize(*peak.entry), float(self.doubt[list(peak.entry)].sum())
        levels = tuple(size / 2 for size in place.sizes)
        there = (self.t > peak.time) & (self._values(number) <= levels[0])
        if not there.any():
            falls = self.cut_off and not math.isnan(peak.error)
            never = math.nan if falls else math.inf
            return peak.entry, "suppressed", Located(never, math.nan, levels)
        start = int((self.t > peak.time).argmax())
        return peak.entry, "suppressed", self._passage(number, there, levels, doubt, start)

    def _turns(self) -> list[_Search]:
        """Turning points of the test loss."""
        number: Number = functools.partial(loss_at, self.task.test_point)
        loss, doubt = number(self.W), float(self.doubt[self.grow].sum())
        points = turning_points(loss, LOSS_SWING * float(loss[0]), np.arange(len(loss)))
        # The last one is where the series ends or has come to rest: nothing confirms it.
        return [
            (
                (-1, -1),
                f"loss {point.kind}",
                Mark(number, point.step, doubt, top=point.kind == "max"),
            )
            for point in points[:-1]
            if point.step
        ]

    def _ends(self) -> list[_Search]:
        """Entries that come last to their limits."""
        if not np.isfinite(self.stages.crossing[self.grow]).all():
            return []
        away = np.abs(self.W - np.eye(self.task.dim))[:, self.grow][:, :, self.grow]
        close = away.max(axis=(1, 2)) <= END
        close = np.logical_and.accumulate(close[::-1])[::-1]
        before, doubt = max(int(close.argmax()) - 1, 0), float(self.doubt[self.grow].sum())
        searches: list[_Search] = []
        for i, j in itertools.combinations_with_replacement(self.grow, 2):
            number = EntrySize(i, j, distance=True)
            if close[0] or number(self.W[before : before + 1])[0] > END:
                place = self._passage(number, close, self._levels(END), doubt)
                searches.append(((-1, -1), "end", place))
        return searches


def _beside_a_runaway(stages: Stages) -> Booleans:
    """Concepts in a block of W(0) with a pivot that runs away: what joins them leaves with it."""
    return np.asarray((stages.start.joined()[0] & (stages.share < 0)).any(axis=1))


def _with_differences(events: list[Event], shifted: list[Event]) -> list[Event]:
    """Events with an error of what a shifted start makes of them."""
    others: dict[Any, list[tuple[float, float]]] = {}
    for event in shifted:
        others.setdefault((event.entry, event.event), []).append((event.time, event.error))
    result = []
    for event in events:
        rest = others.get((event.entry, event.event), [])
        time, error = rest.pop(0) if rest else (math.nan, math.inf)
        if event.event == "half":
            event = replace(event, error=max(event.error, error))
        elif math.isfinite(event.time) and not math.isnan(event.error):
            error = event.error + abs(event.time - time)
            event = replace(event, error=error if math.isfinite(time) else math.inf)
        result.append(event)
    return result
