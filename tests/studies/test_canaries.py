"""Recorded studies are current: inputs as recorded, and a cheap cell gives the recorded numbers."""

import dataclasses

import pytest

pytest.importorskip("torch")

from studies.catalogue import STUDIES
from studies.plan import load_plan
from studies.runner import differences, inputs, moved_rows, recorded, stale_reasons

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("name", STUDIES)
def test_a_record_is_current(name):
    """Its plan and cells are unchanged, and its canary gives the recorded numbers."""
    assert stale_reasons(name, recorded()[name]) == []


@pytest.mark.parametrize("name", STUDIES)
def test_a_canary_is_a_cell_of_its_study(name):
    plan = load_plan(name)
    assert any(cell.startswith(plan["canary"]) for cell in STUDIES[name].cells(plan))
    assert recorded()[name].canary


def test_another_plan_is_not_the_recorded_one():
    record = recorded()["relu"]
    plan = {**load_plan("relu"), "seed": 8}
    assert inputs("relu", plan) != record.inputs
    edited = dataclasses.replace(record, inputs=inputs("relu", plan))
    assert stale_reasons("relu", edited) == ["its plan or its cells have changed"]


def test_one_number_of_the_theory_moves_the_canaries_of_networks(monkeypatch):
    """The clock of two layers, off by a thousandth."""
    from studies import survival

    rate_of = survival.rate_of
    monkeypatch.setattr(survival, "rate_of", lambda setting: 1.001 * rate_of(setting))
    moved = stale_reasons("networks", recorded()["networks"])
    assert {line.split()[0] for line in moved} >= {"half-times"}
    assert not [line for line in moved if line.startswith("observed")]


def test_one_number_of_the_theory_moves_the_canary_of_relu(monkeypatch):
    from swingby.lab.relu import concepts

    modes = concepts.growing_modes
    monkeypatch.setattr(concepts, "growing_modes", lambda W1, W2: 1.001 * modes(W1, W2))
    moved = stale_reasons("relu", recorded()["relu"])
    assert moved
    assert all(line.startswith("off") for line in moved)


def test_differences_are_found_wherever_they_are():
    recorded_numbers = {"w": [1.0, None], "rows": [["a", 2]]}
    assert list(differences(recorded_numbers, {"w": [1.0 + 1e-9, None], "rows": [["a", 2]]})) == []
    for measured, place in (
        ({"w": [1.0, 0.0], "rows": [["a", 2]]}, "w 1: None -> 0.0"),
        ({"w": [1.0], "rows": [["a", 2]]}, "w: [1.0, None] -> [1.0]"),
        ({"w": [1.0, None], "rows": [["b", 2]]}, "rows 0 0: a -> b"),
        ({"w": [1.0, None]}, f": {recorded_numbers} -> {{'w': [1.0, None]}}"),
    ):
        assert list(differences(recorded_numbers, measured)) == [place]


def test_moved_rows_are_told_by_their_names():
    record = recorded()["map"]
    first, *rest = record.rows
    other = dataclasses.replace(first, verdict="fails")
    assert moved_rows(record, record) == []
    (line,) = moved_rows(record, dataclasses.replace(record, rows=(other, *rest)))
    assert (
        line
        == "Fig. 5, rates a, euler, caption and code, half-times within their bars: holds -> fails"
    )
    (line,) = moved_rows(record, dataclasses.replace(record, rows=tuple(rest)))
    assert line.endswith("holds -> no row")
