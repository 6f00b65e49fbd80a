r"""Courses of training: the response of each concept, linear in pixels, and the images.

The response to concept p is what a change of this concept alone in the condition does to the
images, all else and the noise of the sampler being the same, along the concept's own direction in
pixel space: with :math:`D_p` the difference of the mean images of the two classes,

.. math:: w_{pp} = \langle \bar x(c + \delta_p) - \bar x(c),\, D_p \rangle / |D_p|^2 .

It is 0 for a network that does not read its condition and 1 for a perfect one; of a linear denoiser
it is the diagonal entry of W whose half-time the theory predicts.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.hints import Hinted
from swingby.lab.diffusion.circles import CLASSES, CONCEPTS, HELD_OUT, KINDS, Circles
from swingby.lab.diffusion.preset import OPTIMIZERS, with_fields
from swingby.lab.field_checks import instance, one_of, positive, set_field
from swingby.lab.networks.setting import Floats, Integers
from swingby.theory import numbers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

#: For colour and for size: the class asked for, and the one that differs in this concept alone.
PAIRS = {"trained": ((2, 0), (1, 0)), "held out": ((3, 1), (3, 2))}
#: A concept is learned from the step on from which its response stays above this.
HALF = 0.5
#: A response far from 0 and 1 is no number of ours.
_LARGEST = 1e6
#: Images of each class that a mean image is taken of; the same places and colours for all.
_MEANS = 4096
#: Shares that are not of a whole number of images to this are no shares.
_ROUNDING = 1e-5


@functools.lru_cache(maxsize=64)
def directions(circles: Circles) -> Floats:
    """Differences of mean images of classes, pixels from -1 to 1: (corner, concept, 3, h, w)."""
    instance(circles, "circles", Circles)
    quiet, rng = replace(circles, noise=0.0), np.random.default_rng(0)
    offsets = circles.reach * rng.uniform(-1, 1, (_MEANS, 4))
    centres = rng.uniform(-0.5, 0.5, (_MEANS, 2))
    grounds = rng.uniform(0.8, 1.0, (_MEANS, 3))
    means = [
        quiet.paint(quiet.means(divmod(kind, 2)) + offsets, centres, grounds).mean(0, dtype=float)
        for kind in range(len(CLASSES))
    ]
    differences = [[2 * (means[a] - means[b]) for a, b in pairs] for pairs in PAIRS.values()]
    return np.array(differences)


def linear_response(samples: ArrayLike, along: ArrayLike) -> Floats:
    """The responses of samples made from the same noise: of a linear denoiser, w_pp of (D.2).

    Parameters
    ----------
    samples : array_like of shape (4, n, ...)
        By class asked for; sample k of every class comes from the same noise.
    along : array_like of shape (2, 2, ...)
        The concept's own direction, by corner and concept, see :func:`directions`.

    Returns
    -------
    ndarray of shape (2, 2)
        Corner (trained, held out), concept (colour, size).

    Examples
    --------
    >>> ways = np.array([[[1.0, 0.0], [0.0, 2.0]]] * 2)
    >>> samples = [[[0.0, 0.0]], [[0.0, 0.5]], [[0.75, 0.0]], [[0.75, 0.5]]]
    >>> linear_response(samples, ways).tolist()
    [[0.75, 0.25], [0.75, 0.25]]
    """
    images, ways = numbers.real_array(samples, "samples"), numbers.real_array(along, "along")
    if images.ndim < 3 or len(images) != len(CLASSES) or ways.shape != (2, 2, *images.shape[2:]):
        raise InvalidInput(
            "samples", f"shape {images.shape}", f"must be of 4 classes, along {ways.shape}"
        )
    if not ways.reshape(4, -1).any(axis=1).all():
        raise InvalidInput("along", "zeros", "must have a direction for every corner and concept")
    means = images.mean(1)
    w = np.empty((2, 2))
    for corner, pairs in enumerate(PAIRS.values()):
        for p, (changed, reference) in enumerate(pairs):
            way = ways[corner, p]
            w[corner, p] = ((means[changed] - means[reference]) * way).sum() / (way**2).sum()
    return w


@dataclass(frozen=True, order=True)
class ImageCell(Hinted):
    """One combination of the factors: size separation, contrast, gain, optimizer."""

    separation: float
    contrast: float
    gain: float
    optimizer: str

    def __post_init__(self) -> None:
        circles = Circles(self.contrast, separation=self.separation)
        set_field(self, "contrast", circles.contrast)
        set_field(self, "separation", circles.separation)
        set_field(self, "gain", positive(self.gain, "gain"))
        one_of(self.optimizer, "optimizer", OPTIMIZERS)

    def __str__(self) -> str:
        numbers_ = f"separation {self.separation:g}, contrast {self.contrast:g}"
        return f"{numbers_}, gain {self.gain:g}, {self.optimizer}"

    def circles(self, pixels: int) -> Circles:
        """The images of this cell."""
        return Circles(self.contrast, pixels, separation=self.separation)


#: The public name.
Cell = ImageCell


@dataclass(frozen=True, eq=False)
class Course(Hinted):
    """The images that a model made while it was trained, measured: one cell, one seed."""

    cell: ImageCell
    seed: int
    #: Whole numbers, rising: training steps done when images were made, (n,).
    steps: Integers
    #: Responses at each save: corner (trained, held out), concept (colour, size); (n, 2, 2).
    w: Floats
    #: Shares of the images asked for of each class that were measured to be of each of
    #: :data:`swingby.lab.diffusion.circles.KINDS`, (n, 4, 7).
    kinds: Floats
    #: Bits per dimension, (n,).
    loss: Floats

    def __post_init__(self) -> None:
        instance(self.cell, "cell", ImageCell)
        set_field(self, "seed", numbers.whole(self.seed, "seed"))
        steps = numbers.real_array(self.steps, "steps")
        if steps.ndim != 1 or (steps != np.floor(steps)).any() or steps.max() > 2**53:
            raise InvalidInput("steps", self.steps, "must be whole numbers")
        if steps[0] < 0 or (np.diff(steps) <= 0).any():
            raise InvalidInput("steps", self.steps, "must rise from 0 or more")
        n = len(steps)
        shapes = {"w": (n, 2, len(CONCEPTS)), "kinds": (n, len(CLASSES), len(KINDS)), "loss": (n,)}
        arrays: dict[str, NDArray[Any]] = {"steps": steps.astype(np.int64)}
        for name, shape in shapes.items():
            arrays[name] = numbers.real_array(getattr(self, name), name)
            if arrays[name].shape != shape:
                shape_text = f"shape {arrays[name].shape}"
                raise InvalidInput(name, shape_text, f"must have shape {shape}")
        if np.abs(arrays["w"]).max() > _LARGEST:
            raise InvalidInput("w", "an array", f"must lie within {_LARGEST:g}")
        off = np.abs(arrays["kinds"].sum(2) - 1)
        if arrays["kinds"].min() < 0 or (off > len(KINDS) * _ROUNDING).any():
            raise InvalidInput("kinds", "an array", "must be shares of all images")
        for name, values in arrays.items():
            values.setflags(write=False)
            set_field(self, name, values)

    def __repr__(self) -> str:
        return f"<Course: {self.cell}, seed {self.seed}, {int(self.steps[-1])} steps>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Course):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    @property
    def right(self) -> Floats:
        """Share of images that are the class asked for, by measurement; shape (n, 4)."""
        return np.stack([self.kinds[:, kind, kind] for kind in range(len(CLASSES))], 1)

    @property
    def held_out(self) -> float:
        """That share of the held-out class at the last save."""
        return float(self.right[-1, HELD_OUT])

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, as JSON can hold them."""
        arrays = {name: getattr(self, name).tolist() for name in ("steps", "w", "kinds", "loss")}
        return {"cell": asdict(self.cell), "seed": self.seed, **arrays}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Course:
        """The course that :meth:`to_dict` wrote; InvalidInput for anything else."""
        fields = with_fields(cls.__dataclass_fields__, "course", values)
        cell = with_fields(ImageCell.__dataclass_fields__, "cell", fields["cell"])
        return cls(**{**fields, "cell": ImageCell(**cell)})


def responses(course: Course, corner: str = "trained") -> Floats:
    """Responses of a course to colour and size, shape (n, 2), at a corner.

    "trained": for colour, (blue, big) less (red, big), and for size, (red, small) less (red, big);
    "held out": both differences end at (blue, small) instead. Another word is refused.
    """
    instance(course, "course", Course)
    one_of(corner, "corner", tuple(PAIRS))
    return course.w[:, tuple(PAIRS).index(corner)]


def learning_times(course: Course, corner: str = "trained") -> tuple[float, float]:
    """Steps from which on the responses to colour and to size stay above a half.

    They are interpolated between saves; inf where the last save lies below. The corner is that of
    :func:`responses`.

    Examples
    --------
    >>> w, kinds = np.zeros((3, 2, 2)), np.zeros((3, 4, 7))
    >>> w[:, 0], kinds[:, :, 5] = [[0, 0], [1, 0.25], [1, 0.75]], 1.0
    >>> cell = ImageCell(0.4, 0.5, 1.0, "adamw")
    >>> learning_times(Course(cell, 0, [0, 10, 30], w, kinds, [3.0, 2.0, 1.0]))
    (5.0, 20.0)
    """

    def time(values: Floats) -> float:
        below = np.flatnonzero(values < HALF)
        if below.size == 0:
            return 0.0
        last = int(below[-1])
        if last + 1 == len(values):
            return math.inf
        fraction = (HALF - values[last]) / (values[last + 1] - values[last])
        return float(course.steps[last] + fraction * (course.steps[last + 1] - course.steps[last]))

    colour, size = map(time, responses(course, corner).T)
    return colour, size


def bend(path: ArrayLike) -> float:
    r"""Signed area between a path and the chord from its first point to its last.

    .. math:: \frac{1}{\Delta_1 \Delta_2} \sum_i (x_i - x_0) \times (x_{i+1} - x_0),

    with :math:`\Delta` from the first point to the last and the cross product of the plane. It is
    +1 for a path that first goes all along colour, then all along size, -1 the other way round,
    0 for a straight one; nan unless both end a half above their start. Every term is a product
    of two different saves, so independent noise of the saves between adds nothing on average.

    >>> bend([[0, 0], [1, 0], [1, 1]]), bend([[0, 0], [0, 1], [1, 1]]), bend([[0, 0], [1, 1]])
    (1.0, -1.0, 0.0)
    """
    points = numbers.real_array(path, "path")
    if points.ndim != 2 or points.shape[1] != 2:
        raise InvalidInput("path", f"shape {points.shape}", "must have shape (n, 2)")
    away = points - points[0]
    if away[-1].min() < HALF:
        return math.nan
    cross = away[:-1, 0] * away[1:, 1] - away[:-1, 1] * away[1:, 0]
    return float(cross.sum() / (away[-1, 0] * away[-1, 1]))
