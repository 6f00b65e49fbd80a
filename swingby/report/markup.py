"""Tables and prose as Markdown and HTML, with the signs of each language escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

#: An underscore inside a word, a bracket that is no link and a lone "<" are plain text already.
_MARKDOWN = re.compile(
    r"[\\`*|$]|~(?=~)|(?<![^\W_])_|_(?![^\W_])|<(?=[A-Za-z/!?])|\[(?=[^\]]*\][(\[:])|^[#>]"
)
#: Colours of verdicts; the words carry the meaning without them.
STYLES = {
    "holds": "green",
    "proved": "green",
    "can be met": "green",
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
