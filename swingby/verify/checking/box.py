"""The numbers of a question about D.1 to D.5, exact at a point or as intervals over a box."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from numpy.typing import ArrayLike

from swingby.errors import MISSING, InvalidInput
from swingby.hints import Hinted
from swingby.theory import numbers
from swingby.theory.initial import Initial, Scaled, initial_state
from swingby.theory.task import SIMTask
from swingby.verify.checking.intervals import Ends, Interval, interval, interval_text


@dataclass(frozen=True)
class FeasibilityProblem:
    """The numbers of one feasibility question, exact.

    `signal`: a, length d, any order; at least 0.
    `omega`, `eta`: positive. omega is ``min |w_ij(0)|`` over the entries that are not zero.
    `beta`: at least 1: ``max |w_ij(0)| <= beta omega``.
    `power`: power of P in D.4: 1 as printed, 2 as corrected.
    `has_zero`: W(0) has a zero entry, so that no omega > 0 satisfies (D.8).
    """

    signal: tuple[Fraction, ...]
    omega: Fraction
    eta: Fraction
    beta: Fraction
    power: int = 1
    has_zero: bool = False

    @property
    def d(self) -> int:
        """Dimension."""
        return len(self.signal)

    @property
    def descending(self) -> tuple[Fraction, ...]:
        """The signal from largest to smallest."""
        return tuple(sorted(self.signal, reverse=True))

    @property
    def gap(self) -> Fraction | None:
        """M = min(a_i - 3 a_j), None for one concept."""
        neighbours = itertools.pairwise(self.descending)
        return min((large - 3 * small for large, small in neighbours), default=None)

    @property
    def separated(self) -> bool:
        """Whether D.5's second inequality can hold for some C > 1."""
        return self.gap is None or self.gap > 0


@dataclass(frozen=True)
class Box(Hinted):
    """Intervals for the numbers of a :class:`FeasibilityProblem`; a point is a box of width 0."""

    signal: tuple[Interval, ...]
    omega: Interval
    eta: Interval
    beta: Interval
    power: int = 1
    has_zero: bool = False

    def __str__(self) -> str:
        signal = ", ".join(map(interval_text, self.signal))
        names = ("omega", "beta", "eta")
        ends = (f"{name} = {interval_text(getattr(self, name))}" for name in names)
        return ", ".join([f"a = ({signal})", *ends])

    @classmethod
    def at(cls, problem: FeasibilityProblem) -> Box:
        """The box of width 0 at a point."""
        omega, eta, beta = ((x, x) for x in (problem.omega, problem.eta, problem.beta))
        signal = tuple((a, a) for a in problem.signal)
        return cls(signal, omega, eta, beta, problem.power, problem.has_zero)

    def corner(self, end: int) -> FeasibilityProblem:
        """All numbers at their lower (0) or upper (1) ends."""
        omega, eta, beta = self.omega[end], self.eta[end], self.beta[end]
        signal = tuple(a[end] for a in self.signal)
        return FeasibilityProblem(signal, omega, eta, beta, self.power, self.has_zero)

    @property
    def is_point(self) -> bool:
        """Whether every interval is one number."""
        return self.corner(0) == self.corner(1)

    @functools.cached_property
    def descending(self) -> list[Interval]:
        """Intervals of the largest, the second largest, ... signal."""
        return list(zip(self.corner(0).descending, self.corner(1).descending, strict=True))

    @functools.cached_property
    def ratio(self) -> Interval:
        """q, the largest ratio of a smaller to a larger signal; 0 for one concept."""
        low, high = Fraction(0), Fraction(0)
        for large, small in itertools.pairwise(self.descending):
            low = max(low, small[0] / large[1]) if large[1] else low
            if small[1]:
                high = max(high, min(Fraction(1), small[1] / large[0]) if large[0] else Fraction(1))
        return low, high

    @property
    def rho(self) -> Interval:
        """(1 + q)/2, the largest left side of (D.10)."""
        low, high = self.ratio
        return (1 + low) / 2, (1 + high) / 2

    @functools.cached_property
    def gaps(self) -> list[Interval]:
        """a_i - 3 a_j of neighbours."""
        neighbours = itertools.pairwise(self.descending)
        return [(large[0] - 3 * small[1], large[1] - 3 * small[0]) for large, small in neighbours]

    @property
    def gap(self) -> Interval:
        """The smallest of the gaps; 1 for one concept."""
        unit = Fraction(1)
        lows, highs = zip(*self.gaps, strict=True) if self.gaps else ((unit,), (unit,))
        return min(lows), min(highs)

    @functools.cached_property
    def relative_gap(self) -> Interval:
        """The smallest gap over the largest signal; (0, 1) if that may be 0."""
        low_top, high_top = self.descending[0]
        if not low_top:
            return Fraction(0), Fraction(1)
        lows, highs = [], []
        for rank, (low, high) in enumerate(self.gaps):
            # Of the first pair the larger signal is the largest itself.
            lows.append(low / (low_top if rank == 0 or low < 0 else high_top))
            highs.append(high / (high_top if rank == 0 or high < 0 else low_top))
        return min(lows), min(highs)

    @functools.cached_property
    def spread(self) -> Ends:
        """The largest signal over the smallest that is not 0."""
        order = self.descending
        certain = [high for low, high in order if low]
        low = max(Fraction(1), order[0][0] / min(certain)) if certain else Fraction(1)
        smallest = min(low for low, high in order if high)
        return low, max(low, order[0][1] / smallest) if smallest else math.inf


def read_box(
    task: SIMTask,
    omega: Any,
    eta: Any,
    beta: Any,
    edition: str,
    W0: ArrayLike | Scaled | Initial | None,
    U0: ArrayLike | Scaled | None = None,
    *,
    signal: Sequence[Any] | None = None,
    point: bool = False,
) -> tuple[Box, Initial | None]:
    """The numbers to judge, a box of width 0 at a `point`, and W(0) where it is given."""
    step = interval(eta, "eta", "Assumption D.2", 0, strict=True, point=point)
    initial = None
    if W0 is not None or U0 is not None:
        if omega is not None:
            start_name = "W0" if U0 is None else "U0"
            raise InvalidInput("omega", omega, f"must not be given together with {start_name}")
        refuse_beside_start(W0, beta=beta)
        initial = initial_state(W0, U0, task.dim)
        smallest = (initial.smallest_nonzero,) * 2
        spread = (initial.largest / initial.smallest_nonzero,) * 2
    else:
        if omega is None:
            starts = "W0 or U0" if point else "W0"
            requirement = f'must be given, or {starts}: omega="1e-80"'
            raise InvalidInput("omega", MISSING, requirement, "Assumption D.4")
        smallest = interval(omega, "omega", "Assumption D.4", 0, strict=True, point=point)
        spread = interval(1 if beta is None else beta, "beta", "Assumption D.1", 1, point=point)
    power, has_zero = 2 if edition == "corrected" else 1, initial is not None and not initial.omega
    return Box(_read_signal(task, signal), smallest, step, spread, power, has_zero), initial


def refuse_beside_start(W0: object, **values: Any) -> None:
    """Refuse by name what describes a W(0) beside a W(0) or U(0) itself."""
    for name, value in values.items():
        if value is not None:
            start = "U0" if W0 is None else "W0"
            raise InvalidInput(name, value, f"must not be given together with {start}")


def read_rho(rho: Any, edition: str, W0: object, initial: Initial | None) -> Fraction:
    """The least pivot of W(0) over omega, which only the repaired edition without W(0) asks for."""
    if rho is not None and edition != "repaired":
        raise InvalidInput("rho", rho, 'must be given with edition="repaired" alone', "D.3'")
    if initial is not None:
        refuse_beside_start(W0, rho=rho)
    return numbers.positive("0.1" if rho is None else rho, "rho")


def _read_signal(task: SIMTask, signal: Sequence[Any] | None) -> tuple[Interval, ...]:
    if signal is None:
        return tuple((value, value) for value in task.exact_signal)
    if isinstance(signal, str | bytes) or not isinstance(signal, Iterable):
        raise InvalidInput("signal", signal, "must be a sequence of numbers or pairs", "Sec. 4")
    intervals = tuple(
        interval(value, f"signal[{position}]", "Sec. 4", 0)
        for position, value in enumerate(signal, 1)
    )
    if len(intervals) != task.dim:
        raise InvalidInput("signal", f"{len(intervals)} values", f"must have {task.dim} values")
    if not any(high for _, high in intervals):
        raise InvalidInput("signal", "all zeros", "must have a positive entry", "Sec. 4")
    return intervals
