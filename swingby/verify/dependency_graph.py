"""A picture of the ledger: one sign per line, in columns by section and lemma, with arrows.

Colour, shape and letter all carry the verdict. An arrow leads from a line to one that uses it; it
is thick and red where the line used is refuted.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swingby.errors import InvalidInput
from swingby.report.pictures import Size, drawn, inches, legend_above, new_figure, save_figure
from swingby.verify.lines import Line, Lines

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
#: Least inches of a column and of a row; what the legend takes of the height.
_COLUMN, _ROW, _LEGEND = 1.05, 0.25, 0.5
_RED = "#D55E00"

_HEADING: dict[str, Any] = {"va": "bottom", "fontsize": 9.5, "fontweight": "bold", "zorder": 6}
_LETTER: dict[str, Any] = {"fontsize": 6.5, "fontweight": "bold", "zorder": 5}
_BOX = {"facecolor": "white", "edgecolor": "none", "pad": 0.3, "alpha": 0.75}
_LABEL: dict[str, Any] = {"ha": "left", "va": "center", "fontsize": 8, "zorder": 6, "bbox": _BOX}
_EDGE: dict[str, Any] = {"markeredgecolor": "black", "markeredgewidth": 0.6}
#: What a label shortens.
_SHORTER = {
    "Assumption": "Ass.",
    "Definition": "Def.",
    "Corollary": "Cor.",
    "Theorem": "Thm.",
    "before ": "< ",
    "after ": "> ",
    ">=": "≥",
}


def plot_ledger(ledger: Lines[Line], ax: Axes | None = None, size: Size = None) -> Axes:
    """Lines by verdict, and what they rest on; as many rows in a column as fit into a `size`."""
    width, height = inches(size, SIZE)
    rows = _ROWS if size is None else int((height - _LEGEND) / _ROW)
    if size is not None and len(_columns(of_paper(ledger), rows)) > width / _COLUMN:
        wanted = f"has no room for {len(ledger)} lines: audit fewer items, or leave size out"
        raise InvalidInput("size", size, wanted)
    across = 0 if size is None else int(width / _COLUMN)
    return drawn(lambda ax: _draw(ledger, ax, rows, across), ax, size, SIZE)


def _short(record: Line) -> str:
    """A label of a few characters: the heading already says which lemma it is."""
    text = re.sub(r" \((?:Lemma|Sec\.?) [^)]*\)$", "", record.id)
    text = re.sub(r"^(?:Lemma|Theorem) \S+ (\[.*\])$", r"\1", text)
    for word, short in _SHORTER.items():
        text = text.replace(word, short)
    text = re.sub(r" \((?:its )?(\w{1,4}).*?\)$", r" \1", text)
    return re.sub(r"_(\w+)\^\((\w)\)", r"_\1(\2)", text)


def _columns(ledger: Lines[Line], rows: int) -> list[list[tuple[str, list[Line]]]]:
    """Parts packed into columns; a part longer than a column goes on in the next one."""
    columns: list[list[tuple[str, list[Line]]]] = []
    used: float = rows
    for part in dict.fromkeys(record.part for record in ledger):
        members = [record for record in ledger if record.part == part]
        pieces = -(-len(members) // max(1, int(rows - _HEAD)))
        height = -(-len(members) // pieces)
        for piece in range(pieces):
            name = part if piece == 0 else f"{part} (cont.)"
            block = (name, members[piece * height : (piece + 1) * height])
            if used + _HEAD + len(block[1]) > rows:
                columns.append([])
                used = 0
            columns[-1].append(block)
            used += _HEAD + len(block[1])
    return columns


def of_paper(ledger: Lines[Line]) -> Lines[Line]:
    """The lines to draw: those of the paper, or all where there are none of it."""
    paper = [record for record in ledger if record.edition != "repaired"]
    return Lines(paper or list(ledger))


def _draw(ledger: Lines[Line], ax: Axes, rows: int = _ROWS, least: int = 1) -> None:
    ledger = of_paper(ledger)
    places: dict[str, tuple[float, float]] = {}
    columns = _columns(ledger, rows)
    deepest = 0.0
    for across, column in enumerate(columns):
        down = 0.0
        for name, members in column:
            down += _HEAD
            ax.text(across - 0.09, 0.75 - down, name, **_HEADING)
            for record in members:
                places[record.id] = (float(across), -down)
                down += 1
        deepest = max(deepest, down)
    _draw_arrows(ledger, places, ax)
    for record in ledger:
        _draw_line(record, *places[record.id], ax)
    ax.set_xlim(-0.32, max(len(columns), least) - 0.25)
    ax.set_ylim(-deepest, -_HEAD + 1.4)
    ax.set_axis_off()
    title = "Lines of the proofs and what they rest on (< before, > after a display). "
    ax.set_title(f"{title}Text audited: {ledger.audited}", loc="left")
    _draw_legend(ledger, ax)


def _draw_line(record: Line, across: float, up: float, ax: Axes) -> None:
    color, marker, letter = SIGNS[str(record.verdict)]
    size = 9.5 if marker == "D" else 12
    ax.plot([across], [up], marker, color=color, markersize=size, zorder=4, **_EDGE)
    ax.text(across, up, letter, ha="center", va="center_baseline", **_LETTER)
    ax.text(across + 0.13, up, _plain(_short(record)), **_LABEL)


def _plain(text: str) -> str:
    """Text that matplotlib does not read as mathematics."""
    return text.replace("$", r"\$")


def _draw_arrows(ledger: Lines[Line], places: dict[str, tuple[float, float]], ax: Axes) -> None:
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
            arrow = FancyArrowPatch(
                start,
                end,
                arrowstyle="-|>",
                mutation_scale=9 if refuted else 6,
                connectionstyle=f"arc3,rad={bend}",
                shrinkA=7,
                shrinkB=7,
                linewidth=1.3 if refuted else 0.5,
                color=_RED if refuted else "0.45",
                alpha=0.75 if refuted else 0.18 if faint else 0.6,
                zorder=3 if refuted else 1,
            )
            ax.add_patch(arrow)


def _draw_legend(ledger: Lines[Line], ax: Axes) -> None:
    """What occurs, and how often."""
    from matplotlib.lines import Line2D

    drawn = {record.id for record in ledger}
    handles = []
    for name, number in ledger.counts().items():
        color, sign, letter = SIGNS[name]
        style = {"color": color, "marker": sign, "markersize": 9, **_EDGE}
        label = f"{letter}: {name} ({number})"
        handles += [Line2D([], [], ls="", label=label, **style)] if number else []
    arrows = sum(len(drawn.intersection(record.rests_on)) for record in ledger)
    refuted = sum(len(drawn.intersection(record.rests_on_refuted)) for record in ledger)
    for color, width, words, number in (
        ("0.45", 0.8, "used by", arrows - refuted),
        (_RED, 1.6, "refuted, and cited by", refuted),
    ):
        if number:
            label = f"{words} ({number})"
            handles.append(Line2D([], [], color=color, linewidth=width, label=label))
    if not legend_above(ax, 10.0, handles=handles, handletextpad=0.4):
        place: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0)}
        place |= {"ncols": len(handles), "fontsize": 9, "handletextpad": 0.4}
        ax.legend(handles=handles, **place)


def save_ledger_picture(ledger: Lines[Line], path: str | Path) -> None:
    """Write the picture to a .png, .pdf or .svg; raises InvalidInput for any other path."""

    def figure() -> Figure:
        made = new_figure(*SIZE)
        _draw(ledger, made.add_subplot())
        return made

    save_figure(figure, path, "graph")
