"""Points that are not observed as predicted: which, in what order, and why."""

import importlib.util
import json
import math
from pathlib import Path

import pytest

from swingby import cli
from swingby.errors import InvalidInput
from swingby.sweeping.grid import SweepGrid
from swingby.sweeping.result import SweepResult

_HELP = importlib.util.spec_from_file_location("rows", Path(__file__).with_name("phase_rows.py"))
rows = importlib.util.module_from_spec(_HELP)
_HELP.loader.exec_module(rows)
by_hand, row = rows.by_hand, rows.row

GRID = SweepGrid(signal=[[2, 1]], omega=["1e-3", "1e-400"], eta=0.1, seeds=5)
TIMES = {"predicted_half_times": [100, "inf"], "error": [2, None], "half_times": [110, "inf"]}


@pytest.fixture
def result(tmp_path):
    measured = [
        row(),
        row("out_of_order", margin=0.5, **TIMES),
        row("out_of_order", margin=3, **TIMES),
        row("undecided", "trapped", margin=50),
        row("in_order", "unfinished", margin=60),
        row("trapped", margin="inf", smallest_pivot=0),
        row("out_of_order", margin=3, **TIMES),
        row("in_order", "diverged", margin=None, outcome="lost_psd"),
        None,
    ]
    return by_hand(tmp_path / "a.sqlite", GRID, measured)


def test_the_surest_comes_first(result):
    found = result.disagreements()
    assert [one.place for one in found] == [5, 2, 6, 1, 7]
    assert [one.margin for one in found][:4] == [math.inf, 3, 3, 0.5]
    assert math.isnan(found.rows[4].margin)
    assert (found.total, found.agreement.decided, found.agreement.agreed) == (5, 6, 1)
    assert (found.agreement.undecided, found.agreement.unfinished) == (1, 1)
    assert (found.agreement.failed, found.agreement.missing) == (1, 1)
    assert [one.place for one in result.disagreements(2)] == [5, 2]
    assert result.disagreements(2).total == 5
    assert result.disagreements(None).to_dict() == found.to_dict()
    assert [one.place for one in result.disagreements(where={"omega": "1e-400"})] == [5, 6, 7]


def test_without_a_grid_the_rows_are_the_same(result):
    found = SweepResult(result.store).disagreements()
    assert found.to_dict()["rows"] == result.disagreements().to_dict()["rows"]
    assert found.agreement.missing == 0
    part = SweepResult(result.store).disagreements(where={"omega": "1e-400"})
    assert [one.place for one in part] == [5, 6, 7]
    assert part.agreement.failed == 1


def test_a_smaller_grid_sees_its_own_points(result):
    grid = SweepGrid(signal=[[2, 1]], omega="1e-3", eta=0.1, seeds=3)
    found = SweepResult(result.store, grid).disagreements()
    assert [one.place for one in found] == [2, 1]
    assert found.agreement.points == 3


def test_table(result):
    text = result.disagreements(3).to_text(width=200)
    assert "5 disagreements, the 3 of largest margin" in text
    assert "euler a=(2,1) omega=1e-400 eta=0.1 d'=2 seed=1" in text
    assert "100 +- 2 -> 110; never -> never" in text
    assert "predicted as observed: 1 of 6 decided points (16.67%" in text
    assert "not counted: 1 undecided, 1 unfinished, 1 failed, 1 missing" in text
    plain = json.loads(json.dumps(result.disagreements().to_dict(), allow_nan=False))
    assert plain["rows"][0]["margin"] == "inf"
    assert plain["rows"][0]["point"]["omega"] == "1e-400"
    assert plain["rows"][4]["margin"] is None
    frame = result.disagreements().to_frame()
    assert frame.predicted.value_counts().to_dict() == {
        "out_of_order": 3,
        "trapped": 1,
        "in_order": 1,
    }
    assert "<table>" in result.disagreements()._repr_html_()
    assert r"\toprule" in result.disagreements().to_latex()
    assert "| point |" in result.disagreements().to_markdown()


@pytest.mark.parametrize(
    ("results", "words"),
    [
        (row("in_order", "out_of_order", margin=0.99), "margin below 1"),
        # 110 - 100 = 10 steps, of which one is the rounding of steps, over a bar of 2.
        (row("out_of_order", margin=3, **TIMES), "half-time 1 is 4.5 error bars off"),
        (
            row("out_of_order", margin=3, **{**TIMES, "half_times": [101, "inf"]}),
            "no half-time is more than a step off",
        ),
        (
            row("out_of_order", margin=3, **{**TIMES, "half_times": [110, 110]}),
            "observed at the same step",
        ),
        (row("in_order", "diverged", outcome="diverged"), "W left the float range"),
        (
            row("trapped", "diverged", outcome="lost_psd", smallest_pivot=1e-9),
            "W lost positive semidefiniteness; the smallest pivot is 1e-09 of its terms",
        ),
        (row("trapped", smallest_pivot=0), "only rounding is left of the smallest pivot"),
        (row("diverged", smallest_pivot=-0.25), "predicted from a negative pivot, -0.25"),
        (row("trapped", smallest_pivot=0.5), ""),
    ],
)
def test_why(tmp_path, results, words):
    (found,) = by_hand(tmp_path / "a", GRID, [results]).disagreements()
    assert found.why.startswith(words)
    assert bool(found.why) == bool(words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"limit": 0}, "limit must be at least 1"),
        ({"where": {"omgea": 1}}, "where must name a quantity"),
        (
            {"where": {"omega": 1}},
            r"where\[omega\] must be a value of the sweep: 1e-400, 0.001, got 1",
        ),
        ({"where": []}, "where must be a dict"),
    ],
)
def test_wrong_input(result, arguments, words):
    with pytest.raises(InvalidInput, match=words):
        result.disagreements(**arguments)


CONTENT = """
signal = [[4, 1], [4, 3]]
omega = [1e-1, 1e-3]
eta = [0.1, 0.2]
seeds = 2
"""


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grid.toml").write_text(CONTENT)
    return tmp_path


def run(*arguments):
    return cli.run(["sweep", "grid.toml", "--store", "out.sqlite", "--workers", "0", *arguments])


def test_command(capsys, workplace):
    assert run("--diagram", "a.png", "--disagreements") == 0
    out = capsys.readouterr().out
    assert "16 points: 16 done" in out
    assert "Predicted otherwise than observed, out.sqlite" in out
    assert (workplace / "a.png").read_bytes()[:4] == b"\x89PNG"
    axes = ["--x", "eta", "--y", "a_1/a_2", "--where", "omega=1e-3"]
    assert run("--status", "--diagram", "b.svg", *axes) == 0
    svg = (workplace / "b.svg").read_text()
    assert "in order" in svg
    capsys.readouterr()
    assert run("--status", "--json", "--disagreements", "--where", "eta=0.2") == 0
    found = json.loads(capsys.readouterr().out)["disagreements"]
    assert found["decided"] + found["undecided"] + found["unfinished"] == 8


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--diagram", "a.gif"], "diagram must end in .png, .pdf or .svg, got a.gif"),
        (["--diagram", "none/a.png"], "diagram must lie in a folder that exists"),
        (
            ["--diagram", "a.png", "--x", "omgea"],
            "x must name a quantity of the sweep; these vary: omega, a_1/a_2, a_2, signal, eta,"
            " got omgea",
        ),
        (["--x", "omega"], "x must be given together with diagram"),
        (["--where", "eta=1"], "where must be given together with diagram or disagreements"),
        (["--disagreements", "--where", "eta"], "where must be NAME=VALUE"),
        (["--disagreements", "--where", "etta=1"], "where must name a quantity of the sweep;"),
    ],
)
def test_wrong_input_is_one_line_before_the_sweep(capsys, workplace, arguments, words):
    assert run(*arguments) == 2
    stderr = capsys.readouterr().err
    assert stderr.startswith(f"swingby: {words}")
    assert stderr.count("\n") == 1
    assert not (workplace / "out.sqlite").exists()


def test_a_value_that_no_point_has_is_one_line(capsys, workplace):
    assert run("--diagram", "a.png", "--where", "eta=0.3") == 2
    assert "where[eta] must be a value of the sweep: 0.1, 0.2, got 0.3" in capsys.readouterr().err
