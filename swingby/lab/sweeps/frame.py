"""The one frame of a sweep: every point with all that is known of it, and what can be asked of it.

Status, exports, phase diagrams and disagreements are queries on this frame.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.lab.sweeps.grid import SweepGrid, read_number, written_number
from swingby.lab.sweeps.point import Label, Point, task_of
from swingby.lab.sweeps.store import COLUMNS, RESULTS, Head, Kept, Values, reading
from swingby.report import Grid
from swingby.theory import numbers
from swingby.theory.growth import DYNAMICS
from swingby.theory.numbers import Floats, Integers
from swingby.theory.share import Share

if TYPE_CHECKING:
    import pandas as pd

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
_ORDERS = {"predicted_order": "predicted_half_times", "order": "half_times"}
#: What a query asks of a point, and counts in every pixel.
COUNTED = ("done", "failed", "missing", "decided", "agreed", "ended", "told")
#: What a point is, whether it was measured, and what diagrams count or have a panel of: no column
#: of one's own takes their place.
_TAKEN = {
    *PLAIN[: PLAIN.index("reason")],
    *("arrays", "task", "steps", "record", "pixel", "dimension", "signal", "mu", "sigma"),
    *COUNTED,
    *("disagreement", "least_margin", "trapped", "diverged"),
    *("swing_by", "predicted_swing_by", "most_descents"),
}
#: Values of an axis that an error names.
_SHOWN = 8

#: Values in the order of an axis: exact numbers, vectors of them, or names.
Value = Fraction | tuple[Fraction, ...] | str
#: A column of a user: a plain function from the frame to a value per row.
Function = Callable[[Any], Any]


def read_rows(path: Path, grid: SweepGrid | None = None) -> tuple[list[Values], Head]:
    """Points of a grid in its order, also missing ones, or all rows by place; none unchecked."""
    with reading(path) as store:
        rows = list(store.values())
        if grid is None:
            rows.sort(key=lambda values: (values[1], values[0]))  # by place and key
        else:
            held = {values[0]: values for values in rows}
            placed = ((store.key(point), place, point) for place, point in enumerate(grid.points()))
            rows = [held.get(one[0]) or Kept(*one, None).values("missing") for one in placed]
        return rows, store.head


def read_frame(
    path: Path, grid: SweepGrid | None = None, more: Mapping[str, Function] | None = None
) -> tuple[pd.DataFrame, Head]:
    """The rows of :func:`read_rows`, with what functions of the frame add.

    Beside the exported columns: `task`, the exact text of a task, `steps` and `record`.
    """
    rows, head = read_rows(path, grid)
    frame = _with_concepts(rows, None if grid is None else grid.dims[-1])
    for name, function in (more or {}).items():
        if name in _TAKEN or _ENTRY.fullmatch(name):
            required = "must not be a column that says which point it is, or what a diagram counts"
            raise InvalidInput("assign", name, required)
        try:
            frame[name] = function(frame.drop(columns="task"))
            frame[name] = _without_masks(frame[name])
            if name in _FLOATS or _MEASURED.fullmatch(name):
                frame[name] = frame[name].astype(float)
            for cell in frame[name]:
                _cell_value(cell)
        except Exception as error:
            shown = f"{type(error).__name__}: {error}"
            required = "must be a function of the frame that has a number or a name for every row"
            raise InvalidInput(name, shown, required) from error
    return frame, head


def _without_masks(own: pd.Series) -> pd.Series:
    """What pandas masks or bins, a nullable column or one of `cut`, as numbers, names and None."""
    import pandas as pd

    if own.dtype.kind in "biuf":
        return own if isinstance(own.dtype, np.dtype) else own.astype(float)
    if isinstance(own.dtype, pd.StringDtype):
        return own
    cells = [str(one) if isinstance(one, pd.Interval) else one for one in own]
    return pd.Series(cells, own.index, dtype=object).where(own.notna(), None)


def _with_concepts(rows: Sequence[Values], dimension: int | None) -> pd.DataFrame:
    """Columns of a store as those that are shown: a number per concept, logarithms, orders."""
    import pandas as pd

    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    given = frame[["signal", "mu", "sigma"]].fillna("").itertuples(index=False)
    tasks = ["|".join(one) for one in given]
    for letter in ("a", "mu", "sigma"):
        blobs = {one: np.array(_vectors(one)[letter], "<f8").tobytes() for one in set(tasks)}
        frame[letter] = [blobs[task] for task in tasks]
    if dimension is None:
        dimension = max(map(dimension_of, tasks), default=0)
    vectors = {name: _wide(frame[name], dimension) for name in PER_CONCEPT.values()}
    columns: dict[str, Any] = {name: frame[name] for name in COLUMNS if name in PLAIN}
    columns |= {name: frame[name].astype(float) for name in (*_FLOATS, "steps")}
    columns |= {name: frame[name].astype(np.int64) for name in ("place", "width", "seed")}
    columns |= {"key": [key.hex() for key in frame["key"]]}
    for name, vector in _ORDERS.items():
        columns[name] = _orders(vectors[vector], frame["status"] == "done")
    for name in ("omega", "eta"):
        logarithm = {text: log10_of(Fraction(text)) for text in frame[name].unique()}
        columns[f"log10_{name}"] = frame[name].map(logarithm).astype(float)
    concepts = {
        f"{name}_{k + 1}": vectors[vector][:, k]
        for k in range(dimension)
        for name, vector in PER_CONCEPT.items()
    }
    unseen = {"task": tasks, "steps": columns["steps"], "record": frame["record"]}
    found = pd.DataFrame({name: columns[name] for name in PLAIN} | concepts | unseen)
    for name in found.columns[found.isna().all()].intersection([*_TEXTS, *_ORDERS]):
        found[name] = np.full(len(found), None)  # as if no other row had been read
    return found


def _wide(blobs: Iterable[bytes | None], dimension: int) -> Floats:
    """Vectors of float64 as rows of `dimension` numbers, nan behind their ends."""
    fill = np.full(dimension, np.nan).tobytes()
    filled = [((one or b"") + fill)[: len(fill)] for one in blobs]
    return np.frombuffer(b"".join(filled), "<f8").reshape(len(filled), dimension)


def _orders(times: Floats, done: Iterable[bool]) -> list[str | None]:
    """Concepts, counted from 1, by the step at which they reach 1/2; of equal ones the smaller."""
    order = (np.argsort(times, axis=1, kind="stable") + 1).tolist()
    learned = np.isfinite(times).sum(axis=1).tolist()
    return [
        " ".join(map(str, row[:count])) if there else None
        for row, count, there in zip(order, learned, done, strict=True)
    ]


def log10_of(value: Fraction) -> float:
    """The log10 to 12 digits, so that those of powers of ten are whole."""
    return round(numbers.log_of(value) / math.log(10), 12)


# Tasks: the exact text of signal, mu and sigma between bars


@functools.lru_cache(100_000)
def _vectors(task: str) -> dict[str, tuple[Fraction, ...]]:
    """The exact a, mu and sigma of a task; empty where it has none."""
    signal, mu, sigma = (tuple(one.split(",")) if one else None for one in task.split("|"))
    a = task_of(Point(signal, mu, sigma, "1", 1, 0, "1", "flow")).exact_signal
    given = {"mu": tuple(map(Fraction, mu or ())), "sigma": tuple(map(Fraction, sigma or ()))}
    return {"a": tuple(a)} | given


def dimension_of(task: str) -> int:
    """Number of concepts of a task."""
    return len(_vectors(task)["a"])


def _entry(task: str, letter: str, place: int) -> Fraction | None:
    vector = _vectors(task)[letter]
    return vector[place - 1] if place <= len(vector) else None


# What can be asked: quantities

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
_VECTOR_NAMES = {"signal": "a", "mu": "mu", "sigma": "sigma"}
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

    >>> quantity("a_1/a_2").read("4,1||"), quantity("dimension").read("4,1||")
    (Fraction(4, 1), Fraction(2, 1))
    """

    name: str
    part: str
    read: Callable[[Any], Value | None]

    @property
    def symbol(self) -> str:
        """The name as the paper writes it, for matplotlib."""
        if _ENTRY.fullmatch(self.name) is None:
            return _SYMBOLS.get(self.name, self.name.replace("_", " "))
        named = re.sub("(mu|sigma)", r"\\\1", self.name).replace("/", " / ")
        return "$" + re.sub(r"_(\d+)", r"_{\1}", named) + "$"


def quantity(name: Any, columns: Iterable[Any] = ()) -> Quantity | None:
    """The quantity of a name, also of a column of one's own; None for one that says nothing."""
    if not isinstance(name, str):
        return None
    if name == "dimension":
        return Quantity(name, "task", lambda task: Fraction(dimension_of(task)))
    if name in _VECTOR_NAMES:
        letter = _VECTOR_NAMES[name]
        return Quantity(name, "task", lambda task: _vectors(task)[letter] or None)
    entry = _ENTRY.fullmatch(name)
    if entry is not None:
        over, place, under, other = entry.groups()

        def ratio(task: str) -> Fraction | None:
            above = _entry(task, over, int(place))
            below = Fraction(1) if under is None else _entry(task, under, int(other))
            return above / below if above is not None and below else None

        return Quantity(name, "task", ratio)
    if name in ("omega", "eta"):
        return Quantity(name, name, Fraction)
    return Quantity(name, name, _cell_value) if name in {*PLAIN, "steps", *columns} else None


def _cell_value(cell: Any) -> Value | None:
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
        return tuple(read_number(one, argument) for one in entries)
    try:
        return read_number(int(value) if isinstance(value, (bool, np.bool_)) else value, argument)
    except InvalidInput:
        if isinstance(value, str):
            return value
        raise


@dataclass(frozen=True, eq=False)
class Column:
    """One quantity of every row.

    `values`: those that occur, ascending; `index` of shape (n,): which of them each row has, -1 for
    none.
    """

    quantity: Quantity
    values: list[Value]
    index: Integers

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
    values = sorted({value for value in read if value is not None}, key=_place)
    place = {value: number for number, value in enumerate(values)}
    of_code = np.array([*(-1 if value is None else place[value] for value in read), -1], dtype=int)
    return Column(one, values, of_code[codes])


_KNOWN = [*DYNAMICS, *map(str, Label)]


def _place(value: Value) -> tuple[int, tuple[Fraction | int, ...], str]:
    """Numbers, vectors and names ascend; those of dynamics and labels come as they are known."""
    if isinstance(value, str):
        return 0, (_KNOWN.index(value) if value in _KNOWN else len(_KNOWN),), value
    entries = value if isinstance(value, tuple) else (value,)
    return len(entries), entries, ""


def known(name: Any, argument: str, columns: Iterable[Any], varying: Iterable[str]) -> Quantity:
    """The quantity of a name that a caller gave; the error offers those that vary."""
    found = quantity(name, columns)
    if found is None:
        offered = ", ".join(varying)
        offered = f"; these vary: {offered}" if offered else ""
        raise InvalidInput(argument, name, f"must name a quantity of the sweep{offered}")
    return found


def selected(frame: pd.DataFrame, where: Mapping[str, Any] | None) -> pd.DataFrame:
    """The rows that have all the values asked for; refused where there are none."""
    if where is not None and not isinstance(where, Mapping):
        raise InvalidInput("where", where, 'must be a dict such as {"eta": "0.01"}')
    found = frame
    for name, value in (where or {}).items():
        one = quantity(name, frame) or known(name, "where", frame, varying(frame))
        there = column(found, one)
        # A name may look like a number: the order of one concept is "1".
        named = isinstance(value, str) and value in there.values
        asked = value if named else asked_value(name, value)
        if asked not in there.values and len(frame):
            texts = [value_text(one) for one in there.values]
            more = ", ..." if len(texts) > _SHOWN else ""
            requirement = f"must be a value of the sweep: {', '.join(texts[:_SHOWN])}{more}"
            raise InvalidInput(f"where[{name}]", value, requirement)
        if asked in there.values:
            found = found[there.index == there.values.index(asked)]
    if where and len(frame) and not len(found):
        shown = ", ".join(f"{name} = {value}" for name, value in where.items())
        raise InvalidInput("where", shown, "must leave points of the sweep")
    return found


def varying(frame: pd.DataFrame) -> dict[str, int]:
    """Names of quantities with more than one value, in the order in which axes are looked for.

    With the number of their family, names that tell the same story. Without the seed.
    """
    used = {part: frame[part].unique() for part in set(PARTS.values())}
    places = range(1, 1 + max(map(dimension_of, used["task"]), default=0))

    def entries(letter: str) -> list[str]:
        ratios = [f"{letter}_{k}/{letter}_{k + 1}" for k in places[:-1]]
        return ratios + [f"{letter}_{k}" for k in places]

    signal = [*entries("a"), "signal"]
    others = [[name] for name in ("eta", "width", "dimension", "dynamics", "steps")]
    if any(task.startswith("|") for task in used["task"]):
        spreads = [*(f"sigma_{k}" for k in places), "sigma"]
        families = [["omega"], [*entries("mu"), "mu"], spreads, *others, signal]
    else:
        families = [["omega"], signal, *others]
    found: dict[str, int] = {}
    for family, names in enumerate(families):
        for name in names:
            one = quantity(name)
            if one is not None and len({one.read(value) for value in used[one.part]} - {None}) > 1:
                found.setdefault(name, family)
    return found


def check_names(grid: SweepGrid, x: str | None, y: str | None, where: Iterable[str]) -> None:
    """Refuse names of quantities before a sweep rather than after it."""
    columns = [f"{name}_{k + 1}" for name in PER_CONCEPT for k in range(grid.dims[-1])]
    for argument, name in (("x", x), ("y", y), *(("where", name) for name in where)):
        if name is not None and quantity(name, columns) is None:
            points = enumerate(grid.points())
            rows = [Kept(b"", place, point, None).values("missing") for place, point in points]
            known(name, argument, columns, varying(_with_concepts(rows, None)))


# What is counted


def flagged(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with what every query asks of a point: done, decided, agreed, ended, told."""
    done = frame["status"] == "done"
    ended = done & (frame["observed"] != Label.UNFINISHED)
    decided = ended & (frame["predicted"] != Label.UNDECIDED)
    return frame.assign(
        done=done,
        failed=frame["status"] == "failed",
        missing=frame["status"] == "missing",
        decided=decided,
        agreed=decided & (frame["predicted"] == frame["observed"]),
        ended=ended & frame["descents"].notna(),
        told=done & frame["predicted_descents"].notna(),
    )


@dataclass(frozen=True)
class Agreement:
    """How many points have which predicted and which observed label, and what is not counted.

    `decided` points have a prediction and an observation, `agreed` ones are observed as predicted;
    of `undecided` ones the law does not say what happens, and the steps of `unfinished` ones ran
    out. `done` are all that are measured.
    """

    labels: dict[tuple[str, str], int]
    done: int
    decided: int
    agreed: int
    undecided: int
    unfinished: int
    failed: int
    missing: int

    @classmethod
    def of(cls, frame: pd.DataFrame) -> Agreement:
        """The agreement over the rows of a frame."""
        rows = flagged(frame)
        done = rows[rows["done"]]
        pairs = done.groupby(["predicted", "observed"], dropna=False).size()
        ordered: Any = pairs.sort_values(ascending=False, kind="stable").items()
        undecided = int((done["predicted"] == Label.UNDECIDED).sum())
        sums = {name: int(rows[name].sum()) for name in COUNTED[:5]}
        return cls(
            labels={(str(said), str(seen)): int(count) for (said, seen), count in ordered},
            undecided=undecided,
            unfinished=sums["done"] - sums["decided"] - undecided,
            **sums,
        )

    @property
    def total(self) -> int:
        """All points, also failed and missing ones."""
        return self.done + self.failed + self.missing

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval for the share; (0, 1) where there is nothing to count."""
        return Share(self.agreed, self.decided).interval if self.decided else (0.0, 1.0)

    def lines(self, *, interval: bool = True) -> list[str]:
        """The counts as sentences."""
        text = "no point is decided"
        if self.decided:
            share = f"{100 * self.agreed / self.decided:.4g}%"
            if interval:
                low, high = self.interval
                share += f", 95% interval {100 * low:.4g}% to {100 * high:.4g}%"
            text = (
                f"predicted as observed: {self.agreed} of {self.decided} decided points ({share})"
            )
        names = ("undecided", "unfinished", "failed", "missing")
        beside = {name: getattr(self, name) for name in names}
        rest = ", ".join(f"{count} {name}" for name, count in beside.items() if count)
        return [text, f"not counted: {rest}"] if rest else [text]

    def to_dict(self) -> dict[str, Any]:
        """The counts as plain values."""
        names = ("decided", "agreed", "undecided", "unfinished", "failed", "missing")
        return {name: getattr(self, name) for name in names} | {"interval": [*self.interval]}

    def confusion(self, title: str, above: Sequence[str], below: Sequence[str]) -> Grid:
        """The confusion matrix: predicted labels down, observed labels across."""
        names = [*map(str, Label)]
        names += sorted({name for pair in self.labels for name in pair} - set(names))
        across = [one for one in names if any(seen == one for _, seen in self.labels)]
        down = [one for one in names if any(said == one for said, _ in self.labels)]
        return Grid(
            title=title,
            columns=["predicted \\ observed", *(f">{name}" for name in across)],
            rows=[
                [said, *(str(self.labels.get((said, seen), 0)) for seen in across)] for said in down
            ],
            above=above,
            below=below,
        )


def json_value(value: Any) -> Any:
    """A value as JSON can hold it: inf as text, None for nan."""
    if isinstance(value, tuple):
        return [json_value(one) for one in value]
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return None if math.isnan(value) else str(value)
