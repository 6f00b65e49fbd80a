"""W(0) from a file or from the command line itself; nothing is unpickled or evaluated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from swingby.errors import InvalidInput


def read_matrix(text: str, *, exact: bool = False, name: str = "w0") -> Any:
    """Read a matrix.

    Parameters
    ----------
    text : str
        The path of a .json, .csv, .txt or .npy file, or rows such as ``"2,1;1,2"``. A JSON
        object ``{"matrix": ..., "omega": "1e-400"}`` is a matrix below the float range.
    exact : bool
        Keep entries that are text as the exact numbers they denote.
    name : str
        Of the option, used in errors.

    Returns
    -------
    list of lists, ndarray or Scaled
        Not yet checked to be square, symmetric or finite.

    Raises
    ------
    InvalidInput
        If the file cannot be read or an entry is not a number.
    """
    import numpy as np

    from swingby.theory import numbers

    path = Path(text)
    try:
        suffix = path.suffix.lower()
        if suffix == ".npy":
            return np.load(path, allow_pickle=False)
        if suffix == ".json":
            return _from_json(json.loads(path.read_text(encoding="utf-8")))
        if suffix in (".csv", ".txt"):
            text = ";".join(path.read_text(encoding="utf-8").split("\n")).strip(";\r ")
    except InvalidInput:
        raise
    except (OSError, ValueError, EOFError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or "it is not such a file"
        raise InvalidInput(name, path, f"must be a readable matrix file ({reason})") from None
    rows = [[part for part in row.split(",") if part.strip()] for row in text.split(";")]
    name = f"an entry of {name}"
    entries = [[numbers.exact(entry, name) for entry in row] for row in rows if row]
    if exact:
        return entries
    return [[numbers.within_float(entry, name) for entry in row] for row in entries]


def _from_json(content: Any) -> Any:
    from swingby.theory.initial import Scaled

    if isinstance(content, dict):
        if set(content) != {"matrix", "omega"}:
            raise ValueError
        return Scaled(content["matrix"], content["omega"])
    return content
