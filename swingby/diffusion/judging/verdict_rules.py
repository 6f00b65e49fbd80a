"""From an interval and a prediction to a verdict."""

from __future__ import annotations

import math

from swingby.diffusion.judging.intervals import Interval
from swingby.diffusion.judging.judgement import Support

#: How exact the theory itself is, as a logarithm of a ratio and as a slope: pivots that differ by
#: a factor 2 shift half-times by a tenth at a usual start, and logistic ends are exponential only
#: in the end.
ACCURACY = 0.1


def sign_rule(interval: Interval, sign: int, least: float = 0.0) -> Support:
    """Verdict on the sign of a number.

    Supported if the interval lies beyond `least` on the predicted side, not supported if it lies
    beyond it on the other side (of 0 for ``least=0``), else undecided.

    Parameters
    ----------
    interval : Interval
    sign : int
        Predicted, 1 or -1.
    least : float
    """
    if not interval.known:
        return Support.UNDECIDED
    low, high = sorted((sign * interval.low, sign * interval.high))
    if low > least:
        return Support.SUPPORTED
    return Support.NOT_SUPPORTED if high < -least else Support.UNDECIDED


def value_rule(interval: Interval, predicted: float, reach: float) -> Support:
    """Verdict on the value of a number.

    Not supported if the interval lies further than ``ACCURACY`` from the prediction; supported if
    it does not and reaches no further than `reach` to each side; undecided if it is wider, or has
    no width: times and rates of different runs are not all the same.

    Parameters
    ----------
    interval : Interval
    predicted : float
    reach : float
    """
    if not interval.known or not math.isfinite(predicted) or interval.reach == 0:
        return Support.UNDECIDED
    if not interval.low - ACCURACY <= predicted <= interval.high + ACCURACY:
        return Support.NOT_SUPPORTED
    return Support.SUPPORTED if interval.reach <= reach else Support.UNDECIDED
