"""Compiled: the two maps, euler and gd, step by step. Imports numba, so import it late.

With G = (a_i + a_j) w_ij entry by entry (that is AW + WA) and Y = G W, the bracket of (D.2) is
``(Y + Y^T)/2``: one product of matrices per step. For gd, ``C = B W = A W - Y/2`` and the step is
``W + eta (C + C^T) + eta^2 C B``, a second product. Both are symmetric because only one half is
computed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from swingby.simulate.compiling import compiled
from swingby.simulate.jump_kernels import jump, renormalise
from swingby.simulate.observation_kernels import (
    at_goal,
    find_negative_pivot,
    first_doubtful,
    observe,
    observe_block,
    project_null,
    write_records,
)
from swingby.simulate.state import (
    DIVERGED,
    EXECUTED,
    PSD_CONCEPT,
    PSD_LOST,
    SETTLED,
    STARTED,
    STEP,
    Floats,
    Problem,
    Record,
    State,
)

Steps = Callable[[Problem, State, bool, int, Floats, Floats], None]

#: What `advance` returns.
REACHED, BUDGET_SPENT, CAME_TO_REST, NOT_FINITE = 0, 1, 2, 3
#: W does not change any more when every update is at most one unit in the last place of 1.
REST = 2.0**-52
#: Steps taken between two looks at the events, attempts to jump, and renormalisations.
BLOCK = 64
#: From this dimension on, products of matrices are left to BLAS.
BLAS_FROM = 17


def _make_steps(size: int) -> Steps:
    """The loop over the steps of a block, for one dimension d = size, or for any (size 0).

    With d known at compile time the loops over entries are unrolled, which is five times as fast
    at d = 3. The arithmetic, and with it every bit, is the same.
    """

    @compiled
    def steps(
        problem: Problem, state: State, gd: bool, count: int, block: Floats, scratch: Floats
    ) -> None:  # pragma: no cover
        signal, sums, eta, square = problem.signal, problem.sums, problem.eta, state.square
        X, G, Z, Y = scratch[0], scratch[1], scratch[2], scratch[3]
        d = size if size > 0 else X.shape[0]
        for i in range(d):
            for j in range(d):
                X[i, j] = state.X[i, j]
        for n in range(count):
            for i in range(d):
                for j in range(d):
                    G[i, j] = sums[i, j] * X[i, j]
                    Z[i, j] = square[i] * X[i, j]
            if size == 0 and d >= BLAS_FROM:
                np.dot(G, Z, Y)
            else:
                for i in range(d):
                    for j in range(d):
                        total = 0.0
                        for k in range(d):
                            total += G[i, k] * Z[k, j]
                        Y[i, j] = total
            if gd:
                _gd_change(signal, square, eta, size, scratch)
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

    return steps


@compiled
def _gd_change(
    signal: Floats, square: Floats, eta: float, size: int, scratch: Floats
) -> None:  # pragma: no cover
    """The change of X under gd, from G and Y, into Z."""
    X, G, Z, Y, Q = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    d = size if size > 0 else X.shape[0]
    for i in range(d):
        for j in range(d):
            Y[i, j] = signal[i] * X[i, j] - 0.5 * Y[i, j]
            Z[i, j] = square[i] * G[i, j]
    if size == 0 and d >= BLAS_FROM:
        np.dot(Y, Z, Q)
    else:
        for i in range(d):
            for j in range(i, d):
                total = 0.0
                for k in range(d):
                    total += Y[i, k] * Z[k, j]
                Q[i, j] = total
    for i in range(d):
        for j in range(i, d):
            second = Y[i, j] * signal[j] - 0.5 * Q[i, j]
            Z[i, j] = eta * (Y[i, j] + Y[j, i]) + (eta * eta) * second


_steps_any = _make_steps(0)
_steps_two = _make_steps(2)
_steps_three = _make_steps(3)
_steps_four = _make_steps(4)


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


@compiled
def _accept(
    problem: Problem, state: State, block: Floats, count: int, rest: bool
) -> tuple[int, int]:  # pragma: no cover
    """Take over the finite part of a block, up to rest: how many steps, and what ended them."""
    d = block.shape[0]
    kept = count
    for i in range(d):
        for j in range(i, d):
            for n in range(kept):
                if not abs(block[i, j, n] * state.weight[i, j]) < np.inf:
                    kept = n
                    break
    code = REACHED if kept == count else NOT_FINITE
    if kept == 0:
        return 0, code
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

    `budget` bounds the steps executed in this call, up to one block; `skip` allows jumps; `rest`
    asks to stop once W no longer changes. Steps are taken in blocks, and the events of a block
    are looked at together.
    """
    counters = state.counters
    d = state.X.shape[0]
    scratch, Q = np.empty((5, d, d)), np.empty((d, d))
    block, loss = np.empty((d, d, BLOCK)), np.empty((2, BLOCK))
    work = np.empty((d + 1, d, BLOCK))
    any_null = problem.null.any()
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
        count = min(BLOCK, stop_at - before)
        if d == 3:
            _steps_three(problem, state, gd, count, block, scratch)
        elif d == 2:
            _steps_two(problem, state, gd, count, block, scratch)
        elif d == 4:
            _steps_four(problem, state, gd, count, block, scratch)
        else:
            _steps_any(problem, state, gd, count, block, scratch)
        count, code = _accept(problem, state, block, count, rest)
        counters[STEP] = before + count
        counters[EXECUTED] += count
        spent += count
        observe_block(problem, state, block, count, before, loss)
        write_records(state, record, block, count, before)
        if not gd and counters[PSD_LOST] < 0:
            _watch_pivots(problem, state, block, count, before, work, Q)
        if code == NOT_FINITE:
            counters[DIVERGED] = before + count + 1
            return NOT_FINITE
        if code == CAME_TO_REST:
            counters[SETTLED] = before + count
            return CAME_TO_REST
    return REACHED


@compiled
def _watch_pivots(
    problem: Problem, state: State, block: Floats, count: int, before: int, work: Floats, Q: Floats
) -> None:  # pragma: no cover
    """The first step of the block at which W is no longer positive semidefinite."""
    d = block.shape[0]
    at = np.empty((d, d))
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
