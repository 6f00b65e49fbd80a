"""Pages of the documentation say what the records say: every row of their tables."""

import re
from pathlib import Path

import pytest

pytest.importorskip("torch")

from studies.network_tables import recorded_tables
from studies.paper_figures import REPEATED
from swingby.lab.figures.evidence import evidence

DOCS = Path(__file__).parents[2] / "docs"
pytestmark = pytest.mark.torch


def tables(page):
    """The rows of each table of a page, by the bold title above it; without heads."""
    text = (DOCS / page).read_text(encoding="utf-8")
    for match in re.finditer(r"^(?:\*\*(.+?)\*\*\n\n)?((?:\|.*\n)+)", text, re.MULTILINE):
        lines = [line.strip().strip("|") for line in match[2].splitlines()]
        rows = [
            [cell.strip().replace("\\", "") for cell in re.split(r"(?<!\\)\|", line)]
            for line in lines
        ]
        yield match[1], rows[0], rows[2:]


def test_tables_of_networks_are_those_of_the_record():
    printed = {title: (head, rows) for title, head, rows in tables("networks.md") if title}
    recorded = {grid.title: grid for grid in recorded_tables()}
    assert set(printed) >= set(recorded)
    for title, grid in recorded.items():
        head, rows = printed[title]
        assert head == [column.lstrip(">") for column in grid.columns], title
        assert rows == [list(row) for row in grid.rows], title
    assert sum(len(grid.rows) for grid in recorded.values()) > 100


def test_the_table_of_survival_is_that_of_the_evidence():
    """From the rows of the evidence themselves."""
    recorded = {(row.setting, row.statement): row for row in evidence("networks").rows}
    rows = next(rows for title, _, rows in tables("networks.md") if title and "in full" in title)
    assert len(rows) == len(recorded)
    for setting, statement, _, share, _, verdict, _ in rows:
        row = recorded[setting, statement]
        low, high = (float(end.strip("%")) for end in row.interval.strip("[]").split(", "))
        numbers = [float(number) for number in re.findall(r"[\d.]+", share)]
        expected = [100 * row.count / row.seeds, low, high]
        assert [100 * number for number in numbers] == pytest.approx(expected, abs=0.56), setting
        assert verdict == row.verdict


def test_criteria_of_figures_are_those_of_the_evidence():
    recorded = {(row.setting, row.edition, row.statement): row for row in evidence("figures").rows}
    rows = next(rows for _, head, rows in tables("figures.md") if head[:2] == ["fig.", "criterion"])
    checked = 0
    for number, criterion, _, *editions in rows:
        for edition, measured in zip(
            ("caption", "code"), (editions[:2], editions[2:]), strict=True
        ):
            key = (number, edition, criterion.strip("`"))
            if key in REPEATED:
                continue
            row = recorded[f"Fig. {number}", *key[1:]]
            assert measured == [row.observed, row.verdict], key
            checked += 1
    assert checked > 30


def test_verdicts_of_the_image_study_are_those_of_the_evidence():
    """Lines of one prediction: share [interval] of runs: verdict."""
    recorded = [row for row in evidence("images").rows if row.statement != "times"]
    (rows,) = (
        rows
        for _, head, rows in tables("diffusion.md")
        if head[1:] == ["gradient descent", "AdamW"]
    )
    checked = 0
    for says, *cells in rows:
        kind = re.search(r"\*(\w+)\*", says)[1]
        for optimizer, cell in zip(("sgd", "adamw"), cells, strict=True):
            match = re.fullmatch(r"([\d.]+) \[([\d.]+), ([\d.]+)\] of (\d+): (\w+)", cell)
            if match is None or kind == "times":
                continue
            numbers = [float(number) for number in match.groups()[:3]]
            same = [
                row
                for row in recorded
                if (row.statement, row.seeds, row.verdict) == (kind, int(match[4]), match[5])
                and optimizer in row.setting
                and all(word in says for word in row.setting.split()[2:])
            ]
            (row,) = same
            low, high = map(float, row.interval.strip("[]").split(", "))
            assert numbers == pytest.approx([row.count / row.seeds, low, high], abs=0.0051), cell
            checked += 1
    assert checked >= 8
