"""Compiled start of the batched law: growth, odds, pivots.

The same formulas as :mod:`swingby.theory.pivots`, with plain floats in place of signs and
logarithms: entries are kept relative to the square roots of their diagonal entries. What floats
cannot hold, and what is rare, is not `fine` and goes to the scalar law. Imports numba.
"""

from __future__ import annotations

from swingby.theory.stages import LOG_NEGLIGIBLE
from swingby.verify.batched.drift import add_drifts
from swingby.verify.batched.elementary import exp, log, log1p
from swingby.verify.batched.rows import EULER, FLOW, GD, entry, layout, pair
from swingby.verify.batched.vectors import Mask, Rows, Vector, largest, sqrt, where, written

#: Row sums of W(0) up to this keep its eigenvalues below the limit of the law.
_LARGEST_ROW = 0.94
#: Diagonal entries are at least this: smaller floats have lost digits.
_SMALLEST_ENTRY = 1e-305
#: The logarithm of a pivot may be uncertain by this much of itself.
_LARGEST_UNCERTAINTY = 3e-10

Table = dict[tuple[int, int], Vector]


@written(layout)
def begin(rows: Rows, d: int, kind: int, _i: object, _j: object) -> None:
    """From signal, matrix, eta and log_scale to the pivots and the columns of L."""
    signal = [rows["signal", k] for k in range(d)]
    eta = rows["eta"]
    growth = _growth(signal, eta, kind)
    odds, log_scale, fine = _odds(rows, d)
    if kind != FLOW:
        fine = fine & (eta * signal[0] < 0.4999)
    fine, resolved = _pivots(rows, odds, log_scale, signal, growth, fine, kind)
    for k in range(d):
        rows["rate", k] = growth[k, k]
        for j in range(k + 1, d):
            rows["climb", pair(j, k)] = growth[j, k] - growth[k, k]
    rows["fine"] = where(fine, 1.0, rows.zero)
    rows["resolved"] = where(resolved, 1.0, rows.zero)


def _growth(signal: list[Vector], eta: Vector, kind: int) -> Table:
    d, found = len(signal), {}
    single = [log1p(eta * value) for value in signal] if kind == GD else []
    for j in range(d):
        for k in range(j + 1):
            if kind == EULER:
                value = log1p(eta * (signal[j] + signal[k]))
            elif kind == GD:
                value = single[j] + single[k]
            else:
                value = eta * (signal[j] + signal[k])
            found[j, k] = found[k, j] = value
    return found


def _odds(rows: Rows, d: int) -> tuple[Table, Vector, Mask]:
    """W (I - W)^-1, the scale that it is still to be multiplied with, and whether W is small."""
    given = {(i, k): rows["matrix", entry(i, k)] for i in range(d) for k in range(d)}
    size = abs(given[0, 0])
    for i in range(d):
        for k in range(i + 1):
            size = largest(size, abs(given[i, k]))
    log_scale = rows["log_scale"]
    negligible = log(size) + log_scale <= LOG_NEGLIGIBLE
    factor = exp(log_scale)
    W = {place: value * factor for place, value in given.items()}
    fine = size > _SMALLEST_ENTRY
    for i in range(d):
        total = abs(W[i, 0])
        for k in range(1, d):
            total = total + abs(W[i, k])
        fine = fine & (given[i, i] > _SMALLEST_ENTRY) & ((total < _LARGEST_ROW) | negligible)
        # Written so that nan is not fine.
        fine = fine & ((W[i, i] < 0.4999) | negligible)
    solved = _solve(W, d)
    odds = {place: where(negligible, given[place], value) for place, value in solved.items()}
    return odds, where(negligible, log_scale, rows.zero), fine


def _solve(W: Table, d: int) -> Table:
    """The solution X of (I - W) X = W, made symmetric."""
    rest = {(i, k): (1.0 if i == k else 0.0) - W[i, k] for i in range(d) for k in range(i + 1)}
    X = dict(W)
    inverse = []
    for k in range(d):
        inverse.append(1.0 / rest[k, k])
        for i in range(k + 1, d):
            factor = rest[i, k] * inverse[k]
            for j in range(k + 1, i + 1):
                rest[i, j] = rest[i, j] - factor * rest[j, k]
            for c in range(d):
                X[i, c] = X[i, c] - factor * X[k, c]
    for k in range(d - 1, -1, -1):
        for c in range(d):
            total = X[k, c]
            for i in range(k + 1, d):
                total = total - rest[i, k] * X[i, c]
            X[k, c] = total * inverse[k]
    return {(i, k): (X[i, k] + X[k, i]) * 0.5 for i in range(d) for k in range(d)}


def _pivots(
    rows: Rows,
    odds: Table,
    log_scale: Vector,
    signal: list[Vector],
    growth: Table,
    fine: Mask,
    kind: int,
) -> tuple[Mask, Mask]:
    """:func:`swingby.theory.pivots.stage_pivots`; what is fine, and what is sure of its digits."""
    d = len(signal)
    resolved = rows["eta"] > 0.0
    roots = [sqrt(odds[k, k]) for k in range(d)]
    inverse = [1.0 / root for root in roots]
    ratio = {
        (i, k): odds[i, k] * inverse[i] * inverse[k] if i > k else rows.zero.like(1.0)
        for i in range(d)
        for k in range(i + 1)
    }
    plain = dict(ratio)
    excess = {
        (i, k): growth[i, k] - (growth[i, i] + growth[k, k]) * 0.5
        for i in range(d)
        for k in range(i)
    }
    most, uncertain = [rows.zero.like(1.0)] * d, [rows.zero.like(1.0)] * d
    time = rows.zero
    for k in range(d):
        pivot = ratio[k, k]
        inverse_pivot = 1.0 / pivot
        positive = pivot > 0.0
        log_pivot = log(odds[k, k]) + log(abs(pivot)) + log_scale
        canceled, rounding = most[k] * inverse_pivot, abs(uncertain[k] * inverse_pivot)
        fine = fine & (abs(canceled) < 1e12)
        # The scalar law takes logarithms of entries: the larger, the more they are rounded.
        step = (abs(log(odds[k, k])) + 4.0) * 4e-16
        resolved = resolved & (rounding * step < abs(log_pivot) * _LARGEST_UNCERTAINTY)
        rows["log_pivot", k] = log_pivot
        rows["canceled", k], rows["rounding", k] = canceled, rounding
        learned = positive & (signal[k] > 0.0)
        rows["learned", k] = where(learned, 1.0, rows.zero)
        trapped = (signal[k] > 0.0) & (pivot <= 0.0)
        rows["trapped", k] = where(trapped, 1.0, rows.zero)
        for j in range(k + 1, d):
            value = ratio[j, k] * inverse_pivot * (roots[j] * inverse[k])
            if kind == EULER:
                value = value * exp(-(excess[j, k] * time))
            rows["entry", pair(j, k)] = where(positive, value, 0.0)
        if kind == EULER:
            stage = where(learned, -log_pivot / growth[k, k], time)
            for i in range(k + 1, d):
                for j in range(k, i):
                    ratio[i, j] = ratio[i, j] * exp(excess[i, j] * (stage - time))
            time = stage
        removed = {
            (i, j): where(positive, ratio[i, k] * ratio[j, k] * inverse_pivot, 0.0)
            for i in range(k + 1, d)
            for j in range(k + 1, i + 1)
        }
        if kind == EULER:
            add_drifts(removed, learned, signal, rows["eta"], growth, k)
        for place, value in removed.items():
            ratio[place] = ratio[place] - value
        for i in range(k + 1, d):
            most[i] = largest(most[i], removed[i, i])
            uncertain[i] = largest(uncertain[i], removed[i, i] * rounding)
    if kind == EULER:
        fine = fine & _compare_undrifted(rows, plain, d)
    return fine, resolved


def _compare_undrifted(rows: Rows, plain: Table, d: int) -> Mask:
    """Keep how far the drift has moved each pivot; whether W(0) is clearly positive definite."""
    fine = rows["eta"] > 0.0
    for k in range(d):
        fine = fine & (plain[k, k] > 1e-9)
        drifted = 1.0 / rows["canceled", k]
        rows["drifted", k] = abs(drifted)
        rows["drift", k] = abs(plain[k, k] - drifted)
        inverse = 1.0 / plain[k, k]
        for i in range(k + 1, d):
            for j in range(k + 1, i + 1):
                plain[i, j] = plain[i, j] - plain[i, k] * plain[j, k] * inverse
    return fine
