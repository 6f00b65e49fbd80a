"""One driver at a time: a lock of the operating system, gone with the process that holds it."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from swingby.errors import InvalidInput

#: Seconds between two attempts, short enough for Ctrl-C.
_PAUSE = 0.1


@contextlib.contextmanager
def locked(store: Path, wait: float) -> Iterator[None]:
    """Hold the lock of a store.

    The lock is an exclusive transaction on the empty database ``<store>.lock``: SQLite takes a
    lock of the operating system for it, which also excludes a second thread, and which a killed
    process cannot leave behind. The file itself stays and means nothing.

    Parameters
    ----------
    store : Path
    wait : float
        Seconds to wait for a driver that holds it.

    Raises
    ------
    InvalidInput
        If another driver still holds the lock, or the file cannot be made.
    """
    place = store.with_name(store.name + ".lock")
    try:
        connection = sqlite3.connect(place, timeout=0, isolation_level=None)
    except sqlite3.Error as error:
        raise _refused(store, error) from None
    try:
        end = time.monotonic() + wait
        while not _taken(connection, store):
            if time.monotonic() >= end:
                raise InvalidInput(
                    "store", store, f"is being written by another sweep (waited {wait:g} s for it)"
                )
            time.sleep(_PAUSE)
        yield
    finally:
        connection.close()


def _taken(connection: sqlite3.Connection, store: Path) -> bool:
    try:
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            return False
        raise _refused(store, error) from None
    except sqlite3.DatabaseError as error:
        raise _refused(store, error) from None
    return True


def _refused(store: Path, error: sqlite3.Error) -> InvalidInput:
    folder = store.parent
    return InvalidInput(
        "store", store, f"must lie in a folder that is writable, {folder} ({error})"
    )
