"""Rounding to a few decimal digits, exactly and at any size."""

from __future__ import annotations

import functools
import math
from fractions import Fraction

from swingby.theory import numbers


@functools.lru_cache(maxsize=4096)
def power_of_ten(exponent: int) -> Fraction:
    """10 to a whole exponent, exact."""
    return Fraction(10) ** exponent


def decade(number: Fraction) -> int:
    """The largest k with 10^k <= number.

    `number`: positive, of any size.

    Examples
    --------
    >>> decade(Fraction(1, 1000)), decade(Fraction(999, 1000)), decade(Fraction(70))
    (-3, -1, 1)
    """
    found = math.floor(numbers.log_of(number) / math.log(10))
    if power_of_ten(found + 1) <= number:
        return found + 1
    return found if power_of_ten(found) <= number else found - 1


def down(number: Fraction, digits: int) -> Fraction:
    """The largest number of at most `digits` digits that is not above; with 0 digits 10^k.

    `number`: positive.

    Examples
    --------
    >>> down(Fraction(2, 3), 2), down(Fraction(2, 3), 0)
    (Fraction(33, 50), Fraction(1, 10))
    """
    if not digits:
        return power_of_ten(decade(number))
    unit = power_of_ten(decade(number) + 1 - digits)
    return math.floor(number / unit) * unit


def up(number: Fraction, digits: int) -> Fraction:
    """The smallest number of at most `digits` digits that is not below; with 0 digits 10^k.

    `number`: positive.

    Examples
    --------
    >>> up(Fraction(2, 3), 2), up(Fraction(2, 3), 0)
    (Fraction(67, 100), Fraction(1, 1))
    """
    below = decade(number)
    if not digits:
        exact = power_of_ten(below)
        return exact if exact == number else power_of_ten(below + 1)
    unit = power_of_ten(below + 1 - digits)
    return math.ceil(number / unit) * unit
