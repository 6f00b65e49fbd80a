"""The lemma on convergence: its steps, its constants, and what runs do."""

from fractions import Fraction

import flint
import numpy as np
import pytest
import sympy

from swingby.theory.balls import ball
from swingby.verify.certification.events import neighbourhood
from tests.verify.certification.reference import printed_step


def norm(M):
    """A ball around the norm of Frobenius of rows of fractions."""
    return ball(sum(entry * entry for row in M for entry in row)).sqrt()


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_rewriting_with_e_is_an_identity(d):
    # W = I + E in (D.2) and in (I + eta B) W (I + eta B), for symbols a, eta and E.
    a = sympy.symbols(f"a1:{d + 1}")
    eta = sympy.Symbol("eta")
    E = sympy.Matrix(d, d, lambda i, j: sympy.Symbol(f"e{min(i, j)}{max(i, j)}"))
    A, one = sympy.diag(*a), sympy.eye(d)
    W = one + E
    B = A - (A * W + W * A) / 2
    S = (A * E + E * A) / 2
    euler = W + eta * (B * W + W * B) - one
    assert (euler - (E - eta * (A * E + E * A) - eta * (S * E + E * S))).expand().is_zero_matrix
    gd = (one + eta * B) * W * (one + eta * B) - one
    assert (gd - euler - eta**2 * S * W * S).expand().is_zero_matrix
    linear = E - eta * (A * E + E * A)
    for i in range(d):
        for j in range(d):
            assert sympy.expand(linear[i, j] - (1 - eta * (a[i] + a[j])) * E[i, j]) == 0


def test_the_last_inequality_for_gd_reduces_to_e_at_most_one():
    # q = 1 - rho, e = q / (4 y (1 + y)): with 2 y e = q / (2 (1 + y)) the slack of
    # 2 y e + y^2 e (1 + e) <= q / 2 is q y (1 - e) / (4 (1 + y)), positive for e <= 1.
    q, y, e = sympy.symbols("q y e", positive=True)
    bound = q / (2 * (1 + y)) * (1 + y * (1 + e) / 2)
    assert sympy.simplify(q / 2 - bound - q * y * (1 - e) / (4 * (1 + y))) == 0
    assert sympy.simplify((2 * y * e + y**2 * e * (1 + e)) - 2 * y * e * (1 + y * (1 + e) / 2)) == 0


@pytest.mark.parametrize("dynamics", ["euler", "gd"])
def test_one_step_obeys_the_lemma(dynamics):
    # Random rationals in balls of 100 bits: the bound for any E, the rate inside the radius.
    rng = np.random.default_rng(5)
    tight = 0.0
    with flint.ctx.workprec(100):
        for _ in range(150):
            d = int(rng.integers(1, 5))
            signal = [Fraction(int(n), 7) for n in rng.integers(1, 20, d)]
            eta = Fraction(int(rng.integers(1, 60)), 100) / max(signal)
            size = Fraction(int(rng.integers(1, 100)), 100)
            E = rng.integers(-9, 10, (d, d))
            E = (E + E.T).tolist()
            if rng.integers(0, 2):
                E = [[E[i][j] if i == j == d - 1 else 0 for j in range(d)] for i in range(d)]
            if not any(map(any, E)):
                continue
            found = neighbourhood(signal, eta, dynamics)
            rho = max(abs(1 - 2 * eta * min(signal)), abs(1 - 2 * eta * max(signal)))
            assert (found is None) == (rho >= 1)
            if found is None:
                continue
            assert 0 < found.radius <= Fraction(1, 2)
            assert found.rate == (1 + rho) / 2
            # E scaled to `size` times the radius, rounded down by using an upper bound of its norm.
            bound = Fraction(float(norm(E).upper())) * Fraction(1001, 1000)
            E = [[x * size * found.radius / bound for x in row] for row in E]
            W = [[x + (i == j) for j, x in enumerate(row)] for i, row in enumerate(E)]
            after = printed_step(dynamics, signal, eta, W)
            after = [[x - (i == j) for j, x in enumerate(row)] for i, row in enumerate(after)]
            e, y = norm(E), ball(eta * max(signal))
            allowed = ball(rho) * e + 2 * y * e * e
            if dynamics == "gd":
                allowed += y * y * e * e * (1 + e)
            slack = flint.arb(2) ** -80
            assert norm(after) <= allowed + slack
            assert norm(after) <= ball(found.rate) * e + slack
            tight = max(tight, float(norm(after) / (ball(found.rate) * e)))
    # The rate is nearly attained, so a rate that is too small would be noticed.
    assert tight > 0.97


def test_no_neighbourhood_without_signal_or_with_too_large_a_step():
    assert neighbourhood([Fraction(1), Fraction(0)], Fraction(1, 10), "euler") is None
    assert neighbourhood([Fraction(1)], Fraction(1), "gd") is None
    # rho = |1 - 2 (3/4)| = 1/2, R = (1/2) / (4 (3/4)) = 1/6, and 1/6 / (7/4) for gd.
    assert neighbourhood([Fraction(3)], Fraction(1, 4), "euler") == (Fraction(1, 6), Fraction(3, 4))
    assert neighbourhood([Fraction(3)], Fraction(1, 4), "gd")[0] == Fraction(2, 21)
