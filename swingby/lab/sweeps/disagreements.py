"""Disagreements: points that are not observed as predicted, the surest first, and why."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from swingby.lab.sweeps.agreement import Agreement, flagged, json_value
from swingby.lab.sweeps.grid import optional_whole
from swingby.lab.sweeps.label import Label
from swingby.lab.sweeps.point import Point
from swingby.lab.sweeps.quantity_values import selected
from swingby.report import Drawn, Grid
from swingby.report.number_text import steps_text
from swingby.simulate.outcome import Outcome

if TYPE_CHECKING:
    import pandas as pd

#: A pivot below this share of its terms is cancellation.
_SMALL_PIVOT = 1e-6

#: _Numbers of the concepts.
_Numbers = tuple[float, ...]
#: Predicted half-time, error bar and observed half-time of a concept, in steps.
_HalfTime = tuple[float, float, float]


@dataclass(frozen=True)
class Disagreement:
    """A point with a prediction that its run did not confirm.

    Numbers of concepts in steps, inf for never, nan for no statement. `why` is empty where the
    numbers do not say.
    """

    key: bytes
    place: int
    point: Point
    predicted: str
    observed: str
    margin: float
    smallest_pivot: float
    predicted_half_times: _Numbers
    error: _Numbers
    half_times: _Numbers
    descents: int | None
    predicted_descents: int | None
    why: str

    @classmethod
    def of(cls, row: Any) -> Disagreement:
        """The disagreement of a row of the frame."""
        point = _point_of(row)
        predicted, bars, observed = (
            tuple(float(row[f"{name}_{k}"]) for k in range(1, point.dimension + 1))
            for name in ("predicted_half_time", "error", "half_time")
        )
        content = dict(row) | {"key": bytes.fromhex(row["key"]), "point": point}
        content |= {"predicted_half_times": predicted, "error": bars, "half_times": observed}
        for name in ("descents", "predicted_descents"):
            content[name] = _whole(row[name])
        content["why"] = _why(row, list(zip(predicted, bars, observed, strict=True)))
        return cls(**{field.name: content[field.name] for field in fields(cls)})

    def to_dict(self) -> dict[str, Any]:
        """The row as plain values, ready for JSON: inf as text, None for nan."""
        content = {name: json_value(value) for name, value in vars(self).items()}
        return content | {"key": self.key.hex(), "point": self.point.to_plain()}

    def cells(self) -> list[str]:
        """The row of a table."""
        times = zip(self.predicted_half_times, self.error, self.half_times, strict=True)
        numbers = ["-" if math.isnan(x) else f"{x:.3g}" for x in (self.margin, self.smallest_pivot)]
        texts = "; ".join(_time_text(*time) for time in times)
        return [str(self.point), self.predicted, self.observed, *numbers, texts, self.why]


def _whole(value: float) -> int | None:
    return None if math.isnan(value) else int(value)


def _point_of(row: Any) -> Point:
    """The point of a row of the frame."""
    signal, mu, sigma = (
        tuple(text.split(",")) if text else None for text in row["task"].split("|")
    )
    record = row["record"] if isinstance(row["record"], str) else None
    return Point(
        signal,
        mu,
        sigma,
        row["omega"],
        int(row["width"]),
        int(row["seed"]),
        row["eta"],
        row["dynamics"],
        steps=_whole(row["steps"]),
        record=int(record) if record and record.isdigit() else record,
    )


def _time_text(predicted: float, bar: float, observed: float) -> str:
    error = f" +- {bar:.2g}" if math.isfinite(predicted) and math.isfinite(bar) else ""
    return f"{steps_text(predicted, 0)}{error} -> {steps_text(observed, 0)}"


def _why(row: Any, times: list[_HalfTime]) -> str:
    """Why a prediction failed, as far as the numbers of its row say."""
    margin, pivot = row["margin"], row["smallest_pivot"]
    orders = (Label.IN_ORDER, Label.OUT_OF_ORDER)
    if row["predicted"] in orders and row["observed"] in orders:
        if margin < 1:
            return "margin below 1: the order is within the error of the law"
        return _late(times)
    if row["predicted"] == Label.DIVERGED != row["observed"] and pivot < 0:
        return f"predicted from a negative pivot, {pivot:.2g} of its terms"
    cancelled = ""
    if pivot == 0:
        cancelled = "only rounding is left of the smallest pivot"
    elif abs(pivot) < _SMALL_PIVOT:
        cancelled = f"the smallest pivot is {pivot:.1g} of its terms"
    if row["observed"] == Label.DIVERGED:
        ends = {
            Outcome.DIVERGED: "W left the float range",
            Outcome.LOST_PSD: "W lost positive semidefiniteness",
        }
        return "; ".join(filter(None, (ends.get(row["outcome"]), cancelled)))
    return cancelled


def _late(times: list[_HalfTime]) -> str:
    """The half-time that is furthest off, though the order should be clear."""
    steps = [observed for _, _, observed in times if math.isfinite(observed)]
    if len(set(steps)) < len(steps):
        return "observed at the same step, which counts as in order"
    # Half-times are whole steps, so that a step of their distance says nothing of the crossings.
    beyond = [abs(observed - predicted) - 1 for predicted, _, observed in times]
    if all(excess <= 0 for excess in beyond if math.isfinite(excess)):
        return "no half-time is more than a step off"
    ratios = [
        (excess / bar, concept)
        for concept, (excess, (_, bar, _)) in enumerate(zip(beyond, times, strict=True), 1)
        if math.isfinite(excess) and bar > 0
    ]
    distance, concept = max(ratios, default=(0.0, 0))
    return f"half-time {concept} is {distance:.2g} error bars off" if distance > 1 else ""


@dataclass(frozen=True)
class Disagreements(Drawn):
    """Decided points where run and prediction disagree. Made by ``SweepResult.disagreements``.

    Parameters
    ----------
    store : Path
    rows : tuple of Disagreement
        By margin, the largest first: there the law is most certain and wrong. A margin that is nan
        comes last.
    agreement : Agreement
        Over all points.
    """

    store: Path
    rows: tuple[Disagreement, ...]
    agreement: Agreement

    @classmethod
    def of(
        cls, frame: pd.DataFrame, store: Path, limit: int | None, where: Mapping[str, Any] | None
    ) -> Self:
        """The disagreements of a frame."""
        count = optional_whole(limit, "limit", 1)
        chosen = selected(frame, where)
        points = flagged(chosen)
        worst = points[points["decided"] & ~points["agreed"]]
        worst = worst.sort_values(["margin", "place"], ascending=[False, True], na_position="last")
        worst = worst.head(count or len(worst))
        rows = tuple(Disagreement.of(row) for _, row in worst.iterrows())
        return cls(store, rows, Agreement.of(chosen))

    @property
    def total(self) -> int:
        """Number of disagreements, also beyond `rows`."""
        return self.agreement.decided - self.agreement.agreed

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Disagreement]:
        return iter(self.rows)

    def to_grid(self) -> Grid:
        """The rows as a table, with the agreement below.

        Returns
        -------
        swingby.report.Grid
            Half-times as predicted +- error bar -> observed, concept by concept.
        """
        head = f"{self.total} disagreements" if self.total != 1 else "1 disagreement"
        few = len(self.rows) < self.total
        above = [f"{head}, the {len(self.rows)} of largest margin" if few else head]
        return Grid(
            title=f"Predicted otherwise than observed, {self.store.name}",
            columns=["point", "predicted", "observed", ">margin", ">pivot", "half-times", "why"],
            rows=[row.cells() for row in self.rows],
            above=above if self.agreement.decided else [],
            below=self.agreement.lines(),
        )

    def to_frame(self) -> Any:
        """The rows as a table."""
        import pandas as pd

        names = [field.name for field in fields(Disagreement)]
        return pd.DataFrame([row.to_dict() for row in self.rows], columns=names)

    def to_dict(self) -> dict[str, Any]:
        """The rows and the agreement as plain values, ready for JSON."""
        rows = [row.to_dict() for row in self.rows]
        return {"total": self.total, **self.agreement.to_dict(), "rows": rows}
