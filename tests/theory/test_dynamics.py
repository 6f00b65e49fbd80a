"""The three maps and the decomposition G, S, N, proved symbolically."""

import numpy as np
import pytest
import sympy

from swingby.errors import InvalidInput
from swingby.proofs.language.claims import by_id
from swingby.proofs.language.matrices import A as data_matrix
from swingby.proofs.language.matrices import I, W, Wt
from swingby.theory import dynamics
from swingby.theory.growth import growth_rates


@pytest.mark.parametrize("d", [2, 3, 4])
def test_printed_right_side_is_B_W_plus_W_B(d):
    A, W, _ = dynamics.symbols(d)
    B = dynamics.drift(A, W)
    assert (dynamics.right_side(A, W) - B * W - W * B).expand().is_zero_matrix


@pytest.mark.parametrize("d", [2, 3, 4])
def test_growth_suppression_noise_add_up(d):
    # (D.3)-(D.6), entry by entry.
    A, W, _ = dynamics.symbols(d)
    right_side = dynamics.right_side(A, W)
    for i in range(d):
        for j in range(d):
            terms = (
                dynamics.growth_term(A, W, i, j)
                - dynamics.suppression_term(A, W, i, j)
                - dynamics.noise_term(A, W, i, j)
            )
            assert sympy.expand(right_side[i, j] - terms) == 0


@pytest.mark.parametrize("d", [2, 3])
def test_gradient_descent_differs_from_euler_by_eta_squared_B_W_B(d):
    A, W, eta = dynamics.symbols(d)
    B = dynamics.drift(A, W)
    difference = dynamics.step("gd", A, W, eta) - dynamics.step("euler", A, W, eta)
    assert (difference - eta**2 * B * W * B).expand().is_zero_matrix


def test_clock_the_flow_of_the_loss_is_twice_the_printed_one():
    # d/dt U = -grad L(U) moves W = U U^T at twice (4.3): THEORY.md 2.2.
    d = 2
    A, _, _ = dynamics.symbols(d)
    U = sympy.Matrix(d, d, sympy.symbols("u_1:5"))
    product = U * U.T
    gradient = sympy.Matrix(d, d, lambda i, j: sympy.diff(dynamics.loss(A, product), U[i, j]))
    speed = -gradient * U.T - U * gradient.T
    assert (speed - 2 * dynamics.right_side(A, product)).expand().is_zero_matrix


@pytest.mark.parametrize("name", ["euler", "gd"])
def test_linear_part_is_the_growth_rate(name):
    A, W, eta = dynamics.symbols(2)
    small = sympy.Symbol("small")
    scaled = dynamics.step(name, A, small * W, eta)
    linear = scaled.diff(small).subs(small, 0)
    numbers = {A[0, 0]: 3.0, A[1, 1]: 0.5, eta: 0.01}
    rates = growth_rates(np.array([3.0, 0.5]), 0.01, name)
    for i in range(2):
        for j in range(2):
            factor = (linear[i, j] / W[i, j]).simplify().subs(numbers)
            assert float(sympy.log(factor)) == pytest.approx(rates[i, j], rel=1e-14)


def test_flow_grows_at_eta_times_the_sum():
    assert np.allclose(
        growth_rates(np.array([3.0, 0.5]), 0.01, "flow"), [[0.06, 0.035], [0.035, 0.01]]
    )


def test_unknown_dynamics_are_refused():
    for name in ("flow", "newton"):
        with pytest.raises(InvalidInput, match="dynamics must be euler or gd"):
            dynamics.step(name, *dynamics.symbols(2))
    with pytest.raises(InvalidInput, match="dynamics must be one of euler, gd, flow"):
        growth_rates(np.ones(2), 0.1, "sgd")


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
