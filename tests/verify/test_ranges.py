"""Ranges and shares from omega, against runs of a NumPy loop that is not the package's.

A share of n runs is compared by the exact binomial test, at 1 %. All seeds are fixed.
"""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats

from benchmarks.ranges import observed_half_times
from swingby.cli import run
from swingby.errors import InvalidInput
from swingby.theory.gaussian import CLOSED, FULL, LEADING, MANY_STARTS, gaussian_times
from swingby.theory.law.stages import stage_laws
from swingby.theory.task import SIMTask
from swingby.verify.check import check
from swingby.verify.predict import predict, predict_gaussian
from swingby.verify.predict_batch import predict_batch

#: The tutorial's own setting, the example of ``swingby predict --help``, and one of step .05.
TUTORIAL = ((1.6156, 0.7525, 0.3358), 3, 0.01, 1e-6)
HELP = ((4, 1), 2, 0.01, 1e-8)
COARSE = ((4, 2, 1), 3, 0.0125, 1e-4)


def agrees(count, runs, share):
    """A count of runs is one that a share of all makes likely."""
    return scipy.stats.binomtest(int(count), runs, share).pvalue > 0.01


@pytest.mark.parametrize(
    ("setting", "dynamics", "basis"),
    [
        (TUTORIAL, "euler", LEADING),
        (HELP, "euler", LEADING),
        (COARSE, "euler", LEADING),
        (((8, 4, 2, 1), 4, 0.00625, 1e-6), "euler", LEADING),
        (COARSE, "gd", CLOSED),
        (((2, 1.9), 2, 0.01, 1e-4), "gd", FULL),
        (((2, 1.9), 2, 0.01, 1e-4), "flow", FULL),
        (((4, 2, 1), 3, 0.025, 1e-2), "euler", FULL),
    ],
    ids=str,
)
def test_ranges_and_shares_are_those_of_runs(setting, dynamics, basis):
    (signal, width, eta, omega), runs = setting, 300
    with np.errstate(all="ignore"):
        times = observed_half_times(*setting, dynamics, runs, np.random.default_rng(2))
    schedule = predict(list(signal), omega=omega, width=width, eta=eta, dynamics=dynamics)
    low, high = schedule.spread
    assert schedule.gaussian.basis == basis
    for k, seen in enumerate(times.T):
        never = schedule.never[k]
        assert agrees(np.isinf(seen).sum(), runs, never), (k, never)
        assert math.isinf(high[k]) == (never > 0.05)
        inside = ((seen >= low[k]) & (seen <= high[k])).sum()
        assert agrees(inside, runs, 0.9 if math.isfinite(high[k]) else 0.95), (k, inside)


def test_a_warning_says_why_starts_never_learn_a_concept():
    signal, width, eta, omega = HELP
    schedule = predict(signal, omega=omega, width=width, eta=eta, dynamics="euler")
    (warning,) = schedule.warnings
    assert warning.startswith("28% +- 1.4% of the starts never learn concept 2: ")
    assert "eta^2 B W B" in warning
    assert "dynamics='gd'" in warning
    text = schedule.to_grid().to_text(width=200)
    assert "899 to never    28% +- 1.4%" in text
    assert LEADING in text
    assert "28% +- 1.4% never" in str(check(signal, omega=omega, eta=eta, dynamics="euler"))
    for dynamics in ("gd", "flow"):
        other = predict(signal, omega=omega, eta=eta, dynamics=dynamics)
        assert (other.warnings, other.never.tolist()) == ((), [0, 0])


def test_a_passage_of_0_8_has_the_range_of_its_half_time():
    """logit(.8) = log 4 later at the rate of a small W; none where stages are not apart."""
    growth = np.log1p([2 * 0.01 * 4, 2 * 0.01])
    apart = predict(HELP[0], omega="1e-8", eta=0.01, dynamics="euler")
    for k in (0, 1):
        half, high = (event for event in apart.events if event.entry == (k, k))
        later = math.log(4) / growth[k]
        assert (half.event, high.event) == ("half", "0.8")
        assert high.time == pytest.approx(half.time + later)
        assert high.spread == pytest.approx([end + later for end in half.spread])
    near = predict(HELP[0], omega=0.1, eta=0.01, dynamics="euler")
    assert {event.event for event in near.events} == {"half"}
    for schedule in (apart, near):
        assert not any(math.isnan(event.spread[0]) for event in schedule.events)


def test_the_command_gives_the_shares(capsys):
    arguments = ["--signal", "4,1", "--omega", "1e-8", "--eta", "0.01", "--dynamics", "euler"]
    assert run(["predict", *arguments, "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["basis"] == LEADING
    first, second = content["never"]
    assert first == 0
    assert 0.25 < second < 0.31
    assert content["never_error"][1] < 0.03


def test_small_pivots_of_the_drift_shrink_with_eta():
    etas = ("0.01", "0.001", "1e-5")
    never = [predict(HELP[0], omega=1e-8, eta=eta, dynamics="euler").never[1] for eta in etas]
    assert never[0] > never[1] > never[2]
    # The drift is of order eta and the pivot a chi-square of 1: the share goes as sqrt(eta).
    assert never[0] / never[1] == pytest.approx(math.sqrt(10), rel=0.15)


@pytest.mark.parametrize("dynamics", ["euler", "gd", "flow"])
def test_from_a_matrix_the_share_is_one_or_zero(dynamics):
    parallel = predict([4, 1], U0=[[1e-3], [1e-3]], eta=0.01, dynamics="gd")
    assert parallel.never.tolist() == [0, 1]
    assert predict([4, 1], np.eye(2) * 1e-3, eta=0.01, dynamics=dynamics).never.tolist() == [0, 0]
    # Out of the range of the law nothing is said.
    coarse = predict([4, 1], np.eye(2) * 1e-3, eta=0.2, dynamics="gd")
    assert np.isnan(coarse.never).all()
    assert np.isinf(coarse.never_error).all()


def test_the_closed_law_ends_with_the_first_runaway():
    # Under euler concept 2 drifts below zero and runs away before 3 could be learned.
    W0 = 1e-6 * np.array([[1, 0.9999, 0.1], [0.9999, 1, 0.1], [0.1, 0.1, 1]])
    full, leading = (
        predict_batch([4.0, 2.0, 1.0], W0, 0.0125, "euler", accuracy=accuracy)
        for accuracy in ("full", "leading")
    )
    assert np.isfinite(leading.crossing).tolist() == np.isfinite(full.crossing).tolist()
    assert leading.crossing[0] == pytest.approx(full.crossing[0], abs=1)
    assert leading.trapped.tolist() == [False, True, False]
    assert leading.blow_up == pytest.approx(full.blow_up, rel=0.1)


@pytest.mark.parametrize("dynamics", ["euler", "gd"])
def test_the_leading_law_is_the_full_one_where_stages_are_apart(dynamics):
    signal, width, eta, omega = COARSE
    task, n, d = SIMTask.from_signal(signal), 2000, 3
    times = gaussian_times(task, Fraction(omega) / width, width, Fraction(eta), dynamics)
    assert times.apart
    U = np.random.default_rng(3).standard_normal((n, d, width)) / math.sqrt(width)
    start = (U @ U.swapaxes(1, 2), np.full(n, eta), np.full(n, math.log(omega)))
    crossing = stage_laws(np.broadcast_to(task.signal, (n, d)), *start, dynamics).crossing
    crossing = np.where(np.isnan(crossing), np.inf, crossing)
    for level, quantile in zip((0.1, 0.5, 0.6), times.quantile([0.1, 0.5, 0.6]), strict=True):
        for k in range(d):
            # The closed law comes half a step late.
            assert agrees((crossing[:, k] + 0.5 <= quantile[k]).sum(), n, level)


def test_means_are_over_the_starts_that_learn():
    times = predict_gaussian([4, 1], "1e-4", 2, eta=0.01, dynamics="euler")
    assert times.drawn.shape == (MANY_STARTS, 2)
    learned = times.drawn[np.isfinite(times.drawn[:, 1]), 1]
    assert times.mean[1] == pytest.approx(learned.mean())
    assert times.sd[1] == pytest.approx(learned.std())
    assert times.quantile(0.9)[1] == math.inf
    assert "28% +- 1.4%" in str(times)
    with pytest.raises(InvalidInput, match="must be resolved by 4093 drawn starts"):
        times.quantile(1e-6)


def test_free_directions_and_wide_factors():
    for width in (2, 5):
        schedule = predict([4, 1, 0], omega="1e-6", width=width, eta=0.01, dynamics="euler")
        expected = predict([4, 1], omega="1e-6", width=width, eta=0.01, dynamics="euler")
        assert schedule.never[2] == 1
        assert np.allclose(schedule.never[:2], expected.never, atol=0.02)
        assert len(schedule.warnings) == (1 if expected.never[1] else 0)
    wide = predict([4, 1], omega="1e-6", width=10**9, eta=0.01, dynamics="euler")
    assert wide.never.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("signal", "eta", "dynamics", "reason"),
    [
        ([4, 1], 0.2, "gd", "eta a_max is above 0.5"),
        (list(range(1, 34)), 0.001, "euler", "not followed for more than 32 concepts"),
    ],
)
def test_where_nothing_is_claimed(signal, eta, dynamics, reason):
    schedule = predict(signal, omega="1e-6", eta=eta, dynamics=dynamics)
    assert schedule.warnings[0].startswith("out of range: ")
    assert reason in schedule.warnings[0]
    assert np.isnan([schedule.half_times, *schedule.spread, schedule.never]).all()
    assert str(schedule)


def test_many_concepts_that_overlap_are_called_rough():
    schedule = predict(list(range(1, 13)), omega="1e-3", eta=0.001, dynamics="gd")
    assert schedule.warnings[0].startswith("rough: ")
    assert schedule.gaussian.basis == CLOSED
    # What only the leading law knows is not shown.
    assert {event.event for event in schedule.events if not math.isnan(event.time)} == {"half"}
