"""The one frame of a sweep: every point with all that is known of it, and what can be asked of it.

Status, exports, phase diagrams and disagreements are queries on this frame.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.sweeping.grid import SweepGrid, number_text, written_number
from swingby.sweeping.point import Label, Point
from swingby.sweeping.store import COLUMNS, RESULTS, Head, Kept, Values, reading
from swingby.theory import numbers
from swingby.theory.growth import DYNAMICS

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: Columns that are exported once, in order.
PLAIN = (
    *("key", "place", "omega", "eta", "log10_omega", "log10_eta", "width", "seed", "dynamics"),
    *("status", "reason", "predicted", "observed", "outcome", "predicted_order", "order"),
    *("margin", "smallest_pivot", "predicted_descents", "swing_margin", "predicted_transient"),
    *("descents", "transient", "last_step", "arrays"),
)
#: Columns with one number per concept, counted from 1, and the vectors that they hold.
PER_CONCEPT = {
    "a": "a",
    "predicted_half_time": "predicted_half_times",
    "error": "error",
    "half_time": "half_times",
    "trapped": "trapped",
    "undecided": "undecided",
    "mu": "mu",
    "sigma": "sigma",
}
_FLOATS = tuple(name for name in PLAIN if RESULTS.get(name) in ("REAL", "INTEGER"))
_TEXTS = tuple(name for name, kind in COLUMNS.items() if kind == "TEXT")
_VECTORS = tuple(name for name, kind in RESULTS.items() if kind == "BLOB")
_ORDERS = {"predicted_order": "predicted_half_times", "order": "half_times"}
#: Values of an axis that an error names.
_SHOWN = 8

#: Values in the order of an axis: exact numbers, or names.
Value = Fraction | str
#: A column of a user: a plain function from the frame to a value per row.
Function = Callable[[Any], Any]


def exported(dimension: int) -> list[str]:
    """Names of the columns of an export, for the largest d."""
    return [*PLAIN, *(f"{name}_{k}" for k in range(1, dimension + 1) for name in PER_CONCEPT)]


def read_frame(
    path: Path, grid: SweepGrid | None = None, more: Mapping[str, Function] | None = None
) -> tuple[pd.DataFrame, Head]:
    """Points of a grid in its order, also missing ones, or all rows by place; none unchecked.

    Beside :func:`exported` columns: `task`, the exact text of a task, `steps` and `record`; and
    what functions of the frame add.
    """
    import pandas as pd

    rows: list[pd.DataFrame] = []
    fresh: list[Values] = []
    with reading(path) as store:
        head, places = store.head, dict[bytes, int]()
        for batch in store.batches():
            places |= {values[0]: len(places) + n for n, values in enumerate(batch)}
            rows.append(pd.DataFrame(batch, columns=list(COLUMNS)))
        order: list[int] = []
        for place, point in enumerate(() if grid is None else grid.points()):
            key = store.key(point)
            if key not in places:
                places[key] = len(places)
                fresh.append(Kept(key, place, point, None).values())
            order.append(places[key])
    missing = pd.DataFrame(fresh, columns=list(COLUMNS)).assign(status="missing")
    frame = pd.concat([*rows, missing], ignore_index=True).infer_objects()
    if grid is None:
        frame = frame.sort_values(["place", "key"], ignore_index=True)
    else:
        frame = frame.take(order).reset_index(drop=True)
    frame = _with_concepts(frame, None if grid is None else grid.dims[-1])
    for name in frame.columns[frame.isna().all()].intersection([*_TEXTS, *_ORDERS]):
        frame[name] = np.full(len(frame), None)  # as if no other row had been read
    for name, function in (more or {}).items():
        try:
            frame[name] = function(frame.drop(columns="task"))
        except Exception as error:
            shown = f"{type(error).__name__}: {error}"
            raise InvalidInput(name, shown, "must be a function of the frame") from error
    return frame, head


def _with_concepts(frame: pd.DataFrame, dimension: int | None) -> pd.DataFrame:
    """Columns of a store as those that are shown: a number per concept, logarithms, orders."""
    import pandas as pd

    given = frame[["signal", "mu", "sigma"]].fillna("").itertuples(index=False)
    tasks = ["|".join(one) for one in given]
    distinct, which = np.unique(np.array(tasks, dtype=object), return_inverse=True)
    vectors = {
        letter: _matrix([_vector(task, letter) for task in distinct])[which]
        for letter in ("a", "mu", "sigma")
    }
    if dimension is None:
        dimension = vectors["a"].shape[1]
    vectors |= {
        name: _matrix([np.frombuffer(one or b"", "<f8") for one in frame[name]])
        for name in _VECTORS
    }
    columns: dict[str, Any] = {name: frame[name] for name in COLUMNS if name in PLAIN}
    columns |= {name: frame[name].astype(float) for name in (*_FLOATS, "steps")}
    columns |= {name: frame[name].astype(np.int64) for name in ("place", "width", "seed")}
    columns |= {"key": [key.hex() for key in frame["key"]], "record": frame["record"]}
    columns["task"] = tasks
    done = frame["status"] == "done"
    for name, vector in _ORDERS.items():
        columns[name] = _orders(vectors[vector], done)
    for name in ("omega", "eta"):
        columns[f"log10_{name}"] = np.array(list(map(_log10, frame[name])), dtype=float)
    for name, vector in PER_CONCEPT.items():
        wide = np.full((len(frame), dimension), np.nan)
        part = vectors[vector][:, :dimension]
        wide[:, : part.shape[1]] = part
        columns |= {f"{name}_{k + 1}": wide[:, k] for k in range(dimension)}
    names = [*exported(dimension), "task", "steps", "record"]
    return pd.DataFrame({name: columns[name] for name in names})


def _matrix(vectors: Sequence[Any]) -> Floats:
    """Vectors of several lengths as rows, nan behind their ends."""
    sizes = np.array([0 if one is None else len(one) for one in vectors], dtype=int)
    found = np.full((len(vectors), int(sizes.max(initial=0))), np.nan)
    for size in np.unique(sizes[sizes > 0]):
        here = np.flatnonzero(sizes == size)
        found[here, :size] = np.array([vectors[place] for place in here.tolist()], dtype=np.float64)
    return found


def _orders(times: Floats, done: Iterable[bool]) -> list[str | None]:
    """Concepts, counted from 1, by the step at which they reach 1/2; of equal ones the smaller."""
    order = np.argsort(times, axis=1, kind="stable") + 1
    order[np.arange(times.shape[1]) >= np.isfinite(times).sum(axis=1)[:, None]] = 0
    distinct, which = np.unique(order, axis=0, return_inverse=True)
    texts = [" ".join(str(k) for k in row if k) for row in distinct.tolist()]
    return [texts[one] if there else None for one, there in zip(which.ravel(), done, strict=True)]


@functools.lru_cache(10_000)
def _log10(text: str) -> float:
    # Rounded, so that powers of ten are whole and serve as coordinates of a plot.
    return round(numbers.log_of(Fraction(text)) / math.log(10), 12)


# What can be asked

_ENTRY = re.compile(r"(a|mu|sigma)_([1-9]\d*)(?:/(a|mu|sigma)_([1-9]\d*))?")
_MEASURED = re.compile(r"(predicted_half_time|error|half_time|trapped|undecided)_[1-9]\d*")
_SYMBOLS = {
    "omega": r"$\omega$",
    "eta": r"$\eta$",
    "width": "$d'$",
    "dimension": "$d$",
    "signal": "$a$",
    "mu": r"$\mu$",
    "sigma": r"$\sigma$",
}
_LETTERS = {"a": "a", "mu": r"\mu", "sigma": r"\sigma"}
_VECTOR_NAMES = ("signal", "mu", "sigma")
#: What a point is made of, and the columns that say it.
PARTS = {
    "signal": "task",
    **{one: one for one in ("omega", "eta", "width", "dynamics", "steps", "seed")},
}


@dataclass(frozen=True)
class Quantity:
    """A number, or a name, of every point: what an axis shows and `where` fixes.

    ``omega``, ``eta``, ``width``, ``dimension``, ``dynamics``, ``steps``, ``seed``; a vector as a
    whole: ``signal``, ``mu``, ``sigma``; one entry: ``a_1``, ``mu_2``; a ratio of entries:
    ``a_1/a_2``, ``mu_1/sigma_1``; any other column of the frame. `read` makes the exact number or
    name from a value of the column `part`; None where there is none, as for a_3 of two concepts.

    Examples
    --------
    >>> quantity("a_1/a_2").read("4,1||"), quantity("dimension").read("4,1||")
    (Fraction(4, 1), Fraction(2, 1))
    """

    name: str
    part: str
    read: Callable[[Any], Value | None]

    @property
    def symbol(self) -> str:
        """The name as the paper writes it, for matplotlib."""
        entry = _ENTRY.fullmatch(self.name)
        if entry is None:
            return _SYMBOLS.get(self.name, self.name.replace("_", " "))
        over, place, under, other = entry.groups()
        found = f"{_LETTERS[over]}_{{{place}}}"
        return f"${found}$" if under is None else f"${found} / {_LETTERS[under]}_{{{other}}}$"


def quantity(name: Any, columns: Iterable[Any] = ()) -> Quantity | None:
    """The quantity of a name, also of a column of one's own; None for one that says nothing."""
    if not isinstance(name, str):
        return None
    if name == "dimension":
        return Quantity(name, "task", lambda task: Fraction(len(_vector(task, "a") or ())))
    if name in _VECTOR_NAMES:
        letter = "a" if name == "signal" else name
        return Quantity(name, "task", lambda task: _vector_text(_vector(task, letter)))
    entry = _ENTRY.fullmatch(name)
    if entry is not None:
        over, place, under, other = entry.groups()
        if under is None:
            return Quantity(name, "task", lambda task: _entry(task, over, int(place)))
        return Quantity(
            name, "task", lambda task: _ratio(task, over, int(place), under, int(other))
        )
    if name in ("omega", "eta"):
        return Quantity(name, name, Fraction)
    if name in {*PLAIN, "steps", *columns} or _MEASURED.fullmatch(name):
        return Quantity(name, name, _cell_value)
    return None


def _cell_value(cell: Any) -> Value | None:
    if cell is None or cell != cell or isinstance(cell, str):
        return cell if isinstance(cell, str) else None
    number = float(cell)
    if not math.isfinite(number):
        return None
    return Fraction(int(cell)) if number == int(number) else Fraction(repr(number))


@functools.lru_cache(100_000)
def _vector(task: str, letter: str) -> tuple[Fraction, ...] | None:
    given = [tuple(one.split(",")) if one else None for one in task.split("|")]
    if letter == "a":
        return Point(given[0], given[1], given[2], "1", 1, 0, "1", "flow").exact_signal()
    vector = given[1] if letter == "mu" else given[2]
    return None if vector is None else tuple(map(Fraction, vector))


def _entry(task: str, letter: str, place: int) -> Fraction | None:
    vector = _vector(task, letter)
    return vector[place - 1] if vector is not None and place <= len(vector) else None


def _ratio(task: str, over: str, place: int, under: str, other: int) -> Fraction | None:
    one, two = _entry(task, over, place), _entry(task, under, other)
    return None if one is None or not two else one / two


def _vector_text(vector: tuple[Fraction, ...] | None) -> str | None:
    return None if vector is None else f"({', '.join(map(value_text, vector))})"


def value_text(value: Value) -> str:
    """A value as the one exact text that stands for it."""
    if isinstance(value, str):
        return value
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
        read = (Fraction(number_text(one, argument, positive=False)) for one in entries)
        return f"({', '.join(map(value_text, read))})"
    exact = name in ("omega", "eta", "width", "seed", "steps", "dimension")
    if exact or _ENTRY.fullmatch(name):
        return Fraction(number_text(value, argument, positive=False))
    if isinstance(value, str):
        try:
            return numbers.exact(value, argument)
        except InvalidInput:
            return value
    return _cell_value(value) or Fraction(0)


@dataclass(frozen=True, eq=False)
class Column:
    """One quantity of every row.

    `values`: those that occur, ascending; `index` of shape (n,): which of them each row has, -1 for
    none.
    """

    quantity: Quantity
    values: list[Value]
    index: NDArray[np.int64]

    @property
    def exact(self) -> list[Fraction] | None:
        """Values as numbers; None where some are names."""
        found = [value for value in self.values if isinstance(value, Fraction)]
        return found if len(found) == len(self.values) and found else None


def column(frame: pd.DataFrame, one: Quantity) -> Column:
    """The values of a quantity in a frame."""
    import pandas as pd

    codes, distinct = pd.factorize(frame[one.part])
    read = [one.read(value) for value in distinct]
    values = _ordered(list({value for value in read if value is not None}))
    place = {value: number for number, value in enumerate(values)}
    of_code = np.array([*(-1 if value is None else place[value] for value in read), -1], dtype=int)
    return Column(one, values, of_code[codes])


def _ordered(values: list[Value]) -> list[Value]:
    """Values ascending; names of dynamics and labels as they are known, vectors by number."""
    known = [*DYNAMICS, *map(str, Label)]

    def place(value: Value) -> tuple[int, tuple[Fraction, ...], str]:
        if isinstance(value, Fraction):
            return (0, (value,), "")
        if value.startswith("("):
            entries = tuple(Fraction(one) for one in value.strip("()").split(","))
            return (len(entries), entries, "")
        return (known.index(value) if value in known else len(known), (), value)

    return sorted(values, key=place)


def known(name: Any, argument: str, columns: Iterable[Any], varying: Iterable[str]) -> Quantity:
    """The quantity of a name that a caller gave; the error offers those that vary."""
    found = quantity(name, columns)
    if found is None:
        offered = ", ".join(varying)
        offered = f"; these vary: {offered}" if offered else ""
        raise InvalidInput(argument, name, f"must name a quantity of the sweep{offered}")
    return found


def selected(frame: pd.DataFrame, where: Mapping[str, Any] | None) -> pd.DataFrame:
    """The rows that have all the values asked for; a value that no row has is refused."""
    if where is not None and not isinstance(where, Mapping):
        raise InvalidInput("where", where, 'must be a dict such as {"eta": "0.01"}')
    found = frame
    for name, value in (where or {}).items():
        one = quantity(name, frame) or known(name, "where", frame, varying(frame))
        asked, there = asked_value(name, value), column(found, one)
        if asked not in there.values and len(frame):
            texts = [value_text(one) for one in there.values]
            more = ", ..." if len(texts) > _SHOWN else ""
            requirement = f"must be a value of the sweep: {', '.join(texts[:_SHOWN])}{more}"
            raise InvalidInput(f"where[{name}]", value, requirement)
        if asked in there.values:
            found = found[there.index == there.values.index(asked)]
    return found


def varying(frame: pd.DataFrame) -> dict[str, int]:
    """Names of quantities with more than one value, in the order in which axes are looked for.

    With the number of their family, names that tell the same story. Without the seed.
    """
    used = {part: frame[part].unique() for part in set(PARTS.values())}
    dimension = max((len(_vector(task, "a") or ()) for task in used["task"]), default=0)
    of_signal = not any(task.startswith("|") for task in used["task"])
    found: dict[str, int] = {}
    for family, names in enumerate(_families(dimension, of_signal=of_signal)):
        for name in names:
            one = quantity(name)
            if one is not None and name not in found:
                values = {one.read(value) for value in used[one.part]} - {None}
                if len(values) > 1:
                    found[name] = family
    return found


def _families(dimension: int, *, of_signal: bool) -> Iterator[tuple[str, ...]]:
    places = range(1, dimension + 1)

    def entries(letter: str) -> tuple[str, ...]:
        ratios = tuple(f"{letter}_{k}/{letter}_{k + 1}" for k in places[:-1])
        return ratios + tuple(f"{letter}_{k}" for k in places)

    yield ("omega",)
    if of_signal:
        yield (*entries("a"), "signal")
    else:
        yield (*entries("mu"), "mu")
        yield (*(f"sigma_{k}" for k in places), "sigma")
    yield from ((name,) for name in ("eta", "width", "dimension", "dynamics", "steps"))
    if not of_signal:
        yield (*entries("a"), "signal")


def check_names(grid: SweepGrid, x: str | None, y: str | None, where: Iterable[str]) -> None:
    """Refuse names of quantities before a sweep rather than after it."""
    for argument, name in (("x", x), ("y", y), *(("where", name) for name in where)):
        if name is not None and quantity(name) is None:
            import pandas as pd

            rows = {name: [] for name in ("task", *PARTS)}  # type: dict[str, list[Any]]
            for point in grid.points():
                named = dict(zip(COLUMNS, Kept(b"", 0, point, None).values(), strict=True))
                named["task"] = "|".join(named[one] or "" for one in ("signal", "mu", "sigma"))
                for part, values in rows.items():
                    values.append(named[part])
            known(name, argument, (), varying(pd.DataFrame(rows)))
