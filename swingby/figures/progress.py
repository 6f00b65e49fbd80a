"""How making figures goes on: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

from swingby.sweeping.progress import EVERY


class FigureProgress:
    """What is said on stderr while figures are made; a context manager.

    Parameters
    ----------
    total : int
        Editions to make.
    shown : bool
        Whether anything is said.
    """

    def __init__(self, total: int, *, shown: bool) -> None:
        self.total, self.done = total, 0
        self._shown = shown
        self._bar: Any = None
        self._task: Any = None
        self._said = time.monotonic()
        self._name = ""

    def __enter__(self) -> FigureProgress:
        if self._shown and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("figures"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.fields[what]}"),
                console=Console(stderr=True),
            )
            self._bar.start()
            self._task = self._bar.add_task("figures", total=self.total, what="")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def start(self, name: str) -> None:
        """Name the edition that is being made.

        Parameters
        ----------
        name : str
        """
        self._name = name
        if self._bar is not None:
            self._bar.update(self._task, what=name)

    def tell(self, share: float, text: str) -> None:
        """Say how far its computation is; given to it as its ``Tell``.

        Parameters
        ----------
        share : float
            From 0 to 1.
        text : str
        """
        if self._bar is not None:
            self._bar.update(self._task, what=f"{self._name}, {share:.0%}: {text}")
        elif self._shown and time.monotonic() - self._said >= EVERY:
            self._write(f"{self._name}, {share:.0%}: {text}")

    def finish(self, text: str) -> None:
        """Count an edition as made.

        Parameters
        ----------
        text : str
            How it went.
        """
        self.done += 1
        if self._bar is not None:
            self._bar.update(self._task, completed=self.done)
        elif self._shown:
            self._write(f"{self.done} of {self.total}: {self._name}, {text}")

    def _write(self, text: str) -> None:
        self._said = time.monotonic()
        sys.stderr.write(f"swingby: {text}\n")
        sys.stderr.flush()
