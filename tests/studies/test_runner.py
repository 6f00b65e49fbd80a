"""Studies as they are run: rows as recorded, interrupted work that goes on, and the command."""

import json

import click
import pytest
from click.testing import CliRunner

pytest.importorskip("torch")

from studies import __main__ as command
from studies import runner
from studies.catalogue import STUDIES
from studies.plan import load_plan
from studies.study import Study, recorded_rows, rows_of_shares
from swingby.errors import InvalidInput
from swingby.lab.figures.evidence import EvidenceRow, read_record, write_record
from swingby.theory.share import Share
from swingby.theory.verdict import Verdict
from tests.forked import FULL

pytestmark = pytest.mark.torch


def test_the_map_is_made_again_as_recorded():
    study, plan = STUDIES["map"], load_plan("map")
    step = 1 if FULL else 8  # 26 settings
    cells = list(study.cells(plan).values())[::step]
    made = recorded_rows({str(k): study.measure(cell) for k, cell in enumerate(cells)})
    assert made == list(runner.recorded()["map"].rows)[::step]


def test_rows_of_what_is_recorded_whole_are_those_of_the_record():
    """Those of images are part of its canary."""
    results = json.loads((runner.RECORDS / "relu_study.json").read_text())["results"]
    assert tuple(STUDIES["relu"].rows(results)) == runner.recorded()["relu"].rows


def test_shares_of_runs_as_rows():
    shares = {"c": Share(58, 64), "d": Share(0, 0)}
    row, nothing = rows_of_shares("a", "b", shares)
    assert (row.verdict, row.seeds, row.needed) == (Verdict.UNDECIDED, 64, 8851)
    assert row.interval == "[81.0%, 95.6%]"
    assert (nothing.verdict, nothing.needed, nothing.interval) == (Verdict.UNDECIDED, None, "")


@pytest.fixture
def toy(monkeypatch, tmp_path):
    """One study of two cells in place of all; what it finds can be changed."""
    made = {"verdict": "holds", "number": 1.0, "measured": [], "stop_at": ""}

    def measure(cell):
        if cell == made["stop_at"]:
            raise KeyboardInterrupt
        made["measured"].append(cell)
        return [vars(EvidenceRow("toy", cell, "", "a", "1", "1", "", made["verdict"], 1, None))]

    study = Study(
        "a toy",
        lambda plan: {name: name for name in plan["cells"]},
        measure,
        lambda plan: {"w": made["number"]},
        recorded_rows,
    )
    plan = {"cells": ["first", "second"], "canary": "first"}
    for module in (command, runner):
        monkeypatch.setattr(module, "STUDIES", {"toy": study})
        monkeypatch.setattr(module, "load_plan", lambda name, path=None: plan)
        monkeypatch.setattr(module, "RECORDS", tmp_path)
    monkeypatch.setattr(command, "cache_folder", lambda room: tmp_path)
    monkeypatch.setattr(command.main.params[0], "type", click.STRING)
    results = {name: measure(name) for name in plan["cells"]}
    write_record(tmp_path / "evidence.json", {"toy": runner.record_of("toy", plan, results)})
    made["measured"].clear()
    return made


def call(*words):
    return CliRunner().invoke(command.main, words)


def test_the_list_says_whether_inputs_are_as_recorded(toy, monkeypatch):
    outcome = call()
    assert outcome.exit_code == 0
    assert outcome.output.splitlines()[3].split()[-2:] == ["first", "yes"]
    plan = {"cells": ["first"], "canary": "first"}
    monkeypatch.setattr(command, "load_plan", lambda name: plan)
    assert call().output.splitlines()[3].split()[-2:] == ["first", "no"]
    assert toy["measured"] == []


def test_verdicts_that_moved_are_told_and_kept(toy, tmp_path):
    outcome = call("toy")
    assert (outcome.exit_code, outcome.stderr.splitlines()[-1]) == (0, "nothing moved")
    toy.update(verdict="fails", number=2.0)
    before = (tmp_path / "evidence.json").read_bytes()
    outcome = call("toy")
    assert outcome.exit_code == 1
    lines = [
        "toy: first, a: holds -> fails",
        "toy: second, a: holds -> fails",
        "toy: w: 1.0 -> 2.0",
    ]
    assert outcome.stderr.splitlines()[-3:] == lines
    assert (tmp_path / "evidence.json").read_bytes() == before
    assert call("toy", "--keep").exit_code == 1
    assert [row.verdict for row in read_record(tmp_path / "evidence.json")["toy"].rows] == [
        Verdict.FAILS
    ] * 2
    assert call("toy").exit_code == 0


def test_an_interrupted_study_goes_on(toy):
    toy["stop_at"] = "second"
    assert call("toy").exit_code == 1
    assert toy["measured"] == ["first"]
    toy["stop_at"] = ""
    assert call("toy").exit_code == 0
    assert toy["measured"] == ["first", "second"]
    # A study that is done is measured anew.
    assert call("toy").exit_code == 0
    assert toy["measured"] == ["first", "second"] * 2


def test_the_canary_alone_measures_no_cell(toy):
    assert call("--canary", "toy").exit_code == 0
    toy["number"] = 1.001
    outcome = call("--canary", "toy")
    assert (outcome.exit_code, outcome.stderr) == (1, "toy: w: 1.0 -> 1.001\n")
    assert toy["measured"] == []


def test_what_another_plan_measured_is_not_gone_on_with(toy, tmp_path):
    plan = {"cells": ["first"], "canary": "first"}
    runner.run_study("toy", plan, tmp_path / "store.json")
    with pytest.raises(InvalidInput, match="store must have plan"):
        runner.run_study("toy", {**plan, "cells": ["first", "second"]}, tmp_path / "store.json")


@pytest.mark.torch
def test_tables_of_networks():
    pytest.importorskip("torch")
    (table,) = STUDIES["tables"].tables({"scales": STUDIES["tables"].measure(("scales", 2, 7))})
    # On the law of its growing mode: to the step for the smallest weights.
    column = [name.lstrip(">") for name in table.columns].index("half-times %")
    errors = [row[column] for row in table.rows]
    assert errors[-1] == "0 / 0 / 0"
    assert float(errors[0].split(" / ")[0]) > 0


@pytest.mark.parametrize("option", ["--canary", "--keep", "--fresh"])
def test_an_option_without_a_name_is_refused(option):
    result = CliRunner().invoke(command.main, [option])
    assert result.exit_code == 2
    assert "a NAME must be given" in result.output
