"""Expressions of sympy evaluated in ball arithmetic.

A statement is written once, as a sympy expression; this module turns it into a python-flint
ball that certainly contains its value. Only the functions that the statements use are known:
sums, products, powers, log, exp, Min, Max, absolute value, e and pi.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, TypeVar

import flint
import mpmath

from swingby.theory.numbers import fraction

#: Working precisions, in bits, tried one after the other until a sign is decided.
PRECISIONS = (128, 256, 512, 1024, 2048)

#: The functions that statements use, by their names in sympy.
_FUNCTIONS: dict[str, Callable[..., flint.arb]] = {
    "Add": lambda *terms: sum(terms, flint.arb(0)),
    "Mul": lambda *factors: math.prod(factors, start=flint.arb(1)),
    "Pow": lambda base, power: base**power,
    "Min": lambda *balls: functools.reduce(flint.arb.min, balls),
    "Max": lambda *balls: functools.reduce(flint.arb.max, balls),
    "Abs": abs,
    "exp": flint.arb.exp,
    "log": flint.arb.log,
    "Exp1": lambda: flint.arb(1).exp(),
    "Pi": flint.arb.pi,
}

_Result = TypeVar("_Result")

#: The working precisions of flint and mpmath belong to the whole process; here, before each block.
_ALONE = threading.RLock()
_earlier: list[tuple[int, int]] = []


@contextlib.contextmanager
def precision(bits: int) -> Iterator[None]:
    """Set the working precision of a block: one thread at a time, restored at the end."""
    with _ALONE:
        _earlier.append((flint.ctx.prec, mpmath.mp.prec))
        try:
            with flint.ctx.workprec(bits):
                yield
        finally:
            _earlier.pop()


def _leave_blocks_of_other_threads() -> None:
    """In a forked child the threads of its parent are gone: nothing would ever end their blocks."""
    global _ALONE
    if _ALONE.acquire(blocking=False):
        _ALONE.release()
        return
    _ALONE = threading.RLock()
    if _earlier:
        flint.ctx.prec, mpmath.mp.prec = _earlier[0]
    _earlier.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_blocks_of_other_threads)


def ball(number: Fraction | int | flint.arb) -> flint.arb:
    """The ball around an exact rational, at the current working precision; a ball stays itself."""
    if isinstance(number, flint.arb):
        return number
    exact = Fraction(number)
    return flint.arb(flint.fmpq(exact.numerator, exact.denominator))


def evaluate(expression: Any, values: Mapping[Any, flint.arb]) -> flint.arb:
    """A ball that contains the value of a sympy expression.

    Not finite where the expression is undefined at some point of the balls. TypeError if it has a
    function that no statement uses.

    Examples
    --------
    >>> import sympy
    >>> x = sympy.Symbol("x")
    >>> evaluate(sympy.log(x) + 1, {x: flint.arb(1)})
    1.00000000000000
    """
    if expression.is_Symbol:
        return values[expression]
    if expression.is_Rational:
        return ball(fraction(expression))
    arguments = [evaluate(argument, values) for argument in expression.args]
    name = expression.func.__name__
    if name == "Pow" and expression.args[1].is_Integer and expression.args[1] > 0:
        return _whole_power(arguments[0], int(expression.args[1]))
    if name not in _FUNCTIONS:
        raise TypeError(f"no ball evaluation for {name}")
    return _FUNCTIONS[name](*arguments)


def _whole_power(base: flint.arb, exponent: int) -> flint.arb:
    """A positive whole power, also of a ball around 0, for which flint gives nan or too much."""
    if not base.contains(0):
        return base**exponent
    size = abs(base)
    largest = size.upper() ** exponent
    if exponent % 2:
        return largest.union(-largest)
    return largest.union(flint.arb(0))


def sign(number: flint.arb) -> int | None:
    """The sign of every point of a ball: 1, 0 or -1, or None when the ball does not decide."""
    if number > 0:
        return 1
    if number < 0:
        return -1
    return 0 if number == 0 else None


def with_rising_precision(
    compute: Callable[[], _Result], decided: Callable[[_Result], bool]
) -> _Result:
    """Repeat a ball computation at rising precision until its result is decided, or to the end."""
    for bits in PRECISIONS:
        with precision(bits):
            result = compute()
        if decided(result):
            break
    return result


def incomplete_beta(x: flint.arb, a: flint.arb, b: flint.arb) -> flint.arb:
    """The integral of t^(a-1) (1-t)^(b-1) from 0 to x < 1, for a > 0 and any b."""
    return x**a / a * x.hypgeom_2f1(a, 1 - b, a + 1)


def float_above(number: flint.arb) -> float:
    """A float that is at least every point of a ball."""
    return math.nextafter(float(number.upper()), math.inf)


def round_down(number: flint.arb) -> Fraction:
    """A multiple of 2^-64 that is at most every point of a ball."""
    scaled = (number.lower() * 2**64).lower().floor()
    return Fraction(int(scaled.lower().unique_fmpz()), 2**64)


def of_midpoint(number: mpmath.mpf) -> flint.arb:
    """The ball of a finite number that is the midpoint of one, without rounding."""
    sign, mantissa, exponent, _ = number._mpf_
    return flint.arb((int(-mantissa if sign else mantissa), int(exponent)))


def is_narrow(number: flint.arb) -> bool:
    """True where rounding down loses next to nothing."""
    return bool(number.rad() < flint.arb(2) ** -70)


def midpoint(number: flint.arb) -> mpmath.mpf:
    """The midpoint of a ball without rounding; infinite or NaN where the ball is."""
    if number.is_nan():
        return mpmath.mpf("nan")
    if not number.is_finite():
        return mpmath.mpf("inf") if number.mid() > 0 else mpmath.mpf("-inf")
    mantissa, exponent = number.mid().man_exp()
    return mpmath.mp.make_mpf(mpmath.libmp.from_man_exp(int(mantissa), int(exponent)))
