"""Scalar claims: inequalities and equations between real expressions, proved or refuted.

A claim is judged in the order: exact expansion, a quick search for a counterexample, a positivity
certificate with z3 as a second opinion, boxes in one or two letters, a longer search. Only exact
arithmetic and balls ever lead to *proved* or *refuted*.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import sympy

from swingby.errors import InvalidInput
from swingby.theory.claim import Claim
from swingby.theory.verdict import Finding
from swingby.verify.prover.evidence import Judged
from swingby.verify.prover.scalar.argument import Attempt, by_boxes, by_certificate, by_expansion
from swingby.verify.prover.scalar.cases import insert_definitions, normal
from swingby.verify.prover.scalar.counterexample import LONG, QUICK, Search, confirm, counterexample
from swingby.verify.prover.scalar.relation import FALSUM, Relation, Sequent, relation_from


def judge_scalar(claim: Claim, *, rng: int = 0) -> Judged:
    """The verdict on a claim between real expressions.

    Parameters
    ----------
    claim : Claim
        Its conclusion is one of <=, <, >=, >, =, or an And of them. A chain is proved if every
        relation is, and refuted if one is. "exists" is judged through its negation.
    rng : int
        Seed of the search for counterexamples.

    Raises
    ------
    InvalidInput
        If the conclusion or a hypothesis is no such relation.
    RuntimeError
        If a proof and a counterexample are both found, which only a bug can do.

    Examples
    --------
    >>> from swingby.theory.derivations.letters import a_i, alpha, gamma, le, given
    >>> claim = Claim("example", "step", "", le(a_i, 2 * gamma * alpha),
    ...               given("case", le(a_i, gamma * alpha)))
    >>> judge_scalar(claim).verdict.value
    'proved'
    """
    given = tuple(
        insert_definitions(relation_from(known.relation, known.source), claim.where)
        for known in claim.given
    )
    goals = [
        insert_definitions(relation_from(relation, claim.id), claim.where)
        for relation in claim.conditions
    ]
    if not goals:
        raise InvalidInput("conclusion", claim.conclusion, "must be a relation", claim.id)
    if claim.quantifier == "exists":
        return _existence(given, goals, claim, rng)
    parts = [
        _judge(Search(Sequent(given, goal), claim.in_force, claim.indices), rng) for goal in goals
    ]
    return parts[0] if len(parts) == 1 else _chain(goals, parts)


def _chain(goals: list[Relation], parts: list[Judged]) -> Judged:
    named = {str(goal): part for goal, part in zip(goals, parts, strict=True)}
    verdicts = {part.verdict for part in parts}
    evidence = tuple(f"{name}: {line}" for name, part in named.items() for line in part.evidence)
    methods = "; ".join(dict.fromkeys(part.method for part in parts))
    if Finding.REFUTED in verdicts:
        first = next(part for part in parts if part.verdict is Finding.REFUTED)
        return replace(first, evidence=evidence, parts=named)
    verdict = Finding.PROVED if verdicts == {Finding.PROVED} else Finding.UNDECIDED
    tried = tuple(dict.fromkeys(line for part in parts for line in part.tried))
    return Judged(verdict, methods, evidence, tried=tried, parts=named)


def _existence(
    given: tuple[Relation, ...], goals: list[Relation], claim: Claim, rng: int
) -> Judged:
    """Judge "exists" by its negation: the other relations given, the last one fails."""
    inequalities = [goal for goal in goals if goal.kind != "=="]
    last = inequalities[-1] if inequalities else None
    known = given + tuple(goal for goal in goals if goal is not last)
    target = FALSUM if last is None else last.negation()
    found = _judge(Search(Sequent(known, target), claim.in_force, claim.indices), rng)
    turned = {Finding.PROVED: Finding.REFUTED, Finding.REFUTED: Finding.PROVED}
    verdict = turned.get(found.verdict, found.verdict)
    if verdict is Finding.PROVED and found.witness is not None:
        met = replace(found.witness, relation=f"not ({found.witness.relation})")
        where = found.method.replace("counterexample", "example")
        return replace(
            found, verdict=verdict, method=where, evidence=("an example satisfies it",), witness=met
        )
    head = {
        Finding.REFUTED: "nothing satisfies it: its negation is proved",
    }.get(verdict, "its negation is undecided")
    return replace(found, verdict=verdict, evidence=(head, *found.evidence))


def _judge(search: Search, rng: int) -> Judged:
    # Proofs are of the evaluated form; witnesses are checked against what is written.
    sequent = normal(search.sequent)
    tried: list[str] = []
    attempt = by_expansion(sequent, rng)
    if attempt.proved:
        return _proved(attempt)
    witness = counterexample(search, effort=QUICK, rng=rng)
    if witness is None:
        few = len(sequent.goal.symbols) <= 2
        for strategy in (by_boxes, by_certificate) if few else (by_certificate, by_boxes):
            attempt = strategy(sequent, rng)
            if attempt.proved:
                return _proved(attempt)
            tried.extend(attempt.tried)
            for point in attempt.candidates:
                witness = witness or confirm(search, point)
            if witness is not None:
                break
    elif by_certificate(sequent, rng, effort=0).proved:
        raise RuntimeError(f"a proof and a counterexample of {sequent.goal}: {witness}")
    if witness is None:
        witness = counterexample(search, effort=LONG, rng=rng + 1)
    if witness is None:
        return Judged(Finding.UNDECIDED, "", tried=(*tried, "search for a counterexample"))
    inside = " inside Assumptions D.1 to D.5" if search.in_force else ""
    line = f"{witness.relation} fails{inside}: {witness.left} against {witness.right}"
    return Judged(Finding.REFUTED, f"counterexample{inside}", (line,), witness)


def _proved(attempt: Attempt) -> Judged:
    return Judged(Finding.PROVED, attempt.method, attempt.evidence)


def is_scalar(conclusion: Any) -> bool:
    """Whether a conclusion is for this prover."""
    chain = isinstance(conclusion, sympy.And | sympy.Tuple)
    relations = conclusion.args if chain else (conclusion,)
    return all(isinstance(relation, sympy.core.relational.Relational) for relation in relations)
