"""A table with the lines around it, and the mixin by which results are drawn from theirs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from swingby.report import markup
from swingby.report.text import line_width, painted, refilled, table_text

if TYPE_CHECKING:
    import pandas as pd


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
        """Which columns are aligned to the right."""
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
        parts = [painted(refilled(self.title, width), "bold", color=color)][: bool(self.title)]
        parts += [refilled(line, width) for line in self.above]
        if self.rows:
            minor = [self.heads.index(name) for name in self.minor if name in self.heads]
            cells = self.heads, self.rows, self.right
            parts += table_text(*cells, width, minor, color=color)
        parts += [refilled(line, width) for line in self.below]
        return "\n".join(parts).rstrip()

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
        parts = [f"**{markup.markdown_text(self.title)}**"] if self.title else []
        parts.append(markup.markdown_lines(self.above))
        parts.append(markup.markdown_table(self.heads, self.rows, self.right))
        parts.append(markup.markdown_lines(self.below))
        return "\n\n".join(part for part in parts if part)

    def to_latex(self, *, siunitx: bool = False) -> str:
        r"""The table as LaTeX; needs the booktabs package.

        Parameters
        ----------
        siunitx : bool
            Set columns of numbers in ``S`` columns of the siunitx package.
        """
        return markup.latex_table(self.heads, self.rows, self.right, siunitx=siunitx)

    def to_html(self) -> str:
        """The table as an HTML fragment."""
        above = markup.html_lines((self.title, *self.above))
        table = markup.html_table(self.heads, self.rows, self.right)
        return f"<div>{above}{table}{markup.html_lines(self.below)}</div>"


class Shown:
    """A result with a ``to_text`` and a ``to_html``, printed as these say."""

    def __str__(self) -> str:
        text: str = self.to_text()  # type: ignore[attr-defined]
        return text

    def _repr_html_(self) -> str:
        html: str = self.to_html()  # type: ignore[attr-defined]
        return html


class Drawn(Shown):
    """A result that says what its tables are, and is shown in every format from them.

    A class gives :meth:`to_grid`, or :meth:`to_grids` where there are several tables.
    """

    def to_grid(self) -> Grid:
        """The result as a table."""
        raise NotImplementedError

    def to_grids(self) -> Sequence[Grid]:
        """All tables of the result."""
        return (self.to_grid(),)

    def to_text(self, *, width: int | None = None, color: bool = False) -> str:
        """Plain text; `width` and `color` as in :meth:`Grid.to_text`."""
        return "\n\n".join(grid.to_text(width=width, color=color) for grid in self.to_grids())

    def to_markdown(self) -> str:
        """GitHub Markdown."""
        return "\n\n".join(grid.to_markdown() for grid in self.to_grids())

    def to_latex(self, *, siunitx: bool = False) -> str:
        """LaTeX (booktabs; numbers in columns of siunitx if asked for)."""
        return "\n\n".join(grid.to_latex(siunitx=siunitx) for grid in self.to_grids())

    def to_html(self) -> str:
        """An HTML fragment."""
        return "\n".join(grid.to_html() for grid in self.to_grids())


class Framed(Drawn):
    """A result of many records, which is also a table of pandas. A class gives :meth:`records`."""

    def records(self) -> Iterable[Mapping[str, Any]]:
        """What the rows of :meth:`to_frame` say, by column."""
        raise NotImplementedError

    def to_frame(self) -> pd.DataFrame:
        """A table of pandas, with a row for each of :meth:`records`."""
        import pandas as pd

        return pd.DataFrame(list(self.records()))
