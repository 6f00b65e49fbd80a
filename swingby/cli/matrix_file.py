"""W(0) from a file or the command line; nothing is unpickled or evaluated."""

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

    path = Path(text)
    try:
        suffix = path.suffix.lower()
        if suffix == ".npy":
            return np.load(path, allow_pickle=False)
        if suffix == ".json":
            return _from_json(path.read_text(encoding="utf-8"), exact, name)
        if suffix in (".csv", ".txt"):
            text = ";".join(path.read_text(encoding="utf-8").split("\n")).strip(";\r ")
    except InvalidInput:
        raise
    except (OSError, ValueError, EOFError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or "it is not such a file"
        raise InvalidInput(name, path, f"must be a readable matrix file ({reason})") from None
    return _entries([row.split(",") for row in text.split(";") if row.strip()], exact, name)


def _entries(rows: Any, exact: bool, name: str) -> list[list[Any]]:
    """Each entry digit by digit, from whatever file: a blank is no number, and none becomes 0."""
    from swingby.theory import numbers

    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise InvalidInput(name, rows, "must be rows of numbers")
    entry = f"an entry of {name}"
    found = [[numbers.exact(one, entry) for one in row] for row in rows]
    if exact:
        return found
    return [[numbers.within_float(one, entry) for one in row] for row in found]


def _from_json(text: str, exact: bool, name: str) -> Any:
    from swingby.theory.initial import Scaled

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError("a key twice")
        return dict(pairs)

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    content = json.loads(text, parse_float=str, parse_constant=refuse, object_pairs_hook=once)
    if not isinstance(content, dict):
        return _entries(content, exact, name)
    if set(content) != {"matrix", "omega"}:
        raise ValueError
    return Scaled(_entries(content["matrix"], exact=False, name=name), content["omega"])
