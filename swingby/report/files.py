"""Files that appear whole or not at all; what the file system refuses names the path."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from swingby.errors import InvalidInput

#: What reading a broken file of arrays can raise.
BROKEN = (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile)


@contextmanager
def writable(path: str | Path, argument: str = "out") -> Iterator[Path]:
    """A path to write to; what the file system refuses is an InvalidInput.

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
        raise InvalidInput(argument, path, f"must be writable ({reason})") from error


@contextmanager
def whole(path: str | Path, argument: str = "out") -> Iterator[Path]:
    """A path beside `path`, with its ending; what is written there becomes `path` at the end.

    After an error the file is as it was before. Devices and pipes are written to as they are.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     try:
    ...         with whole(Path(folder, "table.csv")) as target:
    ...             _ = target.write_text("half a")
    ...             raise KeyboardInterrupt
    ...     except KeyboardInterrupt:
    ...         list(Path(folder).iterdir())
    []
    """
    with writable(path, argument):
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file():
            yield target
            return
        name = f".{target.stem}.{os.getpid()}-{threading.get_ident()}{target.suffix}"
        part = target.with_name(name)
        try:
            yield part
            if target.exists():
                shutil.copymode(target, part)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)


def write_text(path: str | Path, text: str, argument: str = "out") -> Path:
    """Write text, with one newline at its end."""
    with whole(path, argument) as target:
        target.write_text(text.rstrip("\n") + "\n", encoding="utf-8")
    return Path(path)


def json_text(content: Any) -> str:
    """Strict JSON: no NaN, no infinity."""
    return json.dumps(content, indent=1, allow_nan=False)


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_arrays(path: str | Path, arrays: Mapping[str, Any], argument: str = "out") -> str:
    """Write an npz file without pickled objects; returns its SHA-256."""
    import numpy as np

    with whole(path, argument) as target:
        # A stream of our own: numpy would add an ending to the name.
        with open(target, "wb") as stream:
            np.savez_compressed(stream, allow_pickle=False, **arrays)
        return digest(target)


def read_arrays(path: str | Path) -> dict[str, Any]:
    """All arrays of an npz file; one of :data:`BROKEN` where it is not one."""
    import numpy as np

    # A stream of our own is closed even when numpy fails half-way into a broken file.
    with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}
