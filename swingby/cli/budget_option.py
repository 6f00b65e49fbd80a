"""The option --budget of every command: limits of time and memory that hold whatever it does."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from swingby.errors import BudgetSpent
from swingby.theory.background import start_thread
from swingby.theory.budget import budget, read_budget

#: Seconds for what can stop by itself, and keep what it has, before it is stopped.
GRACE = 2.0
#: Seconds until what did not stop is told again: a library may have kept the first word to itself.
AGAIN = 10.0
#: Seconds between two looks at the memory in use.
_LOOK = 0.05


def _set_budget(context: click.Context, _: click.Parameter, text: str | None) -> None:
    seconds, size = (float("inf"),) * 2 if text is None else read_budget(text)

    def report(line: str) -> None:
        click.echo(f"swingby: {line}", err=True)

    context.with_resource(budget(seconds, size, report))
    if text is not None and threading.current_thread() is threading.main_thread():
        context.with_resource(_watched(seconds, size))


BUDGET = click.option(
    "--budget",
    metavar="LIMITS",
    help="Limit of time and memory: 60s,2GB. Exit code 4 beyond it.",
    expose_value=False,
    is_eager=True,
    callback=_set_budget,
)


def budget_spent(error: BaseException | None) -> BudgetSpent | None:
    """The limit that an interruption came from, None where it came from elsewhere."""
    while error is not None and not isinstance(error, BudgetSpent):
        error = error.__cause__ or error.__context__
    return error


@contextlib.contextmanager
def _watched(seconds: float, size: float) -> Iterator[None]:
    """BudgetSpent in the main thread once a limit is passed, whatever it is doing there."""
    over, end = threading.Event(), time.monotonic() + seconds + GRACE
    sending = threading.Lock()  # no signal comes after the block
    why = ["time"]

    def stop(*_: Any) -> None:
        raise BudgetSpent(f"its {why[0]} is spent")

    def look() -> None:
        while not over.wait(_LOOK):
            if time.monotonic() > end or _memory_in_use() > size:
                why[0] = "time" if time.monotonic() > end else "memory"
                with sending:
                    if not over.is_set():
                        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
                over.wait(AGAIN)

    before = signal.signal(signal.SIGUSR1, stop)
    start_thread(look)
    try:
        yield
    finally:
        over.set()
        try:
            with sending:
                pass
        finally:
            signal.signal(signal.SIGUSR1, before)


def _memory_in_use(process: str = "self") -> float:
    """Bytes in memory of a process and of its workers; 0 where the system does not say.

    Of a worker, what it shares with others, the code of libraries, is not counted again.
    """
    folder, size = Path("/proc", process), 0.0
    try:
        _, resident, shared, *_ = map(int, (folder / "statm").read_text().split())
        size = 4096.0 * (resident - shared * (process != "self"))
        for children in folder.glob("task/*/children"):
            size += sum(map(_memory_in_use, children.read_text().split()))
    except (OSError, ValueError):  # it has ended
        pass
    return size
