"""Hashes of source files of the package and of all that they import, as keys of caches."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

#: Parsing the sources for their imports would take most of the time of an audit of one line.
_IMPORT = re.compile(
    r"^\s*(?:from (swingby[\w.]*) import (\([^)]*\)|.*)|import (swingby[\w.]*))", re.MULTILINE
)
#: Where the sources of the package lie.
PACKAGE = Path(__file__).parents[1]


def hash_of(*sources: Path) -> str:
    """Hash of some sources of the package and of all that they import."""
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
        digest.update(f"{name}\0{hashlib.sha256(contents[name]).hexdigest()}\n".encode())
    return digest.hexdigest()


def _imported(source: bytes) -> set[str]:
    """Modules of the package that a source imports, as paths relative to it."""
    names = set()
    for module, listed, alone in _IMPORT.findall(source.decode()):
        names |= {alone or module, *(f"{module}.{name}" for name in re.findall(r"\w+", listed))}
    inside = (name.split(".")[1:] for name in names if name.startswith("swingby."))
    stems = {"/".join(segments) for segments in inside if segments}
    return {f"{stem}{end}" for stem in stems for end in (".py", "/__init__.py")}
