"""Jumps and powers of two change nothing; tiny omega costs nothing."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from swingby.simulate.initialization import gaussian
from swingby.simulate.result import Run
from swingby.simulate.run import run_on, simulate
from swingby.simulate.state import Record, float_matrix, make_problem, make_state
from swingby.theory.growth import BOTH, FIRST, NEITHER, log_factors
from swingby.theory.initial import Initial, Scaled
from swingby.theory.task import SIMTask

TASK = SIMTask.from_signal([1.0, 0.4, 0.2])
DYNAMICS = ("euler", "gd", "flow")


def pair(omega: str, dynamics: str, steps: int, eta: float = 0.02) -> tuple[Run, Run]:
    W0 = gaussian(3, omega, width=5, rng=2)
    if dynamics == "euler":
        # From tiny omega the printed map loses positive semidefiniteness in the linear phase
        # unless eta is small and the concepts are weakly correlated.
        W0 = Scaled(np.eye(3) + 0.05 * np.array([[0, 1, -2], [1, 0, 1], [-2, 1, 0]]), omega)
        eta, steps = eta / 10, steps * 10
    record = [0, steps // 7, steps // 3, steps // 2, steps]
    jumping, plain = (
        simulate(TASK, W0, eta, steps, dynamics, record, skip=skip) for skip in (True, False)
    )
    return jumping, plain


@pytest.mark.parametrize("dynamics", DYNAMICS)
@pytest.mark.parametrize(("omega", "steps"), [("1e-40", 20_000), ("1e-400", 130_000)])
def test_skipping_changes_no_event(omega: str, steps: int, dynamics: str) -> None:
    jumping, plain = pair(omega, dynamics, steps)
    assert jumping.executed_steps < plain.executed_steps == plain.last_step
    assert np.array_equal(jumping.half_times, plain.half_times)
    assert not np.isnan(jumping.half_times).any()
    for level in (0.1, 0.8, 0.99):
        assert np.array_equal(jumping.first_reach(level), plain.first_reach(level))
    assert np.abs(jumping.W - plain.W).max() < 1e-12
    assert (jumping.end, jumping.psd_lost) == (plain.end, plain.psd_lost)
    for one, other in zip(jumping.peaks, plain.peaks, strict=True):
        assert one[:3] == other[:3]
        assert one.suppressed == other.suppressed
        assert one.value == pytest.approx(other.value, rel=1e-9)
    swings = [list(run.extrema[:-1]) for run in (jumping, plain)]
    assert len(swings[0]) == len(swings[1])
    for left, right in zip(*swings, strict=True):
        # Between two stages the loss is constant in floats for many steps; the step at which
        # its last bit turns is rounding, so an extremum on such a plateau is compared by value.
        assert left.kind == right.kind
        assert left.value == pytest.approx(right.value, rel=1e-12)


@pytest.mark.parametrize("dynamics", DYNAMICS)
def test_the_cost_does_not_grow_with_the_logarithm_of_omega(dynamics: str) -> None:
    costs = []
    for omega in ("1e-100", "1e-400", "1e-5000"):
        W0 = gaussian(3, omega, width=5, rng=2)
        if dynamics == "euler":
            W0 = Scaled(np.diag([1.0, 2.0, 3.0]), omega)
        run = simulate(TASK, W0, 0.02, None, dynamics)
        assert run.outcome == "converged"
        costs.append(run.executed_steps)
    assert max(costs) < 1.2 * min(costs)


def test_records_inside_a_jump_match_the_closed_form() -> None:
    run = simulate(TASK, 1e-200 * np.eye(3), 0.02, 3000, "euler", record=500)
    assert run.executed_steps < 100
    for k, a in enumerate((1.0, 0.4, 0.2)):
        factor = (1 + 2 * mpmath.mpf(0.02) * mpmath.mpf(a)) ** 2500
        assert run.W[5, k, k] == pytest.approx(float(mpmath.mpf(1e-200) * factor), rel=1e-12)


def test_a_loss_of_psd_inside_a_jump_is_found_at_its_step() -> None:
    matrix = np.array([[1.0, 0.9], [0.9, 1.0]])
    task = SIMTask.from_signal([3.0, 1.0])
    runs = [
        simulate(task, Scaled(matrix, "1e-300"), 0.05, 2000, skip=skip) for skip in (True, False)
    ]
    assert runs[0].psd_lost == runs[1].psd_lost
    assert runs[0].psd_lost is not None
    assert runs[0].psd_lost > 5


def test_a_fall_inside_a_jump_is_found_at_its_step() -> None:
    # Concept 2 is hardly slower than concept 1, so their coupling falls slowly after its peak.
    task, W0 = SIMTask.from_signal([2.0, 1.9]), Scaled(np.array([[1, 0.3], [0.3, 1]]), "1e-1000")
    jumping, plain = (
        simulate(task, W0, 0.02, 32_000, "gd", "none", skip=skip) for skip in (True, False)
    )
    (one,), (other,) = jumping.peaks, plain.peaks
    assert one[:3] == other[:3]
    assert one.suppressed == other.suppressed
    assert jumping.executed_steps < 4000


@pytest.mark.parametrize("dynamics", DYNAMICS)
def test_scaling_by_powers_of_two_changes_no_bit(dynamics: str) -> None:
    W0 = gaussian(3, 1e-6, width=5, rng=5)
    assert isinstance(W0, np.ndarray)
    ends = []
    for scaled in (False, True):
        point = TASK.test_point
        state = make_state(Initial((W0 + W0.T) / 2, Fraction(1)), point, scaled=scaled)
        assert (state.exponent < 0).any() == scaled
        problem = make_problem(TASK.signal, 0.02, dynamics, point)
        record = Record.at(range(0, 3000, 7), 3)
        run_on(problem, state, record, 3000, skip=False)
        ends.append(
            (float_matrix(state.X, state.exponent), record.W, state.level_steps, state.extrema)
        )
    for plain, powers in zip(*ends, strict=True):
        assert np.array_equal(plain, powers)


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
                    found = real(high[regime, i, j]) + real(low[regime, i, j])
                    exact /= log(2)
                    assert abs(found - exact) <= 4 * epsilon * abs(exact)
