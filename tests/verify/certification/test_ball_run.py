"""Trajectories in balls against rationals, and semidefiniteness against sympy."""

from fractions import Fraction

import flint
import numpy as np
import pytest
import sympy

from swingby.verify.certification.ball_run import (
    exactly_semidefinite,
    follow,
    semidefinite_in_balls,
)
from tests.verify.certification.reference import printed_step

SIGNAL = {
    1: (Fraction(3),),
    2: (Fraction(4), Fraction(1)),
    3: (Fraction(16), Fraction(4), Fraction(1)),
    4: (Fraction(27), Fraction(9), Fraction(3), Fraction(1)),
}


def start(d, scale):
    return [
        [scale * (1 + (3 if i == j else 0) - Fraction(i + j, 7)) for j in range(d)]
        for i in range(d)
    ]


@pytest.mark.parametrize("dynamics", ["euler", "gd"])
@pytest.mark.parametrize("d", [1, 2, 3, 4])
@pytest.mark.parametrize("scale", [Fraction(1, 10), Fraction(1, 5), Fraction(1, 10**40)])
def test_the_balls_contain_the_exact_rationals(dynamics, d, scale):
    # Four steps of the printed formula in exact rationals, entries below and above 1/2.
    eta, W = Fraction(1, 50), start(d, scale)
    with flint.ctx.workprec(200):
        for state in follow(SIGNAL[d], W, eta, dynamics, 4):
            if state.step:
                W = printed_step(dynamics, SIGNAL[d], eta, W)
            for i in range(d):
                for j in range(d):
                    error = state.W[i][j] - flint.fmpq(W[i][j].numerator, W[i][j].denominator)
                    assert error.contains(0)
                    assert state.W[i][j].rel_accuracy_bits() > 150
                assert (state.rest[i] + state.W[i][i] - 1).contains(0)


def test_balls_stay_narrow_at_the_fixed_point():
    # Without x = 1 - w_ii the radius would grow by exp(6 a_1 eta) in every step.
    start_value = [[Fraction(1, 10)]]
    with flint.ctx.workprec(128):
        *_, last = follow(SIGNAL[1], start_value, Fraction(1, 100), "euler", 5000)
        assert last.is_sound
        assert last.W[0][0].rel_accuracy_bits() > 100
        assert float(last.rest[0]) < 1e-100


def test_semidefinite_agrees_with_sympy():
    rng = np.random.default_rng(3)
    for _ in range(60):
        d = int(rng.integers(1, 5))
        M = rng.integers(-2, 3, (d, int(rng.integers(1, d + 1))))
        W = (M @ M.T - int(rng.integers(0, 2)) * np.diag(rng.integers(0, 2, d))).tolist()
        expected = sympy.Matrix(W).is_positive_semidefinite
        rows = [[flint.fmpq(entry) for entry in row] for row in W]
        assert exactly_semidefinite(rows, range(d)) == expected
        answer = semidefinite_in_balls([[flint.arb(entry) for entry in row] for row in W], range(d))
        assert answer in (None, expected)
        assert answer or sympy.Matrix(W).det() == 0 or not expected


def test_an_entry_that_may_be_zero_is_eliminated():
    # Entries of 0 +- 1/2 between pivots of 1 and 1/10: some of these matrices are not semidefinite.
    open_entry = flint.arb(0, 0.5)
    W = [[flint.arb(1), open_entry], [open_entry, flint.arb("0.1")]]
    assert semidefinite_in_balls(W, range(2)) is None
