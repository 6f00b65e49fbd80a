"""How far the stage-time law can be trusted: error bars, the blow-up step, warnings in words.

What is fitted here (the constants of the error bar) was adjusted on random instances and is
measured again by ``benchmarks/accuracy.py``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from swingby.theory.correction import Correction
from swingby.theory.doubts import Doubts
from swingby.theory.pivots import MOST_ROUNDING, Pivots
from swingby.theory.task import SIMTask

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: Above this largest eigenvalue of W(0) the odds matrix is too near its pole.
LARGEST_EIGENVALUE = 0.95
#: Above this eta a_max the expansions in the step size mean nothing.
LARGEST_STEP = 0.5
#: Leading constant of the error bar, calibrated on random instances for 99 % coverage.
BAR = {"euler": 7.0, "gd": 7.0, "flow": 2.5}


def error_bars(
    pivots: Pivots,
    correction: Correction | None,
    signal: Floats,
    eta: float,
    rate: Floats,
    dynamics: str,
    learned: NDArray[np.bool_],
) -> Floats:
    """Half-width of each half-time: the correction times the small parameters it is first in.

    Parameters
    ----------
    pivots : Pivots
    correction : Correction or None
    signal : ndarray of shape (d,)
        a, descending.
    eta : float
    rate : ndarray of shape (d,)
        g_kk per step.
    dynamics : {"euler", "gd", "flow"}
    learned : ndarray of bool, shape (d,)

    Returns
    -------
    ndarray of shape (d,)
        Steps; inf where the law is out of its range, nan where nothing is learned.
    """
    size = np.zeros(len(signal)) if correction is None else correction.size
    change = np.zeros(len(signal)) if correction is None else correction.change
    largest = float(size.max(initial=0.0))
    h = 0.0 if dynamics == "flow" else eta * signal[0]
    canceled = np.exp(np.minimum(pivots.cancellation, MOST_ROUNDING))
    lost_digits = np.exp(np.minimum(pivots.rounding, MOST_ROUNDING))
    drift = 0.25 * h * h * canceled if dynamics == "euler" else 0.0
    cubic = 0.0 if dynamics == "flow" else 0.3 * rate**3
    logit_error = (
        BAR[dynamics] * ((size + 0.15 * largest) * (largest + h) + drift)
        + cubic
        + change
        + 0.15 * float(change.max(initial=0.0))
        + 2e-5
        + 2e-16 * lost_digits
    )
    error = np.full(len(signal), np.nan)
    error[learned] = (logit_error / np.where(rate > 0, rate, 1.0))[learned]
    error[learned & (logit_error > 1.0)] = math.inf
    return error


def blow_up_step(pivots: Pivots, rate: Floats, trapped: NDArray[np.bool_], dynamics: str) -> float:
    """When a negative pivot reaches odds of -1; only euler lets a pivot turn negative.

    Parameters
    ----------
    pivots : Pivots
    rate : ndarray of shape (d,)
        g_kk per step.
    trapped : ndarray of bool, shape (d,)
    dynamics : {"euler", "gd", "flow"}

    Returns
    -------
    float
        Step; inf if none does.
    """
    negative = trapped & (pivots.sign < 0)
    if dynamics != "euler" or not negative.any():
        return math.inf
    return float(np.maximum(-pivots.log[negative] / rate[negative], 0.0).min())


def range_warnings(
    task: SIMTask,
    order: NDArray[np.int64],
    pivots: Pivots,
    trapped: NDArray[np.bool_],
    doubts: Doubts,
    error: Floats,
    eigenvalue: float,
    blow_up: float,
    *,
    coarse: bool,
) -> tuple[str, ...]:
    """Where the law is undecided or out of range, in words.

    Parameters
    ----------
    task : SIMTask
    order : ndarray of int, shape (d,)
        User indices by descending a; the arrays below are in that order.
    pivots : Pivots
    trapped : ndarray of bool, shape (d,)
    doubts : Doubts
    error : ndarray of shape (d,)
        Steps.
    eigenvalue : float
        The largest of W(0).
    blow_up : float
        Step.
    coarse : bool
        eta a_max is too large.

    Returns
    -------
    tuple of str
    """
    exact = [task.exact_signal[k] for k in order]
    found = []
    if coarse:
        found.append(
            f"out of range: the law needs eta a_max below {LARGEST_STEP}, and steps this large "
            "need not converge at all"
        )
    if eigenvalue >= LARGEST_EIGENVALUE:
        found.append(
            f"out of range: the largest eigenvalue of W(0) is {eigenvalue:.3g}, and the law needs "
            f"it below {LARGEST_EIGENVALUE} (small initialization)"
        )
    for rank in range(1, len(order)):
        if exact[rank] == exact[rank - 1] > 0:
            found.append(
                f"tie: concepts {order[rank - 1] + 1} and {order[rank] + 1} have equal signals; "
                "which of them is first is undecided, times are for the user's order"
            )
    for rank, k in enumerate(order):
        if doubts.trap[rank]:
            found.append(f"undecided whether concept {k + 1} is trapped: {doubts.trap[rank]}")
        elif trapped[rank] and pivots.sign[rank] == 0 and np.isfinite(pivots.log[rank]):
            found.append(
                f"concept {k + 1} is trapped to rounding: its pivot is "
                f"{math.exp(-pivots.cancellation[rank]):.1g} of the terms it is formed from, so "
                "W(0) has no resolvable component left for it"
            )
        elif trapped[rank]:
            word = "negative" if pivots.sign[rank] < 0 else "zero"
            found.append(f"concept {k + 1} is trapped: its pivot is {word}")
        elif doubts.stage[rank] and not coarse:
            found.append(f"out of range for concept {k + 1}: {doubts.stage[rank]}")
        elif math.isinf(error[rank]) and eigenvalue < LARGEST_EIGENVALUE and not coarse:
            found.append(
                f"out of range for concept {k + 1}: stages overlap too much (W(0) too large, "
                "signals too close, or w_kk(0) already above 1/2)"
            )
    if math.isfinite(blow_up):
        found.append(
            f"a negative pivot runs to minus infinity near step {blow_up:.0f}; "
            "nothing is learned after that"
        )
    return tuple(found)
