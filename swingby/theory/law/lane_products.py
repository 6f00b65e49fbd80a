"""Products of matrices in many lanes at once, on NumPy, on torch and as instructions.

All arrays end in an axis of n lanes: a single instance is a batch of one; a vector (d, n) stands
for a matrix with equal rows. The modified flow (:mod:`swingby.theory.law.modified_flow`) and the
coordinates (:mod:`swingby.theory.law.coordinates`) use nothing but arithmetic and these products,
so the same text runs on NumPy, on torch, and as instructions for compiled code
(:mod:`swingby.theory.law.tape`), which has products of its own under the same names.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np


def library(x: Any) -> Any:
    """NumPy, or torch if x is a tensor."""
    return np if isinstance(x, np.ndarray) else importlib.import_module("torch")


def like(x: Any, constant: Any) -> Any:
    """A NumPy array as an array of the library of x."""
    return library(x).asarray(constant)


def dot(P: Any, Q: Any) -> Any:
    """Matrix product in every lane."""
    return (Q.swapaxes(0, 2) @ P.swapaxes(0, 2)).swapaxes(0, 2)


def transpose(P: Any) -> Any:
    """Transpose in every lane."""
    return P.swapaxes(0, 1)


def symmetric(P: Any) -> Any:
    """P + P^T in every lane."""
    return P + transpose(P)


def dot_transpose(P: Any, Q: Any) -> Any:
    """P Q^T in every lane."""
    return dot(P, transpose(Q))


def diagonal(P: Any) -> Any:
    """The diagonal (d, n)."""
    return P.diagonal(0, 0, 1).swapaxes(0, 1)


def exponential(x: Any) -> Any:
    """Exponential function."""
    return library(x).exp(x)


def solve_lower(V: Any, M: Any) -> Any:
    """V^-1 M for unit lower triangular V."""
    if not isinstance(V, np.ndarray):
        lanes = (V.permute(2, 0, 1), M.permute(2, 0, 1))
        solve = library(V).linalg.solve_triangular
        return solve(*lanes, upper=False, unitriangular=True).permute(1, 2, 0)
    solution = M.copy()
    for i in range(1, len(solution)):
        solution[i] -= np.add.reduce(V[i, :i, None] * solution[:i])
    return solution


def inverse_or_zero(x: Any) -> Any:
    """1/x, and 0 for x = 0."""
    where = library(x).where
    return where(x == 0.0, 0.0 * x, 1.0 / where(x == 0.0, 1.0, x))
