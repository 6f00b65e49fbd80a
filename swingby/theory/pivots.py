r"""Pivots of the initial matrix, propagated from stage to stage.

Set M = W(0) and t = 0. For the concepts in descending order of a: let M grow linearly until
:math:`M_{kk} = 1`, which takes :math:`-\log M_{kk} / g_{kk}` steps, then take the Schur
complement :math:`M \leftarrow M - M_{\cdot k} M_{k \cdot} / M_{kk}` on the concepts left. For gd
and the flow growth commutes with the Schur complement and the result is the LDL^T factorization
of W(0); under euler the correlations drift while k grows, which can turn a pivot negative.

Everything is kept as sign and logarithm, so W(0) may lie far below the float range.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from swingby.theory import finite_step

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: A pivot uncertain by exp(31) = 3e13 roundings or more is nothing but rounding.
MOST_ROUNDING = 31.0


@dataclass(frozen=True, eq=False)
class Pivots:
    """The factorization L diag(pivot) L^T of M, referred back to t = 0.

    All arrays are in descending order of a.

    Parameters
    ----------
    sign : ndarray of shape (d,)
        1, 0 or -1; 0 also where only rounding is left of a pivot.
    log : ndarray of shape (d,)
        Logarithm of the size of each pivot; -inf for zero.
    column_sign, column_log : ndarray of shape (d, d)
        Entries (j, k), j after k, of the unit lower triangular L.
    cancellation : ndarray of shape (d,)
        Logarithm of how much larger than the pivot the terms were that it was formed from.
    rounding : ndarray of shape (d,)
        Logarithm of the relative error of the pivot, in units of the rounding of a float. At
        least `cancellation`: a stage whose own pivot has lost digits passes the loss on.
    """

    sign: Floats
    log: Floats
    column_sign: Floats
    column_log: Floats
    cancellation: Floats
    rounding: Floats


def stage_pivots(
    sign: Floats,
    log: Floats,
    signal: Floats,
    eta: float,
    growth: Floats,
    dynamics: str,
    log_scale: float = 0.0,
) -> Pivots:
    """Factorize M stage by stage.

    Entries are kept relative to the square roots of their diagonal entries, which grow at the
    same rate under gd and the flow. So nothing large is ever subtracted, and a pivot that
    cancels exactly does so at every scale.

    Parameters
    ----------
    sign, log : ndarray of shape (d, d)
        M as sign and logarithm of its size, concepts in descending order of a.
    signal : ndarray of shape (d,)
        a, descending.
    eta : float
    growth : ndarray of shape (d, d)
        g_ij per step.
    dynamics : {"euler", "gd", "flow"}
    log_scale : float
        Added to every logarithm; kept apart because it may be large.

    Returns
    -------
    Pivots
    """
    d = len(signal)
    rate = np.diag(growth)
    base = np.where(np.isfinite(np.diag(log)), np.diag(log), 0.0)
    sign, ratio = sign.copy(), log - (base[:, None] + base) / 2
    found = Pivots(
        np.zeros(d),
        np.full(d, -np.inf),
        np.zeros((d, d)),
        np.full((d, d), -np.inf),
        np.zeros(d),
        np.zeros(d),
    )
    largest, uncertain = np.diag(ratio).copy(), np.diag(ratio).copy()
    drifting = dynamics == "euler"
    # What an entry outgrows the square roots of its diagonal entries by.
    excess = growth - (rate[:, None] + rate) / 2 if drifting else np.zeros((d, d))
    drifts = _drifts(signal, eta, growth) if drifting else np.empty((0, 0, 0))
    time = 0.0
    for k in range(d):
        size = ratio[k, k]
        if size == -np.inf:
            continue
        found.log[k] = base[k] + size + log_scale
        found.cancellation[k] = largest[k] - size
        found.rounding[k] = uncertain[k] - size
        found.sign[k] = sign[k, k] if found.rounding[k] <= MOST_ROUNDING else 0.0
        if found.sign[k] <= 0:
            continue
        rest = slice(k + 1, d)
        found.column_sign[rest, k] = sign[rest, k]
        found.column_log[rest, k] = (
            (base[rest] - base[k]) / 2 + ratio[rest, k] - size - excess[rest, k] * time
        )
        if rate[k] > 0:
            stage = -found.log[k] / rate[k]
            ratio = ratio + excess * (stage - time)
            time = stage
        if k + 1 < d:
            removed = ratio[rest, k][:, None] + ratio[rest, k][None, :] - ratio[k, k]
            if drifting and rate[k] > 0:
                removed = removed + drifts[k, rest, rest]
            sign[rest, rest], ratio[rest, rest] = _difference(
                sign[rest, rest], ratio[rest, rest], np.outer(sign[rest, k], sign[rest, k]), removed
            )
            largest[rest] = np.maximum(largest[rest], np.diag(removed))
            uncertain[rest] = np.maximum(uncertain[rest], np.diag(removed) + found.rounding[k])
    return found


def exact_pivots(matrix: Floats) -> list[Fraction]:
    """Pivots of LDL^T in the given order, exactly; a pivot of at most 0 is not eliminated.

    Parameters
    ----------
    matrix : ndarray of shape (d, d)
        Symmetric.

    Returns
    -------
    list of Fraction, length d
    """
    rest = [[Fraction(entry) for entry in row] for row in matrix.tolist()]
    pivots = []
    for k in range(len(rest)):
        pivot = rest[k][k]
        pivots.append(pivot)
        if pivot > 0:
            for i in range(k + 1, len(rest)):
                factor = rest[i][k] / pivot
                if factor:
                    for j in range(k + 1, len(rest)):
                        rest[i][j] -= factor * rest[k][j]
    return pivots


def _drifts(signal: Floats, eta: float, growth: Floats) -> Floats:
    """How far the euler correlation of (i, j) through concept k runs on after t_k, at [k, i, j].

    For all k at once, because the special function costs more per call than per entry. Entries
    with i or j not after k mean nothing.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.minimum(np.where(signal[:, None] > 0, signal / signal[:, None], 1.0), 1.0)
    ratio_i, ratio_j, rate = ratio[:, :, None], ratio[:, None, :], np.diag(growth)
    per_step = growth[:, :, None] + growth[:, None, :] - rate[:, None, None] - growth
    late = finite_step.drift_end(ratio_i, ratio_j, np.where(rate > 0, rate, 1.0)[:, None, None])
    h = eta * signal[:, None, None]
    return np.asarray(per_step * late + finite_step.fitted_drift(ratio_i, ratio_j, h))


def _difference(
    sign: Floats, log: Floats, removed_sign: Floats, removed_log: Floats
) -> tuple[Floats, Floats]:
    """Sign and logarithm of a difference, entry by entry: magnitudes may be far apart."""
    scale = np.maximum(log, removed_log)
    scale = np.where(np.isfinite(scale), scale, 0.0)
    value = sign * np.exp(log - scale) - removed_sign * np.exp(removed_log - scale)
    with np.errstate(divide="ignore"):
        return np.sign(value), np.log(np.abs(value)) + scale
