"""Runs above d = 8: their events, steps in place, and which steps are known to be definite."""

from __future__ import annotations

import math

import numpy as np
import pytest

from swingby.simulate.float_pivots import negative_pivots
from swingby.simulate.observation import extremes, follow
from swingby.simulate.psd_bound import _steps_between, clear_steps
from swingby.simulate.run import simulate
from swingby.simulate.state import BlockSummary, RunRecord, make_problem, make_state
from swingby.simulate.steps import MAPS, compiled_steps, plain_steps, run_kernel
from swingby.theory.initial import initial_matrix
from swingby.theory.task import SIMTask
from tests.simulate.witnesses import numpy_run

ETA = 0.05


def _start(d, scale=1e-3):
    """A signal, and a W(0) with correlations."""
    rng = np.random.default_rng(d)
    U = rng.standard_normal((d, 2 * d))
    return rng.permutation(np.linspace(2.0, 0.5, d)), scale * U @ U.T / (2 * d)


@pytest.mark.parametrize("dynamics", ["euler", "gd"])
@pytest.mark.parametrize(("d", "compiled"), [(9, False), (12, True), (20, True)])
def test_events_are_those_of_every_recorded_step(d: int, compiled: bool, dynamics: str) -> None:
    """Levels, peaks, falls, turns and the end, by brute force over all steps."""
    signal, W0 = _start(d)
    # Long runs are compiled, and short ones are not.
    steps = 4000 if compiled else 300
    task = SIMTask.from_signal(signal.tolist())
    run = simulate(task, W0, ETA, steps, dynamics, record=1, skip=False)
    sizes = np.abs(run.W)
    for level, times in run.level_times.items():
        reached = np.diagonal(run.W, axis1=1, axis2=2) >= level
        first = np.where(reached.any(axis=0), reached.argmax(axis=0), np.nan)
        np.testing.assert_array_equal(times, first)
    for peak in run.peaks:
        series = sizes[:, peak.i, peak.j]
        assert peak.step == series.argmax()
        assert peak.value == run.W[peak.step, peak.i, peak.j]
        fallen = np.flatnonzero(series[peak.step :] <= series.max() / 2)
        assert peak.suppressed == (peak.step + fallen[0] if fallen.size else None)
    beyond = np.abs(run.W - np.eye(d)).max(axis=(1, 2)) > 0.01
    assert run.end == (None if beyond[-1] else np.flatnonzero(beyond)[-1] + 1)
    loss = 0.5 * ((run.W @ task.test_point - task.test_point) ** 2).sum(axis=1)
    for turn in run.extrema:
        assert turn.value == pytest.approx(loss[turn.step], rel=1e-9, abs=1e-20)
        near = loss[max(0, turn.step - 1) : turn.step + 2]
        extreme = near.min() if turn.kind == "min" else near.max()
        assert turn.value == pytest.approx(extreme, rel=1e-9, abs=1e-20)
    expected = numpy_run(signal, W0, ETA, 200, dynamics)
    np.testing.assert_allclose(run.W[200], expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("d", [2, 5, 8, 9, 24])
@pytest.mark.parametrize("dynamics", ["euler", "gd"])
@pytest.mark.parametrize("scaled", [False, True])
def test_steps_in_place_are_those_of_the_maps(d: int, dynamics: str, scaled: bool) -> None:
    """To the bit up to d = 8, and for euler."""
    signal, W0 = _start(d, 0.3)
    problem, state = make_problem(signal, ETA, dynamics), make_state(initial_matrix(W0, d), signal)
    if scaled:
        state.raise_exponents(-np.arange(d) % 3 - 1)
    block = plain_steps(problem, state.X, state.square, 1, 12)
    X = state.X
    for n in range(12):
        X = MAPS[dynamics](X, problem.sums, state.square[:, None], 1)
        error = np.abs(block[problem.entry_rows, n] - X).max()
        assert error <= (0.0 if d <= 8 or dynamics == "euler" else 1e-14 * np.abs(X).max())


@pytest.mark.parametrize("d", [9, 16, 23])
@pytest.mark.parametrize("dynamics", ["euler", "gd", "flow"])
def test_the_summary_of_compiled_steps_is_that_of_their_block(d: int, dynamics: str) -> None:
    """Extremes before the last step to the bit, and outputs at a held point to rounding."""
    signal, W0 = _start(d, 0.3)
    point = np.cos(np.arange(d))
    problem = make_problem(signal, ETA, dynamics, point)
    state = make_state(initial_matrix(W0, d), point)
    state.raise_exponents(-np.arange(d) % 3 - 1)
    kernel, summary = compiled_steps(problem, ahead=1e12), BlockSummary.room(d, 30)
    block = run_kernel(kernel, problem, state.X, state.square, 1, 30, summary).copy(order="K")
    outputs = block.T.reshape(30, d, d) @ (2.0**state.exponent * point)
    np.testing.assert_allclose(summary.outputs, outputs, rtol=1e-12, atol=1e-14)
    assert np.array_equal(summary.high, block[:, :-1].max(axis=1))
    assert np.array_equal(summary.low, block[:, :-1].min(axis=1))
    for by_kernel, by_numpy in zip(extremes(block, summary), extremes(block), strict=True):
        assert np.array_equal(by_kernel, by_numpy)


@pytest.mark.parametrize("steps", [1, 20, 90])
def test_steps_of_euler_are_known_to_be_definite(steps: int) -> None:
    """By few eliminations; and their pivots are positive, as elimination at each of them says."""
    d = 24
    signal, W0 = _start(d)
    matrices = np.array([numpy_run(signal, W0, ETA, n, "euler") for n in range(100, 100 + steps)])
    sums, size = ETA * (signal[:, None] + signal), np.abs(matrices).max(axis=0)
    assert clear_steps(sums, np.ones(d), matrices, size).all()
    assert (negative_pivots(np.moveaxis(matrices, 0, 2)) < 0).all()


@pytest.mark.parametrize(
    ("eta", "share", "stays"),
    [(0.02, 0.3, True), (0.05, 0.03, True), (0.1, 0.03, False), (0.05, 1e-3, False)],
)
def test_no_step_with_a_negative_pivot_is_called_definite(
    eta: float, share: float, stays: bool
) -> None:
    """Runs whose smallest pivot is a share of w_kk, which euler may drive below zero."""
    d = 12
    signal, W0 = _start(d, 0.05)
    last = np.argmin(signal)
    W0[last, last] -= (1 - share) / np.linalg.inv(W0)[last, last]
    matrices = np.array([numpy_run(signal, W0, eta, n, "euler") for n in range(64)])
    order = np.argsort(-signal)
    pivots = negative_pivots(np.moveaxis(matrices[:, order][:, :, order], 0, 2))
    assert stays == (pivots < 0).all()
    sums = eta * (signal[:, None] + signal)
    pieces = [matrices[n : n + 8] for n in range(0, 64, 8)]
    clear = np.concatenate(
        [clear_steps(sums, np.ones(d), piece, np.abs(piece).max(axis=0)) for piece in pieces]
    )
    assert clear.all() == stays
    assert not clear[pivots >= 0].any()


def test_where_a_step_may_mend_a_pivot_the_steps_before_are_not_known() -> None:
    """One step as long as F, after which W is definite although it was not before."""
    indefinite = np.array([[1.0, 1.2], [1.2, 1.0]])
    sums, size = np.full((2, 2), 2.0), np.full((2, 2), 1.2)
    assert not clear_steps(sums, np.ones(2), np.array([indefinite, np.eye(2)]), size)[0]
    # As a closed form says: kappa of a diagonal W is the first factor over the smallest growth.
    diagonals, rates = np.array([[0.1, 0.2], [0.11, 0.23]]), np.array([[0.2, 0.3], [0.3, 0.4]])
    kappa = (1 + 0.4 + 0.4 * 0.23 * 0.23 / 0.2) / 1.1
    steps = math.log(2.0**-12 / 1e-9) / math.log(kappa)
    assert _steps_between(rates, np.ones(2), diagonals, np.diag([0.11, 0.23])) == int(steps)


def test_the_first_negative_pivot_of_a_long_run_is_at_the_step_of_elimination() -> None:
    """A run of euler at d = 12 that loses positive semidefiniteness on its way."""
    d = 12
    signal, W0 = _start(d, 0.05)
    last = int(np.argmin(signal))
    W0[last, last] -= (1 - 1e-4) / np.linalg.inv(W0)[last, last]
    task = SIMTask.from_signal(signal.tolist())
    run = simulate(task, W0, 0.2, 300, "euler", record=1, skip=False)
    order = np.argsort(-signal, kind="stable")
    pivots = negative_pivots(np.moveaxis(run.W[:, order][:, :, order], 0, 2))
    assert run.psd_lost == int(np.flatnonzero(pivots >= 0)[0])


def test_a_block_that_ends_early_is_looked_at_without_its_summary() -> None:
    """Where a step leaves the float range, what is said of all steps is not of those before it."""
    d = 9
    signal, W0 = _start(d)
    problem = make_problem(signal, ETA, "gd", np.ones(d))
    state = make_state(initial_matrix(W0, d), np.ones(d))
    block = plain_steps(problem, state.X, state.square, 1, 6).copy(order="K")
    block[:, 4:] = np.inf
    matrices = block.T[:4].reshape(4, d, d)
    losses = 0.5 * ((matrices.sum(axis=2) - 1.0) ** 2).sum(axis=1)
    wrong = BlockSummary(*(np.full_like(room, 7.0) for room in BlockSummary.room(d, 6)))
    assert not follow(problem, state, RunRecord.at([], d), block, wrong, rest=False)
    assert (state.step, state.diverged) == (4, 5)
    assert state.peak.max() < 0.1
    assert state.turns.low[0] == pytest.approx(losses.min(), rel=1e-12)
