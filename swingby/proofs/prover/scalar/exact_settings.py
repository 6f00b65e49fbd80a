"""Exact values of all numbers and constants that satisfy all of Assumptions D.1 to D.5.

A witness against a line that stands under D.1 to D.5 has to satisfy them all. The sets come
from simple ones to extreme ones; each is checked against the statements of
:mod:`swingby.theory.assumptions` before it is used, in exact arithmetic or balls.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import flint

from swingby.proofs.prover.scalar.exact_value import compile_relation
from swingby.proofs.prover.scalar.letter_values import parse_rational
from swingby.proofs.prover.scalar.relation import Relation, relation_from
from swingby.theory import assumptions as text


@dataclass(frozen=True)
class ExactSetting:
    """Numbers and constants inside D.1 to D.5: all of a, and the values of the letters."""

    signal: tuple[Any, ...]
    values: dict[str, Any]

    def points(self, indices: str, letters: Collection[str]) -> Iterator[dict[str, Any]]:
        """The values with all of a, and a_i, a_j, a_k of the entries of a line; k is a third."""
        signals = {f"a_{index}": a for index, a in enumerate(self.signal, 1)}
        for (p, i), (q, j) in itertools.product(enumerate(self.signal), repeat=2):
            if not matches_indices(i, j, indices):
                continue
            point = self.values | signals | {"a_i": i, "a_j": j}
            thirds = [a for index, a in enumerate(self.signal) if index not in (p, q)]
            if not _WITH_K & set(letters):
                yield point
            elif thirds:
                yield from (point | {"a_k": a} for a in thirds)
            elif "a_k" not in letters:
                yield point


#: Letters of a line that speaks of a third concept.
_WITH_K = {"a_k", "N_ij(t)", "w_ki(t)", "w_kj(t)"}


def completing_entries(point: Mapping[str, Any], *, semidefinite: bool) -> dict[str, Any] | None:
    """Entries that make the letters at a point those of a symmetric W(t), or None."""
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
    smallest = (y * v**2 - 2 * z * v * w + x * w**2) / (x * y - z**2)
    power = math.ceil(float(flint.arb(smallest).log() / flint.arb(10).log()) + 1e-9)
    return entries | {"w_kk(t)": flint.fmpq(10) ** power}


def matches_indices(a_i: Any, a_j: Any, indices: str) -> bool:
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


def exact_settings() -> Iterator[ExactSetting]:
    """Sets that satisfy all of D.1 to D.5, the simple first.

    With P and eta as large as they may be; then with a round P and a small eta.
    """
    conditions = _conditions()
    for loose in (False, True):
        for signal, alpha, K, root, C, beta, digits in _SHAPES:
            rationals = {"alpha": alpha, "K": K, "C": C, "beta": beta, "kappa": root}
            values = {name: parse_rational(rational) for name, rational in rationals.items()}
            setting = _build_setting(
                tuple(map(parse_rational, signal)), values, digits, loose=loose
            )
            if satisfies(setting, conditions):
                yield setting


def _build_setting(
    signal: tuple[Any, ...], values: dict[str, Any], digits: int, *, loose: bool
) -> ExactSetting:
    gamma, d = max(signal) / values["alpha"], flint.fmpq(len(signal))
    bound = (1 - 1 / values["kappa"]) / (values["K"] * gamma * d * values["beta"] ** 2)
    eta = 1 / (9 * values["K"] * gamma * values["alpha"])
    digits += 10 if loose and digits < 1000 else 0
    P = bound * flint.fmpq(10) ** digits
    if loose:
        P = flint.fmpq(10) ** (digits + math.floor(float(flint.arb(bound).log() / math.log(10))))
        eta /= 100
    derived = {"gamma": gamma, "d": d, "kappa": values["kappa"] ** 2, "eta": eta, "P": P}
    return ExactSetting(signal, values | derived | {"omega": flint.fmpq(10) ** -digits})


def satisfies(setting: ExactSetting, conditions: tuple[tuple[str, Relation], ...]) -> bool:
    """Whether every condition certainly holds, at every choice of its indices."""
    pairs = itertools.permutations(setting.signal, 2)
    choices = {
        "concept": [{"a_k": a} for a in setting.signal],
        "pair": [{"a_i": i, "a_j": j} for i, j in pairs if i > j],
    }
    return all(
        compile_relation(relation).decided(setting.values | choice)
        for over, relation in conditions
        for choice in choices.get(over, [{}])
    )


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
    return tuple(
        relation_from(condition.relation, "Assumption D.1").substitute({text.w_ij: letter})
        for letter in sorted(letters, key=str)
        if letter.name in ("w_ij(0)", "w_ii(0)", "w_jj(0)")
        for condition in text.D1.conditions
        if condition.over == "entry"
    )
