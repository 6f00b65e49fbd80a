"""Arrays that belong to a row: npz files without pickled objects, named by their content."""

from __future__ import annotations

import hashlib
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swingby.errors import InvalidInput

Arrays = dict[str, NDArray[Any]]


def name_of(arrays: Arrays) -> str:
    """SHA-256 over names, types, shapes and numbers.

    Returns
    -------
    str
        In hexadecimal digits.
    """
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def keep(folder: Path, arrays: Arrays) -> str:
    """Write arrays, complete or not at all.

    Parameters
    ----------
    folder : Path
        Made where there is none.
    arrays : dict from str to ndarray

    Returns
    -------
    str
        The name to load them by.

    Raises
    ------
    InvalidInput
        If the folder cannot be written.
    """
    name = name_of(arrays)
    target = folder / f"{name}.npz"
    if target.exists():
        return name
    temporary = None
    try:
        folder.mkdir(exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=".", suffix=".tmp")
        with os.fdopen(handle, "wb") as stream:
            np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
        Path(temporary).replace(target)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise InvalidInput("store", folder, f"must be writable ({error.strerror})") from error
    return name


def load(folder: Path, name: str) -> Arrays:
    """Read arrays that :func:`keep` wrote; nothing is unpickled.

    Raises
    ------
    InvalidInput
        If the file is missing or broken, or holds something else.
    """
    path = folder / f"{Path(name).name}.npz"
    try:
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
    except (OSError, ValueError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        raise InvalidInput("arrays", path, f"must be an npz file of this store ({error})") from None
    if name_of(arrays) != name:
        raise InvalidInput("arrays", path, "must hold what its name says; it was changed")
    return arrays
