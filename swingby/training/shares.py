"""Shares of runs with their Wilson intervals, and what they say against a threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from swingby.errors import InvalidInput
from swingby.theory import numbers

#: Two-sided 95 % quantile of the normal distribution.
QUANTILE = 1.959963984540054


class Fate(StrEnum):
    """What becomes of a prediction outside the model it was made for."""

    SURVIVES = "survives"
    FAILS = "fails"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Share:
    """So many of so many runs.

    Examples
    --------
    >>> Share(10, 10).low.__round__(3), str(Share(1, 4)), str(Share(0, 0))
    (0.722, '0.25 [0.05, 0.70]', 'none')
    """

    count: int
    total: int

    def __post_init__(self) -> None:
        numbers.whole(self.total, "total", 0)
        numbers.whole(self.count, "count", 0, most=self.total)

    @property
    def value(self) -> float:
        """The share itself; nan of nothing."""
        return self.count / self.total if self.total else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval; nan of nothing."""
        if not self.total:
            return math.nan, math.nan
        n, p, z = self.total, self.value, QUANTILE
        middle = (p + z * z / (2 * n)) / (1 + z * z / n)
        reach = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
        # At 0 and at n the exact bound is 0 or 1, which rounding may miss.
        low = 0.0 if self.count == 0 else middle - reach
        return low, 1.0 if self.count == n else middle + reach

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.interval[0]

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.interval[1]

    def __str__(self) -> str:
        if not self.total:
            return "none"
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


def reaches(share: Share, threshold: float) -> Fate:
    """Whether a share of runs reaches a threshold.

    Parameters
    ----------
    share : Share
    threshold : float
        Between 0 and 1.

    Returns
    -------
    Fate
        "survives" where the whole interval lies at or above the threshold, "fails" where it lies
        below, and else "undecided".

    Raises
    ------
    InvalidInput

    Examples
    --------
    >>> [str(reaches(one, 0.9)) for one in (Share(100, 100), Share(80, 100), Share(9, 10))]
    ['survives', 'fails', 'undecided']
    """
    if not 0 < threshold < 1:
        raise InvalidInput("threshold", threshold, "must lie between 0 and 1")
    if share.low >= threshold:
        return Fate.SURVIVES
    return Fate.FAILS if share.high < threshold else Fate.UNDECIDED


def agrees(share: Share, expected: Share, tolerance: float) -> Fate:
    """Whether two shares of independent runs are equal up to a tolerance.

    Parameters
    ----------
    share, expected : Share
    tolerance : float
        Between 0 and 1.

    Returns
    -------
    Fate
        By Newcombe's interval of the difference: "survives" where it lies within the tolerance,
        "fails" where it lies outside, and else "undecided".

    Raises
    ------
    InvalidInput

    Examples
    --------
    >>> theory = Share(400, 1000)
    >>> [str(agrees(Share(n, 200), theory, 0.15)) for n in (82, 150, 105)]
    ['survives', 'fails', 'undecided']
    """
    if not 0 < tolerance < 1:
        raise InvalidInput("tolerance", tolerance, "must lie between 0 and 1")
    difference = share.value - expected.value
    below = math.hypot(share.value - share.low, expected.high - expected.value)
    above = math.hypot(share.high - share.value, expected.value - expected.low)
    low, high = difference - below, difference + above
    if -tolerance <= low and high <= tolerance:
        return Fate.SURVIVES
    return Fate.FAILS if low > tolerance or high < -tolerance else Fate.UNDECIDED
