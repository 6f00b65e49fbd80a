"""What making figures returns: a verdict per figure, edition and criterion."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import swingby
from swingby.lab.figures.figure import EDITIONS, Criterion, Figure, Measured
from swingby.report import Framed, Grid
from swingby.theory.verdict import Verdict, all_hold


class Made(NamedTuple):
    """An edition of a figure that was made, as its numbers and names say."""

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


class Problem(NamedTuple):
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
    made : tuple of Made
    problems : tuple of Problem
    """

    folder: Path
    made: tuple[Made, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Every criterion of every edition made, as plain values."""
        return [
            {"figure": one.figure, "edition": one.edition, **row}
            for one in self.made
            for row in one.criteria()
        ]

    @property
    def verdict(self) -> Verdict:
        """*holds* if every criterion holds in every edition made, and none had a problem."""
        if self.problems:
            return Verdict.FAILS
        return all_hold(Verdict(row["verdict"]) for row in self.rows)

    def __getitem__(self, name: tuple[str | int, str, str]) -> Measured:
        """What was measured, or a KeyError: ``result[5, "code", "descents"]``."""
        for one in self.made:
            for criterion, measured in one.judged:
                if (one.figure, one.edition, criterion.id) == (str(name[0]), *name[1:]):
                    return measured
        raise KeyError(name)

    def __repr__(self) -> str:
        verdicts = [row["verdict"] for row in self.rows]
        counts = [f"{verdicts.count(one)} {one.rstrip('s')}" for one in Verdict if one in verdicts]
        failed = f", {len(self.problems)} not made" if self.problems else ""
        judged = ", ".join(counts) or "nothing judged"
        return f"<FiguresResult {len(self.made)} editions{failed}: {judged}>"

    def to_grid(self) -> Grid:
        """The table: one line per figure and criterion, the editions side by side."""
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
            f"Fig. {one.figure}, {one.edition}: not made. {one.error}" for one in self.problems
        ]
        editions = [name for name in EDITIONS if any(name in same for same in lines.values())]
        rows = []
        for (number, _), same in lines.items():
            first = next(iter(same.values()))
            cells = [number, first["statement"], first["paper"]]
            for name in editions:
                one = same.get(name, {})
                cells += [one.get("measured", "-"), one.get("verdict", "-")]
            rows.append(cells)
        columns = ["fig.", "criterion", "paper"]
        columns += [head for name in editions for head in (f"{name} edition", "verdict")]
        above = [
            "caption: parameters and rates as printed; code: as the authors' public code runs."
        ]
        if any(one.quick for one in self.made):
            above.append("Some of the runs are quick ones: see figures.json.")
        return Grid("The paper's figures and their criteria", columns, rows, above, below)

    def records(self) -> list[dict[str, Any]]:
        """One row per figure, edition and criterion: its words."""
        return [{k: value for k, value in row.items() if k != "numbers"} for row in self.rows]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON; this is what ``figures.json`` holds."""
        figures = [
            {
                "figure": one.figure,
                "edition": one.edition,
                "key": one.key,
                "quick": one.quick,
                "files": list(one.files),
                "criteria": one.criteria(),
            }
            for one in self.made
        ]
        return {
            "swingby": swingby.__version__,
            "verdict": str(self.verdict),
            "figures": figures,
            "problems": [one._asdict() for one in self.problems],
        }


def list_grid(figures: Iterable[Figure]) -> Grid:
    """The figures that there are, with what the paper says about them."""
    rows = []
    for one in figures:
        editions = ", ".join(edition.name for edition in one.editions)
        about = [one.number, one.title, one.claim, one.source]
        rows.append([*about, editions, str(len(one.criteria))])
    columns = ["fig.", "shows", "claim", "in", "editions", ">criteria"]
    return Grid("The paper's figures", columns, rows)
