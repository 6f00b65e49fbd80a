"""Checkpoint: a state of training in one safetensors file, with a digest of all that it says."""

from __future__ import annotations

import hashlib
import importlib
import json
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import swingby
from swingby.errors import InvalidInput, MissingExtra
from swingby.report.files import whole
from swingby.report.seals import sealed, unsealed

_AGAIN = "to begin again, move it away or give another folder"


class Checkpoint(NamedTuple):
    """The file of a state, its identity, and the seconds from a write to the next."""

    path: Path
    identity: str
    every: float
    torch: Any


def identity(inputs: Any) -> str:
    """Sixteen hexadecimal digits that name a file by the inputs that its content depends on.

    >>> identity({"seed": 0}) == identity({"seed": 0}), identity({"seed": 0}) == identity({})
    (True, False)
    """
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:16]


def write_state(path: Path, name: str, step: int, tensors: dict[str, Any], torch: Any) -> None:
    """Write a state to a file as a whole; after a failure the older file is as it was."""
    library = load_library()
    contiguous = {key: torch.as_tensor(value).cpu().contiguous() for key, value in tensors.items()}
    header = {"identity": name, "step": str(step), "swingby": swingby.__version__}
    header = sealed(header, {key: tensor.numpy() for key, tensor in contiguous.items()})
    with whole(path, "checkpoint") as target:
        try:
            library.save_file(contiguous, target, metadata=header)
        except importlib.import_module("safetensors").SafetensorError as error:
            raise OSError(str(error)) from None


def read_state(path: Path, name: str) -> tuple[int, dict[str, Any]] | None:
    """Step and tensors of a file that :func:`write_state` wrote under a name; None without file.

    InvalidInput if a bit of the file has changed, or it holds something else.
    """
    if not path.exists():
        return None
    library = load_library()
    try:
        with library.safe_open(path, framework="pt") as file:
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
            arrays = {key: tensor.numpy() for key, tensor in tensors.items()}
            header = unsealed(dict(file.metadata() or {}), arrays)
        step = int(header["step"])
    except Exception as error:
        # safetensors raises an error class of its own for what is not its format.
        raise foreign(path, error) from None
    if header.get("identity") != name:
        raise InvalidInput("checkpoint", path, f"must belong to these settings: {_AGAIN}")
    return step, tensors


def usable_folder(checkpoint: object, name: str = "checkpoint") -> Path:
    """A folder, made if need be, and refused before training if it cannot be written to."""
    if not isinstance(checkpoint, (str, Path)) or not str(checkpoint).strip():
        raise InvalidInput(name, checkpoint, "must be the path of a folder")
    load_library()
    folder = Path(checkpoint)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidInput(name, folder, f"must be a folder to write to ({reason})") from None


def foreign(path: Path, error: Exception) -> InvalidInput:
    """The error for a file that is no checkpoint, and what to do before training."""
    return InvalidInput("checkpoint", path, f"{requirement(error)}: {_AGAIN}")


def requirement(error: Exception) -> str:
    """What a file did not satisfy, with the error of reading it."""
    return f"must hold a checkpoint of swingby ({type(error).__name__}: {error})"


def load_library() -> Any:
    """safetensors, as it is used with torch."""
    try:
        return importlib.import_module("safetensors.torch")
    except ImportError:
        raise MissingExtra("safetensors", "torch") from None
