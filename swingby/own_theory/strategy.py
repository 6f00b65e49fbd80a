"""Hypothesis: settings of a theory as a strategy, inside its assumptions or out of one of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import MissingExtra
from swingby.own_theory.family import Family
from swingby.own_theory.settings import (
    TOO_LONG,
    Settings,
    anchor,
    drawn,
    family,
    is_as_asked,
    is_named,
    pushed,
    slack,
    speaking,
)
from swingby.own_theory.statement import Statement

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

#: Settings are drawn in so many parts of a decade, and pulled by this factor of the exponent.
_PARTS, _PULL, _MOST_PULLS = 10, 0.93, 200


def settings_of(
    statement: Statement, outside: str = "", length: int | None = None
) -> SearchStrategy[Settings]:
    """Settings for Hypothesis; they shrink towards the usual setting of the smallest length."""
    try:
        from hypothesis import assume
        from hypothesis import strategies as st
    except ImportError:
        raise MissingExtra("hypothesis", "testing") from None
    lengths = [length] if length else sorted(statement.lengths)
    for size in lengths:
        anchor(family(statement, size))

    @st.composite
    def settings(draw: Any) -> Settings:
        chosen = family(statement, draw(st.sampled_from(lengths)))
        ends = zip(chosen.low, anchor(chosen), chosen.high, strict=True)
        spans = [(_parts(low / middle), _parts(high / middle)) for low, middle, high in ends]
        parts = np.array([draw(st.integers(*span)) for span in spans]) / _PARTS
        seed = draw(st.integers(0, 2**16)) if statement.draws else 0
        setting = _pulled(chosen, parts, seed, outside)
        setting = pushed(setting, outside) if outside else setting
        assume(bool(is_as_asked(setting, outside)[0]))
        return setting

    made: SearchStrategy[Settings] = settings()
    return made


def _parts(ratio: float) -> int:
    return math.trunc(_PARTS * math.log10(ratio))


def _pulled(family: Family, parts: Any, seed: int, outside: str) -> Settings:
    """The setting at these parts of decades from the usual one, in three digits, pulled inside."""
    names = [name for name in (*family.relations, TOO_LONG) if not is_named(name, outside)]
    for _ in range(_MOST_PULLS):
        columns = [
            np.array([middle if part == 0 else float(f"{middle * 10**part:.3g}")])
            for middle, part in zip(anchor(family), parts, strict=True)
        ]
        setting = drawn(family, dict(zip(family.names, columns, strict=True)), seed)
        broken = [name for name in names if slack(setting, name)[0] < 0]
        if not broken:
            break
        parts = np.where(speaking(family, broken[0]), parts * _PULL, parts)
        parts = np.where(np.abs(parts) < 1e-3, 0, parts)
    return setting
