"""Where omega has to lie for a setting to be inside, or outside in one way only.

Only ratios of signals matter, so signals come in units of the smallest one, descending. What
:func:`swingby.check` reports where constants do not exist depends on the constants it then tries
(:func:`swingby.verify.feasibility.nearest_attempt`); the limits below stay off its edges.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any

import flint

from swingby.theory import balls, numbers, theorem_two
from swingby.theory.repaired import largest_omega as largest_repaired_omega
from swingby.theory.theorem_r import Setting
from swingby.theory.theorem_r_closed import closed_form
from swingby.verify import feasibility
from swingby.verify.feasibility import Problem

Signal = tuple[Fraction, ...]

#: kappa and beta of the constants tried are this far off the corner.
_STEP = Fraction(1, 10**6)
#: Relative distance from an edge that is decided by the constants tried.
_OFF = Fraction(999, 1000)
_LN10 = math.log(10)


@functools.lru_cache(maxsize=4096)
def largest(signal: Signal, beta: Fraction, power: int = 1) -> tuple[Fraction, Fraction]:
    """Enclose the supremum of omega in the printed or, for one concept, the corrected edition.

    `signal`: positive, neighbours apart by more than 3. `power`: 2 for the corrected edition.
    Returns `below, above` off by less than 1e-40 of their size.
    """
    problem = Problem(signal, Fraction(1), Fraction(1), beta, power)

    def supremum() -> Any:
        return feasibility.largest_omega(problem)

    ball = balls.with_rising_precision(supremum, lambda found: found.rel_accuracy_bits() > 160)
    return _exact(ball.lower()), _exact(ball.upper())


@functools.lru_cache(maxsize=4096)
def with_failing_D1(signal: Signal, beta: Fraction) -> Fraction:
    """Find an omega up to which D.1 fails alone, through a zero signal or a zero in W(0).

    `signal`: at least two; the last may be 0. Neighbours apart by more than 3.
    """
    problem = Problem(signal, Fraction(1), Fraction(1), max(beta, 1 + _STEP))
    with flint.ctx.workprec(256):
        ball = (-feasibility.threshold(problem, feasibility.KAPPA + _STEP)).exp()
        return _OFF * _exact(ball.lower())


def with_failing_D4(signal: Signal, beta: Fraction) -> Fraction:
    r"""Find the omega up to which D.4 fails alone, once it fails.

    With the smallest P that (D.10) admits, :math:`P\omega\beta \le 2/5` reads

    .. math:: \log\frac1\omega \ge b + \frac{\varrho b + (1 - \varrho + Q)\log 2.5}{1 - \varrho}

    in the notation of :mod:`swingby.verify.feasibility`; for one concept, P = 2.

    Returns a power of ten, or for one concept a number near 0.2/beta.
    """
    if len(signal) == 1:
        return _OFF / (5 * beta)
    problem = Problem(signal, Fraction(1), Fraction(1), beta)
    rho, b = float(problem.rho), numbers.log_of(max(beta, 1 + _STEP))
    Q = 10 * rho * 1.1001**2
    u = b + (rho * b + (1 - rho + Q) * math.log(2.5)) / (1 - rho)
    return Fraction(10) ** math.floor(-u / _LN10 - 0.01)


def with_failing_D5(signal: Signal, beta: Fraction, power: int) -> Fraction:
    """Find an omega up to which D.5 fails alone, where signals are too close: P = 2 in D.4.

    `signal`: positive, some neighbours within a factor of 3. `power`: 1 as printed, 2 as corrected.
    """
    room = Fraction(465, 10**4)  # below 1 - kappa^(-1/2) at kappa = 1.1
    d, gamma = len(signal), signal[0] / signal[-1]
    limit: Fraction = (
        _OFF * room / (2**power * feasibility.K * gamma * d * max(beta, 1 + _STEP) ** 2)
    )
    return limit


@functools.lru_cache(maxsize=4096)
def repaired(signal: Signal, beta: Fraction, rho: Fraction) -> Fraction:
    """Find an omega that the repaired edition covers, in closed form but for two concepts.

    `signal`: positive and distinct. `beta`, `rho`: 0 < rho <= beta. Returns covered for every W(0)
    with w_ii(0) <= beta omega and pivots of at least rho omega.
    """
    # W(0) has beta omega and rho omega only: omega goes like 1/beta at a fixed rho/beta.
    return _times_beta(signal, rho / beta) / beta


@functools.lru_cache(maxsize=4096)
def _times_beta(signal: Signal, share: Fraction) -> Fraction:
    one = Fraction(1)
    if len(signal) == 1:
        return one
    if len(signal) == 2:
        log = theorem_two.log_omega_0(*signal, one, share) - Fraction(1, 2**50)
    else:
        log = closed_form(Setting(signal, one, share)).log_omega_0 - Fraction(1, 1000)
    with flint.ctx.workprec(256):
        return _exact(balls.ball(log).exp().lower())


@functools.lru_cache(maxsize=256)
def repaired_by_search(signal: Signal, beta: Fraction, rho: Fraction) -> tuple[Fraction, Fraction]:
    """Enclose the largest omega that a check of the repaired edition accepts.

    The search is decided by floats at its edge, so a check with W(0), which has beta = 1, may find
    another value than one with omega and beta. Both lie in the interval given.

    `signal`, `beta`, `rho`: as in :func:`repaired`. Returns `below, above` about 1e-3 apart,
    relative.
    """
    one = Fraction(1)
    scaled = largest_repaired_omega(signal, one, rho / beta)
    plain = largest_repaired_omega(signal, beta, rho)
    found = numbers.exact(scaled, "omega") / beta, numbers.exact(plain, "omega")
    return min(found) * (1 - Fraction(1, 10**6)), max(found) * (1 + Fraction(1, 10**6))


def _exact(number: Any) -> Fraction:
    mantissa, exponent = number.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
