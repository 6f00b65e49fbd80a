"""The points of a sweep that are not observed as predicted, the worst first, and why."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swingby.errors import InvalidInput
from swingby.report import Drawn, Grid
from swingby.report.numbers import steps_text
from swingby.simulate.outcome import Outcome
from swingby.sweeping.cells import Agreement, flagged, json_value
from swingby.sweeping.frame import selected
from swingby.sweeping.grid import optional_whole
from swingby.sweeping.point import Label, Point
from swingby.sweeping.store import point_of

if TYPE_CHECKING:
    import pandas as pd

#: A pivot below this share of its terms is cancellation.
SMALL_PIVOT = 1e-6
_ORDERS = (Label.IN_ORDER, Label.OUT_OF_ORDER)

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
        plain: dict[str, Any] = {
            name: None if value != value else value for name, value in row.items()
        }
        plain["signal"], plain["mu"], plain["sigma"] = (x or None for x in row["task"].split("|"))
        for name in ("width", "seed", "steps", "descents", "predicted_descents"):
            plain[name] = None if plain[name] is None else int(plain[name])
        point = plain["point"] = point_of(plain)
        for name in ("predicted_half_time", "error", "half_time"):
            times = (float(row[f"{name}_{k}"]) for k in range(1, point.dimension + 1))
            plain[name if name == "error" else f"{name}s"] = tuple(times)
        for name in ("margin", "smallest_pivot"):
            plain[name] = float(row[name])
        plain |= {"key": bytes.fromhex(row["key"]), "place": int(row["place"]), "why": ""}
        found = cls(**{field.name: plain[field.name] for field in fields(cls)})
        return replace(found, why=why(found, plain["outcome"]))

    def to_dict(self) -> dict[str, Any]:
        """The row as plain values, ready for JSON: inf as text, None for nan."""
        found = {name: json_value(value) for name, value in vars(self).items()}
        return found | {"key": self.key.hex(), "point": self.point.to_plain()}


def why(row: Disagreement, outcome: str | None = None) -> str:
    """Why a prediction failed, as far as the numbers of its row say."""
    if row.predicted in _ORDERS and row.observed in _ORDERS:
        if row.margin < 1:
            return "margin below 1: the order is within the error of the law"
        return _late(row)
    if row.observed == Label.DIVERGED:
        found = {
            str(Outcome.DIVERGED): "W left the float range",
            str(Outcome.LOST_PSD): "W lost positive semidefiniteness",
        }.get(outcome or "", "")
        return "; ".join(filter(None, (found, _pivot(row.smallest_pivot))))
    if row.predicted == Label.DIVERGED and row.smallest_pivot < 0:
        return f"predicted from a negative pivot, {row.smallest_pivot:.2g} of its terms"
    return _pivot(row.smallest_pivot)


def _pivot(share: float) -> str:
    if share == 0:
        return "only rounding is left of the smallest pivot"
    if abs(share) < SMALL_PIVOT:
        return f"the smallest pivot is {share:.1g} of its terms"
    return ""


def _late(row: Disagreement) -> str:
    """What is wrong with the half-times where their order should be clear."""
    times = list(zip(row.predicted_half_times, row.error, row.half_times, strict=False))
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
            rows=[_cells(row) for row in self.rows],
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


def _cells(row: Disagreement) -> list[str]:
    times = zip_longest(row.predicted_half_times, row.error, row.half_times, fillvalue=math.nan)
    return [
        str(row.point),
        row.predicted,
        row.observed,
        _number(row.margin),
        _number(row.smallest_pivot),
        "; ".join(_times(*one) for one in times),
        row.why,
    ]


def _times(said: float, bar: float, seen: float) -> str:
    error = f" +- {bar:.2g}" if math.isfinite(said) and math.isfinite(bar) else ""
    return f"{steps_text(said, 0)}{error} -> {steps_text(seen, 0)}"


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3g}"


def disagreements(
    frame: pd.DataFrame, store: Path, limit: int | None, where: Mapping[str, Any] | None
) -> Disagreements:
    """The decided points of a frame that are not observed as predicted, by margin."""
    most = optional_whole(limit, "limit", 1)
    chosen = selected(frame, where)
    if where and not len(chosen):
        shown = ", ".join(f"{name} = {value}" for name, value in where.items())
        raise InvalidInput("where", shown, "must leave points of the sweep")
    rows = flagged(chosen)
    worst = rows[rows["decided"] & ~rows["agreed"]]
    worst = worst.sort_values(["margin", "place"], ascending=[False, True], na_position="last")
    found = tuple(Disagreement.of(row) for _, row in worst.head(most or len(worst)).iterrows())
    return Disagreements(store, found, Agreement.of(chosen))


def descent_table(frame: pd.DataFrame) -> Grid:
    """How often the test loss descends: shares, predicted and observed, by dimension."""
    rows = flagged(frame)
    rows = rows[rows["ended"]].rename(columns={"predicted_descents": "said", "descents": "seen"})
    rows["d"] = [1 + one.split("|")[0 if one[0] != "|" else 1].count(",") for one in rows["task"]]
    agreed = int((rows["said"] == rows["seen"]).sum())
    most = 5  # more descents are counted together
    rows[["said", "seen"]] = rows[["said", "seen"]].clip(upper=most)
    decided = rows[rows["said"].notna()]
    numbers = sorted({*rows["said"].dropna().astype(int), *rows["seen"].astype(int)})
    cells = []
    for d, here in rows.groupby("d"):
        told = decided[decided["d"] == d]
        shares = [
            ", ".join(
                f"{(told[name] == n).mean() if len(told) else 0:.2%}" for name in ("said", "seen")
            )
            for n in numbers
        ]
        cells.append([f"{d}", f"{len(here):,}", f"{here['said'].isna().mean():.2%}", *shares])
    return Grid(
        title="Descents of the test loss",
        columns=[
            *(">d", ">points", ">undecided"),
            *(f">{n}{' or more' * (n == most)}" for n in numbers),
        ],
        rows=cells,
        below=[
            "Share of the decided points with so many descents of the test loss: predicted, "
            "observed.",
            f"Predicted as observed: {agreed:,} of {len(decided):,} decided points.",
        ],
    )
