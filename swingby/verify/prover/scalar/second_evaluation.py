"""A second evaluation of a witness, by other means than the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import flint
import mpmath

from swingby.theory import balls
from swingby.verify.prover.scalar.relation import Relation


def balls_agree(goal: Relation, point: Mapping[str, Any], sides: list[Any]) -> bool:
    """Whether balls of 256 bits contain the exact values of both sides of a relation."""
    with flint.ctx.workprec(256):
        values = {letter: flint.arb(point[letter.name]) for letter in goal.symbols}
        found = [balls.evaluate(side, values) for side in (goal.small, goal.large)]
        return all(contains(ball, side) for ball, side in zip(found, sides, strict=True))


def contains(ball: flint.arb, number: Any) -> bool:
    """Whether a ball contains a rational, decided in rationals.

    ``arb.contains`` rounds the rational to a ball first and asks for the whole of that, so that it
    can deny what is true.

    Examples
    --------
    >>> third = flint.fmpq(1, 3)
    >>> contains(flint.arb(third), third), contains(flint.arb(third), third + third)
    (True, False)
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
    with mpmath.workdps(60):
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
