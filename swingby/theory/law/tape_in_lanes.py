"""The derivative of the coordinates by the instructions of a tape, on eight lanes at once.

Numbers of all lanes are one vector of the machine. Imports numba.
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
def _product(R: Any, c: int, a: int, b: int, down: int, across: int, d: int, both: Any) -> None:
    """A row times d columns."""
    for j in range(d):
        total = everywhere(0.0)
        for k in range(d):
            row_entry, column_entry = load(R, a + k * LANES), load(R, b + j * across + k * down)
            total = times_plus(times(both, row_entry), column_entry, total)
        store(R, c + j * LANES, total)


@borrowing
def _carry_out(code: Any, factors: Any, R: Any, d: int) -> None:
    """Every instruction in turn, on registers (count, d, d, LANES) in a flat array."""
    L = LANES
    row, size = d * L, d * d * L
    for n in range(code.shape[0]):
        operation, c, a, b = code[n, 0], code[n, 1] * size, code[n, 2] * size, code[n, 3] * size
        fa, fb = everywhere(factors[n, 0]), everywhere(factors[n, 1])
        both = everywhere(factors[n, 0] * factors[n, 1])
        if operation == tape.ADD:
            for i in range(0, size, L):
                store(R, c + i, times_plus(fb, load(R, b + i), times(fa, load(R, a + i))))
        elif operation == tape.MULTIPLY:
            for i in range(0, size, L):
                store(R, c + i, times(both, times(load(R, a + i), load(R, b + i))))
        elif operation in (tape.DOT, tape.DOT_TRANSPOSE):
            down, across = (row, L) if operation == tape.DOT else (L, row)
            for i in range(0, size, row):
                _product(R, c + i, a + i, b, down, across, d, both)
        elif operation == tape.TRANSPOSE:
            for i in range(d):
                for j in range(d):
                    store(R, c + i * row + j * L, times(fa, load(R, a + j * row + i * L)))
        elif operation == tape.SYMMETRIC:
            for i in range(d):
                for j in range(i + 1):
                    lower, upper = i * row + j * L, j * row + i * L
                    total = times(fa, load(R, a + upper))
                    total = times_plus(fa, load(R, a + lower), total)
                    store(R, c + lower, total)
                    store(R, c + upper, total)
        elif operation == tape.SOLVE:
            minus, negated = everywhere(-1.0), everywhere(-factors[n, 1])
            for i in range(d):
                for j in range(0, row, L):
                    total = times(negated, load(R, b + i * row + j))
                    for k in range(i):
                        total = times_plus(
                            load(R, a + i * row + k * L), load(R, c + k * row + j), total
                        )
                    store(R, c + i * row + j, times(minus, total))
        elif operation == tape.EXP:
            for j in range(0, row, L):
                value = exp(times(fa, load(R, a + j)))
                for i in range(0, size, row):
                    store(R, c + i + j, value)
        elif operation == tape.DIAGONAL:
            for j in range(d):
                value = times(fa, load(R, a + j * row + j * L))
                for i in range(0, size, row):
                    store(R, c + i + j * L, value)
        else:
            for i in range(0, size, L):
                store(R, c + i, inverse_or_zero(times(fa, load(R, a + i))))


@borrowing
def take_slope(
    y: Any, code: Any, factors: Any, R: Any, target: Any, first_slope: int, d: int
) -> None:
    """The derivative of y (d, d + 2, n), written to `target` from `first_slope` on; all flat."""
    L = LANES
    size = d * d * L
    for i in range(d):
        u, z = load(y, i * (d + 2) * L), load(y, i * (d + 2) * L + L)
        for j in range(d):
            store(R, (j * d + i) * L, u)
            store(R, size + (j * d + i) * L, z)
            store(R, 2 * size + (i * d + j) * L, load(y, (i * (d + 2) + j + 2) * L))
    _carry_out(code, factors, R, d)
    result = tape.RESULT * size
    for i in range(d):
        first = first_slope + i * (d + 2) * L
        store(target, first, load(R, result + i * L))
        store(target, first + L, load(R, result + size + i * L))
        for j in range(d):
            store(target, first + (j + 2) * L, load(R, result + 2 * size + (i * d + j) * L))
