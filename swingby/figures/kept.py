"""The data of a figure in a folder: arrays in an npz file, everything else in a JSON file.

The JSON file is written last, so data counts only when it is whole. Nothing is pickled.
"""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import numpy as np

import swingby
from swingby.figures.figure import Data, Edition, Figure
from swingby.report.files import BROKEN, json_text, unsealed, write_arrays, write_json
from swingby.theory.reading import read_sealed, text_of

#: Raised when the layout of the files changes.
FORMAT = "swingby figure 2"


def stem(figure: Figure, edition: Edition) -> str:
    """Name of the files of an edition, without their ending: ``fig5-caption``."""
    return f"fig{figure.number}-{edition.name}"


def provenance(figure: Figure, edition: Edition, *, quick: bool) -> dict[str, Any]:
    """What made the data: versions, parameters, and their hash."""
    return {
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
    content = {
        "format": FORMAT,
        "provenance": origin,
        "seconds": round(seconds, 3),
        "arrays": {name: list(value.shape) for name, value in arrays.items()},
        "data": plain,
    }
    # The arrays carry all the rest, so that files of two runs do not pass for one.
    write_arrays(folder / f"{name}.npz", content, arrays)
    write_json(folder / f"{name}.json", content)


def kept(folder: Path, figure: Figure, edition: Edition, *, quick: bool) -> dict[str, Any] | None:
    """The data of an edition, if it is there, whole, and made from the same parameters."""
    name = stem(figure, edition)
    try:
        content = unsealed(json.loads(text_of(folder / f"{name}.json", "out", "file of a figure")))
        if content["provenance"]["key"] != figure.key(edition, quick=quick):
            return None
        facts, arrays = read_sealed(folder / f"{name}.npz", "out", "data of a figure")
        if facts != content or content["format"] != FORMAT:
            return None
        return {**content["data"], **{one: arrays[one] for one in content["arrays"]}}
    except BROKEN:
        return None
