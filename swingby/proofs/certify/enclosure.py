r"""Canonical enclosures: two decimal numbers between which a real number certainly lies.

With :math:`r = 10^{-40}` the enclosure of v is :math:`v - r|v|` rounded down and
:math:`v + r|v|` rounded up to 25 significant decimal digits. The allowance r keeps short decimals
such as 1/2 away from the boundary between two strings, so that a narrow ball decides them; and
whoever computes v, by whatever method, writes the same two strings.
"""

from __future__ import annotations

import re
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import NamedTuple

import flint

from swingby.report.number_text import scientific
from swingby.theory import numbers

#: Significant decimal digits of an end, and of those that are shown.
DIGITS, SHOWN = 25, 10
#: Relative allowance on either side.
ALLOWANCE = Fraction(1, 10**40)

_DOWN, _UP = (
    Context(DIGITS, rounding, Emin=MIN_EMIN, Emax=MAX_EMAX)
    for rounding in (ROUND_FLOOR, ROUND_CEILING)
)
_END = re.compile(r"-?[1-9](?:\.[0-9]{0,23}[1-9])?e[+-](?:[0-9]{2}|[1-9][0-9]{2,6})", re.ASCII)


class Enclosure(NamedTuple):
    """A number between `lower` and `upper`, both decimal text; ``("0", "0")`` is exactly 0."""

    lower: str
    upper: str

    @property
    def middle(self) -> Fraction:
        """The exact midpoint."""
        return (Fraction(self.lower) + Fraction(self.upper)) / 2

    def __str__(self) -> str:
        """Ten digits of it."""
        return scientific(self.middle, SHOWN)


def enclose(number: flint.fmpq | flint.arb) -> Enclosure | None:
    """The canonical enclosure of a number; None where the ball is too wide to decide it."""
    if isinstance(number, flint.fmpq):
        low = high = numbers.fraction(number)
    elif not number.is_finite():
        return None
    else:
        middle, radius = _dyadic(number.mid()), _dyadic(number.rad())
        low, high = middle - radius, middle + radius
    if low <= 0 <= high:
        return Enclosure("0", "0") if low == high else None
    first = _widened(low)
    # Rounding is monotone: equal strings at both ends are the strings of every point between.
    return first if low == high or _widened(high) == first else None


def is_enclosure(pair: object) -> bool:
    """Whether a pair read from a file is written as an enclosure, lower end first."""
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        return False
    if not all(isinstance(end, str) for end in pair):
        return False
    written = all(_END.fullmatch(end) for end in pair)
    signs = [end.startswith("-") for end in pair]
    return list(pair) == ["0", "0"] or (written and signs[0] == signs[1])


def _dyadic(number: flint.arb) -> Fraction:
    mantissa, exponent = map(int, number.man_exp())
    return Fraction(mantissa << max(exponent, 0), 1 << max(-exponent, 0))


def _widened(number: Fraction) -> Enclosure:
    slack = ALLOWANCE * abs(number)
    return Enclosure(_decimal(number - slack, _DOWN), _decimal(number + slack, _UP))


def _decimal(number: Fraction, context: Context) -> str:
    """A number with the digits and the rounding of a context, in scientific notation."""
    quotient = context.divide(Decimal(number.numerator), Decimal(number.denominator))
    mantissa, exponent = f"{quotient.normalize(context):e}".split("e")
    return f"{mantissa}e{int(exponent):+03d}"
