"""The derivative of the coordinates as a list of instructions, for compiled code.

:func:`swingby.theory.law.coordinates.derivative` is run once on symbols. What it does with them, a
few dozen products and sums, is written down as numbers, which a small compiled loop carries out on
many lanes at once. So the formulas stand in one place, and nothing is compiled again for another
dynamics or another d.
"""

from __future__ import annotations

import functools
import types
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from swingby.theory.law import coordinates
from swingby.theory.law.modified_flow import FIELDS, FieldConstants

#: Instructions: what is done with registers `a` and `b`. A vector is a matrix of equal rows.
ADD, MULTIPLY, DOT, DOT_TRANSPOSE, TRANSPOSE, SYMMETRIC, SOLVE, EXP, DIAGONAL, INVERT = range(10)
#: Arguments that belong to the orders 1 to 4.
_TERMS = ("first", "second", "third", "fourth")
#: Registers of the arguments, in this order; the three results come after them.
_ARGUMENTS = ("u", "z", "V", "moving", *FieldConstants._fields)
RESULT, _FIRST_FREE = len(_ARGUMENTS), len(_ARGUMENTS) + 3


@dataclass(frozen=True)
class _Tape:
    """Instructions (operation, result, a, b) with the factors of a and b."""

    code: list[tuple[int, int, int, int]] = field(default_factory=list)
    factors: list[tuple[float, float]] = field(default_factory=list)

    def write(
        self, operation: int, a: _Symbol, b: _Symbol | None = None, out: int | None = None
    ) -> _Symbol:
        second, register = (
            a if b is None else b,
            _FIRST_FREE + len(self.code) if out is None else out,
        )
        self.code.append((operation, register, a.register, second.register))
        self.factors.append((a.factor, second.factor))
        return _Symbol(self, register, 1.0)


@dataclass(frozen=True)
class _Symbol:
    """A register times a number; nothing is written for multiples by zero."""

    tape: _Tape
    register: int
    factor: float

    def __add__(self, other: _Symbol) -> _Symbol:
        if not (self.factor and other.factor):
            return self if self.factor else other
        return self.tape.write(ADD, self, other)

    def __sub__(self, other: _Symbol) -> _Symbol:
        return self + -1.0 * other

    def __mul__(self, other: _Symbol | float) -> _Symbol:
        if isinstance(other, _Symbol):
            if not (self.factor and other.factor):
                return 0.0 * self
            return self.tape.write(MULTIPLY, self, other)
        return _Symbol(self.tape, self.register, self.factor * other)

    __rmul__ = __mul__

    def __truediv__(self, other: float) -> _Symbol:
        return self * (1.0 / other)


def _operation(number: int) -> Any:
    return lambda a, b=None: a.tape.write(number, a, b)


#: The products of :mod:`swingby.theory.law.lane_products` in the order of their numbers.
_NAMES = "dot dot_transpose transpose symmetric solve_lower exponential diagonal inverse_or_zero"
_SYMBOLIC = {name: _operation(number) for number, name in enumerate(_NAMES.split(), DOT)}


@functools.cache
def tape_of(dynamics: str, order: int) -> tuple[Any, Any, int]:
    """Instructions (m, 4), factors (m, 2) and number of registers of a dynamics to an order."""
    tape = _Tape()
    field = tuple(function and _rebound(function, _SYMBOLIC) for function in FIELDS[dynamics])
    derivative = _rebound(coordinates.derivative, {**_SYMBOLIC, "FIELDS": {dynamics: field}})
    arguments = [
        _Symbol(tape, number, float(name not in _TERMS[order:]))
        for number, name in enumerate(_ARGUMENTS)
    ]
    results = derivative(*arguments[:4], FieldConstants(*arguments[4:]), dynamics)
    for register, result in enumerate(results, RESULT):
        tape.write(ADD, result, 0.0 * result, register)
    count = _FIRST_FREE + len(tape.code)
    _leave_out_unread(tape)
    return np.array(tape.code), np.array(tape.factors), count


def _rebound(function: Any, names: dict[str, Any]) -> Any:
    """A copy of a function with other globals."""
    space = {**function.__globals__, **names}
    return types.FunctionType(function.__code__, space, function.__name__)


def _leave_out_unread(tape: _Tape) -> None:
    """Drop instructions, the last three apart, whose result nothing reads."""
    read, needed = set(), []
    results = tape.code[-3:]
    for instruction, factors in zip(tape.code[::-1], tape.factors[::-1], strict=True):
        if instruction in results or instruction[1] in read:
            read |= set(instruction[2:])
            needed.append((instruction, factors))
    tape.code[:] = [instruction for instruction, _ in needed[::-1]]
    tape.factors[:] = [factors for _, factors in needed[::-1]]
