"""Compiled: pivots of LDL^T along a run. Imports numba, so import it late."""

from __future__ import annotations

import math

import numpy as np

from swingby.simulate.compiling import compiled
from swingby.simulate.state import Floats, Integers, Problem, State
from swingby.simulate.step_source import BLOCK
from swingby.simulate.vectors import (
    WIDTH,
    absolute,
    aligned,
    count_above,
    fused,
    load,
    spread,
    store,
)

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
def clearly_positive(matrix: Floats, order: Integers, bar: float) -> bool:  # pragma: no cover
    """Whether every LDL^T pivot, concepts taken in this order, is above `bar` times w_kk."""
    d = matrix.shape[0]
    rest = np.empty((d, d))
    for i in range(d):
        for j in range(i, d):
            rest[i, j] = matrix[order[i], order[j]]
    for k in range(d):
        if not rest[k, k] > bar * matrix[order[k], order[k]]:
            return False
        for i in range(k + 1, d):
            factor = rest[k, i] / rest[k, k]
            for j in range(i, d):
                rest[i, j] -= factor * rest[k, j]
    return True


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


#: Up to these dimensions what belongs to sixteen steps fits into the first cache, and what belongs
#: to eight into the second.
SIXTEEN_STEPS, EIGHT_STEPS = 24, 96


@compiled
def pivot_work(d: int) -> Floats:  # pragma: no cover
    """Room for :func:`first_doubtful`."""
    if d <= SIXTEEN_STEPS:
        # Rows of U and factors of L, two vectors of each entry.
        return aligned(4 * WIDTH * d * d)
    if d <= EIGHT_STEPS:
        return aligned(WIDTH * d * d)
    return aligned(d * (d + 3 * WIDTH))


@compiled
def _all_clear(block: Floats, order: Integers, n: int, work: Floats) -> bool:  # pragma: no cover
    """Whether the pivots at one place of the block are clearly positive: rows in vectors."""
    d = block.shape[0]
    # Whole vectors, odd in number: rows a power of two apart would share places of the cache.
    width = WIDTH * ((d + WIDTH - 1) // WIDTH | 1)
    bar = PIVOT_ROUNDING * d
    for i in range(d):
        own = order[i]
        for j in range(i, d):
            row, column = min(own, order[j]), max(own, order[j])
            work[i * width + j] = block[row, column, n]
    for k in range(d):
        pivot, own = work[k * width + k], order[k]
        if not pivot > bar * abs(block[own, own, n]):
            return False
        inverse = -1.0 / pivot
        for i in range(k + 1, d):
            factor = spread(work[k * width + i] * inverse)
            for j in range(i - i % WIDTH, d, WIDTH):
                at = i * width + j
                store(work, at, fused(factor, load(work, k * width + j), load(work, at)))
    return True


@compiled
def _first_of_eight(
    block: Floats, order: Integers, count: int, work: Floats
) -> int:  # pragma: no cover
    """Do what :func:`first_doubtful` does, eight steps side by side, row after row taken away."""
    d, length = block.shape[0], block.shape[2]
    bar = spread(PIVOT_ROUNDING * d)
    for first in range(0, count, WIDTH):
        for i in range(d):
            for j in range(i, d):
                row, column = min(order[i], order[j]), max(order[i], order[j])
                x = load(block, (row * d + column) * length + first)
                store(work, (i * d + j) * WIDTH, x)
        clear = min(WIDTH, count - first)
        for k in range(d):
            own = order[k]
            pivot = load(work, (k * d + k) * WIDTH)
            diagonal = load(block, (own * d + own) * length + first)
            clear = min(clear, count_above(pivot, bar * absolute(diagonal)))
            if clear == 0:
                return first
            inverse = spread(-1.0) / pivot
            for i in range(k + 1, d):
                factor = load(work, (k * d + i) * WIDTH) * inverse
                for j in range(i, d):
                    at = (i * d + j) * WIDTH
                    x = load(work, (k * d + j) * WIDTH)
                    store(work, at, fused(factor, x, load(work, at)))
        if clear < min(WIDTH, count - first):
            return first + clear
    return count


@compiled
def _first_of_sixteen(
    block: Floats, order: Integers, count: int, work: Floats
) -> int:  # pragma: no cover
    """Do what :func:`first_doubtful` does, sixteen steps side by side, every entry in one sum."""
    d, length = block.shape[0], block.shape[2]
    bar = spread(PIVOT_ROUNDING * d)
    half = 2 * WIDTH
    for first in range(0, count, half):
        # In a block of eight steps, and at its end, the second vector is the first once more.
        second = WIDTH if first + WIDTH < count else 0
        clear, later = WIDTH, WIDTH
        for i in range(d):
            own = order[i]
            for j in range(i, d):
                row, column = min(own, order[j]), max(own, order[j])
                at = (row * d + column) * length + first
                x, y = load(block, at), load(block, at + second)
                for k in range(i):
                    factor, other = 2 * half * (k * d + i), 2 * half * (k * d + j) + half
                    x = fused(load(work, factor), load(work, other), x)
                    y = fused(load(work, factor + WIDTH), load(work, other + WIDTH), y)
                at = 2 * half * (i * d + j)
                store(work, at + half, x)
                store(work, at + half + WIDTH, y)
            at = (own * d + own) * length + first
            x, y = absolute(load(block, at)), absolute(load(block, at + second))
            at = 2 * half * (i * d + i) + half
            pivot, next_pivot = load(work, at), load(work, at + WIDTH)
            clear = min(clear, count_above(pivot, bar * x))
            later = min(later, count_above(next_pivot, bar * y))
            if clear == 0:
                return first
            inverse, next_inverse = spread(-1.0) / pivot, spread(-1.0) / next_pivot
            for j in range(i + 1, d):
                at = 2 * half * (i * d + j)
                store(work, at, load(work, at + half) * inverse)
                store(work, at + WIDTH, load(work, at + half + WIDTH) * next_inverse)
        if clear < WIDTH:
            return min(first + clear, count)
        if second and later < WIDTH:
            return min(first + WIDTH + later, count)
    return count


@compiled
def first_doubtful(
    block: Floats, order: Integers, count: int, work: Floats
) -> int:  # pragma: no cover
    """The first place in the block whose LDL^T pivots are not all clearly positive, or count.

    The arithmetic is that of :func:`find_negative_pivot` up to the order of the sums, with the
    places of the block side by side as long as they fit into the caches. The last axis of the
    block holds whole vectors; `work` is from :func:`pivot_work`.
    """
    d = block.shape[0]
    if d <= SIXTEEN_STEPS:
        return _first_of_sixteen(block, order, count, work)
    if d <= EIGHT_STEPS:
        return _first_of_eight(block, order, count, work)
    # The pivots of a large W take as long as a step; a W that is lost stays so for longer than a
    # block, which is eight steps here.
    if count == 0 or _all_clear(block, order, count - 1, work):
        return count
    for n in range(count - 1):
        if not _all_clear(block, order, n, work):
            return n
    return count - 1
