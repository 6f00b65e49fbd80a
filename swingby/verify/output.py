"""Writing files: what the file system refuses becomes an error that names the path."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from swingby.errors import InvalidInput


@contextmanager
def writable(path: str | Path) -> Iterator[Path]:
    """A path to write to.

    Raises
    ------
    InvalidInput
        If the file system refuses.

    Examples
    --------
    >>> with writable("/no such folder/table.csv") as target:
    ...     target.write_text("")
    Traceback (most recent call last):
        ...
    swingby.errors.InvalidInput: out must be writable (No such file or directory), ...
    """
    try:
        yield Path(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidInput("out", path, f"must be writable ({reason})") from error
