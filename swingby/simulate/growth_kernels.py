"""Compiled: growth tables, in numbers that are the unevaluated sum of two floats. Imports numba.

Products are exact by splitting factors (Dekker), sums by their rounding error; together that
carries about 100 bits. See :mod:`swingby.simulate.growth_table` for what is computed.
"""

from __future__ import annotations

import math

import numpy as np

from swingby.simulate.compiling import compiled
from swingby.simulate.growth_table import AT_ONCE, BOTH, FIRST, FLOW, GD, KIND, NEITHER
from swingby.simulate.state import Floats

#: 1 / log(2) as the sum of two floats.
_INVERSE_LOG2_HIGH, _INVERSE_LOG2_LOW = 1.4426950408889634, 2.0355273740931033e-17


@compiled
def _two_sum(x: float, y: float) -> tuple[float, float]:  # pragma: no cover
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


@compiled
def _product(x: float, y: float) -> tuple[float, float]:  # pragma: no cover
    """The product x y without error."""
    product = x * y
    scaled = 134217729.0 * x
    x_high = scaled - (scaled - x)
    x_low = x - x_high
    scaled = 134217729.0 * y
    y_high = scaled - (scaled - y)
    y_low = y - y_high
    error = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low
    return product, error


@compiled
def _multiply(
    x: float, x_low: float, y: float, y_low: float
) -> tuple[float, float]:  # pragma: no cover
    high, low = _product(x, y)
    return _two_sum(high, low + (x * y_low + x_low * y))


@compiled
def _sum(x: float, x_low: float, y: float, y_low: float) -> tuple[float, float]:  # pragma: no cover
    high, low = _two_sum(x, y)
    return _two_sum(high, low + x_low + y_low)


@compiled
def _logarithms(
    x: Floats, x_low: Floats, start: Floats, total: Floats, rest: Floats
) -> None:  # pragma: no cover
    """Natural logarithms of pairs x + x_low into total + rest; AT_ONCE where x is not positive.

    One Newton step from the float logarithm: log x = start + log(x exp(-start)), where the last
    argument is 1 + O(1e-16), and exp by its Taylor series at 1/1024, squared ten times. Every
    pass runs over all numbers, so that they fill the lanes of the vector unit.
    """
    count = x.shape[0]
    for n in range(count):
        start[n] = math.log(x[n]) if x[n] > 0 else 0.0
        total[n], rest[n] = 1.0, 0.0
    for order in range(20, 0, -1):
        divisor = float(order)
        for n in range(count):
            high, low = _multiply(total[n], rest[n], -start[n] / 1024.0, 0.0)
            quotient = high / divisor
            back, back_low = _product(quotient, divisor)
            high, low = _two_sum(quotient, ((high - back) - back_low + low) / divisor)
            total[n], rest[n] = _sum(high, low, 1.0, 0.0)
    for _ in range(10):
        for n in range(count):
            total[n], rest[n] = _multiply(total[n], rest[n], total[n], rest[n])
    for n in range(count):
        ratio, low = _multiply(x[n], x_low[n], total[n], rest[n])
        correction, low = _sum(ratio, low, -1.0, 0.0)
        total[n], rest[n] = _sum(start[n], 0.0, correction, low)
        if not x[n] > 0:
            total[n], rest[n] = AT_ONCE, 0.0


@compiled
def _put(
    table: Floats, row: int, i: int, j: int, high: float, low: float
) -> None:  # pragma: no cover
    table[0, row, i, j], table[1, row, i, j] = _multiply(
        high, low, _INVERSE_LOG2_HIGH, _INVERSE_LOG2_LOW
    )


@compiled
def fill_tables(
    signals: Floats, steps: Floats, dynamics: int, tables: Floats
) -> None:  # pragma: no cover
    """Fill tables (m, 2, 4, d, d) for signals (m, d) and step sizes (m,).

    `dynamics` is EULER, GD or FLOW.
    """
    total, d = signals.shape
    tables[:, :, KIND] = 0.0
    tables[:, 0, KIND, 0, 0] = dynamics
    if dynamics == FLOW:
        for m in range(total):
            for i in range(d):
                for j in range(d):
                    together = signals[m, i] + signals[m, j]
                    apart = (signals[m, i] - signals[m, j]) / 2
                    high, low = _product(steps[m], together)
                    _put(tables[m], NEITHER, i, j, high, low)
                    _put(tables[m], BOTH, i, j, -high, -low)
                    high, low = _product(-steps[m], apart)
                    _put(tables[m], FIRST, i, j, high, low)
        return
    block = 64
    logs = np.empty((5, block * 3 * d * d))
    for first in range(0, total, block):
        last = min(first + block, total)
        place = 0
        for m in range(first, last):
            eta = steps[m]
            for i in range(d):
                for j in range(d):
                    together = signals[m, i] + signals[m, j]
                    apart = (signals[m, i] - signals[m, j]) / 2
                    grown = together
                    if dynamics == GD:
                        # The product of two factors: only one of each concept is needed.
                        grown = signals[m, i] if i == j else 0.0
                    for part in range(3):
                        value = grown if part == 0 else -apart if part == 1 else -together
                        high, low = _product(eta, value)
                        logs[0, place], logs[1, place] = _sum(high, low, 1.0, 0.0)
                        place += 1
        _logarithms(logs[0, :place], logs[1, :place], logs[2], logs[3], logs[4])
        place = 0
        for m in range(first, last):
            begin = place
            for i in range(d):
                for j in range(d):
                    for part in range(3):
                        _put(tables[m], part, i, j, logs[3, place], logs[4, place])
                        place += 1
            if dynamics == GD:
                for i in range(d):
                    for j in range(d):
                        of_i, of_j = begin + 3 * (i * d + i), begin + 3 * (j * d + j)
                        high, low = _sum(logs[3, of_i], logs[4, of_i], logs[3, of_j], logs[4, of_j])
                        _put(tables[m], NEITHER, i, j, high, low)
