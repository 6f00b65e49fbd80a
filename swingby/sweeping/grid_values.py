"""Values of a grid that are no plain numbers: widths, seeds, and what is recorded."""

from __future__ import annotations

from typing import Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.simulate.initialization import LARGEST_WIDTH
from swingby.sweeping.axes import distinct, listed
from swingby.sweeping.grid_numbers import whole_number
from swingby.sweeping.ranges import Range, read_range

#: What stands for "as many columns as concepts" on the axis `width`.
AS_DIM = "d"


def width_axis(value: Any) -> tuple[int | str, ...] | Range:
    """Widths d' of U(0): whole numbers, :data:`AS_DIM`, or a range.

    Raises
    ------
    InvalidInput
    """
    if isinstance(value, (dict, Range)):
        return read_range(value, "width", lambda one, name: str(_width(one, name)))
    found = [AS_DIM] if value is None else listed(value, "width")
    return distinct(
        (
            AS_DIM if one is None or one == AS_DIM else _width(one, f"width[{place}]")
            for place, one in enumerate(found, 1)
        ),
        "width",
    )


def _width(value: Any, argument: str) -> int:
    return whole_number(value, argument, 1, LARGEST_WIDTH)


def seed_numbers(value: Any) -> tuple[int, ...] | range:
    """Numbers of the draws of W(0).

    Parameters
    ----------
    value : int or list of int
        How many, or which.

    Returns
    -------
    tuple of int, or range
        The first n of them are a range, however they were given.

    Raises
    ------
    InvalidInput

    Examples
    --------
    >>> seed_numbers(3), seed_numbers([0, 1, 2]), seed_numbers([5, 2])
    (range(0, 3), range(0, 3), (5, 2))
    """
    if isinstance(value, range) and value and value == range(len(value)):
        return value
    if not isinstance(value, (list, tuple, range, np.ndarray)):
        return range(whole_number(value, "seeds", 1, 2**53))
    found = distinct(
        (
            whole_number(one, f"seeds[{place}]", 0)
            for place, one in enumerate(listed(value, "seeds"), 1)
        ),
        "seeds",
    )
    return range(len(found)) if found == tuple(range(len(found))) else found


def record_rule(value: Any) -> str | int | None:
    """Which steps of W are kept: None, ``"log"``, or every k-th.

    Raises
    ------
    InvalidInput
    """
    if value is None:
        return None
    if isinstance(value, str):
        if value != "log":
            raise InvalidInput("record", value, 'must be "log" or a whole number')
        return value
    return whole_number(value, "record", 1)
