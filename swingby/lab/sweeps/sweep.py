"""sweep: every point of a grid measured once, by many workers, into a store."""

from __future__ import annotations

import contextlib
import math
import shutil
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from itertools import chain, islice
from pathlib import Path
from typing import Any

from swingby.errors import MISSING, InvalidInput, SwingbyWarning, named
from swingby.lab.sweeps.chunks import MeasuredChunks, PlacedPoint, measured_chunks
from swingby.lab.sweeps.grid import SweepGrid, as_grid
from swingby.lab.sweeps.store import StoreWriter
from swingby.lab.sweeps.sweep_result import SweepResult
from swingby.lab.sweeps.workers import checked_workers, hired_workers
from swingby.report.number_text import counted
from swingby.report.progress import Progress
from swingby.theory import budget, numbers
from swingby.verbs import answered

#: Seconds of a core, and bytes of the store, for a point where points are cheapest.
LEAST_SECONDS, LEAST_BYTES = 8e-4, 600
#: Seconds of work in a chunk whose size is not given: long against handing it out, short against
#: the patience of someone who stops a sweep and loses it.
_CHUNK_SECONDS = 1.0
#: A chunk is held in memory by the driver and by its worker.
_LARGEST_CHUNK = 2000
_FIRST_CHUNK = 16


@answered
@named
def sweep(
    grid: SweepGrid | dict[str, Any] | str | Path,
    *,
    out: str | Path | None = None,
    store: str | Path | None = None,
    executor: Executor | str | Any = None,
    resume: bool = True,
    workers: int | None = None,
    chunk: int | None = None,
    progress: bool = True,
    wait: float | None = None,
) -> SweepResult:
    """Predict and run every point of a grid, and store the rows.

    Points that the store holds are not computed again, so the same call resumes a sweep that was
    stopped, killed, or cut off by a full disk. Rows are written chunk by chunk; at most the chunks
    under way are lost. Rows in files that were changed after they were written are computed again.

    Parameters
    ----------
    grid : SweepGrid, dict, path of a TOML file, or name of a built-in grid
    out : str or Path
        The store, a folder: new, or from an earlier sweep. Grids may share a store, and several
        sweeps may write into it at once; each computes all points missing when it begins.
    store : str or Path
        The same as `out`; give one of the two.
    executor : optional
        What computes the points. None: `workers` processes of swingby. Otherwise a
        ``concurrent.futures.Executor``, such as that of ``client.get_executor()``; ``"dask"`` for a
        local Dask cluster of `workers` processes; the address of a scheduler such as
        ``"tcp://host:8786"``; or a Client or cluster of distributed.
    resume : bool
        False computes every point of the grid again, and its new rows replace those in the store.
        No sound row is deleted.
    workers : int, optional
        Processes; default one per core, and 0 in a worker of another pool. 0 computes in this
        process. With an executor: how many workers it has.
    chunk : int, optional
        Points per chunk. By default about one second of work. Results do not depend on it.
    progress : bool
        Show progress on stderr.
    wait : float, optional
        No effect, as sweeps do not wait for each other.

    Returns
    -------
    SweepResult

    Raises
    ------
    InvalidInput
        For a wrong argument, or a store that cannot be used. The rows in the store remain.
    MissingExtra
        If Dask is asked for and not installed.
    KeyboardInterrupt
        On Ctrl-C, within a second; the rows written so far remain. An executor of the caller may
        still compute the chunks under way.

    Examples
    --------
    >>> import tempfile
    >>> grid = {"signal": [[4, 1]], "omega": [1e-3, 1e-6], "eta": 0.01, "dynamics": "gd"}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = sweep(grid, out=f"{folder}/phases", workers=0, progress=False)
    ...     result.to_frame()[["omega", "half_time_1", "half_time_2"]].values.tolist()
    [['0.001', 99.0, 316.0], ['1e-6', 176.0, 687.0]]
    """
    argument, path = _target(out, store)
    points = as_grid(grid)
    count = checked_workers(executor, workers)
    size = None if chunk is None else numbers.whole(chunk, "chunk", 1, most=_LARGEST_CHUNK)
    for name, flag in (("resume", resume), ("progress", progress)):
        if not isinstance(flag, bool):
            raise InvalidInput(name, flag, "must be True or False")
    if wait is not None:
        words = "wait has no effect, as sweeps may write at once; the next release removes it"
        warnings.warn(words, DeprecationWarning, stacklevel=4)
    writer = StoreWriter(path, argument)
    options: dict[str, Any] = {"executor": executor, "count": count, "size": size}
    fill_store(points, writer, resume=resume, progress=progress, **options)
    return SweepResult(writer.path, points)


def fill_store(
    points: Any,
    writer: StoreWriter,
    *,
    executor: Any,
    count: int,
    size: int | None,
    resume: bool,
    progress: bool,
    measuring: Callable[..., Any] | None = None,
) -> None:
    """Measure the points that a store lacks, and keep their rows.

    `points`: a grid, with ``points()``, ``to_dict()`` and a length.
    """
    with SweepProgress(len(points), shown=progress) as report:
        if writer.broken:
            files = counted(len(writer.broken), "file")
            words = f"{files} of {writer.path} changed or gone since written: their rows"
            warnings.warn(f"{words} are computed again", SwingbyWarning, stacklevel=5)
        sizes = _Sizes(size)
        settled = writer.settled if resume else set()
        chunks = _chunks(points, writer, settled, sizes, report)
        first = next(chunks, None)
        if first is not None:
            _expect(len(points), max(count, 1), writer.path.parent)
        with warnings.catch_warnings():
            # Filters are shared by all threads, and some executors measure in threads.
            warnings.simplefilter("ignore", SwingbyWarning)
            try:
                writer.begin(points.to_dict())
            except InvalidInput:
                # A store that lacks nothing need not be one that can be written.
                if first is not None or writer.broken:
                    raise
            report.add(due=first is not None)
            if first is not None:
                with hired_workers(executor, count) as (crew, slots, check):

                    def look() -> None:
                        report.add()
                        check()

                    folder = str(writer.path)
                    rows = measured_chunks(
                        crew, slots, chain([first], chunks), folder, look, measuring
                    )
                    _keep(rows, writer, report, sizes)
            report.add()


def _target(out: str | Path | None, store: str | Path | None) -> tuple[str, str | Path]:
    """The path of the store, and the argument that names it."""
    if out is not None and store is not None:
        raise InvalidInput("store", store, "must not be given with out, which means the same")
    if out is not None:
        return "out", out
    if store is not None:
        return "store", store
    raise InvalidInput("out", MISSING, "must be given: sweep(..., out=...)")


def _expect(points: int, workers: int, folder: Path) -> None:
    """Say how long a sweep takes at least; refuse a grid that has no room on the disk."""
    size, room = LEAST_BYTES * points / 1e9, shutil.disk_usage(folder).free / 1e9
    if size > room:
        required = f"must fit on the disk: their rows take {size:.3g} GB, and {room:.3g} are free"
        raise InvalidInput("grid", f"{points} points", required)
    seconds = LEAST_SECONDS * points / workers
    budget.expect("the sweep", seconds, partial=True, bound="at least")


def _keep(
    chunks: MeasuredChunks, writer: StoreWriter, report: SweepProgress, sizes: _Sizes
) -> None:
    """Keep rows as they come back."""
    try:
        with contextlib.closing(chunks):
            for rows, seconds in chunks:
                writer.keep(rows)
                sizes.learn(len(rows), seconds)
                report.add(len(rows), sum(row.results is None for row in rows))
    except KeyboardInterrupt as error:
        where = f"they are saved in {writer.path}, and the same call resumes"
        error.add_note(f"stopped: {report.line}; {where}")
        raise


def _chunks(
    grid: Any,
    writer: StoreWriter,
    settled: set[bytes],
    sizes: _Sizes,
    report: SweepProgress,
) -> Iterator[list[PlacedPoint]]:
    """Points that are to be measured, a chunk at a time; no others are held."""

    def missing() -> Iterator[PlacedPoint]:
        for number, point in enumerate(grid.points()):
            key = writer.key(point)
            if key in settled:
                report.resumed += 1
            else:
                yield key, number, point

    points = missing()
    while chunk := list(islice(points, sizes.next)):
        yield chunk


class _Sizes:
    """How many points the next chunk gets: always `fixed`, or as many as take a second."""

    def __init__(self, fixed: int | None) -> None:
        self._fixed = fixed
        self.next = fixed or _FIRST_CHUNK

    def learn(self, points: int, seconds: float) -> None:
        """Take note of a chunk that came back."""
        if self._fixed is None and seconds > 0 and math.isfinite(seconds):
            size = _CHUNK_SECONDS * points / seconds
            # A step at a time: the first chunk of a process includes loading compiled code.
            size = min(max(size, self.next / 4), self.next * 4)
            self.next = int(min(max(size, 1), _LARGEST_CHUNK))


class SweepProgress(Progress):
    """Progress of a sweep on stderr: a bar on a terminal, a line now and then elsewhere."""

    def __init__(self, total: int, *, shown: bool) -> None:
        self.total, self.fresh, self.failed, self.resumed = total, 0, 0, 0
        self._start = time.monotonic()
        super().__init__("sweep", total, "count what remaining", shown=shown)

    def add(self, points: int = 0, failed: int = 0, *, due: bool = False) -> None:
        """Count points that were just kept, and show the counts."""
        self.fresh += points
        self.failed += failed
        words = f"{self._rate:.3g}/s" + (f", {self.failed} failed" if self.failed else "")
        self.say(self.line, due=due, completed=self.resumed + self.fresh, what=words)

    @property
    def _rate(self) -> float:
        return self.fresh / max(time.monotonic() - self._start, 1e-9)

    @property
    def line(self) -> str:
        """The counts so far, in a line."""
        counts = [
            f"{self.resumed + self.fresh} of {self.total} points",
            f"{self.resumed} of them already in the store" if self.resumed else "",
            f"{self.failed} failed" if self.failed else "",
            f"{self._rate:.3g} per second" if self.fresh else "the first points are being computed",
        ]
        return ", ".join(filter(None, counts))
