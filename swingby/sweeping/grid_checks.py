"""Whether the parts of a grid fit together, and make tasks that the theory knows."""

from __future__ import annotations

from typing import Any

from swingby.errors import MISSING, InvalidInput
from swingby.sweeping.axes import Vector, axis_values, spread, vectors
from swingby.sweeping.grid_values import AS_DIM
from swingby.sweeping.ranges import Range
from swingby.theory.task import SIMTask

Vectors = tuple[Vector, ...] | Range | None


def check_design(design: str, ranges: list[str], points: int | None, rng: int | None) -> None:
    """Whether ranges, the number of draws and their seed go with the design.

    Raises
    ------
    InvalidInput
    """
    if design == "random":
        if points is None:
            raise InvalidInput("points", MISSING, "must be given for design = random")
        return
    for name in ranges:
        raise InvalidInput(name, "a range", "must be a list, unless design = random")
    for name, value in (("points", points), ("rng", rng)):
        if value is not None:
            raise InvalidInput(name, value, "is for design = random")


def check_tasks(
    signal: Vectors, mu: Vectors, sigma: Vectors, width: tuple[int | str, ...] | Range
) -> None:
    """Try every task of the lists, and the largest of a range.

    Raises
    ------
    InvalidInput
        For vectors that make no task, and for a width that is named twice.
    """
    dims = set()
    for place, one in enumerate(vectors(signal), 1):
        dims.add(len(one))
        _check(f"signal[{place}]", SIMTask.from_signal, one)
    for place, one in enumerate(vectors(mu), 1):
        dims.add(len(one))
        for number, other in enumerate(vectors(sigma), 1):
            _check(f"mu[{place}] with sigma[{number}]", SIMTask, one, spread(other, one))
    twice = dims & set(axis_values(width))
    if AS_DIM in axis_values(width) and twice:
        shown = f'{min(twice)} and "{AS_DIM}"'
        raise InvalidInput("width", shown, "must not name the same width twice")


def _check(name: str, make: Any, *arguments: Vector) -> None:
    try:
        make(*arguments)
    except InvalidInput as error:
        shown = "; ".join(f"({', '.join(one)})" for one in arguments)
        requirement = f"is no task ({error.argument} {error.requirement})"
        raise InvalidInput(name, shown, requirement, error.source) from None
