"""Compiled: trajectories arranged for the lanes, one pass over all of them. Imports numba."""

from __future__ import annotations

import math

import numpy as np

from swingby.simulate.compiling import compiled, compiled_inside
from swingby.simulate.lanes.rows import Rows
from swingby.simulate.missing import CLEARLY_POSITIVE
from swingby.simulate.pivot_kernels import find_negative_pivot
from swingby.simulate.state import PLAIN_RANGE, Booleans, Floats, Integers
from swingby.theory.initial import LARGEST_ENTRY, SYMMETRY_TOLERANCE

#: What `check` says of a matrix.
FINE, NOT_SYMMETRIC, ZERO_MATRIX, TOO_LARGE = range(4)
_LARGEST = float(LARGEST_ENTRY)


@compiled
def check(matrices: Floats, definite: bool) -> tuple[int, int, Booleans]:  # pragma: no cover
    """The first matrix (m, d, d) to refuse and why, or -1 and FINE.

    Where they have to be positive semidefinite, also which of them floats leave a doubt about.
    """
    total, d = matrices.shape[:2]
    doubtful = np.zeros(total, dtype=np.bool_)
    natural, M, work = np.arange(d), np.empty((d, d)), np.empty((d, d))
    for n in range(total):
        largest, apart = 0.0, 0.0
        for i in range(d):
            for j in range(i, d):
                upper, lower = matrices[n, i, j], matrices[n, j, i]
                largest = max(largest, abs(upper), abs(lower))
                apart = max(apart, abs(upper - lower))
                M[i, j], M[j, i] = upper, upper
        if apart > SYMMETRY_TOLERANCE * largest:
            return n, NOT_SYMMETRIC, doubtful
        if largest == 0.0:
            return n, ZERO_MATRIX, doubtful
        if largest > _LARGEST:
            return n, TOO_LARGE, doubtful
        if definite:
            doubtful[n] = not _clearly_positive(M, natural, work)
    return -1, FINE, doubtful


@compiled
def arrange(
    signal: Floats,
    W0: Floats,
    eta: Floats,
    mantissa: Floats,
    shift: Integers,
    point: Floats,
    swing: float,
    gd: bool,
    at: Rows,
    numbers: Floats,
    exponent: Integers,
    order: Integers,
    log_smallest: Floats,
) -> Booleans:  # pragma: no cover
    """Fill numbers (m, loaded), exponent (m, d) and order (m, d) of a queue.

    W(0) is ``mantissa 2^shift W0``, held as D X D, m = 0 where W(0) allows, as
    :func:`swingby.simulate.state.make_state` does it; `swing` is relative to the initial test
    loss; not positive where trajectories are not watched. Also fills log_smallest (m,): the
    logarithm of the smallest positive w_kk, or 0 if that is more. Returns for which of the m
    trajectories floats leave a doubt whether all pivots of W(0) are positive.
    """
    total, d = signal.shape
    unclear = np.zeros(total, dtype=np.bool_)
    M, X, work = np.empty((d, d)), np.empty((d, d)), np.empty((d, d))
    for n in range(total):
        place = at.X
        for i in range(d):
            for j in range(i, d):
                # Half of each, lest the sum overflow.
                M[i, j] = (W0[n, i, j] / 2 + W0[n, j, i] / 2) * mantissa[n]
                M[j, i] = M[i, j]
        _order(signal, n, order)
        unclear[n] = not _clearly_positive(M, order[n], work)
        log_smallest[n] = 0.0
        for k in range(d):
            if M[k, k] > 0.0:
                log_entry = math.log(M[k, k]) + shift[n] * math.log(2.0)
                log_smallest[n] = min(log_smallest[n], log_entry)
        _exponents(M, shift[n], exponent, n)
        for i in range(d):
            for j in range(i, d):
                X[i, j] = M[i, j]
                moved = shift[n] - exponent[n, i] - exponent[n, j]
                if moved != 0:
                    X[i, j] = math.ldexp(M[i, j], moved)
                X[j, i] = X[i, j]
                numbers[n, place] = X[i, j]
                place += 1
        for k in range(d):
            square = math.ldexp(1.0, max(2 * exponent[n, k], -3000))
            bar = 0.5 / square
            numbers[n, at.below + k] = 0.0 if X[k, k] >= bar else 1.0
            numbers[n, at.waited + k] = -1.0 if X[k, k] >= bar else 0.0
            numbers[n, at.past + k] = np.nan
            numbers[n, at.rates + k] = eta[n] * signal[n, k]
            numbers[n, at.square + k] = square
            numbers[n, at.bar + k] = bar
        numbers[n, at.null] = 0.0
        lost = not gd and unclear[n] and find_negative_pivot(X, order[n], work) >= 0
        numbers[n, at.lost] = 1.0 if lost else 0.0
        if swing > 0.0:
            _watch(X, exponent, point, swing, at, numbers, n)
    return unclear


@compiled_inside
def _order(signal: Floats, n: int, order: Integers) -> None:  # pragma: no cover
    """Concepts by descending a; equal ones as they come."""
    for k in range(signal.shape[1]):
        place = k
        while place > 0 and signal[n, order[n, place - 1]] < signal[n, k]:
            order[n, place] = order[n, place - 1]
            place -= 1
        order[n, place] = k


@compiled_inside
def _clearly_positive(M: Floats, order: Integers, work: Floats) -> bool:  # pragma: no cover
    """Whether every pivot of LDL^T is positive beyond rounding."""
    d = M.shape[0]
    for i in range(d):
        # Relative to the diagonal, so that nothing underflows.
        if not M[order[i], order[i]] > 0.0:
            return False
    for i in range(d):
        for j in range(i, d):
            root = math.sqrt(M[order[i], order[i]]) * math.sqrt(M[order[j], order[j]])
            work[i, j] = M[order[i], order[j]] / root
    for k in range(d):
        if not work[k, k] > CLEARLY_POSITIVE:
            return False
        for i in range(k + 1, d):
            factor = work[k, i] / work[k, k]
            for j in range(i, d):
                work[i, j] -= factor * work[k, j]
    return True


@compiled_inside
def _exponents(M: Floats, shift: int, exponent: Integers, n: int) -> None:  # pragma: no cover
    d = M.shape[0]
    smallest = 0
    first = True
    for k in range(d):
        exponent[n, k] = 0
        if M[k, k] != 0.0:
            size = math.frexp(M[k, k])[1] + shift
            smallest = size if first else min(smallest, size)
            first = False
    if smallest < PLAIN_RANGE or shift < -900:
        for k in range(d):
            size = math.frexp(M[k, k])[1] + shift if M[k, k] != 0.0 else smallest
            exponent[n, k] = min(0, size // 2)


@compiled_inside
def _watch(
    X: Floats,
    exponent: Integers,
    point: Floats,
    swing: float,
    at: Rows,
    numbers: Floats,
    n: int,
) -> None:  # pragma: no cover
    """What a watched trajectory begins with: the test loss and the largest entry i < j."""
    d = X.shape[0]
    loss, largest = 0.0, 0.0
    for i in range(d):
        root = math.ldexp(1.0, max(exponent[n, i], -1500))
        output = 0.0
        for j in range(d):
            weight = root * math.ldexp(1.0, max(exponent[n, j], -1500))
            output += X[i, j] * weight * point[n, j]
            if i != j:
                largest = max(largest, abs(X[i, j] * weight))
        loss += 0.5 * (output - point[n, i]) ** 2
        numbers[n, at.point + i] = point[n, i]
        numbers[n, at.root + i] = root
    numbers[n, at.low], numbers[n, at.high] = loss, loss
    numbers[n, at.heading], numbers[n, at.descents] = 0.0, 0.0
    numbers[n, at.transient] = largest
    # A loss of zero has nothing to descend from.
    numbers[n, at.swing] = swing * loss if loss > 0.0 else np.inf


@compiled
def distinct(signal: Floats, eta: Floats) -> tuple[Integers, Integers]:  # pragma: no cover
    """One trajectory of each different pair of signal and eta, and which pair is whose.

    In a sweep many share them, and what is computed from a pair costs as much as hundreds of
    steps.
    """
    total, d = signal.shape
    size = 16
    while size < 2 * total:
        size *= 2
    slots = np.full(size, -1, dtype=np.int64)
    which, first = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.int64)
    found = 0
    for n in range(total):
        if n > 0 and _same(signal, eta, n, n - 1):
            which[n] = which[n - 1]
            continue
        # Mantissas and exponents mixed; the values that collide are compared.
        mixed = math.frexp(eta[n])[0] + 1e-3 * math.frexp(eta[n])[1]
        for k in range(d):
            part = math.frexp(signal[n, k])
            mixed = mixed * 1.6180339887 + part[0] + 1e-3 * part[1]
        slot = int(math.frexp(abs(mixed) + 1.0)[0] * 2.0**52) * 40503 % size
        while slots[slot] >= 0 and not _same(signal, eta, n, first[slots[slot]]):
            slot = (slot + 1) % size
        if slots[slot] < 0:
            slots[slot], first[found] = found, n
            found += 1
        which[n] = slots[slot]
    return first[:found].copy(), which


@compiled_inside
def _same(signal: Floats, eta: Floats, n: int, m: int) -> bool:  # pragma: no cover
    different = eta[n] != eta[m]
    for k in range(signal.shape[1]):
        different |= signal[n, k] != signal[m, k]
    return not different
