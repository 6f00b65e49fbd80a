"""Counterexamples: found by search, shrunk to round numbers, checked twice.

A point counts only if every hypothesis certainly holds there and the conclusion certainly fails:
exactly where the sides are rational, otherwise in balls at rising precision. A second evaluation by
mpmath with 60 digits has to agree.

Exact sets of numbers and constants that satisfy every one of Assumptions D.1 to D.5.

A witness against a line that stands under D.1 to D.5 has to satisfy them all. The sets come
from simple ones to extreme ones; each is checked against the statements of
:mod:`swingby.theory.assumptions` before it is used, in exact arithmetic or balls.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import flint
import numpy as np

from swingby.proofs.prover.evidence import Witness
from swingby.proofs.prover.scalar.exact_value import compiled, condition, mpmath_agrees
from swingby.proofs.prover.scalar.relation import Relation, Sequent, relation_from
from swingby.proofs.prover.scalar.sampling import (
    LEVELS,
    Space,
    compact,
    in_order,
    may_be,
    number,
    rounder,
    whole_numbers,
)
from swingby.theory import assumptions as text
from swingby.theory.balls import precision
from swingby.theory.search_time import seconds_left


@dataclass(frozen=True)
class Setting:
    """Numbers and constants inside D.1 to D.5: all of a, and the values of the letters."""

    signal: tuple[Any, ...]
    values: dict[str, Any]

    def points(self, indices: str, letters: Collection[str]) -> Iterator[dict[str, Any]]:
        """The values with all of a, and a_i, a_j, a_k of the entries of a line; k is a third."""
        whole = {f"a_{place}": a for place, a in enumerate(self.signal, 1)}
        for (p, i), (q, j) in itertools.product(enumerate(self.signal), repeat=2):
            if not admissible(i, j, indices):
                continue
            point = self.values | whole | {"a_i": i, "a_j": j}
            others = [a for place, a in enumerate(self.signal) if place not in (p, q)]
            if not _WITH_K & set(letters):
                yield point
            elif others:
                yield from (point | {"a_k": a} for a in others)
            elif "a_k" not in letters:
                yield point


#: Letters of a line that speaks of a third concept.
_WITH_K = {"a_k", "N_ij(t)", "w_ki(t)", "w_kj(t)"}


def realised(point: Mapping[str, Any], *, semidefinite: bool) -> dict[str, Any] | None:
    """Entries that make the letters at a point those of one symmetric W(t), or None."""
    same = point.get("a_i") == point.get("a_j")
    for names in (("w_ii(t)", "w_jj(t)", "w_ij(t)"), ("w_ki(t)", "w_kj(t)")):
        if same and len({point[name] for name in names if name in point}) > 1:
            return None
    noise = point.get("N_ij(t)", 0)
    if noise == 0 or same:
        # Of one row the sum is that of squares; a rational root is not looked for.
        return {} if noise == 0 else None
    if "a_k" not in point:
        return None
    product = 2 * noise / (point["a_i"] + point["a_j"] + 2 * point["a_k"])
    size = flint.fmpq(10) ** round(float(flint.arb(abs(product)).log() / flint.arb(100).log()))
    entries = {"w_ki(t)": size, "w_kj(t)": product / size}
    limit = max(point["P"] * point["beta"] * point["omega"], abs(point.get("w_ij(t)", 0)))
    if max(map(abs, entries.values())) > limit:
        return None
    if not semidefinite:
        return entries
    x, y, v, w = point["w_ii(t)"], point["w_jj(t)"], size, product / size
    z = point["w_ij(t)"]
    if x <= 0 or x * y <= z**2:
        return None
    least = (y * v**2 - 2 * z * v * w + x * w**2) / (x * y - z**2)
    power = math.ceil(float(flint.arb(least).log() / flint.arb(10).log()) + 1e-9)
    return entries | {"w_kk(t)": flint.fmpq(10) ** power}


def admissible(a_i: Any, a_j: Any, indices: str) -> bool:
    """Whether a line with these indices speaks of an entry with these signals."""
    allowed: dict[str, bool] = {
        "any": True,
        "diagonal": a_i == a_j,
        "off-diagonal": a_i != a_j,
        "larger first": a_i > a_j,
    }
    return allowed[indices]


#: Signals, alpha, K, the root of kappa, C, beta, and minus the power of ten that omega is: simple
#: ones, signals as close as D.5 lets them be, and constants so far out that printed lines fail.
_SHAPES: tuple[tuple[tuple[str, ...], str, str, str, str, str, int], ...] = (
    (("4", "1"), "1", "20", "11/10", "2", "2", 100),
    (("4", "1"), "1", "20", "11/10", "2", "11/10", 110),
    (("2", "1/2"), "1/2", "20", "11/10", "2", "2", 100),
    (("4", "1"), "1/2", "20", "6/5", "2", "2", 130),
    (("4", "1"), "1", "20", "11/10", "1000/21", "2", 100),
    (("3021/1000", "1"), "1", "20", "11/10", "1000/21", "2", 110),
    (("7/2", "1"), "1", "20", "11/10", "2", "2", 100),
    (("16", "4", "1"), "1", "20", "11/10", "2", "2", 120),
    (("761/500", "1/2"), "1/2", "20", "6/5", "250/11", "101/100", 130),
    (("1/4", "1/16"), "1/16", "40", "2", "4", "10", 2000),
    (("19/5", "1"), "1", "20", "3", "5/4", "2", 4000),
    (("100", "1"), "1", "20", "11/10", "11/10", "2", 90),
    (("16403/544500", "1/100"), "1/100", "20", "35/33", "5445/68", "101/100", 90),
    (("1503/5", "100"), "10", "100", "2", "50/3", "2", 2000),
    (("4", "1"), "1", "20", "3", "5/4", "2", 4000),
    (("4", "1"), "1", "20", "11/10", "2", "10000", 200),
    (("4", "1"), "1", "100", "11/2", "11/10", "1001/1000", 46000),
    (("37/10", "1"), "1", "100", "6", "10/7", "101/100", 67000),
)


def settings() -> Iterator[Setting]:
    """Sets that satisfy all of D.1 to D.5, simple ones first.

    With P and eta as large as they may be; then with a round P and a small eta.
    """
    conditions = _conditions()
    for loose in (False, True):
        for signal, alpha, K, root, C, beta, digits in _SHAPES:
            names = {"alpha": alpha, "K": K, "C": C, "beta": beta, "kappa": root}
            values = {name: number(shown) for name, shown in names.items()}
            setting = _setting(tuple(map(number, signal)), values, digits, loose=loose)
            if satisfies(setting, conditions):
                yield setting


def _setting(
    signal: tuple[Any, ...], values: dict[str, Any], digits: int, *, loose: bool
) -> Setting:
    gamma, d = max(signal) / values["alpha"], flint.fmpq(len(signal))
    bound = (1 - 1 / values["kappa"]) / (values["K"] * gamma * d * values["beta"] ** 2)
    eta = 1 / (9 * values["K"] * gamma * values["alpha"])
    digits += 10 if loose and digits < 1000 else 0
    P = bound * flint.fmpq(10) ** digits
    if loose:
        P = flint.fmpq(10) ** (digits + math.floor(float(flint.arb(bound).log() / math.log(10))))
        eta /= 100
    made = {"gamma": gamma, "d": d, "kappa": values["kappa"] ** 2, "eta": eta, "P": P}
    return Setting(signal, values | made | {"omega": flint.fmpq(10) ** -digits})


def satisfies(setting: Setting, conditions: tuple[tuple[str, Relation], ...]) -> bool:
    """Whether every condition certainly holds, at every choice of its indices."""
    pairs = itertools.permutations(setting.signal, 2)
    choices = {
        "concept": [{"a_k": a} for a in setting.signal],
        "pair": [{"a_i": i, "a_j": j} for i, j in pairs if i > j],
    }
    return all(
        condition(relation).decided(setting.values | choice)
        for over, relation in conditions
        for choice in choices.get(over, [{}])
    )


def _conditions() -> tuple[tuple[str, Relation], ...]:
    """D.1 to D.5 as printed, but for the entries of W(0), which are a witness's own."""
    return tuple(
        (one.over, relation_from(one.relation, statement.id))
        for statement in text.PRINTED
        for one in statement.conditions
        if one.over != "entry"
    )


def entry_conditions(letters: frozenset[Any]) -> tuple[Relation, ...]:
    """(D.8) for the entries of W(0) among some letters."""
    return tuple(
        relation_from(one.relation, "Assumption D.1").substitute({text.w_ij: letter})
        for letter in sorted(letters, key=str)
        if letter.name in ("w_ij(0)", "w_ii(0)", "w_jj(0)")
        for one in text.D1.conditions
        if one.over == "entry"
    )


class Effort(NamedTuple):
    """How many settings inside D.1 to D.5 are looked at, and draws at each entry there.

    draws: without them; behind: with what equations define behind the rest.
    """

    settings: int
    at_entry: int
    draws: int
    behind: int


QUICK, LONG = Effort(8, 6, 120, 0), Effort(60, 40, 3000, 3000)
#: For a model of the hypotheses.
MODEL = Effort(8, 20, 200, 0)


@dataclass(frozen=True)
class Search:
    """Where a counterexample is looked for; `in_force`: points satisfy D.1 to D.5."""

    sequent: Sequent
    in_force: bool = False
    indices: str = "any"

    @property
    def given(self) -> tuple[Relation, ...]:
        """The hypotheses, with (D.8) where it is in force."""
        extra = entry_conditions(frozenset(self.sequent.symbols)) if self.in_force else ()
        return self.sequent.given + extra

    @functools.cached_property
    def space(self) -> Space:
        """The points to look at."""
        return Space.of(self.given, self.sequent.goal)

    def to(self, goal: Relation) -> Search:
        """The same hypotheses with another conclusion."""
        return replace(self, sequent=Sequent(self.sequent.given, goal))

    def knowing(self, *facts: Relation) -> Search:
        """The same with more hypotheses."""
        given = tuple(dict.fromkeys((*self.sequent.given, *facts)))
        return replace(self, sequent=Sequent(given, self.sequent.goal))

    def whole(self, point: Mapping[str, Any]) -> dict[str, Any] | None:
        """The entries of some W(t) that a point needs besides its own; None if there are none."""
        if not self.in_force:
            return {}
        semidefinite = any("(semidefinite)" in given.label for given in self.sequent.given)
        return realised(point, semidefinite=semidefinite)

    def fits(self, point: Mapping[str, Any]) -> bool:
        """Whether the line speaks of such an entry, and some W(t) has all of these."""
        pair = {"a_i", "a_j"} <= point.keys()
        if pair and not admissible(point["a_i"], point["a_j"], self.indices):
            return False
        return self.whole(point) is not None

    def refutes(self, point: Mapping[str, Any]) -> bool:
        """Whether a point breaks the line."""
        return self.fits(point) and self.space.refutes(point)


def counterexample(search: Search, *, effort: Effort = QUICK, rng: int = 0) -> Witness | None:
    """A point at which a sequent fails; None, which proves nothing, if none was found."""
    for point, fixed in _points(search, effort, rng):
        if search.space.refutes(point):
            return _witness(search, _shrunk(search, point, fixed))
    return None


def model(search: Search, *, rng: int = 0) -> dict[str, str] | None:
    """A point at which all hypotheses certainly hold, as short text, or None if none was met."""
    for point, _ in _points(search, MODEL, rng):
        if search.space.meets(point):
            names = in_order(frozenset(search.space.letters))
            return {name: compact(point[name]) for name in names}
    return None


def confirm(search: Search, point: Mapping[str, Any]) -> Witness | None:
    """A proposed point, such as a model of z3, as a witness, if it is one.

    Letters that it does not name are those that an equation defines.
    """
    letters = search.space.letters
    own = {name: value for name, value in point.items() if name in letters}
    if search.in_force:
        return None
    missing = in_order(frozenset(letters.keys() - own.keys()))
    for name in search.space.defined_last(missing):
        values = search.space.candidates(name, own)
        if not values:
            return None
        own[name] = values[0]
    allowed = all(may_be(value, letters[name]) for name, value in own.items())
    return _witness(search, own) if allowed and search.refutes(own) else None


def _points(search: Search, effort: Effort, rng: int) -> Iterator[tuple[dict[str, Any], set[str]]]:
    """Distinct points worth a look, each with the names of the letters that are not to change."""
    generator = np.random.default_rng(rng)
    letters = search.space.letters.keys()
    starts: Iterable[tuple[dict[str, Any], int, int]] = [({}, effort.draws, effort.behind)]
    if search.in_force:
        chosen = itertools.islice(settings(), effort.settings)
        starts = (
            (point, effort.at_entry, 0)
            for setting in chosen
            for point in setting.points(search.indices, letters)
        )
    count = 0
    for start, draws, behind in starts:
        names = letters - start.keys()
        seen = set()
        for drawn in range(draws + behind if names else 1):
            seconds_left()
            # Every other point has all entries of W on one level.
            count += 1
            level = (count // 2) % LEVELS if count % 2 else None
            last = drawn >= draws
            point = search.space.draw(start, generator, level, defined_last=last)
            if point is None:
                continue
            key = tuple(whole_numbers(point[name]) for name in sorted(names))
            if key not in seen and search.fits(point):
                yield point, start.keys() & letters
            seen.add(key)


def _shrunk(search: Search, point: dict[str, Any], fixed: set[str]) -> dict[str, Any]:
    """The point with rounder values, as long as it stays a counterexample."""
    letters = search.space.letters
    names = [name for name in in_order(frozenset(letters)) if name not in fixed]
    known = [point[name] for name in in_order(frozenset(fixed))]
    for name in names:
        for value in rounder(point[name], letters[name], known):
            # Letters with one value stay together: a bound is often attained.
            tied = {other: value for other in names if point[other] == point[name]}
            if not all(may_be(value, letters[other]) for other in tied):
                tied = {name: value}
            better = [point | changed for changed in (tied, {name: value})]
            found = next(filter(search.refutes, better), None)
            if found is not None:
                point = found
                break
    return point


def _witness(search: Search, point: Mapping[str, Any]) -> Witness:
    """A point that breaks the line, evaluated a second time."""
    goal = search.sequent.goal
    with precision(256):
        sides = [compiled(side)(point) for side in goal.sides]
    if not mpmath_agrees(search.given, goal, point):
        raise RuntimeError(f"two evaluations disagree on {goal} at {dict(point)}")
    exact = not any(isinstance(side, flint.arb) for side in sides)
    shown = {**point, **(search.whole(point) or {})}
    return Witness(
        values={name: compact(shown[name]) for name in in_order(frozenset(shown))},
        relation=str(goal),
        left=_shown(sides[0]),
        right=_shown(sides[1]),
        checked=(
            "exact rationals" if exact else "balls of 128 to 2048 bits",
            "mpmath with 60 digits",
        ),
    )


def _shown(value: Any) -> str:
    text = compact(value) if isinstance(value, flint.fmpq) else ""
    if text and len(text) <= 60:
        return text
    with precision(128):
        return str(flint.arb(value).str(20, radius=False))
