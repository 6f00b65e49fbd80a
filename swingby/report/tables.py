"""Tables of text, laid out to a width, and as Markdown, LaTeX and HTML.

Words are always whole; columns or records give way instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from swingby.report import markup
from swingby.report.latex import LatexTable
from swingby.report.lines import USUAL, line_width, painted, refilled, wrapped
from swingby.report.markup import STYLES
from swingby.report.paper_sizes import Width

#: What is tried to fit a table: gap between columns, width below which no cell is wrapped, and
#: lines that a record may have then.
_PASSES = ((3, 20, 99), (2, 14, 6))
#: A last column of prose that has less room than this is written below its row.
_PROSE = 40


def _table_text(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[bool],
    width: int | None,
    minor: Sequence[int] = (),
    *,
    color: bool = False,
) -> list[str]:
    """A table as lines no wider than `width`, or as wide as it needs for None.

    Prose is wrapped between words; a last column of it goes below its row rather than into little
    room. Where that is not enough, columns named by `minor` are left out, first to last, and in the
    end every record becomes a few lines of its own.
    """
    remaining = list(range(len(heads)))
    notes = None if len(heads) - 1 in minor else _prose_below(heads, rows, right, width or USUAL)
    if notes is not None:
        remaining.pop()
    for dropped in (None, *minor):
        if dropped is not None:
            remaining.remove(dropped)
        for gap, shortest, tallest in _PASSES:
            full_rows = [row for row in rows if len(row) == len(heads)]
            columns = [[heads[k], *(row[k] for row in full_rows)] for k in remaining]
            widths = _widths(columns, width, gap, shortest)
            body = widths and _wrapped_rows([heads, *rows], remaining, widths)
            if not body or any(len(cell) > tallest for row in body for cell in row):
                continue
            lines = _drawn(body, [right[k] for k in remaining], gap, notes or (), color=color)
            if dropped is not None:
                gone = ", ".join(heads[k] for k in minor if k not in remaining)
                note = f"Left out for want of width: {gone}. JSON, files and pipes have all."
                lines += wrapped(note, width or USUAL, hang="")
            return lines
    return _stacked(heads, rows, width or USUAL, color=color)


def _prose_below(
    heads: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool], room: int
) -> list[list[str]] | None:
    """Lines below the head and each row, if the last column is prose with little room."""
    columns = list(zip(heads, *(row for row in rows if len(row) == len(heads)), strict=True))
    *others, longest = [max(map(len, column)) for column in columns]
    gap = _PASSES[0][0]
    if len(others) < 2 or right[-1] or longest <= _PROSE:
        return None
    indent = " " * (min(others[0], 9) + gap)
    longest_word = max(len(word) for cell in columns[-1] for word in cell.split())
    room_of_prose = room - sum(others) - gap * len(others)
    if room_of_prose >= _PROSE or len(indent) + longest_word > room:
        return None
    return [
        wrapped(row[-1], room, indent, "") if len(row) == len(heads) and row[-1] else []
        for row in (heads, *rows)
    ]


def _widths(
    columns: Sequence[Sequence[str]], room: int | None, gap: int, short: int
) -> list[int] | None:
    """Width of each column, or None where they have no room: the widest gives way first."""
    widths, minimal = [], []
    for column in columns:
        body = max(map(len, column[1:]), default=0)
        longest_word = max(len(word) for cell in ("-", *column) for word in cell.split())
        widths.append(max(body, len(column[0])))
        minimal.append(max(longest_word, min(body, short)))
    gaps = gap * (len(widths) - 1)
    available = max(USUAL, sum(minimal) + gaps) - gaps if room is None else room - gaps
    if sum(minimal) > available:
        return None
    while sum(widths) > available:
        wider = [k for k in range(len(widths)) if widths[k] > minimal[k]]
        widths[max(wider, key=widths.__getitem__)] -= 1
    return widths


def _wrapped_rows(
    rows: Sequence[Sequence[str]], remaining: Sequence[int], widths: Sequence[int]
) -> list[list[list[str]]]:
    """Lines of every cell; a heading over rows stays one cell."""
    return [
        [wrapped(row[k], size, hang="") for k, size in zip(remaining, widths, strict=True)]
        if len(row) == len(rows[0])
        else [[row[0]]]
        for row in rows
    ]


def _drawn(
    rows: Sequence[list[list[str]]],
    right: Sequence[bool],
    gap: int,
    notes: Sequence[list[str]],
    *,
    color: bool,
) -> list[str]:
    """Lines of a table; `notes` are lines below each of its rows."""
    # What was wrapped is often narrower than it might be.
    full_rows = [row for row in rows if len(row) == len(right)]
    sizes = [max(len(line) for row in full_rows for line in row[k]) for k in range(len(right))]
    output: list[str] = []
    for index, row in enumerate(rows):
        if len(row) < len(right):
            output += [*[""][: index > 1], painted(row[0][0], "bold", color=color)]
            continue
        for number in range(max(map(len, row))):
            cells = []
            for lines, size, side in zip(row, sizes, right, strict=True):
                text = lines[number] if number < len(lines) else ""
                colored = painted(text, STYLES.get(text), color=color and index > 0)
                pad = " " * (size - len(text))
                cells.append(pad + colored if side else colored + pad)
            output.append((" " * gap).join(cells).rstrip())
        output += notes[index] if notes else []
        if not index:
            longest = max((len(line) for lines in notes for line in lines), default=0)
            output.append("─" * max(sum(sizes) + gap * (len(sizes) - 1), longest))
    return output


def _stacked(
    heads: Sequence[str], rows: Sequence[Sequence[str]], width: int, *, color: bool
) -> list[str]:
    """Every record as its first column, and a line for each further column below it."""
    indent = max(map(len, heads[1:]), default=0) + 4
    output: list[str] = []
    for row in rows:
        first = row[0] if len(row) == 1 else f"{heads[0]} {row[0] or '-'}".strip()
        output += [painted(line, "bold", color=color) for line in wrapped(first, width)]
        for head, cell in zip(heads[1:], row[1:], strict=False):
            if not cell:
                continue
            lines = wrapped(cell, width - indent, hang="")
            if max(map(len, lines)) > width - indent:  # a word that needs the whole line
                output += [f"  {head}", *wrapped(cell, width, "    ", "")]
                continue
            colored = [painted(line, STYLES.get(line), color=color) for line in lines]
            output += [
                f"  {head:<{indent - 2}}{colored[0]}",
                *(" " * indent + line for line in colored[1:]),
            ]
    return output


@dataclass(frozen=True)
class Grid:
    """Cells of text with a head, lines above and lines below.

    Parameters
    ----------
    title : str
    columns : sequence of str
        Head of each column; a leading ``>`` aligns the column to the right.
    rows : sequence of sequences of str
        A row of one cell is the heading of those below it.
    above, below : sequence of str
        Lines printed before and after the table.
    minor : sequence of str
        Heads of columns that a narrow terminal may go without, the first to go first.

    Examples
    --------
    >>> print(Grid("Stages", ["entry", ">step"], [["w_11", "58"], ["w_22", "179"]]).to_text())
    Stages
    entry   step
    ────────────
    w_11      58
    w_22     179
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    above: Sequence[str] = ()
    below: Sequence[str] = ()
    minor: Sequence[str] = ()

    @property
    def heads(self) -> list[str]:
        """The heads without the sign of their alignment."""
        return [head.removeprefix(">") for head in self.columns]

    @property
    def right(self) -> list[bool]:
        """For each column, whether it is aligned to the right."""
        return [head.startswith(">") for head in self.columns]

    def to_text(self, *, width: int | None = None, color: bool = False) -> str:
        """The table as plain text; words are never broken.

        Parameters
        ----------
        width : int, optional
            Characters per line. Default: $COLUMNS, or the terminal's width up to 140. Where
            neither is there (pipes, files, notebooks), 100 for prose, and as many as the table
            needs.
        color : bool
            Colour verdicts with terminal codes.
        """
        width = width or line_width()
        blocks = [painted(refilled(self.title, width), "bold", color=color)][: bool(self.title)]
        blocks += [refilled(line, width) for line in self.above]
        if self.rows:
            minor = [self.heads.index(name) for name in self.minor if name in self.heads]
            cells = self.heads, self.rows, self.right
            blocks += _table_text(*cells, width, minor, color=color)
        blocks += [refilled(line, width) for line in self.below]
        return "\n".join(blocks).rstrip()

    def to_dict(self) -> dict[str, object]:
        """Title, head, cells and lines as plain values."""
        return {
            "title": self.title,
            "columns": self.heads,
            "rows": [list(row) for row in self.rows],
            "lines": [line for line in (*self.above, *self.below) if line],
        }

    def to_markdown(self) -> str:
        """The table as GitHub Markdown."""
        blocks = [f"**{markup.markdown_text(self.title)}**"] if self.title else []
        blocks.append(markup.markdown_lines(self.above))
        if self.heads:
            blocks.append(markup.markdown_table(self.heads, self.rows, self.right))
        blocks.append(markup.markdown_lines(self.below))
        return "\n\n".join(block for block in blocks if block)

    def selected(
        self, columns: Sequence[str] | None = None, rows: Sequence[str] | None = None
    ) -> Grid:
        """The table with some columns, in the order given, and some rows.

        `columns`: heads. `rows`: what stands in a cell of the row, such as ``"w_11"`` or
        ``"half"``. A heading goes with the last of its rows. Names that occur in no cell are
        refused by whoever asks, because another table of the result may have them.
        """
        heads = self.heads
        names = heads if columns is None else [name for name in columns if name in heads]
        positions = [heads.index(name) for name in names]
        chosen: list[Sequence[str]] = []
        for row in self.rows:
            if len(row) == 1 < len(self.heads):
                chosen[-1:] = [*(last for last in chosen[-1:] if len(last) > 1), row]
            elif rows is None or not set(rows).isdisjoint(row):
                chosen.append(row)
        while chosen and len(chosen[-1]) == 1 < len(self.heads):
            chosen.pop()
        cells = [row if len(row) == 1 else [row[k] for k in positions] for row in chosen]
        return replace(self, columns=[self.columns[k] for k in positions], rows=cells)

    def to_latex(self, *, width: Width | None = None, siunitx: bool = False) -> str:
        r"""The table as LaTeX; needs the booktabs package, and array where it has a width.

        Parameters
        ----------
        width : {"column", "text"} or float or str, optional
            Fit this width in 9 point type: of a column (3.25 inches) or the text (6.75 inches) of a
            paper, in inches, or with a unit, as in ``"240pt"`` or ``"83mm"``. Default: as wide as
            the cells.
        siunitx : bool
            Set columns of numbers in ``S`` columns of the siunitx package.
        """
        minor = [self.heads.index(name) for name in self.minor if name in self.heads]
        table = LatexTable(self.heads, self.rows, self.right, minor, siunitx)
        return table.tabular() if width is None else table.fitted(width)

    def to_html(self) -> str:
        """The table as an HTML fragment."""
        above = markup.html_lines((self.title, *self.above))
        table = markup.html_table(self.heads, self.rows, self.right)
        return f"<div>{above}{table}{markup.html_lines(self.below)}</div>"
