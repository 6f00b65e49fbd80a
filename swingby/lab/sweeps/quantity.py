"""Quantities: numbers and names of a point that an axis shows and `where` fixes."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.lab.sweeps.grid import read_number, written_number
from swingby.lab.sweeps.label import Label
from swingby.lab.sweeps.point import Point, task_of
from swingby.theory import numbers
from swingby.theory.growth import DYNAMICS
from swingby.theory.numbers import Integers

if TYPE_CHECKING:
    import pandas as pd

#: Values of an axis that an error names.
_SHOWN = 8

#: Values in the order of an axis: exact numbers, vectors of them, or names.
Value = Fraction | tuple[Fraction, ...] | str


def log10_of(value: Fraction) -> float:
    """The log10 to 12 digits, so that those of powers of ten are whole."""
    return round(numbers.log_of(value) / math.log(10), 12)


# Tasks: the exact text of signal, mu and sigma between bars


def task_text(
    signal: Sequence[str] | None, mu: Sequence[str] | None, sigma: Sequence[str] | None
) -> str:
    """The text of a task, which :func:`task_vectors` reads."""
    return "|".join(",".join(vector or ()) for vector in (signal, mu, sigma))


@functools.lru_cache(100_000)
def task_vectors(task: str) -> dict[str, tuple[Fraction, ...]]:
    """The exact a, mu and sigma of a task; empty where it has none.

    >>> task_vectors("4,1||")["a"]
    (Fraction(4, 1), Fraction(1, 1))
    """
    signal, mu, sigma = (tuple(text.split(",")) if text else None for text in task.split("|"))
    a = task_of(Point(signal, mu, sigma, "1", 1, 0, "1", "flow")).exact_signal
    spreads = {"mu": tuple(map(Fraction, mu or ())), "sigma": tuple(map(Fraction, sigma or ()))}
    return {"a": tuple(a)} | spreads


def dimension_of(task: str) -> int:
    """Number of concepts of a task."""
    return len(task_vectors(task)["a"])


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
_VECTOR_NAMES = {"signal": "a", "mu": "mu", "sigma": "sigma"}
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
    if name in _VECTOR_NAMES:
        letter = _VECTOR_NAMES[name]
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
    """The exact number or the name in a cell of the frame; None where there is none."""
    if cell is None or isinstance(cell, str):
        return cell
    number = float(cell)
    if not math.isfinite(number):
        return None
    return Fraction(int(cell)) if number == int(number) else Fraction(repr(number))


def value_text(value: Value) -> str:
    """A value as the one exact text that stands for it."""
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return f"({', '.join(map(value_text, value))})"
    try:
        return written_number(value) if value >= 0 else f"-{written_number(-value)}"
    except InvalidInput:  # a ratio of hundreds of digits
        return str(value)


def asked_value(name: str, value: Any) -> Value:
    """The value that a reader asks for, in the form of :attr:`Quantity.read`."""
    argument = f"where[{name}]"
    if name in _VECTOR_NAMES:
        entries = value.strip().strip("()[]").split(",") if isinstance(value, str) else value
        if not isinstance(entries, Iterable):
            raise InvalidInput(argument, value, "must be a vector such as (4, 1)")
        return tuple(read_number(entry, argument) for entry in entries)
    try:
        return read_number(int(value) if isinstance(value, (bool, np.bool_)) else value, argument)
    except InvalidInput:
        if isinstance(value, str):
            return value
        raise


@dataclass(frozen=True, eq=False)
class QuantityValues:
    """The values of a quantity that occur, ascending, and which of them each row has.

    `index` has shape (n,); -1 for rows without a value.
    """

    quantity: Quantity
    values: list[Value]
    index: Integers

    @classmethod
    def of(cls, frame: pd.DataFrame, quantity: Quantity) -> QuantityValues:
        """The values of a quantity in a frame."""
        import pandas as pd

        codes, cells = pd.factorize(frame[quantity.source])
        read = [quantity.read(cell) for cell in cells]
        values = sorted({value for value in read if value is not None}, key=_rank)
        number_of: dict[Value | None, int] = {value: k for k, value in enumerate(values)}
        of_code = np.array([*(number_of.get(value, -1) for value in read), -1], dtype=int)
        return cls(quantity, values, of_code[codes])

    @property
    def exact(self) -> list[Fraction] | None:
        """Values as numbers; None where some are names."""
        fractions = [value for value in self.values if isinstance(value, Fraction)]
        return fractions if len(fractions) == len(self.values) and fractions else None


_IN_ORDER = [*DYNAMICS, *map(str, Label)]


def _rank(value: Value) -> tuple[int, tuple[Fraction | int, ...], str]:
    """Numbers, vectors and names ascend; dynamics and labels have an order of their own."""
    if isinstance(value, str):
        return 0, (_IN_ORDER.index(value) if value in _IN_ORDER else len(_IN_ORDER),), value
    entries = value if isinstance(value, tuple) else (value,)
    return len(entries), entries, ""


def known_quantity(
    name: Any, argument: str, columns: Iterable[Any], varying: Iterable[str]
) -> Quantity:
    """The quantity of a name that a caller gave; the error offers those that vary."""
    known = quantity(name, columns)
    if known is None:
        names = ", ".join(varying)
        offer = f"; these vary: {names}" if names else ""
        raise InvalidInput(argument, name, f"must name a quantity of the sweep{offer}")
    return known


def selected(frame: pd.DataFrame, where: Mapping[str, Any] | None) -> pd.DataFrame:
    """The rows that have all the values asked for; refused where there are none."""
    if where is not None and not isinstance(where, Mapping):
        raise InvalidInput("where", where, 'must be a dict such as {"eta": "0.01"}')
    rows = frame
    for name, value in (where or {}).items():
        fixed = quantity(name, frame) or known_quantity(name, "where", frame, varying(frame))
        column = QuantityValues.of(rows, fixed)
        # A name may look like a number: the order of one concept is "1".
        is_name = isinstance(value, str) and value in column.values
        exact = value if is_name else asked_value(name, value)
        if exact not in column.values and len(frame):
            texts = [value_text(value) for value in column.values]
            more = ", ..." if len(texts) > _SHOWN else ""
            requirement = f"must be a value of the sweep: {', '.join(texts[:_SHOWN])}{more}"
            raise InvalidInput(f"where[{name}]", value, requirement)
        if exact in column.values:
            rows = rows[column.index == column.values.index(exact)]
    if where and len(frame) and not len(rows):
        shown = ", ".join(f"{name} = {value}" for name, value in where.items())
        raise InvalidInput("where", shown, "must leave points of the sweep")
    return rows


def varying(frame: pd.DataFrame) -> dict[str, int]:
    """Names of quantities with more than one value, in the order in which axes are looked for.

    With the number of their family, names that tell the same story. Without the seed.
    """
    cells = {source: frame[source].unique() for source in set(SOURCES.values())}
    concepts = range(1, 1 + max(map(dimension_of, cells["task"]), default=0))

    def entries(letter: str) -> list[str]:
        ratios = [f"{letter}_{k}/{letter}_{k + 1}" for k in concepts[:-1]]
        return ratios + [f"{letter}_{k}" for k in concepts]

    signal = [*entries("a"), "signal"]
    beside = [[name] for name in ("eta", "width", "dimension", "dynamics", "steps")]
    if any(task.startswith("|") for task in cells["task"]):
        spreads = [*(f"sigma_{k}" for k in concepts), "sigma"]
        families = [["omega"], [*entries("mu"), "mu"], spreads, *beside, signal]
    else:
        families = [["omega"], signal, *beside]
    names: dict[str, int] = {}
    for family, members in enumerate(families):
        for name in members:
            member = quantity(name)
            assert member is not None
            if len({member.read(cell) for cell in cells[member.source]} - {None}) > 1:
                names.setdefault(name, family)
    return names
