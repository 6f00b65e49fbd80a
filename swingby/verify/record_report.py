"""How one record looks, with everything that is known about it."""

from __future__ import annotations

import html
import re
import textwrap
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from swingby.theory.claim_text import difference, source_text, to_text
from swingby.theory.formula import greek, symbol_text
from swingby.theory.verdict import Finding
from swingby.verify.audit_report import STYLES, header, printed

if TYPE_CHECKING:
    from swingby.verify.ledger import Record
    from swingby.verify.prover.evidence import Judged, Witness


#: Lines of evidence on a terminal.
_MOST_LINES = 24


def record_text(record: Record, *, width: int = 100, color: bool = False) -> str:
    """One record for a terminal, with everything that is known about it."""
    from rich.text import Text

    parts: list[Any] = [
        Text.assemble(
            (title(record), "bold"), ": ", (str(record.verdict), STYLES[str(record.verdict)])
        ),
        Text(header(record.audited)),
    ]
    body = ["", *_wrapped(f"{record.about}.", width), ""]
    for line in to_text(record.statement).splitlines():
        body += _wrapped(line.lstrip(), width, " " * (len(line) - len(line.lstrip()) + 2))
    if record.reading:
        body += ["", *_wrapped(f"Read as: {record.reading}", width)]
    body += ["", *_verdict_lines(record, width)]
    if record.breaks:
        body += ["", f"What breaks: {record.breaks} ({record.severity})."]
        body += _wrapped(record.explanation, width, "  ")
    if record.repair is not None:
        body += ["", *_repair_lines(record, width)]
    body += _rests_lines(record, width)
    if record.downstream:
        body += ["", "With the repair, downstream:"]
        body += [f"  {source_text(name)}: {sentence}" for name, sentence in record.downstream]
    return printed([*parts, *(Text(line) for line in body)], width, color)


def title(record: Record) -> str:
    """Name and place of a line."""
    place = f", {record.reference}" if record.reference not in ("", record.id) else ""
    edition = "" if record.edition == "printed" else f", {record.edition}"
    return f"{source_text(record.id)}{place}{edition}"


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    if len(indent) + len(text) <= width:
        return [indent + text]
    return textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent + "    ")


def _verdict_lines(record: Record, width: int) -> list[str]:
    lines = _wrapped(f"Verdict: {verdict_words(record)}.", width)
    if record.cases:
        lines.append(f"  Cases: {record.cases}.")
    lines += _evidence_lines(record.evidence, width)
    for line in record.tried:
        lines += _wrapped(f"tried: {line}", width, "  ")
    if record.witness is not None:
        word = "Witness" if record.statement.quantifier == "exists" else "Counterexample"
        lines += ["", f"{word}:", *witness_lines(record.witness, width)]
    for name, part in record.parts.items():
        lines += part_lines(record, name, part, width)
    return lines


def _evidence_lines(evidence: tuple[str, ...], width: int) -> list[str]:
    """What a reader can check, cut where a certificate has many cases."""
    lines = [row for line in evidence for row in _wrapped(line, width, "  ")]
    if len(lines) <= _MOST_LINES:
        return lines
    left = len(lines) - _MOST_LINES
    return [*lines[:_MOST_LINES], f"  ... {left} more lines of evidence: to_dict() has them all"]


def verdict_words(judged: Record | Judged) -> str:
    """A verdict with its method, where there is one."""
    method = judged.method.strip("; ")
    if judged.verdict == Finding.UNDECIDED:
        return f"undecided ({method})" if method else "undecided"
    if ": " in method:
        return f"{judged.verdict} ({method})"
    return f"{judged.verdict}, by {method}" if method else str(judged.verdict)


def part_lines(record: Record, name: str, part: Judged, width: int) -> list[str]:
    """The verdict on a part of a line, without what the whole has said already."""
    lines = _wrapped(f"{name}: {verdict_words(part)}.", width, "  ")
    said = set(record.evidence)
    for line in part.evidence:
        if not said & {line, f"{name}: {line}"}:
            lines += _wrapped(line, width, "    ")
    if part.witness not in (None, record.witness):
        lines += [f"  {line}" for line in witness_lines(part.witness, width - 2)]
    return lines


def witness_lines(witness: Witness, width: int) -> list[str]:
    """Every constant of a witness, exactly as computed, and both sides of what is decided there."""
    shown = [f"{symbol_text(name)} = {value}" for name, value in witness.values.items()]
    lines: list[str] = []
    for text in shown:
        if lines and len(lines[-1]) + len(text) + 3 <= width and len(text) < 40:
            lines[-1] += f",  {text}"
        else:
            lines += _wrapped(text, width, "  ")
    relation = greek(witness.relation.replace("**", "^").replace("*", " "))
    lines += _wrapped(f"there: {relation.replace('<=', '≤').replace('>=', '≥')}", width, "  ")
    lines += _wrapped(f"left  = {witness.left}", width, "  ")
    lines += _wrapped(f"right = {witness.right}", width, "  ")
    if witness.checked:
        lines += _wrapped(f"checked by {', '.join(witness.checked)}", width, "  ")
    return lines


def _repair_lines(record: Record, width: int) -> list[str]:
    repair = record.repair
    if repair is None:
        return []
    old, new = difference(record.statement, repair.statement)
    lines = _wrapped(f"Repair: {verdict_words(repair)}.", width)
    lines += [
        *_wrapped(f"printed:   {old}", width, "  "),
        *_wrapped(f"corrected: {new}", width, "  "),
    ]
    if repair.about != record.about:
        lines += _wrapped(f"says: {repair.about}", width, "  ")
    if repair.reading:
        lines += _wrapped(f"read as: {repair.reading}", width, "  ")
    lines += _evidence_lines(repair.evidence, width)
    for line in repair.tried:
        lines += _wrapped(f"tried: {line}", width, "  ")
    if repair.witness is not None:
        lines += witness_lines(repair.witness, width)
    if repair.repair is not None:
        lines += _repair_lines(repair, width)
    return lines


def _rests_lines(record: Record, width: int) -> list[str]:
    if not record.rests_on:
        return []
    refuted = record.rests_on_refuted
    shown = [
        source_text(name) + (", refuted" if name in refuted else "") for name in record.rests_on
    ]
    return ["", *_wrapped(f"Rests on {'; '.join(shown)}.", width)]


def record_html(record: Record) -> str:
    """One record."""
    return f"<pre>{html.escape(record_text(record))}</pre>"


def evidence_words(record: Record) -> str:
    """Why a line is refuted, in a few words: both sides at the counterexample."""
    witness = record.witness
    if witness is None:
        for part in record.parts.values():
            if part.witness is not None:
                return _sides(part.witness)
        return record.method
    return _sides(witness)


def _sides(witness: Witness) -> str:
    return f"left {short(witness.left)}, right {short(witness.right)}"


def short(value: str, digits: int = 4) -> str:
    """A number of a witness in a few characters.

    Returns
    -------
    str
        As it is if that is short; otherwise rounded.

    Examples
    --------
    >>> short("7/2"), short("1234567890123456789/1000000000000"), short("-1/5*10^-100")
    ('7/2', '1.235e+6', '-2.0e-101')
    """
    if len(value) <= digits + 4:
        return value
    import mpmath

    match = re.fullmatch(r"(-?)([\d/]+\*)?10\^(-?\d+)", value)
    try:
        if match:
            scale = mpmath.mpf(10) ** int(match[3])
            number = _exact((match[2] or "1*")[:-1]) * scale * (-1 if match[1] else 1)
        else:
            number = _exact(value)
    except (ValueError, ZeroDivisionError):
        return value if len(value) <= 24 else value[:21] + "..."
    return str(mpmath.nstr(number, digits, min_fixed=-4, max_fixed=5))


def _exact(value: str) -> Any:
    """A fraction or a decimal as an mpmath number."""
    import mpmath

    if "/" in value:
        exact = Fraction(value)
        return mpmath.mpf(exact.numerator) / exact.denominator
    return mpmath.mpf(value)
