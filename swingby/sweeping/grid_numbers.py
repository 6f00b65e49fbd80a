"""Numbers of a grid, as the one text that stands for them.

A float is read as the decimal that it prints as, so that a TOML file, a dict and the command line
describe the same points. Text stays exact at any size: ``"1e-400"``, ``"1/3"``.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.theory import numbers, written


def written_number(value: Fraction, argument: str = "a number") -> str:
    """The one text that stands for an exact number in keys and files.

    Parameters
    ----------
    value : Fraction
        At least 0.
    argument : str
        Used in the error.

    Raises
    ------
    InvalidInput
        If the number is too long to be written.
    """
    text = written.number(value).strip('"')
    if text.startswith("Fraction"):
        raise InvalidInput(argument, "a number of hundreds of digits", "must be shorter")
    return text


def number_text(value: Any, argument: str, *, positive: bool = True) -> str:
    """Read one number of a grid.

    Returns
    -------
    str
        See :func:`written_number`.

    Raises
    ------
    InvalidInput

    Examples
    --------
    >>> number_text(0.1, "eta"), number_text("1/10", "eta"), number_text("1e-400", "omega")
    ('0.1', '0.1', '1e-400')
    """
    exact = numbers.exact(value, argument)
    if isinstance(value, (float, np.floating)):
        exact = Fraction(repr(float(value)))
    if exact < 0 or (positive and not exact):
        wanted = "must be positive" if positive else "must not be negative"
        raise InvalidInput(argument, value, wanted)
    return written_number(exact, argument)


def whole_number(value: Any, argument: str, least: int, most: int | None = None) -> int:
    """Read one whole number of a grid.

    Raises
    ------
    InvalidInput
    """
    return numbers.whole(value, argument, least, most=most)


def optional_whole(value: Any, argument: str, least: int, most: int | None = None) -> int | None:
    """Read a whole number that may be left out.

    Raises
    ------
    InvalidInput
    """
    return None if value is None else whole_number(value, argument, least, most)
