"""Compiled W(t) of the composite, and what drives its correction. Imports numba.

The formulas of :mod:`swingby.theory.odds`, :mod:`swingby.theory.correction` and
:mod:`swingby.theory.finite_step` on one instance, d being a constant of the compiler. Concepts are
in descending order of a; entry (j, k) below the diagonal is number :func:`rows.pair`. All numbers
of an instance that do not change are one row, all others one vector of working memory, so that
places are constants as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from swingby.theory.correction import SMALLEST_COLUMN
from swingby.verify.batched.rows import EULER, FLOW

Floats = NDArray[np.float64]

#: Groups of the row of an instance: of length d, and one number per entry below the diagonal.
#: `log_odds` is log |x(0)| and `sign` its sign, `phase` has the finite-step shift, `unit_log` is
#: without the powers at the start.
CONCEPT_NAMES = ("signal", "rate", "log_odds", "phase", "point", "sign")
PAIR_NAMES = ("column", "unit_log", "climb", "power_k", "power_j")
#: Single numbers behind them.
SINGLE_NAMES = ("eta", "cut")
_SMALLEST = SMALLEST_COLUMN
_EULER, _FLOW = EULER, FLOW


def row_length(d: int) -> int:
    """Numbers in the row of an instance.

    Examples
    --------
    >>> row_length(2)
    19
    """
    return len(CONCEPT_NAMES) * d + len(PAIR_NAMES) * d * (d - 1) // 2 + len(SINGLE_NAMES)


def inside(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function into its callers, so that d is a constant there."""
    decorate: Any = njit(nogil=True, error_model="numpy", forceinline=True)
    compiled: Callable[..., Any] = decorate(function)
    return compiled


@inside
def work_length(d: int) -> int:  # pragma: no cover
    """Numbers in the working memory of an instance.

    Examples
    --------
    >>> work_length(2)
    26
    """
    return 5 * d + 4 * d * d


# Working memory: vectors of d with log x, x/(1 + x), 1/(1 + x), log(1 + x) and weights; then
# matrices with L (units above its diagonal), W, the rest of a factorization, B or Z.


@inside
def level_at(d: int, work: Floats, i: int, j: int) -> float:  # pragma: no cover
    """W_ij, as the last call of `find_levels` left it."""
    return float(work[5 * d + d * d + i * d + j])


@inside
def lead(
    d: int, kind: int, row: Floats, state: Floats, t: float, work: Floats
) -> None:  # pragma: no cover
    """Odds and L at step t, from the corrections to log x and to the columns in `state`."""
    m = d * (d - 1) // 2
    for k in range(d):
        y = row[2 * d + k] + row[d + k] * t + state[k]
        if kind != _FLOW and row[5 * d + k] > 0.0:
            h = row[6 * d + 5 * m] * row[k]
            phase = row[3 * d + k] + row[d + k] * t + state[k]
            y, curved = _step_back(kind, phase, phase, h)
            if curved > 1e-5:
                y, curved = _step_back(kind, y, phase, h)
        small = math.exp(-abs(y))
        high = 1.0 / (1.0 + small)
        work[k] = y
        work[d + k] = high if y > 0.0 else small * high
        work[2 * d + k] = small * high if y > 0.0 else high
        work[3 * d + k] = max(y, 0.0) + math.log1p(small) if row[5 * d + k] > 0.0 else 0.0
    for j in range(d):
        for k in range(j):
            number = j * (j - 1) // 2 + k
            pair = 6 * d + number
            size = (
                row[pair + m]
                + row[pair + 2 * m] * t
                + row[pair + 3 * m] * work[3 * d + k]
                + row[pair + 4 * m] * work[3 * d + j]
            )
            if kind != _FLOW:
                size += _column_shift(d, kind, row, work, j, k)
            unit = math.exp(min(size, 50.0))
            work[5 * d + k * d + j] = unit
            work[5 * d + j * d + k] = unit * (row[pair] + state[d + number])


@inside
def _step_back(
    kind: int, y: float, phase: float, h: float
) -> tuple[float, float]:  # pragma: no cover
    """One step of Newton to y + u(y) = phase, and what the next one may add.

    u is that of :func:`swingby.theory.finite_step.linearizing_shift`, as a function of logit w.
    """
    small = math.exp(-abs(y))
    high = 1.0 / (1.0 + small)
    w = high if y > 0.0 else small * high
    turn = small * high * high
    rest = -max(y, 0.0) - math.log1p(small)
    if kind == _EULER:
        third = 8 * w * w / 3 - 14 * w / 3 + 10 * rest / 3
        third_rise = 16 * w * turn / 3 - 14 * turn / 3 - 10 * w / 3
        u = h * (2 * rest + h * (2 * w - 2 * rest + h * third))
        rise = h * (-2 * w + h * (2 * turn + 2 * w + h * third_rise))
    else:
        third = 21 * w * w / 16 - 9 * w / 8 + 0.75 * rest
        third_rise = 21 * w * turn / 8 - 9 * turn / 8 - 0.75 * w
        u = h * (1.5 * rest + h * (1.25 * w - 0.5 * rest + h * third))
        rise = h * (-1.5 * w + h * (1.25 * turn + 0.5 * w + h * third_rise))
    move = (phase - y - u) / (1.0 + rise)
    return y + move, h * turn * move * move


@inside
def _column_shift(
    d: int, kind: int, row: Floats, work: Floats, j: int, k: int
) -> float:  # pragma: no cover
    """:func:`swingby.theory.finite_step.column_shift` of entry (j, k)."""
    w, rest = work[d + k], -work[3 * d + k]
    ratio = row[j] / row[k] if row[k] > 0.0 else 1.0
    h = row[6 * d + 5 * (d * (d - 1) // 2)] * row[k]
    if kind == _EULER:
        inner = (17 - ratio) * rest - (ratio + 3) * w
    else:
        inner = (9 + ratio) * rest - (ratio + 1) * w
    return float(h * (1 - ratio) / 16 * inner)


@inside
def find_levels(d: int, row: Floats, work: Floats) -> None:  # pragma: no cover
    """W from the odds and L: W = B diag(weight) B^T with B unit lower triangular."""
    L, W, G, B = 5 * d, 5 * d + d * d, 5 * d + 2 * d * d, 5 * d + 3 * d * d
    weight = 4 * d
    for j in range(d):
        for i in range(j + 1):
            total = work[L + j * d + i] if j > i else 1.0
            for r in range(j + 1, d):
                total += work[L + r * d + i] * work[L + r * d + j]
            work[G + i * d + j] = total
    for back in range(d):
        j = d - 1 - back
        share = work[d + j]
        here = share / (row[5 * d + j] * work[2 * d + j] + share * work[G + j * d + j])
        work[weight + j] = here
        for i in range(j):
            upper = work[G + i * d + j] * here
            for other in range(i + 1):
                work[G + other * d + i] -= upper * work[G + other * d + j]
    # Above the diagonal G still holds upper / weight.
    for i in range(d):
        for back in range(i):
            k = i - 1 - back
            total = work[L + i * d + k] - work[G + k * d + i] * work[weight + i]
            for r in range(k + 1, i):
                total -= work[B + i * d + r] * work[G + k * d + r] * work[weight + r]
            work[B + i * d + k] = total
    for i in range(d):
        for j in range(i + 1):
            total = work[weight + j] * (work[B + i * d + j] if i > j else 1.0)
            for r in range(j):
                total += work[B + i * d + r] * work[weight + r] * work[B + j * d + r]
            work[W + i * d + j] = total
            work[W + j * d + i] = total


@inside
def drive(
    d: int, row: Floats, state: Floats, work: Floats, speed: Floats, first: int
) -> None:  # pragma: no cover
    """What changes the corrections per step, after `lead` and `find_levels`, into speed[first:]."""
    L, W, K, Z = 5 * d, 5 * d + d * d, 5 * d + 2 * d * d, 5 * d + 3 * d * d
    for i in range(d):
        for j in range(d):
            work[K + i * d + j] = 0.25 * work[W + i * d + j] * (row[d + j] - row[d + i])
    for i in range(d):
        for k in range(d):
            total = work[K + i * d + k]
            for r in range(k + 1, d):
                total += work[K + i * d + r] * work[L + r * d + k]
            for r in range(i):
                total -= work[L + i * d + r] * work[Z + r * d + k]
            work[Z + i * d + k] = total
    for k in range(d):
        speed[first + k] = 2.0 * work[Z + k * d + k]
        for j in range(k + 1, d):
            ratio = math.exp(min(max(work[j] - work[k], -600.0), 200.0))
            work[Z + j * d + k] += work[Z + k * d + j] * ratio * row[5 * d + j] * row[5 * d + k]
    for j in range(d):
        for k in range(j):
            total = work[Z + j * d + k]
            for r in range(k + 1, j):
                total += work[L + j * d + r] * work[Z + r * d + k]
            number = j * (j - 1) // 2 + k
            unit = work[L + k * d + j]
            change = 0.0
            if unit > _SMALLEST:
                pair, m = 6 * d + number, d * (d - 1) // 2
                # What the powers in `lead` already have of the growth of log l_jk.
                kept = 0.0
                if row[5 * d + k] > 0.0:
                    kept += row[pair + 3 * m] * work[d + k] * (row[d + k] + speed[first + k])
                if row[5 * d + j] > 0.0:
                    kept += row[pair + 4 * m] * work[d + j] * (row[d + j] + speed[first + j])
                column = row[pair] + state[d + number]
                change = min(max(total / unit, -1e8), 1e8) - kept * column
            speed[first + d + number] = change
