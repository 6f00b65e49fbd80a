"""Lines of Sec. 4 and App. D that are algebra, against second implementations."""

import numpy as np
import pytest
import sympy

import swingby
from swingby.theory import dynamics
from swingby.theory.claims.ledger import by_id
from swingby.theory.claims.matrices import A as data_matrix
from swingby.theory.claims.matrices import I, W, Wt


def test_noise_sum_of_the_theorem_against_the_matrix_exponential():
    """Second implementation: dW/dt = -(W - I) A row by row, through the exponential of -A t."""
    task = swingby.SIMTask(mu=[2.0, 1.0], sigma=[0.5, 0.0], dim=3)
    rng = np.random.default_rng(5)
    W0, z, time = rng.standard_normal((3, 3)), rng.standard_normal(3), 0.7
    a = np.array([4 / 2 + 0.25, 1 / 2, 0.0])
    decay = np.exp(-a * time)
    Wt_ = decay * W0 + np.diag((1 - decay) * (a > 0))
    growth = np.where(a > 0, 1 - decay, 0) * z
    every = growth + (decay * W0) @ z
    printed = growth + (decay * W0)[:, :2] @ z[:2]
    output = swingby.one_layer_output(task, W0, time=[time], z=z)[0]
    assert output == pytest.approx(Wt_ @ z)
    assert output == pytest.approx(every)
    assert abs(output - printed).max() > 1e-3


def test_the_two_maps_of_the_package_are_the_two_lines():
    """(D.2) as printed is the Euler step; (D.1) repaired, at half the rate, is the gd step."""
    A, W_matrix, eta = dynamics.symbols(2)
    values = {
        symbol: sympy.Rational(number + 1, 7)
        for number, symbol in enumerate(sorted((A + W_matrix).free_symbols, key=str))
    }
    eye = sympy.eye(2)

    def numeric(expression):
        names = {"I": eye, "W": W_matrix, "W^T": W_matrix.T, "A": A}
        if expression.is_Add:
            return sum((numeric(term) for term in expression.args), sympy.zeros(2))
        if expression.is_Mul:
            scalars, factors = expression.args_cnc()
            result = eye * sympy.Mul(*scalars)
            for factor in factors:
                result = result * numeric(factor)
            return result
        if expression.is_Pow:
            return numeric(expression.base) ** expression.exp
        return names[expression.name]

    assert {I.name, W.name, Wt.name, data_matrix.name} == {"I", "W", "W^T", "A"}
    drift = numeric(by_id("D.2").conclusion.right)
    euler = dynamics.step("euler", A, W_matrix, eta)
    assert (euler - W_matrix - eta * drift).subs(values).expand() == sympy.zeros(2)
    # U+ = U - (eta/2) grad L, so that W+ = W + (eta/2) (first order) + (eta/2)^2 grad L grad L^T
    slope = (W_matrix - eye) * A + A * (W_matrix - eye)
    half = eta / 2
    step = W_matrix + half * numeric(by_id("D.2").repair.conclusion.right)
    step += half**2 * slope * W_matrix * slope
    gd = dynamics.step("gd", A, W_matrix, eta)
    assert (gd - step).subs(values).expand() == sympy.zeros(2)
