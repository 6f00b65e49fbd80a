r"""The signals of colour and size, measured from the images, and the SIM task they make.

Four representations:

- ``"registered"``, the one to judge by: pixels with the place of the circle and the ground held
  fixed. The loss of a diffusion model is a sum of squares over pixels, so a concept is worth to
  it what changes in the pixels when this concept alone changes; and the denoiser is
  convolutional, so it need not learn that anew for every place. For one place and ground,
  :math:`D_p` is the difference of the mean images of two classes; :math:`\mu_p^2` is the mean of
  :math:`|D_p|^2` over places and grounds.
- ``"pixels"``: the same without registration, :math:`\mu_p` being the distance of the mean images
  over all places. A moving circle blurs its mean image, and the spread along
  :math:`D_p` is mostly that of the place.
- ``"condition"``: the four numbers that the network is told, times their gains. Exact, but the
  scales of radius and colour are a matter of units.
- ``"covariance"``: what the condition says of the registered image. The theory's networks map x
  to x, so one matrix, A, is the second moment of what is read and the covariance of what is read
  with what is asked for. Here the two differ, and for two linear layers it is the second, image
  by condition, whose singular values are the rates of growth (Saxe, McClelland, Ganguli, 2013):
  :math:`\mu_p^2 = \mu_p^{image} \mu_p^{condition}`, and :math:`\sigma_p^2` is the covariance
  within a class along both directions. It has the units of the condition as well.

In all of them colour is taken from the classes 00 and 10 (both big) and size from 00 and 01 (both
red), as the training set has them. :math:`\sigma_p^2` is the variance within a class along
:math:`D_p`, averaged over the three training classes: jitter of colour and radius, and without
registration of everything. Pixels go from 0 to 1; from -1 to 1 all four numbers would be twice as
large, with the same ratios. The theory takes the concepts for orthogonal. In pixels they are not
(a small circle is also less red), and ``overlap`` says by how much.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from swingby.diffusion.circles import CONDITION, Circles
from swingby.diffusion.distances import registered, told, unregistered
from swingby.errors import InvalidInput
from swingby.theory import numbers
from swingby.theory.task import SIMTask
from swingby.training.setting import one_of, put

REPRESENTATIONS = ("registered", "pixels", "condition", "covariance")


@dataclass(frozen=True)
class Signals:
    r"""Signals of both concepts at one contrast; colour first, then size.

    Parameters
    ----------
    contrast : float
    pixels : int
    representation : {"registered", "pixels", "condition", "covariance"}
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
    circles: Circles,
    representation: str = "registered",
    *,
    gain: Sequence[float] = (1.0,) * CONDITION,
    samples: int = 64,
    rng: Any = 0,
) -> Signals:
    """Measure the signals of a distribution of images.

    Parameters
    ----------
    circles : Circles
    representation : {"registered", "pixels", "condition", "covariance"}
    gain : sequence of float
        By which the network multiplies radius, red, green and blue as it reads them, see
        :class:`swingby.diffusion.layout.Layout`; for ``"condition"`` and ``"covariance"``.
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
    factors = numbers.vector(gain, "gain")
    if len(factors) != CONDITION or not all(one > 0 for one in factors):
        raise InvalidInput("gain", gain, f"must be {CONDITION} positive numbers")
    read = np.array(factors, dtype=np.float64)
    if representation == "condition":
        (colour, size), (along_colour, along_size) = (part.tolist() for part in told(circles, read))
        return Signals(
            circles.contrast, circles.pixels, representation, (colour, size),
            (along_colour, along_size),
        )  # fmt: skip
    generator = np.random.default_rng(rng)
    if representation == "pixels":
        squares, spreads, overlap = unregistered(circles, count, generator)
    else:
        gains = read if representation == "covariance" else None
        squares, spreads, overlap = registered(circles, count, generator, gains)
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
