"""How training goes on: a bar on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

#: Seconds between two lines where there is no terminal.
EVERY = 5.0


class Progress:
    """What is said on stderr while networks train; a context manager.

    Parameters
    ----------
    total : int
        Steps of all groups of networks.
    runs : int
        Networks in all.
    shown : bool
        Whether anything is said.
    """

    def __init__(self, total: int, runs: int, *, shown: bool) -> None:
        self._total, self._runs, self._shown = total, runs, shown
        self._before = self._done = 0
        self._bar: Any = None
        self._task: Any = None
        self._said = time.monotonic()

    def __enter__(self) -> Progress:
        if self._shown and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn(f"train {self._runs} networks, steps"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                console=Console(stderr=True),
            )
            self._bar.start()
            self._task = self._bar.add_task("train", total=self._total)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def reach(self, step: int) -> None:
        """Say how far the group that is under way has come.

        Parameters
        ----------
        step : int
        """
        self._done = self._before + step
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done)
        elif self._shown and time.monotonic() - self._said >= EVERY:
            self._said = time.monotonic()
            sys.stderr.write(
                f"swingby: {self._runs} networks, {self._done} of {self._total} steps\n"
            )
            sys.stderr.flush()

    def next_group(self) -> None:
        """Count the steps of a group as done."""
        self._before = self._done
