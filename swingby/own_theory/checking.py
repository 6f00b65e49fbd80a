"""Assumptions of a theory checked at numbers: margins, what binds, the largest value admitted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp

from swingby.errors import InvalidInput
from swingby.own_theory.family import Relation
from swingby.own_theory.settings import Settings, at_numbers, least_margin, margins, witness
from swingby.own_theory.statement import Statement, is_function
from swingby.report import Framed, Grid
from swingby.theory.verdict import Verdict, all_hold, yes

#: Margins closer to 0 are decided by rational numbers.
_EDGE = 1e-9


@dataclass(frozen=True)
class TheoryReport(Framed):
    """The assumptions of a theory at a setting.

    Parameters
    ----------
    theory, setting : str
    margins : dict from str to float
        Decades inside, by assumption; ``apart[1, 2]`` is that of two entries.
    verdicts : dict from str to Verdict
        *undecided* where constants have to exist and the search met none.
    constants : dict from str to float
        A witness of the constants that have to exist.
    """

    theory: str
    setting: str
    margins: Mapping[str, float]
    verdicts: Mapping[str, Verdict]
    constants: Mapping[str, float]
    settings: Settings = field(repr=False)

    @property
    def verdict(self) -> Verdict:
        """That of all assumptions together."""
        return all_hold(self.verdicts.values())

    @property
    def holds(self) -> bool:
        """Whether all assumptions hold; raises Undecided where that is not known."""
        return self.verdict.decided()

    @property
    def binding(self) -> str:
        """The assumption with the least margin."""
        return min(self.margins, key=self.margins.__getitem__, default="")

    def largest(self, number: str) -> float | None:
        """The largest value of a number at which all assumptions hold, the others unchanged.

        None where there is none in its range; the end of the range where nothing binds before.
        """
        family = self.settings.family
        if number not in family.names:
            raise InvalidInput("number", number, f"must be one of {', '.join(family.names)}")
        index = family.names.index(number)
        low, high = math.log(family.low[index]), math.log(family.high[index])
        largest: float | None = None
        for _ in range(6):
            grid = np.exp(np.linspace(low, high, 101))
            grid = np.clip(grid, family.low[index], family.high[index])
            batch = self.settings.repeated(len(grid)).with_scalars(**{number: grid})
            grid = batch.scalars[number]  # whole, where the number is
            inside = np.flatnonzero(least_margin(batch) >= -1e-13)
            if not len(inside):
                return largest
            largest = float(grid[inside[-1]])
            if inside[-1] == len(grid) - 1:
                return largest
            low, high = math.log(largest), math.log(grid[inside[-1] + 1])
        return largest

    def records(self) -> list[dict[str, Any]]:
        """The rows of :meth:`to_frame`, by column."""
        return [
            {"assumption": name, "verdict": str(self.verdicts[name]), "margin": margin}
            for name, margin in self.margins.items()
        ]

    def to_grid(self) -> Grid:
        """A row for each assumption."""
        rows = [
            [name, str(self.verdicts[name]), f"{margin:+.3f}"]
            for name, margin in self.margins.items()
        ]
        constants = ", ".join(f"{name}={value:.4g}" for name, value in self.constants.items())
        below = [f"Binding: {self.binding}."] if self.margins else ["There are no assumptions."]
        below += [f"Witness: {constants}."] if constants else []
        title = f"{self.theory}: {self.verdict}"
        heads = ["assumption", "verdict", ">margin (decades)"]
        return Grid(title, heads, rows, above=[self.setting], below=below)


def check_theory(statement: Statement, /, **at: Any) -> TheoryReport:
    """Check the assumptions of a theory at numbers; see :class:`swingby.Theory`."""
    settings = at_numbers(statement, at, at.pop("rng", 0))
    rows = {name: float(row[0]) for name, row in margins(settings).items()}
    searched = {str(name) for name in statement.exists}
    verdicts = {
        name: _verdict(settings, settings.family.relations[name], margin, searched)
        for name, margin in rows.items()
    }
    constants = {name: float(row[0]) for name, row in witness(settings).items()} if searched else {}
    if all_hold(verdicts.values()) != Verdict.HOLDS:
        constants = {}
    return TheoryReport(statement.name, settings.text(), rows, verdicts, constants, settings)


def _verdict(settings: Settings, relation: Relation, margin: float, searched: set[str]) -> Verdict:
    if is_function(relation.relation):
        return Verdict.UNDECIDED if math.isnan(margin) else yes(margin >= 0)
    symbols = {str(symbol) for symbol in relation.relation.free_symbols}
    if symbols & searched and margin < 0:
        return Verdict.UNDECIDED  # a search that meets nothing has shown nothing
    if abs(margin) > _EDGE or not symbols <= set(settings.family.names):
        return yes(margin >= 0)
    exact = {
        symbol: sp.Rational(Fraction(repr(float(settings.scalars[str(symbol)][0]))))
        for symbol in relation.relation.free_symbols
    }
    settled = relation.relation.subs(exact)
    return yes(settled == sp.true) if settled in (sp.true, sp.false) else Verdict.UNDECIDED
