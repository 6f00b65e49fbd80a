"""The scan for violations of a claim along a trajectory, at all recorded steps at once.

The relation of the claim is data, evaluated in arrays on sign and logarithm, since it is wanted at
tens of thousands of steps at once. What a scan finds is decided by
:mod:`swingby.proofs.prover.trajectories.trajectory_claims`.

A relation with w_ij(t_0) or t_0 has to hold for every t_0 up to t. Where that side holds no
letter of time t but t, and the order of anchors does not depend on t, the tightest so far is
enough.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from swingby.proofs.language.claim import AlongTrajectory, Claim
from swingby.proofs.prover.trajectories.instances import TrajectoryInstance
from swingby.proofs.prover.trajectories.signed_log import SignedLog, evaluate, excess, from_floats
from swingby.proofs.prover.trajectories.trajectory_letters import (
    ANCHORS,
    PRESENT,
    RecordedPath,
    entries,
    inequality,
    letters_along,
    letters_in,
)
from swingby.theory.numbers import Booleans, Floats, Integers

#: Values of a lambda that a claim leaves free.
_LAMBDAS = (Fraction(1, 2), Fraction(9, 10))


def _all_true(relations: tuple[Any, ...], letters: dict[str, SignedLog], count: int) -> Booleans:
    """The steps at which all of some relations hold, as booleans."""
    holds = np.ones(count, dtype=np.bool_)
    for relation in map(inequality, relations):
        over = excess(*(evaluate(side, letters) for side in relation.sides))
        holds &= over < 0 if relation.kind == "<" else over <= 0
    return holds


#: A scan does not tell sides apart that differ by less, relatively: rounding of the logarithms.
_LEAST_EXCESS = 1e-9
#: Preferred is the first step at which the sides differ by a factor of 1000, or else of 2.
CLEAR = (math.log(1000), math.log(2))


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


def scan(claim: Claim, instance: TrajectoryInstance, recorded: RecordedPath) -> Violation | None:
    """The violation of a claim that is easiest to see in a recorded trajectory, if any.

    The first by a factor of 1000; failing that, the first by a factor of 2; failing that, the
    largest.
    """
    violations = [
        violation
        for measured in excess_paths(claim, instance, recorded)
        if (violation := measured.at(_easiest(measured.excess))).excess > _LEAST_EXCESS
    ]
    for factor in CLEAR:
        clear_violations = [violation for violation in violations if violation.excess >= factor]
        if clear_violations:
            return min(clear_violations, key=lambda violation: violation.step)
    return max(violations, key=lambda violation: violation.excess, default=None)


@dataclass(frozen=True, eq=False)
class ExcessPath:
    """The excess of a relation of a claim along a trajectory: above 0 if it is violated.

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
        """The violation at the recorded step of an index; none unless excess is above 0."""
        anchor, step = int(self.steps[max(self.anchors[where], 0)]), int(self.steps[where])
        excess = float(self.excess[where])
        return Violation(self.relation, self.i, self.j, anchor, step, excess, self.lam)


def excess_paths(
    claim: Claim, instance: TrajectoryInstance, recorded: RecordedPath, *, earlier: bool = False
) -> Iterator[ExcessPath]:
    """The excess of each relation of a claim at every recorded step.

    Yields one per lambda, entry and relation. `earlier`: t_0 lies before t.
    """
    conclusion: AlongTrajectory = claim.conclusion
    until = () if conclusion.until is None else (conclusion.until,)
    names = letters_in(conclusion.relation, *conclusion.when, *conclusion.during, *until)
    for lam in _LAMBDAS if "lambda" in names else (None,):
        for i, j in entries(conclusion.entries, instance.d):
            letters = letters_along(names, instance, recorded, i, j, lam)
            for relation, anchors, over in _excesses(claim, letters, recorded.steps, earlier):
                yield ExcessPath(relation, i, j, lam, recorded.steps, anchors, over)


def _excesses(
    claim: Claim, letters: dict[str, SignedLog], steps: Integers, earlier: bool
) -> Iterator[tuple[Any, Integers, Floats]]:
    conclusion: AlongTrajectory = claim.conclusion
    begins = _all_true(conclusion.when, letters, len(steps))
    if not conclusion.when:
        begins[1:] = False
    continues = _all_true(conclusion.during, letters, len(steps))
    if conclusion.until is not None:
        last = evaluate(conclusion.until, letters).floats()
        continues &= steps <= float(np.max(last))
    for relation in claim.conditions:
        anchors = _tightest(relation, letters, begins & continues, continues, steps)
        if earlier:
            before = np.concatenate(([-1], anchors[:-1]))
            anchors = np.where(anchors >= 0, before, -1)
        inside = anchors >= 0
        if not inside.any():
            continue
        at = np.where(inside, anchors, 0)
        anchored = {name: letters[name][at] for name in ANCHORS & letters_in(relation)}
        sides = (evaluate(side, letters | anchored) for side in inequality(relation).sides)
        over = np.broadcast_to(excess(*sides), steps.shape)
        yield relation, anchors, np.where(inside & ~np.isnan(over), over, -np.inf)


def _easiest(excess: Floats) -> int:
    for factor in CLEAR:
        clear_steps = np.flatnonzero(excess >= factor)
        if len(clear_steps):
            return int(clear_steps[0])
    return int(np.argmax(excess))


def _tightest(
    relation: Any,
    letters: dict[str, SignedLog],
    begins: Booleans,
    continues: Booleans,
    steps: Integers,
) -> Integers:
    """For every recorded step the index of the tightest anchor, -1 if there is none."""
    anchors = np.full(len(steps), -1)
    if not begins.any():
        return anchors
    keys = _anchor_keys(relation, letters, steps)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], continues, [False])).astype(int)))
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        key = np.where(begins[start:end], keys[start:end], np.inf)
        best = np.minimum.accumulate(key)
        at = np.maximum.accumulate(
            np.where((key == best) & np.isfinite(key), np.arange(end - start), -1)
        )
        anchors[start:end] = np.where(at >= 0, at + start, -1)
    return anchors


def _anchor_keys(relation: Any, letters: dict[str, SignedLog], steps: Integers) -> Floats:
    """Numbers that order the anchors, the tightest lowest."""
    sides = inequality(relation).sides
    names = [letters_in(side) for side in sides]
    anchored = [bool(ANCHORS & side_names) for side_names in names]
    if not any(anchored):
        return np.arange(len(steps), dtype=np.float64)
    if all(anchored) or names[anchored.index(True)] & PRESENT:
        raise TypeError(f"w_ij(t) and w_ij(t_0) stand on one side: {relation}")
    bound, upper = sides[anchored.index(True)], anchored[1]
    orders = []
    references = (0.0, float(steps[-1])) if "t" in letters_in(bound) else (0.0,)
    for reference in references:
        value = evaluate(bound, letters | {"t": from_floats(reference)})
        lowest = float(np.min(value.log, where=np.isfinite(value.log), initial=0.0))
        key = np.broadcast_to(value.order(lowest), steps.shape)
        orders.append(np.asarray(key if upper else -key, dtype=np.float64))
    if np.argmin(orders[0]) != np.argmin(orders[-1]):
        tie = orders[0][np.argmin(orders[-1])] - np.min(orders[0])
        if tie > _LEAST_EXCESS * (1 + np.abs(orders[0]).max()):
            raise TypeError(f"the order of the anchors depends on t: {relation}")
    return orders[0]
