"""Runs in float64 against certificates: every difference is explained by rounding.

What "explained" means, and why no other difference can come from rounding, stands in the module.
"""

import warnings
from dataclasses import replace
from fractions import Fraction

import flint
import numpy as np
import pytest

from swingby.errors import InvalidInput, SwingbyWarning
from swingby.proofs.certify.certify import certify
from swingby.proofs.certify.float_differences import FLOAT_BITS, differences, float_states
from swingby.simulate.run import simulate
from swingby.theory.initial import Scaled
from swingby.theory.task import SIMTask
from tests.forked import FULL


def instance(rng):
    """Signals, a matrix of any rank, omega from 1e-2 to 1e-60, eta."""
    d = int(rng.integers(2, 5))
    signal = np.sort(rng.integers(1, 9, d))[::-1].tolist()
    rank = int(rng.integers(1, d + 3))
    thin, full = rng.integers(-3, 4, (d, rank)), 2 * np.eye(d) + rng.integers(-1, 2, (d, d))
    U = thin if rank < d else full
    matrix = (U @ U.T).astype(float)
    matrix += 0 if matrix.any() else np.eye(d)
    omega = f"1e-{int(rng.integers(2, 61))}"
    eta = ("1/50", "1/100", 0.01, "1/200", "1/10")[int(rng.integers(0, 5))]
    return SIMTask.from_signal(signal), Scaled(matrix, omega), eta


def both(task, W0, eta, dynamics, steps=None):
    certificate = certify(task, W0, eta, dynamics, steps)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SwingbyWarning)
        run = simulate(task, W0, eta, max(1, certificate.steps), dynamics)
    return certificate, run


@pytest.mark.parametrize("dynamics", ["euler", "gd"])
@pytest.mark.parametrize("seed", range(30 if FULL else 6))
def test_nothing_is_unexplained(seed, dynamics):
    listed = differences(*both(*instance(np.random.default_rng(seed)), dynamics))
    assert [str(difference) for difference in listed if not difference.explained] == []


@pytest.mark.parametrize("dynamics", ["euler", "gd"])
def test_the_balls_contain_the_run(dynamics):
    # The derivation above, looked at: every recorded step of every entry, and not idly so.
    for seed in range(40, 48 if FULL else 43):
        task, W0, eta = instance(np.random.default_rng(seed))
        certificate, run = both(task, W0, eta, dynamics)
        at = dict(zip(run.steps.tolist(), run.W, strict=True))
        with flint.ctx.workprec(FLOAT_BITS):
            for state in float_states(certificate, min(certificate.steps, 400)):
                if state.step not in at:
                    continue
                for i in range(task.dim):
                    for j in range(task.dim):
                        value = float(at[state.step][i, j])
                        if abs(value) > 1e-290:
                            assert state.W[i][j].contains(value)
                    assert state.step > 20 or float(state.W[i][i].rad()) < 1e-10


def test_a_level_that_is_hit_exactly_is_told():
    # w(1) = w + h w (1 - w) = 1/2 exactly for h = (1/2 - w)/(w (1 - w)); float64 rounds some of
    # them to below 1/2.
    missed = []
    for n in range(7, 60, 2):
        w = Fraction(1, n)
        eta = (Fraction(1, 2) - w) / (w * (1 - w)) / 2
        certificate, run = both(SIMTask.from_signal([1]), Scaled([[1]], w), eta, "euler")
        assert certificate.half_times == (1,)
        if run.half_times[0] != 1:
            missed.append(differences(certificate, run))
    assert missed
    for listed in missed:
        half = next(difference for difference in listed if difference.what == "w_11 reaches 1/2")
        assert (half.certified, half.found, half.explained) == (1, 2, True)
        assert "w_11 at step 1 is 1/2 to within " in half.explanation


@pytest.fixture(scope="module")
def pair():
    task, matrix = SIMTask.from_signal([4, 2, 1]), [[2, 1, 1], [1, 2, 1], [1, 1, 2]]
    return both(task, Scaled(matrix, "1e-6"), "1/100", "euler")


def test_equal_events_give_nothing(pair):
    assert differences(*pair) == ()


def with_half_time(run, shift):
    times = {level: steps.copy() for level, steps in run.level_times.items()}
    times[0.5][1] += shift
    return replace(run, level_times=times)


def with_peak(run, shift):
    *peaks, last = run.peaks
    return replace(run, peaks=(*peaks, last._replace(step=last.step + shift)))


def with_end(run, number):
    W = run.W.copy()
    W[-1, 0, 1] = W[-1, 1, 0] = number
    return replace(run, W=W)


@pytest.mark.parametrize(
    ("what", "change", "by"),
    [
        *(("w_22 reaches 1/2", with_half_time, shift) for shift in (-1, 1, 40, np.nan)),
        *(("peak of w_23", with_peak, shift) for shift in (-1, 1, 30)),
        *(("w_12 at step", with_end, number) for number in (2e-9, np.nan)),
    ],
)
def test_what_is_off_or_missing_is_unexplained(pair, what, change, by):
    certificate, run = pair
    (difference,) = differences(certificate, change(run, by))
    assert difference.what.startswith(what)
    assert (difference.explained, difference.explanation) == (False, "unexplained")
    if "end" not in change.__name__:
        assert difference.found == (None if np.isnan(by) else difference.certified + by)


def test_a_loss_that_is_off_is_unexplained(pair):
    (difference,) = differences(pair[0], replace(pair[1], psd_lost=300))
    assert (difference.certified, difference.found, difference.explained) == (None, 300, False)
    # A clear loss that the run did not see, or saw late.
    certificate, run = both(
        SIMTask.from_signal([4, 1]), Scaled([[1, 1], [1, 1]], "1e-3"), "1/50", "euler"
    )
    assert certificate.first_loss == run.psd_lost == 1
    for late in (None, 40):
        (difference,) = differences(certificate, replace(run, psd_lost=late))
        assert (difference.certified, difference.found, difference.explained) == (1, late, False)


def test_a_loss_below_the_bar_of_the_kernels_is_explained():
    # Rank one with signals that differ by 1e-9: the pivot falls by about (eta (a_1 - a_2))^2 of
    # w_22 per step, 1e-22, and the kernels count a pivot below -8 d 2^-52 only.
    task = SIMTask.from_signal([Fraction(1) + Fraction(1, 10**9), 1])
    certificate, run = both(task, Scaled([[1, 1], [1, 1]], "1e-6"), "1/100", "euler", steps=50)
    assert (certificate.first_loss, run.psd_lost) == (1, None)
    (difference,) = differences(certificate, run)
    assert difference.explained
    assert "pivots" in difference.explanation


def test_an_entry_that_the_kernels_hold_as_zero_is_told():
    W0 = Scaled([[1, 1e-307], [1e-307, 1]], "1e-40")
    certificate, run = both(SIMTask.from_signal([4, 1]), W0, "1/50", "gd")
    assert certificate.peaks[0].step > run.peaks[0].step == 0
    (difference,) = differences(certificate, run)
    assert difference.explained
    assert "w_12(0), below 1e-299 sqrt(w_ii w_jj), is 0" in difference.explanation


def test_another_run_is_refused(pair):
    certificate, run = pair
    task = SIMTask.from_signal([4, 2, 1])
    matrix = [[2, 1, 1], [1, 2, 1], [1, 1, 2]]
    others = {
        "eta": simulate(task, Scaled(matrix, "1e-6"), "1/99", 5, dynamics="euler"),
        "W0": simulate(task, Scaled(matrix, "1e-7"), "1/100", 5, dynamics="euler"),
        "task": simulate(
            SIMTask.from_signal([4, 3, 1]), Scaled(matrix, "1e-6"), "1/100", 5, dynamics="euler"
        ),
        "dynamics": simulate(task, Scaled(matrix, "1e-6"), "1/100", 5, "gd"),
    }
    for name, changed in others.items():
        with pytest.raises(InvalidInput, match=name):
            differences(certificate, changed)
    # The float nearest to eta is the same eta.
    same = simulate(task, Scaled(matrix, "1e-6"), 0.01, certificate.steps, dynamics="euler")
    assert differences(certificate, same) == ()
    assert run.eta != same.eta


def test_steps_that_only_one_reached_are_not_compared(pair):
    certificate, _ = pair
    task, matrix = SIMTask.from_signal([4, 2, 1]), [[2, 1, 1], [1, 2, 1], [1, 1, 2]]
    W0 = Scaled(matrix, "1e-6")
    assert differences(certificate, simulate(task, W0, "1/100", 300, dynamics="euler")) == ()
    assert (
        differences(
            certify(task, W0, "1/100", steps=300, dynamics="euler"),
            simulate(task, W0, "1/100", dynamics="euler"),
        )
        == ()
    )
