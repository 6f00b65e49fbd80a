"""Compiled: what is due in which lane, all lanes of a tile together. Imports numba."""

from __future__ import annotations

from swingby.simulate.compiling import compiled
from swingby.simulate.jump_kernels import LEARNED
from swingby.simulate.lanes.lane import entry
from swingby.simulate.lanes.tile import (
    DOUBTFUL,
    DUE,
    FINITE,
    HAS_NULL,
    IS_LARGE,
    READY,
    Tile,
)
from swingby.simulate.pivot_kernels import PIVOT_ROUNDING
from swingby.simulate.step_source import LANES

#: x_kk from which on factors of two go to m_k.
LARGE = 2.0**200
#: |w_kk| at which a lane may jump; see jump_kernels.
TINY = 1e-17


@compiled
def look(tile: Tile, d: int, gd: bool, skip: bool) -> None:  # pragma: no cover
    """Fill Tile.flags, all lanes together: what is due in each."""
    numbers, flags = tile.numbers, tile.flags
    entries = d * (d + 1) // 2
    for lane in range(LANES):
        flags[FINITE, lane] = 0.0
        flags[READY, lane] = 1.0
        flags[DOUBTFUL, lane] = 0.0
        flags[IS_LARGE, lane] = 0.0
    for row in range(entries):
        at = row * LANES
        for lane in range(LANES):
            # 0 for a finite number, nan for any other.
            flags[FINITE, lane] += numbers[at + lane] * 0.0
    for k in range(d):
        at, scale = entry(d, k, k) * LANES, (entries + d + k) * LANES
        for lane in range(LANES):
            x = numbers[at + lane]
            w = x * numbers[scale + lane]
            learned = abs(w - 1.0) < LEARNED and x == tile.past[k, lane]
            ready = learned or abs(w) <= TINY
            flags[READY, lane] = flags[READY, lane] if ready else 0.0
            # The square is 1 where W is held as it is.
            large = abs(x) > LARGE and numbers[scale + lane] < 1.0
            flags[IS_LARGE, lane] = 1.0 if large else flags[IS_LARGE, lane]
    if not gd:
        _look_at_pivots(tile, d)
    for lane in range(LANES):
        doubtful = flags[DOUBTFUL, lane] != 0.0 and not tile.lost[lane]
        due = doubtful or flags[IS_LARGE, lane] + flags[HAS_NULL, lane] != 0.0
        due |= flags[FINITE, lane] != 0.0
        flags[DUE, lane] = 1.0 if due or (skip and flags[READY, lane] != 0.0) else 0.0


@compiled
def _look_at_pivots(tile: Tile, d: int) -> None:  # pragma: no cover
    """LDL^T in the order of the concepts as given.

    A pivot that is not clearly positive in one order is looked at again in descending order of a.
    """
    numbers, work, flags = tile.numbers, tile.work, tile.flags
    work[:] = numbers[: work.shape[0]]
    bar = PIVOT_ROUNDING * d
    for k in range(d):
        pivot = entry(d, k, k) * LANES
        for lane in range(LANES):
            clear = work[pivot + lane] > bar * abs(numbers[pivot + lane])
            flags[DOUBTFUL, lane] = flags[DOUBTFUL, lane] if clear else 1.0
        for i in range(k + 1, d):
            left = entry(d, k, i) * LANES
            for j in range(i, d):
                right, at = entry(d, k, j) * LANES, entry(d, i, j) * LANES
                for lane in range(LANES):
                    factor = work[left + lane] / work[pivot + lane]
                    work[at + lane] -= factor * work[right + lane]
