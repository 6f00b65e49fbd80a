"""Files that appear whole or not at all, and say whether they are as they were written.

What the file system refuses names the path. A digest is against damage and careless editing; it
is no signature.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import math
import os
import re
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from swingby.errors import InvalidInput

#: Parsing the sources for their imports would take most of the time of an audit of one line.
_IMPORT = re.compile(
    r"^\s*(?:from (swingby[\w.]*) import (\([^)]*\)|.*)|import (swingby[\w.]*))", re.MULTILINE
)
#: Where the sources of the package lie.
PACKAGE = Path(__file__).parents[1]
#: What reading a broken file can raise.
BROKEN = (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, RecursionError)


@contextmanager
def writable(path: str | Path, argument: str = "out") -> Iterator[Path]:
    """A path to write to; what the file system refuses is an InvalidInput."""
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
    """A path beside `path`, with its ending; what is written there becomes `path` at the end.

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
    facts = {name: value for name, value in content.items() if name != "sha256"}
    if content["sha256"] != _digest(facts, arrays or {}):
        raise ValueError("it was changed after it was written")
    return facts


def _digest(content: Mapping[str, Any], arrays: Mapping[str, Any]) -> str:
    # Once through JSON: what is read from it has texts as keys, and lists.
    canonical = json.loads(json.dumps(content))
    digest = hashlib.sha256(json.dumps(canonical, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(json.dumps([name, array.dtype.str, list(array.shape)]).encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


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


def hash_of(*sources: Path, words: bool = True) -> str:
    """Hash of some sources of the package and of all they import, with or without their words."""
    waiting = list(sources)
    contents: dict[str, bytes] = {}
    while waiting:
        path = waiting.pop()
        if PACKAGE not in path.parents or not path.is_file():
            continue
        name = path.relative_to(PACKAGE).as_posix()
        if name in contents:
            continue
        contents[name] = path.read_bytes()
        waiting += [PACKAGE / relative for relative in _imported(contents[name])]
    digest = hashlib.sha256()
    for name in sorted(contents):
        code = contents[name] if words else _without_words(contents[name])
        digest.update(f"{name}\0{hashlib.sha256(code).hexdigest()}\n".encode())
    return digest.hexdigest()


@functools.cache
def _without_words(source: bytes) -> bytes:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node, clean=False
        ):
            node.body = node.body[1:]
    return ast.dump(tree).encode()


def _imported(source: bytes) -> set[str]:
    """Modules of the package that a source imports, as paths relative to it."""
    names = set()
    for module, listed, alone in _IMPORT.findall(source.decode()):
        names |= {alone or module, *(f"{module}.{name}" for name in re.findall(r"\w+", listed))}
    inside = (name.split(".")[1:] for name in names if name.startswith("swingby."))
    stems = {"/".join(segments) for segments in inside if segments}
    return {f"{stem}{end}" for stem in stems for end in (".py", "/__init__.py")}
