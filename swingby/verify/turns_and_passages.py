"""Turns and passages of numbers of W(t): where they are, and what they may be wrong by.

Numbers are looked at where the integration went; around each event they are polynomials. The same
is read from W(t) to one order less in the step size. The difference is an error; so is what the
logarithm of a number may be wrong by, over its slope or its bend.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from swingby.theory.numbers import Booleans, Floats

if TYPE_CHECKING:
    from swingby.theory.law.curve import Curve

#: Moments around an event, in halves of a window, and their powers for a fit of degree 6. That, and
#: twice what the fit leaves as an error, was chosen after a degree of 4 missed 4 of 1,946 events of
#: the flow at eta a_max .2 to .5.
_NODES = np.linspace(-1.0, 1.0, 13)
_POWERS = np.vander(_NODES, 7)
_FIT = np.linalg.pinv(_POWERS)
#: Half of a window in steps, at least, as a run turns at whole steps; and from which on single
#: steps are too short to be told apart.
_HALF, _WIDE = 1.5, 50.0
#: How far from its middle an event is believed, in halves of a window, and where it is expected.
_BELIEVED, _EXPECTED = 2.0, 1.05
#: The share of an extremum that looks may miss.
_MISSED = 1e-3


class Mark(NamedTuple):
    """An event at the looks: number `look`, at an extremum, or the first beyond a level.

    number: (n,) of matrices (n, d, d); doubt: what its logarithm is wrong by; top: whether an
    extremum is a maximum; levels: for each curve, none of an extremum; rival: steps from the look
    to the farthest other that may be the event instead.
    """

    number: Callable[[Floats], Floats]
    look: int
    doubt: float
    top: bool = True
    levels: tuple[float, ...] = ()
    rival: float = 0.0


class Located(NamedTuple):
    """Time of an event in steps, its error, and the size of the number in each curve.

    rest: what the polynomial leaves of the size.
    """

    time: float
    error: float
    sizes: tuple[float, ...]
    rest: float = 0.0

    def size_error(self, doubt: float) -> float:
        """What the size is wrong by."""
        apart = max(abs(size - self.sizes[0]) for size in self.sizes)
        return apart + doubt * abs(self.sizes[0]) + self.rest


class _Window(NamedTuple):
    """A number around an event: its polynomial in (time - centre)/half, and what that leaves."""

    centre: float
    half: float
    p: Floats
    rest: float

    def roots(self, p: Any) -> Floats:
        """Real zeros of a polynomial, in or near the window."""
        roots = np.roots(p) if np.isfinite(p).all() else np.empty(0)
        near = (np.abs(roots.imag) < 1e-9) & (np.abs(roots) <= _BELIEVED)
        return np.asarray(roots[near].real)

    def top(self) -> tuple[float, float, float]:
        """Time and size of the maximum as steps show it, and its bend in units of a step."""
        first, second = np.polyder(self.p), np.polyder(self.p, 2)
        tops = [root for root in self.roots(first) if np.polyval(second, root) < 0]
        if not tops:
            return math.nan, math.nan, math.nan
        inside = [root for root in tops if abs(root) <= _EXPECTED] or [min(tops, key=abs)]
        root = max(inside, key=lambda top: float(np.polyval(self.p, top)))
        time = self.centre + self.half * root
        bend = -np.polyval(second, root) / self.half / self.half  # its square may overflow
        if self.half > _WIDE:
            return time, float(np.polyval(self.p, root)), float(bend)
        # Between two steps that are as high; halfway, if they are so in truth.
        before = math.floor(time)
        two = np.polyval(self.p, (np.array([before, before + 1]) - self.centre) / self.half)
        share = np.clip((two[1] - two[0]) / bend, -0.5, 0.5)
        return before + 0.5 + float(share), float(two.max()), float(bend)

    def passage(self, level: float, *, rises: bool) -> tuple[float, float]:
        """Time at which the number passes a level, and its slope in units of a step."""
        moved = self.p - np.append(np.zeros(len(self.p) - 1), level)
        roots = [x for x in self.roots(moved) if (np.polyval(np.polyder(moved), x) > 0) == rises]
        if not roots:
            return math.nan, math.nan
        root = min(roots, key=abs)
        slope = np.polyval(np.polyder(moved), root) / self.half
        return self.centre + self.half * root, abs(float(slope))


def locate(
    curves: Sequence[Curve], looks: Floats, marks: Sequence[Mark], rate: float
) -> list[Located]:
    """Find events between the looks (n,) of the first curve, in all curves.

    rate: growth of the fastest entry in a step. An error is inf where another curve lacks the
    event.
    """
    index = np.array([mark.look for mark in marks], dtype=np.int64)
    turns = np.array([not mark.levels for mark in marks], dtype=bool)
    low = looks[np.maximum(index - 1, 0)]
    high = looks[np.minimum(index + turns, len(looks) - 1)]
    half = np.maximum((high - low) / 2, _HALF)
    centre = np.maximum((low + high) / 2, half)
    moments = (centre[:, None] + half[:, None] * _NODES).ravel()
    around = [curve.evaluate(moments) for curve in curves]
    located = []
    for n, mark in enumerate(marks):
        span, windows = slice(n * len(_NODES), (n + 1) * len(_NODES)), []
        for W in around:
            values = mark.number(W[span]) if mark.top else -mark.number(W[span])
            p = _FIT @ values
            rest = 2 * float(np.abs(values - _POWERS @ p).max())
            windows.append(_Window(float(centre[n]), float(half[n]), p, rest))
        located.append(_passage(windows, mark) if mark.levels else _turn(windows, mark, rate))
    return located


def _turn(windows: Sequence[_Window], mark: Mark, rate: float) -> Located:
    times, sizes, bends = zip(*(window.top() for window in windows), strict=True)
    slope = mark.doubt * abs(sizes[0]) * rate + windows[0].rest / windows[0].half
    doubt = slope / bends[0] if bends[0] else math.inf  # a bend below the float range
    return Located(times[0], _error(times, doubt, mark), sizes, windows[0].rest)


def _passage(windows: Sequence[_Window], mark: Mark) -> Located:
    ends = np.polyval(windows[0].p, np.array([-1.0, 1.0]))
    passages = [
        window.passage(level, rises=bool(ends[1] > ends[0]))
        for window, level in zip(windows, mark.levels, strict=True)
    ]
    times, slopes = zip(*passages, strict=True)
    off = mark.doubt * mark.levels[0] + windows[0].rest
    return Located(times[0], _error(times, off / slopes[0], mark), mark.levels)


def _error(times: Sequence[float], more: float, mark: Mark) -> float:
    error = np.abs(np.array(times) - times[0]).max() + more + mark.rival
    return math.inf if np.isnan(error) else float(error)


def rival_tops(looks: Floats, values: Floats, index: int, doubt: float) -> float:
    """Steps from a maximum to the farthest other that may be higher."""
    high = _tops(values) & (values >= (1 - 2 * doubt - _MISSED) * values[index])
    high[max(index - 1, 0) : index + 2] = False
    return float(np.abs(looks - looks[index]).max(initial=0.0, where=high))


def rival_passages(
    looks: Floats, values: Floats, index: int, level: float, doubt: float, start: int = 0
) -> float:
    """Steps from the first look beyond a level to the earliest, after a start, that nearly is."""
    size = values if values[index] >= level else -values
    close = np.abs(values - level) <= (doubt + _MISSED) * level
    close &= _tops(size) & (np.arange(len(values)) > start)
    close[index - 1 if index else 0 :] = False
    return float(looks[index] - looks[close].min(initial=looks[index]))


def _tops(values: Floats) -> Booleans:
    """Looks as high as their neighbours."""
    tops = np.ones(len(values), dtype=bool)
    tops[1:] = values[1:] >= values[:-1]
    tops[:-1] &= values[:-1] >= values[1:]
    return tops
