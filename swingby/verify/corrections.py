"""What a corrected paper would say: every refuted line with a repair that stands, on two pages."""

from __future__ import annotations

from dataclasses import dataclass, replace

from swingby.report.markup import latex_text, markdown_text
from swingby.theory.assumptions import Condition
from swingby.theory.claim import SEVERITIES
from swingby.theory.claim_text import difference, source_text
from swingby.theory.derivations.ledger import hypotheses
from swingby.theory.verdict import Finding
from swingby.verify.ledger import Ledger, Record
from swingby.verify.ledger_report import evidence_words, header

_STANDING = (Finding.PROVED, Finding.TESTED)

_TITLES = {
    "fatal": "Fatal: cannot be used for what it is there for",
    "local": "Local: the statement around it survives with a change",
    "cosmetic": "Cosmetic: a reader corrects it in passing",
    "": "Not classed",
}


@dataclass(frozen=True)
class Correction:
    """One line of the list.

    `id`: as a reference, ``"(D.61)"``; several where the text says the same twice.
    `printed`, `corrected`: text, one line each.
    `against`: why the printed line is refuted, in a few words.
    `verdict`, `method`: on the corrected line.
    """

    id: str
    severity: str
    breaks: str
    printed: str
    corrected: str
    printed_latex: str
    corrected_latex: str
    against: str
    verdict: str
    method: str


def corrections(ledger: Ledger) -> tuple[Correction, ...]:
    """The refuted lines with a proved or tested repair, fatal ones first."""
    found = []
    for record in ledger:
        repair = standing_repair(record)
        if record.verdict != Finding.REFUTED or repair is None:
            continue
        pair = difference(record.statement, repair.statement)
        latex = difference(record.statement, repair.statement, latex=True)
        found.append(
            Correction(
                source_text(record.id),
                record.severity,
                record.breaks,
                *pair,
                *latex,
                evidence_words(record),
                str(repair.verdict),
                repair.method,
            )
        )
    order = [*SEVERITIES, ""]
    return _merged(sorted(found, key=lambda one: order.index(one.severity)))


def _merged(found: list[Correction]) -> tuple[Correction, ...]:
    """Lines that say the same twice, such as a theorem and its display, as one."""
    kept: dict[tuple[str, str], Correction] = {}
    for one in found:
        same = kept.get((one.printed, one.corrected))
        kept[one.printed, one.corrected] = (
            one if same is None else replace(same, id=f"{same.id}, {one.id}")
        )
    return tuple(kept.values())


def standing_repair(record: Record) -> Record | None:
    """The first repair of a record that is proved or tested."""
    repair = record.repair
    while repair is not None and repair.verdict not in _STANDING:
        repair = repair.repair
    return repair


def _remarks(ledger: Ledger) -> list[str]:
    """What else has to change, and what has no correction."""
    carried = [
        source_text(record.id)
        for record in ledger
        if record.verdict in _STANDING and standing_repair(record) is not None
    ]
    bare = [
        source_text(record.id)
        for record in ledger
        if record.verdict == Finding.REFUTED and standing_repair(record) is None
    ]
    lines = []
    if carried:
        lines.append(
            f"Lines that carry a correction on, right as they are printed: {', '.join(carried)}."
        )
    asked = _asked_of_assumptions(ledger)
    if asked:
        lines.append(f"To follow in their corrected form, lines ask of the assumptions: {asked}.")
    if bare:
        lines.append(f"Refuted, without a correction that stands: {', '.join(bare)}.")
    return lines


def _asked_of_assumptions(ledger: Ledger) -> str:
    """What standing repairs cite from an assumption that the assumption does not say as printed."""
    printed = {known.relation for group in hypotheses().values() for known in group}
    return "; ".join(
        f"{Condition(known.relation)} ({known.source}, for {source_text(record.id)})"
        for record in ledger
        if (repair := standing_repair(record)) is not None
        for known in repair.statement.given
        if known.source.startswith("Assumption") and known.relation not in printed
    )


def _grouped(ledger: Ledger) -> list[tuple[str, list[Correction]]]:
    listed = corrections(ledger)
    groups = [(name, [one for one in listed if one.severity == name]) for name in _TITLES]
    return [(_TITLES[name], group) for name, group in groups if group]


def corrections_text(ledger: Ledger, *, width: int = 100) -> str:
    """The corrections for a terminal."""
    import textwrap

    def line(text: str) -> list[str]:
        return textwrap.wrap(text, width, initial_indent="    ", subsequent_indent="        ")

    lines = ["What a corrected paper would say", header(ledger.audited)]
    for name, group in _grouped(ledger):
        lines += ["", f"{name} ({len(group)})"]
        for one in group:
            lines.append(f"  {one.id}  {one.breaks}")
            lines += line(f"printed    {one.printed}")
            lines += line(f"corrected  {one.corrected}")
            lines += line(f"because    {one.against}; corrected form {one.verdict}")
    if not corrections(ledger):
        lines += ["", "Nothing to correct among these lines."]
    for text in _remarks(ledger):
        lines += ["", *textwrap.wrap(text, width)]
    return "\n".join(lines)


def corrections_markdown(ledger: Ledger, *, level: int = 2) -> str:
    """The corrections as Markdown.

    `level`: of the topmost heading.
    """
    parts = ["#" * level + " What a corrected paper would say", header(ledger.audited)]
    for name, group in _grouped(ledger):
        rows = [
            "| line | what breaks | printed | corrected | evidence |",
            "| --- | --- | --- | --- | --- |",
        ]
        for one in group:
            cells = [
                markdown_text(one.id),
                one.breaks,
                f"${_cell(one.printed_latex)}$",
                f"${_cell(one.corrected_latex)}$",
                markdown_text(f"{one.against}; corrected form {one.verdict}"),
            ]
            rows.append(f"| {' | '.join(cells)} |")
        parts += [f"**{name}** ({len(group)})", "\n".join(rows)]
    if len(parts) == 2:
        parts.append("Nothing to correct among these lines.")
    return "\n\n".join([*parts, *(markdown_text(text) for text in _remarks(ledger))])


def _cell(latex: str) -> str:
    """A bar would end the cell of a table."""
    latex = latex.replace(r"\|", r"\Vert ")
    return (
        latex.replace(r"\left|", r"\left\lvert ")
        .replace(r"\right|", r"\right\rvert ")
        .replace("|", r"\vert ")
    )


def corrections_latex(ledger: Ledger) -> str:
    """The corrections as LaTeX; needs booktabs, amsmath and amssymb."""
    lines = ["% needs amsmath, amssymb", r"\section*{What a corrected paper would say}"]
    lines += [latex_text(header(ledger.audited)), ""]
    for name, group in _grouped(ledger):
        lines += [
            rf"\paragraph{{{latex_text(name)}}}",
            # Formulas of a line and a half are not rare: ragged, with a hanging indent.
            r"\begin{list}{}{\leftmargin=1em \itemindent=-1em \itemsep=0pt \parsep=1pt}"
            r"\scriptsize\raggedright",
        ]
        for one in group:
            lines.append(
                rf"\item \textbf{{{latex_text(one.id)}}} {latex_text(one.breaks)}: "
                rf"$ {one.printed_latex} $ $\longrightarrow$ $ {one.corrected_latex} $ "
                rf"({latex_text(one.against)}; corrected form {one.verdict})"
            )
        lines.append(r"\end{list}")
    lines += [latex_text(text) + "\n" for text in _remarks(ledger)]
    return "\n".join(lines)
