"""Files in which workers of a cluster hand their rows to the driver, one per chunk.

A shard is a small SQLite database without WAL, which is not safe on network file systems. It
appears under its name complete or not at all. The driver takes its rows over and removes it; a
shard that a killed driver left is taken over by the next one. Taking rows over twice changes
nothing.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
import uuid
import warnings
from pathlib import Path
from typing import Any

from swingby.errors import InvalidInput, SwingbyWarning
from swingby.sweeping import store_file
from swingby.sweeping.kept import Kept
from swingby.sweeping.store import Store
from swingby.sweeping.store_errors import refusing
from swingby.sweeping.work import kept_rows, measure_chunk

#: Seconds in which a file has to appear that a worker wrote on a shared file system.
_VISIBLE = 15.0
#: Seconds after which an unfinished shard is that of a worker that died.
_ABANDONED = 3600.0


def folder_of(store: Path) -> Path:
    """Where the shards of a store lie."""
    return store.with_name(store.name + ".shards")


def measure_to_shard(plain: dict[str, Any], folder: str) -> tuple[float, str]:
    """Measure a chunk and leave its rows in a shard; runs on a worker.

    Parameters
    ----------
    plain : dict
        From :meth:`swingby.sweeping.work.Chunk.to_plain`.
    folder : str

    Returns
    -------
    seconds : float
    name : str
        Of the shard.
    """
    seconds, rows = measure_chunk(plain)
    return seconds, write(Path(folder), kept_rows(plain, rows))


def write(folder: Path, rows: list[Kept]) -> str:
    """Write rows to a new shard.

    Returns
    -------
    str
        Its name.

    Raises
    ------
    InvalidInput
        If the folder cannot be written.
    """
    name = uuid.uuid4().hex
    temporary, target = folder / f"{name}.tmp", folder / f"{name}.sqlite"
    try:
        folder.mkdir(exist_ok=True)
        with refusing(temporary):
            connection = sqlite3.connect(temporary, isolation_level=None)
            with contextlib.closing(connection):
                store_file.make(connection)
                store = Store(temporary, connection)
                store.put(rows)
        temporary.rename(target)
    except OSError as error:
        raise InvalidInput("store", folder, f"must be writable ({error.strerror})") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
    return target.name


def read(path: Path) -> list[Kept]:
    """Rows of a shard.

    Raises
    ------
    InvalidInput
        If the file does not appear, or is no shard.
    """
    end = time.monotonic() + _VISIBLE
    while not path.exists():
        if time.monotonic() > end:
            raise InvalidInput(
                "executor",
                path,
                "must have workers that write to the folder of the store; where they do not share"
                " it, give executor=client.get_executor(), which sends rows over the network",
            )
        time.sleep(0.05)
    with contextlib.closing(store_file.open_to_read(path)) as connection:
        return list(Store(path, connection).rows())


def take_over(store: Store) -> int:
    """Keep the rows of shards that an earlier driver left.

    Returns
    -------
    int
        Number of rows.

    Warns
    -----
    SwingbyWarning
        For a shard that cannot be read; it is renamed, and its points are measured again.
    """
    count = 0
    for path in sorted(folder_of(store.path).glob("*.sqlite")):
        try:
            rows = read(path)
        except InvalidInput as error:
            path.rename(path.with_suffix(".damaged"))
            warnings.warn(f"a shard was put aside: {error}", SwingbyWarning, stacklevel=2)
            continue
        store.put(rows)
        path.unlink()
        count += len(rows)
    return count


def clear(store: Store) -> None:
    """Remove what workers that died left half-written, and the folder if nothing is left in it."""
    folder = folder_of(store.path)
    with contextlib.suppress(OSError):
        for path in folder.glob("*.tmp*"):
            if time.time() - path.stat().st_mtime > _ABANDONED:
                path.unlink()
        folder.rmdir()
