"""Trajectories in lanes: the formulas, the runs one by one, and that nobody sees the neighbours.

Watched batches, and scales below the float range. The second implementations are the maps written
with NumPy matrices, and `simulate`.
"""

from fractions import Fraction

import numpy as np
import pytest

from swingby.errors import InvalidInput
from swingby.simulate import batch as module
from swingby.simulate.batch import Interrupted, simulate_batch
from swingby.simulate.lanes.fleet import rows
from swingby.simulate.lanes.tiles import LANES, steps_source, tile_module
from swingby.simulate.run import simulate
from swingby.simulate.state import entry_rows
from swingby.theory.initial import Scaled
from swingby.theory.task import SIMTask
from tests.simulate.witnesses import OMEGAS, euler_step, gd_step, random_batch, special_batch

#: Warnings of single runs about a W(0) that euler loses, or of deficient rank.
pytestmark = pytest.mark.filterwarnings("ignore::swingby.errors.SwingbyWarning")


def one_step(a, W, eta, *, gd):
    return (gd_step if gd else euler_step)(W, np.diag(a), eta)


def filled_tile(signals, starts, etas, exponents):
    d = signals.shape[1]
    at = rows(d)
    tile = np.zeros((at.end, LANES))
    for i in range(d):
        tile[at.rates + i] = etas * signals[:, i]
        tile[at.square + i] = 4.0 ** exponents[:, i]
        tile[at.bar + i] = 0.5 / tile[at.square + i]
        tile[at.below + i] = 1
        for j in range(i, d):
            tile[entry_rows(d)[i, j]] = np.ldexp(
                starts[:, i, j], -exponents[:, i] - exponents[:, j]
            )
    return tile


def random_tile(d, seed=0):
    generator = np.random.default_rng(seed)
    signals = generator.uniform(0.2, 3, (LANES, d))
    U = generator.standard_normal((LANES, d, d)) / 3
    return signals, U @ U.swapaxes(1, 2), generator.uniform(0.001, 0.05, LANES)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("gd", [False, True])
@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_a_step_of_every_lane_is_the_printed_formula(d, gd, scaled):
    signals, starts, etas = random_tile(d)
    exponents = np.zeros((LANES, d), dtype=np.int64)
    if scaled:
        exponents -= np.random.default_rng(1).integers(0, 30, (LANES, d))
    tile = filled_tile(signals, starts, etas, exponents)
    flat = tile.ravel()
    _call(d, gd, scaled, flat)
    after = flat.reshape(tile.shape)
    for lane in range(LANES):
        expected = one_step(signals[lane], starts[lane], etas[lane], gd=gd)
        for i in range(d):
            for j in range(i, d):
                shift = exponents[lane, i] + exponents[lane, j]
                entry = np.ldexp(after[entry_rows(d)[i, j], lane], shift)
                assert entry == pytest.approx(expected[i, j], rel=1e-13, abs=1e-15)
            below = after[rows(d).below + i, lane]
            assert below == (expected[i, i] < 0.5)
            assert after[rows(d).waited + i, lane] == below


def _call(d, gd, scaled, flat):
    """One step by the text itself, which is also Python."""
    as_it_is = dict.fromkeys(("compiled", "inner"), lambda function: function)
    namespace = {"fma": lambda a, b, c: a * b + c, **as_it_is}
    exec(steps_source(d, "gd" if gd else "euler", scaled=scaled, watched=False), namespace)
    namespace["steps"](flat, 1)


@pytest.mark.parametrize("gd", [False, True])
@pytest.mark.parametrize("d", [2, 4])
def test_compiled_steps_are_the_text_to_rounding_and_scaling_changes_no_bit(d, gd):
    signals, starts, etas = random_tile(d, 2)
    none = np.zeros((LANES, d), dtype=np.int64)
    tile = filled_tile(signals, 1e-3 * starts, etas, none).ravel()
    by_text = tile.copy()
    for _ in range(50):
        _call(d, gd, False, by_text)
    unscaled, scaled = tile.copy(), tile.copy()
    for tile, is_scaled in ((unscaled, False), (scaled, True)):
        tile_module(d, "gd" if gd else "euler", scaled=is_scaled, watched=False).one(tile, 50)
    assert np.allclose(unscaled, by_text, rtol=1e-12, atol=0)
    # Here every m_k is 0, so the factors are 1: lanes that need none may share a tile with others.
    assert np.array_equal(unscaled, scaled)


def same_as_single_runs(signals, W0, etas, steps, dynamics, **more):
    batch = simulate_batch(signals, W0, etas, steps, dynamics, **more)
    for k in range(len(signals)):
        run = simulate(signals[k], W0[k], etas[k], steps, dynamics, record="none")
        assert np.array_equal(batch.half_times[k], run.half_times, equal_nan=True)
        assert batch.outcome[k] == run.outcome.value
        # W squares itself on the way out of the float range: rounding may cost it a step.
        assert abs(batch.last_step[k] - run.last_step) <= (run.outcome == "diverged")
        if run.outcome != "diverged":
            assert np.allclose(batch.W[k], run.W[-1], rtol=1e-8, atol=1e-14)
    return batch


FULL = pytest.mark.full
MORE = [pytest.param(*case, marks=FULL) for case in ((2, 250), (3, 6), (6, 8))]


@pytest.mark.parametrize("dynamics", ["euler", "gd"])
@pytest.mark.parametrize(("d", "smallest"), [(1, 300), (3, 280), (4, 40), *MORE])
def test_lanes_are_single_runs(d, smallest, dynamics):
    signals, W0, etas = random_batch(d, 40, d, smallest)
    batch = same_as_single_runs(signals, W0, etas, 12_000, dynamics)
    assert np.isfinite(batch.half_times).any()


@pytest.mark.parametrize("dynamics", ["euler", "gd"])
def test_special_starts_end_as_single_runs_do(dynamics):
    signals, W0 = special_batch()
    # A task has a signal.
    signals, W0 = (values[signals.any(axis=1)] for values in (signals, W0))
    batch = same_as_single_runs(signals, W0, np.full(len(W0), 0.05), 3000, dynamics)
    assert set(batch.outcome) >= {"converged", "trapped", "diverged", "stopped_early"} - (
        {"trapped"} if dynamics == "euler" else set()
    )


def test_a_start_that_is_not_semidefinite_is_lost_or_diverges_under_euler():
    signals = np.array([[3.0, 2.0], [3.0, 2.0]])
    W0 = np.array([[[1e-3, 2e-3], [2e-3, 1e-3]], [[1e-3, 1.01e-3], [1.01e-3, 1e-3]]])
    batch = same_as_single_runs(signals, W0, np.full(2, 0.01), 150, "euler")
    assert set(batch.outcome) == {"lost_psd"}


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupted_batch_keeps_what_was_finished(workers, monkeypatch):
    monkeypatch.setattr(module, "PIECE", 10)
    signals, W0, etas = random_batch(2, 100, 3, 5)
    uninterrupted = simulate_batch(signals, W0, etas, 500, "gd")

    def interrupt(done, total):
        assert total == 100
        if done >= 30:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="of 100 runs are finished") as caught:
        simulate_batch(signals, W0, etas, 500, "gd", workers=workers, progress=interrupt)
    batch = caught.value.batch
    finished = batch.outcome != "not_run"
    assert 30 <= finished.sum() < 100
    assert np.array_equal(batch.W[finished], uninterrupted.W[finished])
    assert np.isnan(batch.W[~finished]).all()


def test_larger_dimensions_and_the_flow_run_one_by_one_and_exactly():
    for d, dynamics in ((9, "gd"), (9, "euler"), (2, "flow")):
        signals, W0, etas = random_batch(d, 3, d, 4)
        batch = simulate_batch(signals, W0, etas, 300, dynamics)
        for k in range(3):
            task = SIMTask.from_signal(signals[k].tolist())
            run = simulate(task, W0[k], etas[k], 300, dynamics, record="none")
            assert np.array_equal(batch.W[k], run.W[-1])


def test_arguments_are_spread_out_only_a_piece_at_a_time():
    # Of runs from one W(0) and one signal: more than two pieces of them.
    etas = np.linspace(0.001, 0.01, 20_000).reshape(20, 1000)
    batch = simulate_batch([2.0, 1.0, 0.5], 1e-2 * np.eye(3), etas, 2, "euler")
    assert batch.half_times.shape == (20, 1000, 3)
    assert set(batch.outcome.ravel()) == {"stopped_early"}
    first = one_step([2.0, 1.0, 0.5], 1e-2 * np.eye(3), etas[19, 999], gd=False)
    assert np.allclose(batch.W[19, 999], one_step([2.0, 1.0, 0.5], first, etas[19, 999], gd=False))


def test_coarse_steps_from_a_start_of_rank_one_keep_the_rank():
    # With U a column there is nothing to round: the map of the column itself is the witness.
    signal, eta, steps = np.array([4.3, 3.6, 1.0]), 0.1, 600
    column = 2.0**-10 * np.array([5.0, 1.0, 2.0])
    W0 = np.outer(column, column)
    for _ in range(steps):
        W = np.outer(column, column)
        gradient = np.diag(signal) - (signal[:, None] + signal[None, :]) * W / 2
        column = column + eta * gradient @ column
    batch = simulate_batch(signal, W0, eta, steps, "gd")
    run = simulate(SIMTask.from_signal(signal.tolist()), W0, eta, steps, "gd", record="none")
    assert (str(batch.outcome), run.outcome.value) == ("trapped", "trapped")
    assert np.allclose(batch.W, np.outer(column, column), rtol=0, atol=1e-12)
    assert np.allclose(run.W[-1], np.outer(column, column), rtol=0, atol=1e-12)


def watched_case(d, count, seed):
    generator = np.random.default_rng(seed)
    mu = np.sort(generator.uniform(0.3, 2, (count, d)))[:, ::-1]
    U = generator.standard_normal((count, d, d))
    tasks = [SIMTask(row.tolist(), "1/10") for row in mu]
    omegas = [OMEGAS[k % len(OMEGAS)] for k in range(count)]
    signals = np.array([task.signal for task in tasks])
    return tasks, signals, mu, U @ U.swapaxes(1, 2) / d, omegas


def as_watched(batch, tasks, W0, omegas, steps, dynamics):
    """The single runs, which end and descend as the lanes of a batch do."""
    for k, task in enumerate(tasks):
        run = simulate(task, Scaled(W0[k], omegas[k]), 0.02, steps, dynamics, record="none")
        assert np.array_equal(batch.half_times[k], run.half_times, equal_nan=True)
        assert batch.outcome[k] == run.outcome.value
        assert batch.descents[k] == run.descents()
        yield k, run


@pytest.mark.parametrize("dynamics", ["euler", "gd", "flow"])
@pytest.mark.parametrize("d", [2, 3, pytest.param(5, marks=FULL)])
def test_descents_and_transients_are_those_of_single_runs(d, dynamics):
    count = 12 if dynamics == "flow" else 36
    tasks, signals, points, W0, omegas = watched_case(d, count, d)
    steps = 40_000
    batch = simulate_batch(signals, W0, 0.02, steps, dynamics, omega=omegas, test_point=points)
    for k, run in as_watched(batch, tasks, W0, omegas, steps, dynamics):
        if run.outcome != "diverged":
            largest = max(abs(peak.value) for peak in run.peaks)
            assert batch.transient[k] == pytest.approx(largest, rel=1e-9)
    assert (batch.outcome != "diverged").sum() > count / 3
    assert (batch.descents >= 2).any(), "no swing to count"


def test_a_task_gives_its_signal_and_its_test_point():
    task = SIMTask([1, 2], [1, 0.5])
    W0, etas = 1e-3 * (np.eye(2) + 0.3), [0.02, 0.01]
    batch = simulate_batch(task, W0, etas, 900, "gd")
    same = simulate_batch(task.signal, W0, etas, 900, "gd", test_point=task.test_point)
    for name in ("half_times", "W", "descents", "transient"):
        assert np.array_equal(getattr(batch, name), getattr(same, name))
    unwatched = simulate_batch(list(task.signal), W0, etas, 900, "gd")
    assert unwatched.descents is None
    assert np.array_equal(unwatched.W, batch.W)


def test_the_swing_decides_what_is_a_descent():
    # Of this start the loss descends, rises a little, and descends again.
    W0 = 1e-2 * np.array([[1.0, 0.9], [0.9, 1.0]])
    task = SIMTask([2, "1/2"], "1/20")
    run = simulate(task, W0, 0.01, 4000, "gd", record="none")
    counts = []
    for swing in (1e-6, 1e-3, 0.3):
        batch = simulate_batch(
            task.signal, W0, 0.01, 4000, "gd", test_point=task.test_point, swing=swing
        )
        assert batch.descents == run.descents(swing)
        counts.append(int(batch.descents))
    assert counts == [2, 2, 1]


def test_neither_cut_nor_neighbours_change_a_watched_bit():
    _, signals, points, W0, omegas = watched_case(3, 77, 9)
    uncut = simulate_batch(signals, W0, 0.02, 9000, "gd", omega=omegas, test_point=points)
    for cut in (slice(0, 1), slice(40, 77), slice(76, None, -2)):
        alone = simulate_batch(
            signals[cut], W0[cut], 0.02, 9000, "gd", omega=omegas[cut], test_point=points[cut]
        )
        for name in ("half_times", "W", "outcome", "descents", "transient", "executed_steps"):
            expected = getattr(uncut, name)[cut]
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
        ("signal", {"signal": [1.0, -1.0]}),
        ("W0", {"signal": [1.0]}),
        ("signal, eta", {"signal": [[2.0, 1.0]] * 2, "eta": [0.1] * 3}),
        ("eta", {"eta": 0.0}),
        ("W0", {"W0": [[1, 2], [0, 1]]}),
        ("W0[1]", {"W0": np.stack([np.eye(2), np.zeros((2, 2))])}),
        ("omega", {"omega": -1.0}),
        ("omega", {"omega": ["1e-3", True]}),
        ("omega", {"omega": "1e303"}),
        ("eta, omega", {"omega": ["1e-3"] * 3, "eta": [0.1, 0.2]}),
        ("test_point", {"test_point": [1.0, 2.0, 3.0]}),
        ("swing", {"test_point": [1.0, 1.0], "swing": 1e-12}),
    ],
)
def test_what_makes_no_sense_is_refused(argument, given):
    arguments = {"signal": [2.0, 1.0], "W0": 1e-2 * np.eye(2), "eta": 0.01, **given}
    with pytest.raises(InvalidInput) as caught:
        simulate_batch(**arguments)
    assert caught.value.argument.removeprefix("an entry of ") == argument


@pytest.mark.parametrize("dynamics", ["euler", "gd", "flow"])
def test_without_steps_runs_end_at_rest_as_single_ones_do(dynamics):
    tasks, signals, points, W0, omegas = watched_case(3, 8 if dynamics == "flow" else 30, 4)
    batch = simulate_batch(signals, W0, 0.02, None, dynamics, omega=omegas, test_point=points)
    for k, run in as_watched(batch, tasks, W0, omegas, None, dynamics):
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
