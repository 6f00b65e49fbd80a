"""The verdict on any claim: each conclusion goes to the prover of its kind."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import sympy

from swingby.proofs.language import conclusions
from swingby.proofs.language.claim import AlongTrajectory, Claim
from swingby.proofs.language.repaired_conclusions import ByHand
from swingby.proofs.prover.algebra.shaped_claims import decide_shaped, is_about_matrices
from swingby.proofs.prover.evidence import ClaimVerdict, Witness, undecided
from swingby.theory.verdict import Finding

if TYPE_CHECKING:
    from swingby.proofs.prover.trajectories.trajectory_runs import TrajectoryRuns


def decide(
    claim: Claim,
    *,
    progress: Callable[[str], None] | None = None,
    runs: TrajectoryRuns | None = None,
) -> ClaimVerdict:
    """Decide a claim: proved, refuted, tested or undecided. Its repair is left aside.

    Parameters
    ----------
    claim : Claim
    progress : callable, optional
        Called with a line of text per stage of a search over trajectories.
    runs : TrajectoryRuns, optional
        Trajectories followed for an earlier claim, to be used again.

    Returns
    -------
    ClaimVerdict
        The verdict, its method and evidence, and a witness if it is refuted.

    Raises
    ------
    InvalidInput
        If a relation of the claim is none between real numbers, has a number that is not exact, or
        a definition is circular.

    Examples
    --------
    >>> import sympy
    >>> from swingby.proofs.language.claim import Claim
    >>> x = sympy.Symbol("x", real=True)
    >>> line = sympy.Le(2 * x, x**2 + 1, evaluate=False)
    >>> decide(Claim("a square", "step", "", line)).verdict.value
    'proved'
    """
    if isinstance(claim.conclusion, AlongTrajectory):
        from swingby.proofs.prover.trajectories.trajectory_claims import decide_trajectory

        return decide_trajectory(claim, progress=progress, runs=runs)
    if is_about_matrices(claim):
        return decide_shaped(claim)
    if is_scalar(claim):
        from swingby.proofs.prover.distributions import confirmed, has_means
        from swingby.proofs.prover.sums.sum_claims import (
            decide_sequences,
            decide_sums,
            speaks_of_sums,
        )

        verdict = decide_sums(claim) if speaks_of_sums(claim) else decide_sequences(claim)
        return confirmed(claim, verdict) if has_means(claim) else verdict
    from swingby.proofs.prover.algebra.algebraic_claims import decide_algebra
    from swingby.proofs.prover.repaired.flow import decide_flow

    judged = decide_algebra(claim) or decide_flow(claim)
    if judged is None:
        return undecided("no prover", f"no prover takes a {type(claim.conclusion).__name__}")
    return _within_hypotheses(claim, judged)


#: The name of :func:`decide` before, for one release.
judge = decide


def _within_hypotheses(claim: Claim, judged: ClaimVerdict) -> ClaimVerdict:
    """A verdict on an algebraic line: refuted only at a point that meets what is given.

    Proofs of such lines use no hypotheses, so that only a refutation has to look at them. Tests of
    steps by hand draw their instances within the hypotheses.
    """
    if judged.verdict is not Finding.REFUTED or isinstance(claim.conclusion, ByHand):
        return judged
    if claim.quantifier == "exists":
        reason = "a point of failure, which says nothing of others"
        return undecided("no prover", f"{judged.method}: {reason}")
    unmet = [
        hypothesis
        for hypothesis in claim.given
        if not _holds(claim, judged.witness, hypothesis.relation)
    ]
    if not unmet:
        return judged
    from swingby.proofs.prover.algebra.matrix import point_of_failure

    under = tuple(hypothesis.relation for hypothesis in unmet)
    kinds = conclusions.MatrixIdentity | conclusions.EntryIdentity | conclusions.GradientIdentity
    if all(isinstance(statement, kinds) for statement in (claim.conclusion, *under)):
        witness = point_of_failure(claim.conclusion, claim.where, under)
        if witness is not None:
            return replace(judged, witness=witness)
    sources = ", ".join(dict.fromkeys(hypothesis.source for hypothesis in unmet))
    reason = f"no point of failure that is known to meet its hypotheses ({sources})"
    return undecided("no prover", f"{judged.method}: {reason}")


def _holds(claim: Claim, witness: Witness | None, relation: Any) -> bool:
    """Whether a hypothesis is known to hold at a witness: relations there, identities anywhere."""
    if not isinstance(relation, sympy.Basic):
        alone = replace(claim, conclusion=relation, given=())
        return decide(alone).verdict is Finding.PROVED
    values = {} if witness is None else witness.values
    for letter, value in claim.where:
        relation = relation.xreplace({letter: value})
    exact = {
        letter: sympy.Rational(values[letter.name])
        for letter in relation.atoms(sympy.Symbol)
        if re.fullmatch(r"-?\d+(/\d+)?", values.get(letter.name, ""))
    }
    try:
        return relation.xreplace(exact) is sympy.true
    except TypeError:  # a side has no value there
        return False


def is_scalar(claim: Claim) -> bool:
    """Whether a claim is about numbers alone: relations between commuting expressions."""
    return (
        isinstance(claim.conclusion, sympy.Basic)
        and all(
            isinstance(relation, sympy.core.relational.Relational)
            and all(side.is_commutative for side in relation.args)
            for relation in claim.conditions
        )
        and not is_about_matrices(claim)
    )


def is_of_relations(claim: Claim) -> bool:
    """Whether a claim is about numbers, or about matrices with shapes."""
    return is_scalar(claim) or is_about_matrices(claim)
