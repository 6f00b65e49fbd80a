"""Exact paths, networks and half-times against ODE solvers and closed forms."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from studies.relu_cells import observed_half_times
from studies.relu_descent import halves_fit, start, train
from swingby.errors import InvalidInput
from swingby.lab.relu import align, extremal_vectors, rectified_half_times
from swingby.lab.relu.geometry import arrange
from swingby.lab.relu.paths import follow


def noisy(n, d, seed, noise=0.7):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X[:, 0] + noise * rng.standard_normal(n), rng


@pytest.mark.parametrize("d", [2, 3, 5])
def test_paths_are_those_of_an_ode_solver(d):
    X, y, rng = noisy(12, d, d)
    w, a = start(10, d, rng, 1.0)
    a = a * np.linspace(1, 3, len(a))
    paths = follow(arrange(X, y), w, a)
    when = 2.0

    def field(_, state):
        inner, outer = state[: 10 * d].reshape(10, d), state[10 * d :]
        D = (inner @ X.T > 0) @ (X * y[:, None]) / len(y)
        return np.concatenate([(outer[:, None] * D).ravel(), (inner * D).sum(axis=1)])

    done = solve_ivp(field, (0, when), np.concatenate([w.ravel(), a]), rtol=1e-5, max_step=5e-3)
    end = done.y[: 10 * d, -1].reshape(10, d)
    end /= np.linalg.norm(end, axis=1)[:, None]
    assert np.allclose(end, paths.at(when), atol=5e-3)
    assert np.array_equal(follow(arrange(X, y), w * 2.0**-30, a * 2.0**-30).t[-1], paths.t[-1])


def test_alignment_in_a_linear_landscape_is_the_closed_form():
    """There tan(theta/2) falls as exp(-|D| t), up to the attractor of the neuron's sign."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 3))
    y = X @ [1.0, 2.0, -1.0]
    X, y = np.vstack([X, -X]), np.concatenate([y, -y])
    w, a = start(30, 3, rng, 1e-5)
    D = X.T @ y / len(y) / 2
    found = align(X, y, w, a, angle=0.05)
    target = np.sign(a)[:, None] * D / np.linalg.norm(D)
    theta = np.arccos((w * target).sum(axis=1) / np.linalg.norm(w, axis=1))
    expected = np.log(np.tan(theta / 2) / math.tan(0.025)) / np.linalg.norm(D)
    assert np.allclose(found.limit, target, atol=1e-12)
    assert np.allclose(found.time, np.maximum(expected, 0), rtol=1e-9)
    assert set(found.attractor) == {0, 1}


def test_training_is_the_gradient_flow():
    X, y, rng = noisy(15, 2, 3)
    w, a = start(8, 2, rng, 0.1)

    def field(_, state):
        inner, outer = state[:16].reshape(8, 2), state[16:]
        rest = np.maximum(X @ inner.T, 0) @ outer - y
        passed = rest[:, None] * (X @ inner.T > 0)
        return -np.concatenate(
            [(passed.T @ X * outer[:, None]).ravel(), rest @ np.maximum(X @ inner.T, 0)]
        ) / len(y)

    done = solve_ivp(field, (0, 10), np.concatenate([w.ravel(), a]), rtol=1e-8, max_step=2e-2)
    mine = train(X, y, w, a, step=2e-3, most=10.0)
    expected = done.y[:, -1]
    loss = np.square(np.maximum(X @ expected[:16].reshape(8, 2).T, 0) @ expected[16:] - y).mean()
    assert np.isclose(mine.loss, loss, rtol=5e-3)


def test_many_symmetric_points_end_at_least_squares_of_the_halves():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((60, 2))
    X[:, 0] = np.sign(X[:, 0]) * (1 + np.abs(X[:, 0]))
    y = X[:, 0] + 0.3 * rng.standard_normal(60)
    w, a = start(50, 2, rng)
    loss, same = halves_fit(X, y)
    on = X[:, 0] > 0
    plain = sum(np.linalg.lstsq(X[part], y[part], rcond=None)[1][0] for part in (on, ~on)) / 60
    assert same
    assert np.isclose(loss, plain, rtol=1e-12)
    done = train(X, y, w, a)
    assert done.settled
    assert np.isclose(done.loss, loss, rtol=1e-4)


def test_unknown_variants_are_refused():
    X, y, rng = noisy(5, 2, 0)
    with pytest.raises(InvalidInput, match="variant must be among relu, gelu, adam, bias"):
        train(X, y, *start(3, 2, rng), variant="tanh")


@pytest.mark.parametrize("scale", [1e-2, 1e-4])
def test_aligned_neurons_learn_when_the_law_says(scale):
    rng = np.random.default_rng(6)
    signal = np.array([4.0, 2.0, 0.7])
    first = -scale * np.abs(rng.standard_normal((12, 3)))
    second = scale * rng.standard_normal((3, 12))
    for j in range(12):
        first[j, j % 3], second[j % 3, j] = np.abs([first[j, j % 3], second[j % 3, j]])
    said = rectified_half_times(first, second, signal)
    seen = observed_half_times(first, second, signal, 2 * said.max())
    assert np.allclose(said, seen, rtol=3e-3 if scale > 1e-3 else 1e-4)


def test_shared_neurons_learn_later_than_linear_layers_say():
    """One neuron is shared by concepts 0 and 1: its part of the second mode is lost."""
    first = np.array([[1e-4, -1e-4], [1e-4, 2e-4], [-1e-4, 3e-4]])
    second = np.array([[1e-4, 1e-4, 0], [0, 2e-4, 3e-4]])
    times = rectified_half_times(first, second, [4.0, 1.0])
    pivot = 9e-8
    assert np.allclose(times, [math.log(1 / 2e-8 - 1) / 8, math.log(1 / pivot - 1) / 2], rtol=1e-9)


def test_a_concept_without_neurons_is_never_learned():
    times = rectified_half_times([[0.01, -0.01]], [[0.01], [0.01]], [2.0, 1.0])
    assert np.isfinite(times[0])
    assert times[1] == math.inf


def test_neurons_stop_when_an_ode_solver_says_so():
    """Their gradient is 0 but for rounding, which moved them for 10^14 units of time."""
    stops = 0
    for seed in (3, 34, 70):
        rng = np.random.default_rng(seed)
        d, n = int(rng.integers(2, 5)), int(rng.integers(5, 40))
        X = rng.standard_normal((n, d))
        y = X[:, 0] + 0.7 * rng.standard_normal(n)
        w, a = start(30, d, rng, 1.0)
        found = align(X, y, w, a)
        dead = np.isfinite(found.stopped)
        assert np.array_equal(np.isnan(found.time), dead)
        assert not found.limit[dead].any()
        assert (found.attractor[dead] == -1).all()
        assert found.time[~dead].max() < 200
        for j in np.flatnonzero(dead & (found.stopped > 0))[:2]:
            stops += 1

            def field(_, state, X=X, y=y, d=d):
                D = (X @ state[:d] > 0) @ (X * y[:, None]) / len(y)
                return np.append(state[d] * D, state[:d] @ D)

            when = [found.stopped[j] - 0.03, found.stopped[j] + 0.03]
            done = solve_ivp(field, (0, when[1]), [*w[j], a[j]], t_eval=when, max_step=1e-2)
            before, after = (np.abs(field(0, state)[:d]).max() for state in done.y.T)
            assert before > 0
            assert after == 0
    assert stops >= 3


def test_against_the_gradient_a_balanced_neuron_never_turns():
    X, y = [[1, 0], [-1, 0], [0, 1], [0, -1]], [2, -2, 0, 0]
    w = 1e-6 * np.array([[-1.0, 0.0], [1.0, 0.0], [-1.0, 1e-9]])
    found = align(X, y, w, [1e-6] * 3)
    assert np.isnan(found.time[0])
    assert found.attractor[0] == -1
    assert not found.limit[0].any()
    assert found.time[1] == 0
    expected = -2 * math.log(math.tan(1e-9 / 2) * math.tan(0.05))
    assert np.isclose(found.time[2], expected, rtol=1e-9)
    assert "1 lie against their gradient" in found.to_text()
    # With more of a, w = 2 sinh(t/2) - cosh(t/2) passes through 0 at tanh(t/2) = 1/2.
    assert np.isclose(align(X, y, w[:1], [2e-6]).time[0], math.log(3), rtol=1e-12)


def test_a_drift_along_a_line_never_meets_it():
    """Points at right angles: rounding alone says that a line is met."""
    X, y = [[0.6, 0.8], [-0.8, 0.6]], [1.0, 1.0]
    w = np.array([[3.0, 3.9], [-3.0, 4.1], [2.9, 4.0]])
    found = align(X, y, w, np.linalg.norm(w, axis=1))
    assert found.attractor[0] != found.attractor[1]
    exact = align([[3, 4], [-4, 3]], y, [[3.0, 4.0], [-3.0, -4.0]], [5.0, 5.0])
    assert exact.limit.tolist() == [[0.6, 0.8], [0, 0]]
    assert exact.stopped[1] == 0


def polygon(k):
    angle = 2 * np.pi * np.arange(k) / k
    return np.column_stack([np.cos(angle), np.sin(angle)]), np.resize([1.0, -1.0], k)


def test_rounded_data_align_as_the_integers_they_stand_for():
    """Sums such as .1 + .2 - .3 are 0, and the exact arithmetic of integers says which."""
    integers, y = np.array([[1, 2], [2, 1], [3, 3]]), [1, 1, -1]
    w, a = start(200, 2, np.random.default_rng(1), 1.0)
    expected, found = align(integers, y, w, a), align(integers / 10, y, w, a)
    assert np.isfinite(expected.stopped).sum() > 100
    assert np.allclose(found.stopped, 10 * expected.stopped, rtol=1e-9, equal_nan=True)
    assert np.allclose(found.time, 10 * expected.time, rtol=1e-9, equal_nan=True)
    assert np.array_equal(found.attractor, expected.attractor)
    kinds = [one.kind for one in extremal_vectors(integers / 10, y).points]
    assert kinds == ["max", "max", "flat"]


@pytest.mark.parametrize("k", [6, 10, 38])
def test_on_polygons_of_odd_pairs_nothing_moves(k):
    """There opposite points have opposite y: G_n is linear, its slope a sum of roots of 1."""
    X, y = polygon(k)
    w, a = start(40, 2, np.random.default_rng(0), 1.0)
    found = align(X, y, w, a)
    assert (found.stopped == 0).all()
    assert np.isnan(found.time).all()
    assert "40 stop, nothing moves: their gradient is zero to the rounding" in found.to_text()
    assert [one.kind for one in extremal_vectors(X, y).points] == ["flat"]


@pytest.mark.parametrize("k", [4, 12, 20])
def test_on_polygons_of_even_pairs_neurons_turn_to_corners_and_between(k):
    """There G_n is a zigzag of k periods: its maxima and minima are k, at equal distances."""
    X, y = polygon(k)
    w, a = start(60, 2, np.random.default_rng(0), 1.0)
    found = align(X, y, w, a)
    assert found.ended.all()
    assert np.nanmax(found.time) < 1e3
    points = extremal_vectors(X, y).points
    angles = np.sort([math.atan2(*one.direction) % (2 * np.pi) for one in points])
    assert [one.kind for one in points] == ["max"] * (k // 2) + ["min"] * (k // 2)
    assert np.allclose(np.diff(angles), 2 * np.pi / k, rtol=1e-9)


@pytest.mark.parametrize(("gap", "doubted"), [(1e-6, False), (1e-12, True), (0.0, False)])
def test_a_gradient_that_may_be_rounding_moves_nothing(gap, doubted):
    X, y = [[1, 0], [0, 1], [1, 1]], [1, 1, -1 - gap]
    found = align(X, y, [[1.0, 1.1]], [-1.5])
    assert found.doubtful.tolist() == [doubted]
    assert ("1 were not followed to their end: their gradient" in found.to_text()) == doubted
    assert np.isfinite(found.stopped[0]) == (gap == 0)
    assert np.isfinite(found.time[0]) == (gap == 1e-6)


def test_small_points_alone_are_no_rounding():
    """A gradient is measured by the points that act on its cone, not by all."""
    w = [[-1.0, 0.1], [1.0, 0.1]]
    found = align([[1, 0], [-1, 1]], [1, 1e-20], w, [1.1, 1.1])
    assert np.allclose(found.limit[0], [-math.sqrt(0.5), math.sqrt(0.5)], atol=1e-12)


def test_without_values_nothing_moves():
    found = align([[1, 2], [2, 1]], [0, 0], [[1.0, 0.0]], [1.0])
    assert found.stopped.tolist() == [0]
    assert "1 stop, nothing moves" in found.to_text()
