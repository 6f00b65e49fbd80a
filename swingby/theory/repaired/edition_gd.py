r"""The repaired edition for gradient descent on U: which theorem covers (a, eta, omega, beta, rho).

Theorem two-gd (:mod:`swingby.theory.repaired.theorem_two_gd`) for two concepts and Theorem R-gd
(:mod:`swingby.theory.repaired.theorem_r_gd`) for any number have an omega_0: both promise that
every |w_ij| stays below a bound, that each w_ii has reached 0.8 by a step and stays above, and that
W -> I. Theorem G-gd needs no smallness and promises the limit alone. Theorem S-gd speaks of one
W(0) (:mod:`swingby.theory.repaired.proved_half_times`). One concept moves by the scalar map F.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import flint
import mpmath
import numpy as np
import sympy

from swingby.errors import InvalidInput
from swingby.report.number_text import scientific
from swingby.theory import balls
from swingby.theory.balls import precision
from swingby.theory.numbers import exact
from swingby.theory.repaired import edition, theorem_r_gd, theorem_two_gd
from swingby.theory.repaired.repaired_setting import (
    CLOSE,
    LEVEL,
    RepairedSetting,
    bracketed,
    exact_promises,
    rational_below,
)
from swingby.theory.repaired.scalar_map import growth
from swingby.theory.repaired.theorem_r_gd import StartBounds
from swingby.theory.statement import Condition, Statement
from swingby.theory.verdict import Verdict

eta, a_1 = sympy.symbols("eta a_1", positive=True)

D2 = Statement(
    "D.2'",
    "repaired",
    "Step Size",
    (),
    (Condition(eta * a_1 <= sympy.Rational(1, 3)),),
    "Theorems two-gd and R-gd",
    "a_1 is the largest signal. For the flow, where eta only converts time, it is not asked for.",
)

#: The assumptions for gradient descent on U, in order.
STATEMENTS_GD = (edition.D1, D2, edition.D3, edition.D4)

_BITS = 256
#: log of the smallest eta that is tried, over the largest.
_SMALLEST_SHARE = Fraction(-28)


@dataclass(frozen=True)
class DescentPromise:
    """What a theorem promises of gradient descent at an omega; concepts in the user's order.

    `theorem`: ``"two-gd"``, ``"R-gd"`` or ``"scalar map"`` for one concept.
    `log_peaks`: upper bounds on log |w_ij(t)| at all steps, natural; i < j count from 0.
    `reach_by`: whole steps from which on each w_ii is above 0.8.
    `extra`: how much more that takes, in logits, than F needs from a pivot of rho omega if it grew
    by 2 log(1 + eta a_i) per step throughout.
    """

    theorem: str
    log_peaks: dict[tuple[int, int], float]
    reach_by: tuple[int, ...]
    extra: tuple[float, ...]


@dataclass(frozen=True)
class DescentRange:
    """Signals, eta, beta and rho that the theorems may speak of.

    `signal`: in the user's order, positive and distinct. `eta`: positive. 0 < rho <= beta.
    """

    signal: tuple[Fraction, ...]
    eta: Fraction
    beta: Fraction
    rho: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.rho <= self.beta:
            raise InvalidInput("rho", self.rho, "must be positive and at most beta", "D.3'")
        if min(self.signal) <= 0 or len(set(self.signal)) < len(self.signal):
            signal_text = ", ".join(map(str, self.signal))
            raise InvalidInput("signal", signal_text, "must be positive and distinct", "D.1'")

    @functools.cached_property
    def descending(self) -> tuple[Fraction, ...]:
        """The signal from largest to smallest."""
        return tuple(sorted(self.signal, reverse=True))

    @property
    def y(self) -> list[Fraction]:
        """Eta a_i, descending."""
        return [self.eta * a for a in self.descending]

    @property
    def setting(self) -> RepairedSetting:
        """The numbers without eta; two concepts or more."""
        return RepairedSetting(self.descending, self.beta, self.rho)

    @property
    def step_margin(self) -> Fraction:
        """The largest admitted eta a_1 over eta a_1, without o_d: at least 1 inside."""
        return theorem_r_gd.LARGEST_STEP / self.y[0]

    @functools.cached_property
    def limits(self) -> dict[str, Fraction]:
        """Certified log omega_0 by theorem, rounded down; without those that cover no omega.

        At omega_0 and below it the theorem holds: two-gd because b and E grow with omega, R-gd by
        the scaled witness of its statement.
        """
        if self.step_margin < 1:
            return {}
        if len(self.signal) == 1:
            with precision(_BITS):
                # F of a single w_11 <= 1 at eta a_1 <= 1/3.
                return {"scalar map": balls.round_down(-balls.ball(self.beta).log())}
        limits = {}
        if len(self.signal) == 2:
            two = theorem_two_gd.log_omega_0(self.setting, self.eta)
            if two is not None:
                limits["two-gd"] = two
        with precision(_BITS):
            high = balls.round_down(-balls.ball(self.beta).log())
        many = bracketed(self.covered_by_r, high, CLOSE)
        if many is not None:
            limits["R-gd"] = many
        return limits

    def covered_by_r(self, log_omega: Fraction) -> bool:
        """Whether R-gd has a certified witness that reaches 0.8, at this omega."""
        return self._witness(log_omega) is not None

    def _witness(
        self, log_omega: Fraction | flint.arb, thetas: Sequence[Fraction] = theorem_r_gd.THETAS
    ) -> theorem_r_gd.DescentWitness | None:
        with precision(_BITS):
            rates = theorem_r_gd.at_precision(self.y)
            return theorem_r_gd.find_witness(rates, self._start(log_omega), thetas, LEVEL)

    def _smallest_witness(self, log_omega: flint.arb) -> theorem_r_gd.DescentWitness | None:
        """The witness with the smallest largest entry."""
        found = (self._witness(log_omega, (theta,)) for theta in theorem_r_gd.THETAS)
        peaks = {max(max(row[:i]) for i, row in enumerate(w.log_peaks) if i): w for w in found if w}
        return peaks[min(peaks)] if peaks else None

    def _start(self, log_omega: Fraction | flint.arb) -> StartBounds:
        return theorem_r_gd.of_class(len(self.signal), self.beta, self.rho, log_omega)

    @property
    def largest(self) -> tuple[str, Fraction] | None:
        """The theorem with the largest log omega_0; None where none covers any omega."""
        return max(self.limits.items(), key=lambda item: item[1], default=None)

    def promise(self, omega: Fraction) -> DescentPromise | None:
        """What is promised at omega, by the theorem that covers it; None where none does."""
        with precision(_BITS):
            L = balls.ball(omega).log()
            covered = [name for name, limit in self.limits.items() if balls.ball(limit) >= L]
        if "scalar map" in covered:
            with precision(_BITS):
                return self._promised("scalar map", omega, [flint.arb(0)], [[None]])
        if "two-gd" in covered:
            return self._two(omega)
        return self._many(omega) if "R-gd" in covered else None

    def _climb(self, omega: Fraction) -> flint.arb:
        """Logits from a pivot of rho omega to 0.8; none from above that."""
        start, level = balls.ball(min(self.rho * omega, LEVEL)), balls.ball(LEVEL)
        return (level / (1 - level)).log() - (start / (1 - start)).log()

    def _promised(
        self,
        theorem: str,
        omega: Fraction,
        extra: list[flint.arb],
        log_peaks: list[list[flint.arb | None]],
    ) -> DescentPromise:
        """A promise, from extra times and bounds of entries by rank, at the working precision."""
        odds = self._climb(omega)
        steps = []
        for y, more in zip(self.y, extra, strict=True):
            bound = (odds + more) / growth(balls.ball(y))
            steps.append(max(0, int(bound.upper().ceil().unique_fmpz())))
        ranks = [self.descending.index(value) for value in self.signal]
        return DescentPromise(
            theorem,
            {
                (i, j): balls.float_above(size) if size.is_finite() else -math.inf
                for i, j in combinations(range(len(ranks)), 2)
                if (size := log_peaks[ranks[i]][ranks[j]]) is not None
            },
            tuple(steps[rank] for rank in ranks),
            tuple(balls.float_above(extra[rank]) for rank in ranks),
        )

    def _two(self, omega: Fraction) -> DescentPromise:
        with precision(_BITS):
            rates, L = theorem_two_gd.TwoRates.of(self.y[0], self.y[1]), balls.ball(omega).log()
            extra, peak = flint.arb(0), flint.arb.neg_inf()
            if self.beta > self.rho:
                k = theorem_two_gd.log_k(rates, self.beta, self.rho, L)
                start = balls.ball(self.rho * omega)
                bound = rates.extra_time(k, start, balls.ball(LEVEL))
                assert bound is not None
                extra, peak = bound, rates.log_peak(k)
            peaks = [[None, peak], [peak, None]]
            return self._promised("two-gd", omega, [extra, flint.arb(0)], peaks)

    def _many(self, omega: Fraction) -> DescentPromise:
        with precision(_BITS):
            L = balls.ball(omega).log()
            witness, at = self._smallest_witness(L), L
            if witness is None:
                # Below omega_0 a witness exists by the statement; it may be missed next to it.
                at = balls.ball(self.limits["R-gd"])
                witness = self._smallest_witness(at)
            assert witness is not None
            rates, start = theorem_r_gd.at_precision(self.y), self._start(at)
            # Z_i of a witness serves at smaller omega, where log b is smaller by at - L.
            bounds = theorem_r_gd.reach_by(rates, start, witness) * rates.growth + (at - L)
            peaks = [[balls.ball(x) for x in row] for row in witness.log_peaks]
            return self._promised("R-gd", omega, list(bounds - self._climb(omega)), peaks)


def largest_omega(
    signal: tuple[Fraction, ...],
    eta: Fraction,
    beta: Fraction,
    rho: Fraction,
    *,
    peak: Fraction | None = None,
    extra: Fraction | None = None,
) -> mpmath.mpf | None:
    r"""The largest omega that a theorem for gradient descent covers, with a promise of some size.

    Parameters
    ----------
    signal : tuple of Fraction
        a, length d, in any order: distinct and positive.
    eta : Fraction
        Step size in the clock of (D.2); eta a_1 <= 1/3.
    beta, rho : Fraction
        0 < rho <= beta: w_ii(0) <= beta omega and pivots of at least rho omega.
    peak : Fraction, optional
        Promised are :math:`|w_{ij}| \le` peak at all steps and i != j.
    extra : Fraction, optional
        Promised is that each w_ii stays above 0.8 from step :math:`\lceil [\operatorname{logit} 0.8
        - \operatorname{logit} \rho\omega + \text{extra}]/(2 \log(1 + \eta a_i)) \rceil` on.

    Returns
    -------
    mpmath.mpf or None
        Certified and rounded down, to 1e-4 of its logarithm where R-gd or a promise binds; None
        where no omega above exp(-10000) is covered, or none has a promise of that size: `extra`
        cannot be smaller than what the spread of beta/rho takes at the smallest omega.

    Raises
    ------
    InvalidInput
        If a number is out of range.

    References
    ----------
    Theorems two-gd and R-gd (:mod:`swingby.theory.repaired.theorem_two_gd`,
    :mod:`swingby.theory.repaired.theorem_r_gd`); ours.

    Examples
    --------
    >>> numbers = (Fraction(1), Fraction(4)), Fraction(1, 200), Fraction(2), Fraction(1, 10)
    >>> mpmath.nstr(largest_omega(*numbers), 4)
    '0.07577'
    >>> mpmath.nstr(largest_omega(*numbers, extra=Fraction(1, 2)), 2)
    '0.0092'
    """
    peak, extra = exact_promises(peak, extra)
    signal = tuple(exact(a, "signal", "D.1'") for a in signal)
    eta, beta, rho = exact(eta, "eta"), exact(beta, "beta"), exact(rho, "rho")
    _require_positive(signal, eta=eta, beta=beta, rho=rho)
    numbers = DescentRange(signal, eta, beta, rho)
    largest = numbers.largest
    if largest is None:
        return None
    limit = largest[1]
    if peak is not None or extra is not None:
        within = bracketed(lambda L: _keeps(numbers, L, peak, extra), limit, CLOSE)
        if within is None:
            return None
        limit = within
    with precision(_BITS):
        return balls.midpoint(balls.ball(rational_below(limit)))


def _require_positive(signal: tuple[Fraction, ...], **scalars: Fraction) -> None:
    if not signal:
        raise InvalidInput("signal", "()", "must have an entry for each concept", "D.1'")
    for name, number in (*scalars.items(), *(("signal", a) for a in signal)):
        if not number > 0:
            raise InvalidInput(name, number, "must be positive", "D.4'")


def _keeps(
    numbers: DescentRange, log_omega: Fraction, peak: Fraction | None, extra: Fraction | None
) -> bool:
    """Whether the promise at exp(log_omega) is of the size that is asked for."""
    omega = rational_below(log_omega)
    promise = numbers.promise(omega)
    if promise is None:
        return False
    with precision(_BITS):
        sizes = [balls.ball(Fraction(x)) for x in promise.log_peaks.values() if math.isfinite(x)]
        if peak is not None and any(size > balls.ball(peak).log() for size in sizes):
            return False
    return extra is None or max(promise.extra) <= extra


def largest_eta(
    signal: tuple[Fraction, ...], omega: Fraction, beta: Fraction, rho: Fraction
) -> mpmath.mpf | None:
    """A largest eta at which two-gd or R-gd covers an omega.

    Parameters
    ----------
    signal : tuple of Fraction
        a, length d, in any order: distinct and positive.
    omega : Fraction
        Scale of W(0); positive.
    beta, rho : Fraction
        As in :func:`largest_omega`.

    Returns
    -------
    mpmath.mpf or None
        In the clock of (D.2), certified, to 1e-3 of its size; None where no eta from 1e-12 of
        1/(3 a_1) on is covered. That smaller eta are covered too is what all numbers show, and not
        part of a theorem.

    Raises
    ------
    InvalidInput
        If a number is out of range.

    References
    ----------
    Theorems two-gd and R-gd; ours.

    Examples
    --------
    >>> numbers = (Fraction(1), Fraction(4)), Fraction(1, 20), Fraction(2), Fraction(1, 10)
    >>> mpmath.nstr(largest_eta(*numbers), 3)
    '0.0265'
    """
    signal = tuple(exact(a, "signal", "D.1'") for a in signal)
    omega, beta, rho = exact(omega, "omega"), exact(beta, "beta"), exact(rho, "rho")
    _require_positive(signal, omega=omega, beta=beta, rho=rho)
    top = theorem_r_gd.LARGEST_STEP / max(signal)

    def covers(log_share: Fraction) -> bool:
        return _covers(DescentRange(signal, _share(log_share) * top, beta, rho), omega)

    low, high = _SMALLEST_SHARE, Fraction(0)
    if covers(high):
        low = high
    elif not covers(low):
        return None
    while high - low > Fraction(1, 1000):
        middle = (low + high) / 2
        low, high = (middle, high) if covers(middle) else (low, middle)
    with precision(_BITS):
        return balls.midpoint(balls.ball(_share(low) * top))


def _share(log_share: Fraction) -> Fraction:
    return Fraction(1) if log_share == 0 else rational_below(log_share)


def _covers(numbers: DescentRange, omega: Fraction) -> bool:
    """Whether two-gd or R-gd covers one omega, without a search for omega_0."""
    with precision(_BITS):
        L = balls.ball(omega).log()
        if len(numbers.signal) == 1:
            return numbers.beta * omega <= 1
        lower = balls.round_down(L) + Fraction(1, 2**60)
        if len(numbers.signal) == 2 and theorem_two_gd.certify(numbers.setting, numbers.eta, lower):
            return True
        return numbers.covered_by_r(lower)


def operator_norm(matrix: np.ndarray[tuple[int, ...], np.dtype[np.object_]]) -> float:
    """|W(0)| in floats, for a margin."""
    return float(np.abs(np.linalg.eigvalsh(matrix.astype(np.float64))).max())


def side_of(omega: Fraction, log_limit: Fraction) -> Verdict:
    """Decide omega <= exp(log_limit), in balls; rounding next to it counts as failing."""
    with precision(2 * _BITS):
        return Verdict.HOLDS if balls.ball(omega).log() <= balls.ball(log_limit) else Verdict.FAILS


def limit_text(log_limit: Fraction) -> str:
    """exp(log_limit) in four digits; it is bracketed to 1e-4."""
    with precision(_BITS):
        return scientific(rational_below(log_limit), 4)
