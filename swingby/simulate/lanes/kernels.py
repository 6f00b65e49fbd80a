"""Compiled: a tile of trajectories until the queue is empty. Imports numba, so import it late.

Steps are taken in blocks. Between two blocks lanes are looked at together, row by row; a lane in
which something is due (a jump, an end, an overflow, a doubtful pivot) is unpacked and treated by
the same code as a single run.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from swingby.simulate.compiling import compiled
from swingby.simulate.jump_kernels import LEARNED, jump, renormalise, scale_up
from swingby.simulate.kernels import advance
from swingby.simulate.lanes.tile import Ends, Queue, Tile
from swingby.simulate.observation_kernels import (
    PIVOT_ROUNDING,
    find_negative_pivot,
    project_null,
)
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

#: What `run_tile` returns.
FINISHED, BUDGET_SPENT = 0, 1
#: Rows of Tile.flags: 0 or nan; the others 1 or 0.
_FINITE, _READY, _DOUBTFUL, _LARGE, _NULL, _DUE = range(6)
#: x_kk from which on factors of two go to m_k.
LARGE = 2.0**200
#: |w_kk| at which a lane may jump; see jump_kernels.
_TINY = 1e-17


@compiled
def _unpack(
    tile: Tile, numbers: Floats, lane: int, state: State, problem: Problem
) -> None:  # pragma: no cover
    """One lane as the state of a single run; `numbers` is the tile's, now or when it began."""
    d = state.X.shape[0]
    row = 0
    for i in range(d):
        state.exponent[i] = tile.exponent[i, lane]
        state.still[i] = numbers[_entry(d, i, i) * LANES + lane] == tile.past[i, lane]
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
def _pack(tile: Tile, lane: int, state: State) -> None:  # pragma: no cover
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
def _entry(d: int, i: int, j: int) -> int:  # pragma: no cover
    """The number of entry (i, j), i <= j."""
    return i * d - i * (i - 1) // 2 + j - i


@compiled
def _problem(queue: Queue, owner: int, model: Problem) -> Problem:  # pragma: no cover
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
def _load(
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
    tile.flags[_NULL, lane] = 1.0 if any_null else 0.0
    if any_null:
        project_null(_problem(queue, owner, model), state, work)
    if not gd:
        tile.lost[lane] = find_negative_pivot(state.X, queue.order[owner], work) >= 0
    _pack(tile, lane, state)
    for k in range(d):
        tile.past[k, lane] = np.nan
        tile.numbers[(entries + k) * LANES + lane] = queue.eta[owner] * queue.signal[owner, k]
        reached = state.X[k, k] >= tile.numbers[(entries + 2 * d + k) * LANES + lane]
        tile.numbers[(entries + 3 * d + k) * LANES + lane] = 0.0 if reached else 1.0
        tile.numbers[(entries + 4 * d + k) * LANES + lane] = -1.0 if reached else 0.0


@compiled
def _release(tile: Tile, ends: Ends, lane: int, d: int, stop_at: int) -> None:  # pragma: no cover
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
def _leap(
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
    problem = _problem(queue, tile.owner[lane], model)
    _unpack(tile, tile.numbers, lane, state, problem)
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
    _pack(tile, lane, state)


@compiled
def _diverge(
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
    problem = _problem(queue, owner, model)
    _unpack(tile, tile.start, lane, state, problem)
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
            reached = state.level_steps[1, k]
            if reached >= 0:
                tile.numbers[at - d * LANES] = 0.0
                tile.numbers[at] = float(reached - 1)
            else:
                tile.numbers[at] = float(state.counters[STEP])
    _pack(tile, lane, state)
    tile.left[lane] = stop_at - state.counters[STEP]
    tile.executed[lane] += state.counters[STEP] - first - count
    tile.lost[lane] = state.counters[PSD_LOST] >= 0
    if code == 3:  # not finite
        ends.diverged[owner] = state.counters[STEP] + 1
        return True
    return False


@compiled
def _look(tile: Tile, d: int, gd: bool, skip: bool) -> None:  # pragma: no cover
    """Fill Tile.flags, all lanes together: what is due in each."""
    numbers, flags = tile.numbers, tile.flags
    entries = d * (d + 1) // 2
    for lane in range(LANES):
        flags[_FINITE, lane] = 0.0
        flags[_READY, lane] = 1.0
        flags[_DOUBTFUL, lane] = 0.0
        flags[_LARGE, lane] = 0.0
    for row in range(entries):
        at = row * LANES
        for lane in range(LANES):
            # 0 for a finite number, nan for any other.
            flags[_FINITE, lane] += numbers[at + lane] * 0.0
    for k in range(d):
        at, scale = _entry(d, k, k) * LANES, (entries + d + k) * LANES
        for lane in range(LANES):
            x = numbers[at + lane]
            w = x * numbers[scale + lane]
            learned = abs(w - 1.0) < LEARNED and x == tile.past[k, lane]
            ready = learned or abs(w) <= _TINY
            flags[_READY, lane] = flags[_READY, lane] if ready else 0.0
            # The square is 1 where W is held as it is.
            large = abs(x) > LARGE and numbers[scale + lane] < 1.0
            flags[_LARGE, lane] = 1.0 if large else flags[_LARGE, lane]
    if not gd:
        _look_at_pivots(tile, d)
    for lane in range(LANES):
        doubtful = flags[_DOUBTFUL, lane] != 0.0 and not tile.lost[lane]
        due = doubtful or flags[_LARGE, lane] + flags[_NULL, lane] != 0.0
        due |= flags[_FINITE, lane] != 0.0
        flags[_DUE, lane] = 1.0 if due or (skip and flags[_READY, lane] != 0.0) else 0.0


@compiled
def _look_at_pivots(tile: Tile, d: int) -> None:  # pragma: no cover
    """LDL^T in the order of the concepts as given.

    A pivot that is not clearly positive in one order is looked at again in descending order of a.
    """
    numbers, work, flags = tile.numbers, tile.work, tile.flags
    work[:] = numbers[: work.shape[0]]
    bar = PIVOT_ROUNDING * d
    for k in range(d):
        pivot = _entry(d, k, k) * LANES
        for lane in range(LANES):
            clear = work[pivot + lane] > bar * abs(numbers[pivot + lane])
            flags[_DOUBTFUL, lane] = flags[_DOUBTFUL, lane] if clear else 1.0
        for i in range(k + 1, d):
            left = _entry(d, k, i) * LANES
            for j in range(i, d):
                right, at = _entry(d, k, j) * LANES, _entry(d, i, j) * LANES
                for lane in range(LANES):
                    factor = work[left + lane] / work[pivot + lane]
                    work[at + lane] -= factor * work[right + lane]


@compiled
def run_tile(
    plain: Any,
    scaled: Any,
    single: Any,
    single_scaled: Any,
    tile: Tile,
    queue: Queue,
    ends: Ends,
    gd: bool,
    stop_at: int,
    skip: bool,
    budget: int,
    state: State,
    model: Problem,
    record: Record,
    work: Floats,
    block: int,
) -> int:  # pragma: no cover
    """Run trajectories of the queue until all have ended, or for about `budget` steps a lane.

    Call it again to go on; the tile keeps what is under way. `plain` and `scaled` are the
    compiled steps of lanes, `single` and `single_scaled` those of a run alone; `state`, `model`,
    `record` and `work` are scratch of such a run; `block`: steps between two looks.

    All lanes are whole blocks away from their own step 0 whenever a block begins: that is when a
    lane is looked at, whatever its neighbours do. Those that end within a block all end at the
    same place in it.
    """
    d = state.X.shape[0]
    spent = 0
    while True:
        active, ending, any_scaled = 0, False, False
        for lane in range(LANES):
            while True:
                if tile.owner[lane] < 0:
                    if queue.taken[0] >= queue.eta.shape[0]:
                        break
                    owner = queue.taken[0]
                    queue.taken[0] += 1
                    _load(tile, queue, lane, owner, stop_at, gd, state, model, work)
                    if skip:
                        _leap(tile, queue, lane, stop_at, gd, state, model, record, work, block)
                if tile.left[lane] > 0:
                    break
                _release(tile, ends, lane, d, stop_at)
            if tile.owner[lane] >= 0:
                active += 1
                ending |= tile.left[lane] <= block
                for k in range(d):
                    any_scaled |= tile.exponent[k, lane] != 0
        if active == 0:
            return FINISHED
        if spent >= budget:
            return BUDGET_SPENT
        spent += block
        tile.start[:] = tile.numbers
        steps = scaled if any_scaled else plain
        taken = 0
        if ending and stop_at % block != 0:
            taken = stop_at % block
            _advance(steps, tile, taken)
            _look(tile, d, gd, skip)
            for lane in range(LANES):
                if tile.owner[lane] >= 0 and tile.left[lane] == 0:
                    _treat(
                        single,
                        single_scaled,
                        tile,
                        queue,
                        ends,
                        lane,
                        taken,
                        stop_at,
                        gd,
                        skip,
                        state,
                        model,
                        record,
                        work,
                        block,
                    )
                    if tile.owner[lane] >= 0:
                        _release(tile, ends, lane, d, stop_at)
        _advance(steps, tile, block - taken)
        _look(tile, d, gd, skip)
        for lane in range(LANES):
            if tile.owner[lane] >= 0 and tile.flags[_DUE, lane] != 0.0:
                _treat(
                    single,
                    single_scaled,
                    tile,
                    queue,
                    ends,
                    lane,
                    block,
                    stop_at,
                    gd,
                    skip,
                    state,
                    model,
                    record,
                    work,
                    block,
                )


@compiled
def _advance(steps: Any, tile: Tile, count: int) -> None:  # pragma: no cover
    """Take steps, and keep x_kk as it is before the last one."""
    d = tile.past.shape[0]
    if count > 1:
        steps(tile.numbers, count - 1)
    for k in range(d):
        at = _entry(d, k, k) * LANES
        for lane in range(LANES):
            tile.past[k, lane] = tile.numbers[at + lane]
    steps(tile.numbers, 1)
    for lane in range(LANES):
        tile.left[lane] -= count
        tile.executed[lane] += count


@compiled
def _treat(
    single: Any,
    single_scaled: Any,
    tile: Tile,
    queue: Queue,
    ends: Ends,
    lane: int,
    count: int,
    stop_at: int,
    gd: bool,
    skip: bool,
    state: State,
    model: Problem,
    record: Record,
    work: Floats,
    block: int,
) -> None:  # pragma: no cover
    """Do what is due in a lane after `count` steps of a block."""
    d = state.X.shape[0]
    owner = tile.owner[lane]
    if tile.flags[_FINITE, lane] != 0.0:
        if _diverge(
            single, single_scaled, tile, queue, ends, lane, count, stop_at, gd, state, model, record
        ):
            _release(tile, ends, lane, d, stop_at)
        return
    if tile.flags[_DOUBTFUL, lane] != 0.0 and not tile.lost[lane]:
        _unpack(tile, tile.numbers, lane, state, _problem(queue, owner, model))
        tile.lost[lane] = find_negative_pivot(state.X, queue.order[owner], work) >= 0
    if tile.flags[_NULL, lane] != 0.0:
        problem = _problem(queue, owner, model)
        _unpack(tile, tile.numbers, lane, state, problem)
        project_null(problem, state, work)
        _pack(tile, lane, state)
    large, ready = tile.flags[_LARGE, lane] != 0.0, tile.flags[_READY, lane] != 0.0
    if tile.left[lane] > 0 and (large or (skip and ready)):
        _leap(tile, queue, lane, stop_at, gd, state, model, record, work, block)
