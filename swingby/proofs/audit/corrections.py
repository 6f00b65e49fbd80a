"""The corrections that a paper needs: the refuted lines with a repair that stands."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, replace

from swingby.proofs.audit.ledger import Ledger
from swingby.proofs.audit.record import Record, evidence_words, header
from swingby.proofs.language.claim import SEVERITIES
from swingby.proofs.language.claim_text import difference, source_text
from swingby.proofs.language.claims import hypotheses
from swingby.report.latex import latex_text
from swingby.report.lines import USUAL
from swingby.report.markup import markdown_table, markdown_text
from swingby.theory.statement import Condition
from swingby.theory.verdict import Finding

_STANDING = (Finding.PROVED, Finding.MET, Finding.TESTED)

_TITLES = {
    "fatal": "Fatal: cannot be used for what it is there for",
    "local": "Local: the statement around it survives with a change",
    "cosmetic": "Cosmetic: a reader corrects it in passing",
    "": "Not classed",
}


@dataclass(frozen=True)
class Correction:
    """A refuted line and its corrected form, as text and as LaTeX, with the evidence.

    `id`: as a reference, ``"(D.61)"``; several where the text says the same twice.
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

    @property
    def because(self) -> str:
        """The evidence in a few words."""
        return f"{self.against}; corrected form {self.verdict}"


def corrections(ledger: Ledger) -> tuple[Correction, ...]:
    """The refuted lines with a proved or tested repair, fatal lines first.

    Lines that say the same twice, such as a theorem and its display, are one.
    """
    by_change: dict[tuple[str, str], Correction] = {}
    order = [*SEVERITIES, ""]
    for record in sorted(ledger, key=lambda line: order.index(line.severity)):
        repair = standing_repair(record)
        if record.verdict != Finding.REFUTED or repair is None:
            continue
        both = record.statement, repair.statement
        pair, latex = difference(*both), difference(*both, latex=True)
        name = source_text(record.id)
        if pair in by_change:
            by_change[pair] = replace(by_change[pair], id=f"{by_change[pair].id}, {name}")
            continue
        words = evidence_words(record), str(repair.verdict), repair.method
        by_change[pair] = Correction(name, record.severity, record.breaks, *pair, *latex, *words)
    return tuple(by_change.values())


def standing_repair(record: Record) -> Record | None:
    """The first repair of a record that is proved or tested."""
    repair = record.repair
    while repair is not None and repair.verdict not in _STANDING:
        repair = repair.repair
    return repair


def _remarks(ledger: Ledger) -> list[str]:
    """Further lines that have to change, and refuted lines without a correction."""

    def listed(*verdicts: Finding, repaired: bool) -> str:
        return ", ".join(
            source_text(record.id)
            for record in ledger
            if record.verdict in verdicts and (standing_repair(record) is not None) == repaired
        )

    remarks = (
        (
            "Lines that carry a correction on, right as they are printed",
            listed(*_STANDING, repaired=True),
        ),
        ("To follow in their corrected form, lines ask of the assumptions", _new_demands(ledger)),
        (
            "Lines that quote what the quoted line does not say, as far as is checked",
            ", ".join(
                source_text(record.id)
                for record in ledger
                if any(quotation.open for quotation in record.quotations)
            ),
        ),
        ("Refuted, without a correction that stands", listed(Finding.REFUTED, repaired=False)),
    )
    return [f"{words}: {names}." for words, names in remarks if names]


def _new_demands(ledger: Ledger) -> str:
    """Relations that standing repairs cite from an assumption and the printed one lacks."""
    printed = {hypothesis.relation for group in hypotheses().values() for hypothesis in group}
    return "; ".join(
        f"{Condition(hypothesis.relation)} ({hypothesis.source}, for {source_text(record.id)})"
        for record in ledger
        if (repair := standing_repair(record)) is not None
        for hypothesis in repair.statement.given
        if hypothesis.source.startswith("Assumption") and hypothesis.relation not in printed
    )


def _grouped(ledger: Ledger) -> list[tuple[str, list[Correction]]]:
    listed = corrections(ledger)
    groups = [
        (name, [correction for correction in listed if correction.severity == name])
        for name in _TITLES
    ]
    return [(_TITLES[name], group) for name, group in groups if group]


_CORRECTED = "What a corrected paper would say"
_NOTHING = "Nothing to correct among these lines."


def corrections_text(ledger: Ledger, *, width: int = USUAL) -> str:
    """The corrections for a terminal."""
    lines = [_CORRECTED, header(ledger.audited)]
    for name, group in _grouped(ledger):
        lines += ["", f"{name} ({len(group)})"]
        for correction in group:
            lines.append(f"  {correction.id}  {correction.breaks}")
            for head, text in (
                ("printed    ", correction.printed),
                ("corrected  ", correction.corrected),
                ("because    ", correction.because),
            ):
                lines += textwrap.wrap(
                    head + text, width, initial_indent="    ", subsequent_indent="        "
                )
    lines += [] if corrections(ledger) else ["", _NOTHING]
    for text in _remarks(ledger):
        lines += ["", *textwrap.wrap(text, width)]
    return "\n".join(lines)


def corrections_markdown(ledger: Ledger, *, level: int = 2) -> str:
    """The corrections as Markdown; `level` of the topmost heading."""
    heads = ["line", "what breaks", "printed", "corrected", "evidence"]
    blocks = ["#" * level + f" {_CORRECTED}", header(ledger.audited)]
    for name, group in _grouped(ledger):
        rows = [
            [
                markdown_text(correction.id),
                correction.breaks,
                f"${_cell(correction.printed_latex)}$",
                f"${_cell(correction.corrected_latex)}$",
                markdown_text(correction.because),
            ]
            for correction in group
        ]
        table = markdown_table(heads, rows, [False] * len(heads), raw=True)
        blocks += [f"**{name}** ({len(group)})", table]
    blocks += [] if len(blocks) > 2 else [_NOTHING]
    return "\n\n".join([*blocks, *map(markdown_text, _remarks(ledger))])


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
    lines = ["% needs amsmath, amssymb", rf"\section*{{{_CORRECTED}}}"]
    lines += [latex_text(header(ledger.audited)), ""]
    for name, group in _grouped(ledger):
        lines += [
            rf"\paragraph{{{latex_text(name)}}}",
            # Formulas of a line and a half are not rare: ragged, with a hanging indent.
            r"\begin{list}{}{\leftmargin=1em \itemindent=-1em \itemsep=0pt \parsep=1pt}"
            r"\scriptsize\raggedright",
        ]
        for correction in group:
            lines.append(
                rf"\item \textbf{{{latex_text(correction.id)}}} {latex_text(correction.breaks)}: "
                rf"$ {correction.printed_latex} $ $\longrightarrow$ "
                rf"$ {correction.corrected_latex} $ "
                rf"({latex_text(correction.because)})"
            )
        lines.append(r"\end{list}")
    lines += [latex_text(text) + "\n" for text in _remarks(ledger)]
    return "\n".join(lines)
