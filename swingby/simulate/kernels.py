"""Compiled: the two maps, euler and gd, step by step. Imports numba, so import it late.

With G = (a_i + a_j) w_ij entry by entry (that is AW + WA) and Y = G W, the bracket of (D.2) is
``(Y + Y^T)/2``: one product of matrices per step. For gd, ``C = B W = A W - Y/2`` and the step is
``W + eta (C + C^T) + eta^2 C B``, a second product. Both are symmetric because only one half is
computed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from swingby.simulate.compiling import compiled, compiled_inside
from swingby.simulate.jump_kernels import jump, renormalise
from swingby.simulate.observation_kernels import at_goal, observe, observe_block, write_records
from swingby.simulate.pivot_kernels import (
    find_negative_pivot,
    first_doubtful,
    project_null,
    quiet_steps,
)
from swingby.simulate.state import (
    DIVERGED,
    EXECUTED,
    PSD_CONCEPT,
    PSD_LOST,
    RECORDED,
    SETTLED,
    STARTED,
    STEP,
    Floats,
    Problem,
    Record,
    State,
)
from swingby.simulate.step_source import BLOCK, LONG_BLOCK, WRITTEN_OUT

#: What `advance` returns.
REACHED, BUDGET_SPENT, CAME_TO_REST, NOT_FINITE = 0, 1, 2, 3
#: W does not change any more when every update is at most one unit in the last place of 1.
REST = 2.0**-52
#: From this dimension on, products of matrices are left to BLAS.
BLAS_FROM = 17


@compiled
def block_length(d: int) -> int:  # pragma: no cover
    """Most steps between two looks."""
    return LONG_BLOCK if d <= 4 else BLOCK


@compiled
def _steps_any(
    problem: Problem, state: State, gd: bool, count: int, block: Floats, scratch: Floats
) -> None:  # pragma: no cover
    """The steps of a block for any d, in loops."""
    sums, eta, square = problem.sums, problem.eta, state.square
    X, G, Z, Y = scratch[0], scratch[1], scratch[2], scratch[3]
    d = X.shape[0]
    X[:] = state.X
    for n in range(count):
        for i in range(d):
            for j in range(d):
                G[i, j] = sums[i, j] * X[i, j]
                Z[i, j] = square[i] * X[i, j]
        multiply(G, Z, Y)
        if gd:
            _gd_change(problem.signal, square, eta, scratch)
            for i in range(d):
                for j in range(i, d):
                    X[i, j] += Z[i, j]
                    X[j, i] = X[i, j]
        else:
            for i in range(d):
                for j in range(i, d):
                    X[i, j] += eta * (G[i, j] - 0.5 * (Y[i, j] + Y[j, i]))
                    X[j, i] = X[i, j]
        for i in range(d):
            for j in range(i, d):
                block[i, j, n] = X[i, j]


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
def _gd_change(
    signal: Floats, square: Floats, eta: float, scratch: Floats
) -> None:  # pragma: no cover
    """The change of X under gd, from G and Y, into Z."""
    X, G, Z, Y, Q = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    d = X.shape[0]
    for i in range(d):
        for j in range(d):
            Y[i, j] = signal[i] * X[i, j] - 0.5 * Y[i, j]
            Z[i, j] = square[i] * G[i, j]
    multiply(Y, Z, Q)
    for i in range(d):
        for j in range(i, d):
            second = Y[i, j] * signal[j] - 0.5 * Q[i, j]
            Z[i, j] = eta * (Y[i, j] + Y[j, i]) + (eta * eta) * second


@compiled
def _fill(problem: Problem, state: State, numbers: Floats) -> bool:  # pragma: no cover
    """The numbers that the written-out steps begin with; whether W is held as D X D."""
    d = state.X.shape[0]
    place, scaled = 0, False
    for i in range(d):
        for j in range(i, d):
            numbers[place] = state.X[i, j]
            place += 1
    for i in range(d):
        numbers[place + i] = problem.eta * problem.signal[i]
        numbers[place + d + i] = state.square[i]
        scaled |= state.exponent[i] != 0
    return scaled


@compiled
def _at_rest(problem: Problem, state: State, block: Floats, n: int) -> bool:  # pragma: no cover
    """Whether step n of the block changes nothing any more among concepts with a > 0."""
    d = block.shape[0]
    for i in range(d):
        for j in range(i, d):
            if problem.counted[i] and problem.counted[j]:
                past = block[i, j, n - 1] if n > 0 else state.X[i, j]
                if not abs(block[i, j, n] - past) * state.weight[i, j] <= REST:
                    return False
    return at_goal(problem, state, block, n)


@compiled_inside
def _accept(
    problem: Problem, state: State, block: Floats, count: int, rest: bool
) -> tuple[int, int]:  # pragma: no cover
    """Take over the finite part of a block, up to rest: how many steps, and what ended them."""
    d = block.shape[0]
    kept = count
    for i in range(d):
        for j in range(i, d):
            # An entry that is not finite never becomes finite again.
            if abs(block[i, j, kept - 1] * state.weight[i, j]) < np.inf:
                continue
            for n in range(kept):
                if not abs(block[i, j, n] * state.weight[i, j]) < np.inf:
                    kept = n
                    break
            if kept == 0:
                return 0, NOT_FINITE
    code = REACHED if kept == count else NOT_FINITE
    last = kept - 1
    if rest and _at_rest(problem, state, block, last):
        code = CAME_TO_REST
        last = 0
        while not _at_rest(problem, state, block, last):
            last += 1
    for i in range(d):
        past = block[i, i, last - 1] if last > 0 else state.X[i, i]
        state.still[i] = block[i, i, last] == past
    for i in range(d):
        for j in range(i, d):
            state.X[i, j] = block[i, j, last]
            state.X[j, i] = block[i, j, last]
    return last + 1, code


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

    `plain` and `scaled` are steps written out for this d, see
    :func:`swingby.simulate.compiled_steps.single_steps`; above WRITTEN_OUT they are not used.
    `budget` bounds the steps executed in this call, up to one block; `skip` allows jumps; `rest`
    asks to stop once W no longer changes. Steps are taken in blocks, and the events of a block
    are looked at together.
    """
    counters = state.counters
    d = state.X.shape[0]
    scratch, Q, at = np.empty((5, d, d)), np.empty((d, d)), np.empty((d, d))
    numbers = np.empty(d * (d + 5) // 2)
    length = block_length(d)
    block, loss = np.empty((d, d, length)), np.empty((2, length))
    flat = block.reshape(-1)
    work = np.empty((d + 1, d, length))
    any_null = problem.null.any()
    quiet = quiet_steps(problem.eta * problem.signal.max())
    if counters[STARTED] == 0:
        counters[STARTED] = 1
        if any_null and gd:
            project_null(problem, state, Q)
        observe(problem, state, record)
        if not gd:
            counters[PSD_CONCEPT] = find_negative_pivot(state.X, problem.order, Q)
            if counters[PSD_CONCEPT] >= 0:
                counters[PSD_LOST] = 0
    spent = 0
    while counters[STEP] < stop_at:
        if spent >= budget:
            return BUDGET_SPENT
        renormalise(state)
        if any_null and gd:
            project_null(problem, state, Q)
        if skip and jump(problem, state, record, gd, stop_at, Q, 1) > 0:
            observe(problem, state, record)
            continue
        before = counters[STEP]
        count = min(quiet if any_null else length, stop_at - before)
        if d > WRITTEN_OUT:
            _steps_any(problem, state, gd, count, block, scratch)
        elif _fill(problem, state, numbers):
            scaled(numbers, flat, count)
        else:
            plain(numbers, flat, count)
        count, code = _accept(problem, state, block, count, rest)
        counters[STEP] = before + count
        counters[EXECUTED] += count
        spent += count
        observe_block(problem, state, block, count, before, loss)
        if counters[RECORDED] < record.steps.shape[0]:
            write_records(state, record, block, count, before)
        if not gd and counters[PSD_LOST] < 0:
            _watch_pivots(problem, state, block, count, before, work, Q, at)
        if code == NOT_FINITE:
            counters[DIVERGED] = before + count + 1
            return NOT_FINITE
        if code == CAME_TO_REST:
            counters[SETTLED] = before + count
            return CAME_TO_REST
    return REACHED


@compiled_inside
def _watch_pivots(
    problem: Problem,
    state: State,
    block: Floats,
    count: int,
    before: int,
    work: Floats,
    Q: Floats,
    at: Floats,
) -> None:  # pragma: no cover
    """The first step of the block at which W is no longer positive semidefinite."""
    d = block.shape[0]
    for n in range(first_doubtful(block, problem.order, count, work), count):
        for i in range(d):
            for j in range(i, d):
                at[i, j] = block[i, j, n]
                at[j, i] = block[i, j, n]
        concept = find_negative_pivot(at, problem.order, Q)
        if concept >= 0:
            state.counters[PSD_LOST] = before + 1 + n
            state.counters[PSD_CONCEPT] = concept
            return
