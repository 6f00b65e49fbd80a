"""Certified assumptions: proved verdicts and enclosed margins, as table, frame and JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

import flint

from swingby.hints import Hinted
from swingby.report import Grid
from swingby.theory.statement import Statement
from swingby.theory.verdict import Verdict
from swingby.verify.checking.box import Box
from swingby.verify.checking.intervals import Ends, Interval
from swingby.verify.checking.verdicts import AssumptionVerdicts

#: Margins are widened by this, relative to 1 + |margin|, so that floats of them lie inside.
_FLOAT_ROUNDING = Fraction(1, 2**49)
_CERTIFIED_LINE = {
    "printed": "Assumptions D.1-D.5 as printed, certified",
    "corrected": "Assumptions D.1-D.5 corrected, certified",
    "repaired": "Assumptions of the repaired theorem, certified",
}


@dataclass(frozen=True)
class CertifiedAssumption(Hinted):
    """One assumption with its proved verdict.

    `margin`: ends between which the log10 slack lies, positive inside. `lower`, `upper`: the same
    ends as decimals, rounded outwards.
    """

    id: str
    title: str
    verdict: Verdict
    margin: Ends
    lower: str
    upper: str

    def __str__(self) -> str:
        return f"{self.id} {self.verdict}, margin from {self.lower} to {self.upper}"

    @classmethod
    def of(cls, statement: Statement, verdict: Verdict, margin: Ends) -> CertifiedAssumption:
        """The row of a statement, its margin widened so that a float of it lies inside."""
        low, high = _widened(margin[0], -1), _widened(margin[1], 1)
        decimals = _decimal_text(low, up=False), _decimal_text(high, up=True)
        return cls(statement.id, statement.title, verdict, (low, high), *decimals)


@dataclass(frozen=True)
class CertifiedAssumptions(AssumptionVerdicts[CertifiedAssumption]):
    """The proved verdict of :func:`swingby.certify_assumptions` on each assumption.

    `rows`: in the order of the paper. `box`: the intervals judged; omega and beta come from W(0)
    when one was given. `bits`: working precision that decided.
    """

    edition: str
    rows: tuple[CertifiedAssumption, ...]
    box: Box
    bits: int

    @property
    def _all(self) -> tuple[CertifiedAssumption, ...]:
        return self.rows

    def __repr__(self) -> str:
        failing = f", failing {', '.join(self.failing)}" if self.failing else ""
        return f"<CertifiedAssumptions {self.edition}: {self.verdict}{failing}>"

    def to_grid(self) -> Grid:
        """The rows as a table with the numbers above it."""
        summary = self._verdict_sentence("an edge lies within the numbers given")
        summary += f" Margins are log10 of the slack, positive inside ({self.bits} bits)."
        return Grid(
            title=_CERTIFIED_LINE[self.edition],
            columns=["", "assumption", "verdict", ">margin, proved"],
            rows=[
                [row.id, row.title, str(row.verdict), _ends_text(row.margin)] for row in self.rows
            ],
            above=[str(self.box)],
            below=["", summary],
        )

    def to_frame(self) -> Any:
        """One row per assumption: id, title, verdict, lower, upper (text, rounded outwards)."""
        return self._frame(["id", "title", "verdict", "lower", "upper"])

    def to_dict(self) -> dict[str, Any]:
        """Plain text and numbers, ready for JSON: intervals as pairs of exact quotients."""

        def pair(ends: Interval) -> list[str]:
            return [_quotient(ends[0]), _quotient(ends[1])]

        return {
            "edition": self.edition,
            "verdict": str(self.verdict),
            "bits": self.bits,
            "signal": [pair(ends) for ends in self.box.signal],
            "omega": pair(self.box.omega),
            "beta": pair(self.box.beta),
            "eta": pair(self.box.eta),
            "assumptions": [
                {
                    "id": row.id,
                    "title": row.title,
                    "verdict": str(row.verdict),
                    "margin": [row.lower, row.upper],
                }
                for row in self.rows
            ],
        }


def _decimal_text(end: Fraction | float, *, up: bool) -> str:
    """An end as a decimal of 17 significant digits, rounded outwards; ``"inf"`` where infinite."""
    if isinstance(end, float):
        return str(end)
    context = Context(prec=17, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    number = context.divide(Decimal(end.numerator), Decimal(end.denominator))
    return str(number.normalize() if number else Decimal(0))


def _widened(end: Fraction | float, direction: int) -> Fraction | float:
    if isinstance(end, float) and math.isinf(end):
        return end
    exact = Fraction(end)
    return exact + direction * (1 + abs(exact)) * _FLOAT_ROUNDING


def _quotient(number: Fraction) -> str:
    """Exact text, of any length: Python refuses to write long whole numbers."""
    return str(flint.fmpq(number.numerator, number.denominator))


def _ends_text(margin: Ends) -> str:
    """Both ends to as many digits as it takes to tell them apart, rounded outwards."""
    low, high = margin
    if isinstance(low, float) and isinstance(high, float):
        if low == high:
            return "any" if low > 0 else "none"
        return "unknown"
    digits = 3
    if not (isinstance(low, float) or isinstance(high, float)):
        while high - low < Fraction(2, 10**digits) and digits < 9:
            digits += 3

    def rounded(end: Fraction | float, direction: int) -> str:
        if isinstance(end, float):
            return "inf" if end > 0 else "-inf"
        # The widening for floats is taken back: a proved margin of at least 0 is not below 0.
        scaled = _widened(end, -direction) * 10**digits
        integer = math.floor(scaled) if direction < 0 else math.ceil(scaled)
        return f"{integer / 10**digits:+.{digits}f}"

    return f"[{rounded(low, -1)}, {rounded(high, 1)}]"
