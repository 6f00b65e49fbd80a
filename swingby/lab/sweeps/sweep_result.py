"""SweepResult: what a store holds of a grid, and what disagrees, as queries on one frame."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import NDArray

from swingby.errors import InvalidInput, MissingExtra
from swingby.lab.sweeps.frame import (
    Agreement,
    dimension_of,
    flagged,
    json_value,
    read_frame,
    read_rows,
    selected,
)
from swingby.lab.sweeps.grid import SweepGrid, as_grid, optional_whole
from swingby.lab.sweeps.point import Label, Point
from swingby.lab.sweeps.store import COLUMNS, Head, Kept, arrays_of, load_arrays, point_of, reading
from swingby.report import Drawn, Grid
from swingby.report.files import whole
from swingby.report.number_text import steps_text
from swingby.simulate.outcome import Outcome

if TYPE_CHECKING:
    import pandas as pd

    from swingby.lab.sweeps.frame import Function
    from swingby.lab.sweeps.phase_diagram import PhaseDiagram

#: Where the status stands in the values of a row.
_STATUS = [*COLUMNS].index("status")
#: Characters of a reason that is counted.
LONGEST_REASON = 120
#: A pivot below this share of its terms is cancellation.
SMALL_PIVOT = 1e-6
#: More descents of the test loss are counted together.
MOST_DESCENTS = 5

Numbers = tuple[float, ...]


@dataclass(frozen=True)
class Status(Agreement):
    """How far a sweep is: points of the grid (without one, rows of the store), and their labels.

    `reasons`: why points failed, without the value that was refused, and how many, the most
    frequent first; `per_second`: points per second in the last driver, None before its first chunk;
    `labels`: how many points have which predicted and which observed label.
    """

    reasons: dict[str, int]
    per_second: float | None

    def to_grid(self, store: Path) -> Grid:
        """Predicted labels down, observed labels across, with the counts around them."""
        rate = "" if self.per_second is None else f"; {self.per_second:.3g} per second"
        counts = (
            f"{self.total} points: {self.done} done, {self.failed} failed,"
            f" {self.missing} missing{rate}"
        )
        below = self.lines(interval=False)[:1] if self.labels else []
        below += [f"failed, {count}: {reason}" for reason, count in self.reasons.items()]
        return self.confusion(f"Sweep {store}", [counts], below[:12])

    def to_dict(self) -> dict[str, Any]:
        """The counts as plain values, ready for JSON."""
        names = ("total", "done", "failed", "missing", "reasons", "per_second")
        labels = [
            {"predicted": said, "observed": seen, "points": count}
            for (said, seen), count in self.labels.items()
        ]
        return {name: getattr(self, name) for name in names} | {"labels": labels}


# Points that are not observed as predicted, the worst first, and why


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
        vectors = zip(("signal", "mu", "sigma"), row["task"].split("|"), strict=True)
        parts: dict[str, Any] = dict(row) | {name: text or None for name, text in vectors}
        for name in ("width", "seed", "steps", "descents", "predicted_descents"):
            parts[name] = None if math.isnan(row[name]) else int(row[name])
        point = point_of(parts)
        said, bars, seen = (
            tuple(float(row[f"{name}_{k}"]) for k in range(1, point.dimension + 1))
            for name in ("predicted_half_time", "error", "half_time")
        )
        parts |= {"key": bytes.fromhex(row["key"]), "point": point, "half_times": seen}
        parts |= {"predicted_half_times": said, "error": bars}
        parts["why"] = _why(row, list(zip(said, bars, seen, strict=True)))
        return cls(**{field.name: parts[field.name] for field in fields(cls)})

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


def _why(row: Any, times: list[Numbers]) -> str:
    """Why a prediction failed, as far as the numbers of its row say."""
    margin, pivot = row["margin"], row["smallest_pivot"]
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
    import pandas as pd

    rows = flagged(frame)
    rows = rows[rows["ended"]]
    dimension, decided = rows["task"].map(dimension_of), rows["predicted_descents"].notna()
    counts = [rows[name].clip(upper=MOST_DESCENTS) for name in ("predicted_descents", "descents")]
    numbers = sorted({int(n) for one in counts for n in one.dropna()})
    shares = [
        pd.crosstab(dimension[decided], one[decided], normalize="index").reindex(
            index=dimension.unique(), columns=numbers, fill_value=0.0
        )
        for one in counts
    ]
    cells = []
    for d in sorted(set(dimension)):
        here = decided[dimension == d]
        both = [", ".join(f"{share.loc[d, n]:.2%}" for share in shares) for n in numbers]
        cells.append([str(d), f"{len(here):,}", f"{1 - here.mean():.2%}", *both])
    agreed = (rows["predicted_descents"] == rows["descents"]).sum()
    heads = [f">{n}{' or more' * (n == MOST_DESCENTS)}" for n in numbers]
    return Grid(
        title="Descents of the test loss",
        columns=[">d", ">points", ">undecided", *heads],
        rows=cells,
        below=[
            "Share of the decided points with so many descents of the test loss: predicted, "
            "observed.",
            f"Predicted as observed: {agreed:,} of {decided.sum():,} decided points.",
        ],
    )


# The rows of a store


class SweepResult(Drawn):
    """Rows of a store. Made by :func:`sweep`, or from the path of a store.

    Nothing is kept in memory: every method reads the file anew, so a store can be watched while a
    sweep writes it. Every row is checked against its digest; a store that was changed is refused.

    Parameters
    ----------
    store : str or Path
    grid : SweepGrid, dict or path of a TOML file, optional
        Which points; default all that the store holds.

    Raises
    ------
    InvalidInput
        If there is no such store.
    """

    def __init__(self, store: str | Path, grid: Any = None) -> None:
        self.grid: SweepGrid | None = None if grid is None else as_grid(grid)
        self._more: dict[str, Function] = {}
        with reading(store) as kept:
            self.store = kept.path

    def assign(self, **columns: Function) -> SweepResult:
        """The same rows with columns of one's own: labels, axes, panels.

        Parameters
        ----------
        **columns : callable
            A plain function from the frame of :meth:`to_frame` to a value per row. A label of
            one's own is a column named ``predicted`` or ``observed``: agreement, disagreements and
            diagrams are about it then. Rows that are missing have nan and None everywhere.

        Examples
        --------
        >>> import tempfile, swingby
        >>> grid = {"signal": [[4, 1]], "omega": [1e-3, 1e-6], "eta": 0.01, "dynamics": "gd"}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result = swingby.sweep(grid, store=f"{folder}/a", workers=0, progress=False)
        ...     slow = result.assign(slow=lambda frame: frame.half_time_2 > 500)
        ...     slow.to_frame()["slow"].tolist(), slow.phase_diagram("slow").x.values
        ([False, True], ('0', '1'))
        """
        found = SweepResult(self.store, self.grid)
        found._more = {**self._more, **columns}
        return found

    def _read(self) -> tuple[pd.DataFrame, Head]:
        """The frame, also of missing points, and the head of the store."""
        return read_frame(self.store, self.grid, self._more)

    def rows(self) -> Iterator[Kept]:
        """Rows one by one: in the order of the grid, or without one by place.

        Yields
        ------
        Kept
            ``point``, ``results`` (see :class:`swingby.lab.sweeps.point.Row`), ``reason``, ...
            Points that are missing are left out.
        """
        rows, _ = read_rows(self.store, self.grid)
        yield from (Kept.of(values) for values in rows if values[_STATUS] != "missing")

    def status(self) -> Status:
        """How many points are done, failed and missing, and why they failed."""
        frame, head = self._read()
        reasons = frame["reason"].dropna().str.split(", got ").str[0].str[:LONGEST_REASON]
        return Status(
            **vars(Agreement.of(frame)),
            reasons={str(name): int(count) for name, count in reasons.value_counts().items()},
            per_second=head.per_second,
        )

    def arrays(self, row: Any) -> dict[str, NDArray[Any]]:
        """The recorded ``steps`` and ``W`` of a row.

        Parameters
        ----------
        row : Kept, or row of the frame

        Returns
        -------
        dict from str to ndarray

        Raises
        ------
        InvalidInput
            If the grid asked for no record, or the file is missing, broken, or was changed.
        """
        if not isinstance(getattr(row, "arrays", None), str):
            raise InvalidInput("row", "a row without arrays", "must be of a grid with record")
        return load_arrays(arrays_of(self.store), row.arrays)

    def to_frame(self) -> Any:
        """All rows as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            One row per point. ``omega`` and ``eta`` are exact text, beside ``log10_omega`` and
            ``log10_eta``; concepts are counted from 1: ``a_1``, ``predicted_half_time_1``,
            ``error_1``, ``half_time_1``, ...
        """
        frame = self._read()[0]
        frame = frame[frame["status"] != "missing"].reset_index(drop=True)
        return frame.drop(columns=["task", "steps", "record"])

    def to_parquet(self, path: str | Path) -> Path:
        """Write all rows to a Parquet file, which appears complete or not at all.

        Raises InvalidInput if the path cannot be written, MissingExtra without pyarrow (extra
        ``report``).
        """
        try:
            importlib.import_module("pyarrow")
        except ImportError:
            raise MissingExtra("pyarrow", "report") from None
        frame = self.to_frame()
        with whole(path) as target:
            frame.to_parquet(target, engine="pyarrow", compression="zstd", index=False)
        return Path(path)

    def to_csv(self, path: str | Path) -> Path:
        """Write all rows to a CSV file, which appears complete or not at all.

        Raises InvalidInput if the path cannot be written.
        """
        frame = self.to_frame()
        with whole(path) as target:
            frame.to_csv(target, index=False, lineterminator="\r\n")
        return Path(path)

    def phase_diagram(
        self,
        x: str | None = None,
        y: str | None = None,
        *,
        where: Mapping[str, Any] | None = None,
        bins: int | None = None,
    ) -> PhaseDiagram:
        """Predicted and observed labels, margins and descents over two quantities.

        Parameters
        ----------
        x, y : str, optional
            ``omega``, ``eta``, ``width``, ``dimension``, ``dynamics``, ``a_1/a_2``, ``sigma_1``,
            ..., or any column of the frame; see :class:`swingby.lab.sweeps.frame.Quantity`.
            Default: the first ones that vary. All others are pooled, as the seeds are.
        where : dict from str to a value, optional
            Only these points: ``{"eta": "0.01", "dynamics": "gd"}``.
        bins : int, optional
            Bins per axis of numbers drawn at random. By default every draw is shown, up to 2000.

        Raises
        ------
        InvalidInput
            For an unknown quantity, or a value that no point has.
        """
        from swingby.lab.sweeps.phase_diagram import PhaseDiagram

        frame, head = self._read()
        design = self.grid
        if design is None and head.grid is not None:
            design = SweepGrid.from_dict(json.loads(head.grid))
        return PhaseDiagram.of(frame, design, self.store, x, y, where=where, bins=bins)

    def disagreements(
        self, limit: int | None = 20, *, where: Mapping[str, Any] | None = None
    ) -> Disagreements:
        """Points that the law decides and that are observed otherwise, by margin.

        Parameters
        ----------
        limit : int or None
            How many at most; None for all.
        where : dict, optional
            See :meth:`phase_diagram`.

        Returns
        -------
        Disagreements
            With the agreement over all points.
        """
        return Disagreements.of(self._read()[0], self.store, limit, where)

    def descents(self) -> Grid:
        """How often the test loss descends, predicted and observed, by dimension."""
        return descent_table(self._read()[0])

    def to_grid(self) -> Grid:
        """Counts as a table: predicted labels down, observed labels across."""
        return self.status().to_grid(self.store)

    def __repr__(self) -> str:
        status = self.status()
        return (
            f"<SweepResult {self.store}: {status.done} done, {status.failed} failed,"
            f" {status.missing} missing>"
        )
