"""Pivots of the scalar law in lanes of the batched one, where rounding decides their last digits.

A pivot that has lost many digits depends on the order of the operations. Such instances take it
from :mod:`swingby.theory.pivots` itself, and are done in lanes from there on.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from swingby.theory.growth import growth_rates
from swingby.theory.pivots import Pivots, stage_pivots
from swingby.theory.stages import initial_odds
from swingby.verify.batched.rows import layout, pair

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def find_pivots(
    signal: Floats, matrix: Floats, eta: float, log_scale: float, dynamics: str
) -> Pivots:
    """The pivots that the scalar law starts from.

    Parameters
    ----------
    signal : ndarray of shape (d,)
        In any order.
    matrix : ndarray of shape (d, d)
    eta, log_scale : float
    dynamics : {"euler", "gd", "flow"}

    Returns
    -------
    Pivots
        Concepts in descending order of a.
    """
    order = np.argsort(-signal, kind="stable")
    start, descending = ((matrix + matrix.T) / 2)[np.ix_(order, order)], signal[order]
    with np.errstate(all="ignore"):
        sign, log, scale, _ = initial_odds(start, log_scale)
        growth = growth_rates(descending, eta, dynamics)
        return stage_pivots(sign, log, descending, eta, growth, dynamics, scale)


def put_pivots(lane: Floats, found: Pivots) -> None:
    """Put pivots into the lane of their instance, or leave it to the scalar law.

    Parameters
    ----------
    lane : ndarray of shape (rows of a group,)
        A view, changed in place.
    found : Pivots
    """
    d = len(found.sign)
    places = layout(d)
    start = {name: place.start for name, place in places.items()}
    lane[start["resolved"]] = 1.0
    canceled = lane[start["canceled"] : start["canceled"] + d]
    same_signs = (np.sign(canceled) == found.sign).all()
    if not (same_signs and found.sign.all() and math.isfinite(found.log.sum())):
        lane[start["fine"]] = 0.0
        return
    with np.errstate(all="ignore"):
        column = found.column_sign * np.exp(found.column_log)
        canceled[:] = found.sign * np.exp(found.cancellation)
        lane[start["drifted"] : start["drifted"] + d] = np.exp(-found.cancellation)
        lane[start["rounding"] : start["rounding"] + d] = np.exp(found.rounding)
    lane[start["log_pivot"] : start["log_pivot"] + d] = found.log
    for j in range(d):
        for k in range(j):
            lane[start["entry"] + pair(j, k)] = column[j, k]
