"""Values of expressions at rational points: exact where they are rational, balls elsewhere.

Rational bounds of numbers such as log(2), exp(3/10) and sqrt(11/10), from ball arithmetic.

A second evaluation of a witness, by other means than the first.

Edges: where a relation with one letter left begins or ceases to hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

import flint
import mpmath

from swingby.theory import balls
from swingby.theory.balls import precision
from swingby.verify.prover.scalar.relation import Relation

#: flint.fmpq or flint.arb.
Value = Any
Evaluator = Callable[[Mapping[str, Value]], Value]

#: Exponents above this are evaluated in balls only.
LARGEST_POWER = 64


class Undefined(ArithmeticError):
    """An expression has no value at a point: a zero denominator, a log of a negative number."""


def ball_of(value: Value) -> flint.arb:
    """A value as a ball at the working precision."""
    return value if isinstance(value, flint.arb) else flint.arb(value)


def sign_of(value: Value) -> int | None:
    """The certain sign of a value, None if a ball does not decide."""
    if isinstance(value, flint.arb):
        return balls.sign(value)
    return int(value > 0) - int(value < 0)


def compiled(expression: Any) -> Evaluator:
    """A function that evaluates an expression at a point.

    Returns from values by letter to a flint.fmpq, or a flint.arb that contains the value. Raises
    TypeError if it has a function that no claim uses.
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
    parts = [compiled(argument) for argument in expression.args]
    if function == "Add":
        return lambda point: _sum([part(point) for part in parts])
    if function == "Mul":
        return lambda point: _product([part(point) for part in parts])
    if function == "Pow":
        base, exponent = parts
        return lambda point: _power(base(point), exponent(point))
    if function in _UNARY:
        unary, inner = _UNARY[function], parts[0]
        return lambda point: unary(inner(point))
    if function in ("Max", "Min"):
        best = _largest if function == "Max" else _smallest
        return lambda point: reduce(best, [part(point) for part in parts])
    raise TypeError(f"no evaluation for {function}")


def holds(margin: Value, kind: str) -> bool | None:
    """Whether a relation holds whose larger minus smaller side is `margin`."""
    sign = sign_of(margin)
    if sign is None:
        if kind == "<=" and margin >= 0:
            return True
        if kind == "<" and margin <= 0:
            return False
        return None
    return {"<=": sign >= 0, "<": sign > 0, "==": sign == 0, "!=": sign != 0}[kind]


def margin_of(relation: Relation) -> Evaluator:
    """The evaluator of a relation's larger minus smaller side."""
    small, large = compiled(relation.small), compiled(relation.large)
    return lambda point: _sum([large(point), -small(point)])


def decide(
    margin: Evaluator, kind: str, point: Mapping[str, Value], bits: tuple[int, ...] = (128, 512)
) -> bool | None:
    """Whether a relation holds at a point, at rising precision.

    Returns None where it is undefined or undecided.
    """
    for used in bits:
        with precision(used):
            try:
                value = margin(point)
            except (Undefined, ZeroDivisionError, OverflowError):
                return None
            if isinstance(value, flint.arb) and not value.is_finite():
                continue
            found = holds(value, kind)
            if found is not None:
                return found
    return None


def _sum(values: list[Value]) -> Value:
    return _fold(values, flint.fmpq(0), lambda a, b: a + b)


def _product(values: list[Value]) -> Value:
    exact = [value for value in values if not isinstance(value, flint.arb)]
    if any(value == 0 for value in exact):
        return flint.fmpq(0)
    return _fold(values, flint.fmpq(1), lambda a, b: a * b)


def _fold(values: list[Value], start: Any, join: Callable[[Any, Any], Any]) -> Value:
    """Exact parts are joined first, so that they stay exact as long as possible."""
    exact = start
    rest = None
    for value in values:
        if isinstance(value, flint.arb):
            rest = value if rest is None else join(rest, value)
        else:
            exact = join(exact, value)
    return exact if rest is None else join(rest, flint.arb(exact))


def _power(base: Value, exponent: Value) -> Value:
    if isinstance(base, flint.arb) or isinstance(exponent, flint.arb):
        sign = sign_of(base)
        if sign is None or (sign <= 0 and (isinstance(exponent, flint.arb) or exponent.q != 1)):
            if not isinstance(exponent, flint.arb) and exponent.q == 1 and exponent > 0:
                return base ** flint.arb(exponent)
            raise Undefined("power")
        return ball_of(base) ** ball_of(exponent)
    if base == 0 and exponent <= 0:
        raise Undefined("power of zero")
    if exponent.q == 1 and abs(exponent) <= LARGEST_POWER:
        return base ** int(exponent.p)
    if base < 0:
        raise Undefined("root of a negative number")
    if exponent.q == 2 and abs(exponent) <= LARGEST_POWER:
        root = _square_root(base)
        if root is not None:
            return root ** int(exponent.p)
    return flint.arb(base) ** flint.arb(exponent)


def _square_root(number: Any) -> Any:
    over, under = number.p.isqrt(), number.q.isqrt()
    return flint.fmpq(over, under) if over**2 == number.p and under**2 == number.q else None


def _exponential(value: Value) -> Value:
    if not isinstance(value, flint.arb) and value == 0:
        return flint.fmpq(1)
    return ball_of(value).exp()


def _logarithm(value: Value) -> Value:
    if sign_of(value) != 1:
        raise Undefined("log")
    if not isinstance(value, flint.arb) and value == 1:
        return flint.fmpq(0)
    return ball_of(value).log()


def _largest(first: Value, second: Value) -> Value:
    sign = sign_of(_sum([first, -second]))
    if sign is None:
        return ball_of(first).max(ball_of(second))
    return first if sign >= 0 else second


def _smallest(first: Value, second: Value) -> Value:
    return -_largest(-first, -second)


_UNARY: dict[str, Callable[[Value], Value]] = {
    "exp": _exponential,
    "log": _logarithm,
    "Abs": abs,
}


#: Bounds are given with this many digits after the point, relative to the number's size.
DIGITS = 12


def enclose(expression: Any) -> tuple[Fraction, Fraction]:
    """Two rationals with a number of sympy strictly between them.

    Returns lower and upper bound. Raises ValueError if the number is not finite.
    """
    with precision(256):
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
    with precision(256):
        power = flint.arb(1) / order
        ball = balls.ball(number) ** power * 10**6
        edge = (ball.lower().floor() if below else ball.upper().ceil()).unique_fmpz()
    guess = Fraction(int(edge), 10**6)
    right = guess**order <= number if below else guess**order >= number
    if not right:
        raise RuntimeError(f"wrong bound {guess} for root {order} of {number}")
    return guess


def balls_agree(goal: Relation, point: Mapping[str, Any], sides: list[Any]) -> bool:
    """Whether balls of 256 bits contain the exact values of both sides of a relation."""
    with precision(256):
        values = {letter: flint.arb(point[letter.name]) for letter in goal.symbols}
        found = [balls.evaluate(side, values) for side in (goal.small, goal.large)]
        return all(contains(ball, side) for ball, side in zip(found, sides, strict=True))


def contains(ball: flint.arb, number: Any) -> bool:
    """Whether a ball contains a rational, decided in rationals.

    ``arb.contains`` rounds the rational to a ball first and asks for the whole of that, so that it
    can deny what is true.
    """
    if not ball.is_finite():
        return False
    return bool(abs(number - _dyadic(ball.mid())) <= _dyadic(ball.rad()))


def _dyadic(number: flint.arb) -> Any:
    mantissa, exponent = number.man_exp()
    power = flint.fmpz(2) ** abs(int(exponent))
    return flint.fmpq(mantissa) * power if exponent >= 0 else flint.fmpq(mantissa, power)


def mpmath_agrees(given: Sequence[Relation], goal: Relation, point: Mapping[str, Any]) -> bool:
    """Whether plain 60-digit arithmetic sees a counterexample too, up to its rounding."""
    with precision(53), mpmath.workdps(60):  # mpmath's is the process's too: one thread at a time
        values = {
            name: mpmath.mpf(int(value.p)) / mpmath.mpf(int(value.q))
            for name, value in point.items()
        }
        for relation in (*given, goal):
            small, large = _plain(relation.small, values), _plain(relation.large, values)
            slack = (large - small) / (abs(large) + abs(small) + mpmath.mpf("1e-100000"))
            bound = mpmath.mpf("1e-40")
            fails = slack < -bound if relation.kind != "==" else abs(slack) > bound
            if relation is not goal:
                if fails:
                    return False
            elif slack > bound and relation.kind != "==":
                return False
    return True


def _plain(expression: Any, values: Mapping[str, Any]) -> Any:
    if expression.is_Symbol:
        return values[expression.name]
    if expression.is_Rational:
        return mpmath.mpf(int(expression.p)) / int(expression.q)
    if expression.is_NumberSymbol:
        return mpmath.e if expression.func.__name__ == "Exp1" else mpmath.pi
    parts = [_plain(argument, values) for argument in expression.args]
    name = expression.func.__name__
    if name == "Add":
        return mpmath.fsum(parts)
    if name == "Mul":
        return mpmath.fprod(parts)
    if name == "Pow":
        return mpmath.power(*parts)
    if name in ("Max", "Min"):
        return max(parts) if name == "Max" else min(parts)
    return {"exp": mpmath.exp, "log": mpmath.log, "Abs": abs}[name](parts[0])


@dataclass(frozen=True)
class Condition:
    """A relation ready for evaluation."""

    relation: Relation
    margin: Evaluator
    letters: frozenset[str]


def condition(relation: Relation) -> Condition:
    """A relation ready for evaluation."""
    letters = frozenset(letter.name for letter in relation.symbols)
    return Condition(relation, margin_of(relation), letters)


def edge_of(
    found: Condition,
    name: str,
    point: Mapping[str, Any],
    turns: tuple[str, ...] = ("plain", "inverse", "square"),
) -> tuple[Any, int] | None:
    """Where the margin of a relation vanishes, as a function of one letter.

    Returns the edge, and 1 if the relation holds above it, -1 below. None if the margin is neither
    linear in the letter nor in its inverse or square root.
    """

    def at(value: Any) -> Any:
        return found.margin({**point, name: value})

    with precision(192):
        for turn in turns:
            places = [_turned(turn, flint.fmpq(step)) for step in (1, 2, 3)]
            try:
                first, second, third = (at(place) for place in places)
            except (Undefined, ZeroDivisionError, OverflowError, ValueError):
                continue
            slope = second - first
            bend = third - second - slope
            small = isinstance(bend, flint.arb)
            if not (bend.contains(0) if small else bend == 0) or slope == 0:
                continue
            if small and slope.contains(0):
                continue
            root = 1 - first / slope
            rising = slope > 0
            if isinstance(root, flint.arb):
                if not root.is_finite():
                    continue
                # A rational a little on the side where the relation holds.
                lower, upper = root.lower(), root.upper()
                root = _rational(upper if rising else lower)
            if turn != "plain" and root <= 0:
                continue
            edge = _turned(turn, root)
            return edge, (1 if rising else -1) * (-1 if turn in ("inverse", "negative") else 1)
    return None


def _turned(turn: str, value: Any) -> Any:
    if turn == "inverse":
        return 1 / value
    if turn == "negative":
        return -value
    return value * value if turn == "square" else value


def _rational(number: Any) -> Any:
    mantissa, exponent = number.mid().man_exp()
    power = flint.fmpz(2) ** abs(int(exponent))
    return flint.fmpq(mantissa) * power if exponent >= 0 else flint.fmpq(mantissa, power)
