"""The file of a store: made, opened, recognised, and refused in words."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from pathlib import Path

import swingby
from swingby.errors import InvalidInput
from swingby.sweeping.point import MEASURE_VERSION
from swingby.sweeping.store_errors import damaged, refusing

#: Raised when the tables change.
SCHEMA_VERSION = 1
#: "swby": tells our databases from those of other programs.
APPLICATION_ID = 0x73776279
#: Above this size only the head of a file is checked when it is opened, because the check reads
#: all of it.
QUICK_CHECK_BYTES = 64 * 2**20
#: Seconds to wait for a reader or writer of the same file.
BUSY_SECONDS = 30.0

_MAGIC = b"SQLite format 3\0"
_TABLES = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    """CREATE TABLE points (
        key BLOB PRIMARY KEY,
        place INTEGER NOT NULL,
        dimension INTEGER NOT NULL,
        parameters TEXT NOT NULL,
        results TEXT,
        predicted TEXT,
        observed TEXT,
        status TEXT NOT NULL CHECK (status IN ('done', 'failed')),
        reason TEXT,
        arrays TEXT
    )""",
    """CREATE TABLE drivers (
        id INTEGER PRIMARY KEY,
        started REAL NOT NULL,
        updated REAL NOT NULL,
        points INTEGER NOT NULL
    )""",
)


def checked_path(path: str | Path) -> Path:
    """A path at which a store can be.

    Raises
    ------
    InvalidInput
        If it is no path, a folder, or its folder does not exist.
    """
    if not isinstance(path, (str, Path)) or not str(path):
        raise InvalidInput("store", path, "must be the path of a file")
    try:
        # One name for one file: the lock and the folders beside it go by the name.
        target = Path(path).resolve()
        folder, inside = target.is_dir(), target.parent.is_dir()
    except (OSError, ValueError, RuntimeError) as error:
        raise InvalidInput("store", repr(path), f"must be the path of a file ({error})") from None
    if folder:
        raise InvalidInput("store", path, "must be a file, not a folder")
    if not inside:
        raise InvalidInput("store", path, "must lie in a folder that exists")
    return target


def open_to_write(path: Path) -> sqlite3.Connection:
    """Open a store, made where there is none, in WAL mode.

    Returns
    -------
    sqlite3.Connection
        Without implicit transactions.

    Raises
    ------
    InvalidInput
    """
    _check_head(path)
    with refusing(path):
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            if _is_empty(connection):
                make(connection)
            check(path, connection)
            _check_version(path, read_meta(path, connection))
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            # A file that cannot be written is found out now, not after the first points.
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("UPDATE meta SET value = value WHERE name = 'schema'")
            connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
        return connection


def fold(connection: sqlite3.Connection) -> None:
    """Leave a single file, without a log beside it; where somebody reads it, the log stays."""
    with contextlib.suppress(sqlite3.Error):
        connection.execute("PRAGMA busy_timeout = 0")
        connection.execute("PRAGMA journal_mode = DELETE")


def open_to_read(path: Path) -> sqlite3.Connection:
    """Open a store to read.

    Raises
    ------
    InvalidInput
        If there is no such file, or it is no store.
    """
    if not path.exists():
        raise InvalidInput("store", path, "must be a sweep store that exists")
    _check_head(path)
    with refusing(path):
        try:
            return _open_uri(path, "mode=ro")
        except sqlite3.OperationalError:
            # In a folder that is read-only SQLite cannot make the files that share memory; with
            # no log left behind, the file is complete without them.
            log = path.with_name(path.name + "-wal")
            if log.exists() and log.stat().st_size:
                raise
            return _open_uri(path, "mode=ro&immutable=1")


def _open_uri(path: Path, options: str) -> sqlite3.Connection:
    address = f"{path.resolve().as_uri()}?{options}"
    connection = sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        check(path, connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_head(path: Path) -> None:
    """Refuse what is no database by its first bytes; an empty file may become one."""
    try:
        with open(path, "rb") as stream:
            head = stream.read(len(_MAGIC))
    except FileNotFoundError:
        return
    except OSError as error:
        raise InvalidInput("store", path, f"must be readable ({error.strerror})") from None
    if head and head != _MAGIC:
        raise InvalidInput("store", path, "must be a sweep store; this file is no database")


def _is_empty(connection: sqlite3.Connection) -> bool:
    """No tables and no owner: new, or left by a driver that was killed while making it."""
    owner = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    return not owner and not version and not tables


def make(connection: sqlite3.Connection) -> None:
    """Create the tables of an empty database, in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    for table in _TABLES:
        connection.execute(table)
    connection.executemany(
        "INSERT INTO meta (name, value) VALUES (?, ?)",
        [
            ("schema", str(SCHEMA_VERSION)),
            ("swingby", swingby.__version__),
            ("measure", str(MEASURE_VERSION)),
            ("created", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())),
        ],
    )
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    connection.execute("COMMIT")


def check(path: Path, connection: sqlite3.Connection) -> None:
    """Refuse a database that is not a store of this version, or is damaged.

    Raises
    ------
    InvalidInput
    """
    if _is_empty(connection):
        raise InvalidInput("store", path, "must be a sweep store; this file is empty")
    owner = connection.execute("PRAGMA application_id").fetchone()[0]
    if owner != APPLICATION_ID:
        raise InvalidInput(
            "store", path, "must be a sweep store; this database belongs to another program"
        )
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version != SCHEMA_VERSION:
        raise InvalidInput(
            "store",
            path,
            f"must have tables of version {SCHEMA_VERSION}, these have version {version}:"
            " read it with the swingby that wrote it, or use another store",
        )
    size = path.stat().st_size
    log = path.with_name(path.name + "-wal")
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    whole = pages * connection.execute("PRAGMA page_size").fetchone()[0]
    # A log may hold pages that the file does not have yet.
    if size < whole and not (log.exists() and log.stat().st_size):
        raise damaged(path, f"{size} bytes are left of {whole}")
    if size <= QUICK_CHECK_BYTES:
        verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if verdict != "ok":
            raise damaged(path, verdict)


def _check_version(path: Path, meta: dict[str, str]) -> None:
    running = {"swingby": swingby.__version__, "measure": str(MEASURE_VERSION)}
    for name, value in running.items():
        if meta[name] != value:
            raise InvalidInput(
                "store",
                path,
                f"must have been written by this version ({name} {value}, it is {meta[name]}):"
                " rows of two versions are not mixed; use another store",
            )


def read_meta(path: Path, connection: sqlite3.Connection) -> dict[str, str]:
    """Names and values of the table meta.

    Raises
    ------
    InvalidInput
        If one of the versions is missing.
    """
    with refusing(path):
        found = dict(connection.execute("SELECT name, value FROM meta").fetchall())
    for name in ("swingby", "measure"):
        if name not in found:
            raise damaged(path, f"it does not say which {name} version wrote it")
    return found
