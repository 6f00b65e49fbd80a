"""Compiled: signs of a sum of geometric terms along a stretch, from its two ends. Imports numba.

``left`` and ``right`` (m,) are the terms at the ends, in ascending order of their factors; ``rest``
bounds what is not among them.
"""

from __future__ import annotations

import numpy as np

from swingby.simulate.compiling import compiled_inside
from swingby.simulate.state import Floats

#: A term is left aside where it is below this part of another one.
_ASIDE = 0.01


@compiled_inside
def sign_changes(
    left: Floats, right: Floats, rest_a: float, rest_b: float
) -> int:  # pragma: no cover
    """How often the terms that matter in a stretch change sign, in the order of their factors.

    -1 where what is not among the terms matters.
    """
    count = left.shape[0]
    changes, past, most_a, most_b = 0, 0.0, 0.0, 0.0
    for place in range(count):
        a, b = abs(left[place]), abs(right[place])
        most_a, most_b = max(most_a, a), max(most_b, b)
        aside = False
        for other in range(count):
            if a <= _ASIDE * abs(left[other]) and b <= _ASIDE * abs(right[other]):
                aside = True
        if not aside:
            now = left[place] if a > b else right[place]
            if past * now < 0.0:
                changes += 1
            past = now
    if changes == 0:
        for place in range(count):
            if rest_a <= 0.5 * abs(left[place]) and rest_b <= 0.5 * abs(right[place]):
                return 0
    clear = rest_a <= _ASIDE * most_a and rest_b <= _ASIDE * most_b
    return changes if clear else -1


@compiled_inside
def same_side(left: Floats, right: Floats) -> bool:  # pragma: no cover
    """Whether the terms together are clearly of the same sign at both ends."""
    bar_a, bar_b = 0.05 * float(np.abs(left).sum()), 0.05 * float(np.abs(right).sum())
    a, b = float(left.sum()), float(right.sum())
    return (a > bar_a and b > bar_b) or (a < -bar_a and b < -bar_b)


@compiled_inside
def stays(left: Floats, right: Floats, rest: float) -> bool:  # pragma: no cover
    """Whether the sum cannot reach zero: every term moves one way between the ends."""
    total, fall, rise = 0.0, 0.0, 0.0
    for place in range(left.shape[0]):
        move = right[place] - left[place]
        total += left[place]
        fall += min(move, 0.0)
        rise += max(move, 0.0)
    return total + fall > rest or total + rise < -rest
