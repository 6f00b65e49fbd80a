"""Which predictions of the theory survive in networks it was not made for, run by run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from swingby.errors import InvalidInput
from swingby.training.cells import Cell
from swingby.training.expected import expect
from swingby.training.judging import NEAR, SWING, THRESHOLD, TOLERANCE, TRANSIENT, Outcome, judge
from swingby.training.run import train

if TYPE_CHECKING:
    import pandas as pd

    from swingby.report import Grid


@dataclass(frozen=True)
class Survival:
    """What survives where. Made by :func:`survival`."""

    outcomes: tuple[Outcome, ...]

    def __len__(self) -> int:
        return len(self.outcomes)

    def __getitem__(self, key: tuple[str, str]) -> Outcome:
        for one in self.outcomes:
            if (one.cell, one.prediction) == key:
                return one
        raise InvalidInput("key", key, "must be a cell and a prediction of this table")

    def to_grid(self) -> Grid:
        """A row per cell and prediction, with the intervals."""
        from swingby.training.survival_report import survival_grid

        return survival_grid(self)

    def to_overview(self) -> Grid:
        """A row per cell: verdicts and shares alone."""
        from swingby.training.survival_report import overview_grid

        return overview_grid(self)

    def to_dict(self) -> dict[str, Any]:
        """Thresholds and outcomes, as JSON can hold them."""
        limits = {"threshold": THRESHOLD, "tolerance": TOLERANCE, "swing": SWING}
        return {
            **limits,
            "transient": TRANSIENT,
            "near": NEAR,
            "outcomes": [one.to_dict() for one in self.outcomes],
        }

    def to_frame(self) -> pd.DataFrame:
        """One row per outcome."""
        import pandas as pd

        return pd.DataFrame([one.to_dict() for one in self.outcomes])

    def to_markdown(self) -> str:
        """The rows as Markdown."""
        return self.to_grid().to_markdown()

    def to_latex(self) -> str:
        """The rows as LaTeX (booktabs)."""
        return self.to_grid().to_latex()

    def __str__(self) -> str:
        return self.to_overview().to_text(width=140)

    def _repr_html_(self) -> str:
        return self.to_grid().to_html()


def survival(cells: Sequence[Cell]) -> Survival:
    """Train networks and ask which predictions came true.

    The predictions are made from the weights before the first step
    (:func:`swingby.training.expected.expect`). Times are compared up to one factor per cell.

    Raises
    ------
    InvalidInput

    Examples
    --------
    >>> from swingby.training.cells import standard_cells
    >>> found = survival(standard_cells("linear", runs=40)[:1])
    >>> str(found["U U^T, small", "times"].verdict)
    'holds'
    """
    found: list[Outcome] = []
    for cell in cells:
        if not isinstance(cell, Cell):
            raise InvalidInput("cells", cell, "must be Cells")
        settings = cell.settings
        expected = expect(settings, SWING)
        # A minor entry is known at recorded steps only; it is smooth.
        run = train(settings, record=max(1, cell.setting.total_steps // 600))
        found += judge(cell.name, expected, run)
    return Survival(tuple(found))
