"""Matrices from files and from text, digit by digit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from swingby.errors import InvalidInput
from swingby.theory import numbers
from swingby.theory.input_files import plain_json, plain_toml, read_arrays, text_of
from swingby.theory.number_lines import number_lines, padded_number

#: A matrix as MATLAB writes it, with rows between ``;`` or lines, and no brackets inside.
_MATLAB = re.compile(r"\[([^\[\]]*[;\n][^\[\]]*)\]")
#: Endings of packed files, and what unpacks them.
_PACKED = {".gz": "gunzip", ".bz2": "bunzip2", ".xz": "unxz", ".zip": "unzip"}


def read_matrix(
    source: str, shape: tuple[int, int | None], *, exact: bool = False, argument: str = "w0"
) -> Any:
    """A matrix from a .json, .toml, .csv, .txt, .npy or .npz file, or from text.

    Text is such as "2,1;1,2" or "[[2,1],[1,2]]"; without commas it is divided at its blanks.
    :func:`number_lines` reads text files.

    In JSON and TOML ``{"matrix": ..., "omega": "1e-400"}`` is one below the float range. `shape`:
    what it has to be, before a digit is read; None for any number of columns. `exact`: keep text as
    the exact numbers it denotes. Whether it is symmetric is not checked.
    """
    from swingby.theory.initial import Scaled  # no other reader needs starts

    suffix = Path(source).suffix.lower()
    if suffix in (".npy", ".npz"):
        arrays = read_arrays(source, argument)
        if len(arrays) != 1:
            names = ", ".join(arrays) or "none"
            raise InvalidInput(argument, f"{source} ({names})", "must hold one array")
        (matrix,) = arrays.values()
        _require_shape(list(matrix) if matrix.ndim == 2 else None, shape, argument)
        return matrix
    if suffix in _PACKED:
        requirement = f"must be unpacked first: {_PACKED[suffix]} {source}"
        raise InvalidInput(argument, source, requirement)
    source = _without_brackets(source)
    listed = source.lstrip().startswith("[")
    if suffix in (".json", ".toml") or listed:
        text = source if listed else text_of(source, argument, "matrix file")
        try:
            content = (plain_toml if suffix == ".toml" else plain_json)(text)
            if isinstance(content, dict):
                # A file of TOML is a table; one of JSON is a table only for the sake of omega.
                keys = set(content) | ({"omega"} if suffix == ".toml" else set())
                if keys != {"matrix", "omega"}:
                    raise ValueError("its keys must be matrix and omega")
                rows = _entries(content["matrix"], shape, exact, argument)
                return Scaled(rows, content["omega"]) if "omega" in content else rows
        except InvalidInput:
            raise
        except ValueError as error:
            reason = " ".join(str(error).split())[:80]
            raise InvalidInput(argument, source, f"must be a matrix file ({reason})") from None
        return _entries(content, shape, exact, argument)
    if suffix in (".csv", ".txt", ".tsv"):
        text = text_of(source, argument, "matrix file").strip("\n")
        # One line may hold all rows, as they are typed.
        text = _without_brackets(text)
        text = text if "\n" in text else text.replace(";", "\n")
        if all(line.rstrip(" ").endswith((",", ";", "\t")) for line in text.splitlines()):
            requirement = "must not end its lines in a separator"
            raise InvalidInput(argument, source, requirement)
        table = number_lines(text, argument, source, "matrix file", shape)
        return _entries(table.cells(), shape, exact, argument)
    if not re.search(r"[,;\s]", source) and shape[0] > 1:
        requirement = (
            "must be a matrix such as 2,1;1,2 or a file: .json, .toml, .csv, .txt, .npy, .npz"
        )
        raise InvalidInput(argument, source, requirement)
    padded = padded_number(source)
    if padded:
        requirement = "must have decimal points: columns stand between commas, rows between ;"
        raise InvalidInput(argument, padded, requirement)
    rows = [row.split("," if "," in row else None) for row in source.split(";") if row.strip()]
    return _entries(rows, shape, exact, argument)


def _without_brackets(text: str) -> str:
    """Rows between ``;`` inside one pair of brackets, as MATLAB has them, without the brackets."""
    inside = _MATLAB.fullmatch(text.strip())
    return inside[1].replace("\n", ";").replace(";;", ";") if inside else text


def _require_shape(rows: Any, shape: tuple[int, int | None], argument: str) -> None:
    widths = {len(row) for row in rows} if isinstance(rows, list) else set()
    expected = {shape[1]} if shape[1] is not None else widths
    if (
        not isinstance(rows, list)
        or len(rows) != shape[0]
        or widths != expected
        or len(widths) != 1
    ):
        lengths = " and ".join(map(str, sorted(widths)))
        description = f"{len(rows)} row(s) of {lengths}" if widths else "no rows of numbers"
        columns = "m" if shape[1] is None else shape[1]
        raise InvalidInput(
            argument, description, f"must have shape ({shape[0]}, {columns})", "(D.2)"
        )


def _entries(
    rows: Any, shape: tuple[int, int | None], exact: bool, argument: str
) -> list[list[Any]]:
    """Each entry digit by digit, from whatever file: a blank is no number, and none becomes 0."""
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise InvalidInput(argument, rows, "must be rows of numbers")
    _require_shape(rows, shape, argument)
    entry = f"an entry of {argument}"
    matrix = [[numbers.exact(number, entry) for number in row] for row in rows]
    if exact:
        return matrix
    return [[numbers.within_float(number, entry) for number in row] for row in matrix]
