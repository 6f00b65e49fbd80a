"""threshold of a theory of one's own: its questions, answered at many settings at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.own_theory.family import Floats
from swingby.own_theory.runs import Judged, judge
from swingby.own_theory.settings import Settings, at_numbers
from swingby.own_theory.statement import Statement, refused
from swingby.verify.turning_values import Threshold, read_range, turning_values


def threshold_theory(
    statement: Statement,
    question: str,
    /,
    *,
    vary: str,
    at: Mapping[str, Any] | None = None,
    between: Sequence[Any] | None = None,
) -> Threshold:
    """The turns of a question about a theory; see :func:`swingby.threshold`."""
    base = at_numbers(statement, at or {}, vary=[vary])
    chosen = base.family
    if vary not in chosen.names:
        raise InvalidInput("vary", vary, f"must be one of {', '.join(chosen.names)}")
    answer = _answer(base, question)
    index = chosen.names.index(vary)
    usual = (float(chosen.low[index]), float(chosen.high[index]))
    low, high = usual if between is None else read_range(between)

    def answers(values: Floats) -> dict[str, Floats]:
        settings = base.repeated(len(values)).with_scalars(**{vary: values})
        return dict(zip(("predicted", "observed"), answer(judge(settings)), strict=True))

    turns = turning_values(answers, low, high)
    return Threshold(statement.name, question, vary, (low, high), turns)


#: Answers of both sides: 1 for yes, 0 for no, nan where it is not known.
_Answer = Callable[[Mapping[str, Judged]], tuple[Floats, Floats]]


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

    if verb == "is" and not _is_outcome(base, first):
        raise refused("question", f'"{question}" asks for a label, and {first} is no outcome')
    return {"before": before, "is": is_label, "kept": kept}[verb]


def _is_outcome(base: Settings, name: str) -> bool:
    """Whether a prediction is an outcome."""
    promise = next(promise for promise in base.family.promises if promise.name == name)
    return bool(promise.labels)
