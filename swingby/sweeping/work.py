"""One chunk of a sweep, as a worker does it: plain values in, plain values out."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import swingby
from swingby.errors import InvalidInput
from swingby.sweeping import arrays
from swingby.sweeping.kept import Kept
from swingby.sweeping.measure import measure
from swingby.sweeping.point import MEASURE_VERSION, Point

#: What a worker hands back of a point: results, reason, name of its arrays.
PlainRow = tuple[dict[str, Any] | None, str | None, str | None]


@dataclass(frozen=True)
class Chunk:
    """Points that one worker measures in one go.

    Parameters
    ----------
    places : tuple of int
        In the grid.
    keys : tuple of bytes
    points : tuple of Point
    arrays : str
        Folder for recorded arrays.
    """

    places: tuple[int, ...]
    keys: tuple[bytes, ...]
    points: tuple[Point, ...]
    arrays: str

    def __len__(self) -> int:
        return len(self.points)

    def halves(self) -> tuple[Chunk, Chunk]:
        """The chunk in two parts, neither of them empty if there are two points."""
        middle = len(self) // 2
        return self._part(slice(middle)), self._part(slice(middle, None))

    def _part(self, which: slice) -> Chunk:
        return Chunk(self.places[which], self.keys[which], self.points[which], self.arrays)

    def to_plain(self) -> dict[str, Any]:
        """The chunk and the versions that are to measure it, as plain values."""
        return {
            "points": [point.to_plain() for point in self.points],
            "places": list(self.places),
            "keys": [key.hex() for key in self.keys],
            "arrays": self.arrays,
            "swingby": swingby.__version__,
            "measure": MEASURE_VERSION,
        }

    def rows(self, plain: list[PlainRow]) -> list[Kept]:
        """What to keep of the chunk, from what a worker handed back."""
        return list(_kept(self.keys, self.places, self.points, plain))

    def failed(self, reason: str) -> list[Kept]:
        """What to keep of the chunk when no worker survives it."""
        return self.rows([(None, reason, None)] * len(self))


def measure_chunk(plain: dict[str, Any]) -> tuple[float, list[PlainRow]]:
    """Measure the points of a chunk.

    Parameters
    ----------
    plain : dict
        From :meth:`Chunk.to_plain`.

    Returns
    -------
    seconds : float
    rows : list of PlainRow
        In the order of the points.

    Raises
    ------
    InvalidInput
        If this worker runs another version of swingby than the driver, or cannot write arrays.
    """
    start = time.perf_counter()
    for name, value in (("swingby", swingby.__version__), ("measure", MEASURE_VERSION)):
        if plain[name] != value:
            raise InvalidInput(
                "executor",
                f"{name} {value}",
                f"must run the version of the driver, {name} {plain[name]}, on every worker",
            )
    folder = Path(plain["arrays"])
    rows = measure([Point.from_plain(point) for point in plain["points"]])
    found: list[PlainRow] = [
        (row.results, row.reason, None if row.arrays is None else arrays.keep(folder, row.arrays))
        for row in rows
    ]
    return time.perf_counter() - start, found


def kept_rows(plain: dict[str, Any], rows: list[PlainRow]) -> list[Kept]:
    """What to keep of a chunk, on the side of the worker.

    Parameters
    ----------
    plain : dict
        From :meth:`Chunk.to_plain`.
    rows : list of PlainRow
    """
    points = [Point.from_plain(point) for point in plain["points"]]
    return list(_kept(map(bytes.fromhex, plain["keys"]), plain["places"], points, rows))


def _kept(keys: Any, places: Any, points: Any, plain: list[PlainRow]) -> Iterator[Kept]:
    for key, place, point, (results, reason, name) in zip(keys, places, points, plain, strict=True):
        yield Kept(key, place, point, results, reason, name)
