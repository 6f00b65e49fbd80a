r"""Two concepts under gradient descent on U: Theorem two-gd with its constants.

**Range.** :math:`a_1 > a_2 > 0`, :math:`\eta a_1 \le 1/3`, W(0) positive definite with
w_11(0), w_22(0) < 1; the map W -> MWM, M = I + eta B. Write y = eta a_1, :math:`r = a_2/a_1`,
s = y(1+r)/2, :math:`\lambda_1 = 2\log(1+y)`, :math:`\lambda_2 = 2\log(1+ry)`, and

.. math::
   \hat r &= \lambda_2/\lambda_1, \qquad \nu = \tfrac{1-r}{2}\,\tfrac{1-2y}{1-y}, \qquad
   k = \frac{w_{12}(0)^2}{w_{11}(0)^{1+\hat r} (1-w_{11}(0))^\nu}, \\
   E(\theta) &= \frac{2sk}{(1-2y)\lambda_1}\, \theta^{\hat r} (1-\theta)^{\nu-1}, \qquad
   e(\theta) = \frac{2sk}{(1-2y)\lambda_1 (1-E(\theta))}
       \int_{w_{11}(0)}^\theta x^{\hat r-1} (1-x)^{\nu-2}\, dx .

n_F(xi; theta) is the first step at which the scalar map F of y (or of ry, for the second concept)
has reached theta from the logit xi (:mod:`swingby.theory.repaired.scalar_map`).

**Statement.** (a) At all steps :math:`w_{12}^2 \le K k`,
:math:`K = (x^*)^{1+\hat r} (1-x^*)^\nu`, :math:`x^* = (1+\hat r)/(1+\hat r+\nu)`.
(b) If :math:`y \le (1-r)/3`, then w_22 >= theta from step n_F(logit p; theta) on, where
p = w_22(0) - w_12(0)^2/w_11(0) is the second pivot.
(c) If w_11(0) < theta and E(theta) < 1, then w_11 first reaches theta no sooner than at step
n_F(logit w_11(0); theta) and no later than at n_F(logit w_11(0) - e(theta); theta), and stays
above it if y <= theta/2.
(d) The half-time of concept 2 is at least n_F(logit p + e_2; 1/2 - ub), with
ph = max x^r^ (1-x)^nu, ub = k ph < 1/2, sig = [y(1-r)/2 + sry]/(1-s), c = F(1/2)/(1 - F(1/2)) for
F of ry, eb = (1 + ub sig)^2 - 1, c eb < 1, and any level t with E(t) < 1, st > ry and y <= t/2:

.. math:: e_2 = (2\,\mathrm{sig} + \mathrm{sig}^2 ub)\Bigl(1 + \frac{c}{1 - c\,eb}\Bigr) k
          \Bigl[\frac{B(t; \hat r, \nu)}{\lambda_1 (1-E(t))} + 2 ph
          + \frac{ph}{1 - (1+ry-st)^2}\Bigr].

(e) W -> I if eta a_1 |W(0)| <= 1/2 (Theorem G-gd).

Of all W(0) with w_ii(0) <= beta omega = b < 1 and pivots of at least rho omega,
k <= (beta-rho) rho^(-r^) omega^(1-r^) (1-b)^(-nu). omega_0 is the largest omega with b <= 1/2 and
E(4/5) <= 9/10, both of which grow with omega; as y goes to 0 it becomes that of the flow
(:mod:`swingby.theory.repaired.theorem_two`).

The proof is in outline on the page *Gradient descent*, ``docs/gradient_descent.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import flint

from swingby.theory import balls
from swingby.theory.balls import precision
from swingby.theory.repaired.repaired_setting import LEVEL, RepairedSetting, found_in_balls
from swingby.theory.repaired.scalar_map import Passage, first_passage, growth

#: omega_0 asks for at most this E(4/5): the extra time e is unbounded as E approaches 1.
LARGEST_E = Fraction(9, 10)
#: Largest eta a_1.
LARGEST_STEP = Fraction(1, 3)
#: Levels t of (d) that are tried.
_LEVELS = tuple(Fraction(percent, 100) for percent in (50, 60, 70, 80, 85, 90, 95, 98))
_HALF = Fraction(1, 2)


@dataclass(frozen=True)
class TwoRates:
    """What depends on the steps y = eta a_1 and ry alone, as balls at the working precision.

    `step`: y, exact.
    """

    step: Fraction
    y: flint.arb
    r: flint.arb
    s: flint.arb
    growth: flint.arb
    ratio: flint.arb
    nu: flint.arb

    @classmethod
    def of(cls, y: Fraction, second: Fraction) -> TwoRates:
        """Of y = eta a_1 and eta a_2."""
        top, r = balls.ball(y), balls.ball(second / y)
        lam = growth(top)
        nu = (1 - r) / 2 * (1 - 2 * top) / (1 - top)
        return cls(y, top, r, top * (1 + r) / 2, lam, growth(r * top) / lam, nu)

    def log_E(self, log_k: flint.arb, theta: flint.arb) -> flint.arb:
        """Logarithm of E(theta)."""
        return self._log_scale(log_k) + self.ratio * theta.log() + (self.nu - 1) * (1 - theta).log()

    def _log_scale(self, log_k: flint.arb) -> flint.arb:
        return log_k + (2 * self.s / ((1 - 2 * self.y) * self.growth)).log()

    def log_peak(self, log_k: flint.arb) -> flint.arb:
        """Logarithm of the bound of |w_12| in (a)."""
        x = (1 + self.ratio) / (1 + self.ratio + self.nu)
        return (log_k + (1 + self.ratio) * x.log() + self.nu * (1 - x).log()) / 2

    def extra_time(self, log_k: flint.arb, start: flint.arb, theta: flint.arb) -> flint.arb | None:
        """e(theta) from w_11(0) = start; None unless E(theta) < 1 certainly."""
        E = self.log_E(log_k, theta).exp()
        if not E < 1:
            return None
        ends = (balls.incomplete_beta(x, self.ratio, self.nu - 1) for x in (start, theta))
        first, last = ends
        return self._log_scale(log_k).exp() / (1 - E) * (last - first)

    def second_error(self, log_k: flint.arb) -> tuple[flint.arb, flint.arb] | None:
        """e_2 and ub of (d); None where no level serves."""
        peak = self.ratio / (self.ratio + self.nu)
        ph = (self.ratio * peak.log() + self.nu * (1 - peak).log()).exp()
        k, ry = log_k.exp(), self.r * self.y
        ub = k * ph
        sig = (self.y * (1 - self.r) / 2 + self.s * ry) / (1 - self.s)
        half = (1 + ry / 2) ** 2 / 2
        c, eb = half / (1 - half), (1 + ub * sig) ** 2 - 1
        sums = [total for level in _LEVELS if (total := self._sum_over(log_k, level, ph))]
        if not (sums and ub < 0.5 and c * eb < 1):
            return None
        least = sums[0]
        for total in sums[1:]:
            least = least.min(total)
        return (2 * sig + sig * sig * ub) * (1 + c / (1 - c * eb)) * k * least, ub

    def _sum_over(self, log_k: flint.arb, level: Fraction, ph: flint.arb) -> flint.arb | None:
        """The bracket of e_2 at a level t; None where t does not serve."""
        t, ry = balls.ball(level), self.r * self.y
        E = self.log_E(log_k, t).exp()
        if not (E < 1 and self.s * t > ry and 2 * self.step <= level):
            return None
        inside = balls.incomplete_beta(t, self.ratio, self.nu) / (self.growth * (1 - E))
        return inside + 2 * ph + ph / (1 - (1 + ry - self.s * t) ** 2)


def half_times(
    y: tuple[Fraction, Fraction],
    diagonal: tuple[Fraction, Fraction],
    pivots: tuple[Fraction, Fraction],
    passage: Passage = first_passage,
) -> list[tuple[int, int] | None] | str:
    """Whole steps between which both half-times lie, or the reason why neither is covered.

    `y`: eta a_1 > eta a_2. `diagonal`, `pivots`: of W(0), positive. None for a concept that the
    theorem does not cover.
    """
    if y[0] > LARGEST_STEP:
        return "eta a_1 is above 1/3"
    if max(diagonal) >= _HALF:
        return "an entry w_ii(0) is at least 1/2"
    with precision(256):
        rates, half = TwoRates.of(*y), balls.ball(_HALF)
        x, _z, p = (balls.ball(number) for number in (*diagonal, pivots[1]))
        zero = flint.arb(0)
        odds = [(w / (1 - w)).log() for w in (x, p)]
        starts, levels = [(odds[0], odds[0]), (odds[1], odds[1])], [(zero, zero), (zero, zero)]
        covered = [True, y[0] <= (1 - y[1] / y[0]) / 3]
        if pivots[1] < diagonal[1]:
            u = balls.ball(diagonal[1] - pivots[1])
            log_k = u.log() - rates.ratio * x.log() - rates.nu * (1 - x).log()
            extra, second = rates.extra_time(log_k, x, half), rates.second_error(log_k)
            covered[0] &= extra is not None
            covered[1] &= second is not None
            if extra is not None:
                starts[0] = (odds[0] - extra.upper(), odds[0])
            if second is not None:
                level = half - second[1]
                starts[1] = (odds[1], odds[1] + second[0].upper())
                levels[1] = ((level / (1 - level)).log(), zero)
    return [
        passage(rate, start, level) if good else None
        for rate, start, level, good in zip(y, starts, levels, covered, strict=True)
    ]


def log_k(
    rates: TwoRates, beta: Fraction, rho: Fraction, log_omega: Fraction | flint.arb
) -> flint.arb:
    """Logarithm of the bound of k over all W(0) of beta and rho < beta."""
    L, ratio = balls.ball(log_omega), rates.ratio
    b = balls.ball(beta) * L.exp()
    log_rho = balls.ball(rho).log()
    return (
        balls.ball(beta - rho).log() - ratio * log_rho + (1 - ratio) * L - rates.nu * (-b).log1p()
    )


def in_range(setting: RepairedSetting, eta: Fraction) -> bool:
    """True if eta a_1 is at most 1/3 and (1 - r)/3, which (b) asks for."""
    y, r = eta * setting.signal[0], setting.signal[1] / setting.signal[0]
    return y <= min(LARGEST_STEP, (1 - r) / 3)


def certify(setting: RepairedSetting, eta: Fraction, log_omega: Fraction) -> bool:
    """True if beta omega <= 1/2 and E(4/5) <= 9/10 certainly hold at the working precision."""
    if not in_range(setting, eta):
        return False
    if not balls.ball(2 * setting.beta).log() + balls.ball(log_omega) <= 0:
        return False
    if setting.beta == setting.rho:
        return True
    rates = TwoRates.of(*(eta * a for a in setting.signal))
    k = log_k(rates, setting.beta, setting.rho, log_omega)
    return bool(rates.log_E(k, balls.ball(LEVEL)) <= balls.ball(LARGEST_E).log())


def log_omega_0(setting: RepairedSetting, eta: Fraction) -> Fraction | None:
    """A certified lower value of log omega_0, within 1e-15 of it; None where eta is out of range.

    Raises InvalidInput if signals agree to more than 500 digits.
    """
    if not in_range(setting, eta):
        return None

    def attempt() -> Fraction | None:
        high = balls.round_down(-balls.ball(2 * setting.beta).log())
        if certify(setting, eta, high):
            return high
        low, step = high - 1, Fraction(1)
        while not certify(setting, eta, low):
            low, step = low - step, 2 * step
            if step > 2**40:
                return None
        while high - low > Fraction(1, 2**50):
            middle = (low + high) / 2
            low, high = (middle, high) if certify(setting, eta, middle) else (low, middle)
        return low

    return found_in_balls(attempt, setting)
