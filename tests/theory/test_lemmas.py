"""Lemma windows: closed forms by hand, and runs inside the printed assumptions.

The instance inside D.1-D.5 is a = (4, 1), omega = 1e-90, beta = 2, eta = 1/1000.
"""

import functools
import math
from fractions import Fraction

import numpy as np
import pytest

from swingby.simulate.run import simulate
from swingby.theory import lemmas
from swingby.theory.initial import Scaled
from swingby.theory.lemmas import Scale
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


@functools.cache
def inside():
    """The constants that witness D.1-D.5, and the runs of both discrete maps."""
    report = check(TASK, W0=START, eta=ETA)
    assert report.holds
    exact = report.constants.exact
    scale = Scale(
        log_P=float(exact.log10_P) * LN10,
        log_beta=math.log(exact.beta),
        log_omega=-90 * LN10,
        kappa=float(exact.kappa),
        K=float(exact.K),
        alpha=float(exact.alpha),
        gamma=float(exact.gamma),
        eta=float(ETA),
    )
    runs = {name: simulate(TASK, START, ETA, dynamics=name) for name in ("euler", "gd")}
    return scale, runs


def test_the_initial_phase_ends_at_P_beta_omega():
    assert ROUND.log_initial_phase == -59.0
    assert lemmas.log_minor_bound(ROUND) == -59.0


def test_every_entry_is_in_the_initial_phase_for_log_P_over_two_eta_gamma_alpha_kappa_steps():
    # Lemma D.2: 100 / (2 * 0.01 * 8 * 0.5 * 1.25)
    assert lemmas.initial_phase_end(ROUND) == pytest.approx(1000.0, rel=1e-15)


def test_a_level_is_not_reached_before_growth_at_kappa_allows():
    # (D.11): log(level / start) / (2 eta a kappa) = 50 / (0.02 * 2 * 1.25)
    assert lemmas.reach_not_before(ROUND, 2.0, -51.0, -1.0) == pytest.approx(1000.0, rel=1e-15)
    assert lemmas.reach_not_before(ROUND, 2.0, -1.0, -51.0) == 0.0


def test_the_time_to_leave_the_initial_phase_has_kappa_below_in_print_and_above_corrected():
    # (D.35): w(t) >= w(0) exp(2 eta t a / kappa) = P beta omega at kappa log(...)/(2 eta a).
    start = -160.0
    printed = lemmas.leave_initial_phase_by(ROUND, 2.0, start, "printed")
    corrected = lemmas.leave_initial_phase_by(ROUND, 2.0, start, "corrected")
    assert printed == pytest.approx(101 / 0.04 / 1.25, rel=1e-15)
    assert corrected == pytest.approx(101 / 0.04 * 1.25, rel=1e-15)
    assert lemmas.leave_initial_phase_by(ROUND, 2.0, start) == printed


@pytest.mark.parametrize("edition", ["printed", "corrected"])
@pytest.mark.parametrize("level", [0.5, 0.8])
def test_a_level_is_reached_by_the_sum_of_lemma_D3_and_lemma_D4(edition, level):
    # (D.36): P beta omega exp(2 eta t a (1 - level)/kappa) = level
    after = (math.log(level) + 59.0) * 1.25 / (2 * 0.01 * 2.0 * (1 - level))
    first = lemmas.leave_initial_phase_by(ROUND, 2.0, -160.0, edition)
    found = lemmas.reach_by(ROUND, 2.0, -160.0, level, edition)
    assert found == pytest.approx(first + after, rel=1e-14)


@pytest.mark.parametrize("level", [0.95, 0.99, 1.0, math.exp(-59.0), math.exp(-80.0)])
def test_lemma_D4_says_nothing_above_1_minus_1_over_K_or_inside_the_initial_phase(level):
    assert math.isnan(lemmas.reach_by(ROUND, 2.0, -160.0, level))


def test_the_final_band_is_one_plus_minus_two_over_K():
    assert lemmas.final_band(ROUND) == (0.9, 1.1)


@pytest.mark.parametrize("name", ["euler", "gd"])
def test_no_entry_leaves_the_initial_phase_before_lemma_D2_says(name):
    scale, runs = inside()
    run = runs[name]
    early = run.W[run.steps <= lemmas.initial_phase_end(scale)]
    assert len(early) > 100
    with np.errstate(divide="ignore"):
        assert (np.log(np.abs(early)) <= scale.log_initial_phase).all()


@pytest.mark.parametrize("name", ["euler", "gd"])
@pytest.mark.parametrize("level", [0.5, 0.8])
def test_the_corrected_windows_contain_the_observed_times(name, level):
    scale, runs = inside()
    observed = runs[name].first_reach(level)
    log_start = math.log(2) - 90 * LN10
    for k, a in enumerate((4.0, 1.0)):
        low = lemmas.reach_not_before(scale, a, log_start, math.log(level))
        high = lemmas.reach_by(scale, a, log_start, level, "corrected")
        assert low < observed[k] < high


@pytest.mark.parametrize("name", ["euler", "gd"])
def test_the_printed_time_of_lemma_D3_is_too_early(name):
    # A finding about the paper: at T_1 of Lemma D.3 as printed, w_ii is still inside the initial
    # phase although all printed assumptions hold; kappa belongs in the numerator.
    scale, runs = inside()
    run = runs[name]
    log_start = math.log(2) - 90 * LN10
    for k, a in enumerate((4.0, 1.0)):
        printed = lemmas.leave_initial_phase_by(scale, a, log_start, "printed")
        corrected = lemmas.leave_initial_phase_by(scale, a, log_start, "corrected")
        at_printed = run.W[np.searchsorted(run.steps, printed) - 1, k, k]
        at_corrected = run.W[np.searchsorted(run.steps, corrected), k, k]
        assert math.log(at_printed) < scale.log_initial_phase
        assert math.log(at_corrected) >= scale.log_initial_phase


@pytest.mark.parametrize("name", ["euler", "gd"])
def test_the_printed_window_of_the_half_time_ends_before_the_observed_half_time(name):
    scale, runs = inside()
    log_start = math.log(2) - 90 * LN10
    for k, a in enumerate((4.0, 1.0)):
        printed = lemmas.reach_by(scale, a, log_start, 0.5, "printed")
        assert printed < runs[name].half_times[k]


@pytest.mark.parametrize("name", ["euler", "gd"])
def test_minor_entries_stay_below_P_beta_omega(name):
    scale, runs = inside()
    for peak in runs[name].peaks:
        assert abs(peak.value) <= math.exp(lemmas.log_minor_bound(scale))


@pytest.mark.parametrize("name", ["euler", "gd"])
def test_learned_entries_stay_in_the_final_band(name):
    scale, runs = inside()
    low, high = lemmas.final_band(scale)
    run = runs[name]
    for k in range(2):
        # Lemma D.5 speaks of the time after 1 - 2/K has been reached.
        late = run.W[run.steps > run.first_reach(0.99)[k], k, k]
        assert (late >= low).all()
        assert (late <= high).all()
