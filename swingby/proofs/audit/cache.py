"""The cache of verdicts: a JSON file for each statement, until it or a prover changes.

A file is used only if the statement, every line of code that the provers run on and the versions
of the libraries behind them are the same. Anything else (damage, other versions, a folder that
cannot be written) means that the verdict is computed again.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import sympy

from swingby.proofs.language.claim import Claim, Given
from swingby.proofs.prover.evidence import ClaimVerdict, Witness
from swingby.report.files import BROKEN, plain_values
from swingby.report.seals import sealed, unsealed
from swingby.report.source_hash import hash_of, sources_in
from swingby.report.user_cache import cache_folder
from swingby.report.user_cache import store as store_file
from swingby.theory.verdict import Finding

#: Fields of a claim that no prover reads: words for people, what is between lines, and the repair,
#: a statement of its own.
WORDS = frozenset({"about", "reference", "reading", "quoted_as", "instance", "flaw", "repair"})

_LIBRARIES = ("sympy", "python-flint", "z3-solver")


def folder() -> Path:
    """The folder of verdicts in the user's cache; OSError where there is none."""
    return cache_folder("ledger")


def content(value: Any) -> str:
    """A text that is equal for equal statements, the same in every process."""
    if isinstance(value, sympy.Basic):
        return str(sympy.srepr(value))
    if isinstance(value, tuple):
        return f"({', '.join(content(item) for item in value)})"
    if is_dataclass(value):
        skipped = WORDS if isinstance(value, Claim | Given) else frozenset()
        inner = (
            f"{field.name}={content(getattr(value, field.name))}"
            for field in fields(value)
            if field.name not in skipped
        )
        return f"{type(value).__name__}({', '.join(inner)})"
    return repr(value)


def key(claim: Claim) -> str:
    """Name of the file that keeps the verdict on a claim: a SHA-256."""
    text = "\n".join([content(claim), code_hash(), *_versions()])
    return hashlib.sha256(text.encode()).hexdigest()


@functools.cache
def code_hash() -> str:
    """Hash of the sources that a verdict depends on: the provers and all they import."""
    return hash_of(
        "proofs/audit/cache.py",
        *sources_in("proofs/prover"),
        *sources_in("proofs/checkers"),
        *(f"theory/{name}.py" for name in ("assumptions", "balls", "dynamics")),
    )


@functools.cache
def _versions() -> tuple[str, ...]:
    def version(name: str) -> str:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            return "none"

    return tuple(f"{name} {version(name)}" for name in _LIBRARIES)


def load(claim: Claim) -> tuple[ClaimVerdict, float] | None:
    """The stored verdict on a claim and the seconds that it took; None if none can be used."""
    name = key(claim)
    try:
        file = unsealed(json.loads((folder() / f"{name}.json").read_text(encoding="utf-8")))
        return (_judged(file["judged"]), float(file["seconds"])) if file["key"] == name else None
    except BROKEN:
        return None


def store(claim: Claim, judged: ClaimVerdict, seconds: float) -> bool:
    """Store a verdict; False where the folder cannot be written, which is no error."""
    name = key(claim)
    entry = {"key": name, "id": claim.id, "edition": claim.edition, "seconds": round(seconds, 3)}
    text = json.dumps(
        sealed(entry | {"judged": plain_values(judged)}), indent=1, ensure_ascii=False
    )
    try:
        return store_file(folder() / f"{name}.json", text.encode())
    except (OSError, ValueError):  # no folder; a text with half a surrogate
        return False


def _judged(content: dict[str, Any]) -> ClaimVerdict:
    """A verdict from its plain values; their digest says that nobody changed them."""
    witness = content["witness"]
    return ClaimVerdict(
        Finding(content["verdict"]),
        content["method"],
        tuple(content["evidence"]),
        None if witness is None else Witness(**witness | {"checked": tuple(witness["checked"])}),
        content["cases"],
        tuple(content["tried"]),
        {name: _judged(judged) for name, judged in content["parts"].items()},
        tuple(content.get("proof", ())),
    )
