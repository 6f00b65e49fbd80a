"""W(t) along the modified flow: the states of its walk, and a step from each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from swingby.theory.law.modified_flow import FieldConstants
from swingby.theory.law.runge_kutta import attempt
from swingby.theory.law.walk import (
    ACTIVE,
    ATTEMPTS,
    BLOW_UP,
    CONCEPT,
    MOST_ATTEMPTS,
    MOVING,
    TIME,
    H,
    Walk,
    advance,
    begin,
)
from swingby.theory.numbers import Floats, Integers

#: Moments that are evaluated together, so that they stay in the cache.
MOMENTS = 4096
#: Looks between two steps of the integration.
_LOOKS = 16


@dataclass(frozen=True, eq=False)
class Curve:
    """The states of a lane after each accepted step; times are in eta times steps.

    `times` (n,). `concept` (d, n): which concept stands at which place. `runs_away`: whether
    nothing is known after the last of the times.
    """

    dynamics: str
    eta: float
    times: Floats
    y: Floats
    speed: Floats
    moving: Floats
    concept: Integers
    flow: FieldConstants
    runs_away: bool

    def looks(self) -> Floats:
        """Steps at which events are looked for: as many between any two of the integration."""
        share = np.arange(_LOOKS) / _LOOKS
        between = self.times[:-1, None] + np.diff(self.times)[:, None] * share
        return np.unique(np.append(between.ravel(), self.times[-1:])) / self.eta

    def evaluate(self, steps: Floats) -> Floats:
        """W (n, d, d) by a step from the state before each moment; at rest after the last."""
        d, times = self.y.shape[0], steps * self.eta
        W = np.full((len(times), d, d), np.nan)
        for first in range(0, len(times), MOMENTS):
            chunk = slice(first, first + MOMENTS)
            W[chunk] = self._evaluate(times[chunk])
        return W

    def _evaluate(self, times: Floats) -> Floats:
        index = np.clip(np.searchsorted(self.times, times, side="right") - 1, 0, None)
        ahead = np.where(times > self.times[-1], 0.0, times - self.times[index])
        flow = FieldConstants(*(values[..., index] for values in self.flow))
        states = (self.y[..., index], self.speed[..., index], ahead, self.moving[..., index], flow)
        y, _ = attempt(*states, self.dynamics)
        V, root = y[:, 2:], np.exp(y[:, 0] / 2)
        W = np.einsum("imn,mn,jmn->nij", V, y[:, 1], V) * root.T[:, :, None] * root.T[:, None, :]
        if self.runs_away:
            W[times > self.times[-1]] = np.nan
        by_concept: Floats = np.empty_like(W)
        concept = self.concept[:, index].T
        lane = np.arange(len(times))[:, None, None]
        by_concept[lane, concept[:, :, None], concept[:, None, :]] = W
        return np.asarray(by_concept)


def trace(walk: Walk, dynamics: str) -> tuple[Curve, ...]:
    """Walk all lanes to their ends and record every accepted state."""
    begin(walk, dynamics)
    lanes = range(walk.numbers.shape[1])
    states = [[_state(walk, lane)] for lane in lanes]
    while walk.numbers[ACTIVE].any():
        advance(walk, dynamics)
        for lane in lanes:
            if walk.numbers[TIME, lane] > states[lane][-1][0]:
                states[lane].append(_state(walk, lane))
    return tuple(_curve(walk, lane, states[lane], dynamics) for lane in lanes)


def _curve(walk: Walk, lane: int, states: list[tuple[Any, ...]], dynamics: str) -> Curve:
    time, y, speed, moving, concept, *flow = (
        np.stack(arrays, axis=-1) for arrays in zip(*states, strict=True)
    )
    end = walk.numbers[:, lane]
    runs_away = bool(np.isfinite(end[BLOW_UP]) or end[ATTEMPTS] > MOST_ATTEMPTS)
    places = moving, concept.astype(np.int64), FieldConstants(*flow)
    return Curve(dynamics, float(end[H]), time, y, speed, *places, runs_away)


def _state(walk: Walk, lane: int) -> tuple[Any, ...]:
    moving, concept = walk.places[MOVING], walk.places[CONCEPT]
    arrays = (walk.numbers[TIME], walk.y, walk.speed, moving, concept, *walk.fields)
    return tuple(np.array(values[..., lane]) for values in arrays)
