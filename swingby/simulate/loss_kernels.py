"""Compiled: the test loss after every step, and its extrema. Imports numba, so import it late."""

from __future__ import annotations

import math

import numpy as np

from swingby.simulate.compiling import compiled
from swingby.simulate.state import (
    EXTREMA,
    HEADING,
    HIGH_STEP,
    LOW_STEP,
    MOST_EXTREMA,
    OVERFLOW,
    Floats,
    Integers,
)
from swingby.simulate.vectors import (
    WIDTH,
    any_above,
    fused,
    larger,
    load,
    smaller,
    spread,
    spread_at,
    store,
)

#: Steps, values and kinds of extrema of the test loss.
Extrema = tuple[Integers, Floats, Integers]


@compiled
def _keep_extremum(
    counters: Integers, extrema: Extrema, t: int, value: float, kind: int
) -> None:  # pragma: no cover
    place = counters[EXTREMA]
    if place >= MOST_EXTREMA:
        counters[OVERFLOW] = 1
        return
    steps, values, kinds = extrema
    steps[place], values[place], kinds[place] = t, value, kind
    counters[EXTREMA] = place + 1


@compiled
def watch_loss(
    turning: Floats, counters: Integers, extrema: Extrema, t: int, loss: float
) -> None:  # pragma: no cover
    """One step of the zigzag filter of :func:`swingby.simulate.events.turning_points`."""
    heading = counters[HEADING]
    if heading <= 0 and loss < turning[0]:
        turning[0] = loss
        counters[LOW_STEP] = t
    if heading >= 0 and loss > turning[1]:
        turning[1] = loss
        counters[HIGH_STEP] = t
    rose = heading <= 0 and loss > turning[0] and loss - turning[0] >= turning[2]
    fell = heading >= 0 and loss < turning[1] and turning[1] - loss >= turning[2]
    if rose:
        _keep_extremum(counters, extrema, counters[LOW_STEP], turning[0], 0)
        turning[1] = loss
        counters[HIGH_STEP] = t
        counters[HEADING] = 1
    elif fell:
        _keep_extremum(counters, extrema, counters[HIGH_STEP], turning[1], 1)
        turning[0] = loss
        counters[LOW_STEP] = t
        counters[HEADING] = -1


@compiled
def watch_losses(
    turning: Floats,
    counters: Integers,
    extrema: Extrema,
    loss: Floats,
    count: int,
    end: int,
    before: int,
    size: float,
) -> None:  # pragma: no cover
    """Extrema of the test loss; `size` is the largest entry of W in the block."""
    if before + 1 == 0:
        turning[0] = turning[1] = loss[0, 0]
        return
    # The square of an entry of 1e150 is still finite.
    if size < 1e150 and _runs_on(turning, counters, loss, count, end, before):
        return
    for n in range(count):
        if math.isfinite(loss[0, n]):
            watch_loss(turning, counters, extrema, before + 1 + n, loss[0, n])


@compiled
def _runs_on(
    turning: Floats, counters: Integers, loss: Floats, count: int, end: int, before: int
) -> bool:  # pragma: no cover
    """Whether the loss goes on as it was heading all through the block; then that is noted."""
    last = count - 1
    # The second row gives room for the number after the last one.
    store(loss, end, spread(loss[0, last]))
    rise = fall = spread(0.0)
    for n in range(0, end, WIDTH):
        change = load(loss, n + 1) - load(loss, n)
        rise, fall = larger(change, rise), smaller(change, fall)
    zero = spread(0.0)
    if counters[HEADING] < 0 and not any_above(rise, zero) and loss[0, 0] <= turning[0]:
        if loss[0, last] < turning[0]:
            turning[0] = loss[0, last]
            counters[LOW_STEP] = before + 1 + _first_of_plateau(loss, last)
        return True
    if counters[HEADING] > 0 and not any_above(zero, fall) and loss[0, 0] >= turning[1]:
        if loss[0, last] > turning[1]:
            turning[1] = loss[0, last]
            counters[HIGH_STEP] = before + 1 + _first_of_plateau(loss, last)
        return True
    return False


@compiled
def _first_of_plateau(loss: Floats, last: int) -> int:  # pragma: no cover
    first = last
    while first > 0 and loss[0, first - 1] == loss[0, last]:
        first -= 1
    return first


@compiled
def losses(
    point: Floats, exponent: Integers, block: Floats, end: int, loss: Floats
) -> None:  # pragma: no cover
    """1/2 |W x - x|^2 at the test point x into loss[0]."""
    d, length = block.shape[0], block.shape[2]
    scaled = False
    for k in range(d):
        scaled |= exponent[k] != 0
    # W x is D (X (D x)).
    right, left = point, point
    if scaled:
        right, left = np.empty(d), np.empty(d)
        for k in range(d):
            left[k] = math.ldexp(1.0, max(exponent[k], -3000))
            right[k] = point[k] * left[k]
    for n in range(0, end, WIDTH):
        total = spread(0.0)
        for i in range(d):
            sums = spread(0.0)
            for j in range(i):
                x = load(block, (j * d + i) * length + n)
                sums = fused(x, spread_at(right, j), sums)
            for j in range(i, d):
                x = load(block, (i * d + j) * length + n)
                sums = fused(x, spread_at(right, j), sums)
            if scaled:
                sums = sums * spread_at(left, i)
            error = sums - spread_at(point, i)
            total = fused(error, error, total)
        store(loss, n, spread(0.5) * total)
