"""Compiled: what is looked at along the composite. Imports numba."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from swingby.verify.batched.curve_levels import find_levels, inside, lead, level_at
from swingby.verify.batched.curve_turns import BEFORE, PREVIOUS, TIME, VALUE, vertex

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Logit of a level at which a concept is still far from its stage, and has left it.
_EARLY, _LATE, _SETTLED = -5.0, 4.0, 14.0
#: Longest step, in e-foldings of what moves.
_STRIDE = 1.5
#: How often the intervals around a turn of the loss are halved.
_HALVINGS = 4
_BEFORE, _TIME, _PREVIOUS, _VALUE = BEFORE, TIME, PREVIOUS, VALUE


@inside
def loss_at(d: int, row: Floats, work: Floats) -> float:  # pragma: no cover
    """1/2 |W x - x|^2 at the test point."""
    total = 0.0
    for i in range(d):
        rest = -row[4 * d + i]
        for j in range(d):
            rest += level_at(d, work, i, j) * row[4 * d + j]
        total += rest * rest
    return 0.5 * total


@inside
def longest_step(d: int, row: Floats, work: Floats, small: float) -> float:  # pragma: no cover
    """The longest step that misses nothing; 0 where nothing moves any more."""
    longest = math.inf
    moving = False
    for k in range(d):
        y, rate = work[k], row[d + k]
        if rate <= 0.0 or y < -1e8:
            continue
        if y < _SETTLED:
            moving = True
        if row[5 * d + k] < 0.0:
            longest = min(longest, max(_EARLY - y, -0.5 * y) / rate)
            continue
        if y < _LATE:
            longest = min(longest, max(_EARLY - y, _STRIDE) / rate)
            continue
        for j in range(d):
            decay = 0.25 * (rate - row[d + j])
            if work[j] < 0.0 and decay > 0.0 and abs(level_at(d, work, k, j)) > small:
                longest = min(longest, _STRIDE / decay)
                moving = True
    return longest if moving else 0.0


@inside
def keep_largest(
    d: int, work: Floats, t: float, sizes: Floats, entry: Integers
) -> None:  # pragma: no cover
    """The largest entry off the diagonal so far, with the vertex between three samples.

    sizes: the largest, then time and size of the last two samples; entry: its pair, then theirs.
    """
    size, pair = 0.0, -1
    for i in range(d):
        for j in range(i):
            here = abs(level_at(d, work, i, j))
            if here > size:
                size, pair = here, j * d + i
    if pair == entry[1] and pair == entry[2]:
        top = vertex(sizes[1] - sizes[3], t - sizes[1], sizes[4], sizes[2], size)
        if top > sizes[0]:
            sizes[0], entry[0] = top, pair
    if not size <= sizes[0]:
        sizes[0], entry[0] = size, pair
    sizes[3], sizes[4], entry[2] = sizes[1], sizes[2], entry[1]
    sizes[1], sizes[2], entry[1] = t, size, pair


@inside
def stand_at(
    d: int, kind: int, row: Floats, dense: Floats, t: float, between: Floats, work: Floats
) -> None:  # pragma: no cover
    """W at step t of the last two steps: the cubic through both ends, with both slopes."""
    states = d * (d + 1) // 2
    step = 0 if t >= dense[0, 0] else 1
    length = dense[step, 1]
    x = (t - dense[step, 0]) / length if length > 0.0 else 1.0
    rest, on = 1.0 - x, x * x * (3.0 - 2.0 * x)
    for number in range(states):
        at = 2 + number
        slopes = rest * dense[step, at + 2 * states] - x * dense[step, at + 3 * states]
        between[number] = (
            dense[step, at] * (1.0 - on)
            + dense[step, at + states] * on
            + length * x * rest * slopes
        )
    lead(d, kind, row, between, t, work)
    find_levels(d, row, work)


@inside
def refined_turn(
    d: int,
    kind: int,
    row: Floats,
    dense: Floats,
    series: Floats,
    t: float,
    value: float,
    between: Floats,
    work: Floats,
) -> float:  # pragma: no cover
    """The turn at the last sample, by halving the intervals before and after it."""
    left, middle, right = series[_BEFORE], series[_TIME], t
    low, top, high = series[_PREVIOUS], series[_VALUE], value
    sign = 1.0 if top > low else -1.0
    near, near_value, side = middle, top, 0
    for _ in range(2 * _HALVINGS):
        near = 0.5 * (left + middle) if side == 0 else 0.5 * (middle + right)
        stand_at(d, kind, row, dense, near, between, work)
        near_value = loss_at(d, row, work)
        better = sign * near_value > sign * top
        if better and side == 0:
            right, high, middle, top = middle, top, near, near_value
        elif better:
            left, low, middle, top = middle, top, near, near_value
        elif side == 0:
            left, low = near, near_value
        else:
            right, high = near, near_value
        side = 1 - side
    return float(vertex(middle - left, right - middle, low, top, high))
