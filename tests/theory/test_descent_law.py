"""Gradient descent of linear layers on data: its modified flow, its field, and what never comes."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from swingby.theory.law import descent_path
from swingby.theory.law.descent_flow import Descent, DescentFlow, modified_coefficients
from swingby.theory.law.descent_law import mode_times, products_at, reduced
from swingby.theory.law.descent_path import COARSE, FINE
from swingby.theory.law.layer_flow import packed
from swingby.theory.law.rounding import parts_beside, rounding_bars
from swingby.theory.linear_modes import data_modes, task_modes
from tests.verify.plain_networks import components, draw, largest_rate, levels


def network(seed=0, **options):
    X, Y, layers = draw(np.random.default_rng(seed), **options)
    return X, Y, layers, data_modes(X, Y)


def loss(X, Y, layers, decay):
    outputs = X
    for layer in layers:
        outputs = outputs @ layer.T
    size = sum((layer**2).sum() for layer in layers)
    return ((outputs - Y) ** 2).sum() / (2 * len(X)) + decay * size / 2


@pytest.mark.parametrize("widths", [(4, 3), (4, 5, 3), (3, 4, 2, 5)])
def test_the_field_is_the_negative_gradient_and_its_jacobian_the_hessian(widths):
    X, Y, layers, modes = network(widths=widths, scale=0.5, n=20)
    flow, y = DescentFlow(layers, modes.K, modes.S, Descent(1.0, decay=0.3)), packed(layers)
    steps = 1e-4 * np.eye(flow.size)
    slope = [
        (loss(X, Y, flow.layers(y - s), 0.3) - loss(X, Y, flow.layers(y + s), 0.3)) / 2e-4
        for s in steps
    ]
    np.testing.assert_allclose(flow.field_and_product(y)[0], slope, atol=1e-6)
    second = [
        (flow.field_and_product(y + s)[0] - flow.field_and_product(y - s)[0]) / 2e-4 for s in steps
    ]
    np.testing.assert_allclose(flow.jacobian(0.0, y), second, atol=1e-5)
    assert np.linalg.norm(flow.jacobian(0.0, y), 2) <= flow.rate(y)


@pytest.mark.parametrize(("momentum", "nesterov"), [(0.0, False), (0.6, False), (0.6, True)])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_modified_flow_is_the_map_to_its_order(momentum, nesterov, order):
    """From a smooth start, after a fixed time: the distance falls as lr^order."""
    _, _, layers, modes = network(widths=(3, 4, 2), scale=0.5, condition=1)
    y = packed(layers)

    def distance(lr):
        rule = Descent(lr, momentum=momentum, nesterov=nesterov)
        flow = DescentFlow(layers, modes.K, modes.S, rule, order)
        exact = DescentFlow(layers, modes.K, modes.S, rule, 3)
        steps = round(0.2 / rule.pace)
        # Off the smooth path by O(lr^4) only.
        weights, v = y, exact.velocity(y)
        for _ in range(steps):
            weights, v, _ = exact.step(weights, v)
        end = solve_ivp(flow, (0, steps), y, method="DOP853", rtol=1e-13, atol=1e-15).y[:, -1]
        return np.linalg.norm(end - weights)

    slope = math.log2(distance(2e-3) / distance(1e-3))
    assert slope == pytest.approx(order, abs=0.2)


def test_without_momentum_the_coefficients_are_those_of_euler():
    assert modified_coefficients(0.0, False) == pytest.approx((-1 / 2, 1 / 3, 1 / 12))


@pytest.mark.parametrize("nesterov", [False, True])
def test_the_growth_of_a_small_weight_is_the_root_of_the_recursion(nesterov):
    """One weight, one layer: y' = c y with z^2 - (1 + m + lr a (1 + nu)) z + m + lr a nu = 0."""
    m, lr, a = 0.8, 1e-4, 1.0
    nu = m * nesterov
    growth = np.roots([1, -(1 + m + lr * a * (1 + nu)), m + lr * a * nu]).max()
    one = np.ones((1, 1))
    # f(y) = a y: a layer with S = -a and no target.
    flow = DescentFlow([one], 0 * one, -a * one, Descent(lr, momentum=m, nesterov=nesterov))
    assert float(flow(0.0, np.ones(1))[0]) == pytest.approx(math.log(growth), rel=1e-6)


def test_levels_are_those_of_the_outputs():
    X, Y, layers, modes = network(seed=3, scale=1.0)
    W = layers[1] @ layers[0]
    phi, u, sigma = components(X, Y)
    np.testing.assert_allclose(modes.sigma, sigma, rtol=1e-10)
    signs = np.sign((u * modes.outputs).sum(axis=1))
    observed = levels(X, layers, (phi, u, sigma))
    np.testing.assert_allclose(modes.levels(W), observed, rtol=1e-8)
    np.testing.assert_allclose(modes.outputs, signs[:, None] * u, atol=1e-8)
    assert modes.explained.sum() == pytest.approx(1)


def test_fewer_samples_than_inputs():
    X, Y, _, modes = network(seed=1, widths=(12, 4, 3), n=6)
    fit = Y.T @ np.linalg.pinv(X).T
    np.testing.assert_allclose(modes.levels(fit), 1, rtol=1e-8)
    W = modes.outputs.T @ np.diag([1.0, 0, 0]) @ modes.outputs @ fit
    np.testing.assert_allclose(modes.levels(W), [1, 0, 0], atol=1e-8)


def test_of_a_task_levels_are_the_entries():
    modes = task_modes(np.array([4.0, 0.0, 1.0]))
    W = np.arange(9.0).reshape(3, 3)
    np.testing.assert_allclose(modes.levels(W), [0.0, 8.0])
    np.testing.assert_allclose(modes.explained, [0.8, 0.2])


def test_wide_layers_are_reduced_exactly():
    _, _, layers, modes = network(seed=2, widths=(4, 30, 3), scale=0.1)
    small = reduced(layers).layers
    assert small[0].shape == (7, 4)
    rule = Descent(0.05, momentum=0.5, decay=0.1)
    ends = []
    for start in (layers, small):
        flow = DescentFlow(start, modes.K, modes.S, rule)
        y, v = packed(start), np.zeros(flow.size)
        for _ in range(100):
            y, v, _ = flow.step(y, v)
        ends.append(flow.product(y))
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"widths": (5, 5, 5, 3), "scale": 0.03}])
@pytest.mark.parametrize("rule", [{}, {"momentum": 0.9}, {"decay": 0.05}])
def test_evaluated_weights_are_those_of_the_map(options, rule):
    X, Y, layers, modes = network(seed=4, **options)
    descent = Descent(0.004 / largest_rate(X, Y), **rule)
    flow = DescentFlow(layers, modes.K, modes.S, descent)
    y, v, seen = packed(layers), np.zeros(flow.size), []
    looks = [0, 7, 150, 700, 2400]
    for step in range(looks[-1] + 1):
        if step in looks:
            seen.append(flow.product(y))
        y, v, _ = flow.step(y, v)
    W = products_at(layers, modes, descent, np.array(looks, dtype=float), 1e6)
    for exact, told in zip(seen, W, strict=True):
        np.testing.assert_allclose(told, exact, atol=3e-6 * np.abs(exact).max())


@pytest.mark.parametrize(
    ("widths", "smaller"), [((5, 5, 5, 3), 1e-4), ((4, 24, 24, 3), 1e-4), ((4, 6, 6, 6, 3), 1e-3)]
)
def test_a_wait_of_deep_layers_costs_no_more_from_smaller_weights(widths, smaller):
    """The wait grows as 1/scale or faster; steps of the map would, too."""
    costs, waits = [], []
    for scale in (1e-2, smaller):
        X, Y, layers, modes = network(seed=0, widths=widths, scale=scale)
        rule = Descent(0.01 / largest_rate(X, Y))
        times = mode_times(layers, modes, rule, gradients=60_000)
        assert times.reason == ""
        costs.append(times.evaluations)
        waits.append(times.first.max())
    assert waits[1] > 80 * waits[0]
    assert costs[1] < 4 * costs[0]


@pytest.mark.parametrize("momentum", [0.0, 0.8])
def test_long_steps_are_as_right_as_short_ones(momentum, monkeypatch):
    X, Y, layers, modes = network(seed=1, widths=(4, 24, 24, 3), scale=0.01)
    rule = Descent(0.01 / largest_rate(X, Y), momentum=momentum)
    long = mode_times(layers, modes, rule)
    monkeypatch.setattr(descent_path, "_FASTEST", 0.0)
    short = mode_times(layers, modes, rule)
    assert 1.5 * long.evaluations < short.evaluations
    np.testing.assert_allclose(long.first, short.first, atol=2e-2)


def test_decay_forbids_a_mode_where_it_is_above_its_rate():
    """On white inputs a mode settles at 1 - decay/sigma, of two layers: the nuclear norm."""
    n, p = 40, 3
    X = np.sqrt(n) * np.linalg.qr(np.random.default_rng(0).standard_normal((n, p)))[0]
    Y = X @ np.diag([3.0, 2.0, 1.0])
    modes = data_modes(X, Y)
    layers = [1e-2 * np.random.default_rng(1).standard_normal((3, 3)) for _ in range(2)]
    for decay, expected in ((0.4, []), (0.6, [0.4]), (0.9, [0.1]), (1.2, [0.4, 0.0])):
        times = mode_times(layers, modes, Descent(0.01, decay=decay))
        never = np.isinf(times.first)
        assert never.sum() == len(expected)
        np.testing.assert_allclose(times.settles[never], expected, atol=0.01)


def test_a_bottleneck_retains_the_largest_modes():
    """Near ties: a mode that was learned is lost to a larger one."""
    lost = 0
    for seed in range(6):
        _, _, layers, modes = network(
            seed=seed, widths=(3, 2, 3), condition=1.0, n=400, noise=0.01, gap=0.9, scale=1e-3
        )
        times = mode_times(layers, modes, Descent(0.02))
        assert times.reason == ""
        assert np.isfinite(times.retained).tolist() == [True, True, False]
        lost += int(np.isfinite(times.first[2]))
    assert lost > 0


def test_the_coarse_path_is_coarser():
    X, Y, layers, modes = network(seed=5, scale=1e-4)
    rule = Descent(0.005 / largest_rate(X, Y))
    best = mode_times(layers, modes, rule, accuracy=FINE._replace(fraction=0.2)).first
    fine, coarse = (mode_times(layers, modes, rule, accuracy=a).first for a in (FINE, COARSE))
    assert np.abs(fine - best).max() < 1e-2
    assert (np.abs(fine - best) < np.abs(coarse - fine)).all()


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_jacobian_of_the_modified_flow_at_rest(order):
    """At a minimum, by differences of the modified field itself."""
    _, _, layers, modes = network(widths=(3, 4, 2), scale=0.5, condition=1)
    rule = Descent(0.05, momentum=0.6, nesterov=True, decay=0.02)
    flow = DescentFlow(layers, modes.K, modes.S, rule, order)
    y, v = packed(layers), np.zeros(flow.size)
    for _ in range(20_000):
        y, v, _ = flow.step(y, v)
    steps = 1e-5 * np.eye(flow.size)
    differences = [(flow(0.0, y + s) - flow(0.0, y - s)) / 2e-5 for s in steps]
    rates = flow.modified_rates(np.linalg.eigvalsh(flow.jacobian(0.0, y)))
    expected = np.linalg.eigvals(np.array(differences)).real
    np.testing.assert_allclose(np.sort(rates), np.sort(expected), atol=1e-7)


def test_layers_that_decay_outweighs_vanish():
    """Of three layers 0 is stable whatever the decay; of two it is not."""
    for widths, never in (((5, 5, 5, 3), True), ((5, 5, 3), False)):
        X, Y, layers, modes = network(widths=widths, scale=0.02)
        rule = Descent(0.02 / largest_rate(X, Y), momentum=0.9, decay=0.1 * largest_rate(X, Y))
        times = mode_times(layers, modes, rule, gradients=20_000)
        assert np.isinf(times.first).all() == never
        if never:
            assert times.settles.tolist() == [0, 0, 0]
            assert times.end < 100


def test_decay_of_one_layer_is_ridge_regression():
    X, Y, layers, modes = network(widths=(5, 3), condition=100)
    decay = 0.3 * largest_rate(X, Y)
    rule = Descent(0.02 / largest_rate(X, Y), momentum=0.5, decay=decay)
    times = mode_times(layers, modes, rule)
    never = np.isinf(times.first)
    assert never.any()
    augmented = np.vstack([X, np.sqrt(decay * len(X)) * np.eye(5)])
    fit = np.linalg.lstsq(augmented, np.vstack([Y, np.zeros((5, 3))]), rcond=None)[0]
    np.testing.assert_allclose(times.settles[never], modes.levels(fit.T)[never], atol=1e-8)


@pytest.mark.parametrize("depth", [1, 2])
def test_momentum_carries_a_mode_past_where_it_settles(depth):
    """One input and one output: W settles below 1/2, and is above it on its first swing."""
    X = np.array([[1.0], [-1.0]])
    modes = data_modes(X, X)
    decay, learned = 1.4 if depth == 1 else 0.55, 0
    for lr in np.geomspace(0.003, 0.03, 25):
        layers, v, observed = [0.1 * np.ones((1, 1))] * depth, np.zeros(depth), math.inf
        w = np.full(depth, 0.1)
        for step in range(2000):
            if w.prod() >= 0.5:
                observed = step
                break
            slope = decay * w - (1 - w.prod()) * w.prod() / w
            v = 0.95 * v + slope
            w = w - lr * v
        times = mode_times(layers, modes, Descent(lr, momentum=0.95, decay=decay))
        assert np.ceil(times.first[0]) == observed
        learned += observed < math.inf
    assert learned > 10


def plain_loop(X, Y, layers, velocity, rule, steps, level, split=None):
    """First steps with a_k at a level, nan for none, and layers and velocity at a step."""
    K, S = Y.T @ X / len(X), X.T @ X / len(X)
    phi, u, sigma = components(X, Y)
    layers, buffers = list(layers), [-part for part in velocity]
    learned, state = np.full(len(sigma), np.nan), None
    for step in range(steps):
        if step == split:
            state = list(layers), [-part for part in buffers]
        learned[np.isnan(learned) & (levels(X, layers, (phi, u, sigma)) >= level)] = step
        first, last = layers
        residual = last @ first @ S - K
        slopes = last.T @ residual, residual @ first.T
        for i, slope in enumerate(slopes):
            slope = slope + rule.decay * layers[i]
            buffers[i] = rule.momentum * buffers[i] + slope
            ahead = slope + rule.momentum * buffers[i] if rule.nesterov else buffers[i]
            layers[i] = layers[i] - rule.lr * ahead
    return learned, state


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("nesterov", [False, True])
def test_a_run_in_progress_goes_on_as_from_its_start(nesterov, level):
    """Split before, between and after the first crossings, with the velocity of then."""
    X, Y, layers, modes = network(seed=7, widths=(4, 30, 3), scale=0.02)
    rule = Descent(0.005 / largest_rate(X, Y), momentum=0.9, nesterov=nesterov)
    resting = [np.zeros_like(layer) for layer in layers]
    learned, _ = plain_loop(X, Y, layers, resting, rule, 2000, level)
    assert np.isfinite(learned).all()
    whole = mode_times(layers, modes, rule, level=level)
    np.testing.assert_array_equal(np.ceil(whole.first), learned)
    first, *_, last = np.sort(learned).astype(int)
    for split in (first // 2, first - 3, (first + last) // 2):
        _, (then, velocity) = plain_loop(X, Y, layers, resting, rule, split + 1, level, split)
        rest = mode_times(then, modes, rule, velocity=velocity, level=level)
        waiting = learned > split
        np.testing.assert_array_equal(split + np.ceil(rest.first)[waiting], learned[waiting])
        assert not rest.first[~waiting].any()
        unmoved = mode_times(then, modes, rule, level=level)
        assert (unmoved.first[waiting] > rest.first[waiting] + 1).any()


def test_a_velocity_may_lead_out_of_the_span_of_the_layers():
    X, Y, layers, modes = network(seed=8, widths=(4, 30, 3), scale=0.01)
    rule = Descent(0.005 / largest_rate(X, Y), momentum=0.8)
    rng = np.random.default_rng(9)
    velocity = [rng.standard_normal(layer.shape) for layer in layers]
    learned, _ = plain_loop(X, Y, layers, velocity, rule, 2000, 0.5)
    assert np.isfinite(learned).all()
    small = reduced(layers, velocity)
    assert [part.shape for part in (*small.layers, *small.velocity)] == 2 * [(14, 4), (3, 14)]
    times = mode_times(layers, modes, rule, velocity=velocity)
    np.testing.assert_array_equal(np.ceil(times.first), learned)


def test_of_the_largest_modes_alone_the_times_are_the_same():
    """Also what a bottleneck leaves out, whose floor has the modes that are not asked for."""
    _, _, layers, modes = network(seed=1, widths=(6, 2, 5), gap=0.6, scale=1e-2)
    rule = Descent(0.02)
    full = mode_times(layers, modes, rule)
    assert np.isinf(full.first).tolist() == [False, False, True, True, True]
    for count in (1, 2, 3):
        times = mode_times(layers, modes.largest(count), rule, to_rest=False)
        np.testing.assert_array_equal(times.first, full.first[:count])
        assert times.reason == ""
        assert times.end <= full.end


def test_parts_that_are_small_beside_others_are_those_of_their_modes():
    """Diagonal layers, of which each mode has its entry: known now, and grown by exponentials."""
    first = np.array([400.0, 0.0, np.inf, 100.0])
    layers = [np.diag([1e-4, 1.0, 1e-6, 1e-2]), np.diag([1e-5, 1.0, 1e-6, 1e-3])]
    np.testing.assert_allclose(parts_beside(layers, first), [1e-5, 1, 1e-6, 1e-3], rtol=1e-10)
    first[1] = 50.0
    grown = parts_beside([np.diag([1e-5, 1e-2, 1e-6, 1e-3])] * 2, first)
    # By the step 50 mode 1 has an eighth of its e-foldings behind it, and mode 4 a half.
    expected = [1e-5 ** (7 / 8), 1.0, 1e-6, 1e-3**0.5]
    np.testing.assert_allclose(grown, expected, rtol=1e-10)
    assert parts_beside(layers[:1], first).tolist() == [1, 1, 1, 1]


def test_rounding_moves_all_but_the_first_and_decides_what_is_smaller_than_itself():
    first, parts = np.array([100.0, 200.0, 300.0, np.inf]), np.array([1e-3, 1e-3, 1e-8, 1e-3])
    bars = rounding_bars(first, parts, 2.0**-23)
    e_folding = 200 / math.log(1e3)
    np.testing.assert_allclose(bars, [0, 1.19e-6 / 1e-3 * e_folding, np.inf, 0], rtol=0.01)
    # Beside what is learned, the next to grow is small, too.
    first[3] = 0.0
    assert rounding_bars(first, parts, 2.0**-23)[0] == pytest.approx(bars[1] / 2)
