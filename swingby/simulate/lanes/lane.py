"""Compiled: one lane of a tile, as the state of a single run and back. Imports numba.

What is due in a lane is done by the code of a single run: jumps, the projection of what rounding
makes of an absent component, the last finite step of a run that leaves the float range.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from swingby.simulate.compiling import compiled
from swingby.simulate.jump_kernels import jump, renormalise, scale_up
from swingby.simulate.kernels import NOT_FINITE, advance
from swingby.simulate.lanes.tile import HAS_NULL, Ends, Queue, Tile
from swingby.simulate.pivot_kernels import find_negative_pivot, project_null
from swingby.simulate.state import (
    DIVERGED,
    EXECUTED,
    LEVELS,
    PSD_LOST,
    RECORDED,
    STARTED,
    STEP,
    Floats,
    Problem,
    Record,
    State,
)
from swingby.simulate.step_source import LANES

_HALF = LEVELS.index(0.5)


@compiled
def unpack(
    tile: Tile, numbers: Floats, lane: int, state: State, problem: Problem
) -> None:  # pragma: no cover
    """One lane as the state of a single run; `numbers` is the tile's, now or when it began."""
    d = state.X.shape[0]
    row = 0
    for i in range(d):
        state.exponent[i] = tile.exponent[i, lane]
        state.still[i] = numbers[entry(d, i, i) * LANES + lane] == tile.past[i, lane]
        for j in range(i, d):
            state.X[i, j] = numbers[row * LANES + lane]
            state.X[j, i] = state.X[i, j]
            row += 1
    for i in range(d):
        state.square[i] = scale_up(1.0, 2 * state.exponent[i])
        for j in range(d):
            state.weight[i, j] = scale_up(1.0, state.exponent[i] + state.exponent[j])
            # Peaks are not kept here: to a jump all entries count as suppressed.
            state.suppressed[i, j] = 0
            state.peak[i, j] = 0.0
            problem.sums[i, j] = problem.signal[i] + problem.signal[j]
    for place in (RECORDED, STARTED, EXECUTED):
        state.counters[place] = 0
    state.counters[DIVERGED] = -1
    state.counters[PSD_LOST] = 0 if tile.lost[lane] else -1


@compiled
def pack(tile: Tile, lane: int, state: State) -> None:  # pragma: no cover
    """Put a state back into its lane."""
    d = state.X.shape[0]
    entries = d * (d + 1) // 2
    row = 0
    for i in range(d):
        tile.exponent[i, lane] = state.exponent[i]
        square = scale_up(1.0, 2 * state.exponent[i])
        tile.numbers[(entries + d + i) * LANES + lane] = square
        tile.numbers[(entries + 2 * d + i) * LANES + lane] = 0.5 / square
        for j in range(i, d):
            tile.numbers[row * LANES + lane] = state.X[i, j]
            row += 1


@compiled
def entry(d: int, i: int, j: int) -> int:  # pragma: no cover
    """The number of entry (i, j), i <= j."""
    return i * d - i * (i - 1) // 2 + j - i


@compiled
def problem_of(queue: Queue, owner: int, model: Problem) -> Problem:  # pragma: no cover
    """The constants of one trajectory; `model` lends the arrays that all share."""
    return Problem(
        queue.signal[owner],
        model.sums,
        queue.eta[owner],
        model.point,
        model.levels,
        model.goal,
        queue.counted[owner],
        queue.null[owner],
        queue.order[owner],
        queue.growth[queue.which[owner]],
    )


@compiled
def load(
    tile: Tile,
    queue: Queue,
    lane: int,
    owner: int,
    stop_at: int,
    gd: bool,
    state: State,
    model: Problem,
    work: Floats,
) -> None:  # pragma: no cover
    """Put a trajectory of the queue into a lane."""
    d = state.X.shape[0]
    entries = d * (d + 1) // 2
    for i in range(d):
        state.exponent[i] = queue.exponent[owner, i]
        for j in range(d):
            state.X[i, j] = queue.X[owner, i, j]
    tile.owner[lane] = owner
    tile.left[lane] = stop_at
    tile.executed[lane] = 0
    tile.lost[lane] = False
    any_null = gd and queue.null[owner].any()
    tile.flags[HAS_NULL, lane] = 1.0 if any_null else 0.0
    if any_null:
        project_null(problem_of(queue, owner, model), state, work)
    if not gd:
        tile.lost[lane] = find_negative_pivot(state.X, queue.order[owner], work) >= 0
    pack(tile, lane, state)
    for k in range(d):
        tile.past[k, lane] = np.nan
        tile.numbers[(entries + k) * LANES + lane] = queue.eta[owner] * queue.signal[owner, k]
        reached = state.X[k, k] >= tile.numbers[(entries + 2 * d + k) * LANES + lane]
        tile.numbers[(entries + 3 * d + k) * LANES + lane] = 0.0 if reached else 1.0
        tile.numbers[(entries + 4 * d + k) * LANES + lane] = -1.0 if reached else 0.0


@compiled
def release(tile: Tile, ends: Ends, lane: int, d: int, stop_at: int) -> None:  # pragma: no cover
    """Keep the end of a lane's trajectory and let the lane stand at W = 0."""
    owner = tile.owner[lane]
    entries = d * (d + 1) // 2
    row = 0
    for i in range(d):
        if tile.numbers[(entries + 3 * d + i) * LANES + lane] == 0.0:
            waited = tile.numbers[(entries + 4 * d + i) * LANES + lane]
            ends.half_times[owner, i] = int(waited) + 1
        for j in range(i, d):
            shift = max(tile.exponent[i, lane] + tile.exponent[j, lane], -3000)
            ends.W[owner, i, j] = math.ldexp(tile.numbers[row * LANES + lane], shift)
            ends.W[owner, j, i] = ends.W[owner, i, j]
            row += 1
    ends.last_step[owner] = stop_at - tile.left[lane]
    ends.executed[owner] = tile.executed[lane]
    ends.lost[owner] = tile.lost[lane]
    tile.owner[lane] = -1
    for row in range(entries + 5 * d):
        tile.numbers[row * LANES + lane] = 0.0
    for k in range(d):
        tile.exponent[k, lane] = 0


@compiled
def leap(
    tile: Tile,
    queue: Queue,
    lane: int,
    stop_at: int,
    gd: bool,
    state: State,
    model: Problem,
    record: Record,
    work: Floats,
    grain: int,
) -> None:  # pragma: no cover
    """Jump over what is linear to rounding, as far and as often as it goes."""
    d = state.X.shape[0]
    entries = d * (d + 1) // 2
    problem = problem_of(queue, tile.owner[lane], model)
    unpack(tile, tile.numbers, lane, state, problem)
    state.counters[STEP] = stop_at - tile.left[lane]
    total = 0
    while state.counters[STEP] < stop_at:
        renormalise(state)
        n = jump(problem, state, record, gd, stop_at, work, grain)
        if n == 0:
            break
        total += n
    tile.left[lane] -= total
    for k in range(d):
        below = tile.numbers[(entries + 3 * d + k) * LANES + lane]
        tile.numbers[(entries + 4 * d + k) * LANES + lane] += below * float(total)
        if total > 0:
            tile.past[k, lane] = np.nan
    pack(tile, lane, state)


@compiled
def diverge(
    single: Any,
    single_scaled: Any,
    tile: Tile,
    queue: Queue,
    ends: Ends,
    lane: int,
    count: int,
    stop_at: int,
    gd: bool,
    state: State,
    model: Problem,
    record: Record,
) -> bool:  # pragma: no cover
    """Take the block again, alone, up to the last finite step; whether it ends there."""
    d = state.X.shape[0]
    entries = d * (d + 1) // 2
    owner = tile.owner[lane]
    problem = problem_of(queue, owner, model)
    unpack(tile, tile.start, lane, state, problem)
    first = stop_at - tile.left[lane] - count
    state.counters[STEP] = first
    state.counters[STARTED] = 1
    state.level_steps[:] = -1
    code = advance(
        single, single_scaled, problem, state, record, gd, first + count, count, False, False
    )
    for k in range(d):
        at = (entries + 3 * d + k) * LANES + lane
        tile.numbers[at] = tile.start[at]
        at += d * LANES
        tile.numbers[at] = tile.start[at]
        if tile.start[at - d * LANES] != 0.0:
            reached = state.level_steps[_HALF, k]
            if reached >= 0:
                tile.numbers[at - d * LANES] = 0.0
                tile.numbers[at] = float(reached - 1)
            else:
                tile.numbers[at] = float(state.counters[STEP])
    pack(tile, lane, state)
    tile.left[lane] = stop_at - state.counters[STEP]
    tile.executed[lane] += state.counters[STEP] - first - count
    tile.lost[lane] = state.counters[PSD_LOST] >= 0
    if code == NOT_FINITE:
        ends.diverged[owner] = state.counters[STEP] + 1
        return True
    return False
