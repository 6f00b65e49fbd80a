"""Points that satisfy the hypotheses of a sequent, drawn one letter after the other.

The range of a letter is read off the relations in which it is the only letter left; corners of
the range come first, because that is where tight inequalities break.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import flint
import numpy as np

from swingby.proofs.prover.scalar.exact_value import (
    PRECISIONS,
    CompiledRelation,
    Undefined,
    compile_relation,
    is_ball,
)
from swingby.proofs.prover.scalar.letter_values import allows, numerator_denominator, parse_rational
from swingby.proofs.prover.scalar.relation import Relation
from swingby.theory.balls import precision

#: The order in which letters get values; others follow by name.
_ORDER = (
    "alpha", "gamma", "C", "K", "kappa", "d", "beta", "P", "a_j", "a_i", "a_k", "omega", "eta",
    "lambda", "x", "t_0", "t", "T",
)  # fmt: skip

#: Simple values by letter, for letters that are not fixed by Assumptions D.1 to D.5.
_SIMPLE: dict[str, tuple[str, ...]] = {
    "kappa": ("121/100", "4", "36/25", "9", "25/16", "100", "1", "10201/10000"),
    "K": ("20", "100", "21"),
    "d": ("2", "1", "3", "5"),
    "P": ("2", "4", "100", "1"),
    "t": ("0", "1", "10", "1000"),
    "t_0": ("0", "1", "10"),
    "T": ("0", "1", "10"),
    "lambda": ("1/2", "4/5", "1/10"),
}
_USUAL = ("1", "2", "1/2", "3", "10", "1/10", "4", "100", "1/100", "1/1000")

#: Sizes of entries of W at which lines break: those of W(0), of the boundary, of the end.
LEVELS = 6
#: The letters in which these sizes are given.
_LEVELED = frozenset({"omega", "beta", "P"})


def in_drawing_order(names: frozenset[str]) -> list[str]:
    """Letters in the order in which they get values."""
    late = {"w_ij(0)": 1, "w_ii(0)": 1, "w_ij(t_0)": 2, "w_ii(t_0)": 2, "w_ij(t)": 3, "w_ii(t)": 3}

    def place(name: str) -> tuple[int, int, str]:
        if name in _ORDER:
            return (0, _ORDER.index(name), name)
        return (1, late.get(name, 5 if "t+1" in name else 4), name)

    return sorted(names, key=place)


@dataclass(frozen=True)
class Space:
    """Hypotheses and a goal ready for evaluation, and points drawn that meet the hypotheses."""

    hypotheses: tuple[CompiledRelation, ...]
    goal: CompiledRelation
    letters: Mapping[str, Any]
    #: Candidates so far.
    _found: dict[Any, list[Any]] = field(default_factory=dict, repr=False, compare=False)

    @staticmethod
    def of(premises: Iterable[Relation], goal: Relation) -> Space:
        """The space of some relations."""
        relations = (*premises, goal)
        letters = sorted(frozenset().union(*(relation.symbols for relation in relations)), key=str)
        hypotheses = tuple(map(compile_relation, relations[:-1]))
        return Space(
            hypotheses, compile_relation(goal), {letter.name: letter for letter in letters}
        )

    def meets(self, point: Mapping[str, Any], bits: tuple[int, ...] = PRECISIONS) -> bool:
        """Whether all hypotheses certainly hold at a point."""
        return all(c.decided(point, bits) is True for c in self.hypotheses)

    def refutes(self, point: Mapping[str, Any], bits: tuple[int, ...] = PRECISIONS) -> bool:
        """Whether all hypotheses certainly hold at a point and the goal certainly fails."""
        return self.goal.decided(point, bits) is False and self.meets(point, bits)

    def draw(
        self,
        start: Mapping[str, Any],
        generator: np.random.Generator,
        level: int | None = None,
        *,
        defined_last: bool = False,
    ) -> dict[str, Any] | None:
        """One point with some values given and all of W on a level; None if there is none.

        `defined_last`: letters that an equation defines follow those that define them, and of the
        others every third one is 0, where it may be.
        """
        point = dict(start)
        names = in_drawing_order(frozenset(self.letters) - start.keys())
        for name in self.defined_last(names) if defined_last else names:
            values = self.candidates(name, point)
            if not values:
                return None
            if defined_last and len(values) > 1 and 0 in values and generator.random() < 1 / 3:
                point[name] = flint.fmpq(0)
                continue
            on_level = levels(name, point)[level : level + 1] if level is not None else []
            if on_level and on_level[0] in values:
                point[name] = on_level[0]
                continue
            # Early candidates are corners: prefer them.
            index = min(int(generator.exponential(2.0)), len(values) - 1)
            point[name] = values[index]
        return point

    def defined_last(self, names: list[str]) -> list[str]:
        """The same letters, each behind those of an equation that defines it."""
        after: dict[str, frozenset[str]] = {}
        for relation in (hypothesis.relation for hypothesis in self.hypotheses):
            for letter, value in itertools.permutations(relation.sides):
                if relation.kind == "==" and letter.is_Symbol and not value.has(letter):
                    after.setdefault(letter.name, frozenset(map(str, value.free_symbols)))
        ordered: list[str] = []
        while waiting := [name for name in names if name not in ordered]:
            ready = (
                candidate
                for candidate in waiting
                if not after.get(candidate, frozenset()) & {*waiting}
            )
            ordered.append(next(ready, waiting[0]))
        return ordered

    def candidates(self, name: str, point: Mapping[str, Any]) -> list[Any]:
        """Values worth trying for a letter, corners of its range first.

        They depend on few of the letters, whose values most points have in common.
        """
        alone = [
            relation
            for relation in (*self.hypotheses, self.goal)
            if relation.letters - point.keys() == {name}
        ]
        used = _LEVELED.union(*(relation.letters for relation in alone)) & point.keys()
        key = (name, *((letter, numerator_denominator(point[letter])) for letter in sorted(used)))
        if key not in self._found:
            self._found[key] = self._candidates(name, point, alone)
        return self._found[key]

    def _candidates(
        self, name: str, point: Mapping[str, Any], alone: list[CompiledRelation]
    ) -> list[Any]:
        """The candidates, by the conditions in which the letter alone has no value."""
        letter = self.letters[name]
        lower, upper = (flint.fmpq(0), None) if letter.is_nonnegative else (None, None)
        lower_open, upper_open = bool(letter.is_positive), False
        goal = [relation for relation in alone if relation is self.goal]
        for hypothesis in alone[: len(alone) - len(goal)]:
            strict = hypothesis.relation.kind == "<"
            for value, side in _edges(hypothesis, letter, point):
                if hypothesis.relation.kind == "==":
                    return [value] if allows(value, letter) else []
                if side > 0 and (lower is None or value > lower or (value == lower and strict)):
                    lower, lower_open = value, strict
                if side < 0 and (upper is None or value < upper or (value == upper and strict)):
                    upper, upper_open = value, strict
        values: list[Any] = []
        for value, side in filter(None, (edge_of(relation, name, point) for relation in goal)):
            step = abs(value) / 100 or flint.fmpq(1, 100)
            values += [value] if self.goal.relation.kind in ("<", "!=") else []
            values += [value - side * step, value - side * step / 1000, value * 2, value / 2]
        if upper is not None:
            values += [upper, *([lower] if lower is not None and lower < 0 else [])]
            values += [upper - (abs(upper) or flint.fmpq(1)) / 1000, upper / 2]
        if lower is not None:
            values.append(lower)
            if lower or letter.is_real:
                values += [lower + (abs(lower) or flint.fmpq(1)) / 1000, lower * 2]
            if upper is not None:
                values.append((lower + upper) / 2)
        simple = [parse_rational(text) for text in _SIMPLE.get(name, _USUAL)]
        if not letter.is_nonnegative:
            simple += [flint.fmpq(0), *(-value for value in simple)]
        elif not letter.is_positive:
            simple.insert(0, flint.fmpq(0))
        simple = [*levels(name, point), *simple]
        values = [*simple[:1], *values, *simple[1:]] if name in _SIMPLE else [*values, *simple]
        return [
            value
            for value in dict(zip(map(numerator_denominator, values), values, strict=True)).values()
            if (lower is None or value > lower or (value == lower and not lower_open))
            and (upper is None or value < upper or (value == upper and not upper_open))
            and allows(value, letter)
        ]


def _edges(
    relation: CompiledRelation, letter: Any, point: Mapping[str, Any]
) -> list[tuple[Any, int]]:
    """The edges seen from positive and from negative values: Abs has two."""
    edges = [edge_of(relation, letter.name, point)]
    if not letter.is_nonnegative:
        edges.append(edge_of(relation, letter.name, point, ("negative",)))
    return [edge for edge in edges if edge is not None]


def levels(name: str, point: Mapping[str, Any]) -> list[Any]:
    """The :data:`LEVELS` sizes that an entry of W takes in the proofs; none for other letters."""
    if not name.startswith("w_") or not point.keys() >= _LEVELED:
        return []
    omega, upper = point["omega"], point["beta"] * point["omega"]
    return [omega, omega / 1000, point["P"] * upper, upper, flint.fmpq(1, 2), flint.fmpq(1)]


def edge_of(
    relation: CompiledRelation,
    name: str,
    point: Mapping[str, Any],
    variables: tuple[str, ...] = ("plain", "inverse", "square"),
) -> tuple[Any, int] | None:
    """The zero of a relation's margin, as a function of a single letter; None if there is none.

    `variables`: what it may be linear in; "negative" is the letter, seen from below zero.
    Returns the edge, and 1 if the relation holds above it, -1 below.
    """

    def at(value: Any) -> Any:
        return relation.margin({**point, name: value})

    with precision(192):
        for variable in variables:
            samples = [_in_variable(variable, flint.fmpq(step)) for step in (1, 2, 3)]
            try:
                first, second, third = (at(sample) for sample in samples)
            except (Undefined, ZeroDivisionError, OverflowError, ValueError):
                continue
            slope = second - first
            bend = third - second - slope
            rounded = is_ball(bend)
            if not (bend.contains(0) if rounded else bend == 0) or slope == 0:
                continue
            if rounded and slope.contains(0):
                continue
            root = 1 - first / slope
            rising = slope > 0
            if is_ball(root):
                if not root.is_finite():
                    continue
                # A rational a little on the side where the relation holds.
                root = (root.upper() if rising else root.lower()).mid().fmpq()
            if variable != "plain" and root <= 0:
                continue
            edge = _in_variable(variable, root)
            return edge, (1 if rising else -1) * (-1 if variable in ("inverse", "negative") else 1)
    return None


def _in_variable(turn: str, value: Any) -> Any:
    if turn == "inverse":
        return 1 / value
    if turn == "negative":
        return -value
    return value * value if turn == "square" else value
