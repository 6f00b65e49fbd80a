"""Rows depend on their point alone; labels mean the same when predicted and when observed."""

import importlib
import warnings
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
import sympy

import swingby
from swingby.lab.sweeps import measurement as module
from swingby.lab.sweeps.grid import SweepGrid
from swingby.lab.sweeps.label import Label, _order_label
from swingby.lab.sweeps.measurement import measure
from swingby.lab.sweeps.point import Point, initial, task_of

POINT = Point(("4", "1"), None, None, "1e-3", 2, 0, "0.05", "gd")


def points():
    grid = SweepGrid(
        signal=[[4, 1], [3, 2, 1]],
        omega=[1e-3, "1e-20"],
        eta=0.05,
        width=["d", 1],
        seeds=1,
        dynamics=["euler", "gd", "flow"],
    )
    return list(grid.points())


def text(row):
    return repr([row.results, row.reason])


def test_rows_do_not_depend_on_the_split_or_the_order():
    every = points()
    rows = [text(row) for row in measure(every)]
    assert [text(row) for point in every for row in measure([point])] == rows
    assert [text(row) for row in measure(every[::-1])] == rows[::-1]
    assert measure([]) == []


def test_a_row_is_what_predict_and_simulate_say():
    row = measure([POINT])[0].results
    task, W0 = task_of(POINT), initial(POINT)
    schedule = swingby.predict(task, W0, eta="0.05", dynamics="gd")
    run = swingby.simulate(task, W0, eta="0.05", dynamics="gd")
    assert row["predicted_half_times"] == schedule.half_times.tolist()
    assert row["error"] == pytest.approx(schedule.error.tolist(), rel=1e-6)
    assert row["half_times"] == run.half_times.tolist()
    assert row["outcome"] == run.outcome
    # Runs side by side are looked at every 256 steps.
    assert run.last_step <= row["last_step"] < run.last_step + 256
    assert row["descents"] == run.descents()
    assert row["transient"] == pytest.approx(abs(run.peaks[0].value), rel=1e-12)
    assert row["transient"] >= np.abs(run.W[:, 0, 1]).max()


def test_the_margin_and_the_pivot_by_hand():
    """For gd the pivot of concept 2 is w_22 - w_12^2 / w_11; W(0) is far below its odds' bend."""
    point = replace(POINT, omega="1e-12")
    row = measure([point])[0].results
    (w11, w12), (_, w22) = initial(point).matrix
    assert row["smallest_pivot"] == pytest.approx(min(1, (w22 - w12**2 / w11) / w22), rel=1e-6)
    first, second = row["predicted_half_times"]
    by_hand = (second - first) / sum(row["error"])
    assert row["margin"] == pytest.approx(by_hand, rel=2 / (second - first))


@pytest.mark.parametrize(
    ("changes", "predicted", "observed"),
    [
        ({}, Label.IN_ORDER, Label.IN_ORDER),
        ({"width": 1}, Label.TRAPPED, Label.TRAPPED),
        ({"width": 1, "dynamics": "euler"}, Label.DIVERGED, Label.DIVERGED),
        ({"steps": 3}, Label.IN_ORDER, Label.UNFINISHED),
        ({"eta": "5"}, Label.UNDECIDED, Label.DIVERGED),
        ({"signal": ("1", "4")}, Label.IN_ORDER, Label.IN_ORDER),
        ({"signal": ("4", "1", "0"), "width": 3}, Label.IN_ORDER, Label.IN_ORDER),
        ({"signal": ("4", "4")}, Label.IN_ORDER, Label.IN_ORDER),
    ],
)
def test_labels(changes, predicted, observed):
    row = measure([replace(POINT, **changes)])[0].results
    assert (row["predicted"], row["observed"]) == (predicted, observed)


def test_what_is_learned_from_the_start_has_no_margin():
    """Two crossings at step 0, without an error: 0 / 0, which is nothing to warn of."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (row,) = measure([replace(POINT, omega="2")])
    assert row.results["half_times"] == row.results["predicted_half_times"] == [0, 0]
    assert (row.results["error"], row.results["margin"]) == ([0, 0], None)
    assert row.results["predicted"] == row.results["observed"] == Label.IN_ORDER
    # Of three concepts it says nothing of the third, whose bar is one step.
    for crossing, error in (((0, 0, 10), (0, 0, 1)), ((10, 0, 0), (1, 0, 0))):
        law = SimpleNamespace(signal=(4, 2, 1), crossing=np.array(crossing), error=np.array(error))
        assert module.margin(law) == 10


def test_out_of_order_is_found_in_advance():
    """Close signals: among 40 seeds some learn the weaker concept first, and the law says which."""
    seeds = [replace(POINT, signal=("4", "3.9"), omega="1e-2", seed=k) for k in range(40)]
    rows = [row.results for row in measure(seeds)]
    late = [row["half_times"][0] > row["half_times"][1] for row in rows]
    assert any(late)
    assert not all(late)
    assert [row["observed"] == Label.OUT_OF_ORDER for row in rows] == late
    said = [row["predicted"] == Label.OUT_OF_ORDER for row in rows if row["margin"] > 1]
    assert said == [one for one, row in zip(late, rows, strict=True) if row["margin"] > 1]


def test_a_point_that_raises_stops_nothing(monkeypatch):
    good = text(measure([POINT])[0])

    def failing(point):
        if point.seed == 1:
            raise ZeroDivisionError("by\nzero")
        return initial(point)

    monkeypatch.setattr(module, "initial", failing)
    first, wrong, last = measure([POINT, replace(POINT, seed=1), POINT])
    assert text(first) == text(last) == good
    assert (wrong.results, wrong.reason) == (None, "ZeroDivisionError: by zero")


@pytest.mark.parametrize(
    "part", ["predict_batch.predict_batch", "predict_swing.predict_swing_batch"]
)
def test_what_breaks_a_batch_is_never_a_point_with_less(monkeypatch, part):
    """A point that is done has all that was asked for, and no memory left is no property of it."""

    def failing(signal, **given):
        if (signal == 3).any():
            raise error
        return work(signal=signal, **given)

    module_name, _, name = part.partition(".")
    owner = importlib.import_module(f"swingby.verify.{module_name}")
    work, error = getattr(owner, name), ZeroDivisionError("by zero")
    monkeypatch.setattr(owner, name, failing)
    good, wrong = measure([POINT, replace(POINT, signal=("3", "1"))])
    assert good.results["predicted_descents"] is not None
    assert (wrong.results, wrong.reason) == (None, "ZeroDivisionError: by zero")
    error = MemoryError()
    with pytest.raises(MemoryError):
        measure([POINT, replace(POINT, signal=("3", "1"))])


def test_recorded_arrays():
    plain, recorded = measure([POINT, replace(POINT, record=10)])
    assert plain.arrays is None
    same = {name for name in plain.results if name not in ("last_step", "error", "transient")}
    assert {name: plain.results[name] for name in same} == {
        name: recorded.results[name] for name in same
    }
    assert recorded.arrays["steps"][:3].tolist() == [0, 10, 20]
    assert recorded.arrays["W"].shape == (len(recorded.arrays["steps"]), 2, 2)


@pytest.mark.parametrize(
    ("signal", "times", "label"),
    [
        ((2, 1), (10, 11), "in_order"),
        ((2, 1), (10, 10), "in_order"),  # the same step
        ((2, 1), (11, 10), "out_of_order"),
        ((2, 2), (11, 10), "in_order"),  # equal signals
        ((2, 0), (11, np.nan), "in_order"),  # a free direction is not learned
    ],
)
def test_the_order_of_learning_by_hand(signal, times, label):
    found = _order_label(tuple(map(Fraction, signal)), np.array(times, dtype=float))
    assert found == label


def test_what_runs_away_is_foreseen_together(monkeypatch):
    # The drift of euler turns pivots of a tiny W(0) negative; the law of a single point says so.
    grid = SweepGrid(signal=[[4, 1]], omega="1e-40", eta="0.1", width=2, seeds=3, dynamics="euler")
    together = [row.results for row in measure(list(grid.points()))]
    monkeypatch.setattr(module, "_laws", lambda given, rows: {})
    alone = [row.results for row in measure(list(grid.points()))]
    assert [row["predicted"] for row in together] == [row["predicted"] for row in alone]
    assert Label.DIVERGED in {row["predicted"] for row in together}


def test_descents_are_predicted_as_observed():
    grid = SweepGrid(
        signal=[[1, 0.25]], omega="1e-3", eta="0.05", width=[2, 4], seeds=25, dynamics="gd"
    )
    rows = [row.results for row in measure(list(grid.points()))]
    decided = [row for row in rows if row["predicted_descents"] is not None]
    assert len(decided) >= 45
    assert all(row["predicted_descents"] == row["descents"] for row in decided)
    assert {row["descents"] for row in decided} == {1, 2}
    for row in decided:
        assert row["predicted_transient"] == pytest.approx(row["transient"], rel=0.05)


def test_a_runaway_does_not_magnify_an_asymmetry_of_rounding():
    # The map keeps no antisymmetric part small: the loss seemed to descend twice.
    signal = ("1", "0.344828", "0.118906")
    point = Point(signal, None, None, "4.64e-7", 3, 1, "0.428", "euler")
    row = measure([point])[0].results
    assert (row["observed"], row["predicted_descents"], row["descents"]) == ("diverged", 1, 1)


ONE = Point(("4", "1"), None, None, "1e-6", 2, 0, "0.01", "gd")


def test_everything_counts_for_the_key():
    changes = [
        {"signal": ("1", "4")},
        {"signal": None, "mu": ("4", "1"), "sigma": ("0", "0")},
        {"omega": "1e-7"},
        {"width": 3},
        {"seed": 1},
        {"eta": "0.02"},
        {"dynamics": "flow"},
        {"steps": 10},
        {"record": "log"},
    ]
    keys = {ONE.key(), *(replace(ONE, **change).key() for change in changes)}
    keys |= {ONE.key("0.0.0"), ONE.key(measure=10**6)}
    assert len(keys) == len(changes) + 3


def test_one_initial_matrix_for_all_dynamics_and_step_sizes():
    matrix = initial(ONE).matrix
    for same in ({"dynamics": "flow"}, {"eta": "0.5"}, {"steps": 9}, {"record": 2}):
        assert np.array_equal(initial(replace(ONE, **same)).matrix, matrix)
    for other in ({"seed": 1}, {"omega": "1e-7"}, {"signal": ("1", "4")}):
        assert not np.array_equal(initial(replace(ONE, **other)).matrix, matrix)


def test_the_rank_is_that_of_the_width_exactly():
    W0 = initial(replace(ONE, signal=("4", "3", "2", "1"), width=2))
    exact = [
        [sympy.Rational(*entry.as_integer_ratio()) for entry in row] for row in W0.matrix.tolist()
    ]
    assert sympy.Matrix(exact).rank() == 2


def test_the_expected_diagonal_entry_is_omega():
    """4000 entries of mean 1 and variance 2/d' = 0.5: within 5 standard deviations, 0.056."""
    entries = []
    for seed in range(1000):
        W0 = initial(replace(ONE, signal=("4", "3", "2", "1"), width=4, seed=seed))
        assert W0.omega == Fraction(1, 10**6) / 4
        entries += (np.diag(W0.matrix) / 4).tolist()
    assert abs(np.mean(entries) - 1) < 0.056
