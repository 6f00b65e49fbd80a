"""Events of a recorded series: turning points, descents, first passages.

The compiled loops find the same events while they run; these functions define them, and serve
series that a user already has.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from swingby.errors import InvalidInput
from swingby.theory import numbers

Kind = Literal["min", "max"]


class Extremum(NamedTuple):
    """A local extremum: `step`, `value`, and `kind`, which is ``"min"`` or ``"max"``."""

    step: int
    value: float
    kind: Kind


class Peak(NamedTuple):
    """The largest size that an off-diagonal entry reached.

    `i` and `j` index the entry (from 0, i < j), `step` is the first step of the largest
    ``|w_ij|``, `value` the signed entry there (0 when it lies below the float range), and
    `suppressed` the first later step at which ``|w_ij|`` is at most half of it, or None.
    """

    i: int
    j: int
    step: int
    value: float
    suppressed: int | None


def turning_points(
    values: ArrayLike, swing: float = 0.0, steps: ArrayLike | None = None
) -> tuple[Extremum, ...]:
    """Turning points of a series, ignoring swings smaller than `swing` (a zigzag filter).

    A minimum counts once the series has risen by at least `swing` above it, a maximum once it
    has fallen by at least `swing` below it; of equal values the first counts. The last
    extremum, which nothing confirms, is included; so is the first value, where the series
    moves away from it.

    `values` (n,).
    `swing`: smallest move that counts, in the unit of `values`; with 0 every change counts.
    `steps` (n,): step of each value; default 0, 1, 2, .
    Returns kinds alternate. Empty when the series never moves by `swing`.
    Raises InvalidInput if the series has not one axis, is not finite, or the swing is negative.

    Examples
    --------
    >>> [tuple(point) for point in turning_points([3.0, 1.0, 1.1, 0.0, 2.0], swing=0.5)]
    [(0, 3.0, 'max'), (3, 0.0, 'min'), (4, 2.0, 'max')]
    """
    series = numbers.real_array(values, "values")
    if series.ndim != 1:
        raise InvalidInput("values", f"an array of shape {series.shape}", "must have one axis")
    marks = np.arange(series.size) if steps is None else np.asarray(steps)
    if marks.shape != series.shape:
        raise InvalidInput("steps", f"shape {marks.shape}", f"must have shape {series.shape}")
    if not swing >= 0:
        raise InvalidInput("swing", swing, "must not be negative")
    found: list[Extremum] = []
    low = high = (float(series[0]), int(marks[0]))
    heading = 0
    for value, step in zip(series.tolist(), marks.tolist(), strict=True):
        if heading <= 0 and value < low[0]:
            low = (value, step)
        if heading >= 0 and value > high[0]:
            high = (value, step)
        if heading <= 0 and value > low[0] and value - low[0] >= swing:
            found.append(Extremum(low[1], low[0], "min"))
            high, heading = (value, step), 1
        elif heading >= 0 and value < high[0] and high[0] - value >= swing:
            found.append(Extremum(high[1], high[0], "max"))
            low, heading = (value, step), -1
    if heading:
        last = high if heading > 0 else low
        found.append(Extremum(last[1], last[0], "max" if heading > 0 else "min"))
    return tuple(found)


def descents(extrema: Iterable[Extremum], swing: float) -> int:
    """Number of legs from a maximum down to a minimum that fall by at least `swing`.

    `extrema`: turning points found with a smaller swing; they are filtered again. `swing`: in the
    unit of the values. Raises InvalidInput if the swing is negative.

    Examples
    --------
    >>> descents(turning_points([3.0, 1.0, 1.1, 0.0, 2.0]), swing=0.5)
    1
    """
    given = tuple(extrema)
    if not given:
        return 0
    kept = turning_points([point.value for point in given], swing, [point.step for point in given])
    return sum(earlier.kind == "max" for earlier in kept[:-1])


def first_reach(values: ArrayLike, level: float, steps: ArrayLike | None = None) -> float:
    """The first step at which a series is at least `level`.

    `values` (n,). `steps` (n,): step of each value; default 0, 1, 2, . Returns a whole number, or
    nan when the level is not reached.

    Examples
    --------
    >>> first_reach([0.1, 0.4, 0.6], 0.5)
    2.0
    """
    reached = np.flatnonzero(np.asarray(values) >= level)
    if not reached.size:
        return float("nan")
    place = int(reached[0])
    return float(place if steps is None else np.asarray(steps)[place])
