"""Half-times of gradient descent on U that are theorems: whole steps, before the run.

A block of W(0) is a run of its own. A block of one concept moves by the scalar map F; for two
concepts there are :mod:`swingby.theory.repaired.theorem_two_gd` and
:mod:`swingby.theory.repaired.theorem_s_gd`, whose intervals are intersected; for more, the latter.
All constants and all passages of F are evaluated in balls.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from swingby.hints import Hinted
from swingby.theory import balls
from swingby.theory.balls import precision
from swingby.theory.initial import Initial, connected_blocks, exact_pivots
from swingby.theory.repaired import theorem_s_gd, theorem_two_gd
from swingby.theory.repaired.scalar_map import Passage, first_passage
from swingby.theory.task import SIMTask

Interval = tuple[int, int]

#: What `predict` says where no theorem covers all concepts.
NOT_COVERED = "not covered"
_HALF = Fraction(1, 2)
#: Why a theorem that speaks of a block does not cover a concept of it.
_TOO_LARGE = "the error of its pivot, eta a_1 or the number of steps is too large for {}"


@dataclass(frozen=True)
class ProvedHalfTimes(Hinted):
    """Proved intervals of the half-times of gradient descent on U, by concept.

    Parameters
    ----------
    intervals : tuple of (int, int) or None
        First and last whole step, both included, at which w_kk may first be at least 1/2; None
        where no theorem covers the concept. Length d.
    theorems : tuple of str
        ``"two-gd"``, ``"S-gd"``, both with *and* between, ``"scalar map"`` for a concept that is
        alone in its block, or the reason why no theorem covers the concept. Length d.
    """

    intervals: tuple[Interval | None, ...]
    theorems: tuple[str, ...]

    @property
    def array(self) -> NDArray[np.int64] | str:
        """The intervals as whole numbers (d, 2); ``"not covered"`` if a concept is not covered."""
        if self.missing:
            return NOT_COVERED
        return np.array(self.intervals)

    @property
    def missing(self) -> tuple[int, ...]:
        """Concepts, from 0, that no theorem covers."""
        return tuple(k for k, interval in enumerate(self.intervals) if interval is None)

    def text(self, concept: int) -> str:
        """The interval of a concept (from 0): ``"167"``, ``"166 to 168"`` or ``"not covered"``."""
        interval = self.intervals[concept]
        if interval is None:
            return NOT_COVERED
        first, last = interval
        return str(first) if first == last else f"{first} to {last}"

    def to_dict(self) -> list[dict[str, Any]]:
        """Plain numbers and text, ready for JSON: first, last (None: not covered) and theorem."""
        ends = (interval or (None, None) for interval in self.intervals)
        return [
            {"first": first, "last": last, "theorem": theorem}
            for (first, last), theorem in zip(ends, self.theorems, strict=True)
        ]

    def __str__(self) -> str:
        return ", ".join(
            f"concept {k + 1}: {self.text(k)} ({theorem})"
            for k, theorem in enumerate(self.theorems)
        )


def proved_half_times(
    task: SIMTask, initial: Initial, step: Fraction, passage: Passage = first_passage
) -> ProvedHalfTimes:
    """The proved half-times of gradient descent on U from an exact W(0), in the user's order.

    `step`: eta. `passage` counts steps, which takes nearly all of the time where there are many.
    """
    intervals: list[Interval | None] = [None] * task.dim
    theorems = [""] * task.dim
    for block in connected_blocks(initial.stated.tolist()):
        order = sorted(block, key=lambda k: -task.exact_signal[k])
        y = [step * task.exact_signal[k] for k in order]
        matrix = initial.stated[np.ix_(order, order)]
        diagonal = [Fraction(w) * initial.scale for w in matrix.diagonal()]
        pivots = [pivot * initial.scale for pivot in exact_pivots(matrix)]
        reason = _out_of_range(y, diagonal, pivots)
        covered: list[tuple[Interval | None, str]] = [(None, reason)] * len(order)
        if not reason:
            covered = _of_block(y, diagonal, pivots, passage)
        for k, (interval, theorem) in zip(order, covered, strict=True):
            intervals[k], theorems[k] = interval, theorem
    return ProvedHalfTimes(tuple(intervals), tuple(theorems))


def _out_of_range(y: list[Fraction], diagonal: list[Fraction], pivots: list[Fraction]) -> str:
    """Why no theorem speaks of a block; no text if one may."""
    if y[-1] <= 0:
        return "a signal of its block is 0"
    if len(set(y)) < len(y):
        return "two signals of its block are equal"
    if y[0] > Fraction(1, 3):
        return "eta a_1 is above 1/3"
    if min(pivots) <= 0:
        return "a pivot of W(0) is not positive"
    if max(diagonal) >= _HALF:
        return "an entry w_ii(0) of its block is at least 1/2"
    return ""


def _of_block(
    y: list[Fraction], diagonal: list[Fraction], pivots: list[Fraction], passage: Passage
) -> list[tuple[Interval | None, str]]:
    """Intervals with the names of their theorems, or reasons."""
    if len(y) == 1:
        with precision(256):
            w, level = balls.ball(diagonal[0]), flint.arb(0)
            xi = (w / (1 - w)).log()
        alone = passage(y[0], (xi, xi), (level, level))
        return [(alone, "scalar map" if alone else "it takes too many steps")]
    answers = {"S-gd": theorem_s_gd.half_times(y, diagonal, pivots, passage)}
    if len(y) == 2:
        pair = (y[0], y[1]), (diagonal[0], diagonal[1]), (pivots[0], pivots[1])
        answers = {"two-gd": theorem_two_gd.half_times(*pair, passage), **answers}
    rows: list[tuple[Interval | None, str]] = []
    for i in range(len(y)):
        named: dict[str, Interval] = {
            name: interval
            for name, answer in answers.items()
            if not isinstance(answer, str) and (interval := answer[i]) is not None
        }
        if named:
            first = max(interval[0] for interval in named.values())
            last = min(interval[1] for interval in named.values())
            rows.append(((first, last), " and ".join(named)))
        else:
            rows.append((None, "; ".join(_reasons(answers, i))))
    return rows


def _reasons(answers: dict[str, list[Interval | None] | str], i: int) -> list[str]:
    """Why each theorem does not cover concept i of a block."""
    return [
        answer if isinstance(answer, str) else _TOO_LARGE.format(name)
        for name, answer in answers.items()
        if isinstance(answer, str) or answer[i] is None
    ]
