r"""The stage law: when each w_kk reaches 1/2, and W(t) in between.

The steps follow the modified flow (:mod:`swingby.theory.law.modified`). It is integrated to two
orders in the step size; their difference is the error bar of what is left out, to which the tolerance of the integration and the rounding of W(0) are added. Nothing is fitted. The
law is ours, not the paper's; its accuracy is measured in ``benchmarks/accuracy.py``.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from swingby.theory.initial import Initial, connected_blocks
from swingby.theory.law.curve import Curve, trace
from swingby.theory.law.modified import KIND
from swingby.theory.law.pivots import Start, begin, leading_times
from swingby.theory.law.walk import Walk, advance
from swingby.theory.task import SIMTask

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Booleans = NDArray[np.bool_]

#: Above this eta a_max, times the largest eigenvalue of W(0) where that is above 1, an expansion
#: in the step size means nothing.
LARGEST_STEP = 0.5
#: Orders in the step size: that of the law, and the one below it for the error bar.
ORDERS = {"euler": (4, 3), "gd": (3, 2), "flow": (0,)}
#: Tolerance of the integration, as a share of what the slowest concept grows by in half a step.
TOLERANCE = 3e-5
#: And its bounds.
LEAST_TOLERANCE, LARGEST_TOLERANCE = 1e-11, 1e-5
#: Tolerances and roundings in an error bar: measured errors of single steps add up to fewer.
TOLERANCES, ROUNDINGS = 40.0, 8.0
#: Error in steps of a crossing that is read off between whole steps of a runaway.
BETWEEN_STEPS = 0.01
#: A concept without a pivot whose entry comes above this on the way may pass 1/2.
PASSING = 0.25


@dataclass(frozen=True, eq=False)
class Stages:
    """The law for one W(0). Made by :func:`stage_law`; arrays are in the user's order.

    Parameters
    ----------
    task : SIMTask
    dynamics : str
    eta : float
    crossing : ndarray of shape (d,)
        Real time, in steps, at which w_kk crosses 1/2, 0 if it starts there; inf where a_k = 0,
        nan where trapped or cut off.
    error : ndarray of shape (d,)
        Error bar of each crossing in steps; inf where the law is out of its range.
    trapped : ndarray of bool, shape (d,)
    undecided : ndarray of bool, shape (d,)
        Where the law cannot say whether a concept is trapped, whatever `trapped` says; the
        warnings say why.
    blow_up, blow_up_error : float
        Last step before a negative pivot has run out of the float range, and its error bar; inf
        if none does.
    share : ndarray of shape (d,)
        What the pivot is of the terms that w_kk is made of, at its stage.
    warnings : tuple of str
    """

    task: SIMTask
    dynamics: str
    eta: float
    crossing: Floats
    error: Floats
    trapped: Booleans
    undecided: Booleans
    blow_up: float
    blow_up_error: float
    share: Floats
    warnings: tuple[str, ...]
    start: Start = field(repr=False)

    @property
    def log_pivots(self) -> Floats:
        """Logarithm of each pivot of W(0), nan where it is not positive."""
        values = np.empty(self.task.dim)
        with np.errstate(invalid="ignore"):
            logs = np.where(self.start.sign > 0, self.start.log_pivots, np.nan)
        values[self.start.order] = logs
        return values

    @property
    def half_times(self) -> Floats:
        """First whole step at which each w_kk is at least 1/2, shape (d,)."""
        return np.ceil(self.crossing)

    @functools.cached_property
    def curve(self) -> Curve:
        """W(t), walked through once more to the end."""
        order = ORDERS[self.dynamics][0]
        tolerance = tolerance_of(self.task.signal, self.eta)
        walk = begin(self.start, self.eta, self.dynamics, (order,), tolerance, whole=True)
        return trace(walk, KIND[self.dynamics])

    def evaluate(self, t: Floats) -> Floats:
        """W at given steps.

        Parameters
        ----------
        t : ndarray of shape (n,)
            Steps, at least 0; need not be whole.

        Returns
        -------
        ndarray of shape (n, d, d)
            nan after a blow-up.
        """
        with np.errstate(all="ignore"):
            return self.curve.evaluate(np.asarray(t, dtype=float) * self.eta)


def tolerance_of(signal: Floats, eta: float) -> float:
    """What a step of the integration may be wrong by, as a logarithm of a pivot."""
    slowest = float(signal[signal > 0].min(initial=np.inf))
    share = TOLERANCE * eta * slowest if math.isfinite(slowest) else 0.0
    return min(max(share, LEAST_TOLERANCE), LARGEST_TOLERANCE)


def stage_law(task: SIMTask, initial: Initial, eta: Fraction, dynamics: str) -> Stages:
    """The stage law for a given W(0).

    Parameters
    ----------
    task : SIMTask
    initial : Initial
        W(0), at any scale.
    eta : Fraction
        Step size in the clock of (D.2).
    dynamics : {"euler", "gd", "flow"}

    Returns
    -------
    Stages
    """
    # Absurd numbers overflow to infinity and come out as out of range, not as a warning.
    with np.errstate(all="ignore"):
        start = Start.of(task.signal, initial, float(eta), dynamics)
        return judge(task, start, *walked(start, float(eta), dynamics), float(eta), dynamics)


def walked(start: Start, eta: float, dynamics: str) -> tuple[Walk, float]:
    """The lanes of one instance at their end, and their tolerance."""
    orders = ORDERS[dynamics]
    tolerance = tolerance_of(start.signal, eta)
    walk = begin(start, eta, dynamics, orders, tolerance)
    while walk.active.any():
        advance(walk, KIND[dynamics])
    return walk, tolerance


def judge(
    task: SIMTask, start: Start, walk: Walk, tolerance: float, eta: float, dynamics: str
) -> Stages:
    """Half-times, error bars and doubts out of the lanes of one instance."""
    signal, sign = task.signal, start.by_concept(start.sign)
    crossing, late = walk.crossing[:, 0] / eta, walk.crossing[:, -1] / eta
    blow_up, other = walk.blow_up[0] / eta, walk.blow_up[-1] / eta
    above = start.levels >= 0.5
    crossing[(signal > 0) & above] = 0.0
    lost = walk.lost & (signal > 0)[:, None]
    trapped, unlike = lost[:, 0], lost[:, 0] != lost[:, -1]
    reach = eta * float(signal.max()) * max(1.0, start.eigenvalue)
    coarse = dynamics != "flow" and not reach <= LARGEST_STEP
    given_up = ~trapped & (signal > 0) & np.isnan(crossing) & ~np.isfinite(blow_up)
    rate = 2 * eta * np.where(signal > 0, signal, np.inf)
    rounding = ROUNDINGS * 2.0**-53 * np.minimum(start.by_concept(start.roundings), 2.0**53)
    error = np.abs(crossing - late) + (TOLERANCES * tolerance + rounding) / rate
    if dynamics != "flow":
        # The next term of log(1 + x)/x, where the difference of the orders happens to vanish.
        order = ORDERS[dynamics][0]
        error += reach ** (order + 1) / (order + 2) / rate
    if math.isfinite(blow_up):
        error += np.where(crossing * eta > walk.time[0], BETWEEN_STEPS, 0.0)
    error = np.where((signal > 0) & above, 0.0, error)
    doubts = _doubts(start, walk, trapped, unlike, dynamics)
    undecided = np.array([bool(text) for text in doubts])
    first_doubt = min(blow_up, other) if unlike.any() else math.inf
    after = np.array([math.isfinite(t) and t > first_doubt for t in crossing]) & ~trapped
    turning = _turning(start, trapped) if dynamics != "euler" else np.zeros_like(trapped)
    error[undecided | after | turning | given_up | np.isnan(error) & ~trapped] = math.inf
    error[np.isnan(crossing) & np.isfinite(blow_up)] = np.nan
    if coarse:
        error[signal > 0] = math.inf
    if given_up.any():
        leading = leading_times(start, eta, dynamics)
        crossing = np.where(given_up, leading, crossing)
    crossing[trapped] = np.nan
    error[trapped] = np.where(undecided, math.inf, np.nan)[trapped]
    free = signal == 0
    crossing[free], error[free] = np.where(above, 0.0, math.inf)[free], np.nan
    if unlike.any():
        blow_up = math.inf
    warnings = _warnings(trapped, sign, start, doubts, after, turning, given_up, blow_up, coarse)
    return Stages(
        task=task,
        dynamics=dynamics,
        eta=eta,
        crossing=crossing,
        error=error,
        trapped=trapped,
        undecided=undecided,
        blow_up=float(round(blow_up)) if math.isfinite(blow_up) else math.inf,
        blow_up_error=abs(blow_up - other) + 1 if math.isfinite(blow_up) else math.inf,
        share=walk.share[:, 0].copy(),
        warnings=warnings,
        start=start,
    )


def _doubts(
    start: Start, walk: Walk, trapped: Booleans, unlike: Booleans, dynamics: str
) -> list[str]:
    """Why it is open whether a concept is trapped, by concept; empty where it is not."""
    doubts = [""] * len(trapped)
    turning = _turned_into(start, trapped) if dynamics != "euler" else np.zeros_like(trapped)
    roundings = start.by_concept(start.roundings)
    for k in np.flatnonzero(trapped | unlike):
        if dynamics == "euler":
            if unlike[k]:
                doubts[k] = (
                    "the drift of the euler steps cancels its pivot to within the error of the law"
                )
        elif start.unresolved[k]:
            doubts[k] = (
                f"its pivot is {1 / roundings[k]:.1g} of the terms it is formed from, which floats do "
                "not resolve"
            )
        elif walk.highest[k, 0] > PASSING:
            doubts[k] = (
                "it has no component of its own, but another concept starts out as it and may "
                "pass 1/2 before it turns"
            )
        elif turning[k]:
            doubts[k] = "its pivot is zero, but a concept of smaller signal may turn into it later"
    return doubts


def _pairs_that_turn(start: Start, trapped: Booleans) -> Booleans:
    """Pairs (k, j): k has no component, j of smaller signal has one, in the same block of W(0)."""
    d = len(trapped)
    found = np.zeros((d, d), dtype=bool)
    if trapped.any():
        for block in connected_blocks(start.matrix.tolist()):
            for k in block:
                for j in block:
                    smaller = 0 < start.signal[j] < start.signal[k]
                    found[k, j] = trapped[k] and not trapped[j] and smaller
    return found


def _turned_into(start: Start, trapped: Booleans) -> Booleans:
    return np.asarray(_pairs_that_turn(start, trapped).any(axis=1))


def _turning(start: Start, trapped: Booleans) -> Booleans:
    return np.asarray(_pairs_that_turn(start, trapped).any(axis=0))


def _warnings(
    trapped: Booleans,
    sign: Floats,
    start: Start,
    doubts: list[str],
    after: Booleans,
    turning: Booleans,
    given_up: Booleans,
    blow_up: float,
    coarse: bool,
) -> tuple[str, ...]:
    """Where the law is undecided or out of range, in words."""
    found = []
    if coarse:
        found.append(
            f"out of range: the law needs eta a_max, times the largest eigenvalue of W(0) where "
            f"that is above 1, to be at most {LARGEST_STEP}; such steps need not converge at all"
        )
    for k in np.argsort(-start.signal, kind="stable"):
        if doubts[k]:
            found.append(f"undecided whether concept {k + 1} is trapped: {doubts[k]}")
        elif trapped[k]:
            word = "zero" if sign[k] == 0 and not math.isfinite(blow_up) else "negative"
            found.append(f"concept {k + 1} is trapped: its pivot is {word}")
        elif after[k]:
            found.append(
                f"out of range for concept {k + 1}: a pivot that may be negative runs to minus "
                "infinity before, if it is"
            )
        elif turning[k]:
            found.append(
                f"out of range for concept {k + 1}: it may turn into a concept of larger signal, "
                "which the law does not time"
            )
        elif given_up[k]:
            found.append(f"out of range for concept {k + 1}: the integration was given up")
    if math.isfinite(blow_up):
        found.append(
            f"a negative pivot runs to minus infinity near step {blow_up:.0f}; "
            "nothing is learned after that"
        )
    return tuple(found)
