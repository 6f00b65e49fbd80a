"""Compiled: a tile of trajectories until the queue is empty. Imports numba, so import it late.

Steps are taken in blocks. Between two blocks lanes are looked at together, row by row; a lane in
which something is due (a jump, an end, an overflow, a doubtful pivot) is unpacked and treated by
the same code as a single run.
"""

from __future__ import annotations

from typing import Any

from swingby.simulate.compiling import compiled
from swingby.simulate.lanes.lane import (
    diverge,
    entry,
    leap,
    load,
    pack,
    problem_of,
    release,
    unpack,
)
from swingby.simulate.lanes.look import look
from swingby.simulate.lanes.tile import (
    DOUBTFUL,
    DUE,
    FINITE,
    HAS_NULL,
    IS_LARGE,
    READY,
    Ends,
    Queue,
    Tile,
)
from swingby.simulate.pivot_kernels import find_negative_pivot, project_null
from swingby.simulate.state import Floats, Problem, Record, State
from swingby.simulate.step_source import LANES

#: What `run_tile` returns.
FINISHED, BUDGET_SPENT = 0, 1


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
                    load(tile, queue, lane, owner, stop_at, gd, state, model, work)
                    if skip:
                        leap(tile, queue, lane, stop_at, gd, state, model, record, work, block)
                if tile.left[lane] > 0:
                    break
                release(tile, ends, lane, d, stop_at)
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
            look(tile, d, gd, skip)
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
                        release(tile, ends, lane, d, stop_at)
        _advance(steps, tile, block - taken)
        look(tile, d, gd, skip)
        for lane in range(LANES):
            if tile.owner[lane] >= 0 and tile.flags[DUE, lane] != 0.0:
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
        at = entry(d, k, k) * LANES
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
    if tile.flags[FINITE, lane] != 0.0:
        if diverge(
            single, single_scaled, tile, queue, ends, lane, count, stop_at, gd, state, model, record
        ):
            release(tile, ends, lane, d, stop_at)
        return
    if tile.flags[DOUBTFUL, lane] != 0.0 and not tile.lost[lane]:
        unpack(tile, tile.numbers, lane, state, problem_of(queue, owner, model))
        tile.lost[lane] = find_negative_pivot(state.X, queue.order[owner], work) >= 0
    if tile.flags[HAS_NULL, lane] != 0.0:
        problem = problem_of(queue, owner, model)
        unpack(tile, tile.numbers, lane, state, problem)
        project_null(problem, state, work)
        pack(tile, lane, state)
    large, ready = tile.flags[IS_LARGE, lane] != 0.0, tile.flags[READY, lane] != 0.0
    if tile.left[lane] > 0 and (large or (skip and ready)):
        leap(tile, queue, lane, stop_at, gd, state, model, record, work, block)
