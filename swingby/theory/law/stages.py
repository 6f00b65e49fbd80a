r"""The stage law: when each w_kk reaches 1/2, and W(t) in between.

The steps follow the modified flow (:mod:`swingby.theory.law.modified`). It is integrated to two
orders in the step size; their difference is the error bar of what is left out, to which the
tolerance of the integration and the rounding of W(0) are added. Nothing is fitted. The law is ours,
not the paper's; its accuracy is measured in ``benchmarks/accuracy.py``.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.theory.growth import DYNAMICS
from swingby.theory.initial import Initial
from swingby.theory.law.coordinates import attempt
from swingby.theory.law.modified import Flow
from swingby.theory.law.pivots import Start, Starts, begin
from swingby.theory.law.verdict import (
    DRIFTS,
    LARGEST_STEP,
    PASSES,
    SURE,
    TOLERANCES,
    UNRESOLVED,
    End,
    Given,
    Verdict,
    decide,
    settle,
    shares,
)
from swingby.theory.law.walk import CONCEPT, FREE, MOST_ATTEMPTS, Walk, advance, follow_all
from swingby.theory.task import SIMTask

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Booleans = NDArray[np.bool_]

#: Tolerance of the integration, as a share of what a concept grows by in half a step.
TOLERANCE = 4e-5
#: Moments that are evaluated together.
_TOGETHER = 4096


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
        What the pivot is of the terms that it is formed from; negative where it runs away.
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
        order = DYNAMICS[self.dynamics].orders[0]
        walk = begin(self.start, self.eta, self.dynamics, (order,), TOLERANCE, whole=math.inf)
        return trace(walk, self.dynamics)

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


def stage_law(task: SIMTask, initial: Initial, eta: Fraction, dynamics: str) -> Stages:
    """The stage law for a given W(0).

    `initial`: W(0), at any scale. `eta`: step size in the clock of (D.2). `dynamics` in {"euler",
    "gd", "flow"}.
    """
    # Absurd numbers overflow to infinity and come out as out of range, not as a warning.
    with np.errstate(all="ignore"):
        start = Start.of(task.signal, initial, float(eta), dynamics)
        return judge(task, start, walked(start, float(eta), dynamics), float(eta), dynamics)


def walked(start: Start, eta: float, dynamics: str) -> Walk:
    """The lanes of one instance at their end."""
    walk = begin(start, eta, dynamics, DYNAMICS[dynamics].orders, TOLERANCE)
    while walk.active.any():
        advance(walk, dynamics)
    return walk


def given_of(start: Start, eta: float) -> Given:
    """One instance, as it is judged."""
    parts = (
        start.signal,
        start.levels,
        start.matrix,
        start.log_scale,
        start.by_concept(start.sign),
        start.by_concept(start.roundings),
        start.unresolved,
        start.eigenvalue,
        eta,
    )
    return Given(*(np.asarray(part)[None] for part in parts))


def judge(task: SIMTask, start: Start, walk: Walk, eta: float, dynamics: str) -> Stages:
    """Half-times, error bars and doubts out of the lanes of one instance."""
    given = given_of(start, eta)
    end, late = (End.of(walk, given.eta, lane) for lane in (slice(1), slice(-1, None)))
    verdict = decide(given, end, late, TOLERANCE, TOLERANCES, dynamics)
    if not DYNAMICS[dynamics].keeps_psd:
        verdict = settle(given, Starts.of(start), verdict, TOLERANCE, follow_all)
    return Stages(
        task=task,
        dynamics=dynamics,
        eta=eta,
        crossing=verdict.crossing[0],
        error=verdict.error[0],
        trapped=verdict.trapped[0],
        undecided=verdict.undecided[0],
        blow_up=float(verdict.blow_up[0]),
        blow_up_error=float(verdict.blow_up_error[0]),
        share=shares(given, verdict)[0],
        warnings=_warnings(start, verdict),
        start=start,
    )


def _reason(start: Start, doubt: int, k: int) -> str:
    """Why it is open whether a concept is trapped."""
    if doubt == DRIFTS:
        return "the drift of the euler steps cancels its pivot to within the error of the law"
    if doubt == UNRESOLVED:
        part = 1 / start.by_concept(start.roundings)[k]
        return (
            f"its pivot is {part:.1g} of the terms it is formed from, which floats do not resolve"
        )
    if doubt == PASSES:
        return (
            "it has no component of its own, but another concept starts out as it and may pass 1/2 "
            "before it turns"
        )
    return "its pivot is zero, but a concept of smaller signal may turn into it later"


def _warnings(start: Start, verdict: Verdict) -> tuple[str, ...]:
    """Where the law is undecided or out of range, in words."""
    found = []
    sign, blow_up = start.by_concept(start.sign), float(verdict.blow_up[0])
    doubt, trapped, after = verdict.doubt[0], verdict.trapped[0], verdict.after[0]
    turning, given_up = verdict.turning[0], verdict.given_up[0]
    if verdict.coarse[0]:
        found.append(
            f"out of range: the law needs eta a_max, times the largest eigenvalue of W(0) where "
            f"that is above 1, to be at most {LARGEST_STEP}; such steps need not converge at all"
        )
    for k in np.argsort(-start.signal, kind="stable"):
        if doubt[k] != SURE:
            reason = _reason(start, int(doubt[k]), int(k))
            found.append(f"undecided whether concept {k + 1} is trapped: {reason}")
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


@dataclass(frozen=True, eq=False)
class Curve:
    """The states of one lane after each accepted step; times are in eta times steps.

    `times` (n,). `concept` (d, n): which concept stands at which place. `runs_away`: whether
    nothing is known after the last of the times.
    """

    dynamics: str
    times: Floats
    y: Floats
    speed: Floats
    free: Floats
    concept: NDArray[np.int64]
    flow: Flow
    runs_away: bool

    def evaluate(self, times: Floats) -> Floats:
        """W (n, d, d) by a step from the state before each time; at rest after the last."""
        d = self.y.shape[0]
        found = np.full((len(times), d, d), np.nan)
        for first in range(0, len(times), _TOGETHER):
            part = slice(first, first + _TOGETHER)
            found[part] = self._evaluate(times[part])
        return found

    def _evaluate(self, times: Floats) -> Floats:
        place = np.clip(np.searchsorted(self.times, times, side="right") - 1, 0, None)
        ahead = np.where(times > self.times[-1], 0.0, times - self.times[place])
        flow = Flow(*(values[..., place] for values in self.flow))
        given = (self.y[..., place], self.speed[..., place], ahead, self.free[..., place], flow)
        y, _ = attempt(*given, self.dynamics)
        V, root = y[:, 2:], np.exp(y[:, 0] / 2)
        W = np.einsum("imn,mn,jmn->nij", V, y[:, 1], V) * root.T[:, :, None] * root.T[:, None, :]
        if self.runs_away:
            W[times > self.times[-1]] = np.nan
        found: Floats = np.empty_like(W)
        concept = self.concept[:, place].T
        lane = np.arange(len(times))[:, None, None]
        found[lane, concept[:, :, None], concept[:, None, :]] = W
        return np.asarray(found)


def trace(walk: Walk, dynamics: str) -> Curve:
    """Walk one lane to its end and keep every accepted state."""
    kept = [_state(walk)]
    while walk.active.any():
        advance(walk, dynamics)
        if walk.time[0] > kept[-1][0][0]:
            kept.append(_state(walk))
    time, y, speed, free, concept, *flow = (
        np.stack(part, axis=-1) for part in zip(*kept, strict=True)
    )
    far = bool(np.isfinite(walk.blow_up[0])) or bool(walk.attempts[0] > MOST_ATTEMPTS)
    return Curve(dynamics, time[0], y, speed, free, concept.astype(np.int64), Flow(*flow), far)


def _state(walk: Walk) -> tuple[Any, ...]:
    free, concept = walk.places[FREE], walk.places[CONCEPT]
    lane = (walk.time, *(v[..., 0] for v in (walk.y, walk.speed, free, concept, *walk.fields)))
    return tuple(np.array(values) for values in lane)
