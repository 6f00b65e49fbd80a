r"""Three concepts of rank two, the second one delayed until the third is learned.

.. math:: W(0) = \omega (1 1^T + v v^T), \qquad v = (0, \varepsilon, m).

Once concept 1 is learned, W is of rank one up to a trace that the learning leaves in the row of
concept 2, proportional to the finite step. One epsilon cancels that trace. Then concept 3 is
learned before concept 2, and gradient descent turns it into concept 2 later: w_23 passes through
1/2, and w_33 falls from 1 to 0. What is left of row 2, divided by row 3, is affine in epsilon as
long as both rows are small, so epsilon is the root of a straight line through two runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from swingby.verify.certification.ball_run import follow
from swingby.verify.hunting.draft import LEAST_STEPS, Draft, least_decades
from swingby.verify.prover.trajectories import instances
from swingby.verify.prover.trajectories.instances import Matrix, TrajectoryInstance

#: What is left of row 2 has to stay this many decades below row 3 when concept 3 is learned.
MARGIN = 4
#: Steps between two looks at the clock.
BETWEEN = 2000


@dataclass(frozen=True)
class Delay:
    """The numbers of the construction.

    `share`: m, the third entry of v. `decades`: omega is 10 to minus this.
    """

    signal: tuple[Fraction, ...]
    share: int
    decades: int
    inverse_eta: int

    @property
    def eta(self) -> Fraction:
        """The step size."""
        return Fraction(1, self.inverse_eta)

    @property
    def digits(self) -> int:
        """Decimal places to which epsilon has to be right."""
        lag = float(self.signal[1] / self.signal[2]) - 1
        return math.ceil(self.decades * lag / 2) + MARGIN

    @property
    def bits(self) -> int:
        """Working precision: an error of W(0) in row 2 grows until concept 3 is learned."""
        growth = self.decades * float(self.signal[1] / self.signal[2])
        return 64 * math.ceil(3.33 * (growth - self.decades + 40) / 64)

    @property
    def learned(self) -> tuple[int, int]:
        """Steps by which concepts 1 and 3 are learned, from the linear growth of gd."""
        size = self.decades * math.log(10)
        rates = [2 * math.log1p(float(self.eta * a)) for a in self.signal]
        return math.ceil(size / rates[0]), math.ceil(size / rates[2])

    def matrix(self, epsilon: Fraction) -> Matrix:
        """W(0)/omega."""
        v = (Fraction(0), epsilon, Fraction(self.share))
        return tuple(tuple(1 + p * q for q in v) for p in v)


def draw_delay(rng: np.random.Generator) -> Delay:
    """Numbers for the construction; close signals keep epsilon short and the run affordable."""
    second = Fraction(int(rng.integers(31, 33)), 10)
    first = Fraction(math.ceil(second * Fraction(31, 10)))
    signal = (first, second, Fraction(1))
    share = int(rng.choice([1, 1, 2, 3]))
    inverse_eta = 100 * math.ceil(LEAST_STEPS * first / 100)
    matrix = Delay(signal, share, 1, inverse_eta).matrix(Fraction(0))
    draft = Draft(signal, matrix, 1, inverse_eta)
    # epsilon lowers the smallest entry a little below omega: one decade of room.
    decades = least_decades(draft.problem, matrix, None) + 1
    return Delay(signal, share, decades, inverse_eta)


def solve(delay: Delay, stop: Callable[[], bool]) -> Fraction | None:
    """The epsilon that cancels what concept 1 leaves in the row of concept 2.

    `stop`: asked now and then. Returns a multiple of 10^-digits; None where time ran out or no
    digit is left.
    """
    a_1, a_2, a_3 = map(float, delay.signal)
    decay = float(delay.eta) * (2 * a_1 - a_2 - a_3)
    accuracy = (delay.digits + MARGIN) * math.log(10) - math.log(10.0) * delay.decades / 2
    step = delay.learned[0] + math.ceil(max(accuracy, 60.0) / decay)
    with flint.ctx.workprec(delay.bits):
        at_zero = _left_over(delay, Fraction(0), step, stop)
        if at_zero is None:
            return None
        growth = (1 + flint.arb(a_3) / delay.inverse_eta) / (1 + flint.arb(a_2) / delay.inverse_eta)
        guess = _rational(-at_zero * growth**step * delay.share, delay.digits)
        again = _left_over(delay, guess, step, stop)
        if again is None or not guess:
            return None
        slope = (again - at_zero) / flint.arb(flint.fmpq(guess.numerator, guess.denominator))
        return _rational(-at_zero / slope, delay.digits)


def build(delay: Delay, epsilon: Fraction) -> TrajectoryInstance | None:
    """The instance with some epsilon, if D.1 to D.5 hold."""
    numerator = int(epsilon * 10**delay.digits)
    shown = f"v = (0, eps, {delay.share}), eps = {numerator}/10^{delay.digits}"
    try:
        made = instances.instance(
            "rank two, concept 2 delayed",
            delay.signal,
            delay.matrix(epsilon),
            f"1e-{delay.decades}",
            delay.eta,
            steps=math.ceil(1.1 * delay.learned[1]),
            bits=delay.bits,
            dynamics=("gd",),
            shape=f"1e-{delay.decades} (1 1^T + v v^T), {shown}",
        )
    except ArithmeticError:
        return None
    return made if made.is_admissible() else None


def _left_over(delay: Delay, epsilon: Fraction, step: int, stop: Callable[[], bool]) -> Any:
    """What is left of row 2 once row 1 is taken out, in units of the same of row 3."""
    scale = Fraction(1, 10**delay.decades)
    W0 = [[scale * entry for entry in row] for row in delay.matrix(epsilon)]
    W = None
    for state in follow(delay.signal, W0, delay.eta, "gd", step):
        if state.step % BETWEEN == 0 and stop():
            return None
        W = state.W
    if W is None:  # pragma: no cover
        return None
    rows = [[entry.mid() for entry in row] for row in W]
    mixed = rows[1][2] - rows[0][1] * rows[0][2] / rows[0][0]
    own = rows[2][2] - rows[0][2] ** 2 / rows[0][0]
    return (mixed / own).mid()


def _rational(number: Any, digits: int) -> Fraction:
    scaled = (number * flint.arb(10) ** digits).mid()
    return Fraction(int(scaled.floor().unique_fmpz()), 10**digits)
