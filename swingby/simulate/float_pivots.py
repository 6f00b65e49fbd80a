"""Pivots of LDL^T during a run, in floats: where they turn negative, and where they stay zero.

Elimination goes through the concepts in descending order of the signal.
"""

from __future__ import annotations

import math

import numpy as np

from swingby.simulate.state import RunProblem
from swingby.theory.growth import growth_rates
from swingby.theory.numbers import Booleans, Floats, Integers

#: A pivot of LDL^T counts as negative below -PIVOT_ROUNDING * d * w_kk. Eliminating one concept
#: after the other from a positive semidefinite W changes the k-th pivot by at most about
#: (d + 1) 2^-53 w_kk, because no intermediate entry exceeds w_kk; eight times 2^-52 leaves room
#: for the rounding of the step itself, while a genuine loss moves the pivot by a relative
#: (eta (a_i - a_j))^2 per step and passes this bar at once.
PIVOT_ROUNDING = 8 * 2.0**-52

#: Between two projections rounding of 1e-16 may grow to 1e-12.
_NOISE_GROWTH = 1e4
#: Most steps between two projections.
_MOST_QUIET = 256


@np.errstate(all="ignore")
def rounding_in_steps(
    signal: Floats,
    eta: Floats,
    dynamics: str,
    log_diagonal: Floats,
    half_times: Floats,
    last: Floats,
    executed: Floats,
) -> Floats:
    """By how many steps rounding may move the half-time of each concept, (..., d).

    What grows from w_kk(0) would be at 1/2 after log(1/w_kk(0)) / g_kk steps. A concept that is so
    many e-folds later grows from a pivot that is smaller by as many, left by subtraction at the
    start or by the drift of euler; every computed step may have rounded it by 2^-53 w_kk. nan where
    that is more than the pivot itself, so that not even its sign is sure. `last`, `executed` (...):
    the last step, which stands for a half-time that is not reached, and computed steps. 0 where
    w_kk(0) is not positive.
    """
    growth = growth_rates(signal, eta, dynamics).diagonal(axis1=-2, axis2=-1)
    times = np.where(np.isnan(half_times), last[..., None], half_times)
    folds = np.nan_to_num(growth * times + np.minimum(log_diagonal, 0.0))
    share = np.minimum(times, executed[..., None]) * 2.0**-53 * np.exp(np.maximum(folds, 0.0))
    return np.where(signal > 0, np.where(share < 1, share / growth, np.nan), 0.0)


def in_order(matrices: Floats, order: Integers) -> Floats:
    """Matrices (m, d, d) with the concepts of each in its own order (m, d)."""
    return matrices[np.arange(len(matrices))[:, None, None], order[:, :, None], order[:, None, :]]


def negative_pivots(M: Floats) -> Integers:
    """The first place k whose LDL^T pivot is negative, -1 for none, of matrices (d, d, n).

    Rows and columns are in the order of elimination; works on X as on W, which have the same
    inertia. A pivot of zero to rounding must have a zero row: otherwise the 2 x 2 minor with the
    offending concept is negative.
    """
    d = len(M)
    schur, first = M.copy(), np.full(M.shape[2], -1, dtype=np.int64)
    rounding = PIVOT_ROUNDING * d * np.abs(M[np.arange(d), np.arange(d)])
    with np.errstate(all="ignore"):
        for k in range(d):
            pivot, row = schur[k, k], schur[k, k + 1 :].copy()
            first[(first < 0) & ~(pivot >= -rounding[k])] = k
            zero = pivot <= rounding[k]
            factor = row / pivot
            if zero.any():
                slack = (schur[range(k + 1, d), range(k + 1, d)] + rounding[k + 1 :]) * (
                    pivot + rounding[k]
                )
                wrong = zero & (first < 0) & (row * row > slack)
                if wrong.any():
                    first = np.where(wrong.any(axis=0), k + 1 + wrong.argmax(axis=0), first)
                factor = np.where(zero | (row == 0.0), 0.0, factor)
            schur[k + 1 :, k + 1 :] -= factor[:, None] * row[None]
    return first


def quiet_steps(fastest: float) -> int:
    """The number of steps between two projections: a power of two.

    `fastest` is the largest eta a. What rounding makes of an absent component grows by at most
    (1 + eta a)^2 a step; it is not to grow by more than NOISE_GROWTH.
    """
    steps = _MOST_QUIET
    while steps > 1 and 2.0 * steps * math.log1p(fastest) > math.log(_NOISE_GROWTH):
        steps //= 2
    return steps


def without_null(problem: RunProblem, X: Floats) -> Floats:
    """X with the pivots of the null concepts back at exactly zero."""
    if not problem.null.any():
        return X
    return np.asarray(without_null_many(X[None], problem.null[None], problem.order[None])[0])


def without_null_many(X: Floats, null: Booleans, order: Integers) -> Floats:
    """Matrices (m, d, d) with the pivots of their null concepts (m, d) back at exactly zero.

    gd and the flow keep the rank of W; in floats a zero pivot becomes rounding noise, which would
    then grow like a concept. Only the Schur complement rows of null concepts are removed, and they
    are nothing but that noise. Concepts are eliminated in `order` (m, d).
    """
    ordered = in_order(X, order)
    schur, absent = ordered.copy(), np.take_along_axis(null, order, axis=1)
    with np.errstate(all="ignore"):
        for k in range(X.shape[1]):
            row = np.where(
                absent[:, k, None], ordered[:, k, k:] - schur[:, k, k:], ordered[:, k, k:]
            )
            ordered[:, k, k:], ordered[:, k:, k] = row, row
            pivot = schur[:, k, k]
            eliminated = (~absent[:, k] & (pivot > 0.0))[:, None]
            factor = np.where(eliminated, schur[:, k, k + 1 :] / pivot[:, None], 0.0)
            schur[:, k + 1 :, k + 1 :] -= factor[:, :, None] * schur[:, k, None, k + 1 :]
    return in_order(ordered, np.argsort(order, axis=1))
