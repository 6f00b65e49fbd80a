"""Chunks of points, measured by an executor, and point by point after a process died.

Every chunk that was out when a process died is a suspect. The points of suspects are measured one
at a time, down to the point at fault.
"""

from __future__ import annotations

import math
import time
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
from itertools import islice
from pathlib import Path
from typing import Any

import swingby
from swingby.errors import InvalidInput, SwingbyError
from swingby.lab.sweeps.measurement import measure
from swingby.lab.sweeps.point import MEASURE_VERSION, Point
from swingby.lab.sweeps.recorded_arrays import keep_arrays
from swingby.lab.sweeps.store import WORKER_DIED
from swingby.lab.sweeps.stored_row import StoredRow

#: A point that is out alone may lose this many processes, or be cancelled so often.
MOST_DEATHS = 3
#: Seconds after which the driver looks up, so that Ctrl-C is noticed on every system.
PAUSE = 0.5

#: A point with its key and its place in the grid.
PlacedPoint = tuple[bytes, int, Point]
#: Rows of chunks, with the seconds that they took.
MeasuredChunks = Generator[tuple[list[StoredRow], float], None, None]


def measure_chunk(
    chunk: list[PlacedPoint], folder: str, code: object
) -> tuple[list[StoredRow], float]:
    """Measure points and leave their arrays in a folder: rows, and the seconds that they took."""
    start = time.perf_counter()
    if code != running_code():
        raise InvalidInput("executor", running_code(), f"must run the driver's version, {code}")
    rows = []
    points = [point for _, _, point in chunk]
    for placed, measurement in zip(chunk, measure(points), strict=True):
        arrays = measurement.arrays
        digest = None if arrays is None else keep_arrays(Path(folder), arrays)
        rows.append(StoredRow(*placed, measurement.results, measurement.reason, digest))
    return rows, time.perf_counter() - start


def running_code() -> str:
    """The versions that rows depend on."""
    return f"swingby {swingby.__version__}, measure {MEASURE_VERSION}"


def do_nothing() -> None:
    """Look up while no chunk comes back, and do nothing."""


def measured_chunks(
    executor: Executor,
    slots: int,
    chunks: Iterator[list[PlacedPoint]],
    folder: str,
    look: Callable[[], None] = do_nothing,
    measuring: Callable[..., Any] | None = None,
) -> MeasuredChunks:
    """Rows of all chunks, in the order in which they come back.

    Only `slots` chunks are taken at a time; `look` is called now and then while none comes back. A
    point that loses its process :data:`MOST_DEATHS` times is recorded as failed; its seconds are
    nan. An executor that cancels it again and again is refused, as that says nothing of the point.
    `measuring` makes rows of a chunk: those of the task, or of a theory of one's own.
    """
    out: dict[Future[Any], list[PlacedPoint]] = {}
    suspects: deque[list[PlacedPoint]] = deque()
    deaths, cancelled = Counter[bytes](), Counter[bytes]()
    lone: Future[Any] | None = None

    def hand_out(chunk: list[PlacedPoint]) -> Future[Any]:
        try:
            future = executor.submit(measuring or measure_chunk, chunk, folder, running_code())
        except RuntimeError as error:
            requirement = f"must be open ({error})"
            raise _refused(executor, requirement) from error
        if not isinstance(future, Future):
            requirement = f"must return futures from submit, not {type(future).__name__}"
            raise _refused(executor, requirement)
        out[future] = chunk
        return future

    try:
        while True:
            if suspects and not out:
                lone = hand_out(suspects.popleft())
            elif not suspects and lone not in out:
                for chunk in islice(chunks, slots - len(out)):
                    hand_out(chunk)
            if not out:
                return
            done, waiting = wait(out, timeout=PAUSE, return_when=FIRST_COMPLETED)
            # A future that was cancelled before its executor looked at it is never reported.
            done |= {future for future in waiting if future.cancelled()}
            if not done:
                look()
            for future in done:
                chunk = out.pop(future)
                error = CancelledError() if future.cancelled() else future.exception()
                if error is None:
                    yield _checked_answer(future.result(), chunk, executor)
                elif not _process_is_gone(error):
                    raise _in_words(error) from error
                elif future is not lone:
                    suspects.extend([placed] for placed in chunk)
                elif isinstance(error, CancelledError):
                    (placed,) = chunk
                    cancelled[placed[0]] += 1
                    if cancelled[placed[0]] == MOST_DEATHS:
                        required = f"must compute points, but cancelled one {MOST_DEATHS} times"
                        advice = "the rows so far are kept, and the same call resumes"
                        raise _refused(executor, f"{required}; {advice}") from error
                    suspects.appendleft(chunk)
                else:
                    (placed,) = chunk
                    deaths[placed[0]] += 1
                    if deaths[placed[0]] < MOST_DEATHS:
                        suspects.appendleft(chunk)
                        continue
                    reason = f"{WORKER_DIED}: the process died {MOST_DEATHS} times at this point"
                    yield [StoredRow(*placed, None, reason)], math.nan
    finally:
        for future in out:
            future.cancel()


def _checked_answer(
    answer: Any, chunk: list[PlacedPoint], executor: Executor
) -> tuple[list[StoredRow], float]:
    """The rows of a chunk and their seconds; refused if they are not of its points."""
    match answer:
        case (list(rows), float(seconds)) if all(isinstance(row, StoredRow) for row in rows):
            if [(row.key, row.place, row.point) for row in rows] == chunk:
                return rows, seconds
    raise _refused(executor, "must return the rows of the points that it was given")


def _refused(executor: Executor, requirement: str) -> InvalidInput:
    return InvalidInput("executor", type(executor).__name__, requirement)


def _process_is_gone(error: BaseException) -> bool:
    """Chunks that wait in a pool that breaks may be cancelled; Dask has an error of its own."""
    gone = isinstance(error, (BrokenExecutor, CancelledError))
    return gone or type(error).__name__ == "KilledWorker"


def _in_words(error: BaseException) -> BaseException:
    if isinstance(error, (SwingbyError, KeyboardInterrupt, MemoryError)):
        return error
    text = f"{type(error).__name__}: {error}".rstrip(": ")
    return InvalidInput("executor", text, "must be able to import swingby and compute points")
