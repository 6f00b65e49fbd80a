"""What making figures returns: a verdict per figure, edition and criterion."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swingby.report import Drawn, Grid
from swingby.theory.verdict import Verdict, all_hold

if TYPE_CHECKING:
    from swingby.figures.figure import Criterion, Edition, Figure, Measured

COLUMNS = (
    "figure",
    "edition",
    "criterion",
    "statement",
    "paper",
    "threshold",
    "measured",
    "verdict",
    "reason",
)


@dataclass(frozen=True)
class Judged:
    """One criterion of one edition of a figure."""

    figure: Figure
    edition: Edition
    criterion: Criterion
    measured: Measured

    def to_dict(self) -> dict[str, Any]:
        """Plain values, with the columns of :meth:`FiguresResult.to_frame`."""
        return {
            "figure": self.figure.number,
            "edition": self.edition.name,
            "criterion": self.criterion.id,
            "statement": self.criterion.statement,
            "paper": self.criterion.paper,
            "threshold": self.criterion.threshold,
            "measured": self.measured.value,
            "verdict": str(self.measured.verdict),
            "reason": self.measured.reason,
            "numbers": dict(self.measured.numbers),
        }


@dataclass(frozen=True)
class Made:
    """An edition of a figure that was made.

    `key`: hash of what the data depends on. `computed`: False when the data was kept from an
    earlier call. `quick`: whether parameters were replaced by quicker ones. `files`: in the folder.
    """

    figure: str
    edition: str
    key: str
    computed: bool
    quick: bool
    files: tuple[str, ...]


@dataclass(frozen=True)
class Problem:
    """An edition that could not be made."""

    figure: str
    edition: str
    error: str


@dataclass(frozen=True)
class FiguresResult(Drawn):
    """The verdicts on the figures of the paper.

    Parameters
    ----------
    folder : Path
    made : tuple of Made
    rows : tuple of Judged
    problems : tuple of Problem
    """

    folder: Path
    made: tuple[Made, ...]
    rows: tuple[Judged, ...]
    problems: tuple[Problem, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """*holds* if every criterion holds in every edition made, and none had a problem."""
        if self.problems:
            return Verdict.FAILS
        return all_hold(row.measured.verdict for row in self.rows)

    def __getitem__(self, name: tuple[str | int, str, str]) -> Measured:
        """What was measured, by figure, edition and criterion: ``result[5, "code", "descents"]``.

        Raises
        ------
        KeyError
            If it was not.
        """
        for row in self.rows:
            if (row.figure.number, row.edition.name, row.criterion.id) == (str(name[0]), *name[1:]):
                return row.measured
        raise KeyError(name)

    def __repr__(self) -> str:
        verdicts = [row.measured.verdict for row in self.rows]
        counts = ", ".join(
            f"{verdicts.count(word)} {'hold' if word == 'holds' else str(word).rstrip('s')}"
            for word in Verdict
            if word in verdicts
        )
        failed = f", {len(self.problems)} not made" if self.problems else ""
        return f"<FiguresResult {len(self.made)} editions{failed}: {counts or 'nothing judged'}>"

    def to_grid(self) -> Grid:
        """The table: one line per figure and criterion, the editions side by side.

        Returns
        -------
        Grid
        """
        from swingby.figures.report import result_grid

        return result_grid(self)

    def to_frame(self) -> Any:
        """One row per figure, edition and criterion.

        Returns
        -------
        pandas.DataFrame
            Columns figure, edition, criterion, statement, paper, threshold, measured, verdict,
            reason.
        """
        import pandas

        rows = [row.to_dict() for row in self.rows]
        return pandas.DataFrame(
            [[row[name] for name in COLUMNS] for row in rows], columns=list(COLUMNS)
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON; this is what ``figures.json`` holds.

        Returns
        -------
        dict
        """
        import swingby

        return {
            "swingby": swingby.__version__,
            "verdict": str(self.verdict),
            "figures": [
                {
                    "figure": one.figure,
                    "edition": one.edition,
                    "key": one.key,
                    "quick": one.quick,
                    "files": list(one.files),
                    "criteria": [
                        {key: value for key, value in row.to_dict().items() if key not in _SAID}
                        for row in self.rows
                        if (row.figure.number, row.edition.name) == (one.figure, one.edition)
                    ],
                }
                for one in self.made
            ],
            "problems": [
                {"figure": one.figure, "edition": one.edition, "error": one.error}
                for one in self.problems
            ],
        }


#: Columns that the entry of an edition has said already.
_SAID = ("figure", "edition")
