"""Points at which the sides of an inequality come closest: zeros of a derivative, as fractions.

They are looked for in floats. Whether the inequality fails there is decided as for any other point.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import sympy

from swingby.proofs.prover.evidence import Witness
from swingby.proofs.prover.scalar.counterexample import Search, confirm
from swingby.theory.search_time import seconds_left

#: Places of a letter in each direction, before they are refined.
_GRID = np.unique(np.concatenate([np.geomspace(1e-4, 1e4, 161), np.linspace(0.01, 4, 134)]))
#: Letters, starts of a descent, and its steps, at most.
_MOST_LETTERS, _STARTS, _STEPS = 4, 6, 400
#: Denominators of the fractions near a place.
_DENOMINATORS = (4, 12, 100, 10**4, 10**8)


def counterexample_at_critical_points(search: Search) -> Witness | None:
    """A counterexample near a zero of the derivative of the difference of both sides."""
    for place in closest_places(search):
        for most in _DENOMINATORS:
            fractions = {name: Fraction(x).limit_denominator(most) for name, x in place.items()}
            point = {name: flint.fmpq(x.numerator, x.denominator) for name, x in fractions.items()}
            witness = confirm(search, point)
            if witness is not None:
                return witness
    return None


def closest_places(search: Search) -> Iterator[dict[str, float]]:
    """Where the larger minus the smaller side is least, as far as floats see it."""
    goal, letters = search.sequent.goal, sorted(search.space.letters.values(), key=str)
    relations = [relation for relation in search.hypotheses if relation.kind != "!="]
    if (
        search.in_force
        or goal.kind not in ("<=", "<")
        or not 0 < len(letters) <= _MOST_LETTERS
        or any(relation.kind == "==" for relation in relations)
        or any(x.is_integer for x in letters)
    ):
        return
    with contextlib.suppress(TypeError, NameError):
        differences = [
            sympy.lambdify(letters, each.difference, "math") for each in (goal, *relations)
        ]
        lowest = _of_one if len(letters) == 1 else _of_several
        for place in lowest(_Landscape(letters, differences)):
            yield dict(zip((x.name for x in letters), place, strict=True))


class _Landscape:
    """The difference of both sides, infinite where a hypothesis fails or a sign is not met."""

    def __init__(self, letters: list[Any], differences: list[Callable[..., float]]) -> None:
        self.letters, (self.goal, *self.hypotheses) = letters, differences

    def height(self, place: Any) -> float:
        """The difference at a place."""
        seconds_left()
        place = tuple(map(float, place))  # a float of numpy warns where it overflows
        for letter, x in zip(self.letters, place, strict=True):
            if (letter.is_positive and x <= 0) or (letter.is_nonnegative and x < 0):
                return math.inf
        try:
            if any(each(*place) < 0 for each in self.hypotheses):
                return math.inf
            value = self.goal(*place)
        except (ValueError, ZeroDivisionError, OverflowError, TypeError):
            return math.inf
        return value if isinstance(value, int | float) and not math.isnan(value) else math.inf


def _of_one(landscape: _Landscape) -> Iterator[tuple[float, ...]]:
    """The low places of a function of one letter: each between higher neighbours, refined."""
    (letter,) = landscape.letters
    grid = _GRID if letter.is_positive else np.concatenate([-_GRID[::-1], [0.0], _GRID])
    heights = [landscape.height((x,)) for x in grid]
    low = [
        at
        for at in range(1, len(grid) - 1)
        if heights[at] < math.inf and heights[at] <= min(heights[at - 1], heights[at + 1])
    ]
    for at in sorted(low, key=lambda place: heights[place])[:_STARTS]:
        ends = grid[at - 1], grid[at + 1]
        for _ in range(80):  # both thirds of the way
            inner = ends[0] + (ends[1] - ends[0]) / 3, ends[1] - (ends[1] - ends[0]) / 3
            first, second = (landscape.height((x,)) for x in inner)
            ends = (ends[0], inner[1]) if first <= second else (inner[0], ends[1])
        yield (float(sum(ends) / 2),)


def _of_several(landscape: _Landscape) -> Iterator[tuple[float, ...]]:
    """Low places of a function of several letters, by a descent from the lowest of a grid."""
    from scipy.optimize import minimize

    sides = [
        (0.1, 0.4, 0.7, 1.0, 1.7, 3.0, 8.0)
        if x.is_nonnegative
        else (-3.0, -1.0, -0.3, 0.2, 0.9, 2.0)
        for x in landscape.letters
    ]
    places = [x for x in itertools.product(*sides) if landscape.height(x) < math.inf]
    for start in sorted(places, key=landscape.height)[:_STARTS]:
        found = minimize(
            landscape.height,
            start,
            method="Nelder-Mead",
            options={"maxiter": _STEPS, "xatol": 1e-9},
        )
        yield tuple(map(float, found.x))
