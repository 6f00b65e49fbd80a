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
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import sympy

from swingby.report.files import write_text
from swingby.theory.claim import Claim
from swingby.theory.verdict import Finding
from swingby.verify.prover.evidence import Judged, Witness

#: Fields of a claim that no prover reads: words for people, and the repair, a statement of its own.
WORDS = frozenset({"about", "reference", "reading", "flaw", "repair"})

#: Parsing the sources for their imports would take most of the time of an audit of one line.
_IMPORT = re.compile(
    r"^\s*(?:from (swingby[\w.]*) import (\([^)]*\)|.*)|import (swingby[\w.]*))", re.MULTILINE
)

_LIBRARIES = ("sympy", "python-flint", "z3-solver")
_FORMAT = 1


def folder() -> Path:
    """Where verdicts are kept: ``swingby/ledger`` under ``$XDG_CACHE_HOME`` or ``~/.cache``.

    Returns it may not exist yet.
    """
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
    """Name of the file that keeps the verdict on a claim.

    Returns A SHA-256 in hexadecimal digits.
    """
    text = "\n".join([content(claim), code_hash(), *_versions()])
    return hashlib.sha256(text.encode()).hexdigest()


@functools.cache
def code_hash() -> str:
    """Hash of the sources that a verdict depends on: the provers and all they import."""
    waiting = sorted((_ROOT / "verify" / "prover").glob("*.py"))
    waiting += [_ROOT / "theory" / f"{name}.py" for name in ("balls", "claim", "dynamics")]
    return hash_of(*waiting, _ROOT / "theory" / "assumptions.py")


_ROOT = Path(__file__).parents[1]


def hash_of(*sources: Path, words: bool = True) -> str:
    """Hash of some sources of the package and of all they import, with or without their words."""
    waiting, root = list(sources), _ROOT
    seen: dict[str, bytes] = {}
    while waiting:
        path = waiting.pop()
        if root not in path.parents or not path.is_file():
            continue
        name = path.relative_to(root).as_posix()
        if name in seen:
            continue
        seen[name] = path.read_bytes()
        waiting += [root / relative for relative in _imported(seen[name])]
    digest = hashlib.sha256()
    for name in sorted(seen):
        content = seen[name] if words else _without_words(seen[name])
        digest.update(f"{name}\0{hashlib.sha256(content).hexdigest()}\n".encode())
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
    """The verdict kept for a claim and the seconds that it took.

    Returns None if there is none that can be used.
    """
    name = key(claim)
    try:
        kept = json.loads((folder() / f"{name}.json").read_text(encoding="utf-8"))
        if kept["format"] != _FORMAT or kept["key"] != name:
            return None
        if kept["check"] != _check(name, kept["judged"], kept["seconds"]):
            return None
        return from_plain(kept["judged"]), float(kept["seconds"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def store(claim: Claim, judged: Judged, seconds: float) -> bool:
    """Keep a verdict.

    Returns False where the folder cannot be written, which is no error.
    """
    name = key(claim)
    plain = to_plain(judged)
    seconds = round(seconds, 3)
    text = json.dumps(
        {
            "format": _FORMAT,
            "key": name,
            "id": claim.id,
            "edition": claim.edition,
            "seconds": seconds,
            "judged": plain,
            "check": _check(name, plain, seconds),
        },
        indent=1,
        ensure_ascii=False,
    )
    try:
        folder().mkdir(parents=True, exist_ok=True)
        write_text(folder() / f"{name}.json", text)
    except (OSError, ValueError):
        return False
    return True


def _check(name: str, plain: Any, seconds: float) -> str:
    """Checksum against damage and careless editing; it is no signature."""
    text = json.dumps([name, plain, seconds], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def to_plain(judged: Judged) -> dict[str, Any]:
    """A verdict as plain values, ready for JSON."""
    witness = judged.witness
    return ({"proof": list(judged.proof)} if judged.proof else {}) | {
        "verdict": str(judged.verdict),
        "method": judged.method,
        "evidence": list(judged.evidence),
        "witness": None
        if witness is None
        else {
            "values": dict(witness.values),
            "relation": witness.relation,
            "left": witness.left,
            "right": witness.right,
            "checked": list(witness.checked),
        },
        "cases": int(judged.cases),
        "tried": list(judged.tried),
        "parts": {name: to_plain(part) for name, part in judged.parts.items()},
    }


def from_plain(plain: dict[str, Any]) -> Judged:
    """The verdict that :func:`to_plain` wrote.

    Raises ValueError, KeyError, TypeError if something else is given.
    """
    return Judged(
        verdict=Finding(plain["verdict"]),
        method=_text(plain["method"]),
        evidence=_texts(plain["evidence"]),
        witness=None if plain["witness"] is None else _witness(plain["witness"]),
        cases=int(plain["cases"]),
        tried=_texts(plain["tried"]),
        parts={_text(name): from_plain(part) for name, part in plain["parts"].items()},
        proof=tuple(plain.get("proof", ())),
    )


def _witness(plain: dict[str, Any]) -> Witness:
    values = {_text(name): _text(value) for name, value in plain["values"].items()}
    return Witness(
        values=values,
        relation=_text(plain["relation"]),
        left=_text(plain["left"]),
        right=_text(plain["right"]),
        checked=_texts(plain["checked"]),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("text expected")
    return value


def _texts(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list):
        raise TypeError("a list expected")
    return tuple(_text(value) for value in values)
