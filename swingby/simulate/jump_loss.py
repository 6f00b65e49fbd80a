r"""Compiled: where the test loss turns within a jump. Imports numba.

With the residual r_i = (V x)_i - [i in R] x_i, R the concepts that are not learned, a step changes
the loss by the sum of ``(r_i + D_i / 2) D_i``, D = (V+ - V) x. Nearly all of that are the terms

.. math:: -x_i x_j ([i \in R] + [j \in R]) (\lambda_{ij} - 1) V_{ij}, \quad
          -x_i^2 (\lambda_{ii} - 1) V_{ii}\ (i \in R), \quad
          x_i^2 (\lambda_{ii} - 1) V_{ii}^2\ (i \in S),

which are geometric in the step. A sum of geometric terms changes its sign at most as often as the
terms do in the order of their factors (Descartes), and a term that is outweighed by another one
at both ends of a stretch is so within. So a stretch is cut until what is left of the terms
changes sign at most once; that step is then found by bisection of the change itself.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from swingby.simulate.compiling import compiled, compiled_inside
from swingby.simulate.jump_coefficients import Expansion
from swingby.simulate.jump_expansion import change_of_loss, unfold
from swingby.simulate.jump_landing import carry
from swingby.simulate.jump_signs import same_side, sign_changes, stays
from swingby.simulate.state import Booleans, Floats, Integers

#: Most stretches looked at, and most turns, in one jump.
_MOST_STRETCHES = 60
MOST_TURNS = 16
#: A stretch in which no term changes by more than a factor of 2 to this is not cut any more.
_SHORT = 0.05
#: Where stretches do not end it: so many looks, an entry changing by 2 to this between two.
_MOST_LOOKS, _GRAIN = 60, 0.5
#: Changes of the loss below this part of 1/2 |x|^2 are not seen by a run in floats.
_UNSEEN = 1e-17


class Change(NamedTuple):
    """What the change of the loss is made of: see :func:`turns_of_loss`.

    steps (d, d): lambda - 1; and of each term in ascending order of its rate: at_start: its
    value, speed: the binary logarithm of its factor.
    """

    steps: Floats
    at_start: Floats
    speed: Floats


@compiled
def _arrange(
    point: Floats, expansion: Expansion, rates: Floats, Z: Floats
) -> Change:  # pragma: no cover
    """The terms; Z is in the scale of W. Terms of the same factor are put together."""
    d = point.shape[0]
    steps = np.empty((d, d))
    value, speed = np.zeros(d * (d + 1) // 2), np.zeros(d * (d + 1) // 2)
    count = 0
    for i in range(d):
        for j in range(i, d):
            first = expansion.first[i, j]
            step = math.expm1(first) if expansion.flow else first
            steps[i, j], steps[j, i] = step, step
            term, rate = -step * Z[i, j] * point[i] * point[j], rates[i, j]
            if expansion.learned[i] and expansion.learned[j]:
                term *= -Z[i, i] * (1.0 + 0.5 * step) if i == j else 0.0
                rate *= 2.0
            elif i != j and not (expansion.learned[i] or expansion.learned[j]):
                term *= 2.0
            if term == 0.0:
                continue
            place = count
            while place > 0 and speed[place - 1] > rate:
                place -= 1
            if place > 0 and rate - speed[place - 1] <= 1e-9 * abs(rate):
                value[place - 1] += term
                continue
            for later in range(count, place, -1):
                value[later], speed[later] = value[later - 1], speed[later - 1]
            value[place], speed[place] = term, rate
            count += 1
    return Change(steps, value[:count], speed[:count])


@compiled_inside
def _weigh(
    point: Floats,
    learned: Booleans,
    second: Floats,
    steps: Floats,
    rates: Floats,
    Z: Floats,
    at_start: Floats,
    speed: Floats,
    n: int,
    at: Floats,
    sizes: Floats,
) -> float:  # pragma: no cover
    """The terms after n steps, into `at`, and a bound on all that is not among them."""
    d = point.shape[0]
    for place in range(at.shape[0]):
        at[place] = at_start[place] * 2.0 ** (speed[place] * n)
    for i in range(d):
        for j in range(i, d):
            sizes[i, j] = 0.0
            if Z[i, j] != 0.0:
                sizes[i, j] = abs(Z[i, j]) * 2.0 ** (rates[i, j] * n)
            sizes[j, i] = sizes[i, j]
    rest = 0.0
    for i in range(d):
        position, move, own = 0.0, 0.0, 0.0
        for j in range(d):
            size = sizes[i, j]
            if learned[i] and learned[j]:
                low, high = min(i, j), max(i, j)
                for k in range(d):
                    if not learned[k]:
                        size += abs(second[low, k, high]) * sizes[i, k] * sizes[k, j]
            size *= abs(point[j])
            position += size
            move += size * abs(steps[i, j])
            if i == j and learned[i]:
                own = (sizes[i, i] * point[i]) ** 2 * abs(steps[i, i])
        rest += max(position * move - own, 0.0)
    return rest


@compiled
def turns_of_loss(
    growth: Floats,
    point: Floats,
    expansion: Expansion,
    rates: Floats,
    Z: Floats,
    n: int,
    found: Integers,
) -> int:  # pragma: no cover
    """How many turns of the loss lie within n steps; `found` takes the steps, ascending.

    Z is in the scale of W.
    """
    d = point.shape[0]
    whole = 0.0
    for k in range(d):
        whole += 0.5 * point[k] * point[k]
    if whole == 0.0:
        return 0
    change = _arrange(point, expansion, rates, Z)
    count = change.speed.shape[0]
    left, right, sizes = np.empty(count), np.empty(count), np.empty((d, d))
    starts, ends = np.empty(64, dtype=np.int64), np.empty(64, dtype=np.int64)
    starts[0], ends[0], waiting, turns = 0, n - 1, 1, 0
    learned, second = expansion.learned, expansion.second
    steps, at_start, speed = change.steps, change.at_start, change.speed
    fastest = np.abs(rates).max()
    slowest = np.where(rates == 0.0, fastest, np.abs(rates)).min()
    # Below that the loss stays the same to rounding.
    unseen = _UNSEEN * whole * slowest
    for _ in range(_MOST_STRETCHES):
        if waiting == 0:
            return turns
        waiting -= 1
        a, b = starts[waiting], ends[waiting]
        if b <= a:
            continue
        rest_a = _weigh(point, learned, second, steps, rates, Z, at_start, speed, a, left, sizes)
        rest_b = _weigh(point, learned, second, steps, rates, Z, at_start, speed, b, right, sizes)
        if np.abs(left).sum() + np.abs(right).sum() + rest_a + rest_b <= unseen:
            continue
        if stays(left, right, max(rest_a, rest_b)):
            continue
        changes = sign_changes(left, right, rest_a, rest_b)
        if changes == 0 or (changes == 1 and same_side(left, right)):
            continue
        if changes == 1 or (b - a) * fastest <= _SHORT or b - a <= 2:
            step = _turn(growth, point, expansion, change, Z, a, b, n)
            if step > 0 and (turns == 0 or found[turns - 1] < step):
                if turns == found.shape[0]:
                    return turns
                found[turns] = step
                turns += 1
            continue
        if waiting + 2 > starts.shape[0]:
            break
        middle = (a + b) // 2
        starts[waiting], ends[waiting] = middle, b
        starts[waiting + 1], ends[waiting + 1] = a, middle
        waiting += 2
    # What is not among the terms is all there is, a part of 1e-9 of the loss: look closely.
    turns, grain = 0, max(1, int(_GRAIN / fastest))
    for a in range(0, min(n - 1, _MOST_LOOKS * grain), grain):
        step = _turn(growth, point, expansion, change, Z, a, min(a + grain, n - 1), n)
        if step > 0 and turns < found.shape[0] and (turns == 0 or found[turns - 1] < step):
            found[turns] = step
            turns += 1
    return turns


@compiled_inside
def _sum_of_terms(at_start: Floats, speed: Floats, n: int) -> float:  # pragma: no cover
    total = 0.0
    for place in range(speed.shape[0]):
        total += at_start[place] * 2.0 ** (speed[place] * n)
    return total


@compiled
def _turn(
    growth: Floats,
    point: Floats,
    expansion: Expansion,
    change: Change,
    Z: Floats,
    a: int,
    b: int,
    n: int,
) -> int:  # pragma: no cover
    """The step in a stretch, or close by, from which on the loss moves the other way; or 0.

    Found on the terms first, then on the change itself, in a bracket that widens until it does.
    """
    d = point.shape[0]
    V, ahead = np.empty((d, d)), np.empty((d, d))
    one, shift = np.ones(d), np.zeros(d, dtype=np.int64)
    at_start, speed = change.at_start, change.speed
    low, high = a, b
    falling = _sum_of_terms(at_start, speed, a) < 0.0
    while high - low > 1:
        middle = (low + high) // 2
        if (_sum_of_terms(at_start, speed, middle) < 0.0) == falling:
            low = middle
        else:
            high = middle
    margin = 0
    while True:
        at_low, at_high = max(0, low - margin), min(n - 1, high + margin)
        falls = np.empty(2)
        for side in range(2):
            place = at_high if side else at_low
            carry(growth, expansion.learned, Z, place, shift, ahead)
            unfold(expansion, ahead, one, V)
            falls[side] = change_of_loss(point, expansion, change.steps, V)
        if (falls[0] < 0.0) != (falls[1] < 0.0):
            break
        if (at_low <= a - 1 and at_high >= b + 1) or (at_low == 0 and at_high == n - 1):
            return 0
        margin = 2 * margin + 1
    falling = falls[0] < 0.0
    low, high = at_low, at_high
    while high - low > 1:
        middle = (low + high) // 2
        carry(growth, expansion.learned, Z, middle, shift, ahead)
        unfold(expansion, ahead, one, V)
        if (change_of_loss(point, expansion, change.steps, V) < 0.0) == falling:
            low = middle
        else:
            high = middle
    return high
