"""Half-times over Gaussian U(0): against integration, scipy.stats and Monte Carlo."""

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import scipy.integrate
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from swingby.errors import InvalidInput, SwingbyWarning
from swingby.theory import gaussian
from swingby.theory.gaussian import gaussian_times
from swingby.theory.growth import growth_rates
from swingby.theory.task import SIMTask
from swingby.verify.predict import predict, predict_gaussian

TASK = SIMTask(["1", "3/2", "11/5"], ["1/20"] * 3)


@cache
def log_chi2_moments(freedom):
    """Mean and sd of log chi^2 by numerical integration over its density."""
    law = scipy.stats.chi2(freedom)

    def moment(function):
        # In y = log x, where the integrand is smooth.
        return scipy.integrate.quad(
            lambda y: function(y) * law.pdf(math.exp(y)) * math.exp(y), -60, 8, limit=400
        )[0]

    mean = moment(lambda y: y)
    return mean, math.sqrt(moment(lambda y: (y - mean) ** 2))


@pytest.mark.parametrize("width", [3, 5, 12])
@pytest.mark.parametrize("dynamics", ["gd", "flow"])
def test_mean_and_sd_are_those_of_log_chi_square(width, dynamics):
    tau, eta = 1e-4, 0.01
    times = predict_gaussian(TASK, tau, width, eta=eta, dynamics=dynamics)
    rate = np.diag(growth_rates(TASK.signal, eta, dynamics))
    for rank, k in enumerate((2, 1, 0)):  # by descending signal
        mean, sd = log_chi2_moments(width - rank)
        assert times.mean[k] == pytest.approx((-2 * math.log(tau) - mean) / rate[k], rel=1e-8)
        assert times.sd[k] == pytest.approx(sd / rate[k], rel=1e-6)


@pytest.mark.parametrize("eta", [10, 1e4, 1e300])
def test_coarse_steps_of_the_flow_leave_no_start_out(eta):
    # Its steps only measure time; where they are coarse, most starts were undecided and dropped.
    fine, coarse = (predict_gaussian(TASK, 0.05, 3, eta=e, dynamics="flow") for e in (0.01, eta))
    assert len(coarse.drawn) == len(fine.drawn) == gaussian.STARTS
    times = [law.quantile([0.05, 0.5, 0.95]) * float(law.eta) for law in (fine, coarse)]
    np.testing.assert_allclose(*times, rtol=2e-6)  # what the law itself keeps


@pytest.mark.parametrize("level", [0.01, 0.3, 0.5, 0.95])
def test_quantiles_are_those_of_the_chi_square(level):
    # A late half-time is a small pivot.
    tau, eta, width = 1e-3, 0.02, 4
    quantiles = predict_gaussian(TASK, tau, width, eta=eta).quantile(level)
    rate = np.diag(growth_rates(TASK.signal, eta, "gd"))
    for rank, k in enumerate((2, 1, 0)):
        pivot = tau**2 * scipy.stats.chi2(width - rank).ppf(1 - level)
        assert quantiles[k] == pytest.approx(-math.log(pivot) / rate[k], rel=1e-10)


def test_pivots_of_sampled_matrices_have_the_predicted_times():
    # Monte Carlo of Bartlett's decomposition: 4,000 Gaussian factors, pivots from numpy's
    # Cholesky factors; the bounds are five standard errors.
    runs, width, tau, eta = 4_000, 5, 1e-4, 0.01
    order = [2, 1, 0]
    U = tau * np.random.default_rng(1).standard_normal((runs, 3, width))
    ordered = U[:, order]
    pivots = np.diagonal(np.linalg.cholesky(ordered @ ordered.transpose(0, 2, 1)), 0, 1, 2) ** 2
    times = predict_gaussian(TASK, tau, width, eta=eta)
    rate = np.diag(growth_rates(TASK.signal, eta, "gd"))
    for rank, k in enumerate(order):
        sampled = -np.log(pivots[:, rank]) / rate[k]
        assert abs(sampled.mean() - times.mean[k]) < 5 * sampled.std() / math.sqrt(runs)
        assert abs(sampled.std() / times.sd[k] - 1) < 0.08
        low, high = times.quantile([0.1, 0.9])[:, k]
        assert abs(((sampled > low) & (sampled < high)).mean() - 0.8) < 5 * 0.4 / math.sqrt(runs)


def test_a_scale_below_the_float_range_only_shifts():
    within = predict_gaussian(TASK, "1e-4", 5, eta="0.01")
    below = predict_gaussian(TASK, "1e-404", 5, eta="0.01")
    rate = np.diag(growth_rates(TASK.signal, 0.01, "gd"))
    assert np.allclose(below.mean - within.mean, 800 * math.log(10) / rate, rtol=1e-12)
    assert np.array_equal(below.sd, within.sd)


def test_free_directions_are_never_learned_and_cost_no_freedom():
    task = SIMTask(["1", "3/2", "11/5"], ["1/20"] * 3, 5)
    times, expected = (predict_gaussian(each, 1e-3, 5, eta=0.01) for each in (task, TASK))
    assert np.array_equal(times.mean[:3], expected.mean)
    assert np.isinf(times.mean[3:]).all()
    assert np.isnan(times.sd[3:]).all()
    assert np.isinf(times.quantile(0.5)[3:]).all()


@given(st.permutations(range(3)))
def test_the_order_of_the_users_concepts_does_not_matter(order):
    signal = np.array([0.7, 3.0, 1.9])
    sorted_times = predict_gaussian(SIMTask.from_signal(signal), 1e-3, 4, eta=0.01)
    moved = predict_gaussian(SIMTask.from_signal(signal[list(order)]), 1e-3, 4, eta=0.01)
    assert np.array_equal(moved.mean, sorted_times.mean[list(order)])
    assert np.array_equal(moved.quantile(0.2), sorted_times.quantile(0.2)[list(order)])


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"width": 2}, "width must be at least 3"),
        ({"width": 10**10}, "width must be at most"),
        ({"scale": 0}, "scale"),
        ({"eta": -1}, "eta"),
        ({"dynamics": "sgd"}, "dynamics"),
    ],
)
def test_wrong_arguments_are_named(arguments, named):
    call = {"task": TASK, "scale": 1e-3, "width": 5, "eta": 0.01, **arguments}
    with pytest.raises(InvalidInput, match=named):
        predict_gaussian(**call)


@pytest.mark.parametrize("level", [0, 1, -0.1, float("nan"), [0.5, 0.0]])
def test_levels_outside_zero_and_one_are_refused(level):
    with pytest.raises(InvalidInput, match="level must lie strictly between 0 and 1"):
        predict_gaussian(TASK, 1e-3, 4, eta=0.01).quantile(level)


def test_omega_is_the_expected_diagonal_entry():
    # E w_ii(0) = width tau^2 = omega: the median of predict is the quantile at that scale.
    schedule = predict(TASK, omega="1e-8", width=5, eta=0.01, dynamics="gd")
    times = gaussian_times(TASK, Fraction(1, 5 * 10**8), 5, Fraction(0.01), "gd")
    assert np.array_equal(schedule.half_times, times.quantile(0.5))
    assert np.array_equal(schedule.spread, times.quantile([0.05, 0.95]))


def test_the_frame_has_one_row_per_concept():
    times = predict_gaussian(TASK, 1e-3, 5, eta=0.01)
    frame = times.to_frame()
    assert frame["never"].tolist() == [0, 0, 0]
    assert frame["concept"].tolist() == [1, 2, 3]
    assert np.array_equal(frame["median"], times.quantile(0.5))
    assert frame["q05"].lt(frame["q95"]).all()
    assert "mean" in str(times)


@pytest.mark.parametrize("scale", [0.8, 5.0])
def test_out_of_range_there_are_no_half_times(scale):
    with pytest.warns(SwingbyWarning, match="out of range: omega is at least 0.5"):
        times = predict_gaussian([4, 1], scale=scale, width=3, eta=0.01)
    assert np.isnan(times.mean).all()
    assert np.isnan(times.sd).all()
    assert np.isnan(times.quantile([0.05, 0.5])).all()
    assert "out of range" in str(times)


def test_no_half_time_is_negative_in_range():
    times = predict_gaussian([4, 1], scale=0.4, width=3, eta=0.01)
    assert not times.out_of_range
    assert (times.quantile([0.05, 0.5, 0.95]) >= 0).all()
    assert (times.mean >= 0).all()
    alone = predict_gaussian([1], scale=0.7, width=1, eta=0.01)
    assert (alone.quantile([0.05, 0.95]) >= 0).all()
