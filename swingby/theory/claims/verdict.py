"""Three-valued verdicts. An undecided one never turns into False or True.

Two scales are in use: an assumption *holds* or *fails* at given numbers, a claim is *proved*,
*refuted* or only *tested*. Both have *undecided*.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from swingby.errors import Undecided


class Verdict(StrEnum):
    """Whether an assumption holds at given numbers.

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
    """What is known about a claim.

    *proved* and *refuted* are decided; *tested* says that a number of cases showed no violation.
    """

    PROVED = "proved"
    REFUTED = "refuted"
    TESTED = "tested"
    UNDECIDED = "undecided"

    @property
    def is_decided(self) -> bool:
        """Whether the claim is settled either way."""
        return self in (Finding.PROVED, Finding.REFUTED)

    def __bool__(self) -> bool:
        raise Undecided("a finding is a word, not True or False: compare it with 'proved'")


def all_hold(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict on a conjunction: *fails* if one fails, else *undecided* if one is."""
    seen = set(verdicts)
    if Verdict.FAILS in seen:
        return Verdict.FAILS
    return Verdict.UNDECIDED if Verdict.UNDECIDED in seen else Verdict.HOLDS


def from_sign(sign: int | None) -> Verdict:
    """The verdict that a margin gives: *holds* from zero on; None stands for an unknown sign."""
    if sign is None:
        return Verdict.UNDECIDED
    return Verdict.HOLDS if sign >= 0 else Verdict.FAILS


def counted(verdicts: Iterable[Verdict]) -> str:
    """How often each verdict was given."""
    found = list(verdicts)
    words = {Verdict.HOLDS: "hold", Verdict.FAILS: "fail", Verdict.UNDECIDED: "undecided"}
    return ", ".join(f"{found.count(one)} {word}" for one, word in words.items())
