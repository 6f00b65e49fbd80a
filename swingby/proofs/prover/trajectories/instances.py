"""Instances inside D.1 to D.5 on which claims about trajectories are tried, simplest first.

All numbers are exact rationals. Every instance carries explicit values of the constants that D.1 to
D.5 ask for, and :meth:`TrajectoryInstance.is_admissible` confirms all inequalities with them.
Random instances are for claims that no structured instance breaks.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from swingby.proofs.certify.ball_run import BallState, eliminate, exactly_semidefinite, follow
from swingby.report.number_text import scientific
from swingby.theory import assumptions as text
from swingby.theory import numbers
from swingby.verify.checking import evaluation, feasibility
from swingby.verify.checking.box import FeasibilityProblem
from swingby.verify.checking.feasibility import AssumptionConstants

Matrix = tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True)
class TrajectoryInstance:
    """Everything that fixes a trajectory, and the constants of D.1 to D.5 that go with it.

    `name`: what is special about it, in a few words.
    `signal`: descending.
    `matrix`: W(0) is ``omega * matrix``; symmetric and positive semidefinite, the smallest size of
    an entry is 1: D.1 asks omega <= w_ij(0) of every one.
    `steps`: how far it is followed in balls.
    `bits`: working precision at which its balls stay narrow.
    `dynamics`: where it is worth following.
    `shape`: W(0) as a formula, where its entries are too long to read.
    """

    name: str
    signal: tuple[Fraction, ...]
    omega: Fraction
    eta: Fraction
    matrix: Matrix
    constants: AssumptionConstants
    steps: int = 0
    bits: int = 256
    dynamics: tuple[str, ...] = ("euler", "gd")
    shape: str = ""

    @property
    def d(self) -> int:
        """Dimension."""
        return len(self.signal)

    @property
    def W0(self) -> Matrix:
        """W(0), exact."""
        return tuple(tuple(self.omega * entry for entry in row) for row in self.matrix)

    @functools.cached_property
    def problem(self) -> FeasibilityProblem:
        """The numbers of the feasibility question."""
        largest = max(abs(entry) for row in self.matrix for entry in row)
        return FeasibilityProblem(self.signal, self.omega, self.eta, largest, has_zero=False)

    @functools.cached_property
    def pivot_share(self) -> Fraction:
        """The smallest pi_k(0)/w_kk(0)."""
        return pivot_share(self.matrix)

    def is_admissible(self) -> bool:
        """Whether D.1 to D.5 as printed certainly hold, and W(0) is positive semidefinite."""
        problem, constants = self.problem, self.constants
        if not is_semidefinite(self.matrix) or list(self.signal) != sorted(
            self.signal, reverse=True
        ):
            return False
        numbers_hold = evaluation.confirms(text.PRINTED, problem, constants)
        shared = {text.omega: problem.omega, text.beta: constants.beta}
        entries = (
            evaluation.Instance(
                text.D1, condition, "", shared | {text.w_ij: entry}, constants.log10_P
            ).sign()
            for condition in text.D1.conditions
            if condition.over == "entry"
            for row in self.W0
            for entry in row
        )
        return numbers_hold and all(sign in (0, 1) for sign in entries)

    def follow(self, dynamics: str, steps: int | None = None) -> Iterator[BallState]:
        """Its trajectory in balls, at the current working precision."""
        last = self.steps if steps is None else steps
        return follow(self.signal, self.W0, self.eta, dynamics, last)

    def values(self) -> dict[str, str]:
        """All numbers that are needed to run it again, exact."""
        texts = {
            "a": ", ".join(map(str, self.signal)),
            "omega": _scale(self.omega),
            "eta": str(self.eta),
        }
        if self.shape:
            texts["W(0)"] = self.shape
        matrix, unit = (self.W0, "") if self.shape else (self.matrix, "/omega")
        for i, row in enumerate(matrix, 1):
            for j, entry in enumerate(row[:i], 1):
                texts[f"w_{i}{j}(0){unit}"] = _scale(entry)
        for name in ("alpha", "gamma", "beta", "K", "kappa", "C"):
            texts[name] = str(getattr(self.constants, name))
        return texts | {"log10 P": str(self.constants.log10_P)}

    def __str__(self) -> str:
        signal = ", ".join(map(str, self.signal))
        omega = scientific(self.omega)
        sign = "=" if numbers.exact(omega, "omega") == self.omega else "about"
        return f"{self.name}: a = ({signal}), omega {sign} {omega}, eta = {self.eta}"


def pivots(matrix: Matrix) -> list[Fraction]:
    """Pivots of elimination without exchange; a pivot of 0 eliminates nothing."""
    return [triangle[k][k] for k, triangle in eliminate(matrix, range(len(matrix)))]


def is_semidefinite(matrix: Matrix) -> bool:
    """Whether a matrix is U U^T for some U."""
    return exactly_semidefinite(matrix, range(len(matrix)))


def pivot_share(matrix: Matrix) -> Fraction:
    """The smallest pivot in units of its diagonal entry."""
    return min(pivot / matrix[k][k] for k, pivot in enumerate(pivots(matrix)))


def instance(
    name: str,
    signal: Any,
    matrix: Any,
    omega: Any,
    eta: Any,
    constants: AssumptionConstants | None = None,
    **options: Any,
) -> TrajectoryInstance:
    """An instance with round constants that witness D.1 to D.5, or with these, not yet looked at.

    W(0) is omega times the matrix, which has no zero; the omega of the instance is the smallest of
    its entries. `others`: steps, bits, dynamics, shape of :class:`TrajectoryInstance`.
    Raises ArithmeticError if omega or eta is too large for D.1 to D.5.
    """
    entries = [[Fraction(entry) for entry in row] for row in matrix]
    # omega is the smallest entry of W(0), whatever unit the matrix is given in.
    unit = min(abs(entry) for row in entries for entry in row)
    draft = TrajectoryInstance(
        name,
        tuple(Fraction(a) for a in signal),
        numbers.exact(omega, "omega") * unit,
        numbers.exact(eta, "eta"),
        tuple(tuple(entry / unit for entry in row) for row in entries),
        constants or AssumptionConstants(*(Fraction(1),) * 7),
        **options,
    )
    if constants is not None:
        return draft
    problem = draft.problem
    holds = feasibility.omega_verdict(problem) == "holds"
    if not holds or problem.eta > feasibility.largest_eta(problem):
        raise ArithmeticError(f"no constants satisfy D.1 to D.5 for {name}")
    constants = feasibility.witness(problem)
    # The next hundredth: beta only has to be large enough.
    beta = Fraction(math.ceil(constants.beta * 100), 100)
    rounded = replace(draft, constants=replace(constants, beta=beta))
    return rounded if rounded.is_admissible() else replace(draft, constants=constants)


#: The second row of the delayed instance, W(0) = omega (1 1^T + v v^T) with v = (0, eps, 1). When
#: concept 1 is learned it leaves a trace in the row of concept 2; this eps cancels it to 21 digits,
#: so that concept 3 is learned first, and concept 2 later out of the same direction.
_DELAY = -Fraction(327436527254687025626, 10**121)


def candidates() -> Iterator[TrajectoryInstance]:
    """The structured instances, simplest first."""
    yield instance("rank one", (4, 1), [[1, 1], [1, 1]], "1e-80", "1/1000", steps=110_000, bits=512)
    yield instance("full rank", (4, 1), [[2, 1], [1, 2]], "1e-90", "1/2000", steps=220_000)
    yield instance(
        "full rank, signals far apart", (100, 1), [[1, 1], [1, 2]], "1e-80", "1/40000", steps=50_000
    )
    yield instance(
        "full rank, one small entry",
        (100, 10, 1),
        [[2, 4, 4], [4, 24, 1], [4, 1, 24]],
        "1e-110",
        "1/60000",
        steps=80_000,
    )
    # Under (D.2) w_12 grows faster than sqrt(w_11 w_22), by a share of eta a_1 log(1/omega).
    yield instance(
        "full rank, many steps",
        (4, 1),
        [[2, 1], [1, 2]],
        "1e-500",
        "1/720",
        steps=440_000,
        dynamics=("euler",),
    )
    yield instance(
        "rank two, concept 2 delayed",
        (10, "3.1", 1),
        [[1, 1, 1], [1, 1 + _DELAY**2, 1 + _DELAY], [1, 1 + _DELAY, 2]],
        "1e-112",
        "1/1800",
        steps=256_000,
        bits=1024,
        dynamics=("gd",),
        shape="1e-112 (1 1^T + v v^T), v = (0, eps, 1), eps = -327436527254687025626/10^121",
    )


def _scale(number: Fraction) -> str:
    """Every digit: a witness is judged by what is printed."""
    if number >= Fraction(1, 10**6):
        return str(number)
    digits = len(str(number.denominator)) - 1
    if number.denominator != 10**digits and (number * 10 ** (2 * digits)).denominator == 1:
        digits *= 2
    integer = number * 10**digits
    if integer.denominator != 1:
        return str(number)
    text = str(integer.numerator).rstrip("0")
    return f"{text}e-{digits - len(str(integer.numerator)) + len(text)}"


#: kappa of random instances, inside its range.
_KAPPA = Fraction(111, 100)

#: Largest ratio of two neighbouring signals of a random instance, by dimension.
_LARGEST_RATIO = {2: 8, 3: 5, 4: 4}


def random_instance(rng: np.random.Generator, d: int, *, degenerate: bool) -> TrajectoryInstance:
    """A random instance inside D.1 to D.5, of 2, 3 or 4 concepts.

    Neighbouring signals differ by a factor from 3.2 to 8 (5 for d = 3, 4 for d = 4), W(0)/omega is
    a Gram matrix with entries of 6 digits and size from 1 to about 6, omega lies up to 12 decades
    below its largest value and P anywhere inside its window.

    `degenerate`: whether the smallest pivot is below a tenth of its diagonal entry, down to 1e-6 of
    it, and eta just below the limit of D.2. Otherwise every pivot is at least half its diagonal
    entry and eta is from 1/4 to 1/2 in units of 1/(max a log(1/omega)).
    """
    while True:
        matrix = _gram(rng, d, degenerate=degenerate)
        if matrix is None:
            continue
        signal = [Fraction(1)]
        for _ in range(d - 1):
            tenths = int(rng.integers(32, 10 * _LARGEST_RATIO[d] + 1))
            signal.insert(0, signal[0] * Fraction(tenths, 10))
        sizes = [abs(entry) for row in matrix for entry in row]
        problem = FeasibilityProblem(
            tuple(signal), Fraction(1), Fraction(1), max(sizes) / min(sizes)
        )
        supremum = feasibility.threshold(problem, _KAPPA)
        decades = math.ceil(float(supremum / flint.arb(10).log()) + float(rng.uniform(0.3, 12)))
        limit = 180 if degenerate else 2 * math.ceil(decades * math.log(10) + 1)
        eta = Fraction(1, math.ceil(float(rng.uniform(1, 2)) * limit * float(signal[0]) + 1))
        omega = Fraction(1, 10**decades)
        constants = _constants(rng, replace(problem, omega=omega * min(sizes), eta=eta))
        name = "random, nearly degenerate" if degenerate else "random"
        drawn = TrajectoryInstance(name, tuple(signal), omega, eta, matrix, constants, bits=512)
        if drawn.is_admissible():
            return drawn


def _gram(rng: np.random.Generator, d: int, *, degenerate: bool) -> Matrix | None:
    U = rng.normal(size=(d, d))
    if degenerate:
        U[:, -1] *= 10.0 ** rng.uniform(-3, -1)
    else:
        U += np.diag(rng.uniform(1, 3, size=d))
    M = U @ U.T
    M /= np.abs(M).min()
    if np.abs(M).max() > 6:
        return None
    rows = [[Fraction(round(entry * 10**6), 10**6) for entry in row] for row in M.tolist()]
    matrix = tuple(map(tuple, rows))
    if degenerate:
        return matrix if pivot_share(matrix) < Fraction(1, 10) else None
    return matrix if pivot_share(matrix) >= Fraction(1, 2) else None


def _constants(rng: np.random.Generator, problem: FeasibilityProblem) -> AssumptionConstants:
    """Values inside the windows of the feasibility question; P at a random place."""
    window = feasibility.window(problem, _KAPPA, problem.beta)
    lower, upper = (float(end / flint.arb(10).log()) for end in window)
    log10_P = Fraction(lower + (upper - lower) * float(rng.uniform(0.02, 0.98)))
    alpha = feasibility.alpha_at(problem, _KAPPA)
    gap = problem.gap or Fraction(1)
    return AssumptionConstants(
        alpha,
        max(problem.signal) / alpha,
        problem.beta,
        log10_P.limit_denominator(10**9),
        feasibility.K,
        _KAPPA,
        max(alpha / gap, Fraction(2)),
    )
