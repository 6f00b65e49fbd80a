"""Who measures chunks of points: processes of our own, any executor, or this process.

A chunk whose process dies is done again: every chunk that was out is a suspect, suspects are
measured alone, and one that loses its process again is split, down to the single point at fault.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import math
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
import time
import types
from collections import deque
from collections.abc import Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from typing import Any

import swingby
from swingby.errors import InvalidInput, MissingExtra, SwingbyError
from swingby.sweeping.point import MEASURE_VERSION, Point
from swingby.sweeping.store import WORKER_DIED, Kept, keep_arrays

#: Chunks per worker that are handed out at once, so that none waits for the driver.
AHEAD = 2
#: Attempts to start workers before giving up; more than one may fail where memory runs short.
STARTS = 10
#: A single point that is out alone may lose this many processes before it is given up.
MOST_DEATHS = 3
#: Seconds after which the driver looks up, so that Ctrl-C is noticed on every system.
_PAUSE = 0.5
#: Seconds to wait for a Dask scheduler to answer.
_ANSWER = 10
#: One thread per worker: the workers share the cores already.
_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)

#: A point with its key and its place in the grid.
Placed = tuple[bytes, int, Point]
#: What a worker hands back of a point: results, reason, name of its arrays.
Found = tuple[dict[str, Any] | None, str | None, str | None]


def measure_chunk(points: list[Point], folder: str, code: object) -> tuple[float, list[Found]]:
    """Measure points and leave their arrays in a folder: seconds, and what was found of each."""
    from swingby.sweeping.measure import measure

    start = time.perf_counter()
    if code != running_code():
        raise InvalidInput("executor", running_code(), f"must run the driver's version, {code}")
    found: list[Found] = [
        (
            row.results,
            row.reason,
            None if row.arrays is None else keep_arrays(Path(folder), row.arrays),
        )
        for row in measure(points)
    ]
    return time.perf_counter() - start, found


def running_code() -> str:
    """The versions that rows depend on."""
    return f"swingby {swingby.__version__}, measure {MEASURE_VERSION}"


class InProcess:
    """No workers at all: chunks are measured where they are submitted."""

    slots = 1

    def submit(self, *call: Any) -> Future[Any]:
        """A future of :func:`measure_chunk`, here one that is done."""
        future: Future[Any] = Future()
        future.set_result(measure_chunk(*call))
        return future

    def died(self, error: BaseException) -> bool:
        """Whether an error says that the process which measured a chunk is gone."""
        return False

    def stop(self, *, now: bool) -> None:
        """Let go of everything; `now` without waiting for chunks that are out."""


class Given(InProcess):
    """An executor of the caller, who keeps it; `workers` of it, twice as many chunks are out."""

    def __init__(self, executor: Executor, workers: int) -> None:
        self._executor = executor
        self._out: set[Future[Any]] = set()
        self.slots = AHEAD * workers

    def submit(self, *call: Any) -> Future[Any]:
        """A future of :func:`measure_chunk` by the executor."""
        try:
            future = self._executor.submit(measure_chunk, *call)
        except RuntimeError as error:
            shown = type(self._executor).__name__
            raise InvalidInput("executor", shown, f"must be open ({error})") from error
        self._out.add(future)
        future.add_done_callback(self._out.discard)
        return future

    def died(self, error: BaseException) -> bool:
        """Of an executor only Dask says that it was the process."""
        return type(error).__name__ == "KilledWorker"  # Dask has tried the chunk several times

    def stop(self, *, now: bool) -> None:
        """Cancel what has not begun; the executor stays open."""
        for future in list(self._out):
            future.cancel()


class Dask(Given):
    """Workers of a Dask cluster, through its executor.

    ``"dask"`` is a LocalCluster of our own; otherwise the address of a scheduler such as
    ``tcp://host:8786``, a Client, or a cluster. Dask sends functions and arguments between its own
    processes as pickles, so its scheduler belongs on a trusted network.
    """

    def __init__(self, executor: Any, workers: int) -> None:
        try:
            distributed = importlib.import_module("distributed")
        except ImportError:
            raise MissingExtra("distributed", "cluster") from None
        self._ours = contextlib.ExitStack()
        client = executor
        if not isinstance(executor, distributed.Client):
            try:
                if executor == "dask":
                    with launching():  # the thread that starts workers, now or later, is made here
                        executor = self._ours.enter_context(
                            distributed.LocalCluster(
                                n_workers=workers,
                                threads_per_worker=1,
                                dashboard_address=None,
                                silence_logs=logging.CRITICAL,
                            )
                        )
                client = distributed.Client(executor, timeout=_ANSWER, set_as_default=False)
            except (OSError, ValueError, RuntimeError) as error:
                self._ours.close()
                shown = f"must be the address of a Dask scheduler that answers ({error})"
                raise InvalidInput("executor", executor, shown) from None
            self._ours.callback(client.close, timeout=1)
        super().__init__(
            client.get_executor(pure=False), sum(client.nthreads().values()) or workers
        )

    def stop(self, *, now: bool) -> None:
        """Cancel what has not begun, and end a cluster of our own."""
        super().stop(now=now)
        # A cluster that is gone cannot be let go of; that must not hide the error that ended it.
        with contextlib.suppress(OSError, asyncio.TimeoutError, asyncio.CancelledError):
            self._ours.close()


def is_dask(executor: Any) -> bool:
    """Whether an argument asks for Dask: ``"dask"``, an address, a Client or a cluster."""
    if isinstance(executor, str):
        return executor == "dask" or "://" in executor
    if isinstance(executor, Executor):
        return False
    return type(executor).__module__.split(".")[0] in ("distributed", "dask_jobqueue", "dask")


class Pool(InProcess):
    """Processes of our own, started by spawn at the first chunk, and again when they die."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._pool: ProcessPoolExecutor | None = None
        self._context = _Spawning()
        self.slots = AHEAD * workers

    def submit(self, *call: Any) -> Future[Any]:
        """A future of :func:`measure_chunk`, of new processes where the old ones are gone."""
        for _ in range(STARTS):
            try:
                pool = self._pool or self._started()
                with launching():  # processes are started one by one, when chunks are handed out
                    return pool.submit(measure_chunk, *call)
            except BrokenExecutor:
                self.stop(now=True)
        raise InvalidInput(
            "workers",
            self._workers,
            f"must be processes that can be started: they died {STARTS} times before the first"
            " point (too little memory?)",
        )

    def _started(self) -> ProcessPoolExecutor:
        """A pool that has answered once: dying at the start is no fault of a point."""
        self._context = _Spawning()
        self._pool = ProcessPoolExecutor(self._workers, self._context, initializer=_prepare)
        with launching():
            answer = self._pool.submit(os.getpid)
        answer.result()
        return self._pool

    def died(self, error: BaseException) -> bool:
        """What waits in a pool that breaks may be cancelled before it is told."""
        return isinstance(error, (BrokenExecutor, CancelledError))

    def stop(self, *, now: bool) -> None:
        """End the processes; `now` whatever they are at."""
        if self._pool is None:
            return
        if now:
            for process in self._context.made:
                with contextlib.suppress(AttributeError):  # made, but never started
                    process.kill()
        self._pool.shutdown(wait=not now, cancel_futures=True)
        self._pool = None


class _Spawning(SpawnContext):
    """The spawn context, with a list of the processes made by it: an executor does not tell."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[SpawnProcess] = []

    def Process(self, *arguments: Any, **options: Any) -> SpawnProcess:  # type: ignore[override]
        process = SpawnProcess(*arguments, **options)
        self.made.append(process)
        return process


@contextlib.contextmanager
def launching() -> Iterator[None]:
    """What processes started inside inherit: one thread, no Ctrl-C, and no script to run again.

    Ctrl-C goes to every process of a terminal, and only the driver is to answer. A spawned process
    imports the script of its parent, for functions that may be defined there; ours are not, and
    a script without ``if __name__ == "__main__"`` would start a sweep in every worker.
    """
    kept = {name: os.environ.get(name) for name in _THREADS}
    script = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    masking = hasattr(signal, "pthread_sigmask")
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if masking else set()
    try:
        yield
    finally:
        sys.modules["__main__"] = script
        for name, value in kept.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        if masking:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _prepare() -> None:
    """In a new worker: end when the driver ends, which a killed driver cannot see to itself."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    multiprocessing.connection.wait([sentinel])
    os._exit(1)


def measured(
    workers: InProcess, chunks: Iterator[list[Placed]], folder: str
) -> Iterator[tuple[list[Kept], float]]:
    """Rows of all chunks with the seconds that they took, in the order in which they come back.

    Only as many chunks are taken as workers can have. A point that loses its process
    :data:`MOST_DEATHS` times is recorded as failed; its seconds are nan.
    """
    out: dict[Future[Any], list[Placed]] = {}
    suspects: deque[tuple[list[Placed], int]] = deque()
    alone: tuple[list[Placed], int] | None = None
    rest = True

    def hand_out(chunk: list[Placed]) -> None:
        out[workers.submit([point for _, _, point in chunk], folder, running_code())] = chunk

    while True:
        if suspects and not out:
            alone = suspects.popleft()
            hand_out(alone[0])
        while rest and not suspects and alone is None and len(out) < workers.slots:
            chunk = next(chunks, None)
            rest = chunk is not None
            if chunk is not None:
                hand_out(chunk)
        if not out:
            return
        done, _ = wait(out, timeout=_PAUSE, return_when=FIRST_COMPLETED)
        for future in done:
            chunk, deaths = out.pop(future), 0 if alone is None else alone[1] + 1
            error = CancelledError() if future.cancelled() else future.exception()
            if error is None:
                seconds, found = future.result()
                yield _rows(chunk, found), seconds
            elif not workers.died(error):
                raise _in_words(error) from error
            elif not deaths:
                suspects.append((chunk, 0))
            elif len(chunk) > 1:
                middle = len(chunk) // 2
                suspects.extendleft([(chunk[middle:], 0), (chunk[:middle], 0)])
            elif deaths < MOST_DEATHS:
                suspects.appendleft((chunk, deaths))
            else:
                reason = f"{WORKER_DIED}: the process died {MOST_DEATHS} times at this point"
                yield _rows(chunk, [(None, reason, None)]), math.nan
            alone = None


def _rows(chunk: list[Placed], found: list[Found]) -> list[Kept]:
    return [Kept(*placed, *row) for placed, row in zip(chunk, found, strict=True)]


def _in_words(error: BaseException) -> BaseException:
    if isinstance(error, (SwingbyError, KeyboardInterrupt, MemoryError)):
        return error
    shown = f"{type(error).__name__}: {error}".rstrip(": ")
    return InvalidInput("executor", shown, "must be able to measure points with swingby")
