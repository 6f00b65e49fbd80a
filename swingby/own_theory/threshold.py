"""threshold: the values of a number at which the answer to a question turns."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.own_theory.family import Floats
from swingby.own_theory.runs import Judged, judge
from swingby.own_theory.settings import Settings, at_numbers
from swingby.own_theory.statement import Statement, refused
from swingby.report import Drawn, Grid

#: Values of a number in a round, and rounds between neighbours at which the answer differs.
_VALUES, _ROUNDS = 33, 3
#: Answers of both sides: 1 for yes, 0 for no, nan where it is not known.
_Answer = Callable[[Mapping[str, Judged]], tuple[Floats, Floats]]


@dataclass(frozen=True)
class Threshold(Drawn):
    """Where the answer to a question turns as one number varies.

    Parameters
    ----------
    theory, question, vary : str
    predicted, observed : tuple of float
        Values at which the answer turns; empty where it never does in the range of the number.
    undecided : int
        Values at which the run was too long, or nothing is predicted.
    """

    theory: str
    question: str
    vary: str
    predicted: tuple[float, ...]
    observed: tuple[float, ...]
    undecided: int

    def to_grid(self) -> Grid:
        """A row for the prediction, and one for the observation."""
        sides = {"predicted": self.predicted, "observed": self.observed}
        rows = [
            [side, ", ".join(f"{turn:.5g}" for turn in turns) or "nowhere"]
            for side, turns in sides.items()
        ]
        below = [f"Undecided at {self.undecided} values."] if self.undecided else []
        title = f"{self.theory}: {self.question}?"
        return Grid(title, ["", f"turns at {self.vary} ="], rows, below=below)


def threshold(
    theory: Statement, question: str, /, *, vary: str, at: Mapping[str, Any] | None = None
) -> Threshold:
    r"""The values of one number at which the answer to a question turns, predicted and observed.

    33 values of the number over its range are run in one batch, and 33 more between any two
    neighbours with different answers, twice: a turn is known to :math:`32^{-3}` of the logarithm
    of the range. Two turns between neighbours of the first round are missed.

    Parameters
    ----------
    theory : Theory
    question : str
        ``"half[1] before half[2]"`` of two passages, ``"fate is lazy"`` of an outcome, or
        ``"half kept"`` of any prediction, for which nothing is predicted.
    vary : str
        The number, such as ``"u0"`` or the entry ``"s_2"`` of a vector.
    at : dict, optional
        The other numbers; the usual ones by default.

    Returns
    -------
    Threshold
        With the turns in the unit of the number.

    Raises
    ------
    InvalidInput
        If the question or the number is none of the theory's.

    References
    ----------
    The comparison is that of :func:`swingby.compare`, value by value.

    Examples
    --------
    The stronger of two modes is learned first, whatever their strengths:

    >>> import numpy as np, sympy as sp, swingby
    >>> from swingby.own import Passage, Vector, k
    >>> s = sp.IndexedBase("s", positive=True)
    >>> time = sp.log(s[k] / 0.01 - 1) / (0.02 * s[k])
    >>> theory = swingby.Theory(
    ...     "two modes", {s: Vector(0.1, 1, 10)}, {}, lambda s: 0.1 * np.ones((2, *s.shape)),
    ...     lambda z, s: z + 0.01 * z[::-1] * (s - z[0] * z[1]), {"u": lambda z: z[0] * z[1]},
    ...     [Passage("half", "u", s[k] / 2, time, within=0.05 * time, each=True)], lengths=[2])
    >>> turn = swingby.threshold(theory, "half[1] before half[2]", vary="s_2", at={"s": [1, 1]})
    >>> [round(value, 2) for value in (*turn.predicted, *turn.observed)]
    [1.0, 1.0]
    """
    if not isinstance(theory, Statement):
        raise InvalidInput("theory", theory, "must be a swingby.Theory")
    base = at_numbers(theory, at or {}, vary=[vary])
    chosen = base.family
    if vary not in chosen.names:
        raise InvalidInput("vary", vary, f"must be one of {', '.join(chosen.names)}")
    answer = _answer(base, question)
    index = chosen.names.index(vary)
    span = (float(chosen.low[index]), float(chosen.high[index]))
    spans: tuple[list[tuple[float, float]], ...] = ([span], [span])
    undecided = 0
    for rank in range(_ROUNDS):
        both = [span for side in spans for span in side]
        if not both:
            break
        grids = [np.geomspace(low, high, _VALUES) for low, high in both]
        batch = base.repeated(_VALUES * len(grids)).with_scalars(**{vary: np.concatenate(grids)})
        answers = np.array(answer(judge(batch))).reshape(2, len(grids), _VALUES)
        if not rank:
            undecided = int(np.isnan(answers[1, 0]).sum())
        count = len(spans[0])
        spans = tuple(
            [
                (float(grid[p]), float(grid[q]))
                for grid, row in zip(grids[part], answers[side][part], strict=True)
                for p, q in _turns(row)
            ]
            for side, part in enumerate((slice(count), slice(count, None)))
        )
    turns = [tuple(float(np.sqrt(low * high)) for low, high in side) for side in spans]
    return Threshold(theory.name, question, vary, turns[0], turns[1], undecided)


def _turns(row: Floats) -> list[tuple[int, int]]:
    """Neighbours, of those with an answer, that differ."""
    known = np.flatnonzero(~np.isnan(row)).tolist()
    return [(p, q) for p, q in itertools.pairwise(known) if row[p] != row[q]]


def _answer(base: Settings, question: str) -> _Answer:
    """The question as a function of what was judged."""
    names = [promise.name for promise in base.family.promises]
    words = question.split()
    first, verb, last = [*words, "", ""][:3]
    if (
        first not in names
        or verb not in ("before", "is", "kept")
        or (verb == "before" and last not in names)
    ):
        forms = '"A before B" of passages, "A is LABEL" of an outcome, or "A kept"'
        raise InvalidInput("question", question, f"must be {forms}; A is of {', '.join(names)}")

    def before(results: Mapping[str, Judged]) -> tuple[Floats, Floats]:
        sides = []
        decided = ~np.isnan(results[first].ratio) & ~np.isnan(results[last].ratio)
        for column in ("predicted", "observed"):
            times = [np.asarray(getattr(results[name], column), float) for name in (first, last)]
            early, late = (np.where(np.isnan(time), np.inf, time) for time in times)
            answers = np.where(early == late, np.nan, early < late)
            sides.append(np.where(decided & ~np.isinf(np.minimum(early, late)), answers, np.nan))
        return sides[0], sides[1]

    def is_label(results: Mapping[str, Judged]) -> tuple[Floats, Floats]:
        judged = results[first]
        columns = (judged.predicted, judged.observed)
        sides = [np.where(column == "", np.nan, column == last) for column in columns]
        return sides[0], sides[1]

    def kept(results: Mapping[str, Judged]) -> tuple[Floats, Floats]:
        ratio = results[first].ratio
        answers = np.where(np.isnan(ratio), np.nan, ratio <= 1)
        return np.full(len(ratio), np.nan), answers

    if verb == "is" and results_are_labels(base, first) is False:
        raise refused("question", f'"{question}" asks for a label, and {first} is no outcome')
    return {"before": before, "is": is_label, "kept": kept}[verb]


def results_are_labels(base: Settings, name: str) -> bool:
    """Whether a prediction is an outcome."""
    promise = next(promise for promise in base.family.promises if promise.name == name)
    return bool(promise.labels)
