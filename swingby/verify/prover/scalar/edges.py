"""Edges: where a relation with one letter left begins or ceases to hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import flint

from swingby.verify.prover.scalar.exact_value import Evaluator, Undefined, margin_of
from swingby.verify.prover.scalar.relation import Relation


@dataclass(frozen=True)
class Condition:
    """A relation ready for evaluation."""

    relation: Relation
    margin: Evaluator
    letters: frozenset[str]


def condition(relation: Relation) -> Condition:
    """A relation ready for evaluation."""
    letters = frozenset(letter.name for letter in relation.symbols)
    return Condition(relation, margin_of(relation), letters)


def edge_of(
    found: Condition,
    name: str,
    point: Mapping[str, Any],
    turns: tuple[str, ...] = ("plain", "inverse", "square"),
) -> tuple[Any, int] | None:
    """Where the margin of a relation vanishes, as a function of one letter.

    Returns the edge, and 1 if the relation holds above it, -1 below. None if the margin is neither
    linear in the letter nor in its inverse or square root.
    """

    def at(value: Any) -> Any:
        return found.margin({**point, name: value})

    with flint.ctx.workprec(192):
        for turn in turns:
            places = [_turned(turn, flint.fmpq(step)) for step in (1, 2, 3)]
            try:
                first, second, third = (at(place) for place in places)
            except (Undefined, ZeroDivisionError, OverflowError, ValueError):
                continue
            slope = second - first
            bend = third - second - slope
            small = isinstance(bend, flint.arb)
            if not (bend.contains(0) if small else bend == 0) or slope == 0:
                continue
            if small and slope.contains(0):
                continue
            root = 1 - first / slope
            rising = slope > 0
            if isinstance(root, flint.arb):
                if not root.is_finite():
                    continue
                # A rational a little on the side where the relation holds.
                lower, upper = root.lower(), root.upper()
                root = _rational(upper if rising else lower)
            if turn != "plain" and root <= 0:
                continue
            edge = _turned(turn, root)
            return edge, (1 if rising else -1) * (-1 if turn in ("inverse", "negative") else 1)
    return None


def _turned(turn: str, value: Any) -> Any:
    if turn == "inverse":
        return 1 / value
    if turn == "negative":
        return -value
    return value * value if turn == "square" else value


def _rational(number: Any) -> Any:
    mantissa, exponent = number.mid().man_exp()
    power = flint.fmpz(2) ** abs(int(exponent))
    return flint.fmpq(mantissa) * power if exponent >= 0 else flint.fmpq(mantissa, power)
