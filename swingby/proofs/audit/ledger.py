"""The ledger that an audit returns: the records in the order of the text, in every format."""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, overload

from swingby.proofs.audit.ledger_picture import SIZE, draw
from swingby.proofs.audit.record import (
    AUDITED,
    Record,
    header,
    record_markdown,
    title,
)
from swingby.proofs.audit.standing import Standing, standings
from swingby.proofs.language.claim import SEVERITIES
from swingby.proofs.language.claim_text import source_text, statement_line
from swingby.proofs.language.claims import find
from swingby.proofs.prover.evidence import TAUTOLOGY
from swingby.report import Drawn, Grid
from swingby.report.files import plain_values, write_text
from swingby.report.latex import latex_text
from swingby.report.markup import html_cell, markdown_table, markdown_text
from swingby.report.number_text import counted
from swingby.report.paper_sizes import Width
from swingby.report.pictures import Size, drawn
from swingby.theory.verdict import Finding

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
        Ids of lines that are assumed; see :meth:`standing`.

    Examples
    --------
    >>> import swingby
    >>> ledger = swingby.audit("D.60", cache=False, progress=False)
    >>> ledger["D.60"].verdict.value
    'proved'
    """

    _has_ids = True

    def __init__(self, records: Sequence[Record], promised: Sequence[str] = ()) -> None:
        self._records = tuple(records)
        self.promised = tuple(promised)

    @overload
    def __getitem__(self, key: int | str) -> Record: ...
    @overload
    def __getitem__(self, key: slice) -> Self: ...
    def __getitem__(self, key: int | str | slice) -> Record | Self:
        if isinstance(key, slice):
            return type(self)(self._records[key], self.promised)
        if isinstance(key, int):
            return self._records[key]
        names = [record.id for record in self._records]
        return self._records[names.index(find(key, names))]

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
        """The numbers of records of each verdict, zeros included; what z3 alone proves is apart."""
        verdicts = [record.verdict for record in self]
        return {str(verdict): verdicts.count(verdict) for verdict in Finding}

    def standing(self, *, corrected: bool = False) -> tuple[Standing, ...]:
        """The standing of every line, from the standing of all lines that it rests on.

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
        tally = ", ".join(f"{number} {name}" for name, number in self.counts().items() if number)
        return f"<Ledger: {len(self)} lines; {tally or 'none'}>"

    def to_grids(self) -> Sequence[Grid]:
        """Counts by verdict; and a row for each line, with the summary."""
        halves = _by_edition(self)
        tally = Grid(
            "Ledger of the proofs",
            ["verdict", *(f">lines {name}" for name, _ in halves)],
            [[name, *(str(half.counts()[name]) for _, half in halves)] for name in self.counts()],
            above=[header(self.audited), ""],
        )
        rows: list[list[str]] = []
        for section, group in _by_section(self):
            rows += (
                [[section], *(_cells(record) for record in group)]
                if section
                else map(_cells, group)
            )
        return tally, Grid("", _HEADS, rows, below=["", *summary_lines(self)])

    def to_frame(self) -> Any:
        """A data frame with a row per record, its columns :data:`COLUMNS`.

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
        """The ledger as JSON, written to `path`, or returned as text where `path` is None.

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

        return export(Ledger([_by_example(record) for record in self]), folder)

    def to_markdown(self) -> str:
        """Summary, and every record, as Markdown with mathematics between dollars."""
        heads = ("# Ledger of the proofs", summary_markdown(self))
        return "\n\n".join([*heads, *map(record_markdown, self)])

    def to_latex(
        self,
        *,
        columns: Sequence[str] | None = None,
        rows: Sequence[str] | None = None,
        width: Width | None = None,
        siunitx: bool = False,
    ) -> str:
        """The table of records as LaTeX (array, booktabs, longtable, amsmath, amssymb).

        With columns, rows or a width the tables that are printed, as those of other results.
        """
        if columns is not None or rows is not None or width is not None:
            return super().to_latex(columns=columns, rows=rows, width=width, siunitx=siunitx)
        ragged = r">{\raggedright\arraybackslash}p{%s\linewidth}"
        layout = (
            "@{}" + "".join(ragged % width for width in ("0.13", "0.08", "0.54", "0.16")) + "@{}"
        )
        heads = r"line & verdict & statement & what breaks; repair \\"
        rows = []
        for section, group in _by_section(self):
            rows.append(rf"\multicolumn{{4}}{{@{{}}l}}{{\textbf{{{latex_text(section)}}}}} \\*")
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
        size : {"column", "text"}, width, or (width, height), optional
            Of a figure for a paper, in inches or as ``"240pt"``; for few lines.
        """
        return drawn(lambda ax: draw(self, ax), ax, size, SIZE)


def _by_example(record: Record) -> Record:
    """A record of what can be met as one of a proof: the file of it holds the example."""
    repair = None if record.repair is None else _by_example(record.repair)
    verdict = Finding.PROVED if record.verdict == Finding.MET else record.verdict
    return replace(record, verdict=verdict, repair=repair)


def summary_lines(ledger: Ledger) -> list[str]:
    """The verdicts of a ledger, in a few lines."""
    lines = []
    for of, half in _by_edition(ledger):
        # a tautology is proved, and counts for nothing
        empty = sum(record.method == TAUTOLOGY for record in half)
        tally = half.counts() | {"tautological": empty}
        tally["proved"] -= empty
        words = ", ".join(f"{number} {name}" for name, number in tally.items() if number)
        lines.append(f"{counted(len(half), 'line')} {of}: {words}.")
    refuted = [record for record in ledger if record.verdict == Finding.REFUTED]
    if refuted:
        repairs = [repaired.repair for repaired in refuted if repaired.repair is not None]
        classes = _tally(SEVERITIES, [refutation.severity for refutation in refuted])
        verdicts = _tally(Finding, [repair.verdict for repair in repairs])
        tail = f"; repairs: {verdicts}" if repairs else "; none has a repair"
        lines.append(f"Refuted: {classes or 'not classed'}{tail}.")
    unmatched = sum(any(each.open for each in record.quotations) for record in ledger)
    if unmatched:
        lines.append(
            f"{counted(unmatched, 'line')} quote{'s' * (unmatched == 1)} what the quoted line does "
            "not say, as far as is checked."
        )
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


def _by_edition(ledger: Ledger) -> list[tuple[str, Ledger]]:
    """The lines of the paper and those of the repaired edition, without an empty group."""
    ours = [record for record in ledger if record.edition == "repaired"]
    paper = [record for record in ledger if record.edition != "repaired"]
    origin = "of the paper" if ledger.audited == AUDITED else "of the proof"
    both = ((origin, Ledger(paper)), ("of the repaired edition (ours)", Ledger(ours)))
    return [(name, half) for name, half in both if len(half)]


def _tally(names: Iterable[str], words: list[str]) -> str:
    """The number of times that each name occurs, if it does."""
    return ", ".join(f"{words.count(name)} {name}" for name in names if name in words)


def _repair_word(record: Record) -> str:
    """Verdict on the repaired line, or nothing."""
    return "" if record.repair is None else str(record.repair.verdict)


_HEADS = ["line", "verdict", "what it says", "what breaks", "repair"]


def _cells(record: Record) -> list[str]:
    breaks = f"{record.breaks} ({record.severity})" if record.breaks else ""
    return [record.id, str(record.verdict), record.about, breaks, _repair_word(record)]


def _by_section(ledger: Ledger) -> list[tuple[str, list[Record]]]:
    """The records by part of the text."""
    return [
        (section, list(group)) for section, group in groupby(ledger, key=lambda record: record.part)
    ]


def standing_text(ledger: Ledger, *, width: int | None = None, color: bool = False) -> str:
    """The standing of every line as printed and as corrected, with its reasons, as a table."""
    both = [ledger.standing(corrected=corrected) for corrected in (False, True)]
    rows = []
    for line, corrected in zip(*both, strict=True):
        because = dict.fromkeys([*line.because, *corrected.because])
        cells = (", ".join(names) for names in (because, corrected.assumes))
        rows.append([line.id, line.state, corrected.state, *cells])
    granted = f"Taken for granted: {', '.join(ledger.promised) or 'nothing'}."
    tallies = []
    for word, lines in zip(("As printed", "As corrected"), both, strict=True):
        tally = Counter(line.state for line in lines)
        tallies.append(f"{word}: {', '.join(f'{n} {state}' for state, n in tally.items())}.")
    return Grid(
        "What stands with all that it rests on",
        ["line", "as printed", "as corrected", "because of", "in the end rests on"],
        rows,
        above=[header(ledger.audited), ""],
        below=["", granted, *tallies],
    ).to_text(width=width, color=color)


def _counts_grid(ledger: Ledger) -> Grid:
    """How many lines have each verdict, by part of the text."""
    names = list(ledger.counts())
    rows = []
    for section, group in _by_section(ledger):
        tally = Ledger(group).counts()
        rows.append([section, *(str(tally[name] or "") for name in names), str(len(group))])
    total = ledger.counts()
    rows.append(["all", *(str(total[name]) for name in names), str(len(ledger))])
    return Grid("", ["part", *(f">{name}" for name in names), ">lines"], rows)


def anchors(ids: Iterable[str]) -> dict[str, str]:
    """Anchors of headings in GitHub and MyST: the second of two equal anchors ends in ``-1``."""
    used: Counter[str] = Counter()
    by_name = {}
    for name in ids:
        anchor = re.sub(r"[^\w\-]", "", name.lower().replace(" ", "-"))
        by_name[name] = f"{anchor}-{used[anchor]}" if used[anchor] else anchor
        used[anchor] += 1
    return by_name


def summary_markdown(ledger: Ledger) -> str:
    """Counts and a table row for each line, with a link to its record."""
    targets = anchors(record.id for record in ledger)
    heads = [header(ledger.audited), *summary_lines(ledger)]
    blocks = [*map(markdown_text, heads), _counts_grid(ledger).to_markdown()]
    for section, group in _by_section(ledger):
        rows = []
        for record in group:
            first, verdict, *rest = map(markdown_text, _cells(record))
            verdict = f"**{verdict}**" if verdict == "refuted" else verdict
            rows.append([f"[{first}](#{targets[record.id]})", verdict, *rest])
        table = markdown_table(_HEADS, rows, [False] * len(_HEADS), raw=True)
        blocks += [f"**{markdown_text(section)}**", table]
    return "\n\n".join(blocks)
