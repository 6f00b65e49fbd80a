r"""Compiled: jumps over steps in which W stays near a state with some concepts learned.

Let S be the concepts that are learned, |w_kk - 1| small, and R the others, all w_kk small. There
the dynamics are linear in the coordinates Z of :mod:`swingby.simulate.jump_coefficients`, so
n steps multiply every z_ij by its factor to the power n, whatever n. A jump is right to rounding
where the terms of the series that are left out are below 1e-17 of the entry at both ends. Terms
are compared with the entry itself, not with sqrt(w_ii w_jj): an entry that is small among its
peers keeps its relative accuracy, at the price that an exact zero which is about to be filled by
products of other entries is never jumped over. Each of them is geometric along the jump, so its
ends tell.

No event is lost. W stays so near to P that no level is reached. Entries move monotonically, so a
new peak is at the landing; an entry that still has to fall to half of its peak stops the jump
before it does; entries between two learned concepts follow the couplings and stay below their
peaks. Turns of the test loss are found in the closed form. A jump at whose end the LDL^T pivots
are no longer positive is shortened by bisection to its last good step. Recorded steps inside a
jump are evaluated in the same way. Where a run is to end at rest, the steps to it are taken.
Imports numba.
"""

from __future__ import annotations

import math

import numpy as np

from swingby.simulate.compiling import compiled, compiled_inside
from swingby.simulate.growth_table import KIND
from swingby.simulate.jump_coefficients import Expansion, expand, kept_order, threshold
from swingby.simulate.jump_expansion import fold, strain, unfold
from swingby.simulate.jump_landing import (
    carry,
    displacement,
    land,
    move_exponents,
    scale_up,
    write_inside,
)
from swingby.simulate.jump_length import (
    ends_at_identity,
    keeps_suppressed,
    longest_jump,
    may_be_linear,
    may_come_to_rest,
    overshoot,
)
from swingby.simulate.jump_loss import MOST_TURNS, turns_of_loss
from swingby.simulate.loss_kernels import watch_loss
from swingby.simulate.pivot_kernels import find_negative_pivot
from swingby.simulate.state import PSD_LOST, STEP, Floats, Problem, Record, State

#: Shorter jumps cost more than the steps.
SHORTEST_JUMP = 16
#: And in lanes, where a jump costs as much as two thousand steps: so many times the grain.
_SHORTEST_IN_LANES = 8
#: Landings tried before a jump is given up.
_MOST_TRIALS = 6


@compiled
def renormalise(state: State) -> None:  # pragma: no cover
    """Keep X away from overflow: move factors of two from x_kk to m_k, exactly."""
    d = state.X.shape[0]
    shift = np.zeros(d, dtype=np.int64)
    due = False
    for k in range(d):
        if state.exponent[k] < 0 and abs(state.X[k, k]) > 2.0**200:
            shift[k] = min(100, -state.exponent[k])
            due = True
    if due:
        for i in range(d):
            for j in range(d):
                state.X[i, j] = scale_up(state.X[i, j], -shift[i] - shift[j])
        move_exponents(state, shift)


@compiled
def jump(
    problem: Problem,
    state: State,
    record: Record,
    keeps_psd: bool,
    stop_at: int,
    work: Floats,
    grain: int,
    rest: bool,
) -> int:  # pragma: no cover
    """Jump as far as allowed, at most to step stop_at; the number of steps, 0 for none.

    A jump that does not reach stop_at is a multiple of `grain` steps long; with `rest` none
    begins where W may come to rest. Records inside the jump and at its end are written, and turns
    of the loss inside it noted; the other events of the landing are the caller's to look at.
    """
    t = state.counters[STEP]
    d = state.X.shape[0]
    left = stop_at - t
    learned = np.empty(d, dtype=np.bool_)
    order = kept_order(d, grain > 1)
    least = min(left, SHORTEST_JUMP if grain == 1 else _SHORTEST_IN_LANES * grain)
    reach = threshold(order)
    if left < SHORTEST_JUMP or not may_be_linear(problem, state, reach, least, learned):
        return 0
    if rest and may_come_to_rest(problem, learned):
        # Rounding decides at which step W no longer changes: the steps have to be taken.
        return 0
    growth = problem.growth
    if grain > 1 and ends_at_identity(growth, learned, left):
        for i in range(d):
            state.X[i, :] = 0.0
            state.X[i, i] = 1.0 / state.square[i]
        state.counters[STEP] = stop_at
        return int(left)
    Y, Z, ahead, landing = np.empty((d, d)), np.empty((d, d)), np.empty((d, d)), np.empty((d, d))
    T, rates = np.empty((4, d, d)), np.empty((d, d))
    if not displacement(growth, state, learned, Y):
        return 0
    kind = growth[0, KIND, 0, 0]
    expansion = expand(problem.signal, problem.eta, kind, learned, Y, state.square, order)
    fold(expansion, Y, state.square, Z, landing)
    if not strain(expansion, Z, state.square, least, T) <= 1.0:
        return 0
    if not keeps_suppressed(state, learned, T):
        return 0
    n = _whole(longest_jump(problem, state, expansion, Z, rates, left), left, grain)
    shift, square = np.zeros(d, dtype=np.int64), np.empty(d)
    fastest = 0.0
    for k in range(d):
        fastest = max(fastest, rates[k, k])
    for trial in range(_MOST_TRIALS + 1):
        if n < least or trial == _MOST_TRIALS:
            return 0
        land(growth, state, expansion, Y, Z, n, shift, square, ahead, landing)
        excess = strain(expansion, ahead, square, n, T)
        back = overshoot(state, expansion, rates, landing, shift)
        if not keeps_suppressed(state, learned, T):
            excess = math.inf
        if excess > 1.0:
            if fastest == 0.0:
                return 0
            growing = math.log2(excess) / expansion.order if excess < math.inf else 4.0
            back = max(back, (growing + 0.1) / fastest)
        if back <= 0.0:
            break
        n = _whole(n - max(back, 1.0), left, grain)
    watched = not keeps_psd and state.counters[PSD_LOST] < 0
    if watched and find_negative_pivot(landing, problem.order, work) >= 0:
        good, bad = 0, n
        while bad - good > 1:
            middle = (good + bad) // 2
            land(growth, state, expansion, Y, Z, middle, shift, square, ahead, landing)
            if find_negative_pivot(landing, problem.order, work) >= 0:
                bad = middle
            else:
                good = middle
        n = good - good % grain
        if n < least:
            return 0
        land(growth, state, expansion, Y, Z, n, shift, square, ahead, landing)
    _note_turns(problem, state, expansion, rates, Y, Z, n, ahead)
    write_inside(growth, state, record, expansion, Y, Z, n, ahead)
    state.X[:] = landing
    move_exponents(state, shift)
    state.counters[STEP] = t + n
    return n


@compiled
def _whole(length: float, left: int, grain: int) -> int:  # pragma: no cover
    """A length that may be jumped: a multiple of `grain`, or all that is left."""
    if length >= left:
        return left
    if not length >= 1.0:
        return 0
    n = int(length)
    return n - n % grain


@compiled_inside
def _note_turns(
    problem: Problem,
    state: State,
    expansion: Expansion,
    rates: Floats,
    Y: Floats,
    Z: Floats,
    n: int,
    ahead: Floats,
) -> None:  # pragma: no cover
    """Tell the events where the test loss turns within the jump.

    Whether and how far to jump does not depend on the test point: batches have none.
    """
    point = problem.point
    d = point.shape[0]
    if not point.any():
        return
    found = np.empty(MOST_TURNS, dtype=np.int64)
    extrema = (state.extremum_step, state.extremum_value, state.extremum_kind)
    start, V, one = np.empty((d, d)), np.empty((d, d)), np.ones(d)
    down = -state.exponent
    carry(problem.growth, expansion.learned, Z, 0, down, start)
    turns = turns_of_loss(problem.growth, point, expansion, rates, start, n, found)
    none = np.zeros(d, dtype=np.int64)
    for turn in range(turns):
        carry(problem.growth, expansion.learned, start, found[turn], none, ahead)
        unfold(expansion, ahead, one, V)
        loss = 0.0
        for i in range(d):
            residual = -point[i]
            for j in range(d):
                value = V[i, j]
                if i == j and expansion.learned[i]:
                    value += (state.X[i, i] - Y[i, i]) * state.square[i]
                residual += value * point[j]
            loss += residual * residual
        at = state.counters[STEP] + found[turn]
        watch_loss(state.turning, state.counters, extrema, at, 0.5 * loss)
