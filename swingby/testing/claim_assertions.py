"""Assertions on claims: a claim, or a line of the ledger, has the verdict expected of it."""

from __future__ import annotations

import json
from importlib import resources
from typing import TYPE_CHECKING

from swingby.errors import InvalidInput
from swingby.proofs.language.claim import Claim
from swingby.proofs.language.claim_text import to_text
from swingby.proofs.language.claims import by_id
from swingby.testing.assumption_setting import choice
from swingby.theory.verdict import Finding

if TYPE_CHECKING:
    from swingby.proofs.prover.evidence import ClaimVerdict

#: The width of a message.
MESSAGE_WIDTH = 100


def claim_message(claim: Claim, expected: str, judged: ClaimVerdict) -> str:
    """A message with both verdicts on a claim, its text, and the grounds of the verdict."""
    from swingby.proofs.audit.record import verdict_lines

    reference = f" ({claim.reference})" if claim.reference not in ("", claim.id) else ""
    edition = "" if claim.edition == "printed" else f", {claim.edition} edition"
    lines = [
        f"{claim.id}: expected {expected}, found {judged.verdict}",
        f"{claim.id}{reference}{edition} says: {claim.about}.",
        *(f"  {line}" for line in to_text(claim).splitlines()),
        *verdict_lines(judged, claim, MESSAGE_WIDTH),
    ]
    return "\n".join(lines)


def ledger_verdicts() -> dict[str, str]:
    """The verdict on record of every line of the ledger, by id: from a reading by hand.

    For claims about whole trajectories it is that of the search on record.
    """
    source = resources.files("swingby") / "proofs/audit/ledger_verdicts.json"
    verdicts: dict[str, str] = json.loads(source.read_text(encoding="utf-8"))
    return verdicts


def finding(name: object) -> Finding:
    """A verdict by its word; InvalidInput where it is none."""
    return Finding(choice(name, "verdict", tuple(map(str, Finding))))


def assert_claim(claim: Claim | str, verdict: str = "proved") -> None:
    """Assert that a claim has the verdict expected of it.

    Parameters
    ----------
    claim : Claim or str
        A claim of your own, or the id of a line of the ledger, such as ``"D.61"``. For a claim
        about whole trajectories, the search takes up to a minute.
    verdict : {"proved", "refuted", "tested", "read", "undecided"}

    Raises
    ------
    AssertionError
        If the verdict is another one; the message names the claim.
    InvalidInput
        If the claim or the verdict is unknown.

    Examples
    --------
    >>> assert_claim("D.62")
    >>> assert_claim("D.61", "refuted")
    """
    __tracebackhide__ = True
    from swingby.proofs.prover.prove import decide

    expected = finding(verdict)
    if not isinstance(claim, Claim | str):
        raise InvalidInput("claim", claim, "must be a Claim or the id of a line of the ledger")
    resolved = by_id(claim) if isinstance(claim, str) else claim
    judged = decide(resolved)
    if judged.verdict != expected:
        raise AssertionError(claim_message(resolved, expected, judged))
