r"""How much half-times scatter because every batch is another one, to first order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def factorized(W0: Floats) -> tuple[Floats, Floats]:
    r"""The factors of :math:`L D L^\top`, L unit lower triangular.

    Parameters
    ----------
    W0 : ndarray of shape (s, s)
        Symmetric, concepts by descending growth.

    Returns
    -------
    L : ndarray of shape (s, s)
    pivots : ndarray of shape (s,)
        0 from the first on that is not positive beyond rounding.
    """
    s = len(W0)
    rest, L, pivots = W0.copy(), np.eye(s), np.zeros(s)
    for k in range(s):
        if not rest[k, k] > 1e-9 * W0[k, k]:
            break
        pivots[k] = rest[k, k]
        L[k + 1 :, k] = rest[k + 1 :, k] / rest[k, k]
        rest = rest - np.outer(rest[:, k], rest[k]) / rest[k, k]
    return L, pivots


def pivot_scatter(
    L: Floats, growth: Floats, times: Floats, diagonal: Floats, beside: Floats
) -> Floats:
    r"""Variance of the logarithm of each pivot that has grown for some steps.

    U grows as :math:`U \to (I + \bar S + \delta S) U`. A change :math:`\delta S` at step t changes
    the logarithm of pivot k by :math:`2 (L^{-1} \delta S L)_{kk}`, with the L of that step:
    :math:`L_{jk}` shrinks by the ratio of growth factors, as the weaker concept falls behind.

    Parameters
    ----------
    L : ndarray of shape (s, s)
        At the start, concepts by descending growth.
    growth : ndarray of shape (s,)
        Growth factors of U per step.
    times : ndarray of shape (s,)
        Steps that each grows for.
    diagonal : ndarray of shape (s, s)
        Covariance of the diagonal of :math:`\delta S`, relative to the growth factors or not: in
        the units of :math:`\delta S`.
    beside : ndarray of shape (s, s)
        Variance of the entries beside it.
    """
    s = len(L)
    steps = max(1, int(np.ceil(times.max())))
    t = np.arange(steps)
    with np.errstate(under="ignore"):
        decay = (growth[:, None] / growth[None, :]) ** t[:, None, None]
    lower = np.where(np.tri(s, k=-1, dtype=bool), L * np.minimum(decay, 1.0), 0.0) + np.eye(s)
    inverse = np.linalg.inv(lower)
    found = np.empty(s)
    for k in range(s):
        until = max(1, int(np.ceil(times[k])))
        gain = inverse[:until, k, :, None] * lower[:until, None, :, k]  # of dS_ij, step by step
        own = np.diagonal(gain, axis1=1, axis2=2)
        both = np.triu(gain + gain.swapaxes(1, 2), 1) ** 2
        found[k] = np.einsum("ti,ij,tj->", own, diagonal, own) + (both * beside).sum()
    return 4 * found


def decay_scatter(
    rest: Floats, decay: Floats, times: Floats, diagonal: Floats, beside: Floats
) -> Floats:
    r"""Variance of :math:`\log(1 - w_{pp})` after some steps of one layer.

    A row e of :math:`I - W` goes to :math:`e (I - \bar S - \delta S)`: its own entry scatters by
    :math:`\delta S_{pp}`, and takes :math:`e_q \delta S_{qp}` from the others.

    Parameters
    ----------
    rest : ndarray of shape (s, s)
        I - W(0).
    decay : ndarray of shape (s,)
        Factors per step.
    times : ndarray of shape (s,)
    diagonal, beside : ndarray of shape (s, s)
        As in :func:`pivot_scatter`.
    """
    s = len(decay)
    found = np.empty(s)
    for p in range(s):
        t = np.arange(max(1, int(np.ceil(times[p]))))
        share = (rest[p] / rest[p, p]) ** 2 * (decay / decay[p]) ** (2 * t[:, None])
        share[:, p] = 0.0
        found[p] = (len(t) * diagonal[p, p] + (share * beside[p]).sum()) / decay[p] ** 2
    return found
