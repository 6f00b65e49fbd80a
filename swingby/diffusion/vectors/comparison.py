"""Predicted against observed, with a verdict on every row."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from swingby.diffusion.vectors.prediction import VectorPrediction
from swingby.diffusion.vectors.report import storable
from swingby.diffusion.vectors.result import VectorRun
from swingby.report import Grid
from swingby.theory.verdict import Verdict, counted

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Row:
    """One prediction about one run.

    Parameters
    ----------
    run : int
    quantity : str
        "half-time 1", "order", "plain ratio 1/2", "descents".
    predicted, observed : str
    error : float
        Error bar of the prediction; nan where it has none.
    off : float
        Observed less predicted; nan where that is no number.
    verdict : Verdict
    """

    run: int
    quantity: str
    predicted: str
    observed: str
    error: float
    off: float
    verdict: Verdict


@dataclass(frozen=True, eq=False, repr=False)
class VectorComparison:
    """Made by :func:`swingby.diffusion.vectors.compare_vectors`.

    Parameters
    ----------
    predictions : tuple of VectorPrediction
    runs : tuple of VectorRun
        Of one setting each, or of several of a kind; `places` says where a setting is.
    places : tuple of (int, int)
        Number of the run and place in it, for each prediction.
    rows : tuple of Row
    """

    predictions: tuple[VectorPrediction, ...]
    runs: tuple[VectorRun, ...]
    places: tuple[tuple[int, int], ...]
    rows: tuple[Row, ...]

    def __len__(self) -> int:
        return len(self.predictions)

    def __repr__(self) -> str:
        return f"<VectorComparison of {len(self)}: {self._summary()}>"

    def __str__(self) -> str:
        return self.to_grid().to_text(width=110)

    def _repr_html_(self) -> str:
        return self.to_grid().to_html()

    def verdicts(self) -> Counter[Verdict]:
        """How many rows have each verdict."""
        return Counter(row.verdict for row in self.rows)

    def of(self, quantity: str) -> tuple[Row, ...]:
        """Rows whose quantity begins with a word."""
        return tuple(row for row in self.rows if row.quantity.startswith(quantity))

    def _summary(self) -> str:
        return counted(row.verdict for row in self.rows)

    def to_grid(self) -> Grid:
        """A row per prediction."""
        rows = [
            [
                str(row.run),
                row.quantity,
                row.predicted,
                f"{row.error:.3g}" if row.error == row.error else "-",
                row.observed,
                row.verdict,
            ]
            for row in self.rows
        ]
        ranges = sorted({one.range for one in self.predictions})
        return Grid(
            title="Predicted against observed",
            columns=[">setting", "quantity", ">predicted", ">error", ">observed", "verdict"],
            rows=rows,
            below=[f"{self._summary()}.", *(f"Range: {one}." for one in ranges)],
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per prediction."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.rows])

    def to_dict(self) -> dict[str, Any]:
        """The rows as JSON can hold them."""
        return {"rows": [storable(asdict(row)) for row in self.rows]}

    def to_markdown(self) -> str:
        """The table as Markdown."""
        return self.to_grid().to_markdown()

    def to_latex(self) -> str:
        """The table as LaTeX (booktabs)."""
        return self.to_grid().to_latex()
