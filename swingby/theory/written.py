"""Exact numbers as short Python text that gives the same numbers again."""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact, localcontext
from fractions import Fraction

from swingby.theory import numbers

#: Longer decimals say less than a quotient.
MOST_DIGITS = 40
#: Digits that text of a quotient may have on either side; see swingby.theory.numbers.
MOST_TEXT_DIGITS = 400


def number(value: Fraction) -> str:
    """Write a number, at least 0, so that swingby reads the same number back.

    A whole number, a float, text in quotes, or a Fraction where text would be too long to be read.

    Examples
    --------
    >>> number(Fraction(4)), number(Fraction(0.1)), number(Fraction(1, 10))
    ('4', '0.1', '"0.1"')
    >>> number(Fraction(3, 10**80)), number(Fraction(1, 720))
    ('"3e-80"', '"1/720"')
    """
    if value.denominator == 1 and value < 10**15:
        return str(value.numerator)
    decimal = _decimal(value)
    if decimal is not None:
        return f'"{decimal}"'
    if value < 2**1023 and Fraction(float(value)) == value:
        return repr(float(value))
    if max(value.numerator, value.denominator) < 10**MOST_TEXT_DIGITS:
        return f'"{value}"'
    # Python reads whole numbers of any length in this form only.
    return f"Fraction({value.numerator:#x}, {value.denominator:#x})"


def vector(values: tuple[Fraction, ...]) -> str:
    """Write a list of numbers."""
    return f"[{', '.join(map(number, values))}]"


def _decimal(value: Fraction) -> str | None:
    """A decimal that is short enough to be read, or None."""
    with localcontext(Context(MOST_DIGITS, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[Inexact])):
        try:
            exact = (Decimal(value.numerator) / Decimal(value.denominator)).normalize()
        except Inexact:
            return None
    exponent, digits = exact.adjusted(), "".join(map(str, exact.as_tuple().digits))
    if abs(exponent) > numbers.LARGEST_EXPONENT:
        return None
    if -5 < exponent < 0 or (0 <= exponent < 6 and len(digits) <= 12):
        return f"{exact:f}"
    return digits[0] + "." * (len(digits) > 1) + digits[1:] + f"e{exponent}"
