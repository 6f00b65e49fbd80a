"""Pivots of the scalar law in lanes of the batched one, where rounding decides their last digits.

A pivot that has lost many digits depends on the order of the operations. Such instances take it
from the operations of :mod:`swingby.theory.pivots`, in their order and on many matrices at once,
and are done in lanes from there on.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from swingby.theory.growth import growth_rates
from swingby.theory.odds import solve
from swingby.theory.pivots import MOST_ROUNDING, Pivots, stage_pivots
from swingby.theory.stages import LOG_NEGLIGIBLE, initial_odds
from swingby.verify.batched.rows import layout, pair

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_FIELDS = ("sign", "log", "column_sign", "column_log", "cancellation", "rounding")


def find_pivots(
    signal: Floats, matrix: Floats, eta: Floats, log_scale: Floats, dynamics: str
) -> Pivots:
    """The pivots that the scalar law starts from, bit by bit where W(0) is small enough for lanes.

    Parameters
    ----------
    signal : ndarray of shape (n, d)
        In any order.
    matrix : ndarray of shape (n, d, d)
    eta, log_scale : ndarray of shape (n,)
    dynamics : {"euler", "gd", "flow"}

    Returns
    -------
    Pivots
        With one more leading axis; concepts in descending order of a.
    """
    order = np.argsort(-signal, axis=1, kind="stable")
    descending = np.take_along_axis(signal, order, axis=1)
    start = (matrix + matrix.swapaxes(1, 2)) / 2
    start = start[np.arange(len(order))[:, None, None], order[:, :, None], order[:, None, :]]
    with np.errstate(all="ignore"):
        if dynamics != "euler":
            return _without_drift(*_odds(start, log_scale))
        return join(
            [
                _with_drift(a, W, float(step), float(scale))
                for a, W, step, scale in zip(descending, start, eta, log_scale, strict=True)
            ]
        )


def join(found: list[Pivots]) -> Pivots:
    """Pivots of single instances as those of many."""
    return Pivots(*(np.stack([getattr(one, name) for one in found]) for name in _FIELDS))


def some(found: Pivots, chosen: NDArray[np.integer] | NDArray[np.bool_] | slice) -> Pivots:
    """The pivots of some of many instances."""
    return Pivots(*(getattr(found, name)[chosen] for name in _FIELDS))


def _with_drift(signal: Floats, start: Floats, eta: float, log_scale: float) -> Pivots:
    sign, log, scale, _ = initial_odds(start, log_scale)
    growth = growth_rates(signal, eta, "euler")
    return stage_pivots(sign, log, signal, eta, growth, "euler", scale)


def _odds(start: Floats, log_scale: Floats) -> tuple[Floats, Floats, Floats]:
    """:func:`swingby.theory.stages.initial_odds` of matrices below the limit of the law."""
    scales, sizes = log_scale.tolist(), np.abs(start).max(axis=(1, 2)).tolist()
    # Exponentials and logarithms of numpy and of the standard library differ in the last bit.
    seen = np.array(
        [math.log(size) + scale > LOG_NEGLIGIBLE for size, scale in zip(sizes, scales, strict=True)]
    )
    factor = np.array([math.exp(min(scale, 700.0)) for scale in scales])
    W = start[seen] * factor[seen, None, None]
    odds = start.copy()
    found = solve(np.eye(start.shape[1]) - W, W)
    odds[seen] = (found + found.swapaxes(1, 2)) / 2
    return np.sign(odds), np.log(np.abs(odds)), np.where(seen, 0.0, log_scale)


def _without_drift(sign: Floats, log: Floats, log_scale: Floats) -> Pivots:
    """:func:`swingby.theory.pivots.stage_pivots` under gd and the flow."""
    n, d = sign.shape[:2]
    diagonal = np.diagonal(log, axis1=1, axis2=2)
    base = np.where(np.isfinite(diagonal), diagonal, 0.0)
    sign, ratio = sign.copy(), log - (base[:, :, None] + base[:, None, :]) / 2
    found = Pivots(
        np.zeros((n, d)),
        np.full((n, d), -np.inf),
        np.zeros((n, d, d)),
        np.full((n, d, d), -np.inf),
        np.zeros((n, d)),
        np.zeros((n, d)),
    )
    largest = np.diagonal(ratio, axis1=1, axis2=2).copy()
    uncertain = largest.copy()
    for k in range(d):
        size = ratio[:, k, k].copy()
        there = size != -np.inf
        found.log[there, k] = (base[:, k] + size + log_scale)[there]
        found.cancellation[there, k] = (largest[:, k] - size)[there]
        found.rounding[there, k] = (uncertain[:, k] - size)[there]
        sure = there & (found.rounding[:, k] <= MOST_ROUNDING)
        found.sign[sure, k] = sign[sure, k, k]
        rest, positive = slice(k + 1, d), found.sign[:, k] > 0
        columns = (base[:, rest] - base[:, k, None]) / 2 + ratio[:, rest, k] - size[:, None]
        found.column_sign[positive, rest, k] = sign[positive, rest, k]
        found.column_log[positive, rest, k] = columns[positive]
        if k + 1 == d:
            break
        removed = ratio[:, rest, k][:, :, None] + ratio[:, rest, k][:, None, :]
        removed = removed - size[:, None, None]
        signs = sign[:, rest, k][:, :, None] * sign[:, rest, k][:, None, :]
        following = _difference(sign[:, rest, rest], ratio[:, rest, rest], signs, removed)
        sign[positive, rest, rest] = following[0][positive]
        ratio[positive, rest, rest] = following[1][positive]
        lost = np.diagonal(removed, axis1=1, axis2=2)
        passed_on = lost + found.rounding[:, k, None]
        largest[positive, rest] = np.maximum(largest[:, rest], lost)[positive]
        uncertain[positive, rest] = np.maximum(uncertain[:, rest], passed_on)[positive]
    return found


def _difference(
    sign: Floats, log: Floats, removed_sign: Floats, removed_log: Floats
) -> tuple[Floats, Floats]:
    scale = np.maximum(log, removed_log)
    scale = np.where(np.isfinite(scale), scale, 0.0)
    value = sign * np.exp(log - scale) - removed_sign * np.exp(removed_log - scale)
    return np.sign(value), np.log(np.abs(value)) + scale


def put_pivots(lanes: Floats, found: Pivots) -> None:
    """Put pivots into the lanes of their instances, or leave these to the scalar law.

    Parameters
    ----------
    lanes : ndarray of shape (groups, rows of a group, lanes of a group)
        A view, changed in place.
    found : Pivots
        Of instances in the order of the lanes.
    """
    count, d = found.sign.shape
    places = layout(d)
    group, lane = np.divmod(np.arange(count), lanes.shape[2])

    def put(name: str, values: Floats | float, chosen: NDArray[np.bool_]) -> None:
        row = places[name].start
        for number in range(math.prod(places[name].shape)):
            value = values[chosen, number] if isinstance(values, np.ndarray) else values
            lanes[group[chosen], row + number, lane[chosen]] = value

    row = places["canceled"].start
    canceled = lanes[group, row : row + d, lane]
    same_signs = (np.sign(canceled) == found.sign).all(axis=1)
    fit = same_signs & (found.sign != 0).all(axis=1) & np.isfinite(found.log.sum(axis=1))
    put("resolved", 1.0, np.ones(count, dtype=np.bool_))
    put("fine", 0.0, ~fit)
    with np.errstate(all="ignore"):
        column = found.column_sign * np.exp(found.column_log)
        put("canceled", found.sign * np.exp(found.cancellation), fit)
        put("drifted", np.exp(-found.cancellation), fit)
        put("rounding", np.exp(found.rounding), fit)
    put("log_pivot", found.log, fit)
    for j in range(d):
        for k in range(j):
            row = places["entry"].start + pair(j, k)
            lanes[group[fit], row, lane[fit]] = column[fit, j, k]
