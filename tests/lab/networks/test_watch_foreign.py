"""Trainings that are not what `swingby.watch` was told: other losses, penalties, moved weights."""

import numpy as np
import pytest

import swingby
from tests.lab.networks.watched_data import chain, first_steps, mse, points

torch = pytest.importorskip("torch")
F = torch.nn.functional

pytestmark = pytest.mark.torch


def watched(steps=60, *, loss=mse, before=None, rows=None, lr=0.02, stated="mse"):
    """A watch of a chain, and the steps at which its components are learned."""
    X, Y = points()
    model = chain(4, 8, 3, scale=0.02)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    watch = swingby.watch(model, optimizer, X, Y, loss=stated)
    for step in range(steps):
        chosen = slice(None) if rows is None else rows(step)
        optimizer.zero_grad()
        loss(model(X[chosen]), Y[chosen]).backward()
        if before is not None:
            before(step, model)
        optimizer.step()
    watch.close()
    return watch


def decayed(step, model):
    for entry in model.parameters():
        entry.grad += 0.3 * entry.detach()


@pytest.mark.parametrize(
    "loss",
    [
        F.l1_loss,
        lambda outputs, Y: F.huber_loss(outputs, Y, delta=0.3),
        lambda outputs, Y: F.cross_entropy(outputs, Y.softmax(1)),
        lambda outputs, Y: mse(outputs, Y) + 0.05 * outputs.abs().mean(),
    ],
    ids=["l1", "huber", "cross entropy", "a penalty of outputs"],
)
def test_a_loss_that_was_not_stated_is_no_minibatch(loss):
    watch = watched(loss=loss)
    assert watch.grade == "none"
    assert "give it as loss=" in watch.reason
    assert all(forecast.void_from == 1 for forecast in watch.forecasts)
    assert not any("points" in note for note in watch.notes if "of about" in note)


def test_a_penalty_of_the_loop_is_no_minibatch():
    watch = watched(before=decayed)
    assert watch.grade == "none"
    assert "penalty that the loop adds" in watch.reason


def test_a_stated_loss_is_copied():
    assert watched(20, loss=F.l1_loss, stated=F.l1_loss).grade == "copy"


@pytest.mark.parametrize("replacement", [True, False])
def test_noise_of_minibatches_stays_noise(replacement):
    """Of every size, also of one direction alone."""
    for seed, batch in enumerate((1, 6, 30, 45)):
        rng = np.random.default_rng(seed)
        order = np.concatenate([rng.permutation(60) for _ in range(80)])
        drawn = rng.integers(0, 60, order.size) if replacement else order
        watch = watched(100, rows=lambda step, b=batch, d=drawn: d[step * b : (step + 1) * b])
        assert watch.grade == "law", (batch, watch.reason)


def test_a_multiple_that_changes_in_minibatches_voids_the_law():
    """A loss that is linear far away has a small multiple first, and that of the square later."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 60, (1500, 6))
    watch = watched(
        1500,
        loss=lambda outputs, Y: F.huber_loss(outputs, Y, delta=0.3),
        rows=rows.__getitem__,
        lr=0.05,
    )
    assert watch.grade == "none"
    assert "off" in watch.reason


def test_a_larger_multiple_in_minibatches_voids_the_law():
    """The loop multiplies gradients by 3 from step 300 on: none of it is aside from the loss."""

    def tripled(step, model):
        for entry in model.parameters() if step >= 300 else ():
            entry.grad *= 3

    rows = np.random.default_rng(0).integers(0, 60, (600, 30))
    watch = watched(600, before=tripled, rows=rows.__getitem__, lr=0.005)
    assert watch.grade == "none"
    assert "% off those of the loss" in watch.reason


def test_weights_that_are_changed_void_the_forecast_and_renew_it():
    def shrunk(step, model):
        if step == 60:
            with torch.no_grad():
                for entry in model.parameters():
                    entry.mul_(0.1)

    watch = watched(800, before=shrunk)
    first, second = watch.forecasts
    assert first.void_from <= 61 <= second.made_at <= 66
    assert any("weights were changed" in note for note in watch.notes)
    waiting = ~(watch.learned <= 61)
    assert waiting.any()
    np.testing.assert_array_equal(second.half_times[waiting], watch.learned[waiting])


def test_weights_that_begin_anew_after_the_watch_are_those_that_count():
    X, Y = points()
    model = chain(4, 8, 3, scale=0.02)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    watch = swingby.watch(model, optimizer, X, Y)
    with torch.no_grad():
        for entry in model.parameters():
            entry.mul_(0.1)
    learned = first_steps(model, optimizer, X, Y, 1000)
    assert [forecast.void_from for forecast in watch.forecasts] == [1, None]
    np.testing.assert_array_equal(watch.forecasts[-1].half_times, learned)
    assert watch.grade == "law"


def test_weights_that_are_changed_at_every_step_leave_no_forecast():
    def clamped(step, model):
        with torch.no_grad():
            for entry in model.parameters():
                entry.clamp_(-0.3, 0.3)

    watch = watched(20, before=clamped)
    assert watch.grade == "none"
    assert "changes the weights between steps" in watch.reason


@pytest.mark.parametrize(
    "make",
    [
        lambda p: torch.optim.Adam(p, lr=1e-3),
        lambda p: torch.optim.AdamW(p, lr=1e-3, weight_decay=0.1),
        lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9, weight_decay=0.1, foreach=True),
        lambda p: torch.optim.SGD(p, lr=0.01, foreach=False),
    ],
    ids=["Adam", "AdamW", "SGD", "SGD, one by one"],
)
def test_steps_of_optimizers_are_no_change_by_others(make):
    X, Y = points()
    model = chain(4, 8, 3)
    optimizer = make(model.parameters())
    watch = swingby.watch(model, optimizer, X, Y)
    first_steps(model, optimizer, X, Y, 50)
    assert len(watch.forecasts) == 1
    assert watch.forecasts[0].void_from is None
