"""What a reader is told when a claim does not have the verdict expected of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swingby.theory.claim_text import to_text
from swingby.theory.verdict import Finding

if TYPE_CHECKING:
    from swingby.theory.claim import Claim
    from swingby.verify.prover.evidence import Judged

#: Lines of evidence that are shown.
_MOST_LINES = 8
_WIDTH = 100


def claim_message(claim: Claim, expected: str, judged: Judged) -> str:
    """A claim, the verdict expected, the one found, and what it rests on.

    Returns
    -------
    str
        The first line names the claim and both verdicts.

    Examples
    --------
    >>> from swingby.theory.derivations.ledger import by_id
    >>> from swingby.verify.prover.judge import judge
    >>> line = by_id("D.60")
    >>> print(claim_message(line, "refuted", judge(line)).splitlines()[0])
    D.60: expected refuted, found proved
    """
    from swingby.verify.ledger_report import verdict_words, witness_lines

    place = f" ({claim.reference})" if claim.reference not in ("", claim.id) else ""
    edition = "" if claim.edition == "printed" else f", {claim.edition} edition"
    lines = [
        f"{claim.id}: expected {expected}, found {judged.verdict}",
        f"{claim.id}{place}{edition} says: {claim.about}.",
        *(f"  {line}" for line in to_text(claim).splitlines()),
        f"Verdict: {verdict_words(judged)}.",
        *(f"  {line}" for line in judged.evidence[:_MOST_LINES]),
    ]
    left = len(judged.evidence) - _MOST_LINES
    if left > 0:
        lines.append(f"  ... {left} more lines of evidence: swingby.audit shows a line of the text")
    lines += [f"  tried: {line}" for line in judged.tried]
    if judged.cases:
        lines.append(f"  cases: {judged.cases}")
    shown = {"": judged, **judged.parts}
    for name, part in shown.items():
        if part.witness is not None:
            word = "Counterexample" if part.verdict == Finding.REFUTED else "Witness"
            lines.append(f"{word}{f', {name}' if name else ''}:")
            lines += witness_lines(part.witness, _WIDTH)
            break
    return "\n".join(lines)
