"""Tables and prose as Markdown, LaTeX and HTML, with the signs of each language escaped."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Sequence

_LATEX = {
    "\\": r"\textbackslash{}",
    "_": r"\_",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "$": r"\$",
    "{": r"\{",
    "}": r"\}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"$<$",
    ">": r"$>$",
    "|": r"$|$",
    "±": r"$\pm$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "≠": r"$\ne$",
    "≈": r"$\approx$",
    "−": "$-$",
    "·": r"$\cdot$",
    "×": r"$\times$",
    "∞": r"$\infty$",
    "√": r"$\surd$",
    "²": "$^2$",
    "³": "$^3$",
    "→": r"$\to$",
    "…": r"\dots{}",
    "─": "--",
}
#: An underscore inside a word, a bracket that is no link and a lone "<" are plain text already.
_MARKDOWN = re.compile(
    r"[\\`*|$]|~(?=~)|(?<![^\W_])_|_(?![^\W_])|<(?=[A-Za-z/!?])|\[(?=[^\]]*\][(\[:])|^[#>]"
)
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?(e[+-]?\d+)?")
#: Prose longer than this gets a column that breaks lines.
_LONG = 40
#: Share of the line that columns of prose divide.
_SHARE = 0.66
#: Colours of verdicts; the words carry the meaning without them.
STYLES = {
    "holds": "green",
    "proved": "green",
    "proved by z3": "cyan",
    "fails": "red",
    "refuted": "red",
    "tested": "cyan",
    "undecided": "yellow",
}
#: On white, dark enough to be read.
_COLORS = {"green": "#1a7f37", "red": "#b3261e", "cyan": "#0b6e8a", "yellow": "#8a6d00"}


def markdown_text(text: str) -> str:
    """Text with the signs that Markdown reads as markup escaped."""
    return _MARKDOWN.sub(r"\\\g<0>", text)


def markdown_lines(lines: Iterable[str]) -> str:
    """Lines that stay lines."""
    return "  \n".join(markdown_text(line.strip()) for line in lines if line.strip())


def markdown_table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[bool], *, raw: bool = False
) -> str:
    """A table as GitHub reads it; `raw` where the cells are Markdown already."""

    def line(cells: Sequence[str]) -> str:
        texts = cells if raw else [markdown_text(cell) for cell in cells]
        if len(texts) == 1 < len(heads):
            texts = [f"**{texts[0]}**", *[""] * (len(heads) - 1)]
        return f"| {' | '.join(texts)} |"

    rule = f"| {' | '.join('---:' if is_right else '---' for is_right in right)} |"
    return "\n".join([line(heads), rule, *map(line, rows)])


def latex_text(text: str) -> str:
    """Prose for LaTeX: signs escaped, Greek letters and signs of mathematics as commands."""
    for digraph, sign in (("<=", "≤"), (">=", "≥"), ("!=", "≠"), ("+-", "±")):
        text = text.replace(digraph, sign)
    text = re.sub(r"(?<![\w.)-])-(?=\d)", "−", text)
    return "".join(_LATEX.get(sign) or _greek(sign) or sign for sign in text)


def _greek(sign: str) -> str | None:
    letter = re.fullmatch(r"GREEK (SMALL|CAPITAL) LETTER (\w+)", unicodedata.name(sign, ""))
    if letter is None:
        return None
    name = letter[2].lower().replace("lamda", "lambda")
    return rf"$\{name if letter[1] == 'SMALL' else name.title()}$"


def latex_table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[bool],
    *,
    siunitx: bool = False,
) -> str:
    """A tabular with the rules of booktabs; long prose breaks its lines."""
    columns = [[row[k] for row in rows if len(row) > 1] for k in range(len(heads))]
    long = [max(map(len, column), default=0) > _LONG for column in columns]
    numbers = [
        siunitx and bool(column) and all(map(_NUMBER.fullmatch, filter(None, column)))
        for column in columns
    ]
    share = f"p{{{_SHARE / max(1, sum(long)):.2f}\\linewidth}}"
    layout = "".join(
        share if prose else "S" if number else "r" if is_right else "l"
        for prose, number, is_right in zip(long, numbers, right, strict=True)
    )

    def line(cells: Sequence[str], *, head: bool = False) -> str:
        if len(cells) == 1 < len(heads):
            text = latex_text(cells[0])
            return rf"\multicolumn{{{len(heads)}}}{{l}}{{\textbf{{{text}}}}} \\"
        texts = [
            (f"{{{latex_text(cell)}}}" if head else cell) if number else latex_text(cell)
            for cell, number in zip(cells, numbers, strict=True)
        ]
        # A bracket after the end of a row would be its argument.
        guard = "{}" if texts[0].startswith("[") else ""
        return guard + " & ".join(texts) + r" \\"

    return "\n".join(
        [
            rf"\begin{{tabular}}{{{layout}}}",
            r"\toprule",
            line(heads, head=True),
            r"\midrule",
            *map(line, rows),
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def html_lines(lines: Iterable[str]) -> str:
    """A paragraph for each line that says something."""
    return "".join(f"<p>{html.escape(line.strip())}</p>" for line in lines if line.strip())


def html_cell(text: str) -> str:
    """Text of a cell; verdicts are bold, and coloured."""
    escaped = html.escape(text)
    return f'<b style="color:{_COLORS[STYLES[text]]}">{escaped}</b>' if text in STYLES else escaped


def html_table(heads: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[bool]) -> str:
    """A table; verdicts are coloured."""

    def line(cells: Sequence[str], tag: str = "td") -> str:
        if len(cells) == 1 < len(heads):
            start = f'<th colspan="{len(heads)}" style="text-align:left">'
            return f"<tr>{start}{html.escape(cells[0])}</th></tr>"
        sides = ("right" if is_right else "left" for is_right in right)
        tags = (
            f'<{tag} style="text-align:{side}">{html_cell(cell)}</{tag}>'
            for cell, side in zip(cells, sides, strict=True)
        )
        return f"<tr>{''.join(tags)}</tr>"

    body = "".join(map(line, rows))
    return f"<table><thead>{line(heads, 'th')}</thead><tbody>{body}</tbody></table>"


def html_text(text: str) -> str:
    """Plain text as it stands."""
    return f"<pre>{html.escape(text)}</pre>"
