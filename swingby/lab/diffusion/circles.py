"""Images of circles with two concepts, colour and size: the data of the diffusion experiments."""

from __future__ import annotations

import functools
import math
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.hints import Hinted
from swingby.lab.diffusion.spline_table import SplineTable
from swingby.lab.field_checks import instance, set_field
from swingby.lab.networks.setting import Floats, Integers
from swingby.theory import numbers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

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
#: The radius between big and small.
_MIDDLE = 0.45
#: Within a class radius and colours vary by up to these parts of the separation and the contrast.
_RADIUS_JITTER, _COLOUR_JITTER = 3 / 8, 1 / 8
#: With a larger separation the smallest circles vanish between the pixels.
_LARGEST_SEPARATION = 0.5
#: A typing error should not fill the memory.
_MOST_PIXELS = 128
_MOST_IMAGES = 2_000_000


@dataclass(frozen=True)
class _Images:
    """Images with what they show."""

    #: Of shape (n, 3, height, width), from 0 to 1.
    pixels: NDArray[np.float32]
    #: Radius (half the width of the image is 1), then red, green and blue; shape (n, 4).
    conditions: NDArray[np.float32]
    #: 0 or 1 for colour (blue is 1) and size (small is 1), shape (n, 2).
    labels: Integers

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Circles(Hinted):
    r"""A distribution of images: a circle, red or blue, big or small, somewhere on a light ground.

    The colours differ by the contrast s: red is :math:`((1+s)/2, (1-s)/2, (1-s)/2)` and blue is
    :math:`((1-s)/2, (1-s)/2, (1+s)/2)`, each channel varied by up to s/8. The radii differ by the
    separation r: :math:`0.45 \pm r/2`, varied by up to 3r/8. The centre lies anywhere within half
    the width, the ground has channels from 0.8 to 1. A pixel shows the circle where its centre
    lies in it; then the picture is blurred (one pixel at 32 pixels, in proportion else) and noise
    is added.

    Numbers that App. G.1 and Fig. 19 do not give follow the public code of the paper.

    Examples
    --------
    >>> images = Circles(0.5, pixels=16).draw(2, rng=0)
    >>> images.pixels.shape, images.labels.tolist()
    ((6, 3, 16, 16), [[0, 0], [0, 0], [0, 1], [0, 1], [1, 0], [1, 0]])
    """

    #: s, above 0 and up to 1: the difference between red and blue in two channels.
    contrast: float
    #: Height and width.
    pixels: int = 32
    #: Standard deviation of the noise of a pixel.
    noise: float = 1e-3
    #: r, above 0 and up to 0.5, in half widths of the image; 0.4 in the paper.
    separation: float = 0.4

    def __post_init__(self) -> None:
        for name, largest in (("contrast", 1), ("separation", _LARGEST_SEPARATION)):
            value = numbers.exact(getattr(self, name), name)
            if not 0 < value <= largest:
                requirement = f"must lie above 0 and up to {largest}"
                raise InvalidInput(name, getattr(self, name), requirement, "App. G.1")
            set_field(self, name, numbers.within_float(value, name))
        noise = numbers.exact(self.noise, "noise")
        if not 0 <= noise <= 1:
            raise InvalidInput("noise", self.noise, "must lie from 0 to 1")
        set_field(self, "noise", float(noise))
        pixels = numbers.whole(self.pixels, "pixels", 8, most=_MOST_PIXELS)
        if pixels % 8:
            raise InvalidInput(
                "pixels", pixels, "must be a multiple of 8, to be halved three times"
            )
        set_field(self, "pixels", pixels)

    @property
    def reach(self) -> Floats:
        """By how much radius, red, green and blue vary within a class, at most; shape (4,)."""
        colour = _COLOUR_JITTER * self.contrast
        return np.array([_RADIUS_JITTER * self.separation, colour, colour, colour])

    def means(self, label: tuple[int, int]) -> Floats:
        """Radius, red, green and blue in the middle of a class (colour, size), shape (4,)."""
        if tuple(np.shape(label)) != (2,) or not {*label} <= {0, 1}:
            raise InvalidInput("label", label, "must be colour and size, 0 or 1 each")
        strong, weak = (1 + self.contrast) / 2, (1 - self.contrast) / 2
        colour = (weak, weak, strong) if label[0] else (strong, weak, weak)
        radius = _MIDDLE + (0.5 - label[1]) * self.separation
        return np.array([radius, *colour])

    def conditions(self, kind: int, n: int) -> NDArray[np.float32]:
        """Conditions for n images of the middle of a class, shape (n, 4)."""
        kind = numbers.whole(kind, "kind", most=len(CLASSES) - 1)
        n = numbers.whole(n, "n", 1, most=_MOST_IMAGES)
        return np.tile(self.means(divmod(kind, 2)), (n, 1)).astype(np.float32)

    def draw(
        self, n_per_class: int, *, rng: Any = None, classes: tuple[int, ...] = TRAINING_CLASSES
    ) -> _Images:
        """Random images, one class after the other; `classes` are places in ``CLASSES``."""
        n = numbers.whole(n_per_class, "n_per_class", 1, most=_MOST_IMAGES)
        if not isinstance(classes, (tuple, list)) or not classes:
            raise InvalidInput("classes", classes, "must be one or more indices into CLASSES")
        classes = tuple(
            numbers.whole(number, "classes", most=len(CLASSES) - 1) for number in classes
        )
        if n * len(classes) * (self.pixels / 32) ** 2 > _MOST_IMAGES:
            raise InvalidInput("n_per_class", n, "must fit into memory")
        generator = numbers.random_source(rng)
        kinds = np.repeat(np.array(classes, dtype=np.int64), n)
        labels = np.stack(np.divmod(kinds, 2), axis=1)
        conditions = np.stack([self.means(divmod(kind, 2)) for kind in range(4)])[kinds]
        conditions += self.reach * generator.uniform(-1, 1, conditions.shape)
        centres = generator.uniform(-0.5, 0.5, (len(kinds), 2))
        grounds = generator.uniform(0.8, 1.0, (len(kinds), 3))
        pixels = self.paint(conditions, centres, grounds, rng=generator)
        return _Images(pixels, conditions.astype(np.float32), labels)

    def paint(
        self, conditions: Floats, centres: Floats, grounds: Floats, *, rng: Any = None
    ) -> NDArray[np.float32]:
        """Images of given circles, (n, 3, pixels, pixels) from 0 to 1.

        They have `conditions` (n, 4): radius, red, green, blue; `centres` (n, 2): row and column,
        the image going from -1 to 1; and the colours `grounds` (n, 3) around. `rng`: of the noise.
        """
        from scipy.ndimage import gaussian_filter

        arguments = {"conditions": conditions, "centres": centres, "grounds": grounds}
        widths, n = (CONDITION, 2, 3), len(np.atleast_1d(conditions))
        for (name, array), width in zip(arguments.items(), widths, strict=True):
            if np.shape(array) != (n, width):
                raise InvalidInput(
                    name, f"shape {np.shape(array)}", f"must have shape ({n}, {width})"
                )
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
            generator = numbers.random_source(rng)
            images += self.noise * generator.standard_normal(images.shape, dtype=np.float32)
        return np.clip(images, 0, 1, out=images)


#: What an image can be: one of the classes, a circle of none of them, or rejected.
KINDS = (*CLASSES, "other", "empty", "noise")
OTHER, EMPTY, NOISE = 4, 5, 6
#: A circle differs from its ground by this in the mean over channels (root mean square); those of
#: the generator by 0.25 or more, at every contrast.
_FAINT = 0.1
#: Root mean square of what the fit leaves, in units of the brightness. The generator's circles
#: leave up to 0.06 at 16 pixels, as pixels are in or out; uniform noise leaves 0.29. What samplers
#: add is a few hundredths.
_ROUGH = 0.1
#: What is left must not look like a second disc: what one explains, in pixels of a disc as bright
#: as the first. The generator's circles stay below 0.25; of circles with a second one beside them,
#: of a radius of 0.15 or more, all but a few lie above 0.6.
_SECOND = 0.4
#: Colours lie from 0 to 1: their prior, 1/2 with this deviation, decides where a circle is so
#: small that its colour and its radius cannot be told apart.
_PRIOR = 0.5
#: Standard errors that a measured number may lie outside the range of its class.
_ERRORS = 2.0
#: A disc on a square grid covers pi r^2 pixels, give or take 0.82 sqrt(r) (Kendall, 1948); so much
#: of pitch^(3/2) / sqrt(r) is the standard error of a radius.
_LATTICE = 0.82 / (2 * math.pi)
_STEPS, _RADII = 25, (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
_SMALLEST, _LARGEST = 0.02, 1.2


@dataclass(frozen=True, eq=False)
class Reading(Hinted):
    """Measured circles, each number with its standard error. Half the width of the image is 1."""

    #: Place in ``KINDS``, shape (n,).
    kind: Integers
    radius: Floats
    radius_error: Floats
    #: Of shape (n, 3).
    colour: Floats
    colour_error: Floats
    #: Row and column, from -1 to 1; shape (n, 2).
    centre: Floats
    centre_error: Floats

    def __len__(self) -> int:
        return len(self.kind)

    def shares(self) -> Floats:
        """Share of the images of each of ``KINDS``, shape (7,)."""
        return np.bincount(self.kind, minlength=len(KINDS)) / len(self)


def read_circles(pixels: ArrayLike, circles: Circles) -> Reading:
    """Measure the circle in each image and say which class it belongs to, if any.

    An image counts as one of a class if it is a circle on a flat ground, its radius lies on the
    side of the class by more than its error, and radius and channels lie in the ranges of the
    class, widened by half the gap to the next class and by twice their errors.

    Parameters
    ----------
    pixels : array_like of shape (n, 3, height, width)
        Brightness, from 0 to 1; values outside are not clipped. A tensor of torch is read on its
        own device, the CPU or a CUDA device.
    circles : Circles
        The distribution of the classes.

    Examples
    --------
    >>> circles = Circles(0.8, pixels=16)
    >>> images = circles.draw(1, rng=0)
    >>> found = read_circles(images.pixels, circles)
    >>> [KINDS[kind] for kind in found.kind]
    ['00', '01', '10']
    >>> bool(abs(found.radius - images.conditions[:, 0]).max() < 0.03)
    True
    >>> [KINDS[kind] for kind in read_circles(np.full((1, 3, 16, 16), 0.9), circles).kind]
    ['empty']
    """
    instance(circles, "circles", Circles)
    images, device = _array(pixels)
    size = circles.pixels
    if images.ndim != 4 or images.shape[1:] != (3, size, size):
        shape = tuple(images.shape)
        raise InvalidInput("pixels", f"shape {shape}", f"must be (n, 3, {size}, {size})")
    fit = _disc(size, device)
    state, rest, errors = fit.measured(images)
    total = ((images - images.mean((2, 3), keepdims=True)) ** 2).sum((1, 2, 3))
    squares = (rest**2).sum((1, 2, 3))
    explained = fit.library.amax(fit.explained(rest), 1)
    state, errors, total, squares, explained = (
        np.asarray(values if device is None else values.cpu())
        for values in (state, errors, total, squares, explained)
    )
    size = 3 * circles.pixels**2
    radius, centre, ground, colour = state[:, 0], state[:, 1:3], state[:, 3:6], state[:, 6:]
    residual, height = np.sqrt(squares / size), ((colour - ground) ** 2).sum(1)
    faint = np.sqrt(height / 3) < _FAINT
    # Of many discs one fits noise by chance: what it explains must be far beyond a free fit.
    spread = squares / (size - state.shape[1])
    chance = total - squares < 2 * math.log(fit.templates.shape[0] * size / 3) * spread
    second = explained / np.maximum(height, 1e-9)
    kind = _classes(circles, state, errors)
    kind = np.where(second > _SECOND, NOISE, kind)
    kind = np.where(faint | chance, EMPTY, kind)
    kind = np.where(residual > _ROUGH, NOISE, kind)
    return Reading(kind, radius, errors[:, 0], colour, errors[:, 6:], centre, errors[:, 1:3])


def _array(pixels: Any) -> tuple[Any, Any]:
    """Finite float64 numbers of torch and their device, or of NumPy and None."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(pixels, torch.Tensor):
        return numbers.real_array(pixels, "pixels"), None
    if pixels.device.type not in ("cpu", "cuda") or not pixels.is_floating_point():
        return numbers.real_array(pixels, "pixels"), None
    images = pixels.detach().double()
    if not images.numel() or not bool(images.isfinite().all()):
        raise InvalidInput("pixels", "a tensor", "must not be empty, and must be finite")
    return images, images.device


def _classes(circles: Circles, state: Floats, errors: Floats) -> Integers:
    """The class in whose ranges a circle lies, or OTHER."""
    numbers_, bars = state[:, [0, 6, 7, 8]], errors[:, [0, 6, 7, 8]]
    kinds = np.full(len(state), OTHER)
    gaps = np.array([circles.separation, *[circles.contrast] * 3]) - 2 * circles.reach
    decided = np.abs(state[:, 0] - _MIDDLE) > errors[:, 0]
    for kind in range(len(CLASSES)):
        off = np.abs(numbers_ - circles.means(divmod(kind, 2)))
        inside = (off <= circles.reach + gaps / 4 + _ERRORS * bars).all(1)
        side = (state[:, 0] < _MIDDLE) == bool(kind % 2)
        # Where errors leave both colours open, neither counts.
        red_or_blue = (numbers_[:, 3] > numbers_[:, 1]) == bool(kind // 2)
        kinds = np.where(inside & decided & side & red_or_blue, kind, kinds)
    return kinds


class _Disc:
    """Blurred discs at some size of images: templates to begin with, and a least squares fit.

    `device`: of torch, which then computes there; None for NumPy.
    """

    def __init__(self, pixels: int, device: Any = None) -> None:
        from scipy.special import chndtr

        self.pixels, self.pitch = pixels, 2 / (pixels - 1)
        self.library = np if device is None else sys.modules["torch"]
        grid = np.linspace(-1, 1, pixels)
        # The generator blurs; pixels that are in or out spread the edge by another 1/sqrt(12).
        width = self.pitch * math.sqrt((pixels / 32) ** 2 + 1 / 12)
        away, radii = np.linspace(0, 3.5, 280), np.linspace(0, _LARGEST + 0.05, 120)
        # A Gaussian around a point at this distance from the centre, inside the radius.
        squares = (radii[None] / width) ** 2, (away[:, None] / width) ** 2
        table = np.asarray(chndtr(squares[0], 2.0, squares[1]), dtype=np.float64)
        profile = SplineTable(away, radii, table)
        #: The disc by distance and radius.
        self.profile = profile if device is None else SplineTable(away, radii, table, device)
        centres = grid[np.abs(grid) <= 0.8]
        starts = np.array([(r, y, x) for r in _RADII for y in centres for x in centres])
        distance = np.hypot(
            (grid - starts[:, 1:2])[:, :, None], (grid - starts[:, 2:])[:, None, :]
        ).reshape(len(starts), -1)
        masks = np.stack(
            [
                profile(row, np.full_like(row, radius))[0]
                for row, radius in zip(distance, starts[:, 0], strict=True)
            ]
        )
        masks -= masks.mean(1, keepdims=True)
        masks /= np.linalg.norm(masks, axis=1, keepdims=True)
        # A channel is painted as ground (1 - disc) + colour disc; the derivatives of its pixels by
        # the nine numbers are these combinations of 1 - disc, the disc and its three slopes, the
        # latter times colour - ground.
        levels, slopes = np.zeros((3, 5, 9)), np.zeros((5, 9))
        for channel in range(3):
            levels[channel, 0, 3 + channel] = levels[channel, 1, 6 + channel] = 1.0
        slopes[[2, 3, 4], [0, 1, 2]] = 1.0
        prior = np.repeat([0.0, (0.02 / _PRIOR) ** 2], [6, 3])
        arrays = (
            grid, np.pad(starts, ((0, 0), (0, 6)), constant_values=0.5), masks, levels, slopes,
            prior, np.eye(9),
        )  # fmt: skip
        if device is not None:
            arrays = tuple(self.library.as_tensor(array, device=device) for array in arrays)
        #: Radius, row and column of the templates, then any colours; the templates, of unit length.
        self.grid, self.starts, self.templates, *rest = arrays
        self.levels, self.slopes, self.prior, self.unit = rest

    def explained(self, images: Any) -> Any:
        """Sum of squares that each template explains beyond a flat ground, shape (n, k)."""
        flat = images.reshape(len(images) * 3, -1) @ self.templates.T
        return (flat**2).reshape(len(images), 3, -1).sum(1)

    def measured(self, images: Any) -> tuple[Any, Any, Any]:
        """State (n, 9): radius, centre, ground, colour; what is left; standard errors (n, 9)."""
        library, linalg = self.library, self.library.linalg
        state = self.starts[self.explained(images).argmax(1)]
        state[:, 3:] = self._levels(images, state)
        damping = library.full_like(state[:, 0], 1e-3)
        cost, normal, pull, _ = self._fit(images, state)
        for _ in range(_STEPS):
            ridge = damping[:, None, None] * self.unit * normal.diagonal(0, 1, 2)[:, None, :]
            matrix = normal + ridge + 1e-12 * self.unit
            tried = state + linalg.solve(matrix, pull[..., None])[..., 0]
            tried[:, 0] = tried[:, 0].clip(_SMALLEST, _LARGEST)
            tried[:, 1:3] = tried[:, 1:3].clip(-_LARGEST, _LARGEST)
            tried[:, 3:] = tried[:, 3:].clip(0, 1)
            new_cost, new_normal, new_pull, _ = self._fit(images, tried)
            better = new_cost <= cost
            state = library.where(better[:, None], tried, state)
            cost = library.where(better, new_cost, cost)
            normal = library.where(better[:, None, None], new_normal, normal)
            pull = library.where(better[:, None], new_pull, pull)
            damping = library.where(better, damping / 5, damping * 5).clip(1e-9, 1e6)
        *_, rest = self._fit(images, state)
        spread = (rest**2).sum((1, 2, 3)) / (3 * self.pixels**2 - 9)
        inverse = linalg.inv(normal + 1e-12 * self.unit)
        squares = inverse.diagonal(0, 1, 2) * spread[:, None]
        # The grid moves the radius, and what the radius is fitted together with moves along.
        along = inverse[:, :, 0] / inverse[:, :1, 0]
        grid = _LATTICE * self.pitch**1.5 / library.sqrt(state[:, :1].clip(self.pitch))
        squares = squares + (along * grid) ** 2
        squares[:, 1:3] += grid**2
        return state, rest, library.sqrt(squares)

    def _columns(self, state: Any) -> Any:
        """1 - disc, the disc, and its slopes by radius, row and column; (n, P, 5)."""
        library, shape = self.library, (len(state), self.pixels, self.pixels)
        rows = library.broadcast_to((self.grid - state[:, 1:2])[:, :, None], shape)
        columns = library.broadcast_to((self.grid - state[:, 2:3])[:, None, :], shape)
        rows, columns = (index.reshape(len(state), -1) for index in (rows, columns))
        away = library.sqrt(rows**2 + columns**2)
        disc, outward, wider = self.profile(away, library.broadcast_to(state[:, :1], away.shape))
        outward = outward / away.clip(1e-9)
        return library.stack([1 - disc, disc, wider, -outward * rows, -outward * columns], -1)

    def _levels(self, images: Any, state: Any) -> Any:
        """Ground and colour by least squares where the disc is given, shape (n, 6)."""
        basis = self._columns(state)[..., :2]
        normal = basis.swapaxes(1, 2) @ basis + 1e-6 * self.unit[:2, :2]
        values = images.reshape(len(images), 3, -1)
        levels = self.library.linalg.solve(normal[:, None], (values @ basis)[..., None])[..., 0]
        return self.library.concatenate([levels[..., 0], levels[..., 1].clip(0, 1)], 1)

    def _fit(self, images: Any, state: Any) -> tuple[Any, Any, Any, Any]:
        """Sum of squares, normal matrix of the nine numbers, pull on them, and what is left."""
        columns, n = self._columns(state), len(state)
        ground, colour = state[:, 3:6, None], state[:, 6:, None]
        painted = ground * columns[:, None, :, 0] + colour * columns[:, None, :, 1]
        rest = images - painted.reshape(images.shape)
        off = state - 0.5
        cost = (rest**2).sum((1, 2, 3)) + (self.prior * off**2).sum(1)
        # Of each channel (n, 3, 5, 9).
        ways = self.levels + (colour - ground)[..., None] * self.slopes
        turned = ways.swapaxes(2, 3)
        products = (columns.swapaxes(1, 2) @ columns)[:, None]
        normal = (turned @ products @ ways).sum(1) + self.prior * self.unit
        slopes = rest.reshape(n, 3, -1) @ columns
        pull = (turned @ slopes[..., None])[..., 0].sum(1) - self.prior * off
        return cost, normal, pull, rest


_disc = functools.lru_cache(maxsize=4)(_Disc)
