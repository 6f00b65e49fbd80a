"""Semidefiniteness against sympy, and the lemma on what stays singular."""

from fractions import Fraction

import flint
import numpy as np
import sympy

from swingby.verify.certification.ball_run import (
    exactly_semidefinite,
    independent_concepts,
    semidefinite_in_balls,
)


def euler(a, W, eta):
    """One step of (D.2) as printed."""
    A, W = sympy.diag(*a), sympy.Matrix(W)
    B = A - (A * W + W * A) / 2
    return W + eta * (B * W + W * B)


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


def test_a_singular_matrix_is_lost_at_once_or_kept():
    # The lemma of semidefinite.py: the kernel is spanned by vectors of single eigenspaces of A, or
    # semidefiniteness is lost at step 1. Exact steps of the printed formula.
    rng = np.random.default_rng(4)
    kept = 0
    for _ in range(60):
        signal = [Fraction(int(a)) for a in rng.integers(1, 3, 3)]
        U = rng.integers(-2, 3, (3, int(rng.integers(1, 3))))
        W = [[Fraction(int(entry), 100) for entry in row] for row in (U @ U.T).tolist()]
        rows = [[flint.fmpq(w.numerator, w.denominator) for w in row] for row in W]
        left = independent_concepts(signal, rows, range(3))
        regular = sympy.Matrix(W)[left, left].det() > 0 if left else True
        following = euler(signal, W, sympy.Rational(1, 10))
        assert following.is_positive_semidefinite == bool(regular)
        kept += bool(regular)
    assert 10 < kept < 50
