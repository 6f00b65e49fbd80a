"""The file that a sweep is kept in: one SQLite database, written by one driver at a time."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from swingby.sweeping import store_file
from swingby.sweeping.kept import COLUMNS, Kept, State, from_columns, to_columns
from swingby.sweeping.lock import locked
from swingby.sweeping.point import Point, canonical
from swingby.sweeping.store_errors import refusing

#: Keys looked up at once, and rows read at once.
BATCH = 500

_PUT = """
INSERT INTO points (key, place, dimension, parameters, results, predicted, observed, status,
    reason, arrays)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET
    place = min(place, excluded.place), results = excluded.results,
    predicted = excluded.predicted, observed = excluded.observed, status = excluded.status,
    reason = excluded.reason, arrays = excluded.arrays
WHERE status = 'failed' OR excluded.status = 'done'
"""


class Store:
    """An open store. Made by :func:`writing` and :func:`reading`."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self.meta = store_file.read_meta(path, connection)

    @property
    def arrays(self) -> Path:
        """Folder of the npz files beside the store."""
        return self.path.with_name(self.path.name + ".arrays")

    def key(self, point: Point) -> bytes:
        """The key of a point in this store, with the versions that wrote it."""
        return point.key(self.meta["swingby"], int(self.meta["measure"]))

    def put(self, rows: Iterable[Kept]) -> None:
        """Keep rows, all or none of them.

        A row that is there already is replaced, but never a measured one by a failed one.

        Raises
        ------
        InvalidInput
            If the file cannot be written, for example because the disk is full. What was kept
            before stays.
        """
        values = [to_columns(row) for row in rows]
        now = time.time()
        with self._writing():
            self._connection.executemany(_PUT, values)
            self._connection.execute(
                "UPDATE drivers SET updated = ?, points = points + ?"
                " WHERE id = (SELECT max(id) FROM drivers)",
                (now, len(values)),
            )

    def note_driver(self, grid: dict[str, Any]) -> None:
        """Note that a driver begins, and on which grid.

        Raises
        ------
        InvalidInput
            If the file cannot be written.
        """
        now = time.time()
        with self._writing():
            self._connection.execute(
                "INSERT INTO drivers (started, updated, points) VALUES (?, ?, 0)", (now, now)
            )
            self._connection.execute(
                "INSERT INTO meta (name, value) VALUES ('grid', ?)"
                " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                (canonical(grid),),
            )

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        with refusing(self.path):
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                # A full disk may have rolled back already.
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

    def settled(self, keys: Sequence[bytes]) -> set[bytes]:
        """Those of the keys that need no more work: done, or failed for a reason of their own."""
        return {key for key, state in self.states(keys).items() if state.settled}

    def states(self, keys: Sequence[bytes]) -> dict[bytes, State]:
        """How those of the keys stand that are in the store."""
        columns = "key, reason, predicted, observed"
        return {key: State(*rest) for key, *rest in self._looked_up(columns, keys)}

    def rows(self, keys: Sequence[bytes] | None = None) -> Iterator[Kept]:
        """Rows, streamed.

        Parameters
        ----------
        keys : sequence of bytes, optional
            Which ones, in this order; those that are not there are left out. Default: all, by
            place.
        """
        if keys is None:
            query = f"SELECT {COLUMNS} FROM points ORDER BY place, key"  # noqa: S608
            with refusing(self.path):
                for values in self._connection.execute(query):
                    yield from_columns(self.path, values)
            return
        found = {values[0]: values for values in self._looked_up(COLUMNS, keys)}
        for key in keys:
            if key in found:
                yield from_columns(self.path, found[key])

    def _looked_up(self, columns: str, keys: Sequence[bytes]) -> Iterator[tuple[Any, ...]]:
        with refusing(self.path):
            for start in range(0, len(keys), BATCH):
                batch = list(keys[start : start + BATCH])
                marks = ",".join("?" * len(batch))
                query = f"SELECT {columns} FROM points WHERE key IN ({marks})"  # noqa: S608
                yield from self._connection.execute(query, batch)

    def stream(self, query: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """The answer to a query of our own, row by row.

        Parameters
        ----------
        query : str
            With ``?`` for values.
        values : sequence
        """
        with refusing(self.path):
            yield from self._connection.execute(query, tuple(values))

    @property
    def largest_dimension(self) -> int:
        """The largest d of a point; 0 in an empty store."""
        ((found,),) = self.stream("SELECT coalesce(max(dimension), 0) FROM points")
        return int(found)

    def rate(self) -> float | None:
        """Points per second in the last driver; None if it kept none yet."""
        query = "SELECT updated - started, points FROM drivers ORDER BY id DESC LIMIT 1"
        for seconds, points in self.stream(query):
            if points and seconds > 0:
                return float(points / seconds)
        return None


@contextlib.contextmanager
def writing(path: str | Path, wait: float = 5.0) -> Iterator[Store]:
    """Open a store for the one driver that writes it; made where there is none.

    Parameters
    ----------
    path : str or Path
    wait : float
        Seconds to wait for another driver.

    Raises
    ------
    InvalidInput
        If another driver holds it, or the file is no store, is damaged, belongs to another
        version, or cannot be written. Nothing in it is changed then.
    """
    target = store_file.checked_path(path)
    with locked(target, wait), contextlib.closing(store_file.open_to_write(target)) as connection:
        store = Store(target, connection)
        try:
            yield store
        finally:
            store_file.fold(connection)


@contextlib.contextmanager
def reading(path: str | Path) -> Iterator[Store]:
    """Open a store to read, also while a driver writes it.

    Raises
    ------
    InvalidInput
        If there is no such file, or it is no store.
    """
    target = store_file.checked_path(path)
    with contextlib.closing(store_file.open_to_read(target)) as connection:
        yield Store(target, connection)
