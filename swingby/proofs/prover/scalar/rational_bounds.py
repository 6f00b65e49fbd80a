"""Rational bounds of numbers such as log(2), exp(3/10) and sqrt(11/10), from ball arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import flint

from swingby.theory import balls
from swingby.theory.balls import precision

#: Bounds are given with this many digits after the point, relative to the number's size.
_DIGITS = 12


def enclose(expression: Any) -> tuple[Fraction, Fraction]:
    """Two rationals with a number strictly between them; ValueError if it is not finite."""
    with precision(256):
        number = balls.evaluate(expression, {})
        if not number.is_finite():
            raise ValueError(f"{expression} is not a finite number")
        size = flint.fmpz(10) ** _DIGITS
        while abs(number) * flint.arb(size) < flint.arb(size) / 100 and size < 10**200:
            size *= 1000
        lower = (number * flint.arb(size)).lower().floor().unique_fmpz()
        upper = (number * flint.arb(size)).upper().ceil().unique_fmpz()
    if lower is None or upper is None:
        raise ValueError(f"{expression} could not be enclosed")
    return Fraction(int(lower) - 1, int(size)), Fraction(int(upper) + 1, int(size))


def bound_root(number: Fraction, order: int, *, below: bool) -> Fraction:
    """A rational just below or just above a root of a positive rational, checked exactly."""
    with precision(256):
        ball = balls.ball(number) ** (flint.arb(1) / order) * 10**6
        edge = (ball.lower().floor() if below else ball.upper().ceil()).unique_fmpz()
    guess = Fraction(int(edge), 10**6)
    if not (guess**order <= number if below else guess**order >= number):
        raise RuntimeError(f"wrong bound {guess} for root {order} of {number}")
    return guess
