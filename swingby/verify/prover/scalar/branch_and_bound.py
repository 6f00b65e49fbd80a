r"""Inequalities in one or two letters, by interval arithmetic on boxes.

The goal is written as :math:`f \ge 0`. A letter without upper bound is replaced by 1/s (by
1/s^2 where its square root occurs), which brings infinity to s = 0. On a box, f is bounded with
balls; where that does not decide, f is reduced to an edge if it is monotone in a letter, to both
edges if it is concave, and the box is split otherwise. Hypotheses that are no bounds on a
letter are dropped, which only makes the goal harder.

Inequalities in one letter that touch zero: by derivatives, from points where a value is known.

f >= 0 on an interval if f(c) >= 0 somewhere, f' >= 0 beyond c and f' <= 0 before it; the signs of
the derivatives are shown in the same way, down to one that balls bound. The interval has to lie
where everything is defined, which is checked first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import flint
import sympy

from swingby.theory import balls
from swingby.theory.balls import precision
from swingby.theory.budget import left
from swingby.verify.prover.scalar.exact_value import upper_root
from swingby.verify.prover.scalar.relation import Sequent, conditions, plain
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
        with precision(BITS):
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


#: Derivatives taken one after the other.
DEEPEST_LINE = 4
BITS_LINE = 128

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
    with precision(BITS_LINE):
        try:
            needed = [found for side in (goal.small, goal.large) for found in conditions(side)]
            if not all(_holds_inside(found, stretch) for found in needed):
                return None
            return steps if _nonnegative_line(f, stretch, goal.kind == "<", steps, 0) else None
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


def _nonnegative_line(f: Any, stretch: Stretch, strict: bool, steps: list[str], depth: int) -> bool:
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
    if depth == DEEPEST_LINE:
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
        if at != stretch.high and not _nonnegative_line(slope, after, rising, [], depth + 1):
            continue
        if at != stretch.low and not _nonnegative_line(-slope, before, rising, [], depth + 1):
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
