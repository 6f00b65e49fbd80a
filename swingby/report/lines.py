"""Lines of whole words, as wide as the terminal, and their colours."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterable

from swingby.report.markup import STYLES

_CODES = {"bold": 1, "red": 31, "green": 32, "yellow": 33, "cyan": 36}
#: Characters per line where no width is asked for and there is no terminal.
USUAL = 100
#: A terminal narrower or wider than this is treated as if it were not.
_LEAST, _MOST = 40, 140


def line_width() -> int | None:
    """Characters per line: those of $COLUMNS or of the terminal, None for a pipe or a file."""
    if not (os.environ.get("COLUMNS", "").isdigit() or sys.stdout.isatty()):
        return None
    width = shutil.get_terminal_size((USUAL, 40)).columns
    return max(_LEAST, width if "COLUMNS" in os.environ else min(_MOST, width))


def has_color() -> bool:
    """Whether standard output is a terminal that may be coloured (https://no-color.org)."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def painted(text: str, style: str | None, *, color: bool = True) -> str:
    """Text between terminal codes."""
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if color and style and text.strip() else text


def wrapped(text: str, width: int, indent: str = "", hang: str = "    ") -> list[str]:
    """Lines of whole words; a word wider than a line stands alone, and can be copied whole."""
    if len(indent) + len(text) <= width:
        return [indent + text]
    return textwrap.wrap(
        text,
        max(width, len(indent + hang) + 1),
        initial_indent=indent,
        subsequent_indent=indent + hang,
        break_long_words=False,
        break_on_hyphens=False,
    )


def lines_text(title: str, lines: Iterable[str], width: int | None, *, color: bool) -> str:
    """A title, with its verdict in colour, and lines that keep their indentation."""
    width = width or line_width() or USUAL
    first = wrapped(title, width, hang="")
    if color:
        first = [_title_in_color(line) for line in first]
    return "\n".join([*first, refilled("\n".join(lines), width)]).rstrip()


def refilled(text: str, width: int | None = None) -> str:
    """Lines as lines of whole words, each with its own indentation."""
    width = width or line_width() or USUAL
    lines: list[str] = []
    for line in text.split("\n"):
        bare = line.lstrip(" ")
        indent = line[: len(line) - len(bare)]
        lines += wrapped(bare, width, indent, "    " if indent else "")
    return "\n".join(line.rstrip() for line in lines)


def _title_in_color(line: str) -> str:
    name, colon, verdict = line.rpartition(": ")
    if verdict in STYLES:
        return painted(name, "bold") + colon + painted(verdict, STYLES[verdict])
    return painted(line, "bold")
