"""Chunks measured on a Dask cluster; workers leave their rows in shards.

Dask sends functions and arguments between its own processes as pickles, so its scheduler belongs
on a trusted network. Files are never unpickled here: a shard is a SQLite database of JSON text.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import time
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

from swingby.errors import InvalidInput, MissingExtra
from swingby.sweeping import shards
from swingby.sweeping.executors import AHEAD, Finished, InProcess
from swingby.sweeping.pool import STARTS, launching
from swingby.sweeping.work import Chunk

#: Seconds to wait for a scheduler to answer.
_ANSWER = 10
#: Seconds that a worker gets to end by itself when a sweep is stopped.
_KILL = 0.2
#: Seconds for which the number of workers is taken to be the same.
_STEADY = 2.0


def is_dask(executor: Any) -> bool:
    """Whether an argument asks for Dask.

    Returns
    -------
    bool
        True for ``"dask"``, the address of a scheduler, a Client and a cluster of distributed.
    """
    if isinstance(executor, str):
        return executor == "dask" or "://" in executor
    if isinstance(executor, Executor):
        return False
    return type(executor).__module__.split(".")[0] in ("distributed", "dask_jobqueue", "dask")


class Dask(InProcess):
    """Workers of a Dask cluster.

    Parameters
    ----------
    executor : str, Client or cluster
        ``"dask"`` for a LocalCluster of our own, the address of a scheduler such as
        ``tcp://host:8786``, or an object of distributed.
    workers : int
        Of a LocalCluster of our own.
    store : Path

    Raises
    ------
    MissingExtra
        If distributed is not installed.
    InvalidInput
        If no scheduler answers.
    """

    def __init__(self, executor: Any, workers: int, store: Path) -> None:
        try:
            self._distributed = importlib.import_module("distributed")
        except ImportError:
            raise MissingExtra("distributed", "cluster") from None
        self._cluster: Any = None
        self._folder = str(shards.folder_of(store).resolve())
        self._counted, self._threads = -_STEADY, 1
        self._own_client = not isinstance(executor, self._distributed.Client)
        self._client = self._connected(executor, workers) if self._own_client else executor
        self._executor = self._client.get_executor(pure=False)

    def _connected(self, executor: Any, workers: int) -> Any:
        if executor == "dask":
            self._cluster = self._started(workers)
        reason: Exception | None = None
        for _ in range(STARTS):
            try:
                target = self._cluster or executor
                return self._distributed.Client(target, timeout=_ANSWER, set_as_default=False)
            except (OSError, ValueError) as error:
                reason = error
                break
            except AssertionError as error:
                # A busy scheduler may send more than its greeting at once, which distributed
                # (2026.8) takes for a fault.
                reason = error
        shown = f"must be the address of a Dask scheduler that answers ({reason})"
        raise InvalidInput("executor", executor, shown) from None

    def _started(self, workers: int) -> Any:
        reason: Exception | None = None
        for _ in range(STARTS):
            try:
                # The thread that starts workers, now or later, is made in here.
                with launching():
                    return self._distributed.LocalCluster(
                        n_workers=workers,
                        threads_per_worker=1,
                        dashboard_address=None,
                        silence_logs=logging.CRITICAL,
                    )
            except (RuntimeError, OSError) as error:
                reason = error
        shown = f"must be a cluster that can be started ({reason})"
        raise InvalidInput("executor", "dask", shown) from reason

    @property
    def slots(self) -> int:  # type: ignore[override]
        """Chunks that may be out at once; follows a cluster that grows or shrinks."""
        if time.monotonic() - self._counted >= _STEADY:
            self._threads = sum(self._client.nthreads().values())
            self._counted = time.monotonic()
        return AHEAD * max(1, self._threads)

    def submit(self, chunk: Chunk) -> Future[Any]:
        """Hand out a chunk."""
        future: Future[Any] = self._executor.submit(
            shards.measure_to_shard, chunk.to_plain(), self._folder
        )
        return future

    def died(self, error: BaseException) -> bool:
        """Whether workers died at this chunk, as often as Dask allows."""
        return isinstance(error, self._distributed.scheduler.KilledWorker)

    def collect(self, chunk: Chunk, result: Any) -> Finished:
        """Rows from a shard."""
        seconds, name = result
        path = Path(self._folder) / Path(name).name
        return Finished(shards.read(path), seconds, path)

    def stop(self, *, now: bool) -> None:
        """Cancel what is out, and end a cluster of our own."""
        # A cluster that is gone cannot be let go of; that must not hide the error that ended it.
        with contextlib.suppress(OSError, asyncio.TimeoutError, asyncio.CancelledError):
            self._executor.shutdown(wait=False)
        if self._cluster is not None and now:
            with contextlib.suppress(OSError, asyncio.TimeoutError, asyncio.CancelledError):
                self._cluster.sync(_kill, self._cluster)
        with contextlib.suppress(OSError, asyncio.TimeoutError, asyncio.CancelledError):
            if self._own_client:
                self._client.close(timeout=1)
            if self._cluster is not None:
                self._cluster.close(timeout=1 if now else 10)


async def _kill(cluster: Any) -> None:
    """End the workers of a cluster of our own, whatever they are at."""
    await asyncio.gather(*(one.close(timeout=_KILL) for one in cluster.workers.values()))
