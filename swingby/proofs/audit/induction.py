"""Induction over t: two lines put together to a statement about every time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import sympy

from swingby.proofs.audit.quotations import Judge, quotations
from swingby.proofs.language.claim import AllTimes, Claim, Given
from swingby.proofs.language.claim_text import source_text
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
    now = [Given(relation, "induction") for relation in claim.conditions]
    moved_given = [given for given in claim.given if conclusion.is_of_now(given.relation)]
    start = [replace(given, relation=conclusion.at_start(given.relation)) for given in moved_given]
    later = [replace(given, relation=conclusion.at_next(given.relation)) for given in moved_given]
    step_given = (*claim.given, *(given for given in later if given not in claim.given), *now)
    parts = (
        ("at t = 0", conclusion.base, tuple(start), conclusion.at_start),
        ("from t to t + 1", conclusion.step, step_given, conclusion.at_next),
    )
    evidence, tried = [], []
    for words, line, given, moved in parts:
        cited = claims[line].cite() if line in claims else ()
        relations = [moved(relation) for relation in claim.conditions]
        question = claim.but(
            about=f"({claim.id}) {words}",
            conclusion=relations[0] if len(relations) == 1 else sympy.Tuple(*relations),
            given=(*given, *cited),
        )
        source = f" by {source_text(line)}" * bool(line)
        judged = judge(question)
        unmatched = [str(each) for each in quotations(question, claims, judge) if each.open]
        if judged.verdict is Finding.PROVED and not unmatched:
            evidence.append(f"{words}{source}: {judged.method}")
        else:
            tried.append(f"{words}{source}: {'; '.join(unmatched) or judged.verdict}")
    method = "induction over t"
    verdict = Finding.UNDECIDED if tried else Finding.PROVED
    return ClaimVerdict(verdict, method, tuple(evidence), tried=tuple(tried))
