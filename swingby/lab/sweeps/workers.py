"""Workers of a sweep: this process, processes of loky, an executor of the caller, or Dask."""

from __future__ import annotations

import contextlib
import importlib
import logging
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from typing import Any

from swingby.errors import InvalidInput, MissingExtra
from swingby.lab.sweeps.chunks import PAUSE, do_nothing
from swingby.theory import numbers
from swingby.theory.background import start_thread

#: Chunks per worker that are handed out at once, so that none waits for the driver.
_AHEAD = 2
#: Attempts to start workers before giving up; more than one may fail where memory runs short.
STARTS = 10
#: Seconds to wait for a Dask scheduler to answer, and for a worker where none is left.
_ANSWER, _NO_WORKER = 10, 60
#: One thread per worker: the workers share the cores already.
_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


def checked_workers(executor: Any, workers: int | None) -> int:
    """The number of workers, by default that of the cores.

    In a worker of another pool the default is to measure in that worker: its pool has the cores.
    """
    if not (executor is None or isinstance(executor, Executor) or _is_dask(executor)):
        required = 'must be an Executor, "dask", or the address of a scheduler'
        raise InvalidInput("executor", executor, required)
    if workers is not None:
        workers = numbers.whole(workers, "workers", 0 if executor is None else 1, most=4096)
        if workers and executor is None and multiprocessing.current_process().daemon:
            required = "must be 0 in a worker of a pool that lets its workers start no processes"
            raise InvalidInput("workers", workers, required)
        return workers
    if executor is None and multiprocessing.parent_process() is not None:
        return 0
    import loky

    return int(loky.cpu_count())


@contextlib.contextmanager
def hired_workers(
    executor: Any, workers: int
) -> Iterator[tuple[Executor, int, Callable[[], None]]]:
    """An executor, the number of chunks out at a time, and a check while no chunk comes back."""
    if executor is None and not workers:
        yield InProcess(), 1, do_nothing
    elif executor is None:
        with Processes(workers) as pool:
            yield pool, _AHEAD * workers, do_nothing
    elif isinstance(executor, Executor):
        yield executor, _AHEAD * workers, do_nothing
    else:
        with _dask_client(executor, workers) as client:
            threads = sum(client.nthreads().values()) or workers
            pool = client.get_executor(pure=False)
            yield pool, _AHEAD * threads, _watched_workers(client, executor)


class InProcess(Executor):
    """An executor without workers: a chunk is measured by the caller."""

    def submit(self, call: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        """A future that is done."""
        future: Future[Any] = Future()
        future.set_result(call(*given, **named))
        return future


class Processes(Executor):
    """Processes of loky, started at the first chunk, and again after a death."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._pool: Any = None

    def submit(self, call: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        """A future, of new processes if the old processes are gone."""
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
            time.sleep(PAUSE)
        os._exit(1)

    start_thread(watch)


# Dask


def _is_dask(executor: Any) -> bool:
    """True if Dask is asked for: by ``"dask"``, an address, a Client or a cluster."""
    if isinstance(executor, str):
        return executor == "dask" or "://" in executor
    return hasattr(executor, "get_executor") or hasattr(executor, "scheduler_address")


def _watched_workers(client: Any, executor: Any) -> Callable[[], None]:
    """A check that refuses a cluster without workers after a minute; Dask would wait for ever."""
    last_seen = time.monotonic()

    def look() -> None:
        nonlocal last_seen
        if client.nthreads():
            last_seen = time.monotonic()
        elif time.monotonic() - last_seen > _NO_WORKER:
            required = "must have a worker, but none is left; the same call resumes"
            raise InvalidInput("executor", executor, required)

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
            address = executor
            if executor == "dask":
                options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
                cluster = distributed.LocalCluster(silence_logs=logging.CRITICAL, **options)
                address = ours.enter_context(cluster)
            client = distributed.Client(address, timeout=_ANSWER, set_as_default=False)
        except (OSError, ValueError, RuntimeError) as error:
            required = f"must be the address of a Dask scheduler that answers ({error})"
            raise InvalidInput("executor", executor, required) from None
        ours.callback(client.close, timeout=1)
        yield client
