"""The law of deep linear networks: its field, its deflation, its limits, and what is false."""

import functools
import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

from swingby.theory.law.deep_law import followed, leading
from swingby.theory.law.layer_flow import TABLEAUX, LayerFlow, deflate, packed, product

A = np.array([4.0, 2.0, 1.0])
FAR = 1e12
full = functools.partial(pytest.param, marks=pytest.mark.full)


def gaussian(rng, widths, scale):
    return [scale * rng.standard_normal((q, p)) for p, q in itertools.pairwise(widths)]


def balanced(rng, depth, scale, d=3):
    """Layers with W_(i+1)^T W_(i+1) = W_i W_i^T, and W symmetric and positive."""
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    layer = scale * (turn * rng.uniform(0.5, 1.5, d)) @ turn.T
    return [layer] * depth


def loss(layers, a):
    return 0.5 * (((product(layers) - np.eye(len(a))) ** 2) * a).sum()


@pytest.mark.parametrize("widths", [(3, 3), (3, 4, 3), (3, 5, 4, 3), (3, 3, 6, 4, 3)])
def test_the_field_is_the_negative_gradient_and_its_jacobian_the_hessian(widths):
    layers = gaussian(np.random.default_rng(3), widths, 0.5)
    flow, y = LayerFlow(layers, A, 0.0, 0), packed(layers)
    # The loss is a polynomial; a step of 1e-4 leaves 1e-8 of curvature of third order.
    steps = 1e-4 * np.eye(flow.size)
    slope = [(loss(flow.layers(y - s), A) - loss(flow.layers(y + s), A)) / 2e-4 for s in steps]
    np.testing.assert_allclose(flow(0.0, y), slope, atol=1e-6)
    second = np.array([(flow(0.0, y + s) - flow(0.0, y - s)) / 2e-4 for s in steps])
    np.testing.assert_allclose(flow.jacobian(0.0, y), second, atol=1e-5)


@pytest.mark.parametrize("order", sorted(TABLEAUX))
def test_a_step_of_gradient_descent_is_the_modified_flow_to_its_order(order):
    """The defect over one step falls as h^(order + 2): halved steps show the exponent."""
    layers = gaussian(np.random.default_rng(order), (3, 4, 4, 3), 0.5)
    y = packed(layers)

    def defect(h):
        flow = LayerFlow(layers, A, h, order)
        plain = LayerFlow(layers, A, 0.0, 0)
        end = solve_ivp(flow, (0, h), y, method="DOP853", rtol=1e-13, atol=1e-15).y[:, -1]
        return np.linalg.norm(end - y - h * plain(0.0, y))

    slope = math.log2(defect(0.004) / defect(0.002))
    assert abs(slope - (order + 2)) < 0.15


@pytest.mark.parametrize("depth", [2, 3, 5])
@pytest.mark.parametrize("k", [0, 2])
def test_a_concept_cut_out_leaves_the_schur_complement(depth, k):
    layers = gaussian(np.random.default_rng(depth), [3] + [5] * (depth - 1) + [3], 1.0)
    W = product(layers)
    rest = np.delete(np.delete(W - np.outer(W[:, k], W[k]) / W[k, k], k, 0), k, 1)
    np.testing.assert_allclose(product(deflate(layers, k)), rest, rtol=1e-9, atol=1e-12)


def test_at_depth_two_the_law_is_that_of_the_pivots():
    """Tied layers grow row by row, and log pivots at 2 a_k, whatever is cut out when."""
    U = 1e-3 * np.random.default_rng(5).standard_normal((3, 4))
    root = np.diagonal(np.linalg.cholesky(U @ U.T))
    for level in (0.5, 1.0, 2.0):
        found = leading([U.T, U], A, 0.0, 1e-6, FAR, level)[0]
        np.testing.assert_allclose(found, -np.log(root**2) / (2 * A), rtol=1e-5)


@pytest.mark.parametrize("depth", [2, 3, 5])
@pytest.mark.parametrize("level", [0.3, 1.0])
def test_one_chain_waits_c_more_than_the_homogeneous_flow(depth, level):
    """Whatever the level at which it is cut out: from w = 2^-L, of dw/dt = L a w^(2-2/L)."""
    rate = 3.0 * depth
    found, _ = leading([np.array([[0.5]])] * depth, np.array([3.0]), 0.0, 1e-8, FAR, level)
    wait = quad(lambda w: 1 / (rate * w ** (2 - 2 / depth)), 0.5**depth, 0.5)[0]
    c = quad(lambda w: w ** (2 / depth - 1) / (1 - w), 0, 0.5)[0]
    assert found[0] == pytest.approx(wait + c / rate, rel=1e-6)


@pytest.mark.parametrize(("depth", "smallest"), [(3, 1e-9), (4, 1e-6), full(5, 1e-4)])
def test_the_leading_order_knows_no_scale_and_is_the_limit_of_small_weights(depth, smallest):
    layers = gaussian(np.random.default_rng(depth), [3] + [5] * (depth - 1) + [3], 1.0)

    def times(scale):
        small = [scale * layer for layer in layers]
        laws = leading(small, A, 0.0, 1e-6, 1e14)[0], followed(small, A, 0.0, 0, 1e-7, 1e14)[0]
        return [law * scale ** (depth - 2) for law in laws]

    limit, full = times(smallest)
    np.testing.assert_allclose(full, limit, rtol=2e-4)
    # From larger weights the two differ, ever less.
    far = [np.abs(times(scale)[1] / limit - 1).max() for scale in (0.05, 0.01)]
    assert far[0] > 2 * far[1] > 2 * np.abs(full / limit - 1).max()


@pytest.mark.parametrize("depth", [3, full(4)])
def test_greedy_elimination_is_wrong_at_every_scale(depth):
    """Pivots of W(0), each growing as L a w^(2-2/L) on its own: exact for L = 2, false above."""

    def greedy(W):
        times = []
        for k in range(len(A)):
            # In x = log w, of L a w^(2-2/L) (1 - w).
            wait = quad(
                lambda x: math.exp(-(1 - 2 / depth) * x) / -math.expm1(x),
                math.log(W[0, 0]),
                math.log(0.5),
                limit=400,
            )[0]
            times.append(wait / (depth * A[k]))
            W = (W - np.outer(W[:, 0], W[0]) / W[0, 0])[1:, 1:]
        return np.array(times)

    worst = []
    for scale in (1e-2, 1e-4):
        layers = balanced(np.random.default_rng(2), depth, scale)
        truth = followed(layers, A, 0.0, 0, 1e-8, 1e14)[0]
        worst.append(np.abs(greedy(product(layers)) / truth - 1).max())
        assert np.abs(leading(layers, A, 0.0, 1e-6, 1e14)[0] / truth - 1).max() < 0.05 * worst[-1]
    assert min(worst) > 0.01
    assert worst[0] == pytest.approx(worst[1], rel=0.05)


def rate_of_powers(layers):
    """d/dt of sum sigma^-(1-2/L), by differences, and -(L - 2) tr[(I - W) A O]."""
    depth = len(layers)
    flow, y = LayerFlow(layers, A, 0.0, 0), packed(layers)

    def powers(y):
        return (np.linalg.svd(product(flow.layers(y)))[1] ** -(1 - 2 / depth)).sum()

    step = 1e-5 * flow(0.0, y)
    W = product(layers)
    left, _, right = np.linalg.svd(W)
    said = -(depth - 2) * np.trace((np.eye(3) - W) @ np.diag(A) @ right.T @ left.T)
    return (powers(y + step) - powers(y - step)) / 2e-5, said


@pytest.mark.parametrize("depth", [3, 4, 5, 8])
def test_the_identity_of_balanced_layers_and_of_no_others(depth):
    rng = np.random.default_rng(depth)
    turns = [np.linalg.qr(rng.standard_normal((3, 3)))[0] for _ in range(depth + 1)]
    size = np.diag(rng.uniform(0.6, 0.9, 3))
    layers = [high @ size @ low.T for low, high in itertools.pairwise(turns)]
    seen, said = rate_of_powers(layers)
    assert seen == pytest.approx(said, rel=1e-7)
    # The same W from layers that are not balanced: no function of W alone can have such a rate.
    layers[0], layers[1] = 2 * layers[0], layers[1] / 2
    seen, again = rate_of_powers(layers)
    assert again == pytest.approx(said, rel=1e-12)
    assert abs(seen / said - 1) > 0.05


@pytest.mark.parametrize("depth", [3, full(4)])
def test_the_sum_rule(depth):
    """sum a_k t_k goes to tr W(0)^-(1-2/L) / (L - 2) for symmetric positive W(0)."""
    off = []
    for scale in (1e-2, 1e-4):
        layers = balanced(np.random.default_rng(7), depth, scale)
        times = followed(layers, A, 0.0, 0, 1e-8, 1e14)[0]
        said = (np.linalg.eigvalsh(product(layers)) ** -(1 - 2 / depth)).sum() / (depth - 2)
        off.append(abs((A * times).sum() / said - 1))
    assert off[1] < 2e-3
    assert off[1] < off[0]


@pytest.mark.parametrize("depth", [2, 3, full(4), full(5)])
@pytest.mark.parametrize("ratio", [0.4, 0.7])
def test_transients_fall_as_the_scale_to_one_less_the_ratio(depth, ratio):
    a = np.array([1.0, ratio])
    start = balanced(np.random.default_rng(1), depth, 1.0, d=2)

    def peak(scale):
        layers = [scale * layer for layer in start]
        flow = LayerFlow(layers, a, 0.0, 0)

        def learned(t, y):
            return product(flow.layers(y))[0, 0] - 0.999

        learned.terminal = True
        y = packed(layers)
        run = solve_ivp(
            flow, (0, 1e200), y, "DOP853", events=learned, rtol=1e-9, atol=1e-14 * scale
        )
        return max(abs(product(flow.layers(one))[0, 1]) for one in run.y.T)

    # Beyond 1e14 units of time floats do not resolve the rise.
    scales = (1e-6, 1e-8) if depth == 2 else (1e-2, 1e-4)
    slope = math.log(peak(scales[0]) / peak(scales[1])) / math.log(scales[0] / scales[1])
    assert slope == pytest.approx(1 - ratio, abs=0.02)
