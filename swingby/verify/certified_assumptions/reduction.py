"""The reduction of :mod:`swingby.verify.feasibility` over a box: its letters as balls."""

from __future__ import annotations

import math
from fractions import Fraction

import flint

from swingby.theory import balls
from swingby.verify.certified_assumptions.interval import Box, Ends, ends, hull, log_hull
from swingby.verify.feasibility import KAPPA, K


class Letters:
    """The letters of the reduction as balls over a box.

    `kappa`: ends of kappa, off its corner by a step; beta is at least 1 and the same step.
    `step`: the largest step.
    `apart`: look at signals where all a_i > 3 a_j: there alpha may depend on the gap.
    """

    def __init__(
        self, box: Box, kappa: tuple[Fraction, Fraction], step: Fraction, *, apart: bool
    ) -> None:
        self.n, self.d, self.step = box.power, len(box.signal), step
        self.kappa = hull(*kappa)
        least = abs(kappa[0] - KAPPA) if self.d > 1 else 11 - kappa[1]
        low, high = max(box.beta[0], 1 + least), max(box.beta[1], 1 + step)
        self.u, self.b = -log_hull(*box.omega), log_hull(low, high)
        q = box.ratio
        self.rho = hull((1 + q[0]) / 2, (1 + q[1]) / 2)
        self.c = 10 * self.kappa**2 - 1
        self.s = hull(Fraction(0), Fraction(1))
        if q[1] < 1:
            odds = hull((1 + q[0]) / (1 - q[0]), (1 + q[1]) / (1 - q[1]))
            self.s = 1 / (1 + 10 * self.kappa**2 * odds)
        gamma = box.spread
        narrow, wide = box.relative_gap if self.d > 1 and apart else (Fraction(1), Fraction(1))
        low_gamma, high_gamma = (
            flint.arb.pos_inf() if math.isinf(end) else balls.ball(Fraction(end)) for end in gamma
        )
        if self.d > 1 and apart:
            if wide > 0:
                low_gamma = low_gamma.max((self.kappa - 1).lower() / balls.ball(10 * wide))
            high_gamma = (
                high_gamma.max((self.kappa - 1).upper() / balls.ball(10 * narrow))
                if narrow > 0
                else flint.arb.pos_inf()
            )
        logs = [(balls.ball(K * self.d) * end).log() for end in (low_gamma, high_gamma)]
        self.D = logs[0].union(logs[1]) - (1 - 1 / self.kappa.sqrt()).log()
        #: What gamma > 1 costs where all signals are equal.
        self.cost = flint.arb(0)
        if gamma[0] == 1:
            self.cost = hull(Fraction(0), step).log1p()

    @property
    def p_low(self) -> flint.arb:
        """The p_- of the reduction, without the maximum with log 2."""
        return (1 - self.s) * (self.u - self.b) + self.b / (1 / self.rho + self.c)

    def slack(self) -> flint.arb:
        """Return n (p_+ - p_-); with one concept p_- is log 2."""
        if self.d == 1:
            return self.above(flint.arb(2).log())
        if self.n == 1:
            return self.s * self.u - self.D - self.b - self.b / (1 + self.rho * self.c)
        kept = self.s + 1 / (1 / self.rho + self.c)
        return (2 * self.s - 1) * self.u - self.D - 2 * self.b * kept

    def above(self, p: flint.arb) -> flint.arb:
        """Return n (p_+ - p).

        `p`: log P.
        """
        return self.u - self.D - 2 * self.b - self.n * p

    def size(self, slack: flint.arb) -> Ends:
        """The margin of D.4, where the first bound of (D.9) leaves a slack.

        `slack`: n (p_+ - p).
        """
        root = self.u - (flint.arb(2).log() + self.b) / 2
        first, second = ends(log10(slack - self.cost)), ends(log10(root))
        return min(first[0], second[0]), min(first[1], second[1])


def kappa_off_corner(
    d: int, low: Fraction | int, high: Fraction | int
) -> tuple[tuple[Fraction, Fraction], Fraction]:
    """Kappa between two distances from its corner, and the larger distance.

    `d`: with one concept the corner is 11, else 11/10.
    """
    if d > 1:
        return (KAPPA + low, KAPPA + high), Fraction(high)
    return (Fraction(11 - high), Fraction(11 - low)), Fraction(high)


def log10(natural: flint.arb) -> flint.arb:
    """The decimal logarithm of a number given by its natural one."""
    return natural / flint.arb(10).log()
