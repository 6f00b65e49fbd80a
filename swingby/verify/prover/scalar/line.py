"""Inequalities in one letter that touch zero: by derivatives, from points where a value is known.

f >= 0 on an interval if f(c) >= 0 somewhere, f' >= 0 beyond c and f' <= 0 before it; the signs of
the derivatives are shown in the same way, down to one that balls bound. The interval has to lie
where everything is defined, which is checked first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import flint
import sympy

from swingby.theory import balls
from swingby.verify.prover.scalar.branch_and_bound import interval
from swingby.verify.prover.scalar.clock import left
from swingby.verify.prover.scalar.definedness import conditions
from swingby.verify.prover.scalar.relation import Sequent, plain

#: Derivatives taken one after the other.
DEEPEST = 4
BITS = 128

#: Where functions touch zero, besides the numbers that they are written with.
USUAL = (0, 1, -1, 2, sympy.Rational(1, 2), sympy.E, 1 / sympy.E)


@dataclass(frozen=True)
class Stretch:
    """An interval of one letter; an end may be infinite, or left out."""

    letter: Any
    low: Any
    high: Any
    low_open: bool
    high_open: bool

    @property
    def balls(self) -> tuple[Any, Any]:
        """Both ends as balls."""
        low, high = (
            flint.arb("inf") * int(sympy.sign(end)) if end.is_infinite else balls.evaluate(end, {})
            for end in (self.low, self.high)
        )
        return low, high

    def __str__(self) -> str:
        return f"{self.letter} from {self.low} to {self.high}"


def prove_on_line(sequent: Sequent) -> list[str] | None:
    """The steps of a proof of an inequality in one letter, or None.

    `sequent`: without Abs, Max and Min. Hypotheses that are no bounds on the letter are dropped.
    """
    goal = sequent.goal
    if goal.kind not in ("<=", "<") or len(goal.symbols) != 1:
        return None
    stretch = _stretch(sequent)
    if not stretch.low < stretch.high:
        return None
    f = goal.difference
    steps: list[str] = []
    with flint.ctx.workprec(BITS):
        try:
            needed = [found for side in (goal.small, goal.large) for found in conditions(side)]
            if not all(_holds_inside(found, stretch) for found in needed):
                return None
            return steps if _nonnegative(f, stretch, goal.kind == "<", steps, 0) else None
        except (TypeError, ValueError, ZeroDivisionError):
            return None


def _stretch(sequent: Sequent) -> Stretch:
    (letter,) = sequent.goal.symbols
    low, low_open, high, high_open = -sympy.oo, True, sympy.oo, True
    if letter.is_nonnegative:
        low, low_open = sympy.Integer(0), bool(letter.is_positive)
    for relation in sequent.given:
        strict = relation.kind == "<"
        bound = relation.large
        if relation.small == letter and bound.is_Rational and bound <= high:
            high, high_open = bound, strict or (bound == high and high_open)
        bound = relation.small
        if relation.large == letter and bound.is_Rational and bound >= low:
            low, low_open = bound, strict or (bound == low and low_open)
    return Stretch(letter, low, high, low_open, high_open)


def _holds_inside(needed: Any, stretch: Stretch) -> bool:
    """Whether a side condition holds in the whole interval, its open ends left aside."""
    signs = (1, -1) if needed.kind == "!=" else (1,)
    e = needed.small if needed.kind == "!=" else needed.large
    return any(_positive_inside(sign * e, stretch) for sign in signs)


def _positive_inside(e: Any, stretch: Stretch) -> bool:
    if e.is_positive:
        return True
    if interval(e, {stretch.letter: stretch.balls})[0] > 0:
        return True
    slope = sympy.diff(e, stretch.letter)
    if not slope.is_Rational or slope == 0:
        return False
    # a line that is zero at an open end at most
    end, is_open = (
        (stretch.low, stretch.low_open) if slope > 0 else (stretch.high, stretch.high_open)
    )
    if end.is_infinite:
        return False
    value = e.subs(stretch.letter, end)
    return bool(value > 0 or (value == 0 and is_open))


def _value_sign(f: Any, letter: Any, at: Any) -> int | None:
    """The certain sign of f at a number."""
    value = f.subs(letter, at)
    if not value.is_finite:
        return None
    value = sympy.expand(sympy.expand_log(value, force=True))
    if value == 0:
        return 0
    return balls.sign(balls.evaluate(value, {}))


def _nonnegative(f: Any, stretch: Stretch, strict: bool, steps: list[str], depth: int) -> bool:
    left()
    letter = stretch.letter
    f = _numerator(f, stretch)
    if f == 0:
        return not strict
    if f.is_positive or (f.is_nonnegative and not strict):
        return True
    low = interval(f, {letter: stretch.balls})[0]
    if low > 0 or (low >= 0 and not strict):
        return True
    if depth == DEEPEST:
        return False
    slope = sympy.diff(f, letter)
    for at in _starts(f, stretch, depth):
        sign = _value_sign(f, letter, at)
        if sign is None or sign < 0:
            continue
        outside = (at == stretch.low and stretch.low_open) or (
            at == stretch.high and stretch.high_open
        )
        if strict and sign == 0 and not outside:
            continue
        # from an end that is left out, a value of zero will do if f is strictly monotone
        rising = strict and sign == 0
        after = Stretch(letter, at, stretch.high, True, stretch.high_open)
        before = Stretch(letter, stretch.low, at, stretch.low_open, True)
        if at != stretch.high and not _nonnegative(slope, after, rising, [], depth + 1):
            continue
        if at != stretch.low and not _nonnegative(-slope, before, rising, [], depth + 1):
            continue
        steps.append(f"f = {plain(f)} is {'0' if sign == 0 else 'positive'} at {letter} = {at}")
        steps.append(f"f' = {plain(slope)} has the sign of {letter} - {at} on {stretch}")
        return True
    return False


def _numerator(f: Any, stretch: Stretch) -> Any:
    """What has the sign of f: without denominators and factors that are positive inside."""
    top, bottom = sympy.fraction(sympy.together(f))
    sign = sympy.Integer(1)
    kept = []
    for factor in sympy.Mul.make_args(sympy.factor_terms(bottom)):
        base, power = factor.as_base_exp()
        if _positive_inside(base, stretch):
            continue
        if power.is_Integer and _positive_inside(-base, stretch):
            sign *= (-1) ** power
            continue
        return f
    for factor in sympy.Mul.make_args(sympy.factor(top) if top.is_polynomial() else top):
        if not (factor.is_positive or _positive_inside(factor.as_base_exp()[0], stretch)):
            kept.append(factor)
    return sympy.expand(sign * sympy.Mul(*kept))


def _starts(f: Any, stretch: Stretch, depth: int) -> list[Any]:
    """Numbers to start from: the ends, and points at which f may touch zero."""
    ends = [end for end in (stretch.low, stretch.high) if not end.is_infinite]
    if depth:
        return ends
    numbers = [abs(number) for number in f.atoms(sympy.Rational) if number]
    tried = [*map(sympy.sympify, USUAL)]
    tried += [value for n in numbers for value in (n, 1 / n, -n, -1 / n, sympy.log(n))]
    inside = [c for c in dict.fromkeys(tried) if stretch.low < c < stretch.high]
    return [*ends, *inside]
