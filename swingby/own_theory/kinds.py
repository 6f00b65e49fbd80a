"""Kinds of assumption and of prediction that a theory of one's own is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import sympy as sp

#: Step, indices of vectors, and their length: the symbols that every theory has.
t = sp.Symbol("t", nonnegative=True)
i, j, k, d = sp.symbols("i j k d", integer=True, positive=True)
#: An expression of sympy, a plain number, or a function of numbers by their names.
Formula = Any


@dataclass(frozen=True)
class Vector:
    """Range of the entries of a vector: low, usual, high.

    The usual vector descends; its entries are spaced so that the assumptions hold clearly.
    """

    low: float
    usual: float
    high: float

    def entries(self, length: int, spacing: float, share: float) -> list[float]:
        """Descending entries in one digit, in the range; `share` of them are above the usual.

        >>> Vector(0.1, 1, 10).entries(3, spacing=3, share=0.5)
        [3.0, 1.0, 0.3]
        """
        powers = [spacing ** (share * (length - 1) - q) for q in range(length)]
        rounded = [float(f"{self.usual * power:.1g}") for power in powers]
        return [min(max(entry, self.low), self.high) for entry in rounded]


@dataclass(frozen=True)
class Each:
    """A relation of entries ``a[i]``, ``a[j]``, ``a[k]``, for all indices with ``when``.

    >>> s = sp.IndexedBase("s", positive=True)
    >>> Each(s[i] >= 2 * s[j], i < j).when
    i < j
    """

    relation: Any
    when: Any = True


@dataclass(frozen=True)
class Order:
    """A promise of size O(e): off/e may not grow as e becomes small. In place of ``within``."""

    e: Formula


@dataclass(frozen=True)
class Prediction:
    """A statement about an observable; ``each``: one for every entry k of it."""

    #: Fields that are formulas, and the one that is measured against ``within``.
    formulas: ClassVar[tuple[str, ...]] = ()
    aim: ClassVar[str] = ""
    name: str


@dataclass(frozen=True)
class Passage(Prediction):
    """``of`` first reaches ``level`` at ``time`` (steps), off by at most ``within`` (steps).

    The prediction is broken if a run past ``time + 2 within`` has no such passage. Between two
    steps the observable is interpolated linearly. A passage comes from below, a ``falling`` one
    from above. If a number before it is not finite, every prediction is undecided.

    >>> s = sp.Symbol("s", positive=True)
    >>> Passage("half", "u", level=s / 2, time=sp.log(1000) / s, within=2).aim
    'time'
    """

    formulas: ClassVar[tuple[str, ...]] = ("level", "time", "within")
    aim: ClassVar[str] = "time"
    of: str
    level: Formula
    time: Formula
    within: Formula
    falling: bool = False
    each: bool = False


@dataclass(frozen=True)
class Value(Prediction):
    """``of`` is ``value`` at step ``at``, off by at most ``within``, in the unit of ``of``.

    If ``at`` is not whole, the next step counts. ``stat`` is ``"mean"`` or ``"var"`` over the seeds
    of a theory with several. The prediction is broken if four standard errors of the estimate do
    not explain the difference, again on more and fresh seeds; it is undecided if a tail decides.

    >>> Value("variance", "x", at=100, value=0.5, within=0.1, stat="var").stat
    'var'
    """

    formulas: ClassVar[tuple[str, ...]] = ("at", "value", "within")
    aim: ClassVar[str] = "value"
    of: str
    at: Formula
    value: Formula
    within: Formula
    stat: str = ""
    each: bool = False


@dataclass(frozen=True)
class Bound(Prediction):
    """``of`` stays below ``below``, or above ``above``, formulas of t, from ``start`` to ``until``.

    ``start`` is step 1 by default, and time 0 of a flow, which is judged between steps as well.
    The bound is not tested where ``of`` is at most ``floor``, the size of roundings, or where both
    are below 1e-290; without a step above its floor it is undecided. It may be exceeded by 1e-9 for
    each step. A test of it has no power, and fails, if a limit off by a factor 2 is kept, too, but
    not if it is ``loose``, as a sign is, ``above=0``.

    >>> Bound("rate", "loss", below=sp.Rational(1, 2) ** t, until=50).below.subs(t, 3)
    1/8
    """

    formulas: ClassVar[tuple[str, ...]] = ("below", "above", "start", "until", "floor")
    of: str
    below: Formula = None
    above: Formula = None
    start: Formula = None
    until: Formula = 1000
    floor: Formula = 0
    each: bool = False
    loose: bool = False


@dataclass(frozen=True)
class Before(Prediction):
    """Passage ``first`` comes before passage ``then``, whatever their times."""

    first: str
    then: str


@dataclass(frozen=True)
class Outcome(Prediction):
    """A label for a setting, of a run to step ``at``.

    ``predicted``: a condition for each label; ``observed``: the label by the last and the largest
    value of ``of``. Where no condition holds, nothing is predicted, and the setting is undecided,
    as where a run ends in nan and that has another label than inf.
    """

    formulas: ClassVar[tuple[str, ...]] = ("at",)
    of: str
    at: Formula
    predicted: Mapping[str, Any]
    observed: Callable[[float, float], str]
    each: bool = False
