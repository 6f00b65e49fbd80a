"""Counterexamples: found by search, shrunk to round numbers, checked twice.

A point counts only if every hypothesis certainly holds there and the conclusion certainly fails:
exactly where the sides are rational, otherwise in balls at rising precision. A second evaluation
has to agree: balls for exact ones, mpmath with 60 digits for the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import flint
import numpy as np

from swingby.verify.prover.evidence import Witness
from swingby.verify.prover.scalar.clock import left
from swingby.verify.prover.scalar.edges import Condition, condition
from swingby.verify.prover.scalar.exact_value import compiled, decide
from swingby.verify.prover.scalar.feasible_constants import (
    admissible,
    entry_conditions,
    realised,
    settings,
)
from swingby.verify.prover.scalar.relation import Relation, Sequent
from swingby.verify.prover.scalar.rounding import compact, rounder
from swingby.verify.prover.scalar.sampling import LEVELS, draw, in_order, may_be
from swingby.verify.prover.scalar.second_evaluation import balls_agree, mpmath_agrees

#: (settings looked at, draws at each entry) inside D.1 to D.5, and draws without them.
QUICK = (8, 6, 120)
LONG = (60, 40, 3000)
#: For a model of the hypotheses.
MODEL = (8, 20, 200)

PRECISIONS = (128, 512, 2048)


@dataclass(frozen=True)
class Search:
    """Where a counterexample is looked for.

    `in_force`: points have to satisfy Assumptions D.1 to D.5. `indices`: which entries the line
    speaks of.
    """

    sequent: Sequent
    in_force: bool = False
    indices: str = "any"

    @property
    def given(self) -> tuple[Relation, ...]:
        """The hypotheses, with (D.8) where it is in force."""
        extra = entry_conditions(frozenset(self.sequent.symbols)) if self.in_force else ()
        return self.sequent.given + extra

    def to(self, goal: Relation) -> Search:
        """The same hypotheses with another conclusion."""
        return replace(self, sequent=Sequent(self.sequent.given, goal))

    def knowing(self, *facts: Relation) -> Search:
        """The same with more hypotheses."""
        given = tuple(dict.fromkeys((*self.sequent.given, *facts)))
        return replace(self, sequent=Sequent(given, self.sequent.goal))

    def refutes(self, point: Mapping[str, Any]) -> bool:
        """Whether all hypotheses certainly hold at a point and the conclusion certainly fails."""
        return _refutes(tuple(map(condition, self.given)), condition(self.sequent.goal), point)


def _refutes(given: tuple[Condition, ...], goal: Condition, point: Mapping[str, Any]) -> bool:
    if decide(goal.margin, goal.relation.kind, point, PRECISIONS) is not False:
        return False
    return _meets(given, point)


def _meets(given: tuple[Condition, ...], point: Mapping[str, Any]) -> bool:
    return all(decide(c.margin, c.relation.kind, point, PRECISIONS) is True for c in given)


def counterexample(
    search: Search, *, effort: tuple[int, int, int] = QUICK, rng: int = 0
) -> Witness | None:
    """A point at which a sequent fails.

    Returns None if the search found none, which proves nothing.
    """
    letters = {letter.name: letter for letter in search.sequent.symbols}
    given, goal = tuple(map(condition, search.given)), condition(search.sequent.goal)
    for point, fixed in _points(search, letters, given, goal, effort, rng):
        if not _refutes(given, goal, point):
            continue
        witness = _witness(search, _shrink(search, given, goal, point, letters, fixed))
        if witness is not None:
            return witness
    return None


def model(search: Search, *, rng: int = 0) -> dict[str, str] | None:
    """A point at which all hypotheses certainly hold, as short text, or None if none was met."""
    letters = {letter.name: letter for letter in search.sequent.symbols}
    given, goal = tuple(map(condition, search.given)), condition(search.sequent.goal)
    for point, _ in _points(search, letters, given, goal, MODEL, rng):
        if _meets(given, point):
            return {name: compact(point[name]) for name in in_order(frozenset(letters))}
    return None


def _points(
    search: Search,
    letters: Mapping[str, Any],
    given: tuple[Condition, ...],
    goal: Condition,
    effort: tuple[int, int, int],
    rng: int,
) -> Iterator[tuple[dict[str, Any], set[str]]]:
    """Distinct points worth a look, each with the names of the letters that are not to change."""
    generator = np.random.default_rng(rng)
    count = 0
    for start, draws in _starts(search, effort):
        fixed = set(start) & set(letters) if search.in_force else set()
        names = in_order(frozenset(letters) - start.keys())
        seen = set()
        for _ in range(draws if names else 1):
            left()
            # Every other point has all entries of W on one level.
            count += 1
            level = (count // 2) % LEVELS if count % 2 else None
            point = draw(names, letters, start, given, goal, generator, level)
            if point is None:
                continue
            key = tuple(sorted((name, str(point[name])) for name in names)) if names else ()
            if key in seen:
                continue
            seen.add(key)
            if _fits(search, point):
                yield point, fixed


def confirm(search: Search, point: Mapping[str, Any]) -> Witness | None:
    """A proposed point, such as a model of z3, as a witness, if it is one."""
    if search.in_force or not _fits(search, point):
        return None
    for letter in search.sequent.symbols:
        value = point.get(letter.name)
        if value is None or not may_be(value, letter):
            return None
    own = {letter.name: point[letter.name] for letter in search.sequent.symbols}
    return _witness(search, own) if search.refutes(own) else None


def _starts(search: Search, effort: tuple[int, int, int]) -> Iterator[tuple[dict[str, Any], int]]:
    if not search.in_force:
        yield {}, effort[2]
        return
    names = {letter.name for letter in search.sequent.symbols}
    for count, setting in enumerate(settings()):
        if count >= effort[0]:
            return
        for point in setting.points(search.indices, names):
            yield point, effort[1]


def _fits(search: Search, point: Mapping[str, Any]) -> bool:
    """Whether a line speaks of such an entry, and some W(t) has all of these."""
    if (
        "a_i" in point
        and "a_j" in point
        and not admissible(point["a_i"], point["a_j"], search.indices)
    ):
        return False
    return not search.in_force or _whole(search, point) is not None


def _whole(search: Search, point: Mapping[str, Any]) -> dict[str, Any] | None:
    semidefinite = any("(semidefinite)" in given.label for given in search.sequent.given)
    return realised(point, semidefinite=semidefinite)


def _shrink(
    search: Search,
    given: tuple[Condition, ...],
    goal: Condition,
    point: dict[str, Any],
    letters: Mapping[str, Any],
    fixed: set[str],
) -> dict[str, Any]:
    """The point with rounder values, as long as it stays a counterexample."""
    for name in in_order(frozenset(letters)):
        if name in fixed:
            continue
        others = [point[other] for other in fixed]
        for value in rounder(point[name], letters[name], others):
            # Letters with one value stay together: a bound is often attained.
            same = [other for other in letters if other not in fixed and other != name]
            tied = {other: value for other in same if point[other] == point[name]}
            candidate = {**point, name: value}
            if tied and all(may_be(value, letters[other]) for other in tied):
                together = {**candidate, **tied}
                if _fits(search, together) and _refutes(given, goal, together):
                    point = together
                    break
            if _fits(search, candidate) and _refutes(given, goal, candidate):
                point = candidate
                break
    return point


def _witness(search: Search, point: Mapping[str, Any]) -> Witness | None:
    goal = search.sequent.goal
    if not search.refutes(point):
        return None
    with flint.ctx.workprec(256):
        sides = [compiled(side)(point) for side in (goal.small, goal.large)]
    exact = not any(isinstance(side, flint.arb) for side in sides)
    if exact:
        first, second, agrees = (
            "exact rationals",
            "balls of 256 bits",
            balls_agree(goal, point, sides),
        )
    else:
        first, second = "balls of 128 to 2048 bits", "mpmath with 60 digits"
        agrees = mpmath_agrees(search.given, goal, point)
    if not agrees:
        raise RuntimeError(f"two evaluations disagree on {goal} at {dict(point)}")
    shown = {**point, **((_whole(search, point) or {}) if search.in_force else {})}
    return Witness(
        values={name: compact(shown[name]) for name in in_order(frozenset(shown))},
        relation=str(goal),
        left=_shown(sides[0]),
        right=_shown(sides[1]),
        checked=(first, second),
    )


def _shown(value: Any) -> str:
    if isinstance(value, flint.arb):
        return str(value.str(20, radius=False))
    text = compact(value)
    if len(text) <= 60:
        return text
    with flint.ctx.workprec(128):
        return str(flint.arb(value).str(20, radius=False))
