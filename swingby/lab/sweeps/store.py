"""The file of a sweep: one SQLite database of typed columns, written by one driver at a time.

Every row carries a digest over all its columns, its point included, and the head of the file one
over the versions, the grid, the number of rows and the exclusive-or of their digests. Whoever reads
checks all of them first, so what is shown is what a sweep wrote, or nothing is shown.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import sqlite3
import time
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import swingby
from swingby.errors import InvalidInput
from swingby.lab.sweeps.point import MEASURE_VERSION, Point, canonical
from swingby.report.files import whole
from swingby.theory.input_files import opened, read_arrays

#: Raised when the tables change.
FORMAT = 2
#: "swby": tells our databases from those of other programs.
APPLICATION_ID = 0x73776279
#: Above this size the trees of a file are not checked before it is written, which reads all of it.
QUICK_CHECK_BYTES = 64 * 2**20
#: Seconds to wait for a reader or writer of the same file.
BUSY_SECONDS = 30.0
#: Begin of the reason of a point whose worker process died; a resume tries these again.
WORKER_DIED = "WorkerDied"

_COLUMNS = (
    "key BLOB NOT NULL, place INTEGER NOT NULL, signal TEXT, mu TEXT, sigma TEXT,"
    " omega TEXT NOT NULL, width INTEGER NOT NULL, seed INTEGER NOT NULL, eta TEXT NOT NULL,"
    " dynamics TEXT NOT NULL, steps INTEGER, record TEXT, status TEXT NOT NULL, reason TEXT,"
    " predicted TEXT, observed TEXT, outcome TEXT, margin REAL, smallest_pivot REAL,"
    " predicted_descents INTEGER, swing_margin REAL, predicted_transient REAL, descents INTEGER,"
    " transient REAL, last_step INTEGER, predicted_half_times BLOB, error BLOB, half_times BLOB,"
    " trapped BLOB, undecided BLOB, arrays TEXT"
)
#: All columns of a row but its digest, with their SQL types. A vector is exact text between commas;
#: one of results is a BLOB of float64 (little-endian), one per concept, nan for nothing.
COLUMNS = {name: kind for name, kind, *_ in map(str.split, _COLUMNS.split(","))}
_NAMES = [*COLUMNS]
#: The columns that hold results of a point.
RESULTS = {name: COLUMNS[name] for name in _NAMES[_NAMES.index("reason") + 1 : -1]}
#: Fields of a row that are columns as they are.
_FIELDS = ("key", "place", "reason", "arrays")

Values = tuple[Any, ...]
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Kept:
    """One row of a store: a point with its results, or the reason why it failed.

    `place` is that of the point in the grid that it was first measured for, `arrays` the name of
    the npz file where W was recorded, `results` as in :class:`swingby.lab.sweeps.point.Row`.
    """

    key: bytes
    place: int
    point: Point
    results: dict[str, Any] | None
    reason: str | None = None
    arrays: str | None = None

    def values(self, status: str | None = None) -> Values:
        """The row as values of :data:`COLUMNS`, in the types that SQLite gives back."""
        plain = self.point.to_plain() | (self.results or {})
        plain |= {name: getattr(self, name) for name in _FIELDS}
        plain["status"] = status or ("failed" if self.results is None else "done")
        return tuple(_typed(plain.get(name), kind) for name, kind in COLUMNS.items())

    @classmethod
    def of(cls, values: Values) -> Kept:
        """The row that :meth:`values` wrote."""
        plain = dict(zip(COLUMNS, values, strict=True))
        done = plain["status"] == "done"
        results = {name: _read(plain[name]) for name in RESULTS} if done else None
        parts = {name: plain[name] for name in _FIELDS}
        return cls(point=point_of(plain), results=results, **parts)


def point_of(plain: Any) -> Point:
    """The point of a row, from a mapping of its columns."""
    named = {name: plain[name] for name in ("omega", "width", "seed", "eta", "dynamics", "steps")}
    for name in ("signal", "mu", "sigma"):
        named[name] = None if plain[name] is None else tuple(plain[name].split(","))
    record = plain["record"]
    return Point(**named, record=int(record) if record and record.isdigit() else record)


def _typed(value: Any, kind: str) -> Any:
    if value is None or isinstance(value, bytes):
        return value
    if kind == "BLOB":
        return np.array(value, dtype="<f8").tobytes()
    if kind == "REAL":
        return float(value) + 0.0  # SQLite has no minus zero
    if kind == "INTEGER":
        return int(value)
    return ",".join(value) if isinstance(value, list) else str(value)


def _read(value: Any) -> Any:
    if not isinstance(value, bytes):
        return value
    return [None if one != one else one for one in np.frombuffer(value, "<f8").tolist()]


def digest_of(values: Values) -> bytes:
    """SHA-256 over the values of a row, as text that tells every bit and every type apart."""
    return hashlib.sha256(ascii(values).encode()).digest()


def _combined(one: bytes, other: bytes) -> bytes:
    """Exclusive-or: the checksum of rows does not depend on their order."""
    return (int.from_bytes(one) ^ int.from_bytes(other)).to_bytes(32)


@dataclass(frozen=True)
class Head:
    """The single row of the table `head`: who wrote the file, for which grid, and all its rows.

    `started`, `updated` (seconds since 1970) and `points` are of the last driver; `checksum` is the
    exclusive-or of the digests of the rows.
    """

    swingby: str
    measure: int
    created: float
    grid: str | None = None
    started: float = 0.0
    updated: float = 0.0
    points: int = 0
    rows: int = 0
    checksum: bytes = bytes(32)

    @property
    def per_second(self) -> float | None:
        """Points per second in the last driver; None if it kept none yet."""
        seconds = self.updated - self.started
        return self.points / seconds if self.points and seconds > 0 else None


_TABLES = {
    "head": "CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), swingby TEXT NOT NULL,"
    " measure INTEGER NOT NULL, created REAL NOT NULL, grid TEXT, started REAL NOT NULL,"
    " updated REAL NOT NULL, points INTEGER NOT NULL, rows INTEGER NOT NULL,"
    " checksum BLOB NOT NULL, digest BLOB NOT NULL) STRICT",
    "points": f"CREATE TABLE points ({_COLUMNS}, digest BLOB NOT NULL, PRIMARY KEY (key))"
    " STRICT, WITHOUT ROWID",
}
_HEAD = ", ".join(field.name for field in fields(Head))
_ALL = ", ".join(COLUMNS)


class Store:
    """An open store. Made by :func:`writing` and :func:`reading`."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        with refusing(path):
            rows = connection.execute(f"SELECT {_HEAD}, digest FROM head").fetchall()  # noqa: S608
        if len(rows) != 1 or digest_of(rows[0][:-1]) != rows[0][-1]:
            raise damaged(path, "its head was changed after it was written")
        self.head = Head(*rows[0][:-1])

    @property
    def arrays(self) -> Path:
        """Folder of the npz files beside the store."""
        return arrays_of(self.path)

    def key(self, point: Point) -> bytes:
        """The key of a point in this store, with the versions that wrote it."""
        return point.key(self.head.swingby, self.head.measure)

    def values(self) -> Iterator[Values]:
        """All rows, checked one by one and, at the end, as a whole."""
        count, checksum = 0, bytes(32)
        for values, digest, sound in self._scan():
            if not sound:
                raise self.changed(values)
            count, checksum = count + 1, _combined(checksum, digest)
            yield values
        if (count, checksum) != (self.head.rows, self.head.checksum):
            raise _refused(
                self.path,
                f"must hold the {self.head.rows} rows that were written, it has {count}, or others:"
                f" {self._command()} measures what is missing",
            )

    def rows(self) -> Iterator[Kept]:
        """All rows, by key."""
        return map(Kept.of, self.values())

    def _scan(self) -> Iterator[tuple[Values, bytes, bool]]:
        """All rows with their digests, and whether these are theirs."""
        with refusing(self.path):
            for found in self._connection.execute(f"SELECT {_ALL}, digest FROM points"):  # noqa: S608
                values, digest = found[:-1], found[-1]
                yield values, digest, digest_of(values) == digest

    def changed(self, values: Values) -> InvalidInput:
        """The error for a row that is not what was written."""
        named = dict(zip(COLUMNS, values, strict=True))
        try:
            shown = str(point_of(named))
        except (ValueError, TypeError, AttributeError):
            shown = "its point cannot be read"
        return _refused(
            self.path,
            f"has row {named['place']} ({shown}) changed after it was written: {self._command()}"
            " measures it again",
        )

    def _command(self) -> str:
        return f'"swingby sweep GRID --store {self.path.name}"'

    def check_trees(self, how: str) -> None:
        """Refuse a file whose pages do not fit together, by SQLite's own check."""
        with refusing(self.path):
            verdict = self._connection.execute(f"PRAGMA {how}(1)").fetchone()[0]
        if verdict != "ok":
            raise damaged(self.path, verdict)

    def mend(self) -> tuple[int, set[bytes]]:
        """Drop rows that were changed after they were written.

        How many are to be measured again, and the keys of those that need no more work: done, with
        their arrays, or failed for a reason of their own.
        """
        dropped, settled, count, checksum = [], set(), 0, bytes(32)
        for values, digest, sound in self._scan():
            named = dict(zip(COLUMNS, values, strict=True))
            if not sound:
                dropped.append((named["key"],))
                continue
            count, checksum = count + 1, _combined(checksum, digest)
            # The folder of arrays may have stayed behind when the store was copied.
            lacks = named["arrays"] and not _array_file(self.arrays, named["arrays"]).exists()
            if not lacks and not (named["reason"] or "").startswith(WORKER_DIED):
                settled.add(named["key"])
        if not dropped and (count, checksum) == (self.head.rows, self.head.checksum):
            return 0, settled
        self.check_trees("quick_check")  # a row is found again by its key alone
        lost = max(len(dropped), abs(self.head.rows - count), 1)
        with self._writing():
            self._connection.executemany("DELETE FROM points WHERE key = ?", dropped)
            self.head = replace(self.head, rows=count, checksum=checksum)
        return lost, settled

    def put(self, rows: Iterable[Kept]) -> None:
        """Keep rows, all or none of them.

        A row that is there already is replaced, but never a measured one by a failed one. If the
        disk is full, what was kept before stays.
        """
        query = "SELECT place, status, digest FROM points WHERE key = ?"
        marks = ", ".join("?" * (len(COLUMNS) + 1))
        insert = f"INSERT OR REPLACE INTO points ({_ALL}, digest) VALUES ({marks})"  # noqa: S608
        with self._writing():
            for row in rows:
                count, checksum = self.head.rows, self.head.checksum
                named = dict(zip(COLUMNS, row.values(), strict=True))
                old = self._connection.execute(query, (row.key,)).fetchone()
                if old is not None and (old[1], named["status"]) == ("done", "failed"):
                    continue
                if old is not None:
                    named["place"] = min(named["place"], old[0])
                    checksum = _combined(checksum, old[2])
                values = tuple(named.values())
                digest = digest_of(values)
                self._connection.execute(insert, (*values, digest))
                self.head = replace(
                    self.head,
                    rows=count + (old is None),
                    checksum=_combined(checksum, digest),
                    points=self.head.points + 1,
                )
            self.head = replace(self.head, updated=time.time())

    def note_driver(self, grid: dict[str, Any]) -> None:
        """Note that a driver begins, and on which grid."""
        now = time.time()
        with self._writing():
            text = canonical(grid)
            self.head = replace(self.head, grid=text, started=now, updated=now, points=0)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """A transaction: the rows and the head that the block leaves, or what was before."""
        before = self.head
        with refusing(self.path):
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield
                _write_head(self._connection, self.head)
                self._connection.execute("COMMIT")
            except BaseException:
                self.head = before
                # A full disk may have rolled back already.
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise


def _write_head(connection: sqlite3.Connection, head: Head) -> None:
    values = astuple(head)
    marks = ", ".join("?" * (len(values) + 2))
    connection.execute(
        f"INSERT OR REPLACE INTO head (one, {_HEAD}, digest) VALUES ({marks})",  # noqa: S608
        (1, *values, digest_of(values)),
    )


@contextlib.contextmanager
def writing(path: str | Path, wait: float = 5.0) -> Iterator[Store]:
    """Open a store for the one driver that writes it, made where there is none.

    Refused, and left as it is, if another driver holds it for longer than `wait` seconds, or the
    file is no store, is damaged, belongs to another version, or cannot be written.
    """
    target = checked_path(path)
    with _locked(target, wait), _connected(target, target) as connection:
        with refusing(target):
            if _is_empty(connection):
                _make(connection)
            _check(target, connection)
            store = Store(target, connection)
            if target.stat().st_size <= QUICK_CHECK_BYTES:
                store.check_trees("quick_check")
            for name, value, held in (
                ("swingby", swingby.__version__, store.head.swingby),
                ("measure", MEASURE_VERSION, store.head.measure),
            ):
                if value != held:
                    raise _refused(
                        target,
                        f"must have been written by this version ({name} {value}, it is {held}):"
                        " rows of two versions are not mixed; use another store",
                    )
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            # A file that cannot be written is found out now, not after the first points.
            with store._writing():
                connection.execute("UPDATE head SET rows = rows")
        try:
            yield store
        finally:
            # One file, without a log beside it; where somebody reads it, the log stays.
            with contextlib.suppress(sqlite3.Error):
                connection.execute("PRAGMA busy_timeout = 0")
                connection.execute("PRAGMA journal_mode = DELETE")


@contextlib.contextmanager
def reading(path: str | Path) -> Iterator[Store]:
    """Open a store to read, as it is now, also while a driver writes it."""
    target = checked_path(path)
    if not target.exists():
        raise _refused(target, "must be a sweep store that exists")
    with _connected(target, f"{target.as_uri()}?mode=ro") as connection:
        with refusing(target):
            connection.execute("BEGIN")
            _check(target, connection)
        yield Store(target, connection)


def verify_store(path: str | Path) -> int:
    """Check every byte of a store that means something: its schema, its rows, and its arrays.

    The number of rows; an :class:`InvalidInput` names in one sentence what was changed, and the
    command that measures it again. Each row has the digest of its columns and the key of its
    point; together they are the rows that were written; recorded arrays are those that the rows
    name.
    """
    with reading(path) as store:
        store.check_trees("integrity_check")
        for row in store.rows():
            if row.key != store.key(row.point):
                raise store.changed(row.values())
            if row.arrays is not None:
                load_arrays(store.arrays, row.arrays)
        return store.head.rows


# The file


def checked_path(path: str | Path) -> Path:
    """A path at which a store can be: one name for one file, as the lock goes by the name."""
    if not isinstance(path, (str, Path)) or not str(path):
        raise _refused(path, "must be the path of a file")
    try:
        target = Path(path).resolve()
        folder, inside = target.is_dir(), target.parent.is_dir()
    except (OSError, ValueError, RuntimeError) as error:
        raise _refused(repr(path), f"must be the path of a file ({error})") from None
    if folder:
        raise _refused(path, "must be a file, not a folder")
    if not inside:
        raise _refused(path, "must lie in a folder that exists")
    return target


@contextlib.contextmanager
def _connected(path: Path, address: Path | str) -> Iterator[sqlite3.Connection]:
    """A connection that runs nothing that a file may hold, without implicit transactions."""
    try:
        begin = b""
        if path.exists():
            with opened(path) as stream:
                begin = stream.read(16)
    except OSError as error:
        raise _refused(path, f"must be readable ({error.strerror})") from None
    if begin and begin != b"SQLite format 3\0":  # an empty file may become one
        raise _refused(path, "must be a sweep store; this file is no database")
    uri = isinstance(address, str)
    with refusing(path):
        connection = sqlite3.connect(address, uri=uri, timeout=BUSY_SECONDS, isolation_level=None)
    with contextlib.closing(connection):
        with refusing(path):
            for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0"):
                connection.execute(f"PRAGMA {pragma}")
        yield connection


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _schema(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
    query = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name"
    return connection.execute(query).fetchall()


def _is_empty(connection: sqlite3.Connection) -> bool:
    """No tables and no owner: new, or left by a driver that was killed while making it."""
    owner, version = _pragma(connection, "application_id"), _pragma(connection, "user_version")
    return not owner and not version and not _schema(connection)


def _make(connection: sqlite3.Connection) -> None:
    """Create the tables of an empty database, in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    for table in _TABLES.values():
        connection.execute(table)
    _write_head(connection, Head(swingby.__version__, MEASURE_VERSION, time.time()))
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    connection.execute("COMMIT")


def _check(path: Path, connection: sqlite3.Connection) -> None:
    """Refuse a database that is not a store of this format, with exactly its tables, in full."""
    if _is_empty(connection):
        raise _refused(path, "must be a sweep store; this file is empty")
    if _pragma(connection, "application_id") != APPLICATION_ID:
        raise _refused(path, "must be a sweep store; this database belongs to another program")
    version = _pragma(connection, "user_version")
    if version != FORMAT:
        raise _refused(
            path,
            f"must have tables of format {FORMAT}, these have format {version}: read it with the"
            " swingby that wrote it, or sweep into another file",
        )
    if _schema(connection) != [("table", name, name, sql) for name, sql in _TABLES.items()]:
        raise damaged(path, "its tables are not those of a sweep store, or not these alone")
    size = path.stat().st_size
    whole = _pragma(connection, "page_count") * _pragma(connection, "page_size")
    log = path.with_name(path.name + "-wal")
    # A log may hold pages that the file does not have yet.
    if size < whole and not (log.exists() and log.stat().st_size):
        raise damaged(path, f"{size} bytes are left of {whole}")


@contextlib.contextmanager
def _locked(store: Path, wait: float) -> Iterator[None]:
    """Hold the lock of a store: an exclusive transaction on the empty database ``<store>.lock``.

    SQLite takes a lock of the operating system for it, which also excludes a second thread, and
    which a killed process cannot leave behind. The file itself stays and means nothing.
    """
    end = time.monotonic() + wait
    try:
        place = store.with_name(store.name + ".lock")
        lock = sqlite3.connect(place, timeout=0, isolation_level=None)
    except sqlite3.Error as error:
        raise _no_lock(store, error) from None
    with contextlib.closing(lock):
        while True:
            try:
                lock.execute("BEGIN EXCLUSIVE")
                break
            except sqlite3.Error as error:
                if "locked" not in str(error):
                    raise _no_lock(store, error) from None
            if time.monotonic() >= end:
                shown = f"is being written by another sweep (waited {wait:g} s for it)"
                raise _refused(store, shown)
            time.sleep(0.1)  # short enough for Ctrl-C
        yield


def _no_lock(store: Path, error: Exception) -> InvalidInput:
    return _refused(store, f"must lie in a folder that is writable, {store.parent} ({error})")


@contextlib.contextmanager
def refusing(path: Path) -> Iterator[None]:
    """Say in words what SQLite says about a file."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
        text = str(error)
        said = next(said for words, said in _SAYS.items() if re.search(words, text))
        raise _refused(path, said.format(text)) from error


_SAYS = {
    "full|disk I/O": "must have room on its disk ({}); what was kept stays, and the same call goes"
    " on from there once there is room",
    "readonly": "must be writable ({}); nothing was changed",
    "unable to open": "must be a file that can be opened ({})",
    "locked|busy": "is held by another program ({})",
    "not a database": "must be a sweep store ({})",
    "": "is damaged ({}) and was left as it is: take a sound copy, or sweep into another file",
}


def _refused(path: object, requirement: str) -> InvalidInput:
    return InvalidInput("store", path, requirement)


def damaged(path: Path, why: str) -> InvalidInput:
    """The error for a store that cannot be read."""
    return _refused(path, _SAYS[""].format(why))


# Arrays that belong to rows: npz files without pickled objects, named by their content


def arrays_of(store: Path) -> Path:
    """Where the arrays of a store lie."""
    return store.with_name(store.name + ".arrays")


def _name_of(arrays: Arrays) -> str:
    """SHA-256 over names, types, shapes and numbers."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _array_file(folder: Path, name: str) -> Path:
    return folder / f"{Path(name).name}.npz"


def keep_arrays(folder: Path, arrays: Arrays) -> str:
    """Write arrays, complete or not at all, unless they are there; the name to load them by."""
    name = _name_of(arrays)
    with contextlib.suppress(InvalidInput):
        load_arrays(folder, name)
        return name
    with whole(_array_file(folder, name), "store") as temporary:
        folder.mkdir(exist_ok=True)
        with open(temporary, "wb") as stream:
            np.savez_compressed(stream, allow_pickle=False, **arrays)
    return name


def load_arrays(folder: Path, name: str) -> Arrays:
    """Read arrays that :func:`keep_arrays` wrote; nothing is unpickled."""
    path = _array_file(folder, name)
    again = f'"swingby sweep GRID --store {folder.name.removesuffix(".arrays")}" writes it again'
    if path.exists():
        again = f"delete it, and {again}"
    try:
        arrays = read_arrays(path, "arrays")
    except InvalidInput as error:
        wanted = f"must be an npz file of this store ({error.requirement}): {again}"
        raise InvalidInput("arrays", path, wanted) from None
    if _name_of(arrays) != name:
        wanted = f"must hold what its name says; it was changed: {again}"
        raise InvalidInput("arrays", path, wanted)
    return arrays
