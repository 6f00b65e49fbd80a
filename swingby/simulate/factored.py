r"""Steps of a run from a factor: U with W = U U^T, which keeps W positive semidefinite.

gd and the flow are dynamics of U, so that W(t) has the rank and the sign of W(0) for ever. Floats
of W keep neither: a pivot that is as small as their rounding may turn negative and run away. Such a
run is repeated with :math:`U \mapsto (I + \eta B) U`, in terms of X = F F^T with W = D X D.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from swingby.simulate.float_pivots import PIVOT_ROUNDING
from swingby.simulate.state import RunProblem
from swingby.simulate.step_text import stages
from swingby.theory.initial import Initial
from swingby.theory.numbers import Booleans, Floats

#: An eigenvalue of the correlation matrix of W below this is not left by rounding alone.
_INDEFINITE = -1e-8
#: Entries w_kk below this have lost digits of their rows.
_SMALLEST = 1e-290


@np.errstate(all="ignore")
def not_semidefinite(W: Floats) -> Booleans:
    """Whether matrices W (m, d, d) are not positive semidefinite beyond rounding, or not finite.

    Every concept counts in units of its own w_kk.
    """
    diagonal = W.diagonal(axis1=1, axis2=2)
    root = np.sqrt(np.where(np.abs(diagonal) > _SMALLEST, np.abs(diagonal), np.inf))
    correlation = W / root[:, :, None] / root[:, None, :]
    finite = np.asarray(np.isfinite(W + correlation).all(axis=(1, 2)))
    values = np.linalg.eigvalsh(np.where(finite[:, None, None], correlation, 0.0))
    return np.asarray(~finite | (values[:, 0] < _INDEFINITE))


def resolved(initial: Initial, signal: Floats) -> Booleans:
    """Concepts (d,) whose pivot in W(0) is above the rounding of its floats."""
    shares = initial.pivots(signal).shares.astype(np.float64)
    return np.asarray(shares > PIVOT_ROUNDING * len(signal))


@np.errstate(all="ignore")
def factor_of(X: Floats, rank: int) -> Floats:
    """F (d, rank) with F F^T next to X, by the largest eigenvalues of its correlation matrix."""
    root = np.sqrt(np.maximum(X.diagonal(), 0.0))
    inverse = np.where(root > 0, 1 / root, 0.0)
    values, vectors = np.linalg.eigh(X * inverse[:, None] * inverse)
    largest = np.sqrt(np.maximum(values[-rank:], 0.0))
    return np.asarray(root[:, None] * vectors[:, -rank:] * largest)


def factored_steps(
    problem: RunProblem, X: Floats, square: Floats, parts: int, count: int
) -> Floats:
    """A block of `count` steps, as :func:`swingby.simulate.steps.block_of_steps` gives it."""
    F, out = factor_of(X, problem.rank), np.empty((count, *X.shape))
    rates, squares = problem.rates[:, None], square[:, None]
    weights, h = stages(), 1.0 / parts

    def slope(F: Floats) -> Any:
        return rates * F - 0.5 * (problem.sums * (F @ F.T)) @ (squares * F)

    for n in range(count):
        if problem.dynamics == "gd":
            F = F + slope(F)
        else:
            for _ in range(parts):
                K = [slope(F)]
                for s in range(1, 12):
                    K.append(slope(F + h * np.tensordot(weights[s - 1, :s], np.array(K), 1)))
                F = F + h * np.tensordot(weights[11], np.array(K), 1)
        out[n] = F @ F.T
    rows, columns = problem.entries
    return np.ascontiguousarray(out[:, rows, columns].T)
