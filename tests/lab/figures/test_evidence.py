"""The table of evidence: what is recorded, and which records are refused."""

import json
import re

import pytest

from swingby import checkout, cli
from swingby.errors import InvalidInput
from swingby.lab.figures.evidence import (
    EvidenceRow,
    StudyRecord,
    evidence,
    read_record,
    write_record,
)
from swingby.report import files
from swingby.theory.share import Share, needed, reaches
from swingby.theory.verdict import Verdict

SOURCES = ("map", "autograd", "networks", "deep", "figures", "vectors", "images", "relu", "chains")


@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.9])
def test_the_seeds_needed_are_the_fewest_that_decide(threshold):
    """By Wilson's interval itself: few runs, many, and those around the number that is said."""
    for eighths in range(9):
        share = Share(eighths, 8)
        fewest = needed(share, threshold)
        edge = 8 * ((fewest or 8) // 8)
        near = range(max(8, edge - 16), edge + 24, 8)
        for n in (*range(8, 80, 8), *range(80, 4000, 560), *near):
            decided = reaches(Share(eighths * n // 8, n), threshold) != Verdict.UNDECIDED
            assert decided == (fewest is not None and n >= fewest), (eighths, n)


def test_what_is_recorded():
    table = evidence(SOURCES)
    assert evidence().rows == table.rows
    assert {row.source for row in table.rows} == set(SOURCES)
    keys = [(row.source, row.setting, row.edition, row.statement) for row in table.rows]
    assert len(set(keys)) == len(keys) > 200
    for row in table.rows:
        assert row.seeds >= 0
        assert all((row.source, row.setting, row.statement, row.predicted, row.observed))
    text = str(table)
    assert all(name in text for name in SOURCES)
    assert len(table.to_frame()) == len(table)
    assert len(json.loads(json.dumps(table.to_dict()))["rows"]) == len(table)
    fails = evidence(verdict="fails").rows
    assert {row.verdict for row in fails} == {Verdict.FAILS}
    assert 0 < len(fails) < len(table)


@pytest.fixture
def record(tmp_path):
    """A file of one study with two rows."""
    first = EvidenceRow("map", "s", "code", "first", "1", "1", "", "holds", 1, None, "numerics")
    second = EvidenceRow("map", "s", "", "second", "1", "2", "[1, 3]", "undecided", 4, 9, "law")
    third = EvidenceRow(
        "map", "s", "", "third", "1", "1", "", "nothing at stake", 4, 9, "law", True, 0.98
    )
    rows = (first, second, third)
    study = StudyRecord("a toy", {"plan": {}, "cells": ["s"]}, {"w": [0.5]}, rows)
    write_record(tmp_path / "record.json", {"map": study})
    return tmp_path / "record.json"


def test_a_record_that_is_given_goes_before_that_of_the_checkout(record):
    assert [row.observed for row in evidence(record=record).rows] == ["1", "2", "1"]
    assert evidence(record=record).about == {"map": "a toy"}
    study = read_record(record)["map"]
    assert (study.inputs["cells"], study.canary) == (["s"], {"w": [0.5]})
    with pytest.raises(InvalidInput, match=r"^source must be among map, got deep"):
        evidence("deep", record=record)


def test_without_a_checkout_one_line_says_what_to_give(tmp_path, monkeypatch, refused):
    """As in a package that was installed from a wheel."""
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    words = "record must be given: the file studies/records/evidence.json of a checkout"
    with pytest.raises(InvalidInput, match=words):
        evidence()
    assert words in refused(["evidence"])


@pytest.mark.parametrize("source", ["other", "", 5, ["map", 3], [["map"]]])
def test_what_is_no_study_or_verdict_is_named(source):
    with pytest.raises(InvalidInput, match=r"^source must be among map"):
        evidence(source)
    with pytest.raises(InvalidInput, match="verdict must be among holds"):
        evidence(verdict="maybe")
    with pytest.raises(InvalidInput, match="kind must be among numerics, law"):
        evidence(kind="faith")


OLD = {"format": "swingby evidence 1", "studies": {}}
BARE = {"about": "x", "inputs": {}, "canary": {}, "rows": [{}]}


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", '{"format": "swingby evidence 3", "studies": {}}'),
        *(
            files.json_text(files.sealed(content))
            for content in (
                OLD,
                {**OLD, "format": "swingby evidence 3", "studies": {"map": BARE}},
                {**OLD, "format": "swingby evidence 3", "studies": {"map": 1}},
            )
        ),
    ],
)
def test_a_foreign_record_is_refused(text, tmp_path):
    (tmp_path / "record.json").write_text(text)
    with pytest.raises(InvalidInput, match="record"):
        evidence(record=tmp_path / "record.json")


def test_what_was_edited_is_refused(record):
    record.write_text(record.read_text().replace("holds", "fails"))
    with pytest.raises(InvalidInput, match="it was changed after it was written"):
        evidence(record=record)


def test_the_command(capsys, record, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    assert cli.run(["evidence", "--record", str(record)]) == 3
    text = capsys.readouterr().out
    assert (
        "numerics: 1 row: 1 hold, 0 fail, 0 undecided, 0 nothing at stake; 0 planned; no control."
        in text
    )
    assert (
        "law: 2 rows: 0 hold, 0 fail, 1 undecided, 1 nothing at stake; 1 planned; 1 with a control."
        in text
    )
    assert cli.run(["evidence", "--record", str(record), "--verdict", "holds"]) == 0
    assert "first" in capsys.readouterr().out
    assert cli.run(["evidence", "--record", str(record), "--kind", "numerics", "--rows"]) == 0
    assert "after the data" in capsys.readouterr().out
    assert cli.run(["evidence", "--record", str(record), "--verdict", "nothing-at-stake"]) == 3
    assert "0.98" in capsys.readouterr().out
    assert cli.run(["evidence", "--source", "nosuch"]) == 2


def recount(rows):
    """By kind and verdict, from the rows of the JSON alone; shares are judged again."""
    counts = {}
    for row in rows:
        word = row["verdict"]
        if row["count"] is not None and row["predicted"].startswith("in "):
            n, threshold = row["seeds"], float(row["predicted"].split()[1].rstrip("%")) / 100
            p, z = row["count"] / n, 1.959963984540054
            middle = (p + z * z / (2 * n)) / (1 + z * z / n)
            reach = z / (1 + z * z / n) * (p * (1 - p) / n + (z / 2 / n) ** 2) ** 0.5
            low, high = middle - reach, middle + reach
            word = "holds" if low >= threshold else "fails" if high < threshold else "undecided"
            control = row["control"]
            if word != "fails" and control is not None and control >= max(low, threshold):
                word = "nothing at stake"
        key = row["kind"], word
        counts[key] = counts.get(key, 0) + 1
    return counts


def test_counts_by_kind_are_those_of_an_independent_recount(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    cli.run(["evidence", "--json"])
    content = json.loads(capsys.readouterr().out)
    counts = recount(content["rows"])
    assert sum(counts.values()) == len(content["rows"]) > 400
    for kind, numbers in content["counts"].items():
        for word, number in numbers.items():
            assert counts.get((kind, word), 0) == number, (kind, word)
    cli.run(["evidence"])
    text = capsys.readouterr().out
    for kind in ("numerics", "law", "claim", "description"):
        line = next(line for line in text.splitlines() if line.startswith(f"{kind}: "))
        printed = [int(word) for word in re.findall(r"\d+", line)]
        words = ("holds", "fails", "undecided", "nothing at stake")
        expected = [counts.get((kind, word), 0) for word in words]
        planned = sum(row["planned"] for row in content["rows"] if row["kind"] == kind)
        controls = sum(
            row["kind"] == kind and row["control"] is not None for row in content["rows"]
        )
        assert printed == [sum(expected), *expected, planned, *[controls][: controls > 0]]
        assert ("no control" in line) == (not controls)


def test_the_text_fits_80_columns(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for words in ([], ["--rows"]):
        cli.run(["evidence", *words])
        assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_rows_are_a_table_at_100_columns(capsys, monkeypatch):
    """Below headings of kind and source, and with the head in a line."""
    monkeypatch.setenv("COLUMNS", "100")
    cli.run(["evidence", "--rows"])
    head, rule, heading, *lines = capsys.readouterr().out.splitlines()[1:]
    assert " ".join(head.split()) == "setting statement predicted observed 95 % verdict"
    assert set(rule) == {"─"}
    assert heading == "numerics: map"
    assert max(map(len, lines)) <= 100
    headings = [line for line in lines if line in {f"law: {name}" for name in ("map", "relu")}]
    assert headings == ["law: map", "law: relu"]


def test_every_row_has_what_a_reader_asks_for():
    """Integrations of one recursion are numerics, and what has an interval has two."""
    for row in evidence().rows:
        assert bool(row.interval) == bool(row.family_interval), row
        assert row.control is None or 0 <= row.control <= 1, row
        assert row.planned in (True, False)
        if row.count is not None:
            assert 0 <= row.count <= row.seeds
        if row.verdict == "nothing at stake":
            assert row.control is not None
    own = {row.kind for row in evidence("networks").rows if row.setting.startswith("U U^T")}
    assert own == {"numerics"}
    assert {row.kind for row in evidence("map").rows} == {"numerics", "law"}
    assert not [row for row in evidence("figures").rows if row.planned or row.kind == "numerics"]
    seen = [
        (row.source, row.predicted, row.observed, row.interval)
        for row in evidence("images").rows
        if row.statement == "times"
    ]
    assert len(set(seen)) == len(seen)
