"""What the dynamics leave alone, where they have a closed form, and what is promised of them.

The invariants are exact statements about the three maps; each test names the formula it rests on.
A bound on a difference is a multiple of the rounding of floats over the steps of the run.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import swingby
from swingby.testing import initializations, satisfying, step_sizes, tasks
from swingby.theory import repaired
from tests.forked import FULL

DYNAMICS = ("euler", "gd", "flow")
STEPS = 400
#: An entry is right to about one rounding per step and term.
ROUNDING = STEPS * 40 * 2.0**-52


@st.composite
def starts(draw, dynamics=DYNAMICS):
    """A task, W(0) of everyday size, a step size and one of the dynamics."""
    task = draw(tasks())
    # Of kinds whose runs do not hang on the last bit: no pivot is rounding, as a rule.
    W0 = draw(initializations(task, kind=draw(st.sampled_from(["gaussian", "uniform"]))))
    # Large enough that all stages happen within the run.
    size = float(np.abs(W0.matrix).max())
    scaled = W0.matrix / size * draw(st.sampled_from([0.5, 0.1, 0.01]))
    # Small numbers make singular matrices once in a few hundred draws.
    assume(np.linalg.eigvalsh(scaled)[0] > 1e-6 * np.abs(scaled).max())
    eta = draw(step_sizes(task))
    return task, (scaled + scaled.T) / 2, float(eta), draw(st.sampled_from(dynamics))


def follow(signal, W0, eta, dynamics):
    """W at every step of a short run."""
    task = swingby.SIMTask.from_signal(list(signal))
    return swingby.simulate(task, W0, eta, STEPS, dynamics, record=1)


@given(starts(), st.data())
def test_flipping_signs_flips_entries_and_no_bit_more(start, data):
    """W -> D W D with D = diag(+-1) commutes with the maps, and a float changes sign exactly."""
    task, W0, eta, dynamics = start
    flip = np.array(data.draw(st.tuples(*[st.sampled_from([1.0, -1.0])] * task.dim)))
    run = follow(task.signal, W0, eta, dynamics)
    flipped = follow(task.signal, flip[:, None] * W0 * flip, eta, dynamics)
    assert np.array_equal(flipped.W, flip[:, None] * run.W * flip)
    assert np.array_equal(flipped.half_times, run.half_times, equal_nan=True)
    assert flipped.psd_lost == run.psd_lost


@given(starts(dynamics=("euler", "gd")), st.integers(-6, 6))
def test_rescaling_time_by_a_power_of_two_changes_no_bit(start, m):
    """Only eta a occurs in the maps; a power of two is exact in floats."""
    task, W0, eta, dynamics = start
    run = follow(task.signal, W0, eta, dynamics)
    scaled = follow(task.signal * 2.0**m, W0, eta * 2.0**-m, dynamics)
    assert np.array_equal(scaled.W, run.W)
    assert np.array_equal(scaled.half_times, run.half_times, equal_nan=True)


@given(starts(dynamics=("flow",)), st.sampled_from([0.25, 1.0, 3.0]))
def test_equal_signals_have_a_closed_form_under_the_flow(start, a):
    """W(t) = e^(2at) W0 (I + (e^(2at) - 1) W0)^(-1), evaluated on the eigenvalues of W0."""
    task, W0, _, _ = start
    eta = 0.01
    run = follow([a] * task.dim, W0, eta, "flow")
    for step in (0, 10, STEPS // 2, STEPS):
        grown = np.exp(2 * a * eta * step)
        values, vectors = np.linalg.eigh(W0)
        expected = vectors * (grown * values / (1 + (grown - 1) * values)) @ vectors.T
        # Rounding of W0 grows along with W, by up to e^(2at).
        assert np.abs(run.W[step] - expected).max() <= ROUNDING + 100 * grown * 2.0**-52


@given(starts(dynamics=("gd", "flow")))
def test_gd_and_the_flow_stay_positive_semidefinite(start):
    """W = U U^T under both, so no eigenvalue is negative beyond rounding."""
    task, W0, eta, dynamics = start
    run = follow(task.signal, W0, eta, dynamics)
    assert run.psd_lost is None
    assert np.linalg.eigvalsh(run.W).min() >= -ROUNDING


# W(0) may have pivots below the rounding of floats: the promise is about any W(0) near it, too.
@pytest.mark.filterwarnings("ignore:rounding moves:swingby.errors.SwingbyWarning")
@settings(max_examples=settings.default.max_examples if FULL else 4)
@given(satisfying("repaired"))
def test_the_repaired_theorems_promise_what_the_flow_does(setting):
    """Every w_kk is above 0.8 by the step promised, and no entry exceeds the peak promised."""
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
