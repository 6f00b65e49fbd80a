"""Compiled: runs of the two maps, euler and gd, block by block. Imports numba: import it late.

The steps themselves: up to five concepts in the texts of :mod:`swingby.simulate.step_source`, up
to eight in :mod:`swingby.simulate.row_steps`, above in :mod:`swingby.simulate.tile_steps`. After
every block of them the events are looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from swingby.simulate.compiled_steps import take_steps
from swingby.simulate.compiling import compiled
from swingby.simulate.jump_kernels import jump, renormalise
from swingby.simulate.observation_kernels import near_goal, observe, watch, write_records
from swingby.simulate.pivot_kernels import (
    find_negative_pivot,
    first_doubtful,
    pivot_work,
    project_null,
    quiet_steps,
)
from swingby.simulate.row_steps import MOST_IN_ROWS, ROW_WORK, row_steps
from swingby.simulate.state import (
    DIVERGED,
    EXECUTED,
    PSD_CONCEPT,
    PSD_LOST,
    RECORDED,
    SETTLED,
    STARTED,
    STEP,
    Booleans,
    Floats,
    Integers,
    Problem,
    Record,
    State,
)
from swingby.simulate.step_source import BLOCK, LONG_BLOCK, SCALARS_UP_TO
from swingby.simulate.tile_steps import tile_steps, work_array
from swingby.simulate.vectors import WIDTH, aligned

#: What `advance` returns.
REACHED, BUDGET_SPENT, CAME_TO_REST, NOT_FINITE = 0, 1, 2, 3
#: W does not change any more when every update is at most one unit in the last place of 1.
REST = 2.0**-52
#: A coupling of two concepts this close to 1 has no event left.
LEARNED = 1e-6
#: Entries between two learned concepts below this are held as 0.
SMALLEST = 1e-300
#: From this dimension on, products of matrices are left to BLAS.
BLAS_FROM = 17


@compiled
def block_length(d: int) -> int:  # pragma: no cover
    """Most steps between two looks; whole vectors."""
    if d <= SCALARS_UP_TO:
        return LONG_BLOCK
    if d <= MOST_IN_ROWS:
        return 2 * BLOCK
    return BLOCK if d <= 16 else BLOCK // 4 if d <= 96 else WIDTH


@compiled
def multiply(left: Floats, right: Floats, product: Floats) -> None:  # pragma: no cover
    """Product of matrices: rows of the right one in lanes, or BLAS for large ones."""
    d = left.shape[0]
    if d >= BLAS_FROM:
        np.dot(left, right, product)
        return
    for i in range(d):
        for j in range(d):
            product[i, j] = 0.0
        for k in range(d):
            factor = left[i, k]
            for j in range(d):
                product[i, j] += factor * right[k, j]


@compiled
def _fill(
    X: Floats, signal: Floats, eta: float, square: Floats, numbers: Floats
) -> None:  # pragma: no cover
    """The numbers that the written-out steps begin with."""
    d = X.shape[0]
    place = 0
    for i in range(d):
        for j in range(i, d):
            numbers[place] = X[i, j]
            place += 1
    for i in range(d):
        numbers[place + i] = eta * signal[i]
        numbers[place + d + i] = square[i]


@compiled
def _at_rest(
    X: Floats, counted: Booleans, goal: Floats, weight: Floats, block: Floats, n: int
) -> bool:  # pragma: no cover
    """Whether step n of the block changes nothing any more among concepts with a > 0."""
    d = block.shape[0]
    for i in range(d):
        for j in range(i, d):
            if counted[i] and counted[j]:
                past = block[i, j, n - 1] if n > 0 else X[i, j]
                if not abs(block[i, j, n] - past) * weight[i, j] <= REST:
                    return False
    return near_goal(counted, goal, weight, block, n)


@compiled
def _finite_part(block: Floats, weight: Floats, count: int) -> int:  # pragma: no cover
    """How many of the steps in a block have finite entries only."""
    d = block.shape[0]
    for i in range(d):
        for j in range(i, d):
            # An entry that is not finite never becomes finite again.
            if abs(block[i, j, count - 1] * weight[i, j]) < np.inf:
                continue
            for n in range(count):
                if not abs(block[i, j, n] * weight[i, j]) < np.inf:
                    count = n
                    break
            if count == 0:
                return 0
    return count


@compiled
def _take_over(
    X: Floats, weight: Floats, still: Booleans, block: Floats, last: int
) -> None:  # pragma: no cover
    """Make step `last` of the block the present one.

    An entry between two learned concepts that has decayed below SMALLEST becomes zero: it would
    come to rest as a subnormal number, of which every step takes twice as long.
    """
    d = block.shape[0]
    for i in range(d):
        past = block[i, i, last - 1] if last > 0 else X[i, i]
        still[i] = block[i, i, last] == past
    for i in range(d):
        for j in range(i, d):
            x = block[i, j, last]
            if i != j and abs(x) < SMALLEST and x != 0.0:
                first, second = block[i, i, last] * weight[i, i], block[j, j, last] * weight[j, j]
                if abs(first - 1.0) < LEARNED and abs(second - 1.0) < LEARNED:
                    x = 0.0
            X[i, j] = X[j, i] = x


@compiled
def advance(
    plain: Any,
    scaled: Any,
    problem: Problem,
    state: State,
    record: Record,
    gd: bool,
    stop_at: int,
    budget: int,
    skip: bool,
    rest: bool,
) -> int:  # pragma: no cover
    """Run euler (gd False) or gd until step stop_at, at rest, not finite, or out of budget.

    `plain` and `scaled` are the addresses of steps written out for this d, see
    :func:`swingby.simulate.compiled_steps.steps_of_a_run`; above SCALARS_UP_TO they are not used.
    `budget` bounds the steps executed in this call, up to one block; `skip` allows jumps; `rest`
    asks to stop once W no longer changes. Steps are taken in blocks, and the events of a block
    are looked at together.
    """
    # Taken out once: see swingby.simulate.observation_kernels.watch.
    signal, eta, point, levels = problem.signal, problem.eta, problem.point, problem.levels
    counted, goal, order = problem.counted, problem.goal, problem.order
    X, still, square, weight = state.X, state.still, state.square, state.weight
    counters, exponent, turning = state.counters, state.exponent, state.turning
    level_steps, peak, peak_step = state.level_steps, state.peak, state.peak_step
    suppressed, due = state.suppressed, record.steps
    extrema = (state.extremum_step, state.extremum_value, state.extremum_kind)
    d = X.shape[0]
    Q = np.empty((d, d))
    length = block_length(d)
    block, loss = aligned(d * d * length).reshape((d, d, length)), np.empty((2, length))
    numbers = np.empty(d * (d + 5) // 2)
    area = work_array(d) if d > MOST_IN_ROWS else aligned(ROW_WORK)
    watched = pivot_work(d)
    any_null = problem.null.any()
    quiet = quiet_steps(problem.eta * problem.signal.max())
    if counters[STARTED] == 0:
        counters[STARTED] = 1
        if any_null and gd:
            project_null(problem, state, Q)
        observe(problem, state, record)
        if not gd:
            counters[PSD_CONCEPT] = find_negative_pivot(X, order, Q)
            if counters[PSD_CONCEPT] >= 0:
                counters[PSD_LOST] = 0
    spent = 0
    while counters[STEP] < stop_at:
        if spent >= budget:
            return BUDGET_SPENT
        scaled_now = exponent.any()
        if scaled_now:
            renormalise(state)
        if any_null and gd:
            project_null(problem, state, Q)
        if skip and jump(problem, state, record, gd, stop_at, Q, 1, rest) > 0:
            observe(problem, state, record)
            continue
        before = counters[STEP]
        count = min(quiet if any_null else length, stop_at - before)
        if d > MOST_IN_ROWS:
            tile_steps(X, signal, eta, square, gd, count, block, area)
        elif d > SCALARS_UP_TO:
            row_steps(X, signal, eta, square, gd, count, block, area)
        else:
            _fill(X, signal, eta, square, numbers)
            take_steps(scaled if scaled_now else plain, numbers, block, count)
        code = REACHED
        kept = _finite_part(block, weight, count)
        if kept < count:
            code, count = NOT_FINITE, kept
        if rest and count > 0 and _at_rest(X, counted, goal, weight, block, count - 1):
            code = CAME_TO_REST
            count = 1
            while not _at_rest(X, counted, goal, weight, block, count - 1):
                count += 1
        if count > 0:
            _take_over(X, weight, still, block, count - 1)
        counters[STEP] = before + count
        counters[EXECUTED] += count
        spent += count
        watch(
            point,
            counted,
            levels,
            exponent,
            weight,
            level_steps,
            peak,
            peak_step,
            suppressed,
            turning,
            counters,
            extrema,
            block,
            count,
            before,
            loss,
        )
        if counters[RECORDED] < due.shape[0] and due[counters[RECORDED]] <= before + count:
            write_records(state, record, block, count, before)
        if not gd and counters[PSD_LOST] < 0:
            _watch_pivots(order, counters, block, count, before, watched, Q)
        if code == NOT_FINITE:
            counters[DIVERGED] = before + count + 1
            return NOT_FINITE
        if code == CAME_TO_REST:
            counters[SETTLED] = before + count
            return CAME_TO_REST
    return REACHED


@compiled
def _watch_pivots(
    order: Integers,
    counters: Integers,
    block: Floats,
    count: int,
    before: int,
    work: Floats,
    Q: Floats,
) -> None:  # pragma: no cover
    """The first step of the block at which W is no longer positive semidefinite."""
    d = block.shape[0]
    first = first_doubtful(block, order, count, work)
    if first == count:
        return
    at = np.empty((d, d))
    for n in range(first, count):
        for i in range(d):
            for j in range(i, d):
                at[i, j] = at[j, i] = block[i, j, n]
        concept = find_negative_pivot(at, order, Q)
        if concept >= 0:
            counters[PSD_LOST] = before + 1 + n
            counters[PSD_CONCEPT] = concept
            return
