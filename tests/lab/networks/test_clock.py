"""Time of the theory against steps of training: Theorem 4.1, (D.2), and both losses."""

from dataclasses import replace

import numpy as np
import pytest

import swingby
from swingby.errors import InvalidInput
from swingby.lab.networks import (
    Data,
    Network,
    Optimizer,
    Setting,
    clock,
    loss_factor,
    read_samples,
    train,
)
from swingby.lab.networks.training_points import directions
from swingby.lab.networks.weights import initial_weights
from swingby.theory.task import SIMTask

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.torch

TASK = SIMTask([1, 2, 1.5], ["1/5", "1/3", "0"], dim=4)


def exact(network, optimizer, steps, **named):
    """Gradient descent on infinite data."""
    limit = Data(n_per_class=None, **named)
    return Setting(TASK, limit, network, optimizer, steps=steps, precision="float64", seed=2)


def turned_start(setting):
    """Initial weights in the coordinates of the concepts."""
    frame = directions(setting)
    (W,) = initial_weights(setting)
    return frame.T @ W if setting.network.symmetric else frame.T @ W @ frame


@pytest.mark.parametrize("loss", ["paper", "torch"])
def test_one_layer_tends_to_theorem_41_at_first_order_in_the_learning_rate(loss):
    gaps, rates = [], [0.04, 0.02, 0.01, 0.005]
    for rate in rates:
        optimizer = Optimizer("gd", lr=rate, loss=loss)
        setting = exact(Network(bias=False), optimizer, round(4 / rate), rotation=True)
        run = train(setting)
        time = clock(setting) * run.steps
        expected = swingby.one_layer_output(TASK, turned_start(setting), time)
        gaps.append(np.abs(run.output[0, :, -1] - expected[:, :3]).max())
    assert gaps[-1] < 0.01
    order = np.polyfit(np.log(rates), np.log(gaps), 1)[0]
    assert order == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("loss", ["paper", "torch"])
@pytest.mark.parametrize("gradient", ["written", "autograd"])
def test_the_symmetric_network_is_gd_of_simulate_step_by_step(loss, gradient):
    network = Network(2, 6, bias=False, symmetric=True, initialization="gaussian", scale=0.05)
    setting = exact(network, Optimizer("gd", lr=0.02, loss=loss), 400, rotation=True)
    run = train(setting, gradient=gradient)
    U = turned_start(setting)
    expected = swingby.simulate(TASK, U @ U.T, eta=clock(setting), steps=400, dynamics="gd")
    moved = np.abs(run.jacobian[0, -1] - run.jacobian[0, 0]).max()
    assert moved > (0.3 if loss == "paper" else 0.05)
    assert np.abs(run.jacobian[0] - expected.W[run.steps, :3, :3]).max() < 1e-11


@pytest.mark.parametrize("diagonal", [True, False])
def test_two_layers_that_start_transposed_run_on_the_clock_of_B_U(diagonal):
    # From W_1^T = W_2 = U with U U^T diagonal a step is that of simulate itself. Else W_1^T and
    # W_2 part by terms of order (U U^T)^2, which no smaller learning rate removes.
    U = 0.05 * np.random.default_rng(0).standard_normal((4, 5))
    if diagonal:
        U = 0.05 * np.eye(4, 5)
    gaps = []
    for rate in (0.02, 0.01):
        optimizer = Optimizer("gd", lr=rate, loss="paper")
        setting = exact(Network(2, 5, bias=False), optimizer, round(6 / rate))
        run = train(setting, start=[U.T, U])
        flow = swingby.simulate(
            TASK, U @ U.T, eta=clock(setting), steps=run.steps[-1], dynamics="gd"
        )
        gaps.append(np.abs(run.jacobian[0] - flow.W[run.steps, :3, :3]).max())
    if diagonal:
        assert max(gaps) < 1e-12
    else:
        assert 0.005 < gaps[1] < 0.02
        assert gaps[0] / gaps[1] == pytest.approx(1.0, abs=0.1)


def test_the_loss_of_torch_is_that_of_the_paper_times_two_over_d():
    setting = Setting(TASK, optimizer=Optimizer(loss="torch"))
    assert loss_factor(setting) == 2 / 4
    assert loss_factor(Setting(TASK, optimizer=Optimizer(loss="paper"))) == 1
    runs = [
        train(Setting(TASK, Data(20), Network(2), one, steps=30, precision="float64"))
        for one in (Optimizer("gd", 0.4, loss="torch"), Optimizer("gd", 0.2, loss="paper"))
    ]
    assert np.abs(runs[0].output - runs[1].output).max() < 1e-13


@pytest.mark.parametrize(
    ("network", "optimizer", "word"),
    [
        (Network(3), Optimizer(), "depth 3"),
        (Network(2, activation="relu"), Optimizer(), "relu"),
        (Network(), Optimizer("adamw"), "adamw divides each entry by its own size"),
        (Network(), Optimizer("adam"), "no law of growth holds"),
        (Network(2), Optimizer(momentum=0.9), "predict_network.*momentum=0.9, weight_decay=0"),
        (Network(2), Optimizer(weight_decay=0.1), "momentum=0, weight_decay=0.1"),
    ],
)
def test_what_has_no_clock_is_refused(network, optimizer, word):
    with pytest.raises(InvalidInput, match=word):
        clock(Setting(TASK, network=network, optimizer=optimizer))


@pytest.mark.parametrize("kind", ["gd", "adamw"])
def test_infinite_data_are_a_few_points_of_the_same_moments(kind):
    """Two points along each axis of the covariance, with biases, in a frame of its own."""
    base = exact(Network(), Optimizer(kind, lr=0.05, batch_size=8), 40, rotation=True)
    (mean, second), frame = base.moments, directions(base)
    size, axes = np.linalg.eigh(np.diag(second) - np.outer(mean, mean))
    away = (axes * np.sqrt(4 * np.maximum(size, 0))).T
    points = read_samples((mean + np.concatenate([away, -away])) @ frame.T)
    rotated = SIMTask(TASK.mu, TASK.sigma, 4, rotation=frame)
    few = train(replace(base, task=rotated, data=Data()), data=points)
    assert np.abs(few.output - train(base).output).max() < 1e-12
