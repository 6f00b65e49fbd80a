r"""An omega_0 in closed form for the theorem on distinct concepts (Corollary R1).

In the notation of :mod:`swingby.theory.theorem_r`, step [R.18] of its proof takes theta = 4/5,
E_ij = e and N_i = M_i = 1/4, with e just below the smallest of, over i < j where these occur,

- (0.16 a_i/sum_(k != i) (a_i+a_k))^(1/2), which gives C5 and C1;
- for i >= 2, (h/(2 Y))^(1/2), h = (1/20) a_i/sum_(k<i) (a_i+a_k),
  Y = 3/2 + log 4 + l + (i-2) l + max(0, log(1/h)): half of C2', because 2 Y <= exp(Y);
- for d >= 3, (theta^2 (a_i-a_j)/(4 s sum_(k != i,j) (a_i+a_k)))^(1/2), so that
  rate_ij >= theta (a_i-a_j)/4 (C3), and
  theta^(1+s) (a_i-a_j)/(8 sum_(k != i,j) (a_k + (a_i+a_j)/2)), so that the sum in C4 is <= e/2.

Then omega_0 is the smallest of 4/(5 beta) (C0) and the omega at which P_ij is the smaller of
0.49 e (C4) and the square root of
2 a_j min(1/(4 nu_ij (d-i)), 1/(32 (a_i+a_j) (d-i))) (C2 and the other half of C2'; X_ij <= P_ij^2).
The derivation is read by a person; every value is certified like any other, so that a slip could
only cost omega, not truth. It proves that an omega_0 > 0 exists for every (a, beta, rho), and is
what remains when the search would leave the float range.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import flint

from swingby.errors import InvalidInput
from swingby.theory import balls
from swingby.theory.theorem_r import Setting, Witness, certify
from swingby.theory.theorem_two import round_down


@dataclass(frozen=True)
class Certified:
    """An omega with a certified witness: the theorem holds there and below.

    `log_omega_0`: natural logarithm.
    """

    log_omega_0: Fraction
    witness: Witness


def closed_form(setting: Setting) -> Certified:
    """Evaluate Corollary R1 and certify it.

    Raises InvalidInput if 2048 bits are not enough to certify it: signals that agree to 500 digits.
    """

    def attempt() -> Certified | None:
        log_e = _log_entry(setting)
        if not log_e.rad() < flint.arb(2) ** -70:
            return None
        log_e = balls.ball(round_down(log_e))
        L = _log_limit(setting, log_e)
        if not L.rad() < flint.arb(2) ** -70:
            return None
        row = (round_down(log_e),) * setting.d
        quarter = (Fraction(1, 4),) * setting.d
        witness = Witness(Fraction(4, 5), (row,) * setting.d, quarter, quarter)
        # Off the edge, where C0 would be an equality.
        found = Certified(round_down(L) - Fraction(1, 2**30), witness)
        return found if certify(setting, found.log_omega_0, witness) else None

    certified = balls.with_rising_precision(attempt, lambda value: value is not None)
    if certified is None:
        raise InvalidInput(
            "signal",
            tuple(map(str, setting.signal)),
            "must be distinct enough for 2048 bits",
            "D.1'",
        )
    return certified


def _log_entry(setting: Setting) -> flint.arb:
    """Take log e of the closed form, a little below its bound."""
    a = [balls.ball(value) for value in setting.signal]
    log_theta, spread = (
        balls.ball(Fraction(4, 5)).log(),
        balls.ball(setting.beta / setting.rho).log(),
    )
    bounds = []
    for i in range(setting.d):
        others = [k for k in range(setting.d) if k != i]
        total = sum((a[i] + a[k] for k in others), flint.arb(0))
        bounds.append((balls.ball(Fraction(4, 25)) * a[i] / total).log() / 2)
        if i:
            before = sum((a[i] + a[k] for k in range(i)), flint.arb(0))
            h = (a[i] / (20 * before)).log()
            Y = (
                balls.ball(Fraction(3, 2))
                + flint.arb(4).log()
                + i * spread
                + (-h).max(flint.arb(0))
            )
            bounds.append((h - (2 * Y).log()) / 2)
        for j in range(i + 1, setting.d if setting.d > 2 else 0):
            s, gap, mean = (1 + a[j] / a[i]) / 2, a[i] - a[j], (a[i] + a[j]) / 2
            rest = [a[k] for k in others if k != j]
            noise = sum((a[i] + value for value in rest), flint.arb(0))
            source = sum((mean + value for value in rest), flint.arb(0))
            bounds.append(log_theta + (gap / (4 * s * noise)).log() / 2)
            bounds.append((1 + s) * log_theta + (gap / (8 * source)).log())
    smallest = bounds[0]
    for bound in bounds:
        smallest = smallest.min(bound)
    return smallest - balls.ball(Fraction(1, 10**6))


def _log_limit(setting: Setting, log_e: flint.arb) -> flint.arb:
    """Take log omega_0 of the closed form."""
    a, d = [balls.ball(value) for value in setting.signal], setting.d
    log_theta, log_beta = balls.ball(Fraction(4, 5)).log(), balls.ball(setting.beta).log()
    log_rho, quarter = balls.ball(setting.rho).log(), balls.ball(Fraction(1, 4))
    limit = log_theta - log_beta
    for i in range(d):
        root = flint.arb(1)
        if i:
            root = 2 * ((i * (log_beta - log_rho) + quarter) / 2).exp()
        for j in range(i + 1, d):
            r = a[j] / a[i]
            nu = (a[0] + a[i]) / 2 + (a[0] - a[i]) / 2 * root + a[j]
            X = 2 * a[j] * (1 / (4 * nu)).min(1 / (32 * (a[i] + a[j]))) / (d - i - 1)
            target = (balls.ball(Fraction(49, 100)).log() + log_e).min(X.log() / 2)
            growth = (
                flint.arb(4).log() - log_rho + max(i - 1, 0) * (log_beta - log_rho) + 2 * quarter
            )
            at_one = (-r * log_theta + log_beta + r * growth) / 2  # log P_ij at omega = 1
            limit = limit.min(2 * (target - at_one) / (1 - r))
    return limit
