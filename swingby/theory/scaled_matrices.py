"""Matrices held as ``W = D X D``: powers of two beside floats, so that tiny entries stay exact.

``D = diag(2^m_k)`` with whole m_k. Rescaling by powers of two is exact, so a run with some m_k
below 0 gives the same bits as the plain one (all m_k = 0) wherever the plain one stays in the float
range, and goes on where it does not: in terms of X the maps are the same except that every product
over the inner index k carries the weight ``2^(2 m_k)``, and where that weight underflows, the
product is far below the rounding of the linear terms.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from swingby.theory.numbers import Floats, Integers

#: x_kk from which on factors of two go to m_k.
LARGE = 2.0**200


def power_of_two(exponent: Integers) -> Floats:
    """``2^exponent``, 0 below the float range."""
    return np.asarray(np.ldexp(1.0, np.maximum(exponent, -3000).astype(np.int32)))


def weights(exponent: Integers) -> Floats:
    """The matrix ``2^(m_i + m_j)``, 0 where it lies below the float range; exponents (..., d)."""
    return power_of_two(exponent[..., :, None] + exponent[..., None, :])


def scale_up(values: Floats, exponent: Integers) -> Floats:
    """The numbers ``values 2^exponent``, 0 below about 1e-300: subnormals are slow."""
    low = np.frexp(values)[1] + exponent < -1000
    scaled = np.ldexp(values, np.clip(exponent, -3000, 3000).astype(np.int32))
    return np.where(low, 0.0, scaled)


def float_matrix(X: Floats, exponent: Integers) -> Floats:
    """D X D as floats, of shape (..., d, d); entries below the float range become 0."""
    total = np.maximum(exponent[..., :, None] + exponent[..., None, :], -3000).astype(np.int32)
    return np.asarray(np.ldexp(X, total), dtype=np.float64)


#: W(0) with a diagonal entry below 2^-400 is held as D X D from the start: squares of its
#: entries would underflow.
_PLAIN_RANGE = -400


def binary(scale: Fraction) -> tuple[float, int]:
    """A positive number as a mantissa in [1/2, 2] and a power of two."""
    if scale == 1:
        return 1.0, 0
    power = scale.numerator.bit_length() - scale.denominator.bit_length()
    return float(scale / Fraction(2) ** power), power


def choose_exponents(diagonal: Floats, power: Integers) -> Integers:
    """The m of W = D X D at step 0, for W_kk = diagonal 2^power: zero where W(0) allows it."""
    size = np.frexp(diagonal)[1] + power[:, None]
    positive = diagonal != 0
    smallest = np.where(positive, size, np.iinfo(np.int64).max).min(axis=1)
    smallest = np.where(positive.any(axis=1), smallest, 0)
    needed = (smallest < _PLAIN_RANGE) | (power < -900)
    halves = np.minimum(0, np.where(positive, size, smallest[:, None]) // 2)
    return np.where(needed[:, None], halves, 0)
