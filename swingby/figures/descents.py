"""Criteria on descents of the test loss."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

from swingby.figures.figure import Criterion, Data, Measured, under_every_reading
from swingby.figures.theory import SWINGS
from swingby.simulate.events import Extremum, turning_points
from swingby.theory.verdict import Verdict

#: How often.
TIMES = {1: "once", 2: "twice", 3: "three times", 4: "four times"}
_FINE, _COARSE = SWINGS


class Leg(NamedTuple):
    """A stretch over which the test loss only falls, or only rises, by swings that count."""

    start: int
    end: int
    change: float

    def __str__(self) -> str:
        return f"{self.start} to {self.end}"


def legs(data: Data, swing: float = _FINE) -> tuple[Leg, ...]:
    """The descents and ascents of the test loss, in order.

    `swing`: least change that counts, in units of the loss at the start.
    """
    turns = [Extremum(*turn) for turn in data["turns"]]
    if not turns:
        return ()
    values, steps = [one.value for one in turns], [one.step for one in turns]
    kept = turning_points(values, swing * data["start_loss"], steps)
    return tuple(Leg(one.step, two.step, two.value - one.value) for one, two in pairwise(kept))


def count(data: Data, swing: float) -> int:
    """The number of descents by at least a share of the loss at the start."""
    return sum(leg.change < 0 for leg in legs(data, swing))


def number_of_descents(needed: int) -> Criterion:
    """The criterion that the test loss descends so many times."""

    def judge(data: Data) -> Measured:
        counts = {swing: count(data, swing) for swing in SWINGS}
        verdict = under_every_reading({str(one): counts[one] == needed for one in SWINGS})
        other, gd = data["controls"]["other_rates"], data["controls"]["gd"]
        largest = max((leg.change for leg in legs(data, 0.0)), default=0.0)
        parts = [
            f"Descents by 0.001 and by 0.01 of the start: {_pair(counts)} with rates "
            f"{data['rates']}; {_pair(other['descents'])} with {other['rates']}, all else equal; "
            f"{_pair(gd['descents'])} by gradient descent on U"
        ]
        if count(data, _FINE) < 2:
            share = 100 * max(largest, 0.0) / data["start_loss"]
            parts.append(f"the largest rise is {share:.2g} % of the start")
        return Measured(
            f"{counts[_FINE]} (0.001), {counts[_COARSE]} (0.01)",
            verdict,
            "; ".join(parts) + ".",
            {"descents": {str(one): number for one, number in counts.items()}},
        )

    return Criterion(
        "descents",
        f"The test loss descends {TIMES[needed]}.",
        str(needed),
        "a descent counts from 0.001 of the loss at the start, and again from 0.01: both",
        judge,
    )


def _pair(counts: Any) -> str:
    return " and ".join(str(number) for number in counts.values())


def ends_at_zero(most: float = 1e-3) -> Criterion:
    """The criterion that the test loss ends at zero.

    `most`: in units of the loss at the start.
    """

    def judge(data: Data) -> Measured:
        share = float(data["test_loss"][-1]) / data["start_loss"]
        holds = share <= most
        return Measured(
            f"{share:.2g} of the start",
            Verdict.HOLDS if holds else Verdict.FAILS,
            f"After {data['last_step']} steps the test loss is {share:.2g} of its start.",
            {"share": share},
        )

    return Criterion(
        "end",
        "In the end the test point is learned: the test loss is 0.",
        "0",
        f"at most {most} of the loss at the start",
        judge,
    )
