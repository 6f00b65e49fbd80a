"""What the strategies of this part accept as a dimension, and as a choice."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from swingby.errors import InvalidInput
from swingby.theory import numbers
from swingby.theory.task import SIMTask


def fractions(text: str) -> tuple[Fraction, ...]:
    """Read a table of exact numbers.

    `text`: numbers with blanks between them.
    """
    return tuple(map(Fraction, text.split()))


#: What is drawn is meant to be read; a matrix of more directions is not.
MOST_DIRECTIONS = 32
#: The dimensions drawn when none is asked for are 1 to this.
USUAL_DIRECTIONS = 4


@dataclass(frozen=True)
class Dimensions:
    """Dimensions to draw from.

    `most`: the largest drawn, as far as it is known.
    """

    strategy: st.SearchStrategy[int]
    most: int


def dimensions(
    dim: Any,
    least: int = 1,
    *,
    argument: str = "dim",
    most: int = MOST_DIRECTIONS,
    requirement: str = "",
) -> Dimensions:
    """Read a dimension: none, a whole number, or a strategy of whole numbers.

    `least`: the smallest that makes sense.
    `argument`: name used in errors.
    `most`: the largest that is accepted.
    `requirement`: what is said where it is not met, in place of the plain bounds.
    Raises InvalidInput: at once for a number; when it is drawn for a strategy.
    """
    if dim is None:
        usual = min(USUAL_DIRECTIONS, most)
        return Dimensions(st.integers(least, usual), usual)

    def checked(value: Any) -> int:
        size = numbers.whole(value, argument)
        if requirement and not least <= size <= most:
            raise InvalidInput(argument, value, requirement)
        return numbers.whole(size, argument, least, most=most)

    if isinstance(dim, st.SearchStrategy):
        return Dimensions(dim.map(checked), USUAL_DIRECTIONS)
    size = checked(dim)
    return Dimensions(st.just(size), size)


def choice(value: Any, argument: str, known: tuple[str, ...]) -> str:
    """Read a word that has to be one of a few."""
    if not isinstance(value, str) or value not in known:
        raise InvalidInput(argument, value, f"must be one of {', '.join(known)}")
    return value


def readable(task: Any) -> SIMTask:
    """Read a task for which matrices can be drawn.

    Raises InvalidInput if it is none, or has more than 32 directions.
    """
    if not isinstance(task, SIMTask):
        raise InvalidInput("task", task, "must be a SIMTask")
    numbers.whole(task.dim, "task.dim", 1, most=MOST_DIRECTIONS)
    return task
