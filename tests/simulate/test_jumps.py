"""Jumps over steps that are not linear: against every step taken, and against mpmath."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from swingby.simulate.initialization import gaussian
from swingby.simulate.run import simulate
from swingby.theory.initial import Scaled
from swingby.theory.task import SIMTask
from tests.simulate.witnesses import mpmath_run

MAPS = ("euler", "gd")


@pytest.mark.parametrize("dynamics", MAPS)
@pytest.mark.parametrize("omega", ["1e-100", "1e-160"])
def test_a_run_with_jumps_against_mpmath(omega, dynamics):
    # 50 digits, every step: W in the middle of each plateau, and where it is left again.
    a = [2.0, 0.9]
    W0 = [[1.0, 0.3 if dynamics == "gd" else 0.0], [0.3 if dynamics == "gd" else 0.0, 0.8]]
    steps = {"1e-100": 3200, "1e-160": 5000}[omega]
    with mpmath.workdps(50):
        exact_start = [[mpmath.mpf(x) * mpmath.mpf(omega) for x in row] for row in W0]
    exact = mpmath_run(a, exact_start, 0.05, steps, dynamics)
    task = SIMTask.from_signal(a)
    run = simulate(task, Scaled(np.array(W0), omega), 0.05, steps, dynamics, record=40)
    assert run.executed_steps < steps / 2
    for step, W in zip(run.steps.tolist(), run.W, strict=True):
        for i in range(2):
            for j in range(2):
                entry = float(exact[step][i, j])
                if abs(entry) > 1e-290:
                    assert W[i, j] == pytest.approx(entry, rel=2e-12, abs=0), (step, i, j)
    for k in range(2):
        first = next(t for t in range(steps + 1) if exact[t][k, k] >= 0.5)
        assert run.half_times[k] == first


def losses_of(run):
    residual = run.W @ run.task.test_point - run.task.test_point
    return 0.5 * (residual**2).sum(axis=1)


SETTINGS = [
    # signal, omega, eta, dynamics, seed
    ([2.0, 0.6], 1e-6, 0.02, "euler", 0),
    ([2.0, 0.6], 1e-10, 0.02, "gd", 1),
    ([1.9, 1.1, 0.3], 1e-8, 0.03, "gd", 2),
    ([1.9, 1.1, 0.3], 1e-12, 0.03, "flow", 3),
    ([0.4, 1.7, 1.0], 1e-9, 0.02, "gd", 4),
    ([1.5, 1.5, 0.5], 1e-10, 0.05, "gd", 5),
    ([1.2, 0.6, 0.0], 1e-9, 0.05, "gd", 6),
    ([1.0, 0.99, 0.4], 1e-9, 0.05, "gd", 7),
    ([1.8, 1.3, 0.8, 0.4], 1e-11, 0.05, "gd", 8),
    ([1.8, 1.4, 1.1, 0.7, 0.4], 1e-11, 0.05, "gd", 9),
    ([1.9, 1.5, 1.2, 0.9, 0.6, 0.4], 1e-9, 0.05, "gd", 10),
]


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_jumps_change_no_event(setting):
    # Every step taken is the second way to the same events.
    signal, omega, eta, dynamics, seed = setting
    d = len(signal)
    W0 = gaussian(d, omega, width=d + 2, rng=seed)
    if dynamics == "euler":
        W0 = omega * (np.eye(d) + 0.05)
    task = SIMTask.from_signal(signal)
    jumping, plain = (
        simulate(task, W0, eta, 12_000, dynamics, record=37, skip=skip) for skip in (True, False)
    )
    if 0.0 in signal:
        # A concept without signal stays where it is, and what it does to others adds up.
        assert jumping.executed_steps <= plain.executed_steps
    else:
        assert jumping.executed_steps < 0.8 * plain.executed_steps
    for level in (0.1, 0.5, 0.8, 0.99):
        reached = [run.first_reach(level) for run in (jumping, plain)]
        assert np.array_equal(*reached, equal_nan=True)
    assert jumping.outcome == plain.outcome
    assert (jumping.end, jumping.psd_lost) == (plain.end, plain.psd_lost)
    assert np.abs(jumping.W - plain.W).max() < 1e-12
    for one, other in zip(jumping.peaks, plain.peaks, strict=True):
        assert one[:3] == other[:3]
        assert one.suppressed == other.suppressed
    assert len(jumping.extrema) == len(plain.extrema)
    for one, other in zip(jumping.extrema, plain.extrema, strict=True):
        assert one.kind == other.kind
        # On a plateau the loss is flat to a rounding for some steps.
        flat = abs(one.value - other.value) <= 1e-15 * losses_of(plain)[0]
        assert one.step == other.step or flat


@pytest.mark.parametrize("dynamics", ["euler", "gd"])
@pytest.mark.parametrize("d", [2, 3])
def test_the_steps_computed_hardly_depend_on_omega(d, dynamics):
    # Each of d stages is computed from a rounding up, and down to it, whatever omega:
    # 2 log(2^51) / (2 eta a), and what passes until a jump is tried.
    signal = [2.0, 0.5] if d == 2 else [2.0, 1.25, 0.5]
    stages = sum(2 * 51 * np.log(2) / (0.02 * a) for a in signal)
    task = SIMTask.from_signal(signal)
    for omega in (1e-100, 1e-200, 1e-300):
        run = simulate(task, omega * np.eye(d), 0.01, 100_000, dynamics, record="none")
        assert run.outcome == "converged"
        assert 0.9 * stages < run.executed_steps < 1.25 * stages
