"""Which concepts W(0) has no component left for: pivots of LDL^T by descending signal."""

from __future__ import annotations

import numpy as np

from swingby.simulate.state import Booleans, Floats
from swingby.theory.initial import Initial, connected_blocks
from swingby.theory.law.pivots import exact_pivots

#: A float pivot above this fraction of its diagonal entry is positive beyond doubt (the rounding
#: of elimination is about d 2^-53); only below it are exact rationals needed.
CLEARLY_POSITIVE = 1e-9


def clearly_positive(initial: Initial, signal: Floats) -> bool:
    """Whether W(0) is positive definite beyond doubt, by its LDL^T pivots in floats.

    Parameters
    ----------
    initial : Initial
    signal : ndarray of shape (d,)

    Returns
    -------
    bool
        True when every pivot is above CLEARLY_POSITIVE w_kk. False says nothing.

    Examples
    --------
    >>> from fractions import Fraction
    >>> clearly_positive(Initial(np.eye(2), Fraction(1)), np.array([2.0, 1.0]))
    True
    """
    # Compiled: in NumPy it costs as much as some hundred steps.
    from swingby.simulate import pivot_kernels

    order = np.argsort(-signal, kind="stable")
    return bool(pivot_kernels.clearly_positive(initial.matrix, order, CLEARLY_POSITIVE))


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
    missing = np.zeros(len(signal), dtype=np.bool_)
    if not clearly_positive(initial, signal):
        order = np.argsort(-signal, kind="stable")
        pivots = exact_pivots(initial.matrix[np.ix_(order, order)])
        missing[order] = [pivot <= 0 for pivot in pivots]
    return missing & (signal > 0)


def lasting(missing: Booleans, W0: Floats, dynamics: str) -> Booleans:
    """Missing concepts that the dynamics do not create.

    gd and the flow keep the rank of W. euler does not: only a concept whose whole row is zero
    stays missing.

    Parameters
    ----------
    missing : ndarray of bool, shape (d,)
        From :func:`missing_concepts`.
    W0 : ndarray of shape (d, d)
        W(0), up to a factor.
    dynamics : {"euler", "gd", "flow"}

    Returns
    -------
    ndarray of bool, shape (d,)
    """
    return missing & ~W0.any(axis=1) if dynamics == "euler" else missing


def displaceable(missing: Booleans, initial: Initial, signal: Floats) -> Booleans:
    """Missing concepts that may still be learned, in place of one with a smaller signal.

    gd and the flow keep the rank of W, but not which pivot is zero. A W(0) of rank r whose r
    components are not those of the r largest signals learns others first and may then turn: say
    concept 3 into concept 2, at a rate of a_2 - a_3. How late that begins depends on terms far
    below the rounding of floats; :func:`swingby.certify` resolves it.

    Parameters
    ----------
    missing : ndarray of bool, shape (d,)
        From :func:`missing_concepts`.
    initial : Initial
    signal : ndarray of shape (d,)

    Returns
    -------
    ndarray of bool, shape (d,)
        Missing concepts with a component of smaller positive signal in their own block of W(0).

    Examples
    --------
    >>> from fractions import Fraction
    >>> W0 = Initial(np.array([[1.0, 1, 1], [1, 1, 1], [1, 1, 2]]), Fraction(1, 1000))
    >>> signal = np.array([9.0, 3.0, 1.0])
    >>> displaceable(missing_concepts(W0, signal), W0, signal).tolist()
    [False, True, False]
    """
    found = np.zeros(len(signal), dtype=np.bool_)
    if not missing.any():
        return found
    for block in connected_blocks(initial.matrix.tolist()):
        there = [a for k in block if not missing[k] and (a := signal[k]) > 0]
        for k in block:
            found[k] = missing[k] and any(a < signal[k] for a in there)
    return found
