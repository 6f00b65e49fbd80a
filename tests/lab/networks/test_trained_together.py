"""A network is the same in any company: alone, stacked with others, in any order."""

import contextlib
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import swingby
from swingby.lab.networks import Data, Network, Optimizer, Setting, train
from swingby.lab.networks import training as running
from swingby.theory.task import SIMTask

torch = pytest.importorskip("torch")
from swingby.diffusion import VectorSetting, train_vectors  # noqa: E402

pytestmark = pytest.mark.torch

ARRAYS = ("output", "jacobian", "point_loss", "half_times", "jacobian_half_times", "train_loss")


def same(run, place, alone):
    """Everything about network `place` is what it is in a run of its own."""
    for name in ARRAYS:
        own, expected = getattr(run, name)[place], getattr(alone, name)[0]
        assert np.array_equal(np.isnan(own), np.isnan(expected)), name
        assert np.abs(np.nan_to_num(own - expected)).max() < 1e-12, name
    assert run.settings[place] == alone.settings[0]
    assert np.abs(run.points[place] - alone.points[0]).max() == 0
    assert run.descents()[place] == alone.descents()[0]
    found = [(step, kind) for step, _, kind in run.extrema(place, 0.01)]
    assert found == [(step, kind) for step, _, kind in alone.extrema(0, 0.01)]
    if run.weights:
        for own, expected in zip(run.parameters(place), alone.parameters(0), strict=True):
            assert np.abs(own - expected).max() < 1e-12


def various():
    """Settings of several shapes that fit together."""
    data = Data(30, rotation=True)
    task, sgd = SIMTask([1, 2], ["1/5", "1/4"], dim=4), Optimizer(lr=0.3, batch_size=16)
    base = Setting(task, data, optimizer=sgd, steps=60, precision="float64")
    return [
        base,
        replace(base, seed=3),
        replace(base, network=Network(2, 5), seed=4),
        replace(base, task=SIMTask([Fraction(3, 2), 1], ["1/3", "0"], dim=4)),
        replace(base, optimizer=Optimizer(lr=0.1, batch_size=16, loss="paper"), seed=5),
        replace(base, data=replace(data, free_sigma=0.2)),
        replace(base, network=Network(2, 5, "relu"), seed=6),
        replace(base, network=Network(1, scale=0.1, initialization="gaussian"), seed=7),
        replace(base, network=Network(2, 5, "relu", scale=2.0), seed=8),
        replace(base, optimizer=Optimizer("adamw", lr=0.02, batch_size=16)),
        replace(base, optimizer=Optimizer("adamw", lr=0.05, batch_size=16), seed=2),
        replace(base, data=replace(data, truncation=1.0), seed=9),
        replace(base, optimizer=Optimizer(lr=0.3, batch_size=16, shuffle="epoch"), seed=10),
        replace(base, task=SIMTask([1, 2], ["1/5", "1/4"], dim=7)),
    ]


@pytest.fixture(scope="module")
def alone():
    return [train(one) for one in various()]


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.full) for k in (1, 2))])
def test_in_any_order_and_mixture(alone, seed):
    order = np.random.default_rng(seed).permutation(len(alone))[: 14 - 3 * seed]
    run = train([various()[k] for k in order])
    assert len(run) == len(order)
    for place, k in enumerate(order):
        same(run, place, alone[k])


def test_many_networks_are_trained_in_parts(monkeypatch, alone):
    monkeypatch.setattr(running, "MOST_POINT_BYTES", 2 * 60 * 4 * 4)
    base = various()[0]
    run = train([replace(base, seed=seed) for seed in (5, 0, 3, 2, 1)])
    assert len(list(running._groups(run.settings, "cpu"))) == 3
    same(run, 1, alone[0])
    same(run, 2, alone[1])


def test_training_goes_on_from_its_own_weights():
    # Gradient descent has no memory: 40 + 40 steps are 80.
    for data in (Data(30, rotation=True), Data(30, center_cluster=True)):
        for network in (Network(2, 5, "relu"), Network(3, 5), Network(2, 3, bias=False)):
            task, gd = SIMTask([1, 2], ["1/5", "1/4"], dim=4), Optimizer("gd", lr=0.3)
            base = Setting(task, data, network, gd, steps=80, precision="float64")
            whole = train(base)
            half = train(replace(base, steps=40))
            rest = train(replace(base, steps=40), start=half.parameters(0))
            assert np.abs(rest.output[0] - whole.output[0, 40:]).max() < 1e-12
            tensors = [torch.tensor(one, requires_grad=True) for one in half.parameters(0)]
            again = train(replace(base, steps=40), start=tensors)
            assert np.array_equal(again.output, rest.output)


def test_nothing_is_set_for_the_whole_process():
    before = torch.get_num_threads(), torch.is_grad_enabled(), torch.get_default_dtype()
    state = torch.random.get_rng_state()
    train(various()[:8])
    assert before == (torch.get_num_threads(), torch.is_grad_enabled(), torch.get_default_dtype())
    assert torch.equal(state, torch.random.get_rng_state())


@contextlib.contextmanager
def default_device(name):
    torch.set_default_device(name)
    try:
        yield
    finally:
        torch.set_default_device(None)


@contextlib.contextmanager
def default_dtype(dtype):
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize(
    "switched",
    [
        lambda: torch.autocast("cpu", torch.bfloat16),
        torch.no_grad,
        torch.inference_mode,
        lambda: default_device("meta"),
        lambda: default_dtype(torch.float64),
        lambda: default_dtype(torch.bfloat16),
    ],
)
def test_what_the_caller_switched_in_torch_changes_no_number(switched):
    """Training by both gradients and of denoisers, half-times, batches."""
    task, W0 = SIMTask([1, 2], ["1/20", "1/20"]), 1e-3 * (np.eye(2) + 0.3)
    law = swingby.predict(task, W0, eta=0.05, dynamics="gd")
    point = [torch.tensor(x, dtype=torch.float64) for x in (task.signal, W0, 0.05)]

    def numbers():
        for network, kind in ((Network(2, 5), "sgd"), (Network(2, 5, "relu"), "adamw")):
            yield train(Setting(task, Data(20), network, Optimizer(kind), epochs=2)).output
        run = train_vectors(VectorSetting(task, "linear", eta=0.1, steps=20))
        yield run.output
        yield run.sampled(5, 10, steps=4).samples
        yield swingby.crossing_function(law)(*point)
        for d in (2, 9):
            start = 1e-2 * (np.eye(d) + 0.1)
            batch = swingby.simulate_batch(
                np.arange(1.0, d + 1), start, 0.05, 99, "gd", device="cpu", test_point=np.ones(d)
            )
            yield batch.W

    expected = list(numbers())
    with switched():
        assert all(map(np.array_equal, numbers(), expected))
