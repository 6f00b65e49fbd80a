"""The end of learning: whether the rest vanishes exponentially or as a power of the steps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from swingby.diffusion.concept_space import checked_path, half_times
from swingby.errors import InvalidInput
from swingby.theory import numbers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

#: Images of the held-out class behind each save.
IMAGES = 32
#: A rest below this, half an image of 32, is noise,
FLOOR = 1 / 64
#: once it is the mean of so many saves: single ones of so few images are often 0 by chance.
WINDOW = 5
#: With fewer saves, or fewer of them above the floor, nothing is fitted.
FEWEST_POINTS, FEWEST_ABOVE = 6, 3
#: Nor unless the rest falls by this factor from the first three to the last three.
LEAST_FALL = 4.0
#: Of Newton's method, which needs less than ten; and where its steps are too small to matter.
MOST_STEPS, TINY = 100, 1e-12


@dataclass(frozen=True)
class SlowDown:
    r"""Fits to the rest :math:`1 - C_p` of the later concept after its half-time.

    Parameters
    ----------
    concept : int or None
        The later concept, 0 for colour and 1 for size; None where one is not learned.
    rate : float
        Of :math:`1 - C = e^{c - rate \cdot t}`, per step.
    power : float
        Of :math:`1 - C = c\,t^{-power}`.
    evidence : float
        Difference of Akaike's criterion, power law minus exponential: above 0 the exponential
        fits better. Both have two parameters, so it is twice the difference of the logarithms of
        their likelihoods, with the noise of 32 images.
    points : int
        Saves used. Rate, power and evidence are nan where these are too few.
    """

    concept: int | None
    rate: float
    power: float
    evidence: float
    points: int


def slow_down(
    steps: ArrayLike, path: ArrayLike, begin: int | None = 0, *, floor: float = FLOOR
) -> SlowDown:
    r"""Fit the approach to the target after the later half-time.

    Used are the saves after the half-time of the later concept but for the first of them, up to
    the first ``WINDOW`` saves in a row whose mean rest is no longer above the noise floor.
    The rest is taken for a share of 32 images with mean :math:`e^{c - r t}`, or
    :math:`e^{c} t^{-r}`, and Poisson noise (a share p varies by :math:`p (1 - p)/32`, at most the
    :math:`p/32` of Poisson); c and r maximize the likelihood. A line through logarithms would not
    do: shares of 0 have none, and leaving them out makes the rate too small.

    Parameters
    ----------
    steps : array_like of shape (n,)
    path : array_like of shape (n, 2)
        From 0 to 1.
    begin : int or None
        Place of the start, see :func:`swingby.diffusion.concept_space.start`.
    floor : float
        Rests up to this are taken for noise.

    Raises
    ------
    InvalidInput

    Examples
    --------
    >>> t = np.arange(0, 2000, 50)
    >>> late, soon = 1 - np.exp(-t / 400), 1 - np.exp(-t / 100)
    >>> found = slow_down(t, np.stack([soon, late], axis=1))
    >>> found.concept, round(found.rate, 6), found.evidence > 0
    (1, 0.0025, True)
    """
    times, points = checked_path(steps, path)
    if points.min() < 0 or points.max() > 1:
        raise InvalidInput("path", "an array", "must lie from 0 to 1")
    limit = numbers.within_float(numbers.positive(floor, "floor"), "floor")
    none = SlowDown(None, math.nan, math.nan, math.nan, 0)
    halves = half_times(times, points, begin)
    reached = np.array(halves.stays)
    reached[list(halves.early)] = -math.inf
    if begin is None or np.isnan(reached).any() or np.isposinf(reached).any():
        return none
    if np.isneginf(reached).all():
        return none
    later = int(np.argmax(reached))
    # The first save after the crossing was picked for lying above 1/2, later ones hardly were.
    after = np.flatnonzero(times > reached[later])[1:]
    rest = 1 - points[after, later]
    count = len(rest)
    if count >= WINDOW:
        windows = np.lib.stride_tricks.sliding_window_view(rest, WINDOW).mean(axis=1)
        low = np.flatnonzero(windows <= limit)
        # Those saves are part of the fit: to drop what was picked for being low would slow it.
        count = int(low[0]) + WINDOW if low.size else count
    rest, when = rest[:count], times[after][:count]
    few = count < FEWEST_POINTS or (rest > limit).sum() < FEWEST_ABOVE
    if few or rest[:3].mean() < LEAST_FALL * rest[-3:].mean():
        return SlowDown(later, math.nan, math.nan, math.nan, count)
    rate, likelihood = _fit(when, rest)
    power, of_power = _fit(np.log(when), rest)
    return SlowDown(later, rate, power, 2 * IMAGES * (likelihood - of_power), count)


def _fit(x: Floats, rest: Floats) -> tuple[float, float]:
    """The rate r of e^(c - r x) with the largest Poisson likelihood, and its logarithm.

    The problem is convex in c and r: Newton's method with steps halved until they improve.
    """
    scale = float(np.ptp(x))
    design = np.stack([np.ones(len(x)), (x - x.mean()) / scale], axis=1)
    found = np.array([math.log(rest.mean()), 0.0])

    def likelihood(at: Floats) -> float:
        line = design @ at
        return float((rest * line - np.exp(line)).sum())

    best = likelihood(found)
    for _ in range(MOST_STEPS):
        means = np.exp(design @ found)
        step = np.linalg.solve((design.T * means) @ design, design.T @ (rest - means))
        part = 1.0
        while part > TINY and not likelihood(found + part * step) >= best:
            part /= 2
        if part <= TINY:
            break
        found = found + part * step
        before, best = best, likelihood(found)
        if np.abs(step).max() < TINY or best == before:
            break
    return float(-found[1] / scale), best
