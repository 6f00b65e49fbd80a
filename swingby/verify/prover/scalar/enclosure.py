"""Rational bounds of numbers such as log(2), exp(3/10) and sqrt(11/10), from ball arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import flint

from swingby.theory import balls

#: Bounds are given with this many digits after the point, relative to the number's size.
DIGITS = 12


def enclose(expression: Any) -> tuple[Fraction, Fraction]:
    """Two rationals with a number of sympy strictly between them.

    Returns lower and upper bound. Raises ValueError if the number is not finite.

    Examples
    --------
    >>> import sympy
    >>> low, high = enclose(sympy.log(2))
    >>> float(low) < 0.6931471805599453 < float(high), high - low < Fraction(1, 10**11)
    (True, True)
    """
    with flint.ctx.workprec(256):
        number = balls.evaluate(expression, {})
        if not number.is_finite():
            raise ValueError(f"{expression} is not a finite number")
        size = flint.fmpz(10) ** DIGITS
        while abs(number) * flint.arb(size) < flint.arb(size) / 100 and size < 10**200:
            size *= 1000
        lower = (number * flint.arb(size)).lower().floor().unique_fmpz()
        upper = (number * flint.arb(size)).upper().ceil().unique_fmpz()
    if lower is None or upper is None:
        raise ValueError(f"{expression} could not be enclosed")
    return Fraction(int(lower) - 1, int(size)), Fraction(int(upper) + 1, int(size))


def lower_root(number: Fraction, order: int) -> Fraction:
    """A rational just below a root of a positive rational.

    Returns its power `order` is at most `number`, checked exactly.
    """
    return _root(number, order, below=True)


def upper_root(number: Fraction, order: int) -> Fraction:
    """A rational just above a root of a positive rational.

    Returns its power `order` is at least `number`, checked exactly.
    """
    return _root(number, order, below=False)


def _root(number: Fraction, order: int, *, below: bool) -> Fraction:
    with flint.ctx.workprec(256):
        power = flint.arb(1) / order
        ball = balls.ball(number) ** power * 10**6
        edge = (ball.lower().floor() if below else ball.upper().ceil()).unique_fmpz()
    guess = Fraction(int(edge), 10**6)
    right = guess**order <= number if below else guess**order >= number
    if not right:
        raise RuntimeError(f"wrong bound {guess} for root {order} of {number}")
    return guess
