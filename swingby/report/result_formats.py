"""Mixins of results: every format and a frame of pandas from their tables, arrays read-only."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
from swingby.errors import InvalidInput, named
from swingby.hints import Hinted
from swingby.report.paper_sizes import Width
from swingby.report.tables import Grid


class Shown(Hinted):
    """A result that is printed by its ``to_text``, and in notebooks by its ``to_html``."""

    def __str__(self) -> str:
        text: str = self.to_text()  # type: ignore[attr-defined]
        return text

    def _repr_html_(self) -> str:
        html: str = self.to_html()  # type: ignore[attr-defined]
        return html


class Drawn(Shown):
    """A result that gives its tables, and is shown in every format from them.

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

    def to_latex(
        self,
        *,
        columns: Sequence[str] | None = None,
        rows: Sequence[str] | None = None,
        width: Width | None = None,
        siunitx: bool = False,
    ) -> str:
        r"""LaTeX (booktabs), with names and powers of ten in math mode.

        Parameters
        ----------
        columns : sequence of str, optional
            Heads of the columns, in their order. Default: all.
        rows : sequence of str, optional
            What stands in a cell of the rows, such as ``"w_11"`` or ``"half"``. Default: all.
        width : {"column", "text"} or float or str, optional
            Fit this width in 9 point type: of a column (3.25 inches) or the text (6.75 inches) of a
            paper, in inches, or with a unit, as in ``"240pt"`` or ``"83mm"``. Needs the array
            package as well. Columns without a value are left out, then those of windows; a comment
            names them.
        siunitx : bool
            Set columns of numbers in ``S`` columns of the siunitx package.

        Raises
        ------
        InvalidInput
            If no table has such a column or row.
        """
        return _latex(selected_grids(self.to_grids(), columns, rows), width, siunitx)

    def to_html(self) -> str:
        """An HTML fragment."""
        return "\n".join(grid.to_html() for grid in self.to_grids())


class Timed(Drawn):
    """A result whose table has times in a unit; a class gives :meth:`to_grid` with a unit."""

    def to_grid(self, unit: str = "step") -> Grid:
        """The result as a table, with times in a unit."""
        raise NotImplementedError

    @named
    def to_latex(
        self,
        *,
        columns: Sequence[str] | None = None,
        rows: Sequence[str] | None = None,
        width: Width | None = None,
        siunitx: bool = False,
        unit: str = "step",
    ) -> str:
        r"""LaTeX (booktabs), with names and powers of ten in math mode.

        Parameters
        ----------
        columns : sequence of str, optional
            Heads of the columns, in their order. Default: all.
        rows : sequence of str, optional
            What stands in a cell of the rows, such as ``"w_11"`` or ``"half"``. Default: all.
        width : {"column", "text"} or float or str, optional
            Fit this width: of a column (3.25 inches) or the text (6.75 inches) of a paper, in
            inches, or with a unit, as in ``"240pt"`` or ``"83mm"``; see :meth:`Drawn.to_latex`.
        siunitx : bool
            Set columns of numbers in ``S`` columns of the siunitx package.
        unit : {"step", "eta t"}
            Of all times: steps, or the time of the flow.

        Raises
        ------
        InvalidInput
            If the table has no such column or row, or there is no such width or unit.
        """
        return _latex(selected_grids([self.to_grid(unit)], columns, rows), width, siunitx)


def selected_grids(
    grids: Sequence[Grid], columns: Sequence[str] | None, rows: Sequence[str] | None
) -> list[Grid]:
    """Tables with some columns and rows; a name that none of them has is refused."""
    heads = [head for grid in grids for head in grid.heads]
    _require_names("columns", columns, heads, heads)
    cells = {cell for grid in grids for row in grid.rows for cell in row}
    names = [row[i] for i in (0, 1) for grid in grids for row in grid.rows if len(row) > i]
    _require_names("rows", rows, cells, names)
    chosen = [grid.selected(columns, rows) for grid in grids]
    return [grid for grid in chosen if grid.columns and (grid.rows or rows is None)]


def _latex(grids: Sequence[Grid], width: Width | None, siunitx: bool) -> str:
    tables = (grid.to_latex(width=width, siunitx=siunitx) for grid in grids)
    return "\n\n\\medskip\\noindent\n".join(tables)


def _require_names(
    argument: str, names: object, present: Collection[str], listed: Iterable[str]
) -> None:
    """Refuse names that no table of a result has, and none; a refusal lists some that it has."""
    if names is None:
        return
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise InvalidInput(argument, names, "must be a list of texts")
    if not names:
        raise InvalidInput(argument, names, "must not be empty: leave it out for all")
    for name in names:
        if name not in present:
            some = ", ".join(dict.fromkeys(cell for cell in listed if cell))
            raise InvalidInput(argument, name, f"must be among {some}")


class Framed(Drawn):
    """A result of many records, which is also a table of pandas. A class gives :meth:`records`."""

    def records(self) -> Iterable[Mapping[str, Any]]:
        """The rows of :meth:`to_frame`, by column."""
        raise NotImplementedError

    def to_frame(self) -> pd.DataFrame:
        """A table of pandas, with a row for each of :meth:`records`."""
        import pandas as pd

        return pd.DataFrame(list(self.records()))


class ReadOnly(Hinted):
    """A result whose arrays are read-only."""

    def __post_init__(self) -> None:
        import numpy as np

        for value in vars(self).values():
            members = tuple(value.values()) if isinstance(value, dict) else value
            if not isinstance(members, tuple):
                members = (members,)
            # Of many thousand events, none is asked alone.
            if any(issubclass(kind, np.ndarray) for kind in set(map(type, members))):
                for member in members:
                    if isinstance(member, np.ndarray):
                        member.setflags(write=False)
