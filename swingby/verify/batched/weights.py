"""Compiled factors of W in the batched law, and when its diagonal reaches 1/2. Imports numba.

With G = L^T L and 1/x on the diagonal, a factorization from the last concept to the first gives
W = B diag(r) B^T with B unit lower triangular, at a third of the work of a general solver.
"""

from __future__ import annotations

from typing import Any

from swingby.theory.doubts import PASSING
from swingby.verify.batched.elementary import exp_near
from swingby.verify.batched.rows import NODES, layout, pair
from swingby.verify.batched.vectors import Rows, Vector, largest, where, written

#: By `kind`: from the leading order, and with the correction.
LEADING, CORRECTED = 0, 1
#: What `watch` looks at, by `kind`.
BEFORE, AFTER, BEFORE_STAGE, AFTER_STAGE = 0, 1, 2, 3
#: Nodes of a panel that ends at a stage, and of one that starts there, between which small
#: corrections leave its crossing.
LAST_NODES, FIRST_NODES = (NODES - 3, NODES - 2, NODES - 1), (0, 1, 2)
NEAR_STAGE = {BEFORE_STAGE: LAST_NODES, AFTER_STAGE: FIRST_NODES}

#: A trapped concept that stays below the first number without small corrections stays below 1/4
#: with them.
_PASSES_BY, _PASSING = 0.03, PASSING * (1 + 1e-6)

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
    """Count the nodes before each concept first reaches 1/2, over one panel; its highest level.

    By `kind`: of the levels before the last sweep, or after it; of these, at the nodes near the
    end or the start of the panel alone, and of those before the last sweep at the other nodes.
    """
    side, real = min(kind, AFTER), rows["half"] > 0.0
    known = NEAR_STAGE.get(kind, range(NODES))
    for k in range(d):
        waiting, count = rows["waiting", side, k] > 0.5, rows["place", side, k]
        highest = rows["highest", k]
        for node in range(NODES):
            value = rows["level", side if node in known else BEFORE, (first, node), k]
            waiting = waiting & (value < 0.5)
            count = where(waiting, count + 1.0, count)
            highest = largest(highest, value)
        rows["waiting", side, k] = where(waiting, 1.0, rows.zero)
        rows["place", side, k] = count
        rows["highest", k] = where(real, highest, rows["highest", k])


@written(layout)
def catch(rows: Rows, d: int, _kind: int, first: Any, _j: Any) -> None:
    """Keep the nodes around crossings next to the stage that the panel from `first` starts at."""
    stage = rows["stage"] + 2.0 * NODES
    rows["stage"] = stage
    for side in range(2):
        for k in range(d):
            place = rows["place", side, k]
            early, late = place < stage - 0.5, place > stage + 0.5
            here = (abs(place - stage) < 1.5) & (place < rows["nodes"])
            rows["seen", side, k] = where(here, 1.0, rows["seen", side, k])
            for name, other in (("near_level", "level"), ("near_time", "time_of")):
                key = (side,) if other == "level" else ()
                last = (k,) if other == "level" else ()
                values = [rows[(other, *key, (first, node), *last)] for node in range(-3, 3)]
                for near in range(4):
                    value = where(early, values[near], values[near + 1])
                    value = where(late, values[near + 2], value)
                    kept = rows[name, side, k, near]
                    rows[name, side, k, near] = where(here, value, kept)


@written(layout)
def judge(rows: Rows, d: int, _kind: int, _i: Any, _j: Any) -> None:
    """Whether all crossings lie next to the stages, and no trapped concept comes near 1/4."""
    near = rows["eta"] > 0.0
    for k in range(d):
        both = (rows["seen", 0, k] > 0.5) & (rows["seen", 1, k] > 0.5)
        both = both & (abs(rows["place", 1, k] - rows["place", 0, k]) < 1.5)
        near = near & (both | (rows["learned", k] < 0.5))
        highest, trapped = rows["highest", k], rows["trapped", k] > 0.5
        near = near & ((highest < _PASSES_BY) | (highest > _PASSING) | ~trapped)
    rows["near"] = where(near, 1.0, rows.zero)


@written(layout)
def rise(rows: Rows, d: int, _kind: int, first: Any, _j: Any) -> None:
    """The highest levels of one panel."""
    for k in range(d):
        highest = rows["highest", k]
        for node in range(NODES):
            highest = largest(highest, rows["level", 0, (first, node), k])
        rows["highest", k] = where(rows["half"] > 0.0, highest, rows["highest", k])
