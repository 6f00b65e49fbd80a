"""Grids as TOML text. Numbers are read as they are written, digit by digit."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from swingby.errors import InvalidInput
from swingby.sweeping.ranges import Range


def read(path: str | Path) -> dict[str, Any]:
    """The content of a TOML file.

    Returns
    -------
    dict
        Decimals are text, so that ``omega = 1e-400`` is not 0.

    Raises
    ------
    InvalidInput
        If the file cannot be read or is no TOML.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise InvalidInput("grid", path, f"must be a readable TOML file ({reason})") from None
    try:
        return tomllib.loads(text, parse_float=str)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidInput("grid", path, f"must be a TOML file ({error})") from None


def plain(value: Any) -> Any:
    """The value of a key as lists, tables, text and whole numbers.

    Returns
    -------
    list, dict, str or int
        The first n seeds are their number.
    """
    if isinstance(value, Range):
        return value.to_plain()
    if isinstance(value, range):
        return len(value)
    if isinstance(value, tuple):
        return [list(one) if isinstance(one, tuple) else one for one in value]
    return value


def write(content: dict[str, Any]) -> str:
    """TOML text of a grid.

    Parameters
    ----------
    content : dict
        Of text, whole numbers, lists, and tables of these.
    """
    return "".join(f"{name} = {_value(value)}\n" for name, value in content.items())


def _value(value: Any) -> str:
    if isinstance(value, dict):
        inner = ", ".join(f"{name} = {_value(one)}" for name, one in value.items())
        return f"{{ {inner} }}"
    # Lists, whole numbers and plain text are written alike in JSON and in TOML.
    return json.dumps(value)
