"""Semidefiniteness against sympy, and the lemma on what stays singular."""

import flint
import numpy as np
import sympy

from swingby.verify.certification.ball_run import (
    exactly_semidefinite,
    semidefinite_in_balls,
)


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
