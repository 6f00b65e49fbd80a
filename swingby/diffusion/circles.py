"""Images of circles with two concepts, colour and size: the data of the diffusion experiments."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.theory import numbers
from swingby.training.setting import put

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: The classes by colour and size; the last is held out of training.
CLASSES = ("00", "01", "10", "11")
#: What they look like.
CLASS_NAMES = ("red, big", "red, small", "blue, big", "blue, small")
TRAINING_CLASSES = (0, 1, 2)
HELD_OUT = 3
#: Concepts, in the order of the digits of a class.
CONCEPTS = ("colour", "size")
#: Numbers a network is told about an image: the radius and the three colour channels.
CONDITION = 4
#: Radius and colours vary within a class by up to these, the last times the contrast.
RADIUS_JITTER, COLOUR_JITTER = 0.15, 1 / 8
#: A typing error should not fill the memory.
MOST_PIXELS = 128
MOST_IMAGES = 2_000_000


@dataclass(frozen=True)
class Images:
    """Images with what they show.

    Parameters
    ----------
    pixels : ndarray of shape (n, 3, height, width)
        float32, from 0 to 1.
    conditions : ndarray of shape (n, 4)
        float32: radius (half the width of the image is 1), then red, green and blue.
    labels : ndarray of shape (n, 2)
        0 or 1 for colour (blue is 1) and size (small is 1).
    """

    pixels: NDArray[np.float32]
    conditions: NDArray[np.float32]
    labels: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Circles:
    r"""A distribution of images: a circle, red or blue, big or small, somewhere on a light ground.

    The colours differ by the contrast s: red is :math:`((1+s)/2, (1-s)/2, (1-s)/2)` and blue is
    :math:`((1-s)/2, (1-s)/2, (1+s)/2)`, each channel varied by up to s/8. The radius is
    :math:`0.45 \pm 0.2`, varied by up to 0.15; the centre lies anywhere within half the width,
    the ground has channels from 0.8 to 1. A pixel shows the circle where its centre lies in it;
    then the picture is blurred (one pixel at 32 pixels, in proportion else) and noise is added.

    Parameters
    ----------
    contrast : float
        s, from 0 (excluded) to 1: the difference between red and blue in two channels.
    pixels : int
        Height and width.
    noise : float
        Standard deviation of the noise of a pixel.

    Raises
    ------
    InvalidInput

    References
    ----------
    App. G.1, Fig. 19; numbers that the text does not give follow the public code of the paper.

    Examples
    --------
    >>> images = Circles(0.5, pixels=16).draw(2, rng=0)
    >>> images.pixels.shape, images.labels.tolist()
    ((6, 3, 16, 16), [[0, 0], [0, 0], [0, 1], [0, 1], [1, 0], [1, 0]])
    """

    contrast: float
    pixels: int = 32
    noise: float = 1e-3

    def __post_init__(self) -> None:
        contrast = numbers.exact(self.contrast, "contrast")
        if not 0 < contrast <= 1:
            raise InvalidInput(
                "contrast", self.contrast, "must lie above 0 and up to 1", "App. G.1"
            )
        put(self, "contrast", numbers.within_float(contrast, "contrast"))
        noise = numbers.exact(self.noise, "noise")
        if not 0 <= noise <= 1:
            raise InvalidInput("noise", self.noise, "must lie from 0 to 1")
        put(self, "noise", float(noise))
        pixels = numbers.whole(self.pixels, "pixels", 8, most=MOST_PIXELS)
        if pixels % 8:
            raise InvalidInput(
                "pixels", pixels, "must be a multiple of 8, to be halved three times"
            )
        put(self, "pixels", pixels)

    def means(self, label: tuple[int, int]) -> Floats:
        """Radius and colour in the middle of a class.

        Parameters
        ----------
        label : tuple of int
            Colour and size, 0 or 1 each.

        Returns
        -------
        ndarray of shape (4,)
        """
        strong, weak = (1 + self.contrast) / 2, (1 - self.contrast) / 2
        colour = (weak, weak, strong) if label[0] else (strong, weak, weak)
        return np.array([0.25 if label[1] else 0.65, *colour])

    def conditions(self, kind: int, n: int) -> NDArray[np.float32]:
        """What a network is told when it is to make images of the middle of a class.

        Parameters
        ----------
        kind : int
            Place in ``CLASSES``.
        n : int

        Returns
        -------
        ndarray of shape (n, 4)
        """
        kind = numbers.whole(kind, "kind", most=len(CLASSES) - 1)
        n = numbers.whole(n, "n", 1)
        return np.tile(self.means(divmod(kind, 2)), (n, 1)).astype(np.float32)

    def draw(
        self, n_per_class: int, *, rng: Any = None, classes: tuple[int, ...] = TRAINING_CLASSES
    ) -> Images:
        """Random images, one class after the other.

        Parameters
        ----------
        n_per_class : int
        rng : None, int, SeedSequence or Generator
        classes : tuple of int
            Places in ``CLASSES``; the three of the training set if not given.

        Returns
        -------
        Images
        """
        n = numbers.whole(n_per_class, "n_per_class", 1)
        if not isinstance(classes, (tuple, list)) or not classes:
            raise InvalidInput("classes", classes, "must be one or more places in CLASSES")
        classes = tuple(numbers.whole(one, "classes", most=len(CLASSES) - 1) for one in classes)
        if n * len(classes) * (self.pixels / 32) ** 2 > MOST_IMAGES:
            raise InvalidInput("n_per_class", n, "is more than fits into memory")
        generator = np.random.default_rng(rng)
        kinds = np.repeat(np.array(classes, dtype=np.int64), n)
        labels = np.stack(np.divmod(kinds, 2), axis=1)
        conditions = np.stack([self.means(divmod(kind, 2)) for kind in range(4)])[kinds]
        reach = np.array([RADIUS_JITTER, *[self.contrast * COLOUR_JITTER] * 3])
        conditions += reach * generator.uniform(-1, 1, conditions.shape)
        centres = generator.uniform(-0.5, 0.5, (len(kinds), 2))
        grounds = generator.uniform(0.8, 1.0, (len(kinds), 3))
        return Images(
            self.paint(conditions, centres, grounds, rng=generator),
            conditions.astype(np.float32),
            labels,
        )

    def paint(
        self, conditions: Floats, centres: Floats, grounds: Floats, *, rng: Any = None
    ) -> NDArray[np.float32]:
        """Images of given circles.

        Parameters
        ----------
        conditions : ndarray of shape (n, 4)
            Radius, red, green, blue.
        centres : ndarray of shape (n, 2)
            Row and column, the image going from -1 to 1.
        grounds : ndarray of shape (n, 3)
            Colour of the ground.
        rng : None, int, SeedSequence or Generator
            Of the noise.

        Returns
        -------
        ndarray of shape (n, 3, pixels, pixels)
            float32, from 0 to 1.
        """
        from scipy.ndimage import gaussian_filter

        grid = np.linspace(-1, 1, self.pixels)
        rows = (grid - centres[:, :1])[:, :, None]
        columns = (grid - centres[:, 1:])[:, None, :]
        inside = (rows**2 + columns**2 < conditions[:, :1, None] ** 2).astype(np.float32)
        blur = self.pixels / 32
        inside = gaussian_filter(inside, (0, blur, blur), mode="nearest")[:, None]
        ground = grounds.astype(np.float32)[:, :, None, None]
        colour = conditions[:, 1:].astype(np.float32)[:, :, None, None]
        images = ground + (colour - ground) * inside
        if self.noise:
            generator = np.random.default_rng(rng)
            images += self.noise * generator.standard_normal(images.shape, dtype=np.float32)
        return np.clip(images, 0, 1, out=images)

    def to_dict(self) -> dict[str, Any]:
        """The distribution as plain values.

        Returns
        -------
        dict
        """
        return asdict(self)
