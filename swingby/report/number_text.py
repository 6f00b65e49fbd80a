"""Numbers as short text: steps, percentages, counts, and values of any size."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any


def steps_text(value: float, digits: int = 1) -> str:
    """A number of steps: ``never``, ``-`` where nothing is claimed, or the number."""
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "never"
    return f"{value:.{digits}f}" if abs(value) < 1e7 else f"{value:.5g}"


def percent_text(value: float) -> str:
    """A relative error as a signed percentage."""
    return "-" if not math.isfinite(value) else f"{100 * value:+.2g}%" if value else "0%"


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
