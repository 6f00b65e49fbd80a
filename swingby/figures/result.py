"""What making figures returns: a verdict per figure, edition and criterion."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import swingby
from swingby.figures.figure import EDITIONS
from swingby.report import Drawn, Grid
from swingby.theory.verdict import Verdict, all_hold

if TYPE_CHECKING:
    from collections.abc import Iterable

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
        """The table: one line per figure and criterion, the editions side by side."""
        editions = [name for name in EDITIONS if any(row.edition.name == name for row in self.rows)]
        columns = ["fig.", "criterion", "paper"]
        for name in editions:
            columns += [f"{name} edition", "verdict"]
        quick = any(one.quick for one in self.made)
        places: dict[tuple[str, str], dict[str, Judged]] = {}
        for row in self.rows:
            places.setdefault((row.figure.number, row.criterion.id), {})[row.edition.name] = row
        rows = []
        for (number, _), found in places.items():
            criterion = next(iter(found.values())).criterion
            cells = [number, criterion.statement, criterion.paper]
            for name in editions:
                measured = found[name].measured if name in found else None
                cells += [measured.value, str(measured.verdict)] if measured else ["-", "-"]
            rows.append(cells)
        return Grid(
            title="The paper's figures and their criteria",
            columns=columns,
            rows=rows,
            above=[
                "caption: parameters and rates as printed; code: as the authors' public code runs.",
                *(["Some of the runs are quick ones: see figures.json."] if quick else []),
            ],
            below=["", *_reasons(self), *_problems(self)],
        )

    def to_frame(self) -> Any:
        """One row per figure, edition and criterion, with the columns of :data:`COLUMNS`."""
        import pandas

        rows = [row.to_dict() for row in self.rows]
        return pandas.DataFrame(
            [[row[name] for name in COLUMNS] for row in rows], columns=list(COLUMNS)
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON; this is what ``figures.json`` holds."""
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


def _reasons(result: FiguresResult) -> list[str]:
    """Why a criterion fails or is undecided."""
    return [
        f"Fig. {row.figure.number}, {row.edition.name}, {row.criterion.id}: "
        f"{row.measured.verdict}. {row.measured.reason} ({row.criterion.threshold})"
        for row in result.rows
        if row.measured.verdict != "holds"
    ]


def _problems(result: FiguresResult) -> list[str]:
    return [f"Fig. {one.figure}, {one.edition}: not made. {one.error}" for one in result.problems]


def list_grid(figures: Iterable[Figure]) -> Grid:
    """The figures that there are, with what the paper says about them."""
    return Grid(
        title="The paper's figures",
        columns=["fig.", "shows", "claim", "in", "editions", ">criteria"],
        rows=[
            [
                one.number,
                one.title,
                one.claim,
                one.source,
                ", ".join(edition.name for edition in one.editions),
                str(len(one.criteria)),
            ]
            for one in figures
        ],
    )
