"""How far a concept of the condition moves that concept of the images: learning, from 0 to 1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from swingby.diffusion.course import Course
from swingby.training.setting import one_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: For colour and for size: the class asked for, and the one that differs in this concept alone.
PAIRS = {"trained": ((2, 0), (1, 0)), "held out": ((3, 1), (3, 2))}
#: A concept is learned from the step on from which its response stays above this.
HALF = 0.5


@dataclass(frozen=True)
class LearningTimes:
    """When the responses to colour and size stay above a half, in steps.

    Parameters
    ----------
    times : tuple of float
        Interpolated between saves; inf where the last save does not.
    within : tuple of float
        Width of the interval of saves in which each lies: an error bar of the reading.
    """

    times: tuple[float, float]
    within: tuple[float, float]

    @property
    def log_ratio(self) -> float:
        r""":math:`\log(t_{size}/t_{colour})`, above 0 where colour is first.

        Infinite where one is never learned, or was at the first save; nan where both are.
        """
        colour, size = self.times
        if colour == size and colour in (0.0, math.inf):
            return math.nan
        with np.errstate(divide="ignore"):
            return float(np.log(size) - np.log(colour))


def responses(course: Course, corner: str = "trained") -> Floats:
    r"""What a change of one concept in the condition does to that concept in the images.

    For colour among the trained classes: the probability of blue where (blue, big) is asked for,
    less that where (red, big) is; for size, of small for (red, small) less (red, big). At the
    held-out corner both differences end there instead. The images of all classes come from the
    same noise, so an untrained network has response 0 whatever the classifier makes of its
    images, and a network that follows its condition has 1.

    A linear network of the SIM theory answers a change of the condition by :math:`\mu_p` along
    concept p with :math:`w_{pp} \mu_p`: the response is the diagonal entry of W whose half-time
    the stage law predicts, at either corner.

    Parameters
    ----------
    course : Course
    corner : {"trained", "held out"}

    Returns
    -------
    ndarray of shape (n, 2)
        Colour and size, from -1 to 1.

    Raises
    ------
    InvalidInput

    References
    ----------
    Sec. 4.2, (D.2).
    """
    one_of(corner, "corner", tuple(PAIRS))
    moved = [
        course.classes[:, asked, p] - course.classes[:, other, p]
        for p, (asked, other) in enumerate(PAIRS[corner])
    ]
    return np.stack(moved, axis=1)


def learning_times(course: Course, corner: str = "trained") -> LearningTimes:
    """When each concept is learned: from when on its response stays above a half.

    Parameters
    ----------
    course : Course
    corner : {"trained", "held out"}

    Returns
    -------
    LearningTimes

    Raises
    ------
    InvalidInput

    Examples
    --------
    >>> classes = np.zeros((3, 4, 2))
    >>> classes[:, 2, 0], classes[:, 1, 1] = [0.0, 1.0, 1.0], [0.0, 0.25, 0.75]
    >>> course = Course(0.5, 0, [0, 10, 30], classes, np.zeros((3, 4)), [3.0, 2.0, 1.0])
    >>> learning_times(course)
    LearningTimes(times=(5.0, 20.0), within=(10.0, 20.0))
    """
    found = [_time(course.steps, values) for values in responses(course, corner).T]
    (colour, first), (size, second) = found
    return LearningTimes((colour, size), (first, second))


def _time(steps: NDArray[np.int64], values: Floats) -> tuple[float, float]:
    below = np.flatnonzero(values < HALF)
    if below.size == 0:
        return 0.0, 0.0
    last = int(below[-1])
    if last + 1 == len(values):
        return math.inf, math.inf
    gap = float(steps[last + 1] - steps[last])
    part = (HALF - values[last]) / (values[last + 1] - values[last])
    return float(steps[last] + part * gap), gap
