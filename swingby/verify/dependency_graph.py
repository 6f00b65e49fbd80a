"""A picture of the ledger: one sign per line, in columns by section and lemma, with arrows.

Colour, shape and letter all carry the verdict. An arrow leads from a line to one that uses it; it
is thick and red where the line used is refuted.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swingby.report.pictures import save_figure, styled
from swingby.report.pictures import shown_figure as new_figure
from swingby.verify.ledger import Ledger, Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Colour (Okabe-Ito), shape and letter of each verdict.
SIGNS = {
    "proved": ("#009E73", "o", "P"),
    "refuted": ("#D55E00", "X", "R"),
    "tested": ("#56B4E9", "s", "T"),
    "undecided": ("#F0E442", "D", "U"),
}

SIZE = (14.0, 9.0)
#: Rows per column, and what a heading takes of them.
_ROWS = 19
_HEAD = 1.4


def plot_ledger(ledger: Ledger, ax: Axes | None = None) -> Axes:
    """Lines by verdict, and what they rest on.

    `ax`: default: a new figure of 14 by 9 inches.
    """
    with styled():
        if ax is None:
            ax = new_figure(*SIZE).add_subplot()
        _draw(ledger, ax)
    return ax


def _short(record: Record) -> str:
    """A label of a few characters: the heading already says which lemma it is."""
    text = re.sub(r" \((?:Lemma|Sec\.?) [^)]*\)$", "", record.id)
    text = re.sub(r"^(?:Lemma|Theorem) \S+ (\[.*\])$", r"\1", text)
    for word, short in (
        ("Assumption", "Ass."),
        ("Definition", "Def."),
        ("Corollary", "Cor."),
        ("Theorem", "Thm."),
        ("before ", "< "),
        ("after ", "> "),
        (">=", "≥"),
    ):
        text = text.replace(word, short)
    text = re.sub(r" \((?:its )?(\w{1,4}).*?\)$", r" \1", text)
    return re.sub(r"_(\w+)\^\((\w)\)", r"_\1(\2)", text)


def _columns(ledger: Ledger) -> list[list[tuple[str, list[Record]]]]:
    """Parts packed into columns; a part longer than a column goes on in the next one."""
    columns: list[list[tuple[str, list[Record]]]] = []
    used: float = _ROWS
    for part in dict.fromkeys(record.part for record in ledger):
        members = [record for record in ledger if record.part == part]
        pieces = -(-len(members) // _ROWS)
        height = -(-len(members) // pieces)
        for piece in range(pieces):
            name = part if piece == 0 else f"{part} (cont.)"
            block = (name, members[piece * height : (piece + 1) * height])
            if used + _HEAD + len(block[1]) > _ROWS:
                columns.append([])
                used = 0
            columns[-1].append(block)
            used += _HEAD + len(block[1])
    return columns


def of_paper(ledger: Ledger) -> Ledger:
    """The lines to draw: those of the paper, or all where there are none of it."""
    paper = [record for record in ledger if record.edition != "repaired"]
    return Ledger(paper or list(ledger))


def _draw(ledger: Ledger, ax: Axes) -> None:
    ledger = of_paper(ledger)
    places: dict[str, tuple[float, float]] = {}
    columns = _columns(ledger)
    deepest = 0.0
    for across, column in enumerate(columns):
        down = 0.0
        for name, members in column:
            down += _HEAD
            ax.text(
                across - 0.09,
                0.75 - down,
                name,
                ha="left",
                va="bottom",
                fontsize=9.5,
                fontweight="bold",
                zorder=6,
            )
            for record in members:
                places[record.id] = (float(across), -down)
                down += 1
        deepest = max(deepest, down)
    _draw_arrows(ledger, places, ax)
    for record in ledger:
        _draw_line(record, *places[record.id], ax)
    ax.set_xlim(-0.32, max(len(columns), 1) - 0.25)
    ax.set_ylim(-deepest, -_HEAD + 1.4)
    ax.set_axis_off()
    ax.set_title(
        f"Lines of the proofs and what they rest on (< before, > after a display). "
        f"Text audited: {ledger.audited}",
        loc="left",
    )
    _draw_legend(ledger, ax)


def _draw_line(record: Record, across: float, up: float, ax: Axes) -> None:
    color, marker, letter = SIGNS[str(record.verdict)]
    ax.plot(
        [across],
        [up],
        marker,
        color=color,
        markersize=9.5 if marker == "D" else 12,
        zorder=4,
        markeredgecolor="black",
        markeredgewidth=0.6,
    )
    ax.text(
        across,
        up,
        letter,
        ha="center",
        va="center_baseline",
        fontsize=6.5,
        zorder=5,
        fontweight="bold",
    )
    ax.text(
        across + 0.13,
        up,
        _plain(_short(record)),
        ha="left",
        va="center",
        fontsize=8,
        zorder=6,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.3, "alpha": 0.75},
    )


def _plain(text: str) -> str:
    """Text that matplotlib does not read as mathematics."""
    return text.replace("$", r"\$")


def _draw_arrows(ledger: Ledger, places: dict[str, tuple[float, float]], ax: Axes) -> None:
    from matplotlib.patches import FancyArrowPatch

    for record in ledger:
        for name in record.rests_on:
            if name not in places:
                continue
            refuted = name in record.rests_on_refuted
            # Assumptions feed almost every line; drawn as strongly as the rest they hide it.
            faint = name.startswith("Assumption") and not refuted
            start, end = places[name], places[record.id]
            bend = 0.25 if start[0] == end[0] else 0.12
            ax.add_patch(
                FancyArrowPatch(
                    start,
                    end,
                    arrowstyle="-|>",
                    mutation_scale=9 if refuted else 6,
                    connectionstyle=f"arc3,rad={bend}",
                    shrinkA=7,
                    shrinkB=7,
                    linewidth=1.3 if refuted else 0.5,
                    color="#D55E00" if refuted else "0.45",
                    alpha=0.75 if refuted else 0.18 if faint else 0.6,
                    zorder=3 if refuted else 1,
                )
            )


def _draw_legend(ledger: Ledger, ax: Axes) -> None:
    from matplotlib.lines import Line2D

    handles: list[Any] = []
    for name, number in ledger.counts().items():
        color, marker, letter = SIGNS[name]
        handles.append(
            Line2D(
                [],
                [],
                color=color,
                marker=marker,
                linestyle="",
                markersize=9,
                markeredgecolor="black",
                markeredgewidth=0.6,
                label=f"{letter}: {name} ({number})",
            )
        )
    drawn = {record.id for record in ledger}
    arrows = sum(len(drawn.intersection(record.rests_on)) for record in ledger)
    refuted = sum(len(drawn.intersection(record.rests_on_refuted)) for record in ledger)
    handles.append(
        Line2D([], [], color="0.45", linewidth=0.8, label=f"used by ({arrows - refuted})")
    )
    handles.append(
        Line2D(
            [],
            [],
            color="#D55E00",
            linewidth=1.6,
            label=f"refuted, and cited by ({refuted})",
        )
    )
    ax.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=len(handles),
        fontsize=9,
        handletextpad=0.4,
    )


def ledger_figure(ledger: Ledger) -> Figure:
    """The picture as a figure of its own."""
    with styled():
        figure = new_figure(*SIZE)
        _draw(ledger, figure.add_subplot())
    return figure


def save_ledger_picture(ledger: Ledger, path: str | Path) -> None:
    """Write the picture to a file.

    `path`: ending in png, pdf or svg. Raises InvalidInput if the path cannot be written or has
    another ending.
    """
    save_figure(lambda: ledger_figure(ledger), path, "graph")
