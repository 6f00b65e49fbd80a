"""Half-times of linear networks, against gradient descent, closed forms and the two-layer law."""

import itertools
import json
import math

import numpy as np
import pytest

import swingby
from studies.deep_networks import DeepCell, draw, trained
from swingby import InvalidInput, SIMTask, predict_network
from tests.forked import FULL

TASK = SIMTask.from_signal([4, 2, 1])


def gaussian(seed, widths, scale):
    rng = np.random.default_rng(seed)
    return [scale * rng.standard_normal((q, p)) for p, q in itertools.pairwise(widths)]


def plain_descent(layers, a, lr, steps):
    """First steps with w_kk >= 1/2 by the gradient as it is written; nan where there is none."""
    layers = [layer.copy() for layer in layers]
    half_times = np.full(len(a), np.nan)
    for step in range(steps + 1):
        above = [np.eye(len(a))]
        for layer in layers[::-1]:
            above.append(above[-1] @ layer)
        above.reverse()  # above[i] is W_L ... W_(i+1), above[0] is W
        half_times[np.isnan(half_times) & (np.diagonal(above[0]) >= 0.5)] = step
        if not np.isnan(half_times).any():
            break
        rest, below, slopes = (np.eye(len(a)) - above[0]) * a, np.eye(len(a)), []
        for i, layer in enumerate(layers):
            slopes.append(above[i + 1].T @ rest @ below.T)
            below = layer @ below
        layers = [layer + lr * slope for layer, slope in zip(layers, slopes, strict=True)]
    return half_times


@pytest.mark.parametrize(
    ("widths", "scale"),
    [((3, 5, 3), 0.1), ((3, 5, 5, 3), 0.1), ((3, 4, 6, 3, 3), 0.25), ((3, 5, 5, 5, 5, 3), 0.25)],
)
def test_half_times_are_those_of_gradient_descent_to_the_step(widths, scale):
    """None is off by more than a bar, and bars are below a step."""
    a, lr = np.array([4.0, 2.0, 1.0]), 0.2 / (4 * (len(widths) - 1))
    for seed in range(4 if FULL else 2):
        layers = gaussian(seed, widths, scale)
        observed = plain_descent(layers, a, lr, 60_000)
        schedule = predict_network(layers, TASK, lr=lr)
        assert schedule.verdict == "holds"
        assert schedule.reasons == ()
        assert (schedule.error < 1).all()
        assert (np.ceil(schedule.crossing - schedule.error) <= observed).all()
        assert (observed <= np.ceil(schedule.crossing + schedule.error)).all()
        assert list(schedule.order) == np.argsort(observed).tolist()
        rough = predict_network(layers, TASK, lr=lr, accuracy="leading")
        assert (rough.error > schedule.error).all()
        assert (np.abs(rough.crossing - observed + 0.5) <= rough.error + 0.5).all()


def test_depth_two_is_the_law_of_two_layers():
    """W_1^T = W_2 = U runs the clock of (D.2) at eta = lr; exactly where U U^T is diagonal."""
    U = np.diag([0.02, 0.05, 0.01])
    schedule = predict_network([U.T, U], TASK, lr=0.01)
    law = swingby.predict(TASK, U0=U, eta=0.01, dynamics="gd")
    assert (np.abs(schedule.crossing - law.crossing) <= schedule.error + law.error).all()
    np.testing.assert_array_equal(schedule.half_times, law.half_times)
    # Otherwise the layers part, by terms that vanish with the scale.
    off = []
    for scale in (1e-2, 1e-4):
        U = scale * np.random.default_rng(2).standard_normal((3, 5))
        law = swingby.predict(TASK, U0=U, eta=0.01, dynamics="gd")
        schedule = predict_network([U.T, U], TASK, lr=0.01)
        off.append(np.abs(schedule.crossing / law.crossing - 1).max())
    assert off[1] < 2e-3
    assert off[1] < off[0] / 2


def test_depth_one_in_closed_form():
    for seed, lr in ((0, 0.01), (1, 0.2), (2, 0.3)):
        W = np.random.default_rng(seed).standard_normal((3, 3))
        observed = plain_descent([W], np.array([4.0, 2.0, 1.0]), lr, 5000)
        schedule = predict_network([W], TASK, lr=lr)
        np.testing.assert_array_equal(schedule.half_times, observed)
        assert (schedule.error <= 1e-9).all()


def test_permuted_concepts_and_rotated_hidden_layers_change_nothing():
    layers = gaussian(4, (3, 5, 5, 3), 0.1)
    schedule = predict_network(layers, TASK, lr=0.01)
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((5, 5)))[0]
    changed = predict_network([turn @ layers[0], layers[1] @ turn.T, layers[2]], TASK, lr=0.01)
    np.testing.assert_allclose(changed.crossing, schedule.crossing, rtol=2e-5)
    order = [2, 0, 1]
    mixed = [layers[0][:, order], layers[1], layers[2][order]]
    changed = predict_network(mixed, SIMTask.from_signal([1, 4, 2]), lr=0.01)
    np.testing.assert_allclose(changed.crossing, schedule.crossing[order], rtol=2e-5)
    assert [order[k] for k in changed.order] == list(schedule.order)


def test_out_of_its_range_a_prediction_says_so():
    layers = gaussian(1, (3, 5, 5, 3), 0.1)
    coarse = predict_network(layers, TASK, lr=0.05)
    assert coarse.verdict == "undecided"
    assert np.isinf(coarse.error).all()
    assert "lr times the fastest rate is 0.6" in coarse.reasons[0]
    large = [layer * 5 for layer in layers]
    rough = predict_network(large, TASK, lr=0.001, accuracy="leading")
    assert "the norm of W(0) is" in rough.reasons[0]
    assert np.isinf(rough.error).all()
    nothing = predict_network([0 * layer for layer in layers], TASK, lr=0.01)
    assert np.isnan(nothing.half_times).all()
    assert nothing.order == ()
    assert "half-time of concept 1, 2, 3: the gradient is 0" in nothing.reasons[0]
    missing = predict_network([np.diag([0.1, 0, 0.1])] * 3, TASK, lr=0.01)
    assert np.isnan(missing.half_times).tolist() == [False, True, False]
    assert "half-time of concept 2: the gradient is 0" in missing.reasons[0]
    assert np.isfinite(missing.error).tolist() == [True, False, True]
    faint = predict_network([1e-9 * np.eye(3)] * 2, TASK, lr=0.01)
    assert np.isinf(faint.error).all()
    assert "a layer has the norm 1e-09" in faint.reasons[0]
    slow = predict_network([1e-8 * np.eye(3)] * 4, TASK, lr=0.01)
    assert "the wait is longer than is predicted" in slow.reasons[0]


def test_equal_signals_leave_the_order_open_where_bars_overlap():
    same = [np.diag([0.1, 0.1 + 1e-9])] * 3
    schedule = predict_network(same, SIMTask.from_signal([1, 1]), lr=0.01)
    assert schedule.verdict == "undecided"
    assert "order of concepts" in schedule.reasons[0]


def test_directions_without_a_signal_and_concepts_that_are_there_already():
    layers = [np.diag([0.9, 0.1, 0.1])] * 3
    schedule = predict_network(layers, SIMTask([1, 2], dim=3), lr=0.01)
    assert schedule.half_times[0] == schedule.error[0] == 0
    assert schedule.half_times[2] == math.inf
    assert schedule.order == (0, 1)
    assert schedule.verdict == "holds"


def test_a_result_shows_itself():
    schedule = predict_network(gaussian(1, (3, 5, 5, 3), 0.1), TASK, lr=0.01)
    assert "depth 3, widths 3 x 5 x 5 x 3" in str(schedule)
    assert f"{schedule.half_times[2]:.0f}" in str(schedule)
    assert json.loads(json.dumps(schedule.to_dict()))["order"] == [0, 1, 2]
    assert schedule.to_frame()["half_time"].tolist() == schedule.half_times.tolist()


GOOD = gaussian(0, (3, 4, 3), 0.1)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"weights": []}, "weights"),
        ({"weights": "abc"}, "weights"),
        ({"weights": 3}, "weights"),
        ({"weights": [GOOD[0]]}, r"weights\[0\]"),
        ({"weights": [GOOD[1], GOOD[0]]}, r"weights\[0\]"),
        (
            {"weights": gaussian(0, (3, 2, 3), 0.1), "accuracy": "leading"},
            r"weights\[0\] must have at least 3 rows",
        ),
        ({"weights": gaussian(0, (3, 4, 5), 0.1)}, r"weights\[1\] must have 3 rows"),
        ({"weights": [GOOD[0], GOOD[1] * math.nan]}, r"weights\[1\]"),
        ({"weights": [GOOD[0] * 1e-150, GOOD[1] * 1e-150]}, "weights must have a product"),
        ({"weights": [GOOD[0] * 1e9, GOOD[1]]}, "weights must be at most"),
        ({"task": "a task"}, "task"),
        ({"lr": 0}, "lr"),
        ({"lr": "fast"}, "lr"),
        ({"accuracy": "best"}, "accuracy"),
    ],
)
def test_wrong_input(change, name):
    arguments = {"weights": GOOD, "task": TASK, "lr": 0.01} | change
    with pytest.raises(InvalidInput, match=name):
        predict_network(arguments.pop("weights"), arguments.pop("task"), **arguments)


def test_a_signal_stands_for_its_task():
    of_task, of_signal = (
        predict_network(GOOD, task, lr=0.01).half_times for task in (TASK, TASK.signal)
    )
    np.testing.assert_array_equal(of_task, of_signal)


@pytest.mark.torch
@pytest.mark.parametrize("cell", [DeepCell(1, 0.1), DeepCell(3, None), DeepCell(4, 0.3, d=2)])
def test_networks_of_a_cell_are_trained_as_written(cell):
    pytest.importorskip("torch")
    for network in trained(cell, 3, seed=1):
        lr = 0.2 / cell.depth
        observed = plain_descent(network.layers, network.task.signal, lr, network.last)
        np.testing.assert_array_equal(network.half_times, observed)
        assert np.isfinite(observed).all()


def test_a_chain_that_is_not_parallel_is_not_cut_out():
    """Cut out where 1 less the cosine was 0.015, it moved the last of 10,668 steps by 13."""
    cell = DeepCell(5, 0.2)
    rng = np.random.default_rng([7, *cell.name.encode()])
    for _ in range(140):
        layers, task, lr = draw(cell, rng)
    observed = plain_descent(layers, task.signal, lr, 20_000)
    assert observed.max() == observed[2] == 10_668
    np.testing.assert_allclose(predict_network(layers, task, lr=lr).half_times, observed, atol=1)


def test_a_table_says_what_is_undecided_and_no_lone_word():
    # Nothing has been observed: what would hold?
    layers = [0.1 * np.eye(2), 0.1 * np.eye(2)]
    sure = swingby.predict_network(layers, [4, 1], lr=0.01)
    assert sure.verdict == "holds"
    assert sure.to_text().splitlines()[-1].startswith("w_22")
    open_case = swingby.predict_network([10 * layer for layer in layers], [4, 1], lr=10)
    assert open_case.to_text().splitlines()[-1].startswith("undecided: ")
