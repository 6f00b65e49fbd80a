"""Recorded trajectories of a store: npz files without pickled objects, named by their content."""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swingby.errors import InvalidInput
from swingby.report.files import save_arrays, whole
from swingby.theory.input_files import read_arrays

Arrays = dict[str, NDArray[Any]]


def sweep_command(folder: Path) -> str:
    """The command that measures the missing rows of a store."""
    return f'"swingby sweep GRID --out {folder.name}"'


def _digest_of(arrays: Arrays) -> str:
    """SHA-256 over names, types, shapes and numbers."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def arrays_path(folder: Path, digest: str) -> Path:
    """The file of the arrays of a digest."""
    return folder / f"arrays-{Path(digest).name}.npz"


def keep_arrays(folder: Path, arrays: Arrays) -> str:
    """Write arrays, complete or not at all, unless they are there; the digest to load them by."""
    digest = _digest_of(arrays)
    with contextlib.suppress(InvalidInput):
        load_arrays(folder, digest)
        return digest
    with whole(arrays_path(folder, digest), "store") as beside:
        save_arrays(beside, arrays)
    return digest


def load_arrays(folder: Path, digest: str) -> Arrays:
    """Read arrays that :func:`keep_arrays` wrote; nothing is unpickled."""
    path = arrays_path(folder, digest)
    again = f"{sweep_command(folder)} writes it again"
    if path.exists():
        again = f"delete it, and {again}"
    try:
        arrays = read_arrays(path, "arrays")
    except InvalidInput as error:
        required = f"must be an npz file of this store ({error.requirement}): {again}"
        raise InvalidInput("arrays", path, required) from None
    if _digest_of(arrays) != digest:
        required = f"must match the digest in its name; it was changed: {again}"
        raise InvalidInput("arrays", path, required)
    return arrays
