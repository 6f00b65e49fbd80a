r"""Two concepts: the repaired theorem with its constants.

**Statement.** Let :math:`a_1 > a_2 > 0`, :math:`r = a_2/a_1`, and let W solve the flow
:math:`\dot W = BW + WB`, :math:`B = A - (AW + WA)/2`, from a positive definite W(0) with
:math:`w_{ii}(0) \le \beta\omega =: b < 1` and pivots :math:`\pi_1(0) = w_{11}(0) \ge \rho\omega`,
:math:`\pi_2(0) \ge \rho\omega`. Time t is eta times steps. With :math:`x^* = 2(1+r)/(3+r)`,

.. math::
   K &= (x^*)^{1+r} (1-x^*)^{(1-r)/2}, \qquad
   k = (\beta-\rho)\,\rho^{-r}\omega^{1-r}(1-b)^{-(1-r)/2}, \\
   E_1(\theta) &= \tfrac{1+r}{2}\, k\, \theta^r (1-\theta)^{-(1+r)/2}, \\
   X(\theta) &= \tfrac{1+r}{2}\, \frac{k}{1 - E_1(\theta)}
       \int_{\rho\omega}^\theta x^{r-1} (1-x)^{-(3+r)/2}\, dx,

(a) :math:`w_{12}(t)^2 \le K k` for all t, for every omega with b < 1;
(b) :math:`w_{22}(t) > \theta` for
:math:`t > [\operatorname{logit}\theta - \operatorname{logit}\rho\omega]/(2a_2)`;
(c) if :math:`b < \theta`, then :math:`w_{11}` reaches theta by
:math:`[\operatorname{logit}\theta - \operatorname{logit}\rho\omega + e]/(2a_1)`, where e is
:math:`\log(\beta/\rho)/(1-\theta)` or, if :math:`E_1(\theta) < 1`, the smaller of this and X;
and in that case it stays above; (d) :math:`W \to I`.
:math:`\omega_0` is the largest omega with :math:`\beta\omega \le 1/2` and
:math:`E_1(0.8) \le 9/10`; both grow with omega.

X(theta) is the time integral that [1.12.1] leaves, taken exactly; the chord of [1.12.2] and
[1.12.3] bound it by theta^r [min(1/r, log(theta/(rho omega))) + ((1-theta)^(-(3+r)/2) - 1)/(1+r)]
in place of the integral. For beta >= 1 >= rho there are simpler constants: where
E = ((1+r)/(2r)) beta (4/rho)^r e^(r/2) omega^(1-r) is at most 0.1,
|w_12|^2 <= 0.8 beta (4/rho)^r e^(r/2) omega^(1-r), and e <= 1/2 at theta = 0.8.

The proof is ``proofs/theorem_two.proof``, step by step, each step judged like a line of the paper;
a step in brackets, such as [1.4], is a step of it. That W goes to I is Theorem G
(:mod:`swingby.theory.repaired.theorem_g`). For gradient descent there is
:mod:`swingby.theory.repaired.theorem_two_gd`; nothing is proved for euler.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import flint

from swingby.errors import InvalidInput
from swingby.theory import balls
from swingby.theory.balls import precision
from swingby.theory.repaired.repaired_setting import LEVEL, RepairedSetting, found_in_balls

#: The proof needs E_1(0.8) < 1. Close to 1 the extra time e of (c) grows to its cap.
_LARGEST_E1 = Fraction(9, 10)


@dataclass(frozen=True)
class TwoConceptConstants:
    """The constants of the statement at an omega and a theta, as balls.

    `log_k`: minus infinity when beta = rho, where W(0) is diagonal. `E1`: E_1(theta). `extra`: e
    of (c), in units of 1/(2 a_1).
    """

    r: flint.arb
    x_star: flint.arb
    K: flint.arb
    log_k: flint.arb
    E1: flint.arb
    extra: flint.arb


def constants(
    setting: RepairedSetting, log_omega: Fraction | flint.arb, theta: Fraction = LEVEL
) -> TwoConceptConstants:
    """The constants for two concepts, at the current working precision of python-flint.

    Raises InvalidInput if beta omega is not certainly below 1. Times are in eta times steps,
    logarithms natural.
    """
    (a1, a2), beta, rho = setting.signal, setting.beta, setting.rho
    L = balls.ball(log_omega)
    b = balls.ball(beta) * L.exp()
    if not b < 1:
        raise InvalidInput("omega", f"exp({L.str(5)})", "must satisfy beta omega < 1", "[1.4]")
    r, level = balls.ball(a2 / a1), balls.ball(theta)
    x_star = 2 * (1 + r) / (3 + r)
    K = x_star ** (1 + r) * (1 - x_star) ** ((1 - r) / 2)
    if beta == rho:
        zero = flint.arb(0)
        return TwoConceptConstants(r, x_star, K, flint.arb.neg_inf(), zero, zero)
    log_rho = balls.ball(rho).log()
    log_k = balls.ball(beta - rho).log() - r * log_rho + (1 - r) * (L - (-b).log1p() / 2)
    log_scale = ((1 + r) / 2).log() + log_k + r * level.log()
    E1 = (log_scale - (1 + r) / 2 * (1 - level).log()).exp()
    extra = (balls.ball(beta).log() - log_rho) / (1 - level)
    if E1 < 1:
        ends = (balls.incomplete_beta(x, r, -(1 + r) / 2) for x in (level, (log_rho + L).exp()))
        late, early = ends
        factor = (log_scale - r * level.log()).exp() / (1 - E1)
        extra = extra.min(factor * (late - early))
    return TwoConceptConstants(r, x_star, K, log_k, E1, extra)


def certify(setting: RepairedSetting, log_omega: Fraction) -> bool:
    """True if beta omega <= 1/2 and E_1(0.8) <= 9/10 certainly hold at the working precision."""
    if not balls.ball(2 * setting.beta).log() + balls.ball(log_omega) <= 0:
        return False
    return bool(balls.ball(_LARGEST_E1) >= constants(setting, log_omega).E1)


def log_omega_0(setting: RepairedSetting) -> Fraction:
    """A certified lower value of log omega_0, within 1e-18 of it; a dyadic number.

    Raises InvalidInput if signals agree to more than 500 digits.
    """
    (a1, a2), beta, rho = setting.signal, setting.beta, setting.rho

    # Without the factor (1-b)^(-(1-r)/2), which lies between 1 and 2^((1-r)/2), E_1 = 9/10 has a
    # closed solution; that brackets omega_0 to within a factor of the square root of 2.
    def attempt() -> Fraction | None:
        upper = -balls.ball(2 * beta).log()
        if beta > rho:
            r, level = balls.ball(a2 / a1), balls.ball(LEVEL)
            log_scale = (
                ((1 + r) / 2 * balls.ball((beta - rho) / _LARGEST_E1)).log()
                + r * (level.log() - balls.ball(rho).log())
                - (1 + r) / 2 * (1 - level).log()
            )
            upper = upper.min(-log_scale / (1 - r))
        if not balls.is_narrow(upper):
            return None
        high = balls.round_down(upper)
        low = high - Fraction(1, 2)
        if certify(setting, high):
            return high
        while high - low > Fraction(1, 2**62):
            middle = (low + high) / 2
            low, high = (middle, high) if certify(setting, middle) else (low, middle)
        return low if certify(setting, low) else None

    return found_in_balls(attempt, setting)


def log_peak(setting: RepairedSetting, log_omega: Fraction | flint.arb) -> float:
    """Bound log |w_12(t)| from above for all t, by (a); minus infinity when beta = rho."""
    with precision(256):
        values = constants(setting, log_omega)
        if setting.beta == setting.rho:
            return -math.inf
        return balls.float_above((values.log_k + values.K.log()) / 2)


def time_bounds(
    setting: RepairedSetting, log_omega: Fraction | flint.arb, theta: Fraction = LEVEL
) -> tuple[float, float]:
    """Bound the times by which w_11 and w_22 have reached theta, by (c) and (b)."""
    with precision(256):
        a1, a2 = map(balls.ball, setting.signal)
        L, level = balls.ball(log_omega), balls.ball(theta)
        if not setting.log_b(L) < level.log():
            raise InvalidInput(
                "omega", f"exp({L.str(5)})", "must satisfy beta omega < theta", "(c)"
            )
        values = constants(setting, L, theta)
        log_start = balls.ball(setting.rho).log() + L
        base = (level / (1 - level)).log() - log_start + (-log_start.exp()).log1p()
        first = (base + values.extra) / (2 * a1)
        return balls.float_above(first), balls.float_above(base / (2 * a2))
