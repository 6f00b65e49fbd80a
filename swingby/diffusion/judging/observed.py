"""What the courses of one contrast show, seed by seed: the numbers that are judged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from swingby.diffusion.circles import CONCEPTS
from swingby.diffusion.concept_space import mean_path, start
from swingby.diffusion.judging.slow_down import slow_down
from swingby.diffusion.judging.turning import bend, leads, rises_beyond_noise
from swingby.diffusion.learning import LearningTimes, learning_times, responses

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from swingby.diffusion.course import Course

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Observed:
    r"""Numbers of one contrast, one per seed; nan where a course has none.

    Parameters
    ----------
    contrast : float
    seeds : tuple of int
    order : ndarray of shape (seeds,)
        :math:`\log(t_{size}/t_{colour})`, above 0 where colour is first. Where one concept is not
        learned by the last save, its time is replaced by that of the last save: the number is
        then too near to 0, its sign right.
    log_ratio : ndarray of shape (seeds,)
        The same with known times only.
    bend, lead : ndarray of shape (seeds,)
        Of the responses at the held-out corner; the larger of both leads.
    rise, rate, evidence : ndarray of shape (seeds,)
        Of the held-out class in concept space, from the first save on at which images follow one
        of the concepts.
    later : tuple of int or None
        The concept whose slow-down `rate` is about.
    notes : tuple of str
        What is missing, and why.
    """

    contrast: float
    seeds: tuple[int, ...]
    order: Floats
    log_ratio: Floats
    bend: Floats
    rise: Floats
    lead: Floats
    rate: Floats
    evidence: Floats
    later: tuple[int | None, ...]
    notes: tuple[str, ...]


def observe(courses: Sequence[Course], corner: str = "trained") -> Observed:
    """Read the courses of one contrast.

    For the rise of the concept error all seeds must share their saves, so the latest start counts.

    Parameters
    ----------
    courses : sequence of Course
        Of one contrast, saved at the same steps.
    corner : {"trained", "held out"}
        Whose responses tell when a concept is learned, see
        :func:`swingby.diffusion.learning.learning_times`.
    """
    mean_path(courses)
    ordered = sorted(courses, key=lambda one: one.seed)
    learned = [learning_times(one, corner) for one in ordered]
    moved = [responses(one, "held out") for one in ordered]
    starts = [start(one) for one in ordered]
    falls = [
        slow_down(one.steps, one.held_out, begin)
        for one, begin in zip(ordered, starts, strict=True)
    ]
    known = [one for one in starts if one is not None]
    rise = np.full(len(ordered), math.nan)
    if len(known) == len(ordered):
        rise = rises_beyond_noise([one.held_out[max(known) :] for one in ordered])
    last = [float(one.steps[-1]) for one in ordered]
    return Observed(
        ordered[0].contrast,
        tuple(one.seed for one in ordered),
        np.array([_order(one, end) for one, end in zip(learned, last, strict=True)]),
        np.array([one.log_ratio if math.isfinite(one.log_ratio) else math.nan for one in learned]),
        np.array([bend(path) for path in moved]),
        rise,
        np.array([max(leads(path)) for path in moved]),
        np.array([one.rate for one in falls]),
        np.array([one.evidence for one in falls]),
        tuple(one.concept for one in falls),
        _notes(learned, starts),
    )


def _order(learned: LearningTimes, last: float) -> float:
    """Logarithm of the ratio of times, with a bound where one concept is never learned."""
    if not np.isfinite(learned.times).any() or not min(learned.times) > 0:
        return math.nan
    colour, size = (min(one, last) for one in learned.times)
    return math.log(size / colour)


def _notes(learned: Sequence[LearningTimes], starts: Sequence[int | None]) -> tuple[str, ...]:
    """How many seeds have no start, or never learn a concept."""
    found = []
    without = sum(one is None for one in starts)
    if without:
        found.append(f"{without} of {len(starts)} never follow a concept")
    for p, concept in enumerate(CONCEPTS):
        never = sum(math.isinf(one.times[p]) for one in learned)
        if never:
            found.append(f"{never} of {len(learned)} never learn {concept}")
    return tuple(found)
