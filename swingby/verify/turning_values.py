"""Turning values: where the answer to a question turns as one number varies, on several sides."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.report import Drawn, Grid
from swingby.theory import numbers
from swingby.theory.numbers import Floats

#: Values of a number in a round, and rounds between neighbours at which the answer differs.
_VALUES, _ROUNDS = 33, 4
#: Answers by side: 1 for yes, 0 for no, nan where it is not known.
Answer = Callable[[Floats], Mapping[str, Floats]]


@dataclass(frozen=True)
class TurningValues:
    """Where the answer turns, on one side: that of the prediction, or of the runs.

    `brackets`: (low, high) around each turn, the nearest values with an answer; `first`: the answer
    at the smallest value with an answer, None without any; `undecided`: how many of the `asked`
    values of the first round have none; `known`: the first and the last value with an answer,
    infinite where these are the ends of the range.
    """

    brackets: tuple[tuple[float, float], ...]
    first: bool | None
    undecided: int
    asked: int = _VALUES
    known: tuple[float, float] = (-math.inf, math.inf)

    @property
    def values(self) -> tuple[float, ...]:
        """The middle of each bracket."""
        return tuple(_middle(*bracket) for bracket in self.brackets)

    def spans(self) -> Iterator[tuple[float, float]]:
        """Where the answer is yes, from -inf where it is so from the smallest value on."""
        ends = [-math.inf, *self.values, math.inf]
        for rank, (low, high) in enumerate(itertools.pairwise(ends)):
            if self.first is not None and self.first == (rank % 2 == 0):
                yield low, high

    def text(self, number: str) -> str:
        """``omega up to 0.0046, from 0.2 on``; of values without an answer nothing is said.

        >>> TurningValues((), False, 0).text("h"), TurningValues((), False, 2).text("h")
        ('nowhere, of 33 values', 'not known: no at every value with an answer')
        """
        if self.first is None:
            return "not known"
        if not self.brackets:
            answer = "yes" if self.first else "no"
            open_text = f"not known: {answer} at every value with an answer"
            where = f"{'everywhere' if self.first else 'nowhere'}, of {self.asked} values"
            return open_text if self.undecided else where
        words = []
        for low, high in self.spans():
            first, last = (low, ""), (high, "")
            if low == -math.inf:
                first = self.known[0], " (first answer)"
            if high == math.inf:
                last = self.known[1], " (last answer)"
            start = f"from {first[0]:.6g}{first[1]}" if math.isfinite(first[0]) else ""
            end = f"{'to' if start else 'up to'} {last[0]:.6g}{last[1]}"
            words.append(f"{start} {end if math.isfinite(last[0]) else 'on'}".strip())
        return f"{number} {', '.join(words)}"


@dataclass(frozen=True)
class Threshold(Drawn):
    """Where the answer to a question turns as one number varies. Made by :func:`threshold`.

    Parameters
    ----------
    subject, question, vary : str
    between : tuple of float
        The smallest and the largest value, in the unit of the number.
    sides : dict from str to TurningValues
        ``"predicted"`` where there is a prediction, ``"observed"`` and, for the order of concepts,
        ``"closed form"``.
    notes : tuple of str
        What else to know, such as which turns lie outside the assumptions of a theory.
    """

    subject: str
    question: str
    vary: str
    between: tuple[float, float]
    sides: Mapping[str, TurningValues]
    notes: tuple[str, ...] = ()

    @property
    def predicted(self) -> tuple[float, ...]:
        """Values at which the prediction turns; empty where it never does, or there is none."""
        return self.sides["predicted"].values if "predicted" in self.sides else ()

    @property
    def observed(self) -> tuple[float, ...]:
        """Values at which runs turn."""
        return self.sides["observed"].values

    def to_grid(self) -> Grid:
        """A row for each side: where the answer is yes, and how closely each turn is known."""
        rows = [
            [
                *(side, turns.text(self.vary)),
                ", ".join(f"{high - low:.1g}" for low, high in turns.brackets) or "-",
            ]
            for side, turns in self.sides.items()
        ]
        low, high = self.between
        above = [f"{self.vary} from {low:.4g} to {high:.4g}"]
        below = [
            f"{side}: no answer at {turns.undecided} of {turns.asked} values."
            for side, turns in self.sides.items()
            if turns.undecided
        ]
        below += self.notes
        heads = ["", "yes for", ">turn known to"]
        return Grid(f"{self.subject}: {self.question}?", heads, rows, above=above, below=below)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        sides = {
            side: {
                **vars(turns),
                "brackets": [*map(list, turns.brackets)],
                "known": [x if math.isfinite(x) else None for x in turns.known],
                "values": turns.values,
            }
            for side, turns in self.sides.items()
        }
        return {**vars(self), "between": list(self.between), "sides": sides}


def read_range(between: Sequence[Any], has_sign: bool = False) -> tuple[float, float]:
    """The range of a number that is asked for, checked."""
    read = numbers.exact if has_sign else numbers.positive
    try:
        low, high = (numbers.within_float(read(x, "between"), "between") for x in between)
    except (TypeError, ValueError):
        raise InvalidInput("between", between, "must be (low, high)") from None
    if not low < high:
        raise InvalidInput("between", between, "must be (low, high), with low < high")
    return low, high


def turning_values(
    answer: Answer, low: float, high: float, also: Sequence[float] = (), count: int = _VALUES
) -> dict[str, TurningValues]:
    """The turns between two values, on every side.

    33 values, or `count`, are asked at once, and 31 more between any two neighbours with different
    answers, three times: in the logarithm of the number where `low` is positive. `also`: other
    values of the first round.
    """
    values = np.union1d(_spaced(low, high, count), [x for x in also if low <= x <= high])
    asked = len(values)
    sides = {side: np.asarray(row, float) for side, row in answer(values).items()}
    undecided = {side: int(np.isnan(row).sum()) for side, row in sides.items()}
    for _ in range(_ROUNDS - 1):
        brackets = {bracket for row in sides.values() for bracket in _brackets(values, row)}
        between = [_spaced(*bracket)[1:-1] for bracket in sorted(brackets)]
        new = np.setdiff1d(np.concatenate([np.empty(0), *between]), values)
        if not len(new):
            break
        both, more = np.append(values, new), answer(new)
        order = np.argsort(both)
        values = both[order]
        sides = {side: np.append(row, more[side])[order] for side, row in sides.items()}
    turns = {}
    for side, row in sides.items():
        around, known = tuple(_brackets(values, row)), np.flatnonzero(~np.isnan(row))
        if not len(known):
            turns[side] = TurningValues(around, None, undecided[side], asked)
            continue
        start = -math.inf if known[0] == 0 else float(values[known[0]])
        end = math.inf if known[-1] == len(row) - 1 else float(values[known[-1]])
        first = bool(row[known[0]])
        turns[side] = TurningValues(around, first, undecided[side], asked, (start, end))
    return turns


def _spaced(low: float, high: float, count: int = _VALUES) -> Floats:
    return np.geomspace(low, high, count) if low > 0 else np.linspace(low, high, count)


def _middle(low: float, high: float) -> float:
    return math.sqrt(low * high) if low > 0 else (low + high) / 2


def _brackets(values: Floats, row: Floats) -> Iterator[tuple[float, float]]:
    """Neighbours, of those with an answer, that differ."""
    known = np.flatnonzero(~np.isnan(row)).tolist()
    for p, q in itertools.pairwise(known):
        if row[p] != row[q]:
            yield float(values[p]), float(values[q])
