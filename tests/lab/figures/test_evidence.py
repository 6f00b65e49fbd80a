"""The table of evidence: what is recorded, and which records are refused."""

import json

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

SOURCES = ("map", "autograd", "networks", "deep", "figures", "vectors", "images", "relu")


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
    first = EvidenceRow("map", "s", "code", "first", "1", "1", "", Verdict.HOLDS, 1, None)
    second = EvidenceRow("map", "s", "", "second", "1", "2", "[1, 3]", Verdict.UNDECIDED, 4, 9)
    study = StudyRecord("a toy", {"plan": {}, "cells": ["s"]}, {"w": [0.5]}, (first, second))
    write_record(tmp_path / "record.json", {"map": study})
    return tmp_path / "record.json"


def test_a_record_that_is_given_goes_before_that_of_the_checkout(record):
    assert [row.observed for row in evidence(record=record).rows] == ["1", "2"]
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


OLD = {"format": "swingby evidence 1", "studies": {}}
BARE = {"about": "x", "inputs": {}, "canary": {}, "rows": [{}]}


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", '{"format": "swingby evidence 2", "studies": {}}'),
        *(
            files.json_text(files.sealed(content))
            for content in (
                OLD,
                {**OLD, "format": "swingby evidence 2", "studies": {"map": BARE}},
                {**OLD, "format": "swingby evidence 2", "studies": {"map": 1}},
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


def test_the_command(capsys, record):
    assert cli.run(["evidence", "--record", str(record)]) == 3
    assert "2 rows: 1 hold, 0 fail, 1 undecided." in capsys.readouterr().out
    assert cli.run(["evidence", "--record", str(record), "--verdict", "holds"]) == 0
    assert "first" in capsys.readouterr().out
    assert cli.run(["evidence", "--source", "nosuch"]) == 2
