"""Labels: a word for the course of a point, predicted and observed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from swingby.simulate.outcome import Outcome
from swingby.theory.numbers import Booleans, Floats
from swingby.theory.task import SIMTask

if TYPE_CHECKING:
    from swingby.theory.law.stages import Stages
    from swingby.verify.predict_batch import BatchSchedule


class Label(StrEnum):
    """A word for the course of a point; the same for prediction and observation.

    in_order
        Every concept with a > 0 is learned, and none before one of larger signal.
    out_of_order
        Every concept with a > 0 is learned, some concept before one of larger signal. Concepts
        that reach 1/2 at the same step are in order, and so are concepts of equal signal.
    trapped
        W(0) has no component left for some concept, which is never learned.
    diverged
        W loses positive semidefiniteness and does not come back, or leaves the float range;
        predicted from a negative pivot (euler only). The outcome tells the two apart.
    unfinished
        Observed only: the steps ran out.
    undecided
        Predicted only: the law is out of its range for some concept, or cannot say whether it is
        trapped.
    """

    IN_ORDER = "in_order"
    OUT_OF_ORDER = "out_of_order"
    TRAPPED = "trapped"
    DIVERGED = "diverged"
    UNFINISHED = "unfinished"
    UNDECIDED = "undecided"


@dataclass(frozen=True, eq=False)
class Law:
    """The stage law of a point; arrays of shape (d,), crossing and error in steps.

    share: pivots of W(0) relative to the terms that they are formed from, signed; diverges: a
    negative pivot runs away.
    """

    signal: Sequence[Fraction]
    crossing: Floats
    error: Floats
    trapped: Booleans
    undecided: Booleans
    share: Floats
    diverges: bool

    @classmethod
    def of(cls, task: SIMTask, stages: Stages | BatchSchedule, number: int | tuple[()] = ()) -> Law:
        """The law of a single W(0), or of that with a number in a batch."""
        names = ("crossing", "error", "trapped", "undecided", "share")
        arrays = {name: np.asarray(getattr(stages, name))[number] for name in names}
        blow_up = np.asarray(stages.blow_up)[number]
        return cls(task.exact_signal, diverges=bool(np.isfinite(blow_up)), **arrays)

    @property
    def half_times(self) -> Floats:
        """First whole steps at which w_kk is at least 1/2."""
        return np.asarray(np.ceil(self.crossing))


def predicted_label(law: Law) -> Label:
    """The label that the stage law predicts."""
    positive = np.array([a > 0 for a in law.signal])
    if (law.undecided & positive).any():
        return Label.UNDECIDED
    if law.diverges:
        return Label.DIVERGED
    learned = positive & ~law.trapped
    if not np.isfinite(law.error[learned]).all():
        return Label.UNDECIDED
    if law.trapped.any():
        return Label.TRAPPED
    return _order_label(law.signal, law.half_times)


def observed_label(outcome: str, signal: Sequence[Fraction], half_times: Floats) -> Label:
    """The label of a run, from its outcome and its half-times of shape (d,)."""
    match outcome:
        case Outcome.CONVERGED:
            return _order_label(signal, half_times)
        case Outcome.TRAPPED:
            return Label.TRAPPED
        case Outcome.STOPPED_EARLY:
            return Label.UNFINISHED
    return Label.DIVERGED


def _order_label(signal: Sequence[Fraction], times: Floats) -> Label:
    learned = [(a, float(time)) for a, time in zip(signal, times, strict=True) if a > 0]
    late = any(
        stronger > weaker and earlier < later
        for stronger, later in learned
        for weaker, earlier in learned
    )
    return Label.OUT_OF_ORDER if late else Label.IN_ORDER


def margin(law: Law) -> float:
    r"""How clearly the law separates the stages.

    .. math:: \min_{i, j} \frac{|t_i - t_j|}{e_i + e_j}

    over concepts i, j that are next to each other by descending a, with the predicted crossing
    times t and error bars e in steps. Above 1, the predicted order is beyond the error of the law;
    0 where an error bar is infinite, inf with fewer than two concepts to compare. Two that are
    learned in W(0), at equal times without error, do not count; nan if there are none but these.
    """
    order = sorted(range(len(law.signal)), key=lambda k: -law.signal[k])
    learned = [k for k in order if law.signal[k] > 0 and np.isfinite(law.crossing[k])]
    with np.errstate(divide="ignore", invalid="ignore"):
        distances = [
            abs(law.crossing[i] - law.crossing[j]) / (law.error[i] + law.error[j])
            for i, j in pairwise(learned)
        ]
    numbers = [distance for distance in distances if not np.isnan(distance)]
    return float(min(numbers or distances, default=np.inf))


def smallest_pivot(law: Law) -> float:
    r"""The smallest pivot of W(0) over a > 0, relative to the terms that it is formed from.

    Signed, 0 where only rounding is left of a pivot; about :math:`\pi_k / w_{kk}(0)` for gd and the
    flow, where it is the share of a concept that stronger concepts do not take away: between 0
    and 1. Near 0 the concept is learned late, at 0 it is trapped, below 0 (euler only, after the
    drift) it runs away.
    """
    return float(min(share for a, share in zip(law.signal, law.share, strict=True) if a > 0))
