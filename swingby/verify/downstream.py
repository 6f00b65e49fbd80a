"""What a repair does to the lines that use the repaired one: computed, line by line.

Where a line cites a refuted one, the hypotheses that it takes from there are replaced by what the
repair proves, and the line is judged again: claims about numbers only, which take seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

import sympy

from swingby.theory import assumptions
from swingby.theory.claim import AlongTrajectory, Claim, Given
from swingby.theory.claim_text import source_text
from swingby.theory.verdict import Finding
from swingby.verify.prover.evidence import Judged
from swingby.verify.prover.judge import is_scalar

_FOLLOWS = {Finding.PROVED: "follows", Finding.TESTED: "holds in every case tested"}


class Judges(Protocol):
    """What knows all claims and judges one."""

    claims: Mapping[str, Claim]

    def judged(self, claim: Claim) -> Judged:
        """The verdict on a claim."""


def downstream(refuted: Claim, judges: Judges) -> tuple[tuple[str, str], ...]:
    """What becomes of the lines that cite a refuted one once it is repaired.

    `refuted`: with a repair. Returns id and sentence, in the order of the text; only claims about
    numbers, and only where the repair speaks of the same letters.
    """
    names = list(judges.claims)
    here = names.index(refuted.id) if refuted.id in judges.claims else -1
    found: list[tuple[str, str]] = []
    # Right sides that are others now, in displays that go on in later lines.
    moved = [] if (end := _moved_end(refuted)) is None else [(refuted, *end)]
    for name in names[here + 1 :]:
        uses = refuted.id in _sources(judges.claims, name)
        # Of a proof file, a line that is not looked at is not read either.
        if not uses and not moved:
            continue
        claim = judges.claims[name]
        sentence = _after(claim, refuted, judges) if uses else ""
        if not sentence:
            goes_on = (_goes_on(claim, *one, judges) for one in moved)
            sentence = next(filter(None, goes_on), "")
        if sentence:
            found.append((name, sentence))
            if (end := _moved_end(claim)) is not None:
                moved.append((claim, *end))
    return tuple(found)


def _moved_end(claim: Claim) -> tuple[Any, Any] | None:
    """The right side of its last relation as printed and as repaired, where they differ."""
    if claim.repair is None:
        return None
    last = [relation for one in (claim, claim.repair) for relation in one.conditions[-1:]]
    if len(last) < 2 or not all(isinstance(one, sympy.Rel) for one in last):
        return None
    old, new = (one.rhs for one in last)
    return (old, new) if old != new and old.args else None


def _goes_on(claim: Claim, earlier: Claim, old: Any, new: Any, judges: Judges) -> str:
    """What becomes of a line that starts where a changed one ends, once that ends elsewhere."""
    if not is_scalar(claim) or claim.edition != "printed":
        return ""
    starts = [one.lhs for one in claim.conditions if isinstance(one, sympy.Rel)]
    if old not in starts:
        return ""
    moved = tuple(
        one.func(one.lhs.xreplace({old: new}), one.rhs, evaluate=False) for one in claim.conditions
    )
    conclusion = moved[0] if len(moved) == 1 else sympy.Tuple(*moved)
    shown = replace(claim, conclusion=conclusion, flaw=None, repair=None)
    verdict, begins = judges.judged(shown).verdict, f"goes on from {source_text(earlier.id)}"
    if verdict in _FOLLOWS:
        return f"{begins}: still {_FOLLOWS[verdict]} from its corrected form"
    lost = "no longer follows" if verdict == Finding.REFUTED else "undecided"
    return f"{begins}: {lost}; {_corrected(claim, earlier, judges)}"


def _sources(claims: Mapping[str, Claim], name: str) -> tuple[str, ...]:
    """Of a proof file without reading the formulas of all of its lines."""
    known = getattr(claims, "sources", None)
    return claims[name].rests_on if known is None else tuple(known(name))


def _after(claim: Claim, refuted: Claim, judges: Judges) -> str:
    changed = with_repaired(claim, refuted)
    if changed is None or not is_scalar(claim) or claim.quantifier != "for all":
        return ""
    own = judges.judged(claim).verdict
    verdict = judges.judged(changed).verdict
    if own == Finding.REFUTED:
        return f"refuted on its own account; {_corrected(claim, refuted, judges)}"
    if verdict in _FOLLOWS:
        return f"still {_FOLLOWS[verdict]}"
    if verdict == Finding.REFUTED:
        return f"no longer follows; {_corrected(claim, refuted, judges)}"
    return f"undecided; {_corrected(claim, refuted, judges)}"


def _corrected(claim: Claim, refuted: Claim, judges: Judges) -> str:
    repair = claim.repair
    if repair is None:
        return "it has no corrected form"
    # A repair that cites the line already cites its corrected form, or one derived from it.
    verdict = judges.judged(repair).verdict
    if verdict != Finding.PROVED and (changed := with_repaired(repair, refuted)) is not None:
        verdict = judges.judged(changed).verdict
    if verdict in _FOLLOWS:
        return f"{_FOLLOWS[verdict]} in its corrected form"
    return f"its corrected form is {verdict}"


def with_repaired(claim: Claim, refuted: Claim) -> Claim | None:
    """A claim with what it takes from a refuted line replaced by what the repair says.

    Returns None if the repair speaks of letters that the claim does not know.

    Examples
    --------
    >>> from swingby.theory.derivations.ledger import by_id
    >>> with_repaired(by_id("D.63"), by_id("D.61")).given[3].relation.rhs
    -alpha*omega/(5*C)
    """
    repair = refuted.repair
    if repair is None or not repair.conditions:
        return None
    defined = {left for left, _ in claim.where}
    where = tuple(pair for pair in repair.where if pair[0] not in defined)
    known = _letters(claim) | {left for left, _ in where} | _CONSTANTS
    new = (*repair.conditions, *(right for _, right in where))
    if any(not hasattr(part, "free_symbols") or part.free_symbols - known for part in new):
        return None
    given: list[Given] = []
    replaced = False
    for hypothesis in claim.given:
        if hypothesis.source != refuted.id:
            given.append(hypothesis)
        elif not replaced:
            given += [Given(relation, refuted.id) for relation in repair.conditions]
            replaced = True
    return replace(claim, given=tuple(given), where=(*where, *claim.where), flaw=None, repair=None)


_CONSTANTS = {*assumptions.CONSTANTS, assumptions.omega, assumptions.eta, assumptions.d}


def _letters(claim: Claim) -> set[Any]:
    conclusion = claim.conclusion
    if isinstance(conclusion, AlongTrajectory):
        conclusion = conclusion.relation
    parts = [conclusion, *(given.relation for given in claim.given)]
    parts += [side for pair in claim.where for side in pair]
    return {letter for part in parts for letter in getattr(part, "free_symbols", ())}
