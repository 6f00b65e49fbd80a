"""Runs by the printed formulas, in NumPy and in mpmath: witnesses for every engine."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def euler_step(W: Array, A: Array, eta: float) -> Array:
    """One step of (D.2): ``W + eta (WA + AW - (A W^2 + W^2 A + 2 W A W)/2)``."""
    return W + eta * (W @ A + A @ W - (A @ W @ W + W @ W @ A + 2 * W @ A @ W) / 2)


def gd_step(W: Array, A: Array, eta: float) -> Array:
    """One step of gradient descent on U, seen on W = U U^T: ``(I + eta B) W (I + eta B)``."""
    B = A - (A @ W + W @ A) / 2
    factor = np.eye(len(W)) + eta * B
    return factor @ W @ factor


def numpy_run(
    signal: ArrayLike, W0: ArrayLike, eta: float, steps: int, dynamics: str = "euler"
) -> Array:
    """W at every step, by the formula as printed."""
    A = np.diag(np.asarray(signal, dtype=np.float64))
    W = np.array(W0, dtype=np.float64)
    step = {"euler": euler_step, "gd": gd_step}[dynamics]
    trajectory = np.empty((steps + 1, *W.shape))
    trajectory[0] = W
    for t in range(1, steps + 1):
        W = step(W, A, eta)
        trajectory[t] = W
    return trajectory


def factor_run(signal: ArrayLike, U0: ArrayLike, eta: float, steps: int) -> Array:
    """W = U U^T at every step of gradient descent on U: ``U + eta B(W) U``."""
    A = np.diag(np.asarray(signal, dtype=np.float64))
    U = np.array(U0, dtype=np.float64)
    trajectory = np.empty((steps + 1, len(U), len(U)))
    trajectory[0] = U @ U.T
    for t in range(1, steps + 1):
        W = U @ U.T
        U = U + eta * (A - (A @ W + W @ A) / 2) @ U
        trajectory[t] = U @ U.T
    return trajectory


def mpmath_run(
    signal: ArrayLike, W0: Any, eta: Any, steps: int, dynamics: str = "euler", digits: int = 50
) -> list[Any]:
    """W at every step with `digits` decimal digits."""
    import mpmath

    context = mpmath.mp.clone()
    context.dps = digits
    A = context.diag([context.mpf(value) for value in np.asarray(signal).tolist()])
    W = context.matrix([[context.mpf(entry) for entry in row] for row in W0])
    identity = context.eye(W.rows)
    rate = context.mpf(eta)
    trajectory = [W]
    for _ in range(steps):
        B = A - (A * W + W * A) / 2
        if dynamics == "euler":
            W = W + rate * (W * A + A * W - (A * W * W + W * W * A + 2 * W * A * W) / 2)
        else:
            W = (identity + rate * B) * W * (identity + rate * B)
        trajectory.append(W)
    return trajectory
