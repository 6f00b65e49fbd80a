r"""Settings that a hunt draws and changes: few exact numbers, from which an instance is made.

The last ones are three concepts of rank two, the second delayed until the third is learned:

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
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import flint
import numpy as np

from swingby.theory.balls import precision
from swingby.theory.claim import Claim
from swingby.verify.certification.ball_run import follow
from swingby.verify.checking import feasibility
from swingby.verify.checking.feasibility import Constants, Problem
from swingby.verify.prover.trajectories import instances
from swingby.verify.prover.trajectories.instances import Matrix, TrajectoryInstance, pivot_share

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

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
        sizes = [abs(entry) for row in self.matrix for entry in row]
        omega = Fraction(1, 10**self.decades) * min(sizes)
        return Problem(self.signal, omega, Fraction(1, self.inverse_eta), max(sizes) / min(sizes))

    def instance(self) -> TrajectoryInstance | None:
        """The instance, if D.1 to D.5 certainly hold with these numbers."""
        if not all(entry for row in self.matrix for entry in row):
            return None
        if not instances.is_semidefinite(self.matrix) or not self.problem.separated:
            return None
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
        if not all(entry for row in self.matrix for entry in row) or min(self.signal) <= 0:
            return None
        if not self.problem.separated:
            return None
        decades = max(self.decades, self.least_decades())
        if decades > MOST_DECADES:
            return None
        inverse_eta = max(self.inverse_eta, math.ceil(LEAST_STEPS * self.signal[0]))
        return replace(self, decades=decades, inverse_eta=inverse_eta)

    def least_decades(self) -> int:
        """The smallest k for which omega = 10^-k lies below the largest omega of D.1 to D.5."""
        with precision(128):
            supremum = feasibility.threshold(self.problem, self.kappa or feasibility.KAPPA)
            decades = float(supremum / flint.arb(10).log())
        smallest = min(abs(entry) for row in self.matrix for entry in row)
        return math.floor(decades + math.log10(smallest) + 1e-9) + 1


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
    log10_P = Fraction(middle)
    for digits in range(10):
        # The fewest digits that stay near the place: P only has to lie in its window.
        log10_P = Fraction(round(middle * 10**digits), 10**digits)
        if abs(float(log10_P) - middle) < room / 200:
            break
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

    None where the numbers do not fit: draw again.
    """
    d = int(rng.choice(DIMENSIONS)) if dim is None else dim
    family = "full rank" if asked.full_rank else str(rng.choice(list(FAMILIES)))
    matrix = FAMILIES[family](rng, d)
    if matrix is None:
        return None
    if asked.full_rank and pivot_share(matrix) < Fraction(1, 2):
        return None
    kappa, place = _constants(rng)
    made = Draft(_signal(rng, d), matrix, 1, 1, kappa, place).feasible()
    return None if made is None else _scaled(made, rng, asked)


def mutate(draft: Draft, rng: np.random.Generator, asked: Asked) -> Draft | None:
    """A setting near another one; None where the numbers do not fit."""
    changed = draft
    for change in rng.choice(4, size=int(rng.integers(1, 3)), replace=False):
        if change == 0:
            changed = replace(changed, signal=_moved(changed.signal, rng))
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
    if fitted is None or not asked.few_steps:
        return fitted
    return replace(fitted, inverse_eta=max(fitted.inverse_eta, _few_steps(fitted)))


def _scaled(draft: Draft, rng: np.random.Generator, asked: Asked) -> Draft | None:
    """Omega from just inside its largest value downwards, eta from its limit downwards."""
    depth = 0 if rng.random() < 0.3 else int(10 ** rng.uniform(0, 2.3))
    decades = min(draft.decades + depth, MOST_DECADES)
    least = math.ceil(LEAST_STEPS * draft.signal[0])
    inverse_eta = math.ceil(least * float(rng.choice([1.0, rng.uniform(1, 4)])))
    scaled = replace(draft, decades=decades, inverse_eta=inverse_eta)
    if asked.few_steps:
        slow = math.ceil(_few_steps(scaled) * float(rng.uniform(1, 1.5)))
        scaled = replace(scaled, inverse_eta=max(inverse_eta, slow))
    return scaled


def _few_steps(draft: Draft) -> int:
    """The least 1/eta with eta max a log(1/omega) at most a half."""
    smallest = min(abs(entry) for row in draft.matrix for entry in row)
    log_omega = draft.decades * math.log(10) - math.log(smallest)
    return math.ceil(2.001 * log_omega * float(draft.signal[0])) + 1


def _constants(rng: np.random.Generator) -> tuple[Fraction, float]:
    """Kappa a little above its least value 1.1, and a place for log P, its ends included."""
    kappa = Fraction(11, 10) + Fraction(1, int(rng.choice([10, 100, 1000])))
    return kappa, float(rng.choice([0.02, 0.5, 0.98, rng.uniform()]))


def _signal(rng: np.random.Generator, d: int) -> tuple[Fraction, ...]:
    signal = [Fraction(1)]
    for _ in range(d - 1):
        signal.insert(0, signal[0] * _ratio(rng, LARGEST_RATIO.get(d, 4.0)))
    return tuple(signal)


def _ratio(rng: np.random.Generator, largest: float) -> Fraction:
    if rng.random() < 0.3:
        # Barely apart: D.5 asks for more than 3.
        return Fraction(3) + Fraction(int(rng.integers(1, 10)), int(rng.choice([10, 100])))
    return Fraction(round(10 * math.exp(rng.uniform(math.log(3.1), math.log(largest)))), 10)


def _moved(signal: tuple[Fraction, ...], rng: np.random.Generator) -> tuple[Fraction, ...]:
    """One ratio of neighbouring signals drawn anew, near the old one."""
    k = int(rng.integers(len(signal) - 1)) if len(signal) > 1 else 0
    ratio = float(signal[k] / signal[k + 1]) if len(signal) > 1 else 1.0
    wanted = max(Fraction(round(10 * ratio * float(rng.uniform(0.7, 1.4))), 10), Fraction(31, 10))
    share = wanted / Fraction(ratio).limit_denominator(10**6)
    return tuple((a * share).limit_denominator(100) for a in signal[: k + 1]) + signal[k + 1 :]


def _one_entry(matrix: Matrix, rng: np.random.Generator) -> Matrix:
    """One entry moved by a whole number or by a small share, with its mirror image."""
    d = len(matrix)
    i, j = int(rng.integers(d)), int(rng.integers(d))
    entry = matrix[i][j]
    step = Fraction(int(rng.choice([-2, -1, 1, 2]))) * int(rng.choice([1, 1, 3]))
    if rng.random() < 0.3:
        step = entry * Fraction(int(rng.integers(-9, 10)), 20)
    rows = [list(row) for row in matrix]
    rows[i][j] = rows[j][i] = entry + step
    return tuple(map(tuple, rows))


def _whole(M: Any) -> Matrix | None:
    rows = tuple(tuple(Fraction(int(entry)) for entry in row) for row in M)
    return rows if all(entry for row in rows for entry in row) else None


def _columns(rng: np.random.Generator, d: int, count: int, largest: int) -> Integers:
    """Random columns of small whole numbers; in half of the draws none is negative."""
    low = -largest if rng.random() < 0.5 else 0
    return rng.integers(low, largest + 1, size=(d, count))


def _rank_one(rng: np.random.Generator, d: int) -> Matrix | None:
    u = rng.choice([1, 1, 1, 2, 3], size=d) * rng.choice([1, 1, 1, -1], size=d)
    return _whole(np.outer(u, u))


def _deficient(rng: np.random.Generator, d: int) -> Matrix | None:
    U = _columns(rng, d, int(rng.integers(1, d)), 3)
    return _whole(U @ U.T)


def _nearly_degenerate(rng: np.random.Generator, d: int) -> Matrix | None:
    matrix = _deficient(rng, d)
    if matrix is None:
        return None
    rows = [list(row) for row in matrix]
    for k in range(d):
        rows[k][k] += Fraction(1, 10 ** int(rng.integers(1, 11)))
    return tuple(map(tuple, rows))


def _full_rank(rng: np.random.Generator, d: int) -> Matrix | None:
    U = _columns(rng, d, d, 2)
    return _whole(U @ U.T + np.diag(rng.integers(1, 13, size=d)))


def _one_small(rng: np.random.Generator, d: int) -> Matrix | None:
    """Row 1 of any size, 1 elsewhere off the diagonal: eliminating row 1 leaves larger entries."""
    row = rng.integers(1, 7, size=d)
    left = np.ones((d, d)) - np.outer(row, row) / row[0]
    # A dominant diagonal of what is left keeps W(0) positive semidefinite.
    off = np.abs(left - np.diag(np.diag(left))).sum(axis=1)
    M = np.ones((d, d), dtype=np.int64)
    M[0], M[:, 0] = row, row
    for k in range(1, d):
        M[k, k] = math.ceil(row[k] ** 2 / row[0] + off[k]) + int(rng.choice([0, 0, 3, 10]))
    return _whole(M)


def _gram(rng: np.random.Generator, d: int) -> Matrix | None:
    U = rng.normal(size=(d, d)) + np.diag(rng.uniform(0, 3, size=d))
    M = U @ U.T
    M /= np.abs(M).min()
    if np.abs(M).max() > 40:
        return None
    rows = [[Fraction(round(entry * 1000), 1000) for entry in row] for row in M.tolist()]
    return tuple(map(tuple, rows))


FAMILIES: dict[str, Callable[[np.random.Generator, int], Matrix | None]] = {
    "rank one": _rank_one,
    "rank deficient": _deficient,
    "nearly degenerate": _nearly_degenerate,
    "full rank": _full_rank,
    "full rank, small entries": _one_small,
    "random Gram matrix": _gram,
}


#: What is left of row 2 has to stay this many decades below row 3 when concept 3 is learned.
MARGIN = 4
#: Steps between two looks at the clock.
BETWEEN = 2000


@dataclass(frozen=True)
class Delay:
    """The numbers of the construction; `share` is m, the third entry of v."""

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
    decades = draft.least_decades() + 1
    return Delay(signal, share, decades, inverse_eta)


def solve(delay: Delay, stop: Callable[[], bool]) -> Fraction | None:
    """The epsilon that cancels what concept 1 leaves in the row of concept 2, to `digits`.

    None where time ran out or no digit is left.
    """
    a_1, a_2, a_3 = map(float, delay.signal)
    decay = float(delay.eta) * (2 * a_1 - a_2 - a_3)
    accuracy = (delay.digits + MARGIN) * math.log(10) - math.log(10.0) * delay.decades / 2
    step = delay.learned[0] + math.ceil(max(accuracy, 60.0) / decay)
    with precision(delay.bits):
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
    return _admissible(
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
