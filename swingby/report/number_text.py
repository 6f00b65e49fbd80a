"""Numbers as text: steps, percentages, counts, and values of any size, short or exact."""

from __future__ import annotations

import decimal
import math
import re
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

#: Largest decimal exponent read, in absolute value. Below 1e-100000 a run has more stages of
#: waiting than anyone will simulate, and exact rationals of that size are no longer cheap.
LARGEST_EXPONENT = 100_000
#: Digits of a decimal that is written; longer ones say less than a quotient.
_MOST_DIGITS = 40
#: A fraction of larger terms is printed as a decimal.
_LARGEST_TERM = 1000
#: Digits of a quotient on either side that are written, and read.
_MOST_TEXT_DIGITS = 400
#: Relative errors of fewer percent print as 0; of larger ones the factor is printed.
_SMALLEST_PERCENT, _LARGEST_CHANGE = 1e-4, 1e4


def steps_text(value: float, digits: int = 1) -> str:
    """A number of steps: ``never``, ``-`` where nothing is claimed, or the number."""
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "never"
    return f"{value:.{digits}f}" if abs(value) < 1e7 else f"{value:.5g}"


def percent_text(value: float) -> str:
    """A relative error as a signed percentage in two digits; ``0%`` below 1e-4 %.

    A number of which that leaves nothing to read is a factor.

    >>> percent_text(-0.0123), percent_text(1.6e-7), percent_text(8.9), percent_text(1e9)
    ('-1.2%', '0%', '+890%', 'x 1e+09')
    """
    if not math.isfinite(value):
        return "-"
    if abs(value) > _LARGEST_CHANGE:
        return f"x {1 + value:.2g}"
    percent = float(f"{100 * value:.2g}")
    if abs(percent) < _SMALLEST_PERCENT:
        return "0%"
    return f"{percent:+.0f}%" if abs(percent) >= 100 else f"{percent:+.2g}%"


def counted(number: int, noun: str) -> str:
    """``1 line``, ``2 lines``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def rounded(value: Any, digits: int = 5, most: int = 7) -> str:
    """An mpmath number of any size in a few digits; up to 10 to the `most` without exponent."""
    import mpmath

    return str(mpmath.nstr(value, digits, min_fixed=-4, max_fixed=most))


def short(value: str, digits: int = 4) -> str:
    """An exact number, as text, in a few characters: as it is if that is short."""
    if len(value) <= digits + 4:
        return value
    import mpmath

    power = re.fullmatch(r"(-?)([\d/]+\*)?10\^(-?\d+)", value)
    try:
        if power:
            exact = Fraction((power[2] or "1*")[:-1]) * (-1 if power[1] else 1)
            number = mpmath.mpf(10) ** int(power[3]) * exact.numerator / exact.denominator
        elif "/" in value:
            exact = Fraction(value)
            number = mpmath.mpf(exact.numerator) / exact.denominator
        else:
            number = mpmath.mpf(value)
    except (ValueError, ZeroDivisionError):
        return value if len(value) <= 24 else value[:21] + "..."
    return rounded(number, digits, 5)


def scientific(number: Fraction, digits: int = 4) -> str:
    """`number` for a person: plain if short, otherwise scientific, at any size."""
    if not number:
        return "0"
    if Fraction(1, 10**4) <= abs(number) < 10**6:
        return f"{float(number):.{max(digits, 6) if abs(number) >= 10**4 else digits}g}"
    # In decimals, because the number may lie outside the float range.
    with decimal.localcontext(prec=digits, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN):
        quotient = (Decimal(number.numerator) / Decimal(number.denominator)).normalize()
    mantissa, exponent = f"{quotient:e}".split("e")
    return f"{mantissa}e{int(exponent):+03d}"


def as_typed(number: Fraction) -> str:
    """`number` as a person writes it: a fraction that no short decimal equals stays one.

    >>> as_typed(Fraction(1, 720)), as_typed(Fraction(1, 20)), as_typed(Fraction(0.1))
    ('1/720', '0.05', '0.1')
    """
    plain = max(abs(number.numerator), number.denominator) <= _LARGEST_TERM
    return str(number) if plain and _decimal_text(abs(number)) is None else scientific(number)


def python_text(value: Fraction) -> str:
    """A number of at least 0 as Python text that swingby reads as the same number.

    A whole number, a float, text in quotes, or a Fraction where text would be too long to be read.

    Examples
    --------
    >>> python_text(Fraction(4)), python_text(Fraction(0.1)), python_text(Fraction(1, 10))
    ('4', '0.1', '"0.1"')
    >>> python_text(Fraction(3, 10**80)), python_text(Fraction(1, 720))
    ('"3e-80"', '"1/720"')
    """
    if value.denominator == 1 and value < 10**15:
        return str(value.numerator)
    text = _decimal_text(value)
    if text is not None:
        return f'"{text}"'
    if value < 2**1023 and Fraction(float(value)) == value:
        return repr(float(value))
    if max(value.numerator, value.denominator) < 10**_MOST_TEXT_DIGITS:
        return f'"{value}"'
    # Python reads whole numbers of any length in this form only.
    return f"Fraction({value.numerator:#x}, {value.denominator:#x})"


def python_list(values: Iterable[Fraction]) -> str:
    """A list of numbers, each as :func:`python_text`."""
    return f"[{', '.join(map(python_text, values))}]"


def _decimal_text(value: Fraction) -> str | None:
    """A decimal that is short enough to be read, or None."""
    limits = decimal.Context(
        _MOST_DIGITS, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX, traps=[decimal.Inexact]
    )
    with decimal.localcontext(limits):
        try:
            quotient = (Decimal(value.numerator) / Decimal(value.denominator)).normalize()
        except decimal.Inexact:
            return None
    exponent, digits = quotient.adjusted(), len(quotient.as_tuple().digits)
    if abs(exponent) > LARGEST_EXPONENT:
        return None
    if -5 < exponent <= 0 or (0 < exponent < 6 and digits <= 12):
        return f"{quotient:f}"
    return f"{quotient:e}".replace("+", "")


def scientific_log10(log10: float, digits: int = 4, *, negative: bool = False) -> str:
    """The number ``10**log10``, or its negative, as text such as ``1.413e-75``."""
    if -4 <= log10 < 4:
        return f"{'-' if negative else ''}{10**log10:.{digits}g}"
    exponent = math.floor(log10)
    mantissa = f"{10 ** (log10 - exponent):.{digits - 1}f}"
    if mantissa.startswith("10"):
        mantissa, exponent = f"{1:.{digits - 1}f}", exponent + 1
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{'-' if negative else ''}{mantissa}e{exponent:+03d}"
