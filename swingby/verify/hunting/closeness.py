"""How close a trajectory comes to breaking a claim that it keeps.

The slack of a relation at one step is the logarithm of the larger side over the smaller one: 0.1
says that the sides are a tenth apart. Many a claim begins with equal sides, at t = t_0, which says
nothing; a close call is therefore the smallest slack at a later step at which it is smaller than
directly before and not larger than directly after.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from swingby.theory.claim import Claim
from swingby.verify.prover.trajectories.instances import TrajectoryInstance
from swingby.verify.prover.trajectories.valuation import Recorded
from swingby.verify.prover.trajectories.violation import ANCHORS, Violation, measure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Booleans = NDArray[np.bool_]


@dataclass(frozen=True)
class Closest:
    """The smallest slack that a hunt saw where nothing was broken.

    `slack`: see the module; for the repaired theorems as in
    :class:`swingby.verify.prover.repaired.theorems.Tally`.
    `instance`: the setting, in one line.
    `where`: what is nearly broken, and at which step.
    `values`: every number of the setting, exact.
    """

    slack: float
    instance: str
    where: str
    values: dict[str, str]


def closest_call(
    claim: Claim, instance: TrajectoryInstance, recorded: Recorded
) -> Violation | None:
    """The place of the smallest slack along a trajectory.

    `claim`: with an AlongTrajectory as conclusion. Returns its excess is minus the slack. None
    where no slack turns, as with two sides that only move apart.
    """
    found = []
    for measured in measure(claim, instance, recorded, earlier=True):
        if ANCHORS & {str(symbol) for symbol in measured.relation.free_symbols}:
            continue
        turns = np.flatnonzero(_turns(measured.excess, np.asarray(measured.anchors) >= 0))
        if len(turns):
            found.append(measured.at(int(turns[np.argmax(measured.excess[turns])])))
    return max(found, key=lambda seen: seen.excess, default=None)


def _turns(excess: Floats, inside: Booleans) -> Booleans:
    """Steps at which the excess is finite, rose before, and does not rise after."""
    counted = inside & np.isfinite(excess)
    before = np.concatenate(([False], counted[:-1]))
    after = np.concatenate((counted[1:], [False]))
    rose = np.zeros(len(excess), dtype=np.bool_)
    falls = np.ones(len(excess), dtype=np.bool_)
    with np.errstate(invalid="ignore"):
        rose[1:] = excess[1:] > excess[:-1]
        falls[:-1] = excess[1:] <= excess[:-1]
    return np.asarray(counted & before & rose & (falls | ~after))
