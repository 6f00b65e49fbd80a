"""How training goes on: a bar on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

from swingby.report.progress import Progress as Telling

#: Seconds between two lines where there is no terminal.
EVERY = 5.0


class Progress(Telling):
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
        self._total, self._runs = total, runs
        self._before = self._done = 0
        super().__init__(f"train {runs} networks, steps", total, "count remaining", shown=shown)

    def reach(self, step: int) -> None:
        """Say how far the group that is under way has come."""
        self._done = self._before + step
        if not self._on_bar(completed=self._done) and self._is_due(EVERY):
            self._write(f"{self._runs} networks, {self._done} of {self._total} steps")

    def next_group(self) -> None:
        """Count the steps of a group as done."""
        self._before = self._done
