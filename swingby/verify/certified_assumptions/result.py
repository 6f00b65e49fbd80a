"""What a certificate of the assumptions is, and how it looks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from swingby.report import Grid
from swingby.theory import numbers
from swingby.theory.statement import Statement
from swingby.theory.verdict import Verdict, all_hold
from swingby.verify.certified_assumptions.interval import Box, End, Ends, Interval, decimal_text

#: Margins are widened by this, relative to 1 + |margin|, so that floats of them lie inside.
_FLOAT_ROUNDING = Fraction(1, 2**49)
_EDITION_LINE = {
    "printed": "Assumptions D.1-D.5 as printed, certified",
    "corrected": "Assumptions D.1-D.5 corrected, certified",
    "repaired": "Assumptions of the repaired theorem, certified",
}


@dataclass(frozen=True)
class CertifiedAssumption:
    """One assumption with its proved verdict.

    Parameters
    ----------
    id, title : str
    verdict : Verdict
    margin : pair of Fraction or infinite float
        Ends between which the log10 slack lies, positive inside.
    lower, upper : str
        The same ends as decimals, rounded outwards.
    """

    id: str
    title: str
    verdict: Verdict
    margin: Ends
    lower: str
    upper: str

    @classmethod
    def of(cls, text: Statement, verdict: Verdict, margin: Ends) -> CertifiedAssumption:
        """The row of a statement, its margin widened so that a float of it lies inside."""
        low, high = _widened(margin[0], -1), _widened(margin[1], 1)
        shown = decimal_text(low, up=False), decimal_text(high, up=True)
        return cls(text.id, text.title, verdict, (low, high), *shown)


@dataclass(frozen=True)
class CertifiedAssumptions:
    """What :func:`swingby.verify.certify_assumptions.certify_assumptions` found.

    Parameters
    ----------
    edition : str
    rows : tuple of CertifiedAssumption
        In the order of the paper.
    box : Box
        The intervals judged; omega and beta come from W(0) when one was given.
    bits : int
        Working precision that decided.
    """

    edition: str
    rows: tuple[CertifiedAssumption, ...]
    box: Box
    bits: int

    @property
    def verdict(self) -> Verdict:
        """The verdict on all assumptions together, the same at every point of the box."""
        return all_hold(row.verdict for row in self.rows)

    @property
    def holds(self) -> bool:
        """True or False; raises :class:`swingby.errors.Undecided` when the verdict is undecided."""
        return self.verdict.decided()

    @property
    def failing(self) -> tuple[str, ...]:
        """Ids of the assumptions that fail at every point."""
        return tuple(row.id for row in self.rows if row.verdict == Verdict.FAILS)

    def __getitem__(self, id: str) -> CertifiedAssumption:
        for row in self.rows:
            if row.id == id:
                return row
        known = ", ".join(row.id for row in self.rows)
        raise KeyError(f"{id!r} is not an assumption of the {self.edition} edition ({known})")

    def __iter__(self) -> Iterator[CertifiedAssumption]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        failing = f", failing {', '.join(self.failing)}" if self.failing else ""
        return f"<CertifiedAssumptions {self.edition}: {self.verdict}{failing}>"

    def __str__(self) -> str:
        return self.to_grid().to_text()

    def _repr_html_(self) -> str:
        return self.to_grid().to_html()

    def to_grid(self) -> Grid:
        """The rows as a table with the numbers above it."""
        box = self.box
        given = [
            f"a = ({', '.join(map(_interval_text, box.signal))})",
            f"omega = {_interval_text(box.omega)}",
            f"beta = {_interval_text(box.beta)}",
            f"eta = {_interval_text(box.eta)}",
        ]
        word = {
            Verdict.HOLDS: "All hold.",
            Verdict.FAILS: f"Fails: {', '.join(self.failing)}.",
            Verdict.UNDECIDED: "Undecided: an edge lies within the numbers given.",
        }[self.verdict]
        rows = [
            [row.id, row.title, str(row.verdict), _margin_text(row.margin)] for row in self.rows
        ]
        return Grid(
            title=_EDITION_LINE[self.edition],
            columns=["", "assumption", "verdict", ">margin, proved"],
            rows=rows,
            above=[", ".join(given)],
            below=[
                "",
                f"{word} Margins are log10 of the slack, positive inside ({self.bits} bits).",
            ],
        )

    def to_latex(self) -> str:
        """The table as LaTeX (booktabs)."""
        return self.to_grid().to_latex()

    def to_frame(self) -> Any:
        """One row per assumption: id, title, verdict, lower, upper.

        Returns
        -------
        pandas.DataFrame
            lower and upper are decimal text, rounded outwards.
        """
        import pandas

        columns = ["id", "title", "verdict", "lower", "upper"]
        return pandas.DataFrame(
            [[str(getattr(row, name)) for name in columns] for row in self.rows], columns=columns
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain text and numbers, ready for JSON.

        Returns
        -------
        dict
            Intervals are pairs of exact quotients, margins pairs of decimals rounded outwards.
        """

        def pair(given: Interval) -> list[str]:
            return [_quotient(given[0]), _quotient(given[1])]

        return {
            "edition": self.edition,
            "verdict": str(self.verdict),
            "bits": self.bits,
            "signal": [pair(given) for given in self.box.signal],
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


def _widened(end: End, direction: int) -> End:
    if isinstance(end, float) and math.isinf(end):
        return end
    exact = Fraction(end)
    return exact + direction * (1 + abs(exact)) * _FLOAT_ROUNDING


def _quotient(number: Fraction) -> str:
    """Exact text; in hexadecimal where Python would refuse the decimal digits."""
    sizes = number.numerator.bit_length(), number.denominator.bit_length()
    if max(sizes) < 13_000:
        return str(number)
    return f"{number.numerator:#x}/{number.denominator:#x}"


def _interval_text(given: Interval) -> str:
    low, high = (numbers.scientific(end) for end in given)
    return low if given[0] == given[1] else f"[{low}, {high}]"


def _margin_text(margin: Ends) -> str:
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
    return f"[{_rounded(low, digits, -1)}, {_rounded(high, digits, 1)}]"


def _rounded(end: End, digits: int, direction: int) -> str:
    if isinstance(end, float):
        return "inf" if end > 0 else "-inf"
    # The widening for floats is taken back: a proved margin of at least 0 is not shown below 0.
    scaled = _widened(end, -direction) * 10**digits
    whole = math.floor(scaled) if direction < 0 else math.ceil(scaled)
    return f"{whole / 10**digits:+.{digits}f}"
