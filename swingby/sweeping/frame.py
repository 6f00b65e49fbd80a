"""The one frame of a sweep: every point with all that is known of it, and what can be asked of it.

Status, exports, phase diagrams and disagreements are queries on this frame.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.sweeping.grid import SweepGrid, number_text, written_number
from swingby.sweeping.labels import Label
from swingby.sweeping.point import Point
from swingby.sweeping.store import BATCH, COLUMNS, RESULTS, Head, Kept, Values, reading
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
_WHOLE = ("place", "width", "seed")
_FLOATS = tuple(name for name in PLAIN if RESULTS.get(name) in ("REAL", "INTEGER"))
_TEXTS = tuple(name for name, kind in COLUMNS.items() if kind == "TEXT")
_VECTORS = tuple(name for name, kind in RESULTS.items() if kind == "BLOB")
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

    with reading(path) as store:
        head, parts, places = store.head, [], dict[bytes, int]()
        for batch in store.batches():
            places |= {values[0]: len(places) + n for n, values in enumerate(batch)}
            parts.append(_Part.of(batch))
        order: list[int] = []
        fresh: list[Values] = []
        for place, point in enumerate(() if grid is None else grid.points()):
            key = store.key(point)
            if key not in places:
                places[key] = len(places)
                fresh.append(Kept(key, place, point, None).values())
            order.append(places[key])
    parts += [
        _Part.of(fresh[start : start + BATCH], "missing") for start in range(0, len(fresh), BATCH)
    ]
    if grid is not None:
        dimension = grid.dims[-1]
    else:
        dimension = max((part.dimension for part in parts), default=0)
    columns: dict[str, Any] = {}
    for name in ("key", "task", *_TEXTS):
        columns[name] = [value for part in parts for value in part.columns[name]]
    for name in (*_WHOLE, *_FLOATS, "steps"):
        kind = np.int64 if name in _WHOLE else np.float64
        columns[name] = np.concatenate([[], *(part.columns[name] for part in parts)]).astype(kind)
        if name in _WHOLE and parts:  # floats would round seeds beyond 2^53
            columns[name] = np.concatenate([part.columns[name] for part in parts])
    for name in ("omega", "eta"):
        columns[f"log10_{name}"] = np.array(list(map(_log10, columns[name])), dtype=float)
    vectors = {
        name: _padded([part.columns[name] for part in parts], dimension) for name in _VECTORS
    }
    vectors |= _of_tasks(columns["task"], dimension)
    done = np.array([status == "done" for status in columns["status"]], dtype=bool)
    columns["predicted_order"] = _orders(vectors["predicted_half_times"], done)
    columns["order"] = _orders(vectors["half_times"], done)
    for name, vector in PER_CONCEPT.items():
        columns |= {f"{name}_{k + 1}": vectors[vector][:, k] for k in range(dimension)}
    names = [*exported(dimension), "task", "steps", "record"]
    frame = pd.DataFrame({name: columns[name] for name in names})
    if grid is None:
        frame = frame.sort_values(["place", "key"], ignore_index=True)
    else:
        frame = frame.take(order).reset_index(drop=True)
    for name in (*_TEXTS, "predicted_order", "order"):
        if name in frame and frame[name].isna().all():  # as if no other row had been read
            frame[name] = np.full(len(frame), None)
    for name, function in (more or {}).items():
        try:
            frame[name] = function(frame.drop(columns="task"))
        except Exception as error:
            shown = f"{type(error).__name__}: {error}"
            raise InvalidInput(name, shown, "must be a function of the frame") from error
    return frame, head


@dataclass(frozen=True)
class _Part:
    """Some rows as columns: texts that are equal are one, vectors are matrices."""

    columns: dict[str, Any]
    dimension: int

    @classmethod
    def of(cls, rows: list[Values], status: str | None = None) -> _Part:
        columns: dict[str, Any] = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))
        if status is not None:
            columns["status"] = (status,) * len(rows)
        tasks = zip(columns["signal"], columns["mu"], columns["sigma"], strict=True)
        columns["task"] = [_task_text(*one) for one in tasks]
        columns["key"] = [key.hex() for key in columns["key"]]
        for name in _TEXTS:
            columns[name] = [None if one is None else _one(one) for one in columns[name]]
        for name in _WHOLE:
            columns[name] = np.array(columns[name], dtype=np.int64)
        for name in (*_FLOATS, "steps"):
            columns[name] = np.array(columns[name], dtype=np.float64)
        for name in _VECTORS:
            columns[name] = _matrix(columns[name])
        return cls(columns, max(len(_vector(task, "a") or ()) for task in columns["task"]))


@functools.lru_cache(100_000)
def _one(text: str) -> str:
    return text


@functools.lru_cache(100_000)
def _task_text(signal: str | None, mu: str | None, sigma: str | None) -> str:
    return f"{signal or ''}|{mu or ''}|{sigma or ''}"


def _matrix(blobs: tuple[bytes | None, ...]) -> Floats:
    """Vectors of several lengths as rows, nan behind their ends."""
    sizes = np.array([0 if blob is None else len(blob) // 8 for blob in blobs])
    found = np.full((len(blobs), int(sizes.max(initial=0))), np.nan)
    for size in np.unique(sizes[sizes > 0]):
        here = np.flatnonzero(sizes == size)
        joined = b"".join(blobs[place] or b"" for place in here)
        found[here, :size] = np.frombuffer(joined, "<f8").reshape(-1, size)
    return found


def _padded(matrices: list[Floats], dimension: int) -> Floats:
    found = np.full((sum(map(len, matrices)), dimension), np.nan)
    start = 0
    for one in matrices:
        width = min(dimension, one.shape[1])
        found[start : start + len(one), :width] = one[:, :width]
        start += len(one)
    return found


def _of_tasks(tasks: list[str], dimension: int) -> dict[str, Floats]:
    """Entries of a, mu and sigma as floats, nan where there are none."""
    distinct = {task: number for number, task in enumerate(dict.fromkeys(tasks))}
    rows = np.array([distinct[task] for task in tasks], dtype=int)
    found = {}
    for letter in ("a", "mu", "sigma"):
        values = np.full((len(distinct), dimension), np.nan)
        for task, number in distinct.items():
            vector = _vector(task, letter)
            if vector is not None:
                values[number, : len(vector)] = list(map(float, vector[:dimension]))
        found[letter] = values[rows]
    return found


def _orders(times: Floats, done: NDArray[np.bool_]) -> list[str | None]:
    """Concepts, counted from 1, by the step at which they reach 1/2; of equal ones the smaller."""
    order = np.argsort(times, axis=1, kind="stable") + 1
    learned = np.isfinite(times).sum(axis=1)
    order[np.arange(times.shape[1]) >= learned[:, None]] = 0
    if not len(order):
        return []
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


def quantity(name: Any, columns: Iterable[str] = ()) -> Quantity | None:
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


def known(name: Any, argument: str, columns: Iterable[str], varying: Iterable[str]) -> Quantity:
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
                named["task"] = _task_text(named["signal"], named["mu"], named["sigma"])
                for part, values in rows.items():
                    values.append(named[part])
            known(name, argument, (), varying(pd.DataFrame(rows)))
