"""The ledger that an audit returns: the records in the order of the text, in every format.

Its picture has one sign per line, in columns by section and lemma. Colour, shape and letter all
carry the verdict. An arrow leads from a line to one that uses it; it is thick and red where the
line used is refuted.
"""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, overload

from swingby.proofs.audit.record import (
    AUDITED,
    Record,
    Standing,
    header,
    record_markdown,
    standings,
    title,
)
from swingby.proofs.language.claim import SEVERITIES
from swingby.proofs.language.claim_text import source_text, statement_line
from swingby.proofs.language.claims import find
from swingby.proofs.prover.evidence import TAUTOLOGY
from swingby.report import Drawn, Grid
from swingby.report.files import plain_values, write_text
from swingby.report.markup import html_cell, latex_text, markdown_table, markdown_text
from swingby.report.number_text import counted
from swingby.report.pictures import Size, drawn, legend_above, new_figure, save_figure
from swingby.theory.verdict import Finding

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = (
    *("id", "part", "kind", "about", "verdict", "method", "witness", "breaks", "severity"),
    *("repair", "rests_on", "rests_on_refuted", "reference", "seconds"),
)


class Ledger(Sequence[Record], Drawn):
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

    def __init__(self, records: Sequence[Record], promised: Sequence[str] = ()) -> None:
        self._records = tuple(records)
        self.promised = tuple(promised)

    @overload
    def __getitem__(self, place: int | str) -> Record: ...
    @overload
    def __getitem__(self, place: slice) -> Self: ...
    def __getitem__(self, place: int | str | slice) -> Record | Self:
        if isinstance(place, slice):
            return type(self)(self._records[place], self.promised)
        if isinstance(place, int):
            return self._records[place]
        names = [record.id for record in self._records]
        return self._records[names.index(find(place, names))]

    def __iter__(self) -> Iterator[Record]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ledger) and self._records == other._records

    def __hash__(self) -> int:
        return hash(tuple(record.id for record in self._records))

    @property
    def audited(self) -> str:
        """The text that the records are about."""
        return self._records[0].audited if self._records else AUDITED

    def counts(self) -> dict[str, int]:
        """How many records are proved, refuted, tested and undecided, also where none is."""
        found = [record.verdict for record in self]
        return {str(one): found.count(one) for one in Finding}

    def standing(self, *, corrected: bool = False) -> tuple[Standing, ...]:
        """Which lines stand, once all that they rest on is followed to its end.

        Parameters
        ----------
        corrected : bool
            Every refuted line reads as its repair says.

        Returns
        -------
        tuple of Standing
            In the order of the ledger. A cited line that the ledger does not hold is a promise.

        Examples
        --------
        >>> import swingby
        >>> ledger = swingby.audit(["D.61", "D.64"], cache=False, progress=False)
        >>> [(line.id, line.state) for line in ledger.standing()]
        [('D.61', 'falls'), ('D.64', 'stands')]
        """
        return standings(self, self.promised, corrected=corrected)

    def __repr__(self) -> str:
        shown = ", ".join(f"{number} {name}" for name, number in self.counts().items() if number)
        return f"<Ledger: {len(self)} lines; {shown or 'none'}>"

    def to_grids(self) -> Sequence[Grid]:
        """Counts by verdict; and one row per line, with the summary."""
        parts = _halves(self)
        tally = Grid(
            "Ledger of the proofs",
            ["verdict", *(f">lines {name}" for name, _ in parts)],
            [[name, *(str(part.counts()[name]) for _, part in parts)] for name in self.counts()],
            above=[header(self.audited), ""],
        )
        rows: list[list[str]] = []
        for part, group in _parts(self):
            rows += [[part], *(_cells(record) for record in group)] if part else map(_cells, group)
        return tally, Grid("", _HEADS, rows, below=["", *summary_lines(self)])

    def to_frame(self) -> Any:
        """One row of pandas per record, its columns :data:`COLUMNS`.

        ``repair`` is the verdict on the repaired line; ids and constants are joined by commas.
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
            return ", ".join(value) if isinstance(value, tuple) else plain_values(value)

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
        """The ledger as JSON, written to `path`, or returned as text without one.

        Raises InvalidInput if the path cannot be written.
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
        from swingby.proofs.audit.witness_files import export

        return export(self, folder)

    def to_markdown(self) -> str:
        """Summary, and every record, as Markdown with mathematics between dollars."""
        heads = ("# Ledger of the proofs", summary_markdown(self))
        return "\n\n".join([*heads, *map(record_markdown, self)])

    def to_latex(self, *, siunitx: bool = False) -> str:
        """The table of records as LaTeX (array, booktabs, longtable, amsmath, amssymb)."""
        ragged = r">{\raggedright\arraybackslash}p{%s\linewidth}"
        layout = (
            "@{}" + "".join(ragged % width for width in ("0.13", "0.08", "0.54", "0.16")) + "@{}"
        )
        heads = r"line & verdict & statement & what breaks; repair \\"
        rows = []
        for part, group in _parts(self):
            rows.append(rf"\multicolumn{{4}}{{@{{}}l}}{{\textbf{{{latex_text(part)}}}}} \\*")
            for record in group:
                statement = statement_line(record.statement, latex=True)
                broken = [f"{record.breaks} ({record.severity})"] if record.breaks else []
                broken += [f"repair {_repair_word(record)}"] if record.repair is not None else []
                cells = [
                    latex_text(source_text(record.id)),
                    str(record.verdict),
                    rf"{latex_text(record.about)}: $\displaystyle {statement}$",
                    latex_text("; ".join(broken)),
                ]
                rows.append(" & ".join(cells) + r" \\")
        return "\n".join(
            [
                "% needs array, booktabs, longtable, amsmath, amssymb",
                *map(latex_text, (header(self.audited), "", *summary_lines(self), "")),
                r"{\footnotesize\sloppy",
                rf"\begin{{longtable}}{{{layout}}}",
                rf"\toprule {heads} \midrule \endhead",
                r"\bottomrule \endfoot",
                *rows,
                r"\end{longtable}}",
            ]
        )

    def to_html(self) -> str:
        """The tables as an HTML fragment, with every record folded away below them."""
        tables = "".join(grid.to_html() for grid in self.to_grids())
        records = "".join(
            f"<details><summary>{html.escape(title(record))}: "
            f"{html_cell(str(record.verdict))}</summary>{record.to_html()}</details>"
            for record in self
        )
        return f"<div>{tables}{records}</div>"

    def plot(self, ax: Axes | None = None, *, size: Size = None) -> Axes:
        """Lines and lemmas by verdict, with arrows to what they rest on.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Default: a new figure of 14 by 9 inches.
        size : str or (float, float), optional
            ``"column"`` or ``"text"`` of a paper, or width and height in inches; for few lines.
        """
        return drawn(lambda ax: _draw(self, ax), ax, size, SIZE)


def summary_lines(ledger: Ledger) -> list[str]:
    """What the ledger says, in a few lines."""
    lines = []
    for of, part in _halves(ledger):
        # what says nothing is proved, and counts for nothing
        empty = sum(record.method == TAUTOLOGY for record in part)
        tally = part.counts() | {"tautological": empty}
        tally["proved"] -= empty
        shown = ", ".join(f"{number} {name}" for name, number in tally.items() if number)
        lines.append(f"{counted(len(part), 'line')} {of}: {shown}.")
    refuted = [record for record in ledger if record.verdict == Finding.REFUTED]
    if refuted:
        repairs = [one.repair for one in refuted if one.repair is not None]
        classes = _tally(SEVERITIES, [one.severity for one in refuted])
        verdicts = _tally(Finding, [one.verdict for one in repairs])
        tail = f"; repairs: {verdicts}" if repairs else "; none has a repair"
        lines.append(f"Refuted: {classes or 'not classed'}{tail}.")
    resting = sum(bool(record.rests_on_refuted) for record in ledger)
    if resting:
        lines.append(f"{counted(resting, 'line')} cite{'s' * (resting == 1)} a refuted one.")
    if {f"Assumption D.{number}" for number in range(1, 6)} <= {record.id for record in ledger}:
        from swingby.verify.check import editions_lines

        lines.extend(editions_lines())
    lines.append(
        "A verdict is about one line: it follows from its hypotheses, whether or not those hold."
    )
    return lines


def _halves(ledger: Ledger) -> list[tuple[str, Ledger]]:
    """The lines of the paper, and those of the repaired edition; only what is not empty."""
    own = [record for record in ledger if record.edition == "repaired"]
    paper = [record for record in ledger if record.edition != "repaired"]
    of = "of the paper" if ledger.audited == AUDITED else "of the proof"
    both = ((of, Ledger(paper)), ("of the repaired edition (ours)", Ledger(own)))
    return [(name, part) for name, part in both if len(part)]


def _tally(names: Iterable[str], found: list[str]) -> str:
    """How often each name occurs, where it does."""
    return ", ".join(f"{found.count(name)} {name}" for name in names if name in found)


def _repair_word(record: Record) -> str:
    """Verdict on the repaired line, or nothing."""
    return "" if record.repair is None else str(record.repair.verdict)


_HEADS = ["line", "verdict", "what it says", "what breaks", "repair"]


def _cells(record: Record) -> list[str]:
    breaks = f"{record.breaks} ({record.severity})" if record.breaks else ""
    return [record.id, str(record.verdict), record.about, breaks, _repair_word(record)]


def _parts(ledger: Ledger) -> list[tuple[str, list[Record]]]:
    """The records by part of the text."""
    return [(part, list(group)) for part, group in groupby(ledger, key=lambda one: one.part)]


def standing_text(ledger: Ledger, *, width: int | None = None, color: bool = False) -> str:
    """Which lines stand with all that they rest on, as printed and as corrected, and why not."""
    both = [ledger.standing(corrected=corrected) for corrected in (False, True)]
    rows = []
    for line, corrected in zip(*both, strict=True):
        because = dict.fromkeys([*line.because, *corrected.because])
        cells = (", ".join(names) for names in (because, corrected.assumes))
        rows.append([line.id, line.state, corrected.state, *cells])
    given = f"Taken for granted: {', '.join(ledger.promised) or 'nothing'}."
    tallies = []
    for word, lines in zip(("As printed", "As corrected"), both, strict=True):
        tally = Counter(line.state for line in lines)
        tallies.append(f"{word}: {', '.join(f'{n} {state}' for state, n in tally.items())}.")
    return Grid(
        "What stands with all that it rests on",
        ["line", "as printed", "as corrected", "because of", "in the end rests on"],
        rows,
        above=[header(ledger.audited), ""],
        below=["", given, *tallies],
    ).to_text(width=width, color=color)


def _counts_grid(ledger: Ledger) -> Grid:
    """How many lines have each verdict, by part of the text."""
    names = list(ledger.counts())
    rows = []
    for part, group in _parts(ledger):
        tally = Ledger(group).counts()
        rows.append([part, *(str(tally[name] or "") for name in names), str(len(group))])
    total = ledger.counts()
    rows.append(["all", *(str(total[name]) for name in names), str(len(ledger))])
    return Grid("", ["part", *(f">{name}" for name in names), ">lines"], rows)


def anchors(ids: Iterable[str]) -> dict[str, str]:
    """Anchors that GitHub and MyST give headings: the second of two equal ones ends in ``-1``."""
    used: Counter[str] = Counter()
    found = {}
    for name in ids:
        plain = re.sub(r"[^\w\-]", "", name.lower().replace(" ", "-"))
        found[name] = f"{plain}-{used[plain]}" if used[plain] else plain
        used[plain] += 1
    return found


def summary_markdown(ledger: Ledger) -> str:
    """Counts and one row per line, each with a link to its record."""
    targets = anchors(record.id for record in ledger)
    heads = [header(ledger.audited), *summary_lines(ledger)]
    parts = [*map(markdown_text, heads), _counts_grid(ledger).to_markdown()]
    for part, group in _parts(ledger):
        rows = []
        for record in group:
            first, verdict, *rest = map(markdown_text, _cells(record))
            verdict = f"**{verdict}**" if verdict == "refuted" else verdict
            rows.append([f"[{first}](#{targets[record.id]})", verdict, *rest])
        table = markdown_table(_HEADS, rows, [False] * len(_HEADS), raw=True)
        parts += [f"**{markdown_text(part)}**", table]
    return "\n\n".join(parts)


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
_ROWS, _HEAD = 19, 1.4
_RED = "#D55E00"

_HEADING: dict[str, Any] = {"va": "bottom", "fontsize": 9.5, "fontweight": "bold", "zorder": 6}
_LETTER: dict[str, Any] = {"fontsize": 6.5, "fontweight": "bold", "zorder": 5}
_BOX = {"facecolor": "white", "edgecolor": "none", "pad": 0.3, "alpha": 0.75}
_LABEL: dict[str, Any] = {"ha": "left", "va": "center", "fontsize": 8, "zorder": 6, "bbox": _BOX}
_EDGE: dict[str, Any] = {"edgecolors": "black", "linewidths": 0.6, "zorder": 4}
#: What a label shortens, and its characters.
_SHORTER = {"Assumption": "Ass.", "Definition": "Def.", "Corollary": "Cor.", "Theorem": "Thm."}
_SHORTER |= {"before ": "< ", "after ": "> "}
_LONGEST = 12


def _short(text: str) -> str:
    """A label of a few characters, which matplotlib does not read as mathematics."""
    for word, short in _SHORTER.items():
        text = text.replace(word, short)
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return text.replace("$", r"\$")


def _columns(ledger: Ledger) -> list[list[tuple[str, list[Record]]]]:
    """Parts packed into columns; a part longer than a column goes on in the next one."""
    columns: list[list[tuple[str, list[Record]]]] = []
    used: float = _ROWS
    for part in dict.fromkeys(record.part for record in ledger):
        members = [record for record in ledger if record.part == part]
        pieces = -(-len(members) // int(_ROWS - _HEAD))
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


def _draw(ledger: Ledger, ax: Axes) -> None:
    """The lines of the paper, or all where there are none of it."""
    paper = [record for record in ledger if record.edition != "repaired"]
    ledger = Ledger(paper or list(ledger))
    places: dict[str, tuple[float, float]] = {}
    columns = _columns(ledger)
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
    for verdict, number in ledger.counts().items():
        color, marker, letter = SIGNS[verdict]
        found = [one for one in ledger if one.verdict == verdict]
        spots = [places[one.id] for one in found]
        label = f"{letter}: {verdict} ({number})"
        if number:
            xs, ys = zip(*spots, strict=True)
            ax.scatter(xs, ys, 120, color, marker=marker, label=label, **_EDGE)
        for one, (x, y) in zip(found, spots, strict=True):
            ax.text(x, y, letter, ha="center", va="center_baseline", **_LETTER)
            ax.text(x + 0.13, y, _short(one.id), **_LABEL)
    ax.set_xlim(-0.32, len(columns) - 0.25)
    ax.set_ylim(-deepest, -_HEAD + 1.4)
    ax.set_axis_off()
    title = "Lines of the proofs and what they rest on (< before, > after a display). "
    ax.set_title(f"{title}Text audited: {ledger.audited}", loc="left")
    _draw_legend(ax)


def _draw_arrows(ledger: Ledger, places: dict[str, tuple[float, float]], ax: Axes) -> None:
    from matplotlib.patches import FancyArrowPatch

    uses = {
        (name, record.id): name in record.rests_on_refuted
        for record in ledger
        for name in record.rests_on
        if name in places
    }
    for (name, user), refuted in uses.items():
        start, end = places[name], places[user]
        # Assumptions feed almost every line; drawn as strongly as the rest they hide it.
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
    """What occurs, and how often."""
    handles = ax.get_legend_handles_labels()[0]
    if not legend_above(ax, 10.0, handles=handles, handletextpad=0.4):
        place: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0)}
        ax.legend(handles=handles, ncols=len(handles), fontsize=9, handletextpad=0.4, **place)


def save_picture(ledger: Ledger, path: str | Path) -> None:
    """Write the picture to a .png, .pdf or .svg; raises InvalidInput for any other path."""

    def figure() -> Figure:
        made = new_figure(*SIZE)
        _draw(ledger, made.add_subplot())
        return made

    save_figure(figure, path, "graph")
