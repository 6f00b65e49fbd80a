r"""Inequalities in one or two letters, by branch and bound in ball arithmetic.

The goal is written as :math:`f \ge 0`. A letter without upper bound is replaced by 1/s (by 1/s^2
where its square root occurs), which brings infinity to s = 0. On a box, f is bounded with balls;
where that does not decide, f is reduced to an edge if it is monotone in a letter, to both edges if
it is concave, and the box is split otherwise. Hypotheses that are no bounds on a letter are
dropped, which only makes the goal harder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import flint
import sympy

from swingby.proofs.prover.scalar.rational_bounds import bound_root
from swingby.proofs.prover.scalar.relation import Sequent, expression_text
from swingby.theory import balls
from swingby.theory.balls import precision
from swingby.theory.numbers import fraction
from swingby.theory.search_time import seconds_left

#: Boxes looked at before giving up.
_MOST_BOXES = 400
#: Halvings of one box before giving up: singular letters need ever smaller ones.
_DEEPEST = 60
BITS = 128

Interval = tuple[Any, Any]
#: Where nothing is known.
_UNKNOWN: Interval = (flint.arb("-inf"), flint.arb("inf"))


@dataclass
class BoxReport:
    """The log of a run over boxes; `corner`: the first box that was left undecided."""

    boxes: int = 0
    steps: list[str] = field(default_factory=list)
    corner: str = ""

    def note(self, line: str) -> None:
        """Add a line once."""
        if line not in self.steps and len(self.steps) < 12:
            self.steps.append(line)


def interval(expression: Any, box: Mapping[Any, Interval]) -> Interval:
    """Both bounds of an expression over a box; not finite, or NaN, if nothing is known."""
    if expression.is_Symbol:
        return box[expression]
    if not expression.free_symbols:
        number = balls.evaluate(expression, {})
        return number, number
    bounds = [interval(argument, box) for argument in expression.args]
    if expression.is_Add:
        lows, highs = zip(*bounds, strict=True)
        return sum(lows, flint.arb(0)), sum(highs, flint.arb(0))
    if expression.is_Mul:
        return reduce(_times, bounds)
    if isinstance(expression, sympy.exp):
        return bounds[0][0].exp(), bounds[0][1].exp()
    if isinstance(expression, sympy.log):
        low, high = bounds[0]
        return (low.log(), high.log()) if low > 0 else _UNKNOWN
    if expression.is_Pow and expression.args[1].is_Rational:
        return _power(bounds[0], expression.args[1])
    raise TypeError(f"no bounds for {expression.func.__name__}")


def _times(first: Interval, second: Interval) -> Interval:
    corners = [flint.arb(0) if a == 0 or b == 0 else a * b for a in first for b in second]
    return reduce(flint.arb.min, corners), reduce(flint.arb.max, corners)


def _power(base: Interval, exponent: Any) -> Interval:
    low, high = base
    if exponent.is_Integer and exponent > 0 and not low >= 0:
        return reduce(_times, [base] * int(exponent))
    if not low >= 0 or (exponent < 0 and not low > 0):
        return _UNKNOWN
    power = balls.ball(fraction(exponent))
    ends = [end if end == 0 else end**power for end in (low, high)]
    return (ends[0], ends[1]) if exponent > 0 else (ends[1], ends[0])


@dataclass(frozen=True)
class Stretch:
    """An interval of a letter; an end may be infinite, or left out."""

    letter: Any
    low: Any = -sympy.oo
    high: Any = sympy.oo
    low_open: bool = True
    high_open: bool = True

    @property
    def balls(self) -> Interval:
        """Both ends as balls."""
        return _ball(self.low), _ball(self.high)

    @property
    def ends(self) -> list[Any]:
        """The ends that are finite."""
        return [end for end in (self.low, self.high) if not end.is_infinite]

    def __str__(self) -> str:
        return f"{self.letter} from {self.low} to {self.high}"


def _ball(end: Any) -> Any:
    if end.is_infinite:
        return flint.arb("inf" if end > 0 else "-inf")
    return balls.evaluate(end, {})


def stretch_of(sequent: Sequent, letter: Any) -> Stretch:
    """The interval of a letter that the hypotheses leave, as far as they bound it by numbers."""
    stretch = Stretch(letter)
    if letter.is_nonnegative:
        stretch = replace(stretch, low=sympy.Integer(0), low_open=bool(letter.is_positive))
    for relation in sequent.hypotheses:
        strict = relation.kind == "<"
        bound = relation.large
        if relation.small == letter and bound.is_Rational and bound <= stretch.high:
            open_end = strict or (bound == stretch.high and stretch.high_open)
            stretch = replace(stretch, high=bound, high_open=open_end)
        bound = relation.small
        if relation.large == letter and bound.is_Rational and bound >= stretch.low:
            open_end = strict or (bound == stretch.low and stretch.low_open)
            stretch = replace(stretch, low=bound, low_open=open_end)
    return stretch


def prove_on_boxes(sequent: Sequent) -> tuple[bool, BoxReport]:
    """Whether boxes prove a sequent in one or two letters; False says nothing about it."""
    report = BoxReport()
    letters = sorted(sequent.goal.symbols, key=str)
    if sequent.goal.kind == "==" or not 1 <= len(letters) <= 2:
        report.corner = "more than two letters"
        return False, report
    try:
        with precision(BITS):
            return _on_boxes(sequent, letters, report), report
    except (TypeError, ZeroDivisionError, ValueError) as error:
        report.corner = str(error)
        return False, report


def _on_boxes(sequent: Sequent, letters: list[Any], report: BoxReport) -> bool:
    f = sympy.expand(sequent.goal.difference)
    box: dict[Any, Stretch] = {}
    for letter in letters:
        stretch = stretch_of(sequent, letter)
        if stretch.high.is_infinite and stretch.low > 0:
            f, stretch = _invert_letter(f, stretch, report)
        if len(stretch.ends) < 2:
            report.corner = f"{letter} is not bounded on both sides"
            return False
        box[stretch.letter] = stretch
    factors = sympy.Mul.make_args(sympy.factor_terms(f))
    f = sympy.Mul(
        *(e for e in factors if not (e.is_positive and e.as_base_exp()[0] in frozenset(box)))
    )
    report.note(f"f = {expression_text(f)} on {_box_text(box)}")
    return _nonnegative(f, box, sequent.goal.kind == "<", report)


def _invert_letter(f: Any, stretch: Stretch, report: BoxReport) -> tuple[Any, Stretch]:
    """The goal in s, with the letter as 1/s or 1/s^2, times a power of s."""
    letter = stretch.letter
    halves = any(
        power.args[0] == letter and not power.args[1].is_Integer for power in f.atoms(sympy.Pow)
    )
    order = 2 if halves else 1
    s = sympy.Symbol(f"s_{letter}", positive=True)
    changed = sympy.expand(f.xreplace({letter: s**-order}))
    changed = sympy.expand(sympy.powdenest(changed, force=False))
    lowest = min(term.as_coeff_exponent(s)[1] for term in sympy.Add.make_args(changed))
    if lowest < 0:
        changed = sympy.expand(changed * s**-lowest)
    edge = sympy.Rational(bound_root(fraction(1 / stretch.low), order, below=False))
    report.note(f"{letter} = {s}^-{order}")
    return changed, Stretch(s, sympy.Integer(0), edge)


def _nonnegative(
    f: Any, box: dict[Any, Stretch], strict: bool, report: BoxReport, depth: int = 0
) -> bool:
    seconds_left()
    report.boxes += 1
    if f == 0:
        return not strict
    if f.has(sympy.zoo, sympy.nan, sympy.oo, sympy.S.NegativeInfinity):
        report.corner = report.corner or f"undefined at an edge near {_box_text(box)}"
        return False
    balled = {letter: stretch.balls for letter, stretch in box.items()}
    low, high = interval(f, balled)
    if low > 0 or (not strict and low >= 0):
        return True
    if high < 0 or report.boxes > _MOST_BOXES or depth > _DEEPEST or not box:
        report.corner = report.corner or f"{expression_text(f)} near {_box_text(box)}"
        return False
    for letter, stretch in box.items():
        face = {coordinate: side for coordinate, side in box.items() if coordinate != letter}
        slope = sympy.factor_terms(sympy.diff(f, letter))
        below, above = interval(slope, balled)
        if below >= 0 or above <= 0:
            edges = [stretch.low if below >= 0 else stretch.high]
            report.note(f"monotone in {letter}: edge {letter} = {edges[0]}")
        elif interval(sympy.factor_terms(sympy.diff(slope, letter)), balled)[1] <= 0:
            edges = stretch.ends
            report.note(f"concave in {letter}: edges {letter} = {edges[0]} and {edges[1]}")
        else:
            continue
        return all(_nonnegative(f.subs(letter, e), face, strict, report, depth) for e in edges)
    stretch = max(box.values(), key=lambda side: side.high - side.low)
    middle = (stretch.low + stretch.high) / 2
    halves = (replace(stretch, high=middle), replace(stretch, low=middle))
    return all(
        _nonnegative(f, {**box, stretch.letter: half}, strict, report, depth + 1) for half in halves
    )


def _box_text(box: Mapping[Any, Stretch]) -> str:
    return ", ".join(f"{v} in [{s.low}, {s.high}]" for v, s in box.items()) or "a corner"
