"""Training on disk: tensors and arrays in one safetensors file, settings in its header."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import swingby
from swingby.errors import InvalidInput, MissingExtra
from swingby.training.setting import Setting

#: Raised whenever what a run computes changes.
TRAINING_VERSION = 1


def identity(settings: tuple[Setting, ...], extra: dict[str, Any]) -> str:
    """A name for runs that are the same.

    Parameters
    ----------
    settings : tuple of Setting
    extra : dict
        Whatever else the result depends on, as JSON can hold it.

    Returns
    -------
    str
        Sixteen hexadecimal digits.
    """
    whole = {
        "settings": [one.to_dict() for one in settings],
        "extra": extra,
        "version": TRAINING_VERSION,
    }
    text = json.dumps(whole, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def write(path: Path, name: str, step: int, tensors: dict[str, Any], torch: Any) -> None:
    """Put a state on disk, in place of an older one.

    Raises
    ------
    InvalidInput
        If the file cannot be written; an older one is left as it was.
    """
    library = load_library()
    plain = {key: torch.as_tensor(value).cpu().contiguous() for key, value in tensors.items()}
    header = {"identity": name, "step": str(step), "swingby": swingby.__version__}
    other = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        library.save_file(plain, other, metadata=header)
        other.replace(path)
    except (OSError, importlib.import_module("safetensors").SafetensorError) as error:
        raise _unwritable(path.parent, error) from None
    finally:
        # Gone if it took the place of the older one; left by whatever else happened.
        with contextlib.suppress(OSError):
            other.unlink(missing_ok=True)


def usable_folder(checkpoint: object, name: str = "checkpoint") -> Path:
    """A folder that can be written to, before hours of training are spent.

    Parameters
    ----------
    checkpoint : object
        As the caller gave it.
    name : str
        Used in the error.

    Raises
    ------
    InvalidInput
        If it is no path, or nothing can be written there.
    MissingExtra
        Without safetensors.
    """
    if not isinstance(checkpoint, (str, Path)) or not str(checkpoint).strip():
        raise InvalidInput(name, checkpoint, "must be the path of a folder")
    load_library()
    folder = Path(checkpoint)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except (OSError, ValueError) as error:
        raise _unwritable(folder, error, name) from None


def _unwritable(folder: Path, error: Exception, name: str = "checkpoint") -> InvalidInput:
    reason = getattr(error, "strerror", None) or str(error)
    return InvalidInput(name, folder, f"must be a folder to write to ({reason})")


def foreign(path: Path, error: Exception) -> InvalidInput:
    """The error for a file that is something else.

    Parameters
    ----------
    path : Path
    error : Exception
        That reading it raised.
    """
    shown = f"{type(error).__name__}: {error}"
    return InvalidInput("checkpoint", path, f"must hold a checkpoint of swingby ({shown})")


def read(path: Path, name: str) -> tuple[int, dict[str, Any]] | None:
    """The state on disk.

    Parameters
    ----------
    path : Path
    name : str
        From :func:`identity`.

    Returns
    -------
    tuple of int and dict, or None
        The step, and tensors by name; None where there is no file.

    Raises
    ------
    InvalidInput
        If the file is damaged, or holds something else.
    """
    if not path.exists():
        return None
    library = load_library()
    try:
        with library.safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        step = int(header["step"])
    except Exception as error:
        # safetensors raises an error class of its own for what is not its format.
        raise foreign(path, error) from None
    if header.get("identity") != name:
        raise InvalidInput("checkpoint", path, "must belong to these settings")
    return step, tensors


def load_library() -> Any:
    """safetensors, as it is used with torch.

    Raises
    ------
    MissingExtra
        If it is not installed.
    """
    try:
        return importlib.import_module("safetensors.torch")
    except ImportError:
        raise MissingExtra("safetensors", "torch") from None
