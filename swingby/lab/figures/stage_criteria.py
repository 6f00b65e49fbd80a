"""Criteria of the theory figures: stages of the test loss and the entries that make them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from swingby.lab.figures.figure import Criterion, Data, Measured, criterion, under_every_reading
from swingby.lab.figures.theory_runs import SWINGS
from swingby.simulate.series import Extremum, turning_points
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
    values, steps = [extremum.value for extremum in turns], [extremum.step for extremum in turns]
    extrema = turning_points(values, swing * data["start_loss"], steps)
    return tuple(
        Leg(start.step, end.step, end.value - start.value) for start, end in pairwise(extrema)
    )


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
        control, gd = data["controls"]["other_rates"], data["controls"]["gd"]
        reason = (
            f"Descents by 0.001 and by 0.01 of the start: {_pair(counts)} with rates "
            f"{data['rates']}; {_pair(control['descents'])} with {control['rates']}, all else "
            f"equal; {_pair(gd['descents'])} by gradient descent on U"
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
    terms = np.einsum("ti,j,tij->ij", mean, x, np.diff(W, axis=0))
    size = len(terms)
    return {
        (i + 1, j + 1): float(terms[i, j] + (terms[j, i] if i != j else 0.0))
        for i in range(size)
        for j in range(i, size)
    }


def _name(entry: tuple[int, int]) -> str:
    return f"w_{entry[0]}{entry[1]}"


def _stage_descent(data: Data, concept: int, leg: Leg) -> tuple[str, str]:
    """Text on the entries of a descent, and its flaw as growth of a major entry, or ""."""
    changes = contributions(data, leg)
    main = min(changes, key=lambda entry: changes[entry])
    half = data["half_times"][concept - 1]
    major = (concept, concept)
    text = f"{leg}: {_name(major)} {100 * changes[major] / leg.change:.0f} % of the fall"
    if half is None or not leg.start <= half <= leg.end:
        when = "never" if half is None else f"at {half}"
        return text, f"{_name(major)} reaches 1/2 {when}, not in the descent {leg}"
    if main != major:
        return text, f"in the descent {leg} {_name(main)} contributes most"
    return text, ""


def _stage_ascent(data: Data, concept: int, later: list[int], leg: Leg) -> tuple[str, str]:
    """Text on the entries of an ascent, and its flaw as suppression of minor entries, or ""."""
    changes = contributions(data, leg)
    group = [(min(concept, partner), max(concept, partner)) for partner in later]
    before, after = np.abs(data["W"][leg.start]), np.abs(data["W"][leg.end])
    shrinking = [(i, j) for i, j in group if after[i - 1, j - 1] < before[i - 1, j - 1]]
    share = sum(changes[entry] for entry in shrinking) / leg.change
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
    stretches, order = legs(data), data["order"]
    falls = [leg for leg in stretches if leg.change < 0]
    rises = [leg for leg in stretches if leg.change > 0]
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
        wrong += [flaw for _, flaw in pieces if flaw]
    reason = f"{_sentence(wrong)} {_sentence(texts)}".strip()
    return Measured("no" if wrong else "yes, each", yes(not wrong), reason)


def _sentence(clauses: list[str]) -> str:
    text = "; ".join(clauses)
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
