"""Numbers of a theory whose symbol is an integer: they are whole wherever they come up."""

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

import swingby
from swingby.errors import InvalidInput
from swingby.own import Bound, Theory, Value
from swingby.own_theory.hunting import scan
from swingby.own_theory.settings import at_numbers

B = sp.Symbol("B", integer=True, positive=True)
h = sp.Symbol("h", positive=True)
#: After B halvings of the distance that steps of size h leave.
halvings = Theory(
    "halvings",
    numbers={B: (1, 8, 40), h: (0.01, 0.1, 0.5)},
    assume={"few": B <= 30},
    start=lambda n: np.ones(n),
    step=lambda x, h: x * (1 - h),
    observe={"x": lambda x: x},
    predict=(Value("left", "x", B, (1 - h) ** B, within=1e-12),),
)


def test_draws_are_whole():
    for batch in (halvings.sample(64, rng=3), halvings.sample(16, outside="few")):
        drawn = batch.scalars["B"]
        assert (drawn == np.rint(drawn)).all()
        assert len(set(drawn)) > 2
        assert (batch.scalars["h"] != np.rint(batch.scalars["h"])).all()


def test_a_number_of_a_call_has_to_be_whole():
    assert swingby.compare(halvings, B=7).kept
    with pytest.raises(InvalidInput, match="B must be a whole number"):
        swingby.compare(halvings, B=7.5)
    with pytest.raises(InvalidInput, match="must be whole, as its symbol is"):
        replace(halvings, numbers={B: (1, 7.5, 40), h: (0.01, 0.1, 0.5)})


def test_an_axis_of_a_sweep_is_whole():
    rows = swingby.sweep(halvings, {"B": 12}).rows
    values = [row["B"] for row in rows]
    assert values == sorted(set(np.rint(np.geomspace(1, 40, 12))))
    assert all(row["ratio"] <= 1 for row in rows)
    with pytest.raises(InvalidInput, match="whole"):
        swingby.sweep(halvings, {"B": [2, 2.5]})


def test_a_counterexample_is_whole_and_the_largest_value_too():
    low = replace(halvings, predict=(Bound("b", "x", below=sp.Rational(9, 10), until=B),))
    hunt = swingby.hunt(low, 2, rng=1, count=40)
    assert hunt.found
    setting = hunt.violation.setting
    assert setting.scalars["B"][0] == np.rint(setting.scalars["B"][0])
    assert all("." not in line.partition("for B from ")[2][:2] for line in scan(setting, 0))
    assert swingby.check(halvings).largest("B") == 30


def test_a_threshold_of_a_whole_number_is_a_sweep():
    with pytest.raises(InvalidInput, match=r"swingby\.sweep\(theory, \{'B': \[1, 2, 3\]\}\)"):
        swingby.threshold(halvings, "left kept", vary="B")
    assert at_numbers(halvings, {"B": 3}).scalars["B"][0] == 3
