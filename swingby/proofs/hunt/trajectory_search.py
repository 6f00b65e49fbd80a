"""The search along trajectories: draw, follow in floats, shrink, and confirm in balls.

Instances are drawn inside D.1 to D.5 and the claim's own hypotheses. Every other one is a change of
an earlier one that came close. What a run in floats shows is made simpler and then decided in
balls; what balls do not decide is counted and not reported.

The slack of a relation at one step is the logarithm of the larger side over the smaller one: 0.1
says that the sides are a tenth apart. Many a claim begins with equal sides, at t = t_0, which says
nothing; a close call is therefore the smallest slack at a later step at which it is smaller than
directly before and not larger than directly after.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np

from swingby.proofs.hunt.draft import Draft, draw, mutate, requirements_of
from swingby.proofs.hunt.search_log import Clock, ClosestCall, SearchLog
from swingby.proofs.hunt.shrink import Followed, follow_draft, shrink
from swingby.proofs.language.claim import Claim
from swingby.proofs.prover.evidence import Judged, Witness
from swingby.proofs.prover.trajectories import instances
from swingby.proofs.prover.trajectories.instances import TrajectoryInstance
from swingby.proofs.prover.trajectories.trajectory_claims import (
    ball_run,
    confirm,
    confirm_violation,
    decided,
    meets,
    states_at,
    steps_needed,
)
from swingby.proofs.prover.trajectories.violation import (
    ANCHORS,
    Recorded,
    Violation,
    measure,
    scan,
)
from swingby.theory.balls import precision
from swingby.theory.numbers import Booleans, Floats

#: The search ends after so many instances even if there is time left.
MOST_INSTANCES = 100_000
#: So many draws in a row outside the hypotheses end it too.
_MOST_MISSES = 3_000
#: A delayed concept is tried after so many instances, under gradient descent.
_DELAYED_AFTER = 25
#: So many instances that came close are kept and changed.
_POOL = 6
#: A violation later than this, in two and three dimensions, is not followed in balls: the two runs
#: would take more than half a minute.
_MOST_BALL_STEPS = 500_000


def closest_call(
    claim: Claim, instance: TrajectoryInstance, recorded: Recorded
) -> Violation | None:
    """The smallest slack along a trajectory, as a violation with minus the slack as excess.

    None where no slack turns, as with two sides that only move apart.
    """
    calls = []
    for measured in measure(claim, instance, recorded, earlier=True):
        if ANCHORS & {str(symbol) for symbol in measured.relation.free_symbols}:
            continue
        turns = np.flatnonzero(_turns(measured.excess, np.asarray(measured.anchors) >= 0))
        if len(turns):
            calls.append(measured.at(int(turns[np.argmax(measured.excess[turns])])))
    return max(calls, key=lambda seen: seen.excess, default=None)


def _turns(excess: Floats, inside: Booleans) -> Booleans:
    """Steps at which the excess is finite, rose before, and does not rise after."""
    rises = np.diff(np.where(inside & np.isfinite(excess), excess, np.nan)) > 0
    return np.concatenate(([False], rises)) & ~np.concatenate((rises, [False]))


def search(
    claim: Claim, dynamics: str, rng: np.random.Generator, clock: Clock, dim: int | None = None
) -> SearchLog:
    """Look for a trajectory of euler or gd that breaks a claim along trajectories."""
    required, log = requirements_of(claim), SearchLog()
    pool: list[tuple[float, Draft]] = []
    misses, waiting = 0, dynamics == "gd" and dim in (None, 3)
    while log.instances < MOST_INSTANCES and misses < _MOST_MISSES and not clock.over():
        if waiting and log.instances >= _DELAYED_AFTER:
            waiting = False
            if _try_delayed(claim, clock, log):
                return log
            continue
        if pool and log.instances % 2:
            setting = mutate(pool[int(rng.integers(len(pool)))][1], rng, required)
        else:
            setting = draw(rng, dim, required)
        followed = follow_draft(setting, claim, dynamics)
        if followed is None:
            misses += 1
            continue
        misses = 0
        log.instances += 1
        log.steps += len(followed.recorded.steps)
        if followed.violation is not None:
            if _decide(claim, dynamics, followed, clock, log):
                return log
        elif (call := closest_call(claim, followed.instance, followed.recorded)) is not None:
            if log.closest is None or max(-call.excess, 0.0) < log.closest.slack:
                log.closest = _closest(call, followed.instance, dynamics)
            pool.append((call.excess, followed.draft))
            pool.sort(key=lambda pair: -pair[0])
            del pool[_POOL:]
        if log.instances % 50 == 0:
            near_by = "" if log.closest is None else f", smallest slack {log.closest.slack:.3g}"
            doubt = f", {log.unconfirmed} not confirmed" if log.unconfirmed else ""
            clock.report(f"{log.instances} instances{near_by}{doubt}")
    return log


def _closest(call: Violation, instance: TrajectoryInstance, dynamics: str) -> ClosestCall:
    where = f"{call.relation}, entry ({call.i + 1}, {call.j + 1}) at step {call.step}"
    values = {"dynamics": dynamics} | instance.values()
    return ClosestCall(max(-call.excess, 0.0), str(instance), where, values)


def _decide(claim: Claim, dynamics: str, followed: Followed, clock: Clock, log: SearchLog) -> bool:
    """Make a violation simpler and confirm it; False where balls decide neither form of it."""
    clock.report(f"a violation in floats is made simpler: {followed.instance}")
    shrinking = clock.part(0.5)

    def look(draft: Draft) -> Followed | None:
        changed = follow_draft(draft, claim, dynamics)
        log.steps += 0 if changed is None else len(changed.recorded.steps)
        return changed

    simple, shrinks = shrink(followed, look, shrinking.over)
    for candidate in (simple, followed) if shrinks else (followed,):
        violation = candidate.violation
        if violation is None or (candidate is not simple and clock.over()):
            break
        if violation.step * max(1.0, (candidate.draft.d / 3) ** 3) > _MOST_BALL_STEPS:
            continue
        judged = confirm_violation(claim, violation, candidate.instance, dynamics, clock.report)
        if judged is not None:
            log.shrinks = shrinks if candidate is simple else 0
            return _logged(claim, dynamics, candidate.instance, judged, log)
    log.unconfirmed += 1
    return False


def _try_delayed(claim: Claim, clock: Clock, log: SearchLog) -> bool:
    """Three concepts of rank two, the second delayed by an entry that no draw hits; in balls."""
    *_, delayed = instances.candidates()
    if not meets(claim, delayed):
        return False
    clock.report(f"concept 2 is delayed: {delayed}")
    run = ball_run(delayed, "gd", clock.over)
    violation = scan(claim, delayed, run.recorded)
    log.instances += 1
    log.steps += len(run.recorded.steps)
    if violation is None:
        return False
    judged = decided(claim, violation, run, clock.report)
    if judged is None:
        log.unconfirmed += 1
        return False
    return _logged(claim, "gd", delayed, judged, log)


def _logged(
    claim: Claim, dynamics: str, instance: TrajectoryInstance, judged: Judged, log: SearchLog
) -> bool:
    log.judged = judged
    if judged.witness is not None:
        log.again = partial(still_violates, claim, judged.witness, instance, dynamics)
    return True


def _violation_of(claim: Claim, witness: Witness) -> Violation:
    """The violation of a claim along trajectories, read back from the values of its witness."""
    values = witness.values
    relation = next(
        condition for condition in claim.conditions if str(condition) == witness.relation
    )
    lam = Fraction(values["lambda"]) if "lambda" in values else None
    anchor, step = int(values.get("t_0", 0)), int(values["t"])
    return Violation(relation, int(values["i"]) - 1, int(values["j"]) - 1, anchor, step, 0.0, lam)


def still_violates(
    claim: Claim, witness: Witness, instance: TrajectoryInstance, dynamics: str
) -> bool:
    """Whether a trajectory breaks a claim where its witness says so, at a third precision."""
    violation = _violation_of(claim, witness)
    bits = instance.bits + 2 * max(256, instance.bits // 8) + 64
    states = states_at(instance, dynamics, bits, steps_needed(claim, violation))
    with precision(bits):
        sides = confirm(claim, violation, instance, states)
    return sides is not None and instance.is_admissible()
