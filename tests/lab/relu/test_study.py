"""The study: verdicts that can go either way, a store that goes on, and the command."""

import dataclasses
import json

import numpy as np
import pytest

from studies import relu_cells as runs
from studies import relu_threshold as verdicts
from studies.relu_cells import ThresholdCell, close
from studies.relu_threshold import Study, recorded_study, rows, study, tables, threshold
from swingby.cli import run as swingby
from swingby.errors import InvalidInput

SMALL = [
    *(ThresholdCell("two", "gap", d, n, 6) for d in (2, 3) for n in (6, 12, 40)),
    ThresholdCell("two", "gaussian", 2, 10, 4),
    ThresholdCell("complete", "gaussian", 3, 10, 2),
    *(ThresholdCell("link", family, 2, 40, 1) for family in ("gaussian", "gap")),
    ThresholdCell("align", "gap", 2, 12, 1),
    ThresholdCell("end", "gap", 2, 40, 1, "bias"),
    ThresholdCell("concepts", "aligned", 2, 6, 1),
]


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(verdicts, "cells", lambda quick: SMALL)
    monkeypatch.setattr(runs, "NEURONS", 20)
    monkeypatch.setattr(runs, "SCALE", 1e-3)


def test_the_recorded_study_is_whole_and_what_this_code_measures():
    found = recorded_study()
    assert set(found.results) == {cell.name for cell in runs.cells(quick=True)}
    for cell in (
        ThresholdCell("two", "gap", 2, 8, 60),
        ThresholdCell("concepts", "aligned", 3, 32, 15),
    ):
        few = dataclasses.replace(cell, runs=4)
        measured = runs.measure(few, found.seed)
        recorded = found.results[cell.name][: few.runs]
        if cell.kind == "two":
            assert measured == recorded
        else:
            for one, other in zip(measured, recorded, strict=True):
                assert one["off"] == pytest.approx(other["off"], abs=1e-6)


def test_an_interrupted_study_goes_on(small, tmp_path, monkeypatch):
    store = tmp_path / "relu.json"
    done = []

    def stop(share, words):
        done.append(words)
        if len(done) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        study(store=store, tell=stop)
    kept = json.loads(store.read_text())["results"]
    assert len(kept) == 3
    measured = []
    plain = verdicts.measure

    def seen(cell, seed):
        measured.append(cell.name)
        return plain(cell, seed)

    monkeypatch.setattr(verdicts, "measure", seen)
    again = study(store=store)
    assert not set(kept) & set(measured)
    assert len(measured) == len(SMALL) - 3
    # The same as in one go, to the last digit.
    assert json.dumps(study().results, sort_keys=True) == json.dumps(again.results, sort_keys=True)
    assert not list(tmp_path.glob("*.part"))
    with pytest.raises(InvalidInput, match="store must have seed 8"):
        study(store=store, seed=8)
    # A few draws say as well that there are intervals.
    monkeypatch.setattr(threshold, "__defaults__", (4,))
    text = [grid.to_text() for grid in tables(again)]
    assert "Counterexamples" in text[3]


@pytest.mark.parametrize("content", ["", "[]", '{"format": 1}', "\x00", '{"results": 3}'])
def test_a_foreign_store_is_refused(tmp_path, content):
    store = tmp_path / "relu.json"
    store.write_text(content)
    with pytest.raises(InvalidInput, match="store must"):
        study(store=store)
    assert store.read_text() == content


def test_a_store_that_cannot_be_written_costs_no_cell(small, tmp_path, monkeypatch):
    monkeypatch.setattr(verdicts, "measure", pytest.fail)
    for store in (tmp_path / "none" / "relu.json", 3):
        with pytest.raises(InvalidInput, match="store must be"):
            study(store=store)
    with pytest.raises(InvalidInput, match="quick must be True or False"):
        study(quick="yes")


def test_rows_are_rows_of_the_table_of_evidence(small):
    from swingby.lab.figures.evidence import EvidenceRow

    found = rows(study())
    made = [EvidenceRow(**row) for row in found]
    required = [f for f in dataclasses.fields(EvidenceRow) if f.default is dataclasses.MISSING]
    assert {field.name for field in required} <= set(found[0])
    assert len({(row.setting, row.statement) for row in made}) == len(made)


def invented(two, near, n=100):
    """Runs of every cell in which so many have two vectors, and so many end at the halves."""
    link = [
        {"count": 2 if k < two else 4, "split": True, "halves": 1.0, "settled": True}
        | {"loss": 1.0 if k < near else 0.9, "run": k, "reached": 2}
        for k in range(n)
    ]
    return {cell.name: link for cell in SMALL if cell.kind in ("two", "link")}


@pytest.mark.parametrize(
    ("two", "near", "verdict"), [(100, 100, "holds"), (0, 100, "fails"), (95, 100, "undecided")]
)
def test_the_link_can_fail(small, monkeypatch, two, near, verdict):
    kinds = [cell for cell in SMALL if cell.kind in ("two", "link")]
    monkeypatch.setattr(verdicts, "cells", lambda quick: kinds)
    found = {row["statement"]: row for row in rows(Study(0, False, invented(two, near)))}
    assert found["loss of two halves iff two extremal vectors"]["verdict"] == verdict


@pytest.mark.parametrize(
    ("loss", "settled", "expected"),
    [(1.0, True, True), (1.019, True, True), (1.021, True, False), (0.97, False, False)],
)
def test_two_percent(loss, settled, expected):
    assert close({"loss": loss, "halves": 1.0, "settled": settled}) is expected
    assert close({"loss": 1.0, "halves": 1.0, "settled": False}) is None


def test_the_exponent_of_a_known_threshold(monkeypatch):
    rng = np.random.default_rng(0)
    grid = [
        ThresholdCell("two", "gap", d, n, 500) for d in (2, 3, 4, 6) for n in (8, 16, 32, 64, 128)
    ]
    monkeypatch.setattr(verdicts, "cells", lambda quick: grid)
    results = {}
    for cell in grid:
        share = 1 / (1 + (5 * cell.d**1.5 / cell.n) ** 2)
        results[cell.name] = [{"count": 2 if rng.random() < share else 3} for _ in range(500)]
    fitted = threshold(Study(0, False, results), draws=40)
    assert fitted.p_interval[0] < 1.5 < fitted.p_interval[1]
    assert fitted.p_interval[1] - fitted.p_interval[0] < 0.4
    for d, (low, high) in fitted.at_interval.items():
        assert low < fitted.at[d] < high
        assert np.isclose(fitted.at[d], 5 * d**1.5, rtol=0.15)


def test_the_command_on_data(tmp_path, capsys):
    file = tmp_path / "points.csv"
    file.write_text("3,1,3\n-3,1,-3\n2,-1,2\n-2,-1,-2\n4,1,4\n")
    assert swingby(["relu", "--data", str(file), "--json"]) in (1, 3)
    content = json.loads(capsys.readouterr().out)
    kinds = [one["kind"] for one in content["extremal_vectors"]["points"]]
    assert kinds == ["max", "min"]
    assert content["statements"][-1]["verdict"] == "holds"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--data", "no such file"], "data must be a readable file of numbers"),
        (["--out", "a.png"], "out must end in"),
        (["--store", "a.txt"], "store must end in .json"),
        (["--data", "a.csv", "--quick"], "quick must not be given together with data"),
    ],
)
def test_wrong_input_is_one_line(refused, arguments, words):
    assert words in refused(["relu", *arguments])


@pytest.mark.parametrize(("verdict", "code"), [("holds", 0), ("fails", 1), ("undecided", 3)])
def test_exit_codes_are_those_of_the_verdicts(monkeypatch, capsys, verdict, code):
    monkeypatch.setattr(verdicts, "study", lambda **given: Study(7, True, {}))
    monkeypatch.setattr(verdicts, "cells", lambda quick: [])
    monkeypatch.setattr(verdicts, "tables", lambda found: [])
    monkeypatch.setattr(verdicts, "rows", lambda found: [{"verdict": verdict}])
    monkeypatch.setattr(Study, "to_dict", lambda self: {})
    assert swingby(["relu", "--quick"]) == code
