"""Intervals with exact ends: how numbers that are not exact are given, and what bounds them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

import flint

from swingby.errors import InvalidInput
from swingby.theory import balls, numbers

#: Lower and upper end, both included.
Interval = tuple[Fraction, Fraction]
#: An end of an enclosure: exact, or infinite.
End = Fraction | float
Ends = tuple[End, End]


@dataclass(frozen=True)
class Box:
    """Intervals for the numbers of one question about D.1 to D.5.

    `signal`: a, length d, any order; at least 0.
    `omega`, `eta`, `beta`: omega and eta positive, beta at least 1.
    `power`: power of P in D.4: 1 as printed, 2 as corrected.
    `has_zero`: W(0) has a zero entry, so that no omega > 0 satisfies (D.8).
    """

    signal: tuple[Interval, ...]
    omega: Interval
    eta: Interval
    beta: Interval
    power: int = 1
    has_zero: bool = False

    @property
    def is_point(self) -> bool:
        """Whether every interval is one number."""
        return all(low == high for low, high in (*self.signal, self.omega, self.eta, self.beta))

    @property
    def descending(self) -> list[Interval]:
        """What the largest, the second largest, ... signal can be."""
        lower = sorted((low for low, _ in self.signal), reverse=True)
        upper = sorted((high for _, high in self.signal), reverse=True)
        return list(zip(lower, upper, strict=True))

    @property
    def _pairs(self) -> list[tuple[Interval, Interval]]:
        return list(itertools.pairwise(self.descending))

    @property
    def ratio(self) -> Interval:
        """q, the largest ratio of neighbouring signals; 0 for one concept."""
        low, high = Fraction(0), Fraction(0)
        for large, small in self._pairs:
            low = max(low, small[0] / large[1]) if large[1] else low
            if small[1]:
                high = max(high, min(Fraction(1), small[1] / large[0]) if large[0] else Fraction(1))
        return low, high

    def gap(self) -> Interval:
        """The smallest a_i - 3 a_j of neighbours; at least two concepts."""
        gaps = [(large[0] - 3 * small[1], large[1] - 3 * small[0]) for large, small in self._pairs]
        return min(low for low, _ in gaps), min(high for _, high in gaps)

    @property
    def relative_gap(self) -> Interval:
        """The smallest a_i - 3 a_j over the largest signal; (0, 1) if that may be 0."""
        top = self.descending[0]
        if not top[0]:
            return Fraction(0), Fraction(1)
        lows, highs = [], []
        for place, (large, small) in enumerate(self._pairs):
            low, high = large[0] - 3 * small[1], large[1] - 3 * small[0]
            # Of the first pair the larger signal is the largest itself.
            lows.append(low / (top[0] if place == 0 or low < 0 else top[1]))
            highs.append(high / (top[1] if place == 0 or high < 0 else top[0]))
        return min(lows), min(highs)

    @property
    def spread(self) -> Ends:
        """The largest signal over the smallest that is not 0."""
        order = self.descending
        certain = [high for low, high in order if low]
        low = max(Fraction(1), order[0][0] / min(certain)) if certain else Fraction(1)
        least = min(low for low, high in order if high)
        return low, max(low, order[0][1] / least) if least else math.inf


def hull(low: Fraction, high: Fraction) -> flint.arb:
    """The ball around an interval, at the current working precision."""
    return balls.ball(low) if low == high else balls.ball(low).union(balls.ball(high))


def log_hull(low: Fraction, high: Fraction) -> flint.arb:
    """The ball around the natural logarithms of a positive interval, of any width.

    The radius of a ball has 30 bits, so that a ball from 1e-90 to 1e-80 would reach below 0.
    """
    first = balls.ball(low).log()
    return first if low == high else first.union(balls.ball(high).log())


def ends(ball: flint.arb) -> Ends:
    """The ends of a ball, exactly; infinite where the ball does not bound its number."""
    if not ball.is_finite():
        return (-math.inf, math.inf)
    middle, radius = _dyadic(ball.mid()), _dyadic(ball.rad())
    return middle - radius, middle + radius


def decimal_text(end: End, *, up: bool) -> str:
    """An end as a decimal of 17 significant digits, rounded outwards.

    `end`: infinite if it is a float. `up`: round up rather than down. Returns ``"inf"`` or
    ``"-inf"`` where infinite.

    Examples
    --------
    >>> decimal_text(Fraction(1, 3), up=True)
    '0.33333333333333334'
    """
    if isinstance(end, float):
        return str(end)
    context = Context(prec=17, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    number = context.divide(Decimal(end.numerator), Decimal(end.denominator))
    return str(number.normalize() if number else Decimal(0))


def interval(value: Any, argument: str, source: str = "") -> Interval:
    """An exact number, a pair (lower, upper) or a ball as an interval.

    `argument`, `source`: used in errors. Raises InvalidInput for what is not a number, ends in the
    wrong order, or a ball that is not finite.

    Examples
    --------
    >>> interval(("1e-3", "2e-3"), "omega")
    (Fraction(1, 1000), Fraction(1, 500))
    """
    if isinstance(value, flint.arb):
        if not value.is_finite():
            raise InvalidInput(argument, value, "must be a finite ball", source)
        low, high = ends(value)
        return Fraction(low), Fraction(high)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        if len(value) != 2:
            raise InvalidInput(argument, value, "must be a number or a pair", source)
        low, high = (numbers.exact(end, argument, source) for end in value)
        if low > high:
            raise InvalidInput(argument, value, "must have its lower end first", source)
        return low, high
    number = numbers.exact(value, argument, source)
    return number, number


def at_least(
    value: Interval, least: int, argument: str, source: str, *, strict: bool = False
) -> Interval:
    """An interval none of whose points lies below a bound."""
    if value[0] < least or (strict and value[0] == least):
        word = f"must be {'above' if strict else 'at least'} {least}"
        word = "must be positive" if strict and not least else word
        raise InvalidInput(argument, numbers.scientific(value[0]), word, source)
    return value


def _dyadic(number: flint.arb) -> Fraction:
    mantissa, exponent = (int(part) for part in number.man_exp())
    if abs(exponent) > 4 * numbers.LARGEST_EXPONENT:
        word = f"must have an exponent of at most {numbers.LARGEST_EXPONENT} in size"
        raise InvalidInput("a ball", number.str(5), word)
    return Fraction(mantissa) * Fraction(2) ** exponent
