"""Pivots of W(0): against LDL^T in exact rationals, at any scale."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from swingby.theory.growth import growth_rates
from swingby.theory.initial import Scaled, initial_matrix
from swingby.theory.law.pivots import MOST_ROUNDING, stage_pivots
from swingby.theory.law.stages import stage_law
from swingby.theory.task import SIMTask

SIGNAL = np.array([4.0, 2.5, 1.2, 0.5, 0.3])


def pivots_of(matrix, name="gd", *, log_scale=0.0, signal=SIGNAL, eta=0.01):
    matrix = np.array(matrix, dtype=float)
    a = np.array(signal[: len(matrix)])
    with np.errstate(divide="ignore"):
        log = np.log(np.abs(matrix))
    growth = growth_rates(a, eta, name)
    return stage_pivots(np.sign(matrix), log, a, eta, growth, name, log_scale)


def exact_ldl(matrix):
    """L and the pivots of LDL^T over the rationals; an independent second implementation."""
    d = len(matrix)
    L = [[Fraction(int(i == j)) for j in range(d)] for i in range(d)]
    pivots = []
    for k in range(d):
        taken = sum((L[k][m] ** 2 * pivots[m] for m in range(k)), Fraction(0))
        pivots.append(Fraction(matrix[k][k]) - taken)
        if not pivots[k]:
            return None
        for i in range(k + 1, d):
            mixed = sum((L[i][m] * L[k][m] * pivots[m] for m in range(k)), Fraction(0))
            L[i][k] = (Fraction(matrix[i][k]) - mixed) / pivots[k]
    return L, pivots


squares = st.integers(1, 4).flatmap(
    lambda d: st.lists(st.lists(st.integers(-6, 6), min_size=d, max_size=d), min_size=d, max_size=d)
)


def gram(factor):
    return [[sum(x * y for x, y in zip(p, q, strict=True)) for q in factor] for p in factor]


@pytest.mark.parametrize("name", ["gd", "flow"])
@example([[-6, 3, -5], [-6, 3, -6], [-5, 2, 1]])  # the second pivot is 1/70 of its terms
@given(squares)
def test_pivots_are_those_of_LDL_in_exact_rationals(name, factor):
    matrix = gram(factor)
    exact = exact_ldl(matrix)
    assume(exact is not None)
    L, pivots = exact
    found = pivots_of(matrix, name)
    assert (found.sign == 1).all()
    # A cancelled pivot keeps the digits that floats have left of it, and passes the loss on.
    digits = 1e-13 * np.exp(found.rounding.max())
    assert np.allclose(found.log, [np.log(float(pivot)) for pivot in pivots], rtol=0, atol=digits)
    lower = found.column_sign * np.exp(found.column_log)
    expected = np.tril(np.array([[float(entry) for entry in row] for row in L]), -1)
    assert np.allclose(lower, expected, rtol=0, atol=digits * (1 + np.abs(expected).max()))


@given(squares, st.sampled_from(["gd", "flow"]))
def test_scaling_W0_shifts_the_logarithms_of_all_pivots_alike(factor, name):
    matrix = gram(factor)
    assume(exact_ldl(matrix) is not None)
    near = pivots_of(matrix, name, log_scale=-4 * np.log(10))
    far = pivots_of(matrix, name, log_scale=-400 * np.log(10))
    assert np.array_equal(near.sign, far.sign)
    # The logarithms are near 1000, so their last place is 1e-13.
    digits = 1e-12 * np.exp(near.rounding.max())
    assert np.allclose(near.log - far.log, 396 * np.log(10), rtol=0, atol=digits)
    assert np.array_equal(near.column_sign, far.column_sign)
    found = near.column_sign != 0
    assert np.allclose(near.column_log[found], far.column_log[found], rtol=0, atol=digits)


@pytest.mark.parametrize("name", ["gd", "flow"])
@pytest.mark.parametrize("column", [[1, 1, 1], [1, 2, -3], [0.3, 0.1, 0.7]])
def test_a_rank_one_matrix_has_one_pivot_and_no_more(name, column):
    found = pivots_of(np.outer(column, column), name)
    assert found.sign.tolist() == [1, 0, 0]


@pytest.mark.parametrize("name", ["gd", "flow"])
@pytest.mark.parametrize("log10_omega", [-4, -40, -400, -4000])
def test_rank_deficiency_is_seen_at_every_scale(name, log10_omega):
    # The second and third column add nothing: rank 1 whatever the scale.
    matrix = np.outer([1, 2, -3], [1, 2, -3])
    found = pivots_of(matrix, name, log_scale=log10_omega * np.log(10))
    assert found.sign.tolist() == [1, 0, 0]


def test_rank_two_of_three_keeps_two_pivots():
    factor = np.array([[1.0, 0.5], [0.25, -1.0], [0.75, 2.0]])
    assert pivots_of(factor @ factor.T).sign.tolist() == [1, 1, 0]


def test_a_negative_schur_complement_is_a_negative_pivot():
    found = pivots_of([[1, 2], [2, 1]])
    assert found.sign.tolist() == [1, -1]
    assert found.log[1] == pytest.approx(np.log(3), rel=1e-14)  # 1 - 2^2/1 = -3


def test_a_zero_row_has_a_zero_pivot_and_changes_nothing_else():
    found = pivots_of([[2, 0, 1], [0, 0, 0], [1, 0, 2]])
    assert found.sign.tolist() == [1, 0, 1]
    assert found.log[1] == -np.inf
    assert np.exp(found.log[2]) == pytest.approx(1.5, rel=1e-14)


def test_cancellation_measures_what_a_pivot_lost():
    gap = 1e-6
    found = pivots_of([[1, 1], [1, 1 + gap]])
    assert found.sign.tolist() == [1, 1]
    assert np.exp(found.log[1]) == pytest.approx(gap, rel=1e-8)
    assert found.cancellation[1] == pytest.approx(-np.log(gap), abs=1e-5)
    assert 30 < MOST_ROUNDING < 36  # 2^-52 is exp(-36)


def test_a_direction_without_signal_is_eliminated_last_and_without_growth():
    found = pivots_of([[2, 1], [1, 2]], signal=np.array([1.0, 0.0]))
    assert found.sign.tolist() == [1, 1]
    assert np.exp(found.log[1]) == pytest.approx(1.5, rel=1e-13)


@pytest.mark.parametrize("eta", [0.02, 0.1])
def test_euler_pivots_fall_below_those_of_LDL_and_turn_negative_for_strong_correlation(eta):
    # The squared correlation grows by exp(eta^2 (a_k - a_j)^2) per step until stage 1.
    signal = np.array([1.0, 0.5])
    log_scale = -40 * np.log(10)
    weak, strong = [[1, 0.1], [0.1, 1]], [[1, 0.99], [0.99, 1]]
    plain = pivots_of(weak, "gd", log_scale=log_scale, signal=signal, eta=eta)
    euler = pivots_of(weak, "euler", log_scale=log_scale, signal=signal, eta=eta)
    assert euler.sign.tolist() == [1, 1]
    assert euler.log[1] < plain.log[1]
    assert pivots_of(strong, "euler", log_scale=log_scale, signal=signal, eta=eta).sign[1] == -1
    assert pivots_of(strong, "gd", log_scale=log_scale, signal=signal, eta=eta).sign[1] == 1


def test_the_first_order_of_the_euler_drift_is_the_growth_of_the_correlation_up_to_stage_one():
    signal, eta, log_scale = np.array([1.0, 0.5]), 0.05, -300 * np.log(10)
    growth = growth_rates(signal, eta, "euler")
    found = pivots_of([[1, 0.1], [0.1, 1]], "euler", log_scale=log_scale, signal=signal, eta=eta)
    per_step = 2 * growth[0, 1] - growth[0, 0] - growth[1, 1]
    taken = 1 - np.exp(found.log[1] - log_scale)  # of w_22, by the correlation 0.01
    steps = np.log(taken / 0.01) / per_step
    # It ends within some steps of stage 1, which is thousands of steps long.
    assert abs(steps - -log_scale / growth[0, 0]) < 1 / eta


@given(st.permutations(range(4)), st.sampled_from(["euler", "gd", "flow"]), st.integers(0, 20))
def test_the_order_of_the_users_concepts_does_not_matter(order, name, seed):
    factor = np.random.default_rng(seed).standard_normal((4, 5))
    matrix, signal = factor @ factor.T, np.array([4.0, 2.5, 1.2, 0.5])

    def law(places):
        task = SIMTask.from_signal(signal[places])
        start = initial_matrix(Scaled(matrix[np.ix_(places, places)], "1e-9"), 4)
        return stage_law(task, start, Fraction(1, 100), name)

    plain, moved = law(list(range(4))), law(list(order))
    assert np.array_equal(moved.log_pivots, plain.log_pivots[list(order)], equal_nan=True)
    assert np.array_equal(moved.trapped, plain.trapped[list(order)])
    assert np.allclose(moved.crossing, plain.crossing[list(order)], rtol=1e-12, equal_nan=True)
