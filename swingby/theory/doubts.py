"""Where the stage-time law cannot say whether a concept is trapped, and what hangs on that.

The band in which the euler drift leaves a trap undecided was adjusted on random instances.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from swingby.theory.correction import Correction
from swingby.theory.initial import connected_blocks
from swingby.theory.pivots import Pivots, exact_pivots

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: A concept without a pivot whose entry comes above this on the way, by the law, may pass 1/2.
PASSING = 0.25


@dataclass(frozen=True)
class Doubts:
    """What the law leaves open, in words, concepts in descending order of a.

    Parameters
    ----------
    trap : tuple of str, length d
        Why it is undecided whether the concept is trapped; empty where there is no doubt.
    stage : tuple of str, length d
        Why the half-time of a learned concept is open; empty where it is not.
    sign : tuple of bool, length d
        Where the sign of the pivot itself is open; only under euler.
    """

    trap: tuple[str, ...]
    stage: tuple[str, ...]
    sign: tuple[bool, ...]


def find_doubts(
    matrix: Floats,
    sign: Floats,
    log: Floats,
    signal: Floats,
    rate: Floats,
    times: Floats,
    pivots: Pivots,
    correction: Correction | None,
    dynamics: str,
) -> Doubts:
    """What the law leaves open for one W(0). All arrays are in descending order of a.

    A zero pivot is no end under gd and the flow: they keep the rank of W, not the place of its
    zero pivots, so a concept of smaller signal may turn into the one that lacks a component. On
    the way to its place a component may pass 1/2 as another concept. Under euler a pivot that is
    small against the drift may be positive or run to minus infinity, and everything after that is
    cut off.

    Parameters
    ----------
    matrix : ndarray of shape (d, d)
        W(0) up to a positive factor.
    sign, log : ndarray of shape (d, d)
        The odds matrix at t = 0.
    signal : ndarray of shape (d,)
    rate : ndarray of shape (d,)
        g_kk per step.
    times : ndarray of shape (d,)
        Half-times in steps; not finite for concepts that are not learned.
    pivots : Pivots
    correction : Correction or None
    dynamics : {"euler", "gd", "flow"}

    Returns
    -------
    Doubts
    """
    d = len(signal)
    trap, stage = [""] * d, [""] * d
    missing = (pivots.sign <= 0) & (signal > 0)
    learned = (pivots.sign > 0) & (signal > 0)
    drifts = np.zeros(d, dtype=np.bool_)
    if dynamics == "euler":
        drifts, runs_away = _drift_cancels(sign, log, pivots, rate, correction)
        missing &= ~drifts
        for k in np.flatnonzero(drifts & (signal > 0)):
            trap[k] = (
                "the drift of the euler steps cancels its pivot to within the error of the law"
            )
        for k in np.flatnonzero(learned & ~drifts & (times > runs_away)):
            stage[k] = "a pivot that may be negative runs to minus infinity before, if it is"
    if missing.any():
        zero = missing & (pivots.sign == 0)
        rounded = zero & np.isfinite(pivots.log)
        exact = exact_pivots(matrix) if rounded.any() else []
        turning = _turning(matrix, zero, learned)
        for k in np.flatnonzero(missing):
            if rounded[k] and exact[k] > 0:
                trap[k] = (
                    f"its pivot is {math.exp(-pivots.cancellation[k]):.1g} of the terms it is "
                    "formed from, which floats do not resolve"
                )
            elif correction is not None and correction.highest[k] > PASSING:
                trap[k] = (
                    "it has no component of its own, but another concept starts out as it and may "
                    "pass 1/2 before it turns"
                )
            elif turning[k].any():
                trap[k] = (
                    "its pivot is zero, but a concept of smaller signal may turn into it later"
                )
        for j in np.flatnonzero(turning.any(axis=0)):
            stage[j] = "it may turn into a concept of larger signal, which the law does not time"
    return Doubts(tuple(trap), tuple(stage), tuple(drifts.tolist()))


def _drift_cancels(
    sign: Floats, log: Floats, pivots: Pivots, rate: Floats, correction: Correction | None
) -> tuple[NDArray[np.bool_], float]:
    """Where a pivot is small against what the euler drift has taken from it.

    The drift is known to about twice the size of the overlap of the stages: over 1,200 random
    instances every wrong trap had |pivot| below 1.6 times that share of the drift. Also the first
    step at which such a pivot, as negative as it may be, would reach odds of -1.
    """
    half = np.diag(log) / 2
    try:
        root = np.linalg.cholesky(sign * np.exp(log - half[:, None] - half[None, :]))
    except np.linalg.LinAlgError:
        return np.zeros(len(half), dtype=bool), math.inf
    undrifted = np.diag(root) ** 2
    drifted = pivots.sign * np.exp(-pivots.cancellation)
    overlap = 0.0 if correction is None else float(correction.size.max())
    uncertain = (2 * overlap + 0.005) * np.abs(undrifted - drifted)
    cancels = np.abs(drifted) < uncertain
    if not cancels.any():
        return cancels, math.inf
    # The terms of a pivot are exp(cancellation) times itself.
    size = pivots.log + pivots.cancellation + np.log(np.maximum(uncertain - drifted, 1e-300))
    return cancels, float(np.maximum(-size / np.where(rate > 0, rate, 1.0), 0.0)[cancels].min())


def _turning(
    matrix: Floats, zero: NDArray[np.bool_], learned: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Pairs (k, j): k has no component, j after k has one, in the same block of W(0)."""
    found = np.zeros((len(zero), len(zero)), dtype=bool)
    if zero.any():
        for block in connected_blocks(matrix.tolist()):
            for k in block:
                found[k, list(block)] = zero[k] & learned[list(block)]
    return np.triu(found, 1)
