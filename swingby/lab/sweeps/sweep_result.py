"""SweepResult: the rows of a store, and questions to them, as queries on the frame."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from numpy.typing import NDArray

from swingby.errors import InvalidInput, MissingExtra
from swingby.lab.sweeps.agreement import Agreement, flagged
from swingby.lab.sweeps.disagreements import Disagreements
from swingby.lab.sweeps.frame import read_frame
from swingby.lab.sweeps.grid import SweepGrid, as_grid
from swingby.lab.sweeps.point import dimension_of
from swingby.lab.sweeps.recorded_arrays import load_arrays
from swingby.lab.sweeps.store import StoreContent, existing_store, read_store
from swingby.lab.sweeps.stored_row import StoredRow
from swingby.report import Drawn, Grid
from swingby.report.files import whole, write_csv

if TYPE_CHECKING:
    import pandas as pd

    from swingby.lab.sweeps.frame import Function
    from swingby.lab.sweeps.phase_diagram import PhaseDiagram

#: Characters of a reason that is counted.
_LONGEST_REASON = 120
#: More descents of the test loss are counted together.
_MOST_DESCENTS = 5


@dataclass(frozen=True)
class Status(Agreement):
    """Counts of the points of a grid, or of the rows of a store, and their labels.

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
            {"predicted": predicted, "observed": observed, "points": count}
            for (predicted, observed), count in self.labels.items()
        ]
        return {name: getattr(self, name) for name in names} | {"labels": labels}


def _descent_table(frame: pd.DataFrame) -> Grid:
    """How often the test loss descends: shares, predicted and observed, by dimension."""
    import pandas as pd

    rows = flagged(frame)
    rows = rows[rows["ended"]]
    dimension, decided = rows["task"].map(dimension_of), rows["predicted_descents"].notna()
    columns = [rows[name].clip(upper=_MOST_DESCENTS) for name in ("predicted_descents", "descents")]
    numbers = sorted({int(number) for column in columns for number in column.dropna()})
    shares = [
        pd.crosstab(dimension[decided], column[decided], normalize="index").reindex(
            index=dimension.unique(), columns=numbers, fill_value=0.0
        )
        for column in columns
    ]
    cells = []
    for d in sorted(set(dimension)):
        here = decided[dimension == d]
        both = [", ".join(f"{share.loc[d, n]:.2%}" for share in shares) for n in numbers]
        cells.append([str(d), f"{len(here):,}", f"{1 - here.mean():.2%}", *both])
    agreed = (rows["predicted_descents"] == rows["descents"]).sum()
    heads = [f">{n}{' or more' * (n == _MOST_DESCENTS)}" for n in numbers]
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


class SweepResult(Drawn):
    """Rows of a store. Made by :func:`sweep`, or from the path of a store.

    Nothing is held in memory: every method reads the files again, so you can watch a store while a
    sweep writes it. Every file is checked against its digest; a store that was changed is refused.

    Parameters
    ----------
    store : str or Path
    grid : SweepGrid, dict or path of a TOML file, optional
        The points; default all points that the store holds.

    Raises
    ------
    InvalidInput
        If there is no such store.
    """

    def __init__(self, store: str | Path, grid: Any = None) -> None:
        self.grid: SweepGrid | None = None if grid is None else as_grid(grid)
        self._more: dict[str, Function] = {}
        self.store = existing_store(store)

    def assign(self, **columns: Function) -> SweepResult:
        """The same rows with columns of your own: labels, axes, panels.

        Parameters
        ----------
        **columns : callable
            A plain function from the frame of :meth:`to_frame` to a value per row. A label of
            your own is a column named ``predicted`` or ``observed``: agreement, disagreements and
            diagrams are about it then. Rows that are missing have nan and None everywhere.

        Examples
        --------
        >>> import tempfile, swingby
        >>> grid = {"signal": [[4, 1]], "omega": [1e-3, 1e-6], "eta": 0.01, "dynamics": "gd"}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result = swingby.sweep(grid, out=f"{folder}/a", workers=0, progress=False)
        ...     slow = result.assign(slow=lambda frame: frame.half_time_2 > 500)
        ...     slow.to_frame()["slow"].tolist(), slow.phase_diagram("slow").x.values
        ([False, True], ('0', '1'))
        """
        result = SweepResult(self.store, self.grid)
        result._more = {**self._more, **columns}
        return result

    def _read(self) -> tuple[pd.DataFrame, StoreContent]:
        """The frame, also of missing points, and the content of the store."""
        return read_frame(self.store, self.grid, self._more)

    def rows(self) -> Iterator[StoredRow]:
        """Rows in the order of the grid, or by place if there is no grid.

        Yields
        ------
        StoredRow
            ``point``, ``results`` (see :class:`swingby.lab.sweeps.measurement.Measurement`),
            ``reason``, ... Points that are missing are left out.
        """
        content = read_store(self.store)
        if self.grid is None:
            rows = (StoredRow.from_plain(content.plain_row(key)) for key in content.lines)
            yield from sorted(rows, key=lambda row: (row.place, row.key))
            return
        for point in self.grid.points():
            key = point.key(*content.versions).hex()
            if key in content.lines:
                yield StoredRow.from_plain(content.plain_row(key))

    def status(self) -> Status:
        """Counts of points that are done, failed and missing, and why they failed."""
        frame, content = self._read()
        reasons = frame["reason"].dropna().str.split(", got ").str[0].str[:_LONGEST_REASON]
        return Status(
            **vars(Agreement.of(frame)),
            reasons={str(name): int(count) for name, count in reasons.value_counts().items()},
            per_second=content.per_second,
        )

    def arrays(self, row: Any) -> dict[str, NDArray[Any]]:
        """The recorded ``steps`` and ``W`` of a row.

        Parameters
        ----------
        row : StoredRow, or row of the frame

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
        return load_arrays(self.store, row.arrays)

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

    def to_csv(self, path: str | Path | IO[Any]) -> Path | None:
        """Write all rows as CSV to a file, which appears complete or not at all, or to a stream.

        A path that ends in ``.gz`` is compressed. Raises InvalidInput if it cannot be written.
        Returns the path, or None for a stream.
        """
        write_csv(self.to_frame(), path, lineterminator="\r\n")
        return None if hasattr(path, "write") else Path(path)

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
            ..., or any column of the frame; see :class:`swingby.lab.sweeps.quantity.Quantity`.
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

        frame, content = self._read()
        design = self.grid
        if design is None and content.grid:
            design = SweepGrid.from_dict(content.grid)
        return PhaseDiagram.of(frame, design, self.store, x, y, where=where, bins=bins)

    def disagreements(
        self, limit: int | None = 20, *, where: Mapping[str, Any] | None = None
    ) -> Disagreements:
        """Points where a decided prediction differs from the observation, by margin.

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
        return _descent_table(self._read()[0])

    def to_grid(self) -> Grid:
        """Counts as a table: predicted labels down, observed labels across."""
        return self.status().to_grid(self.store)

    def __repr__(self) -> str:
        status = self.status()
        return (
            f"<SweepResult {self.store}: {status.done} done, {status.failed} failed,"
            f" {status.missing} missing>"
        )
