"""Rows of numbers in text files, as spreadsheets, pandas, R and NumPy write them.

A file that could be read in two ways is refused, with what to type in its place.
"""

from __future__ import annotations

import csv
import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.theory.numbers import Floats

#: Digits that start with a zero, such as those after a decimal comma.
_PADDED = re.compile(r"(?<![^,;\s])[+-]?0\d+(?![^,;\s])")
#: The sign before a comment; not that of a spreadsheet's errors, nor within 1.#QNAN.
_COMMENT = re.compile(r"(?:^|\s)#(?!N/A|DIV/0!|VALUE!|REF!|NAME\?|NUM!|NULL!)")
#: A number whose commas may stand between thousands.
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")
#: Lines of numbers whose commas may separate digits or columns.
_PAIRS = re.compile(r"(?:(?:^|,)[+-]?\d+,\d+(?:[eE][+-]?\d+)?)+$")
#: A name of a column, which is nothing that stands for a number.
_NAME = re.compile(r"(?!(?:nan|inf|infinity|na|null|none|true|false)$)[^\W\d].*", re.IGNORECASE)
_COMMAS = "write 0.5, or 1.0 for a whole number; 0,5 is read where ; separates the columns"
_COUNTS = "write it with {}=False, or 0.0, 1.0 where these are data"


@dataclass(frozen=True)
class NumberLines:
    """Lines of numbers with decimal points, and the names above their columns, if there are some.

    `delimiter`: None for blanks; `line_numbers`: of the lines in the file, for errors.
    """

    header: tuple[str, ...]
    lines: list[str]
    delimiter: str | None
    line_numbers: list[int]
    argument: str
    path: object
    what: str

    def cells(self) -> list[list[str]]:
        """The cells of each line."""
        return [_cells(line, self.delimiter) for line in self.lines]

    def floats(self, names: Sequence[str] = ()) -> Floats:
        """The numbers as floats, of some columns or of all.

        Raises InvalidInput that names the line where one is none.
        """
        used = [self.header.index(name) for name in names] or None
        read = functools.partial(np.loadtxt, delimiter=self.delimiter, comments=None, ndmin=2)
        try:
            return read(self.lines, usecols=used)
        except ValueError:
            raise self.refused(self._fault(used)) from None

    def refused(self, reason: str) -> InvalidInput:
        """The error for a file that is refused, with the reason."""
        return InvalidInput(self.argument, self.path, f"must be a {self.what} ({reason})")

    def _fault(self, used: Sequence[int] | None) -> str:
        width, first = len(_cells(self.lines[0], self.delimiter)), self.line_numbers[0]
        for line_number, row in zip(self.line_numbers, self.cells(), strict=True):
            if len(row) != width:
                return f"line {line_number} has {len(row)} columns, line {first} has {width}"
            for cell in row if used is None else [row[k] for k in used]:
                if not _is_number(cell):
                    return f"line {line_number}: {cell[:20] or 'an empty cell'} is no number"
        return "it cannot be read"


def number_lines(
    text: str,
    argument: str,
    path: object,
    what: str,
    shape: tuple[int | None, int | None] = (None, None),
    *,
    by_name: bool = False,
) -> NumberLines:
    r"""The rows of a text file of numbers.

    Columns stand between commas, semicolons, tabs or blanks. What follows ``#``, at the start of a
    line or behind a blank, is a comment; the last one before the numbers, or the first line, may
    name the columns. Decimal commas are read where columns stand between semicolons. `shape`: rows
    and columns that are required, where these are known: what has them is not mistaken for row
    numbers. `by_name`: columns are chosen by name, and one without a name is none of them.

    Raises InvalidInput where numbers cannot be told from decimal commas, row numbers or column
    numbers, and for a file without numbers.

    Examples
    --------
    >>> number_lines("a;b\n0,5;2\n", "w0", "W.csv", "matrix file").cells()
    [['0.5', '2']]
    """
    comment, lines, line_numbers = "", list[str](), list[int]()
    for line_number, line in enumerate(text.splitlines(), 1):
        content, *remarks = _COMMENT.split(line, maxsplit=1)
        remark = "".join(remarks)
        if content.strip():
            lines.append(content.strip(" \r\n"))
            line_numbers.append(line_number)
        elif not lines and remark:
            comment = remark.strip()
    delimiter = next((sign for sign in ";\t," if any(sign in line for line in lines)), None)
    if delimiter == "\t" and not all("\t" in line for line in lines):
        delimiter = "," if any("," in line for line in lines) else None
    if '"' in text:
        plain = _unquoted(lines, delimiter or ",")
        if len(plain) != len(lines):
            reason = "a cell between quotes is too long, or holds a line break"
            raise InvalidInput(argument, path, f"must be a {what} ({reason})")
        lines = plain
        delimiter = ";" if delimiter == ";" else "\t"
    header = tuple(_cells(lines[0], delimiter)) if lines else ()
    if _is_header(header):
        lines, line_numbers = lines[1:], line_numbers[1:]
    else:
        named = tuple(re.split(r"[,;\s]+", comment))
        header = named if len(named) == len(header) and all(map(_NAME.fullmatch, named)) else ()
    table = NumberLines(header, lines, delimiter, line_numbers, argument, path, what)
    reason = _decimal_commas(table) if lines else "it holds no numbers"
    if not reason and delimiter == ";":
        reason = _thousands(table)
    if not reason:
        plain = [line.replace(",", ".") for line in lines] if delimiter == ";" else lines
        table = NumberLines(header, plain, delimiter, line_numbers, argument, path, what)
        reason = _doubt(table, shape, by_name)
    if reason:
        raise table.refused(reason)
    return table


def _thousands(table: NumberLines) -> str:
    """Why commas between semicolons may be those of thousands, if they may."""
    grouped = [cell for row in table.cells() for cell in row if "," in cell]
    if grouped and all(map(_GROUPED.fullmatch, grouped)):
        return f"{grouped[0]} may be thousands or a decimal comma: write a decimal point"
    return ""


def padded_number(text: str) -> str:
    """The first number that starts with a zero and a digit, the end of a decimal comma; or none.

    >>> padded_number("0,05;0.1,0"), padded_number("0.05,1e-05")
    ('05', '')
    """
    padded = _PADDED.search(text)
    return padded[0] if padded else ""


def _cells(line: str, delimiter: str | None) -> list[str]:
    return [cell.strip() for cell in line.split(delimiter)]


def _unquoted(lines: list[str], delimiter: str) -> list[str]:
    """Lines whose cells stood between quotes."""
    joint = ";" if delimiter == ";" else "\t"
    try:
        return [joint.join(map(str.strip, row)) for row in csv.reader(lines, delimiter=delimiter)]
    except csv.Error:
        return []


def _is_header(cells: tuple[str, ...]) -> bool:
    """Whether names stand above the columns; the first may be blank, above numbers of rows."""
    named = not any(map(_is_number, cells)) and any(map(_NAME.fullmatch, cells))
    return named or (len(cells) > 1 and not cells[0] and all(cells[1:]))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _decimal_commas(table: NumberLines) -> str:
    """Why commas within numbers are not read as decimal points; empty where they are, or none."""
    for line_number, line in zip(table.line_numbers, table.lines, strict=True):
        if table.delimiter == "," or "," not in line:
            continue
        twice = any(cell.count(",") > 1 for cell in line.split(";"))
        if table.delimiter != ";" or "." in line or twice:
            return f"line {line_number}: a comma within a number; {_COMMAS}"
    return ""


def _doubt(table: NumberLines, shape: tuple[Any, Any], by_name: bool) -> str:
    """Why the numbers may mean something else; empty where they do not."""
    header, lines, delimiter = table.header, table.lines, table.delimiter
    for line_number, line in zip(table.line_numbers, lines, strict=True):
        if padded := padded_number(line):
            return f"line {line_number}: {padded} looks like the end of a decimal comma; {_COMMAS}"
    first = _cells(lines[0], delimiter)
    width, (rows, columns) = len(first), shape
    if header and len(header) != width:
        return f"{len(header)} columns are named, line {table.line_numbers[0]} has {width}"
    if header and (header[0] or by_name):
        return ""
    if header:
        options = "index=False" + ", header=False" * all(map(_is_number, header[1:]))
        return f"its first column has no name and counts the rows; write it with {options}"
    if delimiter == "," and columns in (None, width / 2) and all(map(_PAIRS.match, lines)):
        return f"its commas may be decimal ones; {_COMMAS}"
    if len(lines) == 1:
        return ""
    heads = (rows is None and width > 1) or len(lines) == (rows or 0) + 1
    if heads and first == list(map(str, range(width))):
        return f"its first row counts the columns; {_COUNTS.format('header')}"
    if width > 1 and columns in (None, width - 1):
        counts = [_cells(line, delimiter)[0] for line in lines]
        if any(counts == list(map(str, range(k, k + len(lines)))) for k in (0, 1)):
            return f"its first column counts the rows; {_COUNTS.format('index')}"
    return ""
