"""The points of a sweep as columns of numbers: read once, row by row, and small in memory."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.sweeping.grid import SweepGrid
from swingby.sweeping.labels import Label
from swingby.sweeping.point import Point
from swingby.sweeping.store import BATCH, Store, reading
from swingby.sweeping.store_errors import damaged

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from swingby.sweeping.result import SweepResult

    Whole = NDArray[np.int32]
    Floats = NDArray[np.float64]

#: What a point is made of. A task is (signal, mu, sigma), as exact text.
PARTS: dict[str, Callable[[Point], Any]] = {
    "task": lambda point: (point.signal, point.mu, point.sigma),
    "omega": lambda point: point.omega,
    "eta": lambda point: point.eta,
    "width": lambda point: point.width,
    "dynamics": lambda point: point.dynamics,
    "steps": lambda point: point.steps,
    "seed": lambda point: point.seed,
}
#: How a point stands.
MISSING, FAILED, DONE = range(3)
#: In place of a number of descents: the law cannot tell; the row says nothing of it.
OPEN, UNSAID = -1, -2

#: What is kept of a point, as far as a picture needs it.
# One query takes what a picture needs out of the JSON of a row; parsing all of it in Python takes
# more than three times as long.
FOUND = (
    "status, predicted, observed, json_extract(results, '$.margin'),"
    " json_extract(results, '$.descents'), json_extract(results, '$.predicted_descents'),"
    " json_type(results, '$.predicted_descents')"
)


@dataclass(frozen=True, eq=False)
class Table:
    """One row per point, as codes and numbers.

    Parameters
    ----------
    values : dict from str to list
        For every part of :data:`PARTS`, the values that occur.
    codes : dict from str to ndarray of shape (n,)
        Which of these values each point has.
    labels : tuple of str
        What `predicted` and `observed` count into.
    state : ndarray of shape (n,)
        :data:`MISSING`, :data:`FAILED` or :data:`DONE`.
    predicted, observed : ndarray of shape (n,)
        Codes of labels; -1 where the point is not done.
    margin : ndarray of shape (n,)
        nan where the point is not done.
    descents, predicted_descents : ndarray of shape (n,)
        :data:`UNSAID` where the row has none, :data:`OPEN` where the law cannot tell.
    """

    values: dict[str, list[Any]]
    codes: dict[str, Whole]
    labels: tuple[str, ...]
    state: Whole
    predicted: Whole
    observed: Whole
    margin: Floats
    descents: Whole
    predicted_descents: Whole

    def __len__(self) -> int:
        return len(self.state)


def read_table(result: SweepResult) -> Table:
    """The points of a result: of its grid, also the missing ones, or all of its store.

    Returns
    -------
    Table
        About 60 bytes per point, and the distinct values.

    Raises
    ------
    InvalidInput
        If the store cannot be read.
    """
    with reading(result.store) as store:
        return tabulate(_points(result, store))


def design(result: SweepResult) -> SweepGrid | None:
    """The grid of a result, or the one that its store was last swept with.

    Returns
    -------
    SweepGrid or None
        None where the store does not say, or says it in the words of another version.
    """
    if result.grid is not None:
        return result.grid
    with reading(result.store) as store:
        try:
            return SweepGrid.from_dict(json.loads(store.meta["grid"]))
        except (KeyError, ValueError, TypeError):
            return None


def tabulate(points: Iterable[tuple[Point, tuple[Any, ...] | None]]) -> Table:
    """Points as columns.

    Parameters
    ----------
    points : iterable of (Point, tuple or None)
        With what :data:`FOUND` says of them; None for a missing point.
    """
    known: dict[str, dict[Any, int]] = {name: {} for name in PARTS}
    codes = {name: array("i") for name in PARTS}
    labels = {str(label): place for place, label in enumerate(Label)}
    whole = {name: array("i") for name in ("state", "predicted", "observed", "seen", "said")}
    margin = array("d")
    for point, found in points:
        for name, part in PARTS.items():
            codes[name].append(known[name].setdefault(part(point), len(known[name])))
        row = _read(found, labels)
        for column, number in zip(whole.values(), row[:-1], strict=True):
            column.append(number)
        margin.append(row[-1])
    columns = {name: np.array(column, dtype=np.int32) for name, column in whole.items()}
    return Table(
        values={name: list(found) for name, found in known.items()},
        codes={name: np.array(column, dtype=np.int32) for name, column in codes.items()},
        labels=tuple(labels),
        state=columns["state"],
        predicted=columns["predicted"],
        observed=columns["observed"],
        margin=np.array(margin, dtype=np.float64),
        descents=columns["seen"],
        predicted_descents=columns["said"],
    )


def _read(
    found: tuple[Any, ...] | None, labels: dict[str, int]
) -> tuple[int, int, int, int, int, float]:
    if found is None or found[0] != "done":
        return (MISSING if found is None else FAILED, -1, -1, UNSAID, UNSAID, np.nan)
    _, predicted, observed, margin, descents, said, kind = found
    return (
        DONE,
        labels.setdefault(predicted, len(labels)),
        labels.setdefault(observed, len(labels)),
        UNSAID if descents is None else int(descents),
        UNSAID if kind is None else OPEN if said is None else int(said),
        np.nan if margin is None else float(margin),
    )


def _points(result: SweepResult, store: Store) -> Iterator[tuple[Point, tuple[Any, ...] | None]]:
    """Points with what is kept of them; None for a point of the grid that is missing."""
    if result.grid is None:
        query = f"SELECT parameters, {FOUND} FROM points"  # noqa: S608
        for parameters, *found in store.stream(query):
            try:
                yield Point.from_plain(json.loads(parameters)), tuple(found)
            except (ValueError, TypeError, AttributeError) as error:
                raise damaged(store.path, f"a row cannot be read: {error}") from None
        return
    for points, keys in batches(result, store):
        marks = ",".join("?" * len(keys))
        query = f"SELECT key, {FOUND} FROM points WHERE key IN ({marks})"  # noqa: S608
        kept = {key: tuple(found) for key, *found in store.stream(query, keys)}
        for point, key in zip(points, keys, strict=True):
            yield point, kept.get(key)


def batches(result: SweepResult, store: Store) -> Iterator[tuple[list[Point], list[bytes]]]:
    """Points of the grid and their keys, as many at once as a query may name.

    Parameters
    ----------
    result : SweepResult
        With a grid.
    store : Store
    """
    points: list[Point] = []
    for point in () if result.grid is None else result.grid.points():
        points.append(point)
        if len(points) == BATCH:
            yield points, [store.key(one) for one in points]
            points = []
    if points:
        yield points, [store.key(one) for one in points]
