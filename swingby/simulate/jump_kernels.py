r"""Compiled: jumps over steps in which the dynamics are linear to rounding. Imports numba.

Let S be the concepts that are learned and have stopped moving, R the others. Write the sum of
(D.3) for an entry (i, j) with i, j in R, or with one of them in R, as its linear part (see
:mod:`swingby.simulate.growth_table`) plus the terms

.. math:: \tfrac12 \eta\, w_{il} w_{lj} (a_i + a_j + 2 a_l),

l running over all concepts but, when i or j is in S, that one (its term is the linear part). A
jump over n steps multiplies every entry by its factor to the power n, and is right to rounding
when these terms, summed over the jump and relative to the entry, stay below NEGLIGIBLE. Along the
jump each of them, divided by the entry, is itself a geometric sequence with logarithm
r = g_il + g_lj - g_ij, so the sum is at most the larger end value divided by min(1, |r|). Terms
are compared with the entry itself, not with sqrt(w_ii w_jj): an entry that is small among its
peers keeps its relative accuracy, at the price that an exact zero which is about to be filled by
products of other entries is never jumped over. For w_kj with k learned, w_ki w_kj against w_ij
is the condition on the coupling. The terms of higher order in gd are smaller by eta a.

Entries between two learned concepts are slaves of the couplings (they follow w_ki w_kj and have
no event left once suppressed); they are damped and otherwise ignored.

No event is lost. All moving entries stay below TINY = 1e-17, so no level is reached and the test
loss does not change in floats; entries move monotonically, so a new peak is at the landing; an
entry that still has to fall to half of its peak stops the jump before it does; a jump at whose
end the LDL^T pivots are no longer positive is shortened by bisection to its last good step;
recorded steps inside a jump are evaluated with the same powers.
"""

from __future__ import annotations

import math

import numpy as np

from swingby.simulate.compiling import compiled
from swingby.simulate.growth_table import AT_ONCE, BOTH, FIRST, NEITHER
from swingby.simulate.pivot_kernels import find_negative_pivot
from swingby.simulate.state import (
    PSD_LOST,
    RECORDED,
    STEP,
    Booleans,
    Floats,
    Integers,
    Problem,
    Record,
    State,
)

LOG_TINY = math.log2(1e-17)
LOG_NEGLIGIBLE = math.log2(1e-17)
#: A learned concept is this close to 1 and does not move.
LEARNED = 1e-6
#: Shorter jumps cost more than the steps.
SHORTEST_JUMP = 16
_SMALLEST_RATE = 1e-9
_LARGEST_EXPONENT = 1000.0


@compiled
def power(high: float, low: float, n: int) -> tuple[int, float]:  # pragma: no cover
    """The power 2^(n (high + low)) as (k, f), meaning f 2^k with 0.7 <= f <= 1.5."""
    count = float(n)
    product = count * high
    scaled = 134217729.0 * count
    count_high = scaled - (scaled - count)
    count_low = count - count_high
    scaled = 134217729.0 * high
    high_high = scaled - (scaled - high)
    high_low = high - high_high
    error = count_high * high_high - product
    error += count_high * high_low + count_low * high_high
    error += count_low * high_low
    whole = math.floor(product + 0.5)
    rest = (product - whole) + (error + count * low)
    return int(whole), 2.0**rest


@compiled
def scale_up(value: float, exponent: int) -> float:  # pragma: no cover
    """The number ``value 2^exponent``, 0 below about 1e-300 (subnormals are slow)."""
    if value == 0.0 or exponent + math.frexp(value)[1] < -_LARGEST_EXPONENT:
        return 0.0
    return math.ldexp(value, min(exponent, 3000))


@compiled
def rate_of(
    growth: Floats, learned: Booleans, i: int, j: int
) -> tuple[float, float]:  # pragma: no cover
    """Binary logarithm of the factor of entry (i, j), as a sum of two floats."""
    if learned[i] and learned[j]:
        return growth[0, BOTH, i, j], growth[1, BOTH, i, j]
    if learned[i]:
        return growth[0, FIRST, i, j], growth[1, FIRST, i, j]
    if learned[j]:
        return growth[0, FIRST, j, i], growth[1, FIRST, j, i]
    return growth[0, NEITHER, i, j], growth[1, NEITHER, i, j]


@compiled
def longest_jump(
    problem: Problem, state: State, learned: Booleans, limit: int
) -> int:  # pragma: no cover
    """How many steps are linear to rounding and free of events; fills `learned`."""
    X, growth = state.X, problem.growth
    d = X.shape[0]
    for k in range(d):
        value = X[k, k] * state.weight[k, k]
        learned[k] = abs(value - 1.0) < LEARNED and state.still[k]
        if not learned[k] and abs(value) > 1e-17 and growth[0, NEITHER, k, k] != 0.0:
            return 0
    # Sizes of the entries of W, and of X for the ratios below, as binary logarithms.
    sizes = np.empty((d, d))
    rates = np.empty((d, d))
    for i in range(d):
        for j in range(i, d):
            sizes[i, j] = -np.inf
            if X[i, j] != 0.0:
                sizes[i, j] = math.log2(abs(X[i, j])) + float(state.exponent[i] + state.exponent[j])
            high, low = rate_of(growth, learned, i, j)
            rates[i, j] = high + low
            sizes[j, i] = sizes[i, j]
            rates[j, i] = rates[i, j]
    longest = float(limit)
    for i in range(d):
        for j in range(i, d):
            if learned[i] and learned[j]:
                if i == j or X[i, j] == 0.0:
                    continue
                if sizes[i, j] > LOG_TINY or state.suppressed[i, j] < 0:
                    return 0
                continue
            rate, size = rates[i, j], sizes[i, j]
            if X[i, j] != 0.0:
                if rate <= 0.5 * AT_ONCE or (rate != 0.0 and size > LOG_TINY):
                    return 0
                if rate > 0.0:
                    longest = min(longest, (LOG_TINY - size) / rate)
                elif rate < 0.0 and state.suppressed[i, j] < 0 and i != j:
                    half = math.log2(0.5 * abs(state.peak[i, j]) / abs(X[i, j]))
                    longest = min(longest, half / rate - 2.0)
            for k in range(d):
                if (learned[i] and k == i) or (learned[j] and k == j):
                    continue
                factor = problem.eta * (problem.sums[i, j] + 2.0 * problem.signal[k])
                if factor == 0.0 or sizes[i, k] == -np.inf or sizes[k, j] == -np.inf:
                    continue
                if X[i, j] == 0.0:
                    return 0
                slope = -rate
                slope += 0.0 if learned[i] and learned[k] else rates[i, k]
                slope += 0.0 if learned[k] and learned[j] else rates[k, j]
                term = sizes[i, k] + sizes[k, j] - size + math.log2(factor)
                term -= math.log2(min(1.0, max(abs(slope), _SMALLEST_RATE)))
                if term > LOG_NEGLIGIBLE:
                    return 0
                if slope > 0.0:
                    longest = min(longest, (LOG_NEGLIGIBLE - term) / slope)
    if longest < SHORTEST_JUMP:
        return 0
    return int(longest)


@compiled
def land(
    problem: Problem,
    state: State,
    learned: Booleans,
    n: int,
    landing: Floats,
    shift: Integers,
) -> None:  # pragma: no cover
    """X and the change of the exponents m after a jump over n steps."""
    X = state.X
    d = X.shape[0]
    for k in range(d):
        shift[k] = 0
        if not learned[k] and state.exponent[k] < 0 and X[k, k] != 0.0:
            high, low = rate_of(problem.growth, learned, k, k)
            whole, _ = power(high, low, n)
            grown = (whole + math.frexp(X[k, k])[1]) // 2
            shift[k] = max(0, min(grown, -state.exponent[k]))
    for i in range(d):
        for j in range(i, d):
            if (i == j and learned[i]) or X[i, j] == 0.0:
                landing[i, j] = X[i, j]
            else:
                high, low = rate_of(problem.growth, learned, i, j)
                whole, rest = power(high, low, n)
                landing[i, j] = scale_up(X[i, j] * rest, whole - shift[i] - shift[j])
            landing[j, i] = landing[i, j]


@compiled
def move_exponents(state: State, shift: Integers) -> None:  # pragma: no cover
    """Raise m by `shift`; X is in the new scale already, the peaks follow here."""
    d = state.X.shape[0]
    for k in range(d):
        state.exponent[k] += shift[k]
    for i in range(d):
        state.square[i] = scale_up(1.0, 2 * state.exponent[i])
        for j in range(d):
            state.peak[i, j] = scale_up(state.peak[i, j], -shift[i] - shift[j])
            state.weight[i, j] = scale_up(1.0, state.exponent[i] + state.exponent[j])


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
) -> int:  # pragma: no cover
    """Jump as far as allowed, at most to step stop_at; the number of steps, 0 for none.

    A jump that does not reach stop_at is a multiple of `grain` steps long. Records inside the jump
    and at its end are written; the other events of the landing are the caller's to look at.
    """
    t = state.counters[STEP]
    d = state.X.shape[0]
    learned = np.zeros(d, dtype=np.bool_)
    n = longest_jump(problem, state, learned, stop_at - t)
    if n < stop_at - t:
        n -= n % grain
    if n < SHORTEST_JUMP:
        return 0
    landing = np.empty((d, d))
    shift = np.zeros(d, dtype=np.int64)
    land(problem, state, learned, n, landing, shift)
    watched = not keeps_psd and state.counters[PSD_LOST] < 0
    if watched and find_negative_pivot(landing, problem.order, work) >= 0:
        good, bad = 0, n
        while bad - good > 1:
            middle = (good + bad) // 2
            land(problem, state, learned, middle, landing, shift)
            if find_negative_pivot(landing, problem.order, work) >= 0:
                bad = middle
            else:
                good = middle
        n = good - good % grain
        if n < SHORTEST_JUMP:
            return 0
        land(problem, state, learned, n, landing, shift)
    place = state.counters[RECORDED]
    while place < record.steps.shape[0] and record.steps[place] <= t + n:
        ahead = record.steps[place] - t
        for i in range(d):
            for j in range(d):
                if i == j and learned[i]:
                    record.W[place, i, j] = state.X[i, j] * state.weight[i, j]
                    continue
                high, low = rate_of(problem.growth, learned, i, j)
                whole, rest = power(high, low, ahead)
                whole += state.exponent[i] + state.exponent[j]
                record.W[place, i, j] = scale_up(state.X[i, j] * rest, whole)
        place += 1
    state.counters[RECORDED] = place
    state.X[:] = landing
    move_exponents(state, shift)
    state.counters[STEP] = t + n
    return n
