"""What the predictions rest on, each against another way to compute it."""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest

from swingby.theory.task import SIMTask

pytest.importorskip("torch")

import torch

from swingby.lab.diffusion.signals import Noise
from swingby.lab.diffusion.vectors import VectorSetting, scatter
from swingby.lab.diffusion.vectors.vector_setting import SCHEDULE
from swingby.lab.diffusion.vectors.vector_training import batches, losses, stacked, train_vectors

pytestmark = pytest.mark.torch

TASK = SIMTask([1, 2, 1.4], ["1/5", "1/10", "3/10"])


def within_errors(drawn, expected, errors=5.0):
    """The mean of what is drawn is so many standard errors off at most; the standard error."""
    error = np.std(drawn, axis=0, ddof=1) / math.sqrt(len(drawn))
    assert (np.abs(np.mean(drawn, axis=0) - expected) <= errors * error).all()
    return error


@pytest.mark.parametrize("ends", [(-5, 10), (-6, 8)])
def test_the_form_is_the_integral_of_its_definition(ends):
    a = 0.7

    def inside(gamma):
        s = mpmath.sqrt(1 / (1 + mpmath.exp(-gamma)))
        signal = mpmath.sqrt(1 - s**2)
        of_c, of_z = signal / s, (1 - s) / s
        # Of the residual by W and by P: what the datum and the noise are multiplied with.
        data, noise = (of_c, -of_z * signal), (0, of_z * s)
        return [[a * data[i] * data[j] + noise[i] * noise[j] for j in (0, 1)] for i in (0, 1)]

    (form,) = Noise(*ends).form(np.array([a]))
    for i, j in np.ndindex(2, 2):
        expected = mpmath.quad(lambda gamma: inside(gamma)[i][j], [ends[0], 0, 5, ends[1]])  # noqa: B023
        assert form[i, j] == pytest.approx(float(expected), rel=1e-12)


def many_losses(setting, weights):
    """Diffusion losses of 200 batches."""
    source = batches([setting])
    return [float(losses(setting, weights, *next(source))) for _ in range(200)]


def test_the_diffusion_loss_is_the_loss_of_the_task():
    # int alpha^2 dgamma times (2.1), and s/2 int (1 - sigma)^2 dgamma.
    setting = VectorSetting(TASK, "linear", omega=0.4, lr=0.1, batch=400, seed=1)
    (W,) = (one.numpy()[0] for one in stacked([setting]))
    rest = np.eye(3) - W
    sim = 0.5 * np.trace(rest @ np.diag(TASK.signal) @ rest.T)
    expected = SCHEDULE.signal * sim + 1.5 * SCHEDULE.rest
    assert within_errors(many_losses(setting, stacked([setting])), expected) < 0.005 * expected


def test_where_both_are_read_the_loss_is_the_form():
    setting = VectorSetting(TASK, "linear", "both", lr=0.1, batch=400, seed=1)
    W, P = np.array([0.9, 0.5, 0.2]), np.array([0.8, 0.6, -0.1])
    weights = [torch.from_numpy(np.hstack([np.diag(W), np.diag(P)]))[None]]
    rest = np.stack([1 - W, 1 - P], 1)
    form = SCHEDULE.form(TASK.signal)
    expected = 0.5 * np.einsum("pi,pij,pj->", rest, form, rest)
    assert within_errors(many_losses(setting, weights), expected) < 0.03 * expected


def moment_of(setting, x, t):
    """S of a batch."""
    gamma = SCHEDULE.at(t.numpy())
    weight = SCHEDULE.range / (1 + np.exp(gamma))
    return (x.numpy() * weight[:, None]).T @ x.numpy() / len(x)


def test_with_pairs_of_noise_the_gradient_is_that_of_the_moment():
    # Exactly, batch by batch: what noise adds cancels.
    setting = VectorSetting(TASK, "linear", omega=0.4, lr=0.1, seed=3)
    weights = [one.requires_grad_() for one in stacked([setting])]
    batch = next(batches([setting]))
    (found,) = torch.autograd.grad(losses(setting, weights, *batch).sum(), weights)
    x, _, t = batch
    W = weights[0].detach().numpy()[0]
    expected = -(np.eye(3) - W) @ moment_of(setting, x, t)
    assert np.abs(found.numpy()[0] - expected).max() < 1e-12 * np.abs(expected).max() * 100


@pytest.mark.parametrize("m", [2, pytest.param(16, marks=pytest.mark.full)])
def test_batches_vary_as_they_are_said_to(m):
    setting = VectorSetting(TASK, "linear", lr=0.1, batch=m, seed=2)
    source = batches([setting])
    given = (next(source) for _ in range(6000))
    drawn = np.stack([moment_of(setting, x, t) for x, _, t in given])
    within_errors(drawn, SCHEDULE.signal * np.diag(TASK.signal))
    rest = drawn - drawn.mean(0)
    own = np.diagonal(rest, axis1=1, axis2=2)
    diagonal, beside = scatter.signal_variances(setting)
    within_errors(own[:, :, None] * own[:, None, :], diagonal)
    within_errors(rest**2 * ~np.eye(3, dtype=bool), beside)


def test_batches_vary_as_they_are_said_to_where_both_are_read():
    setting = VectorSetting(TASK, "linear", "both", lr=0.1, batch=4, seed=2)
    source, found = batches([setting]), []
    for _ in range(6000):
        x, noise, t = (one.numpy() for one in next(source))
        sigma = np.sqrt(1 / (1 + np.exp(-SCHEDULE.at(t))))[:, None]
        alpha = np.sqrt(1 - sigma**2)
        z = alpha * x + sigma * noise
        of_c, of_z = alpha / sigma * x, (1 - sigma) / sigma * z
        entries = np.stack([of_c**2, -of_c * of_z, of_z**2], -1)
        found.append(SCHEDULE.range * entries.mean(0))
    drawn = np.stack(found)
    form = SCHEDULE.form(TASK.signal)
    mean = np.stack([form[:, 0, 0], form[:, 0, 1], form[:, 1, 1]], -1)
    within_errors(drawn, mean)
    rest = drawn - drawn.mean(0)
    products = rest[..., :, None] * rest[..., None, :]
    within_errors(products, scatter.form_covariances(setting))


@pytest.mark.parametrize("steps", [3, 40])
def test_samples_have_the_mean_and_covariance_of_the_recursion(steps):
    setting = VectorSetting(TASK, "linear", omega=0.4, lr=0.05, steps=3, batch=50)
    run, n = train_vectors([setting, replace(setting, seed=5)]), 4000
    found = run.sampled(2, n, seed=1, steps=steps)
    gamma = SCHEDULE.at(np.linspace(1.0, 0.0, steps + 1))
    kept, variance = 1.0, 1 + math.exp(SCHEDULE.high)
    for deviation, kappa, later in zip(*SCHEDULE.sampler(steps), gamma[1:], strict=True):
        kept *= 1 - deviation * kappa
        variance = (1 - deviation * kappa) ** 2 * variance + math.exp(later) * kappa
    off = found.mean - (1 - kept) * run.output[:, 2]
    assert np.abs(off).max() < 5 * math.sqrt(variance / n)
    # The relative standard error of a variance is sqrt(2/n), that of a covariance 1/sqrt(n).
    assert np.abs(found.covariance / variance - np.eye(3)).max() < 5 * math.sqrt(2 / n)


def test_where_both_are_read_samples_have_the_mean_of_the_recursion():
    setting = VectorSetting(TASK, "linear", "both", omega=0.3, lr=3e-4, steps=60, sample_steps=25)
    run = train_vectors(setting)
    found = run.sampled(60, 4000)
    within_errors(np.moveaxis(found.samples, 2, 0), run.output[:, 60])
