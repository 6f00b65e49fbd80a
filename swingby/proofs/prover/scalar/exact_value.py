"""Values of expressions at rational points: exact where they are rational, balls elsewhere.

A relation is compiled once, and decided at many points.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import flint

from swingby.proofs.prover.scalar.relation import Relation
from swingby.theory import balls
from swingby.theory.balls import precision

#: flint.fmpq or flint.arb; flint takes both together, and makes a ball of them.
Value = Any
Evaluator = Callable[[Mapping[str, Value]], Value]

#: Exponents above this are evaluated in balls only.
LARGEST_POWER = 64

#: Bits of the balls, one after the other until they decide.
PRECISIONS = (128, 512, 2048)


class Undefined(ArithmeticError):
    """An expression has no value at a point: a zero denominator, a log of a negative number."""


def compile_expression(expression: Any) -> Evaluator:
    """A function from values by letter to the value, a flint.fmpq or a ball around it.

    Raises TypeError if the expression has a function that no claim uses.
    """
    if expression.is_Symbol:
        name = expression.name
        return lambda point: point[name]
    if expression.is_Rational:
        number = flint.fmpq(int(expression.p), int(expression.q))
        return lambda point: number
    if expression.is_NumberSymbol:
        return lambda point: balls.evaluate(expression, {})
    function = expression.func.__name__
    if function not in _OPERATIONS:
        raise TypeError(f"no evaluation for {function}")
    joined, evaluators = (
        _OPERATIONS[function],
        [compile_expression(argument) for argument in expression.args],
    )
    return lambda point: joined([evaluator(point) for evaluator in evaluators])


def holds_with_margin(margin: Value, kind: str) -> bool | None:
    """Whether a relation holds whose larger minus smaller side is `margin`."""
    sign = balls.sign(margin)
    if sign is None:
        if kind == "<=" and margin >= 0:
            return True
        if kind == "<" and margin <= 0:
            return False
        return None
    return {"<=": sign >= 0, "<": sign > 0, "==": sign == 0, "!=": sign != 0}[kind]


def _sum(values: list[Value]) -> Value:
    """Exact parts are joined first, so that they stay exact as long as possible."""
    return sum(sorted(values, key=is_ball), start=flint.fmpq(0))


def _product(values: list[Value]) -> Value:
    exact = math.prod((value for value in values if not is_ball(value)), start=flint.fmpq(1))
    return math.prod(filter(is_ball, values), start=exact) if exact else exact


def is_ball(value: Value) -> bool:
    """Whether a value is a ball, and not exact."""
    return isinstance(value, flint.arb)


def _power(values: list[Value]) -> Value:
    base, exponent = values
    if is_ball(base) or is_ball(exponent):
        is_whole = not is_ball(exponent) and exponent.q == 1
        sign = balls.sign(base)
        if sign is None and is_whole and exponent > 0:
            return base ** flint.arb(exponent)
        if sign is None or (sign <= 0 and not is_whole):
            raise Undefined("power")
        return flint.arb(base) ** flint.arb(exponent)
    if base == 0 and exponent <= 0:
        raise Undefined("power of zero")
    if exponent.q == 1 and abs(exponent) <= LARGEST_POWER:
        return base ** int(exponent.p)
    if base < 0:
        raise Undefined("root of a negative number")
    if exponent.q == 2 and abs(exponent) <= LARGEST_POWER:
        root = flint.fmpq(base.p.isqrt(), base.q.isqrt())
        if root**2 == base:
            return root ** int(exponent.p)
    return flint.arb(base) ** flint.arb(exponent)


def _exponential(values: list[Value]) -> Value:
    (value,) = values
    return flint.fmpq(1) if not is_ball(value) and value == 0 else flint.arb(value).exp()


def _logarithm(values: list[Value]) -> Value:
    (value,) = values
    if balls.sign(value) != 1:
        raise Undefined("log")
    return flint.fmpq(0) if not is_ball(value) and value == 1 else flint.arb(value).log()


def _larger(first: Value, second: Value) -> Value:
    sign = balls.sign(first - second)
    if sign is None:
        return flint.arb(first).max(flint.arb(second))
    return first if sign >= 0 else second


_OPERATIONS: dict[str, Callable[[list[Value]], Value]] = {
    "Add": _sum,
    "Mul": _product,
    "Pow": _power,
    "exp": _exponential,
    "log": _logarithm,
    "Abs": lambda values: abs(values[0]),
    "Max": lambda values: reduce(_larger, values),
    "Min": lambda values: -reduce(_larger, [-value for value in values]),
}


@dataclass(frozen=True)
class CompiledRelation:
    """A relation ready for evaluation; `margin`: of its larger minus its smaller side."""

    relation: Relation
    margin: Evaluator
    letters: frozenset[str]

    def decided(
        self, point: Mapping[str, Value], bits: tuple[int, ...] = PRECISIONS
    ) -> bool | None:
        """Whether it holds at a point; None if it is undefined or undecided."""
        for used in bits:
            with precision(used):
                try:
                    value = self.margin(point)
                except (Undefined, ZeroDivisionError, OverflowError):
                    return None
                if not is_ball(value) or value.is_finite():
                    verdict = holds_with_margin(value, self.relation.kind)
                    if verdict is not None:
                        return verdict
        return None


def compile_relation(relation: Relation) -> CompiledRelation:
    """A relation ready for evaluation."""
    small, large = compile_expression(relation.small), compile_expression(relation.large)
    letters = frozenset(letter.name for letter in relation.symbols)
    return CompiledRelation(relation, lambda point: large(point) - small(point), letters)
