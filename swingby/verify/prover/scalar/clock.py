"""Budgets in seconds: a search asks how much is left, and stops by an exception when none is."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from contextvars import ContextVar

_END: ContextVar[float] = ContextVar("end of the budget", default=float("inf"))


class OutOfTime(Exception):
    """The budget of a search is spent."""


@contextlib.contextmanager
def budget(seconds: float) -> Iterator[None]:
    """A budget for what runs inside; budgets nest, and the tighter one counts."""
    token = _END.set(min(_END.get(), time.monotonic() + seconds))
    try:
        yield
    finally:
        _END.reset(token)


def left(most: float = float("inf")) -> float:
    """Seconds left, at most `most`.

    Raises OutOfTime if there are none.
    """
    seconds = _END.get() - time.monotonic()
    if seconds <= 0:
        raise OutOfTime
    return min(seconds, most)
