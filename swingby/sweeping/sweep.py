"""sweep: every point of a grid measured once, by many workers, into one file."""

from __future__ import annotations

import math
import os
import threading
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import Executor
from itertools import chain, islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from swingby.errors import InvalidInput, SwingbyWarning, named
from swingby.report.progress import Progress as Telling
from swingby.sweeping.grid import SweepGrid, as_grid
from swingby.sweeping.result import SweepResult
from swingby.sweeping.store import BATCH, Store, writing
from swingby.sweeping.workers import Dask, Given, InProcess, Placed, Pool, is_dask, measured
from swingby.theory import numbers

#: Seconds of work in a chunk whose size is not given: long against handing it out, short against
#: the patience of someone who stops a sweep and loses it.
CHUNK_SECONDS = 1.0
#: A chunk is held in memory by the driver and by its worker.
LARGEST_CHUNK = 2000
_FIRST_CHUNK = 16
#: Seconds until the first line where there is no terminal, and between two lines.
FIRST, EVERY = 1.0, 5.0


@named
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
    the chunks that are out are lost. Rows that were changed since they were written are measured
    again.

    Parameters
    ----------
    grid : SweepGrid, dict, path of a TOML file, or name of a built-in grid
    store : str or Path
        A SQLite file, made where there is none. Grids may share a store. It is written by one
        sweep at a time, on a disk of this machine.
    executor : optional
        Who measures. None: `workers` processes of our own. A ``concurrent.futures.Executor``.
        ``"dask"`` for a local Dask cluster of `workers` processes, the address of a scheduler such
        as ``"tcp://host:8786"``, or a Client or cluster of distributed.
    resume : bool
        False measures every point of the grid again, whatever the store holds, and replaces its
        rows as it goes. No sound row is deleted beforehand.
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
    with Progress(len(points), shown=bool(progress)) as report, writing(store, patience) as kept:
        changed, settled = kept.mend()
        if changed:
            warnings.warn(
                f"{changed} rows of {kept.path} were changed or lost since they were written and"
                " are measured again",
                SwingbyWarning,
                stacklevel=2,
            )
        with warnings.catch_warnings():
            # Filters are shared by all threads, and some executors measure in threads.
            warnings.simplefilter("ignore", SwingbyWarning)
            kept.note_driver(points.to_dict())
            sizes = _Sizes(size)
            chunks = _chunks(points, kept, settled if resume else set(), sizes, report)
            first = next(chunks, None)
            if first is not None:
                crew = _hire(executor, count)
                _run(crew, chain([first], chunks), kept, report, sizes)
    return SweepResult(kept.path, points)


def _workers(workers: int | None, executor: Any) -> int:
    if not (executor is None or isinstance(executor, Executor) or is_dask(executor)):
        raise InvalidInput(
            "executor", executor, 'must be an Executor, "dask", or the address of a scheduler'
        )
    least = 0 if executor is None else 1
    if workers is not None:
        return numbers.whole(workers, "workers", least, most=4096)
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def _hire(executor: Any, count: int) -> InProcess:
    if executor is None:
        return Pool(count) if count else InProcess()
    return Dask(executor, count) if is_dask(executor) else Given(executor, count)


def _run(
    workers: InProcess,
    chunks: Iterator[list[Placed]],
    store: Store,
    report: Progress,
    sizes: _Sizes,
) -> None:
    calm = False
    try:
        for rows, seconds in measured(workers, chunks, str(store.arrays)):
            store.put(rows)
            sizes.learn(len(rows), seconds)
            report.add(len(rows), sum(row.results is None for row in rows))
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


def _chunks(
    grid: SweepGrid, store: Store, settled: set[bytes], sizes: _Sizes, report: Progress
) -> Iterator[list[Placed]]:
    """Points that are to be measured, a chunk at a time; no others are held."""

    def missing() -> Iterator[Placed]:
        every = enumerate(grid.points())
        while batch := [(store.key(point), place, point) for place, point in islice(every, BATCH)]:
            todo = [placed for placed in batch if placed[0] not in settled]
            report.skip(len(batch) - len(todo))
            yield from todo

    points = missing()
    while chunk := list(islice(points, sizes.next)):
        yield chunk


class _Sizes:
    """How many points the next chunk gets: always `fixed`, or as many as take CHUNK_SECONDS."""

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


class Progress(Telling):
    """What is said on stderr while a sweep runs: a bar on a terminal, lines of a thread else."""

    def __init__(self, total: int, *, shown: bool) -> None:
        self.total, self.done, self.failed, self.found = total, 0, 0, 0
        self._start = time.monotonic()
        self._ended = threading.Event()
        super().__init__("sweep", total, "count what remaining", shown=shown)

    def __enter__(self) -> Self:
        super().__enter__()
        if self._shown and self._bar is None:
            threading.Thread(target=self._tell_now_and_then, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        super().__exit__(kind, value, trace)

    def _tell_now_and_then(self) -> None:
        pause = FIRST
        while not self._ended.wait(pause):
            self._write(self.line)
            pause = EVERY

    def skip(self, points: int) -> None:
        """Count points that the store holds already."""
        self.found += points
        self._on_bar(completed=self.found + self.done + self.failed)

    def add(self, points: int, failed: int) -> None:
        """Count points that were just kept."""
        self.done += points - failed
        self.failed += failed
        words = [f"{self._rate():.3g}/s", *([f"{self.failed} failed"] if self.failed else [])]
        self._on_bar(completed=self.found + self.done + self.failed, what=", ".join(words))

    def _rate(self) -> float:
        return (self.done + self.failed) / max(time.monotonic() - self._start, 1e-9)

    @property
    def line(self) -> str:
        """Where things stand, in one line."""
        fresh = self.done + self.failed
        parts = [f"{self.found + fresh} of {self.total} points"]
        if self.found:
            parts.append(f"{self.found} of them found in the store")
        if self.failed:
            parts.append(f"{self.failed} failed")
        parts.append(f"{self._rate():.3g} per second" if fresh else "the first ones are measured")
        return ", ".join(parts)

    def say(self, text: str) -> None:
        """Write one line."""
        if self._shown:
            self._end_bar()
            self._write(text)
