r"""The repaired edition: hypotheses that are met at omega of everyday size, for the flow.

The theorems here speak of :math:`\dot W = BW + WB` (time is eta times steps) from a positive
definite W(0): :mod:`swingby.theory.repaired.theorem_g` on convergence,
:mod:`swingby.theory.repaired.theorem_two` for two concepts,
:mod:`swingby.theory.repaired.theorem_r` for two or more. For one concept the flow is the
logistic :math:`\dot w = 2aw(1-w)`, so that :math:`w(0) \le \beta\omega \le 1` is all there is to
ask. omega_0 is a sufficient constant: above it these theorems are silent, which is not to say that
anything goes wrong there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

import flint
import mpmath
import sympy

from swingby.errors import InvalidInput
from swingby.report.number_text import scientific
from swingby.theory import balls, numbers
from swingby.theory.assumptions import a_k, beta, omega
from swingby.theory.balls import precision
from swingby.theory.repaired import theorem_r, theorem_two
from swingby.theory.repaired.repaired_setting import (
    CLOSE,
    LEVEL,
    RepairedSetting,
    bracketed,
    exact_promises,
    rational_below,
)
from swingby.theory.repaired.theorem_r import Certified
from swingby.theory.statement import Condition, Statement
from swingby.theory.verdict import Verdict, from_sign

rho, omega_0, q = sympy.symbols("rho omega_0 q", positive=True)
w_kk, pi_k = sympy.symbols("w_kk(0) pi_k(0)", real=True)

D1 = Statement(
    "D.1'",
    "repaired",
    "Distinct Positive Signals",
    (),
    (Condition(a_k > 0, "concept"), Condition(q < 1)),
    "Theorem R",
    "q is the largest ratio of a signal to the next larger one. No ratio of 3 is asked for.",
)

D3 = Statement(
    "D.3'",
    "repaired",
    "Small Nondegenerate Initialization",
    ("beta", "rho > 0"),
    (Condition(w_kk <= beta * omega, "concept"), Condition(rho * omega <= pi_k, "concept")),
    "Theorem R",
    "pi_k are the pivots of W(0) = L diag(pi) L^T in descending order of the signal. The theorems "
    "of the flow have no D.2', since eta only converts time; nothing is proved for euler.",
)

D4 = Statement(
    "D.4'",
    "repaired",
    "Explicitly Small Initialization",
    (),
    (Condition(omega <= omega_0),),
    "Theorem R",
    "omega_0(a, beta, rho, d), for gradient descent also of eta, is a certified number. It is "
    "sufficient, not necessary: above it the theorem says nothing.",
)

STATEMENTS = (D1, D3, D4)


@dataclass(frozen=True)
class RepairedFindings:
    """Findings of the repaired edition at given numbers; concepts in the user's order.

    `verdict`: on D.1' and D.4' together.
    `theorem`: the theorem that covers omega.
    `omega_0`: the largest omega covered, rounded down; None when D.1' fails.
    `margin`: log10 of omega_0/omega; minus infinity when D.1' fails.
    `log_peaks`: upper bounds on log |w_ij(t)| for all t, natural; i < j count from 0.
    `reach_by`: eta times steps by which each w_ii has reached 0.8 for good.
    `constants`: theta, E_ij, N_i, M_i, counted from 1, or those of the theorem on two concepts.
    `reason`: one sentence with both sides of D.4'.
    """

    verdict: Verdict
    theorem: str | None
    omega_0: mpmath.mpf | None
    margin: float
    log_peaks: dict[tuple[int, int], float] | None
    reach_by: tuple[float, ...] | None
    constants: dict[str, mpmath.mpf] | None
    reason: str


def largest_omega(
    signal: tuple[Fraction, ...],
    beta: Fraction,
    rho: Fraction,
    *,
    peak: Fraction | None = None,
    extra: Fraction | None = None,
) -> mpmath.mpf | None:
    r"""The largest omega that a theorem of this edition covers, with a promise of some size.

    At the largest omega of all the promise is nearly empty: for a = (4, 1), beta = 2, rho = 0.1 it
    is :math:`|w_{12}| \le 0.48`, 15 units of :math:`1/(2a_1)` late.

    `signal`: in any order, per unit of eta times steps. Numbers are exact: a float or text, too.
    `beta`, `rho`: 0 < rho <= beta: w_ii(0) <= beta omega and pi_i(0) >= rho omega.
    `peak`: promised are :math:`|w_{ij}(t)| \le` peak for all t and i != j.
    `extra`: promised is that each w_ii stays above 0.8 from :math:`[\operatorname{logit} 0.8 -
    \operatorname{logit}\rho\omega + \text{extra}]/(2a_i)` on, in eta times steps.
    Returns rounded down, to 1e-4 of its logarithm where a promise is asked for; None when D.1'
    fails, or no omega above exp(-10000) promises as much.

    Examples
    --------
    >>> four_one = (Fraction(1), Fraction(4)), Fraction(2), Fraction(1, 10)
    >>> mpmath.nstr(largest_omega(*four_one), 4)
    '0.08256'
    >>> mpmath.nstr(largest_omega(*four_one, extra=Fraction(1, 2)), 2)
    '0.01'
    """
    peak, extra = exact_promises(peak, extra)
    signal = tuple(numbers.exact(a, "signal", "D.1'") for a in signal)
    beta, rho = numbers.positive(beta, "beta", "D.3'"), numbers.positive(rho, "rho", "D.3'")
    if not _admissible(signal, beta, rho):
        return None
    if len(signal) == 1:
        return _below(_enclosed(lambda: 1 / balls.ball(beta)))
    limits = _Limits.of(signal, beta, rho)
    if peak is None and extra is None:
        return _below(limits.omega_0)

    def promised(log_omega: Fraction) -> bool:
        omega = rational_below(log_omega)
        covering = limits.covered(signal, omega)
        return covering is not None and _keeps(covering, signal, omega, rho, peak, extra)

    low = bracketed(promised, limits.largest, CLOSE)
    if low is None:
        return None
    if low == limits.largest:
        return _below(limits.omega_0)
    return balls.midpoint(balls.ball(rational_below(low)))


def _keeps(
    promise: RepairedFindings,
    signal: tuple[Fraction, ...],
    omega: Fraction,
    rho: Fraction,
    peak: Fraction | None,
    extra: Fraction | None,
) -> bool:
    """True if the promise is of the size that is asked for."""
    peaks, times = promise.log_peaks or {}, promise.reach_by or ()
    with precision(256):
        if peak is not None and any(
            balls.ball(Fraction(x)) > balls.ball(peak).log()
            for x in peaks.values()
            if math.isfinite(x)
        ):
            return False
        if extra is None:
            return True
        level, start = LEVEL, rho * omega
        odds = balls.ball(level / (1 - level) * (1 - start) / start).log() + balls.ball(extra)
        return all(
            bool(balls.ball(Fraction(time)) * 2 * balls.ball(a) <= odds)
            for a, time in zip(signal, times, strict=True)
        )


def findings(
    signal: tuple[Fraction, ...], omega: Fraction, beta: Fraction, rho: Fraction
) -> RepairedFindings:
    """Decide D.4' and, if it holds, evaluate the promise of the theorem."""
    if omega <= 0:
        raise InvalidInput("omega", omega, "must be positive", "D.4'")
    if not _admissible(signal, beta, rho):
        reason = "some signals are equal or not positive: no omega is covered by the theorem"
        return RepairedFindings(Verdict.FAILS, None, None, -math.inf, None, None, None, reason)
    if len(signal) == 1:
        return _one_concept(signal[0], omega, beta, rho)
    limits = _Limits.of(signal, beta, rho)
    promise = limits.covered(signal, omega)
    return promise or _judged(_side(omega, limits.largest), None, omega, limits.omega_0)


@dataclass(frozen=True)
class _Limits:
    """Certified logarithms of omega_0, by theorem."""

    setting: RepairedSetting
    two: Fraction | None
    r: Certified

    @classmethod
    def of(cls, signal: tuple[Fraction, ...], beta: Fraction, rho: Fraction) -> _Limits:
        setting = RepairedSetting(tuple(sorted(signal, reverse=True)), beta, rho)
        two = theorem_two.log_omega_0(setting) if setting.d == 2 else None
        return cls(setting, two, theorem_r.search(setting))

    @property
    def largest(self) -> Fraction:
        return self.r.log_omega_0 if self.two is None else max(self.two, self.r.log_omega_0)

    @property
    def omega_0(self) -> flint.arb:
        return _enclosed(lambda: balls.ball(self.largest).exp())

    def covered(self, signal: tuple[Fraction, ...], omega: Fraction) -> RepairedFindings | None:
        """The promise of the theorem that covers omega; None if omega is not covered."""
        ranks = [self.setting.signal.index(value) for value in signal]
        if self.two is not None and _side(omega, self.two) == Verdict.HOLDS:
            return _two_concepts(self, ranks, omega)
        if _side(omega, self.r.log_omega_0) == Verdict.HOLDS:
            return _many_concepts(self, ranks, omega)
        return None


def _admissible(signal: tuple[Fraction, ...], beta: Fraction, rho: Fraction) -> bool:
    """True if D.1' holds; rho and beta are refused if no W(0) could meet D.3'."""
    if not 0 < rho <= beta:
        raise InvalidInput("rho", rho, "must be positive and at most beta", "D.3'")
    return min(signal) > 0 and len(set(signal)) == len(signal)


def _side(omega: Fraction, log_limit: Fraction) -> Verdict:
    """Decide omega <= exp(log_limit), in balls."""
    side = balls.with_rising_precision(
        lambda: balls.sign(balls.ball(log_limit) - balls.ball(omega).log()),
        lambda found: found is not None,
    )
    return from_sign(side)


def _enclosed(compute: Callable[[], flint.arb]) -> flint.arb:
    """A ball of at least 100 good bits."""
    return balls.with_rising_precision(compute, lambda ball: ball.rel_accuracy_bits() > 100)


def _below(ball: flint.arb) -> mpmath.mpf:
    with precision(balls.PRECISIONS[-1]):
        return balls.midpoint(ball.lower())


def _judged(
    verdict: Verdict, theorem: str | None, omega: Fraction, limit: flint.arb
) -> RepairedFindings:
    """Findings that compare omega with omega_0, without a promise."""
    with precision(256):
        margin = float((limit.log() - balls.ball(omega).log()) / flint.arb(10).log())
    sign = {Verdict.HOLDS: "<=", Verdict.FAILS: ">", Verdict.UNDECIDED: "?"}[verdict]
    limit_text = mpmath.nstr(_below(limit), 5)
    reason = f"omega = {scientific(omega)} {sign} omega_0 = {limit_text}"
    if verdict == Verdict.FAILS:
        reason += ": not covered by the theorem, which does not say that it is not learned"
    return RepairedFindings(verdict, theorem, _below(limit), margin, None, None, None, reason)


def _one_concept(a: Fraction, omega: Fraction, beta: Fraction, rho: Fraction) -> RepairedFindings:
    """The logistic; 1/beta is exact, so D.4' is decided exactly."""
    limit = _enclosed(lambda: 1 / balls.ball(beta))
    if beta * omega > 1:
        return _judged(Verdict.FAILS, None, omega, limit)
    start = min(rho * omega, LEVEL)
    with precision(256):
        odds = balls.ball(4 * (1 - start) / start)
        reach = balls.float_above(odds.log() / (2 * balls.ball(a)))
    judged = _judged(Verdict.HOLDS, "one concept", omega, limit)
    return replace(judged, log_peaks={}, reach_by=(reach,), constants={})


def _two_concepts(limits: _Limits, ranks: list[int], omega: Fraction) -> RepairedFindings:
    setting = limits.setting
    with precision(256):
        L = balls.ball(omega).log()
        peak, times = theorem_two.log_peak(setting, L), theorem_two.time_bounds(setting, L)
        values = theorem_two.constants(setting, L)
        constants = {"k": balls.midpoint(values.log_k.exp())}
        for name in ("r", "x_star", "K", "E1", "extra"):
            constants[name] = balls.midpoint(getattr(values, name))
    return replace(
        _judged(Verdict.HOLDS, "two concepts", omega, limits.omega_0),
        log_peaks={(0, 1): peak},
        reach_by=tuple(times[rank] for rank in ranks),
        constants=constants,
    )


def _many_concepts(limits: _Limits, ranks: list[int], omega: Fraction) -> RepairedFindings:
    """The promise of Theorem R, with a witness for this omega if the search succeeds."""
    setting = limits.setting
    with precision(256):
        L = balls.ball(omega).log()
        above = min(Fraction(balls.float_above(L)), limits.r.log_omega_0)
        witness = theorem_r.find_witness(setting, above)
        if witness is None:
            witness = theorem_r.scaled(setting, above, limits.r)
        times = theorem_r.time_bounds(setting, L, witness)
        constants = {"theta": balls.midpoint(balls.ball(witness.theta))}
        for i, rank in enumerate(ranks, 1):
            constants[f"N_{i}"] = balls.midpoint(balls.ball(witness.N[rank]))
            constants[f"M_{i}"] = balls.midpoint(balls.ball(witness.M[rank]))
        peaks, comma = {}, "," if len(ranks) > 9 else ""
        for i, j in combinations(range(len(ranks)), 2):
            log_E = balls.ball(witness.log_peaks[ranks[i]][ranks[j]])
            peaks[i, j] = balls.float_above(log_E)
            constants[f"E_{i + 1}{comma}{j + 1}"] = balls.midpoint(log_E.exp())
    return replace(
        _judged(Verdict.HOLDS, "R", omega, limits.omega_0),
        log_peaks=peaks,
        reach_by=tuple(times[rank] for rank in ranks),
        constants=constants,
    )
