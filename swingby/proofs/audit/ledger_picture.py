"""The picture of a ledger: a sign for every line, in columns by section and lemma.

Colour, shape and letter all
carry the verdict. An arrow leads from a line to one that uses it; it is thick and red where the
line used is refuted.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swingby.proofs.audit.record import AUDITED, Record
from swingby.report.picture_style import legend_above
from swingby.report.pictures import new_figure, save_figure
from swingby.theory.verdict import Finding

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Colour (Okabe-Ito), shape and letter of each verdict.
_SIGNS = {
    "proved": ("#009E73", "o", "P"),
    "proved by z3": ("#0072B2", "h", "Z"),
    "refuted": ("#D55E00", "X", "R"),
    "can be met": ("#CC79A7", "p", "M"),
    "tested": ("#56B4E9", "s", "T"),
    "read": ("#999999", "v", "L"),
    "undecided": ("#F0E442", "D", "U"),
}

#: Inches of the picture; its letters are legible in the column of a page.
SIZE = (10.2, 11.0)
#: Rows per column, and those of a heading.
_ROWS, _HEAD = 29, 1.4
_RED = "#D55E00"

_HEADING: dict[str, Any] = {"va": "bottom", "fontsize": 9.5, "fontweight": "bold", "zorder": 6}
_LETTER: dict[str, Any] = {"fontsize": 7.8, "fontweight": "bold", "zorder": 5}
_BOX = {"facecolor": "white", "edgecolor": "none", "pad": 0.3, "alpha": 0.75}
_LABEL: dict[str, Any] = {
    "ha": "left",
    "va": "center",
    "linespacing": 0.9,
    "zorder": 6,
    "bbox": _BOX,
}
#: Font sizes of labels of one line, and of more.
_SIZES = (8.0, 7.0)
_EDGE: dict[str, Any] = {"edgecolors": "black", "linewidths": 0.6, "zorder": 4}
#: Abbreviations in a label, and its longest line, which may break between words.
_SHORTER = {"Assumption": "Ass.", "Definition": "Def.", "Corollary": "Cor.", "Theorem": "Thm."}
_SHORTER |= {"before ": "< ", "after ": "> "}
_LONGEST = 18


def _short(text: str) -> str:
    """A label in lines of a few characters, which matplotlib does not read as mathematics."""
    for word, short in _SHORTER.items():
        text = text.replace(word, short)
    return "\n".join(textwrap.wrap(text, _LONGEST, break_long_words=False)).replace("$", r"\$")


def _columns(records: Sequence[Record]) -> list[list[tuple[str, list[Record]]]]:
    """Parts packed into columns; a part longer than a column goes on in the next column."""
    columns: list[list[tuple[str, list[Record]]]] = []
    used: float = _ROWS
    for section in dict.fromkeys(record.part for record in records):
        members = [record for record in records if record.part == section]
        pieces = -(-len(members) // int(_ROWS - _HEAD))
        height = -(-len(members) // pieces)
        for piece in range(pieces):
            name = section if piece == 0 else f"{section} (cont.)"
            block = (name, members[piece * height : (piece + 1) * height])
            if used + _HEAD + len(block[1]) > _ROWS:
                columns.append([])
                used = 0
            columns[-1].append(block)
            used += _HEAD + len(block[1])
    return columns


def draw(records: Sequence[Record], ax: Axes) -> None:
    """The lines of the paper, or all records where none is of the paper."""
    paper = [record for record in records if record.edition != "repaired"]
    records = paper or list(records)
    places: dict[str, tuple[float, float]] = {}
    columns = _columns(records)
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
    _draw_arrows(records, places, ax)
    for verdict in Finding:
        color, marker, letter = _SIGNS[verdict]
        members = [record for record in records if record.verdict == verdict]
        spots = [places[record.id] for record in members]
        label = f"{letter}: {verdict} ({len(members)})"
        if members:
            xs, ys = zip(*spots, strict=True)
            ax.scatter(xs, ys, 120, color, marker=marker, label=label, **_EDGE)
        for record, (x, y) in zip(members, spots, strict=True):
            ax.text(x, y, letter, ha="center", va="center_baseline", **_LETTER)
            label = _short(record.id)
            ax.text(x + 0.13, y, label, fontsize=_SIZES["\n" in label], **_LABEL)
    ax.set_xlim(-0.32, len(columns) - 0.25)
    ax.set_ylim(-deepest, -_HEAD + 1.4)
    ax.set_axis_off()
    title = "Lines of the proofs and what they rest on (< before, > after a display)\n"
    audited = records[0].audited if records else AUDITED
    ax.set_title(f"{title}Text audited: {audited}", loc="left")
    _draw_legend(ax)


def _draw_arrows(
    records: Sequence[Record], places: dict[str, tuple[float, float]], ax: Axes
) -> None:
    from matplotlib.patches import FancyArrowPatch

    uses = {
        (name, record.id): name in record.rests_on_refuted
        for record in records
        for name in record.rests_on
        if name in places
    }
    for (name, user), refuted in uses.items():
        start, end = places[name], places[user]
        # Almost every line uses assumptions; drawn as strongly as the rest they hide it.
        faint = name.startswith("Assumption") and not refuted
        arrow = FancyArrowPatch(
            start,
            end,
            arrowstyle="-|>",
            mutation_scale=9 if refuted else 6,
            connectionstyle=f"arc3,rad={0.25 if start[0] == end[0] else 0.12}",
            shrinkA=7,
            shrinkB=7,
            linewidth=1.3 if refuted else 0.5,
            color=_RED if refuted else "0.45",
            alpha=0.75 if refuted else 0.18 if faint else 0.6,
            zorder=3 if refuted else 1,
        )
        ax.add_patch(arrow)
    for refuted, color, words in (
        (False, "0.45", "used by"),
        (True, _RED, "refuted, and cited by"),
    ):
        if number := list(uses.values()).count(refuted):
            ax.plot([], [], color=color, label=f"{words} ({number})")


def _draw_legend(ax: Axes) -> None:
    """The verdicts and arrows that occur, with their numbers."""
    handles = ax.get_legend_handles_labels()[0]
    if not legend_above(ax, 10.0, handles=handles, handletextpad=0.4):
        below: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0)}
        ax.legend(handles=handles, ncols=len(handles), fontsize=9, handletextpad=0.4, **below)


def save_picture(records: Sequence[Record], path: str | Path) -> None:
    """Write the picture to a .png, .pdf or .svg; raises InvalidInput for any other path."""

    def figure() -> Figure:
        picture = new_figure(*SIZE)
        draw(records, picture.add_subplot())
        return picture

    save_figure(figure, path, "graph")
