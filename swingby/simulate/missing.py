"""Which concepts W(0) has no component left for: pivots of LDL^T by descending signal."""

from __future__ import annotations

import numpy as np

from swingby.simulate.state import Booleans, Floats
from swingby.theory.initial import Initial
from swingby.theory.pivots import exact_pivots

#: A float pivot above this fraction of its diagonal entry is positive beyond doubt (the rounding
#: of elimination is about d 2^-53); only below it are exact rationals needed.
CLEARLY_POSITIVE = 1e-9


def missing_concepts(initial: Initial, signal: Floats) -> Booleans:
    """Concepts whose pivot in LDL^T of W(0), in descending order of a, is at most 0.

    Parameters
    ----------
    initial : Initial
    signal : ndarray of shape (d,)

    Returns
    -------
    ndarray of bool, shape (d,)
        Computed in exact rationals wherever floats leave a doubt. A concept with a = 0 is
        never missing: it is not learned in any case.

    Examples
    --------
    >>> from fractions import Fraction
    >>> ones = Initial(np.ones((2, 2)), Fraction(1, 1000))
    >>> missing_concepts(ones, np.array([2.0, 1.0])).tolist()
    [False, True]
    """
    order = np.argsort(-signal, kind="stable")
    ordered = initial.matrix[np.ix_(order, order)]
    clear = _clearly_positive(ordered)
    missing = np.zeros(len(signal), dtype=np.bool_)
    if not clear:
        pivots = exact_pivots(ordered)
        missing[order] = [pivot <= 0 for pivot in pivots]
    return missing & (signal > 0)


def _clearly_positive(matrix: Floats) -> bool:
    rest = matrix.copy()
    for k in range(len(rest)):
        if not rest[k, k] > CLEARLY_POSITIVE * matrix[k, k]:
            return False
        rest[k + 1 :, k + 1 :] -= np.outer(rest[k + 1 :, k], rest[k, k + 1 :] / rest[k, k])
    return True
