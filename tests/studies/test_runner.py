"""Studies as they are run: rows as recorded, interrupted work that goes on, and the command."""

import json
import math
from statistics import NormalDist

import click
import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("torch")

from studies import __main__ as command
from studies import runner
from studies.catalogue import STUDIES
from studies.plan import load_plan
from studies.study import Study, crossed, recorded_rows, rows_of_shares
from swingby.errors import InvalidInput
from swingby.lab.figures.evidence import EvidenceRow, Kind, read_record, write_record
from swingby.theory.share import Share
from swingby.theory.verdict import Verdict
from tests.forked import FULL

pytestmark = pytest.mark.torch


def test_the_map_is_made_again_as_recorded():
    study, plan = STUDIES["map"], load_plan("map")
    step = 1 if FULL else 8  # 26 settings
    cells = list(study.cells(plan).values())[::step]
    made = recorded_rows({str(k): study.measure(cell) for k, cell in enumerate(cells)})
    rows = runner.recorded()["map"].rows
    kept = [row for k in range(0, len(rows) // 2, step) for row in rows[2 * k : 2 * k + 2]]
    assert made == kept
    assert [str(row.kind) for row in made[:2]] == ["numerics", "law"]


def test_rows_of_what_is_recorded_whole_are_those_of_the_record():
    """Those of images are part of its canary."""
    results = json.loads((runner.RECORDS / "relu_study.json").read_text())["results"]
    assert tuple(STUDIES["relu"].rows(results)) == runner.recorded()["relu"].rows


def test_shares_of_runs_as_rows():
    shares = {"c": Share(58, 64), "d": Share(0, 0)}
    row, nothing = rows_of_shares("a", "b", Kind.LAW, shares)
    assert (row.verdict, row.seeds, row.needed) == (Verdict.UNDECIDED, 64, 8851)
    assert (row.interval, row.count, row.control) == ("[81.0%, 95.6%]", 58, None)
    assert (nothing.verdict, nothing.needed, nothing.interval) == (Verdict.UNDECIDED, None, "")


@pytest.mark.parametrize(
    ("count", "control", "verdict"),
    [
        (100, 0.5, "holds"),
        (100, 0.97, "nothing at stake"),
        (90, 0.9, "nothing at stake"),
        (90, 0.85, "undecided"),
        (50, 1.0, "fails"),
        (100, float("nan"), "holds"),
    ],
)
def test_a_control_that_comes_true_as_often_leaves_nothing_at_stake(count, control, verdict):
    """Wilson's lower ends for 100 and 90 of 100 are .963 and .826; .85 would fail .9 itself."""
    rows = rows_of_shares("a", "b", Kind.LAW, {"c": Share(count, 100)}, {"c": control})
    assert [str(row.verdict) for row in rows] == [verdict]


def test_runs_are_crossed_with_the_predictions_for_others():
    predicted, observed = np.array([1, 2, 3, 1]), np.array([1, 2, 3, 1])
    assert crossed(predicted[:, None] == observed) == 2 / 12
    assert math.isnan(crossed([[True]]))
    assert math.isnan(crossed([]))


def test_intervals_of_a_family_cover_together():
    """Bonferroni: three intervals of 1 - .05/3, by Wilson's formula."""
    kinds = {"c": Share(58, 64), "d": Share(0, 0), "e": Share(3, 10), "f": Share(10, 10)}
    rows = recorded_rows({"cell": [vars(row) for row in rows_of_shares("a", "b", Kind.LAW, kinds)]})
    z = NormalDist().inv_cdf(1 - 0.05 / 3 / 2)
    for row in rows:
        if not row.seeds:
            assert row.family_interval == ""
            continue
        n, p = row.seeds, row.count / row.seeds
        middle = (p + z * z / (2 * n)) / (1 + z * z / n)
        reach = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        assert row.family_interval == f"[{middle - reach:.1%}, {middle + reach:.1%}]"


@pytest.fixture
def toy(monkeypatch, tmp_path):
    """One study of two cells in place of all; what it finds can be changed."""
    made = {"verdict": "holds", "number": 1.0, "measured": [], "stop_at": ""}

    def measure(cell):
        if cell == made["stop_at"]:
            raise KeyboardInterrupt
        made["measured"].append(cell)
        row = EvidenceRow("toy", cell, "", "a", "1", "1", "", made["verdict"], 1, None, "law")
        return [vars(row)]

    study = Study(
        "a toy",
        lambda plan: {name: name for name in plan["cells"]},
        measure,
        lambda plan: {"w": made["number"]},
        recorded_rows,
    )
    plan = {"cells": ["first", "second"], "canary": "first", "planned": ["second"]}
    for module in (command, runner):
        monkeypatch.setattr(module, "STUDIES", {"toy": study})
        monkeypatch.setattr(module, "load_plan", lambda name, path=None: plan)
        monkeypatch.setattr(module, "RECORDS", tmp_path)
    (tmp_path / "cache").mkdir()
    monkeypatch.setattr(command, "cache_folder", lambda name: tmp_path / "cache")
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
    assert [row.planned for row in read_record(tmp_path / "evidence.json")["toy"].rows] == [
        *(False, True)
    ]
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
    *_, table = STUDIES["tables"].tables({"scales": STUDIES["tables"].measure(("scales", 2, 7))})
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
