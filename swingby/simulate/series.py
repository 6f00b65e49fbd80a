"""Events of a series of numbers: turning points, peaks, descents and first passages."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swingby.errors import InvalidInput
from swingby.theory import numbers
from swingby.theory.numbers import Floats

_Kind = Literal["min", "max"]

#: A swing of the test loss counts from this fraction of its initial value on.
SMALLEST_SWING = 1e-9


class Extremum(NamedTuple):
    """A local extremum: `step`, `value`, and `kind`, which is ``"min"`` or ``"max"``."""

    step: int
    value: float
    kind: _Kind


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
    """
    series = numbers.real_array(values, "values")
    if series.ndim != 1:
        raise InvalidInput("values", f"an array of shape {series.shape}", "must have one axis")
    marks = np.arange(series.size) if steps is None else np.asarray(steps)
    if marks.shape != series.shape:
        raise InvalidInput("steps", f"shape {marks.shape}", f"must have shape {series.shape}")
    if not swing >= 0:
        raise InvalidInput("swing", swing, "must not be negative")
    turns = Turns(swing)
    turns.follow(series, marks)
    return turns.extrema()


@dataclass(eq=False)
class Turns:
    """The filter of :func:`turning_points` over a series that comes in pieces.

    low, high: the lowest and the highest value since the last turn, with their steps; heading: 1
    while the series rises, -1 while it falls, 0 before the first turn; confirmed: the first
    `capacity` turning points, and whether they are `complete`.
    """

    swing: float
    capacity: float = math.inf
    low: tuple[float, int] = (math.inf, 0)
    high: tuple[float, int] = (-math.inf, 0)
    heading: int = 0
    confirmed: list[Extremum] = field(default_factory=list)
    complete: bool = True

    def follow(self, values: Floats, steps: NDArray[Any]) -> None:
        """Go on with some values, which are finite, at their steps."""
        decisive = self._decisive(values)
        for value, step in zip(values[decisive].tolist(), steps[decisive].tolist(), strict=True):
            if self.heading <= 0 and value < self.low[0]:
                self.low = (value, step)
            if self.heading >= 0 and value > self.high[0]:
                self.high = (value, step)
            if self.heading <= 0 and value > self.low[0] and value - self.low[0] >= self.swing:
                self._confirm(*self.low, "min")
                self.high, self.heading = (value, step), 1
            elif self.heading >= 0 and value < self.high[0] and self.high[0] - value >= self.swing:
                self._confirm(*self.high, "max")
                self.low, self.heading = (value, step), -1

    def _decisive(self, values: Floats) -> list[int]:
        """Places of the values that decide: the ends and the local extrema, or only the largest."""
        lowest, highest = int(values.argmin()), int(values.argmax())
        top = values[highest] if self.heading < 0 else max(values[highest], self.high[0])
        bottom = values[lowest] if self.heading > 0 else min(values[lowest], self.low[0])
        if top - bottom < self.swing:
            return sorted({lowest, highest})
        way = np.sign(np.diff(values))
        return [0, *(1 + np.flatnonzero(way[1:] != way[:-1])).tolist(), len(values) - 1]

    def _confirm(self, value: float, step: int, kind: _Kind) -> None:
        self.complete = len(self.confirmed) < self.capacity
        if self.complete:
            self.confirmed.append(Extremum(step, value, kind))

    def extrema(self) -> tuple[Extremum, ...]:
        """The turning points, and the extremum under way."""
        if not self.heading:
            return ()
        kind: _Kind = "max" if self.heading > 0 else "min"
        value, step = self.high if self.heading > 0 else self.low
        return (*self.confirmed, Extremum(step, value, kind))


def least_swing(swing: object) -> float:
    """A share of the initial loss that is not below what the extrema of a run are kept for."""
    value = float(numbers.exact(swing, "swing"))
    if not value >= SMALLEST_SWING:
        raise InvalidInput("swing", swing, f"must be at least {SMALLEST_SWING}")
    return value


def descents(extrema: Iterable[Extremum], swing: float) -> int:
    """Number of legs from a maximum down to a minimum that fall by at least `swing`.

    `extrema`: turning points found with a smaller swing; they are filtered again. `swing`: in the
    unit of the values. Raises InvalidInput if the swing is negative.
    """
    points = tuple(extrema)
    if not points:
        return 0
    turns = turning_points(
        [point.value for point in points], swing, [point.step for point in points]
    )
    return sum(earlier.kind == "max" for earlier in turns[:-1])


def loss_at(point: Floats, W: Floats) -> Floats:
    """The test loss ``1/2 |W x - x|^2`` of matrices (n, d, d)."""
    with np.errstate(all="ignore"):
        return np.asarray(0.5 * ((W @ point - point) ** 2).sum(axis=-1))


def first_reach(values: ArrayLike, level: float, steps: ArrayLike | None = None) -> float:
    """The first of `steps` (n,), by default 0, 1, ..., with a value of at least `level`, or nan."""
    reached = np.flatnonzero(np.asarray(values) >= level)
    if not reached.size:
        return float("nan")
    first = int(reached[0])
    return float(first if steps is None else np.asarray(steps)[first])
