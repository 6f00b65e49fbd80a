"""Induction over t: a base and a step put together to a statement about every time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import sympy

from swingby.proofs.audit.quotations import Judge, quotations
from swingby.proofs.language.claim import TIME, AllTimes, Claim, Given
from swingby.proofs.language.claim_text import source_text
from swingby.proofs.language.sums import ForEach
from swingby.proofs.prover.evidence import ClaimVerdict
from swingby.theory.verdict import Finding


def by_induction(claim: Claim, claims: Mapping[str, Claim], judge: Judge) -> ClaimVerdict:
    """The verdict on a claim about every t: whether its lines give it at 0, and at t + 1 from t.

    What is given holds at every t. Each line is quoted: its hypotheses have to be known, and of
    its induction hypotheses the statement at time t makes sure. Whether the lines themselves are
    true is a matter of their own records.
    """
    conclusion = claim.conclusion
    assert isinstance(conclusion, AllTimes)
    time = next((now for now, *_ in conclusion.times if str(now) == "t"), TIME)
    depth = 2 if conclusion.second else 1
    moved_given = [given for given in claim.given if conclusion.is_of_now(given.relation)]

    def given_at(place: Any) -> list[Given]:
        return [replace(each, relation=conclusion.at(each.relation, place)) for each in moved_given]

    later = [each for ahead in range(1, depth + 1) for each in given_at(time + ahead)]
    known = [
        Given(conclusion.at(relation, time + ahead), "induction")
        for ahead in range(depth)
        for relation in claim.conditions
    ]
    known += _at_every_time_before(claim, claims.get(conclusion.step), time + depth - 1)
    step_given = (*claim.given, *(each for each in later if each not in claim.given), *known)
    start = (("at t = 0", conclusion.base, 0), ("at t = 1", conclusion.second, 1))
    parts = [(words, line, tuple(given_at(at)), at) for words, line, at in start[:depth]]
    parts.append((f"from t to t + {depth}", conclusion.step, step_given, time + depth))
    evidence, tried = [], []
    for words, line, given, place in parts:
        cited = claims[line].cite() if line in claims else ()
        relations = [conclusion.at(relation, place) for relation in claim.conditions]
        question = claim.but(
            about=f"({claim.id}) {words}",
            conclusion=relations[0] if len(relations) == 1 else sympy.Tuple(*relations),
            given=(*given, *cited),
        )
        source = f" by {source_text(line)}" * bool(line)
        judged = judge(question)
        unmatched = [
            str(each)
            for each in quotations(question, claims, judge, claim)
            if each.open or (each.id == line and each.repairs)
        ]
        if judged.verdict is Finding.PROVED and not unmatched:
            evidence.append(f"{words}{source}: {judged.method}")
        else:
            tried.append(f"{words}{source}: {'; '.join(unmatched) or judged.verdict}")
    method = "induction over t"
    verdict = Finding.UNDECIDED if tried else Finding.PROVED
    return ClaimVerdict(verdict, method, tuple(evidence), tried=tuple(tried))


def _at_every_time_before(claim: Claim, step: Claim | None, last: Any) -> Iterator[Given]:
    """The statement at every time up to now, for a step that asks for it: strong induction."""
    for given in step.given if step else ():
        each = given.relation
        if given.source == "induction" and isinstance(each, ForEach):
            for relation in claim.conditions:
                moved = claim.conclusion.at(relation, each.index)
                yield Given(ForEach(moved, each.index, sympy.Integer(0), last), "induction")
