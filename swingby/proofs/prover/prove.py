"""One verdict for any claim: which prover a conclusion goes to."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import sympy

from swingby.proofs.language import conclusions
from swingby.proofs.language.claim import AlongTrajectory, Claim
from swingby.proofs.language.repaired_conclusions import ByHand
from swingby.proofs.prover.evidence import Judged, Witness, undecided
from swingby.theory.verdict import Finding

if TYPE_CHECKING:
    from swingby.proofs.prover.trajectories.trajectory_claims import Runs


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
        from swingby.proofs.prover.trajectories.trajectory_claims import judge_trajectory

        return judge_trajectory(claim, progress=progress, runs=runs)
    if is_scalar(claim):
        from swingby.proofs.prover.scalar.scalar_claims import judge_scalar

        return judge_scalar(claim)
    from swingby.proofs.prover.algebra.algebraic_claims import judge_algebra
    from swingby.proofs.prover.repaired.flow import judge_flow

    judged = judge_algebra(claim) or judge_flow(claim)
    if judged is None:
        return undecided("no prover", f"no prover takes a {type(claim.conclusion).__name__}")
    return _within_hypotheses(claim, judged)


def _within_hypotheses(claim: Claim, judged: Judged) -> Judged:
    """A verdict on an algebraic line: refuted only at a point that meets what is given.

    Proofs of such lines use no hypotheses, so that only a refutation has to look at them. Tests of
    steps by hand draw their instances within the hypotheses.
    """
    if judged.verdict is not Finding.REFUTED or isinstance(claim.conclusion, ByHand):
        return judged
    if claim.quantifier == "exists":
        reason = "a point of failure, which says nothing of others"
        return undecided("no prover", f"{judged.method}: {reason}")
    unmet = [known for known in claim.given if not _holds(claim, judged.witness, known.relation)]
    if not unmet:
        return judged
    from swingby.proofs.prover.algebra.matrix import point_of_failure

    under = tuple(known.relation for known in unmet)
    kinds = conclusions.MatrixIdentity | conclusions.EntryIdentity | conclusions.GradientIdentity
    if all(isinstance(one, kinds) for one in (claim.conclusion, *under)):
        witness = point_of_failure(claim.conclusion, claim.where, under)
        if witness is not None:
            return replace(judged, witness=witness)
    sources = ", ".join(dict.fromkeys(known.source for known in unmet))
    reason = f"no point of failure that is known to meet its hypotheses ({sources})"
    return undecided("no prover", f"{judged.method}: {reason}")


def _holds(claim: Claim, witness: Witness | None, given: Any) -> bool:
    """Whether a hypothesis is known to hold at a witness: relations there, identities anywhere."""
    if not isinstance(given, sympy.Basic):
        alone = replace(claim, conclusion=given, given=())
        return judge(alone).verdict is Finding.PROVED
    values = {} if witness is None else witness.values
    for letter, value in claim.where:
        given = given.xreplace({letter: value})
    exact = {
        letter: sympy.Rational(values[letter.name])
        for letter in given.atoms(sympy.Symbol)
        if re.fullmatch(r"-?\d+(/\d+)?", values.get(letter.name, ""))
    }
    try:
        return given.xreplace(exact) is sympy.true
    except TypeError:  # a side has no value there
        return False


def is_scalar(claim: Claim) -> bool:
    """Whether a claim is about numbers alone: relations between commuting expressions."""
    return isinstance(claim.conclusion, sympy.Basic) and all(
        isinstance(part, sympy.core.relational.Relational)
        and all(side.is_commutative for side in part.args)
        for part in claim.conditions
    )
