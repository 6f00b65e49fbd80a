"""Predictions and runs at the edge: cancelled pivots, bumps near 1/2, tiny W(0), any scale of a.

Right values come from the loops of ``benchmarks/margins.py``, at 34 digits where rounding matters.
"""

import math
import warnings

import numpy as np
import pytest

import swingby
from benchmarks.margins import FAMILIES, Member, crossings, measure, members, trajectory
from swingby.errors import SwingbyWarning
from swingby.simulate.batch import simulate_batch
from swingby.simulate.run import simulate
from swingby.theory.task import SIMTask
from swingby.verify.predict import predict
from swingby.verify.predict_batch import predict_batch
from swingby.verify.predict_swing import predict_swing_batch
from tests.forked import FULL


def stages_of(member):
    task = SIMTask.from_signal(member.signal.tolist())
    return predict(task, member.W0, eta=member.eta, dynamics=member.dynamics).stages


def correlated(correlation):
    """Two concepts whose correlation decides what the drift of euler leaves of the second."""
    W0 = 1e-3 * np.array([[1, correlation], [correlation, 1]])
    return Member(np.array([4.0, 2.0]), 0.02, W0, "euler", 34)


def run_of(member):
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always", SwingbyWarning)
        run = simulate(member.signal, member.W0, member.eta, dynamics="euler")
    return run, [str(warning.message) for warning in raised]


@pytest.mark.parametrize(
    ("correlation", "half_time", "resolved"),
    [
        (0.97, 155, True),
        (0.9731187785696703, 392, True),
        # 1e-12, 1e-14 and less than nothing are left: floats learn it at 445, 530 and 547.
        (0.9731187786052868, 445, True),
        (0.9731187786059002, 554, False),
        (0.9731187786059006, math.nan, False),
    ],
)
def test_a_pivot_that_the_drift_cancels(correlation, half_time, resolved):
    member = correlated(correlation)
    observed = crossings(trajectory(member))
    assert np.ceil(observed[1]) == pytest.approx(half_time, nan_ok=True)
    stages = stages_of(member)
    batch = predict_batch(member.signal, member.W0, member.eta, "euler")
    assert stages.undecided.tolist() == batch.undecided.tolist() == [False, not resolved]
    assert abs(stages.crossing[0] - observed[0]) <= stages.error[0] < 0.02
    run, said = run_of(member)
    together = simulate_batch(member.signal, member.W0, member.eta, None, "euler")
    assert together.rounding == pytest.approx(run.rounding, nan_ok=True)
    if resolved:
        assert abs(stages.crossing[1] - observed[1]) <= stages.error[1] < 3
        assert abs(run.half_times[1] - half_time) <= run.rounding[1] + 0.01
        assert not said
    else:
        assert any("cancels its pivot to below the rounding" in text for text in stages.warnings)
        assert math.isnan(run.rounding[1])
        assert any("rounding decides when, and whether, this run learns" in text for text in said)
    assert run.rounding[0] < 1e-9


@pytest.mark.parametrize("dynamics", ["gd", "flow"])
def test_a_run_says_how_well_it_resolves_a_small_pivot_of_the_start(dynamics):
    W0 = 1e-3 * np.array([[1, 1], [1, 1 + 2.0**-44]])
    task = SIMTask.from_signal([4.0, 2.0])
    predicted = predict(task, W0, eta=0.02, dynamics=dynamics)
    with pytest.warns(
        SwingbyWarning, match="rounding moves the half-time in this run of concept 2"
    ):
        run = simulate(task, W0, 0.02, dynamics=dynamics)
    assert abs(run.half_times[1] - predicted.half_times[1]) <= run.rounding[1] + 1


def bump(size, dynamics):
    """Concept 2 starts larger, rises to about 1/2 and turns into concept 1."""
    direction, rest = np.array([1.0, size]), np.array([[0.02, 0.0], [0.01, 0.02]])
    W0 = 1e-3 * (np.outer(direction, direction) + rest @ rest.T)
    return Member(np.array([1.0, 0.6]), 0.05, W0, dynamics, 34)


@pytest.mark.parametrize("dynamics", ["euler", "gd"])
def test_a_bump_near_one_half_on_either_side(dynamics):
    low, high = 1.0, 100.0
    for _ in range(45):
        middle = (low + high) / 2
        passes = trajectory(bump(middle, dynamics), turning=1)[:, 1].max() >= 0.5
        low, high = (low, middle) if passes else (middle, high)
    for away in (1e-1, 1e-3, 1e-5, 1e-7, 1e-9):
        for side in (low * (1 - away), high * (1 + away)):
            member = bump(side, dynamics)
            stages, observed = stages_of(member), crossings(trajectory(member))
            batch = predict_batch(member.signal, member.W0, member.eta, dynamics)
            assert batch.undecided.tolist() == stages.undecided.tolist()
            if stages.undecided[1]:
                assert any("so near to 1/2" in text for text in stages.warnings)
                assert away < 1e-2
            elif not stages.trapped[1]:
                assert abs(stages.crossing[1] - observed[1]) <= stages.error[1]
            assert abs(stages.crossing[0] - observed[0]) <= stages.error[0] or stages.trapped[0]
        if away == 1e-9:
            assert stages.undecided[1] or dynamics == "euler"


def test_what_never_comes_to_an_end_is_undecided_and_says_why():
    # Five concepts, all entries alike: the drift takes pivots away long before 1/2.
    signal = np.array([0.01039857, 0.0191575, 0.07446689, 0.2621652, 1.0])
    U = np.array([[1, 0, 0, 0, 0], [0.6, 0.3, 0, 0, 0], [0.4, 0.1, 0.2, 0, 0]])
    U = np.vstack([U, [[0.9, 0.2, 0.1, 0.3, 0], [0.7, 0.3, -0.1, 0.1, 0.2]]])
    for size in (1e-139, 1e-30):
        member = Member(signal, 0.0028, size * U @ U.T, "euler")
        stages = stages_of(member)
        batch = predict_batch(signal, member.W0, member.eta, "euler")
        for k in np.flatnonzero(np.isnan(stages.crossing)):
            assert any(f"concept {k + 1} " in text for text in stages.warnings)
        for law, blow_up in ((stages, stages.blow_up), (batch, float(batch.blow_up))):
            open_ = np.isnan(law.crossing) & ~law.trapped & ~law.undecided
            assert not open_.any() or math.isfinite(blow_up)


@pytest.mark.parametrize("dynamics", ["euler", "gd", "flow"])
def test_only_the_product_of_signal_and_step_size_matters(dynamics):
    signal, W0 = np.array([2.0, 1.0]), np.array([[2e-3, 1e-3], [1e-3, 3e-3]])
    sizes = (1.0, 2.0**70, 2.0**219, 2.0**700, 2.0**-900, 1e140, 1e-250, 1e300)
    results = []
    for size in sizes:
        a, eta = signal * size, 0.05 / size
        stages = predict(SIMTask.from_signal(a.tolist()), W0, eta=eta, dynamics=dynamics)
        arrays = [stages.half_times, stages.error, np.array([e.time for e in stages.events])]
        arrays.append(simulate(a, W0, eta, dynamics=dynamics).half_times)
        arrays.append(simulate_batch(a, W0, eta, 1000, dynamics).half_times)
        batch = predict_batch(a, W0, eta, dynamics)
        swing = predict_swing_batch(a, W0, eta, dynamics)
        arrays += [batch.crossing, batch.error, swing.descents, swing.transient]
        results.append(arrays)
    for size, arrays in zip(sizes[1:], results[1:], strict=True):
        for array, expected in zip(arrays, results[0], strict=True):
            assert array == pytest.approx(expected, rel=1e-6), size


@pytest.mark.parametrize("name", FAMILIES)
def test_families(name):
    count = measure(name, 40 if FULL else 4)
    assert count.covered == count.stages, count.misses
    assert (count.wrong, count.silent, count.differ) == (0, 0, 0)
    assert 2 * count.undecided <= count.stages


def test_the_bar_of_a_walk_in_compiled_lanes_covers():
    """Runge-Kutta in 48 and 96 parts of a step, cut to the crossing, agree on 1422.828305."""
    (member,) = list(members("tiny W(0)", 39))[38:]
    task = swingby.SIMTask.from_signal(member.signal.tolist())
    for _ in range(2):  # in NumPy, then in compiled lanes
        stages = swingby.predict(task, member.W0, eta=member.eta, dynamics=member.dynamics).stages
        assert abs(stages.crossing[3] - 1422.828305) <= stages.error[3]
    batch = swingby.predict_batch(
        member.signal, member.W0, eta=member.eta, dynamics=member.dynamics
    )
    assert abs(batch.crossing[3] - 1422.828305) <= batch.error[3]
