"""Compiled: W at any step of a jump. Imports numba."""

from __future__ import annotations

import math

import numpy as np

from swingby.simulate.compiling import compiled, compiled_inside
from swingby.simulate.growth_table import AT_ONCE, BOTH, FIRST, NEITHER
from swingby.simulate.jump_coefficients import Expansion
from swingby.simulate.jump_expansion import unfold
from swingby.simulate.state import (
    RECORDED,
    STEP,
    Booleans,
    Floats,
    Integers,
    Record,
    State,
)

_LARGEST_EXPONENT = 1000.0


@compiled
def power(high: float, low: float, n: int) -> tuple[int, float]:  # pragma: no cover
    """The power 2^(n (high + low)) as (k, f), meaning f 2^k with 0.7 <= f <= 1.5."""
    count = float(n)
    product = count * high
    scaled = 134217729.0 * count
    count_high = scaled - (scaled - count)
    count_low = count - count_high
    scaled = 134217729.0 * high
    high_high = scaled - (scaled - high)
    high_low = high - high_high
    error = count_high * high_high - product
    error += count_high * high_low + count_low * high_high
    error += count_low * high_low
    whole = math.floor(product + 0.5)
    rest = (product - whole) + (error + count * low)
    return int(whole), 2.0**rest


@compiled
def scale_up(value: float, exponent: int) -> float:  # pragma: no cover
    """The number ``value 2^exponent``, 0 below about 1e-300 (subnormals are slow)."""
    if value == 0.0 or exponent + math.frexp(value)[1] < -_LARGEST_EXPONENT:
        return 0.0
    return math.ldexp(value, int(min(exponent, 3000)))


@compiled
def rate_of(
    growth: Floats, learned: Booleans, i: int, j: int
) -> tuple[float, float]:  # pragma: no cover
    """Binary logarithm of the factor of entry (i, j), as a sum of two floats."""
    if learned[i] and learned[j]:
        return growth[0, BOTH, i, j], growth[1, BOTH, i, j]
    if learned[i]:
        return growth[0, FIRST, i, j], growth[1, FIRST, i, j]
    if learned[j]:
        return growth[0, FIRST, j, i], growth[1, FIRST, j, i]
    return growth[0, NEITHER, i, j], growth[1, NEITHER, i, j]


@compiled_inside
def displacement(
    growth: Floats, state: State, learned: Booleans, Y: Floats
) -> bool:  # pragma: no cover
    """V in the scale of X, into Y; False where an entry has no logarithm of a factor.

    An entry between learned concepts that decays within a step is at rest, or it has none either.
    """
    X = state.X
    d = X.shape[0]
    for i in range(d):
        for j in range(i, d):
            Y[i, j] = X[i, j]
            if i == j and learned[i]:
                Y[i, i] -= 1.0 / state.square[i]
            if Y[i, j] != 0.0 and rate_of(growth, learned, i, j)[0] <= 0.5 * AT_ONCE:
                both = learned[i] and learned[j]
                at_rest = state.still[i] if i == j else abs(X[i, j]) * state.weight[i, j] <= 1e-17
                if not (both and at_rest):
                    return False
                Y[i, j] = 0.0
            Y[j, i] = Y[i, j]
    return True


@compiled
def carry(
    growth: Floats, learned: Booleans, Z: Floats, n: int, shift: Integers, ahead: Floats
) -> None:  # pragma: no cover
    """Z after n steps, into `ahead`, divided by 2^(shift_i + shift_j)."""
    d = Z.shape[0]
    for i in range(d):
        for j in range(i, d):
            if Z[i, j] == 0.0:
                ahead[i, j] = 0.0
            else:
                high, low = rate_of(growth, learned, i, j)
                whole, rest = power(high, low, n)
                ahead[i, j] = scale_up(Z[i, j] * rest, whole - shift[i] - shift[j])
            ahead[j, i] = ahead[i, j]


@compiled
def choose_shift(
    growth: Floats, state: State, learned: Booleans, n: int, shift: Integers, square: Floats
) -> None:  # pragma: no cover
    """By how much m rises over n steps, and the squares after it."""
    for k in range(shift.shape[0]):
        shift[k] = 0
        square[k] = state.square[k]
        if not learned[k] and state.exponent[k] < 0 and state.X[k, k] != 0.0:
            high, low = rate_of(growth, learned, k, k)
            whole, _ = power(high, low, n)
            grown = (whole + math.frexp(state.X[k, k])[1]) // 2
            shift[k] = max(0, min(grown, -state.exponent[k]))
            square[k] = scale_up(1.0, 2 * (state.exponent[k] + shift[k]))


@compiled
def land(
    growth: Floats,
    state: State,
    expansion: Expansion,
    Y: Floats,
    Z: Floats,
    n: int,
    shift: Integers,
    square: Floats,
    ahead: Floats,
    landing: Floats,
) -> None:  # pragma: no cover
    """X after n steps into `landing`; Z after them into `ahead`; both in the new scale."""
    choose_shift(growth, state, expansion.learned, n, shift, square)
    carry(growth, expansion.learned, Z, n, shift, ahead)
    unfold(expansion, ahead, square, landing)
    for k in range(Y.shape[0]):
        if expansion.learned[k]:
            landing[k, k] += state.X[k, k] - Y[k, k]


@compiled_inside
def write_inside(
    growth: Floats,
    state: State,
    record: Record,
    expansion: Expansion,
    Y: Floats,
    Z: Floats,
    n: int,
    ahead: Floats,
) -> None:  # pragma: no cover
    """Write the records up to n steps ahead."""
    t, place = state.counters[STEP], state.counters[RECORDED]
    last = record.steps.shape[0]
    if place >= last or record.steps[place] > t + n:
        return
    d = Y.shape[0]
    down, one = -state.exponent, np.ones(d)
    while place < last and record.steps[place] <= t + n:
        carry(growth, expansion.learned, Z, record.steps[place] - t, down, ahead)
        unfold(expansion, ahead, one, record.W[place])
        for i in range(d):
            for j in range(d):
                # What is left of a term below the float range has not even the right sign.
                if abs(record.W[place, i, j]) < 2.0**-_LARGEST_EXPONENT:
                    record.W[place, i, j] = 0.0
        for k in range(d):
            if expansion.learned[k]:
                record.W[place, k, k] += (state.X[k, k] - Y[k, k]) * state.square[k]
        place += 1
    state.counters[RECORDED] = place


@compiled
def move_exponents(state: State, shift: Integers) -> None:  # pragma: no cover
    """Raise m by `shift`; X is in the new scale already, the peaks follow here."""
    d = state.X.shape[0]
    for k in range(d):
        state.exponent[k] += shift[k]
    for i in range(d):
        state.square[i] = scale_up(1.0, 2 * state.exponent[i])
        for j in range(d):
            state.peak[i, j] = scale_up(state.peak[i, j], -shift[i] - shift[j])
            state.weight[i, j] = scale_up(1.0, state.exponent[i] + state.exponent[j])
