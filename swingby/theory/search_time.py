"""Processor time of a search, within the time that the budget leaves.

A limit is of the calling context alone: other threads and tasks have their own.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from contextvars import ContextVar

from swingby.theory import budget

_WORK: ContextVar[float] = ContextVar("end of a search", default=float("inf"))
#: Processor time of the thread, and time of the clock, at the start of the outermost search.
_START: ContextVar[tuple[float, float] | None] = ContextVar("start of a search", default=None)
#: The smallest share of a core that a search is taken to get.
_LEAST_SHARE = 0.02


class OutOfTime(Exception):
    """The budget of a search is spent."""


@contextlib.contextmanager
def processor_time(seconds: float) -> Iterator[None]:
    """Limit a search in seconds of processor time, so that other processes do not change its end.

    It is of the calling thread, and nests; the tighter one counts.
    """
    started = _START.get() or (time.thread_time(), time.perf_counter())
    token = _WORK.set(min(_WORK.get(), time.thread_time() + seconds))
    start = _START.set(started)
    try:
        yield
    finally:
        _START.reset(start)
        _WORK.reset(token)


def seconds_left(most: float = float("inf")) -> float:
    """Seconds left, at most `most`. Raises OutOfTime if there are none."""
    seconds = min(budget.remaining(), _WORK.get() - time.thread_time())
    if seconds <= 0:
        raise OutOfTime
    return min(seconds, most)


def clock_seconds_left(most: float) -> float:
    """Seconds of the clock that :func:`seconds_left` may take, for libraries that limit these.

    On a machine with other work a search gets a share of a core; it is the one it got so far.
    Raises OutOfTime if there are none.
    """
    seconds, start = seconds_left(most), _START.get()
    if start is None:
        return seconds
    work, clock = time.thread_time() - start[0], time.perf_counter() - start[1]
    share = min(max(work / clock, _LEAST_SHARE), 1.0) if clock > 0 else 1.0
    return min(seconds / share, budget.remaining())
