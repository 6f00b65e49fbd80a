"""Compiled turning points of a series that is seen sample by sample. Imports numba.

A zigzag filter as in :mod:`swingby.simulate.events`, and what its count hangs on. Taking away the
smallest leg of a zigzag, again and again, lowers the number of descents by one at certain sizes,
the *decisive* ones: at a threshold s the series has as many descents as there are decisive sizes
of at least s. A change of the series by at most e changes every decisive size by at most 2 e.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swingby.verify.batched.curve_levels import inside

Floats = NDArray[np.float64]

#: Extrema kept; a series with more is not judged.
MOST = 64
#: Legs below this share of the threshold are not kept: they are no part of any decision.
FINEST = 0.01

# Memory of the series: the last two times and values; samples seen after the first, threshold,
# heading (-1, 0, 1), lowest and highest since the last turn, number of extrema; then the extrema.
TIME, BEFORE, VALUE, PREVIOUS = range(4)
_SEEN, _FINE, _HEADING, _LOW, _HIGH, _COUNT = range(4, 10)
_FIRST = 10
#: Length of that memory.
LENGTH = _FIRST + MOST + 2
_MOST, _FINEST = MOST, FINEST
_TIME, _BEFORE, _VALUE, _PREVIOUS = TIME, BEFORE, VALUE, PREVIOUS


@inside
def start(series: Floats, t: float, value: float, threshold: float) -> None:  # pragma: no cover
    """A new series, and its first sample."""
    series[:] = 0.0
    series[_FINE] = threshold * _FINEST
    series[_LOW] = series[_HIGH] = series[_VALUE] = value
    series[_TIME] = t


@inside
def turns(series: Floats, value: float) -> bool:  # pragma: no cover
    """Whether the last sample is a turn, seen from this next one, and one that may count."""
    rise, later = series[_VALUE] - series[_PREVIOUS], value - series[_VALUE]
    known = series[_SEEN] > 0.0 and rise * later < 0.0
    return bool(known and max(abs(rise), abs(later)) > _FINEST * series[_FINE])


@inside
def see(series: Floats, t: float, value: float, last: float) -> None:  # pragma: no cover
    """One more sample, after the last one was found to be `last`."""
    if series[_SEEN] > 0.0:
        _turn(series, last)
    series[_SEEN] += 1.0
    series[_BEFORE], series[_TIME] = series[_TIME], t
    series[_PREVIOUS], series[_VALUE] = series[_VALUE], value


@inside
def vertex(
    before: float, after: float, left: float, middle: float, right: float
) -> float:  # pragma: no cover
    """The vertex of the parabola through three values, `before` and `after` the middle one.

    The middle value where that is no turn.
    """
    rise, later = middle - left, right - middle
    if not rise * later < 0.0 or before <= 0.0 or after <= 0.0:
        return middle
    slope = (rise / before * after + later / after * before) / (before + after)
    bend = (later / after - rise / before) / (before + after)
    move = -0.25 * slope * slope / bend
    limit = max(abs(rise), abs(later))
    return middle + min(max(move, -limit), limit)


@inside
def _turn(series: Floats, value: float) -> None:  # pragma: no cover
    """One step of the zigzag filter."""
    heading, fine = series[_HEADING], series[_FINE]
    if heading <= 0.0:
        series[_LOW] = min(series[_LOW], value)
    if heading >= 0.0:
        series[_HIGH] = max(series[_HIGH], value)
    count = int(series[_COUNT])
    if heading <= 0.0 and value - series[_LOW] >= fine:
        series[_FIRST + min(count, _MOST)] = series[_LOW]
        series[_HIGH], series[_HEADING], series[_COUNT] = value, 1.0, count + 1.0
    elif heading >= 0.0 and series[_HIGH] - value >= fine:
        series[_FIRST + min(count, _MOST)] = series[_HIGH]
        series[_LOW], series[_HEADING], series[_COUNT] = value, -1.0, count + 1.0


@inside
def finish(series: Floats) -> int:  # pragma: no cover
    """The last sample and the last extremum; how many extrema lie behind `first_extremum`."""
    if series[_SEEN] > 0.0:
        _turn(series, series[_VALUE])
    count = int(series[_COUNT])
    if count > _MOST:
        return -1
    if count > 0:
        last = series[_HIGH] if series[_HEADING] > 0.0 else series[_LOW]
        series[_FIRST + count] = last
        return count + 1
    return 0


@inside
def decisive(series: Floats, count: int, sizes: Floats) -> int:  # pragma: no cover
    """Decisive sizes of the extrema that `finish` has counted, ascending; how many there are."""
    found = 0
    while count > 1:
        smallest, at = np.inf, 0
        for i in range(count - 1):
            leg = abs(series[_FIRST + i + 1] - series[_FIRST + i])
            if leg < smallest:
                smallest, at = leg, i
        inner = at > 0 and at < count - 2
        if inner or series[_FIRST + at] > series[_FIRST + at + 1]:
            sizes[found] = smallest
            found += 1
        gone = 2 if inner else 1
        if at < count - 2:
            for i in range(at, count - gone):
                series[_FIRST + i] = series[_FIRST + i + gone]
        count -= gone
    return found
