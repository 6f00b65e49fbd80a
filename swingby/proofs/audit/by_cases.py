"""Proofs by cases: lines that prove the same, each in a case, where no case is missing."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import sympy

from swingby.proofs.audit.induction import by_induction
from swingby.proofs.audit.quotations import Judge, quotations
from swingby.proofs.language.claim import AllTimes, ByCases, Claim, Given
from swingby.proofs.language.claim_text import source_text
from swingby.proofs.language.formula_printer import formula
from swingby.proofs.prover.evidence import ClaimVerdict
from swingby.theory.verdict import Finding

#: What does not hold where a relation holds, by its kind.
_OPPOSITES = {
    **{sympy.Le: sympy.Gt, sympy.Gt: sympy.Le, sympy.Lt: sympy.Ge, sympy.Ge: sympy.Lt},
    **{sympy.Eq: sympy.Ne, sympy.Ne: sympy.Eq},
}
#: More choices of a relation of each case are not looked at.
_MOST_CHOICES = 64


def put_together(claim: Claim, claims: Mapping[str, Claim], judge: Judge) -> ClaimVerdict:
    """The verdict on a claim that other lines prove together."""
    is_induction = isinstance(claim.conclusion, AllTimes)
    return (by_induction if is_induction else by_cases)(claim, claims, judge)


def by_cases(claim: Claim, claims: Mapping[str, Claim], judge: Judge) -> ClaimVerdict:
    """The verdict on a claim that its lines prove case by case.

    A case of a line is what it is given from ``[case]`` and is not given here. Each line is quoted,
    so that its other hypotheses have to be known. Whether a line is true is a matter of its record.
    """
    conclusion = claim.conclusion
    assert isinstance(conclusion, ByCases)
    known = [given.relation for given in claim.given]
    relations = claim.conditions
    evidence, tried, cases = list[str](), list[str](), list[list[Any]]()
    for name in conclusion.lines:
        listed = [x.relation for x in claims[name].given if x.source == "case"]
        cases.append([relation for relation in listed if relation not in known])
        question = claim.but(
            about=f"({claim.id}) by {source_text(name)}",
            conclusion=relations[0] if len(relations) == 1 else sympy.Tuple(*relations),
            given=(
                *claim.given,
                *(Given(relation, "case") for relation in cases[-1]),
                *claims[name].cite(),
            ),
        )
        words = f"{_words(cases[-1])}: by {source_text(name)}"
        judged = judge(question)
        unmatched = [str(each) for each in quotations(question, claims, judge) if each.open]
        if unmatched or judged.verdict is not Finding.PROVED:
            tried.append(f"{words}: {'; '.join(unmatched) or judged.verdict}")
        else:
            evidence.append(f"{words}: {judged.method}")
    tried += _missing(claim, cases, judge)
    verdict = Finding.UNDECIDED if tried else Finding.PROVED
    if not tried:
        evidence.append(f"no other case: {'; or '.join(map(_words, cases))}")
    return ClaimVerdict(verdict, "cases", tuple(evidence), tried=tuple(tried))


def _words(case: Sequence[Any]) -> str:
    return (
        " and ".join(formula(x) if isinstance(x, sympy.Basic) else x.lines() for x in case)
        or "always"
    )


def _missing(claim: Claim, cases: list[list[Any]], judge: Judge) -> list[str]:
    """Why it is not sure that there is no other case: in each choice of relations one holds."""
    if not all(isinstance(x, sympy.Rel) for case in cases for x in case):
        return ["a case that is no relation"]
    choices = list(itertools.islice(itertools.product(*cases), _MOST_CHOICES + 1))
    if len(choices) > _MOST_CHOICES:
        return ["the cases have too many relations"]
    for choice in choices:
        reasons = []
        for place, last in enumerate(choice):
            others = (x for at, x in enumerate(choice) if at != place)
            opposite = (_OPPOSITES[type(x)](*x.args, evaluate=False) for x in others)
            question = claim.but(
                about=f"the cases of ({claim.id})",
                conclusion=last,
                given=(*claim.given, *(Given(x, "case") for x in opposite)),
            )
            judged = judge(question)
            if judged.verdict is Finding.PROVED:
                break
            reasons.append(f"it is not sure that {' or '.join(map(formula, choice))}")
            if judged.witness is not None:
                values = ", ".join(f"{x} = {value}" for x, value in judged.witness.values.items())
                reasons[-1] = f"no case holds at {values}"
        else:
            return reasons[-1:]
    return []
