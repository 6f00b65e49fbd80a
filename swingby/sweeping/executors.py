"""Who measures chunks: an executor that is given, or this process; see also pool and cluster."""

from __future__ import annotations

from concurrent.futures import Executor, Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from swingby.errors import InvalidInput
from swingby.sweeping.kept import Kept
from swingby.sweeping.work import Chunk, measure_chunk

#: Chunks per worker that are handed out at once, so that none waits for the driver.
AHEAD = 2


@dataclass(frozen=True)
class Finished:
    """A chunk that came back.

    Parameters
    ----------
    rows : list of Kept
    seconds : float
        That its worker spent; nan where it died.
    shard : Path or None
        A file that holds the same rows, to be removed once they are kept.
    """

    rows: list[Kept]
    seconds: float
    shard: Path | None = None


class Workers(Protocol):
    """Those who measure chunks, seen from the driver."""

    @property
    def slots(self) -> int:
        """How many chunks may be out at once."""

    def submit(self, chunk: Chunk) -> Future[Any]:
        """Hand out a chunk."""

    def died(self, error: BaseException) -> bool:
        """Whether an error says that the process which measured a chunk is gone."""

    def collect(self, chunk: Chunk, result: Any) -> Finished:
        """Rows from the result of a future."""

    def stop(self, *, now: bool) -> None:
        """Let go of everything; `now` without waiting for chunks that are out."""


class InProcess:
    """No workers at all: chunks are measured where they are submitted."""

    slots = 1

    def submit(self, chunk: Chunk) -> Future[Any]:
        """Measure a chunk.

        Returns
        -------
        Future
            Done.
        """
        future: Future[Any] = Future()
        future.set_result(measure_chunk(chunk.to_plain()))
        return future

    def died(self, error: BaseException) -> bool:
        """Never: there is no process to lose."""
        return False

    def collect(self, chunk: Chunk, result: Any) -> Finished:
        """Rows from the result of a future."""
        seconds, rows = result
        return Finished(chunk.rows(rows), seconds)

    def stop(self, *, now: bool) -> None:
        """Nothing to let go of."""


class Given(InProcess):
    """An executor of the caller, who keeps it.

    Parameters
    ----------
    executor : concurrent.futures.Executor
    workers : int
        How many it has; twice as many chunks are out at once.
    """

    def __init__(self, executor: Executor, workers: int) -> None:
        self._executor = executor
        self._out: set[Future[Any]] = set()
        self.slots = AHEAD * workers

    def submit(self, chunk: Chunk) -> Future[Any]:
        """Hand out a chunk.

        Raises
        ------
        InvalidInput
            If the executor takes nothing any more.
        """
        try:
            future = self._executor.submit(measure_chunk, chunk.to_plain())
        except RuntimeError as error:
            shown = type(self._executor).__name__
            raise InvalidInput("executor", shown, f"must be open ({error})") from error
        self._out.add(future)
        future.add_done_callback(self._out.discard)
        return future

    def stop(self, *, now: bool) -> None:
        """Cancel what has not begun; the executor stays open."""
        for future in list(self._out):
            future.cancel()
