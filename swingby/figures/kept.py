"""The data of a figure in a folder: arrays in an npz file, everything else in a JSON file.

The JSON file is written last, so data counts only when it is whole. Nothing is pickled.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import swingby
from swingby.figures.figure import Data, Edition, Figure
from swingby.report.files import BROKEN, digest, json_text, read_arrays, write_arrays, write_text

#: Raised when the layout of the files changes.
FORMAT = 1


def stem(figure: Figure, edition: Edition) -> str:
    """Name of the files of an edition, without their ending: ``fig5-caption``."""
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
    """Write the data of an edition; what JSON or numpy cannot hold is refused before that."""
    arrays = {name: value for name, value in data.items() if isinstance(value, np.ndarray)}
    plain = {name: value for name, value in data.items() if name not in arrays}
    json_text(plain)
    origin = provenance(figure, edition, quick=quick)
    name = stem(figure, edition)
    facts = np.array(json.dumps(origin, allow_nan=False))
    content = {
        "provenance": origin,
        "seconds": round(seconds, 3),
        "sha256": write_arrays(folder / f"{name}.npz", {"provenance": facts, **arrays}),
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
        if digest(folder / f"{name}.npz") != content["sha256"]:
            return None
        arrays = read_arrays(folder / f"{name}.npz")
        return {**content["data"], **{one: arrays[one] for one in content["arrays"]}}
    except BROKEN:
        return None


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write strict JSON."""
    write_text(path, json_text(content))
