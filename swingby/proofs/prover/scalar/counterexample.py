"""Counterexamples: found by search, shrunk to round numbers, checked twice.

A point counts only if every hypothesis certainly holds there and the conclusion certainly fails:
exactly where the sides are rational, otherwise in balls at rising precision. A second evaluation by
mpmath with 60 digits has to agree.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import flint
import mpmath
import numpy as np
import sympy

from swingby.proofs.prover.evidence import Witness
from swingby.proofs.prover.scalar.exact_settings import (
    completing_entries,
    entry_conditions,
    exact_settings,
    matches_indices,
)
from swingby.proofs.prover.scalar.exact_value import compile_expression
from swingby.proofs.prover.scalar.letter_values import (
    allows,
    numerator_denominator,
    parse_rational,
    rounder_values,
    short_text,
)
from swingby.proofs.prover.scalar.relation import Relation, Sequent
from swingby.proofs.prover.scalar.sampling import LEVELS, Space, in_drawing_order
from swingby.theory.balls import precision
from swingby.theory.search_time import seconds_left


class Effort(NamedTuple):
    """The effort of a search: settings inside D.1 to D.5, and draws at each entry there.

    draws: without them; behind: with what equations define behind the rest.
    """

    settings: int
    at_entry: int
    draws: int
    behind: int


QUICK, LONG = Effort(8, 6, 120, 0), Effort(60, 40, 3000, 3000)
#: Letters that a long search puts on a grid, at most, and the sizes of its values.
_MOST_ON_GRID, _GRID = 3, "0 1/2 1 3/2 2 3 5 10"
#: For a model of the hypotheses.
_MODEL = Effort(8, 20, 200, 0)


@dataclass(frozen=True)
class Search:
    """The search for a counterexample of a sequent; `in_force`: points satisfy D.1 to D.5."""

    sequent: Sequent
    in_force: bool = False
    indices: str = "any"

    @property
    def hypotheses(self) -> tuple[Relation, ...]:
        """The hypotheses, with (D.8) if it is in force."""
        extra = entry_conditions(frozenset(self.sequent.symbols)) if self.in_force else ()
        return self.sequent.hypotheses + extra

    @functools.cached_property
    def space(self) -> Space:
        """The points to look at."""
        return Space.of(self.hypotheses, self.sequent.goal)

    def with_goal(self, goal: Relation) -> Search:
        """The same hypotheses with another conclusion."""
        return replace(self, sequent=Sequent(self.sequent.hypotheses, goal))

    def with_facts(self, *facts: Relation) -> Search:
        """The same with more hypotheses."""
        hypotheses = tuple(dict.fromkeys((*self.sequent.hypotheses, *facts)))
        return replace(self, sequent=Sequent(hypotheses, self.sequent.goal))

    def missing_entries(self, point: Mapping[str, Any]) -> dict[str, Any] | None:
        """The entries of some W(t) that a point needs besides its own; None if there are none."""
        if not self.in_force:
            return {}
        semidefinite = any(
            "(semidefinite)" in hypothesis.label for hypothesis in self.sequent.hypotheses
        )
        return completing_entries(point, semidefinite=semidefinite)

    def fits(self, point: Mapping[str, Any]) -> bool:
        """Whether the line speaks of such an entry, and some W(t) has all of these."""
        pair = {"a_i", "a_j"} <= point.keys()
        if pair and not matches_indices(point["a_i"], point["a_j"], self.indices):
            return False
        return self.missing_entries(point) is not None

    def refutes(self, point: Mapping[str, Any]) -> bool:
        """Whether a point breaks the line."""
        return self.fits(point) and self.space.refutes(point)


def counterexample(search: Search, *, effort: Effort = QUICK, rng: int = 0) -> Witness | None:
    """A point at which a sequent fails; None, which proves nothing, if none was found."""
    for point, fixed in _points(search, effort, rng):
        if search.space.refutes(point):
            return _witness(search, _shrink(search, point, fixed))
    return None


def model(search: Search, *, rng: int = 0) -> dict[str, str] | None:
    """A point at which all hypotheses certainly hold, as short text, or None if none was met."""
    for point, _ in _points(search, _MODEL, rng):
        if search.space.meets(point):
            names = in_drawing_order(frozenset(search.space.letters))
            return {name: short_text(point[name]) for name in names}
    return None


def confirm(search: Search, point: Mapping[str, Any]) -> Witness | None:
    """A proposed point, such as a model of z3, as a witness; None if it breaks nothing.

    Letters that it does not name are those that an equation defines.
    """
    letters = search.space.letters
    completed = {name: value for name, value in point.items() if name in letters}
    if search.in_force:
        return None
    missing = in_drawing_order(frozenset(letters.keys() - completed.keys()))
    for name in search.space.defined_last(missing):
        values = search.space.candidates(name, completed)
        if not values:
            return None
        completed[name] = values[0]
    allowed = all(allows(value, letters[name]) for name, value in completed.items())
    return _witness(search, completed) if allowed and search.refutes(completed) else None


def _points(search: Search, effort: Effort, rng: int) -> Iterator[tuple[dict[str, Any], set[str]]]:
    """Distinct points worth a look, each with the names of the letters that are not to change."""
    generator = np.random.default_rng(rng)
    letters = search.space.letters.keys()
    starts: Iterable[tuple[dict[str, Any], int, int]] = [({}, effort.draws, effort.behind)]
    if search.in_force:
        chosen = itertools.islice(exact_settings(), effort.settings)
        starts = (
            (point, effort.at_entry, 0)
            for setting in chosen
            for point in setting.points(search.indices, letters)
        )
    count = 0
    for start, draws, behind in starts:
        names = letters - start.keys()
        visited = set()
        for drawn in range(draws + behind if names else 1):
            seconds_left()
            # Every other point has all entries of W on one level.
            count += 1
            level = (count // 2) % LEVELS if count % 2 else None
            last = drawn >= draws
            point = search.space.draw(start, generator, level, defined_last=last)
            if point is None:
                continue
            key = tuple(numerator_denominator(point[name]) for name in sorted(names))
            if key not in visited and search.fits(point):
                yield point, start.keys() & letters
            visited.add(key)
    if effort is LONG and not search.in_force and len(letters) <= _MOST_ON_GRID:
        yield from ((point, set()) for point in _grid(search.space.letters))


def _grid(letters: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every choice of round values, of either sign, for a few letters."""
    sizes = [parse_rational(text) for text in _GRID.split()]
    signed = [*sizes, *(-size for size in sizes if size)]
    allowed = ([x for x in signed if allows(x, letter)] for letter in letters.values())
    for row in itertools.product(*allowed):
        seconds_left()
        yield dict(zip(letters, row, strict=True))


def _shrink(search: Search, point: dict[str, Any], fixed: set[str]) -> dict[str, Any]:
    """The point with rounder values, as long as it stays a counterexample."""
    letters = search.space.letters
    names = [name for name in in_drawing_order(frozenset(letters)) if name not in fixed]
    fixed_values = [point[name] for name in in_drawing_order(frozenset(fixed))]
    for name in names:
        for value in rounder_values(point[name], letters[name], fixed_values):
            # Letters with one value stay together: a bound is often attained.
            tied = {sibling: value for sibling in names if point[sibling] == point[name]}
            if not all(allows(value, letters[sibling]) for sibling in tied):
                tied = {name: value}
            better = [point | changed for changed in (tied, {name: value})]
            simpler = next(filter(search.refutes, better), None)
            if simpler is not None:
                point = simpler
                break
    return point


def _witness(search: Search, point: Mapping[str, Any]) -> Witness:
    """A point that breaks the line, evaluated a second time."""
    goal = search.sequent.goal
    with precision(256):
        sides = [compile_expression(side)(point) for side in goal.sides]
    if not mpmath_agrees(search.hypotheses, goal, point):
        raise RuntimeError(f"two evaluations disagree on {goal} at {dict(point)}")
    exact = not any(isinstance(side, flint.arb) for side in sides)
    values = {**point, **(search.missing_entries(point) or {})}
    return Witness(
        values={name: short_text(values[name]) for name in in_drawing_order(frozenset(values))},
        relation=str(goal),
        left=_side_text(sides[0]),
        right=_side_text(sides[1]),
        checked=(
            "exact rationals" if exact else "balls of 128 to 2048 bits",
            "mpmath with 60 digits",
        ),
    )


def _side_text(value: Any) -> str:
    text = short_text(value) if isinstance(value, flint.fmpq) else ""
    if text and len(text) <= 60:
        return text
    with precision(128):
        return str(flint.arb(value).str(20, radius=False))


def mpmath_agrees(hypotheses: Sequence[Relation], goal: Relation, point: Mapping[str, Any]) -> bool:
    """Whether plain 60-digit arithmetic sees a counterexample too, up to its rounding.

    What 40 digits see otherwise is rounding: a side may be a difference that cancels.
    """
    for relation in (*hypotheses, goal):
        letters = sorted(relation.symbols, key=str)
        sides = sympy.lambdify(letters, relation.sides, "mpmath")
        rough, margin = (_margin(sides, [point[x.name] for x in letters], n) for n in (40, 60))
        significant = abs(margin - rough) < abs(margin) / 2
        fails = significant and (margin < 0 or relation.kind == "==")
        if relation is not goal:
            if fails:
                return False
        elif significant and (relation.kind == "!=" or (margin > 0 and relation.kind != "==")):
            return False
    return True


def _margin(sides: Callable[..., Any], values: Sequence[Any], digits: int) -> Any:
    """The larger minus the smaller side in arithmetic of so many digits."""
    with precision(53), mpmath.workdps(digits):  # mpmath's is the process's too: one thread at once
        small, large = sides(*(mpmath.mpf(int(value.p)) / int(value.q) for value in values))
        return large - small
