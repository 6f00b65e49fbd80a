r"""Half-times proved from the pivots of this W(0): Theorem S-gd, any number of distinct concepts.

**Range.** A witness of Theorem R-gd (:mod:`swingby.theory.repaired.theorem_r_gd`) for this W(0) at
theta = 1/2, with T_1 <= ... <= T_d; so eta a_1 <= 1/3 and o_d < 9/10.

**Statement.** Let pi_i be the pivots of W(0) in descending order of a, and let n_F(xi; v) be the
first step at which the scalar map F of y_i, started at the logit xi, has reached v. The half-time
of concept i, the first step with w_ii >= 1/2, lies between

.. math:: n_F(\operatorname{logit} \pi_i + D_i;\ \tfrac12 - \epsilon_i) \quad\text{and}\quad
          n_F(\operatorname{logit} \pi_i - D_i;\ \tfrac12), \qquad
          D_i = e_i / (1 - \tfrac12 (1 + y_i/2)^2 \exp(e_i)),

where the denominator has to be positive. In the letters of R-gd, with
mu+_ij = mu_ij + 4 i y^2 kappa_i Xi_i/(1 - o_i)^2, e_i is the sum of

1. (11/10) (y/(1 - y kappa)) sum_(k<i) (y_i + y_k) A_ik,
2. sum_(j>i) mu+_ij X_ij/(2 y_j),
3. sum_(j>=i) mu+_(i-1)j X_(i-1)j/(2 y_j),
4. (y c/h) sum_(k<i) [A_ik + sum_(j>i) X_ij/(2 y_j)],
5. X_(i-1)i + (2 y_i/h) sum_(k<i) A_ik;

h = 1/2 - max_(k<i) sum_(m<i, m != k) E_km > 0, m = (y/((1 - y kappa) h)) sum_(k<i<=j) E_kj^2 < 1/2,
c = 2/((1 - y kappa)(1 - m)) + y kappa/((1 - y kappa)(1 - m))^2, X_(i-1)i < 1/2 and
epsilon_i = sum_(k<i) E_ki^2/h < 1/2. For i = 1 only term 2 is there, and epsilon_1 = 0.

The pivot p_i of W(t) obeys log p_i(t+1) = log F(p_i(t)) + delta_t with sum |delta_t| <= e_i up to
the half-time; [0.4] of :mod:`swingby.theory.repaired.scalar_map` moves these errors to the start.
Above, w_ii >= p_i; below, w_ii - p_i <= epsilon_i at the half-time.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from swingby.theory import balls
from swingby.theory.balls import precision
from swingby.theory.repaired import theorem_r_gd
from swingby.theory.repaired.scalar_map import Passage, first_passage
from swingby.theory.repaired.theorem_r_gd import (
    DescentSides,
    DescentWitness,
    StartBounds,
    StepRates,
    as_balls,
)

_HALF = Fraction(1, 2)
Interval = tuple[int, int]


def half_times(
    y: Sequence[Fraction],
    diagonal: Sequence[Fraction],
    pivots: Sequence[Fraction],
    passage: Passage = first_passage,
) -> list[Interval | None] | str:
    """Whole steps between which each half-time lies, or the reason why none is covered.

    `y`: eta a_i, descending and distinct. `diagonal`, `pivots`: of a positive definite W(0), in
    this order. None for a concept that the theorem does not cover.
    """
    # A first witness in floats alone would do for the search; the balls are cheap beside it.
    bits = 256
    with precision(bits):
        rates = theorem_r_gd.at_precision(y)
        start = theorem_r_gd.of_pivots(diagonal, pivots)
        witness = theorem_r_gd.find_witness(rates, start, (_HALF,))
        if witness is None:
            return "the conditions C0 to C4 of R-gd at theta = 1/2 have no witness for this W(0)"
        spreads = pivot_errors(rates, start, witness)
        if isinstance(spreads, str):
            return spreads
        starts = [(pi / (1 - pi)).log() for pi in as_balls(pivots)]
    intervals: list[Interval | None] = []
    for rate, xi, spread in zip(y, starts, spreads, strict=True):
        if spread is None:
            intervals.append(None)
            continue
        with precision(bits):
            shift, gap = spread
            level = balls.ball(_HALF) - gap
            ends = (xi - shift).lower(), (xi + shift).upper()
            levels = (level / (1 - level)).log(), flint.arb(0)
        intervals.append(passage(rate, ends, levels))
    return intervals


def pivot_errors(
    rates: StepRates, start: StartBounds, witness: DescentWitness
) -> list[tuple[flint.arb, flint.arb] | None] | str:
    """D_i and epsilon_i at a certified witness; None where i is not covered; or why none is."""
    log_E = np.array([as_balls(row) for row in witness.log_peaks])
    N, M, theta = as_balls(witness.N), as_balls(witness.M), balls.ball(witness.theta)
    at = theorem_r_gd.sides(rates, start, theta, log_E, N, M)
    d = len(rates.y)
    # T_i up to the same 1; in order these are in order as whole steps too.
    order = (at.Z - start.log_b) / rates.growth
    if not all(order[i] <= order[i + 1] for i in range(d - 1)):
        return "the times T_i of R-gd are not in the order of the concepts"
    E = np.where(np.eye(d, dtype=bool), 0 * log_E, np.exp(log_E))
    errors = [_pivot_error(rates, at, E, i) for i in range(d)]
    spreads: list[tuple[flint.arb, flint.arb] | None] = []
    for y, error in zip(rates.y, errors, strict=True):
        if error is None:
            spreads.append(None)
            continue
        total, gap = error
        room = 1 - (1 + y / 2) ** 2 / 2 * total.exp()
        spreads.append((total / room, gap) if room > 0 and gap < 0.5 else None)
    return spreads


def _pivot_error(
    rates: StepRates, at: DescentSides, E: Any, i: int
) -> tuple[flint.arb, flint.arb] | None:
    """e_i and epsilon_i; None where a condition of S-gd fails for i."""
    y, top, room, d = rates.y, rates.y[0], rates.room, len(rates.y)
    index = np.arange(1, d + 1)
    more = 4 * index * top * top * at.root**2 * at.Xi / (1 - rates.o) ** 2
    block = ((at.mu + more[:, None]) * at.X / (2 * y)).sum(axis=1)
    if i == 0:
        return block[0], flint.arb(0)
    inner = E[:i, :i].sum(axis=1)
    floor = balls.ball(_HALF) - _largest(list(inner))
    if not floor > 0:
        return None
    n = top / (room * floor) * (E[:i, i:] ** 2).sum()
    if not (n < 0.5 and at.X[i - 1, i] < 0.5):
        return None
    c = 2 / (room * (1 - n)) + top * rates.kappa / (room * (1 - n)) ** 2
    A = at.A[i, :i]
    coming = (at.X[i, i + 1 :] / (2 * y[i + 1 :])).sum() if i + 1 < d else flint.arb(0)
    total = (
        balls.ball(Fraction(11, 10)) * top / room * ((y[i] + y[:i]) * A).sum()
        + block[i]
        + block[i - 1]
        + top * c / floor * (A.sum() + i * coming)
        + at.X[i - 1, i]
        + 2 * y[i] / floor * A.sum()
    )
    return total, (E[:i, i] ** 2).sum() / floor


def _largest(numbers: list[flint.arb]) -> flint.arb:
    largest = numbers[0]
    for number in numbers[1:]:
        largest = largest.max(number)
    return largest
