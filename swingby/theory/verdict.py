"""Three-valued verdicts; an undecided verdict never turns into False or True.

Two scales are in use: an assumption *holds* or *fails* at given numbers, a claim is *proved*,
*refuted* or only *tested*. Both have *undecided*. What is random is judged by its interval, a
share of runs by Wilson's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from swingby.errors import InvalidInput, Undecided
from swingby.theory import numbers


class Verdict(StrEnum):
    """Verdict on an assumption at given numbers.

    Comparison with plain words works (``verdict == "holds"``), truth does not: use
    :meth:`decided` where True or False is wanted.

    Examples
    --------
    >>> Verdict.HOLDS == "holds", Verdict.HOLDS.decided()
    (True, True)
    >>> Verdict.UNDECIDED.decided()
    Traceback (most recent call last):
        ...
    swingby.errors.Undecided: the verdict is undecided: it is neither True nor False
    """

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"

    def decided(self) -> bool:
        """True for *holds*, False for *fails*; raises Undecided otherwise."""
        if self is Verdict.UNDECIDED:
            raise Undecided("the verdict is undecided: it is neither True nor False")
        return self is Verdict.HOLDS

    def __bool__(self) -> bool:
        return self.decided()


class Finding(StrEnum):
    """State of knowledge about a claim.

    *proved* and *refuted* are decided; *tested* says that a number of cases showed no violation.
    """

    PROVED = "proved"
    REFUTED = "refuted"
    TESTED = "tested"
    UNDECIDED = "undecided"

    @property
    def is_decided(self) -> bool:
        """True if the claim is settled either way."""
        return self in (Finding.PROVED, Finding.REFUTED)

    def __bool__(self) -> bool:
        raise Undecided("a finding is a word, not True or False: compare it with 'proved'")


def all_hold(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict on a conjunction: *fails* if any part fails, else *undecided* if any part is."""
    distinct = set(verdicts)
    if Verdict.FAILS in distinct:
        return Verdict.FAILS
    return Verdict.UNDECIDED if Verdict.UNDECIDED in distinct else Verdict.HOLDS


def yes(holds: object) -> Verdict:
    """*holds* for True, *fails* for False."""
    return Verdict.HOLDS if holds else Verdict.FAILS


def from_sign(sign: int | None) -> Verdict:
    """The verdict that a margin gives: *holds* from zero on; None stands for an unknown sign."""
    if sign is None:
        return Verdict.UNDECIDED
    return yes(sign >= 0)


def counted(verdicts: Iterable[Verdict]) -> str:
    """Count of each verdict, as text."""
    listed = list(verdicts)
    words = {Verdict.HOLDS: "hold", Verdict.FAILS: "fail", Verdict.UNDECIDED: "undecided"}
    return ", ".join(f"{listed.count(verdict)} {word}" for verdict, word in words.items())


def inside(
    interval: tuple[float, float], least: float = -math.inf, most: float = math.inf
) -> Verdict:
    """*holds* if an interval lies within limits, *fails* if it lies beyond them, else *undecided*.

    >>> [str(inside(one, 0, 1)) for one in ((0.2, 0.9), (1.1, 2), (0.5, 1.5), (math.nan, 1))]
    ['holds', 'fails', 'undecided', 'undecided']
    """
    low, high = interval
    if least <= low and high <= most:
        return Verdict.HOLDS
    return Verdict.FAILS if high < least or low > most else Verdict.UNDECIDED


def within_bar(crossing: float, error: float, observed: float, last: float) -> Verdict:
    """*holds* if the bar of a crossing allows the observed first whole step after it.

    `observed` is nan where none was seen up to the `last` step: it may come later.
    """
    if math.isnan(crossing):
        return Verdict.UNDECIDED
    if math.isnan(observed):
        return yes(crossing + error > last)
    return yes(np.ceil(crossing - error) <= observed <= np.ceil(crossing + error))


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
        if not self.total:
            return math.nan, math.nan
        from scipy.stats import binomtest

        bounds = binomtest(self.count, self.total).proportion_ci(method="wilson")
        # At n the exact bound is 1, which rounding may miss.
        return float(bounds.low), 1.0 if self.count == self.total else float(bounds.high)

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


def needed(share: Share, threshold: float) -> int | None:
    """Number of runs that decides the same share against a threshold; None if they are equal.

    Wilson's interval leaves out t where n (p - t)^2 > z^2 t (1 - t).

    >>> needed(Share(58, 64), 0.9), needed(Share(40, 64), 0.9), needed(Share(9, 10), 0.9)
    (8851, 5, None)
    """
    distance = share.value - threshold
    if not share.total or abs(distance) < 1e-12:
        return None
    from scipy.special import ndtri

    return math.ceil(float(ndtri(0.975)) ** 2 * threshold * (1 - threshold) / distance**2)


def judged(share: Share, threshold: float) -> dict[str, Any]:
    """A share of runs beside its threshold, as columns of a table."""
    any_runs = bool(share.total)
    return {
        "predicted": f"in {threshold:.0%} of the runs",
        "observed": f"{share.value:.1%}" if any_runs else "-",
        "interval": f"[{share.low:.1%}, {share.high:.1%}]" if any_runs else "",
        "verdict": reaches(share, threshold),
        "seeds": share.total,
        "needed": needed(share, threshold),
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
