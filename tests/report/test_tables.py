"""Whole words at every width, and the same words in every format."""

import html.parser
import math
import re
import shlex
from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from swingby import cli
from swingby.report import Grid
from swingby.report.lines import USUAL
from swingby.report.number_text import percent_text
from tests import results

WIDTHS = (60, 80, 120)
NAMES = [
    pytest.param(name, marks=pytest.mark.torch if name in results.TORCH else ())
    for name in results.NAMES
]
NOTE = "Left out for want of width:"


def words(text):
    return Counter(word.rstrip(",") or word for word in text.replace("─", " ").split())


def assert_fits(text, width, *, all_of=None):
    """No line past the width but for a word that is wider than it, and no word broken."""
    for line in text.splitlines():
        assert len(line) <= width or len(line.split()) == 1, line
    if all_of is not None:
        known, found = set(words(all_of)), set(words(text.partition(NOTE)[0]))
        # A record without a name is a dash.
        assert found - known <= {"-"}
        assert NOTE in text or known - found <= {"-"}


PLAIN = st.text("abxy019_.,()=±ω*`|<>[]~\\$!#&", min_size=1, max_size=14)
CELL = st.lists(PLAIN, max_size=9).map(" ".join)


@st.composite
def grids(draw):
    count = draw(st.integers(1, 7))
    heads = draw(st.lists(PLAIN.map(lambda text: f"{text}#"), min_size=count, max_size=count))
    row = st.lists(CELL, min_size=count, max_size=count)
    heading = PLAIN.map(lambda text: [text])
    rows = draw(st.lists(row | heading if count > 1 else row, max_size=4))
    right = draw(st.lists(st.booleans(), min_size=count, max_size=count))
    columns = [">" * side + head for head, side in zip(heads, right, strict=True)]
    return Grid(draw(CELL), columns, rows, draw(st.lists(CELL, max_size=2)), [draw(CELL)])


# One column, whose rows are no headings; and one whose word has no room.
@example(Grid("", ["head"], [["0123456789 0123456789 0123"]]), 24)
@example(Grid("", ["head"], [["0123456789" * 3]]), 24)
@given(grids(), st.integers(24, 130))
def test_a_table_fits_and_keeps_every_word(grid, width):
    text = grid.to_text(width=width)
    assert_fits(text, width)
    cells = [cell for row in grid.rows for cell in row]
    said = words(" ".join([grid.title, *grid.above, *cells, *grid.below]))
    assert not said - words(text)


@given(grids())
def test_the_same_words_in_markdown_and_html(grid):
    cells = [cell for row in grid.rows for cell in row]
    said = words(" ".join([grid.title, *grid.above, *grid.heads, *cells, *grid.below]))
    reader = Reader(grid.to_html())
    assert words(" ".join(reader.said)) == said
    renderer = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    shown = Reader(renderer.render(grid.to_markdown()).replace("<br />", ""))
    assert words(" ".join(shown.said)) == said
    if grid.rows:
        assert shown.tags.count("td") == len(grid.rows) * len(grid.heads)
    # Only a heading over rows is marked, as bold.
    headings = sum(len(row) < len(grid.heads) for row in grid.rows)
    assert shown.inside_cells == ["strong"] * headings


class Reader(html.parser.HTMLParser):
    """The text of a fragment, whose tags have to close in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.said, self.tags, self.inside_cells = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        if "td" in self.open:
            self.inside_cells.append(tag)
        self.tags.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.said.append(data)


WIDE = Grid(
    "Stages",
    ["entry", ">predicted", ">observed", ">lower", ">upper"],
    [["w_11", "58.25 +- 0.125", "58", "41.5", "77.125"], ["w_22", "179", "180", "-", "-"]],
    minor=["upper", "lower"],
)


def test_minor_columns_go_first_and_are_named():
    assert NOTE not in WIDE.to_text(width=50)
    narrow = WIDE.to_text(width=40)
    assert "upper" not in narrow.partition(NOTE)[0]
    assert "lower" in narrow.partition(NOTE)[0]
    assert f"{NOTE} upper. JSON" in narrow
    assert "\n  predicted  58.25" in WIDE.to_text(width=20)


REASONS = Grid(
    "",
    ["", "assumption", "verdict", "why"],
    [["D.1", "a name of thirty characters or so", "holds", "because " * 12], ["D.2", "n", "-", ""]],
)


def test_prose_with_little_room_goes_below_its_row():
    assert "holds     because" in REASONS.to_text(width=120)
    lines = REASONS.to_text(width=80).splitlines()
    assert lines[0].split() == ["assumption", "verdict"]
    assert lines[1] == "      why"
    assert lines[2] == "─" * max(map(len, lines))
    assert lines[3].split()[-1] == "holds"
    assert lines[4].startswith("      because because")
    assert [line.split()[0] for line in lines[3:]] == ["D.1", "because", "because", "D.2"]
    # A word that would not fit below its row keeps its column.
    words = Grid("", ["a", "b", "c"], [["x" * 20, "y" * 20, "z" * 72]])
    assert "  c  " in words.to_text(width=80)


def test_where_there_is_no_terminal_nothing_is_left_out(monkeypatch, capsys):
    monkeypatch.delenv("COLUMNS", raising=False)
    columns = [f"column{k}" for k in range(30)]
    text = Grid("", columns, [columns]).to_text()
    assert len(text.splitlines()) == 3
    assert len(text.splitlines()[0]) > USUAL
    prose = Grid("", ["id", "why"], [["D.1", "word " * 60]]).to_text()
    assert max(map(len, prose.splitlines())) <= USUAL


def test_columns_of_the_shell_are_obeyed(monkeypatch):
    monkeypatch.setenv("COLUMNS", "64")
    prose = Grid("", ["id", "why"], [["D.1", "word " * 60]]).to_text()
    assert 50 < max(map(len, prose.splitlines())) <= 64


@pytest.mark.parametrize("name", NAMES)
def test_results(name, monkeypatch):
    """Every result class: whole words at every width, one text, and HTML that says the same."""
    result = results.result(name)
    texts = {}
    for width in (*WIDTHS, 1000):
        monkeypatch.setenv("COLUMNS", str(width))
        texts[width] = str(result)
    if name not in results.FIXED_WIDTH:
        for width in WIDTHS:
            assert_fits(texts[width], width, all_of=texts[1000])
    if name not in results.NO_HTML:
        said = " ".join(Reader(result._repr_html_()).said)
        assert set(words(texts[1000])) - set(words(said)) <= results.ONLY_TEXT.get(name, set())


START = "--signal 4,1 --w0 '0.02,0.01;0.01,0.02' --eta 0.01"
COMMANDS = [
    "check --signal 4,1 --omega 1e-80 --eta 1e-4 --statements",
    "check --signal 4,1 --omega 1e-3 --eta 1e-4 --edition repaired",
    "predict --signal 4,1 --omega 1e-8 --eta 0.01",
    f"simulate {START}",
    f"table {START}",
    "audit --item D.61 --item D.64",
    "audit --item D.61",
    "audit --item 4.1 --assume PSD",
    "hunt D.61 --seconds 1",
    "certify --signal 4,1 --w0 '2e-3,1e-3;1e-3,2e-3' --eta 1/100 --dynamics gd",
    "figures --list",
    "evidence",
    "evidence --rows",
    "sweep grid.toml --out s --workers 0 --disagreements --descents",
    "doctor",
    pytest.param(
        "vectors --mu 1,2 --sigma 0.05,0.05 --eta 0.05 --steps 60", marks=pytest.mark.torch
    ),
    pytest.param(
        "train --mu 1,2 --sigma 0.2,0.1 --points-per-class 40 --lr 0.5 --epochs 10",
        marks=pytest.mark.torch,
    ),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands(command, monkeypatch, capsys, tmp_path):
    """Every command that prints a table: within 60 columns, and no word of it broken."""
    if command.startswith(("train", "vectors")):
        pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grid.toml").write_text(
        "signal = [[4, 1], [2, 1]]\nomega = [1e-2, 1e-3]\neta = 0.1\nseeds = 2\n"
    )

    def shown(width):
        monkeypatch.setenv("COLUMNS", str(width))
        assert cli.run(shlex.split(command)) in (0, 1, 3)
        return re.sub(r"[\d.]+ s\b", "0 s", capsys.readouterr().out)

    if command.startswith("sweep"):  # the first run says how fast it was
        shown(60)
    assert_fits(shown(60), 60, all_of=shown(1000))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((0.0, "0%"), (-1.1e-16, "0%"), (1.6e-7, "0%"), (9.4e-7, "0%"), (1e-6, "+0.0001%")),
        *((-0.0123, "-1.2%"), (0.994, "+99%"), (0.996, "+100%"), (8.9, "+890%"), (-1.0, "-100%")),
        *((9876.0, "+990000%"), (1e55, "x 1e+55"), (math.inf, "-"), (math.nan, "-")),
    ],
)
def test_a_relative_error_reads_without_exponents(value, text):
    assert percent_text(value) == text
