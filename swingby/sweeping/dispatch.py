"""Chunks handed out and taken back, and done again when the process that had them dies."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from typing import Any

from swingby.errors import InvalidInput, SwingbyError
from swingby.sweeping.executors import Finished, Workers
from swingby.sweeping.kept import WORKER_DIED
from swingby.sweeping.work import Chunk

#: A single point that is out alone may lose this many processes before it is given up.
MOST_DEATHS = 3
#: Seconds after which the driver looks up, so that Ctrl-C is noticed on every system.
_PAUSE = 0.5


def dispatch(workers: Workers, chunks: Iterator[Chunk]) -> Iterator[Finished]:
    """Have all chunks measured.

    Every chunk that is out when a process dies is a suspect. Suspects are measured again one at a
    time; one that loses its process again is split, down to the single point at fault. That point
    is recorded as failed after :data:`MOST_DEATHS` deaths, and the others are measured.

    Parameters
    ----------
    workers : Workers
    chunks : iterator of Chunk
        Only as many are taken from it as workers can have.

    Yields
    ------
    Finished
        In the order in which they come back.

    Raises
    ------
    InvalidInput
        If workers cannot work at all.
    """
    out: dict[Future[Any], Chunk] = {}
    suspects: deque[tuple[Chunk, int]] = deque()
    alone: tuple[Chunk, int] | None = None
    rest = True
    while True:
        if suspects and not out:
            alone = suspects.popleft()
            out[workers.submit(alone[0])] = alone[0]
        while rest and not suspects and alone is None and len(out) < workers.slots:
            chunk = next(chunks, None)
            if chunk is None:
                rest = False
                break
            out[workers.submit(chunk)] = chunk
        if not out:
            return
        done, _ = wait(out, timeout=_PAUSE, return_when=FIRST_COMPLETED)
        for future in done:
            chunk = out.pop(future)
            error = CancelledError() if future.cancelled() else future.exception()
            if error is None:
                yield workers.collect(chunk, future.result())
                alone = None
            elif not workers.died(error):
                raise _in_words(error) from error
            elif alone is None:
                suspects.append((chunk, 0))
            elif len(chunk) > 1:
                suspects.extendleft((half, 0) for half in reversed(chunk.halves()))
                alone = None
            elif alone[1] + 1 < MOST_DEATHS:
                suspects.appendleft((chunk, alone[1] + 1))
                alone = None
            else:
                reason = f"{WORKER_DIED}: the process died {MOST_DEATHS} times at this point"
                yield Finished(chunk.failed(reason), math.nan)
                alone = None


def _in_words(error: BaseException) -> BaseException:
    if isinstance(error, (SwingbyError, KeyboardInterrupt, MemoryError)):
        return error
    shown = f"{type(error).__name__}: {error}".rstrip(": ")
    return InvalidInput("executor", shown, "must be able to measure points with swingby")
