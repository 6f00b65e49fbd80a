"""Variational diffusion: the three parts of the loss, the schedule, and the sampler."""

import math

import numpy as np
import pytest
from scipy.special import expit

torch = pytest.importorskip("torch")

from swingby.errors import InvalidInput  # noqa: E402
from swingby.lab.diffusion import vdm  # noqa: E402

pytestmark = pytest.mark.torch


def schedule_of(low, high, **named):
    return vdm.LinearSchedule(low, high, **named).double()


def numbers(*values):
    return torch.tensor(values, dtype=torch.float64)


def by_definition(x, noise, first, t, told, data_noise, low=-2.0, high=3.0):
    """The three parts, data by part: Kingma et al. (2021), eqs. 11 to 18, in NumPy."""

    def parts_at(gamma):
        return np.sqrt(expit(-gamma)), np.sqrt(expit(gamma))

    gamma = (low + (high - low) * t)[:, None]
    a, s = parts_at(gamma)
    guess = 0.25 * (a * x + s * noise) + 0.1 * gamma + 0.5 * told
    diffusion = 0.5 * (high - low) * (noise - guess) ** 2
    (a0, s0), (a1, s1) = parts_at(low), parts_at(high)
    latent = 0.5 * (s1**2 + (a1 * x) ** 2 - 1 - np.log(s1**2))
    off = x - (a0 * x + s0 * first) / a0
    density = off**2 / (2 * data_noise**2) + 0.5 * math.log(2 * math.pi * data_noise**2)
    return np.stack([diffusion, latent, density], -1).sum(1)


def test_the_three_parts_by_hand():
    x, noise = np.array([[0.3, -0.7], [1.1, 0.2]]), np.array([[0.5, -1.2], [0.4, 2.0]])
    first, t, told = np.array([[-0.3, 0.9], [1.5, -0.1]]), np.array([0.2, 0.9]), [[1.0], [-2.0]]
    expected = by_definition(x, noise, first, t, np.array(told), 0.5)
    # The first of the numbers, as they come out in 50 digits with mpmath.
    by_mpmath = (4.1933168721298808, 0.014914981617669644, 0.69518621511535771)
    assert expected[0] == pytest.approx(by_mpmath, rel=1e-13)
    given = [torch.tensor(one) for one in (x, told, t, noise, first)]
    for chosen in ([0], [0, 1], [1, 0]):
        points, condition, times, *noises = (one[chosen] for one in given)
        found = vdm.loss(
            lambda z, gamma, condition: 0.25 * z + 0.1 * gamma[:, None] + 0.5 * condition,
            schedule_of(-2.0, 3.0), points, condition,
            t=times, noise=noises[0], first_noise=noises[1], data_noise=0.5,
        )  # fmt: skip
        together = torch.stack([found.diffusion, found.latent, found.reconstruction], dim=1)
        assert torch.allclose(found.total, together.sum(1), rtol=1e-15)
        assert together.detach().numpy() == pytest.approx(expected[chosen], rel=1e-12)


@pytest.mark.parametrize("variance", [0.04, 1.0, 9.0])
@pytest.mark.parametrize(("low", "high"), [(-5.0, 10.0), (-2.0, 1.0)])
def test_the_bound_of_a_gaussian_in_closed_form(variance, low, high):
    """For x ~ N(0, v) and the best denoiser, exact but for the integral over t.

    Each part is a polynomial of degree two in x and the noise, so +-1 standard deviation, each
    sign with each, gives the expectation itself. Times are the nodes of Gauss and Legendre.
    """

    def optimal(z, gamma, condition):
        a, s = vdm.alpha(gamma)[:, None], vdm.sigma(gamma)[:, None]
        return s * z / (a**2 * variance + s**2)

    times, weights = np.polynomial.legendre.leggauss(60)
    signs = torch.tensor([[-1, -1], [-1, 1], [1, -1], [1, 1]], dtype=torch.float64).repeat(60, 1)
    noise = signs[:, 1:]
    found = vdm.loss(
        optimal, schedule_of(low, high), math.sqrt(variance) * signs[:, :1], noise,
        t=torch.tensor(np.repeat((times + 1) / 2, 4)), noise=noise, first_noise=noise,
        data_noise=0.3,
    )  # fmt: skip
    diffusion = (found.diffusion.detach().numpy() * np.repeat(weights / 8, 4)).sum()
    # E|eps - E[eps|z]|^2 = v / (v + e^gamma), which integrates to gamma - log(v + e^gamma).
    area = high - low - math.log((variance + math.exp(high)) / (variance + math.exp(low)))
    assert diffusion == pytest.approx(area / 2, rel=1e-10)
    s2 = expit(high)
    latent = 0.5 * (s2 + (1 - s2) * variance - 1 - math.log(s2))
    assert found.latent.mean().item() == pytest.approx(latent, rel=1e-10)
    by_hand = 0.5 * (math.exp(low) / 0.09 + math.log(2 * math.pi * 0.09))
    assert found.reconstruction.mean().item() == pytest.approx(by_hand, rel=1e-10)


@pytest.mark.parametrize("rise", [6.0, -6.0])
def test_gradients_of_the_schedule(rise):
    x, noise = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(1)).double()
    schedule = schedule_of(0.0, 1.0)
    ends = list(schedule.parameters())

    def parts(*values):
        with torch.no_grad():
            for one, value in zip(ends, values, strict=True):
                one.fill_(value)
        return vdm.loss(
            lambda z, gamma, condition: torch.tanh(z) + 0.1 * gamma[:, None], schedule, x, x,
            t=numbers(0.1, 0.5, 0.8), noise=noise, first_noise=noise.flip(0), data_noise=0.4,
        )  # fmt: skip

    def gradient(value):
        found = torch.autograd.grad(value.sum(), ends, retain_graph=True, allow_unused=True)
        return [0.0 if one is None else one.item() for one in found]

    low, step = -3.0, 1e-5
    plain = [
        sum(sign * parts(low + sign * a, rise + sign * b).total.sum().item() for sign in (1, -1))
        / (2 * step)
        for a, b in ((step, 0), (0, step))
    ]
    found = parts(low, rise)
    assert gradient(found.total) == pytest.approx(plain, rel=1e-7)
    # Every part has one, but for that of the reconstruction by gamma_1.
    for part, known in ((found.diffusion, 2), (found.latent, 2), (found.reconstruction, 1)):
        assert sum(abs(one) > 1e-3 for one in gradient(part)) == known


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
    """A second implementation in NumPy that is handed the same random numbers."""
    low, high, steps, n = -3.0, 4.0, 5, 4
    told = torch.arange(n, dtype=torch.float64)[:, None] / 10
    made = vdm.sample(
        lambda z, gamma, condition: 0.3 * z + 0.05 * gamma[:, None] + condition,
        schedule_of(low, high), told, (3,), steps=steps,
        generator=torch.Generator().manual_seed(9),
    )  # fmt: skip
    generator = torch.Generator().manual_seed(9)
    z, *fresh = (
        torch.randn((n, 3), generator=generator, dtype=torch.float64).numpy()
        for _ in range(steps + 1)
    )
    gammas = np.linspace(high, low, steps + 1)
    for now, later, drawn in zip(gammas[:-1], gammas[1:], fresh, strict=True):
        kappa = 1 - math.exp(later - now)
        mean = z - math.sqrt(expit(now)) * kappa * (0.3 * z + 0.05 * now + told.numpy())
        z = math.sqrt(expit(-later) / expit(-now)) * mean + math.sqrt(expit(later) * kappa) * drawn
    assert made.numpy() == pytest.approx(z / math.sqrt(expit(-low)), rel=1e-10)
