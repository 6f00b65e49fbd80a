"""What happens to the concepts of a point, in one word: predicted and observed."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from swingby.simulate.outcome import Outcome

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from swingby.simulate.result import Run
    from swingby.theory.stages import Stages
    from swingby.verify.schedule import Schedule

    Floats = NDArray[np.float64]


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


def predicted_label(schedule: Schedule) -> Label:
    """What the stage law says of a point.

    Parameters
    ----------
    schedule : Schedule
        Of one W(0).

    Returns
    -------
    Label
    """
    stages = _stages(schedule)
    positive = schedule.task.signal > 0
    if (stages.undecided & positive).any():
        return Label.UNDECIDED
    if np.isfinite(stages.blow_up):
        return Label.DIVERGED
    learned = positive & ~stages.trapped
    if not np.isfinite(stages.error[learned]).all():
        return Label.UNDECIDED
    if stages.trapped.any():
        return Label.TRAPPED
    return _order_label(schedule.task.exact_signal, schedule.half_times)


def observed_label(run: Run) -> Label:
    """What a run did.

    Parameters
    ----------
    run : Run

    Returns
    -------
    Label
    """
    match run.outcome:
        case Outcome.CONVERGED:
            return _order_label(run.task.exact_signal, run.half_times)
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


def learning_order(times: Floats) -> list[int]:
    """Concepts, counted from 1, by the step at which they reach 1/2.

    Parameters
    ----------
    times : ndarray of shape (d,)
        Concepts that are not learned have no finite time and are left out.

    Returns
    -------
    list of int
        Of equal steps, the smaller number first.
    """
    order = np.argsort(times, kind="stable")
    return [int(k) + 1 for k in order if np.isfinite(times[k])]


def margin(schedule: Schedule) -> float:
    r"""How clearly the law separates the stages.

    .. math:: \min_{i, j} \frac{|t_i - t_j|}{e_i + e_j}

    over concepts i, j that are next to each other by descending a, with the predicted crossing
    times t and error bars e in steps. Above 1, the predicted order is beyond the error of the law.

    Parameters
    ----------
    schedule : Schedule
        Of one W(0).

    Returns
    -------
    float
        0 where an error bar is infinite; inf with fewer than two concepts to compare.
    """
    stages = _stages(schedule)
    learned = [
        int(k)
        for k in stages.order
        if schedule.task.exact_signal[k] > 0 and np.isfinite(stages.crossing[k])
    ]
    found = [
        abs(stages.crossing[i] - stages.crossing[j]) / (stages.error[i] + stages.error[j])
        for i, j in pairwise(learned)
    ]
    return float(min(found, default=np.inf))


def smallest_pivot(schedule: Schedule) -> float:
    r"""The smallest pivot of W(0) relative to the terms that it is formed from.

    Signed; about :math:`\pi_k / w_{kk}(0)` for gd and the flow, where it is the share of a
    concept that stronger concepts do not take away: between 0 and 1. Near 0 the concept is
    learned late, at 0 it is trapped, below 0 (euler only, after the drift) it runs away.

    Parameters
    ----------
    schedule : Schedule
        Of one W(0).

    Returns
    -------
    float
        Over the concepts with a > 0; 0 where only rounding is left of a pivot.
    """
    stages = _stages(schedule)
    positive = schedule.task.signal[stages.order] > 0
    share = stages.pivots.sign * np.exp(-stages.pivots.cancellation)
    return float(share[positive].min())


def _stages(schedule: Schedule) -> Stages:
    if schedule.stages is None:
        raise TypeError("a schedule of one W(0) expected")
    return schedule.stages
