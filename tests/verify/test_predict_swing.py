"""predict_swing_batch against the scalar composite, runs, closed forms and the paper's figures.

And pieces, and what it refuses; test_predict_batch.py has what both batches promise.
"""

import dataclasses
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest

from swingby.errors import InvalidInput
from swingby.simulate.run import simulate
from swingby.theory.initial import Initial, Scaled, initial_matrix
from swingby.theory.law.stages import stage_law
from swingby.theory.task import SIMTask
from swingby.verify.paper_settings import figure_settings
from swingby.verify.predict_swing import BatchSwing, predict_swing_batch
from swingby.verify.predicted_events import curve_events
from tests.forked import FULL, sample
from tests.verify.conftest import starts as drawn_starts

DYNAMICS = ("euler", "gd", "flow")


def task_of(a, point=None):
    length = np.sqrt(len(a) * a) if point is None else point
    return SIMTask(length.tolist()).with_signal(a.tolist(), "drawn")


def composite(a, W, eta, dynamics, scale=Fraction(1)):
    """Descents and transient of the scalar composite."""
    events = curve_events(stage_law(task_of(a), Initial(W, scale), Fraction(float(eta)), dynamics))
    turns = [event.event for event in events if event.event.startswith("loss")]
    heights = {event.entry: event.time for event in events if event.event == "peak height"}
    return turns.count("loss max") + (turns[:1] != ["loss max"]), heights


@pytest.mark.parametrize("d", [3, *(pytest.param(d, marks=pytest.mark.full) for d in (2, 4, 6))])
@pytest.mark.parametrize("dynamics", sample(DYNAMICS))
def test_random_instances_agree_with_the_scalar_composite(dynamics, d, starts):
    instances = starts(10 if FULL else 6, d, seed=d, high=1e-3)
    batch = predict_swing_batch(*instances, dynamics)
    sure = np.flatnonzero(~batch.undecided & (batch.swing_margin > 1.1) & ~batch.diverges)
    assert len(sure) >= 3
    for number in sure:
        count, heights = composite(*(array[number] for array in instances), dynamics)
        assert batch.descents[number] == count, number
        assert batch.transient[number] == pytest.approx(max(heights.values()), abs=2e-4), number
        assert heights[tuple(batch.entry[number].tolist())] > max(heights.values()) - 2e-4


@pytest.mark.parametrize("d", [2, 3, pytest.param(5, marks=pytest.mark.full)])
@pytest.mark.parametrize(("dynamics", "least"), [("euler", 72), ("gd", 78), ("flow", 78)])
def test_runs_descend_as_often_as_predicted(dynamics, least, d, starts):
    signal, W0, eta = starts(80, d, seed=10 + d)
    batch = predict_swing_batch(signal, W0, eta, dynamics)
    assert (~batch.undecided).sum() >= least
    several = 0
    for number in range(80):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = simulate(
                task_of(signal[number]), W0[number], eta[number], dynamics=dynamics, record="none"
            )
        observed = run.descents()
        several += observed >= 2
        if batch.least_descents[number] >= 0:
            assert batch.least_descents[number] <= observed <= batch.most_descents[number], number
        if batch.undecided[number]:
            assert batch.descents[number] == -1
            continue
        assert batch.descents[number] == observed, number
        lost = str(run.outcome) not in ("converged", "trapped")
        assert batch.diverges[number] == lost, number
        if not lost:
            largest = max(run.peaks, key=lambda peak: abs(peak.value))
            assert batch.transient[number] == pytest.approx(abs(largest.value), abs=1e-3), number
    assert several >= 8


#: Fig. 5 shows two descents, Figs. 8 and 9 three and four; with a in place of a^2 fewer.
DESCENDED = {
    ("Fig. 5", "caption and code", "a^2", "euler"): 2,
    ("Fig. 5", "caption and code", "a", "euler"): 1,
    ("Fig. 8", "caption", "a", "gd"): 3,
    ("Fig. 8", "code", "a^2", "euler"): 3,
    ("Fig. 9", "caption", "a^2", "gd"): 4,
}


def test_the_figures_of_the_paper():
    expected, descended = dict(sample(DESCENDED.items(), 2)), {}
    for setting in figure_settings():
        key = (setting.figure, setting.parameters, setting.rates, setting.dynamics)
        if not FULL and key not in expected:
            continue
        assert not isinstance(setting.W0, Scaled)
        batch = predict_swing_batch(
            setting.task.signal,
            setting.W0,
            float(setting.eta),
            setting.dynamics,
            test_point=setting.task.test_point,
        )
        descended[key] = int(batch.descents)
        if batch.undecided:
            continue
        run = simulate(
            setting.task, setting.W0, setting.eta, dynamics=setting.dynamics, record="none"
        )
        assert batch.descents == run.descents(), setting.title
    assert descended.items() >= expected.items()
    assert list(descended.values()).count(-1) <= 3


def test_a_correlation_of_the_right_sign_is_a_swing_by_and_of_the_wrong_sign_is_none():
    # w_21 > 0 moves the output towards (1, 1) and is then suppressed: Sec. 4.2.2.
    W0 = np.array([[[2e-3, 1e-3], [1e-3, 2e-3]], [[2e-3, -1e-3], [-1e-3, 2e-3]]])
    batch = predict_swing_batch([4.0, 1.0], W0, 0.01, "flow")
    assert batch.descents.tolist() == [2, 1]
    assert batch.swing_by.tolist() == [True, False]
    assert batch.transient[0] == batch.transient[1]
    assert batch.entry.tolist() == [[0, 1], [0, 1]]
    # What only the direction of the test point decides: seen from (1, -1) it is the other way.
    opposite = predict_swing_batch([4.0, 1.0], W0, 0.01, "flow", test_point=[2.0, -1.0])
    assert opposite.descents.tolist() == [1, 2]


@pytest.mark.parametrize("dynamics", ["gd", "flow"])
def test_trapped_concepts_stay_at_zero(dynamics):
    # W(0) of rank one: the second and the third concept have no component.
    u = np.array([1.0, 0.5, 0.25])
    W0 = 2.0**-13 * np.outer(u, u)
    signal = np.array([3.0, 2.0, 1.0])
    batch = predict_swing_batch(signal, W0, 0.01, dynamics)
    assert not batch.undecided
    run = simulate(task_of(signal), W0, 0.01, dynamics=dynamics, record="none")
    assert str(run.outcome) == "trapped"
    assert batch.descents == run.descents()
    assert batch.transient == pytest.approx(max(abs(peak.value) for peak in run.peaks), abs=2e-3)


def test_a_negative_pivot_under_euler_diverges_after_the_predicted_descents():
    W0 = 1e-3 * np.array([[1.0, 0.999, 0.0], [0.999, 1.0, 0.0], [0.0, 0.0, 1.0]])
    signal = np.array([4.0, 2.0, 0.05])
    batch = predict_swing_batch(signal, W0, 0.02, "euler")
    assert batch.diverges
    assert not batch.undecided
    assert batch.transient == math.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = simulate(task_of(signal), W0, 0.02, record="none", dynamics="euler")
    assert str(run.outcome) in ("diverged", "psd_lost")
    assert batch.descents == run.descents()


def test_a_runaway_may_swing_on_its_way():
    # Its loss falls from 453 to 28 before it leaves the float range: two descents.
    signal, W0, eta = (array[14] for array in drawn_starts(80, 5, seed=15))
    batch = predict_swing_batch(signal, W0, eta, "euler")
    assert batch.diverges
    assert batch.least_descents <= 2 <= batch.most_descents


@np.errstate(all="ignore")
def largest_entries(signal, W, eta, dynamics):
    """Largest |w_ij| over a run by a loop of its own, nan after a runaway."""
    pair, largest = signal[:, None] + signal[None, :], 0.0
    for _ in range(4000):
        largest = max(largest, np.abs(W - np.diag(np.diag(W))).max())
        if dynamics == "gd":
            M = np.eye(len(W)) + eta * (np.diag(signal) - pair * W / 2)
            W = M @ W @ M.T
        else:
            pull = (pair * W) @ W
            W = W + eta * (pair * W - (pull + pull.T) / 2)
    return largest if np.isfinite(W).all() else math.nan


@pytest.mark.parametrize("dynamics", ["euler", "gd"])
def test_the_bar_of_the_transient_covers_at_coarse_steps(dynamics):
    signal, W0, _ = drawn_starts(40, 3, seed=1, high=1e-1)
    eta = np.random.default_rng(2).uniform(0.1, 0.5, 40)
    batch = predict_swing_batch(signal, W0, eta, dynamics)
    observed = [largest_entries(*x, dynamics) for x in zip(signal, W0, eta, strict=True)]
    both = np.isfinite(batch.transient) & np.isfinite(observed)
    assert both.sum() >= 15
    apart = np.abs(batch.transient - observed)[both]
    assert (apart <= batch.transient_error[both]).all()
    assert np.median(batch.transient_error[both]) < 0.02
    assert apart.max() > 1e-3


@pytest.mark.parametrize(
    ("signal", "W0", "eta", "dynamics"),
    [
        ([4.0, 1.0], 1e-3 * np.eye(2), 0.2, "euler"),  # eta a_max = 0.8
        ([4.0, 1.0], 1e-3 * np.eye(2), 0.2, "gd"),
    ],
)
def test_outside_the_range_of_the_law_nothing_is_said(signal, W0, eta, dynamics):
    batch = predict_swing_batch(signal, W0, eta, dynamics)
    assert batch.undecided
    assert batch.descents == batch.least_descents == batch.most_descents == -1
    assert np.isnan(batch.transient)
    assert np.isnan(batch.swing_margin)
    assert not batch.swing_by
    assert not batch.diverges


@pytest.mark.parametrize("dynamics", ["gd", "flow"])
def test_what_is_no_square_of_layers_is_refused(dynamics):
    with pytest.raises(InvalidInput, match="must be positive semidefinite for dynamics"):
        predict_swing_batch([4.0, 1.0], [[1e-3, 2e-3], [2e-3, 1e-3]], 0.01, dynamics)


def test_a_threshold_at_a_decisive_size_leaves_the_count_open(starts):
    signal, W0, eta = starts(60, 3, seed=4)
    batch = predict_swing_batch(signal, W0, eta, "flow")
    close = np.flatnonzero((batch.swing_margin < 50) & ~batch.undecided)
    assert len(close) >= 5
    for number in close:
        instance = (signal[number], W0[number], eta[number], "flow")
        margin = batch.swing_margin[number]
        moved = [predict_swing_batch(*instance, swing=1e-3 * margin**side) for side in (-1, 1)]
        at = min(moved, key=lambda one: one.swing_margin)
        assert at.swing_margin < at.needed_margin < 1.01
        assert at.undecided
        assert at.descents == -1
        assert at.most_descents == at.least_descents + 1
        # Well beyond it the count is the other one.
        side = -1 if at is moved[0] else 1
        beyond = predict_swing_batch(*instance, swing=1e-3 * (1.05 * margin) ** side)
        assert beyond.descents == batch.descents[number] - side


def test_smaller_thresholds_see_smaller_swings():
    W0, signal = np.array([[2e-3, 8e-4], [8e-4, 2e-3]]), np.array([4.0, 1.0])
    swings = (1e-1, 1e-3, 1e-5)
    batch = predict_swing_batch(signal, W0, 0.01, "flow", swing=swings)
    run = simulate(task_of(signal), W0, 0.01, dynamics="flow", record="none")
    assert batch.descents.tolist() == [run.descents(swing) for swing in swings] == [1, 1, 2]


def test_scales_below_the_float_range():
    W0 = [[2.0, 1.0], [1.0, 3.0]]
    batch = predict_swing_batch([2.0, 1.0], W0, 0.01, "gd", omega="1e-400")
    stages = stage_law(
        SIMTask.from_signal([2, 1]), initial_matrix(Scaled(W0, "1e-400"), 2), Fraction(0.01), "gd"
    )
    (height,) = [event.time for event in curve_events(stages) if event.event == "peak height"]
    assert batch.transient == pytest.approx(height, rel=1e-3)
    assert batch.descents == 1
    scales = predict_swing_batch([2.0, 1.0], W0, 0.01, "gd", log_scale=[-5.0, -50.0, -921.034])
    assert (np.diff(scales.transient) < 0).all()
    assert scales.transient[-1] == pytest.approx(batch.transient, rel=1e-3)


def test_pieces_are_put_together_in_order(monkeypatch, starts):
    signal, W0, eta = starts(23, 2, seed=8)
    together = predict_swing_batch(signal, W0, eta, "gd")
    monkeypatch.setattr("swingby.verify.predict_swing._TOGETHER", 20)
    pieces = predict_swing_batch(signal, W0, eta, "gd")
    for name in {field.name for field in dataclasses.fields(BatchSwing)} - {"dynamics"}:
        assert np.array_equal(getattr(pieces, name), getattr(together, name), equal_nan=True), name


GOOD = {"signal": [2.0, 1.0], "W0": [[1e-3, 0.0], [0.0, 1e-3]], "eta": 0.01}
#: What both batches read is refused in test_predict_batch.py.
BAD = {
    "dynamics": ["newton"],
    "signal": [[2.0, math.nan]],
    "swing": [0.0, -1e-3, 9e-10, math.nan, math.inf, "x"],
    "test_point": [[0.0, 0.0], [1.0, math.inf], [1.0, 1.0, 1.0], 1.0],
}


@pytest.mark.parametrize("argument", BAD)
def test_bad_input_is_refused_by_name(argument):
    for value in BAD[argument]:
        with pytest.raises(InvalidInput, match=argument):
            predict_swing_batch(**{**GOOD, argument: value})
