"""Runs from a rank-deficient W(0), whose pivots rounding turns negative, against steps of U."""

import warnings

import numpy as np
import pytest

from swingby.errors import SwingbyWarning
from swingby.simulate.batch import simulate_batch
from swingby.simulate.factored import factor_of, not_semidefinite
from swingby.simulate.run import simulate
from swingby.theory.initial import Scaled

#: U(0) U(0)^T of this is of rank one in exact arithmetic, but not in floats.
FACTOR = np.array([[0.0451], [0.0602]])
SIGNAL = [1.044, 1.012]


def loop_of_u(signal, U, eta, steps):
    """Gradient descent on U: half-times, and the last W."""
    A, U, half = np.diag(signal), U.copy(), np.full(len(U), np.nan)
    for step in range(1, steps + 1):
        W = U @ U.T
        U = U + eta * (A @ U - 0.5 * (A @ W + W @ A) @ U)
        half[np.isnan(half) & ((U * U).sum(axis=1) >= 0.5)] = step
    return half, U @ U.T


def deficient(rng):
    d = int(rng.integers(2, 5))
    U = 0.05 * rng.standard_normal((d, int(rng.integers(1, d))))
    return np.sort(rng.uniform(0.3, 3.9, d))[::-1], U


@pytest.mark.parametrize("given", ["W0", "U0"])
def test_a_start_of_rank_one_turns_as_the_loop_of_u_does(given):
    start = {"W0": FACTOR @ FACTOR.T} if given == "W0" else {"U0": FACTOR}
    half, W = loop_of_u(SIGNAL, FACTOR, 0.03, 12_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SwingbyWarning)
        run = simulate(SIGNAL, eta=0.03, steps=12_000, **start)
        flow = simulate(SIGNAL, eta=0.03, steps=1500, dynamics="flow", **start)
    assert run.half_times.tolist() == half.tolist()
    assert np.abs(run.W[-1] - W).max() < 1e-9
    assert flow.half_times == pytest.approx(half, rel=0.03)
    batch = simulate_batch(SIGNAL, FACTOR @ FACTOR.T, 0.03, 12_000)
    assert np.abs(batch.W - W).max() < 1e-9
    assert batch.half_times.tolist() == half.tolist()


def test_a_run_from_the_nearest_factor_says_so():
    with pytest.warns(SwingbyWarning, match="made from the nearest U, without .* concept 2; give"):
        simulate(SIGNAL, FACTOR @ FACTOR.T, eta=0.03)


@pytest.mark.parametrize("seed", range(3))
def test_no_deficient_start_diverges_under_small_steps(seed):
    rng, steps = np.random.default_rng(seed), 1500
    for _ in range(15):
        signal, U = deficient(rng)
        half, W = loop_of_u(signal, U, 0.03, steps)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run = simulate(signal, U @ U.T, eta=0.03, steps=steps)
        assert run.outcome != "diverged"
        batch = simulate_batch(signal, U @ U.T, 0.03, steps)
        assert batch.outcome != "diverged"
        # Rounding of U U^T may raise its rank: then W0 means another run than U.
        if not caught and run.initial.pivots(run.task.signal).rank == U.shape[1]:
            assert np.abs(run.W[-1] - W).max() < 1e-6
            assert np.array_equal(run.half_times, half, equal_nan=True)
            assert np.abs(batch.W - W).max() < 1e-6


def test_long_waits_below_the_float_range_are_jumped_over():
    U = np.array([[3e-5], [0.7]])
    half, W = loop_of_u(SIGNAL, 1e-100 * U, 0.03, 20_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SwingbyWarning)
        run = simulate(SIGNAL, Scaled(U @ U.T, "1e-200"), eta=0.03, steps=20_000)
    assert run.executed_steps < run.last_step - 5_000
    assert run.half_times.tolist() == half.tolist()
    assert np.abs(run.W[-1] - W).max() < 1e-9


def test_what_is_indefinite_counts_by_concept():
    assert not_semidefinite(np.array([[[1.0, 0], [0, -1e-20]]])).all()
    assert not not_semidefinite(np.array([[[1.0, 1.0], [1.0, 1.0 - 1e-15]], np.eye(2)])).any()
    assert not_semidefinite(np.array([[[1.0, np.inf], [np.inf, 1.0]]])).all()
    F = factor_of(FACTOR @ FACTOR.T, 1)
    assert np.abs(F @ F.T / (FACTOR @ FACTOR.T) - 1).max() < 1e-14
