"""Criteria of the figures: descents of the loss, what entries do meanwhile, and shares of runs."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from swingby.lab.figures.figure import Criterion, Data, Measured, criterion, under_every_reading
from swingby.lab.figures.theory_runs import SWINGS
from swingby.simulate.outcome import Extremum, turning_points
from swingby.theory.share import Share, reaches, share_of
from swingby.theory.verdict import Verdict, yes

#: How often.
TIMES = {1: "once", 2: "twice", 3: "three times", 4: "four times"}


class Leg(NamedTuple):
    """A stretch over which the test loss only falls, or only rises, by swings that count."""

    start: int
    end: int
    change: float

    def __str__(self) -> str:
        return f"{self.start} to {self.end}"


def legs(data: Data, swing: float = SWINGS[0]) -> tuple[Leg, ...]:
    """The descents and ascents of the test loss, in order.

    `swing`: least change that counts, in units of the loss at the start.
    """
    turns = [Extremum(*turn) for turn in data["turns"]]
    values, steps = [one.value for one in turns], [one.step for one in turns]
    kept = turning_points(values, swing * data["start_loss"], steps)
    return tuple(Leg(one.step, two.step, two.value - one.value) for one, two in pairwise(kept))


def count(data: Data, swing: float) -> int:
    """The number of descents by at least a share of the loss at the start."""
    return sum(leg.change < 0 for leg in legs(data, swing))


def number_of_descents(needed: int) -> Criterion:
    """The criterion that the test loss descends so many times."""

    @criterion(
        "descents",
        f"The test loss descends {TIMES[needed]}.",
        str(needed),
        "a descent counts from 0.001 of the loss at the start, and again from 0.01: both",
    )
    def judge(data: Data) -> Measured:
        counts = {str(swing): count(data, swing) for swing in SWINGS}
        fine, coarse = counts.values()
        other, gd = data["controls"]["other_rates"], data["controls"]["gd"]
        reason = (
            f"Descents by 0.001 and by 0.01 of the start: {_pair(counts)} with rates "
            f"{data['rates']}; {_pair(other['descents'])} with {other['rates']}, all else equal; "
            f"{_pair(gd['descents'])} by gradient descent on U"
        )
        if fine < 2:
            largest = max((leg.change for leg in legs(data, 0.0)), default=0.0)
            share = 100 * max(largest, 0.0) / data["start_loss"]
            reason += f"; the largest rise is {share:.2g} % of the start"
        return Measured(
            f"{fine} (0.001), {coarse} (0.01)",
            under_every_reading({swing: number == needed for swing, number in counts.items()}),
            f"{reason}.",
            {"descents": counts},
        )

    return judge


def _pair(counts: Any) -> str:
    return " and ".join(str(number) for number in counts.values())


#: Most of the loss at the start that is left in the end.
_END = 1e-3


@criterion(
    "end",
    "In the end the test point is learned: the test loss is 0.",
    "0",
    f"at most {_END} of the loss at the start",
)
def ends_at_zero(data: Data) -> Measured:
    """The test loss ends at zero."""
    share = float(data["test_loss"][-1]) / data["start_loss"]
    return Measured(
        f"{share:.2g} of the start",
        yes(share <= _END),
        f"After {data['last_step']} steps the test loss is {share:.2g} of its start.",
        {"share": share},
    )


def contributions(data: Data, leg: Leg) -> dict[tuple[int, int], float]:
    r"""What each entry contributes to the change of the test loss over a leg.

    The loss is quadratic in W, so the change over a step is exactly the sum over entries of
    ``r_i x_j dw_ij``, with r the mean of ``W x - x`` before and after the step.

    Returns from (i, j), i <= j counted from 1, to the contribution of the entry and its mirror
    image; the sum is ``leg.change``.
    """
    W, x = data["W"][leg.start : leg.end + 1], data["test_point"]
    residual = W @ x - x
    mean = (residual[1:] + residual[:-1]) / 2
    parts = np.einsum("ti,j,tij->ij", mean, x, np.diff(W, axis=0))
    size = len(parts)
    return {
        (i + 1, j + 1): float(parts[i, j] + (parts[j, i] if i != j else 0.0))
        for i in range(size)
        for j in range(i, size)
    }


def _name(entry: tuple[int, int]) -> str:
    return f"w_{entry[0]}{entry[1]}"


def _stage_descent(data: Data, concept: int, leg: Leg) -> tuple[str, str]:
    """What a descent is made of, and what is wrong with it as growth of a major entry."""
    parts = contributions(data, leg)
    main = min(parts, key=lambda one: parts[one])
    half = data["half_times"][concept - 1]
    own = (concept, concept)
    text = f"{leg}: {_name(own)} {100 * parts[own] / leg.change:.0f} % of the fall"
    if half is None or not leg.start <= half <= leg.end:
        when = "never" if half is None else f"at {half}"
        return text, f"{_name(own)} reaches 1/2 {when}, not in the descent {leg}"
    if main != own:
        return text, f"in the descent {leg} {_name(main)} contributes most"
    return text, ""


def _stage_ascent(data: Data, concept: int, later: list[int], leg: Leg) -> tuple[str, str]:
    """What an ascent is made of, and what is wrong with it as suppression of minor entries."""
    parts = contributions(data, leg)
    group = [(min(concept, one), max(concept, one)) for one in later]
    before, after = np.abs(data["W"][leg.start]), np.abs(data["W"][leg.end])
    shrinking = [(i, j) for i, j in group if after[i - 1, j - 1] < before[i - 1, j - 1]]
    share = sum(parts[entry] for entry in shrinking) / leg.change
    names = ", ".join(map(_name, shrinking)) or "no minor entry"
    text = f"{leg}: {names} {100 * share:.0f} % of the rise"
    wrong = "" if share >= 1 else f"the ascent {leg} is not made by the fall of its minor entries"
    return text, wrong


@criterion(
    "alignment",
    "Each descent is the growth of a major entry, each ascent the suppression of its minor ones.",
    "each",
    "a descent: the entry reaches 1/2 in it and contributes most to the fall; an ascent: the "
    "shrinking minor entries of the stage contribute all of the rise or more; swings of 0.001",
)
def alignment(data: Data) -> Measured:
    """Descents and ascents are what the entries do."""
    found, order = legs(data), data["order"]
    falls = [leg for leg in found if leg.change < 0]
    rises = [leg for leg in found if leg.change > 0]
    if len(falls) != len(order):
        times = {k: data["half_times"][k - 1] for k in order}
        halves = ", ".join(
            f"w_{k}{k} {'never' if half is None else half}" for k, half in times.items()
        )
        return Measured(
            f"descents: {len(falls)}, stages: {len(order)}",
            Verdict.FAILS,
            f"There are {len(order)} major entries (half-times {halves}), but the test loss "
            f"descends {TIMES.get(len(falls), f'{len(falls)} times')}.",
        )
    texts, wrong = [], []
    if len(rises) >= len(order):
        wrong.append(f"there are {len(rises)} ascents between {len(order)} stages")
    for stage, (concept, leg) in enumerate(zip(order, falls, strict=True)):
        pieces = [_stage_descent(data, concept, leg)]
        if stage < min(len(rises), len(order) - 1):
            pieces.append(_stage_ascent(data, concept, order[stage + 1 :], rises[stage]))
        texts += [text for text, _ in pieces]
        wrong += [one for _, one in pieces if one]
    reason = f"{_sentence(wrong)} {_sentence(texts)}".strip()
    return Measured("no" if wrong else "yes, each", yes(not wrong), reason)


def _sentence(parts: list[str]) -> str:
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def growth_start(values: Any, half: int) -> float:
    """Where the tangent at the half-time meets zero: the lag time of a growth curve.

    `values` (n,): a major entry at steps 0, 1, 2, . Returns in steps.
    """
    before, after = max(half - 1, 0), min(half + 1, len(values) - 1)
    slope = (values[after] - values[before]) / (after - before)
    return float(half - values[half] / slope)


@criterion(
    "order",
    "Each major entry starts to grow only after the minor entry before it is suppressed.",
    "each",
    "start: where the tangent at the half-time meets 0; suppressed: past the peak, and again "
    "half of the peak: both",
)
def grows_in_turn(data: Data) -> Measured:
    """Minor entries are suppressed before the next major entry starts to grow."""
    peaks = {(i, j): (step, suppressed) for i, j, step, _, suppressed in data["peaks"]}
    past, halved, texts = [], [], []
    starts: dict[str, float | None] = {}
    for earlier, concept in pairwise(data["order"]):
        name, half = _name((concept, concept)), data["half_times"][concept - 1]
        entry = (min(earlier, concept), max(earlier, concept))
        peak, suppressed = peaks[entry]
        if half is None:
            start, text = None, f"{name} never grows"
        else:
            start = growth_start(data["W"][:, concept - 1, concept - 1], half)
            text = f"{name} starts at {start:.0f}"
        starts[name] = start
        past.append(start is not None and start >= peak)
        halved.append(start is not None and suppressed is not None and start >= suppressed)
        until = "never" if suppressed is None else f"at {suppressed}"
        texts.append(f"{text}, {_name(entry)} peaks at {peak} and is down to half {until}")
    return Measured(
        f"{sum(halved)} of {len(halved)}"
        + (f"; past the peak {sum(past)}" if past != halved else ""),
        under_every_reading({"past the peak": all(past), "half": all(halved)}),
        "; ".join(texts) + ".",
        {"starts": starts},
    )


#: A statement about all runs asks for it in so many of them.
MOST = 0.9
THRESHOLD = f"in {MOST:.0%} of all runs: the 95 % interval of the share lies above; fails below"
#: A picture of one run may have been chosen, so what it shows need not happen in most runs.
HALF, SOME = 0.5, 0.1
HAPPENS = (
    f"holds where the 95 % interval of the share of runs lies above {HALF:.0%}, fails where it "
    f"lies below {SOME:.0%}"
)


def verdict_of(share: Share) -> Verdict:
    """The verdict on something that all runs are said to do."""
    return reaches(share, MOST)


def happens(share: Share) -> Verdict:
    """The verdict on something that a picture of one run shows."""
    often = reaches(share, HALF) == Verdict.HOLDS
    rare = reaches(share, SOME) == Verdict.FAILS
    return Verdict.HOLDS if often else Verdict.FAILS if rare else Verdict.UNDECIDED


def comes_first(data: Data, concept: int) -> Any:
    """Whether concept 1 or 2 is learned, and not after the other one, (c, r).

    Concept 1 also where both cross one half at the same step.
    """
    times = np.where(np.isnan(data["half_times"]), np.inf, data["half_times"])
    mine, other = times[:, :, concept - 1], times[:, :, 2 - concept]
    return (mine < other) | ((mine == other) & np.isfinite(mine) & (concept == 1))


@criterion(
    "order",
    "The concept with the larger mu crosses one half first.",
    "larger mu first",
    f"{THRESHOLD}, in every setting",
)
def order_follows_signal(data: Data) -> Measured:
    """The concept with the larger signal is learned first."""
    first, second = comes_first(data, 1), comes_first(data, 2)
    gap = np.log(data["signal"][:, 1] / data["signal"][:, 0])
    shares, parts = [], []
    for place, label in enumerate(data["labels"]):
        if abs(gap[place]) < 1e-9:
            parts.append(f"{label}: concept 2 first in {second[place].mean():.0%}, a tie")
            continue
        right = second[place] if gap[place] > 0 else first[place]
        shares.append(share_of(right))
        parts.append(f"{label}: {shares[-1]}")
    least = min(shares, key=lambda share: share.value)
    return Measured(
        f"{least.value:.0%} at least",
        verdict_of(least),
        f"Runs in which the larger signal comes first: {'; '.join(parts)}.",
        {"shares": [share.value for share in shares]},
    )


@criterion(
    "bulge",
    "The output bulges up, and ever less, until it bulges down.",
    "changes side",
    "the mean area over the runs falls from setting to setting, from above 0 to below 0",
)
def bulge_changes_side(data: Data) -> Measured:
    """The side to which the output bulges follows the settings."""
    mean = data["area"].mean(axis=1)
    listed = by_label(data, mean, "{:+.2f}")
    return Measured(
        f"{mean[0]:+.2f} to {mean[-1]:+.2f}",
        yes((np.diff(mean) < 0).all() and mean[0] > 0 > mean[-1]),
        f"Mean of twice the area between output and chord, above it positive: {listed}.",
        {"area": mean.tolist()},
    )


#: Most that is left of the mean speed in the last tenth.
_SLOW = 0.25


@criterion(
    "slowing",
    "Learning slows down in the terminal phase (Sec. 3.2).",
    "slower",
    f"at most {_SLOW:g} of the mean speed in the last tenth; {THRESHOLD}",
)
def slows_down(data: Data) -> Measured:
    """The output moves ever more slowly in the end."""
    share, middle = share_of(data["slowing"] <= _SLOW), float(np.median(data["slowing"]))
    return Measured(
        f"{middle:.2g} of the mean speed",
        verdict_of(share),
        f"In a share {share} of the runs the output moves at most at {_SLOW:g} of its mean "
        f"speed in the last tenth of its time; the median is {middle:.2g}.",
        {"share": share.value, "median": middle},
    )


def by_label(data: Data, values: Any, form: str = "{}") -> str:
    """A value of each cell, beside its label."""
    pairs = zip(data["labels"], values, strict=True)
    return ", ".join(f"{label}: {form.format(one)}" for label, one in pairs)


def within(criterion: Criterion, cells: slice, name: str) -> Criterion:
    """A criterion on some of the cells only; `name` is joined to its id, since ids are unique."""
    return replace(
        criterion, id=f"{criterion.id}-{name}", judge=lambda data: criterion.judge(cut(data, cells))
    )


def cut(data: Data, cells: slice) -> dict[str, Any]:
    """The data of some of the cells."""
    return {
        name: value if name == "epochs" or not hasattr(value, "__len__") else value[cells]
        for name, value in data.items()
    }
