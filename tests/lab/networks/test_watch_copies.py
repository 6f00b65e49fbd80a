"""Coarse copies: their steps against torch's own, and forecasts against plain loops."""

import copy
import math

import numpy as np
import pytest

import swingby
from tests.lab.networks.watched_data import chain, first_steps, mse, points

torch = pytest.importorskip("torch")

from swingby.lab.networks.watching.coarse_copy import (  # noqa: E402
    Copied,
    CopyPlan,
    _CoarseRun,
    _memory,
    _Pace,
)
from swingby.lab.networks.watching.components import components  # noqa: E402
from swingby.lab.networks.watching.observer import Observer  # noqa: E402
from swingby.lab.networks.watching.update_rule import LearningRates  # noqa: E402

pytestmark = pytest.mark.torch
SGD, ADAM, ADAMW = torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW


def perceptron(seed=0, activation=torch.nn.ReLU, scale=None, dtype=torch.float64):
    """4-16-3 with biases."""
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(4, 16), activation(), torch.nn.Linear(16, 3))
    if scale is not None:
        with torch.no_grad():
            for entry in model.parameters():
                entry.mul_(scale)
    return model.to(dtype)


def observer_of(model, X, Y, loss=mse):
    """What a watch would look with."""
    data = components(X.double().numpy(), Y.double().numpy(), centred=True)
    return Observer(model, X, Y, loss, data)


RULES = {
    "SGD": (SGD, {"lr": 0.05}),
    "momentum": (SGD, {"lr": 0.02, "momentum": 0.9, "weight_decay": 0.01}),
    "Nesterov": (SGD, {"lr": 0.02, "momentum": 0.8, "nesterov": True}),
    "Adam": (ADAM, {"lr": 0.01, "weight_decay": 0.02}),
    "AdamW": (ADAMW, {"lr": 0.01, "weight_decay": 0.1, "betas": (0.8, 0.99), "eps": 1e-4}),
}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("begun", [0, 7])
def test_copies_in_steps_of_1_are_the_optimizer(name, begun):
    """From a fresh optimizer, and from its averages after some steps; in two groups."""
    kind, settings = RULES[name]
    X, Y = points()
    model = perceptron()
    first, last = model[0], model[2]
    optimizer = kind([{"params": first.parameters(), "lr": 0.03}, {"params": last.parameters()}],
                     **settings)  # fmt: skip

    def train(steps):
        for _ in range(steps):
            optimizer.zero_grad()
            (0.7 * mse(model(X), Y)).backward()
            norm = math.sqrt(sum(float(p.grad.square().sum()) for p in model.parameters()))
            for entry in model.parameters():
                entry.grad *= min(1.0, 0.4 / norm)  # torch's own adds 1e-6 to the norm
            optimizer.step()

    train(begun)
    observer = observer_of(model, X, Y)
    plan = CopyPlan(0.999, 0.7, 0.4, 24.5, LearningRates(optimizer, 0), 0)
    run = _CoarseRun(observer, optimizer, plan)
    run.crossings(_Pace(math.inf, [(0.0, 1.0)]), 1.0, 10**6)
    train(run.gradients - 1)
    assert run.gradients > 15
    for mine, theirs in zip(run.net.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-9, atol=1e-12)


def test_the_memory_of_long_steps_has_the_same_lag():
    """An average with memory beta looks back beta / (1 - beta) steps on average."""
    for beta in (0.5, 0.9, 0.999):
        assert _memory(beta, 1.0) == pytest.approx(beta)
        for length in (1.0, 3.0, 40.0):
            weights = _memory(beta, length) ** np.arange(40_000)
            lag = length * (weights * np.arange(40_000)).sum() / weights.sum()
            assert lag == pytest.approx(beta / (1 - beta), rel=1e-3)


CASES = {
    "ReLU, SGD": (perceptron, {"scale": 0.2}, SGD, {"lr": 0.02}),
    "tanh, momentum": (
        perceptron,
        {"activation": torch.nn.Tanh},
        SGD,
        {"lr": 0.002, "momentum": 0.9},
    ),
    "GELU, AdamW": (perceptron, {"activation": torch.nn.GELU}, ADAMW, {"lr": 5e-4}),
    "linear, Adam": (chain, {"scale": 0.05}, ADAM, {"lr": 5e-4}),
    "float32, Adam": (perceptron, {"dtype": torch.float32}, ADAM, {"lr": 5e-4}),
}


@pytest.mark.parametrize("name", CASES)
def test_a_copy_forecasts_the_steps_that_come(name):
    make, start, kind, settings = CASES[name]
    X, Y = points(1, start.get("dtype", torch.float64))
    model = make(4, 8, 3, **start) if make is chain else make(**start)
    optimizer = kind(model.parameters(), **settings)
    watch = swingby.watch(model, optimizer, X, Y, steps=3000, share=1.0)
    assert watch.grade == "copy"
    learned = first_steps(model, optimizer, X, Y, 1500, centred=make is not chain)
    watch.close()
    assert np.isfinite(learned).all()
    assert np.array_equal(watch.learned, learned)
    forecast = watch.forecasts[0]
    assert forecast.inside(learned).all()
    assert (np.abs(forecast.half_times - learned) <= 0.02 * learned + 1).all()


def test_a_schedule_is_followed_as_a_function_and_as_a_scheduler():
    X, Y = points(1)
    runs = {}
    for form in ("function", "scheduler", "unknown"):
        model = chain(4, 8, 3, scale=0.02)
        optimizer = SGD(model.parameters(), lr=0.03)
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.998**step)
        schedule = {"function": lambda step: 0.03 * 0.998**step, "scheduler": scheduler}.get(form)
        watch = swingby.watch(model, optimizer, X, Y, schedule=schedule, steps=5000, share=1.0)

        def follow(step, scheduler=scheduler):
            if step > 1:
                scheduler.step()

        learned = first_steps(model, optimizer, X, Y, 1200, before=follow)
        watch.close()
        runs[form] = watch
        assert np.array_equal(watch.learned, learned, equal_nan=True)
    for form in ("function", "scheduler"):
        (forecast,) = runs[form].forecasts
        assert runs[form].reason == "the learning rate follows a schedule"
        assert forecast.void_from is None
        finite = np.isfinite(learned)
        assert finite.sum() >= 2
        assert np.array_equal(forecast.half_times[finite], learned[finite])
    assert "schedule=scheduler" in runs["unknown"].notes[0]
    assert runs["unknown"].forecasts[0].void_from == 2


@pytest.mark.parametrize(
    "make",
    [
        lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 30, eta_min=1e-3),
        lambda o: torch.optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=40),
        lambda o: torch.optim.lr_scheduler.SequentialLR(
            o,
            [
                torch.optim.lr_scheduler.LinearLR(o, 0.1, total_iters=5),
                torch.optim.lr_scheduler.ExponentialLR(o, 0.9),
            ],
            [5],
        ),
    ],
    ids=["cosine", "one cycle", "sequential"],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_learning_rates_ahead_are_those_of_the_scheduler(make):
    groups = [{"params": [torch.zeros(2, requires_grad=True)], "lr": 0.05},
              {"params": [torch.zeros(2, requires_grad=True)]}]  # fmt: skip
    optimizer = SGD(groups, lr=0.02, momentum=0.5)
    scheduler = make(optimizer)
    ahead = LearningRates(optimizer, 0, scheduler, every=2)
    for step in range(30):
        expected = [group["lr"] for group in optimizer.param_groups]
        np.testing.assert_allclose(ahead.at(step)[0], expected, rtol=1e-12)
        momenta = [group["momentum"] for group in optimizer.param_groups]
        np.testing.assert_allclose(ahead.at(step)[1], momenta, rtol=1e-12)
        if step % 2:
            scheduler.step()
    rates = [ahead.at(step)[0, 0] for step in range(12)]
    # Half of step 3, steps 4 to 9, a quarter of step 10.
    total = 0.5 * rates[3] + sum(rates[4:10]) + 0.25 * rates[10]
    assert ahead.mean(3.5, 10.25)[0, 0] == pytest.approx(total / 6.75)


@pytest.mark.parametrize("kind", [SGD, ADAM])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_momentum_that_cycles_is_followed(kind):
    X, Y = points(1)
    model = chain(4, 8, 3, scale=0.02)
    settings = {"momentum": 0.9} if kind is SGD else {}
    optimizer = kind(model.parameters(), lr=1e-3, **settings)
    most = 0.02 if kind is SGD else 0.01
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, most, total_steps=600)
    watch = swingby.watch(model, optimizer, X, Y, schedule=scheduler, share=0.1)
    learned = first_steps(
        model, optimizer, X, Y, 599, before=lambda step: step > 1 and scheduler.step()
    )
    (forecast,) = watch.forecasts
    assert np.isfinite(learned).all()
    assert forecast.inside(learned).all()


def test_a_momentum_off_its_schedule_is_said():
    X, Y = points(1)
    model = chain(4, 8, 3, scale=0.02)
    optimizer = SGD(model.parameters(), lr=0.01, momentum=0.5)
    watch = swingby.watch(model, optimizer, X, Y, schedule=lambda _: 0.01)

    def quicker(step):
        optimizer.param_groups[0]["momentum"] = 0.5 if step < 20 else 0.8

    first_steps(model, optimizer, X, Y, 40, before=quicker)
    assert any("the momentum is 0.8, not the 0.5 of the schedule" in note for note in watch.notes)
    assert watch.forecasts[0].void_from < 40


def test_clipping_is_noticed_and_followed():
    X, Y = points(1)
    model = perceptron(scale=0.2)
    optimizer = SGD(model.parameters(), lr=0.02)
    watch = swingby.watch(model, optimizer, X, Y, steps=5000, share=1.0)

    def clip(step):
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)

    learned = first_steps(model, optimizer, X, Y, 1500, centred=True, before=clip)
    first, *_, last = watch.forecasts
    assert [note.split(": ")[1] for note in watch.notes] == [
        "gradients are clipped to the norm 0.25"
    ]
    assert first.void_from == 1
    assert last.made_at <= 3
    assert last.inside(learned).all()
    assert np.abs(last.half_times / learned - 1).max() < 0.01


def test_a_clip_that_comes_later_is_noticed():
    X, Y = points(1)
    model = chain(4, 8, 3, scale=0.02)
    optimizer = SGD(model.parameters(), lr=0.02)
    watch = swingby.watch(model, optimizer, X, Y, steps=5000, share=1.0)

    def clip(step):
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.3)

    first_steps(model, optimizer, X, Y, 400, before=clip)
    assert watch.grade == "copy"
    assert watch.reason == "gradients are clipped"
    assert watch.forecasts[0].grade == "law"
    assert watch.forecasts[0].void_from > 3


def test_a_loss_that_changes_is_withdrawn():
    X, Y = points(1)
    model = chain(4, 8, 3)
    optimizer = SGD(model.parameters(), lr=0.01)
    watch = swingby.watch(model, optimizer, X, Y)
    for step in range(60):
        optimizer.zero_grad()
        mse(model(X), Y + (step > 25)).backward()
        optimizer.step()
    assert watch.grade == "none"
    assert "off those of the loss at X, Y, and were not" in watch.reason
    assert 26 < watch.forecasts[0].void_from <= 50
    with pytest.raises(swingby.SwingbyError, match="there is no forecast: gradients are"):
        watch.forecast()


def test_what_copies_disagree_on_is_no_forecast(monkeypatch):
    from swingby.lab.networks.watching import forecaster

    X, Y = points(1)
    model = perceptron()
    optimizer = SGD(model.parameters(), lr=0.01)
    copied = Copied(np.array([100.0, 200.0, np.nan]), np.array([1.0, 60.0, np.inf]), 10)
    monkeypatch.setattr(forecaster, "copied_half_times", lambda *_: copied)
    forecast = swingby.watch(model, optimizer, X, Y).forecasts[0]
    assert forecast.half_times[0] == 100
    assert forecast.error[0] == pytest.approx(2.7)
    assert np.isnan(forecast.half_times[1:]).all()


@pytest.mark.parametrize("kind", [SGD, ADAM])
def test_a_component_that_is_never_learned_costs_the_others_nothing(kind):
    X, Y = points(1)
    model = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.Linear(2, 3)).double()
    with torch.no_grad():
        for entry in model.parameters():
            entry.mul_(0.1)
    optimizer = kind(model.parameters(), lr=0.02 if kind is SGD else 2e-3)
    watch = swingby.watch(model, optimizer, X, Y)
    learned = first_steps(model, optimizer, X, Y, 700, centred=True)
    assert np.isfinite(learned).sum() >= 2
    (forecast,) = watch.forecasts
    assert np.array_equal(np.isfinite(forecast.half_times), np.isfinite(learned))
    assert forecast.inside(learned)[np.isfinite(learned)].all()


def test_a_frozen_layer_is_not_moved():
    X, Y = points(1)
    model = perceptron()
    model[0].requires_grad_(False)
    before = copy.deepcopy(model[0].state_dict())
    optimizer = SGD(model.parameters(), lr=0.02)
    observer = observer_of(model, X, Y)
    plan = CopyPlan(0.999, 1.0, math.inf, 20.0, LearningRates(optimizer, 0), 0)
    run = _CoarseRun(observer, optimizer, plan)
    run.crossings(_Pace(24.0, [(0.0, 9.0)]), 1.0, 100)
    assert torch.equal(run.net[0].weight, before["weight"])
    assert not torch.equal(run.net[2].weight, model[2].weight)
