"""Images of circles: against a loop over pixels, the ranges of the paper, and wrong input."""

import math

import numpy as np
import pytest

from swingby.lab.diffusion.circles import CLASS_NAMES, CLASSES, CONCEPTS, HELD_OUT, Circles


def painted(pixels, condition, centre, ground):
    """One image, pixel by pixel; the blur as sums, the edge going on for ever."""
    radius, *colour = condition
    grid = [-1 + 2 * k / (pixels - 1) for k in range(pixels)]
    mask = np.array(
        [[(y - centre[0]) ** 2 + (x - centre[1]) ** 2 < radius**2 for x in grid] for y in grid]
    )
    width, reach = pixels / 32, int(4 * pixels / 32 + 0.5)
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
    share = np.pad(mask.astype(float), reach, mode="edge")
    for _ in range(2):
        share = (
            sum(weight * share[k : len(share) - 2 * reach + k] for k, weight in enumerate(kernel)).T
            / kernel.sum()
        )
    image = [back * (1 - share) + front * share for back, front in zip(ground, colour, strict=True)]
    return np.clip(image, 0, 1)


@pytest.mark.parametrize("pixels", [8, 16, 32])
def test_paint_against_a_loop_over_pixels(pixels):
    conditions = np.array([[0.65, 0.9, 0.1, 0.2], [0.25, 0.1, 0.3, 1.1], [1.9, 0.2, 0.4, 0.6]])
    # The second is not round the middle in rows and columns alike; the first is cut by the edge.
    centres = np.array([[-0.5, 0.45], [0.21, -0.37], [0.0, 0.0]])
    grounds = np.array([[0.8, 0.9, 1.0], [0.95, 0.85, 0.9], [1.0, 1.0, 1.0]])
    found = Circles(0.5, pixels, noise=0).paint(conditions, centres, grounds)
    assert found.dtype == np.float32
    for k in range(3):
        expected = painted(pixels, conditions[k], centres[k], grounds[k])
        assert np.abs(found[k] - expected).max() < 2e-6


def test_what_the_classes_look_like():
    # FACTS: index 2 colour + size; red and blue by s, radius 0.65 and 0.25.
    circles = Circles(0.4)
    assert CLASSES == ("00", "01", "10", "11")
    assert (CONCEPTS, HELD_OUT) == (("colour", "size"), 3)
    expected = {
        (0, 0): [0.65, 0.7, 0.3, 0.3],
        (0, 1): [0.25, 0.7, 0.3, 0.3],
        (1, 0): [0.65, 0.3, 0.3, 0.7],
        (1, 1): [0.25, 0.3, 0.3, 0.7],
    }
    for kind, label in enumerate(expected):
        assert circles.means(label) == pytest.approx(expected[label], rel=1e-15)
        told = circles.conditions(kind, 3)
        assert (told.shape, told.dtype) == ((3, 4), np.float32)
        assert told == pytest.approx(np.array([expected[label]] * 3), rel=1e-7)
        colour, size = CLASS_NAMES[kind].split(", ")
        assert (colour == "blue", size == "small") == tuple(map(bool, label))


@pytest.mark.parametrize("contrast", [0.1, 0.8, 1.0])
def test_ranges_of_what_is_drawn(contrast):
    n = 4000
    circles = Circles(contrast, pixels=8)
    drawn = circles.draw(n, rng=1, classes=(0, 1, 2, 3))
    assert len(drawn) == 4 * n
    assert (drawn.pixels.shape, drawn.pixels.dtype) == ((4 * n, 3, 8, 8), np.float32)
    assert 0 <= drawn.pixels.min() <= drawn.pixels.max() <= 1
    assert drawn.labels.tolist() == np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], n, 0).tolist()
    reach = np.array([0.15, *[contrast / 8] * 3])
    for kind in range(4):
        part = drawn.conditions[kind * n : (kind + 1) * n].astype(float)
        unit = (part - circles.means(divmod(kind, 2))) / reach
        # Uniform over [-1, 1] in each of the four numbers, each by itself.
        assert np.abs(unit).max() <= 1 + 1e-5
        assert (unit.max(0) > 0.995).all()
        assert (unit.min(0) < -0.995).all()
        assert np.abs(unit.mean(0)).max() < 5 / math.sqrt(3 * n)
        assert unit.var(0) == pytest.approx(np.full(4, 1 / 3), abs=5 * math.sqrt(4 / 45 / n))
        assert np.abs(np.corrcoef(unit.T) - np.eye(4)).max() < 5 / math.sqrt(n)


def test_ground_and_position():
    # Small circles lie within the image: their weight and its middle give the place.
    n, pixels = 4000, 32
    drawn = Circles(1.0, pixels, noise=0).draw(n, rng=2, classes=(3,))
    images = drawn.pixels.astype(float)
    grounds = images[:, :, 0, 0]
    assert 0.8 <= grounds.min() < 0.801
    assert 0.999 < grounds.max() <= 1
    assert grounds.mean(0) == pytest.approx(np.full(3, 0.9), abs=5 * 0.2 / math.sqrt(12 * n))
    assert np.abs(np.corrcoef(grounds.T) - np.eye(3)).max() < 5 / math.sqrt(n)
    share = (grounds[:, :1, None] - images[:, 0]) / (grounds[:, 0] - drawn.conditions[:, 1])[
        :, None, None
    ]
    grid = np.linspace(-1, 1, pixels)
    weight = share.sum((1, 2))
    middle = np.stack(
        [np.einsum("nij,i->n", share, grid), np.einsum("nij,j->n", share, grid)], axis=1
    )
    middle /= weight[:, None]
    # A circle of few pixels is off by part of a pixel, of width 2/31.
    assert np.abs(middle).max() < 0.5 + 1 / 31
    assert np.abs(middle).max(0).min() > 0.48
    assert np.abs(middle.mean(0)).max() < 5 / math.sqrt(12 * n)
    assert middle.var(0) == pytest.approx(np.full(2, 1 / 12), rel=0.05)
    assert abs(np.corrcoef(middle.T)[0, 1]) < 5 / math.sqrt(n)
    # The area follows the radius that the network is told.
    radius = np.sqrt(weight / np.pi) * 2 / (pixels - 1)
    assert np.abs(radius - drawn.conditions[:, 0]).max() < 1 / 31


def test_the_seed_decides():
    def same(a, b):
        names = ("pixels", "conditions", "labels")
        return [np.array_equal(getattr(a, name), getattr(b, name)) for name in names]

    circles = Circles(0.3, 8)
    one = circles.draw(5, rng=7)
    assert same(one, circles.draw(5, rng=np.random.default_rng(7))) == [True, True, True]
    assert same(one, circles.draw(5, rng=8)) == [False, False, True]
    # Without one, every call draws others.
    assert same(circles.draw(5), circles.draw(5)) == [False, False, True]
    # Contrasts share all but the colours.
    other = Circles(0.6, 8).draw(5, rng=7)
    assert np.array_equal(one.conditions[:, 0], other.conditions[:, 0])
    assert not np.array_equal(one.conditions[:, 1], other.conditions[:, 1])
