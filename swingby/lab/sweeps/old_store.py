"""Stores of swingby 0.1, which were SQLite files, exported as folders of chunk files.

Goes with the next release.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sqlite3
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.lab.sweeps.point import Point
from swingby.lab.sweeps.recorded_arrays import keep_arrays
from swingby.lab.sweeps.store import SQLITE, StoreWriter
from swingby.lab.sweeps.stored_row import StoredRow
from swingby.report.files import writable
from swingby.theory.input_files import opened, read_arrays

#: Of the files of swingby 0.1: "swby", and the format of their tables.
_APPLICATION_ID, _FORMAT = 0x73776279, 2
#: Columns that are not results of a point.
_OF_POINT = ("omega", "width", "seed", "eta", "dynamics", "steps")
_VECTORS = ("signal", "mu", "sigma")
_OF_ROW = ("key", "place", "reason", "arrays")
_CHUNK = 2000


def export_old_store(old: str | Path, out: str | Path) -> int:
    """Write the rows of a SQLite store of swingby 0.1 into a new folder; their number.

    Every row is checked against its digest. The folder has the versions that wrote the rows, and
    appears whole or not at all.

    Raises InvalidInput if the file is no such store, or was changed, or the folder has rows.
    """
    file = Path(old)
    try:
        with opened(file) as stream:
            begin = stream.read(len(SQLITE))
    except OSError as error:
        raise _refused(old, f"must be readable ({error.strerror})") from None
    if begin != SQLITE:
        raise _refused(old, "must be a store of swingby 0.1, a SQLite file")
    writer = StoreWriter(out, "out")
    folder = writer.path
    if folder.exists() and any(folder.iterdir()):
        raise InvalidInput("out", out, "must be a new or an empty folder")
    writer.path = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        address = f"{file.resolve().as_uri()}?mode=ro"
        with contextlib.closing(sqlite3.connect(address, uri=True)) as connection:
            rows = _export(connection, file, writer)
        with writable(out):
            if folder.exists():
                folder.rmdir()
            writer.path.rename(folder)
    except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
        raise _refused(old, f"is damaged ({error}): take a sound copy") from error
    except InvalidInput as error:
        if error.value != writer.path:
            raise
        reason, _, _ = error.requirement.partition(";")  # nothing of the folder stays
        raise InvalidInput("out", out, reason) from error
    finally:
        shutil.rmtree(writer.path, ignore_errors=True)
    return rows


def _export(connection: sqlite3.Connection, file: Path, writer: StoreWriter) -> int:
    for pragma, number in (("application_id", _APPLICATION_ID), ("user_version", _FORMAT)):
        if connection.execute(f"PRAGMA {pragma}").fetchone()[0] != number:
            raise _refused(file, "must be a store of swingby 0.1; this database is another one")
    connection.row_factory = sqlite3.Row
    head = _sound(connection.execute("SELECT * FROM head").fetchone(), file, skip=1)
    rows = [_sound(row, file) for row in connection.execute("SELECT * FROM points ORDER BY place")]
    if len(rows) != head["rows"]:
        raise _refused(file, f"must hold the {head['rows']} rows that were written")
    writer.versions = (head["swingby"], head["measure"])
    writer.begin({} if head["grid"] is None else json.loads(head["grid"]))
    folder = file.with_name(file.name + ".arrays")
    waiting = iter(rows)
    while chunk := list(islice(waiting, _CHUNK)):
        writer.keep(_row(row, folder, writer.path) for row in chunk)
    return len(rows)


def _sound(row: sqlite3.Row, file: Path, skip: int = 0) -> dict[str, Any]:
    """A row by its columns, checked against the digest in the last column."""
    values = tuple(row)[skip:-1]
    if hashlib.sha256(ascii(values).encode()).digest() != row["digest"]:
        raise _refused(file, "has a row changed after it was written: sweep it again")
    return dict(zip(row.keys()[skip:-1], values, strict=True))


def _row(row: dict[str, Any], arrays: Path, folder: Path) -> StoredRow:
    record = row["record"]
    vectors = [None if row[name] is None else tuple(row[name].split(",")) for name in _VECTORS]
    content = {name: row[name] for name in _OF_POINT} | dict(zip(_VECTORS, vectors, strict=True))
    record = int(record) if record and record.isdigit() else record
    point = Point.from_plain({**content, "record": record})
    beside = {*_OF_ROW, *_OF_POINT, *_VECTORS, "record", "status"}
    results = {name: _plain(value) for name, value in row.items() if name not in beside}
    if row["arrays"] is not None:
        content = read_arrays(arrays / f"{Path(row['arrays']).name}.npz", "arrays")
        if keep_arrays(folder, content) != row["arrays"]:
            raise InvalidInput("arrays", row["arrays"], "must match the digest in its name")
    done = row["status"] == "done"
    return StoredRow(point=point, results=results if done else None, **{n: row[n] for n in _OF_ROW})


def _plain(value: Any) -> Any:
    if not isinstance(value, bytes):
        return value
    numbers = np.frombuffer(value, "<f8").tolist()
    return [None if number != number else number for number in numbers]


def _refused(path: object, requirement: str) -> InvalidInput:
    return InvalidInput("export_old", path, requirement)
