"""The time a search may take, and who is told how it goes."""

from __future__ import annotations

import time
from collections.abc import Callable


class Clock:
    """Seconds that run from its creation.

    `seconds`: how long a search may take. `progress`: called with one line of text.
    """

    def __init__(self, seconds: float, progress: Callable[[str], object] | None = None) -> None:
        self._begun = time.perf_counter()
        self._seconds = seconds
        self._progress = progress

    @property
    def used(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._begun

    def over(self) -> bool:
        """Whether the time is up."""
        return self.used >= self._seconds

    def part(self, share: float) -> Clock:
        """A clock that is up after a share of the time that is left, at the latest with this one.

        `share`: from 0 to 1.
        """
        return Clock(share * max(self._seconds - self.used, 0.0), self._progress)

    def report(self, line: str) -> None:
        """Pass a line on to whoever watches."""
        if self._progress is not None:
            self._progress(line)
