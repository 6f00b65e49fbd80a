"""How a ledger and a record look as Markdown, LaTeX and HTML."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable
from itertools import groupby

from swingby.theory.claim_text import difference, source_text, statement_line, to_latex
from swingby.theory.formula import GREEK
from swingby.verify.audit_report import (
    header,
    repair_word,
    summary_lines,
)
from swingby.verify.grid import Grid, latex_text
from swingby.verify.ledger import Ledger, Record
from swingby.verify.record_report import (
    part_lines,
    record_text,
    title,
    verdict_words,
    witness_lines,
)

_WIDTH = 96
_COLORS = {"proved": "#1a7f37", "refuted": "#b3261e", "tested": "#0b6e8a", "undecided": "#8a6d00"}


def counts_grid(ledger: Ledger) -> Grid:
    """How many lines have each verdict, by part of the text."""
    names = list(ledger.counts())
    rows = []
    for part, group in groupby(ledger, key=lambda record: record.part):
        counts = Ledger(list(group)).counts()
        rows.append([part, *(str(counts[name] or "") for name in names), str(sum(counts.values()))])
    total = ledger.counts()
    rows.append(["all", *(str(total[name]) for name in names), str(len(ledger))])
    return Grid("", ["part", *(f">{name}" for name in names), ">lines"], rows)


def _cells(record: Record) -> list[str]:
    breaks = f"{record.breaks} ({record.severity})" if record.breaks else ""
    return [record.id, str(record.verdict), record.about, breaks, repair_word(record)]


_HEADS = ["line", "verdict", "what it says", "what breaks", "repair"]


def anchors(ids: Iterable[str]) -> dict[str, str]:
    """Anchors that GitHub and MyST give the headings of records.

    Parameters
    ----------
    ids : iterable of str
        In the order of the page: the second of two equal anchors ends in ``-1``.
    """
    used: Counter[str] = Counter()
    found = {}
    for name in ids:
        plain = re.sub(r"[^\w\-]", "", name.lower().replace(" ", "-"))
        found[name] = f"{plain}-{used[plain]}" if used[plain] else plain
        used[plain] += 1
    return found


def plain_markdown(text: str) -> str:
    """Text with the signs that Markdown reads as markup escaped."""
    return re.sub(r"([\\*_`\[\]<>#$|~])", r"\\\1", text)


def ledger_markdown(ledger: Ledger, *, level: int = 1) -> str:
    """Summary, a table per part of the text, and every record.

    Parameters
    ----------
    ledger : Ledger
    level : int
        Of the topmost heading.
    """
    return "\n\n".join(
        [
            "#" * level + " Ledger of the proofs",
            summary_markdown(ledger),
            *(record_markdown(record, level=level + 1) for record in ledger),
        ]
    )


def summary_markdown(ledger: Ledger) -> str:
    """Counts and one row per line, each with a link to its record."""
    targets = anchors(record.id for record in ledger)
    parts = [header(ledger.audited), *summary_lines(ledger), counts_grid(ledger).to_markdown()]
    for part, group in groupby(ledger, key=lambda record: record.part):
        rows = []
        for record in group:
            first, verdict, *rest = (plain_markdown(cell) for cell in _cells(record))
            verdict = f"**{verdict}**" if verdict == "refuted" else verdict
            rows.append(f"| [{first}](#{targets[record.id]}) | {verdict} | {' | '.join(rest)} |")
        table = [f"| {' | '.join(_HEADS)} |", "| --- | --- | --- | --- | --- |", *rows]
        parts += [f"**{part}**", "\n".join(table)]
    return "\n\n".join(parts)


def record_markdown(record: Record, *, level: int = 2) -> str:
    """One record with everything that is known about it.

    Parameters
    ----------
    record : Record
    level : int
        Of its heading.
    """
    place = f" ({record.reference})" if record.reference not in ("", record.id) else ""
    parts = [
        f"{'#' * level} {plain_markdown(record.id)}",
        f"**{record.verdict}**: {plain_markdown(record.about)}{plain_markdown(place)}.",
        f"$$\n{to_latex(record.statement)}\n$$",
    ]
    if record.reading:
        parts.append(f"*Read as:* {plain_markdown(record.reading)}")
    parts += _verdict_markdown(record)
    if record.breaks:
        parts.append(
            f"*What breaks:* {record.breaks} ({record.severity}). "
            f"{plain_markdown(record.explanation)}"
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
        parts += _verdict_markdown(repair)
    if record.rests_on:
        refuted = record.rests_on_refuted
        marks = (" (refuted)" if name in refuted else "" for name in record.rests_on)
        names = (plain_markdown(source_text(name)) for name in record.rests_on)
        parts.append(f"*Rests on:* {', '.join(map(''.join, zip(names, marks, strict=True)))}.")
    if record.downstream:
        found = [
            f"- {plain_markdown(source_text(name))}: {text}." for name, text in record.downstream
        ]
        parts.append("*With the repair, downstream:*\n\n" + "\n".join(found))
    return "\n\n".join(parts)


def _verdict_markdown(record: Record) -> list[str]:
    lines = [verdict_words(record)]
    lines += [f"{record.cases} cases"] if record.cases else []
    lines += [*record.evidence, *(f"tried: {text}" for text in record.tried)]
    if record.witness is not None:
        lines += witness_lines(record.witness, _WIDTH)
    for name, part in record.parts.items():
        lines += part_lines(record, name, part, _WIDTH)
    return ["```text\n" + "\n".join(lines) + "\n```"]


def ledger_latex(ledger: Ledger) -> str:
    """The table of records; needs array, booktabs, longtable, amsmath and amssymb."""
    ragged = r">{\raggedright\arraybackslash}p{%s\linewidth}"
    layout = "@{}" + "".join(ragged % width for width in ("0.13", "0.08", "0.54", "0.16")) + "@{}"
    heads = r"line & verdict & statement & what breaks; repair \\"
    rows = []
    for part, group in groupby(ledger, key=lambda record: record.part):
        rows.append(rf"\multicolumn{{4}}{{@{{}}l}}{{\textbf{{{latex_text(part)}}}}} \\*")
        for record in group:
            statement = statement_line(record.statement, latex=True)
            fate = [f"{record.breaks} ({record.severity})"] if record.breaks else []
            fate += [f"repair {repair_word(record)}"] if record.repair is not None else []
            cells = [
                latex_text(source_text(record.id)),
                str(record.verdict),
                rf"{latex_words(record.about)}: $\displaystyle {statement}$",
                latex_text("; ".join(fate)),
            ]
            rows.append(" & ".join(cells) + r" \\")
    lines = [
        latex_words(header(ledger.audited)),
        "",
        *(latex_words(line) for line in summary_lines(ledger)),
        "",
    ]
    return "\n".join(
        [
            "% needs array, booktabs, longtable, amsmath, amssymb",
            *lines,
            r"{\footnotesize\sloppy",
            rf"\begin{{longtable}}{{{layout}}}",
            rf"\toprule {heads} \midrule \endhead",
            r"\bottomrule \endfoot",
            *rows,
            r"\end{longtable}}",
        ]
    )


def latex_words(text: str) -> str:
    """Prose for LaTeX: signs escaped, Greek letters and signs of mathematics as commands."""
    signs = {letter: rf"$\{name}$" for name, letter in GREEK.items()}
    signs |= {"≤": r"$\le$", "≥": r"$\ge$", "≠": r"$\ne$", "−": "$-$", "²": "$^2$", "√": r"$\surd$"}
    for plain, sign in (("<=", "≤"), (">=", "≥"), ("!=", "≠")):
        text = text.replace(plain, sign)
    return "".join(signs.get(sign, latex_text(sign)) for sign in text)


def ledger_html(ledger: Ledger) -> str:
    """Summary, table, and every record folded away below it.

    Returns
    -------
    str
        A fragment; nothing is fetched.
    """
    above = "".join(
        f"<p>{html.escape(line)}</p>" for line in (header(ledger.audited), *summary_lines(ledger))
    )
    head = "".join(f'<th style="text-align:left">{name}</th>' for name in _HEADS)
    rows = []
    for part, group in groupby(ledger, key=lambda record: record.part):
        rows.append(f'<tr><th colspan="5" style="text-align:left">{html.escape(part)}</th></tr>')
        for record in group:
            cells = "".join(
                f'<td style="text-align:left">{_html_cell(cell)}</td>' for cell in _cells(record)
            )
            rows.append(f"<tr>{cells}</tr>")
    records = "".join(
        f"<details><summary>{html.escape(title(record))}: "
        f"{_html_cell(str(record.verdict))}</summary>"
        f"<pre>{html.escape(record_text(record))}</pre></details>"
        for record in ledger
    )
    return (
        f"<div>{above}<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        f"{records}</div>"
    )


def _html_cell(text: str) -> str:
    color = _COLORS.get(text)
    shown = html.escape(text)
    return f'<b style="color:{color}">{shown}</b>' if color else shown
