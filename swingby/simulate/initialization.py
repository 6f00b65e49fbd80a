"""Random starts: U(0) and W(0) = U(0) U(0)^T, drawn from Gaussian or uniform entries."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from swingby.errors import named
from swingby.theory import numbers
from swingby.theory.initial import Scaled
from swingby.theory.numbers import Floats
from swingby.theory.task import LARGEST_DIMENSION, SIMTask

_Source = np.random.Generator | int | None

#: U(0) is drawn in full, so its width has to fit the memory.
LARGEST_WIDTH = 100_000
#: Below this, omega is kept apart from the matrix, because W would leave the float range.
_SMALLEST_FLOAT_OMEGA = Fraction(1, 10**290)


def gaussian_factor(
    dim: int | SIMTask, scale: Any, width: int | None = None, rng: _Source = None
) -> Floats:
    """U(0) with independent entries ``scale * N(0, 1)``.

    `dim`: the dimension d, or a task that has it.
    `scale`: standard deviation tau of an entry; positive, in the float range.
    `width`: number of columns d' (width of the hidden layer); default d.
    Raises InvalidInput if the scale is not positive or a size is not a positive whole number.

    References
    ----------
    Sec. 4.2, W = U U^T.
    """
    rows, columns = _shape(dim, width)
    deviation = numbers.within_float(numbers.positive(scale, "scale"), "scale")
    return numbers.random_source(rng).standard_normal((rows, columns)) * deviation


@named
def gaussian(
    dim: int | SIMTask, omega: Any, width: int | None = None, rng: _Source = None
) -> Floats | Scaled:
    r"""W(0) = U U^T for Gaussian U, scaled so that the expected diagonal entry is omega.

    .. math:: W(0) = U U^T, \qquad u_{ij} \sim N(0, \tau^2), \qquad \tau^2 = \omega / d'.

    Parameters
    ----------
    dim : int or SIMTask
    omega : float, int, Fraction, str or mpmath number
        Positive; ``"1e-400"`` works.
    width : int, optional
        The number d' of columns of U; default d. Below d, W(0) does not have full rank.
    rng : numpy Generator, seed or None

    Returns
    -------
    ndarray of shape (d, d), or Scaled
        :class:`swingby.theory.initial.Scaled` when omega is below 1e-290.

    Raises
    ------
    InvalidInput
        If omega is not positive or a size is not a positive whole number.

    Examples
    --------
    >>> gaussian(2, "1e-400", rng=0).omega == Fraction(1, 10**400)
    True
    """
    rows, columns = _shape(dim, width)
    scale = numbers.positive(omega, "omega", "Assumption D.1")
    U = numbers.random_source(rng).standard_normal((rows, columns)) / math.sqrt(columns)
    matrix: Floats = _symmetric(U)
    if scale < _SMALLEST_FLOAT_OMEGA:
        return Scaled(matrix, scale)
    return matrix * numbers.within_float(scale, "omega")


def uniform(dim: int | SIMTask, scale: Any, rng: _Source = None) -> Floats:
    """W(0) = U U^T with the entries of U uniform on [0, scale], as in the authors' public code.

    All entries of U are positive, so W(0) is close to rank one and all its entries are positive.

    `scale`: positive; 0.1 in most of the authors' scripts. Raises InvalidInput if the scale is not
    positive or dim is not a positive whole number.
    """
    rows, columns = _shape(dim, None)
    largest = numbers.within_float(numbers.positive(scale, "scale"), "scale")
    return _symmetric(numbers.random_source(rng).random((rows, columns)) * largest)


def _shape(dim: int | SIMTask, width: int | None) -> tuple[int, int]:
    rows = (
        dim.dim
        if isinstance(dim, SIMTask)
        else numbers.whole(dim, "dim", 1, most=LARGEST_DIMENSION)
    )
    return rows, rows if width is None else numbers.whole(width, "width", 1, most=LARGEST_WIDTH)


def _symmetric(U: Floats) -> Floats:
    W = U @ U.T
    return (W + W.T) / 2
