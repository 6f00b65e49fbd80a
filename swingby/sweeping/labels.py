"""What happens to the concepts of a point, in one word: predicted and observed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from swingby.simulate.outcome import Outcome

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from swingby.verify.schedule import Schedule

    Floats = NDArray[np.float64]
    Booleans = NDArray[np.bool_]


class Label(StrEnum):
    """What happens at a point; one vocabulary for prediction and observation.

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
    """What the stage law says of a point; arrays of shape (d,), crossing and error in steps.

    diverges: a negative pivot runs away; share: pivots of W(0) relative to the terms that they are
    formed from, signed.
    """

    signal: Sequence[Fraction]
    crossing: Floats
    error: Floats
    trapped: Booleans
    undecided: Booleans
    diverges: bool
    share: Floats

    @property
    def half_times(self) -> Floats:
        """First whole steps at which w_kk is at least 1/2."""
        return np.asarray(np.ceil(self.crossing))


def law_of(schedule: Schedule) -> Law:
    """The law of a schedule of one W(0)."""
    stages = schedule.stages
    if stages is None:
        raise TypeError("a schedule of one W(0) expected")
    return Law(
        signal=schedule.task.exact_signal,
        crossing=stages.crossing,
        error=stages.error,
        trapped=stages.trapped,
        undecided=stages.undecided,
        diverges=bool(np.isfinite(stages.blow_up)),
        share=stages.share,
    )


def predicted_label(law: Law) -> Label:
    """What the stage law says of a point, in one word."""
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
    """What a run did, from its :class:`swingby.simulate.outcome.Outcome` and half-times (d,)."""
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
    0 where an error bar is infinite, inf with fewer than two concepts to compare.
    """
    order = sorted(range(len(law.signal)), key=lambda k: -law.signal[k])
    learned = [k for k in order if law.signal[k] > 0 and np.isfinite(law.crossing[k])]
    found = [
        abs(law.crossing[i] - law.crossing[j]) / (law.error[i] + law.error[j])
        for i, j in pairwise(learned)
    ]
    return float(min(found, default=np.inf))


def smallest_pivot(law: Law) -> float:
    r"""The smallest pivot of W(0) over a > 0, relative to the terms that it is formed from.

    Signed, 0 where only rounding is left of a pivot; about :math:`\pi_k / w_{kk}(0)` for gd and the
    flow, where it is the share of a concept that stronger concepts do not take away: between 0
    and 1. Near 0 the concept is learned late, at 0 it is trapped, below 0 (euler only, after the
    drift) it runs away.
    """
    return float(min(share for a, share in zip(law.signal, law.share, strict=True) if a > 0))
