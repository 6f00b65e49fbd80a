"""Walks in NumPy and in compiled lanes: the same law, and who takes which."""

from fractions import Fraction

import numpy as np
import pytest

from swingby.theory.growth import DYNAMICS
from swingby.theory.initial import Initial
from swingby.theory.law import driver, tape_written_out, walk_lanes
from swingby.theory.law.pivots import lanes_of, prepare
from swingby.theory.law.stages import stage_law
from swingby.theory.law.walk import FALLEN
from swingby.theory.task import SIMTask


def instance(seed, d):
    """A task, a Gaussian W(0) and a step size."""
    rng = np.random.default_rng(seed)
    signal = np.cumprod(rng.uniform(1.3, 3.0, d))
    U = rng.standard_normal((d, d))
    task = SIMTask.from_signal((signal[::-1] / signal[-1]).tolist())
    return task, Initial(U @ U.T * 10.0 ** -rng.uniform(2, 9), Fraction(1)), Fraction(seed + 1, 200)


@pytest.mark.parametrize("dynamics", DYNAMICS)
@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_both_walks_give_the_same_law(dynamics, d):
    for seed in range(4):
        task, start, eta = instance(seed, d)
        plain, lanes = (
            stage_law(task, start, eta, dynamics, compiled=compiled) for compiled in (False, True)
        )
        # They choose their steps by an estimate that may be nothing but rounding.
        sure = np.isfinite(plain.error)
        bar = 0.01 * plain.error[sure] + 1e-9
        for name in ("crossing", "error"):
            both = getattr(plain, name), getattr(lanes, name)
            assert np.array_equal(*(values[~sure] for values in both), equal_nan=True)
            assert (np.abs(both[0][sure] - both[1][sure]) <= bar).all()
        assert (plain.trapped == lanes.trapped).all()
        assert (plain.undecided == lanes.undecided).all()
        assert plain.warnings == lanes.warnings


@pytest.mark.parametrize("dynamics", DYNAMICS)
def test_both_walks_give_the_same_curve(dynamics, monkeypatch):
    task, start, eta = instance(3, 4)
    curves = []
    for compiled in (False, True):
        monkeypatch.setattr(driver, "pays", lambda d, answer=compiled: answer)
        curves.append(stage_law(task, start, eta, dynamics).curves)
    # What is set at rest in one walk and not yet in the other: entries below FALLEN, and learned
    # ones, near which the field to a finite order rests.
    rest = 10 * FALLEN[0]
    for plain, lanes in zip(*curves, strict=True):
        moments = np.linspace(0, 1.2 * plain.times[-1], 301) / plain.eta
        moments = np.append(moments, plain.times / plain.eta)
        both = plain.evaluate(moments), lanes.evaluate(moments)
        assert np.allclose(*both, rtol=0, atol=rest)
        looks = plain.at_looks(), plain.evaluate(plain.looks())
        assert np.allclose(*looks, rtol=0, atol=rest)


@pytest.mark.parametrize("dynamics", DYNAMICS)
def test_entries_are_those_of_the_matrices(dynamics):
    task, start, eta = instance(5, 4)
    curve = stage_law(task, start, eta, dynamics).curves[0]
    rng = np.random.default_rng(0)
    steps = rng.uniform(0, 1.1 * curve.times[-1] / curve.eta, 200)
    rows, columns = rng.integers(0, 4, (2, 200))
    W = curve.evaluate(steps)[np.arange(200), rows, columns]
    assert np.allclose(
        curve.entries(rows, columns, steps), W, rtol=1e-9, atol=1e-15, equal_nan=True
    )


@pytest.mark.parametrize("dynamics", DYNAMICS)
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 8, 9, 16, 19])
def test_columns_and_lanes_and_what_is_written_out_have_the_same_bits(dynamics, d, monkeypatch):
    rng, orders = np.random.default_rng(d), np.array(DYNAMICS[dynamics].orders)
    signal = np.sort(rng.uniform(1.0, 2.0, (3, d)))[:, ::-1].copy()
    U = rng.standard_normal((3, d, d + 2))
    starts = prepare(signal, U @ U.swapaxes(1, 2) * 1e-4, np.full(3, 0.05), np.zeros(3), dynamics)
    ends = []
    written_out = walk_lanes._field(dynamics, int(orders[0]), d, 0).address != 0
    assert written_out == (d <= tape_written_out.LARGEST)
    for few, largest in ((0.0, 8), (0.0, 0), (99.0, 8)):
        monkeypatch.setattr(walk_lanes, "_FEW", few)
        monkeypatch.setattr(tape_written_out, "LARGEST", largest)
        walk = lanes_of(starts, dynamics, np.full(3, orders[0]), 1e-4, rest_size=1e-3)
        steps = driver.walk_noted(walk, dynamics, int(orders[0]), compiled=True)
        ends.append((*walk, *steps))
    for values, *others in zip(*ends, strict=True):
        assert all(np.array_equal(values, other, equal_nan=True) for other in others)


def test_derivatives_stored_by_several_processes_keep_their_names(fresh, tmp_path, monkeypatch):
    monkeypatch.delenv("SWINGBY_CACHE", raising=False)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    code = """
import numpy as np
from ctypes import POINTER, c_double
from swingby.theory.compiled_text import load
from swingby.theory.law.walk_text import slope_text
for dynamics, order in {}:
    function = load(slope_text(dynamics, order, 2), "a test").take_slope
    y, moving, fields, target = (np.full(size, 0.3) for size in (64, 16, 384, 64))
    arrays = y, moving, fields, target
    function.ctypes(*(values.ctypes.data_as(POINTER(c_double)) for values in arrays))
    print(function.cache_hits, target.sum(), end=" ")
"""
    both = [("euler", 4), ("gd", 3)]
    alone = [fresh(code.format([one])).split() for one in both]
    assert [hits for hits, _ in alone] == ["0", "0"]
    assert alone[0][1] != alone[1][1]
    assert fresh(code.format(both)).split() == ["1", alone[0][1], "1", alone[1][1]]


def test_a_first_walk_does_without_numba(fresh):
    code = (
        "import sys, swingby; task = swingby.SIMTask.from_signal([2, 1]); "
        "swingby.predict(task, [[1e-3, 2e-4], [2e-4, 1e-3]], eta=0.01).half_times; "
        "print('numba' in sys.modules)"
    )
    assert fresh(code) == "False"


@pytest.mark.parametrize(
    ("spent", "stored", "compiled"),
    [(0.0, True, False), (1.0, True, True), (1.0, False, False), (100.0, False, True)],
)
def test_compiled_walks_are_taken_where_they_pay(spent, stored, compiled, monkeypatch):
    monkeypatch.setattr(driver._Spent, "seconds", spent)
    monkeypatch.setattr(driver, "is_compiled", lambda: stored)
    monkeypatch.delitem(driver.sys.modules, "numba", raising=False)
    assert driver.pays(2) == compiled
