"""Confidence intervals over a few seeds, and slopes over contrasts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from swingby.errors import InvalidInput

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

#: Confidence of every interval.
CONFIDENCE = 0.95
#: Fewer seeds decide nothing: Student's interval of two is thirteen times their half distance.
FEWEST_SEEDS = 3


@dataclass(frozen=True)
class Interval:
    """A mean over seeds with its 95 % interval.

    Parameters
    ----------
    mean, low, high : float
        nan where there is no statement.
    seeds : int
        Seeds with a finite value.
    missing : int
        Seeds without one.
    """

    mean: float
    low: float
    high: float
    seeds: int
    missing: int = 0

    @property
    def known(self) -> bool:
        """Whether every seed has a value, and there are enough of them."""
        return self.missing == 0 and self.seeds >= FEWEST_SEEDS and math.isfinite(self.low)

    @property
    def reach(self) -> float:
        """Half its width."""
        return (self.high - self.low) / 2

    def wider(self, error: float) -> Interval:
        """The interval for a comparison with something that has an error of its own.

        Parameters
        ----------
        error : float
            Half-width of the interval of the other number, added in quadrature.
        """
        below = math.hypot(self.mean - self.low, error)
        above = math.hypot(self.high - self.mean, error)
        return Interval(self.mean, self.mean - below, self.mean + above, self.seeds, self.missing)


def student(values: ArrayLike) -> Interval:
    """Student's 95 % interval of the mean of some seeds.

    Seeds without a finite value are counted, not averaged: leaving out runs that never learned
    would favour the fast ones, so an interval with any missing is not :attr:`Interval.known`.

    Returns
    -------
    Interval
        Low and high are nan below two finite values. Values that are all equal, as
        bends of paths along the border, give an interval of no width.

    Examples
    --------
    >>> found = student([1.0, 2.0, 3.0])
    >>> found.mean, round(found.low, 3), round(found.high, 3)
    (2.0, -0.484, 4.484)
    """
    from scipy.stats import t

    given = np.asarray(values, dtype=np.float64)
    if given.ndim != 1:
        raise InvalidInput("values", f"shape {given.shape}", "must have one axis, of seeds")
    finite = given[np.isfinite(given)]
    n, missing = len(finite), len(given) - len(finite)
    if n < 2:
        return Interval(float(finite[0]) if n else math.nan, math.nan, math.nan, n, missing)
    if np.ptp(finite) == 0:
        return Interval(float(finite[0]), float(finite[0]), float(finite[0]), n, missing)
    mean = float(finite.mean())
    reach = float(t.ppf((1 + CONFIDENCE) / 2, n - 1) * finite.std(ddof=1) / math.sqrt(n))
    return Interval(mean, mean - reach, mean + reach, n, missing)


def slopes(x: ArrayLike, y: ArrayLike, *, least_points: int, least_spread: float) -> Floats:
    """Slope of a straight line with offset, for each seed.

    Seeds are independent, contrasts of one seed need not be, so the spread of slopes over seeds
    is the honest error of a slope.

    Parameters
    ----------
    x : array_like of shape (contrasts,) or (seeds, contrasts)
    y : array_like of shape (seeds, contrasts)
        nan and inf are left out.
    least_points : int
        With fewer contrasts left the slope is nan.
    least_spread : float
        So is it where x spans less than this.
    """
    values = np.asarray(y, dtype=np.float64)
    places = np.broadcast_to(np.asarray(x, dtype=np.float64), values.shape)
    found = np.full(len(values), math.nan)
    for seed, (xs, ys) in enumerate(zip(places, values, strict=True)):
        kept = np.isfinite(xs) & np.isfinite(ys)
        if kept.sum() < least_points or np.ptp(xs[kept]) < least_spread:
            continue
        centred = xs[kept] - xs[kept].mean()
        found[seed] = (centred * (ys[kept] - ys[kept].mean())).sum() / (centred**2).sum()
    return found
