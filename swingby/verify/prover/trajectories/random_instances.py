"""Random instances inside D.1 to D.5, for claims that no structured instance breaks."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import flint
import numpy as np

from swingby.verify import feasibility
from swingby.verify.feasibility import Constants, Problem
from swingby.verify.prover.trajectories.instances import Matrix, TrajectoryInstance, pivot_share

#: kappa of random instances, inside its range.
KAPPA = Fraction(111, 100)
#: Largest ratio of two neighbouring signals of a random instance, by dimension.
LARGEST_RATIO = {2: 8, 3: 5, 4: 4}


def random_instance(rng: np.random.Generator, d: int, *, degenerate: bool) -> TrajectoryInstance:
    """A random instance inside D.1 to D.5.

    Neighbouring signals differ by a factor from 3.2 to 8 (5 for d = 3, 4 for d = 4), W(0)/omega is
    a Gram matrix with entries of 6 digits and size from 1 to about 6, omega lies up to 12 decades
    below its largest value and P anywhere inside its window.

    `d`: 2, 3 or 4.
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
            tenths = int(rng.integers(32, 10 * LARGEST_RATIO[d] + 1))
            signal.insert(0, signal[0] * Fraction(tenths, 10))
        sizes = [abs(entry) for row in matrix for entry in row]
        problem = Problem(tuple(signal), Fraction(1), Fraction(1), max(sizes) / min(sizes))
        supremum = feasibility.threshold(problem, KAPPA)
        decades = math.ceil(float(supremum / flint.arb(10).log()) + float(rng.uniform(0.3, 12)))
        limit = 180 if degenerate else 2 * math.ceil(decades * math.log(10) + 1)
        eta = Fraction(1, math.ceil(float(rng.uniform(1, 2)) * limit * float(signal[0]) + 1))
        omega = Fraction(1, 10**decades)
        constants = _constants(rng, replace(problem, omega=omega * min(sizes), eta=eta))
        name = "random, nearly degenerate" if degenerate else "random"
        found = TrajectoryInstance(name, tuple(signal), omega, eta, matrix, constants, bits=512)
        if found.is_admissible():
            return found


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


def _constants(rng: np.random.Generator, problem: Problem) -> Constants:
    """Values inside the windows of :mod:`swingby.verify.feasibility`; P at a random place."""
    window = feasibility.window(problem, KAPPA, problem.beta)
    lower, upper = (float(end / flint.arb(10).log()) for end in window)
    log10_P = Fraction(lower + (upper - lower) * float(rng.uniform(0.02, 0.98)))
    alpha = feasibility.alpha_at(problem, KAPPA)
    gap = problem.gap or Fraction(1)
    return Constants(
        alpha,
        max(problem.signal) / alpha,
        problem.beta,
        log10_P.limit_denominator(10**9),
        feasibility.K,
        KAPPA,
        max(alpha / gap, Fraction(2)),
    )
