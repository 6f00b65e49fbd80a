"""One table, drawn once: text, Markdown, LaTeX and HTML from the same cells."""

from __future__ import annotations

import html
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass

_LATEX_SIGNS = {
    "\\": r"\textbackslash{}",
    "_": r"\_",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "$": r"\$",
    "{": r"\{",
    "}": r"\}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"$<$",
    ">": r"$>$",
}

#: Colours of verdicts on a terminal; words carry the meaning without them.
STYLES = {"holds": "green", "fails": "red", "undecided": "yellow"}


@dataclass(frozen=True)
class Grid:
    """Cells of text with a head, lines above and lines below.

    Parameters
    ----------
    title : str
    columns : sequence of str
        Head of each column; a leading ``>`` aligns the column to the right.
    rows : sequence of sequences of str
    above, below : sequence of str
        Lines printed before and after the table.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    above: Sequence[str] = ()
    below: Sequence[str] = ()

    @property
    def _heads(self) -> list[tuple[str, bool]]:
        return [(head.lstrip(">"), head.startswith(">")) for head in self.columns]

    def to_text(self, *, width: int | None = None, color: bool = False) -> str:
        """The table for a terminal.

        Parameters
        ----------
        width : int, optional
            Characters per line; 100 by default.
        color : bool
            Colour verdicts with terminal codes.
        """
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
        for head, right in self._heads:
            table.add_column(Text(head), justify="right" if right else "left", overflow="fold")
        for row in self.rows:
            table.add_row(*(Text(cell, style=STYLES.get(cell, "")) for cell in row))
        buffer = io.StringIO()
        console = Console(
            file=buffer,
            width=width or 100,
            force_terminal=color,
            color_system="standard" if color else None,
            legacy_windows=False,
        )
        for line in (self.title, *self.above):
            if line:
                console.print(Text(line, style="bold" if line == self.title else ""))
        if self.rows:
            console.print(table)
        for line in self.below:
            console.print(Text(line))
        return "\n".join(line.rstrip() for line in buffer.getvalue().rstrip().splitlines())

    def to_dict(self) -> dict[str, object]:
        """Title, head, cells and lines as plain values."""
        return {
            "title": self.title,
            "columns": [head for head, _ in self._heads],
            "rows": [list(row) for row in self.rows],
            "lines": [line for line in (*self.above, *self.below) if line],
        }

    def to_markdown(self) -> str:
        """The table as GitHub Markdown."""

        def line(cells: Sequence[str]) -> str:
            return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"

        heads = self._heads
        parts = [f"**{self.title}**", ""] if self.title else []
        parts += [f"{text}  " for text in self.above] + ([""] if self.above else [])
        parts += [line([head for head, _ in heads])]
        parts += [line(["---:" if right else "---" for _, right in heads])]
        parts += [line(row) for row in self.rows]
        parts += [""] + [f"{text}  " for text in self.below] if self.below else []
        return "\n".join(parts)

    def to_latex(self) -> str:
        """The table as LaTeX; needs the booktabs package."""
        heads = self._heads
        layout = "".join("r" if right else "l" for _, right in heads)

        def line(cells: Sequence[str]) -> str:
            return " & ".join(map(latex_text, cells)) + r" \\"

        return "\n".join(
            [
                r"\begin{tabular}{" + layout + "}",
                r"\toprule",
                line([head for head, _ in heads]),
                r"\midrule",
                *(line(row) for row in self.rows),
                r"\bottomrule",
                r"\end{tabular}",
            ]
        )

    def to_html(self) -> str:
        """The table as an HTML fragment."""
        heads = self._heads

        def cell(tag: str, text: str, right: bool) -> str:
            style = ' style="text-align:right"' if right else ' style="text-align:left"'
            return f"<{tag}{style}>{html.escape(text)}</{tag}>"

        head = "".join(cell("th", text, right) for text, right in heads)
        body = "".join(
            "<tr>"
            + "".join(cell("td", text, right) for text, (_, right) in zip(row, heads, strict=True))
            + "</tr>"
            for row in self.rows
        )
        before = "".join(
            f"<p>{html.escape(text)}</p>" for text in (self.title, *self.above) if text
        )
        after = "".join(f"<p>{html.escape(text)}</p>" for text in self.below)
        return (
            f"<div>{before}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            f"{after}</div>"
        )


def latex_text(text: str) -> str:
    """`text` with the signs that LaTeX reads as commands escaped."""
    return "".join(_LATEX_SIGNS.get(sign, sign) for sign in text)


def steps_text(value: float, digits: int = 1) -> str:
    """A number of steps for a table: ``never``, ``-`` where nothing is claimed, or the number.

    Parameters
    ----------
    value : float
    digits : int
        Decimals.
    """
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "never"
    return f"{value:.{digits}f}" if abs(value) < 1e7 else f"{value:.5g}"


def percent_text(value: float) -> str:
    """A relative error as a signed percentage."""
    return "-" if not math.isfinite(value) else f"{100 * value:+.2g}%" if value else "0%"
