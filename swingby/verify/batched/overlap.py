"""Compiled quadrature of the batched law: the formulas of :mod:`swingby.theory.correction`.

Node by node and panel by panel. What a sweep adds up to a node depends on nodes before it only,
so all sweeps are taken on one panel before the next one. Imports numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from swingby.theory.correction import SMALLEST_COLUMN, quadrature_rule
from swingby.verify.batched.elementary import exp_near, exp_pair, logistic_parts
from swingby.verify.batched.rows import NODES, layout, pair
from swingby.verify.batched.vectors import Rows, Vector, clip, smallest, where, written
from swingby.verify.batched.weights import (
    LEADING,
    NEAR_STAGE,
    Table,
    plain_columns,
    turned_columns,
)

#: exp(200): a ratio x_j/x_k above this is never multiplied with anything that counts.
_LARGEST_RATIO = 7.225973768125749e86
_ABSCISSAE, _WEIGHTS, _CUMULATIVE = (np.asarray(part).tolist() for part in quadrature_rule(NODES))
_HALF = NODES // 2
_EVEN, _ODD = (
    [
        [(row[node] + side * row[NODES - 1 - node]) / 2 for node in range(_HALF)]
        for row in _CUMULATIVE[:_HALF]
    ]
    for side in (1, -1)
)


@written(layout)
def clear(rows: Rows, d: int, _kind: int, _i: Any, _j: Any) -> None:
    """Start the sums of one group at zero."""
    for component in range(d * (d + 1) // 2):
        for sweep in range(4):
            rows["sum", sweep, component] = 0.0
    rows["stage"] = -float(NODES)
    for k in range(d):
        rows["total", k] = 0.0
        rows["highest", k] = 0.0
        rows["spread"] = 0.0
        for side in range(2):
            rows["waiting", side, k] = 1.0
            rows["place", side, k] = 0.0
            rows["seen", side, k] = 0.0


@written(layout)
def place_nodes(rows: Rows, _d: int, _kind: int, panel: Any, following: Any) -> None:
    """The times of the nodes of one panel."""
    left, right = rows["edge", panel], rows["edge", following]
    half = (right - left) * 0.5
    rows["half"] = half
    for node in range(NODES):
        rows["t", node] = (right + left) * 0.5 + half * _ABSCISSAE[node]


@written(layout)
def rise_alone(rows: Rows, d: int, _kind: int, node: Any, place: Any) -> None:
    """Exponentials of the leading order at one node: the smaller one of odds and inverse odds."""
    t = rows["t", node]
    rows["time_of", place] = t
    for k in range(d):
        rows["rest", node, k] = exp_near(-abs(rows["log_odds", k] + rows["rate", k] * t))
    for k in range(1, d):
        step = smallest(650.0, rows["step", k] + rows["step_rate", k] * t)
        rows["ratio", node, k] = exp_near(step)


@written(layout)
def settle(rows: Rows, d: int, _kind: int, node: Any, _place: Any) -> None:
    """The odds of the leading order at one node as shares and in logarithms, after `rise_alone`."""
    t = rows["t", node]
    for k in range(d):
        y = rows["log_odds", k] + rows["rate", k] * t
        share, rest, soft = logistic_parts(y, rows["rest", node, k])
        rows["share", node, k], rows["rest", node, k] = share, rest
        rows["risen", node, k] = soft - rows["soft", k]


@written(layout)
def lead(rows: Rows, d: int, _kind: int, node: Any, _place: Any) -> None:
    """The columns of the leading order at one node."""
    t = rows["t", node]
    share = [rows["share", node, k] for k in range(d)]
    risen = [rows["risen", node, k] for k in range(d)]
    for j in range(1, d):
        for k in range(j):
            number = pair(j, k)
            size = (
                rows["unit_log", number]
                + rows["climb", number] * t
                + rows["power_k", number] * risen[k]
                + rows["power_j", number] * risen[j]
            )
            unit, inverse = exp_pair(smallest(50.0, size))
            rows["unit", node, number] = unit
            rows["inverse", node, number] = where(unit > SMALLEST_COLUMN, inverse, rows.zero)
            difference = (rows["rate", k] - rows["rate", j]) * 0.25
            rows["kept", node, number] = difference * (share[k] - share[j])


@written(layout)
def turn(rows: Rows, d: int, kind: int, node: Any, _place: Any) -> None:
    """The integrands of one sweep at one node, after `weigh`."""
    steps = [rows["ratio", node, k] for k in range(d)]  # the first one is not asked for
    if kind == LEADING:
        columns, L = plain_columns(rows, d, node)
    else:
        columns, L = turned_columns(rows, d, node)
        for k in range(1, d):
            shift = rows["correction", node, k] - rows["correction", node, k - 1]
            steps[k] = steps[k] * exp_near(shift)
    weights = [rows["weight", node, k] for k in range(d)]
    B = {(j, k): rows["share_of", node, pair(j, k)] for j in range(d) for k in range(j)}
    Z = _overlaps(rows, weights, B, L)
    for k in range(d):
        rows["speed", node, k] = Z[k, k] * 2.0
    S: Table = {}
    for k in range(d):
        ratio = steps[0]
        for j in range(k + 1, d):
            ratio = ratio * steps[j] if j > k + 1 else steps[j]
            S[j, k] = Z[j, k] + Z[k, j] * (smallest(_LARGEST_RATIO, ratio) * rows["present", j])
    for j in range(d):
        for k in range(j):
            total = S[j, k]
            for m in range(k + 1, j):
                total = total + L[j, m] * S[m, k]
            number = pair(j, k)
            inverse = rows["inverse", node, number]
            change = clip(total * inverse, -1e8, 1e8) - rows["kept", node, number] * columns[j, k]
            rows["speed", node, d + number] = where(inverse > 0.0, change, 0.0)


def _overlaps(rows: Rows, weights: list[Vector], B: Table, L: Table) -> Table:
    """The matrix Z = L^-1 K L, with K the antisymmetric matrix of w_ij (a_j - a_i)/2."""
    d = len(weights)
    rate = [rows["rate", k] for k in range(d)]
    scaled = {(i, m): B[i, m] * weights[m] for i in range(d) for m in range(i)}
    K: Table = {}
    for i in range(d):
        for j in range(i):
            total = scaled[i, j]
            for m in range(j):
                total = total + scaled[i, m] * B[j, m]
            K[i, j] = total * ((rate[j] - rate[i]) * 0.25)
    Z: Table = {}
    for i in range(d):
        for k in range(d):
            total = rows.zero if i == k else K[i, k] if i > k else -K[k, i]
            for m in range(k + 1, d):
                if m < i:
                    total = total + K[i, m] * L[m, k]
                elif m > i:
                    total = total - K[m, i] * L[m, k]
            for m in range(i):
                total = total - L[i, m] * Z[m, k]
            Z[i, k] = total
    return Z


@written(layout)
def measure(rows: Rows, d: int, _kind: int, panel: Any, _j: Any) -> None:
    """Add up the size of the integrand; keep it at the first and the last node of the panel."""
    half = rows["half"]
    for k in range(d):
        values = [abs(rows["speed", node, k]) * half for node in range(NODES)]
        before = rows["total", k]
        rows["first", panel, k] = before + _weighted(values, _CUMULATIVE[0])
        rows["last", panel, k] = before + _weighted(values, _CUMULATIVE[-1])
        rows["total", k] = before + _weighted(values, _WEIGHTS)
    rows["first_t", panel] = rows["t", 0]
    rows["last_t", panel] = rows["t", NODES - 1]


@written(layout)
def interpolate(rows: Rows, d: int, _kind: int, _i: Any, _j: Any) -> None:
    """Sizes of the correction up to each stage, which is an edge of the panels."""
    for k in range(d):
        size, time = rows.zero, rows["time", k]
        for stage in range(d):
            before, after = 2 * stage, 2 * stage + 1
            here = (time <= rows["edge", after]) & (time >= rows["edge", after])
            left, right = rows["last_t", before], rows["first_t", after]
            low, high = rows["last", before, k], rows["first", after, k]
            value = low + (high - low) / (right - left) * (time - left)
            size = where(here, value, size)
        rows["size", k] = where(rows["learned", k] > 0.5, size, rows.zero)


@written(layout)
def integrate(rows: Rows, d: int, kind: int, sweep: Any, _j: Any) -> None:
    """Add up the integrands to nodes of one panel: to all, or to those that `kind` looks at."""
    half = rows["half"]
    known = NEAR_STAGE.get(kind, ())
    for component in range(d * (d + 1) // 2):
        bound = 8.0 if component < d else 6.0
        values = [rows["speed", node, component] for node in range(NODES)]
        before = rows["sum", sweep, component]
        # The nodes lie symmetrically: even and odd parts, each with half of the products.
        mirrored = list(zip(values[:_HALF], reversed(values[_HALF:]), strict=True))
        even = [left + right for left, right in mirrored]
        after = before + half * _weighted(even, _WEIGHTS[:_HALF])
        rows["sum", sweep, component] = after
        for node in known:
            part = before + half * _weighted(values, _CUMULATIVE[node])
            rows["correction", node, component] = clip(part, -bound, bound)
        if known:
            continue
        odd = [left - right for left, right in mirrored]
        for node in range(_HALF):
            part = _weighted(even, _EVEN[node])
            turned = _weighted(odd, _ODD[node])
            near, far = before + half * (turned + part), after + half * (turned - part)
            rows["correction", node, component] = clip(near, -bound, bound)
            rows["correction", NODES - 1 - node, component] = clip(far, -bound, bound)


def _weighted(values: list[Vector], weights: list[float]) -> Vector:
    total = values[0] * weights[0]
    for value, weight in zip(values[1:], weights[1:], strict=True):
        total = total + value * weight
    return total
