"""Points that are not observed as predicted: which, in what order, and why."""

import json
import math

import pytest

from swingby.errors import InvalidInput
from swingby.sweeping.grid import SweepGrid
from swingby.sweeping.result import SweepResult
from tests.sweeping.phase_rows import by_hand, row

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
