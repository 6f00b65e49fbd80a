"""Whether anything but the optimizer has changed the weights, by the version counters of torch.

A tensor counts how often it was written to in place. A step of an optimizer writes each parameter
the same number of times, so more than that are changes by the loop. What is written past the
counters, through ``.data``, is not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class WeightChanges:
    """Versions of parameters, from one look to the next."""

    def __init__(self, parameters: Sequence[Any]) -> None:
        self._parameters = list(parameters)
        self._versions, self._step = self._now(), 0
        #: Versions before the first step, and what a step adds.
        self._before: list[int] | None = None
        self._writes: list[int] | None = None

    def before_first_step(self) -> None:
        """Note the versions just before the first step."""
        self._before = self._before or self._now()

    def seen(self, step: int) -> int | None:
        """The first step from which changes may count, if there were any since the last look."""
        now, before, since = self._now(), self._before, self._step
        if before is None:
            return None
        if self._writes is None:
            self._writes = [new - old for new, old in zip(now, before, strict=True)]
        expected = (
            old + (step - since) * writes
            for old, writes in zip(self._versions, self._writes, strict=True)
        )
        changed = any(new > old for new, old in zip(now, expected, strict=True))
        self._versions, self._step = now, step
        return since + 1 if changed else None

    def _now(self) -> list[int]:
        return [int(entry._version) for entry in self._parameters]
