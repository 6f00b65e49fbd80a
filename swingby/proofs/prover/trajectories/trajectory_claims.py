"""Decisions on claims about whole trajectories, for euler and for gd.

Structured instances inside D.1 to D.5 are followed in balls, and violations are looked for on them.
A violation counts once two ball runs of different precision decide it (both sides, the anchor, and
every step between) and D.1 to D.5 are confirmed with explicit constants. A claim that survives is
looked for on random instances, followed in floats; if nothing is found it is *tested*. Nothing is
ever proved here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import flint

from swingby.proofs.certify.ball_run import BallState
from swingby.proofs.language.claim import Claim
from swingby.proofs.prover.evidence import ClaimVerdict
from swingby.proofs.prover.trajectories.instances import TrajectoryInstance
from swingby.proofs.prover.trajectories.trajectory_runs import (
    BallRun,
    TrajectoryRuns,
    ball_run,
    states_at,
)
from swingby.proofs.prover.trajectories.violation import Violation, scan
from swingby.proofs.prover.trajectories.violation_check import (
    confirm,
    meets_hypotheses,
    steps_needed,
    witness,
)
from swingby.theory.balls import precision
from swingby.theory.verdict import Finding

_DYNAMICS = ("euler", "gd")


def decide_trajectory(
    claim: Claim,
    *,
    progress: Callable[[str], None] | None = None,
    runs: TrajectoryRuns | None = None,
) -> ClaimVerdict:
    """The verdict on a claim about trajectories, in parts ``"euler"`` and ``"gd"``.

    It is *refuted* where it is so under euler, the map of the paper, and otherwise the weaker of
    the two. `runs`: trajectories followed for an earlier claim, to be used again.
    """
    runs = TrajectoryRuns() if runs is None else runs
    if progress is not None:
        runs.progress = progress
    return _join_dynamics(
        {dynamics: _decide_under(claim, dynamics, runs) for dynamics in _DYNAMICS}
    )


def _join_dynamics(judgements: dict[str, ClaimVerdict]) -> ClaimVerdict:
    euler, verdicts = judgements["euler"], {judged.verdict for judged in judgements.values()}
    worst, witness, cases = Finding.UNDECIDED, None, 0
    if euler.verdict == Finding.REFUTED:
        worst, witness = Finding.REFUTED, euler.witness
    elif Finding.UNDECIDED not in verdicts:
        worst, cases = Finding.TESTED, sum(judged.cases for judged in judgements.values())
    return ClaimVerdict(
        worst,
        "; ".join(f"{name}: {judged.verdict.value}" for name, judged in judgements.items()),
        tuple(f"{name}: {line}" for name, judged in judgements.items() for line in judged.evidence),
        witness,
        cases,
        tuple(f"{name}: {line}" for name, judged in judgements.items() for line in judged.tried),
        judgements,
    )


def _decide_under(claim: Claim, dynamics: str, runs: TrajectoryRuns) -> ClaimVerdict:
    followed: list[str] = []
    for instance in runs.candidates:
        if dynamics not in instance.dynamics or not meets_hypotheses(claim, instance):
            continue
        run = runs.in_balls(instance, dynamics)
        violation = scan(claim, instance, run.recorded)
        if violation is not None:
            judged = refutation(claim, violation, run, runs.report, runs.repeat)
            if judged is not None:
                return judged
        followed.append(instance.name)
    runs.report(f"{dynamics}, random instances: {claim.id}")
    return _test_at_random(claim, dynamics, runs, followed)


def refutation(
    claim: Claim,
    violation: Violation,
    run: BallRun,
    report: Callable[[str], None],
    states: Callable[..., dict[int, BallState]] | None = None,
) -> ClaimVerdict | None:
    """*Refuted*, with a witness, if two ball runs decide a violation; None if they do not.

    `states`: what follows the second run, in place of :func:`states_at`.
    """
    instance, bits = run.instance, run.instance.bits
    with precision(bits):
        first = confirm(claim, violation, instance, run.states)
    if first is None or not instance.is_admissible():
        return None
    more_bits = bits + max(256, bits // 8)
    report(f"{run.dynamics}, {instance.name}: confirmed in balls of {more_bits} bits")
    steps = set(steps_needed(claim, violation))
    again = (states or states_at)(instance, run.dynamics, more_bits, steps)
    with precision(more_bits):
        second = confirm(claim, violation, instance, again)
    if second is None:
        return None
    checked = (
        f"balls of {bits} bits",
        f"balls of {more_bits} bits",
        "D.1 to D.5 with these constants, and W(0) = U U^T, exactly",
    )
    line = (
        f"entry ({violation.i + 1}, {violation.j + 1}) at step {violation.step}, "
        f"eta t = {float(instance.eta * violation.step):.6g}: "
        + " against ".join(flint.arb(side).str(6, radius=False) for side in second)
    )
    counterexample = witness(violation, instance, run.dynamics, second, again, checked)
    return ClaimVerdict(
        Finding.REFUTED, "trajectory in balls", (str(instance), line), counterexample
    )


def _test_at_random(
    claim: Claim, dynamics: str, runs: TrajectoryRuns, followed: list[str]
) -> ClaimVerdict:
    cases = steps = doubtful = 0
    for index, instance in enumerate(runs.random):
        if not meets_hypotheses(claim, instance):
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
        return ClaimVerdict(Finding.UNDECIDED, "random trajectories", lines, tried=(reason,))
    summary = f"no violation on {cases} random instances, {steps} recorded steps"
    return ClaimVerdict(Finding.TESTED, "random trajectories", (*lines, summary), cases=cases)


def confirm_violation(
    claim: Claim,
    violation: Violation,
    instance: TrajectoryInstance,
    dynamics: str,
    report: Callable[[str], None],
) -> ClaimVerdict | None:
    """Decide what a run in floats showed, by two ball runs and exact constants.

    Returns *refuted*; None where balls see no violation, or do not decide it.
    """
    exact = replace(instance, steps=violation.step + 2)
    report(f"{dynamics}, a violation of {claim.id} is looked at in balls: {instance}")
    run = ball_run(exact, dynamics)
    again = scan(claim, exact, run.recorded)
    return None if again is None else refutation(claim, again, run, report)
