"""sweep: every point of a grid measured once, by many workers, into one file."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterator
from concurrent.futures import Executor
from itertools import chain, islice
from pathlib import Path
from typing import Any

from swingby.errors import InvalidInput, SwingbyWarning
from swingby.sweeping import shards
from swingby.sweeping.cluster import Dask, is_dask
from swingby.sweeping.dispatch import dispatch
from swingby.sweeping.executors import Given, InProcess, Workers
from swingby.sweeping.grid import SweepGrid, as_grid
from swingby.sweeping.point import Point
from swingby.sweeping.pool import Pool
from swingby.sweeping.progress import Progress
from swingby.sweeping.result import SweepResult
from swingby.sweeping.store import BATCH, Store, writing
from swingby.sweeping.work import Chunk
from swingby.theory import numbers

#: Seconds of work in a chunk whose size is not given: long against handing it out, short against
#: the patience of someone who stops a sweep and loses it.
CHUNK_SECONDS = 1.0
#: A chunk is held in memory by the driver and by its worker.
LARGEST_CHUNK = 2000
_FIRST_CHUNK = 16

#: A point with its place in the grid and its key.
Placed = tuple[int, Point, bytes]


def sweep(
    grid: SweepGrid | dict[str, Any] | str | Path,
    *,
    store: str | Path,
    executor: Executor | str | Any = None,
    resume: bool = True,
    workers: int | None = None,
    chunk: int | None = None,
    progress: bool = True,
    wait: float = 5.0,
) -> SweepResult:
    """Predict and run every point of a grid, and keep what comes out.

    Points that the store holds are not measured again, so the same call goes on where an earlier
    one was stopped, killed, or cut off by a full disk. Points are kept chunk by chunk; at most
    the chunks that are out are lost.

    Parameters
    ----------
    grid : SweepGrid, dict, or path of a TOML file
    store : str or Path
        A SQLite file, made where there is none. Grids may share a store. It is written by one
        sweep at a time, on a disk of this machine.
    executor : optional
        Who measures. None: `workers` processes of our own. A ``concurrent.futures.Executor``.
        ``"dask"`` for a local Dask cluster of `workers` processes, the address of a scheduler such
        as ``"tcp://host:8786"``, or a Client or cluster of distributed; their workers write to the
        folder ``<store>.shards``, which they have to share with this process.
    resume : bool
        False measures every point of the grid again, whatever the store holds, and replaces its
        rows as it goes. Nothing is deleted beforehand.
    workers : int, optional
        Processes; default one per core. 0 measures in this process. For a given executor: how
        many it has.
    chunk : int, optional
        Points per chunk. By default about one second of work. Results do not depend on it.
    progress : bool
        Show on stderr how it goes.
    wait : float
        Seconds to wait for another sweep that holds the store.

    Returns
    -------
    SweepResult

    Raises
    ------
    InvalidInput
        For an argument that makes no sense, a store that cannot be used, or another sweep that
        holds it. What the store held stays.
    MissingExtra
        If Dask is asked for and not installed.
    KeyboardInterrupt
        On Ctrl-C, within a second; what was kept stays. An executor of the caller may still be at
        the chunks that are out.

    Examples
    --------
    >>> import tempfile
    >>> grid = {"signal": [[4, 1]], "omega": [1e-3, 1e-6], "eta": 0.01, "dynamics": "gd"}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = sweep(grid, store=f"{folder}/out.sqlite", workers=0, progress=False)
    ...     result.to_frame()[["omega", "half_time_1", "half_time_2"]].values.tolist()
    [['0.001', 99.0, 316.0], ['1e-6', 176.0, 687.0]]
    """
    points = as_grid(grid)
    count = _workers(workers, executor)
    size = None if chunk is None else numbers.whole(chunk, "chunk", 1, most=LARGEST_CHUNK)
    patience = float(numbers.exact(wait, "wait"))
    with writing(store, patience) as kept, warnings.catch_warnings():
        # Filters are shared by all threads, and some executors measure in threads.
        warnings.simplefilter("ignore", SwingbyWarning)
        shards.take_over(kept)
        kept.note_driver(points.to_dict())
        with Progress(len(points), shown=bool(progress)) as report:
            sizes = _Sizes(size)
            missing = _missing(points, kept, report, resume=resume)
            chunks = _chunks(missing, sizes, kept)
            first = next(chunks, None)
            if first is not None:
                crew = _hire(executor, count, kept.path)
                _run(crew, chain([first], chunks), kept, report, sizes)
        shards.clear(kept)
    return SweepResult(kept.path, points)


def _workers(workers: int | None, executor: Any) -> int:
    known = executor is None or isinstance(executor, Executor) or is_dask(executor)
    if not known:
        raise InvalidInput(
            "executor", executor, 'must be an Executor, "dask", or the address of a scheduler'
        )
    least = 0 if executor is None else 1
    if workers is not None:
        return numbers.whole(workers, "workers", least, most=4096)
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def _hire(executor: Any, count: int, store: Path) -> Workers:
    if executor is None:
        return Pool(count) if count else InProcess()
    return Dask(executor, count, store) if is_dask(executor) else Given(executor, count)


def _run(
    workers: Workers, chunks: Iterator[Chunk], store: Store, report: Progress, sizes: _Sizes
) -> None:
    calm = False
    try:
        for finished in dispatch(workers, chunks):
            store.put(finished.rows)
            if finished.shard is not None:
                finished.shard.unlink(missing_ok=True)
            sizes.learn(len(finished.rows), finished.seconds)
            failed = sum(row.results is None for row in finished.rows)
            report.add(len(finished.rows) - failed, failed)
        calm = True
    except KeyboardInterrupt as error:
        stopped = (
            f"stopped: {report.line}; they are kept in {store.path}, and the same call goes on"
        )
        report.say(stopped)
        error.add_note(stopped)
        raise
    finally:
        workers.stop(now=not calm)


def _missing(grid: SweepGrid, store: Store, report: Progress, *, resume: bool) -> Iterator[Placed]:
    """Points that are to be measured; only :data:`BATCH` of them are looked at at once."""
    every = enumerate(grid.points())
    while batch := list(islice(every, BATCH)):
        placed = [(place, point, store.key(point)) for place, point in batch]
        settled = store.settled([key for _, _, key in placed]) if resume else set()
        known = sum(key in settled for _, _, key in placed)
        if known:
            report.skip(known)
        yield from (one for one in placed if one[2] not in settled)


def _chunks(missing: Iterator[Placed], sizes: _Sizes, store: Store) -> Iterator[Chunk]:
    folder = str(store.arrays.resolve())
    while batch := list(islice(missing, sizes.next)):
        places, points, keys = zip(*batch, strict=True)
        yield Chunk(places, keys, points, folder)


class _Sizes:
    """How many points the next chunk gets.

    Parameters
    ----------
    fixed : int or None
        Always this many; by default as many as take :data:`CHUNK_SECONDS`.
    """

    def __init__(self, fixed: int | None) -> None:
        self._fixed = fixed
        self.next = fixed or _FIRST_CHUNK

    def learn(self, points: int, seconds: float) -> None:
        """Take note of a chunk that came back."""
        if self._fixed is None and seconds > 0 and math.isfinite(seconds):
            wanted = CHUNK_SECONDS * points / seconds
            # A step at a time: the first chunk of a process includes loading compiled code.
            wanted = min(max(wanted, self.next / 4), self.next * 4)
            self.next = int(min(max(wanted, 1), LARGEST_CHUNK))
