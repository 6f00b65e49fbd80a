"""W(t) along the modified flow, from the steps of a walk and what lies between their ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from swingby.theory.law.driver import WalkedSteps, walk_noted
from swingby.theory.law.runge_kutta import interpolated
from swingby.theory.law.walk import (
    ATTEMPTS,
    BLOW_UP,
    CONCEPT,
    MOST_ATTEMPTS,
    TIME,
    H,
    Walk,
)
from swingby.theory.numbers import Floats, Integers

#: Looks at W in every step of the integration.
LOOKS = 16


@dataclass(frozen=True, eq=False)
class Curve:
    """The steps of a lane; times are in eta times steps.

    eta: the step size. times (m + 1,): where steps begin, and the end; concept (m + 1, d): which
    concept stands at which place, and at the end; moving (m, d): whether it moves; forms (m, 8, d,
    d + 2): the coordinates in between; end (d, d + 2): the last of them. runs_away: whether nothing
    is known after the last of the times.
    """

    eta: float
    times: Floats
    concept: Integers
    moving: Floats
    forms: Floats
    end: Floats
    runs_away: bool

    def looks(self) -> Floats:
        """Steps at which events are looked for: as many between any two of the integration."""
        share = np.arange(LOOKS) / LOOKS
        between = self.times[:-1, None] + np.diff(self.times)[:, None] * share
        return np.append(between.ravel(), self.times[-1:]) / self.eta

    def at_looks(self) -> Floats:
        """W (n, d, d) at the looks."""
        d = len(self.end)
        y = interpolated(self.forms.reshape(-1, 8, d * (d + 2)), np.arange(LOOKS) / LOOKS)
        y = np.concatenate([y.reshape(-1, d, d + 2), self.end[None]])
        W = entries_of(y)
        concept = np.append(np.repeat(self.concept[:-1], LOOKS, axis=0), self.concept[-1:], axis=0)
        return by_concept(W, concept)

    def evaluate(self, steps: Floats) -> Floats:
        """W (n, d, d) at steps (n,); at rest after the last."""
        d, W = len(self.end), np.empty((len(steps), *self.end.shape[:1] * 2))
        for which, y, concept in self._coordinates(steps):
            W[which] = by_concept(entries_of(y), np.broadcast_to(concept, (len(y), d)))
        if self.runs_away:
            W[steps * self.eta > self.times[-1]] = np.nan
        return W

    def entries(self, rows: Integers, columns: Integers, steps: Floats) -> Floats:
        """Entries (n,) of W, each at a step of its own."""
        w = np.empty(len(steps))
        for which, y, concept in self._coordinates(steps):
            places, every = np.argsort(concept), np.arange(len(y))
            row, column = (y[every, places[of[which]]] for of in (rows, columns))
            products = np.einsum("nk,nk,nk->n", row[:, 2:], y[:, :, 1], column[:, 2:])
            w[which] = np.exp((row[:, 0] + column[:, 0]) / 2) * products
        if self.runs_away:
            w[steps * self.eta > self.times[-1]] = np.nan
        return w

    def _coordinates(self, steps: Floats) -> Iterator[tuple[Integers, Floats, Integers]]:
        """By steps of the walk: which of these moments lie in it, their coordinates, concepts."""
        times = steps * self.eta
        index = np.searchsorted(self.times, times, side="right") - 1
        index = np.clip(index, 0, len(self.forms))
        ascending = np.argsort(index, kind="stable")
        first = np.searchsorted(index[ascending], np.arange(len(self.forms) + 2))
        for number in np.flatnonzero(np.diff(first)).tolist():
            which = ascending[first[number] : first[number + 1]]
            if number == len(self.forms):
                y = np.broadcast_to(self.end, (len(which), *self.end.shape))
            else:
                begin, end = self.times[number : number + 2]
                share = (times[which] - begin) / (end - begin)
                y = interpolated(self.forms[number].reshape(8, -1), share)
                y = y.reshape(-1, *self.end.shape)
            yield which, y, self.concept[number]


def entries_of(y: Floats) -> Floats:
    """W (n, d, d) in the order of places, from coordinates (n, d, d + 2)."""
    rows = np.exp(y[:, :, :1] / 2) * y[:, :, 2:]
    return np.asarray((rows * y[:, None, :, 1]) @ rows.swapaxes(1, 2))


def by_concept(W: Floats, concept: Integers) -> Floats:
    """Matrices (n, d, d) from the order of places to that of the user."""
    reordered: Floats = np.empty_like(W)
    lane = np.arange(len(W))[:, None, None]
    reordered[lane, concept[:, :, None], concept[:, None, :]] = W
    return reordered


def trace(walk: Walk, dynamics: str, order: int, *, compiled: bool) -> tuple[Curve, ...]:
    """Walk all lanes to their ends; order: the highest of any lane."""
    begins = walk.numbers[TIME].copy()
    steps = walk_noted(walk, dynamics, order, compiled=compiled)
    return tuple(_curve(walk, lane, begins[lane], steps) for lane in range(len(begins)))


def _curve(walk: Walk, lane: int, begin: float, steps: WalkedSteps) -> Curve:
    chosen, end = steps.instance == lane, walk.numbers[:, lane]
    d = len(walk.y)
    return Curve(
        eta=float(end[H]),
        times=np.append(steps.time[chosen], end[TIME] if chosen.any() else begin),
        concept=np.append(
            steps.concept[chosen], walk.places[CONCEPT, :, lane].astype(np.int64)[None], axis=0
        ),
        moving=steps.moving[chosen],
        forms=steps.forms[steps.form[chosen]].reshape(-1, 8, d, d + 2),
        end=walk.y[..., lane].copy(),
        runs_away=bool(np.isfinite(end[BLOW_UP]) or end[ATTEMPTS] > MOST_ATTEMPTS),
    )
