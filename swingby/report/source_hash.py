"""Hashes of source files of the package and of all that they import, as keys of caches."""

from __future__ import annotations

import hashlib
import re
from importlib import resources

#: Parsing the sources for their imports would take most of the time of an audit of one line.
_IMPORT = re.compile(
    r"^\s*(?:from (swingby[\w.]*) import (\([^)]*\)|.*)|import (swingby[\w.]*))", re.MULTILINE
)
#: Where the sources of the package lie: a folder, or a zip file.
PACKAGE = resources.files("swingby")


def sources_in(folder: str) -> list[str]:
    """The sources in a folder of the package."""
    names = (path.name for path in PACKAGE.joinpath(folder).iterdir())
    return [f"{folder}/{name}" for name in names if name.endswith(".py")]


def hash_of(*sources: str) -> str:
    """Hash of some sources, by their paths in the package, and of all that they import."""
    waiting = list(sources)
    contents: dict[str, bytes] = {}
    while waiting:
        name = waiting.pop()
        if name in contents or not PACKAGE.joinpath(name).is_file():
            continue
        contents[name] = PACKAGE.joinpath(name).read_bytes()
        waiting += _imported(contents[name])
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
