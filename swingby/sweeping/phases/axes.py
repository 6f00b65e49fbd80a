"""The axes of a phase diagram: which quantities vary, which two are shown, and their pixels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.sweeping.phases.axis import ordered
from swingby.sweeping.phases.quantity import (
    Quantity,
    Value,
    asked_value,
    families,
    quantity,
    value_text,
)
from swingby.sweeping.ranges import Range

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from swingby.sweeping.grid import SweepGrid
    from swingby.sweeping.phases.table import Table

#: Values of an axis that an error names.
_SHOWN = 8


@dataclass(frozen=True, eq=False)
class Column:
    """One quantity of every row.

    Parameters
    ----------
    quantity : Quantity
    values : list of Fraction or str
        Those that occur, in ascending order.
    index : ndarray of shape (n,)
        Which of them each row has; -1 for none, and for rows that are not chosen.
    """

    quantity: Quantity
    values: list[Value]
    index: NDArray[np.int64]


def known(name: Any, argument: str, varying: list[str]) -> Quantity:
    """The quantity of a name that a caller gave.

    Parameters
    ----------
    name : str
    argument : str
        Used in the error.
    varying : list of str
        Names that the error offers.

    Raises
    ------
    InvalidInput
    """
    found = quantity(name) if isinstance(name, str) else None
    if found is None:
        offered = f"; these vary: {', '.join(varying)}" if varying else ""
        raise InvalidInput(argument, name, f"must name a quantity of the sweep{offered}")
    return found


def selected(table: Table, where: Mapping[str, Any]) -> NDArray[np.bool_]:
    """The rows that have all the values asked for.

    Raises
    ------
    InvalidInput
        For a name that is no quantity, and a value that no row has.
    """
    chosen = np.ones(len(table), dtype=bool)
    for name, value in where.items():
        one = known(name, "where", list(varying(table, np.ones(len(table), dtype=bool))))
        asked = asked_value(name, value)
        found = column(table, one, chosen)
        if asked in found.values:
            chosen &= found.index == found.values.index(asked)
        elif len(table):
            texts = [value_text(one) for one in found.values]
            more = ", ..." if len(texts) > _SHOWN else ""
            raise InvalidInput(
                f"where[{name}]",
                value,
                f"must be a value of the sweep: {', '.join(texts[:_SHOWN])}{more}",
            )
    return chosen


def column(table: Table, one: Quantity, chosen: NDArray[np.bool_]) -> Column:
    """The values of a quantity."""
    codes = table.codes[one.part]
    read = {code: one.read(table.values[one.part][code]) for code in np.unique(codes[chosen])}
    values = ordered(list({value for value in read.values() if value is not None}))
    place = {value: number for number, value in enumerate(values)}
    of_code = np.full(len(table.values[one.part]) + 1, -1, dtype=np.int64)
    for code, value in read.items():
        of_code[code] = -1 if value is None else place[value]
    return Column(one, values, np.where(chosen, of_code[codes], -1))


def varying(table: Table, chosen: NDArray[np.bool_]) -> dict[str, int]:
    """Names of quantities with more than one value, with the number of their family.

    Returns
    -------
    dict from str to int
        In the order in which axes are looked for. Without the seed.
    """
    used = {
        part: [table.values[part][code] for code in np.unique(codes[chosen])]
        for part, codes in table.codes.items()
    }
    tasks = used["task"]
    dimension = max((len(signal or mu) for signal, mu, _ in tasks), default=0)
    of_signal = all(signal is not None for signal, _, _ in tasks)
    found: dict[str, int] = {}
    for family, names in enumerate(families(dimension, of_signal=of_signal)):
        for name in names:
            one = quantity(name)
            if one is not None and name not in found and _several(one, used[one.part]):
                found[name] = family
    return found


def _several(one: Quantity, values: list[Any]) -> bool:
    first: Value | None = None
    for value in values:
        read = one.read(value)
        if read is not None and first is not None and read != first:
            return True
        first = read if first is None else first
    return False


def chosen_names(
    x: str | None, y: str | None, varying: dict[str, int]
) -> tuple[Quantity, Quantity | None]:
    """The quantities of the two axes.

    Parameters
    ----------
    x, y : str or None
        As the caller gave them.
    varying : dict
        See :func:`varying`.

    Returns
    -------
    tuple
        Where a name is not given, that of the first quantity that varies and is of another family
        than the other axis; None for y where there is none.

    Raises
    ------
    InvalidInput
    """
    names = list(varying)
    given = {argument: name for argument, name in (("x", x), ("y", y)) if name is not None}
    found = {argument: known(name, argument, names) for argument, name in given.items()}
    if len(found) == 2 and found["x"].name == found["y"].name:
        raise InvalidInput("y", y, "must be another quantity than x")

    def taken(name: str) -> bool:
        return any(
            one.name == name or varying.get(one.name, -1) == varying[name] for one in found.values()
        )

    for argument in ("x", "y"):
        if argument not in found:
            free = next((name for name in names if not taken(name)), None)
            if free is None and argument == "x":
                free = "omega" if "y" not in found or found["y"].name != "omega" else "eta"
            one = None if free is None else quantity(free)
            if one is not None:
                found[argument] = one
    return found["x"], found.get("y")


def spacing(one: Quantity, grid: SweepGrid | None) -> str | None:
    """How the values of a quantity were drawn.

    Returns
    -------
    {"linear", "log"} or None
        None where they were not drawn from a range. Entries and ratios go by their vector.
    """
    if grid is None or grid.design != "random" or one.name in ("dimension", "dynamics", "steps"):
        return None
    names = ("signal", "mu", "sigma") if one.part == "task" else (one.part,)
    ranges = [axis for name in names if isinstance(axis := getattr(grid, name, None), Range)]
    if not ranges:
        return None
    ratio = "/" in one.name
    return "log" if ratio or any(axis.spacing == "log" for axis in ranges) else "linear"


def exact(values: list[Value]) -> list[Fraction] | None:
    """Values as numbers; None where some are names."""
    found = [value for value in values if isinstance(value, Fraction)]
    return found if len(found) == len(values) and found else None
