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
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import flint

from swingby.theory import balls, numbers
from swingby.theory.balls import precision
from swingby.theory.lemmas import Scale
from swingby.theory.verdict import Verdict

#: kappa > 1.1, K >= 20: the corner of the admissible constants that every optimum sits in.
KAPPA = Fraction(11, 10)
K = Fraction(20)

INFEASIBILITY_CERTIFICATE = (
    "With P^2, D.4 gives omega < 1/(P beta)^2, that is log(1/(P beta omega)) > log(P beta). "
    "D.5 then asks log P > (10 kappa^2 + 1)/2 log(P beta) > 6.5 log(P beta) >= 6.5 log P, "
    "which is false for P >= 2. No omega, eta or signal satisfies the corrected set when d >= 2."
)


@dataclass(frozen=True)
class Problem:
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
    def neighbours(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """Neighbouring signals (larger, smaller)."""
        return tuple(zip(self.descending, self.descending[1:], strict=False))

    @property
    def ratio(self) -> Fraction:
        """q, the largest ratio of a smaller to a larger signal; 0 for one concept."""
        return max((small / large for large, small in self.neighbours), default=Fraction(0))

    @property
    def gap(self) -> Fraction | None:
        """M = min(a_i - 3 a_j), None for one concept."""
        return min((large - 3 * small for large, small in self.neighbours), default=None)

    @property
    def separated(self) -> bool:
        """Whether D.5's second inequality can hold for some C > 1."""
        return self.gap is None or self.gap > 0

    @property
    def rho(self) -> Fraction:
        """(1 + q)/2, the largest left side of (D.10)."""
        return (1 + self.ratio) / 2


@dataclass(frozen=True)
class Constants:
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
        """What the lemma windows need of them."""
        return Scale(
            log_P=float(self.log10_P) * math.log(10),
            log_beta=numbers.log_of(self.beta),
            log_omega=numbers.log_of(omega),
            eta=float(eta),
            **{name: float(getattr(self, name)) for name in ("kappa", "K", "alpha", "gamma")},
        )


def alpha_at(problem: Problem, kappa: Fraction) -> Fraction:
    """The best alpha at a given kappa (step 2 of the reduction).

    `problem`: zero signals, which break D.1 at every alpha, are left out. `kappa`: above 1.
    """
    least = min(value for value in problem.signal if value)
    if problem.gap is None or problem.gap <= 0:
        return least
    return min(least, 10 * problem.gap / (kappa - 1))


def log_D(problem: Problem, kappa: Fraction) -> flint.arb:
    """D(kappa) of the reduction, as a ball."""
    gamma = max(problem.signal) / alpha_at(problem, kappa)
    room = 1 - 1 / balls.ball(kappa).sqrt()
    return (balls.ball(K * gamma * problem.d) / room).log()


def threshold(problem: Problem, kappa: Fraction = KAPPA) -> flint.arb:
    """F(kappa): the constants exist with this kappa exactly when log(1/omega) is at least this.

    `problem`: with power 1, at least two concepts, all signals positive and separated. Returns a
    ball around F, a natural logarithm.
    """
    rho, b = balls.ball(problem.rho), balls.ball(problem.beta).log()
    Q = 10 * rho * balls.ball(kappa) ** 2
    return (log_D(problem, kappa) * (1 - rho + Q) + b * (2 - rho + Q)) / (1 - rho)


def window(problem: Problem, kappa: Fraction, beta: Fraction) -> tuple[flint.arb, flint.arb]:
    """The ends p_- and p_+ between which log P has to lie (step 3 of the reduction).

    Returns `lower, upper` natural logarithms. lower is log 2 for one concept.
    """
    u, b, rho = -balls.ball(problem.omega).log(), balls.ball(beta).log(), balls.ball(problem.rho)
    upper = (u - log_D(problem, kappa) - 2 * b) / problem.power
    lower = flint.arb(2).log()
    if problem.d > 1:
        Q = 10 * rho * balls.ball(kappa) ** 2
        lower = lower.max((Q * (u - b) + rho * b) / (1 - rho + Q))
    return lower, upper


def largest_omega(problem: Problem) -> flint.arb | None:
    """Supremum of omega for which D.1 and D.3 to D.5 can hold; D.2 does not involve omega.

    `problem`: its own omega and eta play no part. Returns a ball at the current working precision;
    None when no omega exists.
    """
    if min(problem.signal) == 0 or not problem.separated:
        return None
    if problem.d == 1:
        room = 1 - 1 / flint.arb(11).sqrt()
        return room / balls.ball(2**problem.power * K * problem.beta**2)
    if problem.power == 2:
        return None
    return (-threshold(problem)).exp()


def largest_eta(problem: Problem) -> Fraction:
    """Largest eta that D.2 admits: 1/(180 max a)."""
    return 1 / (9 * K * max(problem.signal))


def omega_verdict(problem: Problem, bits: int | None = None) -> Verdict:
    """Whether the constants of D.1 and D.3 to D.5 exist at this omega.

    `bits`: the only precision to try; by default it rises up to 2048 bits. Returns undecided only
    if these bits cannot tell omega from the supremum.
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


def witness(problem: Problem) -> Constants:
    """Round constants that satisfy D.1 and D.3 to D.5, when :func:`omega_verdict` says *holds*.

    kappa, beta and (for one concept) C sit just off the corner of the reduction, near enough
    to leave half of the window for log P; P is the middle of what is left, rounded.
    """
    with precision(balls.PRECISIONS[-1]):
        for places in range(1, 600):
            step = Fraction(1, 10**places)
            kappa = KAPPA + step if problem.d > 1 else Fraction(11) - step
            beta = max(problem.beta, 1 + step)
            lower, upper = window(problem, kappa, beta)
            corner = window(problem, KAPPA if problem.d > 1 else Fraction(11), problem.beta)
            room = upper - lower
            if room > 4 * balls.ball(step) and 2 * room >= corner[1] - corner[0]:
                middle = (lower + upper) / 2 / flint.arb(10).log()
                width = room / flint.arb(10).log()
                return filled(problem, kappa, beta, _round_inside(middle, width), step)
    raise ArithmeticError("no witness although the constants exist")  # pragma: no cover


def nearest_attempt(problem: Problem) -> Constants:
    """The constants at which a failing set is judged.

    P is the smallest that (D.10) admits, so that an omega that is too large shows as a failure
    of D.4 (and D.3); with signals too close for D.5, P = 2, so that D.5 fails alone.
    """
    step = Fraction(1, 10**6)
    kappa = KAPPA + step if problem.d > 1 else Fraction(11) - step
    beta = max(problem.beta, 1 + step)
    hopeless = not problem.separated or problem.omega * beta >= 1
    with precision(balls.PRECISIONS[0]):
        log10_two = Fraction(30103, 100000)  # just above log10 2
        if hopeless or problem.d == 1:
            return filled(problem, kappa, beta, log10_two, step)
        lower, _ = window(problem, kappa, beta)
        raised = lower / flint.arb(10).log()
        return filled(problem, kappa, beta, max(log10_two, _round_up(raised)), step)


def filled(
    problem: Problem, kappa: Fraction, beta: Fraction, log10_P: Fraction, step: Fraction
) -> Constants:
    """Steps 1 and 2 of the reduction; `step` is how far gamma > 1 stays off 1 if it must."""
    largest = max(problem.signal)
    alpha = alpha_at(problem, kappa)
    if alpha == largest:
        alpha = largest / (1 + step)
    least_C = alpha / problem.gap if problem.gap is not None and problem.gap > 0 else Fraction(0)
    C = least_C if least_C > 1 else min(Fraction(2), (1 + 10 / (kappa - 1)) / 2)
    return Constants(alpha, largest / alpha, beta, log10_P, K, kappa, C)


def _round_inside(middle: flint.arb, width: flint.arb) -> Fraction:
    """A decimal near `middle`, off by less than a tenth of `width`."""
    digits = 3
    while not flint.arb(10) ** -digits < width / 10:
        digits += 3
    scaled = (middle * flint.arb(10) ** digits).mid()
    return Fraction(int(scaled.floor().unique_fmpz()), 10**digits)


def _round_up(number: flint.arb) -> Fraction:
    """A decimal above `number`, by at most 2e-9."""
    scaled = (number * 10**9).mid().floor().unique_fmpz()
    return Fraction(int(scaled) + 2, 10**9)
