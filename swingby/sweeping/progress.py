"""How a sweep goes on: a bar on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import time

from swingby.report.progress import Progress as Telling

#: Seconds between two lines where there is no terminal.
EVERY = 5.0


class Progress(Telling):
    """What is said on stderr while a sweep runs; a context manager.

    Parameters
    ----------
    total : int
        Points of the grid.
    shown : bool
        Whether anything is said.
    """

    def __init__(self, total: int, *, shown: bool) -> None:
        self.total, self.done, self.failed, self.found = total, 0, 0, 0
        self._start = time.monotonic()
        super().__init__("sweep", total, "count what remaining", shown=shown)

    def skip(self, count: int) -> None:
        """Count points that the store holds already."""
        self.found += count
        self._tell()

    def add(self, done: int, failed: int) -> None:
        """Count points that were just kept."""
        self.done += done
        self.failed += failed
        self._tell()

    @property
    def line(self) -> str:
        """Where things stand, in one line."""
        seconds = time.monotonic() - self._start
        measured = self.done + self.failed
        parts = [f"{self.found + measured} of {self.total} points"]
        if self.found:
            parts.append(f"{self.found} of them found in the store")
        if self.failed:
            parts.append(f"{self.failed} failed")
        if measured:
            parts.append(f"{measured / max(seconds, 1e-9):.3g} per second")
        return ", ".join(parts)

    def _tell(self) -> None:
        if self._bar is not None:
            seconds = time.monotonic() - self._start
            measured = self.done + self.failed
            rate = f"{measured / seconds:.3g}/s" if measured and seconds > 0 else ""
            failed = f", {self.failed} failed" if self.failed else ""
            finished = self.found + measured
            self._on_bar(completed=finished, what=rate + failed)
        elif self._is_due(EVERY):
            self._write(self.line)

    def say(self, text: str) -> None:
        """Write one line."""
        if self._shown:
            self._end_bar()
            self._write(text)
