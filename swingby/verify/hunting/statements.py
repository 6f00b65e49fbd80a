"""Which statement is hunted: an id, an edition, and what kind of search that asks for."""

from __future__ import annotations

from dataclasses import dataclass

from swingby.errors import InvalidInput
from swingby.theory.claim import AlongTrajectory, Claim
from swingby.theory.claim_text import to_text
from swingby.theory.derivations import ledger
from swingby.theory.derivations.ledger import find
from swingby.verify.prover.judge import is_scalar

EDITIONS = ("printed", "corrected", "repaired")
#: All repaired theorems at once.
ALL = "theorem"


@dataclass(frozen=True)
class Target:
    """A statement to be hunted."""

    id: str
    kind: str
    claim: Claim
    edition: str
    text: str


def targets(statement: str | Claim | None, edition: str) -> tuple[Target, ...]:
    """What a statement and an edition stand for.

    `statement`: None and ``"theorem"`` are all repaired theorems.
    `edition` in {"printed", "corrected", "repaired"}.
    Raises InvalidInput if there is no such statement in that edition; what there is, is named.
    """
    if edition not in EDITIONS:
        raise InvalidInput("edition", edition, f"must be one of {', '.join(EDITIONS)}")
    if isinstance(statement, Claim):
        return (_target(_in_edition(statement, edition, own=True), edition),)
    known = ledger.Claims()
    if statement is None or (isinstance(statement, str) and statement.strip().lower() == ALL):
        if edition != "repaired":
            raise InvalidInput("statement", statement, "must be named, such as Lemma D.3")
        return tuple(_target(known[name], edition) for name in ledger.OWN)
    if not isinstance(statement, str):
        raise InvalidInput("statement", statement, "must be an id such as Lemma D.3, or a Claim")
    claim = known[find(statement, list(known))]
    return (_target(_in_edition(claim, edition, own=False), edition),)


def _in_edition(claim: Claim, edition: str, *, own: bool) -> Claim:
    """The form of a claim that an edition has."""
    if edition == "repaired":
        for form in claim:
            if form.edition == "repaired" or (own and form is claim):
                return form
        corrected = f"; edition='corrected' has {claim.id} mended" if claim.repair else ""
        raise InvalidInput(
            "edition",
            edition,
            f"must be another: {claim.id} has no repaired form{corrected}; repaired are "
            f"{', '.join(ledger.OWN)} and the steps of their proofs",
        )
    if claim.edition == "repaired" and not own:
        raise InvalidInput("edition", edition, f"must be repaired: {claim.id} is not the paper's")
    if edition == "printed":
        return claim
    if claim.repair is None:
        raise InvalidInput(
            "edition", edition, f"must be printed: {claim.id} has no repair, it stands as it is"
        )
    return claim.repair


def _target(claim: Claim, edition: str) -> Target:
    if claim.id in ledger.OWN:
        kind = "theorem"
    elif isinstance(claim.conclusion, AlongTrajectory):
        kind = "trajectory"
    elif is_scalar(claim):
        kind = "numbers"
    else:
        kind = "algebra"
    if claim.quantifier == "exists":
        raise InvalidInput(
            "statement",
            claim.id,
            "must say something of all cases: that numbers exist, no single case refutes",
        )
    return Target(claim.id, kind, claim, edition, to_text(claim))
