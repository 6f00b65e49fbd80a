"""Compiled: pivots of LDL^T along a run. Imports numba, so import it late."""

from __future__ import annotations

import math

import numpy as np

from swingby.simulate.compiling import compiled
from swingby.simulate.state import Floats, Integers, Problem, State
from swingby.simulate.step_source import BLOCK

#: A pivot of LDL^T counts as negative below -PIVOT_ROUNDING * d * w_kk. Eliminating one concept
#: after the other from a positive semidefinite W changes the k-th pivot by at most about
#: (d + 1) 2^-53 w_kk, because no intermediate entry exceeds w_kk; eight times 2^-52 leaves room
#: for the rounding of the step itself, while a genuine loss moves the pivot by a relative
#: (eta (a_i - a_j))^2 per step and passes this bar at once.
PIVOT_ROUNDING = 8 * 2.0**-52
#: Between two projections rounding of 1e-16 may grow to 1e-12.
NOISE_GROWTH = 1e4


@compiled
def find_negative_pivot(X: Floats, order: Integers, work: Floats) -> int:  # pragma: no cover
    """The first concept, in the given order, whose LDL^T pivot is negative; -1 for none.

    Works on X as on W, which have the same inertia. A pivot of zero to rounding must have a
    zero row: otherwise the 2 x 2 minor with the offending concept is negative.
    """
    d = X.shape[0]
    bar = PIVOT_ROUNDING * d
    for i in range(d):
        for j in range(i, d):
            work[i, j] = X[order[i], order[j]]
    for k in range(d):
        pivot = work[k, k]
        rounding = bar * abs(X[order[k], order[k]])
        if pivot < -rounding or math.isnan(pivot):
            return int(order[k])
        if pivot <= rounding:
            for j in range(k + 1, d):
                slack = (work[j, j] + bar * abs(X[order[j], order[j]])) * (pivot + rounding)
                if work[k, j] * work[k, j] > slack:
                    return int(order[j])
            continue
        for i in range(k + 1, d):
            if work[k, i] != 0.0:
                factor = work[k, i] / pivot
                for j in range(i, d):
                    work[i, j] -= factor * work[k, j]
    return -1


@compiled
def quiet_steps(fastest: float) -> int:  # pragma: no cover
    """How many steps may lie between two projections: a power of two, at most BLOCK.

    `fastest` is the largest eta a. What rounding makes of an absent component grows by at most
    (1 + eta a)^2 a step; it is not to grow by more than NOISE_GROWTH.
    """
    steps = BLOCK
    while steps > 1 and 2.0 * steps * math.log1p(fastest) > math.log(NOISE_GROWTH):
        steps //= 2
    return steps


@compiled
def project_null(problem: Problem, state: State, work: Floats) -> None:  # pragma: no cover
    """Put the pivots of the null concepts back to exactly zero.

    Gradient descent on U and its flow keep the rank of W; in floats a zero pivot becomes
    rounding noise, which would then grow like a concept. Only the Schur complement rows of null
    concepts are removed, and they are nothing but that noise.
    """
    X, order = state.X, problem.order
    d = X.shape[0]
    for i in range(d):
        for j in range(d):
            work[i, j] = X[order[i], order[j]]
    for k in range(d):
        if problem.null[order[k]]:
            for j in range(k, d):
                X[order[k], order[j]] -= work[k, j]
                X[order[j], order[k]] = X[order[k], order[j]]
            continue
        pivot = work[k, k]
        if pivot > 0.0:
            for i in range(k + 1, d):
                factor = work[k, i] / pivot
                for j in range(i, d):
                    work[i, j] -= factor * work[k, j]


@compiled
def first_doubtful(
    block: Floats, order: Integers, count: int, work: Floats
) -> int:  # pragma: no cover
    """The first place in the block whose LDL^T pivots are not all clearly positive, or count.

    `work` is scratch of shape (d + 1, d, block length). The arithmetic is that of
    :func:`find_negative_pivot`, with the places of the block in lanes.
    """
    d = block.shape[0]
    bar = PIVOT_ROUNDING * d
    doubtful = count
    for i in range(d):
        for j in range(i, d):
            row, column = min(order[i], order[j]), max(order[i], order[j])
            for n in range(count):
                work[i, j, n] = block[row, column, n]
    for k in range(d):
        own = order[k]
        worst = np.inf
        for n in range(count):
            worst = min(worst, work[k, k, n] - bar * abs(block[own, own, n]))
        if not worst > 0.0:
            for n in range(doubtful):
                if not work[k, k, n] > bar * abs(block[own, own, n]):
                    doubtful = n
                    break
        for i in range(k + 1, d):
            for n in range(doubtful):
                work[d, 0, n] = work[k, i, n] / work[k, k, n]
            for j in range(i, d):
                for n in range(doubtful):
                    work[i, j, n] -= work[d, 0, n] * work[k, j, n]
    return doubtful
