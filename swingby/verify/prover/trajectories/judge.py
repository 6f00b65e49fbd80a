"""The verdict on a claim about whole trajectories, for euler and for gd.

Each structured instance inside D.1 to D.5 is followed once in balls, and every claim is looked for
on it. A violation counts once two ball runs of different precision decide it and D.1 to D.5 are
confirmed with explicit constants. A claim that survives is looked for on random instances, followed
in floats; if nothing is found it is *tested*. Nothing is ever proved here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import flint

from swingby.errors import InvalidInput
from swingby.theory.claim import AlongTrajectory, Claim
from swingby.theory.verdict import Finding
from swingby.verify.prover.evidence import NOT_RUN, Judged
from swingby.verify.prover.trajectories.confirmation import (
    Sides,
    confirm,
    meets,
    steps_needed,
    witness,
)
from swingby.verify.prover.trajectories.instances import TrajectoryInstance
from swingby.verify.prover.trajectories.runs import BallRun, Runs, ball_run, states_at
from swingby.verify.prover.trajectories.violation import Violation, scan

DYNAMICS = ("euler", "gd")


def judge_trajectory(
    claim: Claim,
    *,
    search: bool = True,
    progress: Callable[[str], None] | None = None,
    runs: Runs | None = None,
) -> Judged:
    """The verdict on one claim; see :func:`judge_trajectories`."""
    return judge_trajectories([claim], search=search, progress=progress, runs=runs)[claim.id]


def judge_trajectories(
    claims: Iterable[Claim],
    *,
    search: bool = True,
    progress: Callable[[str], None] | None = None,
    runs: Runs | None = None,
) -> dict[str, Judged]:
    """The verdicts on some claims about trajectories, with each trajectory followed once.

    Returns by id. The parts are ``"euler"`` and ``"gd"``; the verdict is *refuted* where it is so
    under euler, the map of the paper, and otherwise the weaker of the two.
    Raises InvalidInput if two claims have one id, or a claim is of another kind.
    """
    asked = list(claims)
    if len({claim.id for claim in asked}) < len(asked):
        raise InvalidInput("claims", "two claims of one id", "must have different ids")
    for claim in asked:
        if not isinstance(claim.conclusion, AlongTrajectory):
            raise InvalidInput("claims", claim.id, "must be a claim about trajectories")
    if not search:
        return dict.fromkeys((claim.id for claim in asked), NOT_RUN)
    runs = Runs() if runs is None else runs
    if progress is not None:
        runs.progress = progress
    by_dynamics = {dynamics: _judge_all(asked, dynamics, runs) for dynamics in DYNAMICS}
    return {
        claim.id: _together({dynamics: by_dynamics[dynamics][claim.id] for dynamics in DYNAMICS})
        for claim in asked
    }


def _together(parts: dict[str, Judged]) -> Judged:
    euler, gd = parts["euler"], parts["gd"]
    worst = Finding.UNDECIDED
    leading = euler
    if euler.verdict == Finding.REFUTED:
        worst = Finding.REFUTED
    elif Finding.UNDECIDED not in (euler.verdict, gd.verdict):
        worst = Finding.TESTED
    return Judged(
        worst,
        "; ".join(f"{name}: {part.verdict.value}" for name, part in parts.items()),
        tuple(f"{name}: {line}" for name, part in parts.items() for line in part.evidence),
        leading.witness if worst == Finding.REFUTED else None,
        sum(part.cases for part in parts.values()) if worst == Finding.TESTED else 0,
        tuple(f"{name}: {line}" for name, part in parts.items() for line in part.tried),
        parts,
    )


def _judge_all(claims: list[Claim], dynamics: str, runs: Runs) -> dict[str, Judged]:
    found: dict[str, Judged] = {}
    followed: dict[str, list[str]] = {claim.id: [] for claim in claims}
    for instance in runs.candidates:
        if dynamics not in instance.dynamics:
            continue
        pending = [claim for claim in claims if claim.id not in found and meets(claim, instance)]
        if not pending:
            continue
        run = runs.in_balls(instance, dynamics)
        seen = {
            claim.id: (claim, violation)
            for claim in pending
            if (violation := scan(claim, instance, run.recorded)) is not None
        }
        found |= confirm_all(seen, run, runs.report)
        for claim in pending:
            followed[claim.id].append(instance.name)
    for claim in claims:
        if claim.id not in found:
            runs.report(f"{dynamics}, random instances: {claim.id}")
            found[claim.id] = _test(claim, dynamics, runs, followed[claim.id])
    return found


def confirm_all(
    seen: dict[str, tuple[Claim, Violation]],
    run: BallRun,
    report: Callable[[str], None],
) -> dict[str, Judged]:
    """Verdicts for what two ball runs decide; the second run is shared by all claims.

    Returns *refuted*, with a witness; the ids that balls do not decide are left out.
    """
    first: dict[str, Sides] = {}
    with flint.ctx.workprec(run.bits):
        for name, (claim, violation) in seen.items():
            sides = confirm(claim, violation, run.instance, run.states)
            if sides is not None:
                first[name] = sides
    if not first or not run.instance.is_admissible():
        return {}
    bits = run.bits + max(256, run.bits // 8)
    steps = {step for name in first for step in steps_needed(*seen[name])}
    report(f"{run.dynamics}, {run.instance.name}: confirmed in balls of {bits} bits")
    again = states_at(run.instance, run.dynamics, bits, steps)
    checked = (
        f"balls of {run.bits} bits",
        f"balls of {bits} bits",
        "D.1 to D.5 with these constants, and W(0) = U U^T, exactly",
    )
    found = {}
    for name in first:
        claim, violation = seen[name]
        with flint.ctx.workprec(bits):
            sides = confirm(claim, violation, run.instance, again)
        if sides is None:
            continue
        shown = witness(violation, run.instance, run.dynamics, sides, again, checked)
        found[name] = Judged(
            Finding.REFUTED,
            "trajectory in balls",
            (
                str(run.instance),
                f"entry ({violation.i + 1}, {violation.j + 1}) at step {violation.step}, "
                f"eta t = {float(run.instance.eta * violation.step):.6g}: {_short(sides.left)} "
                f"against {_short(sides.right)}",
            ),
            shown,
        )
    return found


def _test(claim: Claim, dynamics: str, runs: Runs, followed: list[str]) -> Judged:
    cases = steps = doubtful = 0
    for index, instance in enumerate(runs.random):
        if not meets(claim, instance):
            continue
        recorded = runs.in_floats(index, dynamics)
        violation = scan(claim, instance, recorded)
        cases += 1
        steps += len(recorded.steps)
        if violation is not None:
            judged = confirm_violation(claim, violation, instance, dynamics, runs.report)
            if judged is not None:
                return judged
            doubtful += 1
    lines = tuple(f"no violation: {name}" for name in followed)
    if doubtful or not cases:
        reason = (
            f"{doubtful} of {cases} random instances show a violation that balls do not confirm"
        )
        return Judged(Finding.UNDECIDED, "random trajectories", lines, tried=(reason,))
    summary = f"no violation on {cases} random instances, {steps} recorded steps"
    return Judged(Finding.TESTED, "random trajectories", (*lines, summary), cases=cases)


def confirm_violation(
    claim: Claim,
    violation: Violation,
    instance: TrajectoryInstance,
    dynamics: str,
    report: Callable[[str], None],
) -> Judged | None:
    """Decide what a run in floats showed, by two ball runs and exact constants.

    Returns *refuted*; None where balls see no violation, or do not decide it.
    """
    exact = replace(instance, steps=violation.step + 2)
    report(f"{dynamics}, a violation of {claim.id} is looked at in balls: {instance}")
    run = ball_run(exact, dynamics)
    again = scan(claim, exact, run.recorded)
    if again is None:
        return None
    return confirm_all({claim.id: (claim, again)}, run, report).get(claim.id)


def _short(digits: str) -> str:
    return str(flint.arb(digits).str(6, radius=False))
