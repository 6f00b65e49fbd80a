r"""Inequalities in one or two letters, by interval arithmetic.

On boxes: the goal is written as :math:`f \ge 0`. A letter without upper bound is replaced by 1/s
(by 1/s^2 where its square root occurs), which brings infinity to s = 0. On a box, f is bounded with
balls; where that does not decide, f is reduced to an edge if it is monotone in a letter, to both
edges if it is concave, and the box is split otherwise. Hypotheses that are no bounds on a
letter are dropped, which only makes the goal harder.

On a line: inequalities in one letter that touch zero, by derivatives. f >= 0 on an interval if
f(c) >= 0 somewhere, f' >= 0 beyond c and f' <= 0 before it; the signs of the derivatives are shown
in the same way, down to one that balls bound. The interval has to lie where everything is defined,
which is checked first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import flint
import sympy

from swingby.proofs.prover.scalar.exact_value import fraction, root_of
from swingby.proofs.prover.scalar.relation import Sequent, conditions, plain
from swingby.theory import balls
from swingby.theory.balls import precision
from swingby.theory.search_time import seconds_left

#: Boxes looked at before giving up.
MOST_BOXES = 400
#: Halvings of one box before giving up: singular letters need ever smaller ones.
DEEPEST = 60
#: Derivatives taken one after the other.
MOST_DERIVATIVES = 4
BITS = 128

#: Where functions touch zero, besides the numbers that they are written with.
USUAL = (0, 1, -1, 2, sympy.Rational(1, 2), sympy.E, 1 / sympy.E)

Interval = tuple[Any, Any]
#: Where nothing is known.
UNKNOWN: Interval = (flint.arb("-inf"), flint.arb("inf"))


@dataclass
class Report:
    """What a run over boxes did, for a reader; `corner`: the first box that was left undecided."""

    boxes: int = 0
    steps: list[str] = field(default_factory=list)
    corner: str = ""

    def note(self, line: str) -> None:
        """Add a line once."""
        if line not in self.steps and len(self.steps) < 12:
            self.steps.append(line)


def interval(expression: Any, box: Mapping[Any, Interval]) -> Interval:
    """Both bounds of an expression over a box; not finite, or NaN, where nothing is known."""
    if expression.is_Symbol:
        return box[expression]
    if not expression.free_symbols:
        number = balls.evaluate(expression, {})
        return number, number
    parts = [interval(part, box) for part in expression.args]
    if expression.is_Add:
        lows, highs = zip(*parts, strict=True)
        return sum(lows, flint.arb(0)), sum(highs, flint.arb(0))
    if expression.is_Mul:
        return reduce(_times, parts)
    if isinstance(expression, sympy.exp):
        return parts[0][0].exp(), parts[0][1].exp()
    if isinstance(expression, sympy.log):
        low, high = parts[0]
        return (low.log(), high.log()) if low > 0 else UNKNOWN
    if expression.is_Pow and expression.args[1].is_Rational:
        return _power(parts[0], expression.args[1])
    raise TypeError(f"no bounds for {expression.func.__name__}")


def _times(first: Interval, second: Interval) -> Interval:
    corners = [flint.arb(0) if a == 0 or b == 0 else a * b for a in first for b in second]
    return reduce(flint.arb.min, corners), reduce(flint.arb.max, corners)


def _power(base: Interval, exponent: Any) -> Interval:
    low, high = base
    if exponent.is_Integer and exponent > 0 and not low >= 0:
        return reduce(_times, [base] * int(exponent))
    if not low >= 0 or (exponent < 0 and not low > 0):
        return UNKNOWN
    power = balls.ball(fraction(exponent))
    ends = [end if end == 0 else end**power for end in (low, high)]
    return (ends[0], ends[1]) if exponent > 0 else (ends[1], ends[0])


@dataclass(frozen=True)
class Stretch:
    """An interval of one letter; an end may be infinite, or left out."""

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
    """Where the hypotheses let a letter be, as far as they bound it by numbers."""
    found = Stretch(letter)
    if letter.is_nonnegative:
        found = replace(found, low=sympy.Integer(0), low_open=bool(letter.is_positive))
    for relation in sequent.given:
        strict = relation.kind == "<"
        bound = relation.large
        if relation.small == letter and bound.is_Rational and bound <= found.high:
            open_end = strict or (bound == found.high and found.high_open)
            found = replace(found, high=bound, high_open=open_end)
        bound = relation.small
        if relation.large == letter and bound.is_Rational and bound >= found.low:
            open_end = strict or (bound == found.low and found.low_open)
            found = replace(found, low=bound, low_open=open_end)
    return found


def prove_on_boxes(sequent: Sequent) -> tuple[bool, Report]:
    """Whether boxes prove a sequent in one or two letters; False says nothing about it."""
    report = Report()
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


def _on_boxes(sequent: Sequent, letters: list[Any], report: Report) -> bool:
    f = sympy.expand(sequent.goal.difference)
    box: dict[Any, Stretch] = {}
    for letter in letters:
        found = stretch_of(sequent, letter)
        if found.high.is_infinite and found.low > 0:
            f, found = _inverted(f, found, report)
        if len(found.ends) < 2:
            report.corner = f"{letter} is not bounded on both sides"
            return False
        box[found.letter] = found
    factors = sympy.Mul.make_args(sympy.factor_terms(f))
    f = sympy.Mul(
        *(e for e in factors if not (e.is_positive and e.as_base_exp()[0] in frozenset(box)))
    )
    report.note(f"f = {plain(f)} on {_shown(box)}")
    return _nonnegative(f, box, sequent.goal.kind == "<", report)


def _inverted(f: Any, found: Stretch, report: Report) -> tuple[Any, Stretch]:
    """The goal in s, where the letter is 1/s or 1/s^2, times a power of s."""
    letter = found.letter
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
    edge = sympy.Rational(root_of(fraction(1 / found.low), order, below=False))
    report.note(f"{letter} = {s}^-{order}")
    return changed, Stretch(s, sympy.Integer(0), edge)


def _nonnegative(
    f: Any, box: dict[Any, Stretch], strict: bool, report: Report, depth: int = 0
) -> bool:
    seconds_left()
    report.boxes += 1
    if f == 0:
        return not strict
    if f.has(sympy.zoo, sympy.nan, sympy.oo, sympy.S.NegativeInfinity):
        report.corner = report.corner or f"undefined at an edge near {_shown(box)}"
        return False
    balled = {letter: stretch.balls for letter, stretch in box.items()}
    low, high = interval(f, balled)
    if low > 0 or (not strict and low >= 0):
        return True
    if high < 0 or report.boxes > MOST_BOXES or depth > DEEPEST or not box:
        report.corner = report.corner or f"{plain(f)} near {_shown(box)}"
        return False
    for letter, stretch in box.items():
        rest = {other: found for other, found in box.items() if other != letter}
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
        return all(_nonnegative(f.subs(letter, e), rest, strict, report, depth) for e in edges)
    stretch = max(box.values(), key=lambda found: found.high - found.low)
    middle = (stretch.low + stretch.high) / 2
    halves = (replace(stretch, high=middle), replace(stretch, low=middle))
    return all(
        _nonnegative(f, {**box, stretch.letter: half}, strict, report, depth + 1) for half in halves
    )


def _shown(box: Mapping[Any, Stretch]) -> str:
    return ", ".join(f"{v} in [{s.low}, {s.high}]" for v, s in box.items()) or "a corner"


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
            needed = [found for side in goal.sides for found in conditions(side)]
            proved = all(_holds_inside(found, stretch) for found in needed) and _on_line(
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
    if depth == MOST_DERIVATIVES:
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
        steps.append(f"f = {plain(f)} is {'0' if sign == 0 else 'positive'} at {letter} = {at}")
        steps.append(f"f' = {plain(slope)} has the sign of {letter} - {at} on {stretch}")
        return True
    return False


def _numerator(f: Any, stretch: Stretch) -> Any:
    """What has the sign of f: without denominators and factors that are positive inside."""
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
    kept = [e for e in factors if not _positive_inside(e.as_base_exp()[0], stretch)]
    return sympy.expand(sign * sympy.Mul(*kept))


def _starts(f: Any, stretch: Stretch) -> list[Any]:
    """Numbers to start from: the ends, and points at which f may touch zero."""
    numbers = [abs(number) for number in f.atoms(sympy.Rational) if number]
    tried = [*map(sympy.sympify, USUAL)]
    tried += [value for n in numbers for value in (n, 1 / n, -n, -1 / n, sympy.log(n))]
    inside = [c for c in dict.fromkeys(tried) if stretch.low < c < stretch.high]
    return [*stretch.ends, *inside]
