"""The frame of a sweep: a table of all points with their predictions and observations.

Status, exports, phase diagrams and disagreements are queries on this frame.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.lab.sweeps.agreement import COUNTED
from swingby.lab.sweeps.grid import SweepGrid
from swingby.lab.sweeps.point import Point, task_text, task_vectors
from swingby.lab.sweeps.quantity import ENTRY, cell_value, log10_of, quantity
from swingby.lab.sweeps.quantity_values import known_quantity, varying
from swingby.lab.sweeps.store import StoreContent, read_store
from swingby.lab.sweeps.stored_row import RESULT_NUMBERS
from swingby.theory.numbers import Floats

if TYPE_CHECKING:
    import pandas as pd

#: Columns of numbers and of text that a row of a store has under the same name.
_WHOLE = ("place", "width", "seed")
_TEXTS = (
    *("key", "omega", "eta", "dynamics", "status", "reason", "predicted", "observed", "outcome"),
    "arrays",
)
#: Columns of the order of learning, and the half-times that it comes from.
_ORDERS = {"predicted_order": "predicted_half_times", "order": "half_times"}
#: Columns that are exported once, in order.
_PLAIN = (
    *("key", "place", "omega", "eta", "log10_omega", "log10_eta", "width", "seed", "dynamics"),
    *("status", "reason", "predicted", "observed", "outcome", *_ORDERS, *RESULT_NUMBERS, "arrays"),
)
#: Columns with one number per concept, counted from 1, and the vectors that they hold.
_PER_CONCEPT = {
    "a": "a",
    "predicted_half_time": "predicted_half_times",
    "error": "error",
    "half_time": "half_times",
    "trapped": "trapped",
    "undecided": "undecided",
    "mu": "mu",
    "sigma": "sigma",
}
_MEASURED = re.compile(r"(predicted_half_time|error|half_time|trapped|undecided)_[1-9]\d*")
#: Columns that say which point a row is, whether it was measured, and what diagrams count or have a
#: panel of: no column of the user takes their place.
_RESERVED = {
    *_PLAIN[: _PLAIN.index("reason")],
    *("arrays", "task", "steps", "record", "pixel", "dimension", "signal", "mu", "sigma"),
    *COUNTED,
    *("disagreement", "least_margin", "trapped", "diverged"),
    *("swing_by", "predicted_swing_by", "most_descents"),
}
#: Rows that are held as plain values at a time; the frame takes a tenth of their memory.
_BATCH = 4096

#: A column of a user: a plain function from the frame to a value per row.
Function = Callable[[Any], Any]


def read_frame(
    path: Path, grid: SweepGrid | None = None, more: Mapping[str, Function] | None = None
) -> tuple[pd.DataFrame, StoreContent]:
    """The rows of a store as a table, with the columns that functions of the frame add.

    The points of a grid in its order, also missing ones, or all rows by place. Beside the exported
    columns: `task`, the exact text of a task, `steps` and `record`.
    """
    content = read_store(path)
    if grid is None:
        frame = _frame_of(map(content.plain_row, content.lines))
        frame = frame.sort_values(["place", "key"], ignore_index=True)
    else:
        frame = _frame_of(_rows_of_grid(grid, content), grid.dims[-1])
    for name, function in (more or {}).items():
        _add_column(frame, name, function)
    return frame, content


def _rows_of_grid(grid: SweepGrid, content: StoreContent) -> Iterator[dict[str, Any]]:
    for number, point in enumerate(grid.points()):
        key = point.key(*content.versions).hex()
        yield content.plain_row(key) if key in content.lines else _missing_row(number, point, key)


def _missing_row(place: int, point: Point, key: str = "") -> dict[str, Any]:
    content = {"key": key, "place": place, "point": point.to_plain(), "status": "missing"}
    return {**content, "results": None, "reason": None, "arrays": None}


def _add_column(frame: pd.DataFrame, name: str, function: Function) -> None:
    """Add a column of the user, of numbers, names and nothing."""
    if name in _RESERVED or ENTRY.fullmatch(name):
        required = "must not be a column that says which point it is, or what a diagram counts"
        raise InvalidInput("assign", name, required)
    try:
        frame[name] = function(frame.drop(columns="task"))
        frame[name] = _without_masks(frame[name])
        if name in RESULT_NUMBERS or _MEASURED.fullmatch(name):
            frame[name] = frame[name].astype(float)
        for cell in frame[name]:
            cell_value(cell)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        required = "must be a function of the frame that has a number or a name for every row"
        raise InvalidInput(name, text, required) from error


def _without_masks(column: pd.Series) -> pd.Series:
    """A nullable column, or a column of `pandas.cut`, as numbers, names and None."""
    import pandas as pd

    if column.dtype.kind in "biuf":
        return column if isinstance(column.dtype, np.dtype) else column.astype(float)
    if isinstance(column.dtype, pd.StringDtype):
        return column
    cells = [str(cell) if isinstance(cell, pd.Interval) else cell for cell in column]
    return pd.Series(cells, column.index, dtype=object).where(column.notna(), None)


def _frame_of(rows: Iterable[dict[str, Any]], dimension: int | None = None) -> pd.DataFrame:
    """Rows of a store as columns: a number per concept, logarithms, orders."""
    import pandas as pd

    texts = {name: list[Any]() for name in (*_TEXTS, *_ORDERS, "task", "record")}
    waiting = map(_flat, rows)
    batches = iter(lambda: list(itertools.islice(waiting, _BATCH)), [])
    tables = [_table_of(batch, texts) for batch in batches] or [_table_of([], texts)]
    frame = pd.concat(tables, ignore_index=True)
    for name, column in texts.items():
        # Without any text it is as if no other row had been read.
        frame[name] = column if any(cell is not None for cell in column) else None
    for name in ("omega", "eta"):
        logarithm = {text: log10_of(Fraction(text)) for text in set(texts[name])}
        frame[f"log10_{name}"] = np.array([logarithm[text] for text in texts[name]], dtype=float)
    if dimension is None:
        dimension = max((len(task_vectors(task)["a"]) for task in set(texts["task"])), default=0)
    concepts = [f"{name}_{k + 1}" for k in range(dimension) for name in _PER_CONCEPT]
    return frame.reindex(columns=[*_PLAIN, *concepts, "task", "steps", "record"])


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """A row of a store with its point and its results side by side."""
    point, results = row["point"], row["results"]
    vectors = [point.get(name) for name in ("signal", "mu", "sigma")]
    record, status = point.get("record"), "failed" if results is None else "done"
    more = {"task": task_text(*vectors), "record": None if record is None else str(record)}
    return {"status": status, **row, **point, **(results or {}), **more}


def _table_of(rows: list[dict[str, Any]], texts: dict[str, list[Any]]) -> pd.DataFrame:
    """The numbers of some rows; their texts are appended to `texts`."""
    import pandas as pd

    done = [row["results"] is not None for row in rows]
    tasks = {task: _floats_of(task) for task in {row["task"] for row in rows}}
    for row in rows:
        row |= tasks[row["task"]]
    dimension = max((len(row["a"]) for row in rows), default=0)
    columns: dict[str, Any] = {
        name: np.array([row[name] for row in rows], dtype=np.int64) for name in _WHOLE
    }
    for name in (*RESULT_NUMBERS, "steps"):
        columns[name] = np.array([row.get(name) for row in rows], dtype=float)
    vectors = {
        name: _wide([row.get(name) for row in rows], dimension) for name in _PER_CONCEPT.values()
    }
    for name, vector in _PER_CONCEPT.items():
        columns |= {f"{name}_{k + 1}": vectors[vector][:, k] for k in range(dimension)}
    for name, vector in _ORDERS.items():
        texts[name] += _orders(vectors[vector], done)
    for name in (*_TEXTS, "task", "record"):
        texts[name] += [row.get(name) for row in rows]
    return pd.DataFrame(columns)


def _floats_of(task: str) -> dict[str, list[float]]:
    return {name: list(map(float, vector)) for name, vector in task_vectors(task).items()}


def _wide(vectors: Iterable[Any], dimension: int) -> Floats:
    """Vectors as rows of `dimension` numbers, nan for nothing and behind their ends."""
    fill = [math.nan] * dimension
    wide = [[*(vector or ()), *fill][:dimension] for vector in vectors]
    return np.array(wide, dtype=float).reshape(len(wide), dimension)


def _orders(times: Floats, done: list[bool]) -> list[str | None]:
    """Concepts, counted from 1, by the step at which they reach 1/2; of equal steps the smaller."""
    order = (np.argsort(times, axis=1, kind="stable") + 1).tolist()
    learned = np.isfinite(times).sum(axis=1).tolist()
    return [
        " ".join(map(str, concepts[:count])) if measured else None
        for concepts, count, measured in zip(order, learned, done, strict=True)
    ]


def check_names(grid: SweepGrid, x: str | None, y: str | None, where: Iterable[str]) -> None:
    """Refuse names of quantities before a sweep rather than after it."""
    columns = [*_PLAIN, *(f"{name}_{k + 1}" for name in _PER_CONCEPT for k in range(grid.dims[-1]))]
    for argument, name in (("x", x), ("y", y), *(("where", name) for name in where)):
        if name is not None and quantity(name, columns) is None:
            rows = (_missing_row(number, point) for number, point in enumerate(grid.points()))
            known_quantity(name, argument, columns, varying(_frame_of(rows)))
