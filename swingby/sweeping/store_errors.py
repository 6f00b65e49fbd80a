"""What SQLite says about the file of a store, said in words."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from swingby.errors import InvalidInput


@contextlib.contextmanager
def refusing(path: Path) -> Iterator[None]:
    """Say in words what SQLite says about a file.

    Raises
    ------
    InvalidInput
    """
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise _in_words(path, error) from error


def _in_words(path: Path, error: sqlite3.DatabaseError) -> InvalidInput:
    text = str(error)
    if "full" in text or "disk I/O" in text:
        return InvalidInput(
            "store",
            path,
            f"must have room on its disk ({text}); what was kept stays, and the same call goes on"
            " from there once there is room",
        )
    if "readonly" in text:
        return InvalidInput("store", path, f"must be writable ({text}); nothing was changed")
    if "unable to open" in text:
        return InvalidInput("store", path, f"must be a file that can be opened ({text})")
    if "locked" in text or "busy" in text:
        return InvalidInput("store", path, f"is held by another program ({text})")
    if "not a database" in text:
        return InvalidInput("store", path, f"must be a sweep store ({text})")
    return damaged(path, text)


def damaged(path: Path, why: str) -> InvalidInput:
    """The error for a store that cannot be read."""
    return InvalidInput(
        "store",
        path,
        f"is damaged ({why}) and was left as it is: use a copy, or what"
        " `sqlite3 FILE .recover` saves of it",
    )
