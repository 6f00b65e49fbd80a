"""How the verdicts on figures look as a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from swingby.figures.figure import EDITIONS, Figure
from swingby.report import Grid

if TYPE_CHECKING:
    from swingby.figures.result import FiguresResult, Judged


def result_grid(result: FiguresResult) -> Grid:
    """One line per figure and criterion, the editions side by side, the reasons below."""
    editions = [name for name in EDITIONS if any(row.edition.name == name for row in result.rows)]
    columns = ["fig.", "criterion", "paper"]
    for name in editions:
        columns += [f"{name} edition", "verdict"]
    quick = any(one.quick for one in result.made)
    places: dict[tuple[str, str], dict[str, Judged]] = {}
    for row in result.rows:
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
        below=["", *_reasons(result), *_problems(result)],
    )


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
