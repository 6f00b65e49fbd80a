"""threshold of a theory of one's own: its questions, answered at many settings at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.hints import suggestion
from swingby.own_theory.family import Floats
from swingby.own_theory.kinds import Passage
from swingby.own_theory.runs import Judged, judge
from swingby.own_theory.settings import Settings, at_numbers, least_margin
from swingby.own_theory.simpler import EDGE
from swingby.own_theory.statement import Statement, refused
from swingby.verify.turning_values import (
    Threshold,
    TurningValues,
    read_range,
    turning_values,
)

#: Values of the first round, where a batch costs as little as a few runs.
_MANY = 129


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
    if vary in chosen.whole:
        required = f"must not be a whole number: swingby.sweep(theory, {{{vary!r}: [1, 2, 3]}})"
        raise InvalidInput("vary", vary, required)
    answer = _answer(base, question)
    index = chosen.names.index(vary)
    usual = (float(chosen.low[index]), float(chosen.high[index]))
    low, high = usual if between is None else read_range(between)

    noises = list[Floats]()

    def at_values(values: Floats) -> Settings:
        return base.repeated(len(values)).with_scalars(**{vary: values})

    def answers(values: Floats) -> dict[str, Floats]:
        results = judge(at_values(values))
        noise = results[str(question).split()[0]].noise
        noises.append(np.empty(0) if noise is None else noise)
        return answer(results)

    also = [float(chosen.usual[index]), float(base.scalars[vary][0])]
    dear = statement.seeds > 1 or statement.flow is not None or statement.runs is not None
    turns = turning_values(answers, low, high, also, **({} if dear else {"count": _MANY}))
    notes = _outside(at_values, turns, vary, (low, high))
    noise = noises[0][np.isfinite(noises[0])]
    if len(noise) and any(side.undecided for side in turns.values()):
        # Kept is said of what is clearly so with its error on both sides, twice over.
        enough = statement.seeds * max(3 * float(np.median(noise)), 1) ** 2
        notes += (
            f"{statement.seeds} seeds leave these open; try seeds={float(f'{enough:.2g}'):.0f}.",
        )
    return Threshold(statement.name, question, vary, (low, high), turns, notes)


def _outside(
    at_values: Callable[[Floats], Settings],
    turns: Mapping[str, TurningValues],
    vary: str,
    span: tuple[float, float],
) -> tuple[str, ...]:
    """Which turns are outside the assumptions, in a sentence, and where the number is inside."""

    def inside(values: Floats) -> dict[str, Floats]:
        margin = least_margin(at_values(values))
        return {"inside": np.where(np.isnan(margin), np.nan, margin >= EDGE)}

    values = np.unique([x for side in turns.values() for x in side.values])
    outside = values[inside(values)["inside"] == 0] if len(values) else values
    text = turning_values(inside, *span)["inside"].text(vary)
    if text.startswith("nowhere"):
        return (f"Every value looked at of {vary} is outside the assumptions.",)
    if not len(outside):
        return ()
    listed = ", ".join(f"{x:.6g}" for x in outside)
    return (f"Outside the assumptions: the turn at {listed}. Inside them: {text}.",)


#: Answers by side: 1 for yes, 0 for no, nan where it is not known.
_Answer = Callable[[Mapping[str, Judged]], dict[str, Floats]]


def _answer(base: Settings, question: str) -> _Answer:
    """The question as a function of what was judged."""
    names = [promise.name for promise in base.family.promises]
    first, verb, last = [*str(question).split(), "", "", ""][:3]
    if (
        first not in names
        or verb not in ("before", "is", "kept")
        or (verb == "before" and last not in names)
    ):
        forms = '"A before B" of passages, "A is LABEL" of an outcome, or "A kept"'
        raise InvalidInput("question", question, f"must be {forms}; A is of {', '.join(names)}")
    kinds = {promise.name: promise for promise in base.family.promises}
    if verb == "is" and last not in (labels := kinds[first].labels):
        has = f"which has {', '.join(labels)}" if labels else "which is no outcome"
        hint = suggestion(last, labels)
        raise refused("question", f'"{question}" asks for a label of {first}, {has}{hint}')
    for name in (first, last) if verb == "before" else ():
        if not isinstance(kinds[name].prediction, Passage):
            raise refused("question", f'"{question}" asks for an order, and {name} is no passage')

    def before(results: Mapping[str, Judged], side: str) -> Floats:
        times = [np.asarray(getattr(results[name], side), float) for name in (first, last)]
        early, late = (np.where(np.isnan(time), np.inf, time) for time in times)
        decided = ~np.isnan(results[first].ratio) & ~np.isnan(results[last].ratio)
        return np.where(decided & (early != late), early < late, np.nan)

    def is_label(results: Mapping[str, Judged], side: str) -> Floats:
        column = getattr(results[first], side)
        return np.where(column == "", np.nan, column == last)

    def kept(results: Mapping[str, Judged]) -> dict[str, Floats]:
        ratio, noise = results[first].ratio, results[first].noise
        # The error of an estimate over seeds is allowed: kept is what would be so with it on the
        # other side, too; the answer would turn with the seeds in between.
        error = 0 if noise is None else noise
        unsure = np.isnan(ratio) | ((ratio <= 1) & (ratio * (1 + error) + error > 1))
        return {"observed": np.where(unsure, np.nan, ratio <= 1)}

    if verb == "kept":  # of which nothing is predicted
        return kept
    ask = before if verb == "before" else is_label
    return lambda results: {side: ask(results, side) for side in ("predicted", "observed")}
