"""The few products that the law needs, on arrays (d, d, n) of NumPy or torch, lane by lane.

A vector (d, n) stands for a matrix with equal rows. Compiled code has products of its own under the
same names (:mod:`swingby.theory.law.tape`).
"""

from __future__ import annotations

from typing import Any

import numpy as np


def like(x: Any, constant: Any) -> Any:
    """An array of NumPy as one of the library of x."""
    if isinstance(x, np.ndarray):
        return constant
    import torch

    return torch.as_tensor(constant)


def dot(P: Any, Q: Any) -> Any:
    """Matrix product in every lane."""
    return (Q.swapaxes(0, 2) @ P.swapaxes(0, 2)).swapaxes(0, 2)


def turned(P: Any) -> Any:
    """Transpose in every lane."""
    return P.swapaxes(0, 1)


def symmetric(P: Any) -> Any:
    """P + P^T in every lane."""
    return P + P.swapaxes(0, 1)


def dot_turned(P: Any, Q: Any) -> Any:
    """P Q^T in every lane."""
    return (Q.swapaxes(0, 1).swapaxes(0, 2) @ P.swapaxes(0, 2)).swapaxes(0, 2)


def diagonal(P: Any) -> Any:
    """The diagonal (d, n)."""
    place = range(P.shape[0])
    return P[place, place]


def exponential(x: Any) -> Any:
    """Exponential function, of either library."""
    return np.exp(x) if isinstance(x, np.ndarray) else x.exp()


def solve_lower(V: Any, M: Any) -> Any:
    """V^-1 M for unit lower triangular V."""
    if isinstance(V, np.ndarray):
        found = M.copy()
        for i in range(1, len(found)):
            found[i] -= (V[i, :i, None] * found[:i]).sum(axis=0)
        return found
    import torch

    lanes = (V.permute(2, 0, 1), M.permute(2, 0, 1))
    found = torch.linalg.solve_triangular(*lanes, upper=False, unitriangular=True)
    return found.permute(1, 2, 0)


def joined(u: Any, z: Any, V: Any) -> Any:
    """One array (d, d + 2, n) of log sizes, signs and factors."""
    parts = (u[:, None], z[:, None], V)
    if isinstance(V, np.ndarray):
        return np.concatenate(parts, axis=1)
    import torch

    return torch.cat(parts, dim=1)


def weighted(weights: Any, slopes: Any) -> Any:
    """Sum of the slopes so far, each with its weight."""
    if isinstance(slopes[0], np.ndarray):
        # Not by BLAS, whose last bit depends on where arrays lie in memory.
        known = np.asarray(slopes)
        return (weights[: len(slopes), None, None, None] * known).sum(axis=0)
    total = weights[0] * slopes[0]
    for weight, slope in zip(weights[1:], slopes[1:], strict=False):
        if weight:
            total = total + weight * slope
    return total


def positive_part(x: Any) -> Any:
    """1/x where x is not 0, else 0."""
    if isinstance(x, np.ndarray):
        return np.divide(1.0, x, out=np.zeros_like(x), where=x != 0.0)
    import torch

    return torch.where(x == 0.0, torch.zeros_like(x), 1.0 / torch.where(x == 0.0, 1.0, x))
