"""The lines downstream of a refuted line, judged again with its repair in place of it.

The hypotheses that a line takes from a refuted line are replaced by what the repair proves: in
claims about numbers only, which take seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import sympy

from swingby.proofs.audit.by_cases import put_together
from swingby.proofs.audit.quotations import meets_repair
from swingby.proofs.language.claim import Claim, Given, lines_of
from swingby.proofs.language.claim_text import source_text
from swingby.proofs.language.sums import ForEach
from swingby.proofs.prover.evidence import ClaimVerdict
from swingby.proofs.prover.prove import is_scalar
from swingby.theory import assumptions
from swingby.theory.verdict import Finding

#: The verdict on a claim, which may be known already.
Judge = Callable[[Claim], ClaimVerdict]

_FOLLOWS = {
    Finding.PROVED: "follows",
    Finding.PROVED_BY_Z3: "follows by z3",
    Finding.TESTED: "holds in every case tested",
}


def downstream(
    refuted: Claim, claims: Mapping[str, Claim], judge: Judge
) -> tuple[tuple[str, str], ...]:
    """The consequences for the lines that cite a refuted line, once that line is repaired.

    Ids and sentences in the order of the text; only of claims about numbers, and only where the
    repair speaks of the same letters.
    """
    names = list(claims)
    here = names.index(refuted.id) if refuted.id in claims else -1
    consequences: list[tuple[str, str]] = []
    # Right sides that are others now, in displays that go on in later lines.
    moved = [] if (end := _moved_end(refuted)) is None else [(refuted, *end)]
    for name in names[here + 1 :]:
        claim = claims[name]
        sentence = (
            _judged_with_repair(claim, refuted, claims, judge)
            if refuted.id in claim.rests_on
            else ""
        )
        if not sentence:
            goes_on = (_goes_on(claim, *end, judge) for end in moved)
            sentence = next(filter(None, goes_on), "")
        if sentence:
            consequences.append((name, sentence))
            if (end := _moved_end(claim)) is not None:
                moved.append((claim, *end))
    return tuple(consequences)


def _moved_end(claim: Claim) -> tuple[Any, Any] | None:
    """The right side of the last relation as printed and as repaired; None if they are equal."""
    if claim.repair is None:
        return None
    last = [relation for version in (claim, claim.repair) for relation in version.conditions[-1:]]
    if len(last) < 2 or not all(isinstance(relation, sympy.Rel) for relation in last):
        return None
    old, new = (relation.rhs for relation in last)
    return (old, new) if old != new and old.args else None


def _goes_on(claim: Claim, earlier: Claim, old: Any, new: Any, judge: Judge) -> str:
    """The verdict, in words, on a line that starts where a changed line ends."""
    if not is_scalar(claim) or claim.edition != "printed":
        return ""
    starts = [relation.lhs for relation in claim.conditions if isinstance(relation, sympy.Rel)]
    if old not in starts:
        return ""
    moved = tuple(
        relation.func(relation.lhs.xreplace({old: new}), relation.rhs, evaluate=False)
        for relation in claim.conditions
    )
    conclusion = moved[0] if len(moved) == 1 else sympy.Tuple(*moved)
    changed = replace(claim, conclusion=conclusion, flaw=None, repair=None)
    verdict, begins = judge(changed).verdict, f"goes on from {source_text(earlier.id)}"
    if verdict in _FOLLOWS:
        return f"{begins}: still {_FOLLOWS[verdict]} from its corrected form"
    lost = "no longer follows" if verdict == Finding.REFUTED else "undecided"
    return f"{begins}: {lost}; {_once_corrected(claim, earlier, judge)}"


def _judged_with_repair(
    claim: Claim, refuted: Claim, claims: Mapping[str, Claim], judge: Judge
) -> str:
    """The verdict, in words, on a line with the repair in place of what it takes from there."""
    if refuted.id in lines_of(claim.conclusion) and refuted.repair is not None:
        verdict = put_together(claim, {**claims, refuted.id: refuted.repair}, judge).verdict
        follows = f"still {_FOLLOWS[verdict]}" if verdict in _FOLLOWS else ""
        return follows or f"undecided; {_once_corrected(claim, refuted, judge)}"
    changed = with_repaired(claim, refuted)
    if changed is None or not is_scalar(claim) or claim.quantifier != "for all":
        return ""
    as_printed = judge(claim).verdict
    verdict = judge(changed).verdict
    is_assumed = refuted.kind == "assumption"
    is_met = is_assumed or meets_repair(changed, claims, judge, refuted.id)
    if as_printed != Finding.REFUTED and verdict in _FOLLOWS and is_met:
        return f"still {_FOLLOWS[verdict]}"
    begins = "undecided"
    if Finding.REFUTED in (as_printed, verdict):
        begins = (
            "refuted on its own account" if as_printed == Finding.REFUTED else "no longer follows"
        )
    return f"{begins}; {_once_corrected(claim, refuted, judge)}"


def _once_corrected(claim: Claim, refuted: Claim, judge: Judge) -> str:
    """The verdict, in words, on the corrected form of a line."""
    repair = claim.repair
    if repair is None:
        return "it has no corrected form"
    # A repair that cites the line already cites its corrected form, or one derived from it.
    verdict = judge(repair).verdict
    if verdict != Finding.PROVED and (changed := with_repaired(repair, refuted)) is not None:
        verdict = judge(changed).verdict
    if verdict in _FOLLOWS:
        return f"{_FOLLOWS[verdict]} in its corrected form"
    return f"its corrected form is {verdict}"


def with_repaired(claim: Claim, refuted: Claim) -> Claim | None:
    """A claim with the repair of a refuted line in place of what it takes from that line.

    None if the repair speaks of letters that the claim does not know.
    """
    repair = refuted.repair
    if repair is None or not repair.conditions:
        return None
    defined = {letter for letter, _ in claim.where}
    where = tuple(pair for pair in repair.where if pair[0] not in defined)
    letters = claim.letters | {letter for letter, _ in where} | _CONSTANTS
    new = (*repair.conditions, *(right for _, right in where))
    if any(
        not hasattr(statement, "free_symbols") or statement.free_symbols - letters
        for statement in new
    ):
        return None
    hypotheses: dict[Given, None] = {}
    for hypothesis in claim.given:
        is_quoted = hypothesis.source == refuted.id
        mended = repair.cite(hypothesis.instance) if is_quoted else (hypothesis,)
        if is_quoted and isinstance(each := hypothesis.relation, ForEach):
            mended = tuple(replace(x, relation=replace(each, relation=x.relation)) for x in mended)
        hypotheses |= dict.fromkeys(mended)
    return replace(
        claim, given=tuple(hypotheses), where=(*where, *claim.where), flaw=None, repair=None
    )


_CONSTANTS = {*assumptions.CONSTANTS, assumptions.omega, assumptions.eta, assumptions.d}
