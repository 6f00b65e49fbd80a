"""Balls that have to contain: statements over random boxes, points by another evaluator.

Run with ``python -m benchmarks.containment``. Every side of every condition of the printed,
corrected and repaired statements is evaluated once over a box of balls by
:func:`swingby.theory.balls.evaluate`, and at points of the box by code that shares nothing with
it: exact fractions where the expression is rational, functions that sympy prints for mpmath, at 80
digits, elsewhere. A value outside its ball is an escape. The distance to the edge is
``1 - |value - middle| / radius``, the smallest over all boxes with a radius; it is close to 0
where a formula is monotone, because then the corners of a box lie at the ends of its ball.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import mpmath
import sympy

from benchmarks.random_boxes import points_of, random_interval
from swingby.report import Grid
from swingby.theory import assumptions, balls, repaired

DIGITS = 80
#: Working precisions of the balls, in bits: the least that anything uses, and one in between.
PRECISIONS = (53, 128)
#: Radii of boxes, relative to the middle.
RADII = (Fraction(0), Fraction(1, 10**12), Fraction(1, 1000), Fraction(1, 10), Fraction(3, 10))
POINTS_PER_BOX = 20


@dataclass(frozen=True)
class Evaluator:
    """One expression, evaluated twice.

    Parameters
    ----------
    group : str
        The row of the table it counts for.
    label : str
    expression : sympy.Expr
    letters : tuple of sympy.Symbol
    at_point : callable
        From a dict of Fractions by letter to a Fraction or an mpf.
    """

    group: str
    label: str
    expression: Any
    letters: tuple[Any, ...]
    at_point: Callable[[dict[Any, Fraction]], Any]


@dataclass
class Tally:
    """What was seen of one group."""

    evaluators: int = 0
    boxes: int = 0
    points: int = 0
    exact: int = 0
    unbounded: int = 0
    escapes: int = 0
    closest: float = math.inf
    worst: str = ""


def evaluators() -> list[Evaluator]:
    """Every side of every condition, and expressions of every function.

    Returns
    -------
    list of Evaluator
    """
    texts = [*assumptions.PRINTED, assumptions.D4_CORRECTED, *repaired.STATEMENTS]
    found = []
    for text in texts:
        group = f"{text.id}, {text.edition}"
        for condition in text.conditions:
            for side in (condition.relation.lhs, condition.relation.rhs):
                # A letter by itself tests nothing.
                if side.free_symbols and not side.is_Symbol:
                    found.append(_evaluator(group, f"{group}: {side}", side))
            # As a whole: what decides is the difference.
            relation = condition.relation
            difference = sympy.Add(relation.lhs, -relation.rhs, evaluate=False)
            found.append(_evaluator(group, f"{group}: {relation}", difference))
    for expression in _functions():
        found.append(_evaluator("every function", str(expression), expression))
    return found


def _functions() -> list[Any]:
    """Expressions of letters of any sign, for the cases that the statements do not reach."""
    x, y, z = sympy.symbols("x y z", real=True)
    half = sympy.Rational(1, 2)
    return [
        x**2 - y**3 + z**4,
        sympy.Abs(x * y - z) ** half,
        sympy.exp(-(x**2)) * sympy.log(1 + y**2),
        sympy.Max(x, y, z) + 2 * sympy.Min(x, y**2, z),
        sympy.pi ** sympy.Abs(x) + sympy.E * y,
        (1 + x**2) ** y / (2 + z**2) ** 3,
        1 / x + 1 / y**2,
    ]


def measure(points: int, seed: int, chosen: Sequence[Evaluator] | None = None) -> dict[str, Tally]:
    """Evaluate random boxes and points of them.

    Parameters
    ----------
    points : int
        In all, shared evenly among the evaluators.
    seed : int
    chosen : sequence of Evaluator, optional
        All by default.

    Returns
    -------
    dict from group to Tally
    """
    generator = random.Random(seed)
    everything = evaluators() if chosen is None else chosen
    tallies: dict[str, Tally] = {}
    wanted = -(-points // len(everything))
    with mpmath.workdps(DIGITS):
        for evaluator in everything:
            tally = tallies.setdefault(evaluator.group, Tally())
            tally.evaluators += 1
            # Boxes without a bound give no points; more of them are drawn instead.
            goal, limit = tally.points + wanted, 4 * wanted // POINTS_PER_BOX + 10
            for _ in range(limit):
                if tally.points >= goal:
                    break
                _one_box(evaluator, generator, tally)
    return tallies


def table(tallies: dict[str, Tally]) -> Grid:
    """The tallies as a table, with their sum.

    Parameters
    ----------
    tallies : dict from group to Tally

    Returns
    -------
    Grid
    """
    rows = [_row(group, tally) for group, tally in tallies.items()]
    total = Tally()
    for tally in tallies.values():
        for name in ("evaluators", "boxes", "points", "exact", "unbounded", "escapes"):
            setattr(total, name, getattr(total, name) + getattr(tally, name))
        total.closest = min(total.closest, tally.closest)
    heads = ["expressions", "boxes", "points", "exact", "unbounded", "escapes", "closest to edge"]
    return Grid(
        title="Points of random boxes against the ball of the box",
        columns=["evaluator", *(f">{head}" for head in heads)],
        rows=[*rows, _row("all", total)],
        below=[
            "exact: points evaluated in fractions; the others in mpmath. unbounded: boxes on "
            "which the expression has no bound, so that nothing can escape.",
        ],
    )


def _row(group: str, tally: Tally) -> list[str]:
    counts = (tally.evaluators, tally.boxes, tally.points, tally.exact, tally.unbounded)
    closest = "-" if math.isinf(tally.closest) else f"{tally.closest:.1g}"
    return [group, *(f"{count:,}" for count in counts), f"{tally.escapes:,}", closest]


def _evaluator(group: str, label: str, expression: Any) -> Evaluator:
    letters = tuple(sorted(expression.free_symbols, key=str))
    if _is_rational(expression):
        return Evaluator(
            group, label, expression, letters, lambda point: _fraction(expression, point)
        )
    names = [sympy.Dummy(f"x{place}") for place in range(len(letters))]
    plain = expression.xreplace(dict(zip(letters, names, strict=True)))
    compiled = sympy.lambdify(names, plain, "mpmath")

    def at_point(point: dict[Any, Fraction]) -> Any:
        return compiled(*(_real(point[letter]) for letter in letters))

    return Evaluator(group, label, expression, letters, at_point)


def _is_rational(expression: Any) -> bool:
    if expression.is_Symbol or expression.is_Rational:
        return True
    if expression.is_Pow:
        return bool(expression.exp.is_Integer) and _is_rational(expression.base)
    known = expression.is_Add or expression.is_Mul or expression.func is sympy.Abs
    return known and all(_is_rational(part) for part in expression.args)


def _fraction(expression: Any, point: dict[Any, Fraction]) -> Fraction:
    """Plain recursion over fractions."""
    if expression.is_Symbol:
        return point[expression]
    if expression.is_Rational:
        return Fraction(int(expression.p), int(expression.q))
    if expression.is_Pow:
        return _fraction(expression.base, point) ** int(expression.exp)
    parts = [_fraction(part, point) for part in expression.args]
    if expression.is_Add:
        return sum(parts, Fraction(0))
    return math.prod(parts) if expression.is_Mul else abs(parts[0])


def _real(number: Fraction) -> Any:
    """Exact: the points are dyadic, with fewer bits than the 80 digits have."""
    return mpmath.mpf(number.numerator) / number.denominator


def _one_box(evaluator: Evaluator, generator: random.Random, tally: Tally) -> None:
    radius = generator.choice(RADII)
    box = {letter: random_interval(letter, radius, generator) for letter in evaluator.letters}
    with flint.ctx.workprec(generator.choice(PRECISIONS)):
        filled = {
            letter: balls.ball(low).union(balls.ball(high)) for letter, (low, high) in box.items()
        }
        ball = balls.evaluate(evaluator.expression, filled)
    tally.boxes += 1
    if not ball.is_finite():
        tally.unbounded += 1
        return
    middle, spread = _as_fraction(ball.mid()), _as_fraction(ball.rad())
    for point in points_of(box, POINTS_PER_BOX, generator):
        try:
            value = evaluator.at_point(point)
        except ZeroDivisionError:
            value = mpmath.nan
        if isinstance(value, mpmath.mpc) or (
            not isinstance(value, Fraction) and not mpmath.isfinite(value)
        ):
            # A finite ball promises that the expression is defined on the whole box.
            tally.escapes += 1
            tally.worst = tally.worst or f"{evaluator.label} at {point}"
            continue
        tally.points += 1
        tally.exact += isinstance(value, Fraction)
        exact = (
            value
            if isinstance(value, Fraction)
            else Fraction(*mpmath.libmp.to_rational(value._mpf_))
        )
        distance = abs(exact - middle)
        if distance > spread:
            tally.escapes += 1
            tally.worst = tally.worst or f"{evaluator.label} at {point}: {float(exact)} in {ball}"
        elif radius:
            tally.closest = min(tally.closest, float(1 - distance / spread) if spread else 1.0)


def _as_fraction(number: flint.arb) -> Fraction:
    mantissa, exponent = (int(part) for part in number.man_exp())
    return Fraction(mantissa) * Fraction(2) ** exponent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    started = time.process_time()
    tallies = measure(given.points, given.seed)
    print(table(tallies).to_text())
    for group, tally in tallies.items():
        if tally.escapes:
            print(f"{group}: {tally.worst}")
    print(f"{time.process_time() - started:.0f} s of processor time")


if __name__ == "__main__":
    main()
