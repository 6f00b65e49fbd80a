"""One verdict for any claim: which prover a conclusion goes to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import sympy

from swingby.theory.claims.claim import AlongTrajectory, Claim
from swingby.theory.claims.verdict import Finding
from swingby.verify.prover.evidence import Judged

if TYPE_CHECKING:
    from swingby.verify.prover.trajectories.judge import Runs


def judge(
    claim: Claim,
    *,
    progress: Callable[[str], None] | None = None,
    runs: Runs | None = None,
) -> Judged:
    """The verdict on a claim, its repair left aside.

    `progress`: called with one line of text per stage of a search over trajectories.
    `runs`: trajectories followed for an earlier claim, to be used again.
    """
    if isinstance(claim.conclusion, AlongTrajectory):
        from swingby.verify.prover.trajectories.judge import judge_trajectory

        return judge_trajectory(claim, progress=progress, runs=runs)
    if is_scalar(claim):
        from swingby.verify.prover.scalar.dispatch import judge_scalar

        return judge_scalar(claim)
    from swingby.verify.prover.algebra.dispatch import judge_algebra
    from swingby.verify.prover.repaired.flow import judge_flow

    judged = judge_algebra(claim) or judge_flow(claim)
    if judged is None:
        return Judged(
            Finding.UNDECIDED,
            "no prover",
            tried=(f"no prover takes a {type(claim.conclusion).__name__}",),
        )
    return judged


def is_scalar(claim: Claim) -> bool:
    """Whether a claim is about numbers alone: relations between commuting expressions."""
    conclusion = claim.conclusion
    parts = conclusion.args if isinstance(conclusion, sympy.Tuple | sympy.And) else (conclusion,)
    return all(
        isinstance(part, sympy.core.relational.Relational)
        and all(side.is_commutative for side in part.args)
        for part in parts
    )
