r"""Whether the constants of Assumptions D.1 to D.5 exist.

D.1 to D.5 ask for alpha, gamma, beta, P, K, kappa and C. This module decides whether they
exist, exactly, by removing one constant after the other. Write :math:`q = \max a_j / a_i` over
pairs with :math:`a_i > a_j` (attained by neighbours), :math:`\varrho = (1 + q)/2`,
:math:`m = \min (a_i - 3 a_j)`, :math:`u = \log(1/\omega)`, :math:`b = \log\beta`,
:math:`p = \log P`, and let n be the power of P in D.4 (1 as printed, 2 as corrected).

1. **gamma alpha and alpha.** D.2 and D.4 want :math:`\gamma\alpha` and gamma small, D.1 wants
   :math:`\gamma\alpha \ge \max a`: take :math:`\gamma\alpha = \max a`.
2. **K and C.** K occurs in D.2 and D.4, which want it small, and in :math:`\kappa \le 1 + K/(2C)`.
   D.5 wants :math:`C \ge \alpha/m` and :math:`C > 1`. Raising K by a factor f to admit a larger
   kappa costs D.4 the factor f; lowering alpha by f instead admits the same C, costs D.4 the same
   factor (gamma grows by f) and costs D.2 nothing. So K = 20, and
   :math:`\alpha = \min(\min a, 10 m/(\kappa - 1))`, :math:`C = \max(1^+, \alpha/m)`,
   which leaves :math:`\kappa < 11`.
3. **P.** (D.10) is :math:`p \ge p_-`, D.4 is :math:`p \le p_+`, both affine in u:

   .. math::
      p_- = \frac{Q (u - b) + \varrho b}{1 - \varrho + Q}, \quad Q = 10\varrho\kappa^2, \qquad
      n p_+ = u - D(\kappa) - 2b, \quad
      D = \log\frac{20\,\gamma\,d}{1 - \kappa^{-1/2}}

   (of the two terms in D.4's inner minimum :math:`1 - \kappa^{-1/2}` is the smaller, as
   :math:`\kappa - 1 = (\sqrt\kappa - 1)(\sqrt\kappa + 1)`). So P exists exactly when
   :math:`p_- \le p_+`. For n = 1 this is :math:`u \ge F(\kappa)`, one dimension being left:

   .. math:: F(\kappa) = \frac{D (1 - \varrho + Q) + b\,(2 - \varrho + Q)}{1 - \varrho}.

   D.3, :math:`P \ge 2` and :math:`\omega \le 1/\sqrt{2\beta}` follow: D.4 gives
   :math:`P\omega\beta \le 0.0466/20`, and F is above 90, which puts :math:`p_-` far above log 2.
4. **kappa.** F increases on :math:`[1.1, 11]`. With :math:`x = \kappa|\mathrm d D/\mathrm d\kappa|
   \le 1/(2(\sqrt\kappa - 1))` (gamma only grows with kappa) and :math:`Q/(1 - \varrho + Q) > 0.92`,
   it suffices that :math:`1.84\,D > x`. A pair with :math:`a_i > 3a_j` makes
   :math:`\gamma > 3` and :math:`d \ge 2`, so :math:`D > \log 120 = 4.78`, which is enough for
   :math:`\sqrt\kappa \ge 1.057`; below that :math:`D > 4.78 + \log(1.057/0.057) = 7.7` while
   :math:`x \le 10.3`. So the constants exist if and only if

   .. math:: \log(1/\omega) > F(1.1), \qquad \eta \le \frac{1}{180 \max a}, \qquad
             \text{all } a_i > 3 a_j > 0,

   strictly, because :math:`\kappa > 1.1`, :math:`\beta > 1` and F increases in b too. The
   largest omega is a supremum that is not attained.
5. **n = 2.** :math:`2 p_+ \ge 2 p_-` reads :math:`u (1 - \varrho - Q) \ge \ldots > 0` with
   :math:`Q > 6`: no omega below 1 satisfies it; see :data:`INFEASIBILITY_CERTIFICATE`.
6. **One concept** (d = 1). D.5 is empty, P = 2, and D.4 is best as :math:`\kappa \to 11`.

For a given W(0) the same holds with :math:`\omega = \min|w_{ij}(0)|`,
:math:`\beta = \max|w_{ij}(0)|/\omega`: a smaller omega with the same
:math:`\beta\omega` makes every one of D.4 and D.5 harder.

Over a box of numbers the constants are at every point those that are tried there: a witness,
where the constants exist, and otherwise the smallest P that (D.10) admits. With
:math:`c = 10\kappa^2 - 1`, :math:`s = (1 - \varrho)/(1 - \varrho + Q)` and
:math:`X = \log 1/(P\beta\omega)`,

.. math::
   p_- = (1 - s)(u - b) + \frac{b}{1/\varrho + c}, \qquad
   p_+ - p_- = s u - D - b - \frac{b}{1 + \varrho c} \quad (n = 1),

each letter occurring once or twice, so that little is lost to interval arithmetic. The margin of
D.4 is :math:`n (p_+ - p)`, that of D.3 is :math:`\log(2/5) + X`, that of (D.10)
:math:`\log(p/(\varrho(10\kappa^2 X + p + b)))`, each over log 10. At a witness kappa is off its
corner by a step, :math:`p_+ - p` is 0.5 to 0.6 times the room :math:`p_+ - p_-`, and the room is
between half of what it is at the corner and all of it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint

from swingby.theory import balls, numbers
from swingby.theory.balls import precision
from swingby.theory.lemmas import Scale
from swingby.theory.verdict import Verdict
from swingby.verify.checking.box import Box, FeasibilityProblem
from swingby.verify.checking.intervals import Interval

#: kappa > 1.1 (below 11 with one concept), K >= 20: the corner that every optimum sits in.
KAPPA, _KAPPA_ALONE = Fraction(11, 10), Fraction(11)
K = Fraction(20)

INFEASIBILITY_CERTIFICATE = (
    "With P^2, D.4 gives omega < 1/(P beta)^2, that is log(1/(P beta omega)) > log(P beta). "
    "D.5 then asks log P > (10 kappa^2 + 1)/2 log(P beta) > 6.5 log(P beta) >= 6.5 log P, "
    "which is false for P >= 2. No omega, eta or signal satisfies the corrected set when d >= 2."
)


@functools.cache
def _formula(name: str) -> Callable[..., Any]:
    """A formula of the reduction, as a function of its letters; sympy is loaded for it."""
    from swingby.verify.checking import reduction

    return reduction.function_of(getattr(reduction, name))


def hull(low: Fraction, high: Fraction) -> flint.arb:
    """The ball around an interval, at the current working precision."""
    return balls.ball(low) if low == high else balls.ball(low).union(balls.ball(high))


def _log_hull(low: Fraction, high: Fraction) -> flint.arb:
    """The ball around the natural logarithms of a positive interval, of any width.

    The radius of a ball has 30 bits, so that a ball from 1e-90 to 1e-80 would reach below 0.
    """
    first = balls.ball(low).log()
    return first if low == high else first.union(balls.ball(high).log())


class Letters:
    """The letters of the reduction as balls over a box.

    `apart`: look at signals where all a_i > 3 a_j: there alpha may depend on the gap.
    """

    def __init__(
        self, box: Box, kappa: Interval, beta: Interval | None = None, *, apart: bool = True
    ) -> None:
        self.n, self.d = box.power, len(box.signal)
        self.kappa, self.rho = hull(*kappa), hull(*box.rho)
        self.u, self.b = -_log_hull(*box.omega), _log_hull(*(beta or box.beta))
        self.c = 10 * self.kappa**2 - 1
        self.s = hull(Fraction(0), Fraction(1))
        q = box.ratio
        if q[1] < 1:
            odds = hull((1 + q[0]) / (1 - q[0]), (1 + q[1]) / (1 - q[1]))
            self.s = 1 / (1 + 10 * self.kappa**2 * odds)
        infinite = flint.arb.pos_inf()
        low, high = (infinite if x == math.inf else balls.ball(Fraction(x)) for x in box.spread)
        if self.d > 1 and apart:
            narrow, wide = box.relative_gap
            if wide > 0:
                low = low.max((self.kappa - 1).lower() / balls.ball(10 * wide))
            largest = (self.kappa - 1).upper() / balls.ball(10 * narrow) if narrow > 0 else infinite
            high = high.max(largest)
        low, high = ((balls.ball(K * self.d) * gamma).log() for gamma in (low, high))
        self.D = low.union(high) - (1 - 1 / self.kappa.sqrt()).log()
        #: What gamma > 1 costs where all signals are equal.
        self.cost = flint.arb(0)

    @classmethod
    def off_corner(
        cls, box: Box, low: Fraction | int, high: Fraction | int, *, apart: bool = True
    ) -> Letters:
        """With kappa between two distances from its corner, and beta as far from 1 at least."""
        beta = max(box.beta[0], Fraction(1 + low)), max(box.beta[1], Fraction(1 + high))
        kappa = KAPPA + low, KAPPA + high
        if len(box.signal) == 1:
            kappa = _KAPPA_ALONE - high, _KAPPA_ALONE - low
        letters = cls(box, kappa, beta, apart=apart)
        if box.spread[0] == 1:
            letters.cost = hull(Fraction(0), Fraction(high)).log1p()
        return letters

    @property
    def p_low(self) -> flint.arb:
        """The p_- of the reduction, without the maximum with log 2."""
        p_low = _formula("P_LOW")
        return p_low(b=self.b, c=self.c, rho=self.rho, s=self.s, u=self.u)

    def slack(self) -> flint.arb:
        """N (p_+ - p_-); with one concept p_- is log 2."""
        if self.d == 1:
            return self.above(flint.arb(2).log())
        if self.n == 1:
            room = _formula("SLACK")
            return room(D=self.D, b=self.b, c=self.c, rho=self.rho, s=self.s, u=self.u)
        coefficient = self.s + 1 / (1 / self.rho + self.c)
        return (2 * self.s - 1) * self.u - self.D - 2 * self.b * coefficient

    def above(self, p: flint.arb) -> flint.arb:
        """N (p_+ - p)."""
        room = _formula("ABOVE")
        return room(D=self.D, b=self.b, n=self.n, p=p, u=self.u)


@dataclass(frozen=True)
class AssumptionConstants:
    """Values for the constants of D.1 to D.5, exact rationals except log P.

    `log10_P`: decimal logarithm of P; P itself would not fit a rational of reasonable size.
    """

    alpha: Fraction
    gamma: Fraction
    beta: Fraction
    log10_P: Fraction
    K: Fraction
    kappa: Fraction
    C: Fraction

    def as_balls(self) -> dict[str, flint.arb]:
        """The constants as balls at the current working precision, P included."""
        names = ("alpha", "gamma", "beta", "K", "kappa", "C")
        values = {name: balls.ball(getattr(self, name)) for name in names}
        values["P"] = flint.arb(10) ** balls.ball(self.log10_P)
        return values

    def scale(self, omega: Fraction, eta: Fraction) -> Scale:
        """The constants as the lemma windows need them."""
        return Scale(
            log_P=float(self.log10_P) * math.log(10),
            log_beta=numbers.log_of(self.beta),
            log_omega=numbers.log_of(omega),
            eta=float(eta),
            **{name: float(getattr(self, name)) for name in ("kappa", "K", "alpha", "gamma")},
        )


def alpha_at(problem: FeasibilityProblem, kappa: Fraction) -> Fraction:
    """The best alpha at a kappa above 1 (step 2); zero signals, which break D.1, are left out."""
    smallest = min(value for value in problem.signal if value)
    if problem.gap is None or problem.gap <= 0:
        return smallest
    bound: Fraction = _formula("ALPHA_BOUND")(gap=problem.gap, kappa=kappa)
    return min(smallest, bound)


def threshold(problem: FeasibilityProblem, kappa: Fraction = KAPPA) -> flint.arb:
    """F(kappa): the constants exist with this kappa exactly when log(1/omega) is at least this.

    `problem`: with power 1, at least two concepts, all signals positive and separated.
    """
    at = Letters(Box.at(problem), (kappa, kappa))
    Q = 10 * at.rho * at.kappa**2
    return _formula("THRESHOLD")(D=at.D, Q=Q, b=at.b, rho=at.rho)


def window(
    problem: FeasibilityProblem, kappa: Fraction, beta: Fraction
) -> tuple[flint.arb, flint.arb]:
    """The ends p_- and p_+ between which log P has to lie (step 3); p_- is log 2 if d is 1."""
    at = Letters(Box.at(problem), (kappa, kappa), (beta, beta))
    lower = flint.arb(2).log()
    if problem.d > 1:
        lower = lower.max(at.p_low)
    return lower, at.above(flint.arb(0)) / problem.power


def largest_omega(problem: FeasibilityProblem) -> flint.arb | None:
    """Supremum of omega for which D.1 and D.3 to D.5 can hold; D.2 does not involve omega.

    `problem`: its own omega and eta play no part. None when no omega exists.
    """
    if min(problem.signal) == 0 or not problem.separated:
        return None
    if problem.d == 1:
        room = 1 - 1 / flint.arb(11).sqrt()
        return room / balls.ball(2**problem.power * K * problem.beta**2)
    if problem.power == 2:
        return None
    return (-threshold(problem)).exp()


def largest_eta(problem: FeasibilityProblem) -> Fraction:
    """Largest eta that D.2 admits: 1/(180 max a)."""
    return 1 / (9 * K * max(problem.signal))


def omega_verdict(problem: FeasibilityProblem, bits: int | None = None) -> Verdict:
    """Whether the constants of D.1 and D.3 to D.5 exist at this omega.

    `bits`: the only precision to try; by default it rises up to 2048 bits.
    """

    def slack() -> int | None:
        supremum = largest_omega(problem)
        if supremum is None:
            return -1
        return balls.sign(supremum - balls.ball(problem.omega))

    if problem.has_zero:
        return Verdict.FAILS
    if bits is None:
        side = balls.with_rising_precision(slack, lambda found: found is not None)
    else:
        with precision(bits):
            side = slack()
    if side is None:
        return Verdict.UNDECIDED
    return Verdict.HOLDS if side > 0 else Verdict.FAILS


def witness_steps(box: Box) -> Interval:
    """Bounds on the step 10^-places by which a witness anywhere in the box is off the corner.

    It is the largest that leaves half of the room for log P, and four steps.
    """
    full_room, high = Letters.off_corner(box, 0, 0).slack() / box.power, None
    for places in range(1, 600):
        step = Fraction(1, 10**places)
        room = Letters.off_corner(box, step, step).slack() / box.power
        need = (4 * balls.ball(step)).max(full_room / 2)
        if high is None and not room < need:
            high = step
        if room > need:
            return step, high or step
        if high is not None and step * 1000 <= high:
            break
    return Fraction(0), high or Fraction(1, 10)


def witness(problem: FeasibilityProblem) -> AssumptionConstants:
    """Round constants that satisfy D.1 and D.3 to D.5, when :func:`omega_verdict` says *holds*.

    kappa, beta and (for one concept) C sit just off the corner of the reduction, near enough
    to leave half of the window for log P; P is the middle of what is left, rounded.
    """
    with precision(balls.PRECISIONS[-1]):
        step = witness_steps(Box.at(problem))[0]
        kappa, beta = _off_corner(problem, step)
        lower, upper = window(problem, kappa, beta)
        ten = flint.arb(10).log()
        width, digits = (upper - lower) / ten, 3
        if not step or not width > 0:
            raise ArithmeticError("no witness although the constants exist")  # pragma: no cover
        # A decimal near the middle, off by less than a tenth of the window.
        while not flint.arb(10) ** -digits < width / 10:
            digits += 3
        middle = ((lower + upper) / 2 / ten * flint.arb(10) ** digits).mid()
        log10_P = Fraction(int(middle.floor().unique_fmpz()), 10**digits)
    return _filled(problem, kappa, beta, log10_P, step)


def _off_corner(problem: FeasibilityProblem, step: Fraction) -> tuple[Fraction, Fraction]:
    """Kappa and beta a step off their corner."""
    kappa = KAPPA + step if problem.d > 1 else _KAPPA_ALONE - step
    return kappa, max(problem.beta, 1 + step)


#: How far the constants are off their corner where none exist.
ATTEMPT = Fraction(1, 10**6)
#: Just above log10 2.
LOG10_TWO = Fraction(30103, 100000)


def nearest_attempt(problem: FeasibilityProblem) -> AssumptionConstants:
    """The constants at which a failing set is judged.

    P is the smallest that (D.10) admits, rounded up by at most 2e-9 in log10, so that an omega
    that is too large shows as a failure of D.4 (and D.3); with signals too close for D.5, P = 2,
    so that D.5 fails alone.
    """
    kappa, beta = _off_corner(problem, ATTEMPT)
    log10_P = LOG10_TWO
    if problem.separated and problem.omega * beta < 1 and problem.d > 1:
        with precision(balls.PRECISIONS[0]):
            lower, _ = window(problem, kappa, beta)
            raised = (lower / flint.arb(10).log() * 10**9).mid().floor().unique_fmpz()
        log10_P = max(LOG10_TWO, Fraction(int(raised) + 2, 10**9))
    return _filled(problem, kappa, beta, log10_P, ATTEMPT)


def _filled(
    problem: FeasibilityProblem, kappa: Fraction, beta: Fraction, log10_P: Fraction, step: Fraction
) -> AssumptionConstants:
    """Steps 1 and 2 of the reduction; `step` is how far gamma > 1 stays off 1 if it must."""
    largest = max(problem.signal)
    alpha = alpha_at(problem, kappa)
    if alpha == largest:
        alpha = largest / (1 + step)
    least_C = alpha / problem.gap if problem.gap is not None and problem.gap > 0 else Fraction(0)
    C = least_C if least_C > 1 else min(Fraction(2), (1 + 10 / (kappa - 1)) / 2)
    return AssumptionConstants(alpha, largest / alpha, beta, log10_P, K, kappa, C)
