"""Runs by the printed formulas, in NumPy and with 60 digits: witnesses for every engine."""

from __future__ import annotations

from typing import Any

import flint
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


def numpy_run(signal: ArrayLike, W0: Array, eta: float, steps: int, dynamics: str) -> Array:
    """W after the steps, by the formula as printed."""
    step, W = {"euler": euler_step, "gd": gd_step}[dynamics], W0
    for _ in range(steps):
        W = step(W, np.diag(np.asarray(signal, dtype=np.float64)), eta)
    return W


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


def exact_run(
    signal: list[float], W0: Any, omega: str, eta: float, steps: int, dynamics: str
) -> list[Any]:
    """W at every step, from omega W0, with 60 digits."""
    d = len(signal)
    with flint.ctx.workdps(60):
        A, identity = flint.arb_mat(np.diag(signal).tolist()), flint.arb_mat(np.eye(d).tolist())
        W, rate = flint.arb_mat(W0) * flint.arb(omega), flint.arb(eta)
        trajectory = [W]
        for _ in range(steps):
            if dynamics == "euler":
                W = W + (W * A + A * W - (A * W * W + W * W * A + W * A * W * 2) * 0.5) * rate
            else:
                factor = identity + (A - (A * W + W * A) * 0.5) * rate
                W = factor * W * factor
            # Numbers, and no balls: those of differences would grow along with W.
            W = W.mid()
            trajectory.append(W)
    return trajectory


#: Powers from everyday sizes to below the float range.
OMEGAS = ("1e-1", "1e-3", "1e-8", "1e-40", "1e-320", "1e-400")

#: Signals and W(0) that are not like Gaussian ones.
SPECIAL = [
    ([3, 2, 1], np.full((3, 3), 1e-4)),  # of rank one
    ([1, 2, 3], np.outer([1, -2, 0], [1, -2, 0]) / 1e3),  # of rank one, a row of zeros
    ([3, 2, 1], np.diag([1e-3, 0, 1e-3])),  # a concept that is absent
    ([3, 1, 0], 1e-3 * np.eye(3)),  # a free direction
    ([0, 0, 0], 1e-3 * np.eye(3)),  # nothing happens
    ([2, 2, 1], 1e-3 * (np.eye(3) + 0.2)),  # equal signals
    ([3, 2, 1], np.diag([0.9, 0.5, 0.1])),  # above 1/2 from the start
    ([3, 2, 1], np.diag([2.0, 1.5, 1.0])),  # above 1
    ([3, 2, 1], 1e-3 * np.eye(3) + 1e-308),  # an entry at the end of the float range
    ([1e-3, 1e-3, 1e-3], 1e-3 * np.eye(3)),  # hardly anything happens
    ([12, 9, 1], 1e-2 * (np.eye(3) + 0.3)),  # eta a = 0.6: coarse steps
    ([3, 2, 1], np.diag([1e200, 1e-3, 1e-3])),  # leaves the float range at once
]


def special_batch() -> tuple[Array, Array]:
    """Signals and W(0) of all special cases."""
    signals, W0 = zip(*SPECIAL, strict=True)
    return np.array(signals, dtype=float), np.array(W0)


def random_batch(
    d: int, count: int, seed: int, smallest: float, eta: float = 0.05, columns: int | None = None
) -> tuple[Array, Array, Array]:
    """Signals, W(0) with sizes from 0.1 to 10^-smallest, and step sizes; pivots grow by columns."""
    generator = np.random.default_rng(seed)
    signals = generator.uniform(0.3, 4, (count, d))
    U = generator.standard_normal((count, d, columns or d))
    W0 = U @ U.swapaxes(1, 2)
    omega = 10.0 ** -generator.uniform(1, smallest, count)
    W0 *= (omega / np.diagonal(W0, axis1=1, axis2=2).max(axis=1))[:, None, None]
    return signals, (W0 + W0.swapaxes(1, 2)) / 2, eta / signals.max(axis=1)
