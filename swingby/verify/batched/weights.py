"""Compiled factors of W in the batched law, and when its diagonal reaches 1/2. Imports numba.

With G = L^T L and 1/x on the diagonal, a factorization from the last concept to the first gives
W = B diag(r) B^T with B unit lower triangular, at a third of the work of a general solver.
"""

from __future__ import annotations

from typing import Any

from swingby.verify.batched.elementary import exp_near
from swingby.verify.batched.rows import NODES, layout, pair
from swingby.verify.batched.vectors import Rows, Vector, largest, where, written

#: By `kind`: from the leading order, and with the correction.
LEADING, CORRECTED = 0, 1

Table = dict[tuple[int, int], Vector]


def plain_columns(rows: Rows, d: int, node: Any) -> tuple[Table, Table]:
    """Columns of the leading order, and L from them, at one node."""
    columns = {(j, k): rows["column", pair(j, k)] for j in range(d) for k in range(j)}
    return columns, {place: rows["unit", node, pair(*place)] * columns[place] for place in columns}


def turned_columns(rows: Rows, d: int, node: Any) -> tuple[Table, Table]:
    """Columns with the correction, and L from them, at one node."""
    columns, L = {}, {}
    for j in range(d):
        for k in range(j):
            number = pair(j, k)
            columns[j, k] = rows["column", number] + rows["correction", node, d + number]
            L[j, k] = rows["unit", node, number] * columns[j, k]
    return columns, L


def _moved(rows: Rows, d: int, node: Any) -> tuple[list[Vector], list[Vector], Table]:
    """Share and rest of x, and L, at one node, with the correction."""
    shares = [rows["share", node, k] * exp_near(rows["correction", node, k]) for k in range(d)]
    rests = [rows["rest", node, k] for k in range(d)]
    return shares, rests, turned_columns(rows, d, node)[1]


def _weights(shares: list[Vector], rests: list[Vector], L: Table) -> tuple[list[Vector], Table]:
    """Weights r and unit lower triangular B with W = B diag(r) B^T."""
    d = len(shares)
    rest: Table = {}
    for j in range(d):
        for i in range(j + 1):
            total = L[j, i] if j > i else shares[0].like(1.0)
            for row in range(j + 1, d):
                total = total + L[row, i] * L[row, j]
            rest[i, j] = total
    weights = list(shares)
    upper: Table = {}
    for j in range(d - 1, -1, -1):
        weights[j] = shares[j] / (rests[j] + shares[j] * rest[j, j])
        for i in range(j):
            upper[i, j] = rest[i, j] * weights[j]
        for i in range(j):
            for other in range(i + 1):
                rest[other, i] = rest[other, i] - upper[other, j] * rest[i, j]
    B: Table = {}
    for i in range(d):
        for k in range(i - 1, -1, -1):
            total = L[i, k] - upper[k, i]
            for m in range(k + 1, i):
                total = total - B[i, m] * upper[k, m]
            B[i, k] = total
    return weights, B


def _spread(found: Vector, L: Table, d: int) -> Vector:
    """The largest square of a column of L so far."""
    for k in range(d - 1):
        total = L[k + 1, k] * L[k + 1, k]
        for j in range(k + 2, d):
            total = total + L[j, k] * L[j, k]
        found = largest(found, total)
    return found


def _levels(rows: Rows, weights: list[Vector], B: Table, side: int, place: Any) -> None:
    for k, weight in enumerate(weights):
        total = weight
        for m in range(k):
            total = total + B[k, m] * B[k, m] * weights[m]
        rows["level", side, place, k] = total


@written(layout)
def weigh(rows: Rows, d: int, kind: int, node: Any, place: Any) -> None:
    """The factors of W at one node, and its diagonal; by `kind`."""
    if kind == LEADING:
        shares = [rows["share", node, k] for k in range(d)]
        rests = [rows["rest", node, k] for k in range(d)]
        L = plain_columns(rows, d, node)[1]
    else:
        shares, rests, L = _moved(rows, d, node)
    weights, B = _weights(shares, rests, L)
    _levels(rows, weights, B, 0, place)
    rows["spread"] = _spread(rows["spread"], L, d)
    for k in range(d):
        rows["weight", node, k] = weights[k]
        for j in range(k + 1, d):
            rows["share_of", node, pair(j, k)] = B[j, k]


@written(layout)
def level(rows: Rows, d: int, _kind: int, node: Any, place: Any) -> None:
    """The diagonal of the corrected W at one node."""
    shares, rests, L = _moved(rows, d, node)
    weights, B = _weights(shares, rests, L)
    _levels(rows, weights, B, 1, place)


@written(layout)
def watch(rows: Rows, d: int, kind: int, first: Any, _j: Any) -> None:
    """Count the nodes before each concept first reaches 1/2, over one panel; its highest level."""
    for k in range(d):
        waiting, count = rows["waiting", kind, k] > 0.5, rows["place", kind, k]
        highest = rows["highest", k]
        for node in range(NODES):
            value = rows["level", kind, (first, node), k]
            waiting = waiting & (value < 0.5)
            count = where(waiting, count + 1.0, count)
            highest = largest(highest, value)
        rows["waiting", kind, k] = where(waiting, 1.0, rows.zero)
        rows["place", kind, k] = count
        rows["highest", k] = highest


@written(layout)
def rise(rows: Rows, d: int, _kind: int, first: Any, _j: Any) -> None:
    """The highest levels of one panel."""
    for k in range(d):
        highest = rows["highest", k]
        for node in range(NODES):
            highest = largest(highest, rows["level", 0, (first, node), k])
        rows["highest", k] = highest
