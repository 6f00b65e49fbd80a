"""Processes of our own: started, watched, started again, and killed."""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
import types
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Future, ProcessPoolExecutor
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

from swingby.errors import InvalidInput
from swingby.sweeping.executors import AHEAD, InProcess
from swingby.sweeping.work import Chunk, measure_chunk

#: Attempts to start workers before giving up; more than one may fail where memory runs short.
STARTS = 10
#: One thread per worker: the workers share the cores already.
_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


class Pool(InProcess):
    """Processes of our own, started by spawn at the first chunk, and again when they die."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._pool: ProcessPoolExecutor | None = None
        self._context = _Spawning()
        self.slots = AHEAD * workers

    def submit(self, chunk: Chunk) -> Future[Any]:
        """Hand out a chunk, to new processes where the old ones are gone.

        Raises
        ------
        InvalidInput
            If no process can be started.
        """
        plain = chunk.to_plain()
        for _ in range(STARTS):
            pool = self._pool or self._started()
            try:
                # An executor starts its processes one by one, when chunks are handed out.
                with launching():
                    return pool.submit(measure_chunk, plain)
            except BrokenExecutor:
                self.stop(now=True)
        raise self._cannot_start()

    def _started(self) -> ProcessPoolExecutor:
        """A pool that has answered once: dying at the start is no fault of a point."""
        for _ in range(STARTS):
            self._context = _Spawning()
            pool = ProcessPoolExecutor(self._workers, self._context, initializer=_prepare)
            self._pool = pool
            try:
                with launching():
                    answer = pool.submit(os.getpid)
                answer.result()
            except BrokenExecutor:
                self.stop(now=True)
                continue
            return pool
        raise self._cannot_start()

    def _cannot_start(self) -> InvalidInput:
        return InvalidInput(
            "workers",
            self._workers,
            f"must be processes that can be started: they died {STARTS} times before the first"
            " point (too little memory?)",
        )

    def died(self, error: BaseException) -> bool:
        """Whether an error says that a process is gone."""
        # What waits in a pool that breaks may be cancelled before it is told.
        return isinstance(error, (BrokenExecutor, CancelledError))

    def stop(self, *, now: bool) -> None:
        """End the processes.

        Parameters
        ----------
        now : bool
            Kill them, whatever they are at.
        """
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
