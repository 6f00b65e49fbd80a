"""Training on disk: tensors by name in one safetensors file, with a digest of all that it says."""

from __future__ import annotations

import hashlib
import importlib
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import swingby
from swingby.errors import InvalidInput, MissingExtra
from swingby.report.files import sealed, unsealed, whole


def identity(inputs: Any, modules: Sequence[str] = ()) -> str:
    """Sixteen hexadecimal digits that name what depends on some inputs and on the code of modules.

    >>> identity({"seed": 0}) == identity({"seed": 0}), identity({"seed": 0}) == identity({})
    (True, False)
    """
    found = hashlib.sha256(json.dumps(inputs, sort_keys=True).encode())
    for name in modules:
        found.update(Path(str(importlib.import_module(name).__file__)).read_bytes())
    return found.hexdigest()[:16]


def write(path: Path, name: str, step: int, tensors: dict[str, Any], torch: Any) -> None:
    """Put a state on disk whole, in place of an older one, which a failure leaves as it was."""
    library = load_library()
    plain = {key: torch.as_tensor(value).cpu().contiguous() for key, value in tensors.items()}
    header = {"identity": name, "step": str(step), "swingby": swingby.__version__}
    header = sealed(header, {key: one.numpy() for key, one in plain.items()})
    with whole(path, "checkpoint") as target:
        try:
            library.save_file(plain, target, metadata=header)
        except importlib.import_module("safetensors").SafetensorError as error:
            raise OSError(str(error)) from None


def read(path: Path, name: str) -> tuple[int, dict[str, Any]] | None:
    """The step and the tensors that :func:`write` put there under this name; None without a file.

    InvalidInput if a bit of the file has changed, or it holds something else.
    """
    if not path.exists():
        return None
    library = load_library()
    try:
        with library.safe_open(path, framework="pt") as file:
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
            arrays = {key: one.numpy() for key, one in tensors.items()}
            header = unsealed(dict(file.metadata() or {}), arrays)
        step = int(header["step"])
    except Exception as error:
        # safetensors raises an error class of its own for what is not its format.
        raise foreign(path, error) from None
    if header.get("identity") != name:
        raise InvalidInput("checkpoint", path, "must belong to these settings")
    return step, tensors


def usable_folder(checkpoint: object, name: str = "checkpoint") -> Path:
    """A folder that can be written to, before hours of training are spent."""
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
    """The error for a file that is something else, as reading it showed."""
    shown = f"{type(error).__name__}: {error}"
    return InvalidInput("checkpoint", path, f"must hold a checkpoint of swingby ({shown})")


def load_library() -> Any:
    """safetensors, as it is used with torch."""
    try:
        return importlib.import_module("safetensors.torch")
    except ImportError:
        raise MissingExtra("safetensors", "torch") from None
