"""Budgets of seconds and bytes for computations, set by the user and heeded by long computations.

Limits are of the calling context alone: other threads and tasks have their own.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar

from swingby.errors import BudgetSpent, InvalidInput

#: Beyond these, a computation says what it expects before it starts.
_LONG_OR_LARGE = (10.0, 1 << 30)
_UNITS = {"ms": 1e-3, "s": 1, "min": 60, "h": 3600, "mb": 1 << 20, "gb": 1 << 30}

_END: ContextVar[float] = ContextVar("end of the budget", default=float("inf"))
_BYTES: ContextVar[float] = ContextVar("bytes of the budget", default=float("inf"))
_TELL: ContextVar[Callable[[str], None] | None] = ContextVar("who is told", default=None)


@contextlib.contextmanager
def budget(
    seconds: float = float("inf"),
    size: float = float("inf"),
    tell: Callable[[str], None] | None = None,
) -> Iterator[None]:
    """Limit the seconds and bytes of a block; budgets nest, and the tighter limit counts.

    `size`: bytes. `tell`: called with what a long computation expects to cost.
    """
    tokens = (
        (_END, _END.set(min(_END.get(), time.monotonic() + seconds))),
        (_BYTES, _BYTES.set(min(_BYTES.get(), size))),
        (_TELL, _TELL.set(tell or _TELL.get())),
    )
    try:
        yield
    finally:
        for variable, token in tokens:
            variable.reset(token)  # type: ignore[arg-type]


def remaining() -> float:
    """Seconds to the end of the budget, negative after it."""
    return _END.get() - time.monotonic()


def spent() -> bool:
    """True when the time is over, for computations that can stop early with what they have."""
    return remaining() <= 0


def expect(
    what: str, seconds: float, size: float = 0.0, *, partial: bool = False, bound: str = "up to"
) -> None:
    """Announce the rough cost of a computation before it starts.

    `partial`: what it has when the time is over is worth having. `bound`: on which side of it the
    time may lie, "up to" or "at least".
    Raises InvalidInput if its arrays fit into no memory of this machine, BudgetSpent if it needs
    more bytes than allowed, or ten times the time that is left and gives nothing until then.
    """
    has = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if size > has:
        raise InvalidInput(what, f"about {_size(size)}", f"must fit into {_size(has)} of memory")
    memory = f" and {_size(size)} of memory" if size > min(_LONG_OR_LARGE[1], _BYTES.get()) else ""
    cost = f"{what} takes {bound} about {_time(seconds)}{memory}"
    hopeless = seconds > 10 * max(0.0, remaining()) and not partial
    if size > _BYTES.get() or hopeless:
        raise BudgetSpent(cost)
    tell = _TELL.get()
    if tell is not None and (seconds > _LONG_OR_LARGE[0] or memory):
        tell(cost)


def read_budget(text: str) -> tuple[float, float]:
    """Seconds and bytes of a text such as ``"60s,2GB"``; infinite where it does not limit them."""
    limits = [float("inf"), float("inf")]
    for limit in text.lower().split(","):
        match = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*(ms|s|min|h|mb|gb)\s*", limit)
        kind = 1 if match and match[2] in ("mb", "gb") else 0
        if match is None or limits[kind] < float("inf"):
            requirement = "must be seconds, bytes or both, such as 60s,2GB (units ms s min h MB GB)"
            raise InvalidInput("budget", text, requirement)
        limits[kind] = float(match[1]) * _UNITS[match[2]]
    return limits[0], limits[1]


def _time(seconds: float) -> str:
    for unit, size in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{max(seconds, 0.1):.2g} s"


def _size(size: float) -> str:
    return f"{size / (1 << 30):.3g} GB" if size >= 1 << 30 else f"{size / (1 << 20):.3g} MB"
