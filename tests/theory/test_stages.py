"""The stage-time law against runs of the dynamics, its range, and its exact invariances.

Observed integers come from the simulator, which knows nothing of the law.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

from swingby import predict
from swingby.simulate.run import simulate
from swingby.theory.initial import Scaled, initial_matrix
from swingby.theory.law.stages import stage_law
from swingby.theory.task import SIMTask

DYNAMICS = ("euler", "gd", "flow")
FULL = pytest.mark.full


def law(signal, W0, *, eta="1/100", dynamics="gd"):
    task = signal if isinstance(signal, SIMTask) else SIMTask.from_signal(signal)
    return stage_law(task, initial_matrix(W0, task.dim), Fraction(eta), dynamics)


def instance(generator, largest_d):
    """A signal (one in four with a free direction), W(0)/omega of full rank, eta."""
    d = int(generator.integers(2, largest_d + 1))
    a = 2.0 / np.cumprod(np.concatenate([[1.0], generator.uniform(1.3, 3.0, d - 1)]))
    if generator.random() < 0.25:
        a = np.append(generator.permutation(a[:-1]), 0.0)
    else:
        a = generator.permutation(a)
    U = generator.standard_normal((d, d + 1)) / math.sqrt(d + 1)
    return SIMTask.from_signal(a), U @ U.T, float(2.0 ** generator.uniform(-9, -6))


MANY = [pytest.param(omega, 12, marks=FULL) for omega in ("1e-4", "1e-40", "1e-400")]


@pytest.mark.parametrize(("omega", "count"), [("1e-4", 5), ("1e-400", 1), *MANY])
@pytest.mark.parametrize("dynamics", DYNAMICS)
def test_runs_reach_one_half_where_the_law_says_so_and_traps_are_those_predicted(
    omega, count, dynamics
):
    generator = np.random.default_rng(5)
    stages, disagreements = [], 0
    for _ in range(count):
        task, matrix, eta = instance(generator, 6)
        start = Scaled(matrix, omega)
        predicted = law(task, start, eta=eta, dynamics=dynamics)
        run = simulate(task, start, eta, dynamics=dynamics, record="none")
        for k in range(task.dim):
            time, observed = predicted.crossing[k], run.half_times[k]
            if task.signal[k] == 0:
                assert time == math.inf
                assert math.isnan(observed)
            elif math.isnan(time) or math.isnan(observed):
                disagreements += math.isnan(time) != math.isnan(observed)
            else:
                stages.append((time, predicted.error[k], observed))
    assert disagreements == 0
    time, error, observed = np.array(stages).T
    assert (error > 0).all()
    assert np.isfinite(error).mean() > 0.97
    inside = (np.ceil(time - error) <= observed) & (observed <= np.ceil(time + error))
    assert (~inside).sum() <= 1
    assert (np.ceil(time) == observed).mean() >= 0.95


@pytest.mark.parametrize("dynamics", DYNAMICS)
@pytest.mark.parametrize("omega", ["1e-2", "1e-5"])
@pytest.mark.parametrize(("seed", "count"), [(2, 2), pytest.param(11, 8, marks=FULL)])
def test_the_curve_is_the_recorded_run_at_all_times(dynamics, omega, seed, count):
    generator = np.random.default_rng(seed)
    for _ in range(count):
        task, matrix, eta = instance(generator, 4)
        predicted = law(task, Scaled(matrix, omega), eta=eta, dynamics=dynamics)
        if np.isnan(predicted.crossing).any():
            continue
        run = simulate(task, Scaled(matrix, omega), eta, dynamics=dynamics, record=7)
        assert np.abs(predicted.evaluate(run.steps) - run.W).max() < 1e-4


@pytest.mark.parametrize("dynamics", DYNAMICS)
def test_the_composite_passes_one_half_at_the_crossing(dynamics):
    predicted = law([3.0, 1.1], Scaled([[2, 1], [1, 2]], "1e-8"), dynamics=dynamics)
    W = predicted.evaluate(predicted.crossing)
    assert np.abs(W[[0, 1], [0, 1], [0, 1]] - 0.5).max() < 1e-6
    assert np.array_equal(predicted.half_times, np.ceil(predicted.crossing))


@pytest.mark.parametrize("correlation", [0.9, 0.99, 0.999])
@pytest.mark.parametrize("omega", ["1e-4", pytest.param("1e-12", marks=FULL), "1e-40"])
def test_under_euler_the_predicted_trap_is_the_observed_one(correlation, omega):
    task = SIMTask.from_signal([2.0, 0.5])
    start = Scaled([[1, correlation], [correlation, 1]], omega)
    stages = law(task, start, eta=0.03, dynamics="euler")
    run = simulate(task, start, 0.03, dynamics="euler", record="none")
    assert np.array_equal(stages.trapped, np.isnan(run.half_times))
    if stages.trapped.any():
        # The negative pivot runs to minus infinity where the law says so.
        assert stages.blow_up == pytest.approx(run.last_step, rel=0.03, abs=15)
        assert str(run.outcome) == "diverged"
    assert not law(task, start, eta=0.03, dynamics="gd").trapped.any()


def test_a_blow_up_cuts_off_what_would_be_learned_later():
    # Concepts 1 and 2 are perfectly correlated, concept 3 is slow and separate.
    matrix = np.eye(3)
    matrix[:2, :2] = 1
    stages = law([4.0, 2.0, 0.05], 1e-3 * matrix, dynamics="euler")
    assert stages.trapped.tolist() == [False, True, False]
    assert math.isnan(stages.crossing[2])
    assert math.isfinite(stages.blow_up)
    run = simulate(stages.task, 1e-3 * matrix, 0.01, dynamics="euler")
    assert np.isnan(run.half_times).tolist() == [False, True, True]
    assert any("runs away near step" in text for text in stages.warnings)
    assert any("concept 2 is trapped: its pivot is negative" in text for text in stages.warnings)


@pytest.mark.parametrize(
    ("signal", "W0", "trapped", "words"),
    [
        (
            [2.0, 1.0],
            np.diag([1e-3, 0.0]),
            [False, True],
            ["concept 2 is trapped: its pivot is zero"],
        ),
        ([4.0, 1.3, 0.6], 0.01 * np.outer([1, 2, 3], [1, 2, 3]) / 3, [False, True, True], None),
        ([2.0, 0.0, 0.0], 1e-5 * np.eye(3), [False] * 3, []),  # no tie of free directions
    ],
)
def test_a_pivot_of_zero_is_a_trap_and_a_free_direction_is_none(signal, W0, trapped, words):
    stages = law(signal, W0, dynamics="flow")
    assert stages.trapped.tolist() == trapped
    assert np.isnan(stages.log_pivots).tolist() == trapped
    assert words is None or list(stages.warnings) == words
    assert sum("trapped" in text for text in stages.warnings) == sum(trapped)
    assert np.isinf(stages.crossing).tolist() == [a == 0 for a in signal]


@pytest.mark.parametrize("dynamics", DYNAMICS)
def test_a_start_above_the_identity_is_in_range_as_long_as_the_step_times_it_is(dynamics):
    # w_22 falls to 1; the other entry is not touched.
    stages = law([2.0, 1.0], np.diag([0.3, 3.0]), dynamics=dynamics)
    run = simulate(stages.task, np.diag([0.3, 3.0]), 0.01, dynamics=dynamics)
    assert stages.half_times.tolist() == run.half_times.tolist()
    assert stages.warnings == ()
    wild = law([2.0, 1.0], np.diag([0.3, 30.0]), dynamics=dynamics)
    assert np.isinf(wild.error[0]) == (dynamics != "flow")
    assert any("out of range" in text for text in wild.warnings) == (dynamics != "flow")


@pytest.mark.filterwarnings("ignore::swingby.errors.SwingbyWarning")
@pytest.mark.parametrize("dynamics", DYNAMICS)
def test_what_starts_above_one_half_is_there_at_step_zero_even_if_it_is_trapped(dynamics):
    # Rank one: concept 2 has no component of its own, and falls from 0.6.
    W0 = np.full((2, 2), 0.6)
    stages = law([1.0, 0.8], W0, dynamics=dynamics)
    run = simulate(stages.task, W0, 0.01, dynamics=dynamics)
    assert stages.half_times.tolist() == run.half_times.tolist() == [0, 0]
    assert stages.error.tolist() == [0, 0]
    assert stages.trapped.tolist() == [False, True]
    assert math.isfinite(stages.blow_up) == (dynamics == "euler")
    if dynamics == "euler":
        assert abs(stages.blow_up - run.last_step) <= stages.blow_up_error <= 2


def test_out_of_range_a_runaway_has_no_bar():
    W0 = np.full((2, 2), 0.9)
    stages = law([2.0, 1.0], W0, eta="1/2", dynamics="euler")
    assert stages.warnings[0].startswith("out of range")
    assert stages.blow_up_error == math.inf


def test_separate_blocks_do_not_see_each_other():
    # Block-diagonal W(0) decouples: each block has the times that it has alone.
    block = 1e-4 * np.array([[2.0, 1.0], [1.0, 3.0]])
    matrix = np.zeros((4, 4))
    matrix[:2, :2], matrix[2:, 2:] = block, 2 * block
    both = law([2.0, 0.5, 1.2, 0.3], matrix)
    assert np.allclose(both.crossing[:2], law([2.0, 0.5], block).crossing, rtol=1e-6)
    assert np.allclose(both.crossing[2:], law([1.2, 0.3], 2 * block).crossing, rtol=1e-6)
    assert not both.evaluate(np.linspace(0, 3000, 40))[:, :2, 2:].any()


@pytest.mark.parametrize("dynamics", DYNAMICS)
@pytest.mark.parametrize("h", [pytest.param(0.002, marks=FULL), 0.04])
def test_minor_entries_of_the_curve_are_those_of_a_run(dynamics, h):
    task, U = SIMTask.from_signal([1, 2.5, 6]), np.random.default_rng(5).standard_normal((3, 5))
    run = simulate(task, 1e-8 * (U @ U.T), h / 6, dynamics=dynamics)
    W = predict(task, 1e-8 * (U @ U.T), eta=h / 6, dynamics=dynamics).evaluate(run.steps)
    off = np.abs(W - run.W).max(axis=0) / np.abs(run.W).max(axis=0)
    assert off.max() < 2e-4
