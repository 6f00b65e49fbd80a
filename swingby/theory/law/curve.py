"""W(t) between the events: every accepted step of a walk, and steps into each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.theory.law.coordinates import attempt
from swingby.theory.law.modified import Flow
from swingby.theory.law.walk import CONCEPT, FREE, MOST_ATTEMPTS, Walk, advance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: Moments that are evaluated together.
_TOGETHER = 4096


@dataclass(frozen=True, eq=False)
class Curve:
    """The states of one lane after each accepted step; times are in eta times steps.

    Parameters
    ----------
    dynamics : str
    times : ndarray of shape (n,)
    y, speed, free, flow : ndarrays that end in an axis of n
    concept : ndarray of int, shape (d, n)
        Which concept stands at which place.
    runs_away : bool
        Whether nothing is known after the last of the times.
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
