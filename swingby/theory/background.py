"""Threads in the background, for which the process does not wait at its end."""

from __future__ import annotations

import _thread
from collections.abc import Callable


def start_thread(work: Callable[[], None]) -> None:
    """Run a function in a thread of its own; RuntimeError if the system gives none.

    ``threading.Thread.start`` waits until the thread runs, for ever if that is refused memory.
    """
    _thread.start_new_thread(work, ())
