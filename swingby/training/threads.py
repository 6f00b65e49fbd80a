"""How many threads torch may use: one where a step is small, since threads wait for each other."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from swingby.training.setting import Setting

#: Multiplications in a step from which on more threads were seen to be faster.
WORTH_THREADS = 200_000_000


def multiplications(settings: tuple[Setting, ...], *, by_points: bool) -> int:
    """About how many multiplications a step of some networks takes, in all.

    Parameters
    ----------
    settings : tuple of Setting
    by_points : bool
        Whether a step goes through the points of its batch.
    """
    first = settings[0]
    d, width, depth = first.task.dim, first.width, first.network.depth
    weights = d * d if depth == 1 else 2 * d * width + (depth - 2) * width * width
    columns = first.batch if by_points else first.task.s + 1
    return 3 * weights * columns * len(settings)


@contextlib.contextmanager
def threads_for(torch: Any, work: int) -> Iterator[None]:
    """One thread inside, where `work` multiplications a step are not worth more."""
    before = torch.get_num_threads()
    if work < WORTH_THREADS:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
