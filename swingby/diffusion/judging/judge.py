"""The rules by which courses bear out the theory or not, and the judgement over all of them.

Every observed number is a mean over seeds with Student's 95 % interval. An interval is *known*
where there are at least three seeds, each with a finite value; without it every verdict is
*undecided*. Intervals are not corrected for the number of rows: of many
undecidable rows one in forty comes out wrong on each side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from swingby.diffusion.course import Course
from swingby.diffusion.judging.flip_rule import judge_flip
from swingby.diffusion.judging.intervals import FEWEST_SEEDS, Interval, slopes, student
from swingby.diffusion.judging.judgement import Judgement, Row
from swingby.diffusion.judging.observed import Observed, observe
from swingby.diffusion.judging.predictions import Predicted, predict_courses
from swingby.diffusion.judging.signal_flip import Flip
from swingby.diffusion.judging.turning import ERROR_OF_NOISE
from swingby.diffusion.judging.verdict_rules import sign_rule, value_rule
from swingby.diffusion.learning import PAIRS
from swingby.diffusion.signals import Signals
from swingby.errors import InvalidInput
from swingby.theory.verdict import Verdict
from swingby.training.setting import one_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: The interval of a ratio supports a number it contains only if it is no wider than this factor
#: up and down.
RATIO_REACH = math.log(1.5)
#: So for a slope that is to be 1: half-width at most.
SLOPE_REACH = 0.5
#: A slope needs so many contrasts, and logarithms of ratios (of a) that span so much.
FEWEST_CONTRASTS, LEAST_SPREAD = 3, 0.3
#: A lead is large, and a rise of the concept error predicted, from this on.
LARGE_LEAD = 0.5
#: One that is surely smaller than this is none: a tenth of the error of half learned concepts.
LEAST_RISE = 0.025
#: Akaike's criteria have to differ by this to speak for one curve.
LEAST_EVIDENCE = 2.0


def judge(
    courses: Sequence[Course],
    signals: Sequence[Signals],
    *,
    flip: Flip | None = None,
    corner: str = "trained",
) -> Judgement:
    """Judge the SIM theory by courses of diffusion models.

    Parameters
    ----------
    courses : sequence of Course
        All contrasts and seeds.
    signals : sequence of Signals
        One for every contrast of the courses, of one representation.
    flip : Flip, optional
        Predicted flip, see :func:`swingby.diffusion.judging.signal_flip.find_flip`; interpolated
        between the signals if not given.
    corner : {"trained", "held out"}
        Whether a concept counts as learned by what it does to the trained classes, as the entry
        of W in the theory does, or at the held-out corner.

    Returns
    -------
    Judgement
        For each contrast "order", "ratio", "bend", "rise" and "slow-down"; over contrasts "ratio",
        "flip", "bend" and "rate".

    Raises
    ------
    InvalidInput
        If a contrast has no signals, a seed comes twice, a run comes under two seeds, or saves
        differ between seeds.
    """
    given = [courses] if isinstance(courses, Course) else list(courses)
    if not given or not all(isinstance(one, Course) for one in given):
        raise InvalidInput("courses", courses, "must be one Course or more")
    one_of(corner, "corner", tuple(PAIRS))
    runs = {(one.contrast, one.classes.tobytes(), one.loss.tobytes()) for one in given}
    if len(runs) < len(given):
        raise InvalidInput("courses", "a run given twice", "must be different runs")
    predictions = predict_courses(signals, flip)
    contrasts = sorted({one.contrast for one in given})
    seen = [observe([one for one in given if one.contrast == s], corner) for s in contrasts]
    said = [predictions.at(s) for s in contrasts]
    rows: list[Row] = []
    for found, prediction in zip(seen, said, strict=True):
        rows += [
            judge_order(found, prediction), judge_ratio(found, prediction),
            judge_bend(found, prediction), judge_rise(found), judge_slow_down(found),
        ]  # fmt: skip
    rows += [
        judge_ratio_slope(seen, said), judge_flip(seen, predictions.flip),
        judge_bend_slope(seen, said), judge_rate_slope(seen, said),
    ]  # fmt: skip
    shown = [signals] if isinstance(signals, Signals) else signals
    return Judgement(tuple(rows), tuple(sorted(shown, key=lambda one: one.contrast)), corner)


def _row(
    name: str, found: Observed | None, quantity: str, predicted: str, interval: Interval,
    verdict: Verdict, *notes: str, scale: str = "",
) -> Row:  # fmt: skip
    ends = [interval.mean, interval.low, interval.high]
    mean, low, high = [math.exp(one) for one in ends] if scale == "exp" else ends
    all_notes = [*(found.notes if found else ()), *notes]
    if interval.seeds + interval.missing < FEWEST_SEEDS:
        all_notes.append("too few seeds")
    elif interval.missing and not (found and found.notes):
        all_notes.append(f"{interval.missing} seeds without a value")
    return Row(
        name, found.contrast if found else None, quantity, predicted, mean, low, high,
        interval.seeds, verdict, "; ".join(one for one in all_notes if one),
    )  # fmt: skip


def judge_order(found: Observed, said: Predicted) -> Row:
    """Order: the concept with the larger a is half learned first (:func:`sign_rule`).

    Undecided too where no order is predicted: the ratio of a lies within its 95 % error of 1, or
    within ``TOO_CLOSE`` of it.
    """
    interval = student(found.order)
    first = said.first
    words = (
        f"{math.exp(said.log_ratio):.3g}, "
        + ("none", "colour", "size")[0 if first is None else first + 1]
    )
    verdict = Verdict.UNDECIDED
    if first is not None:
        verdict = sign_rule(interval, 1 if first == 0 else -1)
    note = "too close to the predicted flip" if first is None else ""
    return _row("order", found, "t size / t colour", words, interval, verdict, note, scale="exp")


def judge_ratio(found: Observed, said: Predicted) -> Row:
    """Ratio: half-times are inversely as a (:func:`value_rule`, within a factor 1.5).

    The error of the measured signals widens the interval.
    """
    interval = student(found.log_ratio).wider(said.error)
    verdict = value_rule(interval, said.log_ratio, RATIO_REACH)
    return _row(
        "ratio", found, "t size / t colour", f"{math.exp(said.log_ratio):.3g}", interval, verdict,
        scale="exp",
    )  # fmt: skip


def judge_bend(found: Observed, said: Predicted) -> Row:
    """Bend: the path bends towards the concept with the larger a (:func:`sign_rule`)."""
    interval = student(found.bend)
    first, verdict = said.first, Verdict.UNDECIDED
    if first is not None:
        verdict = sign_rule(interval, 1 if first == 0 else -1)
    words = "none" if first is None else ("> 0", "< 0")[first]
    note = "too close to the predicted flip" if first is None else ""
    return _row("bend", found, "bend", words, interval, verdict, note)


def judge_rise(found: Observed) -> Row:
    """Rise: where one concept is far ahead, the concept error rises for a while.

    It is predicted where the 95 % interval of the lead lies above ``LARGE_LEAD``. It holds if the
    interval of the rise, at places that other seeds have picked, lies above what noise adds to
    the error; else fails if it lies below ``LEAST_RISE``; else undecided.
    """
    interval, lead = student(found.rise), student(found.lead)
    verdict, note = Verdict.UNDECIDED, ""
    if not (lead.known and lead.low > LARGE_LEAD):
        note = f"no large lead ({lead.mean:.2f})"
    elif interval.known and interval.low > ERROR_OF_NOISE:
        verdict = Verdict.HOLDS
    elif interval.known and interval.high < LEAST_RISE:
        verdict = Verdict.FAILS
    words = "-" if note else f"> {ERROR_OF_NOISE:.2g}"
    return _row("rise", found, "rise of the concept error", words, interval, verdict, note)


def judge_slow_down(found: Observed) -> Row:
    """Slow-down: the rest of the later concept vanishes exponentially, not as a power.

    It holds if the interval of the evidence (Akaike, power minus exponential) lies above 0 and
    its mean is at least 2; fails in the mirrored case; else undecided. Courses with too
    few saves between the half-time and the noise floor have no evidence.
    """
    interval, verdict = student(found.evidence), Verdict.UNDECIDED
    if interval.known and abs(interval.mean) >= LEAST_EVIDENCE:
        verdict = sign_rule(interval, 1)
    missing = int(np.isnan(found.evidence).sum())
    note = f"too few saves for a fit in {missing} of {len(found.seeds)}" if missing else ""
    return _row("slow-down", found, "evidence for exponential", "> 0", interval, verdict, note)


def by_seed(seen: Sequence[Observed], name: str) -> Floats:
    """A number of all contrasts as an array of shape (seeds, contrasts), nan where absent.

    Parameters
    ----------
    seen : sequence of Observed
    name : str
        A field of :class:`swingby.diffusion.judging.observed.Observed`.
    """
    seeds = sorted({seed for one in seen for seed in one.seeds})
    table = np.full((len(seeds), len(seen)), math.nan)
    for place, one in enumerate(seen):
        table[[seeds.index(seed) for seed in one.seeds], place] = getattr(one, name)
    return table


def judge_ratio_slope(seen: Sequence[Observed], said: Sequence[Predicted]) -> Row:
    """Ratio over contrasts: slope 1 of log(t size/t colour) over log(a colour/a size)."""
    x = [one.log_ratio for one in said]
    interval = _slope(x, by_seed(seen, "log_ratio"))
    verdict = value_rule(interval, 1.0, SLOPE_REACH)
    return _row("ratio", None, "slope over log ratio of a", "1", interval, verdict)


def judge_bend_slope(seen: Sequence[Observed], said: Sequence[Predicted]) -> Row:
    """Bend over contrasts: towards the larger a, it grows with abs(log(a colour/a size))."""
    x = np.array([one.log_ratio for one in said])
    interval = _slope(np.abs(x), np.sign(x) * by_seed(seen, "bend"))
    verdict = sign_rule(interval, 1)
    return _row("bend", None, "slope over |log ratio of a|", "> 0", interval, verdict)


def judge_rate_slope(seen: Sequence[Observed], said: Sequence[Predicted]) -> Row:
    """Rate over contrasts: slope 1 of the logarithm of the final rate over log a.

    The a is that of the concept that was seen to be later.
    """
    rates = by_seed(seen, "rate")
    x = np.full(rates.shape, math.nan)
    seeds = sorted({seed for one in seen for seed in one.seeds})
    for place, (one, prediction) in enumerate(zip(seen, said, strict=True)):
        for seed, concept in zip(one.seeds, one.later, strict=True):
            if concept is not None:
                x[seeds.index(seed), place] = prediction.log_a[concept]
    log_rates = np.log(np.where(rates > 0, rates, math.nan))
    interval = _slope(x, log_rates)
    verdict = value_rule(interval, 1.0, SLOPE_REACH)
    return _row("rate", None, "slope of log rate over log a", "1", interval, verdict)


def _slope(x: object, y: Floats) -> Interval:
    found = slopes(
        np.asarray(x, dtype=np.float64), y, least_points=FEWEST_CONTRASTS,
        least_spread=LEAST_SPREAD,
    )  # fmt: skip
    return student(found)
