"""Verdicts kept as JSON files, one per statement, until the statement or a prover changes.

A file is used only if the statement, every line of code that the provers run on and the versions
of the libraries behind them are the same. Anything else (damage, other versions, a folder that
cannot be written) means that the verdict is computed again.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.metadata
import json
import os
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import sympy

from swingby.report.files import BROKEN, sealed, unsealed, write_text
from swingby.theory.claims.claim import Claim
from swingby.theory.claims.verdict import Finding
from swingby.verify.prover.evidence import Judged, Witness

#: Fields of a claim that no prover reads: words for people, and the repair, a statement of its own.
WORDS = frozenset({"about", "reference", "reading", "flaw", "repair"})

#: Parsing the sources for their imports would take most of the time of an audit of one line.
_IMPORT = re.compile(
    r"^\s*(?:from (swingby[\w.]*) import (\([^)]*\)|.*)|import (swingby[\w.]*))", re.MULTILINE
)
_LIBRARIES = ("sympy", "python-flint", "z3-solver")
_ROOT = Path(__file__).parents[1]


def folder() -> Path:
    """Where verdicts are kept: ``swingby/ledger`` under ``$XDG_CACHE_HOME`` or ``~/.cache``."""
    home = os.environ.get("XDG_CACHE_HOME")
    base = Path(home) if home and Path(home).is_absolute() else Path("~/.cache").expanduser()
    return base / "swingby" / "ledger"


def content(part: Any) -> str:
    """A text that is equal for equal statements, the same in every process."""
    if isinstance(part, sympy.Basic):
        return str(sympy.srepr(part))
    if isinstance(part, tuple):
        return f"({', '.join(content(item) for item in part)})"
    if is_dataclass(part):
        skipped = WORDS if isinstance(part, Claim) else frozenset()
        inner = (
            f"{field.name}={content(getattr(part, field.name))}"
            for field in fields(part)
            if field.name not in skipped
        )
        return f"{type(part).__name__}({', '.join(inner)})"
    return repr(part)


def key(claim: Claim) -> str:
    """Name of the file that keeps the verdict on a claim: a SHA-256."""
    text = "\n".join([content(claim), code_hash(), *_versions()])
    return hashlib.sha256(text.encode()).hexdigest()


@functools.cache
def code_hash() -> str:
    """Hash of the sources that a verdict depends on: the provers and all they import."""
    theory = (_ROOT / "theory" / f"{name}.py" for name in ("assumptions", "balls", "dynamics"))
    return hash_of(Path(__file__), *(_ROOT / "verify" / "prover").glob("*.py"), *theory)


def hash_of(*sources: Path, words: bool = True) -> str:
    """Hash of some sources of the package and of all they import, with or without their words."""
    waiting = list(sources)
    seen: dict[str, bytes] = {}
    while waiting:
        path = waiting.pop()
        if _ROOT not in path.parents or not path.is_file():
            continue
        name = path.relative_to(_ROOT).as_posix()
        if name in seen:
            continue
        seen[name] = path.read_bytes()
        waiting += [_ROOT / relative for relative in _imported(seen[name])]
    digest = hashlib.sha256()
    for name in sorted(seen):
        code = seen[name] if words else _without_words(seen[name])
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
    places = {"/".join(parts) for parts in inside if parts}
    return {f"{place}{end}" for place in places for end in (".py", "/__init__.py")}


@functools.cache
def _versions() -> tuple[str, ...]:
    def version(name: str) -> str:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            return "none"

    return tuple(f"{name} {version(name)}" for name in _LIBRARIES)


def load(claim: Claim) -> tuple[Judged, float] | None:
    """The verdict kept for a claim and the seconds that it took; None if none can be used."""
    name = key(claim)
    try:
        kept = unsealed(json.loads((folder() / f"{name}.json").read_text(encoding="utf-8")))
        return (_judged(kept["judged"]), float(kept["seconds"])) if kept["key"] == name else None
    except BROKEN:
        return None


def store(claim: Claim, judged: Judged, seconds: float) -> bool:
    """Keep a verdict; False where the folder cannot be written, which is no error."""
    name = key(claim)
    kept = {"key": name, "id": claim.id, "edition": claim.edition, "seconds": round(seconds, 3)}
    text = json.dumps(sealed(kept | {"judged": plain(judged)}), indent=1, ensure_ascii=False)
    try:
        folder().mkdir(parents=True, exist_ok=True)
        write_text(folder() / f"{name}.json", text)
    except (OSError, ValueError):
        return False
    return True


def plain(value: Any) -> Any:
    """A record, with all that is in it, as plain values ready for JSON; no empty proofs."""
    if is_dataclass(value):
        parts = {field.name: plain(getattr(value, field.name)) for field in fields(value)}
        return {name: part for name, part in parts.items() if part or name != "proof"}
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, str):
        return str(value)
    return value.item() if hasattr(value, "item") else value


def _judged(kept: dict[str, Any]) -> Judged:
    """A verdict from its plain values; their digest says that nobody changed them."""
    witness = kept["witness"]
    return Judged(
        Finding(kept["verdict"]),
        kept["method"],
        tuple(kept["evidence"]),
        None if witness is None else Witness(**witness | {"checked": tuple(witness["checked"])}),
        kept["cases"],
        tuple(kept["tried"]),
        {name: _judged(part) for name, part in kept["parts"].items()},
        tuple(kept.get("proof", ())),
    )
