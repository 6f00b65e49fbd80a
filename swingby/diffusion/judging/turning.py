"""How a path in concept space turns: the bend, the leads, the rise of its error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from swingby.diffusion.concept_space import concept_error
from swingby.errors import InvalidInput
from swingby.theory import numbers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

#: A path has no bend to speak of unless both concepts rise by this.
LEAST_RISE = 0.25
#: Mean squared noise that 32 images judged right or wrong add to the error at most, 1/(4 * 32).
ERROR_OF_NOISE = 1 / 128
#: Saves averaged on either side of a rise, where there are four times as many or more.
SPAN = 5


def _points(path: ArrayLike) -> Floats:
    points = numbers.real_array(path, "path")
    if points.ndim != 2 or points.shape[1] != 2:
        raise InvalidInput("path", f"shape {points.shape}", "must have shape (n, 2)")
    return points


def bend(path: ArrayLike) -> float:
    r"""Signed area between a path and the chord from its first point to its last.

    .. math:: \frac{1}{\Delta_1 \Delta_2} \sum_i (x_i - x_0) \times (x_{i+1} - x_0),

    with :math:`\Delta` from the first point to the last and the cross product of the plane. It is
    +1 for a path that first goes all along colour, then all along size, -1 the other way round,
    0 for a straight one. Paths that leave the rectangle can go beyond. Every term is a product
    of two different saves, so independent noise of the saves between adds nothing on average.

    Parameters
    ----------
    path : array_like of shape (n, 2)
        From the start on. How fast it is run through does not matter.

    Returns
    -------
    float
        nan unless both concepts rise by at least ``LEAST_RISE``: with one not learned there is
        no turn to measure.

    Examples
    --------
    >>> bend([[0, 0], [1, 0], [1, 1]]), bend([[0, 0], [0, 1], [1, 1]]), bend([[0, 0], [1, 1]])
    (1.0, -1.0, 0.0)
    """
    points = _points(path)
    away = points - points[0]
    if away[-1].min() < LEAST_RISE:
        return math.nan
    cross = away[:-1, 0] * away[1:, 1] - away[:-1, 1] * away[1:, 0]
    return float(cross.sum() / (away[-1, 0] * away[-1, 1]))


def leads(path: ArrayLike) -> tuple[float, float]:
    """By how much colour is ahead of size at most, and size of colour.

    Parameters
    ----------
    path : array_like of shape (n, 2)
        From the start on.

    Returns
    -------
    tuple of float
        At least 0. As largest values of something noisy they lie above the truth, by about
        twice the noise.
    """
    points = _points(path)
    ahead = points[:, 0] - points[:, 1]
    return max(float(ahead.max()), 0.0), max(float(-ahead.min()), 0.0)


def largest_rise(values: ArrayLike) -> tuple[float, int, int]:
    r"""The largest :math:`v(t_2) - v(t_1)` over :math:`t_1 < t_2`, and where.

    Returns
    -------
    tuple
        The rise, and the places of its foot and its top; of something that only falls, the
        smallest fall between neighbours (negative). nan and places 0 for a single value.
    """
    series = numbers.real_array(values, "values")
    if series.ndim != 1:
        raise InvalidInput("values", f"shape {series.shape}", "must have one axis")
    if len(series) < 2:
        return math.nan, 0, 0
    lowest = np.minimum.accumulate(series)[:-1]
    top = int(np.argmax(series[1:] - lowest)) + 1
    foot = int(np.argmin(series[:top]))
    return float(series[top] - series[foot]), foot, top


def rises_beyond_noise(paths: Sequence[ArrayLike]) -> Floats:
    """Rises of the concept error that are not picked by their own noise, one per seed.

    The largest rise of a noisy curve is positive even where the truth only falls. So where to
    look is decided by other data: for each seed, foot and top are those of the largest rise of
    the mean error of all other seeds, and the rise of this seed between them is returned, all
    errors being means over ``SPAN`` saves in a row, against the noise of single ones. If
    the true error only falls, each of these numbers is at most ``ERROR_OF_NOISE`` on average;
    their spread over seeds is the noise. A rise that comes at another step in every seed is
    missed.

    Parameters
    ----------
    paths : sequence of array_like of shape (n, 2)
        One per seed, saved at the same steps, from a common start on.

    Returns
    -------
    ndarray of shape (seeds,)
        nan with less than two seeds or two saves.
    """
    points = [_points(one) for one in paths]
    if len({one.shape for one in points}) > 1:
        raise InvalidInput("paths", "different lengths", "must be saved at the same steps")
    if len(points) < 2 or len(points[0]) < 2:
        return np.full(len(points), math.nan)
    span = min(SPAN, max(len(points[0]) // 4, 1))
    errors = np.array(
        [np.convolve(concept_error(p), np.ones(span) / span, "valid") for p in points]
    )
    found = []
    for error, others in zip(errors, errors.sum(axis=0) - errors, strict=True):
        _, foot, top = largest_rise(others)
        found.append(float(error[top] - error[foot]))
    return np.array(found)
