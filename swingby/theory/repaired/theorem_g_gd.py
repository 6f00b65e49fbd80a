r"""Gradient descent on U learns every concept: Theorem G-gd, its range and a time to a level.

**Range.** A any symmetric positive definite matrix with largest eigenvalue a_1, ties included;
:math:`\eta a_1 \le 43/100` and :math:`\eta a_1 |W(0)| \le 1/2` in the operator norm. The map
U -> (I + eta B) U, W = U U^T, :math:`B = A - (AW + WA)/2`.

**Statement.** From every U(0) of full rank, W -> I. The loss tr(A (I-W)^2) never rises, and
:math:`|W| \le \max(|W(0)|, 1 + \eta a_1/3)` at every step. From rank m every limit point has rank
exactly m. If A is diagonal and all w_ii(0) < 1, then a w_ii that starts below a level v in (0, 1)
has reached it by step

.. math:: \Bigl\lceil \Bigl[\operatorname{logit} v - \operatorname{logit} w_{ii}(0)
          + \Bigl(\frac{1}{1-y\kappa} + \frac{v}{(1-v)(1-2y_i)}\Bigr) \frac{\Lambda}{\chi}\Bigr]
          / (2 \log(1+y_i)) \Bigr\rceil,

y_i = eta a_i, y = y_1, kappa = max(|W(0)|, 1 + y/3), Lambda = -log det of the correlation matrix
of W(0), and chi = (1 + y - y kappa/2)/(1+y)^2 - y > 0.

No smallness of W(0) and no ratio of signals is asked for, and no Lojasiewicz inequality is used:
log det W rises by 2 log det M, which stays above a positive number if a concept is missing in the
limit. The proof is in outline on the page *Gradient descent*, ``docs/gradient_descent.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import flint
import numpy as np
from numpy.typing import NDArray

from swingby.errors import InvalidInput
from swingby.theory import balls
from swingby.theory.balls import precision
from swingby.theory.initial import exact_pivots

#: Largest eta a_1, and the largest eta a_1 |W(0)|.
LARGEST_STEP, LARGEST_PRODUCT = Fraction(43, 100), Fraction(1, 2)


def norm_is_at_most(W0: NDArray[np.object_], bound: Fraction) -> bool:
    """Whether bound I - W(0) is positive semidefinite, decided exactly.

    `W0` (d, d): rational and symmetric.
    """
    rest = bound * np.eye(len(W0), dtype=int).astype(object) - W0
    pivots = exact_pivots(rest)
    # A pivot of 0 beside a nonzero entry belongs to an indefinite matrix.
    if min(pivots) > 0:
        return True
    return min(pivots) >= 0 and float(np.linalg.eigvalsh(rest.astype(np.float64))[0]) >= 0


def steps_to(
    y: Sequence[Fraction],
    diagonal: Sequence[Fraction],
    pivots: Sequence[Fraction],
    norm: Fraction,
    level: Fraction,
) -> tuple[int, ...]:
    """Whole steps by which each w_ii has first reached a level.

    `y`: eta a_i. `diagonal`, `pivots`: of W(0), in any one order. `norm`: at least |W(0)|. Raises
    InvalidInput outside the range. It is a guarantee and far from sharp.
    """
    if not (min(diagonal) > 0 and max(diagonal) < 1 and min(pivots) > 0):
        raise InvalidInput("W0", tuple(map(float, diagonal)), "must have 0 < w_ii(0) < 1", "G-gd")
    if not (max(y) <= LARGEST_STEP and max(y) * norm <= LARGEST_PRODUCT and min(y) > 0):
        requirement = "must be positive, at most 43/100 and at most 1/(2 |W(0)|)"
        raise InvalidInput("eta a_i", tuple(map(float, y)), requirement, "G-gd")
    if not 0 < level < 1:
        raise InvalidInput("level", level, "must lie between 0 and 1", "G-gd")
    with precision(256):
        top, v = balls.ball(max(y)), balls.ball(level)
        kappa = balls.ball(norm).max(1 + top / 3)
        chi = (1 + top - top * kappa / 2) / (1 + top) ** 2 - top
        shares = zip(pivots, diagonal, strict=True)
        log_det = sum((balls.ball(pi / w).log() for pi, w in shares), flint.arb(0))
        steps = []
        for rate, w in zip(map(balls.ball, y), map(balls.ball, diagonal), strict=True):
            factor = 1 / (1 - top * kappa) + v / ((1 - v) * (1 - 2 * rate))
            climb = (v / (1 - v) * (1 - w) / w).log() - factor * log_det / chi
            bound = (climb / (2 * rate.log1p())).upper().ceil()
            steps.append(max(0, int(bound.unique_fmpz())))
        return tuple(steps)
