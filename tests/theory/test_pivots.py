"""Pivots of W(0): against LDL^T in exact rationals, at any scale."""

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from swingby.theory.initial import Initial, Scaled, initial_matrix
from swingby.theory.law.pivots import Starts
from swingby.theory.law.stages import stage_law
from swingby.theory.task import SIMTask

SIGNAL = np.array([4.0, 2.5, 1.2, 0.5, 0.3])


def start_of(matrix, name="gd", *, scale=1, signal=SIGNAL, eta=0.01):
    matrix = np.array(matrix, dtype=float)
    initial = Initial(matrix, Fraction(scale))
    return alone(np.array(signal[: len(matrix)]), initial, eta, name)


def alone(*arguments):
    """One instance, without the axis of instances."""
    return Starts(*(values[0] for values in Starts.of(*arguments)))


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


@example([[-6, 3, -5], [-6, 3, -6], [-5, 2, 1]])  # the second pivot is 1/70 of its terms
@given(squares)
def test_pivots_and_factors_are_those_of_LDL_in_exact_rationals(factor):
    matrix = gram(factor)
    exact = exact_ldl(matrix)
    assume(exact is not None)
    L, pivots = exact
    found = start_of(matrix)
    assert (found.sign == 1).all()
    assert found.order.tolist() == list(range(len(matrix)))
    # A cancelled pivot keeps the digits that floats have left of it, and passes the loss on.
    digits = 1e-13 * found.roundings.max()
    assert np.allclose(found.log_pivots, [math.log(x) for x in pivots], rtol=0, atol=digits)
    # V is L with rows and columns scaled by the square roots of the pivots.
    root = np.sqrt([float(x) for x in pivots])
    expected = np.array([[float(x) for x in row] for row in L]) * root / root[:, None]
    assert np.allclose(found.factors, expected, rtol=0, atol=digits * (1 + np.abs(expected).max()))
    # At another scale, and from U(0).
    far = start_of(matrix, scale=Fraction(1, 10**400))
    assert np.array_equal(far.factors, found.factors)
    root_scale = Scaled(factor, Fraction(1, 10**200))
    own = alone(SIGNAL[: len(factor)], Initial.of_factor(root_scale, len(factor)), 0.01, "gd")
    assert np.allclose(own.factors, found.factors, rtol=0, atol=digits)
    for other in (far, own):
        shift = 400 * math.log(10)
        assert np.allclose(other.log_pivots + shift, found.log_pivots, rtol=0, atol=1e-11)
        assert np.allclose(other.log_sizes + shift, found.log_sizes, rtol=0, atol=1e-11)
        assert (other.sign == 1).all()


@pytest.mark.parametrize("seed", range(10))
def test_pivots_and_factors_of_nearly_dependent_rows_are_off_by_their_roundings(seed):
    rng, d = np.random.default_rng(seed), 5
    U = rng.standard_normal((d, d))
    for k in (1, 3):
        U[k] = rng.standard_normal(k) @ U[:k] + 10.0 ** -rng.integers(3, 8) * U[k]
    U *= 10.0 ** rng.integers(-3, 4, (d, 1))
    found = alone(SIGNAL, Initial.of_factor(U, d), 0.01, "gd")
    L, pivots = exact_ldl(gram([[Fraction(x) for x in row] for row in U.tolist()]))
    off = found.log_pivots - [math.log(x) for x in pivots]
    assert (np.abs(off) <= 1e-14 + 8 * 2.0**-53 * found.roundings).all()
    root = np.sqrt([float(x) for x in pivots])
    expected = np.array([[float(x) for x in row] for row in L]) * root / root[:, None]
    digits = 100 * 2.0**-53 * found.roundings[:, None]
    assert (np.abs(found.factors - expected) <= digits * np.maximum(1, np.abs(expected))).all()


@pytest.mark.parametrize("column", [[1, 1, 1], [1, 2, -3], [0.3, 0.1, 0.7]])
@pytest.mark.parametrize("scale", ["1", "1e-40", "1e-4000"])
def test_a_rank_one_matrix_has_one_pivot_and_no_more(column, scale):
    found = start_of(np.outer(column, column), scale=scale)
    assert found.sign.tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("matrix", "order", "sign", "second"),
    [
        ([[1, 2], [2, 1]], [0, 1], [1, -1], 3),  # 1 - 2^2/1 = -3
        ([[4, 2, 2], [2, 2, 1], [2, 1, 1]], [0, 1, 2], [1, 1, 0], 1),  # of rank two
        ([[2, 0, 1], [0, 0, 0], [1, 0, 2]], [0, 2, 1], [1, 1, 0], 1.5),  # a zero row comes last
    ],
)
def test_signs_and_order_of_pivots(matrix, order, sign, second):
    found = start_of(matrix)
    assert (found.order.tolist(), found.sign.tolist()) == (order, sign)
    assert math.exp(found.log_pivots[1]) == pytest.approx(second, rel=1e-14)


def test_roundings_measure_what_a_pivot_lost_and_it_keeps_its_exact_value():
    gap = 1e-6
    found = start_of([[1, 1], [1, 1 + gap]])
    assert found.roundings[1] == pytest.approx(1 / gap, rel=1e-5)
    assert math.exp(found.log_pivots[1]) == pytest.approx(float(Fraction(1 + gap) - 1), rel=1e-14)


@cache
def law_of_four(places, name, seed):
    """The law of four concepts from a Gaussian start, in an order of the user's."""
    factor = np.random.default_rng(seed).standard_normal((4, 5))
    matrix, signal = factor @ factor.T, np.array([4.0, 2.5, 1.2, 0.5])
    task = SIMTask.from_signal(signal[list(places)])
    start = initial_matrix(Scaled(matrix[np.ix_(places, places)], "1e-9"), 4)
    return stage_law(task, start, Fraction(1, 100), name)


@settings(max_examples=max(3, settings.default.max_examples * 3 // 20))
@given(st.permutations(range(4)), st.sampled_from(["euler", "gd", "flow"]), st.integers(0, 20))
def test_the_order_of_the_users_concepts_does_not_matter(order, name, seed):
    plain, moved = (law_of_four(tuple(one), name, seed) for one in (range(4), order))
    assert np.array_equal(moved.log_pivots, plain.log_pivots[list(order)], equal_nan=True)
    assert np.array_equal(moved.trapped, plain.trapped[list(order)])
    assert np.allclose(moved.crossing, plain.crossing[list(order)], rtol=1e-12, equal_nan=True)
    if np.isinf(plain.blow_up):
        t, places = np.linspace(0, 1500, 16), list(order)
        here = plain.evaluate(t)[:, places][:, :, places]
        assert np.abs(moved.evaluate(t) - here).max() < 1e-10
