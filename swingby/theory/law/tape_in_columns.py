"""The derivative of the coordinates by the instructions of a tape, on one lane.

Eight columns of a matrix are one vector of the machine, and rows are filled up to whole vectors.
For a single instance, and for matrices so large that those of eight lanes leave the cache; every
number is formed by the same sums in the same order as in :mod:`swingby.theory.law.tape_in_lanes`,
so it has the same bits. Imports numba.
"""

from __future__ import annotations

from typing import Any

from swingby.theory.compiled_cache import borrowing
from swingby.theory.law import tape
from swingby.theory.law.lane_vectors import (
    LANES,
    everywhere,
    exp,
    inverse_or_zero,
    load,
    store,
    times,
    times_plus,
)


@borrowing
def _transpose(R: Any, c: int, a: int, d: int, width: int) -> None:
    for i in range(d):
        for j in range(d):
            R[c + i * width + j] = R[a + j * width + i]


@borrowing
def _product(R: Any, c: int, a: int, b: int, d: int, width: int, both: float) -> None:
    """A matrix times a matrix, four rows and two vectors of columns at a time."""
    wide = width - width % (2 * LANES)
    for j in range(0, wide, 2 * LANES):
        for i in range(0, d - 3, 4):
            t0 = t1 = t2 = t3 = t4 = t5 = t6 = t7 = everywhere(0.0)
            first = a + i * width
            for k in range(d):
                left, right = load(R, b + k * width + j), load(R, b + k * width + j + LANES)
                x = everywhere(both * R[first + k])
                t0, t1 = times_plus(x, left, t0), times_plus(x, right, t1)
                x = everywhere(both * R[first + width + k])
                t2, t3 = times_plus(x, left, t2), times_plus(x, right, t3)
                x = everywhere(both * R[first + 2 * width + k])
                t4, t5 = times_plus(x, left, t4), times_plus(x, right, t5)
                x = everywhere(both * R[first + 3 * width + k])
                t6, t7 = times_plus(x, left, t6), times_plus(x, right, t7)
            out = c + i * width + j
            store(R, out, t0)
            store(R, out + LANES, t1)
            store(R, out + width, t2)
            store(R, out + width + LANES, t3)
            store(R, out + 2 * width, t4)
            store(R, out + 2 * width + LANES, t5)
            store(R, out + 3 * width, t6)
            store(R, out + 3 * width + LANES, t7)
    for j in range(wide, width, LANES):
        for i in range(0, d - 3, 4):
            t0 = t1 = t2 = t3 = everywhere(0.0)
            first = a + i * width
            for k in range(d):
                left = load(R, b + k * width + j)
                t0 = times_plus(everywhere(both * R[first + k]), left, t0)
                t1 = times_plus(everywhere(both * R[first + width + k]), left, t1)
                t2 = times_plus(everywhere(both * R[first + 2 * width + k]), left, t2)
                t3 = times_plus(everywhere(both * R[first + 3 * width + k]), left, t3)
            out = c + i * width + j
            store(R, out, t0)
            store(R, out + width, t1)
            store(R, out + 2 * width, t2)
            store(R, out + 3 * width, t3)
    for i in range(d - d % 4, d):
        for j in range(0, width, LANES):
            t0 = everywhere(0.0)
            for k in range(d):
                x = everywhere(both * R[a + i * width + k])
                t0 = times_plus(x, load(R, b + k * width + j), t0)
            store(R, c + i * width + j, t0)


@borrowing
def _solve(R: Any, c: int, a: int, b: int, d: int, width: int, fb: float) -> None:
    minus, negated = everywhere(-1.0), everywhere(-fb)
    for j in range(0, width, LANES):
        for i in range(d):
            total = times(negated, load(R, b + i * width + j))
            for k in range(i):
                x = everywhere(R[a + i * width + k])
                total = times_plus(x, load(R, c + k * width + j), total)
            store(R, c + i * width + j, times(minus, total))


@borrowing
def _carry_out(code: Any, factors: Any, R: Any, d: int, width: int, scratch: int) -> None:
    """Every instruction in turn, on registers (count, d, width) in a flat array."""
    size = d * width
    for n in range(code.shape[0]):
        operation, c, a, b = code[n, 0], code[n, 1] * size, code[n, 2] * size, code[n, 3] * size
        fa, fb = everywhere(factors[n, 0]), everywhere(factors[n, 1])
        both = factors[n, 0] * factors[n, 1]
        if operation == tape.ADD:
            for i in range(0, size, LANES):
                store(R, c + i, times_plus(fb, load(R, b + i), times(fa, load(R, a + i))))
        elif operation == tape.MULTIPLY:
            factor = everywhere(both)
            for i in range(0, size, LANES):
                store(R, c + i, times(factor, times(load(R, a + i), load(R, b + i))))
        elif operation == tape.DOT:
            _product(R, c, a, b, d, width, both)
        elif operation == tape.DOT_TRANSPOSE:
            _transpose(R, scratch, b, d, width)
            _product(R, c, a, scratch, d, width, both)
        elif operation == tape.TRANSPOSE:
            _transpose(R, c, a, d, width)
            for i in range(0, size, LANES):
                store(R, c + i, times(fa, load(R, c + i)))
        elif operation == tape.SYMMETRIC:
            _transpose(R, scratch, a, d, width)
            for i in range(0, size, LANES):
                store(R, c + i, times_plus(fa, load(R, a + i), times(fa, load(R, scratch + i))))
            for i in range(d):
                for j in range(i):
                    R[c + j * width + i] = R[c + i * width + j]
        elif operation == tape.SOLVE:
            _solve(R, c, a, b, d, width, factors[n, 1])
        elif operation == tape.EXP:
            for j in range(0, width, LANES):
                value = exp(times(fa, load(R, a + j)))
                for i in range(0, size, width):
                    store(R, c + i + j, value)
        elif operation == tape.DIAGONAL:
            for j in range(d):
                R[c + j] = factors[n, 0] * R[a + j * width + j]
            for j in range(0, width, LANES):
                value = load(R, c + j)
                for i in range(width, size, width):
                    store(R, c + i + j, value)
        else:
            for i in range(0, size, LANES):
                store(R, c + i, inverse_or_zero(times(fa, load(R, a + i))))


@borrowing
def take_slope(
    y: Any,
    code: Any,
    factors: Any,
    constants: Any,
    R: Any,
    scratch: int,
    target: Any,
    first_slope: int,
    lane: int,
    d: int,
    width: int,
) -> None:
    """The derivative of y (d, d + 2, LANES) in a lane, written to `target` from `first_slope` on.

    constants: the registers of what does not change, in a flat array; scratch: a free one.
    """
    size = d * width
    for i in range(d):
        first = i * (d + 2) * LANES + lane
        R[i], R[size + i] = y[first], y[first + LANES]
        for j in range(d):
            R[2 * size + i * width + j] = y[first + (j + 2) * LANES]
    for i in range(width, size, width):
        for j in range(0, width, LANES):
            store(R, i + j, load(R, j))
            store(R, size + i + j, load(R, size + j))
    for i in range(0, constants.size, LANES):
        store(R, 3 * size + i, load(constants, i))
    _carry_out(code, factors, R, d, width, scratch * size)
    result = tape.RESULT * size
    for i in range(d):
        first = first_slope + i * (d + 2) * LANES + lane
        target[first] = R[result + i]
        target[first + LANES] = R[result + size + i]
        for j in range(d):
            target[first + (j + 2) * LANES] = R[result + 2 * size + i * width + j]
