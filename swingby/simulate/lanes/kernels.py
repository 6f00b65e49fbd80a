"""Compiled: a tile of trajectories until the queue is empty. Imports numba, so import it late.

Steps are taken in blocks. Between two blocks lanes are looked at together, row by row; a lane in
which something is due (a jump, an end, an overflow, a doubtful pivot) is unpacked and treated by
the same code as a single run.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from swingby.simulate.compiling import compiled, compiled_inside
from swingby.simulate.lanes.lane import (
    at_rest,
    clear,
    diverge,
    entry,
    leap,
    load,
    project,
    release,
    unpack,
)
from swingby.simulate.lanes.rows import Rows
from swingby.simulate.lanes.tile import Ends, Queue, Tile
from swingby.simulate.pivot_kernels import find_negative_pivot
from swingby.simulate.state import Floats, Problem, Record, State
from swingby.simulate.step_source import LANES

#: What `run_tile` returns.
FINISHED, BUDGET_SPENT = 0, 1


@compiled
def run_tile(
    plain: Any,
    scaled: Any,
    look: Any,
    tile: Tile,
    queue: Queue,
    ends: Ends,
    at: Rows,
    gd: bool,
    watched: bool,
    tail: int,
    most: int,
    rest: bool,
    skip: bool,
    budget: int,
    state: State,
    model: Problem,
    record: Record,
    work: Floats,
    block: int,
) -> int:  # pragma: no cover
    """Run trajectories of the queue until all have ended, or for about `budget` steps a lane.

    Call it again to go on; the tile keeps what is under way. `plain`, `scaled` and `look` are the
    compiled texts of :mod:`swingby.simulate.lanes.source`; `tail`: steps of every trajectory
    after its last whole block; `most`: computed steps of each; `rest`: end those that are at
    rest; `state`, `model`, `record` and `work` are scratch of a run alone; `block`: steps between
    two looks.

    All lanes are whole blocks away from their own step 0 whenever a block begins: that is when a
    lane is looked at, whatever its neighbours do. Those that end within a block all end at the
    same place in it.
    """
    d = state.X.shape[0]
    numbers = tile.numbers
    spent, changed = 0, True
    active, first_end, steps = 0, 0, plain
    while True:
        if changed:
            changed = False
            active, any_scaled = 0, False
            first_end = np.iinfo(np.int64).max
            for lane in range(LANES):
                while tile.end[lane] <= tile.clock[0] or tile.owner[lane] < 0:
                    if tile.owner[lane] >= 0:
                        release(tile, ends, at, lane, watched)
                    if queue.taken[0] >= queue.members.shape[0]:
                        clear(tile, at, lane)
                        break
                    owner = queue.members[queue.taken[0]]
                    queue.taken[0] += 1
                    load(tile, queue, at, lane, owner, most)
                    if numbers[at.null * LANES + lane] != 0.0:
                        project(tile, queue, at, lane, state, model, work, watched)
                    if skip and _may_jump(tile, at, lane, d):
                        leap(
                            tile,
                            queue,
                            at,
                            lane,
                            most,
                            gd,
                            rest,
                            skip,
                            watched,
                            state,
                            model,
                            record,
                            work,
                            block,
                        )
                if tile.owner[lane] >= 0:
                    active += 1
                    first_end = min(first_end, tile.end[lane])
                    for k in range(d):
                        any_scaled |= tile.exponent[k, lane] != 0
            steps = scaled if any_scaled else plain
        if active == 0:
            return FINISHED
        if spent >= budget:
            return BUDGET_SPENT
        spent += block
        changed = first_end - tile.clock[0] <= block
        for row in range(at.changing * LANES):
            tile.start[row] = numbers[row]
        taken = 0
        if changed and tail != 0:
            taken = tail
            _advance(steps, tile, at, taken, d)
            look(numbers, 0.0, 0.0)
            others = False
            for lane in range(LANES):
                if tile.end[lane] == tile.clock[0]:
                    if numbers[at.due * LANES + lane] != 0.0:
                        _treat(
                            steps,
                            tile,
                            queue,
                            ends,
                            at,
                            lane,
                            taken,
                            most,
                            gd,
                            rest,
                            False,
                            watched,
                            state,
                            model,
                            record,
                            work,
                            block,
                        )
                    release(tile, ends, at, lane, watched)
                    clear(tile, at, lane)
                others |= tile.owner[lane] >= 0
            if not others:
                continue
        _advance(steps, tile, at, block - taken, d)
        look(numbers, 1.0 if skip else 0.0, 1.0 if rest else 0.0)
        for lane in range(LANES):
            if numbers[at.due * LANES + lane] != 0.0 and tile.owner[lane] >= 0:
                changed = True
                owner = tile.owner[lane]
                _treat(
                    steps,
                    tile,
                    queue,
                    ends,
                    at,
                    lane,
                    block,
                    most,
                    gd,
                    rest,
                    skip,
                    watched,
                    state,
                    model,
                    record,
                    work,
                    block,
                )
                if ends.diverged[owner] >= 0:
                    release(tile, ends, at, lane, watched)
                    clear(tile, at, lane)


@compiled_inside
def _may_jump(tile: Tile, at: Rows, lane: int, d: int) -> bool:  # pragma: no cover
    """Whether W(0) is so small that a jump is worth an attempt."""
    for k in range(d):
        value = tile.numbers[entry(d, k, k) * LANES + lane]
        if abs(value * tile.numbers[(at.square + k) * LANES + lane]) > 1e-6:
            return False
    return True


@compiled_inside
def _advance(steps: Any, tile: Tile, at: Rows, count: int, d: int) -> None:  # pragma: no cover
    """Take steps, and keep x_kk as it is before the last one."""
    numbers = tile.numbers
    if count > 1:
        steps(numbers, count - 1)
    for k in range(d):
        source, past = entry(d, k, k) * LANES, (at.past + k) * LANES
        for lane in range(LANES):
            numbers[past + lane] = numbers[source + lane]
    steps(numbers, 1)
    tile.clock[0] += count


@compiled
def _treat(
    steps: Any,
    tile: Tile,
    queue: Queue,
    ends: Ends,
    at: Rows,
    lane: int,
    count: int,
    most: int,
    gd: bool,
    rest: bool,
    skip: bool,
    watched: bool,
    state: State,
    model: Problem,
    record: Record,
    work: Floats,
    block: int,
) -> None:  # pragma: no cover
    """Do what is due in a lane after `count` steps of a block."""
    numbers = tile.numbers
    if numbers[at.infinite * LANES + lane] != 0.0:
        diverge(steps, tile, ends, at, lane, count, state.X.shape[0])
        return
    if numbers[at.doubtful * LANES + lane] != 0.0:
        unpack(tile, at, lane, state)
        if find_negative_pivot(state.X, queue.order[tile.owner[lane]], work) >= 0:
            numbers[at.lost * LANES + lane] = 1.0
    if numbers[at.null * LANES + lane] != 0.0:
        project(tile, queue, at, lane, state, model, work, watched)
    large = numbers[at.large * LANES + lane] != 0.0
    ready = numbers[at.ready * LANES + lane] != 0.0
    settled = numbers[at.settled * LANES + lane] != 0.0
    if rest and settled and at_rest(tile, queue, at, lane):
        tile.end[lane] = tile.clock[0]
        return
    ready = ready and skip
    if tile.end[lane] > tile.clock[0] and (large or ready):
        leap(
            tile, queue, at, lane, most, gd, rest, skip, watched, state, model, record, work, block
        )
