"""The table of evidence: what is recorded, what is made again, and which verdicts moved."""

import json
import math
from dataclasses import asdict
from pathlib import Path

import pytest

from swingby import cli
from swingby.errors import InvalidInput
from swingby.lab.figures import evidence as module
from swingby.lab.figures.evidence import Row, Study, evidence, rows_of_shares, update
from swingby.report import source_hash
from swingby.theory.share import Share, needed, reaches
from swingby.theory.verdict import Verdict
from swingby.verify import paper_settings
from tests.forked import FULL

STUDIES = ("map", "autograd", "networks", "deep", "figures", "vectors", "images", "relu")


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


def test_what_the_package_ships():
    found = evidence()
    assert {row.source for row in found.rows} == set(STUDIES)
    keys = [(row.source, row.setting, row.edition, row.statement) for row in found.rows]
    assert len(set(keys)) == len(keys) > 200
    for row in found.rows:
        assert row.seeds >= 0
        assert all((row.source, row.setting, row.statement, row.predicted, row.observed))
    text = str(found)
    assert all(name in text for name in STUDIES)
    assert len(found.to_frame()) == len(found)
    assert len(json.loads(json.dumps(found.to_dict()))["rows"]) == len(found)
    fails = evidence(verdict="fails").rows
    assert {row.verdict for row in fails} == {Verdict.FAILS}
    assert 0 < len(fails) < len(found)


@pytest.mark.parametrize("name", ["map", "images"])
def test_rows_are_made_again_as_recorded(name, monkeypatch):
    step = 8 if name == "map" and not FULL else 1  # the map has 26 settings
    some = tuple(paper_settings.paper_settings())[::step]
    monkeypatch.setattr(paper_settings, "paper_settings", lambda: some)
    made = list(module.STUDIES[name].rows(lambda share, words: None))
    assert made == list(evidence(name).rows)[::step]


def test_shares_of_runs_as_rows():
    shares = {"c": Share(58, 64), "d": Share(0, 0)}
    row, nothing = rows_of_shares("a", "b", shares)
    assert (row.verdict, row.seeds, row.needed) == (Verdict.UNDECIDED, 64, 8851)
    assert row.interval == "[81.0%, 95.6%]"
    assert (nothing.verdict, nothing.needed, nothing.interval) == (Verdict.UNDECIDED, None, "")


@pytest.fixture
def toy(monkeypatch):
    """One study of two rows in place of all; what it finds and its code can be changed."""
    made = {"verdict": Verdict.HOLDS, "code": "one", "calls": 0}

    def rows(tell):
        made["calls"] += 1
        tell(0.5, "half-way")
        first = Row("map", "s", "code", "first", "1", "1", "", made["verdict"], 1, None)
        second = Row("map", "s", "", "second", "1", "2", "[1, 3]", Verdict.UNDECIDED, 4, 9)
        return [first, second]

    monkeypatch.setattr(module, "STUDIES", {"map": Study("a toy", rows)})
    monkeypatch.setattr(module, "code_of", lambda name: made["code"])
    monkeypatch.setattr(module, "_shipped", dict)
    return made


def test_a_study_is_made_again_where_its_code_changed_and_moves_are_told(toy, tmp_path):
    record, told = tmp_path / "record.json", []
    assert update(None, record, tell=lambda *one: told.append(one)) == ()
    assert told == [(0.5, "map: half-way")]
    assert update("map", record) == ()
    assert toy["calls"] == 1
    toy["verdict"] = Verdict.FAILS
    assert update("map", record) == ()
    assert evidence(record=record).current == {"map": True}
    toy["code"] = "two"
    assert evidence(record=record).current == {"map": False}
    assert "other code" in str(evidence(record=record))
    assert update(None, record) == ("map: s, code, first: holds -> fails",)
    assert [row.verdict for row in evidence(record=record).rows] == ["fails", "undecided"]
    toy["verdict"] = Verdict.HOLDS
    assert update(None, record, force=True) == ("map: s, code, first: fails -> holds",)
    assert toy["calls"] == 3


def test_what_the_user_ran_goes_before_what_is_shipped(toy, tmp_path, monkeypatch):
    record = tmp_path / "record.json"
    update(None, record)
    old = asdict(Row("map", "s", "code", "first", "1", "0", "", Verdict.FAILS, 1, None))
    shipped = {"map": {"code": "old", "rows": [old]}}
    monkeypatch.setattr(module, "_shipped", lambda: shipped)
    assert [row.observed for row in evidence().rows] == ["0"]
    assert [row.observed for row in evidence(record=record).rows] == ["1", "2"]


def test_the_old_record_stays_where_a_study_fails(toy, tmp_path, monkeypatch):
    record = tmp_path / "record.json"
    update(None, record)
    before = record.read_bytes()

    def broken(tell):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "STUDIES", {"map": Study("a toy", broken)})
    with pytest.raises(KeyboardInterrupt):
        update(None, record, force=True)
    assert record.read_bytes() == before


def test_a_record_that_cannot_be_written_costs_no_study(toy, tmp_path):
    for record in (tmp_path / "none" / "record.json", tmp_path, 5):
        with pytest.raises(InvalidInput, match=r"^record must be"):
            update(None, record)
    assert toy["calls"] == 0


@pytest.mark.parametrize("source", ["other", "", 5, ["map", 3], [["map"]]])
def test_what_is_no_study_or_verdict_is_named(source):
    with pytest.raises(InvalidInput, match=r"^source must be among map"):
        evidence(source)
    with pytest.raises(InvalidInput, match="verdict must be among holds"):
        evidence(verdict="maybe")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"format": "swingby evidence 1"}',
        '{"format": "swingby evidence 2", "studies": {}}',
        '{"format": "swingby evidence 1", "studies": {"map": {"code": "x", "rows": [{}]}}}',
        '{"format": "swingby evidence 1", "studies": {"map": 1}}',
    ],
)
def test_a_foreign_record_is_refused(text, tmp_path):
    (tmp_path / "record.json").write_text(text)
    with pytest.raises(InvalidInput, match="record"):
        evidence(record=tmp_path / "record.json")


def test_the_command(capsys, tmp_path, monkeypatch, toy):
    record = str(tmp_path / "record.json")
    assert cli.run(["evidence", "--update", "--record", record]) == 3
    captured = capsys.readouterr()
    assert "no verdict moved" in captured.err
    assert "2 rows: 1 hold, 0 fail, 1 undecided." in captured.out
    assert cli.run(["evidence", "--record", record, "--verdict", "holds"]) == 0
    assert "first" in capsys.readouterr().out
    toy.update(verdict=Verdict.FAILS, code="two")
    assert cli.run(["evidence", "--update", "--record", record, "--json"]) == 1
    captured = capsys.readouterr()
    assert "map: s, code, first: holds -> fails" in captured.err
    assert json.loads(captured.out)["current"] == {"map": True}
    assert cli.run(["evidence", "--source", "nosuch"]) == 2


@pytest.mark.torch
def test_studies_by_name(capsys):
    pytest.importorskip("torch")
    assert cli.run(["studies", "scales", "--runs", "2", "--json"]) == 0
    captured = capsys.readouterr()
    assert "scales" in captured.err
    (table,) = json.loads(captured.out)["tables"]
    # On the law of its growing mode: to the step for the smallest weights.
    errors = [row[table["columns"].index("half-times %")] for row in table["rows"]]
    assert errors[-1] == "0 / 0 / 0"
    assert math.isfinite(float(errors[0].split(" / ")[0]))
    assert cli.run(["studies", "nosuch"]) == 2
    assert "must be among laws" in capsys.readouterr().err


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_names_code_that_exists(name):
    """A file that has moved away would leave a hash of nothing, which never changes."""
    package = Path(module.__file__).parents[1]
    assert all(list(package.glob(source)) for source in module.STUDIES[name].sources)
    assert module.STUDIES[name].sources


def test_the_code_of_a_study_is_what_it_imports_and_not_its_words(tmp_path, monkeypatch):
    """Sources of a small package of the same name: one imports the other through its folder."""
    folder = tmp_path / "part"
    folder.mkdir()
    (folder / "__init__.py").write_text("from swingby.part.deep import f\n")
    deep, top = folder / "deep.py", tmp_path / "top.py"
    deep.write_text('"""Words."""\n\n\ndef f():\n    """More."""\n    return 1\n')
    top.write_text("from swingby.part import f\n")
    monkeypatch.setattr(source_hash, "PACKAGE", tmp_path)
    first = source_hash.hash_of(top, words=False), source_hash.hash_of(top)
    deep.write_text("def f():  # a remark\n    return 1\n")
    second = source_hash.hash_of(top, words=False), source_hash.hash_of(top)
    assert (first[0] == second[0], first[1] == second[1]) == (True, False)
    deep.write_text("def f():\n    return 2\n")
    assert source_hash.hash_of(top, words=False) != first[0]
