"""Tables and prose as LaTeX: names and numbers in math mode, laid out to the width of a paper."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from swingby.report.paper_sizes import Width, paper_width

_SIGNS = {
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
_GREEK = ["alpha", "beta", "gamma", "kappa", "eta", "omega", "sigma", "mu", "rho", "tau", "xi"]
_LETTER = rf"(?:{'|'.join(_GREEK)}|[A-Za-z])"
#: What is set in math mode as a whole: w_12, omega_0, a_max; sigma^2; a Greek letter or a letter of
#: the paper that is no word of English; 1.7e-13.
_MATH = re.compile(
    rf"(?<![\w\\.])(?P<base>{_LETTER})_(?P<below>\d+(?:,\d+)?|max|min|[a-z]{{1,2}}(?![a-z]))"
    rf"(?:\^(?P<raised>\d))?(?!\w)"
    rf"|(?<![\w\\.])(?P<power>{_LETTER})\^(?P<exponent>\d+)(?!\w)"
    rf"|(?<![\w\\.])(?P<letter>{'|'.join(_GREEK)}|[KPUW])(?![\w.])"
    r"|(?<![\w.])(?P<mantissa>[+-]?\d+(?:\.\d+)?)e(?P<tens>[+-]?\d+)(?!\w)"
)
_NUMBER = re.compile(r"[+-]?(?P<whole>\d+)(?:\.(?P<decimals>\d*))?(?:e(?P<tens>[+-]?\d+))?")
#: Prose longer than this gets a column that breaks lines, where no width is asked for.
_LONG = 40
#: Share of the line that columns of prose divide then.
_SHARE = 0.66
#: In a table with a width, in points: size of the type, narrowest column of prose, and the gap
#: between a number and its error bar.
_TYPE, _NARROWEST, _THIN = 9, 60, 1.55
#: Where the table has no room in this size: a smaller one, and what widths are multiplied by then.
_SMALL_TYPE, _SMALL = 8, 0.94
#: What is tried to fit a table: the gap between columns in points, and whether prose breaks lines.
_PASSES = ((10, False), (7, False), (6, True), (5, False), (5, True))
_SMALL_PASSES = (*_PASSES, (4, True))
_POINTS_PER_INCH = 72.27
#: Points that TeX leaves after an exponent (its parameter scriptspace).
_AFTER_EXPONENT = 0.5
#: Widths of letters in thousandths of the type, by width (Computer Modern Roman, cmr10.tfm).
_LETTER_WIDTHS = {
    278: "ijl.,:;!|'",
    305: "f",
    390: "rst()[]",
    445: "cez",
    500: "ago0123456789*/?",
    530: "kvxy",
    556: "bdhnpqu",
    722: "w",
    680: "BCEFLPSTZ",
    833: "m",
}
_WIDTH_OF = {letter: size for size, letters in _LETTER_WIDTHS.items() for letter in letters}
#: Of a space and of every other sign, among which are capitals and the signs of mathematics.
_SPACE_WIDTH, _WIDEST = 333, 780
#: How much wider than its widest cell a column of siunitx may be.
_SLACK = 1.1
#: What measured widths are enlarged by: letters of 9 points are wider in units of their size.
_MARGIN = 1.03


def latex_text(text: str) -> str:
    """Prose for LaTeX: signs escaped, names, Greek letters and powers of ten in math mode."""
    for digraph, sign in (("<=", "≤"), (">=", "≥"), ("!=", "≠"), ("+-", "±")):
        text = text.replace(digraph, sign)
    blocks, end = [], 0
    for match in _MATH.finditer(text):
        blocks += [_escaped(text[end : match.start()]), f"${_math(match)}$"]
        end = match.end()
    return "".join([*blocks, _escaped(text[end:])])


def _escaped(text: str) -> str:
    text = re.sub(r"(?<![\w.)-])-(?=\d)", "−", text)
    return "".join(_SIGNS.get(sign) or _greek_sign(sign) or sign for sign in text)


def _math(match: re.Match[str]) -> str:
    """What a match of :data:`_MATH` is in math mode."""
    if match["mantissa"]:
        ten = rf"10^{{{int(match['tens'])}}}"
        mantissa = match["mantissa"].removeprefix("+")
        return ten if mantissa == "1" else rf"{mantissa}{{\times}}{ten}"
    letter = match["letter"] or match["base"] or match["power"]
    base = f"\\{letter}" if letter in _GREEK else letter
    if match["letter"]:
        return base
    if match["power"]:
        return f"{base}^{{{match['exponent']}}}"
    below = match["below"]
    below = f"\\{below}" if below in ("max", "min") else below
    raised = f"^{{{match['raised']}}}" if match["raised"] else ""
    return f"{base}_{{{below}}}{raised}"


def _greek_sign(sign: str) -> str | None:
    letter = re.fullmatch(r"GREEK (SMALL|CAPITAL) LETTER (\w+)", unicodedata.name(sign, ""))
    if letter is None:
        return None
    name = letter[2].lower().replace("lamda", "lambda")
    return rf"$\{name if letter[1] == 'SMALL' else name.title()}$"


def latex_cell(text: str) -> str:
    """The text of a cell: a dash or an infinity that stands alone is a sign."""
    return {"-": "--", "inf": r"$\infty$", "-inf": r"$-\infty$"}.get(text) or latex_text(text)


@dataclass(frozen=True)
class LatexTable:
    """A table to be written in LaTeX; rows of one cell are headings of those below them.

    `minor`: positions of columns that a narrow table may go without, the first to go first.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Sequence[bool]
    minor: Sequence[int] = ()
    siunitx: bool = False

    def column(self, k: int) -> list[str]:
        """The cells of a column, without headings."""
        return [row[k] for row in self.rows if len(row) > 1]

    def numbers(self, k: int) -> tuple[str, str]:
        """The format of a column of siunitx, if it was asked for and serves the column.

        All cells are numbers then, and of a like form: with a decimal point in common, times beside
        heights of peaks would need twice the room. Error bars are none of these: they have a sign.
        The second text is as wide as the column.
        """
        cells = [cell for cell in self.column(k) if cell]
        matches = [_NUMBER.fullmatch(cell) for cell in cells]
        if not self.siunitx or not cells or not all(matches) or self.heads[k] == "+-":
            return "", ""
        digits, decimals, tens = (
            max(len((match[name] or "").lstrip("+-")) for match in matches if match)
            for name in ("whole", "decimals", "tens")
        )
        sign = "-" if any(cell.startswith("-") for cell in cells) else ""
        negative = "-" if any("e-" in cell for cell in cells) else ""
        exponent = f"e{negative}{tens}" if tens else ""
        widest = f"{sign}{'0' * digits}{'.' + '0' * decimals if decimals else ''}"
        widest += f"e{negative}{'9' * tens}" if tens else ""
        if points(widest) > _SLACK * max(map(points, cells)):
            return "", ""
        layout = f"{sign}{digits}{f'.{decimals}' if decimals else ''}{exponent}"
        options = "tight-spacing," if tens else ""
        if [*self.heads[k + 1 : k + 2]] == ["+-"]:  # the error bar stands at the number
            options += "table-number-alignment=right,table-text-alignment=right,"
        return f"S[{options}table-format={layout}]", widest

    def line(self, cells: Sequence[str], columns: Sequence[int], *, head: bool = False) -> str:
        """One line of the tabular."""
        if len(cells) == 1 < len(self.heads):
            text = rf"\textbf{{{latex_text(cells[0])}}}"
            return rf"\multicolumn{{{len(columns)}}}{{@{{}}l}}{{{text}}} \\"
        texts = []
        for k in columns:
            bars, cell = self.heads[k] == "+-", cells[k]
            if self.numbers(k)[0]:
                texts.append(f"{{{latex_text(cell)}}}" if head else cell)
            elif bars and not head and cell not in ("", "-"):
                texts.append(rf"$\pm$\,{latex_cell(cell)}")
            else:
                texts.append("" if bars else latex_cell(cell))
        # A bracket after the end of a row would be its argument.
        return ("{}" if texts[0].startswith("[") else "") + " & ".join(texts) + r" \\"

    def side(self, k: int) -> str:
        """The letter of a column's alignment; error bars begin under each other."""
        if layout := self.numbers(k)[0]:
            return layout
        return "r" if self.right[k] and self.heads[k] != "+-" else "l"

    def tabular(self) -> str:
        """The table as wide as its cells; long prose breaks its lines."""
        every = range(len(self.heads))
        long = [max(map(len, self.column(k)), default=0) > _LONG for k in every]
        share = f"p{{{_SHARE / max(1, sum(long)):.2f}\\linewidth}}"
        layout = "".join(share if long[k] else self.side(k) for k in every)
        head = [self.line(self.heads, every, head=True)]
        return _tabular(layout, head, [self.line(row, every) for row in self.rows])

    def fitted(self, width: Width) -> str:
        """The table in 9 point type, or 8, no wider than a width in a paper."""
        room, size = _POINTS_PER_INCH * paper_width(width), _TYPE
        body = self._columns_within(room, 1.0)
        if not body and (body := self._columns_within(room, _SMALL)):
            size = _SMALL_TYPE
        package = " and siunitx" if self.siunitx else ""
        begin = rf"\begingroup\noindent\fontsize{{{size}}}{{{size + 2}}}\selectfont"
        body = body or self._records_within(room)
        # The end of a line would be a space beside the table.
        return f"% needs array and booktabs{package}\n{begin}\n{body}%\n\\endgroup"

    def _columns_within(self, room: float, scale: float) -> str:
        """The table in columns; nothing where they have no room, even without minor ones.

        `scale`: what widths are multiplied by in its type.
        """
        every = range(len(self.heads))
        remaining = [k for k in every if set(self.column(k)) - {"", "-"}] or [*every]
        for dropped in (None, *self.minor):
            if dropped in remaining:
                remaining.remove(dropped)
            for gap, breaks in _PASSES if scale == 1 else _SMALL_PASSES:
                gaps = [_THIN if self.heads[k] == "+-" else gap for k in remaining[1:]]
                widths = self._widths(remaining, (room - sum(gaps)) / scale, breaks=breaks)
                if widths is not None:
                    gone = [head for k, head in enumerate(self.heads) if k not in remaining]
                    note = f"% without {', '.join(gone)}\n" if gone else ""
                    return note + self._laid_out(remaining, widths, gap, scale)
        return ""

    def _laid_out(
        self, columns: Sequence[int], widths: Sequence[float], gap: int, scale: float
    ) -> str:
        """The table in columns of so many points, with heads that break their lines."""
        layout, heads = "", {}
        for k, width in zip(columns, widths, strict=True):
            breaks = max(map(points, self.column(k)), default=0) > width + 0.01
            thin = r"@{\,}" if self.heads[k] == "+-" and layout else ""
            layout += thin + (_ragged(width * scale) if breaks else self.side(k))
            heads[k] = _head_lines(self.heads[k], width)
        tall = max(map(len, heads.values()))
        padded = {k: [""] * (tall - len(lines)) + lines for k, lines in heads.items()}
        every = range(len(self.heads))
        head = [
            self.line([padded[k][n] if k in padded else "" for k in every], columns, head=True)
            for n in range(tall)
        ]
        rows = [self.line(row, columns) for row in self.rows]
        return _gaps(gap) + _tabular(f"@{{}}{layout}@{{}}", head, rows)

    def _widths(self, columns: Sequence[int], room: float, *, breaks: bool) -> list[float] | None:
        """Points for each column, the widest prose giving way first; None without room."""
        widths, shortest = [], []
        for k in columns:
            cells, pad = self.column(k), points("±") + _THIN if self.heads[k] == "+-" else 0.0
            head = max(map(points, self.heads[k].split()), default=0) if not pad else 0
            body = max(map(points, [*cells, self.numbers(k)[1]])) + pad
            word = max((points(word) for cell in cells for word in cell.split()), default=0)
            widths.append(max(body, head if pad else points(self.heads[k])))
            breakable = breaks and body > _NARROWEST and any(" " in cell for cell in cells)
            shortest.append(max(word, head, _NARROWEST) if breakable else max(body, head))
        if sum(shortest) > room:
            return None
        while sum(widths) > room:
            wider = [k for k in range(len(widths)) if widths[k] > shortest[k]]
            widest = max(wider, key=widths.__getitem__)
            widths[widest] = max(shortest[widest], widths[widest] - 2)
        return widths

    def _records_within(self, room: float) -> str:
        """Every record as its first cell, and a line for each further column below it."""
        names = max((points(head) for head in self.heads[1:]), default=0)
        gap = _PASSES[0][0]
        lines = []
        for row in self.rows:
            first = rf"\textbf{{{latex_text(row[0] or '-')}}}"
            lines.append(rf"\multicolumn{{2}}{{@{{}}l@{{}}}}{{{first}}} \\")
            lines += [
                rf"{latex_text(head)} & {latex_cell(cell)} \\"
                for head, cell in zip(self.heads[1:], row[1:], strict=False)
                if cell
            ]
        layout = f"@{{}}l{_ragged(room - names - gap)}@{{}}"
        return _gaps(gap) + _tabular(layout, [], lines)


def _gaps(gap: int) -> str:
    """So many points between columns; without a space at the end of the line."""
    return f"\\setlength{{\\tabcolsep}}{{{gap / 2}pt}}%\n"


def _ragged(width: float) -> str:
    """A column of prose, of so many points."""
    return rf">{{\raggedright\arraybackslash}}p{{{width:.0f}pt}}"


def _tabular(layout: str, head: Sequence[str], rows: Sequence[str]) -> str:
    """A tabular with the rules of booktabs."""
    lines = [rf"\begin{{tabular}}{{{layout}}}", r"\toprule", *head]
    return "\n".join([*lines, *([r"\midrule"] if head else []), *rows, r"\bottomrule"]) + (
        "\n\\end{tabular}"
    )


def points(text: str) -> float:
    """The width of a text as it is set, in points of TeX: at least as wide as it will be."""
    size, end = 0.0, 0
    for match in _MATH.finditer(text):
        size += _letters(text[end : match.start()])
        if match["mantissa"]:
            size += _letters(match["mantissa"] + "10=")
            size += 0.8 * _letters(str(int(match["tens"]))) + _AFTER_EXPONENT
        elif match["letter"]:
            size += _letters("m")
        else:
            small = (match["below"] or match["exponent"]) + (match["raised"] or "")
            size += _letters("m") + 0.8 * _letters(small)
        end = match.end()
    return _MARGIN * (size + _letters(text[end:]))


def _letters(text: str) -> float:
    sizes = (_SPACE_WIDTH if sign == " " else _WIDTH_OF.get(sign, _WIDEST) for sign in text)
    return _TYPE / 1000 * sum(sizes)


def _head_lines(head: str, width: float) -> list[str]:
    """The head of a column in lines no wider than the column."""
    lines: list[str] = []
    for word in head.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and points(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines or [""]
