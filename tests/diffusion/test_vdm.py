"""Variational diffusion: the three parts of the loss, the schedule, and the sampler."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from swingby.diffusion import vdm  # noqa: E402
from swingby.errors import InvalidInput  # noqa: E402

pytestmark = pytest.mark.torch


def schedule_of(low, high, **named):
    return vdm.LinearSchedule(low, high, **named).double()


def numbers(*values):
    return torch.tensor(values, dtype=torch.float64)


def logistic(x):
    return 1 / (1 + math.exp(-x))


def optimal(mean, variance):
    """The noise expected in z, if data are N(mean, variance): sigma (z - alpha m) / var(z)."""

    def denoiser(z, gamma, condition):
        shape = (-1, *[1] * (z.dim() - 1))
        a, s = vdm.alpha(gamma).reshape(shape), vdm.sigma(gamma).reshape(shape)
        return s * (z - a * mean) / (a**2 * variance + s**2)

    return denoiser


def test_the_three_parts_by_hand():
    # gamma(t) = -2 + 5 t; the denoiser says 0.25 z + 0.1 gamma + 0.5 c. Everything below is
    # written out from Kingma et al. (2021), eqs. 11 to 18, in plain arithmetic.
    x = [[0.3, -0.7], [1.1, 0.2]]
    noise = [[0.5, -1.2], [0.4, 2.0]]
    first = [[-0.3, 0.9], [1.5, -0.1]]
    t, told, data_noise = [0.2, 0.9], [1.0, -2.0], 0.5
    expected = []
    for k in range(2):
        gamma = -2 + 5 * t[k]
        a, s = math.sqrt(logistic(-gamma)), math.sqrt(logistic(gamma))
        diffusion = latent = reconstruction = 0.0
        for i in range(2):
            z = a * x[k][i] + s * noise[k][i]
            guess = 0.25 * z + 0.1 * gamma + 0.5 * told[k]
            diffusion += 0.5 * 5 * (noise[k][i] - guess) ** 2
            mean, variance = math.sqrt(logistic(-3)) * x[k][i], logistic(3)
            latent += 0.5 * (variance + mean**2 - 1 - math.log(variance))
            z0 = math.sqrt(logistic(2)) * x[k][i] + math.sqrt(logistic(-2)) * first[k][i]
            off = x[k][i] - z0 / math.sqrt(logistic(2))
            reconstruction += off**2 / (2 * data_noise**2)
            reconstruction += 0.5 * math.log(2 * math.pi * data_noise**2)
        expected.append((diffusion, latent, reconstruction))

    def denoiser(z, gamma, condition):
        return 0.25 * z + 0.1 * gamma[:, None] + 0.5 * condition

    # The first of the numbers, as they come out in 50 digits with mpmath.
    by_mpmath = (4.1933168721298808, 0.014914981617669644, 0.69518621511535771)
    assert expected[0] == pytest.approx(by_mpmath, rel=1e-13)
    for chosen in ([0], [0, 1], [1, 0]):
        found = vdm.loss(
            denoiser,
            schedule_of(-2.0, 3.0),
            numbers(*[x[k] for k in chosen]),
            numbers(*[[told[k]] for k in chosen]),
            t=numbers(*[t[k] for k in chosen]),
            noise=numbers(*[noise[k] for k in chosen]),
            first_noise=numbers(*[first[k] for k in chosen]),
            data_noise=data_noise,
        )
        together = torch.stack([found.diffusion, found.latent, found.reconstruction], dim=1)
        assert torch.allclose(found.total, together.sum(1), rtol=1e-15)
        by_hand = np.array([expected[k] for k in chosen])
        assert together.detach().numpy() == pytest.approx(by_hand, rel=1e-12)


def bound_of(variance, low, high, data_noise, nodes=60):
    """The expected bound for x ~ N(0, v), one number: exact but for the integral over t.

    Each part is a polynomial of degree two in x and the noise, so +-1 standard deviation, each
    sign with each, gives the expectation itself. Times are the nodes of Gauss and Legendre.
    """
    times, weights = np.polynomial.legendre.leggauss(nodes)
    times, weights = (times + 1) / 2, weights / 2
    root = math.sqrt(variance)
    corners = [(a * root, b) for a in (-1, 1) for b in (-1, 1)]
    t = np.repeat(times, 4)
    x = torch.tensor([a for a, _ in corners] * nodes, dtype=torch.float64)[:, None]
    noise = torch.tensor([b for _, b in corners] * nodes, dtype=torch.float64)[:, None]
    found = vdm.loss(
        optimal(0.0, variance),
        schedule_of(low, high),
        x,
        torch.zeros(len(x), 1, dtype=torch.float64),
        t=torch.tensor(t),
        noise=noise,
        first_noise=noise,
        data_noise=data_noise,
    )
    diffusion = float((found.diffusion.detach().numpy() * np.repeat(weights, 4)).sum() / 4)
    return diffusion, found.latent.mean().item(), found.reconstruction.mean().item()


@pytest.mark.parametrize("variance", [0.04, 1.0, 9.0])
@pytest.mark.parametrize("ends", [(-5.0, 10.0), (-2.0, 1.0)])
def test_the_bound_of_a_gaussian_in_closed_form(variance, ends):
    low, high = ends
    diffusion, latent, reconstruction = bound_of(variance, low, high, 0.3)
    # E|eps - E[eps|z]|^2 = v / (v + e^gamma), which integrates to gamma - log(v + e^gamma).
    area = high - low - math.log((variance + math.exp(high)) / (variance + math.exp(low)))
    assert diffusion == pytest.approx(area / 2, rel=1e-10)
    s2 = logistic(high)
    assert latent == pytest.approx(0.5 * (s2 + (1 - s2) * variance - 1 - math.log(s2)), rel=1e-10)
    by_hand = 0.5 * (math.exp(low) / 0.09 + math.log(2 * math.pi * 0.09))
    assert reconstruction == pytest.approx(by_hand, rel=1e-10)


def total_at(low, rise, x, noise):
    schedule = schedule_of(0.0, 1.0)
    with torch.no_grad():
        schedule.start.fill_(low)
        schedule.rise.fill_(rise)
    found = vdm.loss(
        lambda z, gamma, condition: torch.tanh(z) + 0.1 * gamma[:, None],
        schedule,
        x,
        torch.zeros(3, 1, dtype=torch.float64),
        t=numbers(0.1, 0.5, 0.8),
        noise=noise,
        first_noise=noise.flip(0),
        data_noise=0.4,
    )
    return schedule, found


def gradient(schedule, value):
    parameters = [schedule.start, schedule.rise]
    found = torch.autograd.grad(value.sum(), parameters, retain_graph=True, allow_unused=True)
    return [0.0 if one is None else one.item() for one in found]


@pytest.mark.parametrize("rise", [6.0, -6.0])
def test_gradients_of_the_schedule(rise):
    low, step = -3.0, 1e-5
    x, noise = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(1)).double()
    schedule, found = total_at(low, rise, x, noise)
    plain = [
        (total_at(low + a, rise + b, x, noise)[1].total.sum().item()
         - total_at(low - a, rise - b, x, noise)[1].total.sum().item()) / (2 * step)
        for a, b in ((step, 0), (0, step))
    ]  # fmt: skip
    assert gradient(schedule, found.total) == pytest.approx(plain, rel=1e-7)
    # Every part has one, but for that of the reconstruction by gamma_1.
    for part, known in (("diffusion", 2), ("latent", 2), ("reconstruction", 1)):
        values = gradient(schedule, getattr(found, part))
        assert sum(abs(one) > 1e-3 for one in values) == known


def test_the_schedule():
    schedule = vdm.LinearSchedule(-4.0, 8.0)
    t = torch.tensor([0.0, 0.25, 1.0])
    assert schedule(t).tolist() == [-4.0, -1.0, 8.0]
    assert schedule.slope.item() == 12.0
    assert [one.requires_grad for one in schedule.parameters()] == [True, True]
    fixed = vdm.LinearSchedule(-4.0, 8.0, learned=False)
    assert [one.requires_grad for one in fixed.parameters()] == [False, False]
    with torch.no_grad():
        schedule.rise.neg_()
    for ends in ((8.0, -4.0), (1.0, 1.0), (None, 1.0), ("x", 1.0)):
        with pytest.raises(InvalidInput, match="gamma_m"):
            vdm.LinearSchedule(*ends)
    # Gamma never falls, wherever training takes the rise.
    assert schedule(t).tolist() == [-4.0, -1.0, 8.0]
    assert schedule.slope.item() == 12.0


@pytest.mark.parametrize("n", [1, 2, 7, 128])
def test_spread_times_one_in_every_part_each_uniform(n):
    generator = torch.Generator().manual_seed(n)
    many = torch.stack([vdm.spread_times(n, generator) for _ in range(4000)]).double()
    assert many.shape == (4000, n)
    assert 0 <= many.min() <= many.max() < 1
    # One in each part of length 1/n; where they begin is rounded in single precision.
    shifted = (many - many[:, :1]) * n
    assert torch.allclose(shifted.round() - shifted, torch.zeros(()).double(), atol=1e-4 * n)
    assert (torch.sort(shifted.round().long() % n, dim=1).values == torch.arange(n)).all()
    # Each by itself is uniform: Kolmogorov and Smirnov at a level of one in a million.
    for place in {0, n // 2, n - 1}:
        ranked = np.sort(many[:, place].numpy())
        grid = np.arange(4001) / 4000
        gap = max(np.abs(ranked - grid[1:]).max(), np.abs(ranked - grid[:-1]).max())
        assert gap < 2.7 / math.sqrt(4000)


def test_every_step_of_the_sampler_with_the_same_noise():
    # A second implementation, number by number, that is handed the same random numbers.
    low, high, steps, n = -3.0, 4.0, 5, 4

    def denoiser(z, gamma, condition):
        return 0.3 * z + 0.05 * gamma[:, None] + condition

    told = torch.arange(n, dtype=torch.float64)[:, None] / 10
    made = vdm.sample(
        denoiser,
        schedule_of(low, high),
        told,
        (3,),
        steps=steps,
        generator=torch.Generator().manual_seed(9),
    )
    generator = torch.Generator().manual_seed(9)
    z = torch.randn((n, 3), generator=generator, dtype=torch.float64).tolist()
    for k in range(steps):
        fresh = torch.randn((n, 3), generator=generator, dtype=torch.float64).tolist()
        now, later = (high + (low - high) * one / steps for one in (k, k + 1))
        kappa = 1 - math.exp(later - now)
        for i in range(n):
            for j in range(3):
                guess = 0.3 * z[i][j] + 0.05 * now + i / 10
                mean = z[i][j] - math.sqrt(logistic(now)) * kappa * guess
                mean *= math.sqrt(logistic(-later) / logistic(-now))
                z[i][j] = mean + math.sqrt(logistic(later) * kappa) * fresh[i][j]
    assert made.numpy() == pytest.approx(np.array(z) / math.sqrt(logistic(-low)), rel=1e-10)
