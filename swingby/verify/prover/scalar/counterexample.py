"""Counterexamples: found by search, shrunk to round numbers, checked twice.

A point counts only if every hypothesis certainly holds there and the conclusion certainly fails:
exactly where the sides are rational, otherwise in balls at rising precision. A second evaluation
has to agree: balls for exact ones, mpmath with 60 digits for the others.

Exact sets of numbers and constants that satisfy every one of Assumptions D.1 to D.5.

A witness against a line that stands under D.1 to D.5 has to satisfy them all. The sets come
from simple ones to extreme ones; each is checked against the statements of
:mod:`swingby.theory.assumptions` before it is used, in exact arithmetic or balls.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from swingby.theory import assumptions as text
from swingby.verify.prover.evidence import Witness
from swingby.verify.prover.scalar.exact_value import (
    Condition,
    balls_agree,
    compiled,
    condition,
    decide,
    margin_of,
    mpmath_agrees,
)
from swingby.verify.prover.scalar.relation import Relation, Sequent, left, relation_from
from swingby.verify.prover.scalar.sampling import LEVELS, compact, draw, in_order, may_be, rounder


@dataclass(frozen=True)
class Setting:
    """Numbers and constants inside D.1 to D.5.

    `signal`: a, length d. `values`: alpha, gamma, beta, P, K, kappa, C, omega, eta, d.
    """

    signal: tuple[Any, ...]
    values: dict[str, Any]

    def points(self, indices: str, letters: Collection[str]) -> Iterator[dict[str, Any]]:
        """The values together with all of a, and a_i, a_j, a_k of the entries a line speaks of.

        In a sum over k, k is neither i nor j.
        """
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


#: signal, K, kappa, C (None: K / (2 (kappa - 1))), alpha over the smallest signal, beta,
#: and how many powers of ten omega stays below the largest.
_SHAPES: tuple[tuple[tuple[str, ...], str, str, str | None, str, str, int], ...] = (
    (("4", "1"), "20", "121/100", "2", "1", "2", 1),
    (("4", "1"), "20", "121/100", "2", "1", "11/10", 20),
    (("2", "1/2"), "20", "121/100", "2", "1", "2", 1),
    (("4", "1"), "20", "144/100", "2", "1/2", "2", 1),
    (("4", "1"), "20", "121/100", None, "1", "2", 1),
    (("gap", "1"), "20", "121/100", None, "1", "2", 1),
    (("gap", "1"), "20", "121/100", "2", "1", "2", 1),
    (("16", "4", "1"), "20", "121/100", "2", "1", "2", 1),
    (("gap", "1/2"), "20", "144/100", None, "1", "101/100", 1),
    (("1/4", "1/16"), "40", "4", "4", "1", "10", 1),
    (("gap", "1"), "20", "9", None, "1", "2", 1),
    (("100", "1"), "20", "121/100", "11/10", "1", "2", 5),
    (("gap", "1/100"), "20", "1225/1089", None, "1", "101/100", 1),
    (("gap", "100"), "100", "4", None, "1/10", "2", 1),
    (("4", "1"), "20", "9", None, "1", "2", 1),
    (("4", "1"), "20", "121/100", "2", "1", "10000", 3),
    (("4", "1"), "100", "121/4", "11/10", "1", "1001/1000", 1),
    (("gap", "1"), "100", "36", None, "1", "101/100", 1),
)


def settings() -> Iterator[Setting]:
    """Sets that satisfy all of D.1 to D.5, simple ones first.

    Yields with P at the upper end of D.4 and eta at the upper end of D.2; then with a round P and a
    small eta.
    """
    conditions = _conditions()
    for loose in (False, True):
        for shape in _SHAPES:
            setting = _build(*shape, loose=loose)
            if setting is not None and satisfies(setting, conditions):
                yield setting


def _build(
    signal: tuple[str, ...],
    K: str,
    kappa: str,
    C: str | None,
    share: str,
    beta: str,
    margin: int,
    *,
    loose: bool,
) -> Setting | None:
    k, strength, b = Fraction(kappa), Fraction(K), Fraction(beta)
    c = strength / (2 * (k - 1)) if C is None else Fraction(C)
    alpha = Fraction(signal[-1]) * Fraction(share)
    rates = [
        3 * Fraction(signal[place + 1]) + alpha / c if entry == "gap" else Fraction(entry)
        for place, entry in enumerate(signal)
    ]
    gamma = max(rates) / alpha
    d = Fraction(len(rates))
    root = Fraction(math.isqrt(k.numerator), math.isqrt(k.denominator))
    bound = (1 - 1 / root) / (strength * gamma * d * b**2)
    digits = _digits(rates, float(k), float(b), -math.log(float(bound))) + margin
    digits = 10 * math.ceil(digits / 10) if digits < 1000 else 1000 * math.ceil(digits / 1000)
    digits += 10 if loose and digits < 1000 else 0
    omega = flint.fmpq(1, flint.fmpz(10) ** digits)
    P = flint.fmpq(bound.numerator, bound.denominator) / omega
    eta = 1 / (9 * strength * gamma * alpha)
    if loose:
        P = flint.fmpq(flint.fmpz(10) ** (digits + math.floor(math.log10(bound))))
        eta /= 100
    plain = {
        "alpha": alpha,
        "gamma": gamma,
        "beta": b,
        "K": strength,
        "kappa": k,
        "C": c,
        "eta": eta,
        "d": d,
    }
    values = {name: flint.fmpq(x.numerator, x.denominator) for name, x in plain.items()}
    values |= {"P": P, "omega": omega}
    return Setting(tuple(flint.fmpq(x.numerator, x.denominator) for x in rates), values)


def _digits(rates: list[Fraction], kappa: float, beta: float, distance: float) -> int:
    """Powers of ten that omega has to stay below for P to exist, from feasibility's F(kappa)."""
    ordered = sorted(map(float, rates), reverse=True)
    q = max(small / large for large, small in itertools.pairwise(ordered))
    rho = (1 + q) / 2
    Q = 10 * rho * kappa**2
    b = math.log(beta)
    # distance already holds 2 b.
    least = ((distance - 2 * b) * (1 - rho + Q) + b * (2 - rho + Q)) / (1 - rho)
    return math.ceil(max(least, 10) / math.log(10))


def satisfies(setting: Setting, conditions: tuple[tuple[str, Relation], ...]) -> bool:
    """Whether every condition certainly holds, at every choice of its indices."""
    for over, relation in conditions:
        margin = margin_of(relation)
        if over == "concept":
            points = [setting.values | {"a_k": a} for a in setting.signal]
        elif over == "pair":
            points = [
                setting.values | {"a_i": i, "a_j": j}
                for i, j in itertools.product(setting.signal, repeat=2)
                if i > j
            ]
        else:
            points = [setting.values]
        if not all(decide(margin, relation.kind, point) for point in points):
            return False
    return True


def _conditions() -> tuple[tuple[str, Relation], ...]:
    """D.1 to D.5 as printed, but for the entries of W(0), which are a witness's own."""
    return tuple(
        (condition.over, relation_from(condition.relation, statement.id))
        for statement in text.PRINTED
        for condition in statement.conditions
        if condition.over != "entry"
    )


def entry_conditions(letters: frozenset[Any]) -> tuple[Relation, ...]:
    """(D.8) for the entries of W(0) among some letters."""
    import sympy

    found = []
    for letter in sorted(letters, key=str):
        if letter.name in ("w_ij(0)", "w_ii(0)", "w_jj(0)"):
            size = sympy.Abs(letter)
            found.append(Relation(text.omega, size, "<=", "Assumption D.1"))
            found.append(Relation(size, text.beta * text.omega, "<=", "Assumption D.1"))
    return tuple(found)


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
