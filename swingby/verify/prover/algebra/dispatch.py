"""Verdicts on algebraic claims: matrices, entries, means, solutions, and several in one display."""

from __future__ import annotations

from dataclasses import replace

from swingby.theory.claim import Claim, MatrixIdentity, MeanIdentity
from swingby.theory.derivations.conclusions import (
    Both,
    EmpiricalLimit,
    EntryIdentity,
    FlowSolution,
    GradientIdentity,
    LossOrder,
    SameDistribution,
    to_text,
)
from swingby.theory.verdict import Finding
from swingby.verify.prover.algebra.matrix import judge_matrix
from swingby.verify.prover.algebra.mean import judge_mean
from swingby.verify.prover.algebra.order import judge_order
from swingby.verify.prover.algebra.solution import judge_solution
from swingby.verify.prover.evidence import Judged


def judge_algebra(claim: Claim) -> Judged | None:
    """The verdict on a claim whose conclusion is algebraic.

    Returns None where the conclusion is of another kind, such as an inequality.

    Examples
    --------
    >>> from swingby.theory.derivations.ledger import by_id
    >>> judged = judge_algebra(by_id("D.2"))
    >>> str(judged.verdict), judged.witness.left, judged.witness.right
    ('refuted', '-48', '-24')
    >>> str(judge_algebra(by_id("D.2").repair).verdict)
    'proved'
    """
    conclusion = claim.conclusion
    if isinstance(conclusion, MatrixIdentity | EntryIdentity | GradientIdentity):
        return judge_matrix(claim)
    if isinstance(conclusion, MeanIdentity | SameDistribution | EmpiricalLimit):
        return judge_mean(claim)
    if isinstance(conclusion, FlowSolution):
        return judge_solution(claim)
    if isinstance(conclusion, LossOrder):
        return judge_order(claim)
    if isinstance(conclusion, Both):
        return _judge_both(claim)
    return None


def _judge_both(claim: Claim) -> Judged | None:
    parts: dict[str, Judged] = {}
    for conclusion in claim.conclusion.parts:
        judged = judge_algebra(replace(claim, conclusion=conclusion))
        if judged is None:
            return None
        parts[to_text(conclusion)] = judged
    verdicts = [part.verdict for part in parts.values()]
    for decisive in (Finding.REFUTED, Finding.UNDECIDED):
        for part in parts.values():
            if part.verdict is decisive:
                return replace(part, parts=parts)
    method = "; ".join(dict.fromkeys(part.method for part in parts.values()))
    evidence = tuple(line for part in parts.values() for line in part.evidence)
    finding = Finding.PROVED if set(verdicts) == {Finding.PROVED} else Finding.UNDECIDED
    return Judged(finding, method, evidence, parts=parts)
