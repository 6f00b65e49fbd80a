"""Steps at which W is positive definite because it is close to a matrix that is.

Elimination takes as long as a step at large d, and the distance of two matrices a tenth of it. Z is
W with rows and columns divided by the roots of its diagonal, which changes no sign of a pivot and
takes the growth out of W: from step to step Z hardly moves. Where Z_0 - r I is positive definite,
so is every Z with a Frobenius distance below r from Z_0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swingby.theory.numbers import Booleans, Floats

#: Radii that are tried; the smallest is far above what negative pivots are told from rounding by.
_RADII = tuple(2.0**-power for power in range(3, 13, 2))
#: Of a radius, what is used: the rest is far above the rounding of a distance.
_USED = 0.75
#: Numbers of matrices that are looked at together, so that they stay in the cache.
_TOGETHER = 2**15
#: Centres that are tried in a block: where W moves faster, elimination decides.
_MOST_CENTRES = 4


class Ball(NamedTuple):
    """Matrices Z that are positive definite: those up to a Frobenius distance from a centre."""

    centre: Floats
    radius: float


@np.errstate(all="ignore")
def clear_steps(ball: Ball | None, matrices: Floats) -> tuple[Booleans, Ball | None]:
    """The steps (n,) at which matrices (n, d, d) lie in a ball, and the last ball.

    Every other step is for elimination to decide.
    """
    clear, first, count = np.zeros(len(matrices), dtype=np.bool_), 0, len(matrices)
    for _ in range(_MOST_CENTRES + 1):
        if ball is not None:
            away = _first_outside(ball, matrices[first:])
            clear[first : first + away] = True
            first += away
        if first == count:
            break
        ball = _ball_around(matrices[first])
        if ball is None:
            break
    return clear, ball


def _scaled(matrices: Floats) -> Floats:
    """Z of matrices (..., d, d); with nan where a diagonal entry is not positive."""
    root = np.sqrt(1.0 / matrices.diagonal(axis1=-2, axis2=-1))
    scaled = matrices * root[..., :, None]
    scaled *= root[..., None, :]
    return np.asarray(scaled)


def _first_outside(ball: Ball, matrices: Floats) -> int:
    """The first of matrices that is not known to lie in a ball, or their number."""
    d = matrices.shape[-1]
    size = max(1, _TOGETHER // d**2)
    for first in range(0, len(matrices), size):
        apart = _scaled(matrices[first : first + size])
        apart -= ball.centre
        outside = ~(np.einsum("nij,nij->n", apart, apart) <= (_USED * ball.radius) ** 2)
        if outside.any():
            return first + int(outside.argmax())
    return len(matrices)


def _ball_around(matrix: Floats) -> Ball | None:
    """A ball around a matrix, or None where it is not clearly positive definite."""
    centre = _scaled(matrix)
    identity = np.eye(len(centre))
    if np.isfinite(centre).all():
        for radius in _RADII:
            try:
                np.linalg.cholesky(centre - radius * identity)
            except np.linalg.LinAlgError:
                continue
            return Ball(centre, radius)
    return None
