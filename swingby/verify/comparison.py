"""What a comparison is: rows of predicted against observed, and their outputs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import MissingExtra
from swingby.report.files import whole as writable
from swingby.simulate.result import Run
from swingby.verify.schedule import Schedule

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from swingby.report import Grid

COLUMNS = (
    "entry",
    "event",
    "predicted",
    "observed",
    "relative_error",
    "lower",
    "upper",
    "inside",
)


@dataclass(frozen=True)
class Row:
    """One event, predicted and observed.

    Parameters
    ----------
    entry, event : str
    predicted, observed : float
        Steps (for ``peak height`` the size of the entry); inf for never, nan for no statement.
    lower, upper : float
        Lemma window, same unit, or nan.
    error_bar : float
        Half-width that the law gives its own prediction; inf where it is out of its range.
    """

    entry: str
    event: str
    predicted: float
    observed: float
    lower: float
    upper: float
    error_bar: float

    @property
    def relative_error(self) -> float:
        """predicted/observed - 1; 0 when both say never, nan when one side has no number."""
        if math.isinf(self.predicted) and math.isinf(self.observed):
            return 0.0
        if not (math.isfinite(self.predicted) and math.isfinite(self.observed)):
            return math.nan
        if self.observed == 0:
            return 0.0 if self.predicted == 0 else math.nan
        return self.predicted / self.observed - 1

    @property
    def inside(self) -> bool | None:
        """Whether the observation lies in the lemma window; None where there is no window."""
        if math.isnan(self.lower) or math.isnan(self.upper) or math.isnan(self.observed):
            return None
        return self.lower <= self.observed <= self.upper


@dataclass(frozen=True)
class Comparison:
    """Predicted against observed for one setting.

    Parameters
    ----------
    schedule : Schedule
    run : Run
    rows : tuple of Row
    title : str
    """

    schedule: Schedule
    run: Run
    rows: tuple[Row, ...]
    title: str = ""

    @property
    def median_error(self) -> float:
        """Median of |relative error| over half-times; nan when none is comparable."""
        return self._summary_of("half", np.median)

    @property
    def largest_error(self) -> float:
        """Largest |relative error| over half-times; nan when none is comparable."""
        return self._summary_of("half", np.max)

    def _summary_of(self, event: str, reduce: Any) -> float:
        errors = [abs(row.relative_error) for row in self.rows if row.event == event]
        finite = [error for error in errors if math.isfinite(error)]
        return float(reduce(finite)) if finite else math.nan

    def __repr__(self) -> str:
        return (
            f"<Comparison {self.title or self.run.dynamics}: {len(self.rows)} events, "
            f"half-times off by {100 * self.median_error:.3g} % median>"
        )

    def __str__(self) -> str:
        return self.to_grid().to_text()

    def _repr_html_(self) -> str:
        return self.to_grid().to_html()

    def to_grid(self) -> Grid:
        """The comparison as a :class:`swingby.report.Grid`.

        Returns
        -------
        Grid
        """
        from swingby.verify.tables import comparison_grid

        return comparison_grid(self)

    def to_frame(self) -> Any:
        """One row per event; ``inside`` is True, False or missing.

        Returns
        -------
        pandas.DataFrame
            Columns entry, event, predicted, observed, relative_error, lower, upper, inside.
        """
        import pandas

        frame = pandas.DataFrame(
            [[getattr(row, name) for name in COLUMNS] for row in self.rows], columns=list(COLUMNS)
        )
        return frame.astype({"inside": "boolean"})

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, ready for JSON; inf and nan as text.

        Returns
        -------
        dict
        """

        def plain(value: Any) -> Any:
            if isinstance(value, float) and not math.isfinite(value):
                return str(value)
            return value

        return {
            "title": self.title,
            "dynamics": self.run.dynamics,
            "outcome": str(self.run.outcome),
            "reason": self.run.reason,
            "rows": [{name: plain(getattr(row, name)) for name in COLUMNS} for row in self.rows],
            "warnings": list(self.schedule.warnings),
        }

    def to_latex(self) -> str:
        """The table as LaTeX (booktabs).

        Returns
        -------
        str
        """
        return self.to_grid().to_latex()

    def to_markdown(self) -> str:
        """The table as Markdown.

        Returns
        -------
        str
        """
        return self.to_grid().to_markdown()

    def to_csv(self, path: str | Path | None = None) -> str | None:
        """The frame as CSV.

        Parameters
        ----------
        path : path, optional
            Where to write; without it the text is returned.

        Returns
        -------
        str or None

        Raises
        ------
        InvalidInput
            If the path cannot be written.
        """
        text = str(self.to_frame().to_csv(index=False))
        if path is None:
            return text
        with writable(path) as target:
            target.write_text(text, encoding="utf-8")
        return None

    def to_parquet(self, path: str | Path) -> None:
        """The frame as Parquet; needs the ``report`` extra.

        Parameters
        ----------
        path : path

        Raises
        ------
        InvalidInput
            If the path cannot be written.
        MissingExtra
            If pyarrow is not installed.
        """
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise MissingExtra("pyarrow", "report") from None
        with writable(path) as target:
            self.to_frame().to_parquet(target, index=False)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Entries and test loss over time with predicted stage times as marks.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Default: a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from swingby.verify.plots import plot_comparison

        return plot_comparison(self, ax)

    def save_picture(self, path: str | Path) -> None:
        """Entries and loss over time on the left, the output trajectory on the right.

        Parameters
        ----------
        path : path
            The suffix gives the format: png, pdf or svg.

        Raises
        ------
        InvalidInput
            If the path cannot be written or the format is unknown.
        """
        from swingby.verify.plots import save_comparison

        save_comparison(self, path)
