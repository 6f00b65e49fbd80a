"""From an interval and a prediction to a verdict."""

from __future__ import annotations

import math

from swingby.diffusion.judging.intervals import Interval
from swingby.theory.verdict import Verdict

#: How exact the theory itself is, as a logarithm of a ratio and as a slope: pivots that differ by
#: a factor 2 shift half-times by a tenth at a usual start, and logistic ends are exponential only
#: in the end.
ACCURACY = 0.1


def sign_rule(interval: Interval, sign: int, least: float = 0.0) -> Verdict:
    """Verdict on the sign of a number.

    It holds if the interval lies beyond `least` on the predicted side, fails if it lies
    beyond it on the other side (of 0 for ``least=0``), else undecided.
    """
    if not interval.known:
        return Verdict.UNDECIDED
    low, high = sorted((sign * interval.low, sign * interval.high))
    if low > least:
        return Verdict.HOLDS
    return Verdict.FAILS if high < -least else Verdict.UNDECIDED


def value_rule(interval: Interval, predicted: float, reach: float) -> Verdict:
    """Verdict on the value of a number.

    It fails if the interval lies further than ``ACCURACY`` from the prediction; holds if
    it does not and reaches no further than `reach` to each side; undecided if it is wider, or has
    no width: times and rates of different runs are not all the same.
    """
    if not interval.known or not math.isfinite(predicted) or interval.reach == 0:
        return Verdict.UNDECIDED
    if not interval.low - ACCURACY <= predicted <= interval.high + ACCURACY:
        return Verdict.FAILS
    return Verdict.HOLDS if interval.reach <= reach else Verdict.UNDECIDED
