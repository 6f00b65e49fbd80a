"""PhaseDiagram: predicted and observed labels over two quantities of a sweep."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import MissingExtra
from swingby.sweeping.phases.agreement import Agreement
from swingby.sweeping.phases.axis import Axis
from swingby.sweeping.phases.cells import Cells

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from swingby.report import Grid

#: Whole numbers and numbers per pixel that a table shows, beside the labels.
COUNTS = ("done", "failed", "missing", "decided", "agreed")
NUMBERS = (
    "margin",
    "least_margin",
    "swing_by",
    "descents",
    "most_descents",
    "predicted_swing_by",
    "predicted_descents",
)


@dataclass(frozen=True, eq=False)
class PhaseDiagram:
    """What was predicted and observed per pixel. Made by ``SweepResult.phase_diagram``.

    Parameters
    ----------
    store : Path
    x : Axis
    y : Axis or None
        None for a diagram over one quantity.
    scattered : bool
        Whether every draw of a random design is a pixel of its own: then the axes have one value
        per draw. Otherwise the pixels are all pairs of their values.
    cells : Cells
        Arrays of shape (y, x); (x,) without y; (draws,) where scattered.
    agreement : Agreement
        Over all points shown.
    fixed : dict from str to str
        What has one value at all points, or was asked for.
    pooled : dict from str to int
        What differs between points of one pixel, and how many values it has: the seeds, and
        every quantity that is neither shown nor fixed.
    left_out : int
        Points at which one of the two quantities does not exist, as a_3 with two concepts.
    """

    store: Path
    x: Axis
    y: Axis | None
    scattered: bool
    cells: Cells
    agreement: Agreement
    fixed: dict[str, str]
    pooled: dict[str, int]
    left_out: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the arrays of :attr:`cells`."""
        return self.cells.done.shape

    def plot(self, panels: Sequence[str] | None = None) -> Figure:
        """Draw the diagram, a panel for each question.

        Parameters
        ----------
        panels : sequence of str, optional
            Of ``predicted``, ``observed``: the majority label of every pixel, paler where seeds
            differ; ``disagreement``: share of the decided points not observed as predicted;
            ``margin``: the median, with a line around the pixels where it is above 1;
            ``swing_by``, ``descents``: observed; ``predicted_swing_by``,
            ``predicted_descents``: where the law tells them; ``trapped``, ``diverged``: share of
            the observed labels. Default: those that the rows have numbers for, without the last
            two.

        Returns
        -------
        matplotlib.figure.Figure
            Made without pyplot. Pixels without points are white, failed ones grey.

        Raises
        ------
        InvalidInput
            For an unknown panel.
        """
        from swingby.sweeping.phases.picture import phase_figure

        return phase_figure(self, panels)

    def save_picture(self, path: str | Path, panels: Sequence[str] | None = None) -> None:
        """Draw the diagram into a file.

        Parameters
        ----------
        path : str or Path
            Ending in png, pdf or svg.
        panels : sequence of str, optional
            See :meth:`plot`.

        Raises
        ------
        InvalidInput
            If the path cannot be written or has another ending.
        """
        from swingby.report.pictures import save_figure

        save_figure(lambda: self.plot(panels), path)

    def _columns(self) -> dict[str, list[Any]]:
        if self.scattered or self.y is None:
            across = list(self.x.values)
            up = list(self.y.values) if self.y is not None else None
        else:
            across = list(self.x.values) * len(self.y)
            up = [value for value in self.y.values for _ in self.x.values]
        found: dict[str, list[Any]] = {self.x.name: across}
        if self.y is not None and up is not None:
            found[self.y.name] = up
        cells = self.cells
        for name in COUNTS:
            found[name] = getattr(cells, name).ravel().tolist()
        for which in ("predicted", "observed"):
            counts = getattr(cells, which)
            for place, label in enumerate(cells.labels):
                if counts[..., place].any():
                    found[f"{which}_{label}"] = counts[..., place].ravel().tolist()
        for name in NUMBERS:
            found[name] = getattr(cells, name).ravel().tolist()
        return found

    def to_frame(self) -> Any:
        """The pixels as a table.

        Returns
        -------
        pandas.DataFrame
            One row per pixel: the exact values of the axes as text, counts, counts per label
            (``observed_trapped``), and numbers; see :class:`Cells`.

        Raises
        ------
        MissingExtra
            If pandas is not installed.
        """
        try:
            pandas = importlib.import_module("pandas")
        except ImportError:
            raise MissingExtra("pandas", "tables") from None
        return pandas.DataFrame(self._columns())

    def to_dict(self) -> dict[str, Any]:
        """The diagram as plain values, ready for JSON.

        Returns
        -------
        dict
            Of ``pixels``, one list per column of :meth:`to_frame`; inf as text, None for nothing.
        """
        low, high = self.agreement.interval
        return {
            "x": self.x.name,
            "y": None if self.y is None else self.y.name,
            "shape": list(self.shape),
            "scattered": self.scattered,
            "fixed": dict(self.fixed),
            "pooled": dict(self.pooled),
            "left_out": self.left_out,
            "decided": self.agreement.decided,
            "agreed": self.agreement.agreed,
            "interval": [low, high],
            "pixels": {
                name: [_plain(value) for value in values]
                for name, values in self._columns().items()
            },
        }

    def to_grid(self) -> Grid:
        """The counts behind the picture: predicted labels down, observed labels across.

        Returns
        -------
        swingby.report.Grid
        """
        from swingby.sweeping.phases.report import diagram_grid

        return diagram_grid(self)

    def to_text(self, width: int = 100) -> str:
        """The counts for a terminal.

        Parameters
        ----------
        width : int
            Characters per line.

        Returns
        -------
        str
        """
        return self.to_grid().to_text(width=width)

    def to_latex(self) -> str:
        """The counts as LaTeX (booktabs).

        Returns
        -------
        str
        """
        return self.to_grid().to_latex()

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        over = self.x.name if self.y is None else f"{self.x.name}, {self.y.name}"
        size = " x ".join(map(str, reversed(self.shape)))
        return f"<PhaseDiagram over {over}: {size} pixels, {self.agreement.done} points done>"

    def _repr_html_(self) -> str:
        return self.to_grid().to_html()


def _plain(value: Any) -> Any:
    if not isinstance(value, float) or np.isfinite(value):
        return value
    return None if np.isnan(value) else str(value)
