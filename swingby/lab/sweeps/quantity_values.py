"""The values of quantities in the frame of a sweep: which vary, and which rows have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.lab.sweeps.grid import read_number
from swingby.lab.sweeps.label import Label
from swingby.lab.sweeps.point import dimension_of
from swingby.lab.sweeps.quantity import SOURCES, VECTORS, Quantity, Value, quantity, value_text
from swingby.theory.growth import DYNAMICS
from swingby.theory.numbers import Integers

if TYPE_CHECKING:
    import pandas as pd

#: Values of an axis that an error names.
_SHOWN = 8


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
        """Values as numbers; None if some are names."""
        fractions = [value for value in self.values if isinstance(value, Fraction)]
        return fractions if len(fractions) == len(self.values) and fractions else None


_IN_ORDER = [*DYNAMICS, *map(str, Label)]


def _rank(value: Value) -> tuple[int, tuple[Fraction | int, ...], str]:
    """Numbers, vectors and names ascend; dynamics and labels have an order of their own."""
    if isinstance(value, str):
        return 0, (_IN_ORDER.index(value) if value in _IN_ORDER else len(_IN_ORDER),), value
    entries = value if isinstance(value, tuple) else (value,)
    return len(entries), entries, ""


def asked_value(name: str, value: Any) -> Value:
    """The value that a reader asks for, in the form of :attr:`Quantity.read`."""
    argument = f"where[{name}]"
    if name in VECTORS:
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


def known_quantity(
    name: Any, argument: str, columns: Iterable[Any], varying: Iterable[str]
) -> Quantity:
    """The quantity of a name that a caller gave; the error offers those that vary."""
    member = quantity(name, columns)
    if member is None:
        names = ", ".join(varying)
        offer = f"; these vary: {names}" if names else ""
        raise InvalidInput(argument, name, f"must name a quantity of the sweep{offer}")
    return member


def selected(frame: pd.DataFrame, where: Mapping[str, Any] | None) -> pd.DataFrame:
    """The rows that have all the values asked for; an InvalidInput if there are no such rows."""
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
        conditions = ", ".join(f"{name} = {value}" for name, value in where.items())
        raise InvalidInput("where", conditions, "must leave points of the sweep")
    return rows


def varying(frame: pd.DataFrame) -> dict[str, int]:
    """Names of quantities with several values, in the order in which axes are looked for.

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
