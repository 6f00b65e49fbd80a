"""Shares of random runs, judged by Wilson's interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.theory import numbers
from swingby.theory.verdict import Verdict, inside


@dataclass(frozen=True)
class Share:
    """So many of so many runs.

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
        return self.interval_at(0.95)

    def interval_at(self, confidence: float) -> tuple[float, float]:
        """Wilson's interval of a confidence; nan of nothing."""
        if not self.total:
            return math.nan, math.nan
        from scipy.stats import binomtest

        test = binomtest(self.count, self.total)
        bounds = test.proportion_ci(confidence, method="wilson")
        # At n the exact bound is 1, which rounding may miss.
        return float(bounds.low), 1.0 if self.count == self.total else float(bounds.high)

    def interval_text(self, confidence: float = 0.95) -> str:
        """That interval in percent; empty of nothing.

        >>> Share(58, 64).interval_text(), Share(58, 64).interval_text(0.999)
        ('[81.0%, 95.6%]', '[72.2%, 97.3%]')
        """
        low, high = self.interval_at(confidence)
        return f"[{low:.1%}, {high:.1%}]" if self.total else ""

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.interval[0]

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.interval[1]

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]" if self.total else "none"


def share_of(runs: Any) -> Share:
    """The share of the runs that do something, from an array of truth values."""
    return Share(int(np.sum(runs)), int(np.size(runs)))


def _between(value: float, name: str) -> None:
    if not 0 < value < 1:
        raise InvalidInput(name, value, "must lie between 0 and 1")


def reaches(share: Share, threshold: float) -> Verdict:
    """*holds* if the whole interval lies at or above a threshold, *fails* if it lies below.

    >>> [str(reaches(one, 0.9)) for one in (Share(100, 100), Share(80, 100), Share(9, 10))]
    ['holds', 'fails', 'undecided']
    """
    _between(threshold, "threshold")
    return inside(share.interval, threshold)


def two_sided(confidence: float) -> float:
    """The normal quantile of a two-sided interval.

    >>> round(two_sided(0.95), 3)
    1.96
    """
    from scipy.special import ndtri

    return float(ndtri((1 + confidence) / 2))


def needed(share: Share, threshold: float) -> int | None:
    """Number of runs that decides the same share against a threshold; None if they are equal.

    Wilson's interval leaves out t where n (p - t)^2 > z^2 t (1 - t).

    >>> needed(Share(58, 64), 0.9), needed(Share(40, 64), 0.9), needed(Share(9, 10), 0.9)
    (8851, 5, None)
    """
    distance = share.value - threshold
    if not share.total or abs(distance) < 1e-12:
        return None
    return math.ceil(two_sided(0.95) ** 2 * threshold * (1 - threshold) / distance**2)


def judged(share: Share, threshold: float, confidence: float = 0.95) -> dict[str, Any]:
    """A share of runs beside its threshold, as columns of a table.

    `confidence` is that of the interval alone; the verdict is always by 95 %.
    """
    return {
        "predicted": f"in {threshold:.0%} of the runs",
        "observed": f"{share.value:.1%}" if share.total else "-",
        "interval": share.interval_text(confidence),
        "verdict": reaches(share, threshold),
        "seeds": share.total,
        "needed": needed(share, threshold),
        "count": share.count if share.total else None,
    }


def agrees(share: Share, expected: Share, tolerance: float) -> Verdict:
    """Verdict on the equality of two shares up to a tolerance, by Newcombe's interval.

    >>> theory = Share(400, 1000)
    >>> [str(agrees(Share(n, 200), theory, 0.15)) for n in (82, 150, 105)]
    ['holds', 'fails', 'undecided']
    """
    _between(tolerance, "tolerance")
    difference = share.value - expected.value
    low = difference - math.hypot(share.value - share.low, expected.high - expected.value)
    high = difference + math.hypot(share.high - share.value, expected.value - expected.low)
    return inside((low, high), -tolerance, tolerance)
