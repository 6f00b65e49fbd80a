"""At which contrast the order of learning turns, and whether it is the predicted one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from swingby.diffusion.judging.intervals import Interval, student
from swingby.diffusion.judging.judgement import Row
from swingby.diffusion.judging.observed import Observed
from swingby.diffusion.judging.predictions import QUANTILE
from swingby.diffusion.judging.signal_flip import Flip
from swingby.theory.verdict import Verdict

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: How exact the theory itself is: where signals go with the square of the contrast, a tenth in
#: their ratio is so much of the contrast.
ACCURACY = 0.05
#: An interval of contrasts supports a flip it contains only if it reaches no further.
FLIP_REACH = 0.15


def judge_flip(seen: Sequence[Observed], flip: Flip) -> Row:
    """Flip: the order turns where both a are equal.

    For each seed the contrast at which log(t size/t colour) passes 0 upwards is read off between
    neighbouring contrasts, along a line in the logarithm of the contrast; contrasts at which a
    seed has no order are left out for all. Where every seed turns once, Student's interval of the
    logarithm of those contrasts, widened by the error of the prediction, is compared with it:
    fails if it lies further than ``ACCURACY`` from the prediction, holds if it does
    not and reaches at most ``FLIP_REACH``, else undecided. Where no seed turns, and the interval
    of the order at the contrast next to the change excludes the other order, the flip is known to
    lie on the far side of that contrast: fails if the prediction lies on the near side by
    more than its error, else undecided. Any mixture is undecided.

    Parameters
    ----------
    seen : sequence of Observed
        Contrasts rising.
    flip : Flip
    """
    seeds = sorted({seed for one in seen for seed in one.seeds})
    whole = [one for one in seen if len(one.seeds) == len(seeds) and np.isfinite(one.order).all()]

    nothing = Interval(math.nan, math.nan, math.nan, 0, len(seeds))
    if not whole:
        return _row(
            flip, nothing, Verdict.UNDECIDED, "no contrast at which every seed has an order"
        )
    left_out = len(seen) - len(whole)
    note = f"{left_out} contrasts left out" if left_out else ""
    orders = np.array([one.order for one in whole]).T
    places = np.log([one.contrast for one in whole])
    if (orders > 0).all() or (orders < 0).all():
        return _beyond(whole, flip, note)
    turns = np.array([turn(places, one) for one in orders])
    logs = student(turns)
    error = QUANTILE * flip.error / flip.contrast if math.isfinite(flip.contrast) else math.nan
    shown = Interval(
        math.exp(logs.mean), math.exp(logs.low), math.exp(logs.high), logs.seeds, logs.missing
    )
    if not logs.known or math.isnan(error):
        why = "too few seeds" if len(seeds) < 3 else "not every seed turns once, towards colour"
        return _row(flip, shown, Verdict.UNDECIDED, "; ".join(filter(None, (note, why))))
    wide = logs.wider(error)
    if not wide.low - ACCURACY <= math.log(flip.contrast) <= wide.high + ACCURACY:
        return _row(flip, shown, Verdict.FAILS, note)
    narrow = (math.exp(wide.high) - math.exp(wide.low)) / 2 <= FLIP_REACH
    return _row(flip, shown, Verdict.HOLDS if narrow else Verdict.UNDECIDED, note)


def turn(places: Floats, order: Floats) -> float:
    """Where one seed passes from size first to colour first.

    Parameters
    ----------
    places : ndarray of shape (contrasts,)
        Logarithms of the contrasts, rising.
    order : ndarray of shape (contrasts,)

    Returns
    -------
    float
        A logarithm of a contrast; nan unless there is one change of sign, upwards.
    """
    changes = np.flatnonzero(np.diff(order > 0))
    if len(changes) != 1 or order[0] > 0:
        return math.nan
    k = int(changes[0])
    part = -order[k] / (order[k + 1] - order[k])
    return float(places[k] + part * (places[k + 1] - places[k]))


def _beyond(whole: Sequence[Observed], flip: Flip, note: str) -> Row:
    """The row where the same concept is first at all contrasts and in all seeds."""
    colour_first = bool(whole[0].order[0] > 0)
    edge = whole[0] if colour_first else whole[-1]
    interval = student(edge.order)
    sure = interval.known and (interval.low > 0 if colour_first else interval.high < 0)
    concept = "colour" if colour_first else "size"
    note = "; ".join(filter(None, (note, f"{concept} first at all contrasts")))
    if not sure or not math.isfinite(flip.contrast):
        unknown = Interval(math.nan, math.nan, math.nan, interval.seeds, interval.missing)
        return _row(flip, unknown, Verdict.UNDECIDED, note)
    low, high = (0.0, edge.contrast) if colour_first else (edge.contrast, 1.0)
    found = Interval(math.nan, low, high, interval.seeds, interval.missing)
    error = QUANTILE * flip.error
    apart = flip.contrast - error > high or flip.contrast + error < low
    return _row(flip, found, Verdict.FAILS if apart else Verdict.UNDECIDED, note)


def _row(flip: Flip, interval: Interval, verdict: Verdict, note: str) -> Row:
    predicted = f"{flip.contrast:.3f}" if math.isfinite(flip.contrast) else "none"
    return Row(
        "flip", None, "contrast at which the order turns", predicted, interval.mean,
        interval.low, interval.high, interval.seeds, verdict, note,
    )  # fmt: skip
