"""The search along trajectories: draw, follow in floats, keep what comes close, shrink, confirm.

Instances are drawn inside D.1 to D.5 and the claim's own hypotheses. Every other one is a change of
an earlier one that came close. What a run in floats shows is made simpler and then decided in
balls; what balls do not decide is counted and not reported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from swingby.errors import InvalidInput
from swingby.theory.claim import Claim
from swingby.verify.hunting import delayed
from swingby.verify.hunting.again import still_violates
from swingby.verify.hunting.clock import Clock
from swingby.verify.hunting.closeness import Closest, closest_call
from swingby.verify.hunting.draft import Draft
from swingby.verify.hunting.drawing import Asked, asked_by, draw, mutate
from swingby.verify.hunting.shrinking import Candidate, show, shrink
from swingby.verify.prover.evidence import Judged
from swingby.verify.prover.trajectories.confirmation import meets
from swingby.verify.prover.trajectories.instances import TrajectoryInstance
from swingby.verify.prover.trajectories.judge import confirm_all, confirm_violation
from swingby.verify.prover.trajectories.runs import ball_run, float_run
from swingby.verify.prover.trajectories.violation import scan

#: The search ends after so many instances even if there is time left.
MOST_INSTANCES = 100_000
#: So many draws in a row outside the hypotheses end it too.
MOST_MISSES = 3_000
#: A delayed concept is tried after so many instances, under gradient descent.
DELAYED_AFTER = (12, 400, 3000)
#: The share of instances that are changes of an earlier one.
CHANGED = 0.6
#: So many instances that came close are kept and changed.
KEPT = 6
#: A violation later than this, in two and three dimensions, is not followed in balls: the two runs
#: would take more than half a minute.
MOST_BALL_STEPS = 500_000


@dataclass
class Hunted:
    """What a search brings back.

    `instances`, `steps`: instances looked at, and the recorded steps on which the claim was
    evaluated.
    `unconfirmed`: violations in floats that balls do not confirm.
    `judged`: *refuted*, or None.
    `again`: follows the counterexample once more.
    """

    instances: int = 0
    steps: int = 0
    closest: Closest | None = None
    unconfirmed: int = 0
    shrinks: int = 0
    judged: Judged | None = None
    again: Callable[[], bool] | None = None


def search(
    claim: Claim, dynamics: str, rng: np.random.Generator, clock: Clock, dim: int | None = None
) -> Hunted:
    """Look for a trajectory that breaks a claim.

    `claim`: with an AlongTrajectory as conclusion. `dynamics` in {"euler", "gd"}. Raises
    InvalidInput if the relation is none that a scan can evaluate.
    """
    asked, found = asked_by(claim), Hunted()
    kept: list[tuple[float, Draft]] = []
    misses, waiting = 0, list(DELAYED_AFTER if dynamics == "gd" and dim in (None, 3) else ())
    while found.instances < MOST_INSTANCES and misses < MOST_MISSES and not clock.over():
        if waiting and found.instances >= waiting[0]:
            waiting.pop(0)
            if _try_delayed(claim, rng, clock, found):
                return found
            continue
        draft = _next_draft(kept, rng, dim, asked)
        instance = None if draft is None else draft.instance()
        if draft is None or instance is None or not meets(claim, instance):
            misses += 1
            continue
        misses = 0
        score = _look(claim, dynamics, draft, instance, found)
        if isinstance(score, Candidate):
            if _decide(claim, dynamics, score, clock, found):
                return found
        elif score is not None:
            kept.append((score, draft))
            kept.sort(key=lambda pair: -pair[0])
            del kept[KEPT:]
        if found.instances % 50 == 0:
            clock.report(_progress(found))
    return found


def _next_draft(
    kept: list[tuple[float, Draft]], rng: np.random.Generator, dim: int | None, asked: Asked
) -> Draft | None:
    if kept and rng.random() < CHANGED:
        return mutate(kept[int(rng.integers(len(kept)))][1], rng, asked)
    return draw(rng, dim, asked)


def _look(
    claim: Claim, dynamics: str, draft: Draft, instance: TrajectoryInstance, found: Hunted
) -> Candidate | float | None:
    """A candidate, or minus the slack of the closest call, or None where nothing comes close."""
    recorded = float_run(instance, dynamics)
    try:
        violation = scan(claim, instance, recorded)
        found.instances += 1
        found.steps += len(recorded.steps)
        if violation is not None:
            return Candidate(draft, instance, violation, len(recorded.steps))
        near = closest_call(claim, instance, recorded)
    except (KeyError, TypeError) as error:
        raise InvalidInput(
            "statement", claim.id, f"must be a claim that a scan can evaluate: {error}"
        ) from error
    if near is None:
        return None
    slack = max(-near.excess, 0.0)
    if found.closest is None or slack < found.closest.slack:
        entry = f"entry ({near.i + 1}, {near.j + 1}) at step {near.step}"
        values = {"dynamics": dynamics} | instance.values()
        found.closest = Closest(slack, str(instance), f"{near.relation}, {entry}", values)
    return near.excess


def _decide(claim: Claim, dynamics: str, candidate: Candidate, clock: Clock, found: Hunted) -> bool:
    """Make a candidate simpler and confirm it in balls."""
    clock.report(f"a violation in floats is made simpler: {candidate.instance}")
    shrinking = clock.part(0.5)

    def look(draft: Draft) -> Candidate | None:
        seen = show(draft, claim, dynamics)
        found.steps += 0 if seen is None else seen.steps
        return seen

    simple, shrinks = shrink(candidate, look, shrinking.over)
    for one in dict.fromkeys((simple.draft, candidate.draft)):
        chosen = simple if one == simple.draft else candidate
        if chosen is not simple and clock.over():
            break
        if chosen.violation.step * max(1.0, (chosen.draft.d / 3) ** 3) > MOST_BALL_STEPS:
            continue
        judged = confirm_violation(claim, chosen.violation, chosen.instance, dynamics, clock.report)
        if judged is not None:
            found.judged, found.shrinks = judged, shrinks if chosen is simple else 0
            found.again = _again(claim, judged, chosen.instance, dynamics)
            return True
    found.unconfirmed += 1
    return False


def _try_delayed(claim: Claim, rng: np.random.Generator, clock: Clock, found: Hunted) -> bool:
    """Concept 2 delayed by a root search over one entry; followed in balls from the start."""
    delay = delayed.draw_delay(rng)
    plain = delayed.build(delay, Fraction(0))
    if plain is None or not meets(claim, plain):
        return False
    clock.report(f"concept 2 is delayed by a root search: {plain}")
    epsilon = delayed.solve(delay, clock.over)
    instance = None if epsilon is None else delayed.build(delay, epsilon)
    if instance is None or not meets(claim, instance):
        return False
    run = ball_run(instance, "gd", clock.over)
    violation = scan(claim, instance, run.recorded)
    found.instances += 1
    found.steps += len(run.recorded.steps)
    if violation is None:
        return False
    judged = confirm_all({claim.id: (claim, violation)}, run, clock.report).get(claim.id)
    if judged is None:
        found.unconfirmed += 1
        return False
    found.judged = judged
    found.again = _again(claim, judged, instance, "gd")
    return True


def _again(
    claim: Claim, judged: Judged, instance: TrajectoryInstance, dynamics: str
) -> Callable[[], bool] | None:
    if judged.witness is None:  # pragma: no cover
        return None
    return partial(still_violates, claim, judged.witness, instance, dynamics)


def _progress(found: Hunted) -> str:
    near = "" if found.closest is None else f", smallest slack {found.closest.slack:.3g}"
    doubt = f", {found.unconfirmed} not confirmed" if found.unconfirmed else ""
    return f"{found.instances} instances{near}{doubt}"
