"""The log of a search for a counterexample, and the clock that limits the search."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from swingby.proofs.prover.evidence import Judged


class Clock:
    """The seconds of processor time that a search may take, and a listener to its progress."""

    def __init__(self, seconds: float, progress: Callable[[str], object] | None = None) -> None:
        self._begun = time.thread_time()
        self._seconds = seconds
        self._progress = progress

    def report(self, line: str) -> None:
        """Pass a line on to whoever watches."""
        if self._progress is not None:
            self._progress(line)

    @property
    def used(self) -> float:
        """Seconds of the thread since the start: what else the machine does changes no result."""
        return time.thread_time() - self._begun

    @property
    def left(self) -> float:
        """Seconds that are left, at least 0."""
        return max(self._seconds - self.used, 0.0)

    def over(self) -> bool:
        """Whether the time is up."""
        return not self.left

    def part(self, share: float) -> Clock:
        """A clock that is up after a share of the time that is left."""
        return Clock(share * self.left, self._progress)


@dataclass(frozen=True)
class ClosestCall:
    """The smallest slack that a hunt saw where nothing was broken.

    `slack`: see :mod:`swingby.proofs.hunt.trajectory_search`; for the repaired theorems as in
    :func:`swingby.proofs.prover.repaired.random_trials.slacks`. `instance`: the setting, in one
    line; `where`: what is nearly broken, and at which step. `values`: every number, exact.
    """

    slack: float
    instance: str
    where: str
    values: dict[str, str]


@dataclass
class SearchLog:
    """The log of a search; `steps` are those on which the claim was evaluated.

    `unconfirmed`: violations in floats that balls do not confirm. `judged`: *refuted*, or None.
    `again`: follows the counterexample once more.
    """

    instances: int = 0
    steps: int = 0
    closest: ClosestCall | None = None
    unconfirmed: int = 0
    shrinks: int = 0
    judged: Judged | None = None
    again: Callable[[], bool] | None = None
