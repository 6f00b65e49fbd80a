"""Widths in a paper: of its column and text, or a length in inches, points or millimetres."""

from __future__ import annotations

import re
from numbers import Real
from typing import Any

from swingby.errors import InvalidInput

#: How tables and pictures are given a width.
Width = str | float
#: Width of a column and of the text of a paper in two columns, in inches: those of ICML.
PAPER_WIDTHS = {"column": 3.25, "text": 6.75}
#: Units of a length, in inches; points are those of TeX.
_UNITS = {"in": 1.0, "": 1.0, "pt": 1 / 72.27, "cm": 1 / 2.54, "mm": 1 / 25.4}
_LENGTH = re.compile(rf"(\d+(?:\.\d*)?)\s*({'|'.join(_UNITS)})")


def paper_width(width: Any, argument: str = "width", *, most: int = 20) -> float:
    """A width in inches: of "column" or "text", a number of inches, "240pt", "83mm".

    More inches than `most` were meant in another unit.
    """
    inches = 0.0
    if isinstance(width, str):
        match = _LENGTH.fullmatch(width.strip())
        inches = float(match[1]) * _UNITS[match[2]] if match else PAPER_WIDTHS.get(width, 0.0)
    elif isinstance(width, Real) and not isinstance(width, bool):
        inches = float(width)
    if 1 <= inches <= most:
        return inches
    requirement = f'must be "column", "text", inches (1 to {most}), "240pt" or "83mm"'
    raise InvalidInput(argument, width, requirement)
