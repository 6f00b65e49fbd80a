r"""Compiled: the gradient flow by Taylor series, observed at whole steps. Imports numba.

The right side of (D.2) is quadratic in W, so the Taylor coefficients of W(t) follow from Cauchy
products. With time in steps, and G_n = A W_n + W_n A,

.. math:: W_{n+1} = \frac{\eta}{n+1}\Bigl[G_n - \tfrac12 (Y_n + Y_n^T)\Bigr], \qquad
          Y_n = \sum_{k=0}^{n} G_k W_{n-k}.

One series covers many steps; it is evaluated by Horner's rule at every one of them, so the flow
has its events at whole steps exactly like the maps. Where eta a is so large that a series does
not reach one step, a step is made of several series.
"""

from __future__ import annotations

import math

import numpy as np

from swingby.simulate.compiling import compiled
from swingby.simulate.jump_kernels import jump, renormalise
from swingby.simulate.kernels import (
    BUDGET_SPENT,
    CAME_TO_REST,
    NOT_FINITE,
    REACHED,
    REST,
    multiply,
)
from swingby.simulate.observation_kernels import at_goal, observe, observe_block, write_records
from swingby.simulate.pivot_kernels import project_null
from swingby.simulate.state import (
    DIVERGED,
    EXECUTED,
    SETTLED,
    STARTED,
    STEP,
    Floats,
    Problem,
    Record,
    State,
)
from swingby.simulate.step_source import BLOCK

#: Order of the series.
ORDER = 24
#: Truncation error of one series, relative to the entry.
TRUNCATION = 1e-17
#: Longest stretch, in steps, that one series may cover.
LONGEST = 4096.0


@compiled
def _expand(
    problem: Problem,
    state: State,
    series: Floats,
    growth: Floats,
    scaled: Floats,
    Y: Floats,
    part: Floats,
) -> None:  # pragma: no cover
    """Taylor coefficients of X at the present time, time in steps."""
    d = state.X.shape[0]
    series[0] = state.X
    for n in range(ORDER):
        for i in range(d):
            for j in range(d):
                growth[n, i, j] = problem.sums[i, j] * series[n, i, j]
                scaled[n, i, j] = state.square[i] * series[n, i, j]
                Y[i, j] = 0.0
        for k in range(n + 1):
            multiply(growth[k], scaled[n - k], part)
            for i in range(d):
                for j in range(d):
                    Y[i, j] += part[i, j]
        for i in range(d):
            for j in range(i, d):
                bracket = growth[n, i, j] - 0.5 * (Y[i, j] + Y[j, i])
                series[n + 1, i, j] = (problem.eta / (n + 1)) * bracket
                series[n + 1, j, i] = series[n + 1, i, j]


@compiled
def _reach(problem: Problem, series: Floats) -> float:  # pragma: no cover
    """Steps over which the series is right to TRUNCATION, from its last two coefficients."""
    d = series.shape[1]
    fastest = problem.eta * problem.signal.max()
    reach = LONGEST
    for i in range(d):
        for j in range(i, d):
            # The first derivative keeps the scale away from zero where an entry changes sign.
            size = abs(series[0, i, j])
            if fastest > 0.0:
                size += abs(series[1, i, j]) / fastest
            for n in range(ORDER - 1, ORDER + 1):
                last = abs(series[n, i, j])
                if last > 0.0 and size > 0.0:
                    reach = min(
                        reach,
                        math.exp((math.log(TRUNCATION) + math.log(size) - math.log(last)) / n),
                    )
    return reach


@compiled
def _evaluate(
    problem: Problem, state: State, series: Floats, at: float, block: Floats, place: int
) -> float:  # pragma: no cover
    """X at `at` steps after the expansion, also into the block.

    Returns the largest change among concepts with a > 0, or nan when X is not finite; X is then
    left as it was.
    """
    d = state.X.shape[0]
    total = 0.0
    for i in range(d):
        for j in range(i, d):
            value = series[ORDER, i, j]
            for n in range(ORDER - 1, -1, -1):
                value = value * at + series[n, i, j]
            total += abs(value * state.weight[i, j])
            block[i, j, place] = value
    if not total < np.inf:
        return math.nan
    largest = 0.0
    for i in range(d):
        for j in range(i, d):
            value = block[i, j, place]
            if problem.counted[i] and problem.counted[j]:
                largest = max(largest, abs((value - state.X[i, j]) * state.weight[i, j]))
            state.X[i, j] = value
            state.X[j, i] = value
    return largest


@compiled
def advance_flow(
    problem: Problem,
    state: State,
    record: Record,
    stop_at: int,
    budget: int,
    skip: bool,
    rest: bool,
) -> int:  # pragma: no cover
    """Run the flow until step stop_at, at rest, not finite, or out of budget.

    Parameters as for :func:`swingby.simulate.kernels.advance`.
    """
    counters = state.counters
    d = state.X.shape[0]
    series = np.empty((ORDER + 1, d, d))
    growth, scaled = np.empty((ORDER, d, d)), np.empty((ORDER, d, d))
    Y, part = np.empty((d, d)), np.empty((d, d))
    block, loss = np.empty((d, d, BLOCK)), np.empty((2, BLOCK))
    any_null = problem.null.any()
    if counters[STARTED] == 0:
        counters[STARTED] = 1
        if any_null:
            project_null(problem, state, part)
        observe(problem, state, record)
    spent = 0
    while counters[STEP] < stop_at:
        if spent >= budget:
            return BUDGET_SPENT
        renormalise(state)
        if any_null:
            project_null(problem, state, part)
        if skip and jump(problem, state, record, True, stop_at, part, 1, rest) > 0:
            observe(problem, state, record)
            continue
        _expand(problem, state, series, growth, scaled, Y, part)
        reach = _reach(problem, series)
        if not reach > 0.0:
            counters[DIVERGED] = counters[STEP] + 1
            return NOT_FINITE
        pieces = 1 if reach >= 1.0 else math.ceil(1.0 / reach)
        for _ in range(pieces - 1):
            _evaluate(problem, state, series, 1.0 / pieces, block, 0)
            _expand(problem, state, series, growth, scaled, Y, part)
        length = min(int(max(reach, 1.0)), stop_at - counters[STEP])
        base = counters[STEP]
        while counters[STEP] < base + length:
            before = counters[STEP]
            code = REACHED
            count = 0
            for n in range(min(BLOCK, base + length - before)):
                ahead = float(before + 1 + n - base) / pieces
                largest = _evaluate(problem, state, series, ahead, block, n)
                if math.isnan(largest):
                    code = NOT_FINITE
                    break
                count = n + 1
                if rest and pieces == 1 and largest <= REST and at_goal(problem, state, block, n):
                    code = CAME_TO_REST
                    break
            counters[STEP] = before + count
            counters[EXECUTED] += count
            spent += count
            observe_block(problem, state, block, count, before, loss)
            write_records(state, record, block, count, before)
            if code == NOT_FINITE:
                counters[DIVERGED] = before + count + 1
                return NOT_FINITE
            if code == CAME_TO_REST:
                counters[SETTLED] = before + count
                return CAME_TO_REST
        for k in range(d):
            state.still[k] = state.X[k, k] == series[0, k, k]
    return REACHED
