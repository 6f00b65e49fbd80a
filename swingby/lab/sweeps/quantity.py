"""Quantity: a number or a name of every point, for the axes and conditions of a diagram."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from swingby.errors import InvalidInput
from swingby.lab.sweeps.grid import written_number
from swingby.lab.sweeps.point import dimension_of, task_vectors
from swingby.theory import numbers

if TYPE_CHECKING:
    pass

#: Values in the order of an axis: exact numbers, vectors of them, or names.
Value = Fraction | tuple[Fraction, ...] | str


def log10_of(value: Fraction) -> float:
    """The log10 to 12 digits, so that those of powers of ten are whole."""
    return round(numbers.log_of(value) / math.log(10), 12)


def _entry(task: str, letter: str, concept: int) -> Fraction | None:
    vector = task_vectors(task)[letter]
    return vector[concept - 1] if concept <= len(vector) else None


# Quantities

#: Names of an entry of a vector, and of a ratio of entries.
ENTRY = re.compile(r"(a|mu|sigma)_([1-9]\d*)(?:/(a|mu|sigma)_([1-9]\d*))?")
_SYMBOLS = {
    "omega": r"$\omega$",
    "eta": r"$\eta$",
    "width": "$d'$",
    "dimension": "$d$",
    "signal": "$a$",
    "mu": r"$\mu$",
    "sigma": r"$\sigma$",
}
#: Vectors of a task, and their letters.
VECTORS = {"signal": "a", "mu": "mu", "sigma": "sigma"}
#: Quantities that a point is made of, and the columns that have them.
SOURCES = {
    "signal": "task",
    **{name: name for name in ("omega", "eta", "width", "dynamics", "steps", "seed")},
}


@dataclass(frozen=True)
class Quantity:
    """A number, or a name, of every point.

    ``omega``, ``eta``, ``width``, ``dimension``, ``dynamics``, ``steps``, ``seed``; a vector as a
    whole: ``signal``, ``mu``, ``sigma``; an entry: ``a_1``, ``mu_2``; a ratio of entries:
    ``a_1/a_2``, ``mu_1/sigma_1``; any other column of the frame. `read` makes the exact number or
    name from a value of the column `source`; None where there is none, as for a_3 of two concepts.

    >>> quantity("a_1/a_2").read("4,1||"), quantity("dimension").read("4,1||")
    (Fraction(4, 1), Fraction(2, 1))
    """

    name: str
    source: str
    read: Callable[[Any], Value | None]

    @property
    def symbol(self) -> str:
        """The name as the paper writes it, for matplotlib."""
        if ENTRY.fullmatch(self.name) is None:
            return _SYMBOLS.get(self.name, self.name.replace("_", " "))
        letters = re.sub("(mu|sigma)", r"\\\1", self.name).replace("/", " / ")
        return "$" + re.sub(r"_(\d+)", r"_{\1}", letters) + "$"


def quantity(name: Any, columns: Iterable[Any] = ()) -> Quantity | None:
    """The quantity of a name, also of a column of the user; None for a name of nothing."""
    if not isinstance(name, str):
        return None
    if name == "dimension":
        return Quantity(name, "task", lambda task: Fraction(dimension_of(task)))
    if name in VECTORS:
        letter = VECTORS[name]
        return Quantity(name, "task", lambda task: task_vectors(task)[letter] or None)
    entry = ENTRY.fullmatch(name)
    if entry is not None:
        over, upper, under, lower = entry.groups()

        def ratio(task: str) -> Fraction | None:
            above = _entry(task, over, int(upper))
            below = Fraction(1) if under is None else _entry(task, under, int(lower))
            return above / below if above is not None and below else None

        return Quantity(name, "task", ratio)
    if name in ("omega", "eta"):
        return Quantity(name, name, Fraction)
    return Quantity(name, name, cell_value) if name in {*SOURCES, *columns} else None


def cell_value(cell: Any) -> Value | None:
    """The exact number or the name in a cell of the frame; None for an empty cell."""
    if cell is None or isinstance(cell, str):
        return cell
    number = float(cell)
    if not math.isfinite(number):
        return None
    return Fraction(int(cell)) if number == int(number) else Fraction(repr(number))


def value_text(value: Value) -> str:
    """A value as the exact text that stands for it."""
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return f"({', '.join(map(value_text, value))})"
    try:
        return written_number(value) if value >= 0 else f"-{written_number(-value)}"
    except InvalidInput:  # a ratio of hundreds of digits
        return str(value)
