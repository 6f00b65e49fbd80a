"""The command verify: files of swingby, checked for later changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from swingby.cli import options
from swingby.cli.arguments import Arguments
from swingby.cli.command import command
from swingby.errors import InvalidInput
from swingby.report.files import BROKEN
from swingby.report.seals import unsealed

_UNSEALED = "must hold a digest of its content: write it anew with the command that made it"


@command(click.argument("file", type=click.Path(path_type=Path)), options.JSON)
def verify(arguments: Arguments) -> int:
    """Check that a file has not changed since swingby wrote it.

    FILE is a store of a sweep (a folder), a run or trained networks (.npz), a result or a study
    (.json), or a checkpoint of training (.safetensors). A certificate is also replayed, and a proof
    or witness of audit --export is also checked. Exit code 0: unchanged, 1: changed, 2: FILE cannot
    be verified.

    \b
    swingby verify phases
    swingby verify run.npz
    """  # noqa: D301 (click reads the backspace as a sign to keep the lines)
    kind, reasons = _inspect(arguments.file)
    answer = {
        "file": str(arguments.file),
        "kind": kind,
        "verified": not reasons,
        "reasons": reasons,
    }
    line = (
        f"{arguments.file}: {kind}, {'verified' if not reasons else 'changed after it was written'}"
    )
    click.echo(json.dumps(answer) if arguments.as_json else "\n  ".join([line, *reasons]))
    return 1 if reasons else 0


def _inspect(file: Path) -> tuple[str, list[str]]:
    """The kind of a file, and its faults."""
    from swingby.theory.input_files import opened, text_of

    if file.is_dir():
        from swingby.lab.sweeps.store import existing_store, is_of_theory, scanned, verify_store

        content = scanned(existing_store(file, "file"))
        if content.heads and is_of_theory(content):
            from swingby.own_theory.sweeping import verify_theory_store

            return "sweep of a theory", _refusals(lambda: verify_theory_store(file))
        return "store of a sweep", _refusals(lambda: verify_store(file))
    try:
        with opened(file) as stream:
            begin = stream.read(72)
    except OSError as error:
        raise InvalidInput("file", file, f"must be readable ({error.strerror})") from None
    if begin.startswith(b"SQLite format 3"):
        advice = "a sweep of swingby 0.1 is read by swingby sweep --export-old FILE --out FOLDER"
        raise InvalidInput("file", file, f"must not be a database; {advice}")
    if file.suffix == ".safetensors":
        return "checkpoint", _checkpoint(file)
    if begin.startswith(b"PK"):
        return _sealed_arrays(file)
    if file.suffix != ".json":
        requirement = "must be a store, or a .json, .npz or .safetensors of swingby's; tables and "
        raise InvalidInput("file", file, f"{requirement}pictures are made again by their command")
    from swingby.proofs.checkers.replay import read, replay

    text = text_of(file, "file", "JSON file")
    try:
        content = json.loads(text)
        if isinstance(content, dict) and "signal" in content and "digest" in content:
            return "certificate", replay(read(text))  # stricter: it refuses NaN
    except (ValueError, RecursionError) as error:
        raise InvalidInput("file", file, f"must be JSON ({error})") from None
    if isinstance(content, dict) and {"statement", "latex", "digest"} <= content.keys():
        from swingby.proofs.audit.witness_files import faults

        return str(content.get("format")), faults(content)
    if not isinstance(content, dict) or "sha256" not in content:
        raise InvalidInput("file", file, _UNSEALED)
    return str(content.get("format", "result")), _refusals(lambda: unsealed(content))


def _sealed_arrays(file: Path) -> tuple[str, list[str]]:
    from swingby.theory.input_files import read_arrays

    arrays = read_arrays(file, "file")
    try:
        facts = json.loads(str(arrays.pop("facts")))
        kind, _ = str(facts["format"]), facts["sha256"]
    except BROKEN:
        raise InvalidInput("file", file, _UNSEALED) from None
    return kind, _refusals(lambda: unsealed(facts, arrays))


def _checkpoint(file: Path) -> list[str]:
    """Faults of a checkpoint, read under the name that it gives itself."""
    from swingby.lab.networks import checkpoint

    library = checkpoint.load_library()
    try:
        with library.safe_open(file, framework="pt") as opened:
            facts = opened.metadata() or {}
    except Exception as error:  # safetensors has an error class of its own
        raise InvalidInput("file", file, checkpoint.requirement(error)) from None
    if "sha256" not in facts:
        raise InvalidInput("file", file, _UNSEALED)
    return _refusals(lambda: checkpoint.read_state(file, facts.get("identity", "")))


def _refusals(check: Any) -> list[str]:
    try:
        check()
    except ValueError as error:  # an InvalidInput is one
        return [str(error)]
    return []
