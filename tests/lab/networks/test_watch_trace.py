"""A run that is watched is the run that is not, bit for bit; and a watch ends cleanly."""

import gc
import random
import weakref

import numpy as np
import pytest

import swingby
from tests.lab.networks.watched_data import chain, mse, points

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.torch
SGD, ADAM = torch.optim.SGD, torch.optim.Adam


class Noisy(torch.nn.Module):
    """Draws from three random sources at each call, and counts calls."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 3)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        noise = torch.rand(()) + random.random() + np.random.rand()  # noqa: NPY002
        return self.layer(x) + 0.01 * noise


def normed():
    return torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.2), torch.nn.Linear(8, 3)
    )


def rectified():
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))


TRAININGS = {
    "law": (lambda: chain(4, 8, 3, dtype=torch.float32), SGD, {"lr": 0.01, "momentum": 0.9}),
    "copy": (rectified, ADAM, {"lr": 1e-3}),
    "BatchNorm and Dropout": (normed, SGD, {"lr": 0.01}),
    "random sources": (Noisy, SGD, {"lr": 0.01}),
    "RMSprop": (rectified, torch.optim.RMSprop, {"lr": 1e-3}),
}


def run(name, *, watched, batch, steps=70):
    """All that a training leaves: parameters, averages, gradients, modes, random states."""
    make, kind, settings = TRAININGS[name]
    torch.manual_seed(3)
    random.seed(3)
    np.random.seed(3)  # noqa: NPY002
    X, Y = points(dtype=torch.float32)
    model = make()
    optimizer = kind(model.parameters(), **settings)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 20, gamma=0.5)
    seen = []
    for module in model.modules():
        module.register_forward_hook(lambda module, args, out: seen.append(type(module)))
    watch = swingby.watch(model, optimizer, X, Y, at=[5, 30]) if watched else None
    losses = []
    for step in range(steps):
        rows = torch.randperm(60)[:batch]
        optimizer.zero_grad()
        loss = mse(model(X[rows]), Y[rows])
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        if watch is not None and step % 20 == 0:
            str(watch)
            if watch.grade != "none" and (batch == 60 or step >= 20):
                watch.forecast()
    state = [entry.clone() for entry in (*model.parameters(), *model.buffers())]
    state += [entry.grad.clone() for entry in model.parameters()]
    averages = [
        value
        for entry in model.parameters()
        for value in optimizer.state[entry].values()
        if torch.is_tensor(value)
    ]
    modes = [module.training for module in model.modules()]
    numpy_state = np.random.get_state()  # noqa: NPY002
    sources = (torch.get_rng_state().tolist(), random.getstate(), str(numpy_state))
    return watch, [*state, *averages], (losses, modes, sources, len(seen))


@pytest.mark.parametrize("batch", [60, 20])
@pytest.mark.parametrize("name", TRAININGS)
def test_a_watched_run_is_the_same_bit_for_bit(name, batch):
    watch, tensors, facts = run(name, watched=True, batch=batch)
    _, expected_tensors, expected_facts = run(name, watched=False, batch=batch)
    assert watch.step == 70
    assert facts == expected_facts
    assert len(tensors) == len(expected_tensors)
    assert all(map(torch.equal, tensors, expected_tensors))
    assert not any("ended" in note for note in watch.notes)


def test_what_the_caller_has_switched_stays():
    X, Y = points()
    model = chain(4, 8, 3)
    model[0].eval()
    optimizer = SGD(model.parameters(), lr=0.01)
    with torch.no_grad():
        watch = swingby.watch(model, optimizer, X, Y)
        assert not torch.is_grad_enabled()
        watch.forecast()
    assert [module.training for module in model] == [False, True]
    assert all(entry.grad is None for entry in model.parameters())
    torch.set_default_dtype(torch.float64)
    try:
        assert swingby.watch(model, optimizer, X, Y).grade == "law"
        assert torch.get_default_dtype() is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_closures_are_called_once_a_step():
    X, Y = points()
    model = chain(4, 8, 3)
    optimizer = SGD(model.parameters(), lr=0.01)
    watch = swingby.watch(model, optimizer, X, Y)
    calls = []

    def closure():
        calls.append(1)
        optimizer.zero_grad()
        loss = mse(model(X), Y)
        loss.backward()
        return loss

    for _ in range(40):
        optimizer.step(closure)
    assert len(calls) == watch.step == 40
    assert watch.grade == "law"
    assert watch.notes == ()


def train(model, optimizer, X, Y, steps):
    for _ in range(steps):
        optimizer.zero_grad()
        mse(model(X), Y).backward()
        optimizer.step()


def test_the_hook_is_gone_after_close_after_a_block_and_with_its_watch():
    X, Y = points()
    model = chain(4, 8, 3)
    optimizer = SGD(model.parameters(), lr=0.01)
    hooks = optimizer._optimizer_step_post_hooks
    with swingby.watch(model, optimizer, X, Y) as watch:
        train(model, optimizer, X, Y, 3)
        assert len(hooks) == 1
        assert not watch.closed
    assert not hooks
    assert watch.closed
    train(model, optimizer, X, Y, 3)
    assert watch.step == 3
    watch.close()
    with pytest.raises(swingby.SwingbyError, match=r"closed: swingby.watch\(...\) begins another"):
        watch.forecast()
    second = swingby.watch(model, optimizer, X, Y)
    assert len(hooks) == 1
    del second
    gc.collect()
    train(model, optimizer, X, Y, 1)
    assert not hooks


def test_two_watches_at_once_do_not_disturb_each_other():
    X, Y = points()
    model = chain(4, 8, 3)
    optimizer = SGD(model.parameters(), lr=0.05)
    watches = [swingby.watch(model, optimizer, X, Y, level=level) for level in (0.5, 0.9)]
    train(model, optimizer, X, Y, 300)
    early, late = (watch.learned for watch in watches)
    assert (early[:2] < late[:2]).all()
    for watch in watches:
        reached = np.isfinite(watch.learned)
        assert np.array_equal(watch.forecasts[0].half_times[reached], watch.learned[reached])


def test_a_watch_keeps_neither_model_nor_optimizer():
    X, Y = points()
    model = chain(4, 8, 3)
    optimizer = SGD(model.parameters(), lr=0.01)
    watch = swingby.watch(model, optimizer, X, Y)
    train(model, optimizer, X, Y, 20)
    gone = weakref.ref(model), weakref.ref(optimizer)
    del model
    gc.collect()
    assert gone[0]() is None
    optimizer.step()
    assert "the model is gone" in str(watch)
    assert watch.closed
    del optimizer
    gc.collect()
    assert gone[1]() is None
    assert "Watch" in str(watch)


def test_a_watch_that_fails_ends_and_the_training_goes_on(monkeypatch):
    X, Y = points()
    model = chain(4, 8, 3)
    optimizer = SGD(model.parameters(), lr=0.01)
    watch = swingby.watch(model, optimizer, X, Y)

    def broken():
        raise RuntimeError("no memory")

    monkeypatch.setattr(watch._observer, "look", broken)
    train(model, optimizer, X, Y, 5)
    assert watch.closed
    assert watch.notes == ("the watch ended at step 1: no memory",)


def test_a_diverging_run_ends_the_watch():
    X, Y = points()
    model = chain(4, 8, 3, scale=1.0)
    optimizer = SGD(model.parameters(), lr=30.0)
    watch = swingby.watch(model, optimizer, X, Y)
    train(model, optimizer, X, Y, 30)
    assert watch.closed
    assert watch.reason == "the outputs are not finite"


def test_looks_thin_out():
    """Less than 250 in 1e5 steps: 8 % apart, and few about each step that is learned."""
    X, Y = points(1)
    model = chain(4, 8, 3, scale=0.02)
    optimizer = SGD(model.parameters(), lr=0.02)
    watch = swingby.watch(model, optimizer, X, Y)
    train(model, optimizer, X, Y, 1200)
    assert np.isfinite(watch.learned).all()
    assert (watch.learned - watch.not_before == 1).all()
    assert len(watch.steps) < 230
    watch.step = 99_000
    assert watch._next_look() > 101_000
