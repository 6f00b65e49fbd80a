"""Files that appear whole or not at all, and say whether they are as they were written.

What the file system refuses names the path. A digest is against damage and careless editing; it
is no signature.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from swingby.errors import InvalidInput

#: What reading a broken file can raise.
BROKEN = (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, RecursionError)


@contextmanager
def writable(path: str | Path, argument: str = "out") -> Iterator[Path]:
    """A path to write to; what the file system refuses is an InvalidInput."""
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidInput(argument, path, "must be the path of a file")
    try:
        yield Path(path)
    except InvalidInput as error:  # of a file beside its place
        raise InvalidInput(error.argument, path, error.requirement, error.source) from error
    except (OSError, ValueError) as error:
        # Closing what an interrupt, or memory that is refused, broke off may fail in its turn.
        if isinstance(error.__context__, KeyboardInterrupt | MemoryError):
            raise error.__context__ from None
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidInput(argument, path, f"must be writable ({reason})") from error


@contextmanager
def whole(path: str | Path, argument: str = "out") -> Iterator[Path]:
    """A path beside `path`, with its ending; what is written there becomes `path` at the end.

    After an error the file is as it was before. Devices and pipes are written to as they are.
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
            with open(part, "rb") as written:  # on the disk before the older file is gone
                os.fsync(written.fileno())
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


def storable(row: dict[str, Any]) -> dict[str, Any]:
    """The row as JSON can hold it, which has neither nan nor infinity."""
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in row.items()
    }


def write_json(path: str | Path, content: Mapping[str, Any], argument: str = "out") -> Path:
    """Write strict JSON, sealed."""
    return write_text(path, json_text(sealed(content)), argument)


def sealed(content: Mapping[str, Any], arrays: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Plain values, with a digest of all they and some arrays say under the name sha256.

    >>> unsealed(sealed({"steps": 3}))
    {'steps': 3}
    >>> unsealed({**sealed({"steps": 3}), "steps": 4})
    Traceback (most recent call last):
        ...
    ValueError: it was changed after it was written
    """
    return {**content, "sha256": _digest(content, arrays or {})}


def unsealed(content: Any, arrays: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What was sealed; ValueError where it, or an array, is not what it was then."""
    if not isinstance(content, dict) or "sha256" not in content:
        raise ValueError("it has no digest of what it says")
    plain = {name: value for name, value in content.items() if name != "sha256"}
    if content["sha256"] != _digest(plain, arrays or {}):
        raise ValueError("it was changed after it was written")
    return plain


def _digest(content: Mapping[str, Any], arrays: Mapping[str, Any]) -> str:
    # Once through JSON: what is read from it has texts as keys, and lists.
    plain = json.loads(json.dumps(content))
    found = hashlib.sha256(json.dumps(plain, sort_keys=True).encode())
    for name in sorted(arrays):
        one = arrays[name]
        found.update(json.dumps([name, one.dtype.str, list(one.shape)]).encode())
        found.update(one.tobytes())
    return found.hexdigest()


def write_arrays(
    path: str | Path, facts: Mapping[str, Any], arrays: Mapping[str, Any], argument: str = "out"
) -> None:
    """Write a sealed npz file without pickled objects; `facts` say of which format it is."""
    import numpy as np

    text = np.array(json.dumps(sealed(facts, arrays)))
    # A stream of our own: numpy would add an ending to the name.
    with whole(path, argument) as target, open(target, "wb") as stream:
        np.savez_compressed(stream, allow_pickle=False, facts=text, **arrays)
        stream.flush()
