"""Numbers out of a course in concept space: error, speed, half-times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from swingby.diffusion.circles import CONCEPTS
from swingby.diffusion.course import Course, rising_steps
from swingby.diffusion.learning import HALF, responses
from swingby.errors import InvalidInput
from swingby.theory import numbers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

#: Width of the smoothing of the public code, in saves.
PUBLIC_SIGMA = 2.0


@dataclass(frozen=True)
class HalfTimes:
    """When each concept of the held-out class is half learned, in steps.

    Parameters
    ----------
    start : int or None
        Place of the first save that counts; None where there is none, and then all is nan.
    stays : tuple of float
        Colour, size: the step from which on the concept stays above 1/2; inf if it does not end
        there, nan if it is there at every save from the start on.
    first : tuple of float
        The first crossing; inf if there is none, nan if the concept starts above 1/2.
    early : tuple of bool
        Where `stays` is nan because the concept was above 1/2 all along: it was learned at the
        start or before.
    """

    start: int | None
    stays: tuple[float, float]
    first: tuple[float, float]
    early: tuple[bool, bool]


def checked_path(steps: ArrayLike, path: ArrayLike) -> tuple[Floats, Floats]:
    """Steps and a path in concept space that belong together.

    Raises
    ------
    InvalidInput
    """
    times = rising_steps(steps).astype(np.float64)
    points = numbers.real_array(path, "path")
    if points.shape != (len(times), len(CONCEPTS)):
        shape = (len(times), len(CONCEPTS))
        raise InvalidInput("path", f"shape {points.shape}", f"must have shape {shape}")
    return times, points


def mean_path(courses: Sequence[Course]) -> tuple[NDArray[np.int64], Floats]:
    """Steps, and the held-out course averaged over seeds.

    Parameters
    ----------
    courses : sequence of Course
        Of one contrast, one each seed, saved at the same steps.

    Returns
    -------
    tuple of ndarray
        Shapes (n,) and (n, 2).

    Raises
    ------
    InvalidInput
        If there are none, or contrasts or steps differ, or a seed comes twice.
    """
    courses = list(courses)
    if not courses or not all(isinstance(one, Course) for one in courses):
        raise InvalidInput("courses", courses, "must be one Course or more")
    first = courses[0]
    if any(one.contrast != first.contrast for one in courses):
        raise InvalidInput("courses", "several contrasts", "must have one contrast")
    if len({one.seed for one in courses}) < len(courses):
        raise InvalidInput("courses", "a seed given twice", "must have different seeds")
    if any(not np.array_equal(one.steps, first.steps) for one in courses):
        raise InvalidInput("courses", "different steps", "must be saved at the same steps")
    return first.steps, np.mean([one.held_out for one in courses], axis=0)


def smooth(path: ArrayLike, sigma: float = PUBLIC_SIGMA) -> Floats:
    """A path blurred over the places of its saves, as the public code draws it.

    The blur moves half-times and makes slow-downs look smooth; nothing in this package applies
    it unasked.

    Parameters
    ----------
    path : array_like of shape (n, ...)
    sigma : float
        In saves, whatever steps lie between them; ends are reflected.

    Returns
    -------
    ndarray
        Of the shape of `path`.
    """
    from scipy.ndimage import gaussian_filter1d

    width = numbers.within_float(numbers.positive(sigma, "sigma"), "sigma")
    values = numbers.real_array(path, "path")
    if values.ndim == 0:
        raise InvalidInput("path", path, "must have an axis of saves")
    return np.asarray(gaussian_filter1d(values, width, axis=0), dtype=np.float64)


def concept_error(path: ArrayLike) -> Floats:
    r"""Mean squared distance to the target, :math:`\frac12 \sum_p (C_p - 1)^2`."""
    values = numbers.real_array(path, "path")
    if values.ndim < 1 or values.shape[-1] != len(CONCEPTS):
        raise InvalidInput("path", f"shape {values.shape}", "must end in 2 concepts")
    return np.asarray(((values - 1) ** 2).mean(axis=-1))


def speed(steps: ArrayLike, path: ArrayLike) -> tuple[Floats, Floats]:
    """Distance covered in concept space per training step, between saves.

    Returns
    -------
    tuple of ndarray
        Steps halfway between saves and the speed there, each of shape (n - 1,).

    Notes
    -----
    Noise of the path adds to the speed, more so where saves lie close: between saves h steps
    apart, noise of standard deviation e per concept alone looks like a speed of about 1.8 e / h.
    """
    times, points = checked_path(steps, path)
    if len(times) < 2:
        raise InvalidInput("steps", steps, "must be two saves or more")
    gaps = np.diff(times)
    return times[:-1] + gaps / 2, np.linalg.norm(np.diff(points, axis=0), axis=1) / gaps


def start(course: Course) -> int | None:
    """Place of the first save at which the course counts.

    That is the first save at which the trained classes follow one of the concepts: its response is
    a half (:func:`swingby.diffusion.learning.responses`). A classifier gives every image a class,
    noise too: before the model draws circles, C is an arbitrary point, often above 1/2, and tells
    nothing of learning. The held-out class has no part in the rule.

    Returns
    -------
    int or None
        None where no save qualifies.
    """
    reached = np.flatnonzero((responses(course) >= HALF).any(axis=1))
    return int(reached[0]) if reached.size else None


def half_times(steps: ArrayLike, path: ArrayLike, begin: int | None = 0) -> HalfTimes:
    """When each concept rises above 1/2, between saves by straight lines.

    Parameters
    ----------
    steps : array_like of shape (n,)
    path : array_like of shape (n, 2)
    begin : int or None
        Place of the first save that counts, see :func:`start`; earlier ones are not looked at.

    Notes
    -----
    A noisy curve crosses 1/2 more than once, and its last crossing is late. With 32 images and 60
    saves, the last crossing of a logistic of width w is late by 0.3 % of a half-time of 10 w, by
    7 % of one of 2.5 w; the first is early, by no more than that.

    Examples
    --------
    >>> found = half_times([0, 10, 30], [[0.0, 0.2], [1.0, 0.4], [1.0, 0.5]])
    >>> found.stays, found.first
    ((5.0, inf), (5.0, inf))
    """
    times, points = checked_path(steps, path)
    if begin is None:
        return HalfTimes(None, (math.nan,) * 2, (math.nan,) * 2, (False, False))
    begin = numbers.whole(begin, "begin", 0, most=len(times) - 1)
    found = [_crossings(times[begin:], points[begin:, p]) for p in range(len(CONCEPTS))]
    (colour, size) = found
    return HalfTimes(begin, (colour[0], size[0]), (colour[1], size[1]), (colour[2], size[2]))


def _crossings(times: Floats, values: Floats) -> tuple[float, float, bool]:
    """When one concept rises to stay, when it first rises, and whether it never was below."""
    above = values > HALF
    if above.all():
        return math.nan, math.nan, True
    rises = np.flatnonzero(~above[:-1] & above[1:])

    def at(place: int) -> float:
        part = (HALF - values[place]) / (values[place + 1] - values[place])
        return float(times[place] + part * (times[place + 1] - times[place]))

    last = at(int(rises[-1])) if above[-1] else math.inf
    if above[0]:
        return last, math.nan, False
    return last, at(int(rises[0])) if rises.size else math.inf, False


def course_half_times(course: Course) -> HalfTimes:
    """Half-times of a course from its start on."""
    return half_times(course.steps, course.held_out, start(course))
