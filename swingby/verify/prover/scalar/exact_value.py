"""Values of expressions at rational points: exact where they are rational, balls elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import flint

from swingby.theory import balls
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

    Examples
    --------
    >>> import sympy
    >>> x = sympy.Symbol("x")
    >>> compiled(sympy.sqrt(x) + 1)({"x": flint.fmpq(4, 9)})
    5/3
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
    for precision in bits:
        with flint.ctx.workprec(precision):
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
