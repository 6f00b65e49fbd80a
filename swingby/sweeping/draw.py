r"""W(0) of a point: the paper's Gaussian, with exact entries.

Entries of U are rounded to multiples of 2^-18. Every product and every sum of U U^T is then exact
in float64, so W(0) has exactly the rank min(d, d') and is the same bit for bit on every machine,
whatever the library behind the matrix product does. The scale omega / d' is kept apart.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from swingby.sweeping.point import Point
from swingby.theory.initial import Scaled

#: Entries of U are multiples of 2 to the minus this. At most 100,000 columns of squares of 18
#: digits behind the point stay below 2^53 units.
BITS = 18


def initial(point: Point) -> Scaled:
    r"""W(0) of a point.

    .. math:: W(0) = \frac{\omega}{d'} U U^T, \qquad u_{ij} \sim N(0, 1), \qquad
              \mathbb E\,w_{ii}(0) = \omega .

    Returns
    -------
    Scaled
        The matrix U U^T of shape (d, d) without rounding, and the scale omega / d'.

    References
    ----------
    App. E.2.
    """
    rng = np.random.default_rng(np.random.SeedSequence(point.initial_entropy()))
    U = rng.standard_normal((point.dimension, point.width))
    U = np.round(U * 2.0**BITS) / 2.0**BITS
    return Scaled(U @ U.T, Fraction(point.omega) / point.width)
