"""A setting as a hunt changes it: few exact numbers, from which an instance is made."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import flint

from swingby.verify import feasibility
from swingby.verify.feasibility import Constants, Problem
from swingby.verify.prover.trajectories import instances
from swingby.verify.prover.trajectories.instances import Matrix, TrajectoryInstance

#: D.2 admits eta up to 1/(180 max a).
LEAST_STEPS = 9 * feasibility.K
#: Floats end at 1e-308: a run in floats needs some room above.
MOST_DECADES = 285


@dataclass(frozen=True)
class Draft:
    """Numbers of a trajectory, with constants of D.1 to D.5 described by two of them.

    `signal`: descending, the last one 1.
    `matrix`: W(0)/omega.
    `decades`: omega is 10 to minus this.
    `inverse_eta`: eta is one over this.
    `kappa`: None for round constants in the middle of what is left to them.
    `place`: where log P lies in its window, from 0 to 1, if kappa is given.
    """

    signal: tuple[Fraction, ...]
    matrix: Matrix
    decades: int
    inverse_eta: int
    kappa: Fraction | None = None
    place: float = 0.5

    @property
    def d(self) -> int:
        """Dimension."""
        return len(self.signal)

    @property
    def name(self) -> str:
        """What is special about W(0): its rank, and how far it is from a smaller one."""
        rank = sum(row[k] != 0 for k, row in enumerate(instances.eliminate(self.matrix)))
        if rank < self.d:
            return f"rank {('one', 'two', 'three')[rank - 1] if rank < 4 else rank}"
        share = instances.pivot_share(self.matrix)
        return "full rank" if share >= Fraction(1, 20) else "nearly degenerate"

    @property
    def problem(self) -> Problem:
        """The numbers of the feasibility question."""
        sizes = [abs(entry) for row in self.matrix for entry in row]
        omega = Fraction(1, 10**self.decades) * min(sizes)
        return Problem(self.signal, omega, Fraction(1, self.inverse_eta), max(sizes) / min(sizes))

    def instance(self) -> TrajectoryInstance | None:
        """The instance, if D.1 to D.5 certainly hold with these numbers."""
        if not all(entry for row in self.matrix for entry in row):
            return None
        if not instances.is_semidefinite(self.matrix) or not self.problem.separated:
            return None
        omega, eta = Fraction(1, 10**self.decades), Fraction(1, self.inverse_eta)
        constants = None
        if self.kappa is not None:
            constants = constants_at(self.problem, self.kappa, self.place)
            if constants is None:
                return None
        bits = bits_for(self.decades)
        try:
            made = instances.instance(
                self.name, self.signal, self.matrix, omega, eta, constants, bits=bits
            )
        except ArithmeticError:
            return None
        return made if made.is_admissible() else None

    def feasible(self) -> Draft | None:
        """The same with omega and eta just small enough for D.1 to D.5, if they are too large.

        Returns None where no omega within the range of floats is small enough.
        """
        if not all(entry for row in self.matrix for entry in row) or min(self.signal) <= 0:
            return None
        problem = self.problem
        if not problem.separated:
            return None
        decades = max(self.decades, least_decades(problem, self.matrix, self.kappa))
        if decades > MOST_DECADES:
            return None
        inverse_eta = max(self.inverse_eta, math.ceil(LEAST_STEPS * self.signal[0]))
        return replace(self, decades=decades, inverse_eta=inverse_eta)


def least_decades(problem: Problem, matrix: Matrix, kappa: Fraction | None) -> int:
    """The smallest k for which omega = 10^-k lies below the largest omega of D.1 to D.5."""
    with flint.ctx.workprec(128):
        supremum = feasibility.threshold(problem, kappa or feasibility.KAPPA)
        decades = float(supremum / flint.arb(10).log())
    smallest = min(abs(entry) for row in matrix for entry in row)
    return math.floor(decades + math.log10(smallest) + 1e-9) + 1


def bits_for(decades: int) -> int:
    """Working precision at which a ball run of a degenerate W(0) stays narrow.

    `decades`: of omega.
    """
    return 64 * math.ceil((256 + 4 * decades) / 64)


def constants_at(problem: Problem, kappa: Fraction, place: float) -> Constants | None:
    """Constants with a given kappa, and log P at some place inside its window.

    Returns None where the window is empty.
    """
    beta = max(problem.beta, Fraction(101, 100))
    beta = Fraction(math.ceil(beta * 100), 100)
    with flint.ctx.workprec(256):
        ends = feasibility.window(problem, kappa, beta)
        lower, upper = (float(end / flint.arb(10).log()) for end in ends)
    room = upper - lower
    if not room > 1e-6:
        return None
    middle = lower + room * min(max(place, 0.01), 0.99)
    log10_P = Fraction(middle)
    for digits in range(10):
        # The fewest digits that stay near the place: P only has to lie in its window.
        log10_P = Fraction(round(middle * 10**digits), 10**digits)
        if abs(float(log10_P) - middle) < room / 200:
            break
    alpha = feasibility.alpha_at(problem, kappa)
    gap = problem.gap or Fraction(1)
    gamma = max(problem.signal) / alpha
    C = alpha / gap
    if C <= 1:
        C = min(Fraction(2), (1 + 10 / (kappa - 1)) / 2)
    return Constants(alpha, gamma, beta, log10_P, feasibility.K, kappa, C)
