"""The points of a sweep that are not observed as predicted, the worst first, and why."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from swingby.errors import InvalidInput
from swingby.report import Drawn, Grid
from swingby.report.numbers import steps_text
from swingby.simulate.outcome import Outcome
from swingby.sweeping.frame import Agreement, dimension_of, flagged, json_value, selected
from swingby.sweeping.grid import optional_whole
from swingby.sweeping.point import Label, Point
from swingby.sweeping.store import point_of

if TYPE_CHECKING:
    import pandas as pd

#: A pivot below this share of its terms is cancellation.
SMALL_PIVOT = 1e-6
#: More descents of the test loss are counted together.
MOST_DESCENTS = 5

Numbers = tuple[float, ...]


@dataclass(frozen=True)
class Disagreement:
    """A point, what the law says of it, and what its run did.

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
    predicted_half_times: Numbers
    error: Numbers
    half_times: Numbers
    descents: int | None
    predicted_descents: int | None
    why: str

    @classmethod
    def of(cls, row: Any) -> Disagreement:
        """The disagreement of a row of the frame."""
        task = dict(zip(("signal", "mu", "sigma"), row["task"].split("|"), strict=True))
        whole = {
            name: None if math.isnan(row[name]) else int(row[name])
            for name in ("width", "seed", "steps", "descents", "predicted_descents")
        }
        record = row["record"] if isinstance(row["record"], str) else None
        parts = {name: row[name] for name in ("omega", "eta", "dynamics")} | whole
        parts |= {name: text or None for name, text in task.items()}
        point = point_of(parts | {"record": record})
        places = range(1, point.dimension + 1)
        said, bars, seen = (
            tuple(float(row[f"{name}_{k}"]) for k in places)
            for name in ("predicted_half_time", "error", "half_time")
        )
        margin, pivot = float(row["margin"]), float(row["smallest_pivot"])
        return cls(
            key=bytes.fromhex(row["key"]),
            place=int(row["place"]),
            point=point,
            predicted=row["predicted"],
            observed=row["observed"],
            margin=margin,
            smallest_pivot=pivot,
            predicted_half_times=said,
            error=bars,
            half_times=seen,
            descents=whole["descents"],
            predicted_descents=whole["predicted_descents"],
            why=_why(row, margin, pivot, list(zip(said, bars, seen, strict=True))),
        )

    def to_dict(self) -> dict[str, Any]:
        """The row as plain values, ready for JSON: inf as text, None for nan."""
        found = {name: json_value(value) for name, value in vars(self).items()}
        return found | {"key": self.key.hex(), "point": self.point.to_plain()}

    def cells(self) -> list[str]:
        """The row of a table."""
        times = zip(self.predicted_half_times, self.error, self.half_times, strict=True)
        numbers = ["-" if math.isnan(x) else f"{x:.3g}" for x in (self.margin, self.smallest_pivot)]
        texts = "; ".join(_times(*one) for one in times)
        return [str(self.point), self.predicted, self.observed, *numbers, texts, self.why]


def _times(said: float, bar: float, seen: float) -> str:
    error = f" +- {bar:.2g}" if math.isfinite(said) and math.isfinite(bar) else ""
    return f"{steps_text(said, 0)}{error} -> {steps_text(seen, 0)}"


def _why(row: Any, margin: float, pivot: float, times: list[Numbers]) -> str:
    """Why a prediction failed, as far as the numbers of its row say."""
    orders = (Label.IN_ORDER, Label.OUT_OF_ORDER)
    if row["predicted"] in orders and row["observed"] in orders:
        if margin < 1:
            return "margin below 1: the order is within the error of the law"
        return _late(times)
    if row["predicted"] == Label.DIVERGED != row["observed"] and pivot < 0:
        return f"predicted from a negative pivot, {pivot:.2g} of its terms"
    found = ""
    if pivot == 0:
        found = "only rounding is left of the smallest pivot"
    elif abs(pivot) < SMALL_PIVOT:
        found = f"the smallest pivot is {pivot:.1g} of its terms"
    if row["observed"] == Label.DIVERGED:
        ends = {
            Outcome.DIVERGED: "W left the float range",
            Outcome.LOST_PSD: "W lost positive semidefiniteness",
        }
        return "; ".join(filter(None, (ends.get(row["outcome"]), found)))
    return found


def _late(times: list[Numbers]) -> str:
    """What is wrong with the half-times where their order should be clear."""
    seen = [observed for _, _, observed in times if math.isfinite(observed)]
    if len(set(seen)) < len(seen):
        return "observed at the same step, which counts as in order"
    # Half-times are whole steps, so that a step of their distance says nothing of the crossings.
    beyond = [abs(observed - said) - 1 for said, _, observed in times]
    if all(one <= 0 for one in beyond if math.isfinite(one)):
        return "no half-time is more than a step off"
    found = [
        (one / bar, concept)
        for concept, (one, (_, bar, _)) in enumerate(zip(beyond, times, strict=True), 1)
        if math.isfinite(one) and bar > 0
    ]
    distance, concept = max(found, default=(0.0, 0))
    return f"half-time {concept} is {distance:.2g} error bars off" if distance > 1 else ""


@dataclass(frozen=True)
class Disagreements(Drawn):
    """Decided points that are not observed as predicted. Made by ``SweepResult.disagreements``.

    Parameters
    ----------
    store : Path
    rows : tuple of Disagreement
        By margin, the largest first: where the law is surest and wrong. A margin that is no
        number comes last.
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
        """Those of a frame."""
        most = optional_whole(limit, "limit", 1)
        chosen = selected(frame, where)
        if where and not len(chosen):
            shown = ", ".join(f"{name} = {value}" for name, value in where.items())
            raise InvalidInput("where", shown, "must leave points of the sweep")
        rows = flagged(chosen)
        worst = rows[rows["decided"] & ~rows["agreed"]]
        worst = worst.sort_values(["margin", "place"], ascending=[False, True], na_position="last")
        found = tuple(Disagreement.of(row) for _, row in worst.head(most or len(worst)).iterrows())
        return cls(store, found, Agreement.of(chosen))

    @property
    def total(self) -> int:
        """How many there are, also beyond `rows`."""
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


def descent_table(frame: pd.DataFrame) -> Grid:
    """How often the test loss descends: shares, predicted and observed, by dimension."""
    rows = flagged(frame)
    rows = rows[rows["ended"]].rename(columns={"predicted_descents": "said", "descents": "seen"})
    rows["d"] = rows["task"].map(dimension_of)
    agreed = int((rows["said"] == rows["seen"]).sum())
    rows[["said", "seen"]] = rows[["said", "seen"]].clip(upper=MOST_DESCENTS)
    decided = rows[rows["said"].notna()]
    numbers = sorted({*rows["said"].dropna().astype(int), *rows["seen"].astype(int)})
    cells = []
    for d, here in rows.groupby("d"):
        told = decided[decided["d"] == d]
        among = len(told) or 1
        shares = [
            f"{(told['said'] == n).sum() / among:.2%}, {(told['seen'] == n).sum() / among:.2%}"
            for n in numbers
        ]
        cells.append([f"{d}", f"{len(here):,}", f"{here['said'].isna().mean():.2%}", *shares])
    heads = [f">{n}{' or more' * (n == MOST_DESCENTS)}" for n in numbers]
    return Grid(
        title="Descents of the test loss",
        columns=[">d", ">points", ">undecided", *heads],
        rows=cells,
        below=[
            "Share of the decided points with so many descents of the test loss: predicted, "
            "observed.",
            f"Predicted as observed: {agreed:,} of {len(decided):,} decided points.",
        ],
    )
