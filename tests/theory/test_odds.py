"""The odds matrix X = W(I-W)^-1: its exact equation, its factors, and the curves made of them.

Symbolic identities are proved with sympy from the printed right side of (D.2); closed forms are
those of diagonal W(0) and of equal signals.
"""

import functools
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from swingby.simulate.run import simulate
from swingby.theory import dynamics, odds
from swingby.theory.growth import growth_rates
from swingby.theory.initial import Scaled, initial_matrix
from swingby.theory.odds import Leading
from swingby.theory.law.pivots import Pivots
from swingby.theory.law.stages import stage_law
from swingby.theory.task import SIMTask


def law(signal, W0, *, eta="1/100", name="flow", sweeps=1):
    task = SIMTask.from_signal(signal)
    return stage_law(task, initial_matrix(W0, task.dim), Fraction(eta), name, sweeps=sweeps)


@functools.cache
def symbolic(d):
    """A, W, K = (WA - AW)/2 and W' of (D.2), all symbolic."""
    A, W, _ = dynamics.symbols(d)
    return A, W, (W * A - A * W) / 2, dynamics.right_side(A, W)


@pytest.mark.parametrize("d", [2, 3])
def test_the_odds_matrix_obeys_a_linear_equation_turned_by_an_antisymmetric_matrix(d):
    # X = (I-W)^-1 - I, so X' = (I-W)^-1 W' (I-W)^-1; multiplied by I - W on both sides the claim
    # X' = (A+K) X + X (A+K)^T is a polynomial identity.
    A, W, K, speed = symbolic(d)
    rest = sympy.eye(d) - W
    claim = rest * (A + K) * W + W * (A + K).T * rest
    assert (speed - claim).expand().is_zero_matrix
    assert (K + K.T).is_zero_matrix
    assert (K - sympy.Matrix(d, d, lambda i, j: W[i, j] * (A[j, j] - A[i, i]) / 2)).expand() == (
        sympy.zeros(d, d)
    )


def random_rational(d, seed):
    """A W inside (0, I), a signal, K, X and X', all exact rationals."""
    generator = np.random.default_rng(seed)
    factor = sympy.Matrix(
        d, d, [sympy.Rational(int(n), 20) for n in generator.integers(-4, 5, d * d)]
    )
    W = factor * factor.T + sympy.eye(d) / 10
    A = sympy.diag(*(sympy.Rational(int(n), 7) for n in generator.integers(1, 30, d)))
    rest = (sympy.eye(d) - W).inv()
    return A, W, (W * A - A * W) / 2, W * rest, rest * dynamics.right_side(A, W) * rest


@pytest.mark.parametrize("d", [2, 3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_the_odds_equation_in_exact_rationals(d, seed):
    A, _, K, X, speed = random_rational(d, seed)
    assert speed == (A + K) * X + X * (A + K).T


@pytest.mark.parametrize("d", [2, 3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_log_det_of_the_odds_grows_at_exactly_twice_the_trace_of_A(d, seed):
    A, _, _, X, speed = random_rational(d, seed)
    assert (X.inv() * speed).trace() == 2 * A.trace()


def test_log_det_of_the_odds_grows_at_twice_the_trace_of_A_symbolically():
    A, W, _, speed = symbolic(2)
    rest = sympy.eye(2) - W
    rate = (W.adjugate() * speed).trace() * rest.det() + (rest.adjugate() * speed).trace() * W.det()
    assert sympy.expand(rate - 2 * A.trace() * W.det() * rest.det()) == 0


def test_log_odds_pivots_move_at_2a_plus_twice_the_diagonal_of_K_seen_from_L():
    # d = 2: x_1 = X_11, x_2 = det X / X_11, L_21 = X_12 / X_11, with any antisymmetric K.
    a_1, a_2, k, x_1, x_2, low = sympy.symbols("a_1 a_2 k x_1 x_2 l", positive=True)
    A, K = sympy.diag(a_1, a_2), sympy.Matrix([[0, k], [-k, 0]])
    L = sympy.Matrix([[1, 0], [low, 1]])
    X = L * sympy.diag(x_1, x_2) * L.T
    speed = (A + K) * X + X * (A + K).T
    seen = L.inv() * K * L
    first = speed[0, 0] / x_1
    both = (X.inv() * speed).trace()
    assert sympy.simplify(first - 2 * a_1 - 2 * seen[0, 0]) == 0
    assert sympy.simplify(both - first - 2 * a_2 - 2 * seen[1, 1]) == 0
    # L' = L S with S_21 = Y_21 + (x_2/x_1) Y_12, Y = L^-1 (A + K) L.
    Y = L.inv() * (A + K) * L
    slope = speed[1, 0] / x_1 - X[1, 0] * speed[0, 0] / x_1**2
    assert sympy.simplify(slope - Y[1, 0] - x_2 / x_1 * Y[0, 1]) == 0


@pytest.mark.parametrize("d", [2, 3])
def test_K_vanishes_for_diagonal_W_and_for_equal_signals(d):
    A, W, K, _ = symbolic(d)
    off = {W[i, j]: 0 for i in range(d) for j in range(d) if i != j}
    assert K.subs(off).is_zero_matrix
    assert K.subs({A[k, k]: A[0, 0] for k in range(d)}).expand().is_zero_matrix


def logistic_curve(a, w0, time):
    grown = np.exp(2 * a * time)
    return w0 * grown / (1 - w0 + w0 * grown)


@pytest.mark.parametrize("sweeps", [0, 1, 3])
def test_diagonal_start_gives_one_logistic_per_concept(sweeps):
    # Closed form: (D.2) decouples for diagonal W.
    signal, start = [3.0, 1.1, 2.0], [1e-3, 0.2, 1e-7]
    t = np.linspace(0, 900, 181)
    W = law(signal, np.diag(start), sweeps=sweeps).evaluate(t)
    for k in range(3):
        assert np.abs(W[:, k, k] - logistic_curve(signal[k], start[k], 0.01 * t)).max() < 1e-9
    W[:, range(3), range(3)] = 0
    assert not W.any()


@pytest.mark.parametrize("sweeps", [0, 1, 3])
@pytest.mark.parametrize("d", [2, 3, 4])
def test_equal_signals_give_the_closed_form_of_commuting_matrices(sweeps, d):
    # W(t) = e^{2at} W0 (I + (e^{2at} - 1) W0)^-1.
    U = np.random.default_rng(d).standard_normal((d, d + 1)) * 0.05
    W0, a = U @ U.T, 1.7
    t = np.linspace(0, 600, 61)
    W = law([a] * d, W0, sweeps=sweeps).evaluate(t)
    for place, moment in enumerate(t):
        grown = np.exp(2 * a * 0.01 * moment)
        exact = grown * W0 @ np.linalg.inv(np.eye(d) + (grown - 1) * W0)
        assert np.abs(W[place] - exact).max() < 1e-9


@pytest.mark.parametrize("d", [2, 3, 4])
def test_the_composite_starts_at_W0(d):
    U = np.random.default_rng(d).standard_normal((d, d)) * 0.1
    W0 = U @ U.T
    W = law(np.arange(1, d + 1).tolist(), W0).evaluate(np.zeros(1))[0]
    assert np.abs(W - W0).max() < 1e-13 * np.abs(W0).max()


def test_picard_sweeps_converge_to_the_flow():
    # Second implementation: the Taylor integration of the run.
    generator = np.random.default_rng(3)
    U = generator.standard_normal((3, 3)) * 0.03
    task, W0 = SIMTask.from_signal([2.0, 1.2, 0.5]), U @ U.T
    run = simulate(task, W0, 0.01, 1200, "flow", record=10)
    errors = [
        np.abs(law(task.signal, W0, sweeps=sweeps).evaluate(run.steps) - run.W).max()
        for sweeps in (0, 1, 4)
    ]
    assert errors[1] < errors[0] / 3
    assert errors[2] < 5e-4


a_k, a_j, x, minor = sympy.symbols("a_k a_j x minor", positive=True)


def single_stage_entry():
    """w_kj of THEORY.md section 3 as a function of the odds x = e^{2 a_k t}."""
    growth = x ** ((a_k + a_j) / (2 * a_k))
    return minor * growth * (1 + x) ** (-(3 * a_k + a_j) / (4 * a_k))


def test_the_entry_curve_solves_its_equation_around_a_single_stage():
    # w_kj' = (a_k + a_j) w_kj - (3 a_k + a_j) w_kk w_kj / 2 by (D.4), (D.5), with w_kk = x/(1+x)
    # and x' = 2 a_k x.
    entry = single_stage_entry()
    speed = sympy.diff(entry, x) * 2 * a_k * x
    level = x / (1 + x)
    expected = ((a_k + a_j) - (3 * a_k + a_j) * level / 2) * entry
    assert sympy.simplify((speed - expected) / entry) == 0


def test_the_entry_curve_peaks_where_the_major_entry_is_2_ak_plus_aj_over_3ak_plus_aj():
    slope = sympy.simplify(x * sympy.diff(sympy.log(single_stage_entry()), x))
    (peak,) = sympy.solve(slope, x)
    claimed = 2 * (a_k + a_j) / (3 * a_k + a_j)
    assert sympy.simplify(peak / (1 + peak) - claimed) == 0
    # It lies below 1, so there is suppression, exactly when a_k > a_j: no factor 3 is needed.
    assert sympy.simplify((1 - claimed) - (a_k - a_j) / (3 * a_k + a_j)) == 0


def test_after_saturation_the_entry_curve_decays_at_half_the_difference():
    rate = sympy.limit(2 * a_k * x * sympy.diff(sympy.log(single_stage_entry()), x), x, sympy.oo)
    assert sympy.simplify(rate + (a_k - a_j) / 2) == 0


def leading(signal, log_odds, column, eta=0.01):
    d = len(signal)
    low = np.full((d, d), -np.inf)
    low[1, 0] = np.log(column)
    sign = np.where(np.isfinite(low), 1.0, 0.0)
    pivots = Pivots(np.ones(d), np.array(log_odds), sign, low, np.zeros(d), np.zeros(d))
    return Leading.of(pivots, growth_rates(np.array(signal), eta, "flow"))


@pytest.mark.parametrize("signal", [(4.0, 1.0), (2.0, 1.5), (5.0, 0.0)])
def test_the_composite_of_one_stage_is_the_closed_curve(signal):
    # The second concept is so small that only stage 1 happens.
    start = leading(signal, [-20.0, -600.0], 1e-3)
    t = np.linspace(0, 40 / (2 * signal[0] * 0.01), 4001)
    W, _ = odds.assemble(*start.at(t))
    level = W[:, 0, 0]
    ratio = np.exp(2 * signal[0] * 0.01 * t - 20)
    assert np.allclose(level, ratio / (1 + ratio), rtol=1e-5)
    values = {a_k: signal[0], a_j: signal[1], minor: 1}
    curve = sympy.lambdify(x, single_stage_entry().subs(values))(ratio)
    assert np.allclose(W[:, 0, 1] / W[0, 0, 1], curve / curve[0], rtol=1e-3, atol=0)
    peak = level[W[:, 0, 1].argmax()]
    a, b = signal
    assert peak == pytest.approx(2 * (a + b) / (3 * a + b), abs=2e-3)


def test_a_minor_entry_decays_at_half_the_difference_then_at_the_sum():
    # Between the stages (a_k - a_j)/2, after both a_k + a_j, per unit of eta times steps.
    signal = (4.0, 1.0)
    start = leading(signal, [-20.0, -60.0], 1e-3)
    slopes = []
    for time in (12.0, 40.0):  # stages at 2.5 and 30
        pair = np.array([time, time + 0.01]) / 0.01
        W, _ = odds.assemble(*start.at(pair))
        slopes.append(np.diff(np.log(W[:, 0, 1]))[0] / 0.01)
    assert slopes[0] == pytest.approx(-1.5, rel=1e-3)
    assert slopes[1] == pytest.approx(-5.0, rel=1e-2)


@given(
    st.lists(st.floats(-40, 40), min_size=3, max_size=3),
    st.lists(st.floats(-3, 3), min_size=3, max_size=3),
)
def test_assembling_the_factors_is_X_over_I_plus_X(log_odds, low):
    # Higher precision: X = L diag(x) L^T and W = X (I + X)^-1 with 60 digits.
    lower = np.zeros((1, 3, 3))
    lower[0][np.tril_indices(3, -1)] = low
    W, L = odds.assemble(np.array([log_odds]), lower)
    with mpmath.workdps(60):
        exact_L = mpmath.matrix((lower[0] + np.eye(3)).tolist())
        X = exact_L * mpmath.diag([mpmath.exp(value) for value in log_odds]) * exact_L.T
        exact = X * (mpmath.eye(3) + X) ** -1
        exact = np.array([[float(exact[i, j]) for j in range(3)] for i in range(3)])
    assert np.abs(W[0] - exact).max() < 1e-11
    assert np.array_equal(L[0], lower[0] + np.eye(3))
    values = np.linalg.eigvalsh((W[0] + W[0].T) / 2)
    assert -1e-12 < values[0] <= values[-1] < 1 + 1e-12


def test_softplus_and_logistic_do_not_overflow():
    y = np.array([-1e4, -1.0, 0.0, 1.0, 1e4])
    assert np.allclose(odds.softplus(y), [0, np.log1p(np.exp(-1)), np.log(2), np.log1p(np.e), 1e4])
    assert np.allclose(odds.logistic(y), [0, 1 / (1 + np.e), 0.5, np.e / (1 + np.e), 1])


def test_the_composite_far_below_the_float_range_is_zero_and_then_rises():
    stages = law([2.0, 1.0], Scaled([[2, 1], [1, 2]], "1e-400"))
    W = stages.evaluate(np.array([0.0, stages.crossing[0], stages.crossing[1], 1e6]))
    assert not W[0].any()
    assert W[1, 0, 0] == pytest.approx(0.5, abs=1e-6)
    assert W[2, 1, 1] == pytest.approx(0.5, abs=1e-6)
    assert np.abs(W[3] - np.eye(2)).max() < 1e-12
