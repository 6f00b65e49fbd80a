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


class OutOfTime(Exception):
    """The budget of a search is spent."""


@contextlib.contextmanager
def processor_time(seconds: float) -> Iterator[None]:
    """Limit a search in seconds of processor time, so that other processes do not change its end.

    It is of the calling thread, and nests; the tighter one counts.
    """
    token = _WORK.set(min(_WORK.get(), time.thread_time() + seconds))
    try:
        yield
    finally:
        _WORK.reset(token)


def seconds_left(most: float = float("inf")) -> float:
    """Seconds left, at most `most`. Raises OutOfTime if there are none."""
    seconds = min(budget.remaining(), _WORK.get() - time.thread_time())
    if seconds <= 0:
        raise OutOfTime
    return min(seconds, most)
