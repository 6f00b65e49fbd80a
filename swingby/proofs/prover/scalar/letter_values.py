"""Rational values of letters: those allowed, rounder values nearby, and their short exact text."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import flint
import sympy

from swingby.theory.numbers import fraction

#: Assumptions about a letter that no relation says, and that every value of it is asked for.
_KINDS = ("integer", "even", "odd", "prime", "composite", "irrational", "rational")


def _assumptions_allow(letter: Any, value: Any) -> bool:
    """Whether what sympy assumes of a letter allows a value."""
    assumed = letter.assumptions0
    kinds = [kind for kind in _KINDS if assumed.get(kind) is not None]
    if not kinds:
        return True
    number = sympy.Rational(int(value.p), int(value.q))
    return all(getattr(number, f"is_{kind}") == assumed[kind] for kind in kinds)


#: Letters that count steps or dimensions.
_COUNTS = frozenset({"t", "t_0", "T", "d"})


def allows(value: Any, letter: Any) -> bool:
    """Whether a letter's sign, and its being a count, allow a value."""
    integral = letter.name not in _COUNTS or value.q == 1
    return (
        integral
        and _assumptions_allow(letter, value)
        and (value > 0 or (not letter.is_positive and (value == 0 or not letter.is_nonnegative)))
    )


def parse_rational(text: str) -> Any:
    """A rational such as 121/100."""
    over, _, under = text.partition("/")
    return flint.fmpq(int(over), int(under or 1))


def numerator_denominator(value: Any) -> tuple[int, int]:
    """A rational as its numerator and denominator, whose hash is quick."""
    return int(value.p), int(value.q)


def rounder_values(value: Any, letter: Any, preferred: list[Any]) -> Iterator[Any]:
    """Values that print shorter than `value`, the simplest first."""
    size = len(short_text(value))
    for option in [*map(flint.fmpq, (1, 2, 0, -1)), flint.fmpq(1, 2), flint.fmpq(10), *preferred]:
        if option == value:
            return
        if allows(option, letter) and len(short_text(option)) <= size:
            yield option
    bits = int(value.p.bit_length()) - int(value.q.bit_length())
    shift = math.floor(bits * math.log10(2))
    if abs(shift) >= 400:
        return
    scale = flint.fmpq(10) ** (shift if abs(shift) > 4 else 0)
    scaled = fraction(value / scale)
    for digits in (1, 2, 10, 100, 1000):
        for approximation in (
            scaled.limit_denominator(digits),
            Fraction(math.ceil(scaled * digits), digits),
        ):
            option = flint.fmpq(approximation.numerator, approximation.denominator) * scale
            if allows(option, letter) and len(short_text(option)) < size:
                yield option


def short_text(value: Any) -> str:
    """A rational as short exact text: "1/720", "10^-90", "1/7040*10^90"."""
    pieces, exponent = [], 0
    for integer, sign in ((value.p, 1), (value.q, -1)):
        text = str(integer.str())
        short = text.rstrip("0") if len(text) > 6 else text
        exponent += sign * (len(text) - len(short))
        pieces.append(short)
    over, under = pieces
    body = over if under == "1" else f"{over}/{under}"
    if not exponent:
        return body
    return f"10^{exponent}" if body == "1" else f"{body}*10^{exponent}"
