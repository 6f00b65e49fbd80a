"""The option --budget of every command: limits that hold whatever the command does."""

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
from swingby.theory.budget import budget, read_budget

#: Seconds for what can stop by itself, and keep what it has, before it is stopped.
GRACE = 2.0
#: Seconds between two looks at the memory in use.
_LOOK = 0.05


def limit(command: click.Command) -> None:
    """Give a command the option; a group gives it to all its commands."""
    if isinstance(command, click.Group):
        for one in command.commands.values():
            limit(one)
    command.params.append(
        click.Option(
            ["--budget"],
            metavar="LIMITS",
            help="Stop after so much time or memory: 60s,2GB. Exit code 4.",
            expose_value=False,
            is_eager=True,
            callback=_set,
        )
    )


def budget_spent(error: BaseException | None) -> BudgetSpent | None:
    """The limit that an interruption came from, None where it came from elsewhere."""
    while error is not None and not isinstance(error, BudgetSpent):
        error = error.__cause__ or error.__context__
    return error


def _set(context: click.Context, _: click.Parameter, text: str | None) -> None:
    seconds, size = (float("inf"),) * 2 if text is None else read_budget(text)
    context.with_resource(budget(seconds, size, _say))
    if text is not None and threading.current_thread() is threading.main_thread():
        context.with_resource(_watched(seconds, size))


def _say(line: str) -> None:
    click.echo(f"swingby: {line}", err=True)


@contextlib.contextmanager
def _watched(seconds: float, size: float) -> Iterator[None]:
    """BudgetSpent in the main thread once a limit is passed, whatever it is doing there."""
    over, end = threading.Event(), time.monotonic() + seconds + GRACE
    why = ["time"]

    def stop(*_: Any) -> None:
        raise BudgetSpent(f"its {why[0]} is spent")

    def look() -> None:
        while not over.wait(_LOOK):
            if time.monotonic() > end or _in_use() > size:
                why[0] = "time" if time.monotonic() > end else "memory"
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
                return

    before = signal.signal(signal.SIGUSR1, stop)
    watch = threading.Thread(target=look, daemon=True)
    watch.start()
    try:
        yield
    finally:
        over.set()
        watch.join()
        signal.signal(signal.SIGUSR1, before)


def _in_use() -> float:
    """Bytes in memory of this process; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096.0
    except (OSError, ValueError):
        return 0.0
