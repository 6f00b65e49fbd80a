"""A sweep of a theory over one or two numbers, into the store and by the executors of sweeps."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import swingby
from swingby.errors import InvalidInput
from swingby.lab.sweeps.chunks import running_code
from swingby.lab.sweeps.store import (
    OF_THEORIES,
    StoreWriter,
    existing_store,
    is_of_theory,
    read_store,
    verify_store,
)
from swingby.lab.sweeps.stored_row import StoredRow, checked_row, is_digest, is_number, is_text
from swingby.lab.sweeps.sweep import fill_store
from swingby.lab.sweeps.workers import checked_workers
from swingby.own_theory.digest import digest_of
from swingby.own_theory.family import Floats
from swingby.own_theory.runs import judge, worst
from swingby.own_theory.settings import Settings, at_numbers, least_margin
from swingby.own_theory.statement import Statement
from swingby.report import Framed, Grid
from swingby.report.files import storable
from swingby.report.picture_style import COLORS
from swingby.report.pictures import Pictured
from swingby.theory import numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Raised whenever a row of a sweep of a theory may be another one.
THEORY_VERSION = OF_THEORIES + 1
#: Settings that are run at once in this process.
_BATCH = 2000
#: Cells of a diagram: sign, colour, words.
_CELLS = {
    ("inside", "kept"): ("#", COLORS[2], "inside, kept"),
    ("inside", "broken"): ("X", COLORS[1], "inside, BROKEN"),
    ("outside", "kept"): ("+", COLORS[4], "outside, kept"),
    ("outside", "broken"): (".", "0.85", "outside, broken"),
    ("", "undecided"): ("?", "white", "undecided"),
}


@dataclass(frozen=True)
class TheoryPoint:
    """Numbers of a theory by name, and the digest of the theory."""

    theory: str
    numbers: tuple[tuple[str, float], ...]

    def to_plain(self) -> dict[str, Any]:
        """The point as values of JSON."""
        return {"theory": self.theory, "numbers": dict(self.numbers)}

    @classmethod
    def from_plain(cls, content: dict[str, Any]) -> TheoryPoint:
        """The point that :meth:`to_plain` describes."""
        return cls(content["theory"], tuple(content["numbers"].items()))

    def key(self, version: str = swingby.__version__, measure: int = THEORY_VERSION) -> bytes:
        """SHA-256 over the point and the version of the code."""
        content = {**self.to_plain(), "code": [version, measure]}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).digest()


class _Points:
    """The points of a grid of numbers, the last number first to vary."""

    def __init__(self, axes: Mapping[str, Sequence[float]], digest: str, name: str) -> None:
        self.axes, self.digest, self.name = axes, digest, name

    def __len__(self) -> int:
        return math.prod(map(len, self.axes.values()))

    def points(self) -> Iterator[TheoryPoint]:
        """The points, one after the other."""
        for row in itertools.product(*self.axes.values()):
            yield TheoryPoint(self.digest, tuple(zip(self.axes, map(float, row), strict=True)))

    def to_dict(self) -> dict[str, Any]:
        """The grid as values of JSON."""
        axes = {name: list(row) for name, row in self.axes.items()}
        return {"theory": self.digest, "name": self.name, "axes": axes}


@dataclass(frozen=True)
class TheorySweep(Framed, Pictured):
    """A theory over a grid of numbers: kept or broken, inside its assumptions or outside.

    `rows`: numbers, margin, ratio (off/allowed), predicted and observed, as in :meth:`to_frame`.
    """

    theory: str
    axes: Mapping[str, Sequence[float]]
    rows: tuple[Mapping[str, Any], ...] = field(repr=False)

    @classmethod
    def of_store(cls, path: str | Path) -> TheorySweep:
        """The last sweep of a store, without its theory; rows that are not there are undecided."""
        folder = existing_store(path)
        content = read_store(folder, plain_theory_row)
        if not is_of_theory(content):
            raise InvalidInput("store", path, "must be a sweep of a swingby.Theory")
        grid = content.grid or {}
        points = _Points(grid.get("axes", {}), grid.get("theory", ""), grid.get("name", ""))
        return cls._read(folder, points.name, points)

    @classmethod
    def _read(cls, path: Path, name: str, points: _Points) -> TheorySweep:
        content, rows = read_store(path, plain_theory_row), list[Mapping[str, Any]]()
        for point in points.points():
            key = point.key(*content.versions).hex()
            results = content.plain_row(key)["results"] if key in content.lines else None
            rows.append({**dict(point.numbers), **(results or _FAILED)})
        return cls(name, points.axes, tuple(rows))

    def records(self) -> list[Mapping[str, Any]]:
        """The rows of :meth:`to_frame`, by column."""
        return [*self.rows]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: a row for each setting, null where nothing is known."""
        axes = {name: [*values] for name, values in self.axes.items()}
        rows = [storable(dict(row)) for row in self.rows]
        return {"theory": self.theory, "axes": axes, "counts": self.counts, "rows": rows}

    def _cells(self) -> list[tuple[str, str]]:
        return [_cell_of(row) for row in self.rows]

    @property
    def counts(self) -> dict[str, int]:
        """How many settings of each kind."""
        cells = self._cells()
        return {words: cells.count(cell) for cell, (_, _, words) in _CELLS.items()}

    def to_grid(self) -> Grid:
        """The diagram in signs, for two numbers, and the counts."""
        below = [f"{words}: {count}" for words, count in self.counts.items() if count]
        names, lines = list(self.axes), list[str]()
        if len(names) == 2:
            spans = [f"{name} {row[0]:.3g} to {row[-1]:.3g}" for name, row in self.axes.items()]
            lines = [f"{spans[0]} across, {spans[1]} up"]
            signs = np.array([_CELLS[cell][0] for cell in self._cells()])
            shape = [len(row) for row in self.axes.values()]
            lines += ["  " + "".join(row) for row in signs.reshape(shape).T[::-1]]
            below = [f"{sign} {words}" for sign, _, words in _CELLS.values()] + below
        return Grid(f"Sweep: {self.theory}", [], [], above=lines, below=below)

    def draw(self, ax: Axes) -> None:
        """Draw the diagram over two numbers, or off/allowed over one."""
        names = list(self.axes)
        ax.set_xscale("log")
        ax.set_xlabel(names[0])
        if len(names) == 1:
            ax.plot(list(self.axes[names[0]]), [row["ratio"] for row in self.rows], ".-")
            ax.axhline(1, color="black", linewidth=0.6)
            ax.set_ylabel("off/allowed")
            return
        ax.set_yscale("log")
        ax.set_ylabel(names[1])
        from matplotlib.colors import ListedColormap
        from matplotlib.patches import Patch

        across, up = (np.array(self.axes[name]) for name in names[:2])
        kinds, cells = list(_CELLS), self._cells()
        ranks = np.array([kinds.index(cell) for cell in cells]).reshape(len(across), len(up)).T
        colors = ListedColormap([color for _, color, _ in _CELLS.values()])
        most = len(kinds) - 0.5
        ax.pcolormesh(_edges(across), _edges(up), ranks, cmap=colors, vmin=-0.5, vmax=most)
        patches = [
            Patch(facecolor=color, edgecolor="0.7", label=words)
            for kind, (_, color, words) in _CELLS.items()
            if kind in cells
        ]
        ax.legend(handles=patches, loc="upper left", bbox_to_anchor=(1, 1))


def _edges(values: Floats) -> Floats:
    """Edges of cells around values, in the logarithm; of a single value within a factor 2."""
    logs = np.log(values)
    steps = np.diff(logs) if len(logs) > 1 else np.array([math.log(4)])
    inner = logs[:-1] + steps[: len(logs) - 1] / 2
    return np.exp([logs[0] - steps[0] / 2, *inner, logs[-1] + steps[-1] / 2])


def _cell_of(row: Mapping[str, Any]) -> tuple[str, str]:
    if row["ratio"] is None or not row["ratio"] >= 0:
        return "", "undecided"
    where = "inside" if row["margin"] >= -1e-12 else "outside"
    return where, "broken" if row["ratio"] > 1 else "kept"


def sweep_theory(
    statement: Statement,
    grid: Mapping[str, Any],
    /,
    *,
    at: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    store: str | Path | None = None,
    executor: Any = None,
    resume: bool = True,
    workers: int | None = None,
    chunk: int | None = None,
    progress: bool = True,
) -> TheorySweep:
    """Judge a theory over a grid of numbers; see :class:`swingby.Theory` and :func:`swingby.sweep`.

    `grid`: for each number how many values over its range, or the values. Without `out` the
    settings are run in this process and kept nowhere.
    """
    base = at_numbers(statement, at or {}, vary=grid)
    axes = {name: _axis(base, name, values) for name, values in grid.items()}
    points = _Points(axes, digest_of(statement, base), statement.name)
    folder = out if out is not None else store
    if folder is None:
        results = [row for rows in _batches(points.points()) for row in measured(base, rows)]
        return TheorySweep(statement.name, axes, tuple(results))
    count = checked_workers(executor, workers)
    # A batch of a thousand settings takes little longer than a batch of ten.
    share = math.ceil(len(points) / max(count, 1))
    usual_size = None if statement.seeds > 1 else min(_BATCH // 2, max(share, 1))
    size = usual_size if chunk is None else numbers.whole(chunk, "chunk", 1, most=_BATCH)
    writer = StoreWriter(folder, "out", THEORY_VERSION, plain_theory_row)
    options: dict[str, Any] = {"executor": executor, "count": count, "size": size}
    measuring = partial(measure_theory_chunk, statement, dict(at or {}))
    fill_store(points, writer, resume=resume, progress=progress, measuring=measuring, **options)
    return TheorySweep._read(writer.path, statement.name, points)


#: What is known of a point whose process died.
_FAILED = {"margin": math.nan, "ratio": math.nan}


def _batches(points: Iterator[TheoryPoint]) -> Iterator[list[TheoryPoint]]:
    return iter(lambda: list(itertools.islice(points, _BATCH)), [])


def _axis(base: Settings, name: str, values: Any) -> list[float]:
    """Values of a number: as many over its range, or those that were given."""
    if name not in base.family.names:
        known = ", ".join(base.family.names)
        raise InvalidInput("grid", name, f"must name numbers of the theory: {known}")
    if not np.ndim(values):
        index = base.family.names.index(name)
        count = numbers.whole(values, name, 1)
        low, high = base.family.low[index], base.family.high[index]
        spaced = np.geomspace(low, high, count)
        if name in base.family.whole:
            spaced = np.unique(np.rint(spaced))
        return [float(x) for x in spaced]
    if name in base.family.whole:
        return [float(numbers.whole(value, name, 1)) for value in values]
    return [numbers.within_float(numbers.positive(value, name), name) for value in values]


def measured(base: Settings, points: Sequence[TheoryPoint]) -> list[dict[str, Any]]:
    """The numbers of points with their margin, their worst off/allowed and every observation."""
    if base.family.statement.seeds > 1 and len(points) > 1:  # the seeds of a point are its own
        return [row for point in points for row in measured(base, [point])]
    columns = {
        name: np.array([dict(point.numbers)[name] for point in points])
        for name, _ in points[0].numbers
    }
    settings = base.repeated(len(points)).with_scalars(**columns)
    seed = int.from_bytes(points[0].key()[:4]) if base.family.statement.seeds > 1 else 0
    results, margin = judge(settings, seed), least_margin(settings)
    ratio = worst(results)
    rows = []
    for q, point in enumerate(points):
        row: dict[str, Any] = {**dict(point.numbers), "margin": float(margin[q])}
        row["ratio"] = float(ratio[q]) if ratio[q] >= 0 else math.nan
        for name, judged in results.items():
            for side in ("predicted", "observed"):
                value = getattr(judged, side)[q]
                row[f"{side} {name}"] = value if isinstance(value, str) else float(value)
        rows.append(row)
    return rows


def measure_theory_chunk(
    statement: Statement, at: Mapping[str, Any], chunk: Any, folder: str, code: object
) -> tuple[list[StoredRow], float]:
    """Measure the points of a chunk: rows, and the seconds that they took."""
    start = time.perf_counter()
    if code != running_code():
        raise InvalidInput("executor", running_code(), f"must run the driver's version, {code}")
    names = [name for name, _ in chunk[0][2].numbers]
    results = measured(at_numbers(statement, at, vary=names), [point for _, _, point in chunk])
    rows = [
        StoredRow(key, number, point, {name: x for name, x in row.items() if name not in names})
        for (key, number, point), row in zip(chunk, results, strict=True)
    ]
    return rows, time.perf_counter() - start


def plain_theory_row(line: str | bytes) -> dict[str, Any]:
    """The row of a line as plain values; ValueError unless it is a row of a theory."""
    return checked_row(line, point=_is_point, results=_is_results)


def _is_point(point: Any) -> bool:
    if not isinstance(point, dict) or point.keys() != {"theory", "numbers"}:
        return False
    values = point["numbers"]
    inside = isinstance(values, dict) and all(type(x) is float and x > 0 for x in values.values())
    return is_digest(point["theory"]) and inside and all(map(is_text, values))


def _is_results(results: Any) -> bool:
    if results is None:
        return True
    if not isinstance(results, dict) or not _FAILED.keys() <= results.keys():
        return False
    return all(is_text(name) and (is_text(x) or is_number(x)) for name, x in results.items())


def verify_theory_store(path: str | Path) -> int:
    """Check every byte of a store of a theory, as :func:`verify_store` does; its number of rows."""
    return verify_store(path, plain_theory_row, TheoryPoint.from_plain)
