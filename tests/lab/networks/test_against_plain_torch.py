"""Outputs, losses and weights are those of a straightforward loop in torch, to rounding."""

from dataclasses import replace

import numpy as np
import pytest

from swingby.lab.networks import Data, Network, Optimizer, Setting, train
from swingby.theory.task import SIMTask
from tests.lab.networks import plain_loop as plain

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.torch

TASK = SIMTask([1, 2], ["1/5", "1/3"], dim=5)
#: 90 points, so that the last batch of an epoch has 26 of 32.
DATA = Data(n_per_class=30, center_cluster=True, rotation=True)
SGD = Optimizer(lr=0.3, batch_size=32)
PAPER = Optimizer(lr=0.1, batch_size=32, loss="paper", shuffle="epoch")
GD = Optimizer("gd", lr=0.2, loss="paper")
ADAM = Optimizer("adamw", lr=0.01, batch_size=32, weight_decay=0.05)
#: The other rules of torch; each by itself and together.
RULES = {
    "momentum": Optimizer("sgd", 0.05, 32, momentum=0.9),
    "nesterov": Optimizer("gd", 0.05, loss="paper", momentum=0.8, nesterov=True),
    "decay": Optimizer("sgd", 0.3, 32, shuffle="epoch", weight_decay=0.1),
    "all": Optimizer("sgd", 0.05, 32, "paper", weight_decay=0.2, momentum=0.7, nesterov=True),
    "adam": Optimizer("adam", 0.02, 32),
    "adam decay": Optimizer("adam", 0.02, 32, weight_decay=0.3),
}
U = Network(2, width=4, bias=False, symmetric=True, initialization="gaussian", scale=0.2)


def check(setting, gradient="auto", tolerance=1e-12):
    output, loss, train_loss, module = plain.plain_loop(setting)
    # In the company of another seed: stacking is part of what is tested.
    run = train([setting, replace(setting, seed=77)], gradient=gradient)
    assert np.abs(output[-1] - output[0]).max() > 0.01
    assert np.abs(run.output[0, :, -1] - output).max() < tolerance
    assert np.abs(run.test_loss[0] - loss).max() < tolerance
    assert run.train_loss[0, -1] == pytest.approx(train_loss, rel=100 * tolerance)
    found = run.parameters(0)
    assert len(found) == len(list(module.parameters()))
    for own, expected in zip(found, module.parameters(), strict=True):
        assert np.abs(own - expected.detach().numpy()).max() < tolerance


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.parametrize("optimizer", [SGD, PAPER, GD], ids=["sgd", "paper", "gd"])
@pytest.mark.parametrize("gradient", ["written", "autograd"])
def test_linear_networks(depth, bias, optimizer, gradient):
    network = Network(depth, width=None if depth == 1 else 7, bias=bias)
    check(Setting(TASK, DATA, network, optimizer, steps=10, seed=3, precision="float64"), gradient)


@pytest.mark.parametrize("optimizer", [SGD, PAPER, GD, ADAM], ids=["sgd", "paper", "gd", "adamw"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize(("depth", "bias"), [(2, True), (2, False), (3, True), (4, False)])
def test_activations(activation, optimizer, depth, bias):
    network = Network(depth, 9, activation, bias, scale=1.7)
    check(Setting(TASK, DATA, network, optimizer, steps=12, seed=4, precision="float64"))


@pytest.mark.parametrize("gradient", ["written", "autograd"])
@pytest.mark.parametrize("optimizer", [SGD, PAPER, GD], ids=["sgd", "paper", "gd"])
def test_the_symmetric_network(optimizer, gradient):
    check(Setting(TASK, DATA, U, optimizer, steps=40, seed=5, precision="float64"), gradient)


@pytest.mark.parametrize(
    "network",
    [Network(), Network(2, bias=False), Network(3, 7), U],
    ids=["one", "two", "three", "symmetric"],
)
def test_adamw_on_linear_networks(network):
    check(Setting(TASK, DATA, network, ADAM, steps=40, seed=6, precision="float64"))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    "network",
    [Network(), Network(2, 4, bias=False), Network(3, 7), Network(2, 6, "relu"), U],
    ids=["one", "two", "three", "relu", "symmetric"],
)
def test_momentum_decay_and_adam_are_those_of_torch(network, rule):
    check(Setting(TASK, DATA, network, RULES[rule], steps=25, seed=8, precision="float64"))


def test_rates_of_their_own_with_momentum_and_with_decay():
    base = Setting(TASK, DATA, Network(2, 4), steps=15, precision="float64")
    for rule in (RULES["momentum"], RULES["decay"], RULES["adam"]):
        faster = replace(base, optimizer=replace(rule, lr=2 * rule.lr))
        both = train([replace(base, optimizer=rule), faster])
        assert np.abs(both.output[1] - train(faster).output[0]).max() < 1e-13


@pytest.mark.parametrize("shuffle", ["once", "epoch"])
@pytest.mark.parametrize(
    "data",
    [
        Data(40),
        Data(40, rotation=True, free_sigma=0.3),
        Data(40, center_cluster=True, truncation=1.5),
        Data(40, rotation=True, truncation=1.5, free_sigma=0.2),
    ],
    ids=["plain", "free", "truncated", "both"],
)
@pytest.mark.parametrize("network", [Network(2, 6), Network(2, 6, "relu"), U], ids=repr)
def test_data(data, network, shuffle):
    optimizer = replace(SGD, shuffle=shuffle)
    check(Setting(TASK, data, network, optimizer, epochs=8, seed=7, precision="float64"))


def test_in_single_precision():
    # A thousand steps of rounding to 24 bits; and the two gradients round differently.
    for network in (Network(), Network(3, 7), Network(2, 6, "relu")):
        setting = Setting(TASK, DATA, network, SGD, epochs=100)
        check(setting, tolerance=2e-5)
