"""SweepResult: what a store holds of a grid, as queries on one frame."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from swingby.errors import InvalidInput, MissingExtra
from swingby.report import Drawn, Grid
from swingby.report.files import whole
from swingby.sweeping.frame import Agreement, read_frame
from swingby.sweeping.grid import SweepGrid, as_grid
from swingby.sweeping.store import Kept, arrays_of, load_arrays, reading

if TYPE_CHECKING:
    import pandas as pd

    from swingby.sweeping.disagreements import Disagreements
    from swingby.sweeping.frame import Function
    from swingby.sweeping.picture import PhaseDiagram

#: Characters of a reason that is counted.
LONGEST_REASON = 120


@dataclass(frozen=True)
class Status:
    """How far a sweep is: points of the grid (without one, rows of the store), and their labels.

    `reasons`: why points failed, without the value that was refused, and how many, the most
    frequent first; `per_second`: points per second in the last driver, None before its first chunk;
    `labels`: how many points have which predicted and which observed label.
    """

    total: int
    done: int
    failed: int
    missing: int
    reasons: dict[str, int]
    per_second: float | None
    labels: dict[tuple[str, str], int]
    agreement: Agreement

    def to_grid(self, store: Path) -> Grid:
        """Predicted labels down, observed labels across, with the counts around them."""
        rate = "" if self.per_second is None else f"; {self.per_second:.3g} per second"
        counts = (
            f"{self.total} points: {self.done} done, {self.failed} failed,"
            f" {self.missing} missing{rate}"
        )
        below = [f"failed, {count}: {reason}" for reason, count in self.reasons.items()]
        agreed, decided = self.agreement.agreed, self.agreement.decided
        if self.labels:
            share = f" ({100 * agreed / decided:.4g}%)" if decided else ""
            below.insert(0, f"predicted as observed: {agreed} of {decided} decided points{share}")
        return self.agreement.to_grid(f"Sweep {store}", [counts], below[:12])

    def to_dict(self) -> dict[str, Any]:
        """The counts as plain values, ready for JSON."""
        names = ("total", "done", "failed", "missing", "reasons", "per_second")
        labels = [
            {"predicted": said, "observed": seen, "points": count}
            for (said, seen), count in self.labels.items()
        ]
        return {name: getattr(self, name) for name in names} | {"labels": labels}


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

    def _read(self) -> tuple[pd.DataFrame, float | None, str | None]:
        """The frame, also of missing points; points per second; the grid that was swept last."""
        frame, head = read_frame(self.store, self.grid, self._more)
        return frame, head.per_second, head.grid

    def rows(self) -> Iterator[Kept]:
        """Rows one by one: in the order of the grid, or without one by place.

        Yields
        ------
        Kept
            ``point``, ``results`` (see :class:`swingby.sweeping.point.Row`), ``reason``, ...
            Points that are missing are left out.
        """
        with reading(self.store) as store:
            found = {row.key: row for row in store.rows()}
            keys = None if self.grid is None else [store.key(one) for one in self.grid.points()]
        if keys is None:
            yield from sorted(found.values(), key=lambda row: (row.place, row.key))
        else:
            yield from (found[key] for key in keys if key in found)

    def status(self) -> Status:
        """How many points are done, failed and missing, and why they failed."""
        frame, per_second, _ = self._read()
        found = Agreement.of(frame)
        reasons = frame["reason"].dropna().str.split(", got ").str[0].str[:LONGEST_REASON]
        return Status(
            total=found.points,
            done=found.done,
            failed=found.failed,
            missing=found.missing,
            reasons={str(name): int(count) for name, count in reasons.value_counts().items()},
            per_second=per_second,
            labels=dict(found.counts),
            agreement=found,
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
        if not isinstance(row.arrays, str):
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

        Raises
        ------
        MissingExtra
            If pyarrow is not installed.
        InvalidInput
            If the file cannot be written.
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

        Raises
        ------
        InvalidInput
            If the file cannot be written.
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
            ..., or any column of the frame; see :class:`swingby.sweeping.frame.Quantity`. Default:
            the first ones that vary. All others are pooled, as the seeds are.
        where : dict from str to a value, optional
            Only these points: ``{"eta": "0.01", "dynamics": "gd"}``.
        bins : int, optional
            Bins per axis of numbers drawn at random. By default every draw is shown, up to 2000.

        Raises
        ------
        InvalidInput
            For an unknown quantity, or a value that no point has.
        """
        from swingby.sweeping.picture import PhaseDiagram

        frame, _, swept = self._read()
        design = self.grid
        if design is None and swept is not None:
            design = SweepGrid.from_dict(json.loads(swept))
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
        from swingby.sweeping.disagreements import Disagreements

        return Disagreements.of(self._read()[0], self.store, limit, where)

    def descents(self) -> Grid:
        """How often the test loss descends, predicted and observed, by dimension."""
        from swingby.sweeping.disagreements import descent_table

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
