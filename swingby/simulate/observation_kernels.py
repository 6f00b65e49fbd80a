"""Compiled: what is looked at after every step. Imports numba, so import it late.

Events are found inside the loop, at whole steps, whatever is recorded.
"""

from __future__ import annotations

import math

import numpy as np

from swingby.simulate.compiling import compiled, compiled_for_finite, compiled_inside
from swingby.simulate.state import (
    END,
    EXCEEDED,
    EXTREMA,
    HEADING,
    HIGH_STEP,
    LOW_STEP,
    MOST_EXTREMA,
    OVERFLOW,
    RECORDED,
    STEP,
    Floats,
    Problem,
    Record,
    State,
)


@compiled
def watch_loss(state: State, t: int, loss: float) -> None:  # pragma: no cover
    """One step of the zigzag filter of :func:`swingby.simulate.events.turning_points`."""
    turning, counters = state.turning, state.counters
    heading = counters[HEADING]
    if heading <= 0 and loss < turning[0]:
        turning[0] = loss
        counters[LOW_STEP] = t
    if heading >= 0 and loss > turning[1]:
        turning[1] = loss
        counters[HIGH_STEP] = t
    rose = heading <= 0 and loss > turning[0] and loss - turning[0] >= turning[2]
    fell = heading >= 0 and loss < turning[1] and turning[1] - loss >= turning[2]
    if rose:
        _keep_extremum(state, counters[LOW_STEP], turning[0], 0)
        turning[1] = loss
        counters[HIGH_STEP] = t
        counters[HEADING] = 1
    elif fell:
        _keep_extremum(state, counters[HIGH_STEP], turning[1], 1)
        turning[0] = loss
        counters[LOW_STEP] = t
        counters[HEADING] = -1


@compiled
def _keep_extremum(state: State, t: int, value: float, kind: int) -> None:  # pragma: no cover
    place = state.counters[EXTREMA]
    if place >= MOST_EXTREMA:
        state.counters[OVERFLOW] = 1
        return
    state.extremum_step[place] = t
    state.extremum_value[place] = value
    state.extremum_kind[place] = kind
    state.counters[EXTREMA] = place + 1


@compiled_for_finite
def _extremes(values: Floats, count: int) -> tuple[float, float]:  # pragma: no cover
    """The smallest and the largest of the first `count` values."""
    low, high = values[0], values[0]
    for n in range(count):
        low = min(low, values[n])
        high = max(high, values[n])
    return low, high


@compiled_for_finite
def _steepest(values: Floats, count: int) -> tuple[float, float]:  # pragma: no cover
    """The largest fall and the largest rise from one value to the next."""
    low, high = 0.0, 0.0
    for n in range(count - 1):
        change = values[n + 1] - values[n]
        low = min(low, change)
        high = max(high, change)
    return low, high


@compiled_inside
def observe_block(
    problem: Problem, state: State, block: Floats, count: int, before: int, loss: Floats
) -> None:  # pragma: no cover
    """Update every event with X at the `count` steps that follow step `before`.

    ``block[i, j, n]`` (i <= j) is x_ij at step before + 1 + n, all finite. One event after the
    other runs through the block, and only where the extremes of an entry say that it may happen.
    """
    if count == 0:
        return
    weight, point, counted = state.weight, problem.point, problem.counted
    d = state.X.shape[0]
    latest = -1
    largest = 0.0
    for k in range(d):
        scale = weight[k, k]
        low, high = _extremes(block[k, k], count)
        largest = max(largest, max(high, -low) * scale)
        for level in range(problem.levels.shape[0]):
            if state.level_steps[level, k] >= 0:
                continue
            bar = problem.levels[level]
            if not high * scale >= bar:
                break
            for n in range(count):
                if block[k, k, n] * scale >= bar:
                    state.level_steps[level, k] = before + 1 + n
                    break
        if counted[k] and not max(high * scale - 1.0, 1.0 - low * scale) <= END:
            for n in range(count - 1, latest, -1):
                if not abs(block[k, k, n] * scale - 1.0) <= END:
                    latest = n
                    break
    for i in range(d):
        for j in range(i + 1, d):
            low, high = _extremes(block[i, j], count)
            size = max(high, -low)
            largest = max(largest, size * weight[i, j])
            smallest = low if low > 0.0 else max(-high, 0.0)
            best = abs(state.peak[i, j])
            first = 0
            if size > best:
                while abs(block[i, j, first]) != size:
                    first += 1
                best = size
                state.peak[i, j] = block[i, j, first]
                state.peak_step[i, j] = before + 1 + first
                state.suppressed[i, j] = -1
                first += 1
            if state.suppressed[i, j] < 0 and smallest <= 0.5 * best and best > 0.0:
                for n in range(first, count):
                    if abs(block[i, j, n]) <= 0.5 * best:
                        state.suppressed[i, j] = before + 1 + n
                        break
            if counted[i] and counted[j] and not size * weight[i, j] <= END:
                for n in range(count - 1, latest, -1):
                    if not abs(block[i, j, n]) * weight[i, j] <= END:
                        latest = n
                        break
    if latest >= 0:
        state.counters[EXCEEDED] = before + 1 + latest
    _losses(point, weight, block, count, loss)
    if before + 1 == 0:
        state.turning[0] = loss[0, 0]
        state.turning[1] = loss[0, 0]
        return
    # The square of an entry of 1e150 is still finite.
    if largest < 1e150 and _runs_on(state, loss[0], count, before):
        return
    for n in range(count):
        if math.isfinite(loss[0, n]):
            watch_loss(state, before + 1 + n, loss[0, n])


@compiled
def _runs_on(state: State, loss: Floats, count: int, before: int) -> bool:  # pragma: no cover
    """Whether the loss goes on as it was heading all through the block; then that is noted."""
    turning, counters = state.turning, state.counters
    fall, rise = _steepest(loss, count)
    last = count - 1
    if counters[HEADING] < 0 and rise <= 0.0 and loss[0] <= turning[0]:
        if loss[last] < turning[0]:
            turning[0] = loss[last]
            counters[LOW_STEP] = before + 1 + _first_of_plateau(loss, last)
        return True
    if counters[HEADING] > 0 and fall >= 0.0 and loss[0] >= turning[1]:
        if loss[last] > turning[1]:
            turning[1] = loss[last]
            counters[HIGH_STEP] = before + 1 + _first_of_plateau(loss, last)
        return True
    return False


@compiled
def _first_of_plateau(loss: Floats, last: int) -> int:  # pragma: no cover
    first = last
    while first > 0 and loss[first - 1] == loss[last]:
        first -= 1
    return first


@compiled
def _losses(
    point: Floats, weight: Floats, block: Floats, count: int, loss: Floats
) -> None:  # pragma: no cover
    """1/2 |W x - x|^2 at the test point x into loss[0]; loss[1] is scratch."""
    d = block.shape[0]
    for n in range(count):
        loss[0, n] = 0.0
    for i in range(d):
        for n in range(count):
            loss[1, n] = -point[i]
        for j in range(d):
            scale, coordinate = weight[i, j], point[j]
            row, column = min(i, j), max(i, j)
            for n in range(count):
                loss[1, n] += block[row, column, n] * scale * coordinate
        for n in range(count):
            loss[0, n] += loss[1, n] * loss[1, n]
    for n in range(count):
        loss[0, n] *= 0.5


@compiled
def at_goal(problem: Problem, state: State, block: Floats, n: int) -> bool:  # pragma: no cover
    """Whether W at place n of the block is within END of its limit where a > 0."""
    d = block.shape[0]
    for i in range(d):
        for j in range(i, d):
            if problem.counted[i] and problem.counted[j]:
                goal = problem.goal[i] if i == j else 0.0
                if not abs(block[i, j, n] * state.weight[i, j] - goal) <= END:
                    return False
    return True


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
    block, loss = np.empty((d, d, 1)), np.empty((2, 1))
    block[:, :, 0] = state.X
    before = state.counters[STEP] - 1
    observe_block(problem, state, block, 1, before, loss)
    write_records(state, record, block, 1, before)
