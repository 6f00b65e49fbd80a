"""Where along a trajectory a claim is violated: a scan of all recorded steps at once.

The relation of the claim is data. It is evaluated on sign-and-logarithm arrays, so that one rule
serves every claim; what it finds is confirmed by
:mod:`swingby.verify.prover.trajectories.confirmation`.

A relation with w_ij(t_0) or t_0 has to hold for every t_0 up to t. Where that side holds no
letter of time t but t, and the order of anchors does not depend on t, the tightest so far is
enough.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.theory.claim import AlongTrajectory, Claim
from swingby.verify.prover.trajectories import signed_logs
from swingby.verify.prover.trajectories.instances import TrajectoryInstance
from swingby.verify.prover.trajectories.signed_logs import SignedLog, from_floats
from swingby.verify.prover.trajectories.valuation import (
    Recorded,
    all_true,
    entries,
    lambdas,
    letters_along,
    parts,
    small_and_large,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]
    Booleans = NDArray[np.bool_]

#: A scan does not tell sides apart that differ by less, relatively: rounding of the logarithms.
LEAST_EXCESS = 1e-9
#: Preferred is the first step at which the sides differ by a factor of 1000, or else of 2.
CLEAR = (math.log(1000), math.log(2))

#: Letters that are read at t_0, and those that are read at t.
ANCHORS = frozenset({"w_ij(t_0)", "w_ii(t_0)", "t_0"})
PRESENT = frozenset({"w_ij(t)", "w_ii(t)", "w_jj(t)", "w_ij(t+1)", "w_ii(t+1)", "N_ij(t)"})


@dataclass(frozen=True)
class Violation:
    """A place at which a scan saw a relation broken.

    `relation`: the part of the claim's conclusion that is broken.
    `i`, `j`: the entry, from 0.
    `anchor`, `step`: t_0 and t.
    `excess`: logarithm of the ratio of the two sides; infinite where their signs differ.
    `lam`: the lambda.
    """

    relation: Any
    i: int
    j: int
    anchor: int
    step: int
    excess: float
    lam: Fraction | None


def scan(claim: Claim, instance: TrajectoryInstance, recorded: Recorded) -> Violation | None:
    """The violation of a claim that is easiest to see in a recorded trajectory, if any.

    The first by a factor of 1000; failing that, the first by a factor of 2; failing that, the
    largest.
    """
    found = [
        violation
        for measured in measure(claim, instance, recorded)
        if (violation := measured.at(_easiest(measured.excess))).excess > LEAST_EXCESS
    ]
    for factor in CLEAR:
        clear = [violation for violation in found if violation.excess >= factor]
        if clear:
            return min(clear, key=lambda violation: violation.step)
    return max(found, key=lambda violation: violation.excess, default=None)


@dataclass(frozen=True, eq=False)
class Measured:
    """How far one relation of a claim is from being true along a trajectory.

    `i`, `j`: the entry, from 0.
    `steps` (n,).
    `anchors` (n,): index of the tightest t_0 of every step; -1 where the claim says nothing.
    `excess` (n,): logarithm of the ratio of the two sides, above 0 where the relation is broken;
    minus infinity where the claim says nothing.
    """

    relation: Any
    i: int
    j: int
    lam: Fraction | None
    steps: Integers
    anchors: Integers
    excess: Floats

    def at(self, where: int) -> Violation:
        """What is seen at the recorded step of an index; no violation unless excess is above 0."""
        anchor, step = int(self.steps[max(self.anchors[where], 0)]), int(self.steps[where])
        excess = float(self.excess[where])
        return Violation(self.relation, self.i, self.j, anchor, step, excess, self.lam)


def measure(
    claim: Claim, instance: TrajectoryInstance, recorded: Recorded, *, earlier: bool = False
) -> Iterator[Measured]:
    """How far each relation of a claim is from being true at every recorded step.

    Yields one per lambda, entry and relation.
    """
    for lam in lambdas(claim):
        for i, j in entries(claim.conclusion.entries, instance.d):
            yield from _measure_entry(claim, instance, recorded, i, j, lam, earlier)


def _measure_entry(
    claim: Claim,
    instance: TrajectoryInstance,
    recorded: Recorded,
    i: int,
    j: int,
    lam: Fraction | None,
    earlier: bool,
) -> Iterator[Measured]:
    conclusion: AlongTrajectory = claim.conclusion
    steps = recorded.steps
    letters = letters_along(claim, instance, recorded, i, j, lam)
    begins = all_true(conclusion.when, letters, len(steps))
    if not conclusion.when:
        begins[1:] = False
    continues = all_true(conclusion.during, letters, len(steps))
    if conclusion.until is not None:
        last = signed_logs.evaluate(conclusion.until, letters).floats()
        continues &= steps <= float(np.max(last))
    for relation in parts(conclusion.relation):
        anchor = _tightest(relation, letters, begins & continues, continues, steps)
        if earlier:
            before = np.concatenate(([-1], anchor[:-1]))
            anchor = np.where(anchor >= 0, before, -1)
        inside = anchor >= 0
        if not inside.any():
            continue
        at = np.where(inside, anchor, 0)
        anchored = {name: letters[name][at] for name in ANCHORS}
        small, large = (
            signed_logs.evaluate(side, letters | anchored) for side in small_and_large(relation)
        )
        excess = np.broadcast_to(signed_logs.excess(small, large), steps.shape)
        excess = np.where(inside & ~np.isnan(excess), excess, -np.inf)
        yield Measured(relation, i, j, lam, steps, anchor, excess)


def _easiest(excess: Floats) -> int:
    for factor in CLEAR:
        clear = np.flatnonzero(excess >= factor)
        if len(clear):
            return int(clear[0])
    return int(np.argmax(excess))


def _tightest(
    relation: Any,
    letters: dict[str, SignedLog],
    begins: Booleans,
    continues: Booleans,
    steps: Integers,
) -> Integers:
    """For every recorded step the index of the tightest anchor, -1 where there is none."""
    found = np.full(len(steps), -1)
    if not begins.any():
        return found
    keys = _anchor_keys(relation, letters, steps)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], continues, [False])).astype(int)))
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        key = np.where(begins[start:end], keys[start:end], np.inf)
        best = np.minimum.accumulate(key)
        at = np.maximum.accumulate(
            np.where((key == best) & np.isfinite(key), np.arange(end - start), -1)
        )
        found[start:end] = np.where(at >= 0, at + start, -1)
    return found


def _anchor_keys(relation: Any, letters: dict[str, SignedLog], steps: Integers) -> Floats:
    """Numbers that order the anchors, the tightest lowest."""
    sides = small_and_large(relation)
    names = [{str(symbol) for symbol in side.free_symbols} for side in sides]
    anchored = [bool(ANCHORS & found) for found in names]
    if not any(anchored):
        return np.arange(len(steps), dtype=np.float64)
    if all(anchored) or names[anchored.index(True)] & PRESENT:
        raise TypeError(f"w_ij(t) and w_ij(t_0) stand on one side: {relation}")
    bound, upper = sides[anchored.index(True)], anchored[1]
    found = []
    for reference in (0.0, float(steps[-1])):
        value = signed_logs.evaluate(bound, letters | {"t": from_floats(reference)})
        lowest = float(np.min(value.log, where=np.isfinite(value.log), initial=0.0))
        key = np.broadcast_to(value.order(lowest), steps.shape)
        found.append(np.asarray(key if upper else -key, dtype=np.float64))
    if np.argmin(found[0]) != np.argmin(found[1]):
        tie = found[0][np.argmin(found[1])] - np.min(found[0])
        if tie > LEAST_EXCESS * (1 + np.abs(found[0]).max()):
            raise TypeError(f"the order of the anchors depends on t: {relation}")
    return found[0]
