"""How a ledger, a record and the list of corrections look: text, Markdown, LaTeX and HTML."""

from __future__ import annotations

import html
import re
import textwrap
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from swingby.report import Grid
from swingby.report.markup import (
    html_cell,
    html_text,
    latex_text,
    markdown_table,
    markdown_text,
)
from swingby.report.numbers import counted, short
from swingby.report.text import USUAL, line_width, lines_text, wrapped
from swingby.theory.assumptions import Condition
from swingby.theory.claims.claim import SEVERITIES
from swingby.theory.claims.formula import as_read, symbol_text
from swingby.theory.claims.ledger import hypotheses
from swingby.theory.claims.text import difference, source_text, statement_line, to_latex, to_text
from swingby.theory.claims.verdict import Finding
from swingby.verify.lines import AUDITED, Line, Lines
from swingby.verify.prover.evidence import TAUTOLOGY

if TYPE_CHECKING:
    from swingby.verify.prover.evidence import Judged, Witness

#: Lines of evidence on a terminal, and characters of a line of evidence in a document.
_MOST_LINES = 24
_WIDTH = 96


def header(audited: str = AUDITED) -> str:
    """The sentence at the head of every output: which text is audited."""
    return f"Text audited: {audited}."


def summary_lines(ledger: Lines[Line]) -> list[str]:
    """What the ledger says, in a few lines."""
    lines = []
    for of, part in halves(ledger):
        # what says nothing is proved, and counts for nothing
        empty = sum(record.method == TAUTOLOGY for record in part)
        tally = part.counts() | {"tautological": empty}
        tally["proved"] -= empty
        shown = ", ".join(f"{number} {name}" for name, number in tally.items() if number)
        lines.append(f"{counted(len(part), 'line')} {of}: {shown}.")
    refuted = [record for record in ledger if record.verdict == Finding.REFUTED]
    if refuted:
        repairs = [one.repair for one in refuted if one.repair is not None]
        classes = _tally(SEVERITIES, [one.severity for one in refuted])
        verdicts = _tally(Finding, [one.verdict for one in repairs])
        tail = f"; repairs: {verdicts}" if repairs else "; none has a repair"
        lines.append(f"Refuted: {classes or 'not classed'}{tail}.")
    resting = sum(bool(record.rests_on_refuted) for record in ledger)
    if resting:
        lines.append(f"{resting} lines cite a refuted one.")
    if {f"Assumption D.{number}" for number in range(1, 6)} <= {record.id for record in ledger}:
        from swingby.verify.check import editions_lines

        lines.extend(editions_lines())
    lines.append(
        "A verdict is about one line: it follows from its hypotheses, whether or not those hold."
    )
    return lines


def halves(ledger: Lines[Line]) -> list[tuple[str, Lines[Line]]]:
    """The lines of the paper, and those of the repaired edition; only what is not empty."""
    own = [record for record in ledger if record.edition == "repaired"]
    paper = [record for record in ledger if record.edition != "repaired"]
    of = "of the paper" if ledger.audited == AUDITED else "of the proof"
    both = ((of, Lines(paper)), ("of the repaired edition (ours)", Lines(own)))
    return [(name, part) for name, part in both if len(part)]


def _tally(names: Iterable[str], found: list[str]) -> str:
    """How often each name occurs, where it does."""
    return ", ".join(f"{found.count(name)} {name}" for name in names if name in found)


def repair_word(record: Line) -> str:
    """Verdict on the repaired line, or nothing."""
    return "" if record.repair is None else str(record.repair.verdict)


_HEADS = ["line", "verdict", "what it says", "what breaks", "repair"]


def _cells(record: Line) -> list[str]:
    breaks = f"{record.breaks} ({record.severity})" if record.breaks else ""
    return [record.id, str(record.verdict), record.about, breaks, repair_word(record)]


def _parts(ledger: Lines[Line]) -> list[tuple[str, list[Line]]]:
    """The records by part of the text."""
    return [(part, list(group)) for part, group in groupby(ledger, key=lambda one: one.part)]


def ledger_grids(ledger: Lines[Line]) -> tuple[Grid, Grid]:
    """Counts by verdict; and one row per line, with the summary."""
    parts = halves(ledger)
    counts = Grid(
        "Ledger of the proofs",
        ["verdict", *(f">lines {name}" for name, _ in parts)],
        [[name, *(str(part.counts()[name]) for _, part in parts)] for name in ledger.counts()],
        above=[header(ledger.audited), ""],
    )
    rows: list[list[str]] = []
    for part, group in _parts(ledger):
        rows += [[part], *(_cells(record) for record in group)] if part else map(_cells, group)
    return counts, Grid("", _HEADS, rows, below=["", *summary_lines(ledger)])


def standing_text(ledger: Lines[Line], *, width: int | None = None, color: bool = False) -> str:
    """Which lines stand with all that they rest on, as printed and as corrected, and why not."""
    both = [ledger.standing(corrected=corrected) for corrected in (False, True)]
    rows = []
    for line, corrected in zip(*both, strict=True):
        because = dict.fromkeys([*line.because, *corrected.because])
        cells = (", ".join(names) for names in (because, corrected.assumes))
        rows.append([line.id, line.state, corrected.state, *cells])
    given = f"Taken for granted: {', '.join(ledger.promised) or 'nothing'}."
    counts = []
    for word, lines in zip(("As printed", "As corrected"), both, strict=True):
        tally = Counter(line.state for line in lines)
        counts.append(f"{word}: {', '.join(f'{n} {state}' for state, n in tally.items())}.")
    return Grid(
        "What stands with all that it rests on",
        ["line", "as printed", "as corrected", "because of", "in the end rests on"],
        rows,
        above=[header(ledger.audited), ""],
        below=["", given, *counts],
    ).to_text(width=width, color=color)


def record_text(record: Line, *, width: int | None = None, color: bool = False) -> str:
    """One record for a terminal, with everything that is known about it."""
    width = width or line_width() or USUAL
    body = [header(record.audited), "", f"{record.about}.", ""]
    body += [f"  {line}" for line in to_text(record.statement).splitlines()]
    if record.reading:
        body += ["", f"Read as: {record.reading}"]
    body += ["", *_verdict_lines(record, width)]
    if record.breaks:
        body += ["", f"What breaks: {record.breaks} ({record.severity})."]
        body += [f"  {record.explanation}"]
    if record.repair is not None:
        body += ["", *_repair_lines(record, record.repair, width)]
    if record.rests_on:
        refuted = record.rests_on_refuted
        names = (source_text(one) + ", refuted" * (one in refuted) for one in record.rests_on)
        body += ["", f"Rests on {'; '.join(names)}."]
    if record.downstream:
        body += ["", "With the repair, downstream:"]
        body += [f"  {source_text(name)}: {sentence}" for name, sentence in record.downstream]
    return lines_text(f"{title(record)}: {record.verdict}", body, width, color=color)


def title(record: Line) -> str:
    """Name and place of a line."""
    place = f", {record.reference}" if record.reference not in ("", record.id) else ""
    edition = "" if record.edition == "printed" else f", {record.edition}"
    return f"{source_text(record.id)}{place}{edition}"


def verdict_words(judged: Line | Judged) -> str:
    """A verdict with its method, where there is one."""
    method = judged.method.strip("; ")
    if judged.verdict == Finding.UNDECIDED:
        return f"undecided ({method})" if method else "undecided"
    if ": " in method:
        return f"{judged.verdict} ({method})"
    return f"{judged.verdict}, by {method}" if method else str(judged.verdict)


def _verdict_lines(record: Line, width: int) -> list[str]:
    lines = [f"Verdict: {verdict_words(record)}."]
    lines += [f"  Cases: {record.cases}."] if record.cases else []
    lines += _evidence_lines(record, width)
    if record.witness is not None:
        word = "Witness" if record.statement.quantifier == "exists" else "Counterexample"
        lines += ["", f"{word}:", *witness_lines(record.witness, width)]
    for name, part in record.parts.items():
        lines += _part_lines(record, name, part, width)
    return lines


def _evidence_lines(record: Line, width: int) -> list[str]:
    """What a reader can check, cut where a certificate has many cases, and what was tried."""
    lines = [row for line in record.evidence for row in wrapped(line, width, "  ")]
    left = len(lines) - _MOST_LINES
    if left > 0:
        more = f"  ... {left} more lines of evidence: to_dict() has them all"
        lines = [*lines[:_MOST_LINES], more]
    return [*lines, *(f"  tried: {line}" for line in record.tried)]


def _part_lines(record: Line, name: str, part: Judged, width: int) -> list[str]:
    """The verdict on a part of a line, without what the whole has said already."""
    said = set(record.evidence)
    lines = [f"  {name}: {verdict_words(part)}."]
    lines += [f"    {one}" for one in part.evidence if not said & {one, f"{name}: {one}"}]
    if part.witness not in (None, record.witness):
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
    rest = [f"there: {relation.replace('<=', '≤').replace('>=', '≥')}"]
    rest += [f"left  = {witness.left}", f"right = {witness.right}"]
    if witness.checked:
        rest.append(f"checked by {', '.join(witness.checked)}")
    return [*lines, *(row for line in rest for row in wrapped(line, width, "  "))]


def _repair_lines(record: Line, repair: Line, width: int) -> list[str]:
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


def evidence_words(record: Line) -> str:
    """Why a line is refuted, in a few words: both sides at the counterexample."""
    for witness in (record.witness, *(part.witness for part in record.parts.values())):
        if witness is not None:
            return f"left {short(witness.left)}, right {short(witness.right)}"
    return record.method


def record_html(record: Line) -> str:
    """One record, as its text."""
    return html_text(record_text(record, width=USUAL))


def counts_grid(ledger: Lines[Line]) -> Grid:
    """How many lines have each verdict, by part of the text."""
    names = list(ledger.counts())
    rows = []
    for part, group in _parts(ledger):
        counts = Lines(group).counts()
        rows.append([part, *(str(counts[name] or "") for name in names), str(sum(counts.values()))])
    total = ledger.counts()
    rows.append(["all", *(str(total[name]) for name in names), str(len(ledger))])
    return Grid("", ["part", *(f">{name}" for name in names), ">lines"], rows)


def anchors(ids: Iterable[str]) -> dict[str, str]:
    """Anchors that GitHub and MyST give headings: the second of two equal ones ends in ``-1``."""
    used: Counter[str] = Counter()
    found = {}
    for name in ids:
        plain = re.sub(r"[^\w\-]", "", name.lower().replace(" ", "-"))
        found[name] = f"{plain}-{used[plain]}" if used[plain] else plain
        used[plain] += 1
    return found


def ledger_markdown(ledger: Lines[Line]) -> str:
    """Summary, a table per part of the text, and every record."""
    heads = ("# Ledger of the proofs", summary_markdown(ledger))
    return "\n\n".join([*heads, *map(record_markdown, ledger)])


def summary_markdown(ledger: Lines[Line]) -> str:
    """Counts and one row per line, each with a link to its record."""
    targets = anchors(record.id for record in ledger)
    heads = [header(ledger.audited), *summary_lines(ledger)]
    parts = [*map(markdown_text, heads), counts_grid(ledger).to_markdown()]
    for part, group in _parts(ledger):
        rows = []
        for record in group:
            first, verdict, *rest = map(markdown_text, _cells(record))
            verdict = f"**{verdict}**" if verdict == "refuted" else verdict
            rows.append([f"[{first}](#{targets[record.id]})", verdict, *rest])
        table = markdown_table(_HEADS, rows, [False] * len(_HEADS), raw=True)
        parts += [f"**{markdown_text(part)}**", table]
    return "\n\n".join(parts)


def record_markdown(record: Line, *, level: int = 2) -> str:
    """One record with everything that is known about it; `level` of its heading."""
    place = f" ({record.reference})" if record.reference not in ("", record.id) else ""
    parts = [
        f"{'#' * level} {markdown_text(record.id)}",
        f"**{record.verdict}**: {markdown_text(record.about)}{markdown_text(place)}.",
        f"$$\n{to_latex(record.statement)}\n$$",
    ]
    if record.reading:
        parts.append(f"*Read as:* {markdown_text(record.reading)}")
    parts.append(_verdict_markdown(record))
    if record.breaks:
        parts.append(
            f"*What breaks:* {record.breaks} ({record.severity}). "
            f"{markdown_text(record.explanation)}"
        )
    repair = record.repair
    if repair is not None:
        old, new = difference(record.statement, repair.statement, latex=True)
        parts.append(f"*Repair:* **{repair.verdict}**.")
        parts.append(
            "$$\n\\begin{aligned}\n"
            f"\\text{{printed}}\\quad & {old} \\\\\n\\text{{corrected}}\\quad & {new}\n"
            "\\end{aligned}\n$$"
        )
        parts.append(_verdict_markdown(repair))
    if record.rests_on:
        refuted = record.rests_on_refuted
        names = (
            markdown_text(source_text(one)) + " (refuted)" * (one in refuted)
            for one in record.rests_on
        )
        parts.append(f"*Rests on:* {', '.join(names)}.")
    if record.downstream:
        found = (f"{source_text(name)}: {text}." for name, text in record.downstream)
        listed = "\n".join(f"- {markdown_text(line)}" for line in found)
        parts.append(f"*With the repair, downstream:*\n\n{listed}")
    return "\n\n".join(parts)


def _verdict_markdown(record: Line) -> str:
    lines = [verdict_words(record)]
    lines += [f"{record.cases} cases"] if record.cases else []
    lines += [*record.evidence, *(f"tried: {text}" for text in record.tried)]
    if record.witness is not None:
        lines += witness_lines(record.witness, _WIDTH)
    for name, part in record.parts.items():
        for line in _part_lines(record, name, part, _WIDTH):
            lines += wrapped(line.lstrip(), _WIDTH, line[: len(line) - len(line.lstrip())])
    return "```text\n" + "\n".join(lines) + "\n```"


def ledger_latex(ledger: Lines[Line]) -> str:
    """The table of records; needs array, booktabs, longtable, amsmath and amssymb."""
    ragged = r">{\raggedright\arraybackslash}p{%s\linewidth}"
    layout = "@{}" + "".join(ragged % width for width in ("0.13", "0.08", "0.54", "0.16")) + "@{}"
    heads = r"line & verdict & statement & what breaks; repair \\"
    rows = []
    for part, group in _parts(ledger):
        rows.append(rf"\multicolumn{{4}}{{@{{}}l}}{{\textbf{{{latex_text(part)}}}}} \\*")
        for record in group:
            statement = statement_line(record.statement, latex=True)
            broken = [f"{record.breaks} ({record.severity})"] if record.breaks else []
            broken += [f"repair {repair_word(record)}"] if record.repair is not None else []
            cells = [
                latex_text(source_text(record.id)),
                str(record.verdict),
                rf"{latex_text(record.about)}: $\displaystyle {statement}$",
                latex_text("; ".join(broken)),
            ]
            rows.append(" & ".join(cells) + r" \\")
    return "\n".join(
        [
            "% needs array, booktabs, longtable, amsmath, amssymb",
            *map(latex_text, (header(ledger.audited), "", *summary_lines(ledger), "")),
            r"{\footnotesize\sloppy",
            rf"\begin{{longtable}}{{{layout}}}",
            rf"\toprule {heads} \midrule \endhead",
            r"\bottomrule \endfoot",
            *rows,
            r"\end{longtable}}",
        ]
    )


def ledger_html(ledger: Lines[Line]) -> str:
    """The tables, and every record folded away below them; nothing is fetched."""
    tables = "".join(grid.to_html() for grid in ledger_grids(ledger))
    records = "".join(
        f"<details><summary>{html.escape(title(record))}: "
        f"{html_cell(str(record.verdict))}</summary>{record_html(record)}</details>"
        for record in ledger
    )
    return f"<div>{tables}{records}</div>"


_STANDING = (Finding.PROVED, Finding.TESTED)

_TITLES = {
    "fatal": "Fatal: cannot be used for what it is there for",
    "local": "Local: the statement around it survives with a change",
    "cosmetic": "Cosmetic: a reader corrects it in passing",
    "": "Not classed",
}


@dataclass(frozen=True)
class Correction:
    """One line of the list, as text and as LaTeX, and why the printed line is refuted.

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


def corrections(ledger: Lines[Line]) -> tuple[Correction, ...]:
    """The refuted lines with a proved or tested repair, fatal ones first.

    Lines that say the same twice, such as a theorem and its display, are one.
    """
    found: dict[tuple[str, str], Correction] = {}
    order = [*SEVERITIES, ""]
    for record in sorted(ledger, key=lambda one: order.index(one.severity)):
        repair = standing_repair(record)
        if record.verdict != Finding.REFUTED or repair is None:
            continue
        both = record.statement, repair.statement
        pair, latex = difference(*both), difference(*both, latex=True)
        name = source_text(record.id)
        if pair in found:
            found[pair] = replace(found[pair], id=f"{found[pair].id}, {name}")
            continue
        words = evidence_words(record), str(repair.verdict), repair.method
        found[pair] = Correction(name, record.severity, record.breaks, *pair, *latex, *words)
    return tuple(found.values())


def standing_repair(record: Line) -> Line | None:
    """The first repair of a record that is proved or tested."""
    repair = record.repair
    while repair is not None and repair.verdict not in _STANDING:
        repair = repair.repair
    return repair


def _remarks(ledger: Lines[Line]) -> list[str]:
    """What else has to change, and what has no correction."""

    def listed(*verdicts: Finding, repaired: bool) -> str:
        return ", ".join(
            source_text(record.id)
            for record in ledger
            if record.verdict in verdicts and (standing_repair(record) is not None) == repaired
        )

    parts = (
        (
            "Lines that carry a correction on, right as they are printed",
            listed(*_STANDING, repaired=True),
        ),
        ("To follow in their corrected form, lines ask of the assumptions", _asked(ledger)),
        ("Refuted, without a correction that stands", listed(Finding.REFUTED, repaired=False)),
    )
    return [f"{words}: {names}." for words, names in parts if names]


def _asked(ledger: Lines[Line]) -> str:
    """What standing repairs cite from an assumption that the assumption does not say as printed."""
    printed = {known.relation for group in hypotheses().values() for known in group}
    return "; ".join(
        f"{Condition(known.relation)} ({known.source}, for {source_text(record.id)})"
        for record in ledger
        if (repair := standing_repair(record)) is not None
        for known in repair.statement.given
        if known.source.startswith("Assumption") and known.relation not in printed
    )


def _grouped(ledger: Lines[Line]) -> list[tuple[str, list[Correction]]]:
    listed = corrections(ledger)
    groups = [(name, [one for one in listed if one.severity == name]) for name in _TITLES]
    return [(_TITLES[name], group) for name, group in groups if group]


_CORRECTED = "What a corrected paper would say"
_NOTHING = "Nothing to correct among these lines."


def corrections_text(ledger: Lines[Line], *, width: int = USUAL) -> str:
    """The corrections for a terminal."""
    lines = [_CORRECTED, header(ledger.audited)]
    for name, group in _grouped(ledger):
        lines += ["", f"{name} ({len(group)})"]
        for one in group:
            lines.append(f"  {one.id}  {one.breaks}")
            for head, text in (
                ("printed    ", one.printed),
                ("corrected  ", one.corrected),
                ("because    ", one.because),
            ):
                lines += textwrap.wrap(
                    head + text, width, initial_indent="    ", subsequent_indent="        "
                )
    lines += [] if corrections(ledger) else ["", _NOTHING]
    for text in _remarks(ledger):
        lines += ["", *textwrap.wrap(text, width)]
    return "\n".join(lines)


def corrections_markdown(ledger: Lines[Line], *, level: int = 2) -> str:
    """The corrections as Markdown; `level` of the topmost heading."""
    heads = ["line", "what breaks", "printed", "corrected", "evidence"]
    parts = ["#" * level + f" {_CORRECTED}", header(ledger.audited)]
    for name, group in _grouped(ledger):
        rows = [
            [
                markdown_text(one.id),
                one.breaks,
                f"${_cell(one.printed_latex)}$",
                f"${_cell(one.corrected_latex)}$",
                markdown_text(one.because),
            ]
            for one in group
        ]
        table = markdown_table(heads, rows, [False] * len(heads), raw=True)
        parts += [f"**{name}** ({len(group)})", table]
    parts += [] if len(parts) > 2 else [_NOTHING]
    return "\n\n".join([*parts, *map(markdown_text, _remarks(ledger))])


def _cell(latex: str) -> str:
    """A bar would end the cell of a table."""
    latex = latex.replace(r"\|", r"\Vert ")
    return (
        latex.replace(r"\left|", r"\left\lvert ")
        .replace(r"\right|", r"\right\rvert ")
        .replace("|", r"\vert ")
    )


def corrections_latex(ledger: Lines[Line]) -> str:
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
        for one in group:
            lines.append(
                rf"\item \textbf{{{latex_text(one.id)}}} {latex_text(one.breaks)}: "
                rf"$ {one.printed_latex} $ $\longrightarrow$ $ {one.corrected_latex} $ "
                rf"({latex_text(one.because)})"
            )
        lines.append(r"\end{list}")
    lines += [latex_text(text) + "\n" for text in _remarks(ledger)]
    return "\n".join(lines)
