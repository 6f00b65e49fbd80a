"""The data of a figure in a folder: arrays in an npz file, everything else in a JSON file.

The JSON file is written last, so data counts as kept only when it is whole. Nothing is pickled.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import swingby
from swingby.figures.figure import Data, Edition, Figure
from swingby.report.files import writable

#: Raised when the layout of the files changes.
FORMAT = 1


def stem(figure: Figure, edition: Edition) -> str:
    """Name of the files of an edition, without their ending.

    Returns
    -------
    str
        ``fig5-caption``.
    """
    return f"fig{figure.number}-{edition.name}"


def provenance(figure: Figure, edition: Edition, *, quick: bool) -> dict[str, Any]:
    """What made the data: versions, parameters, and their hash."""
    return {
        "format": FORMAT,
        "swingby": swingby.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "figure": figure.number,
        "version": figure.version,
        "edition": edition.name,
        "note": edition.note,
        "quick": quick and bool(edition.quick),
        "parameters": edition.given(quick=quick),
        "key": figure.key(edition, quick=quick),
    }


def keep(
    folder: Path, figure: Figure, edition: Edition, data: Data, *, quick: bool, seconds: float
) -> None:
    """Write the data of an edition.

    Parameters
    ----------
    folder : Path
    figure : Figure
    edition : Edition
    data : mapping
        Arrays, and plain values without infinity and nan.
    quick : bool
    seconds : float
        What the computation took.

    Raises
    ------
    TypeError, ValueError
        For data that JSON cannot hold, or an array of objects.
    InvalidInput
        If the folder cannot be written.
    """
    arrays = {name: value for name, value in data.items() if isinstance(value, np.ndarray)}
    plain = {name: value for name, value in data.items() if name not in arrays}
    json.dumps(plain, allow_nan=False)  # refuses what cannot be kept before anything is written
    origin = provenance(figure, edition, quick=quick)
    name = stem(figure, edition)
    facts = np.array(json.dumps(origin, allow_nan=False))
    with writable(folder) as place:
        target = place / f"{name}.npz"
        part = target.with_suffix(f".npz.{os.getpid()}")
        try:
            with open(part, "wb") as stream:
                np.savez_compressed(stream, allow_pickle=False, provenance=facts, **arrays)
            digest = hashlib.sha256(part.read_bytes()).hexdigest()
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    content = {
        "provenance": origin,
        "seconds": round(seconds, 3),
        "sha256": digest,
        "arrays": {name: list(value.shape) for name, value in arrays.items()},
        "data": plain,
    }
    write_json(folder / f"{name}.json", content)


def kept(folder: Path, figure: Figure, edition: Edition, *, quick: bool) -> dict[str, Any] | None:
    """The data of an edition, if it is there, whole, and made from the same parameters."""
    name = stem(figure, edition)
    try:
        content = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        if content["provenance"]["key"] != figure.key(edition, quick=quick):
            return None
        if content["provenance"]["format"] != FORMAT:
            return None
        target = folder / f"{name}.npz"
        if hashlib.sha256(target.read_bytes()).hexdigest() != content["sha256"]:
            return None
        # A stream of our own is closed even when numpy fails half-way into a broken file.
        with open(target, "rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays = {one: file[one] for one in content["arrays"]}
        return {**content["data"], **arrays}
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile):
        return None


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON file at once, so that nobody reads half of it.

    Raises
    ------
    InvalidInput
        If the file cannot be written.
    """
    text = json.dumps(content, indent=1, allow_nan=False)
    part = path.with_suffix(f".json.{os.getpid()}")
    with writable(path):
        try:
            part.write_text(text + "\n", encoding="utf-8")
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
