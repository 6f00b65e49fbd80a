"""Values of expressions at rational points: exact where they are rational, balls elsewhere.

Rational bounds of numbers such as log(2), exp(3/10) and sqrt(11/10), from ball arithmetic.

A second evaluation of a witness, by other means than the first.

Edges: where a relation with one letter left begins or ceases to hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

import flint
import mpmath
import sympy

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


def fraction(number: Any) -> Fraction:
    """A rational of sympy or of flint as a Fraction."""
    return Fraction(int(number.p), int(number.q))


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
    return sum(sorted(values, key=_is_ball), start=flint.fmpq(0))


def _product(values: list[Value]) -> Value:
    exact = math.prod((value for value in values if not _is_ball(value)), start=flint.fmpq(1))
    return math.prod(filter(_is_ball, values), start=exact) if exact else exact


def _is_ball(value: Value) -> bool:
    return isinstance(value, flint.arb)


def _power(values: list[Value]) -> Value:
    base, exponent = values
    if _is_ball(base) or _is_ball(exponent):
        is_whole = not _is_ball(exponent) and exponent.q == 1
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
    return flint.fmpq(1) if not _is_ball(value) and value == 0 else flint.arb(value).exp()


def _logarithm(values: list[Value]) -> Value:
    (value,) = values
    if balls.sign(value) != 1:
        raise Undefined("log")
    return flint.fmpq(0) if not _is_ball(value) and value == 1 else flint.arb(value).log()


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


def mpmath_agrees(given: Sequence[Relation], goal: Relation, point: Mapping[str, Any]) -> bool:
    """Whether plain 60-digit arithmetic sees a counterexample too, up to its rounding.

    What 40 digits see otherwise is rounding: a side may be a difference that cancels.
    """
    for relation in (*given, goal):
        letters = sorted(relation.symbols, key=str)
        sides = sympy.lambdify(letters, relation.sides, "mpmath")
        rough, margin = (_margin(sides, [point[x.name] for x in letters], n) for n in (40, 60))
        significant = abs(margin - rough) < abs(margin) / 2
        fails = significant and (margin < 0 or relation.kind == "==")
        if relation is not goal:
            if fails:
                return False
        elif significant and (relation.kind == "!=" or (margin > 0 and relation.kind != "==")):
            return False
    return True


def _margin(sides: Callable[..., Any], values: Sequence[Any], digits: int) -> Any:
    """The larger minus the smaller side in arithmetic of so many digits."""
    with precision(53), mpmath.workdps(digits):  # mpmath's is the process's too: one thread at once
        small, large = sides(*(mpmath.mpf(int(value.p)) / int(value.q) for value in values))
        return large - small


@dataclass(frozen=True)
class CompiledRelation:
    """A relation ready for evaluation; `margin`: of its larger minus its smaller side."""

    relation: Relation
    margin: Evaluator
    letters: frozenset[str]

    def decided(
        self, point: Mapping[str, Value], bits: tuple[int, ...] = PRECISIONS
    ) -> bool | None:
        """Whether it holds at a point; None where it is undefined or undecided."""
        for used in bits:
            with precision(used):
                try:
                    value = self.margin(point)
                except (Undefined, ZeroDivisionError, OverflowError):
                    return None
                if not _is_ball(value) or value.is_finite():
                    verdict = holds_with_margin(value, self.relation.kind)
                    if verdict is not None:
                        return verdict
        return None


def compile_relation(relation: Relation) -> CompiledRelation:
    """A relation ready for evaluation."""
    small, large = compile_expression(relation.small), compile_expression(relation.large)
    letters = frozenset(letter.name for letter in relation.symbols)
    return CompiledRelation(relation, lambda point: large(point) - small(point), letters)


def edge_of(
    relation: CompiledRelation,
    name: str,
    point: Mapping[str, Any],
    variables: tuple[str, ...] = ("plain", "inverse", "square"),
) -> tuple[Any, int] | None:
    """Where the margin of a relation vanishes, as a function of one letter; None if nowhere.

    `variables`: what it may be linear in; "negative" is the letter, seen from below zero.
    Returns the edge, and 1 if the relation holds above it, -1 below.
    """

    def at(value: Any) -> Any:
        return relation.margin({**point, name: value})

    with precision(192):
        for variable in variables:
            samples = [_in_variable(variable, flint.fmpq(step)) for step in (1, 2, 3)]
            try:
                first, second, third = (at(sample) for sample in samples)
            except (Undefined, ZeroDivisionError, OverflowError, ValueError):
                continue
            slope = second - first
            bend = third - second - slope
            rounded = _is_ball(bend)
            if not (bend.contains(0) if rounded else bend == 0) or slope == 0:
                continue
            if rounded and slope.contains(0):
                continue
            root = 1 - first / slope
            rising = slope > 0
            if _is_ball(root):
                if not root.is_finite():
                    continue
                # A rational a little on the side where the relation holds.
                root = (root.upper() if rising else root.lower()).mid().fmpq()
            if variable != "plain" and root <= 0:
                continue
            edge = _in_variable(variable, root)
            return edge, (1 if rising else -1) * (-1 if variable in ("inverse", "negative") else 1)
    return None


def _in_variable(turn: str, value: Any) -> Any:
    if turn == "inverse":
        return 1 / value
    if turn == "negative":
        return -value
    return value * value if turn == "square" else value
