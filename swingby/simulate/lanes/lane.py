"""Compiled: one lane of a tile, as the state of a single run and back. Imports numba.

What is due in a lane is done by the code of a single run: jumps, and the projection of what
rounding makes of an absent component.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from swingby.simulate.compiling import compiled, compiled_inside
from swingby.simulate.jump_kernels import jump, renormalise
from swingby.simulate.jump_landing import scale_up
from swingby.simulate.kernels import LEARNED
from swingby.simulate.lanes.rows import Rows
from swingby.simulate.lanes.tile import Ends, Queue, Tile
from swingby.simulate.pivot_kernels import project_null
from swingby.simulate.state import (
    DIVERGED,
    EXECUTED,
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

#: Entries between two concepts are at rest below this.
REST = 2.0**-52


@compiled
def unpack(tile: Tile, at: Rows, lane: int, state: State) -> None:  # pragma: no cover
    """One lane as the state of a single run."""
    d = state.X.shape[0]
    numbers = tile.numbers
    row = at.X
    for i in range(d):
        state.exponent[i] = tile.exponent[i, lane]
        for j in range(i, d):
            state.X[i, j] = numbers[row * LANES + lane]
            state.X[j, i] = state.X[i, j]
            row += 1
        state.still[i] = state.X[i, i] == numbers[(at.past + i) * LANES + lane]
    for i in range(d):
        state.square[i] = scale_up(1.0, 2 * state.exponent[i])
        for j in range(d):
            state.weight[i, j] = scale_up(1.0, state.exponent[i] + state.exponent[j])
            # Peaks are not kept here: to a jump all entries are suppressed, and far below them.
            state.suppressed[i, j] = 0
            state.peak[i, j] = np.inf
    for place in (RECORDED, STARTED, EXECUTED):
        state.counters[place] = 0
    state.counters[DIVERGED] = -1
    state.counters[PSD_LOST] = -1 if numbers[at.lost * LANES + lane] == 0.0 else 0


@compiled
def pack(tile: Tile, at: Rows, lane: int, state: State, watched: bool) -> None:  # pragma: no cover
    """Put a state back into its lane."""
    d = state.X.shape[0]
    numbers = tile.numbers
    row = at.X
    for i in range(d):
        tile.exponent[i, lane] = state.exponent[i]
        square = scale_up(1.0, 2 * state.exponent[i])
        numbers[(at.square + i) * LANES + lane] = square
        numbers[(at.bar + i) * LANES + lane] = 0.5 / square
        if watched:
            numbers[(at.root + i) * LANES + lane] = scale_up(1.0, state.exponent[i])
        for j in range(i, d):
            numbers[row * LANES + lane] = state.X[i, j]
            row += 1


@compiled
def problem_of(queue: Queue, owner: int, model: Problem) -> Problem:  # pragma: no cover
    """The constants of one trajectory; `model` lends the arrays that all share."""
    d = model.sums.shape[0]
    for i in range(d):
        model.counted[i] = queue.signal[owner, i] > 0.0
        model.goal[i] = 0.0 if queue.goal[owner, i] == 0.0 else 1.0
        for j in range(d):
            model.sums[i, j] = queue.signal[owner, i] + queue.signal[owner, j]
    return Problem(
        queue.signal[owner],
        model.sums,
        queue.eta[owner],
        model.point,
        model.levels,
        model.goal,
        model.counted,
        queue.null[owner],
        queue.order[owner],
        queue.growth[queue.which[owner]],
    )


@compiled_inside
def entry(d: int, i: int, j: int) -> int:  # pragma: no cover
    """The number of entry (i, j), i <= j; see :func:`swingby.simulate.step_source.place`."""
    return i * d - i * (i - 1) // 2 + j - i


@compiled_inside
def load(
    tile: Tile, queue: Queue, at: Rows, lane: int, owner: int, most: int
) -> None:  # pragma: no cover
    """Put a trajectory of the queue into a lane, for at most `most` computed steps."""
    for row in range(at.loaded):
        tile.numbers[row * LANES + lane] = queue.numbers[owner, row]
    for k in range(queue.exponent.shape[1]):
        tile.exponent[k, lane] = queue.exponent[owner, k]
    tile.owner[lane] = owner
    tile.ahead[lane] = -tile.clock[0]
    tile.loaded[lane] = tile.clock[0]
    tile.end[lane] = tile.clock[0] + min(queue.stop[owner], most)


@compiled_inside
def clear(tile: Tile, at: Rows, lane: int) -> None:  # pragma: no cover
    """Let a lane stand at W = 0."""
    for row in range(at.end):
        tile.numbers[row * LANES + lane] = 0.0
    for k in range(tile.exponent.shape[0]):
        tile.exponent[k, lane] = 0
    tile.end[lane] = np.iinfo(np.int64).max


@compiled_inside
def release(tile: Tile, ends: Ends, at: Rows, lane: int, watched: bool) -> None:  # pragma: no cover
    """Keep the end of a lane's trajectory; the lane is free."""
    owner = tile.owner[lane]
    numbers = tile.numbers
    row = at.X
    d = ends.W.shape[1]
    for i in range(d):
        if numbers[(at.below + i) * LANES + lane] == 0.0:
            ends.half_times[owner, i] = numbers[(at.waited + i) * LANES + lane] + 1.0
        for j in range(i, d):
            value = numbers[row * LANES + lane]
            shift = tile.exponent[i, lane] + tile.exponent[j, lane]
            if shift != 0:
                value = math.ldexp(value, max(shift, -3000))
            ends.W[owner, i, j] = value
            ends.W[owner, j, i] = value
            row += 1
    ends.last_step[owner] = tile.clock[0] + tile.ahead[lane]
    ends.executed[owner] = tile.clock[0] - tile.loaded[lane]
    ends.lost[owner] = numbers[at.lost * LANES + lane] != 0.0
    if watched:
        ends.descents[owner] = int(numbers[at.descents * LANES + lane])
        ends.transient[owner] = numbers[at.transient * LANES + lane]
    tile.owner[lane] = -1


@compiled
def project(
    tile: Tile,
    queue: Queue,
    at: Rows,
    lane: int,
    state: State,
    model: Problem,
    work: Floats,
    watched: bool,
) -> None:  # pragma: no cover
    """Put the pivots of concepts that W(0) lacks back to zero."""
    unpack(tile, at, lane, state)
    project_null(problem_of(queue, tile.owner[lane], model), state, work)
    pack(tile, at, lane, state, watched)


@compiled
def leap(
    tile: Tile,
    queue: Queue,
    at: Rows,
    lane: int,
    most: int,
    gd: bool,
    rest: bool,
    skip: bool,
    watched: bool,
    state: State,
    model: Problem,
    record: Record,
    work: Floats,
    grain: int,
) -> None:  # pragma: no cover
    """Move factors of two to m, and jump over what is linear to rounding as far as it goes."""
    d = state.X.shape[0]
    problem = problem_of(queue, tile.owner[lane], model)
    unpack(tile, at, lane, state)
    stop_at = queue.stop[tile.owner[lane]]
    state.counters[STEP] = tile.clock[0] + tile.ahead[lane]
    total = 0
    while state.counters[STEP] < stop_at:
        renormalise(state)
        n = jump(problem, state, record, gd, stop_at, work, grain, rest) if skip else 0
        if n == 0:
            break
        total += n
    tile.ahead[lane] += total
    tile.end[lane] = min(stop_at - tile.ahead[lane], tile.loaded[lane] + most)
    for k in range(d):
        below = tile.numbers[(at.below + k) * LANES + lane]
        tile.numbers[(at.waited + k) * LANES + lane] += below * float(total)
        if total > 0:
            tile.numbers[(at.past + k) * LANES + lane] = np.nan
    pack(tile, at, lane, state, watched)
    if watched:
        # Entries move monotonically in a jump, so its end is enough.
        largest = at.transient * LANES + lane
        for i in range(d):
            for j in range(i + 1, d):
                size = scale_up(abs(state.X[i, j]), state.exponent[i] + state.exponent[j])
                tile.numbers[largest] = max(tile.numbers[largest], size)


@compiled
def at_rest(tile: Tile, queue: Queue, at: Rows, lane: int) -> bool:  # pragma: no cover
    """Whether a lane in which nothing moves any more is where it tends to."""
    goal = queue.goal[tile.owner[lane]]
    numbers = tile.numbers
    d = goal.shape[0]
    row = at.X
    for i in range(d):
        for j in range(i, d):
            if not (math.isnan(goal[i]) or math.isnan(goal[j])):
                shift = tile.exponent[i, lane] + tile.exponent[j, lane]
                value = math.ldexp(numbers[row * LANES + lane], max(shift, -3000))
                aim = goal[i] if i == j else 0.0
                if abs(value - aim) > (LEARNED if i == j else REST):
                    return False
            row += 1
    return True


@compiled
def diverge(
    steps: Any, tile: Tile, ends: Ends, at: Rows, lane: int, count: int, d: int
) -> None:  # pragma: no cover
    """Take the `count` steps of a block again, up to the last finite one, where the lane ends.

    The lane is alone in a tile, so nothing else is computed twice to any effect.
    """
    scratch = tile.scratch
    scratch[:] = 0.0
    for row in range(at.loaded):
        source = tile.start if row < at.changing else tile.numbers
        scratch[row * LANES] = source[row * LANES + lane]
    entries = d * (d + 1) // 2
    taken = 0
    while taken < count:
        for row in range(at.changing):
            tile.numbers[row * LANES + lane] = scratch[row * LANES]
        steps(scratch, 1)
        finite = 0.0
        for row in range(entries):
            finite += scratch[row * LANES] * 0.0
        if finite != 0.0:
            break
        taken += 1
    tile.ahead[lane] -= count - taken
    tile.loaded[lane] += count - taken
    ends.diverged[tile.owner[lane]] = tile.clock[0] + tile.ahead[lane] + 1
