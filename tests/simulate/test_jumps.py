"""Jumps over steps that are linear: against every step taken, and against 60 digits.

Jumps change nothing, and tiny omega costs nothing.
"""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from swingby.simulate.initialization import gaussian
from swingby.simulate.jump import plan
from swingby.simulate.run import simulate
from swingby.simulate.state import make_problem
from swingby.theory.growth import BOTH, FIRST, NEITHER, log_factors
from swingby.theory.initial import Scaled
from swingby.theory.task import SIMTask
from tests.simulate.witnesses import exact_run

MAPS = ("euler", "gd")
DYNAMICS = ("euler", "gd", "flow")
TASK = SIMTask.from_signal([1.0, 0.4, 0.2])


@pytest.mark.parametrize("dynamics", MAPS)
@pytest.mark.parametrize("omega", ["1e-100", "1e-160"])
def test_a_run_with_jumps_against_sixty_digits(omega, dynamics):
    # Every step: W in the middle of each plateau, and where it is left again.
    a = [2.0, 0.9]
    W0 = [[1.0, 0.3 if dynamics == "gd" else 0.0], [0.3 if dynamics == "gd" else 0.0, 0.8]]
    steps = {"1e-100": 3200, "1e-160": 5000}[omega]
    exact = exact_run(a, W0, omega, 0.05, steps, dynamics)
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
        first = next(t for t in range(steps + 1) if float(exact[t][k, k]) >= 0.5)
        assert run.half_times[k] == first


@pytest.mark.parametrize("dynamics", MAPS)
def test_what_a_learned_concept_feeds_to_the_others_is_summed_exactly(dynamics):
    # 60 digits, every step; products of the couplings are 1e-4 of the entries that they feed.
    a, eta, steps = [2.0, 0.9, 0.4], 0.05, 150
    W = np.array([[1.0, 4e-22, -3e-22], [4e-22, 3e-39, 1e-39], [-3e-22, 1e-39, 2e-39]])
    exact = exact_run(a, W.tolist(), "1", eta, steps, dynamics)[-1]
    problem = make_problem(np.array(a), eta, dynamics)
    jump = plan(
        W[None],
        np.zeros((1, 3), dtype=np.int64),
        problem.rates[None],
        problem.growth[:, None],
        np.array([10**6]),
        256,
        np.array([False]),
        dynamics,
    )
    assert jump.steps[0] >= 256
    landed = jump.at(np.array([steps]))[0]
    for i in range(3):
        for j in range(3):
            assert landed[i, j] == pytest.approx(float(exact[i, j]), rel=1e-14, abs=0), (i, j)


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


def same_events(jumping, plain):
    """Every step taken is the second way to the same events."""
    for level in (0.1, 0.5, 0.8, 0.99):
        reached = [run.first_reach(level) for run in (jumping, plain)]
        assert np.array_equal(*reached, equal_nan=True)
    assert jumping.outcome == plain.outcome
    assert (jumping.end, jumping.psd_lost) == (plain.end, plain.psd_lost)
    assert np.abs(jumping.W - plain.W).max() < 1e-12
    for by_jumps, by_steps in zip(jumping.peaks, plain.peaks, strict=True):
        assert by_jumps[:3] == by_steps[:3]
        assert by_jumps.suppressed == by_steps.suppressed
        assert by_jumps.value == pytest.approx(by_steps.value, rel=1e-9)
    assert len(jumping.extrema) == len(plain.extrema)
    for by_jumps, by_steps in zip(jumping.extrema, plain.extrema, strict=True):
        assert by_jumps.kind == by_steps.kind
        # On a plateau between two stages the loss is flat to a rounding for many steps.
        flat = abs(by_jumps.value - by_steps.value) <= 1e-12 * plain.test_loss[0]
        assert by_jumps.step == by_steps.step or flat


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_jumps_change_no_event(setting):
    signal, omega, eta, dynamics, seed = setting
    d = len(signal)
    W0 = gaussian(d, omega, width=d + 2, rng=seed)
    if dynamics == "euler":
        W0 = omega * (np.eye(d) + 0.05)
    task = SIMTask.from_signal(signal)
    jumping, stepping = (
        simulate(task, W0, eta, 12_000, dynamics, record=37, skip=skip) for skip in (True, False)
    )
    # A concept without signal stays where it is, and what it does to others adds up.
    saved = 1.0 if 0.0 in signal else 0.8
    assert jumping.executed_steps <= saved * stepping.executed_steps
    same_events(jumping, stepping)


@pytest.mark.parametrize("dynamics", DYNAMICS)
@pytest.mark.parametrize(("omega", "steps"), [("1e-40", 20_000), ("1e-400", 130_000)])
def test_jumps_below_the_float_range_change_no_event(omega, steps, dynamics):
    W0, eta = gaussian(3, omega, width=5, rng=2), 0.02
    if dynamics == "euler":
        # From tiny omega the printed map loses positive semidefiniteness in the linear phase
        # unless eta is small and the concepts are weakly correlated.
        W0 = Scaled(np.eye(3) + 0.05 * np.array([[0, 1, -2], [1, 0, 1], [-2, 1, 0]]), omega)
        eta, steps = eta / 10, steps * 10
    record = [0, steps // 7, steps // 3, steps // 2, steps]
    jumping, stepping = (
        simulate(TASK, W0, eta, steps, dynamics, record, skip=skip) for skip in (True, False)
    )
    assert jumping.executed_steps < stepping.executed_steps == stepping.last_step
    assert not np.isnan(jumping.half_times).any()
    same_events(jumping, stepping)


@pytest.mark.parametrize("dynamics", DYNAMICS)
@pytest.mark.parametrize("d", [2, 3])
def test_the_steps_computed_hardly_depend_on_omega(d, dynamics):
    # Each of d stages is computed from a rounding up, and down to it, whatever omega:
    # 2 log(2^51) / (2 eta a), and what passes until a jump is tried.
    signal = [2.0, 0.5] if d == 2 else [2.0, 1.25, 0.5]
    stages = sum(2 * 51 * np.log(2) / (0.02 * a) for a in signal)
    task = SIMTask.from_signal(signal)
    for omega in ("1e-100", "1e-300", "1e-5000"):
        run = simulate(task, Scaled(np.eye(d), omega), 0.01, dynamics=dynamics, record="none")
        assert run.outcome == "converged"
        assert 0.9 * stages < run.executed_steps < 1.25 * stages


def test_a_loss_of_psd_inside_a_jump_is_found_at_its_step() -> None:
    matrix = np.array([[1.0, 0.9], [0.9, 1.0]])
    task = SIMTask.from_signal([3.0, 1.0])
    runs = [
        simulate(task, Scaled(matrix, "1e-300"), 0.05, 2000, skip=skip, dynamics="euler")
        for skip in (True, False)
    ]
    assert runs[0].psd_lost == runs[1].psd_lost
    assert runs[0].psd_lost is not None
    assert runs[0].psd_lost > 5


def test_a_fall_inside_a_jump_is_found_at_its_step() -> None:
    # Concept 2 is hardly slower than concept 1, so their coupling falls slowly after its peak.
    task, W0 = SIMTask.from_signal([2.0, 1.9]), Scaled(np.array([[1, 0.3], [0.3, 1]]), "1e-1000")
    jumping, stepping = (
        simulate(task, W0, 0.02, 32_000, "gd", "none", skip=skip) for skip in (True, False)
    )
    (by_jumps,), (by_steps,) = jumping.peaks, stepping.peaks
    assert by_jumps[:3] == by_steps[:3]
    assert by_jumps.suppressed == by_steps.suppressed
    assert jumping.executed_steps < 4000


@pytest.mark.parametrize("eta", [1e-9, 1e-3, 0.1])
def test_growth_logarithms_are_right_to_the_last_digit_of_a_long_double(eta: float) -> None:
    a = np.array([4.0, 1.3, 0.01])
    mpmath_context = mpmath.mp.clone()
    mpmath_context.dps = 50
    log, real = mpmath_context.log, mpmath_context.mpf
    epsilon = float(np.finfo(np.longdouble).eps)
    for dynamics in DYNAMICS:
        table = log_factors(a, eta, dynamics)
        high = table.astype(np.float64)
        low = (table - high).astype(np.float64)
        for i, x in enumerate(a.tolist()):
            for j, y in enumerate(a.tolist()):
                rate, total, half = real(eta), real(x) + real(y), (real(x) - real(y)) / 2
                rates = {NEITHER: rate * total, FIRST: -rate * half, BOTH: -rate * total}
                for regime, change in rates.items():
                    exact = change if dynamics == "flow" else log(1 + change)
                    if dynamics == "gd" and regime == NEITHER:
                        exact = log(1 + rate * real(x)) + log(1 + rate * real(y))
                    logarithm = real(high[regime, i, j]) + real(low[regime, i, j])
                    exact /= log(2)
                    assert abs(logarithm - exact) <= 4 * epsilon * abs(exact)
