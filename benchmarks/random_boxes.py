"""Random boxes for the letters of the statements and laws, and points of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

#: Where the middles of positive letters lie, as powers of 2; letters of any sign reach 0 too.
_POSITIVE = {
    "omega": (-1400, -1),
    "P": (1, 700),
    "beta": (0, 6),
    "eta": (-40, 0),
    "K": (4, 8),
    "kappa": (0, 3),
    "gamma": (0, 8),
    "alpha": (-8, 8),
    "a_j": (-8, -3),
    "a_k": (-2, 8),
    "C": (0, 4),
    "d": (0, 4),
    "g_kk": (-12, 1),
    "g_kj": (-12, 1),
}
_UNIT = {"w_kk", "theta", "lambda", "pi_k(0)", "q"}
_LOGARITHMS = {"log_P": 1, "log_beta": 1, "log_level": -1, "log_start": -1, "log_anchor": -1}
_LOGARITHMS |= {"log_omega": -1, "log x_k": -1}


def random_interval(
    letter: Any, radius: Fraction, generator: random.Random
) -> tuple[Fraction, Fraction]:
    """Draw a box for one letter, with dyadic ends.

    Parameters
    ----------
    letter : sympy.Symbol
    radius : Fraction
        Relative to the middle; a letter of any sign may also lie around 0.
    generator : random.Random

    Returns
    -------
    pair of Fraction
    """
    name = str(letter)
    share = Fraction(generator.randint(2**20, 2**21), 2**21)
    if name in _UNIT:
        middle = share * Fraction(9, 10)
    elif name in _LOGARITHMS:
        middle = _LOGARITHMS[name] * share * generator.choice((1, 10, 1000, 10**6))
    elif name in _POSITIVE or letter.is_positive or name == "a_i":
        low, high = _POSITIVE.get(name, (-8, 8))
        middle = share * Fraction(2) ** generator.randint(low, high)
    else:
        middle = share * generator.choice((-1, 0, 1)) * Fraction(2) ** generator.randint(-10, 4)
    middle = max(middle, Fraction(5, 4)) if name == "kappa" else middle
    if not letter.is_positive and letter.is_nonnegative:
        middle = abs(middle)
    half = abs(middle) * radius if middle else share * radius
    low, high = _dyadic(middle - half, half), _dyadic(middle + half, half)
    return (max(low, Fraction(0)) if letter.is_nonnegative else low), high


def _dyadic(number: Fraction, size: Fraction) -> Fraction:
    """The number to 50 binary places of a size that is not 0, or of itself."""
    size = size or abs(number) or Fraction(1)
    bits = size.numerator.bit_length() - size.denominator.bit_length()
    scale = Fraction(2) ** (bits - 50)
    return Fraction(round(number / scale)) * scale


def points_of(
    box: dict[Any, tuple[Fraction, Fraction]], count: int, generator: random.Random
) -> Iterator[dict[Any, Fraction]]:
    """Draw corners, points with some letters at an end, and points inside.

    Parameters
    ----------
    box : dict from letter to (lower, upper)
    count : int
    generator : random.Random

    Yields
    ------
    dict from letter to Fraction
        Dyadic.
    """
    for number in range(count):
        point = {}
        for letter, (low, high) in box.items():
            ends = number % 3
            at_end = ends == 0 or (ends == 1 and generator.random() < 0.5)
            share = Fraction(
                generator.randint(0, 1) * 1024 if at_end else generator.randint(0, 1024)
            )
            point[letter] = low + (high - low) * share / 1024
        yield point
