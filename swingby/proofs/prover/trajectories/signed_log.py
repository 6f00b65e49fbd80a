"""Real numbers of any size as sign and logarithm, in arrays.

Entries of W reach from 1e-140 to beyond the float range within one run. Rounding is that of floats
in the logarithm, about 1e-13 in relative size: a comparison that is closer than that is not one.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from swingby.theory import numbers
from swingby.theory.numbers import Floats, fraction


@dataclass(frozen=True, eq=False)
class SignedLog:
    """The numbers ``sign * exp(log)``, entry by entry.

    `sign`: -1, 0 or 1. `log`: natural logarithm of the size; -inf where the sign is 0.
    """

    sign: Floats
    log: Floats

    def __getitem__(self, key: Any) -> SignedLog:
        return SignedLog(self.sign[key], self.log[key])

    def __mul__(self, other: SignedLog) -> SignedLog:
        sign = self.sign * other.sign
        return SignedLog(sign, np.where(sign == 0, -np.inf, self.log + other.log))

    def __add__(self, other: SignedLog) -> SignedLog:
        largest = np.maximum(self.log, other.log)
        shift = np.where(np.isfinite(largest), largest, 0.0)
        total = self.sign * np.exp(self.log - shift) + other.sign * np.exp(other.log - shift)
        with np.errstate(divide="ignore"):
            return SignedLog(np.sign(total), np.log(np.abs(total)) + shift)

    def order(self, lowest: float) -> Floats:
        """Floats in the order of the numbers."""
        return np.where(
            self.sign == 0, 0.0, self.sign * (np.maximum(self.log, lowest) - lowest + 1)
        )

    def floats(self) -> Floats:
        """The numbers as floats; infinite beyond their range."""
        with np.errstate(over="ignore"):
            return np.asarray(self.sign * np.exp(self.log), dtype=np.float64)


def from_floats(values: Any) -> SignedLog:
    """Floats as sign and logarithm."""
    array = np.asarray(values, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return SignedLog(np.sign(array), np.log(np.abs(array)))


def from_fraction(value: Fraction | int) -> SignedLog:
    """An exact rational of any size as sign and logarithm."""
    exact = Fraction(value)
    if not exact:
        return from_floats(0.0)
    sign = 1.0 if exact > 0 else -1.0
    return SignedLog(np.asarray(sign), np.asarray(float(numbers.log_of(abs(exact)))))


def evaluate(expression: Any, values: Mapping[str, SignedLog]) -> SignedLog:
    """A sympy expression, at all entries of its letters at once.

    Raises TypeError if the expression has a function that no statement uses.
    """
    if expression.is_Symbol:
        return values[expression.name]
    if expression.is_Rational:
        return from_fraction(fraction(expression))
    arguments = [evaluate(argument, values) for argument in expression.args]
    name, first = expression.func.__name__, arguments[0]
    if name == "Pow":
        return _power(first, expression.args[1])
    if name == "exp":
        exponent = first.floats()
        return SignedLog(np.ones_like(exponent), exponent)
    if name == "log":
        return from_floats(np.where(first.sign > 0, first.log, np.nan))
    if name == "Abs":
        return SignedLog(np.abs(first.sign), first.log)
    if name in _FOLDED:
        return functools.reduce(_FOLDED[name], arguments)
    raise TypeError(f"no evaluation of {name} on logarithms")


def excess(small: SignedLog, large: SignedLog) -> Floats:
    """The excess of ``small`` over ``large``: above 0 if ``small <= large`` is violated.

    Returns the logarithm of the ratio of the two sides where both have one sign, else plus or minus
    infinity; nan where a side is not a number.
    """
    small_sign, large_sign = np.broadcast_arrays(small.sign, large.sign)
    small_log, large_log = np.broadcast_arrays(small.log, large.log)
    with np.errstate(invalid="ignore"):
        ratio = small_sign * (small_log - large_log)
    apart = np.where(small_sign > large_sign, np.inf, -np.inf)
    excesses = np.where((small_sign == large_sign) & (small_sign != 0), ratio, apart)
    return np.where(np.isnan(small_sign) | np.isnan(large_sign), np.nan, excesses)


def _power(base: SignedLog, exponent: Any) -> SignedLog:
    if not exponent.is_Rational:
        raise TypeError("only rational powers are evaluated on logarithms")
    power = float(exponent)
    if exponent.is_Integer:
        sign = base.sign ** (2 if int(exponent) % 2 == 0 else 1)
    else:
        sign = np.where(base.sign >= 0, base.sign, math.nan)
    return SignedLog(sign, base.log * power)


def _choose(first: SignedLog, second: SignedLog, where: Any) -> SignedLog:
    return SignedLog(
        np.where(where, first.sign, second.sign), np.where(where, first.log, second.log)
    )


_FOLDED: dict[str, Callable[[SignedLog, SignedLog], SignedLog]] = {
    "Add": SignedLog.__add__,
    "Mul": SignedLog.__mul__,
    "Min": lambda first, second: _choose(first, second, excess(first, second) <= 0),
    "Max": lambda first, second: _choose(first, second, excess(first, second) > 0),
}
