r"""Canonical enclosures: two decimal numbers that a real number certainly lies between.

With :math:`r = 10^{-40}` the enclosure of v is :math:`v - r|v|` rounded down and
:math:`v + r|v|` rounded up to 25 significant decimal digits. The allowance r keeps short decimals
such as 1/2 away from the boundary between two strings, so that a narrow ball decides them; and
whoever computes v, by whatever method, writes the same two strings.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any, NamedTuple

import flint

#: Significant decimal digits of an end.
DIGITS = 25
#: Relative allowance on either side.
ALLOWANCE = Fraction(1, 10**40)

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
        return shown(self)


def enclose(number: Any) -> Enclosure | None:
    """The canonical enclosure of a number.

    Returns None where the ball is too wide to decide it.
    """
    ends = _ends(number)
    if ends is None:
        return None
    low, high = ends
    if low <= 0 <= high:
        return Enclosure("0", "0") if low == high else None
    first = _widened(low)
    # Rounding is monotone: equal strings at both ends are the strings of every point between.
    return first if low == high or _widened(high) == first else None


def is_enclosure(pair: object) -> bool:
    """Whether `pair` is written as an enclosure, lower end first.

    `pair`: read from a file.
    """
    if not isinstance(pair, (list, tuple)) or len(pair) != 2:
        return False
    if not all(isinstance(end, str) for end in pair):
        return False
    if tuple(pair) == ("0", "0"):
        return True
    return all(_END.fullmatch(end) is not None for end in pair) and pair[0].startswith("-") == pair[
        1
    ].startswith("-")


def shown(pair: Enclosure, digits: int = 10) -> str:
    """An enclosure for a person: the digits that are certain, at most `digits` of them.

    Returns with three dots after digits that go on, and ``+-`` after digits that do not.
    """
    if pair == ("0", "0"):
        return "0"
    lower, upper = (end.lstrip("-").split("e") for end in pair)
    sign = "-" if pair.lower.startswith("-") else ""
    common = 0
    texts = [end[0].replace(".", "").ljust(DIGITS, "0") for end in (lower, upper)]
    if lower[1] == upper[1]:
        while common < DIGITS and texts[0][common] == texts[1][common]:
            common += 1
    if common >= min(2, digits):
        return sign + _placed(texts[0][: min(common, digits)], int(lower[1]), "...")
    # A short decimal with nines below it: name it, and how far the ends are away.
    ends = [abs(Fraction(end)) for end in pair]
    exponent = _exponent(max(ends))
    unit = Fraction(10) ** (exponent - digits + 1)
    figures = str(round(abs(pair.middle) / unit))
    distance = max(abs(end - int(figures) * unit) for end in ends)
    power = _exponent(distance)
    power += distance > Fraction(10) ** power
    return f"{sign}{_placed(figures.rstrip('0'), exponent)} +- 1e{power:+03d}"


def _placed(figures: str, exponent: int, more: str = "") -> str:
    """Digits with their decimal point, plain where that is short; `more` follows the digits."""
    if -4 <= exponent < 0:
        return "0." + "0" * (-exponent - 1) + figures + more
    if 0 <= exponent < len(figures) - 1 or (0 <= exponent < 10 and not more):
        whole = figures[: exponent + 1].ljust(exponent + 1, "0")
        rest = figures[exponent + 1 :] + more
        return whole + ("." + rest if rest else "")
    rest = figures[1:] + more
    return figures[0] + ("." + rest if rest else "") + f"e{exponent:+03d}"


def _ends(number: Any) -> tuple[Fraction, Fraction] | None:
    if isinstance(number, flint.fmpq):
        exact = Fraction(int(number.p), int(number.q))
        return exact, exact
    if not number.is_finite():
        return None
    middle, radius = _dyadic(number.mid()), _dyadic(number.rad())
    return middle - radius, middle + radius


def _dyadic(number: flint.arb) -> Fraction:
    mantissa, exponent = number.man_exp()
    size = int(exponent)
    return Fraction(int(mantissa) << max(size, 0), 1 << max(-size, 0))


def _widened(number: Fraction) -> Enclosure:
    slack = ALLOWANCE * abs(number)
    return Enclosure(_decimal(number - slack, False), _decimal(number + slack, True))


def _decimal(number: Fraction, upward: bool) -> str:
    """A nonzero number rounded down or up to :data:`DIGITS` significant digits."""
    exponent = _exponent(number)
    top, bottom = abs(number.numerator), number.denominator
    shift = DIGITS - 1 - exponent
    figures, left = divmod(top * 10 ** max(shift, 0), bottom * 10 ** max(-shift, 0))
    if left and upward == (number > 0):
        figures += 1
    if figures == 10**DIGITS:
        figures, exponent = 10 ** (DIGITS - 1), exponent + 1
    text = str(figures).rstrip("0")
    mantissa = text[0] + ("." + text[1:] if len(text) > 1 else "")
    return f"{'-' if number < 0 else ''}{mantissa}e{exponent:+03d}"


def _exponent(number: Fraction) -> int:
    """The whole part, rounded down, of log10 of the size of a nonzero number."""
    top, bottom = abs(number.numerator), number.denominator

    def reaches(exponent: int) -> bool:
        return bool(top * 10 ** max(-exponent, 0) >= bottom * 10 ** max(exponent, 0))

    # log10(2) to five digits: the first guess is off by at most a few.
    exponent = int((top.bit_length() - bottom.bit_length()) * 0.30103)
    while reaches(exponent + 1):
        exponent += 1
    while not reaches(exponent):
        exponent -= 1
    return exponent
