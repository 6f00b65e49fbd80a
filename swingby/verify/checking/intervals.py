"""Intervals of exact numbers, and ends of enclosures of margins, exact or infinite."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import flint

from swingby.errors import InvalidInput
from swingby.report.number_text import LARGEST_EXPONENT, as_typed, scientific
from swingby.theory import balls, numbers

# Lower and upper end, both included.
Interval = tuple[Fraction, Fraction]
# Ends of an enclosure, each exact or infinite.
Ends = tuple[Fraction | float, Fraction | float]
ANY: Ends = (math.inf, math.inf)
NONE: Ends = (-math.inf, -math.inf)


def interval_text(ends: Interval) -> str:
    """An interval as text; a number where it is one."""
    low, high = map(as_typed, ends)
    return low if ends[0] == ends[1] else f"[{low}, {high}]"


def ends(ball: flint.arb) -> Ends:
    """The ends of a ball, exactly; infinite where the ball does not bound its number."""
    if not ball.is_finite():
        return (-math.inf, math.inf)
    middle, radius = _dyadic(ball.mid()), _dyadic(ball.rad())
    return middle - radius, middle + radius


def _dyadic(number: flint.arb) -> Fraction:
    mantissa, exponent = (int(integer) for integer in number.man_exp())
    if abs(exponent) > 4 * LARGEST_EXPONENT:
        requirement = f"must have an exponent of at most {LARGEST_EXPONENT} in size"
        raise InvalidInput("a ball", number.str(5), requirement)
    return Fraction(mantissa) * Fraction(2) ** exponent


def interval(
    value: Any,
    argument: str,
    source: str = "",
    least: int | None = None,
    *,
    strict: bool = False,
    point: bool = False,
) -> Interval:
    """An exact number, a pair (lower, upper) or a ball as an interval; only a number at a `point`.

    `least`: what none of its points may lie below. Raises InvalidInput for what is not a number,
    ends in the wrong order, or a ball that is not finite.
    """
    reported = value
    if isinstance(value, flint.arb) and not point:
        if not value.is_finite():
            raise InvalidInput(argument, value, "must be a finite ball", source)
        low, high = (Fraction(end) for end in ends(value))
        reported = scientific(low)
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes) and not point:
        if len(value) != 2:
            raise InvalidInput(argument, value, "must be a number or a pair", source)
        low, high = (numbers.exact(end, argument, source) for end in value)
        if low > high:
            raise InvalidInput(argument, value, "must have its lower end first", source)
        reported = scientific(low)
    else:
        low = high = numbers.exact(value, argument, source)
    if least is not None and (low < least or (strict and low == least)):
        at_least = f"must be at least {least}"
        requirement = numbers.not_positive(value, argument) if strict else at_least
        raise InvalidInput(argument, reported, requirement, source)
    return low, high


def log10(natural: flint.arb) -> flint.arb:
    """The decimal logarithm of a number, from its natural logarithm."""
    return natural / flint.arb(10).log()


def log10_ends(low: Fraction, high: Fraction) -> Ends:
    """Ends of log10 over an interval of numbers from 0 on; infinite ends included."""
    return (
        ends(log10(balls.ball(low).log()))[0] if low else -math.inf,
        ends(log10(balls.ball(high).log()))[1] if high else -math.inf,
    )


def opposite(margin: Ends) -> Ends:
    """The ends of minus a number."""
    return -margin[1], -margin[0]
