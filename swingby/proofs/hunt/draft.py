"""The drafts of a hunt: settings of few exact numbers, drawn, changed, and made instances."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import flint
import numpy as np

from swingby.proofs.language.claim import Claim
from swingby.proofs.prover.trajectories import instances
from swingby.proofs.prover.trajectories.instances import Matrix, TrajectoryInstance, pivot_share
from swingby.theory.balls import precision
from swingby.verify.checking import feasibility
from swingby.verify.checking.box import FeasibilityProblem

#: D.2 admits eta up to 1/(180 max a).
_LEAST_STEPS = 9 * feasibility.K
#: Floats end at 1e-308: a run in floats needs some room above.
_MOST_DECADES = 285


@dataclass(frozen=True)
class Draft:
    """Numbers of a trajectory.

    The signal descends to 1; `matrix` is W(0)/omega, and omega 10 to minus `decades`.
    """

    signal: tuple[Fraction, ...]
    matrix: Matrix
    decades: int
    inverse_eta: int

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
        return math.ceil(_LEAST_STEPS * self.signal[0])

    @property
    def name(self) -> str:
        """The rank of W(0), and whether it is close to a smaller rank."""
        rank = sum(pivot != 0 for pivot in instances.pivots(self.matrix))
        if rank < self.d:
            return f"rank {('one', 'two', 'three')[rank - 1]}"
        nearly = pivot_share(self.matrix) < Fraction(1, 20)
        return "nearly degenerate" if nearly else "full rank"

    @property
    def problem(self) -> FeasibilityProblem:
        """The numbers of the feasibility question."""
        largest = max(abs(entry) for row in self.matrix for entry in row)
        omega = Fraction(1, 10**self.decades) * self.smallest
        return FeasibilityProblem(
            self.signal, omega, Fraction(1, self.inverse_eta), largest / self.smallest
        )

    def instance(self) -> TrajectoryInstance | None:
        """The instance, if D.1 to D.5 certainly hold with round constants."""
        # A ball run of a degenerate W(0) stays narrow with so many bits.
        bits = 64 * math.ceil((256 + 4 * self.decades) / 64)
        omega, eta = Fraction(1, 10**self.decades), Fraction(1, self.inverse_eta)
        try:
            candidate = instances.instance(
                self.name, self.signal, self.matrix, omega, eta, bits=bits
            )
        except ArithmeticError:
            return None
        return candidate if candidate.is_admissible() else None

    def feasible(self) -> Draft | None:
        """The draft with omega and eta small enough for D.1 to D.5; None below the floats."""
        separated = self.smallest > 0 and min(self.signal) > 0 and self.problem.separated
        if not separated or not instances.is_semidefinite(self.matrix):
            return None
        decades = max(self.decades, self.least_decades())
        if decades > _MOST_DECADES:
            return None
        inverse_eta = max(self.inverse_eta, self.least_inverse_eta)
        return replace(self, decades=decades, inverse_eta=inverse_eta)

    def least_decades(self) -> int:
        """The smallest k for which omega = 10^-k lies below the largest omega of D.1 to D.5."""
        with precision(128):
            supremum = feasibility.threshold(self.problem, feasibility.KAPPA)
            decades = float(supremum / flint.arb(10).log())
        return math.floor(decades + math.log10(self.smallest) + 1e-9) + 1

    def with_few_steps(self) -> Draft:
        """The draft with eta max a log(1/omega) at most a half."""
        log_omega = self.decades * math.log(10) - math.log(self.smallest)
        inverse_eta_needed = math.ceil(2.001 * log_omega * float(self.signal[0])) + 1
        return replace(self, inverse_eta=max(self.inverse_eta, inverse_eta_needed))


#: Largest ratio of two neighbouring signals, by dimension: later stages take so many more steps.
LARGEST_RATIO = {2: 60.0, 3: 15.0, 4: 5.0}
#: How often a dimension is drawn.
_DIMENSIONS = (2, 2, 2, 2, 3, 3, 3, 3, 4)


@dataclass(frozen=True)
class Requirements:
    """The requirements of a claim on a setting besides D.1 to D.5.

    Pivots of at least half the diagonal entries; eta below 1/(2 max a log(1/omega)).
    """

    full_rank: bool
    few_steps: bool


def requirements_of(claim: Claim) -> Requirements:
    """The requirements on settings that are drawn for a claim."""
    letter_sets = [
        {str(symbol) for symbol in hypothesis.relation.free_symbols} for hypothesis in claim.given
    ]
    full_rank = any("pi_k(0)/w_kk(0)" in letters for letters in letter_sets)
    return Requirements(
        full_rank, few_steps=any({"eta", "omega"} <= letters for letters in letter_sets)
    )


def draw(rng: np.random.Generator, dim: int | None, required: Requirements) -> Draft | None:
    """A setting inside D.1 to D.5, of any dimension from 2 to 4 if none is given.

    Omega goes from just inside its largest value downwards, and so does eta. None where the
    numbers do not fit: draw again.
    """
    d = int(rng.choice(_DIMENSIONS)) if dim is None else dim
    matrix = _matrix(rng, d, full_rank=required.full_rank)
    draft = Draft(_signal(rng, d), matrix, 1, 1).feasible()
    if draft is None or (required.full_rank and pivot_share(matrix) < Fraction(1, 2)):
        return None
    depth = 0 if rng.random() < 0.3 else int(10 ** rng.uniform(0, 2.3))
    slower = float(rng.choice([1.0, rng.uniform(1, 4)]))
    draft = replace(
        draft,
        decades=min(draft.decades + depth, _MOST_DECADES),
        inverse_eta=math.ceil(draft.inverse_eta * slower),
    )
    return draft.with_few_steps() if required.few_steps else draft


def mutate(draft: Draft, rng: np.random.Generator, required: Requirements) -> Draft | None:
    """A setting near a draft; None where the numbers do not fit."""
    changed = draft
    for change in rng.choice(3, size=int(rng.integers(1, 3)), replace=False):
        if change == 0:
            changed = replace(changed, signal=_signal(rng, draft.d))
        elif change == 1:
            changed = replace(changed, matrix=_moved_entry(changed.matrix, rng))
        else:
            decades = changed.decades + int(rng.integers(-12, 13))
            inverse_eta = math.ceil(changed.inverse_eta * float(rng.uniform(0.6, 1.5)))
            changed = replace(changed, decades=max(decades, 1), inverse_eta=inverse_eta)
    fitted = changed.feasible()
    return fitted.with_few_steps() if fitted is not None and required.few_steps else fitted


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
    """U U^T of deficient rank and a diagonal, in small whole numbers, or small entries.

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
    remainder = np.abs(1 - np.outer(row, row) / row[0])
    M = np.ones((d, d), dtype=np.int64)
    M[0], M[:, 0] = row, row
    for k in range(1, d):
        off_diagonal = remainder[k, 1:].sum() - remainder[k, k]
        M[k, k] = math.ceil(row[k] ** 2 / row[0] + off_diagonal) + int(rng.choice([0, 0, 3, 10]))
    return tuple(tuple(Fraction(int(entry)) for entry in row) for row in M)


def _moved_entry(matrix: Matrix, rng: np.random.Generator) -> Matrix:
    """A matrix with an entry moved by a whole number or a small share, and its mirror image."""
    i, j = map(int, rng.integers(len(matrix), size=2))
    step = Fraction(int(rng.choice([-3, -2, -1, 1, 2, 3])))
    if rng.random() < 0.3:
        step = matrix[i][j] * Fraction(int(rng.integers(-9, 10)), 20)
    rows = [list(row) for row in matrix]
    rows[i][j] = rows[j][i] = matrix[i][j] + step
    return tuple(map(tuple, rows))
