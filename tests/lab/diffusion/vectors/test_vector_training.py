"""Training of stacked denoisers: the same alone and in company, and the same as the SIM task."""

from dataclasses import replace

import numpy as np
import pytest

from swingby.theory.task import SIMTask

pytest.importorskip("torch")

import torch

from swingby.lab.diffusion.vectors import VectorSetting, train_vectors
from swingby.lab.diffusion.vectors.vector_setting import SCHEDULE
from swingby.lab.diffusion.vectors.vector_training import batches, network, stacked

pytestmark = pytest.mark.torch

BASE = VectorSetting(SIMTask([1, 2], "1/10"), width=5, omega=1e-2, eta=0.05, steps=70, batch=4)
OTHER = replace(BASE, task=SIMTask([3, 1], "1/5"), omega=1e-3, eta=0.02, seed=9)
KINDS = (
    {},
    {"denoiser": "symmetric"},
    {"denoiser": "linear", "width": None},
    {"denoiser": "mlp"},
    {"denoiser": "mlp", "activation": "gelu"},
    {"reads": "both", "eta": None, "lr": 1e-3},
    {"denoiser": "linear", "width": None, "reads": "both", "eta": None, "lr": 1e-3},
    {"antithetic": False},
)


@pytest.mark.parametrize("change", KINDS)
def test_a_setting_is_the_same_in_any_company(change):
    settings = [replace(one, **change) for one in (BASE, OTHER)]
    together = train_vectors(settings)
    again = train_vectors(settings)
    for place, one in enumerate(settings):
        alone = train_vectors(one)
        for first, second, third in zip(
            together.weights, alone.weights, again.weights, strict=True
        ):
            # Rounding of products of other shapes, grown over 70 steps.
            assert np.abs(first[place] - second[0]).max() < 1e-11
            assert (first == third).all()
    assert np.abs(together.weights[0][0] - together.weights[0][1]).max() > 1e-3
    assert (len(together), str(together).partition(":")[0]) == (2, "2 denoisers")


def test_seeds_change_weights_points_and_times():
    first, second = (next(batches([replace(BASE, seed=k)])) for k in (0, 1))
    for one, other in zip(first, second, strict=True):
        assert not torch.equal(one, other)
    one, other = (stacked([replace(BASE, seed=k)])[0] for k in (0, 1))
    assert not torch.equal(one, other)
    source = batches([BASE])
    assert not torch.equal(next(source)[0], next(source)[0])


def test_points_are_those_of_the_task():
    x, noise, t = next(batches([replace(BASE, batch=20_000)]))
    half = len(x) // 2
    assert torch.equal(x[:half], x[half:])
    assert torch.equal(noise[:half], -noise[half:])
    moment = (x[:half].T @ x[:half] / half).numpy()
    assert moment == pytest.approx(np.diag(BASE.task.signal), abs=0.02)
    # Every cluster has times of its own that are evenly spread.
    for k in range(2):
        mine = np.sort(t[:half][x[:half, k] > 0.5].numpy())
        assert np.abs(np.diff(mine) - 1 / 20_000).max() < 1e-6


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_an_mlp_is_trained_as_on_the_task_and_its_jacobian_that_of_autograd(activation):
    # A second implementation: the loss (2.1) of f, points weighted with 15 alpha^2.
    setting = replace(BASE, denoiser="mlp", activation=activation, width=7)
    run = train_vectors(setting)
    weights = [one.requires_grad_() for one in stacked([setting])]
    source = batches([setting])
    for _ in range(setting.steps):
        x, _, t = next(source)
        weight = SCHEDULE.range * torch.sigmoid(-(SCHEDULE.low + SCHEDULE.range * t))
        rest = network(setting, weights, x[None])[0] - x
        gradients = torch.autograd.grad((0.5 * weight[:, None] * rest**2).sum() / len(x), weights)
        with torch.no_grad():
            for one, gradient in zip(weights, gradients, strict=True):
                one -= setting.rate * gradient
    for mine, other in zip(run.weights, weights, strict=True):
        assert np.abs(mine[0, -1] - other.detach().numpy()[0]).max() < 1e-11
    weights = [torch.from_numpy(one[:, 50].copy()) for one in run.weights]
    point = torch.from_numpy(run.points[0, -1])
    found = torch.autograd.functional.jacobian(
        lambda x: network(setting, weights, x[None, None])[0, 0], point
    )
    assert run.jacobian[0, 50] == pytest.approx(found.numpy(), abs=1e-12)
    output = network(setting, weights, torch.from_numpy(run.points)).numpy()
    assert run.output[0, 50] == pytest.approx(output[0], abs=1e-12)


def test_half_times_and_turns_are_those_of_the_curves():
    run = train_vectors(replace(BASE, denoiser="linear", width=None, steps=120))
    assert run.jacobian.shape == (1, 121, 2, 2)
    assert run.output.shape == (1, 121, 4, 2)
    for p in range(2):
        step = int(run.half_times[0, p])
        assert run.jacobian[0, step, p, p] >= 0.5 > run.jacobian[0, step - 1, p, p]
    assert run.descents().tolist() == [1]
    assert run.test_loss[0, 0] == pytest.approx(0.5 * (1 + 4), rel=0.1)
    assert run.order().tolist() == [[1, 0]]


def test_a_run_that_runs_away_says_so():
    run = train_vectors(replace(BASE, denoiser="linear", width=None, eta=3.0, steps=200))
    assert run.diverged.tolist() == [True]
    assert run.descents().tolist() == [-1]
    assert "ran away" in str(run)


def test_the_clock_of_a_setting():
    # softplus(5) - softplus(-10); U U^T enters the loss by both factors.
    assert replace(BASE, omega="1e-3").omega == 1e-3
    assert BASE.clock == pytest.approx(5.006669949589901, rel=1e-14)
    assert replace(BASE, eta="1/50").step == pytest.approx(0.02, rel=1e-15)
    assert replace(BASE, denoiser="symmetric").rate == pytest.approx(BASE.rate / 2, rel=1e-15)
