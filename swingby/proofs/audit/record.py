"""A record of an audit: a line of the text, the verdict on it, and both as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from swingby.proofs.audit.quotations import Quotation
from swingby.proofs.language.claim import Claim
from swingby.proofs.language.claim_text import (
    difference,
    source_text,
    statement_line,
    to_latex,
    to_text,
)
from swingby.proofs.language.formula_printer import as_read, symbol_text
from swingby.proofs.prover.evidence import ClaimVerdict, Witness
from swingby.proofs.prover.scalar.next_steps import NEXT
from swingby.report import Shown
from swingby.report.files import plain_values
from swingby.report.lines import USUAL, line_width, lines_text, wrapped
from swingby.report.markup import html_text, markdown_text
from swingby.report.number_text import short
from swingby.theory.verdict import Finding

#: The text that the ledger is about.
AUDITED = "the anonymous ICLR submission of arXiv 2410.08309; later versions may differ"
#: Fields of a record that are no plain values or stand elsewhere in its dictionary.
_NOT_PLAIN = {"statement", "repair", "downstream", "audited", "proof"}
#: Lines of evidence on a terminal, and characters of a line of evidence in a document.
_MOST_LINES = 24
_WIDTH = 96


@dataclass(frozen=True)
class Record(Shown):
    """A line of the text and the verdict on it.

    Parameters
    ----------
    id, kind, edition, reference, about, reading : str
        Of the claim; `reading` is the choice made for an ambiguity.
    statement : Claim
    verdict : Finding
    method : str
    evidence : tuple of str
        Lines that a reader can check.
    witness : Witness or None
        A point at which the line fails, or, for an existence claim, holds.
    cases : int
        Number of cases, for *tested*.
    tried : tuple of str
        Methods that were tried, for *undecided*.
    parts : dict from str to ClaimVerdict
        Verdicts by part, if they differ.
    breaks, severity, explanation : str
        The kind of error; empty unless the verdict is *refuted*.
    repair : Record or None
        The repaired line, judged like any other.
    rests_on, rests_on_refuted : tuple of str
        Ids of the lines that the hypotheses come from, and those of them that are refuted.
    quotations : tuple of Quotation
        Every line that this one quotes, and whether that line says what is quoted.
    downstream : tuple of (str, str)
        Id of a line that uses this one, and what becomes of it once this one is repaired.
    seconds : float
        Time that the verdict took when it was computed.
    part : str
        Part of the text, such as ``"Lemma D.2"``.
    audited : str
        The text: the paper, or a proof file.
    proof : tuple of dict
        What :meth:`Ledger.export` writes of a proved line; empty where its method yields nothing.
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
    parts: dict[str, ClaimVerdict]
    breaks: str
    severity: str
    explanation: str
    reading: str
    repair: Record | None
    rests_on: tuple[str, ...]
    rests_on_refuted: tuple[str, ...]
    downstream: tuple[tuple[str, str], ...]
    seconds: float
    quotations: tuple[Quotation, ...] = ()
    part: str = ""
    audited: str = AUDITED
    proof: tuple[dict[str, Any], ...] = ()

    def __repr__(self) -> str:
        tail = f", repaired: {self.repair.verdict}" if self.repair is not None else ""
        return f"<Record {self.id}: {self.verdict}{tail}>"

    def to_text(self, *, width: int | None = None, color: bool = False) -> str:
        """The record for a terminal, in full."""
        width = width or line_width() or USUAL
        body = [header(self.audited), "", f"{self.about}.", ""]
        body += [f"  {line}" for line in to_text(self.statement).splitlines()]
        if self.reading:
            body += ["", f"Read as: {self.reading}"]
        body += ["", *verdict_lines(self, self.statement, width)]
        if self.breaks:
            body += ["", f"What breaks: {self.breaks} ({self.severity})."]
            body += [f"  {self.explanation}"]
        if self.repair is not None:
            body += ["", *_repair_lines(self, self.repair, width)]
        if self.rests_on:
            refuted = self.rests_on_refuted
            names = (
                source_text(source) + ", refuted" * (source in refuted) for source in self.rests_on
            )
            body += ["", f"Rests on {'; '.join(names)}."]
        if open_quotations := [str(each) for each in self.quotations if each.open]:
            body += ["", "Quotations that do not match:"]
            body += [f"  {text}" for text in open_quotations]
        if self.downstream:
            body += ["", "With the repair, downstream:"]
            body += [f"  {source_text(name)}: {sentence}" for name, sentence in self.downstream]
        return lines_text(f"{title(self)}: {self.verdict}", body, width, color=color)

    def to_html(self) -> str:
        """The text as HTML."""
        return html_text(self.to_text(width=USUAL))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        values = {
            name: plain_values(value)
            for name, value in vars(self).items()
            if name not in _NOT_PLAIN
        }
        return values | {
            "conclusion": statement_line(self.statement),
            "statement": to_text(self.statement),
            "latex": to_latex(self.statement),
            "repair": None if self.repair is None else self.repair.to_dict(),
            "downstream": [{"id": line, "verdict": text} for line, text in self.downstream],
        }


def by_name(records: Iterable[Record]) -> Iterator[tuple[str, Record]]:
    """Records and their repairs, by names such as D.61 and D.61 (corrected)."""
    for record in records:
        yield record.id, record
        if record.repair is not None:
            yield f"{record.repair.id} ({record.repair.edition})", record.repair


def header(audited: str = AUDITED) -> str:
    """The sentence at the head of every output: which text is audited."""
    return f"Text audited: {audited}."


def title(record: Record) -> str:
    """Name and place of a line."""
    reference = f", {record.reference}" if record.reference not in ("", record.id) else ""
    edition = "" if record.edition == "printed" else f", {record.edition}"
    return f"{source_text(record.id)}{reference}{edition}"


def verdict_words(judged: Record | ClaimVerdict) -> str:
    """A verdict with its method, if it has a method."""
    method = judged.method.strip("; ")
    if judged.verdict == Finding.UNDECIDED:
        return f"undecided ({method})" if method else "undecided"
    if ": " in method:
        return f"{judged.verdict} ({method})"
    return f"{judged.verdict}, by {method}" if method else str(judged.verdict)


def verdict_lines(judged: Record | ClaimVerdict, claim: Claim, width: int) -> list[str]:
    """The verdict on a claim with its evidence, as lines."""
    lines = [f"Verdict: {verdict_words(judged)}."]
    lines += [f"  Cases: {judged.cases}."] if judged.cases else []
    lines += _evidence_lines(judged, width)
    if judged.witness is not None:
        word = "Witness" if claim.quantifier == "exists" else "Counterexample"
        lines += ["", f"{word}:", *witness_lines(judged.witness, width)]
    for name, judged_part in judged.parts.items():
        lines += _part_lines(judged, name, judged_part, width)
    return lines


def _evidence_lines(judged: Record | ClaimVerdict, width: int) -> list[str]:
    """The evidence for a reader, cut where it has many lines, and the attempts."""
    lines = [row for line in judged.evidence for row in wrapped(line, width, "  ")]
    hidden = len(lines) - _MOST_LINES
    if hidden > 0:
        lines[_MOST_LINES:] = [f"  ... {hidden} more lines of evidence: to_dict() has them all"]
    return [*lines, *(f"  {line}" for line in _tried(judged))]


def _tried(judged: Record | ClaimVerdict) -> list[str]:
    """What was tried, and what to try next."""
    return [line if line.startswith(NEXT) else f"tried: {line}" for line in judged.tried]


def _part_lines(
    whole: Record | ClaimVerdict, name: str, part: ClaimVerdict, width: int
) -> list[str]:
    """The verdict on a part of a line, without evidence of the whole line."""
    repeated = set(whole.evidence)
    lines = [f"  {name}: {verdict_words(part)}."]
    lines += [f"    {text}" for text in part.evidence if not repeated & {text, f"{name}: {text}"}]
    if part.witness not in (None, whole.witness):
        lines += [f"  {line}" for line in witness_lines(part.witness, width - 2)]
    return lines


def witness_lines(witness: Witness, width: int) -> list[str]:
    """Every constant of a witness, exactly as computed, and both sides of what is decided there."""
    lines: list[str] = []
    for name, value in witness.values.items():
        text = f"{symbol_text(name)} = {value}"
        if lines and len(lines[-1]) + len(text) + 3 <= width and len(text) < 40:
            lines[-1] += f",  {text}"
        else:
            lines += wrapped(text, width, "  ")
    relation = as_read(witness.relation)
    tail = [f"there: {relation.replace('<=', '≤').replace('>=', '≥')}"]
    tail += [f"left  = {witness.left}", f"right = {witness.right}"]
    if witness.checked:
        tail.append(f"checked by {', '.join(witness.checked)}")
    return [*lines, *(row for line in tail for row in wrapped(line, width, "  "))]


def _repair_lines(record: Record, repair: Record, width: int) -> list[str]:
    old, new = difference(record.statement, repair.statement)
    lines = [f"Repair: {verdict_words(repair)}.", f"  printed:   {old}", f"  corrected: {new}"]
    if repair.about != record.about:
        lines.append(f"  says: {repair.about}")
    if repair.reading:
        lines.append(f"  read as: {repair.reading}")
    lines += _evidence_lines(repair, width)
    if repair.witness is not None:
        lines += witness_lines(repair.witness, width)
    return lines if repair.repair is None else lines + _repair_lines(repair, repair.repair, width)


def evidence_words(record: Record) -> str:
    """The evidence against a line in a few words: both sides at the counterexample."""
    for witness in (record.witness, *(judged.witness for judged in record.parts.values())):
        if witness is not None:
            return f"left {short(witness.left)}, right {short(witness.right)}"
    return record.method


def record_markdown(record: Record, *, level: int = 2) -> str:
    """A record as Markdown, in full; `level` of its heading."""
    reference = f" ({record.reference})" if record.reference not in ("", record.id) else ""
    blocks = [
        f"{'#' * level} {markdown_text(record.id)}",
        f"**{record.verdict}**: {markdown_text(record.about)}{markdown_text(reference)}.",
        f"$$\n{to_latex(record.statement)}\n$$",
    ]
    if record.reading:
        blocks.append(f"*Read as:* {markdown_text(record.reading)}")
    blocks.append(_verdict_markdown(record))
    if record.breaks:
        blocks.append(
            f"*What breaks:* {record.breaks} ({record.severity}). "
            f"{markdown_text(record.explanation)}"
        )
    repair = record.repair
    if repair is not None:
        old, new = difference(record.statement, repair.statement, latex=True)
        blocks.append(f"*Repair:* **{repair.verdict}**.")
        blocks.append(
            "$$\n\\begin{aligned}\n"
            f"\\text{{printed}}\\quad & {old} \\\\\n\\text{{corrected}}\\quad & {new}\n"
            "\\end{aligned}\n$$"
        )
        blocks.append(_verdict_markdown(repair))
    if record.rests_on:
        refuted = record.rests_on_refuted
        names = (
            markdown_text(source_text(source)) + " (refuted)" * (source in refuted)
            for source in record.rests_on
        )
        blocks.append(f"*Rests on:* {', '.join(names)}.")
    if open_quotations := [str(each) for each in record.quotations if each.open]:
        listed = "\n".join(f"- {markdown_text(line)}" for line in open_quotations)
        blocks.append(f"*Quotations that do not match:*\n\n{listed}")
    if record.downstream:
        sentences = (f"{source_text(name)}: {text}." for name, text in record.downstream)
        listed = "\n".join(f"- {markdown_text(line)}" for line in sentences)
        blocks.append(f"*With the repair, downstream:*\n\n{listed}")
    return "\n\n".join(blocks)


def _verdict_markdown(record: Record) -> str:
    lines = [verdict_words(record)]
    lines += [f"{record.cases} cases"] if record.cases else []
    lines += [*record.evidence, *_tried(record)]
    if record.witness is not None:
        lines += witness_lines(record.witness, _WIDTH)
    for name, judged in record.parts.items():
        for line in _part_lines(record, name, judged, _WIDTH):
            lines += wrapped(line.lstrip(), _WIDTH, line[: len(line) - len(line.lstrip())])
    return "```text\n" + "\n".join(lines) + "\n```"
