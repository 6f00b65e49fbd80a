"""Progress of long work: a bar on a terminal, lines now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, Self

#: Seconds between two lines where there is no terminal.
EVERY = 5.0


class Progress:
    """Progress of one piece of work on stderr; a context manager.

    `columns` are what stands beside the bar: "count", "share", "elapsed", "remaining", or "what"
    for words that change.
    """

    def __init__(self, title: str, total: int, columns: str, *, shown: bool) -> None:
        self._title, self._total, self._columns = title, total, columns.split()
        self._shown = shown
        self._bar: Any = None
        self._task: Any = None
        self._last_line = time.monotonic()

    def __enter__(self) -> Self:
        if self._shown and sys.stderr.isatty():
            from rich import progress
            from rich.console import Console

            column_kinds: dict[str, Callable[[], progress.ProgressColumn]] = {
                "count": progress.MofNCompleteColumn,
                "share": progress.TaskProgressColumn,
                "elapsed": progress.TimeElapsedColumn,
                "remaining": progress.TimeRemainingColumn,
                "what": lambda: progress.TextColumn("{task.fields[what]}"),
            }
            self._bar = progress.Progress(
                progress.TextColumn(self._title),
                progress.BarColumn(),
                *(column_kinds[name]() for name in self._columns),
                console=Console(stderr=True, force_jupyter=False),
            )
            self._bar.start()
            self._task = self._bar.add_task(self._title, total=self._total, what="")
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _is_due(self, seconds: float) -> bool:
        """Whether a line may be written, so long after the last one."""
        return self._shown and time.monotonic() - self._last_line >= seconds

    def say(self, line: str, *, due: bool = False, **on_bar: object) -> None:
        """Show something on the bar, ``completed`` or ``what``; else write a line now and then."""
        if self._bar is not None:
            self._bar.update(self._task, **on_bar)
        elif self._is_due(0.0 if due else EVERY):
            self._last_line = time.monotonic()
            sys.stderr.write(f"swingby: {line}\n")
            sys.stderr.flush()


class PartProgress(Progress):
    """Progress of work in named steps, each of which reports how far it is."""

    def __init__(self, total: int, title: str = "figures", *, shown: bool) -> None:
        self.total, self.done = total, 0
        self._name = ""
        super().__init__(title, total, "count elapsed what", shown=shown)

    def start(self, name: str) -> None:
        """Name the part that is being made."""
        self._name = name
        if self._bar is not None:
            self._bar.update(self._task, what=name)

    def tell(self, share: float, text: str) -> None:
        """Say how far the part is, from 0 to 1."""
        line = f"{self._name}, {share:.0%}: {text}"
        self.say(line, what=line)

    def finish(self, text: str) -> None:
        """Count a part as made, and say how it went."""
        self.done += 1
        line = f"{self.done} of {self.total}: {self._name}, {text}"
        self.say(line, due=True, completed=self.done)
