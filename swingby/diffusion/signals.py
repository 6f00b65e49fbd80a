r"""The signals of colour and size, measured from the images, and the SIM task they make.

Three representations:

- ``"registered"``, the one to judge by: pixels with the place of the circle and the ground held
  fixed. The loss of a diffusion model is a sum of squares over pixels, so a concept is worth to
  it what changes in the pixels when this concept alone changes; and the denoiser is
  convolutional, so it need not learn that anew for every place. For one place and ground,
  :math:`D_p` is the difference of the mean images of two classes; :math:`\mu_p^2` is the mean of
  :math:`|D_p|^2` over places and grounds.
- ``"pixels"``: the same without registration, :math:`\mu_p` being the distance of the mean images
  over all places. A moving circle blurs its mean image, and the spread along
  :math:`D_p` is mostly that of the place.
- ``"condition"``: the four numbers that the network is told. Exact, but the scales of radius
  and colour are a matter of units.

In all of them colour is taken from the classes 00 and 10 (both big) and size from 00 and 01 (both
red), as the training set has them. :math:`\sigma_p^2` is the variance within a class along
:math:`D_p`, averaged over the three training classes: jitter of colour and radius, and without
registration of everything. Pixels go from 0 to 1; from -1 to 1 all four numbers would be twice as
large, with the same ratios. The theory takes the concepts for orthogonal. In pixels they are not
(a small circle is also less red), and ``overlap`` says by how much.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.diffusion.circles import (
    COLOUR_JITTER,
    RADIUS_JITTER,
    TRAINING_CLASSES,
    Circles,
)
from swingby.errors import InvalidInput
from swingby.theory import numbers
from swingby.theory.task import SIMTask
from swingby.training.fields import one_of, put

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

REPRESENTATIONS = ("registered", "pixels", "condition")
#: Class with which 00 is compared, for colour and for size.
OTHER_CLASS = (2, 1)
#: Draws of radius and colours at each place.
JITTERS = 32
#: Images of each class in one batch of unregistered ones.
BATCH = 200


@dataclass(frozen=True)
class Signals:
    r"""Signals of both concepts at one contrast; colour first, then size.

    Parameters
    ----------
    contrast : float
    pixels : int
    representation : {"registered", "pixels", "condition"}
    mu : tuple of float
        Distance of the classes.
    sigma : tuple of float
        Standard deviation within a class along that distance.
    overlap : float
        Cosine between the directions of colour and size; SIM assumes 0.
    error : float
        Standard error of :attr:`log_ratio` by the jackknife over places or batches; 0 if exact.

    Raises
    ------
    InvalidInput
    """

    contrast: float
    pixels: int
    representation: str
    mu: tuple[float, float]
    sigma: tuple[float, float]
    overlap: float = 0.0
    error: float = 0.0

    def __post_init__(self) -> None:
        like = Circles(self.contrast, self.pixels)
        put(self, "contrast", like.contrast)
        put(self, "pixels", like.pixels)
        one_of(self.representation, "representation", REPRESENTATIONS)
        for name in ("mu", "sigma"):
            values = numbers.vector(getattr(self, name), name)
            if len(values) != 2:
                raise InvalidInput(name, getattr(self, name), "must be of colour and of size")
            put(self, name, tuple(map(float, values)))
        overlap = numbers.exact(self.overlap, "overlap")
        error = numbers.exact(self.error, "error")
        if abs(overlap) > 1 + 1e-9:
            raise InvalidInput("overlap", self.overlap, "must lie from -1 to 1")
        if error < 0:
            raise InvalidInput("error", self.error, "must not be negative")
        put(self, "overlap", float(overlap))
        put(self, "error", float(error))
        SIMTask(self.mu, self.sigma)

    @property
    def task(self) -> SIMTask:
        """The SIM task: two clusters, colour first."""
        return SIMTask(self.mu, self.sigma)

    @property
    def a(self) -> tuple[float, float]:
        r""":math:`a_p = \sigma_p^2 + \mu_p^2/2`, colour first."""
        colour, size = self.task.signal
        return float(colour), float(size)

    @property
    def log_ratio(self) -> float:
        """Logarithm of a of colour over a of size: above 0, colour is the stronger."""
        colour, size = self.a
        return math.log(colour / size)

    def to_dict(self) -> dict[str, Any]:
        """Plain values.

        Returns
        -------
        dict
        """
        return {
            "contrast": self.contrast,
            "pixels": self.pixels,
            "representation": self.representation,
            "mu": list(self.mu),
            "sigma": list(self.sigma),
            "a": list(self.a),
            "overlap": self.overlap,
            "log_ratio": self.log_ratio,
            "error": self.error,
        }


def measure(
    circles: Circles, representation: str = "registered", *, samples: int = 64, rng: Any = 0
) -> Signals:
    """Measure the signals of a distribution of images.

    Parameters
    ----------
    circles : Circles
    representation : {"registered", "pixels", "condition"}
    samples : int
        Places with grounds of the registered images; batches of 200 images per class of
        unregistered ones; at least 4. Nothing is drawn for ``"condition"``.
    rng : None, int, SeedSequence or Generator

    Returns
    -------
    Signals

    Raises
    ------
    InvalidInput
        Also if so few images are drawn that a distance is lost in their noise.

    Examples
    --------
    >>> found = measure(Circles(0.5), "condition")
    >>> [round(one, 4) for one in found.mu], [round(one, 4) for one in found.a]
    ([0.7071, 0.4], [0.2513, 0.0875])
    """
    if not isinstance(circles, Circles):
        raise InvalidInput("circles", circles, "must be Circles")
    one_of(representation, "representation", REPRESENTATIONS)
    count = numbers.whole(samples, "samples", 4)
    if representation == "condition":
        return _told(circles)
    generator = np.random.default_rng(rng)
    found = _registered if representation == "registered" else _unregistered
    squares, spreads, overlap = found(circles, count, generator)
    if squares.min() <= 0:
        raise InvalidInput("samples", samples, "are too few to tell the classes apart")
    # Leave-one-out values a_(b), colour and size; the last row is that of all.
    ratio = np.log((spreads + squares / 2)[:, 0] / (spreads + squares / 2)[:, 1])
    left_out = ratio[:-1]
    error = math.sqrt((count - 1) / count * ((left_out - left_out.mean()) ** 2).sum())
    colour, size = np.sqrt(squares[-1])
    along_colour, along_size = np.sqrt(spreads[-1])
    return Signals(
        circles.contrast, circles.pixels, representation, (float(colour), float(size)),
        (float(along_colour), float(along_size)), overlap, error,
    )  # fmt: skip


def _told(circles: Circles) -> Signals:
    """The signals in the condition: box distributions around the middle of each class."""
    low, *others = (circles.means((0, 0)), circles.means((1, 0)), circles.means((0, 1)))
    colour, size = (float(np.linalg.norm(one - low)) for one in others)
    spreads = (circles.contrast * COLOUR_JITTER / math.sqrt(3), RADIUS_JITTER / math.sqrt(3))
    return Signals(circles.contrast, circles.pixels, "condition", (colour, size), spreads)


def _registered(
    circles: Circles, count: int, generator: np.random.Generator
) -> tuple[Floats, Floats, float]:
    """Squared distances and variances place by place, each left out in turn, and the overlap."""
    quiet = replace(circles, noise=0.0)
    reach = np.array([RADIUS_JITTER, *[circles.contrast * COLOUR_JITTER] * 3])
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
            along = [(one @ way).var() / (way @ way) for one in images]
            variances[place, p] = np.mean(along) + circles.noise**2
        mixed[place] = ways[0] @ ways[1]
    overlap = float(mixed.mean() / np.sqrt(distances.mean(axis=0).prod()))
    return _without_each(distances), _without_each(variances), overlap


def _unregistered(
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
