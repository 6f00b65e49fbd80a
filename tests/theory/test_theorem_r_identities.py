"""The theorem on distinct concepts: the steps of its proof that a machine can check."""

import itertools

import numpy as np
import pytest
import sympy

from swingby.theory import dynamics


def pairs(d):
    return list(itertools.combinations(range(d), 2))


@pytest.mark.parametrize("d", [2, 3, 4])
def test_entrywise_flow_0_1_and_0_2(d):
    A, W, _ = dynamics.symbols(d)
    right, a = dynamics.right_side(A, W), A.diagonal()
    for i, j in itertools.product(range(d), repeat=2):
        noise = sum(W[i, k] * W[k, j] * (a[k] + (a[i] + a[j]) / 2) for k in range(d))
        assert sympy.expand(right[i, j] - (a[i] + a[j]) * W[i, j] + noise) == 0
    for i in range(d):
        noise = sum((a[i] + a[k]) * W[i, k] ** 2 for k in range(d) if k != i)
        assert sympy.expand(right[i, i] - 2 * a[i] * W[i, i] * (1 - W[i, i]) + noise) == 0


@pytest.mark.parametrize("d", [2, 3])
def test_log_determinant_0_3_and_its_blocks_R_3_and_G_1(d):
    """All multiplied by det X; for the whole matrix the sum over j is empty."""
    A, W, _ = dynamics.symbols(d)
    right, a = dynamics.right_side(A, W), A.diagonal()
    assert (
        sympy.expand(
            2 * dynamics.drift(A, W).trace() - 2 * sum(a[k] * (1 - W[k, k]) for k in range(d))
        )
        == 0
    )
    for n in range(1, d + 1):
        X = W[:n, :n]
        adjugate = X.adjugate() if n > 1 else sympy.Matrix([[1]])
        claimed = X.det() * 2 * sum(a[k] * (1 - W[k, k]) for k in range(n))
        for j in range(n, d):
            y = W[:n, j]
            claimed -= (y.T * adjugate * A[:n, :n] * y)[0] + a[j] * (y.T * adjugate * y)[0]
        assert sympy.expand((adjugate * right[:n, :n]).trace() - claimed) == 0


@pytest.mark.parametrize("d", [2, 3, 4])
def test_scaled_entry_R_8(d):
    A, W, _ = dynamics.symbols(d)
    right, a = dynamics.right_side(A, W), A.diagonal()
    for i, j in pairs(d):
        s = (1 + a[j] / a[i]) / 2
        f = sum((a[i] + a[k]) * W[i, k] ** 2 for k in range(d) if k != i) / W[i, i]
        # y' w_ii^s, with y = w_ij w_ii^-s.
        found = right[i, j] - s * W[i, j] * right[i, i] / W[i, i]
        bracket = -(a[i] - a[j]) / 2 * W[i, i] - (a[i] + 3 * a[j]) / 2 * W[j, j] + s * f
        rest = [k for k in range(d) if k not in (i, j)]
        source = sum((a[k] + (a[i] + a[j]) / 2) * W[i, k] * W[k, j] for k in rest)
        assert sympy.simplify(sympy.expand(found - W[i, j] * bracket + source)) == 0


def test_sign_of_the_coefficient_in_R_9():
    x, y = sympy.symbols("a_i a_j", positive=True)
    s = (1 + y / x) / 2
    assert sympy.simplify((x + 3 * y) / 2 - s * (x + y) - y * (x - y) / (2 * x)) == 0


def test_condition_number_of_correlation_matrices_R_5():
    generator = np.random.default_rng(0)
    for n in (2, 3, 4, 6):
        for _ in range(200):
            root = generator.standard_normal((n, n)) * generator.uniform(0.01, 1, n)
            W = root @ root.T
            C = W / np.sqrt(np.outer(np.diag(W), np.diag(W)))
            values = np.linalg.eigvalsh(C)
            bound = 4 / np.linalg.det(C)
            assert values[-1] / values[0] <= bound * (1 + 1e-6)
