r"""Settings that a hunt draws and changes: few exact numbers, from which an instance is made.

The last ones are three concepts of rank two, the second delayed until the third is learned:

.. math:: W(0) = \omega (1 1^T + v v^T), \qquad v = (0, \varepsilon, 1).

Once concept 1 is learned, W is of rank one up to a trace that the learning leaves in the row of
concept 2, proportional to the finite step. One epsilon cancels that trace. Then concept 3 is
learned before concept 2, and gradient descent turns it into concept 2 later: w_23 passes through
1/2, and w_33 falls from 1 to 0. What is left of row 2, divided by row 3, is affine in epsilon as
long as both rows are small, so epsilon is the root of a straight line through two runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from swingby.theory import balls
from swingby.theory.balls import precision
from swingby.theory.claims.claim import Claim
from swingby.verify.certification.ball_run import follow
from swingby.verify.checking import feasibility
from swingby.verify.checking.feasibility import Constants, Problem
from swingby.verify.prover.trajectories import instances
from swingby.verify.prover.trajectories.instances import Matrix, TrajectoryInstance, pivot_share

#: D.2 admits eta up to 1/(180 max a).
LEAST_STEPS = 9 * feasibility.K
#: Floats end at 1e-308: a run in floats needs some room above.
MOST_DECADES = 285


@dataclass(frozen=True)
class Draft:
    """Numbers of a trajectory, with constants of D.1 to D.5 described by two of them.

    The signal descends to 1; `matrix` is W(0)/omega, and omega 10 to minus `decades`. Without
    `kappa`, round constants in the middle of what is left to them; with it, log P lies at `place`
    in its window, from 0 to 1.
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
    def smallest(self) -> Fraction:
        """The smallest size of an entry of `matrix`."""
        return min(abs(entry) for row in self.matrix for entry in row)

    @property
    def least_inverse_eta(self) -> int:
        """The smallest 1/eta that D.2 admits."""
        return math.ceil(LEAST_STEPS * self.signal[0])

    @property
    def name(self) -> str:
        """What is special about W(0): its rank, and how far it is from a smaller one."""
        rank = sum(pivot != 0 for pivot in instances.pivots(self.matrix))
        if rank < self.d:
            return f"rank {('one', 'two', 'three')[rank - 1]}"
        nearly = pivot_share(self.matrix) < Fraction(1, 20)
        return "nearly degenerate" if nearly else "full rank"

    @property
    def problem(self) -> Problem:
        """The numbers of the feasibility question."""
        largest = max(abs(entry) for row in self.matrix for entry in row)
        omega = Fraction(1, 10**self.decades) * self.smallest
        return Problem(self.signal, omega, Fraction(1, self.inverse_eta), largest / self.smallest)

    def instance(self) -> TrajectoryInstance | None:
        """The instance, if D.1 to D.5 certainly hold with these numbers."""
        constants = None
        if self.kappa is not None:
            constants = constants_at(self.problem, self.kappa, self.place)
            if constants is None:
                return None
        # A ball run of a degenerate W(0) stays narrow with so many bits.
        bits = 64 * math.ceil((256 + 4 * self.decades) / 64)
        omega, eta = Fraction(1, 10**self.decades), Fraction(1, self.inverse_eta)
        numbers = (self.name, self.signal, self.matrix, omega, eta, constants)
        return _admissible(*numbers, bits=bits)

    def feasible(self) -> Draft | None:
        """The same with omega and eta small enough for D.1 to D.5; None below the floats."""
        fits = self.smallest > 0 and min(self.signal) > 0 and self.problem.separated
        if not fits or not instances.is_semidefinite(self.matrix):
            return None
        decades = max(self.decades, self.least_decades())
        if decades > MOST_DECADES:
            return None
        inverse_eta = max(self.inverse_eta, self.least_inverse_eta)
        return replace(self, decades=decades, inverse_eta=inverse_eta)

    def least_decades(self) -> int:
        """The smallest k for which omega = 10^-k lies below the largest omega of D.1 to D.5."""
        with precision(128):
            supremum = feasibility.threshold(self.problem, self.kappa or feasibility.KAPPA)
            decades = float(supremum / flint.arb(10).log())
        return math.floor(decades + math.log10(self.smallest) + 1e-9) + 1

    def with_few_steps(self) -> Draft:
        """The same with eta max a log(1/omega) at most a half."""
        log_omega = self.decades * math.log(10) - math.log(self.smallest)
        least = math.ceil(2.001 * log_omega * float(self.signal[0])) + 1
        return replace(self, inverse_eta=max(self.inverse_eta, least))


def _admissible(*numbers: Any, **more: Any) -> TrajectoryInstance | None:
    """The instance with some numbers, if D.1 to D.5 certainly hold."""
    try:
        made = instances.instance(*numbers, **more)
    except ArithmeticError:
        return None
    return made if made.is_admissible() else None


def constants_at(problem: Problem, kappa: Fraction, place: float) -> Constants | None:
    """Constants with a given kappa, and log P at some place inside its window, if it has one."""
    beta = max(problem.beta, Fraction(101, 100))
    beta = Fraction(math.ceil(beta * 100), 100)
    with precision(256):
        ends = feasibility.window(problem, kappa, beta)
        lower, upper = (float(end / flint.arb(10).log()) for end in ends)
    room = upper - lower
    if not room > 1e-6:
        return None
    middle = lower + room * min(max(place, 0.01), 0.99)
    # P only has to lie in its window: few digits that stay near the place.
    unit = 10 ** max(0, math.ceil(math.log10(100 / room)))
    log10_P = Fraction(round(middle * unit), unit)
    return feasibility.filled(problem, kappa, beta, log10_P, Fraction(1, 100))


#: Largest ratio of two neighbouring signals, by dimension: later stages take so many more steps.
LARGEST_RATIO = {2: 60.0, 3: 15.0, 4: 5.0}
#: How often a dimension is drawn.
DIMENSIONS = (2, 2, 2, 2, 3, 3, 3, 3, 4)


@dataclass(frozen=True)
class Asked:
    """What a claim asks of a setting besides D.1 to D.5.

    Pivots of at least half the diagonal entries; eta below 1/(2 max a log(1/omega)).
    """

    full_rank: bool
    few_steps: bool


def asked_by(claim: Claim) -> Asked:
    """What to draw for a claim."""
    names = [{str(symbol) for symbol in given.relation.free_symbols} for given in claim.given]
    full_rank = any("pi_k(0)/w_kk(0)" in found for found in names)
    return Asked(full_rank, few_steps=any({"eta", "omega"} <= found for found in names))


def draw(rng: np.random.Generator, dim: int | None, asked: Asked) -> Draft | None:
    """A setting inside D.1 to D.5, of any dimension from 2 to 4 if none is given.

    Omega goes from just inside its largest value downwards, and so does eta. None where the
    numbers do not fit: draw again.
    """
    d = int(rng.choice(DIMENSIONS)) if dim is None else dim
    kappa, place = _constants(rng)
    matrix = _matrix(rng, d, full_rank=asked.full_rank)
    made = Draft(_signal(rng, d), matrix, 1, 1, kappa, place).feasible()
    if made is None or (asked.full_rank and pivot_share(matrix) < Fraction(1, 2)):
        return None
    depth = 0 if rng.random() < 0.3 else int(10 ** rng.uniform(0, 2.3))
    slower = float(rng.choice([1.0, rng.uniform(1, 4)]))
    made = replace(
        made,
        decades=min(made.decades + depth, MOST_DECADES),
        inverse_eta=math.ceil(made.inverse_eta * slower),
    )
    return made.with_few_steps() if asked.few_steps else made


def mutate(draft: Draft, rng: np.random.Generator, asked: Asked) -> Draft | None:
    """A setting near another one; None where the numbers do not fit."""
    changed = draft
    for change in rng.choice(4, size=int(rng.integers(1, 3)), replace=False):
        if change == 0:
            changed = replace(changed, signal=_signal(rng, draft.d))
        elif change == 1:
            changed = replace(changed, matrix=_one_entry(changed.matrix, rng))
        elif change == 2:
            kappa, place = _constants(rng)
            changed = replace(changed, kappa=kappa, place=place)
        else:
            decades = changed.decades + int(rng.integers(-12, 13))
            inverse_eta = math.ceil(changed.inverse_eta * float(rng.uniform(0.6, 1.5)))
            changed = replace(changed, decades=max(decades, 1), inverse_eta=inverse_eta)
    fitted = changed.feasible()
    return fitted.with_few_steps() if fitted is not None and asked.few_steps else fitted


def _constants(rng: np.random.Generator) -> tuple[Fraction, float]:
    """Kappa a little above its least value 1.1, and a place for log P, its ends included."""
    kappa = Fraction(11, 10) + Fraction(1, int(rng.choice([10, 100, 1000])))
    return kappa, float(rng.choice([0.02, 0.5, 0.98, rng.uniform()]))


def _signal(rng: np.random.Generator, d: int) -> tuple[Fraction, ...]:
    """Ratios of neighbours from barely above 3, which D.5 asks for, to the largest."""
    signal = [Fraction(1)]
    for _ in range(d - 1):
        ratio = Fraction(round(10 * 3.1 * (LARGEST_RATIO[d] / 3.1) ** rng.random()), 10)
        if rng.random() < 0.3:
            ratio = Fraction(3) + Fraction(int(rng.integers(1, 10)), int(rng.choice([10, 100])))
        signal.insert(0, signal[0] * ratio)
    return tuple(signal)


def _matrix(rng: np.random.Generator, d: int, *, full_rank: bool) -> Matrix:
    """U U^T of deficient rank and a diagonal, of small whole numbers; or one of small entries.

    A diagonal of zeros leaves the rank deficient, and a tiny one W(0) nearly degenerate. In half of
    the draws no entry is negative.
    """
    kinds = ("whole",) if full_rank else ("zero", "tiny", "whole", "small entries")
    kind = str(rng.choice(kinds))
    if kind == "small entries":
        return _one_small(rng, d)
    U = rng.choice([1, 1, 1, 2, 3], size=(d, int(rng.integers(1, d))))
    if rng.random() < 0.5:
        U *= rng.choice([1, -1], size=U.shape)
    rows = [[Fraction(int(entry)) for entry in row] for row in U @ U.T]
    for k in range(d):
        if kind == "tiny":
            rows[k][k] += Fraction(1, 10 ** int(rng.integers(1, 11)))
        elif kind == "whole":
            rows[k][k] += int(rng.integers(1, 13))
    return tuple(map(tuple, rows))


def _one_small(rng: np.random.Generator, d: int) -> Matrix:
    """Row 1 of any size, 1 elsewhere off the diagonal: eliminating row 1 leaves larger entries.

    Lemma D.1 under gd breaks on these alone.
    """
    row = rng.integers(1, 7, size=d)
    # A dominant diagonal of what is left keeps W(0) positive semidefinite.
    left = np.abs(1 - np.outer(row, row) / row[0])
    M = np.ones((d, d), dtype=np.int64)
    M[0], M[:, 0] = row, row
    for k in range(1, d):
        others = left[k, 1:].sum() - left[k, k]
        M[k, k] = math.ceil(row[k] ** 2 / row[0] + others) + int(rng.choice([0, 0, 3, 10]))
    return tuple(tuple(Fraction(int(entry)) for entry in row) for row in M)


def _one_entry(matrix: Matrix, rng: np.random.Generator) -> Matrix:
    """One entry moved by a whole number or by a small share, with its mirror image."""
    i, j = map(int, rng.integers(len(matrix), size=2))
    step = Fraction(int(rng.choice([-3, -2, -1, 1, 2, 3])))
    if rng.random() < 0.3:
        step = matrix[i][j] * Fraction(int(rng.integers(-9, 10)), 20)
    rows = [list(row) for row in matrix]
    rows[i][j] = rows[j][i] = matrix[i][j] + step
    return tuple(map(tuple, rows))


# The delayed concept.

#: Close signals keep epsilon short and the run affordable.
DELAYED_SIGNAL = (Fraction(10), Fraction(31, 10), Fraction(1))
DELAYED_ETA = Fraction(1, 1800)
DELAYED_DECADES = 112
#: What is left of row 2 has to stay this many decades below row 3 when concept 3 is learned.
MARGIN = 4
#: Decimal places to which epsilon has to be right.
DIGITS = 122
#: Working precision: an error of W(0) in row 2 grows until concept 3 is learned.
DELAYED_BITS = 960
#: Concepts 1 and 3 are learned by these steps, from the linear growth of gd.
LEARNED = tuple(
    math.ceil(DELAYED_DECADES * math.log(10) / (2 * math.log1p(float(DELAYED_ETA * a))))
    for a in (DELAYED_SIGNAL[0], DELAYED_SIGNAL[2])
)
#: Steps between two looks at the clock.
BETWEEN = 2000


def solve(stop: Callable[[], bool]) -> Fraction | None:
    """The epsilon that cancels what concept 1 leaves in the row of concept 2, to `DIGITS`.

    None where time ran out.
    """
    a_1, a_2, a_3 = map(float, DELAYED_SIGNAL)
    decay = float(DELAYED_ETA) * (2 * a_1 - a_2 - a_3)
    accuracy = (DIGITS + MARGIN - DELAYED_DECADES / 2) * math.log(10)
    step = LEARNED[0] + math.ceil(accuracy / decay)
    with precision(DELAYED_BITS):
        at_zero = _left_over(Fraction(0), step, stop)
        if at_zero is None:
            return None
        second, third = (balls.ball(1 + DELAYED_ETA * a) for a in DELAYED_SIGNAL[1:])
        guess = _rational(-at_zero * (third / second) ** step)
        again = _left_over(guess, step, stop)
        if again is None:
            return None
        slope = (again - at_zero) / balls.ball(guess)
        return _rational(-at_zero / slope)


def build(epsilon: Fraction) -> TrajectoryInstance | None:
    """The delayed instance with some epsilon, if D.1 to D.5 hold."""
    omega = f"1e-{DELAYED_DECADES}"
    numerator = int(epsilon * 10**DIGITS)
    return _admissible(
        "rank two, concept 2 delayed",
        DELAYED_SIGNAL,
        _delayed_matrix(epsilon),
        omega,
        DELAYED_ETA,
        steps=math.ceil(1.1 * LEARNED[1]),
        bits=DELAYED_BITS,
        dynamics=("gd",),
        shape=f"{omega} (1 1^T + v v^T), v = (0, eps, 1), eps = {numerator}/10^{DIGITS}",
    )


def _delayed_matrix(epsilon: Fraction) -> Matrix:
    v = (Fraction(0), epsilon, Fraction(1))
    return tuple(tuple(1 + p * q for q in v) for p in v)


def _left_over(epsilon: Fraction, step: int, stop: Callable[[], bool]) -> Any:
    """What is left of row 2 once row 1 is taken out, in units of the same of row 3."""
    scale = Fraction(1, 10**DELAYED_DECADES)
    W0 = [[scale * entry for entry in row] for row in _delayed_matrix(epsilon)]
    for state in follow(DELAYED_SIGNAL, W0, DELAYED_ETA, "gd", step):
        if state.step % BETWEEN == 0 and stop():
            return None
        W = state.W
    rows = [[entry.mid() for entry in row] for row in W]
    mixed = rows[1][2] - rows[0][1] * rows[0][2] / rows[0][0]
    own = rows[2][2] - rows[0][2] ** 2 / rows[0][0]
    return (mixed / own).mid()


def _rational(number: Any) -> Fraction:
    scaled = (number * flint.arb(10) ** DIGITS).mid()
    return Fraction(int(scaled.floor().unique_fmpz()), 10**DIGITS)
