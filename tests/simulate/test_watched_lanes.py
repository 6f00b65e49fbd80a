"""Watched batches, and scales below the float range. The second implementation is `simulate`."""

from fractions import Fraction

import numpy as np
import pytest

from swingby.errors import InvalidInput
from swingby.simulate.batch import simulate_batch
from swingby.simulate.run import simulate
from swingby.theory.initial import Scaled
from swingby.theory.task import SIMTask

pytestmark = pytest.mark.filterwarnings("ignore::swingby.errors.SwingbyWarning")

OMEGAS = ("1e-1", "1e-3", "1e-8", "1e-40", "1e-320", "1e-400")


def watched_case(d, count, seed):
    generator = np.random.default_rng(seed)
    mu = np.sort(generator.uniform(0.3, 2, (count, d)))[:, ::-1]
    U = generator.standard_normal((count, d, d))
    tasks = [SIMTask(row.tolist(), "1/10") for row in mu]
    omegas = [OMEGAS[k % len(OMEGAS)] for k in range(count)]
    signals = np.array([task.signal for task in tasks])
    return tasks, signals, mu, U @ U.swapaxes(1, 2) / d, omegas


@pytest.mark.parametrize("dynamics", ["euler", "gd", "flow"])
@pytest.mark.parametrize("d", [2, 3, 5])
def test_descents_and_transients_are_those_of_single_runs(d, dynamics):
    count = 12 if dynamics == "flow" else 36
    tasks, signals, points, W0, omegas = watched_case(d, count, d)
    steps = 40_000
    batch = simulate_batch(signals, W0, 0.02, steps, dynamics, omega=omegas, test_point=points)
    finished = 0
    for k, task in enumerate(tasks):
        run = simulate(task, Scaled(W0[k], omegas[k]), 0.02, steps, dynamics, record="none")
        assert np.array_equal(batch.half_times[k], run.half_times, equal_nan=True)
        assert batch.outcome[k] == run.outcome.value
        assert batch.descents[k] == run.descents()
        if run.outcome != "diverged":
            finished += 1
            largest = max(abs(peak.value) for peak in run.peaks)
            assert batch.transient[k] == pytest.approx(largest, rel=1e-9)
    assert finished > count / 3
    assert (batch.descents >= 2).any(), "no swing to count"


def test_the_swing_decides_what_is_a_descent():
    # Of this start the loss descends, rises a little, and descends again.
    W0 = 1e-2 * np.array([[1.0, 0.9], [0.9, 1.0]])
    task = SIMTask([2, "1/2"], "1/20")
    run = simulate(task, W0, 0.01, 4000, "gd", record="none")
    found = []
    for swing in (1e-6, 1e-3, 0.3):
        batch = simulate_batch(
            task.signal, W0, 0.01, 4000, "gd", test_point=task.test_point, swing=swing
        )
        assert batch.descents == run.descents(swing)
        found.append(int(batch.descents))
    assert found == [2, 2, 1]


def test_neither_cut_nor_neighbours_change_a_watched_bit():
    _, signals, points, W0, omegas = watched_case(3, 77, 9)
    whole = simulate_batch(signals, W0, 0.02, 9000, "gd", omega=omegas, test_point=points)
    for part in (slice(0, 1), slice(40, 77), slice(76, None, -2)):
        alone = simulate_batch(
            signals[part], W0[part], 0.02, 9000, "gd", omega=omegas[part], test_point=points[part]
        )
        for name in ("half_times", "W", "outcome", "descents", "transient", "executed_steps"):
            expected = getattr(whole, name)[part]
            equal_nan = expected.dtype.kind == "f"
            assert np.array_equal(getattr(alone, name), expected, equal_nan=equal_nan), name


def test_a_scale_is_what_it_multiplies_w_by():
    matrix = np.array([[2.0, 0.3], [0.3, 1.0]])
    expected = simulate_batch([2.0, 1.0], matrix * 2.0**-30, 0.01, 4000, "gd")
    for omega in (2.0**-30, Fraction(1, 2**30), np.array(2.0**-30), f"1/{2**30}"):
        batch = simulate_batch([2.0, 1.0], matrix, 0.01, 4000, "gd", omega=omega)
        assert np.array_equal(batch.half_times, expected.half_times)
        assert np.array_equal(batch.W, expected.W)
    grid = simulate_batch([2.0, 1.0], matrix, 0.01, 4000, "gd", omega=[["1e-3"], ["1e-350"]])
    assert grid.half_times.shape == (2, 1, 2)
    assert np.isfinite(grid.half_times[0]).all()
    assert np.isnan(grid.half_times[1]).all()


@pytest.mark.parametrize(
    ("argument", "given"),
    [
        ("omega", {"omega": -1.0}),
        ("omega", {"omega": np.array([0.1, np.nan])}),
        ("omega", {"omega": "small"}),
        ("omega", {"omega": ["1e-3", True]}),
        ("omega", {"omega": "1e303"}),
        ("signal, W0, eta, omega", {"omega": ["1e-3"] * 3, "eta": [0.1, 0.2]}),
        ("test_point", {"test_point": [1.0, 2.0, 3.0]}),
        ("test_point", {"test_point": [1.0, np.inf]}),
        ("swing", {"test_point": [1.0, 1.0], "swing": 1e-12}),
        ("swing", {"test_point": [1.0, 1.0], "swing": float("nan")}),
    ],
)
def test_what_makes_no_sense_is_refused(argument, given):
    arguments = {"eta": 0.01, **given}
    with pytest.raises(InvalidInput) as caught:
        simulate_batch([2.0, 1.0], 1e-2 * np.eye(2), **arguments)
    assert caught.value.argument == argument


@pytest.mark.parametrize("dynamics", ["euler", "gd", "flow"])
def test_without_steps_runs_end_at_rest_as_single_ones_do(dynamics):
    tasks, signals, points, W0, omegas = watched_case(3, 8 if dynamics == "flow" else 30, 4)
    batch = simulate_batch(signals, W0, 0.02, None, dynamics, omega=omegas, test_point=points)
    for k, task in enumerate(tasks):
        run = simulate(task, Scaled(W0[k], omegas[k]), 0.02, dynamics=dynamics, record="none")
        assert np.array_equal(batch.half_times[k], run.half_times, equal_nan=True)
        assert batch.outcome[k] == run.outcome.value
        assert batch.descents[k] == run.descents()
        # Looked at every 256 steps; what is still on its way down is given more time.
        assert run.last_step - 1 <= batch.last_step[k] or run.outcome == "converged"
        assert batch.last_step[k] <= 1.5 * run.last_step + 512
    assert (batch.outcome == "converged").sum() > len(tasks) / 3


def test_without_steps_a_trapped_run_ends_too():
    ones = np.full((2, 2), 1e-3)
    batch = simulate_batch([[2.0, 1.0], [2.0, 0.0]], ones, 0.01, None, "gd")
    assert batch.outcome.tolist() == ["trapped", "converged"]
    assert (batch.last_step < 20_000).all()
    with pytest.raises(InvalidInput, match="no signal is positive"):
        simulate_batch([[2.0, 1.0], [0.0, 0.0]], ones, 0.01, None, "gd")
