"""Turns and passages of numbers of W(t): where they are, and what they may be wrong by.

Numbers are looked at where the integration went; around each event they are polynomials. The same
is read from W(t) to one order less in the step size. The difference is an error; so is what the
logarithm of a number may be wrong by, over its slope or its bend.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from swingby.theory.numbers import Booleans, Floats, Integers

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


@dataclass(frozen=True)
class EntrySize:
    """The size of an entry of W, as a number; or its distance from that of the identity."""

    row: int
    column: int
    distance: bool = False

    def __call__(self, W: Floats) -> Floats:
        """Of matrices (n, d, d)."""
        return self.of(W[:, self.row, self.column])

    def of(self, w: Floats) -> Floats:
        """Of the entry itself, of any shape."""
        if self.distance:
            return np.asarray(np.abs(w - (self.row == self.column)))
        return np.asarray(w if self.row == self.column else np.abs(w))


class Mark(NamedTuple):
    """An event at the looks: number `look`, at an extremum, or the first beyond a level.

    number: (n,) of matrices (n, d, d); doubt: what its logarithm is wrong by; top: whether an
    extremum is a maximum; levels: for each curve, none of an extremum; rival: steps from the look
    to the farthest other that may be the event instead.
    """

    number: EntrySize | Callable[[Floats], Floats]
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


class _Windows(NamedTuple):
    """Numbers around n events: polynomials (n, 7) in (time - centre)/half, and what these leave."""

    centre: Floats
    half: Floats
    p: Floats
    rest: Floats

    def take(self, which: Any) -> _Windows:
        """Chosen events."""
        return _Windows(*(values[which] for values in self))

    def times(self, x: Floats) -> Floats:
        """Steps from places in the windows."""
        return self.centre + self.half * x

    def tops(self) -> tuple[Floats, Floats, Floats]:
        """Times and sizes of maxima as steps show them, and their bends in units of a step."""
        first = _derivative(self.p)
        second, (roots, there) = _derivative(first), _zeros(first)
        there &= _values(second, roots) < 0
        inside = there & (np.abs(roots) <= _EXPECTED)
        heights = np.where(inside, _values(self.p, roots), -np.inf)
        nearest = np.where(there, np.abs(roots), np.inf)
        chosen = np.where(inside.any(axis=1), heights.argmax(axis=1), nearest.argmin(axis=1))
        root = _picked(roots, chosen, there)
        time, size = self.times(root), _values(self.p, root[:, None])[:, 0]
        bend = -_values(second, root[:, None])[:, 0] / self.half / self.half
        # Between two steps that are as high; halfway, if they are so in truth.
        before, single = np.floor(time), self.half <= _WIDE
        ends = np.stack([before, before + 1], axis=1) - self.centre[:, None]
        two = _values(self.p, ends / self.half[:, None])
        share = np.clip((two[:, 1] - two[:, 0]) / bend, -0.5, 0.5)
        time = np.where(single, before + 0.5 + share, time)
        return time, np.where(single, two.max(axis=1), size), bend

    def passages(self, levels: Floats, rises: Booleans) -> tuple[Floats, Floats]:
        """Times at which numbers pass levels (n,), and their slopes in units of a step."""
        moved = self.p.copy()
        moved[:, -1] -= levels
        slopes, (roots, there) = _derivative(moved), _zeros(moved)
        there &= (_values(slopes, roots) > 0) == rises[:, None]
        nearest = np.where(there, np.abs(roots), np.inf).argmin(axis=1)
        root = _picked(roots, nearest, there)
        return self.times(root), np.abs(_values(slopes, root[:, None])[:, 0]) / self.half


def _derivative(p: Floats) -> Floats:
    return p[:, :-1] * np.arange(p.shape[1] - 1.0, 0.0, -1.0)


def _values(p: Floats, x: Floats) -> Floats:
    """Polynomials (n, m) at x (n, k) each, by Horner's rule."""
    value = np.zeros_like(x)
    for coefficient in p.T:
        value = value * x + coefficient[:, None]
    return value


def _zeros(p: Floats) -> tuple[Floats, Booleans]:
    """Zeros (n, m - 1) of polynomials (n, m), and which are real and in or near the window."""
    n, degree = p.shape[0], p.shape[1] - 1
    roots = np.full((n, degree), np.nan + 0j)
    plain = np.isfinite(p).all(axis=1) & (p[:, 0] != 0)
    companion = np.zeros((int(plain.sum()), degree, degree))
    companion[:, range(1, degree), range(degree - 1)] = 1.0
    with np.errstate(over="ignore"):
        companion[:, 0] = -p[plain, 1:] / p[plain, :1]
    # A leading coefficient below the float range is none.
    fit = np.isfinite(companion[:, 0]).all(axis=1)
    roots[np.flatnonzero(plain)[fit]] = np.linalg.eigvals(companion[fit])
    plain[np.flatnonzero(plain)[~fit]] = False
    for row in np.flatnonzero(np.isfinite(p).all(axis=1) & ~plain).tolist():
        exact = np.roots(p[row, int(p[row, 0] != 0) :])
        roots[row, : len(exact)] = exact
    near = (np.abs(roots.imag) < 1e-9) & (np.abs(roots) <= _BELIEVED)
    return np.where(near, roots.real, np.nan), near


def _picked(roots: Floats, chosen: Integers, there: Booleans) -> Floats:
    """A root of each row, nan where there is none."""
    root = np.take_along_axis(roots, chosen[:, None], axis=1)[:, 0]
    return np.where(there.any(axis=1), root, np.nan)


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
    windows = [_around(curve, marks, centre, half) for curve in curves]
    located: list[Located] = [Located(np.nan, np.nan, ())] * len(marks)
    for which, find in ((turns, _turns), (~turns, _passages)):
        chosen = np.flatnonzero(which).tolist()
        some = [marks[n] for n in chosen]
        found = find([window.take(which) for window in windows], some, rate) if some else []
        for n, place in zip(chosen, found, strict=True):
            located[n] = place
    return located


def _around(curve: Curve, marks: Sequence[Mark], centre: Floats, half: Floats) -> _Windows:
    """The numbers of a curve around the events."""
    moments = centre[:, None] + half[:, None] * _NODES
    values, sizes = np.empty(moments.shape), list[tuple[int, EntrySize]]()
    for n, mark in enumerate(marks):
        if isinstance(mark.number, EntrySize):
            sizes.append((n, mark.number))
        else:
            values[n] = mark.number(curve.evaluate(moments[n]))
    if sizes:
        pairs = np.array([(size.row, size.column) for _, size in sizes])
        rows, columns = np.repeat(pairs, len(_NODES), axis=0).T
        chosen = moments[[n for n, _ in sizes]]
        entries = curve.entries(rows, columns, chosen.ravel()).reshape(chosen.shape)
        for (n, size), w in zip(sizes, entries, strict=True):
            values[n] = size.of(w)
    values *= np.where([mark.top for mark in marks], 1.0, -1.0)[:, None]
    p = values @ _FIT.T
    return _Windows(centre, half, p, 2 * np.abs(values - p @ _POWERS.T).max(axis=1))


def _turns(windows: Sequence[_Windows], marks: Sequence[Mark], rate: float) -> list[Located]:
    times, sizes, bends = zip(*(window.tops() for window in windows), strict=True)
    first, doubts = windows[0], np.array([mark.doubt for mark in marks])
    slope = doubts * np.abs(sizes[0]) * rate + first.rest / first.half
    # A bend may be below the float range.
    doubt = np.where(bends[0] != 0, slope / bends[0], np.inf)
    return _located(times, doubt, marks, np.stack(sizes, axis=1), first.rest)


def _passages(windows: Sequence[_Windows], marks: Sequence[Mark], rate: float) -> list[Located]:
    first, levels = windows[0], np.array([mark.levels for mark in marks])
    ends = _values(first.p, np.array([[-1.0, 1.0]]).repeat(len(marks), axis=0))
    rises = ends[:, 1] > ends[:, 0]
    passages = [
        window.passages(level, rises) for window, level in zip(windows, levels.T, strict=True)
    ]
    times, slopes = zip(*passages, strict=True)
    doubts = np.array([mark.doubt for mark in marks])
    off = doubts * levels[:, 0] + first.rest
    return _located(times, off / slopes[0], marks, levels, 0.0 * off)


def _located(
    times: Sequence[Floats], more: Floats, marks: Sequence[Mark], sizes: Floats, rest: Floats
) -> list[Located]:
    rivals = np.array([mark.rival for mark in marks])
    error = np.abs(np.stack(times) - times[0]).max(axis=0) + more + rivals
    error = np.where(np.isnan(error), np.inf, error)
    rows = zip(times[0].tolist(), error.tolist(), sizes.tolist(), rest.tolist(), strict=True)
    return [Located(time, bar, tuple(size), left) for time, bar, size, left in rows]


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
