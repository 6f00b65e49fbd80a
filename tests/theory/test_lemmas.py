"""Lemma windows: closed forms by hand, and runs inside the printed assumptions; Theorem 4.1.

The instance inside D.1-D.5 is a = (4, 1), omega = 1e-90, beta = 2, eta = 1/1000.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from swingby.errors import InvalidInput
from swingby.simulate.run import simulate
from swingby.testing import assert_lemmas
from swingby.theory import lemmas
from swingby.theory.initial import Scaled
from swingby.theory.lemmas import Scale
from swingby.theory.one_layer import one_layer_output
from swingby.theory.task import SIMTask
from swingby.verify.check import check

TASK = SIMTask.from_signal([4, 1])
START = Scaled([[2, 1], [1, 2]], "1e-90")
ETA = Fraction(1, 1000)
LN10 = math.log(10)

#: Round numbers for closed forms: P = e^100, beta = e, omega = e^-160.
ROUND = Scale(
    log_P=100.0, log_beta=1.0, log_omega=-160.0, kappa=1.25, K=20.0, alpha=0.5, gamma=8.0, eta=0.01
)


@pytest.mark.parametrize("edition", ["printed", "corrected"])
def test_windows_in_closed_form(edition):
    assert ROUND.log_initial_phase == lemmas.log_minor_bound(ROUND) == -59.0
    assert lemmas.final_band(ROUND) == (0.9, 1.1)  # 1 -+ 2/K
    # Lemma D.2: 100 / (2 * 0.01 * 8 * 0.5 * 1.25)
    assert lemmas.initial_phase_end(ROUND) == pytest.approx(1000.0, rel=1e-15)
    # (D.11): log(level / start) / (2 eta a kappa) = 50 / (0.02 * 2 * 1.25)
    assert lemmas.reach_not_before(ROUND, 2.0, -51.0, -1.0) == pytest.approx(1000.0, rel=1e-15)
    assert lemmas.reach_not_before(ROUND, 2.0, -1.0, -51.0) == 0.0
    # (D.35): w(t) >= w(0) exp(2 eta t a / kappa) = P beta omega at kappa log(...)/(2 eta a), with
    # kappa below in print.
    leave = lemmas.leave_initial_phase_by(ROUND, 2.0, -160.0, edition)
    factor = 1 / 1.25 if edition == "printed" else 1.25
    assert leave == pytest.approx(101 / 0.04 * factor, rel=1e-15)
    # (D.36): P beta omega exp(2 eta t a (1 - level)/kappa) = level; it says nothing above 1 - 1/K
    # or inside the initial phase.
    for level in (0.5, 0.8):
        after = (math.log(level) + 59.0) * 1.25 / (2 * 0.01 * 2.0 * (1 - level))
        found = lemmas.reach_by(ROUND, 2.0, -160.0, level, edition)
        assert found == pytest.approx(leave + after, rel=1e-14)
    for level in (0.95, 0.99, 1.0, math.exp(-59.0), math.exp(-80.0)):
        assert math.isnan(lemmas.reach_by(ROUND, 2.0, -160.0, level, edition))


@pytest.mark.parametrize("name", ["euler", "gd"])
def test_runs_keep_to_the_corrected_windows_and_the_printed_time_of_lemma_D3_is_too_early(name):
    """A finding about the paper: kappa belongs in the numerator of T_1 in Lemma D.3.

    At the printed T_1, w_ii is still inside the initial phase although all assumptions hold, and
    the printed window of the half-time ends before the half-time.
    """
    report = check(TASK, W0=START, eta=ETA)
    scale = report.constants.exact.scale(report.omega, report.eta)
    run = simulate(TASK, START, ETA, dynamics=name)
    assert (run.steps <= lemmas.initial_phase_end(scale)).sum() > 100
    assert_lemmas(run, report)
    log_start = math.log(2) - 90 * LN10
    for k, a in enumerate((4.0, 1.0)):
        printed = lemmas.leave_initial_phase_by(scale, a, log_start, "printed")
        at_printed = run.W[np.searchsorted(run.steps, printed) - 1, k, k]
        assert math.log(at_printed) < scale.log_initial_phase
        assert lemmas.reach_by(scale, a, log_start, 0.5, "printed") < run.half_times[k]


# Theorem 4.1.


def test_the_one_layer_model_solves_the_flow_of_its_loss():
    task = SIMTask([1, 2], [0.5, 0.1], dim=3)
    generator = np.random.default_rng(0)
    W0, z = generator.standard_normal((3, 3)), generator.standard_normal(3)
    A = np.diag(task.signal)

    def speed(_, flat):
        return (A - flat.reshape(3, 3) @ A).ravel()  # -(C.15)

    times = np.linspace(0, 3, 7)
    solved = solve_ivp(speed, (0, 3), W0.ravel(), t_eval=times, rtol=1e-11, atol=1e-12)
    expected = solved.y.T.reshape(-1, 3, 3) @ z
    assert np.allclose(one_layer_output(task, W0, times, z), expected, atol=1e-9)
    assert np.allclose(one_layer_output(task, W0, [1e4])[0], task.test_point)
    with pytest.raises(InvalidInput, match="W0"):
        one_layer_output(task, np.zeros((2, 2)), [0])
    with pytest.raises(InvalidInput, match="z"):
        one_layer_output(task, W0, [0], z=[1])
