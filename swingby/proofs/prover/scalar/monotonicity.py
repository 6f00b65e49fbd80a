"""Inequalities in a single letter that touch zero, by the signs of derivatives.

f >= 0 on an interval if f(c) >= 0 somewhere, f' >= 0 beyond c and f' <= 0 before it; the signs of
the derivatives are shown in the same way, down to one that balls bound. The interval has to lie
where everything is defined, which is checked first.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import sympy

from swingby.proofs.prover.scalar.branch_and_bound import BITS, Stretch, interval, stretch_of
from swingby.proofs.prover.scalar.relation import Sequent, expression_text
from swingby.proofs.prover.scalar.side_conditions import definedness_conditions
from swingby.theory import balls
from swingby.theory.balls import precision
from swingby.theory.search_time import seconds_left

#: Derivatives taken one after the other.
_MOST_DERIVATIVES = 4

#: Where functions touch zero, besides the numbers that they are written with.
_USUAL = (0, 1, -1, 2, sympy.Rational(1, 2), sympy.E, 1 / sympy.E)


def prove_on_line(sequent: Sequent) -> list[str] | None:
    """The steps of a proof of an inequality in one letter, without Abs, Max and Min; or None."""
    goal = sequent.goal
    if goal.kind not in ("<=", "<") or len(goal.symbols) != 1:
        return None
    stretch = stretch_of(sequent, *goal.symbols)
    if not stretch.low < stretch.high:
        return None
    steps: list[str] = []
    with precision(BITS):
        try:
            needed = [
                condition for side in goal.sides for condition in definedness_conditions(side)
            ]
            proved = all(_holds_inside(condition, stretch) for condition in needed) and _on_line(
                goal.difference, stretch, goal.kind == "<", steps, 0
            )
        except (TypeError, ValueError, ZeroDivisionError):
            return None
    return steps if proved else None


def _holds_inside(needed: Any, stretch: Stretch) -> bool:
    """Whether a side condition holds in the whole interval, its open ends left aside."""
    if needed.kind == "!=":
        return any(_positive_inside(sign * needed.small, stretch) for sign in (1, -1))
    return _positive_inside(needed.large, stretch)


def _positive_inside(e: Any, stretch: Stretch) -> bool:
    if e.is_positive or interval(e, {stretch.letter: stretch.balls})[0] > 0:
        return True
    slope = sympy.diff(e, stretch.letter)
    if not slope.is_Rational or slope == 0:
        return False
    # a line that is zero at an open end at most
    end, is_open = (
        (stretch.low, stretch.low_open) if slope > 0 else (stretch.high, stretch.high_open)
    )
    value = sympy.S.NegativeOne if end.is_infinite else e.subs(stretch.letter, end)
    return bool(value > 0 or (value == 0 and is_open))


def _value_sign(f: Any, letter: Any, at: Any) -> int | None:
    """The certain sign of f at a number."""
    value = f.subs(letter, at)
    if not value.is_finite:
        return None
    value = sympy.expand(sympy.expand_log(value, force=True))
    return 0 if value == 0 else balls.sign(balls.evaluate(value, {}))


def _on_line(f: Any, stretch: Stretch, strict: bool, steps: list[str], depth: int) -> bool:
    seconds_left()
    letter = stretch.letter
    f = _numerator(f, stretch)
    if f == 0:
        return not strict
    low = interval(f, {letter: stretch.balls})[0]
    if f.is_positive or low > 0 or (not strict and (f.is_nonnegative or low >= 0)):
        return True
    if depth == _MOST_DERIVATIVES:
        return False
    slope = sympy.diff(f, letter)
    for at in stretch.ends if depth else _starts(f, stretch):
        sign = _value_sign(f, letter, at)
        outside = (at == stretch.low and stretch.low_open) or (
            at == stretch.high and stretch.high_open
        )
        if sign is None or sign < 0 or (strict and sign == 0 and not outside):
            continue
        # from an end that is left out, a value of zero will do if f is strictly monotone
        rising = strict and sign == 0
        after = replace(stretch, low=at, low_open=True)
        before = replace(stretch, high=at, high_open=True)
        if at != stretch.high and not _on_line(slope, after, rising, [], depth + 1):
            continue
        if at != stretch.low and not _on_line(-slope, before, rising, [], depth + 1):
            continue
        steps.append(
            f"f = {expression_text(f)} is {'0' if sign == 0 else 'positive'} at {letter} = {at}"
        )
        steps.append(f"f' = {expression_text(slope)} has the sign of {letter} - {at} on {stretch}")
        return True
    return False


def _numerator(f: Any, stretch: Stretch) -> Any:
    """A function of the sign of f: without denominators and factors that are positive inside."""
    top, bottom = sympy.fraction(sympy.together(f))
    sign = sympy.Integer(1)
    for factor in sympy.Mul.make_args(sympy.factor_terms(bottom)):
        base, power = factor.as_base_exp()
        if _positive_inside(base, stretch):
            continue
        if not (power.is_Integer and _positive_inside(-base, stretch)):
            return f
        sign *= (-1) ** power
    factors = sympy.Mul.make_args(sympy.factor(top) if top.is_polynomial() else top)
    unsigned = [e for e in factors if not _positive_inside(e.as_base_exp()[0], stretch)]
    return sympy.expand(sign * sympy.Mul(*unsigned))


def _starts(f: Any, stretch: Stretch) -> list[Any]:
    """Numbers to start from: the ends, and points at which f may touch zero."""
    numbers = [abs(number) for number in f.atoms(sympy.Rational) if number]
    tried = [*map(sympy.sympify, _USUAL)]
    tried += [value for n in numbers for value in (n, 1 / n, -n, -1 / n, sympy.log(n))]
    inside = [c for c in dict.fromkeys(tried) if stretch.low < c < stretch.high]
    return [*stretch.ends, *inside]
