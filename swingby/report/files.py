"""Files that appear whole or not at all: text, strict JSON and arrays.

What the file system refuses names the path.
"""

from __future__ import annotations

import io
import json
import math
import os
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from swingby.errors import InvalidInput
from swingby.report.seals import sealed

#: Errors that reading a broken file can raise.
BROKEN = (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, RecursionError)


@contextmanager
def writable(path: str | Path, argument: str = "out") -> Iterator[Path]:
    """A path to write to; a refusal of the file system becomes an InvalidInput."""
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidInput(argument, path, "must be the path of a file")
    try:
        yield Path(path)
    except InvalidInput:  # of what is to be written
        raise
    except (OSError, ValueError) as error:
        # Closing what an interrupt, or memory that is refused, broke off may fail in its turn.
        if isinstance(error.__context__, KeyboardInterrupt | MemoryError):
            raise error.__context__ from None
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidInput(argument, path, f"must be writable ({reason})") from error


@contextmanager
def whole(path: str | Path, argument: str = "out") -> Iterator[Path]:
    """A path beside `path`, with its ending; the file written there becomes `path` at the end.

    After an error the file is as it was before. Devices and pipes are written to as they are.
    """
    with writable(path, argument):
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file():
            yield target
            return
        name = f".{target.stem}.{os.getpid()}-{threading.get_ident()}{target.suffix}"
        unfinished = target.with_name(name)
        try:
            yield unfinished
            if target.exists():
                shutil.copymode(target, unfinished)
            with open(unfinished, "rb") as written:  # on the disk before the older file is gone
                os.fsync(written.fileno())
            unfinished.replace(target)
        finally:
            unfinished.unlink(missing_ok=True)


def write_text(path: str | Path, text: str, argument: str = "out") -> Path:
    """Write text, with one newline at its end."""
    with whole(path, argument) as target:
        target.write_text(text.rstrip("\n") + "\n", encoding="utf-8")
    return Path(path)


def write_csv(frame: Any, path: Any, **options: Any) -> None:
    """Write a frame as CSV to a file, compressed as its ending says, or into a stream."""
    if hasattr(path, "write"):
        mode = "wb" if isinstance(path, io.RawIOBase | io.BufferedIOBase) else "w"
        frame.to_csv(path, index=False, mode=mode, **options)
        return
    with whole(path) as target:
        frame.to_csv(target, index=False, encoding="utf-8", **options)


def json_text(content: Any) -> str:
    """Strict JSON: no NaN, no infinity."""
    return json.dumps(content, indent=1, allow_nan=False)


def plain_values(value: Any) -> Any:
    """A record, with all that is in it, as plain values ready for JSON; no empty proofs."""
    if is_dataclass(value):
        by_field = {field.name: plain_values(getattr(value, field.name)) for field in fields(value)}
        return {name: element for name, element in by_field.items() if element or name != "proof"}
    if isinstance(value, Mapping):
        return {name: plain_values(element) for name, element in value.items()}
    if isinstance(value, list | tuple):
        return [plain_values(element) for element in value]
    if isinstance(value, str):
        return str(value)
    return value.item() if hasattr(value, "item") else value


def storable(row: dict[str, Any]) -> dict[str, Any]:
    """The row as JSON can hold it, which has neither nan nor infinity."""
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in row.items()
    }


def write_json(path: str | Path, content: Mapping[str, Any], argument: str = "out") -> Path:
    """Write strict JSON, sealed."""
    return write_text(path, json_text(sealed(content)), argument)


def write_arrays(
    path: str | Path, facts: Mapping[str, Any], arrays: Mapping[str, Any], argument: str = "out"
) -> None:
    """Write a sealed npz file without pickled objects; `facts` say of which format it is."""
    import numpy as np

    text = np.array(json.dumps(sealed(facts, arrays)))
    with whole(path, argument) as target:
        save_arrays(target, {"facts": text, **arrays})


def save_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write an npz file; ValueError for an array of objects, which NumPy would pickle."""
    import numpy as np

    if any(np.asarray(array).dtype.hasobject for array in arrays.values()):
        raise ValueError("objects cannot be written without pickling")
    # A stream of our own: numpy would add an ending to the name.
    with open(path, "wb") as stream:
        np.savez_compressed(stream, **arrays)
        stream.flush()
