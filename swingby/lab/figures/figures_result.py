"""FiguresResult: the verdicts on figures, by edition and criterion."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import swingby
from swingby.lab.figures.figure import EDITIONS, Criterion, Figure, Measured
from swingby.report import Framed, Grid
from swingby.theory.verdict import Verdict, all_hold


class JudgedEdition(NamedTuple):
    """An edition of a figure that was made, with its verdicts."""

    figure: str
    edition: str
    #: Hash of what the data depends on.
    key: str
    #: False when the data was kept from an earlier call.
    computed: bool
    #: Whether parameters were replaced by quicker ones.
    quick: bool
    #: In the folder.
    files: tuple[str, ...]
    judged: tuple[tuple[Criterion, Measured], ...]

    def criteria(self) -> list[dict[str, Any]]:
        """A row of plain values for each criterion."""
        return [
            {
                "criterion": criterion.id,
                "statement": criterion.statement,
                "paper": criterion.paper,
                "threshold": criterion.threshold,
                "measured": measured.value,
                "verdict": str(measured.verdict),
                "reason": measured.reason,
                "numbers": dict(measured.numbers),
            }
            for criterion, measured in self.judged
        ]


class FailedEdition(NamedTuple):
    """An edition that could not be made."""

    figure: str
    edition: str
    error: str


@dataclass(frozen=True)
class FiguresResult(Framed):
    """The verdicts on the figures of the paper.

    Parameters
    ----------
    folder : Path
    made : tuple of JudgedEdition
    problems : tuple of FailedEdition
    """

    folder: Path
    made: tuple[JudgedEdition, ...] = ()
    problems: tuple[FailedEdition, ...] = ()

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Every criterion of every edition made, as plain values."""
        return [
            {"figure": edition.figure, "edition": edition.edition, **row}
            for edition in self.made
            for row in edition.criteria()
        ]

    @property
    def verdict(self) -> Verdict:
        """*holds* if every criterion holds in every edition made, and none had a problem."""
        if self.problems:
            return Verdict.FAILS
        return all_hold(Verdict(row["verdict"]) for row in self.rows)

    def __getitem__(self, name: tuple[str | int, str, str]) -> Measured:
        """The measurement of a criterion, or a KeyError: ``result[5, "code", "descents"]``."""
        for edition in self.made:
            for criterion, measured in edition.judged:
                if (edition.figure, edition.edition, criterion.id) == (str(name[0]), *name[1:]):
                    return measured
        raise KeyError(name)

    def __repr__(self) -> str:
        verdicts = [row["verdict"] for row in self.rows]
        counts = [
            f"{verdicts.count(verdict)} {verdict.rstrip('s')}"
            for verdict in Verdict
            if verdict in verdicts
        ]
        failed = f", {len(self.problems)} not made" if self.problems else ""
        judged = ", ".join(counts) or "nothing judged"
        return f"<FiguresResult {len(self.made)} editions{failed}: {judged}>"

    def to_grid(self) -> Grid:
        """The table: a line per figure and criterion, the editions side by side."""
        lines: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
        below = [""]
        for row in self.rows:
            lines.setdefault((row["figure"], row["criterion"]), {})[row["edition"]] = row
            if row["verdict"] != "holds":
                below.append(
                    f"Fig. {row['figure']}, {row['edition']}, {row['criterion']}: "
                    f"{row['verdict']}. {row['reason']} ({row['threshold']})"
                )
        below += [
            f"Fig. {problem.figure}, {problem.edition}: not made. {problem.error}"
            for problem in self.problems
        ]
        editions = [name for name in EDITIONS if any(name in same for same in lines.values())]
        rows = []
        for (number, _), same in lines.items():
            first = next(iter(same.values()))
            cells = [number, first["statement"], first["paper"]]
            for name in editions:
                entry = same.get(name, {})
                cells += [entry.get("measured", "-"), entry.get("verdict", "-")]
            rows.append(cells)
        columns = ["fig.", "criterion", "paper"]
        columns += [head for name in editions for head in (f"{name} edition", "verdict")]
        above = [
            "caption: parameters and rates as printed; code: as the authors' public code runs."
        ]
        if any(edition.quick for edition in self.made):
            above.append("Some of the runs are quick ones: see figures.json.")
        return Grid("The paper's figures and their criteria", columns, rows, above, below)

    def records(self) -> list[dict[str, Any]]:
        """A row per figure, edition and criterion: its words."""
        return [{k: value for k, value in row.items() if k != "numbers"} for row in self.rows]

    def to_dict(self) -> dict[str, Any]:
        """Verdicts as plain values, ready for JSON: the content of ``figures.json``."""
        figures = [
            {
                "figure": edition.figure,
                "edition": edition.edition,
                "key": edition.key,
                "quick": edition.quick,
                "files": list(edition.files),
                "criteria": edition.criteria(),
            }
            for edition in self.made
        ]
        return {
            "swingby": swingby.__version__,
            "verdict": str(self.verdict),
            "figures": figures,
            "problems": [problem._asdict() for problem in self.problems],
        }


def list_grid(figures: Iterable[Figure]) -> Grid:
    """The table of figures, with the claims of the paper about them."""
    rows = []
    for figure in figures:
        editions = ", ".join(edition.name for edition in figure.editions)
        about = [figure.number, figure.title, figure.claim, figure.source]
        rows.append([*about, editions, str(len(figure.criteria))])
    columns = ["fig.", "shows", "claim", "in", "editions", ">criteria"]
    return Grid("The paper's figures", columns, rows)
