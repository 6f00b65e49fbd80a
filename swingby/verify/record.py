"""One line of the text with the verdict on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from swingby.theory.claim import Claim
from swingby.theory.verdict import Finding
from swingby.verify.prover.evidence import Judged, Witness

#: The text that the ledger is about.
AUDITED = "the anonymous ICLR submission of arXiv 2410.08309; later versions may differ"


@dataclass(frozen=True)
class Record:
    """One line of the text and the verdict on it.

    Parameters
    ----------
    id, kind, edition, reference, about : str
        Of the claim.
    statement : Claim
    verdict : Finding
    method : str
    evidence : tuple of str
        Lines that a reader can check.
    witness : Witness or None
        Where the line fails, or for an existence claim holds.
    cases : int
        How many cases, for *tested*.
    tried : tuple of str
        For *undecided*.
    parts : dict from str to Judged
        Verdicts by part, where they differ.
    breaks, severity, explanation : str
        What breaks; empty unless the verdict is *refuted*.
    reading : str
        How an ambiguity was read.
    repair : Record or None
        The repaired line, judged like any other.
    rests_on : tuple of str
        Ids of the lines that the hypotheses come from.
    rests_on_refuted : tuple of str
        Those of them that are refuted.
    downstream : tuple of (str, str)
        Id of a line that uses this one, and what becomes of it once this one is repaired.
    seconds : float
        Time that the verdict took when it was computed.
    part : str
        Part of the text, such as ``"Lemma D.2"``.
    audited : str
        The text: the paper, or a proof file.
    """

    id: str
    kind: str
    edition: str
    reference: str
    about: str
    statement: Claim
    verdict: Finding
    method: str
    evidence: tuple[str, ...]
    witness: Witness | None
    cases: int
    tried: tuple[str, ...]
    parts: dict[str, Judged]
    breaks: str
    severity: str
    explanation: str
    reading: str
    repair: Record | None
    rests_on: tuple[str, ...]
    rests_on_refuted: tuple[str, ...]
    downstream: tuple[tuple[str, str], ...]
    seconds: float
    part: str = ""
    audited: str = AUDITED

    def __repr__(self) -> str:
        tail = f", repaired: {self.repair.verdict}" if self.repair is not None else ""
        return f"<Record {self.id}: {self.verdict}{tail}>"

    def __str__(self) -> str:
        from swingby.verify.ledger_report import record_text

        return record_text(self)

    def _repr_html_(self) -> str:
        from swingby.verify.ledger_report import record_html

        return record_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON.

        Returns
        -------
        dict
        """
        from swingby.theory.claim_text import statement_line, to_latex, to_text
        from swingby.verify.audit_cache import to_plain

        judged = Judged(
            self.verdict,
            self.method,
            self.evidence,
            self.witness,
            self.cases,
            self.tried,
            self.parts,
        )
        return {
            "id": self.id,
            "part": self.part,
            "kind": self.kind,
            "edition": self.edition,
            "reference": self.reference,
            "about": self.about,
            "conclusion": statement_line(self.statement),
            "statement": to_text(self.statement),
            "latex": to_latex(self.statement),
            **to_plain(judged),
            "breaks": self.breaks,
            "severity": self.severity,
            "explanation": self.explanation,
            "reading": self.reading,
            "repair": None if self.repair is None else self.repair.to_dict(),
            "rests_on": list(self.rests_on),
            "rests_on_refuted": list(self.rests_on_refuted),
            "downstream": [{"id": line, "verdict": text} for line, text in self.downstream],
            "seconds": self.seconds,
        }
