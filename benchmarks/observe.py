"""What a run does, seen by loops of our own: real crossings of 1/2, peaks, the runaway.

Nothing here uses the engine or the law of the package, so that the accuracy table rests on
neither. The maps are iterated step by step, gradient descent on U and (D.2) on W. The flow is
integrated by the Runge-Kutta method of order 8 of Dormand and Prince. The real crossing of a map
is the root of the cubic through logit w_kk at the four whole steps around it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.integrate import DOP853
from scipy.optimize import brentq

Floats = NDArray[np.float64]

#: Largest a times the time step of the flow's integrator: its error is below 1e-10 a stage.
FLOW_STEP = 0.1
SETTLED, RUNAWAY, LIMIT = 0, 1, 2

_A = np.ascontiguousarray(DOP853.A[:12, :12])
_B = np.ascontiguousarray(DOP853.B)


@dataclass(frozen=True, eq=False)
class Observed:
    """One run; arrays are in user order.

    Parameters
    ----------
    crossing : ndarray of shape (d,)
        Real step at which w_kk first crosses 1/2; 0 if it starts there, nan if it never does.
    half_times : ndarray of shape (d,)
        First whole step at which w_kk is at least 1/2, counted; nan if there is none.
    learned : ndarray of bool, shape (d,)
        Whether w_kk is above 1/2 where the run ends; False for all after a runaway.
    runaway : float
        Last step at which W is finite, where the run leaves the float range; else inf.
    cut : bool
        Whether the bound on steps ended the run.
    heights : ndarray of shape (d, d)
        Largest |w_ij| over the run.
    """

    crossing: Floats
    half_times: Floats
    learned: NDArray[np.bool_]
    runaway: float
    cut: bool
    heights: Floats


def observe(signal: Floats, eta: float, U0: Floats, W0: Floats, dynamics: str) -> Observed:
    """Run until the expected limit is near, W runs away, or no concept can be left to learn.

    The limit is the identity for euler and for a W(0) of full rank. Gradient descent and the
    flow keep the rank r of U(0), and tend to the projection on the r largest signals.
    """
    d, rank = len(signal), U0.shape[1]
    limit = np.ones(d)
    if dynamics != "euler" and rank < d:
        limit[np.argsort(-signal, kind="stable")[rank:]] = 0.0
    smallest = float(np.diag(W0).min())
    span = 3 * (math.log(1 / min(smallest, 0.5)) + 60) / (2 * float(signal.min()))
    with np.errstate(all="ignore"):
        if dynamics == "flow":
            dt = FLOW_STEP / float(signal.max())
            crossing, diagonal, heights, end = _flow(signal, U0, dt, limit, int(span / dt))
            crossing /= eta
            whole, last = np.ceil(crossing), 0
        else:
            gd = dynamics == "gd"
            W = U0 @ U0.T if gd else W0
            whole, stencil, diagonal, heights, end, last = _map(
                signal, eta, U0.copy(), W.copy(), gd, limit, int(span / eta)
            )
            crossing = np.array([_root(t, four) for t, four in zip(whole, stencil, strict=True)])
    away = end == RUNAWAY
    return Observed(
        crossing=crossing,
        half_times=whole,
        learned=np.zeros(d, dtype=bool) if away else diagonal >= 0.5,
        runaway=float(last) if away else math.inf,
        cut=end == LIMIT,
        heights=heights,
    )


def _root(whole: float, four: Floats) -> float:
    """Root of the cubic through the logits; of the chord where a run leaves (0, 1) at once."""
    if not whole > 0:
        return whole
    first = max(whole - 2, 0.0)
    inside = whole - 1 - first
    if (four > 0).all() and (four < 1).all():
        cubic = np.polynomial.Polynomial.fit(
            np.arange(4.0), np.log(four / (1 - four)), 3, domain=[-1, 1], window=[-1, 1]
        )
        if cubic(inside) < 0 <= cubic(inside + 1):
            return float(first + brentq(cubic, inside, inside + 1, xtol=1e-13))
    below, above = four[int(inside)], four[int(inside) + 1]
    if below > 0 and above < 1:
        below, above = math.log(below / (1 - below)) + 0.5, math.log(above / (1 - above)) + 0.5
    return float(whole - 1 + (0.5 - below) / (above - below))


@njit(cache=True)
def _grow(signal, scale, W, G):  # type: ignore[no-untyped-def]
    """G = scale (A W + W A)."""
    d = len(signal)
    for i in range(d):
        for j in range(d):
            G[i, j] = scale * (signal[i] + signal[j]) * W[i, j]


@njit(cache=True)
def _times(P, Q, R):  # type: ignore[no-untyped-def]
    """R = P Q; BLAS costs more than it saves at this size."""
    R[:] = 0.0
    for i in range(P.shape[0]):
        for k in range(P.shape[1]):
            p = P[i, k]
            for j in range(Q.shape[1]):
                R[i, j] += p * Q[k, j]


@njit(cache=True)
def _square(U, W):  # type: ignore[no-untyped-def]
    """W = U U^T."""
    d = U.shape[0]
    for i in range(d):
        for j in range(i + 1):
            total = 0.0
            for k in range(U.shape[1]):
                total += U[i, k] * U[j, k]
            W[i, j] = total
            W[j, i] = total


@njit(cache=True)
def _map(signal, eta, U, W, gd, limit, most):  # type: ignore[no-untyped-def]
    d = len(signal)
    G, Y = np.empty_like(W), np.empty_like(W)
    V = np.empty_like(U)
    whole = np.full(d, np.nan)
    stencil = np.full((d, 4), np.nan)
    ring = np.full((4, d), np.nan)
    heights = np.abs(W)
    for k in range(d):
        ring[0, k] = W[k, k]
        if W[k, k] >= 0.5:
            whole[k] = 0.0
    t, end = 0, LIMIT
    while t < most:
        _grow(signal, eta, W, G)
        if gd:
            _times(G, U, V)
            for i in range(d):
                for j in range(U.shape[1]):
                    U[i, j] += eta * signal[i] * U[i, j] - 0.5 * V[i, j]
            _square(U, W)
        else:
            _times(G, W, Y)
            for i in range(d):
                for j in range(i + 1):
                    W[i, j] += G[i, j] - 0.5 * (Y[i, j] + Y[j, i])
                    W[j, i] = W[i, j]
        far = 0.0
        for i in range(d):
            for j in range(i + 1):
                size = abs(W[i, j])
                heights[i, j] = max(heights[i, j], size)
                away = abs(W[i, j] - limit[i]) if i == j else size
                far = away if not away <= far else far
        if not np.isfinite(far):
            end = RUNAWAY
            break
        t += 1
        for k in range(d):
            ring[t % 4, k] = W[k, k]
            if np.isnan(whole[k]) and W[k, k] >= 0.5:
                whole[k] = t
            if whole[k] > 0 and t <= max(whole[k] + 1, 3):
                first = max(int(whole[k]) - 2, 0)
                for step in range(first, min(t, first + 3) + 1):
                    stencil[k, step - first] = ring[step % 4, k]
        if far < 0.5 / d and t > 3:
            passed = True
            for k in range(d):
                passed = passed and not (whole[k] > 0 and t <= whole[k] + 1)
            if passed:
                end = SETTLED
                break
    return whole, stencil, np.diag(W).copy(), heights, end, t


@njit(cache=True)
def _advance(signal, dt, U, slopes, W, G, V, out):  # type: ignore[no-untyped-def]
    """One step of order 8 of U' = (A - (A W + W A)/2) U."""
    rows, columns = U.shape
    for stage in range(13):
        for i in range(rows):
            for j in range(columns):
                total = 0.0
                for s in range(stage):
                    weight = _B[s] if stage == 12 else _A[stage, s]
                    total += weight * slopes[s, i, j]
                out[i, j] = U[i, j] + dt * total
        _square(out, W)
        if stage < 12:
            _grow(signal, 0.5, W, G)
            _times(G, out, V)
            for i in range(rows):
                for j in range(columns):
                    slopes[stage, i, j] = signal[i] * out[i, j] - V[i, j]


@njit(cache=True)
def _flow(signal, U0, dt, limit, most):  # type: ignore[no-untyped-def]
    d = len(signal)
    U, out, trial, V = U0.copy(), np.empty_like(U0), np.empty_like(U0), np.empty_like(U0)
    slopes = np.empty((12, U0.shape[0], U0.shape[1]))
    W, G = np.empty((d, d)), np.empty((d, d))
    _square(U, W)
    crossing = np.full(d, np.nan)
    heights = np.abs(W)
    for k in range(d):
        if W[k, k] >= 0.5:
            crossing[k] = 0.0
    end = LIMIT
    for n in range(most):
        _advance(signal, dt, U, slopes, W, G, V, out)
        far = 0.0
        crossed = False
        for i in range(d):
            crossed = crossed or (np.isnan(crossing[i]) and W[i, i] >= 0.5)
            for j in range(i + 1):
                heights[i, j] = max(heights[i, j], abs(W[i, j]))
                far = max(far, abs(W[i, j] - limit[i]) if i == j else abs(W[i, j]))
        if crossed:
            after = np.diag(W).copy()
            for k in range(d):
                if np.isnan(crossing[k]) and after[k] >= 0.5:
                    low, high = 0.0, dt
                    for _ in range(48):
                        middle = 0.5 * (low + high)
                        _advance(signal, middle, U, slopes, W, G, V, trial)
                        if W[k, k] >= 0.5:
                            high = middle
                        else:
                            low = middle
                    crossing[k] = n * dt + high
        U, out = out, U
        if far < 0.5 / d:
            end = SETTLED
            break
    _square(U, W)
    return crossing, np.diag(W).copy(), heights, end
