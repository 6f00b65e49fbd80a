"""Compiled: what is looked at after every step. Imports numba, so import it late.

Events are found inside the loop, at whole steps, whatever is recorded.
"""

from __future__ import annotations

import numpy as np

from swingby.simulate.compiling import compiled, compiled_inside
from swingby.simulate.loss_kernels import Extrema, losses, watch_losses
from swingby.simulate.state import (
    END,
    EXCEEDED,
    RECORDED,
    STEP,
    Booleans,
    Floats,
    Integers,
    Problem,
    Record,
    State,
)
from swingby.simulate.vectors import (
    WIDTH,
    absolute,
    any_above,
    count_above,
    larger,
    largest,
    load,
    smaller,
    smallest,
    spread,
    spread_at,
    store,
    until,
)


@compiled
def fill_up(block: Floats, count: int) -> int:  # pragma: no cover
    """Repeat the last of `count` steps until vectors are full; how many steps that makes.

    A step that is seen once more changes no event.
    """
    d, length = block.shape[0], block.shape[2]
    end = (count + WIDTH - 1) // WIDTH * WIDTH
    if end > count:
        for i in range(d):
            for j in range(i, d):
                first = (i * d + j) * length
                last = first + end - WIDTH
                number = spread_at(block, first + count - 1)
                store(block, last, until(count - (end - WIDTH), load(block, last), number))
    return end


@compiled
def _last_beyond(
    block: Floats, i: int, j: int, count: int, latest: int, goal: float, scale: float
) -> int:  # pragma: no cover
    """The last step after `latest` with an entry further than END from its goal, or `latest`."""
    for n in range(count - 1, latest, -1):
        if not abs(block[i, j, n] * scale - goal) <= END:
            return n
    return latest


@compiled
def _watch_entry(
    peak: Floats,
    peak_step: Integers,
    suppressed: Integers,
    block: Floats,
    i: int,
    j: int,
    count: int,
    before: int,
    highest: float,
) -> None:  # pragma: no cover
    """Peak and suppression of one entry off the diagonal; `highest` is its largest size."""
    length = block.shape[2]
    best = abs(peak[i, j])
    first = 0
    if highest > best:
        start = (i * block.shape[0] + j) * length
        below = WIDTH
        while below == WIDTH:
            below = count_above(spread(highest), absolute(load(block, start + first)))
            first += below
        best = highest
        peak[i, j] = block[i, j, first]
        peak_step[i, j] = before + 1 + first
        suppressed[i, j] = -1
        first += 1
    if suppressed[i, j] < 0 and best > 0.0:
        for n in range(first, count):
            if abs(block[i, j, n]) <= 0.5 * best:
                suppressed[i, j] = before + 1 + n
                break


@compiled
def _watch_diagonal(
    weight: Floats,
    counted: Booleans,
    levels: Floats,
    level_steps: Integers,
    block: Floats,
    count: int,
    end: int,
    before: int,
) -> tuple[int, float]:  # pragma: no cover
    """Levels; the last step that is not within END of 1, and the largest |w_kk|."""
    d, length = block.shape[0], block.shape[2]
    latest, sizes = -1, spread(0.0)
    for k in range(d):
        first = (k * d + k) * length
        scale = spread_at(weight, k * d + k)
        high = load(block, first) * scale
        distance = absolute(high - spread(1.0))
        for n in range(first, first + end, WIDTH):
            w = load(block, n) * scale
            high = larger(w, high)
            sizes = larger(absolute(w), sizes)
            distance = larger(absolute(w - spread(1.0)), distance)
        top = largest(high)
        for level in range(levels.shape[0]):
            if level_steps[level, k] >= 0:
                continue
            if not top >= levels[level]:
                break
            for n in range(count):
                if block[k, k, n] * weight[k, k] >= levels[level]:
                    level_steps[level, k] = before + 1 + n
                    break
        if counted[k] and any_above(distance, spread(END)):
            latest = _last_beyond(block, k, k, count, latest, 1.0, weight[k, k])
    return latest, largest(sizes)


@compiled
def _watch_others(
    weight: Floats,
    counted: Booleans,
    peak: Floats,
    peak_step: Integers,
    suppressed: Integers,
    block: Floats,
    count: int,
    end: int,
    before: int,
    latest: int,
) -> tuple[int, float]:  # pragma: no cover
    """Peaks and suppression; the last step not within END of 0, and the largest |w_ij|."""
    d, length = block.shape[0], block.shape[2]
    sizes = spread(0.0)
    for i in range(d):
        for j in range(i + 1, d):
            first = (i * d + j) * length
            high = absolute(load(block, first))
            low = high
            for n in range(first + WIDTH, first + end, WIDTH):
                x = absolute(load(block, n))
                high, low = larger(x, high), smaller(x, low)
            size = high * spread_at(weight, i * d + j)
            sizes = larger(size, sizes)
            best = abs(peak[i, j])
            grown = any_above(high, spread(best))
            if grown or (suppressed[i, j] < 0 and not smallest(low) > 0.5 * best):
                top = largest(high)
                _watch_entry(peak, peak_step, suppressed, block, i, j, count, before, top)
            if counted[i] and counted[j] and any_above(size, spread(END)):
                latest = _last_beyond(block, i, j, count, latest, 0.0, weight[i, j])
    return latest, largest(sizes)


@compiled
def watch(
    point: Floats,
    counted: Booleans,
    levels: Floats,
    exponent: Integers,
    weight: Floats,
    level_steps: Integers,
    peak: Floats,
    peak_step: Integers,
    suppressed: Integers,
    turning: Floats,
    counters: Integers,
    extrema: Extrema,
    block: Floats,
    count: int,
    before: int,
    loss: Floats,
) -> None:  # pragma: no cover
    """Do what :func:`observe_block` does, on arrays.

    An array that is taken out of a problem or a state costs a reference counted, as much as a
    step; a run takes them out once.
    """
    if count == 0:
        return
    end = fill_up(block, count)
    latest, size = _watch_diagonal(weight, counted, levels, level_steps, block, count, end, before)
    latest, other = _watch_others(
        weight, counted, peak, peak_step, suppressed, block, count, end, before, latest
    )
    if latest >= 0:
        counters[EXCEEDED] = before + 1 + latest
    losses(point, exponent, block, end, loss)
    watch_losses(turning, counters, extrema, loss, count, end, before, max(size, other))


@compiled_inside
def observe_block(
    problem: Problem, state: State, block: Floats, count: int, before: int, loss: Floats
) -> None:  # pragma: no cover
    """Update every event with X at the `count` steps that follow step `before`.

    ``block[i, j, n]`` (i <= j) is x_ij at step before + 1 + n, all finite; its last axis holds
    whole vectors. `loss` is scratch of two rows as long. One event after the other runs through
    the block, and only where the extremes of an entry say that it may happen.
    """
    watch(
        problem.point,
        problem.counted,
        problem.levels,
        state.exponent,
        state.weight,
        state.level_steps,
        state.peak,
        state.peak_step,
        state.suppressed,
        state.turning,
        state.counters,
        (state.extremum_step, state.extremum_value, state.extremum_kind),
        block,
        count,
        before,
        loss,
    )


@compiled
def near_goal(
    counted: Booleans, goals: Floats, weight: Floats, block: Floats, n: int
) -> bool:  # pragma: no cover
    """Do what :func:`at_goal` does, on arrays."""
    d = block.shape[0]
    for i in range(d):
        for j in range(i, d):
            if counted[i] and counted[j]:
                goal = goals[i] if i == j else 0.0
                if not abs(block[i, j, n] * weight[i, j] - goal) <= END:
                    return False
    return True


@compiled_inside
def at_goal(problem: Problem, state: State, block: Floats, n: int) -> bool:  # pragma: no cover
    """Whether W at place n of the block is within END of its limit where a > 0."""
    return near_goal(problem.counted, problem.goal, state.weight, block, n)


@compiled
def write_records(
    state: State, record: Record, block: Floats, count: int, before: int
) -> None:  # pragma: no cover
    """Record W at those steps of the block that are to be recorded."""
    place = state.counters[RECORDED]
    d = state.X.shape[0]
    while place < record.steps.shape[0] and record.steps[place] <= before + count:
        n = record.steps[place] - before - 1
        for i in range(d):
            for j in range(i, d):
                record.W[place, i, j] = block[i, j, n] * state.weight[i, j]
                record.W[place, j, i] = record.W[place, i, j]
        place += 1
    state.counters[RECORDED] = place


@compiled
def observe(problem: Problem, state: State, record: Record) -> None:  # pragma: no cover
    """Update every event with the present X and record it where that is asked for."""
    d = state.X.shape[0]
    block, loss = np.empty((d, d, WIDTH)), np.empty((2, WIDTH))
    block[:, :, 0] = state.X
    before = state.counters[STEP] - 1
    observe_block(problem, state, block, 1, before, loss)
    write_records(state, record, block, 1, before)
