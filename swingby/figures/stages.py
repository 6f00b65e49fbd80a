"""Criteria on what the entries of W do while the test loss descends and rises."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from swingby.figures.descents import TIMES, Leg, legs
from swingby.figures.figure import Criterion, Data, Measured, under_every_reading
from swingby.theory.verdict import Verdict


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


def _judge_alignment(data: Data) -> Measured:
    found, order = legs(data), data["order"]
    falls = [leg for leg in found if leg.change < 0]
    rises = [leg for leg in found if leg.change > 0][: len(order) - 1]
    if len(falls) != len(order):
        times = [data["half_times"][k - 1] for k in order]
        halves = ", ".join(
            f"w_{k}{k} {'never' if half is None else half}"
            for k, half in zip(order, times, strict=True)
        )
        return Measured(
            f"descents: {len(falls)}, stages: {len(order)}",
            Verdict.FAILS,
            f"There are {len(order)} major entries (half-times {halves}), but the test loss "
            f"descends {TIMES.get(len(falls), f'{len(falls)} times')}.",
        )
    texts, wrong = [], []
    for stage, (concept, leg) in enumerate(zip(order, falls, strict=True)):
        pieces = [_stage_descent(data, concept, leg)]
        if stage < len(rises):
            pieces.append(_stage_ascent(data, concept, order[stage + 1 :], rises[stage]))
        texts += [text for text, _ in pieces]
        wrong += [one for _, one in pieces if one]
    return Measured(
        "no" if wrong else "yes, each",
        Verdict.FAILS if wrong else Verdict.HOLDS,
        f"{_sentence(wrong)} {_sentence(texts)}".strip(),
    )


def _sentence(parts: list[str]) -> str:
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}." if text else ""


ALIGNMENT = Criterion(
    "alignment",
    "Each descent is the growth of a major entry, each ascent the suppression of its minor ones.",
    "each",
    "a descent: the entry reaches 1/2 in it and contributes most to the fall; an ascent: the "
    "shrinking minor entries of the stage contribute all of the rise or more; swings of 0.001",
    _judge_alignment,
)


def growth_start(values: Any, half: int) -> float:
    """Where the tangent at the half-time meets zero: the lag time of a growth curve.

    `values` (n,): a major entry at steps 0, 1, 2, . Returns in steps.
    """
    before, after = max(half - 1, 0), min(half + 1, len(values) - 1)
    slope = (values[after] - values[before]) / (after - before)
    return float(half - values[half] / slope)


def _judge_order(data: Data) -> Measured:
    order = data["order"]
    peaks = {(i, j): (step, suppressed) for i, j, step, _, suppressed in data["peaks"]}
    past, halved, texts = [], [], []
    starts: dict[str, float | None] = {}
    for earlier, concept in pairwise(order):
        half = data["half_times"][concept - 1]
        entry = (min(earlier, concept), max(earlier, concept))
        peak, suppressed = peaks[entry]
        if half is None:
            start, text = None, f"w_{concept}{concept} never grows"
        else:
            start = growth_start(data["W"][:, concept - 1, concept - 1], half)
            text = f"w_{concept}{concept} starts at {start:.0f}"
        starts[f"w_{concept}{concept}"] = start
        past.append(start is not None and start >= peak)
        halved.append(start is not None and suppressed is not None and start >= suppressed)
        until = "never" if suppressed is None else f"at {suppressed}"
        texts.append(f"{text}, {_name(entry)} peaks at {peak} and is down to half {until}")
    verdict = under_every_reading({"past the peak": all(past), "half": all(halved)})
    return Measured(
        f"{sum(halved)} of {len(halved)}"
        + (f"; past the peak {sum(past)}" if past != halved else ""),
        verdict,
        "; ".join(texts) + ".",
        {"starts": starts},
    )


ORDER = Criterion(
    "order",
    "Each major entry starts to grow only after the minor entry before it is suppressed.",
    "each",
    "start: where the tangent at the half-time meets 0; suppressed: past the peak, and again "
    "half of the peak: both",
    _judge_order,
)
