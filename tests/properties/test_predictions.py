"""Predicted against observed, on drawn settings."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import swingby
from swingby.testing import initializations, satisfying, step_sizes, tasks
from tests.forked import FULL

DYNAMICS = st.sampled_from(["euler", "gd", "flow"])
OMEGA = st.integers(6, 60).map(lambda k: Fraction(1, 10**k))


@given(st.data(), DYNAMICS)
def test_half_times_are_predicted_within_two_percent(data, dynamics):
    """From omega = 1e-6 down: the plain stage law errs by 1.5 % at most (THEORY, section 3)."""
    task = data.draw(tasks(ratio=(Fraction(3, 2), 10)))
    omega = data.draw(OMEGA)
    W0 = data.draw(initializations(task, kind="gaussian", omega=omega, width=task.dim + 2))
    # A smaller step costs steps and tells nothing new.
    eta = Fraction(1, data.draw(st.sampled_from([20, 50, 200]))) / max(task.exact_signal)
    schedule = swingby.predict(task, W0, eta=eta, dynamics=dynamics)
    # A pivot lost to cancellation takes the law out of its range, and the schedule says so.
    assume(not schedule.warnings)
    last = np.nanmax(schedule.half_times, where=np.isfinite(schedule.half_times), initial=0)
    run = swingby.simulate(task, W0, eta, math.ceil(1.05 * last) + 10, dynamics, record="none")
    assert np.array_equal(np.isnan(schedule.half_times), np.isnan(run.half_times))
    learned = np.isfinite(run.half_times)
    error = np.abs(schedule.half_times[learned] - run.half_times[learned])
    assert (error <= 1 + 0.02 * run.half_times[learned]).all()


@settings(max_examples=settings.default.max_examples if FULL else 10)
@given(satisfying("repaired"))
def test_the_repaired_theorems_promise_what_the_flow_does(setting):
    """Every w_kk is above 0.8 by the step promised, and no entry exceeds the peak promised."""
    from swingby.theory import repaired

    report = setting.check()
    assert report.holds
    found = repaired.findings(setting.task.exact_signal, setting.omega, setting.beta, setting.rho)
    # Under the flow eta only says where the solution is looked at.
    eta = Fraction(1, 20) / max(setting.task.exact_signal)
    last = max(1, math.ceil(max(found.reach_by) / eta))  # omega = 1 starts above 0.8
    run = swingby.simulate(setting.task, setting.W0, eta, last, "flow", record="none")
    reached = run.first_reach(0.8)
    promised = np.array([math.ceil(time / eta) for time in found.reach_by])
    assert (reached <= promised).all()
    for peak in run.peaks:
        bound = found.log_peaks[peak.i, peak.j]
        assert peak.value == 0 or math.log(abs(peak.value)) <= bound + 1e-9


@given(st.data())
def test_a_prediction_scales_with_time(data):
    """Only eta a occurs: (a, eta) and (4 a, eta/4) have the same schedule, bit for bit."""
    task = data.draw(tasks())
    W0, eta = data.draw(initializations(task)), data.draw(step_sizes(task))
    dynamics = data.draw(DYNAMICS)
    signal = task.exact_signal
    first, second = (
        swingby.predict(
            swingby.SIMTask.from_signal([4**power * a for a in signal]),
            W0,
            eta=eta / 4**power,
            dynamics=dynamics,
        )
        for power in (0, 1)
    )
    assert np.array_equal(first.half_times, second.half_times, equal_nan=True)
    assert np.array_equal(first.trapped, second.trapped)


@given(st.data())
def test_a_smaller_start_is_learned_later(data):
    """Dividing W(0) by ten delays every half-time, by log(10)/g_kk to within a step and a bit."""
    task = data.draw(tasks(ratio=(Fraction(3, 2), 10)))
    omega = data.draw(OMEGA)
    W0 = data.draw(initializations(task, kind="gaussian", omega=omega, width=task.dim + 2))
    eta = data.draw(step_sizes(task))
    smaller = swingby.Scaled(W0.matrix, W0.omega / 10)
    early, late = (
        swingby.predict(task, start, eta=eta, dynamics="gd").half_times for start in (W0, smaller)
    )
    learned = np.isfinite(early)
    delay = math.log(10) / (2 * np.log1p(float(eta) * task.signal))
    assert np.array_equal(learned, np.isfinite(late))
    difference = np.abs((late - early - delay)[learned])
    assert (difference <= 2 + 0.01 * early[learned]).all()
