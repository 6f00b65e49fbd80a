"""sweep: every point of a grid measured once, by many workers, into one file.

A chunk whose process dies is done again: every chunk that was out is a suspect, and the points of
suspects are measured one at a time, down to the point at fault.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import math
import os
import shutil
import signal
import threading
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from itertools import chain, islice
from pathlib import Path
from typing import Any

import swingby
from swingby.errors import InvalidInput, MissingExtra, SwingbyError, SwingbyWarning, named
from swingby.lab.sweeps.grid import SweepGrid, as_grid
from swingby.lab.sweeps.point import MEASURE_VERSION, Point, measure
from swingby.lab.sweeps.store import WORKER_DIED, Kept, Store, checked_path, keep_arrays, writing
from swingby.lab.sweeps.sweep_result import SweepResult
from swingby.report.progress import Progress as Telling
from swingby.theory import budget, numbers

#: Seconds of a core, and bytes of the store, for a point where points are cheapest.
LEAST_SECONDS, LEAST_BYTES = 8e-4, 800
#: Seconds of work in a chunk whose size is not given: long against handing it out, short against
#: the patience of someone who stops a sweep and loses it.
CHUNK_SECONDS = 1.0
#: A chunk is held in memory by the driver and by its worker.
LARGEST_CHUNK = 2000
_FIRST_CHUNK = 16
#: Chunks per worker that are handed out at once, so that none waits for the driver.
AHEAD = 2
#: Attempts to start workers before giving up; more than one may fail where memory runs short.
STARTS = 10
#: A point that is out alone may lose this many processes before it is given up.
MOST_DEATHS = 3
#: Seconds after which the driver looks up, so that Ctrl-C is noticed on every system.
_PAUSE = 0.5
#: Seconds to wait for a Dask scheduler to answer, and for a worker where none is left.
_ANSWER, _NO_WORKER = 10, 60
#: One thread per worker: the workers share the cores already.
_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)

#: A point with its key and its place in the grid.
Placed = tuple[bytes, int, Point]
#: Rows of chunks, with the seconds that they took.
Measured = Generator[tuple[list[Kept], float], None, None]
#: What to do while no chunk comes back.
Look = Callable[[], None]


def _nothing() -> None:
    """Look up, and do nothing."""


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
        Who measures. None: `workers` processes of our own. A ``concurrent.futures.Executor``,
        such as that of ``client.get_executor()``. ``"dask"`` for a local Dask cluster of `workers`
        processes, the address of a scheduler such as ``"tcp://host:8786"``, or a Client or
        cluster of distributed.
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
    if not (executor is None or isinstance(executor, Executor) or _is_dask(executor)):
        raise InvalidInput(
            "executor", executor, 'must be an Executor, "dask", or the address of a scheduler'
        )
    least = 0 if executor is None else 1
    count = _cores() if workers is None else numbers.whole(workers, "workers", least, most=4096)
    size = None if chunk is None else numbers.whole(chunk, "chunk", 1, most=LARGEST_CHUNK)
    for name, flag in (("resume", resume), ("progress", progress)):
        if not isinstance(flag, bool):
            raise InvalidInput(name, flag, "must be True or False")
    patience = numbers.exact(wait, "wait")
    if patience < 0:
        raise InvalidInput("wait", wait, "must not be negative")
    seconds = numbers.within_float(patience, "wait")
    _expect(len(points), max(count, 1), checked_path(store).parent)
    with Progress(len(points), shown=progress) as report, writing(store, seconds) as kept:
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
            report.add(due=first is not None)
            if first is not None:
                with _hired(executor, count) as (crew, slots, check):

                    def look() -> None:
                        report.add()
                        check()

                    folder = str(kept.arrays)
                    found = measured(crew, slots, chain([first], chunks), folder, look)
                    _keep(found, kept, report, sizes)
            report.add()
    return SweepResult(kept.path, points)


def _expect(points: int, workers: int, folder: Path) -> None:
    """Say what a sweep takes at least; InvalidInput where the disk has no room for its rows."""
    size, room = LEAST_BYTES * points / 1e9, shutil.disk_usage(folder).free / 1e9
    if size > room:
        word = f"must fit on the disk: their rows take {size:.3g} GB, and {room:.3g} are free"
        raise InvalidInput("grid", f"{points} points", word)
    seconds = LEAST_SECONDS * points / workers
    budget.expect("the sweep", seconds, partial=True, bound="at least")


def _keep(found: Measured, store: Store, report: Progress, sizes: _Sizes) -> None:
    """Keep rows as they come back."""
    try:
        with contextlib.closing(found):
            for rows, seconds in found:
                store.put(rows)
                sizes.learn(len(rows), seconds)
                report.add(len(rows), sum(row.results is None for row in rows))
    except KeyboardInterrupt as error:
        kept = f"they are kept in {store.path}, and the same call goes on"
        error.add_note(f"stopped: {report.line}; {kept}")
        raise


def _chunks(
    grid: SweepGrid, store: Store, settled: set[bytes], sizes: _Sizes, report: Progress
) -> Iterator[list[Placed]]:
    """Points that are to be measured, a chunk at a time; no others are held."""

    def missing() -> Iterator[Placed]:
        for place, point in enumerate(grid.points()):
            key = store.key(point)
            if key in settled:
                report.found += 1
            else:
                yield key, place, point

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


# Who measures


def measure_chunk(chunk: list[Placed], folder: str, code: object) -> tuple[list[Kept], float]:
    """Measure points and leave their arrays in a folder: rows, and the seconds that they took."""
    start = time.perf_counter()
    if code != running_code():
        raise InvalidInput("executor", running_code(), f"must run the driver's version, {code}")
    rows = []
    for placed, row in zip(chunk, measure([point for _, _, point in chunk]), strict=True):
        arrays = None if row.arrays is None else keep_arrays(Path(folder), row.arrays)
        rows.append(Kept(*placed, row.results, row.reason, arrays))
    return rows, time.perf_counter() - start


def running_code() -> str:
    """The versions that rows depend on."""
    return f"swingby {swingby.__version__}, measure {MEASURE_VERSION}"


class InProcess(Executor):
    """No workers at all: a chunk is measured where it is submitted."""

    def submit(self, call: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        """A future that is done."""
        future: Future[Any] = Future()
        future.set_result(call(*given, **named))
        return future


class Processes(Executor):
    """Processes of loky, started at the first chunk, and again when one of them dies."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._pool: Any = None

    def submit(self, call: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        """A future, of new processes where the old ones are gone."""
        for _ in range(STARTS):
            try:
                if self._pool is None:
                    self._start()
                future: Future[Any] = self._pool.submit(call, *given, **named)
            except BrokenExecutor:
                self.shutdown()
            else:
                return future
        raise InvalidInput(
            "workers",
            self._workers,
            f"must be processes that can be started: they died {STARTS} times before the first"
            " point (too little memory?)",
        )

    def _start(self) -> None:
        """Start a pool that has answered once: dying at the start is no fault of a point."""
        import loky

        self._pool = loky.ProcessPoolExecutor(
            self._workers, initializer=_prepare, initargs=(os.getpid(),), env=_ONE_THREAD
        )
        self._pool.submit(os.getpid).result()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = True) -> None:
        """End the processes, whatever they are at."""
        if self._pool is not None:
            self._pool.shutdown(wait=wait, kill_workers=True)
            self._pool = None


def _prepare(driver: int) -> None:
    """In a new worker: leave Ctrl-C to the driver, and end with a driver that is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == driver:
            time.sleep(_PAUSE)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _is_dask(executor: Any) -> bool:
    """Whether an argument asks for Dask: ``"dask"``, an address, a Client or a cluster."""
    if isinstance(executor, str):
        return executor == "dask" or "://" in executor
    return hasattr(executor, "get_executor") or hasattr(executor, "scheduler_address")


def _cores() -> int:
    import loky

    return int(loky.cpu_count())


@contextlib.contextmanager
def _hired(executor: Any, workers: int) -> Iterator[tuple[Executor, int, Look]]:
    """Who measures, how many chunks are out at a time, and what to do while none comes back."""
    if executor is None and not workers:
        yield InProcess(), 1, _nothing
    elif executor is None:
        with Processes(workers) as pool:
            yield pool, AHEAD * workers, _nothing
    elif isinstance(executor, Executor):
        yield executor, AHEAD * workers, _nothing
    else:
        with _dask_client(executor, workers) as client:
            threads = sum(client.nthreads().values()) or workers
            yield client.get_executor(pure=False), AHEAD * threads, _watching(client, executor)


def _watching(client: Any, executor: Any) -> Look:
    """Dask waits for ever where its last worker is gone: an InvalidInput after a minute."""
    seen = time.monotonic()

    def look() -> None:
        nonlocal seen
        if client.nthreads():
            seen = time.monotonic()
        elif time.monotonic() - seen > _NO_WORKER:
            wanted = "must have a worker, none is left; what was kept stays, the same call goes on"
            raise InvalidInput("executor", executor, wanted)

    return look


@contextlib.contextmanager
def _dask_client(executor: Any, workers: int) -> Iterator[Any]:
    """A client of Dask; ``"dask"`` is a cluster of our own.

    Dask sends functions and arguments between its own processes as pickles, so its scheduler
    belongs on a trusted network.
    """
    try:
        distributed = importlib.import_module("distributed")
    except ImportError:
        raise MissingExtra("distributed", "cluster") from None
    if isinstance(executor, distributed.Client):
        yield executor
        return
    with contextlib.ExitStack() as ours:
        try:
            asked = executor
            if executor == "dask":
                own = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
                cluster = distributed.LocalCluster(silence_logs=logging.CRITICAL, **own)
                asked = ours.enter_context(cluster)
            client = distributed.Client(asked, timeout=_ANSWER, set_as_default=False)
        except (OSError, ValueError, RuntimeError) as error:
            shown = f"must be the address of a Dask scheduler that answers ({error})"
            raise InvalidInput("executor", executor, shown) from None
        ours.callback(client.close, timeout=1)
        yield client


def measured(
    crew: Executor,
    slots: int,
    chunks: Iterator[list[Placed]],
    folder: str,
    look: Look = _nothing,
) -> Measured:
    """Rows of all chunks, in the order in which they come back.

    Only `slots` chunks are taken at a time. A point that loses its process :data:`MOST_DEATHS`
    times is recorded as failed; its seconds are nan.
    """
    out: dict[Future[Any], list[Placed]] = {}
    suspects: deque[list[Placed]] = deque()
    deaths = Counter[bytes]()
    lone: Future[Any] | None = None

    def handed_out(chunk: list[Placed]) -> Future[Any]:
        try:
            future = crew.submit(measure_chunk, chunk, folder, running_code())
        except RuntimeError as error:
            shown = f"must be open ({error})"
            raise InvalidInput("executor", type(crew).__name__, shown) from error
        out[future] = chunk
        return future

    try:
        while True:
            if suspects and not out:
                lone = handed_out(suspects.popleft())
            elif not suspects and lone not in out:
                for chunk in islice(chunks, slots - len(out)):
                    handed_out(chunk)
            if not out:
                return
            done, _ = wait(out, timeout=_PAUSE, return_when=FIRST_COMPLETED)
            if not done:
                look()
            for future in done:
                chunk = out.pop(future)
                error = CancelledError() if future.cancelled() else future.exception()
                if error is None:
                    yield future.result()
                elif not _process_is_gone(error):
                    raise _in_words(error) from error
                elif future is not lone:
                    suspects.extend([placed] for placed in chunk)
                else:
                    (placed,) = chunk
                    deaths[placed[0]] += 1
                    if deaths[placed[0]] < MOST_DEATHS:
                        suspects.appendleft(chunk)
                        continue
                    reason = f"{WORKER_DIED}: the process died {MOST_DEATHS} times at this point"
                    yield [Kept(*placed, None, reason)], math.nan
    finally:
        for future in out:
            future.cancel()


def _process_is_gone(error: BaseException) -> bool:
    """Chunks that wait in a pool that breaks may be cancelled; Dask has an error of its own."""
    gone = isinstance(error, (BrokenExecutor, CancelledError))
    return gone or type(error).__name__ == "KilledWorker"


def _in_words(error: BaseException) -> BaseException:
    if isinstance(error, (SwingbyError, KeyboardInterrupt, MemoryError)):
        return error
    shown = f"{type(error).__name__}: {error}".rstrip(": ")
    return InvalidInput("executor", shown, "must be able to measure points with swingby")


class Progress(Telling):
    """What is said on stderr while a sweep runs: a bar on a terminal, a line now and then else."""

    def __init__(self, total: int, *, shown: bool) -> None:
        self.total, self.fresh, self.failed, self.found = total, 0, 0, 0
        self._start = time.monotonic()
        super().__init__("sweep", total, "count what remaining", shown=shown)

    def add(self, points: int = 0, failed: int = 0, *, due: bool = False) -> None:
        """Count points that were just kept, and show where things stand."""
        self.fresh += points
        self.failed += failed
        words = f"{self._rate:.3g}/s" + (f", {self.failed} failed" if self.failed else "")
        self.say(self.line, due=due, completed=self.found + self.fresh, what=words)

    @property
    def _rate(self) -> float:
        return self.fresh / max(time.monotonic() - self._start, 1e-9)

    @property
    def line(self) -> str:
        """Where things stand, in one line."""
        parts = [
            f"{self.found + self.fresh} of {self.total} points",
            f"{self.found} of them found in the store" if self.found else "",
            f"{self.failed} failed" if self.failed else "",
            f"{self._rate:.3g} per second" if self.fresh else "the first ones are measured",
        ]
        return ", ".join(filter(None, parts))
