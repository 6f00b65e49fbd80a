"""How far classes lie apart, and how they spread along the way: of images and of conditions."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from swingby.diffusion.circles import COLOUR_JITTER, RADIUS_JITTER, TRAINING_CLASSES, Circles

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: Class with which 00 is compared, for colour and for size.
OTHER_CLASS = (2, 1)
#: Draws of radius and colours at each place.
JITTERS = 32
#: Images of each class in one batch of unregistered ones.
BATCH = 200


def told(circles: Circles, gain: Floats) -> tuple[Floats, Floats]:
    """Distances and spreads in the condition: box distributions around the middle of each class.

    Returns
    -------
    distances, spreads : ndarray of shape (2,)
        Of colour and of size.
    """
    ways = _told_ways(circles, gain)
    deviations = gain * _reach(circles) / math.sqrt(3)
    distances = np.array([np.linalg.norm(way) for way in ways])
    along = [np.linalg.norm(deviations * way) for way in ways]
    return distances, np.array(along) / distances


def _told_ways(circles: Circles, gain: Floats) -> list[Floats]:
    """By how much the condition of 00 differs from that of 10, and of 01, as they are read."""
    low = circles.means((0, 0))
    return [gain * (circles.means(one) - low) for one in ((1, 0), (0, 1))]


def _reach(circles: Circles) -> Floats:
    """By how much radius, red, green and blue vary within a class, at most."""
    return np.array([RADIUS_JITTER, *[circles.contrast * COLOUR_JITTER] * 3])


def registered(
    circles: Circles, count: int, generator: np.random.Generator, gain: Floats | None = None
) -> tuple[Floats, Floats, float]:
    """Squared distances and variances with place and ground held fixed.

    Parameters
    ----------
    circles : Circles
    count : int
        Places with grounds.
    generator : numpy.random.Generator
    gain : ndarray of shape (4,), optional
        If given, distances in the image times those in the condition, and covariances.

    Returns
    -------
    squares, spreads : ndarray of shape (count + 1, 2)
        With each place left out in turn, and in the last row of all; colour and size.
    overlap : float
    """
    quiet = replace(circles, noise=0.0)
    reach = _reach(circles)
    asked = None if gain is None else _told_ways(circles, gain)
    distances, variances, mixed = np.zeros((count, 2)), np.zeros((count, 2)), np.zeros(count)
    for place in range(count):
        centres = np.tile(generator.uniform(-0.5, 0.5, (1, 2)), (JITTERS, 1))
        grounds = np.tile(generator.uniform(0.8, 1.0, (1, 3)), (JITTERS, 1))
        # One draw in each of as many strata, the same for all classes: only the class differs.
        ranks = generator.permuted(np.tile(np.arange(JITTERS), (4, 1)), axis=1).T
        offsets = reach * (2 * (ranks + generator.uniform(size=ranks.shape)) / JITTERS - 1)
        images = [
            quiet.paint(quiet.means(divmod(kind, 2)) + offsets, centres, grounds)
            .reshape(JITTERS, -1)
            .astype(np.float64)
            for kind in TRAINING_CLASSES
        ]
        means = [one.mean(axis=0) for one in images]
        ways = [means[other] - means[0] for other in OTHER_CLASS]
        for p, way in enumerate(ways):
            distances[place, p] = way @ way
            if gain is None or asked is None:
                along = [(one @ way).var() / (way @ way) for one in images]
                variances[place, p] = np.mean(along) + circles.noise**2
                continue
            read = (gain * offsets) @ asked[p] / np.linalg.norm(asked[p])
            read -= read.mean()
            along = [read @ (one @ way) / (JITTERS * math.sqrt(way @ way)) for one in images]
            variances[place, p] = np.mean(along)
        mixed[place] = ways[0] @ ways[1]
    overlap = float(mixed.mean() / np.sqrt(distances.mean(axis=0).prod()))
    squares = _without_each(distances)
    if asked is not None:
        squares = np.sqrt(squares) * [np.linalg.norm(way) for way in asked]
    return squares, _without_each(variances), overlap


def unregistered(
    circles: Circles, count: int, generator: np.random.Generator
) -> tuple[Floats, Floats, float]:
    """The same over batches of images; products of different batches alone, free of noise bias."""
    seeds = generator.integers(2**63, size=count)

    def batch(place: int) -> Floats:
        pixels = circles.draw(BATCH, rng=int(seeds[place])).pixels
        return pixels.reshape(len(TRAINING_CLASSES), BATCH, -1).astype(np.float64)

    means = np.array([batch(place).mean(axis=1) for place in range(count)])
    ways = np.stack([means[:, other] - means[:, 0] for other in OTHER_CLASS])
    products = np.einsum("pbi,qci->pqbc", ways, ways)
    products[:, :, np.arange(count), np.arange(count)] = 0
    total = products.sum(axis=(2, 3))
    distances = np.empty((count + 1, 2))
    for p in range(2):
        of_each = 2 * products[p, p].sum(axis=1)
        distances[:-1, p] = (total[p, p] - of_each) / ((count - 1) * (count - 2))
        distances[-1, p] = total[p, p] / (count * (count - 1))
    variances = np.empty((count, 2))
    whole = ways.sum(axis=1)
    for place in range(count):
        images = batch(place)
        for p in range(2):
            other = whole[p] - ways[p, place]
            variances[place, p] = (images @ (other / np.linalg.norm(other))).var(1, ddof=1).mean()
    scale = total[0, 0] * total[1, 1]
    overlap = float(total[0, 1] / math.sqrt(scale)) if scale > 0 else 0.0
    return distances, _without_each(variances), min(max(overlap, -1.0), 1.0)


def _without_each(values: Floats) -> Floats:
    """Means with each row left out in turn, and the mean of all in the last row."""
    total, count = values.sum(axis=0), len(values)
    return np.vstack([(total - values) / (count - 1), total / count])
