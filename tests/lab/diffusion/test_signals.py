"""Signals against closed forms and against plain sampling."""

import math

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from swingby.lab.diffusion.circles import Circles
from swingby.lab.diffusion.preset import SMALL
from swingby.lab.diffusion.signals import Noise, measure, rates


def covered(pixels, n=400):
    """Integrals over the pixels of P_big^2 and (P_big - P_small)^2, means over places.

    P(d) is the probability that a circle of random radius reaches a pixel at distance d, a ramp,
    blurred as the images are.
    """
    rng = np.random.default_rng(5)
    grid = np.linspace(-1, 1, pixels)
    big = change = 0.0
    for row, column in rng.uniform(-0.5, 0.5, (n, 2)):
        distance = np.hypot(grid[:, None] - row, grid[None] - column)
        of_big, of_small = (
            gaussian_filter(np.clip((most - distance) / 0.3, 0, 1), pixels / 32, mode="nearest")
            for most in (0.8, 0.4)
        )
        big += (of_big**2).sum() / n
        change += ((of_big - of_small) ** 2).sum() / n
    return big, change


@pytest.mark.parametrize("contrast", [0.2, pytest.param(0.7, marks=pytest.mark.full)])
def test_registered_signals_in_closed_form(contrast):
    """Both are products of a colour and an area, within 3 % for the places drawn.

    Colour: (-s, 0, s) on the big circle. Size: red minus ground on the ring; the ground is
    uniform from 0.8 to 1.
    """
    big, change = covered(32)
    found = measure(Circles(contrast, 32), samples=300, rng=1)
    assert found.mu[0] ** 2 == pytest.approx(2 * contrast**2 * big, rel=0.03)
    red = np.array([1 + contrast, 1 - contrast, 1 - contrast]) / 2
    assert found.mu[1] ** 2 == pytest.approx(
        (((red - 0.9) ** 2) + 0.04 / 12).sum() * change, rel=0.03
    )


def test_unregistered_signals_by_plain_sampling():
    """Second implementation: distances of mean images of many, spreads along them."""
    circles = Circles(0.5, 16)
    found = measure(circles, "pixels", samples=20, rng=8)
    images = circles.draw(6_000, rng=9).pixels.reshape(3, 6_000, -1).astype(float)
    means = images.mean(axis=1)
    ways = []
    for p, other in enumerate((2, 1)):
        way = means[other] - means[0]
        assert found.mu[p] == pytest.approx(np.linalg.norm(way), rel=0.02)
        ways.append(way / np.linalg.norm(way))
        assert found.sigma[p] ** 2 == pytest.approx((images @ ways[p]).var(axis=1).mean(), rel=0.05)
    assert found.overlap == pytest.approx(ways[0] @ ways[1], abs=0.02)


def test_few_batches_leave_no_bias_in_the_distance():
    """With 4 batches the plain distance of means is too large; the mean over draws must not be."""
    circles = Circles(0.1, 8)
    many = measure(circles, "pixels", samples=1000, rng=10)
    few = [measure(circles, "pixels", samples=4, rng=seed).mu[0] ** 2 for seed in range(250)]
    error = np.std(few) / math.sqrt(len(few))
    assert abs(np.mean(few) - many.mu[0] ** 2) < 4 * error


@pytest.mark.parametrize("representation", ["registered", "pixels"])
def test_the_error_is_that_of_other_draws(representation):
    """Over 30 draws the spread of the logarithm of the ratio is what each of them says."""
    drawn = [measure(Circles(0.5, 8), representation, samples=16, rng=seed) for seed in range(30)]
    spread = np.std([one.log_ratio for one in drawn], ddof=1)
    assert 0.6 < spread / np.mean([one.error for one in drawn]) < 1.6


def test_the_condition_as_it_is_read():
    plain = measure(Circles(0.4), "condition")
    assert plain.mu == pytest.approx((0.4 * math.sqrt(2), 0.4))
    assert plain.sigma == pytest.approx((0.05 / math.sqrt(3), 0.15 / math.sqrt(3)))
    found = measure(Circles(0.4), "condition", gain=(5, 2, 7, 8))
    assert found.mu == pytest.approx((0.4 * math.hypot(2, 8), 5 * 0.4))
    read = Circles(0.4, 8).draw(20_000, rng=0).conditions.reshape(3, -1, 4) * [5, 2, 7, 8]
    along = (read[0] @ np.array([0, -2, 0, 8]) / math.hypot(2, 8)).std()
    assert found.sigma == pytest.approx((along, 5 * 0.15 / math.sqrt(3)), rel=0.02)


def test_registered_and_covariances_by_plain_sampling():
    """Second implementation: radii and colours drawn independently, place by place.

    Along the difference of two mean images: the variance of the images, and their covariance with
    what the condition says of the pair. The distances of covariances are products of those of
    image and condition; gains count on one side.
    """
    circles, rng, gain = Circles(0.5, 16), np.random.default_rng(16), np.array([5, 2, 3, 2])
    image, told = measure(circles, samples=200), measure(circles, "condition", gain=gain)
    found = measure(circles, "covariance", gain=gain, samples=200)
    products = [math.sqrt(one * other) for one, other in zip(image.mu, told.mu, strict=True)]
    assert found.mu == pytest.approx(products, rel=1e-9)
    reach, n = np.array([0.15, *[0.5 / 8] * 3]), 400
    distance, variance, covariance = np.zeros((3, 60, 2))
    for place in range(60):
        centres = np.tile(rng.uniform(-0.5, 0.5, (1, 2)), (n, 1))
        grounds = np.tile(rng.uniform(0.8, 1, (1, 3)), (n, 1))
        offsets = [reach * rng.uniform(-1, 1, (n, 4)) for _ in range(3)]
        middles = [circles.means(divmod(kind, 2)) for kind in range(3)]
        images = [
            circles.paint(middle + one, centres, grounds, rng=rng).reshape(n, -1).astype(float)
            for middle, one in zip(middles, offsets, strict=True)
        ]
        for p, other in enumerate((2, 1)):
            # The product of two independent differences has the squared distance as its mean.
            first, second = (
                images[other][half].mean(0) - images[0][half].mean(0)
                for half in (slice(0, n // 2), slice(n // 2, n))
            )
            distance[place, p] = first @ second
            way = (first + second) / np.linalg.norm(first + second)
            asked = gain * (middles[other] - middles[0])
            asked /= np.linalg.norm(asked)
            both = [
                np.cov(one @ way, (gain * off) @ asked)
                for one, off in zip(images, offsets, strict=True)
            ]
            variance[place, p], covariance[place, p] = np.mean(both, axis=0)[0]
    assert np.square(image.mu) == pytest.approx(distance.mean(axis=0), rel=0.05)
    assert np.square(image.sigma) == pytest.approx(variance.mean(axis=0), rel=0.05)
    assert np.square(found.sigma) == pytest.approx(covariance.mean(axis=0), rel=0.05)


def test_the_task_has_colour_first():
    found = measure(Circles(0.9, 8))
    expected = [sigma**2 + mu**2 / 2 for mu, sigma in zip(found.mu, found.sigma, strict=True)]
    assert found.a == pytest.approx(expected)
    assert found.log_ratio == pytest.approx(math.log(expected[0] / expected[1]))
    assert found.log_ratio > 0
    assert 0.3 < found.overlap < 0.7


def test_rates_are_signals_and_both_is_the_pull_of_the_form():
    """M (1, 1), pixels from -1 to 1, with the noise schedule of the preset."""
    circles = Circles(0.5, 16, separation=0.3)
    for name in ("registered", "condition", "covariance"):
        expected = measure(circles, name, gain=SMALL.layout.gain).a
        assert rates(circles, SMALL, name) == pytest.approx(expected)
    signal = 4 * np.array(rates(circles, SMALL, "registered"))
    form = Noise(SMALL.gamma_min, SMALL.gamma_max).form(signal)
    expected = np.hypot(*(form @ [1, 1]).T)
    assert rates(circles, SMALL, "both") == pytest.approx(expected.tolist(), rel=1e-12)
