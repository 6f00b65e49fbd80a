"""What a judgement is: predictions of the theory with verdicts, and their outputs."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from swingby.theory.verdict import Verdict, counted

if TYPE_CHECKING:
    import pandas as pd

    from swingby.diffusion.signals import Signals
    from swingby.report import Grid

COLUMNS = (
    "prediction", "contrast", "quantity", "predicted", "observed", "low", "high", "seeds",
    "verdict", "note",
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One prediction, and what was seen.

    Parameters
    ----------
    prediction : str
        Name of the rule, see :mod:`swingby.diffusion.judging`.
    contrast : float or None
        None for predictions over contrasts.
    quantity : str
        What the numbers are.
    predicted : str
        The prediction in words or digits.
    observed, low, high : float
        Mean over seeds with its 95 % interval, nan where there is none.
    seeds : int
        With a finite value.
    verdict : Verdict
    note : str
    """

    prediction: str
    contrast: float | None
    quantity: str
    predicted: str
    observed: float
    low: float
    high: float
    seeds: int
    verdict: Verdict
    note: str = ""


@dataclass(frozen=True)
class Judgement:
    """The theory judged by diffusion models. Made by :func:`swingby.diffusion.judging.judge`.

    Parameters
    ----------
    rows : tuple of Row
    signals : tuple of Signals
        What the predictions were made from.
    corner : str
        Whose responses tell when a concept is learned.
    """

    rows: tuple[Row, ...]
    signals: tuple[Signals, ...]
    corner: str = "trained"

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"<Judgement: {counted(one.verdict for one in self.rows)}>"

    @property
    def counts(self) -> dict[Verdict, int]:
        """How often each verdict was given."""
        found = Counter(one.verdict for one in self.rows)
        return {name: found[name] for name in Verdict}

    def of(self, prediction: str, contrast: float | None = None) -> Row:
        """One row.

        Parameters
        ----------
        prediction : str
        contrast : float, optional
            Left out for predictions over contrasts.

        Returns
        -------
        Row

        Raises
        ------
        InvalidInput
            If there is no such row.
        """
        for one in self.rows:
            if one.prediction == prediction and one.contrast == contrast:
                return one
        from swingby.errors import InvalidInput

        raise InvalidInput("prediction", (prediction, contrast), "must be a row of this table")

    def to_grid(self) -> Grid:
        """The rows with the rules below.

        Returns
        -------
        swingby.report.Grid
        """
        from swingby.diffusion.judging.report import judgement_grid

        return judgement_grid(self)

    def to_signals_grid(self) -> Grid:
        """The signals that the predictions were made from.

        Returns
        -------
        swingby.report.Grid
        """
        from swingby.diffusion.judging.report import signals_grid

        return signals_grid(self.signals)

    def to_frame(self) -> pd.DataFrame:
        """One row per prediction; contrast is missing where all are meant.

        Returns
        -------
        pandas.DataFrame
        """
        import pandas as pd

        rows = [{name: getattr(one, name) for name in COLUMNS} for one in self.rows]
        frame = pd.DataFrame(rows, columns=list(COLUMNS))
        return frame.assign(
            contrast=frame["contrast"].astype("Float64"), verdict=frame["verdict"].astype(str)
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; None where there is no number.

        Returns
        -------
        dict
        """

        def plain(value: Any) -> Any:
            if isinstance(value, Verdict):
                return value.value
            return None if isinstance(value, float) and not math.isfinite(value) else value

        return {
            "corner": self.corner,
            "signals": [one.to_dict() for one in self.signals],
            "rows": [{name: plain(getattr(one, name)) for name in COLUMNS} for one in self.rows],
        }

    def to_markdown(self) -> str:
        """The table as Markdown."""
        return self.to_grid().to_markdown()

    def to_latex(self) -> str:
        """The table as LaTeX (booktabs)."""
        return self.to_grid().to_latex()

    def __str__(self) -> str:
        return self.to_grid().to_text(width=140)

    def _repr_html_(self) -> str:
        return self.to_grid().to_html()
