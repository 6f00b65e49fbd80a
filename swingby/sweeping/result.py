"""SweepResult: what a store holds of a grid, as tables and counts; read row by row."""

from __future__ import annotations

import csv
import importlib
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from swingby.errors import InvalidInput, MissingExtra
from swingby.report import Grid
from swingby.report.files import whole as writable
from swingby.sweeping import arrays
from swingby.sweeping.columns import column_types, record
from swingby.sweeping.grid import SweepGrid, as_grid
from swingby.sweeping.kept import Kept, State
from swingby.sweeping.status import Status, status_grid, summary
from swingby.sweeping.store import BATCH, Store, reading

if TYPE_CHECKING:
    from swingby.sweeping.phases.diagram import PhaseDiagram
    from swingby.sweeping.phases.disagreements import Disagreements

#: Rows that are held at once while a file is written.
GROUP = 5_000


class SweepResult:
    """Rows of a store. Made by :func:`sweep`, or from the path of a store.

    Nothing is loaded: every method reads the file anew, so a store can be watched while a sweep
    writes it.

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
        with reading(store) as kept:
            self.store = kept.path

    def rows(self) -> Iterator[Kept]:
        """Rows one by one: in the order of the grid, or without one by place.

        Yields
        ------
        Kept
            ``point``, ``results`` (see :class:`swingby.sweeping.measure.Row`), ``reason``, ...
            Points that are missing are left out.
        """
        with reading(self.store) as store:
            if self.grid is None:
                yield from store.rows()
                return
            for keys in self._keys(store):
                yield from store.rows(keys)

    def _keys(self, store: Store) -> Iterator[list[bytes]]:
        points = self.grid.points() if self.grid is not None else iter(())
        while batch := list(islice(points, BATCH)):
            yield [store.key(point) for point in batch]

    def status(self) -> Status:
        """How many points are done, failed and missing, and why they failed.

        Returns
        -------
        Status
        """
        counts: Counter[State] = Counter()
        missing = 0
        with reading(self.store) as store:
            if self.grid is None:
                query = "SELECT reason, predicted, observed FROM points"
                for state in store.stream(query):
                    counts[summary(State(*state))] += 1
            for keys in self._keys(store):
                states = store.states(keys)
                missing += sum(key not in states for key in keys)
                counts.update(summary(states[key]) for key in keys if key in states)
            per_second = store.rate()
        reasons: dict[str, int] = {}
        labels: dict[tuple[str, str], int] = {}
        for state, count in counts.most_common():
            if state.reason is not None:
                reasons[state.reason] = count
            else:
                labels[str(state.predicted), str(state.observed)] = count
        done, failed = sum(labels.values()), sum(reasons.values())
        return Status(
            total=done + failed + missing,
            done=done,
            failed=failed,
            missing=missing,
            reasons=reasons,
            per_second=per_second,
            labels=labels,
        )

    def arrays(self, row: Kept) -> dict[str, NDArray[Any]]:
        """The recorded ``steps`` and ``W`` of a row.

        Parameters
        ----------
        row : Kept

        Returns
        -------
        dict from str to ndarray

        Raises
        ------
        InvalidInput
            If the grid asked for no record, or the file is missing or broken.
        """
        if row.arrays is None:
            raise InvalidInput("row", "a row without arrays", "must be of a grid with record")
        return arrays.load(self.store.with_name(self.store.name + ".arrays"), row.arrays)

    def to_frame(self) -> Any:
        """All rows as a pandas DataFrame; for millions of rows write a file instead.

        Returns
        -------
        pandas.DataFrame
            One row per point. ``omega`` and ``eta`` are exact text, beside ``log10_omega`` and
            ``log10_eta``; concepts are counted from 1: ``a_1``, ``predicted_half_time_1``,
            ``error_1``, ``half_time_1``, ...
        """
        try:
            pandas = importlib.import_module("pandas")
        except ImportError:
            raise MissingExtra("pandas", "tables") from None
        dimension = self._dimension()
        kinds = column_types(dimension)
        records = [record(row, dimension) for row in self.rows()]
        columns = {name: [one[name] for one in records] for name in kinds}
        frame = pandas.DataFrame(columns, columns=list(kinds))
        return frame.astype({name: kind for name, kind in kinds.items() if kind is not str})

    def to_parquet(self, path: str | Path) -> Path:
        """Write all rows to a Parquet file, a group of rows at a time.

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        Path

        Raises
        ------
        MissingExtra
            If pyarrow is not installed.
        InvalidInput
            If the file cannot be written.
        """
        try:
            pyarrow = importlib.import_module("pyarrow")
            parquet = importlib.import_module("pyarrow.parquet")
        except ImportError:
            raise MissingExtra("pyarrow", "report") from None
        kinds = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64()}
        dimension = self._dimension()
        types = column_types(dimension)
        schema = pyarrow.schema([(name, kinds[kind]) for name, kind in types.items()])
        with (
            writable(path) as target,
            parquet.ParquetWriter(target, schema, compression="zstd") as writer,
        ):
            for records in self._groups(dimension):
                writer.write_table(pyarrow.Table.from_pylist(records, schema=schema))
        return Path(path)

    def to_csv(self, path: str | Path) -> Path:
        """Write all rows to a CSV file, a group of rows at a time.

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        Path

        Raises
        ------
        InvalidInput
            If the file cannot be written.
        """
        dimension = self._dimension()
        with writable(path) as target, target.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, list(column_types(dimension)))
            writer.writeheader()
            for records in self._groups(dimension):
                writer.writerows(records)
        return Path(path)

    def _groups(self, dimension: int) -> Iterator[list[dict[str, Any]]]:
        rows = self.rows()
        while group := list(islice(rows, GROUP)):
            yield [record(row, dimension) for row in group]

    def _dimension(self) -> int:
        if self.grid is not None:
            return self.grid.dims[-1]
        with reading(self.store) as store:
            return store.largest_dimension

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
            ...; see :class:`swingby.sweeping.phases.quantity.Quantity`. Default: the first ones
            that vary. All others are pooled, as the seeds are.
        where : dict from str to a value, optional
            Only these points: ``{"eta": "0.01", "dynamics": "gd"}``.
        bins : int, optional
            Bins per axis of numbers drawn at random. By default every draw is shown, up to 2000.

        Returns
        -------
        PhaseDiagram

        Raises
        ------
        InvalidInput
            For an unknown quantity, or a value that no point has.
        """
        from swingby.sweeping.phases.build import phase_diagram

        return phase_diagram(self, x, y, where=where, bins=bins)

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
        from swingby.sweeping.phases.disagreements import disagreements

        return disagreements(self, limit, where)

    def to_grid(self) -> Grid:
        """Counts as a table: predicted labels down, observed labels across.

        Returns
        -------
        swingby.report.Grid
        """
        return status_grid(self.status(), self.store)

    def __repr__(self) -> str:
        status = self.status()
        return (
            f"<SweepResult {self.store}: {status.done} done, {status.failed} failed,"
            f" {status.missing} missing>"
        )

    def __str__(self) -> str:
        return self.to_grid().to_text()

    def _repr_html_(self) -> str:
        return self.to_grid().to_html()
