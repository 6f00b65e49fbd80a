"""The ledger that an audit returns: one record per line of the text, in every format.

Its picture has one sign per line, in columns by section and lemma. Colour, shape and letter all
carry the verdict. An arrow leads from a line to one that uses it; it is thick and red where the
line used is refuted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swingby.errors import InvalidInput
from swingby.report import Drawn, Grid, Shown
from swingby.report.files import write_text
from swingby.report.pictures import Size, drawn, inches, legend_above, new_figure, save_figure
from swingby.theory.claims.text import statement_line, to_latex, to_text
from swingby.verify import ledger_report
from swingby.verify.audit_cache import plain
from swingby.verify.lines import Line, Lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = (
    *("id", "part", "kind", "about", "verdict", "method", "witness", "breaks", "severity"),
    *("repair", "rests_on", "rests_on_refuted", "reference", "seconds"),
)
#: Of a record, what is no plain value or is said elsewhere.
_NOT_PLAIN = {"statement", "repair", "downstream", "audited", "proof"}


@dataclass(frozen=True)
class Record(Line, Shown):
    """One line of the text and the verdict on it.

    Parameters
    ----------
    id, kind, edition, reference, about, reading : str
        Of the claim: `reading` is how an ambiguity was read.
    statement : Claim
    verdict : Finding
    method : str
    evidence : tuple of str
        Lines that a reader can check.
    witness : Witness or None
        Where the line fails, or for an existence claim holds.
    cases : int
        How many cases, for *tested*.
    tried : tuple of str
        For *undecided*.
    parts : dict from str to Judged
        Verdicts by part, where they differ.
    breaks, severity, explanation : str
        What breaks; empty unless the verdict is *refuted*.
    repair : Record or None
        The repaired line, judged like any other.
    rests_on, rests_on_refuted : tuple of str
        Ids of the lines that the hypotheses come from, and those of them that are refuted.
    downstream : tuple of (str, str)
        Id of a line that uses this one, and what becomes of it once this one is repaired.
    seconds : float
        Time that the verdict took when it was computed.
    part : str
        Part of the text, such as ``"Lemma D.2"``.
    audited : str
        The text: the paper, or a proof file.
    proof : tuple of dict
        What :meth:`Ledger.export` writes of a proved line; empty where its method yields nothing.
    """

    repair: Record | None

    def __repr__(self) -> str:
        tail = f", repaired: {self.repair.verdict}" if self.repair is not None else ""
        return f"<Record {self.id}: {self.verdict}{tail}>"

    def to_text(self, *, width: int | None = None, color: bool = False) -> str:
        """Everything that is known about the line, for a terminal."""
        return ledger_report.record_text(self, width=width, color=color)

    def to_html(self) -> str:
        """The text as HTML."""
        return ledger_report.record_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        known = {name: plain(part) for name, part in vars(self).items() if name not in _NOT_PLAIN}
        return known | {
            "conclusion": statement_line(self.statement),
            "statement": to_text(self.statement),
            "latex": to_latex(self.statement),
            "repair": None if self.repair is None else self.repair.to_dict(),
            "downstream": [{"id": line, "verdict": text} for line, text in self.downstream],
        }


class Ledger(Lines[Record], Drawn):
    """The records of an audit in the order of the text; it does not change.

    Parameters
    ----------
    records : sequence of Record
    promised : sequence of str
        Ids of lines that are taken for granted; see :meth:`standing`.

    Examples
    --------
    >>> import swingby
    >>> ledger = swingby.audit("D.60", cache=False, progress=False)
    >>> ledger["D.60"].verdict.value
    'proved'
    """

    def __repr__(self) -> str:
        shown = ", ".join(f"{number} {name}" for name, number in self.counts().items() if number)
        return f"<Ledger: {len(self)} lines; {shown or 'none'}>"

    def to_grids(self) -> Sequence[Grid]:
        """Counts by verdict; and one row per line, with the summary."""
        return ledger_report.ledger_grids(self)

    def to_frame(self) -> Any:
        """One row per record; ``repair`` is the verdict on the repaired line.

        Returns
        -------
        pandas.DataFrame
            Columns :data:`COLUMNS`; ids and constants joined by commas.
        """
        import pandas

        def cell(record: Record, name: str) -> Any:
            value = getattr(record, name)
            if value is None:
                return ""
            if name == "witness":
                return ", ".join(f"{letter}={number}" for letter, number in value.values.items())
            if name == "repair":
                return str(value.verdict)
            return ", ".join(value) if isinstance(value, tuple) else plain(value)

        rows = [[cell(record, name) for name in COLUMNS] for record in self]
        return pandas.DataFrame(rows, columns=list(COLUMNS))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "text": self.audited,
            "counts": self.counts(),
            "records": [record.to_dict() for record in self],
        }

    def to_json(self, path: str | Path | None = None) -> str | None:
        """The ledger as JSON.

        Parameters
        ----------
        path : path, optional
            Where to write; without it the text is returned.

        Raises
        ------
        InvalidInput
            If the path cannot be written.
        """
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
        if path is None:
            return text
        write_text(path, text)
        return None

    def export(self, folder: str | Path) -> tuple[list[str], list[str]]:
        """Write a file of every counterexample and of most proofs, and what judges them.

        ``python check.py folder`` judges them by what they print, with the standard library alone:
        lines about numbers, matrices written out in entries, and trajectories, which it follows
        from the printed W(0) with ``replay.py`` beside it. A proof is a sum of products of
        hypotheses, which it multiplies out; an identity of quotients, of derivatives along the
        flow, or of words of matrices; or an example of what exists.

        Parameters
        ----------
        folder : path
            Made where it is not there.

        Returns
        -------
        written, left : list of str
            Ids of the refuted and proved lines with a file, and of those without: of a line that
            says that something exists, the opposite is proved, and there is no point to print; of
            proofs by cases, moments or boxes there is no identity to print. A repair is called
            as ``"D.61 (corrected)"``.

        Raises
        ------
        InvalidInput
            If the folder cannot be made or written to.
        """
        from swingby.verify.prover.witness_files import export

        return export(self, folder)

    def to_markdown(self) -> str:
        """Summary, and every record, as Markdown with mathematics between dollars."""
        return ledger_report.ledger_markdown(self)

    def to_latex(self, *, siunitx: bool = False) -> str:
        """The table of records as LaTeX (array, booktabs, longtable, amsmath, amssymb)."""
        return ledger_report.ledger_latex(self)

    def to_html(self) -> str:
        """The tables as an HTML fragment, with every record folded away below them."""
        return ledger_report.ledger_html(self)

    def plot(self, ax: Axes | None = None, *, size: Size = None) -> Axes:
        """Lines and lemmas by verdict, with arrows to what they rest on.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Default: a new figure of 14 by 9 inches.
        size : str or (float, float), optional
            ``"column"`` or ``"text"`` of a paper, or width and height in inches.

        Raises
        ------
        InvalidInput
            For a size that is none, or that has no room for so many lines.
        """
        return plot_ledger(self, ax, size)


#: Colour (Okabe-Ito), shape and letter of each verdict.
SIGNS = {
    "proved": ("#009E73", "o", "P"),
    "refuted": ("#D55E00", "X", "R"),
    "tested": ("#56B4E9", "s", "T"),
    "undecided": ("#F0E442", "D", "U"),
}

#: Inches of the picture.
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


def plot_ledger(ledger: Ledger, ax: Axes | None = None, size: Size = None) -> Axes:
    """Lines by verdict, and what they rest on; as many rows in a column as fit into a `size`."""
    width, height = inches(size, SIZE)
    rows = _ROWS if size is None else int((height - _LEGEND) / _ROW)
    if size is not None and len(_columns(of_paper(ledger), rows)) > width / _COLUMN:
        wanted = f"has no room for {len(ledger)} lines: audit fewer items, or leave size out"
        raise InvalidInput("size", size, wanted)
    across = 0 if size is None else int(width / _COLUMN)
    return drawn(lambda ax: _draw(ledger, ax, rows, across), ax, size, SIZE)


def _short(record: Record) -> str:
    """A label of a few characters: the heading already says which lemma it is."""
    text = re.sub(r" \((?:Lemma|Sec\.?) [^)]*\)$", "", record.id)
    text = re.sub(r"^(?:Lemma|Theorem) \S+ (\[.*\])$", r"\1", text)
    for word, short in _SHORTER.items():
        text = text.replace(word, short)
    text = re.sub(r" \((?:its )?(\w{1,4}).*?\)$", r" \1", text)
    return re.sub(r"_(\w+)\^\((\w)\)", r"_\1(\2)", text)


def _columns(ledger: Ledger, rows: int) -> list[list[tuple[str, list[Record]]]]:
    """Parts packed into columns; a part longer than a column goes on in the next one."""
    columns: list[list[tuple[str, list[Record]]]] = []
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


def of_paper(ledger: Ledger) -> Ledger:
    """The lines to draw: those of the paper, or all where there are none of it."""
    paper = [record for record in ledger if record.edition != "repaired"]
    return Ledger(paper or list(ledger))


def _draw(ledger: Ledger, ax: Axes, rows: int = _ROWS, least: int = 1) -> None:
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


def _draw_line(record: Record, across: float, up: float, ax: Axes) -> None:
    color, marker, letter = SIGNS[str(record.verdict)]
    size = 9.5 if marker == "D" else 12
    ax.plot([across], [up], marker, color=color, markersize=size, zorder=4, **_EDGE)
    ax.text(across, up, letter, ha="center", va="center_baseline", **_LETTER)
    ax.text(across + 0.13, up, _plain(_short(record)), **_LABEL)


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


def _draw_legend(ledger: Ledger, ax: Axes) -> None:
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


def save_ledger_picture(ledger: Ledger, path: str | Path) -> None:
    """Write the picture to a .png, .pdf or .svg; raises InvalidInput for any other path."""

    def figure() -> Figure:
        made = new_figure(*SIZE)
        _draw(ledger, made.add_subplot())
        return made

    save_figure(figure, path, "graph")
