"""Numerical tests of the theorems: instances inside the hypotheses, bounds that can fail."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from swingby.proofs.prover.repaired import random_trials, trial_runs
from swingby.theory.initial import exact_pivots
from swingby.theory.repaired import theorem_two
from swingby.theory.repaired.repaired_setting import RepairedSetting


@pytest.mark.parametrize("d", [2, 3, 4])
def test_initial_matrices_satisfy_D3_and_reach_its_edges(d):
    beta, rho = 1.5, 0.2
    drawn = random_trials.initial_matrices(d, beta, rho, 200, np.random.default_rng(d))
    diagonal = np.diagonal(drawn, axis1=1, axis2=2)
    pivots = np.array([[float(value) for value in exact_pivots(W)] for W in drawn])
    assert diagonal.max() <= beta * (1 + 1e-15)
    assert pivots.min() >= rho * (1 - 1e-13)
    assert (diagonal > beta * (1 - 1e-12)).mean() > 0.3
    assert (pivots[:, 1:] < rho * (1 + 1e-12)).mean() > 0.3
    assert (drawn == drawn.swapaxes(1, 2)).all()


def test_omega_is_at_most_omega_0_and_often_equal():
    rng, depths = np.random.default_rng(3), []
    for _ in range(30):
        drawn = random_trials.draw_two(1, rng, "flow", False)
        signal = tuple(map(Fraction, drawn.signal.tolist()))
        setting = RepairedSetting(signal, Fraction(drawn.beta), Fraction(drawn.rho))
        depths.append(float(theorem_two.log_omega_0(setting)) - drawn.log_omega)
    assert min(depths) >= 0
    assert 3 <= depths.count(0.0) <= 25


@pytest.mark.parametrize("name", ["Theorem two", "Theorem R", "Theorem G"])
def test_passage_times_against_an_adaptive_solution(name):
    """The cubic between two steps against LSODA with events, relative tolerance 1e-11."""
    drawn = random_trials.DRAWS[name](2, np.random.default_rng(5), "flow", False)
    d, A = len(drawn.signal), np.diag(drawn.signal)
    measured = trial_runs.passage_times(drawn, trial_runs.run_trials(drawn, "flow"))

    def speed(_, flat):
        W = flat.reshape(d, d)
        B = A - (A @ W + W @ A) / 2
        return (B @ W + W @ B).ravel()

    for start, times in zip(drawn.starts, measured, strict=True):
        events = [lambda _, flat, i=i: flat[i * (d + 1)] - 0.8 for i in range(d)]
        solved = solve_ivp(
            speed,
            (0, 1.2 * times.max()),
            start.ravel(),
            "LSODA",
            rtol=1e-11,
            atol=1e-40,
            events=events,
        )
        for i in range(d):
            if start[i, i] < 0.8:
                assert times[i] == pytest.approx(solved.t_events[i][0], abs=2e-5)


def test_times_of_the_flow_are_too_short_for_gd():
    """Under gd an entry grows at log(1 + eta a) a step, not at eta a."""
    rng = np.random.default_rng(8)
    drawn = [random_trials.DRAWS["Theorem two"](50, rng, "gd", False) for _ in range(4)]
    assert any((trial_runs.slacks(trials, "gd")["reach"] < 0).any() for trials in drawn)
    for name in ("Theorem G", "Theorem two"):
        effective = random_trials.DRAWS[name](50, np.random.default_rng(8), "gd", True)
        assert all((values >= 0).all() for values in trial_runs.slacks(effective, "gd").values())


def test_bounds_that_are_too_tight_are_reported():
    rng = np.random.default_rng(9)
    drawn = random_trials.draw_two(20, rng, "flow", False)
    fair = trial_runs.slacks(drawn, "flow")
    assert min(values.min() for values in fair.values()) > 0
    low = trial_runs.slacks(replace(drawn, log_peaks=drawn.log_peaks - 1), "flow")
    assert (low["peak"] < 0).any()
    assert low["peak"] == pytest.approx(fair["peak"] - 1)
    early = trial_runs.slacks(replace(drawn, reach=drawn.reach * 0.5), "flow")
    assert (early["reach"] < 0).all()


def test_falling_below_the_level_is_seen():
    """At beta omega = 0.79 a strongly correlated second concept pushes w_11 back below 0.8."""
    drawn = random_trials.draw_two(400, np.random.default_rng(11), "flow", False)
    starts = 0.395 * random_trials.initial_matrices(2, 2.0, 0.1, 400, np.random.default_rng(11))
    large = replace(drawn, signal=np.array([1.0, 0.25]), starts=starts)
    slacks = trial_runs.slacks(large, "flow")
    assert (slacks["keep"] < 0).any()


def test_end_and_determinant():
    drawn = random_trials.draw_g(10, np.random.default_rng(12), "flow", False)
    slacks = trial_runs.slacks(drawn, "flow")
    assert slacks["end"].min() > 0
    assert slacks["det"].min() > 0
    assert trial_runs.log_correlation(np.array([[4.0, 1.0], [1.0, 1.0]])) == pytest.approx(
        math.log(3 / 4)
    )
