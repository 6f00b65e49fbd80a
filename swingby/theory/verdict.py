"""Three-valued verdicts; an undecided verdict never turns into False or True.

Two scales are in use: an assumption *holds* or *fails* at given numbers, a claim is *proved*,
*refuted* or only *tested*. Both have *undecided*. What is random is judged by its interval;
shares of runs are in :mod:`swingby.theory.share`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import StrEnum

import numpy as np

from swingby.errors import Undecided


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

    *proved* and *refuted* are decided: a program of this package has checked why. *proved by z3* is
    what the solver z3 says alone, with nothing to check. *tested* says that a number of cases
    showed no violation, *read* that a person follows it and no machine judges it. An assumption is
    no step: it *can be met* where numbers are known that satisfy it.
    """

    PROVED = "proved"
    PROVED_BY_Z3 = "proved by z3"
    REFUTED = "refuted"
    MET = "can be met"
    TESTED = "tested"
    READ = "read"
    UNDECIDED = "undecided"

    @property
    def is_decided(self) -> bool:
        """True if the claim is settled either way."""
        return self in (Finding.PROVED, Finding.REFUTED, Finding.MET)

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
