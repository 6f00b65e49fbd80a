r"""Steps of euler at which W is positive definite because it still is some steps later.

Elimination takes as long as a step at large d, so it is done at few steps. Let D be the diagonal
of W, F_ij = eta (a_i + a_j) z_ij (w_ii + w_jj) / 2 with z_ij = w_ij / sqrt(w_ii w_jj), and mu the
smallest number with W x = mu D x for some x. A step of (D.2) is ``T(W) = W + eta (B W + W B)``, so

.. math:: x^T T(W) x = \mu\, x^T T(D) x, \qquad D^{-1/2} T(D) D^{-1/2} = I + 2 \eta A - F.

Where F is below 1, a mu that is not positive does not become positive in a step, and a positive mu
grows at most by kappa = (1 + 2 eta a_max + |F|) / min_k (w_kk after / w_kk before). So where mu is
above :data:`_CLEAR` after n steps, it was above ``_CLEAR / kappa^n`` at each of them.
"""

from __future__ import annotations

import math

import numpy as np

from swingby.theory.numbers import Booleans, Floats

#: What mu has to be where it is looked at, and at the steps before: far above the rounding of a
#: block of steps, and of pivots.
_CLEAR, _SURE = 2.0**-12, 1e-9
#: Steps that are bounded together; eliminations that are not worth it, being as many as steps.
_SPAN, _TOO_OFTEN = 64, 4


@np.errstate(all="ignore")
def clear_steps(sums: Floats, square: Floats, matrices: Floats, size: Floats) -> Booleans:
    """The steps (n,) that are known to be positive definite, of matrices (n, d, d).

    sums[i, j] = eta (a_i + a_j); W = D X D, square: the squares of D; size (d, d): the largest size
    of every entry. Every other step is for elimination to decide.
    """
    clear, few = np.zeros(len(matrices), dtype=np.bool_), len(matrices) <= _SPAN
    for first in range(0, len(matrices), _SPAN):
        piece = matrices[first : first + _SPAN]
        diagonals = piece.diagonal(axis1=1, axis2=2)
        if not (diagonals > 0.0).all():
            continue
        length = 1
        if len(piece) > 1:
            length = _steps_between(sums, square, diagonals, size if few else _size(piece))
        if length == 1 or length > _TOO_OFTEN:
            for begin in range(0, len(piece), length):
                end = min(begin + length, len(piece))
                clear[first + begin : first + end] = _is_clear(piece[end - 1])
    return clear


def _size(matrices: Floats) -> Floats:
    """The largest size of every entry of matrices (n, d, d)."""
    low = np.minimum.reduce(matrices, axis=0)
    np.maximum(np.maximum.reduce(matrices, axis=0), np.negative(low, out=low), out=low)
    return np.asarray(low)


def _steps_between(sums: Floats, square: Floats, diagonals: Floats, size: Floats) -> int:
    """After how many steps a look is enough, for diagonals (n, d) and entries of these sizes."""
    ratio = float((diagonals[1:] / diagonals[:-1]).min())
    root = np.sqrt(1.0 / diagonals.min(axis=0))
    half = 0.5 * diagonals.max(axis=0) * square
    # Rows of F: the part of w_ii, and that of w_jj.
    sides = np.einsum("ij,jk->ik", size * sums, np.stack([root, root * half], axis=1))
    bound = float((root * (half * sides[:, 0] + sides[:, 1])).max())
    if not bound < 1.0 or not ratio > 0.0:
        return 0
    kappa = max(1.0 + 1e-3, (1.0 + float(sums.max()) + bound) / ratio)
    return int(math.log(_CLEAR / _SURE) / math.log(kappa))


def _is_clear(matrix: Floats) -> bool:
    """True where mu is above :data:`_CLEAR`."""
    root = np.sqrt(1.0 / matrix.diagonal())
    scaled = matrix * root[:, None]
    scaled *= root
    scaled[np.diag_indices(len(scaled))] -= _CLEAR
    try:
        np.linalg.cholesky(scaled)
    except np.linalg.LinAlgError:
        return False
    return True
