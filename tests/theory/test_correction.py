"""The parts of the correction: quadrature, interpolation and crossings, by closed forms."""

import math

import numpy as np
import pytest

from swingby.theory.correction import Correction, _panels, _upward_zero, quadrature_rule


@pytest.mark.parametrize("n", [2, 3, 5, 8, 12])
def test_the_quadrature_is_exact_for_polynomials(n):
    # Gauss-Legendre: up to degree 2n - 1 over [-1, 1], and up to n - 1 from -1 to each node.
    nodes, weights, cumulative = quadrature_rule(n)
    assert ((nodes > -1) & (nodes < 1)).all()
    for degree in range(2 * n):
        whole = (1 - (-1) ** (degree + 1)) / (degree + 1)
        assert weights @ nodes**degree == pytest.approx(whole, abs=1e-14)
        if degree < n:
            partial = (nodes ** (degree + 1) - (-1) ** (degree + 1)) / (degree + 1)
            assert cumulative @ nodes**degree == pytest.approx(partial, abs=1e-13)


def test_the_partial_integrals_of_a_smooth_function():
    nodes, _, cumulative = quadrature_rule(12)
    assert cumulative @ np.exp(nodes) == pytest.approx(np.exp(nodes) - math.exp(-1), abs=1e-11)


UNEVEN = np.array([3.0, 4.0, 6.0, 9.0, 11.0, 16.0, 17.0, 25.0])


@pytest.mark.parametrize("zero", [-7.0, 2.5, 3.0, 3.5, 4.0, 8.25, 16.5, 24.0, 25.0])
def test_the_zero_of_a_straight_line(zero):
    # Also from beyond the first point, by extrapolation.
    assert _upward_zero(UNEVEN, 0.3 * (UNEVEN - zero)) == pytest.approx(zero, abs=1e-12)


@pytest.mark.parametrize("place", range(2, 7))
def test_the_zero_where_time_is_a_cubic_in_the_values(place):
    # Inverse cubic interpolation reproduces every cubic: t = 10 + 2 y + y^2/8 + y^3/16 at y = 0.
    y = np.arange(8.0) - place + 0.4
    t = 10 + 2 * y + y**2 / 8 + y**3 / 16
    assert (np.diff(t) > 0).all()
    assert _upward_zero(t, y) == pytest.approx(10, abs=1e-11)


def test_a_crossing_next_to_an_end_is_that_of_the_chord():
    y = np.array([-1.0, 3.0, 4.0, 9.0])
    t = np.array([1.0, 2.0, 3.0, 7.0])
    assert _upward_zero(t, y) == 1.25
    assert _upward_zero(t, np.array([-9.0, -4.0, -3.0, 1.0])) == 6.0
    # Values that do not rise all along: the chord too.
    assert _upward_zero(t, np.array([-3.0, -1.0, 3.0, 2.0])) == 2.25
    assert _upward_zero(t, np.array([-1.0, -1.0, 3.0, 4.0])) == 2.25


def test_a_cubic_that_leaves_its_interval_is_not_taken():
    # Through (-1e-3, 1), (0.1, 2) and far points the inverse cubic is at 0 far off [1, 2].
    t, y = np.array([0.0, 1.0, 2.0, 3.0]), np.array([-50.0, -1.0, 1.0, 1.001])
    assert 1 <= _upward_zero(t, y) <= 2
    assert _upward_zero(t, y) == 1.5


def test_the_first_crossing_counts_and_none_is_nan():
    t = np.arange(7.0)
    assert _upward_zero(t, np.array([-1.0, 1.0, -1.0, -1.0, 1.0, 2.0, 3.0])) == 0.5
    assert math.isnan(_upward_zero(t, -1 - t))
    # Exactly 0 is a crossing; a start above 0 without a slope stays where it is.
    assert _upward_zero(t, np.array([-2.0, -1.0, 0.0, 5.0, 6.0, 7.0, 8.0])) == 2
    assert _upward_zero(t + 5, np.full(7, 0.2)) == 5


def test_panels_end_at_the_stages_and_after_them():
    # By hand: 12/slowest before the first stage, 6/rate after each but at most half-way to the
    # next one, 1.5/rate after the last.
    times, rate = np.array([400.0, 100.0, 500.0]), np.array([0.05, 0.1, 0.02])
    assert _panels(times, rate, 0.2).tolist() == [40, 100, 160, 400, 450, 500, 575]
    assert _panels(times, rate, 0.02)[0] == 0
    assert _panels(times, rate, 0.0)[0] == 0
    assert _panels(np.array([100.0]), np.array([0.1]), 0.3).tolist() == [60, 100, 115]


def test_between_nodes_the_correction_is_linear():
    # np.interp, entry by entry; 0 before the first node, constant after the last.
    rng = np.random.default_rng(2)
    nodes = np.cumsum(rng.uniform(0.5, 3, 6))
    shift, turn = rng.normal(size=(6, 2)), rng.normal(size=(6, 2, 2))
    nothing = np.zeros(2)
    correction = Correction(nodes, shift, turn, nothing, nothing, nothing, nothing)
    t = np.concatenate([[0.0], nodes, rng.uniform(0, 20, 40), [nodes[-1] + 5]])
    found_shift, found_turn = correction.at(t)
    for i in range(2):
        assert found_shift[:, i] == pytest.approx(np.interp(t, nodes, shift[:, i], left=0))
        for j in range(2):
            expected = np.interp(t, nodes, turn[:, i, j], left=0)
            assert found_turn[:, i, j] == pytest.approx(expected)
