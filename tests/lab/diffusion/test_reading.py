"""Circles measured from pixels: what is one, what is none, and how well the numbers are known."""

import numpy as np
import pytest
from scipy.special import chndtr, i0e, i1e

from swingby.lab.diffusion.circles import (
    CLASSES,
    EMPTY,
    HELD_OUT,
    NOISE,
    OTHER,
    Circles,
    _disc,
    read_circles,
)
from tests.forked import sample
from tests.lab.diffusion.conftest import pictures

CELLS = [(0.2, 0.4, 16), (0.75, 0.2, 16), (0.5, 0.4, 32), (0.3, 0.2, 16), (0.75, 0.4, 16)]


@pytest.mark.parametrize(("contrast", "separation", "pixels"), sample(CELLS, 4))
def test_circles_of_the_generator_are_measured(contrast, separation, pixels):
    """Every one is of its class, and the truth lies where the errors say."""
    circles = Circles(contrast, pixels, separation=separation)
    n = 50 if pixels == 16 else 15
    images = circles.draw(n, rng=11, classes=(0, 1, 2, 3))
    found = read_circles(images.pixels, circles)
    assert found.kind.tolist() == np.repeat(range(4), n).tolist()
    radius, colour = images.conditions[:, 0], images.conditions[:, 1:]
    # Circles of a pixel or two have a radius and a colour that cannot be told apart.
    seen = radius > 1.5 * 2 / (pixels - 1)
    off = np.abs(found.radius - radius)[seen]
    assert off.max() < 0.35 * 2 / (pixels - 1)
    assert np.mean(off < 2 * found.radius_error[seen]) > 0.9
    # An error that is no larger than need be: half a pixel at most.
    assert found.radius_error[seen].max() < 1 / (pixels - 1)
    off = np.abs(found.colour - colour)[seen]
    # A quarter of what the strongest circle differs from its ground by.
    assert off.max() < 0.25 * (0.9 - (1 - contrast) / 2)
    assert np.mean(off < 2 * found.colour_error[seen]) > 0.9


def test_the_centre_is_measured():
    circles = Circles(0.5, 16)
    centres = np.array([[0.0, 0.0], [-0.4, 0.3], [0.45, -0.5]])
    conditions = np.array([circles.means((1, 1))] * 3)
    found = read_circles(circles.paint(conditions, centres, np.full((3, 3), 0.9)), circles)
    assert np.abs(found.centre - centres).max() < 0.05
    assert (np.abs(found.centre - centres) < 4 * found.centre_error).all()
    assert found.kind.tolist() == [HELD_OUT] * 3


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.03])
def test_an_empty_canvas_is_no_small_circle(noise):
    rng = np.random.default_rng(1)
    grounds = rng.uniform(0.8, 1, (40, 3, 1, 1)) * np.ones((1, 1, 16, 16))
    found = read_circles(grounds + noise * rng.standard_normal(grounds.shape), Circles(0.3, 16))
    assert (found.kind == EMPTY).all()


@pytest.mark.parametrize("what", ["uniform", "gaussian", "clipped", "red"])
def test_noise_is_no_circle(what):
    rng = np.random.default_rng(2)
    images = {
        "uniform": rng.uniform(size=(40, 3, 16, 16)),
        "gaussian": 0.5 + 0.3 * rng.standard_normal((40, 3, 16, 16)),
        "clipped": np.clip(0.5 + 2 * rng.standard_normal((40, 3, 16, 16)), 0, 1),
        "red": np.array([0.8, 0.2, 0.2])[:, None, None]
        + 0.2 * rng.standard_normal((40, 3, 16, 16)),
    }[what]
    assert (read_circles(images, Circles(0.3, 16)).kind == NOISE).all()


def one(circles, radius, colour, n=30, rng=3):
    rng = np.random.default_rng(rng)
    conditions = np.array([[radius, *colour]] * n)
    where = rng.uniform(-0.4, 0.4, (n, 2)), rng.uniform(0.8, 1, (n, 3))
    return circles.paint(conditions, *where, rng=rng)


@pytest.mark.parametrize("radius", [0.45, 0.95, 1.1])
def test_a_wrong_radius(radius):
    circles = Circles(0.5, 32)
    found = read_circles(one(circles, radius, circles.means((0, 0))[1:], n=12), circles)
    assert not np.isin(found.kind, [0, 1]).any() or radius == 0.45
    if radius == 0.45:
        # Between big and small: what is taken for either lies on its side by more than the error.
        taken = np.isin(found.kind, [0, 1])
        assert (np.abs(found.radius - 0.45)[taken] > found.radius_error[taken]).all()
        assert (found.kind == OTHER).mean() > 0.5


@pytest.mark.parametrize("radius", [0.25, 0.65])
@pytest.mark.parametrize(
    "colour", [(0.2, 0.8, 0.2), (0.5, 0.5, 0.5), (0.0, 0.0, 0.0), (0.8, 0.2, 0.8), (0.4, 0.2, 0.2)]
)
def test_a_wrong_colour(colour, radius):
    circles = Circles(0.6, 16)
    assert (read_circles(one(circles, radius, colour), circles).kind == OTHER).all()


@pytest.mark.parametrize("radii", [(0.2, 0.2), (0.3, 0.15), (0.6, 0.2), (0.25, 0.15)])
def test_two_circles_are_not_one(radii):
    circles, rng = Circles(0.6, 16), np.random.default_rng(5)
    n, colour = 60, circles.means((0, 0))[1:]
    first = rng.uniform(-0.5, 0.5, (n, 2))
    angle, away = rng.uniform(0, 2 * np.pi, n), sum(radii) + 0.1
    second = first + away * np.stack([np.cos(angle), np.sin(angle)], 1)
    # Both wholly inside the picture.
    inside = (np.abs(second) < 0.95 - radii[1]).all(1)
    assert inside.sum() > 10
    drawn = [
        circles.paint(np.array([[radius, *colour]] * n), where, np.full((n, 3), 0.9))
        for radius, where in zip(radii, (first, second), strict=True)
    ]
    found = read_circles(np.minimum(*drawn)[inside], circles)
    assert np.isin(found.kind, [NOISE, OTHER]).all()


def test_shares_are_of_all_images():
    circles = Circles(0.6, 16)
    drawn = circles.draw(3, rng=6, classes=(0, 3)).pixels
    empty = np.full((2, 3, 16, 16), 0.9)
    shares = read_circles(np.concatenate([drawn, empty]), circles).shares()
    assert shares.tolist() == [3 / 8, 0, 0, 3 / 8, 0, 2 / 8, 0]
    assert len(shares) == len(CLASSES) + 3


def test_a_reading_does_not_depend_on_what_is_read_beside_it():
    circles = Circles(0.5, 16)
    images = pictures(circles, 4, seed=1)
    expected = read_circles(images, circles)
    for k in (0, 20, 47, 53):
        single = read_circles(images[k : k + 1], circles)
        assert single.kind[0] == expected.kind[k]
        assert single.radius[0] == pytest.approx(expected.radius[k], abs=1e-6)


@pytest.mark.parametrize("pixels", [8, 16, 32])
def test_the_disc_is_that_of_scipy(pixels):
    """Templates and profile against the noncentral chi-square distribution, not tabulated."""
    disc = _disc(pixels, None)
    width = disc.pitch * np.sqrt((pixels / 32) ** 2 + 1 / 12)
    rng = np.random.default_rng(0)
    away, radius = rng.uniform(0, 3, 500), rng.uniform(0.02, 1.2, 500)
    value, outward, wider = disc.profile(away, radius)

    def exact(away, radius):
        return chndtr((radius / width) ** 2, 2.0, (away / width) ** 2)

    # A cubic spline through values h apart is off by 5 h^4 / 384 times the fourth derivative, a
    # Gaussian's, and its slope by h^3 / 24 times that.
    gap = 0.0126 / width
    assert np.abs(value - exact(away, radius)).max() < 1.4 * 5 / 384 * gap**4
    # The slopes in closed form: Gaussians around a circle, of Bessel functions.
    away_, radius_ = away / width, radius / width
    bell = np.exp(-((away_ - radius_) ** 2) / 2) * radius_
    for slope, exact_slope in ((wider, i0e(away_ * radius_)), (outward, -i1e(away_ * radius_))):
        assert np.abs(slope * width - bell * exact_slope).max() < 1.4 / 24 * gap**3


def test_the_fit_descends_along_differences_of_what_is_left():
    """Jacobian of the image by differences: the normal matrix and the pull of least squares."""
    disc = _disc(16, None)
    images = pictures(Circles(0.5, 16), 1, seed=2)[:3]
    state = np.array([[0.4, 0.1, -0.2, 0.9, 0.8, 0.85, 0.7, 0.3, 0.1]] * 3)
    state[1:, 0] = 0.2, 0.7
    _, normal, pull, left = disc._fit(images, state)
    # Colours have the prior 1/2, with a deviation of 1/2 where pixels have 0.02.
    prior = np.array([0.0] * 6 + [0.04**2] * 3)
    step = 1e-6 * np.eye(9)
    jacobian = [
        (disc._fit(images, state - h)[3] - disc._fit(images, state + h)[3]) / 2e-6 for h in step
    ]
    J = np.stack(jacobian, -1).reshape(3, -1, 9)
    expected = J.swapaxes(1, 2) @ J + np.diag(prior)
    assert np.abs(normal - expected).max() < 1e-6
    expected = (J * left.reshape(3, -1, 1)).sum(1) - prior * (state - 0.5)
    assert np.abs(pull - expected).max() < 1e-6
