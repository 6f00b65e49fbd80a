"""The commands ``swingby verify`` and ``swingby doctor``: a file's bytes, and what is installed."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import swingby
from swingby.cli import options
from swingby.cli.options import Given, command, say
from swingby.errors import InvalidInput
from swingby.report.files import BROKEN, unsealed

if TYPE_CHECKING:
    from swingby.report import Grid

UNSEALED = "must have a digest of what it says: the command that wrote it makes one that has"
#: What swingby cannot do without, and what each extra brings first.
CORE = (
    *("numpy", "scipy", "sympy", "mpmath", "python-flint", "numba", "pandas", "matplotlib"),
    "loky",
)
EXTRAS = {
    "torch": "torch",
    "testing": "hypothesis",
    "prove": "z3-solver",
    "report": "pyarrow",
    "cluster": "distributed",
}


@command(click.argument("file", type=click.Path(path_type=Path)), options.JSON)
def verify(given: Given) -> int:
    """Check that a file still says what swingby wrote.

    Stores of sweeps (.sqlite), runs and trained networks (.npz), results and studies (.json),
    certificates, which are replayed, and checkpoints of training (.safetensors). Exit code 0: it
    does; 1: it was changed; 2: it cannot be verified.

    \b
    swingby verify sweep.sqlite
    swingby verify run.npz
    """  # noqa: D301 (click reads the backspace as a sign to keep the lines)
    kind, found = _judged(given.file)
    answer = {"file": str(given.file), "kind": kind, "verified": not found, "reasons": found}
    said = f"{given.file}: {kind}, {'verified' if not found else 'changed after it was written'}"
    click.echo(json.dumps(answer) if given.as_json else "\n  ".join([said, *found]))
    return 1 if found else 0


def _judged(file: Path) -> tuple[str, list[str]]:
    """The kind of a file, and what is wrong with it."""
    from swingby.theory.reading import opened, text_of

    try:
        with opened(file) as stream:
            begin = stream.read(72)
    except OSError as error:
        raise InvalidInput("file", file, f"must be readable ({error.strerror})") from None
    if begin.startswith(b"SQLite format 3"):
        from swingby.lab.sweeps.store import APPLICATION_ID, verify_store

        if begin[68:] != APPLICATION_ID.to_bytes(4):
            raise InvalidInput("file", file, "must be of swingby; this database is another one's")
        return "store of a sweep", _refused(lambda: verify_store(file))
    if file.suffix == ".safetensors":
        return "checkpoint", _checkpoint(file)
    if begin.startswith(b"PK"):
        return _sealed_arrays(file)
    if file.suffix != ".json":
        asked = "must be a .sqlite, .json, .npz or .safetensors of swingby's; tables and "
        raise InvalidInput("file", file, f"{asked}pictures are made again by their command")
    from swingby.proofs.checkers.replay import read, replay

    text = text_of(file, "file", "JSON file")
    try:
        found = json.loads(text)
        if isinstance(found, dict) and "signal" in found and "digest" in found:
            return "certificate", replay(read(text))  # stricter: it refuses NaN
    except (ValueError, RecursionError) as error:
        raise InvalidInput("file", file, f"must be JSON ({error})") from None
    if not isinstance(found, dict) or "sha256" not in found:
        raise InvalidInput("file", file, UNSEALED)
    return str(found.get("format", "result")), _refused(lambda: unsealed(found))


def _sealed_arrays(file: Path) -> tuple[str, list[str]]:
    from swingby.theory.reading import read_arrays

    arrays = read_arrays(file, "file")
    try:
        facts = json.loads(str(arrays.pop("facts")))
        kind, _ = str(facts["format"]), facts["sha256"]
    except BROKEN:
        raise InvalidInput("file", file, UNSEALED) from None
    return kind, _refused(lambda: unsealed(facts, arrays))


def _checkpoint(file: Path) -> list[str]:
    """What is wrong with a checkpoint, read under the name that it gives itself."""
    from swingby.lab.networks import checkpoint

    library = checkpoint.load_library()
    try:
        with library.safe_open(file, framework="pt") as opened:
            facts = opened.metadata() or {}
    except Exception as error:  # safetensors has an error class of its own
        raise InvalidInput("file", file, checkpoint.foreign(file, error).requirement) from None
    if "sha256" not in facts:
        raise InvalidInput("file", file, UNSEALED)
    return _refused(lambda: checkpoint.read_state(file, facts.get("identity", "")))


def _refused(check: Any) -> list[str]:
    try:
        check()
    except ValueError as error:  # an InvalidInput is one
        return [str(error)]
    return []


@command(options.JSON)
def doctor(given: Given) -> int:
    """Print what is installed, what is missing, and the caches.

    Exit code 0: the core is there; 5: something of it is missing.
    """
    found = _facts()
    say(_table(found), lambda: found, as_json=given.as_json)
    return 0 if all(found["core"].values()) else 5


def _facts() -> dict[str, Any]:
    from swingby.proofs.audit.cache import folder as verdicts
    from swingby.theory.law.compiled import folder

    def version(name: str) -> str | None:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            return None

    device = "no torch"
    if importlib.util.find_spec("torch"):
        import torch

        cuda = torch.cuda.is_available()
        device = torch.cuda.get_device_name() if cuda else "none that torch can use"
    return {
        "swingby": swingby.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "threads": os.cpu_count(),
        "gpu": device,
        "encoding": sys.stdout.encoding,
        "compiled code": str(folder()),
        "verdicts": str(verdicts()),
        "core": {name: version(name) for name in CORE},
        "extras": {extra: version(name) for extra, name in EXTRAS.items()},
    }


def _table(found: dict[str, Any]) -> Grid:
    from swingby.report import Grid

    rows = [[name, str(value)] for name, value in found.items() if not isinstance(value, dict)]
    rows += [["The core"]] + [[name, value or "missing"] for name, value in found["core"].items()]
    rows += [["Extras"]]
    for extra, value in found["extras"].items():
        install = f'missing: pip install "swingby[{extra}]"'
        rows.append([extra, f"{EXTRAS[extra]} {value}" if value else install])
    return Grid("swingby on this machine", ["what", "found"], rows)
