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
from swingby.proofs.language.definedness import partial
from swingby.proofs.language.formula_printer import formula
from swingby.proofs.language.shapes import about_matrices, shape
from swingby.proofs.language.sums import FiniteSum
from swingby.proofs.prover.evidence import ClaimVerdict
from swingby.theory.verdict import Finding

#: What holds where a relation does not, by its kind, if both sides are real numbers.
_OPPOSITES = {
    **{sympy.Le: sympy.Gt, sympy.Gt: sympy.Le, sympy.Lt: sympy.Ge, sympy.Ge: sympy.Lt},
    **{sympy.Eq: sympy.Ne, sympy.Ne: sympy.Eq},
}
#: More choices of a relation of each case are not looked at.
_MOST_CHOICES = 64
_AT = "no case holds at"


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
        unmatched = [
            str(each)
            for each in quotations(question, claims, judge)
            if each.open or (each.id == name and each.repairs)
        ]
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
        reasons = list[str]()
        for place, last in enumerate(choice):
            reasons.append(_open(claim, (*choice[:place], *choice[place + 1 :]), last, judge))
            if not reasons[-1]:
                break
        else:
            return [next((x for x in reasons if x.startswith(_AT)), reasons[-1])]
    return []


def _open(claim: Claim, others: Sequence[Any], last: Any, judge: Judge) -> str:
    """Why it is not sure that one of some relations holds; empty if the last does without others.

    Where a relation does not hold, its opposite holds only if both sides have values there.
    """
    waiting, valueless = list(others), ""
    while waiting:
        reasons = {each: _no_opposite(claim, each, judge) for each in waiting}
        sure = [each for each in waiting if not reasons[each]]
        valueless = next(filter(None, reasons.values()), "")
        if not sure:
            break
        opposite = (_OPPOSITES[type(x)](*x.args, evaluate=False) for x in sure)
        claim = claim.but(given=(*claim.given, *(Given(x, "case") for x in opposite)))
        waiting = [each for each in waiting if reasons[each]]
    judged = judge(claim.but(about=f"the cases of ({claim.id})", conclusion=last))
    if judged.verdict is Finding.PROVED:
        return ""
    if valueless:
        return valueless
    if judged.witness is not None:
        return f"{_AT} {_point(judged)}"
    return f"it is not sure that {' or '.join(map(formula, (*others, last)))}"


def _no_opposite(claim: Claim, relation: Any, judge: Judge) -> str:
    """Why a relation may fail without its opposite; empty if one of both holds."""
    is_order = not isinstance(relation, sympy.Eq | sympy.Ne)
    if is_order and not all(map(_is_real, relation.args)):
        return f"{formula(relation)} and its opposite may both fail: add a case in which they do"
    return _without_value(claim, relation, judge)


def _is_real(side: Any) -> bool:
    """Whether an expression is a real number wherever it has a value."""
    if about_matrices(side):
        return shape(side) == ("1", "1")
    return all(letter.is_real for letter in side.atoms(sympy.Symbol)) and not side.has(sympy.I)


def _without_value(claim: Claim, relation: Any, judge: Judge) -> str:
    """Why it is not sure that both sides of a relation have values; empty if they do."""
    parts = [*relation.args, *dict(claim.where).values()]
    if not any(map(partial, parts)):
        return ""
    unsure = f"it is not sure that {formula(relation)} has a value: add a case in which it has none"
    # Of letters in words of matrices, and of terms of a sum, their signs alone are asked.
    terms = (total.args[0] for part in parts for total in part.atoms(FiniteSum))
    if about_matrices(relation) or any(map(partial, terms)):
        return unsure
    for side in relation.args:
        itself = sympy.Eq(side, side, evaluate=False)
        judged = judge(claim.but(about=f"a value in ({claim.id})", conclusion=itself))
        if judged.verdict is not Finding.PROVED:
            at = judged.witness and f"{formula(relation)} has no value at {_point(judged)}: "
            return f"{at}add a case in which it has none" if at else unsure
    return ""


def _point(judged: ClaimVerdict) -> str:
    values = judged.witness.values if judged.witness is not None else {}
    return ", ".join(f"{x} = {value}" for x, value in values.items())
