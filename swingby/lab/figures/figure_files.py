"""Files of a figure's data: arrays in an npz file, everything else in a JSON file.

The JSON file is written last, so data counts only when it is whole. Nothing is pickled.
"""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import numpy as np

from swingby.lab.figures.figure import Data, Edition, Figure
from swingby.report.files import BROKEN, json_text, write_arrays, write_json
from swingby.report.seals import unsealed
from swingby.theory.input_files import read_sealed, text_of

#: Raised when the layout of the files changes, or what is computed from the same parameters.
FORMAT = "swingby figure 3"


def stem(figure: Figure, edition: Edition) -> str:
    """Name of the files of an edition, without their ending: ``fig5-caption``."""
    return f"fig{figure.number}-{edition.name}"


def write_data(
    folder: Path, figure: Figure, edition: Edition, quick: bool, data: Data, seconds: float
) -> dict[str, Any]:
    """Write the data of an edition; what JSON or numpy cannot hold is refused before that.

    Returns the data as it is written, so that a file alone gives the same verdicts.
    """
    arrays = {name: value for name, value in data.items() if isinstance(value, np.ndarray)}
    values = {name: value for name, value in data.items() if name not in arrays}
    provenance = figure.inputs(edition, quick=quick) | {
        "key": figure.key(edition, quick=quick),
        "note": edition.note,
        "quick": quick and bool(edition.quick),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
    content = {
        "format": FORMAT,
        "provenance": provenance,
        "seconds": round(seconds, 3),
        "arrays": {name: list(value.shape) for name, value in arrays.items()},
        "data": json.loads(json_text(values)),
    }
    path = folder / stem(figure, edition)
    # The arrays carry all the rest, so that files of two runs do not pass for one.
    write_arrays(f"{path}.npz", content, arrays)
    write_json(f"{path}.json", content)
    return {**content["data"], **arrays}


def read_data(folder: Path, figure: Figure, edition: Edition, quick: bool) -> dict[str, Any] | None:
    """The data of an edition, if it is there, whole, and made from the same parameters."""
    name = stem(figure, edition)
    try:
        content = unsealed(json.loads(text_of(folder / f"{name}.json", "out", "file of a figure")))
        if content["provenance"]["key"] != figure.key(edition, quick=quick):
            return None
        facts, arrays = read_sealed(folder / f"{name}.npz", "out", "data of a figure")
        if facts != content or content["format"] != FORMAT:
            return None
        return {**content["data"], **{array: arrays[array] for array in content["arrays"]}}
    except BROKEN:
        return None
