"""A straightforward training loop: nn.Linear, turned points in all coordinates, torch.optim.

The second implementation that the networks of swingby.lab.networks are compared with. It shares the
draws with them (points, rotation, order, initial weights) and nothing else.
"""

from dataclasses import fields

import numpy as np
import pytest

from swingby.lab.networks import TrainingRun
from swingby.lab.networks.training_points import batch_order, directions, training_points
from swingby.lab.networks.weights import initial_weights

torch = pytest.importorskip("torch")

ACTIVATIONS = {"relu": torch.nn.ReLU, "gelu": torch.nn.GELU}


class Symmetric(torch.nn.Module):
    """f(x) = U U^T x."""

    def __init__(self, U):
        super().__init__()
        self.U = torch.nn.Parameter(U)

    def forward(self, x):
        return x @ self.U @ self.U.T


def network(setting, weights):
    """A module with some weights; in the coordinates of the data."""
    dtype, shape = getattr(torch, setting.precision), setting.network
    left = [torch.tensor(one, dtype=dtype) for one in weights]
    if shape.symmetric:
        return Symmetric(left[0])
    layers = []
    for place in range(shape.depth):
        W = left.pop(0)
        layer = torch.nn.Linear(W.shape[1], W.shape[0], bias=shape.bias, dtype=dtype)
        with torch.no_grad():
            layer.weight.copy_(W)
            if shape.bias:
                layer.bias.copy_(left.pop(0))
        layers.append(layer)
        if shape.activation != "linear" and place < shape.depth - 1:
            layers.append(ACTIVATIONS[shape.activation]())
    return torch.nn.Sequential(*layers)


def optimizer_of(chosen, parameters):
    """torch's own."""
    named = {"lr": chosen.lr, "weight_decay": chosen.weight_decay}
    kinds = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
    if chosen.kind in kinds:
        return kinds[chosen.kind](parameters, **named)
    moving = {"momentum": chosen.momentum, "nesterov": chosen.nesterov}
    return torch.optim.SGD(parameters, **named, **moving)


def plain_loop(setting):
    """Train step by step.

    Returns output at the test point along the concepts (n, s), half the squared distance there
    (n,), the paper's loss on the training set at the end, and the module.
    """
    dtype, task, chosen = getattr(torch, setting.precision), setting.task, setting.optimizer
    frame = directions(setting)
    points = torch.tensor(training_points(setting)[0] @ frame.T, dtype=dtype)
    test_point = torch.tensor(frame @ task.test_point, dtype=dtype)
    along = torch.tensor(frame[:, : task.s], dtype=dtype)
    module = network(setting, initial_weights(setting))
    parameters = list(module.parameters())
    optimizer = optimizer_of(chosen, parameters)
    size = len(points) if chosen.kind == "gd" else chosen.batch_size
    output, loss = [], []

    def look():
        with torch.no_grad():
            found = module(test_point)
        output.append((found @ along).numpy())
        loss.append(0.5 * float((found - test_point).square().sum()))

    look()
    epoch = 0
    while len(output) <= setting.total_steps:
        order = batch_order(setting, epoch)
        for begin in range(0, len(points), size):
            if len(output) > setting.total_steps:
                break
            batch = points[order[begin : begin + size]]
            away = torch.nn.functional.mse_loss(module(batch), batch)
            optimizer.zero_grad()
            (away * task.dim / 2 if chosen.loss == "paper" else away).backward()
            optimizer.step()
            look()
        epoch += 1
    with torch.no_grad():
        train_loss = 0.5 * float((module(points) - points).square().sum(1).mean())
    return np.array(output), np.array(loss), train_loss, module


def assert_equal(run, expected):
    """Bit for bit."""
    for one in fields(TrainingRun):
        own, other = getattr(run, one.name), getattr(expected, one.name)
        if one.name in ("settings", "index"):
            assert own == other
            continue
        pairs = zip(own, other, strict=True) if one.name == "weights" else [(own, other)]
        for mine, yours in pairs:
            assert np.array_equal(mine, yours, equal_nan=True), one.name
            assert mine.dtype == yours.dtype, one.name
