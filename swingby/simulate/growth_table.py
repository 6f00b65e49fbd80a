"""How fast an entry grows or decays while the dynamics are linear, per step.

Near the fixed point in which the concepts of a set S are learned and the others, R, are not
(W = 1 on S, 0 on R), the maps of INTERFACE.md are linear in the distance from it, and every
entry moves on its own:

========================  ================================  ===========================
entry                     one step of euler or gd           one step of flow
========================  ================================  ===========================
i, j both in R, euler     ``1 + eta (a_i + a_j)``           ``exp(eta (a_i + a_j))``
i, j both in R, gd        ``(1 + eta a_i)(1 + eta a_j)``    the same
i in S, j in R            ``1 - eta (a_i - a_j)/2``         ``exp(-eta (a_i - a_j)/2)``
i, j both in S            ``1 - eta (a_i + a_j)``           ``exp(-eta (a_i + a_j))``
========================  ================================  ===========================

The logarithms are kept as the unevaluated sum of two floats: a jump over n steps multiplies
them by n, and n times the rounding of a single float would be visible in W.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Pair = tuple[Array, Array]

#: 1 / log(2) as the sum of two floats.
_INVERSE_LOG2: tuple[float, float] = (1.4426950408889634, 2.0355273740931033e-17)
#: Rows of the table: which of the two concepts of an entry are learned.
NEITHER, FIRST, BOTH = 0, 1, 2
#: Stands for "decays at once": the logarithm of a factor that is zero or negative.
AT_ONCE = -1e6


# Overflow is an outcome of the run that follows, not a warning here.
@np.errstate(all="ignore")
def growth_table(signal: Array, eta: float | Array, dynamics: str) -> Array:
    """Binary logarithm of the factor by which each entry is multiplied in one linear step.

    Parameters
    ----------
    signal : ndarray of shape (..., d)
        The signal a.
    eta : float or ndarray of shape (...)
        Step size.
    dynamics : {"euler", "gd", "flow"}

    Returns
    -------
    ndarray of shape (..., 2, 3, d, d)
        The sum over the first new axis is the logarithm; the second is :data:`NEITHER`,
        :data:`FIRST` (row concept learned, column concept not) or :data:`BOTH`. A factor of zero
        or less is entered as :data:`AT_ONCE`.

    References
    ----------
    (D.3), linearised.

    Examples
    --------
    >>> table = growth_table(np.array([3.0, 1.0]), 1.0, "euler")
    >>> table.sum(axis=0)[NEITHER, 0].round(3).tolist()
    [2.807, 2.322]
    """
    rows, columns = signal[..., :, None], signal[..., None, :]
    step = np.asarray(eta, dtype=np.float64)[..., None, None]
    sums = rows + columns
    if dynamics == "flow":
        natural = [
            _product(step, sums),
            _product(-step, (rows - columns) / 2),
            _product(-step, sums),
        ]
    else:
        if dynamics == "gd":
            single = _logarithm(_plus_one(_product(step, signal[..., :, None])))
            neither = _sum(single, (single[0].swapaxes(-1, -2), single[1].swapaxes(-1, -2)))
        else:
            neither = _logarithm(_plus_one(_product(step, sums)))
        natural = [
            neither,
            _logarithm(_plus_one(_product(-step, (rows - columns) / 2))),
            _logarithm(_plus_one(_product(-step, sums))),
        ]
    binary = [_multiply(logarithm, _INVERSE_LOG2) for logarithm in natural]
    table = np.stack(
        [np.stack([high for high, _ in binary], -3), np.stack([low for _, low in binary], -3)], -4
    )
    return np.ascontiguousarray(table)


def _two_sum(x: Array, y: Array) -> Pair:
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def _split(x: Array) -> Pair:
    scaled = 134217729.0 * x
    high = scaled - (scaled - x)
    return high, x - high


def _product(x: Array, y: Array) -> Pair:
    """The product x y without error, as a sum of two floats (Dekker)."""
    product = x * y
    (x_high, x_low), (y_high, y_low) = _split(x), _split(y)
    error = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low
    return product, error


def _multiply(x: Pair, y: tuple[Array | float, Array | float]) -> Pair:
    high, low = _product(x[0], np.asarray(y[0]))
    return _two_sum(high, low + (x[0] * y[1] + x[1] * y[0]))


def _sum(x: Pair, y: Pair) -> Pair:
    high, low = _two_sum(x[0], y[0])
    return _two_sum(high, low + x[1] + y[1])


def _plus_one(x: Pair) -> Pair:
    return _sum(x, (np.ones_like(x[0]), np.zeros_like(x[0])))


def _exponential(x: Array) -> Pair:
    """exp(x) for |x| below 700, to about 1e-29: Taylor series at x/1024, squared ten times."""
    reduced = (x / 1024.0, np.zeros_like(x))
    total: Pair = (np.ones_like(x), np.zeros_like(x))
    for order in range(20, 0, -1):
        quotient = _divide(_multiply(total, reduced), float(order))
        total = _plus_one(quotient)
    for _ in range(10):
        total = _multiply(total, total)
    return total


def _divide(x: Pair, divisor: float) -> Pair:
    quotient = x[0] / divisor
    high, low = _product(quotient, np.full_like(quotient, divisor))
    return _two_sum(quotient, ((x[0] - high) - low + x[1]) / divisor)


def _logarithm(x: Pair) -> Pair:
    """log(x) of a positive pair by one Newton step from the float logarithm."""
    positive = x[0] > 0
    high, low = np.where(positive, x[0], 1.0), np.where(positive, x[1], 0.0)
    start = np.log(high)
    # log x = start + log(x exp(-start)), and the argument of that logarithm is 1 + O(1e-16).
    ratio = _multiply((high, low), _exponential(-start))
    correction = _sum(ratio, (np.full_like(start, -1.0), np.zeros_like(start)))
    result = _sum((start, np.zeros_like(start)), correction)
    return np.where(positive, result[0], AT_ONCE), np.where(positive, result[1], 0.0)
