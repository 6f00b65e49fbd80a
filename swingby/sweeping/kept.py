"""Rows of a store: what is kept of a point."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from swingby.sweeping.point import Point, canonical
from swingby.sweeping.store_errors import damaged

#: Begin of the reason of a point whose worker process died; a resume tries these again.
WORKER_DIED = "WorkerDied"
#: What :func:`from_columns` reads.
COLUMNS = "key, place, parameters, results, reason, arrays"


@dataclass(frozen=True)
class Kept:
    """One row of a store.

    Parameters
    ----------
    key : bytes
        See :meth:`swingby.sweeping.point.Point.key`.
    place : int
        Place of the point in the grid that it was first measured for.
    point : Point
    results : dict or None
        See :class:`swingby.sweeping.measure.Row`; None where measuring failed.
    reason : str or None
        Why it failed.
    arrays : str or None
        Name of the npz file, where W was recorded.
    """

    key: bytes
    place: int
    point: Point
    results: dict[str, Any] | None
    reason: str | None = None
    arrays: str | None = None


class State(NamedTuple):
    """Why a point failed, or what was predicted and observed at it."""

    reason: str | None
    predicted: str | None
    observed: str | None

    @property
    def settled(self) -> bool:
        """Whether the point needs no more work: it is done, or failed for a reason of its own."""
        return self.reason is None or not self.reason.startswith(WORKER_DIED)


def to_columns(row: Kept) -> tuple[Any, ...]:
    """A row as values of the columns of the table."""
    results = row.results
    return (
        row.key,
        row.place,
        row.point.dimension,
        canonical(row.point.to_plain()),
        None if results is None else canonical(results),
        None if results is None else results["predicted"],
        None if results is None else results["observed"],
        "failed" if results is None else "done",
        row.reason,
        row.arrays,
    )


def from_columns(path: Path, values: tuple[Any, ...]) -> Kept:
    """The row that stands in a table.

    Parameters
    ----------
    path : Path
        Used in the error.
    values : tuple
        Of :data:`COLUMNS`.

    Raises
    ------
    InvalidInput
        If the values are not what a sweep writes.
    """
    key, place, parameters, results, reason, arrays = values
    try:
        return Kept(
            key=key,
            place=place,
            point=Point.from_plain(json.loads(parameters)),
            results=None if results is None else json.loads(results),
            reason=reason,
            arrays=arrays,
        )
    except (ValueError, TypeError, AttributeError) as error:
        raise damaged(path, f"row {key!r} cannot be read: {error}") from None
