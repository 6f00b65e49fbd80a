r"""Inequalities in one or two letters, by interval arithmetic on boxes.

The goal is written as :math:`f \ge 0`. A letter without upper bound is replaced by 1/s (by
1/s^2 where its square root occurs), which brings infinity to s = 0. On a box, f is bounded with
balls; where that does not decide, f is reduced to an edge if it is monotone in a letter, to both
edges if it is concave, and the box is split otherwise. Hypotheses that are no bounds on a
letter are dropped, which only makes the goal harder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import flint
import sympy

from swingby.theory import balls
from swingby.verify.prover.scalar.clock import left
from swingby.verify.prover.scalar.enclosure import upper_root
from swingby.verify.prover.scalar.relation import Sequent, plain
from swingby.verify.prover.scalar.translation import fraction

#: Boxes looked at before giving up.
MOST_BOXES = 400
#: Halvings of one box before giving up: singular letters need ever smaller ones.
DEEPEST = 60
BITS = 128
#: Depth of the recursion "f(l) >= 0 and f' >= 0 beyond l".
MOST_DERIVATIVES = 3

Interval = tuple[Any, Any]


@dataclass
class Report:
    """What a run over boxes did.

    `steps`: reductions, for a reader. `corner`: the first box that was left undecided.
    """

    boxes: int = 0
    steps: list[str] = field(default_factory=list)
    corner: str = ""

    def note(self, line: str) -> None:
        """Add a line once."""
        if line not in self.steps and len(self.steps) < 12:
            self.steps.append(line)


def interval(expression: Any, box: Mapping[Any, Interval]) -> Interval:
    """Bounds of an expression over a box.

    Returns lower and upper bound; not finite, or NaN, where nothing is known.

    Examples
    --------
    >>> x = sympy.Symbol("x")
    >>> low, high = interval(x * (1 - x), {x: (flint.arb(0), flint.arb(1))})
    >>> low >= 0, high <= 1
    (True, True)
    """
    if expression.is_Symbol:
        return box[expression]
    if expression.is_Rational:
        number = balls.ball(fraction(expression))
        return number, number
    if not expression.free_symbols:
        number = balls.evaluate(expression, {})
        return number, number
    if expression.is_Add:
        parts = [interval(part, box) for part in expression.args]
        return sum((p[0] for p in parts), flint.arb(0)), sum((p[1] for p in parts), flint.arb(0))
    if expression.is_Mul:
        total = (flint.arb(1), flint.arb(1))
        for part in expression.args:
            total = _times(total, interval(part, box))
        return total
    if isinstance(expression, sympy.exp):
        low, high = interval(expression.exp, box)
        return low.exp(), high.exp()
    if isinstance(expression, sympy.log):
        low, high = interval(expression.args[0], box)
        return (low.log(), high.log()) if low > 0 else (flint.arb("-inf"), flint.arb("inf"))
    if expression.is_Pow and expression.args[1].is_Rational:
        return _power(interval(expression.args[0], box), expression.args[1])
    raise TypeError(f"no bounds for {expression.func.__name__}")


def _times(first: Interval, second: Interval) -> Interval:
    corners = [_corner(a, b) for a in first for b in second]
    low, high = corners[0], corners[0]
    for corner in corners[1:]:
        low, high = low.min(corner), high.max(corner)
    return low, high


def _corner(a: Any, b: Any) -> Any:
    return flint.arb(0) if a == 0 or b == 0 else a * b


def _power(base: Interval, exponent: Any) -> Interval:
    unknown = (flint.arb("-inf"), flint.arb("inf"))
    power = balls.ball(fraction(exponent))
    low, high = base
    if exponent.is_Integer and exponent > 0 and not low >= 0:
        total = base
        for _ in range(int(exponent) - 1):
            total = _times(total, base)
        return total
    if not low >= 0 or (exponent < 0 and not low > 0):
        return unknown
    ends = [end if end == 0 else end**power for end in (low, high)]
    return (ends[0], ends[1]) if exponent > 0 else (ends[1], ends[0])


def prove_on_boxes(sequent: Sequent) -> tuple[bool, Report]:
    """Whether boxes prove a sequent in one or two letters.

    Returns False says nothing about the sequent.
    """
    report = Report()
    goal = sequent.goal
    letters = sorted(goal.symbols, key=str)
    if goal.kind == "==" or not 1 <= len(letters) <= 2:
        report.corner = "more than two letters"
        return False, report
    try:
        with flint.ctx.workprec(BITS):
            return _prove(sequent, letters, report), report
    except (TypeError, ZeroDivisionError, ValueError) as error:
        report.corner = str(error)
        return False, report


def _prove(sequent: Sequent, letters: list[Any], report: Report) -> bool:
    strict = sequent.goal.kind == "<"
    f = sympy.expand(sequent.goal.difference)
    box: dict[Any, tuple[Any, Any]] = {}
    for letter in letters:
        low, high = _range(sequent, letter)
        if low is None:
            report.corner = f"{letter} is not bounded below"
            return False
        if high is None and len(letters) == 1 and _beyond(f, letter, low, strict, report, 0):
            return True
        if high is None:
            f, letter, low, high = _invert(f, letter, low, report)
            if high is None:
                report.corner = f"{letter} is not bounded above"
                return False
        box[letter] = (low, high)
    f = _without_positive_factors(f, frozenset(box))
    report.note(
        f"f = {plain(f)} on "
        + ", ".join(f"{v} in [{low}, {high}]" for v, (low, high) in box.items())
    )
    return _nonnegative(f, box, strict, report)


def _range(sequent: Sequent, letter: Any) -> tuple[Any, Any]:
    """Rational bounds of a letter; a strict one is used as if it were not."""
    low = sympy.Integer(0) if letter.is_nonnegative else None
    high = None
    for relation in sequent.given:
        for bound, other, upper in (
            (relation.large, relation.small, True),
            (relation.small, relation.large, False),
        ):
            if other != letter or not bound.is_Rational:
                continue
            if upper or relation.kind == "==":
                high = bound if high is None else min(high, bound)
            if not upper or relation.kind == "==":
                low = bound if low is None else max(low, bound)
    return low, high


def _invert(f: Any, letter: Any, low: Any, report: Report) -> tuple[Any, Any, Any, Any]:
    """The goal in s, where the letter is 1/s or 1/s^2, times a power of s."""
    if not low > 0:
        return f, letter, low, None
    halves = any(
        power.args[0] == letter and not power.args[1].is_Integer for power in f.atoms(sympy.Pow)
    )
    order = 2 if halves else 1
    s = sympy.Symbol(f"s_{letter}", positive=True)
    changed = sympy.expand(f.xreplace({letter: s**-order}))
    changed = sympy.expand(sympy.powdenest(changed, force=False))
    least = min(term.as_coeff_exponent(s)[1] for term in sympy.Add.make_args(changed))
    if least < 0:
        changed = sympy.expand(changed * s**-least)
    inverse = fraction(1 / sympy.Rational(low))
    edge = upper_root(inverse, order) if order > 1 else inverse
    report.note(f"{letter} = {s}^-{order}")
    return changed, s, sympy.Integer(0), sympy.Rational(edge.numerator, edge.denominator)


def _without_positive_factors(f: Any, letters: frozenset[Any]) -> Any:
    factors = sympy.Mul.make_args(sympy.factor_terms(f))
    kept = [
        factor
        for factor in factors
        if not (factor.is_positive and factor.as_base_exp()[0] in letters)
    ]
    return sympy.Mul(*kept)


def _arb(number: Any) -> Any:
    return balls.ball(fraction(number))


def _nonnegative(
    f: Any, box: dict[Any, tuple[Any, Any]], strict: bool, report: Report, depth: int = 0
) -> bool:
    left()
    report.boxes += 1
    if f == 0:
        return not strict
    if not _defined(f):
        report.corner = report.corner or f"undefined at an edge near {_shown(box)}"
        return False
    low, high = interval(f, {v: (_arb(a), _arb(b)) for v, (a, b) in box.items()})
    if low > 0 or (not strict and low >= 0):
        return True
    if high < 0 or report.boxes > MOST_BOXES or depth > DEEPEST or not box:
        report.corner = report.corner or f"{plain(f)} near {_shown(box)}"
        return False
    balled = {v: (_arb(a), _arb(b)) for v, (a, b) in box.items()}
    for letter, (start, end) in box.items():
        rest = {v: edges for v, edges in box.items() if v != letter}
        slope = sympy.factor_terms(sympy.diff(f, letter))
        below, above = interval(slope, balled)
        if below >= 0 or above <= 0:
            edge = start if below >= 0 else end
            report.note(f"monotone in {letter}: edge {letter} = {edge}")
            return _nonnegative(f.subs(letter, edge), rest, strict, report, depth)
        if interval(sympy.factor_terms(sympy.diff(slope, letter)), balled)[1] <= 0:
            report.note(f"concave in {letter}: edges {letter} = {start} and {end}")
            return all(
                _nonnegative(f.subs(letter, edge), rest, strict, report, depth)
                for edge in (start, end)
            )
    letter = max(box, key=lambda v: box[v][1] - box[v][0])
    start, end = box[letter]
    middle = (start + end) / 2
    return all(
        _nonnegative(f, {**box, letter: half}, strict, report, depth + 1)
        for half in ((start, middle), (middle, end))
    )


def _defined(f: Any) -> bool:
    return not f.has(sympy.zoo, sympy.nan, sympy.oo, sympy.S.NegativeInfinity)


def _beyond(f: Any, letter: Any, low: Any, strict: bool, report: Report, depth: int) -> bool:
    """Whether f >= 0 on [low, infinity), by f there or by f(low) >= 0 and f' >= 0."""
    bounds = interval(f, {letter: (_arb(low), flint.arb("inf"))})
    if bounds[0] > 0 or (not strict and bounds[0] >= 0):
        return True
    if depth >= MOST_DERIVATIVES:
        return False
    if not _nonnegative(f.subs(letter, low), {}, strict, Report()):
        return False
    slope = sympy.factor_terms(sympy.diff(f, letter))
    report.note(f"f(l) >= 0 at l = {low}, then f' = {plain(slope)}")
    return _beyond(slope, letter, low, False, report, depth + 1)


def _shown(box: Mapping[Any, tuple[Any, Any]]) -> str:
    return ", ".join(f"{v} in [{a}, {b}]" for v, (a, b) in box.items()) or "a corner"
