"""predict: the Schedule, its events, its lemma windows, its refusals."""

import math

import numpy as np
import pytest

from swingby.errors import InvalidInput
from swingby.simulate.run import simulate
from swingby.theory.initial import Scaled
from swingby.theory.task import SIMTask
from swingby.verify.predict import predict

TASK = SIMTask.from_signal([4, 1])
W0 = np.array([[2e-6, 1e-6], [1e-6, 2e-6]])
INSIDE = Scaled([[2, 1], [1, 2]], "1e-90")


def events_of(schedule, entry):
    return {event.event: event for event in schedule.events if event.entry == entry}


@pytest.mark.parametrize("dynamics", ["euler", "gd", "flow"])
def test_events_are_those_of_a_run(dynamics):
    schedule = predict(TASK, W0, eta=0.01, dynamics=dynamics)
    run = simulate(TASK, W0, 0.01, dynamics=dynamics)
    assert np.array_equal(schedule.half_times, run.half_times)
    assert np.array_equal(schedule.spread, [schedule.half_times] * 2)
    assert (schedule.dynamics, schedule.gaussian) == (dynamics, None)
    assert "events" not in vars(schedule)  # half-times do not wait for them
    for k in range(2):
        high = events_of(schedule, (k, k))["0.8"]
        assert abs(high.time - run.first_reach(0.8)[k]) <= 1
    minor = events_of(schedule, (0, 1))
    (peak,) = run.peaks
    assert abs(minor["peak"].time - peak.step) <= 1
    assert minor["peak height"].time == pytest.approx(abs(peak.value), rel=0.01)
    assert abs(minor["suppressed"].time - peak.suppressed) <= 2
    end = events_of(schedule, (-1, -1))["end"]
    assert abs(end.time - run.end) <= 2
    labels = ["w_11"] * 2 + ["w_22"] * 2 + ["w_12"] * 3 + ["all"]
    assert [event.label for event in schedule.events] == labels
    frame = schedule.to_frame()
    assert frame.columns.tolist() == [
        "entry",
        "event",
        "time",
        "lower",
        "upper",
        "error",
        "closed_form",
    ]
    assert frame["entry"].tolist() == labels


def test_turns_of_the_test_loss_are_predicted():
    # Fig. 5 in essence: two concepts, a loss that falls, rises and falls.
    task = SIMTask([1, 2], 0)
    start = [[0.01, 0.009], [0.009, 0.02]]
    schedule = predict(task, start, eta=0.01, dynamics="gd")
    run = simulate(task, start, 0.01, dynamics="gd")
    predicted = [(e.event[5:], e.time) for e in schedule.events if e.event.startswith("loss")]
    observed = [(p.kind, p.step) for p in run.extrema if 0 < p.step < run.last_step]
    assert [kind for kind, _ in predicted] == [kind for kind, _ in observed]
    assert len(predicted) == 2
    for (_, time), (_, step) in zip(predicted, observed, strict=True):
        assert abs(time - step) <= 2
    label = next(event.label for event in schedule.events if event.event == "loss min")
    assert label == "loss"


def test_evaluate_and_test_loss_are_those_of_a_run():
    schedule = predict(TASK, W0, eta=0.01, dynamics="gd")
    run = simulate(TASK, W0, 0.01, 1500, "gd")
    assert np.abs(schedule.evaluate(run.steps) - run.W).max() < 1e-3
    assert np.abs(schedule.test_loss(run.steps) - run.test_loss).max() < 1e-3 * run.test_loss[0]
    assert schedule.evaluate(10.0).shape == (1, 2, 2)


@pytest.mark.parametrize("t", [-1, [0, -1], float("nan"), float("inf"), [[0, 1]], "soon", []])
def test_evaluate_refuses_times_that_are_none(t):
    with pytest.raises(InvalidInput, match=r"^t must"):
        predict(TASK, W0, eta=0.01).evaluate(t)


def test_from_omega_the_half_times_are_medians_between_their_quantiles():
    schedule = predict(TASK, omega="1e-8", eta=0.01, width=4, dynamics="gd")
    low, high = schedule.spread
    assert (low < schedule.half_times).all()
    assert (schedule.half_times < high).all()
    assert schedule.gaussian.width == 4
    assert schedule.stages is None
    assert predict(TASK, omega="1e-8", eta=0.01).gaussian.width == 2
    with pytest.raises(InvalidInput, match="W0 must be given to evaluate"):
        schedule.evaluate(0)


def test_the_level_0_8_comes_log_4_over_the_growth_after_the_median():
    # logit(0.8) = log 4.
    schedule = predict(TASK, omega="1e-8", eta=0.01, dynamics="flow")
    for k, a in enumerate((4, 1)):
        events = events_of(schedule, (k, k))
        gap = events["0.8"].time - events["half"].time
        assert gap == pytest.approx(math.log(4) / (0.02 * a), rel=1e-12)


def test_windows_of_the_lemmas_lie_beside_inside_the_assumptions():
    # A finding about the paper: its own window of the half-time (T_1 of Lemma D.3) misses.
    printed = predict(TASK, INSIDE, eta="1/1000", dynamics="gd")
    corrected = predict(TASK, INSIDE, eta="1/1000", dynamics="gd", edition="corrected")
    assert "kappa" in printed.window_reason
    for k in range(2):
        half_time = printed.half_times[k]
        early, right = (events_of(s, (k, k))["half"] for s in (printed, corrected))
        assert early.lower < early.upper < half_time
        assert right.lower < half_time < right.upper
        assert early.lower == right.lower
    height = events_of(printed, (0, 1))["peak height"]
    assert height.lower == 0 < height.time < height.upper < 1


def test_windows_from_omega_span_the_starts_that_beta_allows():
    narrow = predict(TASK, omega="1e-90", beta=2, eta="1/1000", dynamics="gd")
    exact = predict(TASK, INSIDE, eta="1/1000", dynamics="gd")
    for k in range(2):
        wide, tight = (events_of(s, (k, k))["half"] for s in (narrow, exact))
        assert wide.lower == pytest.approx(tight.lower, rel=1e-12)  # both start at 2e-90 at most
        assert wide.upper > tight.upper  # at least 1e-90, against 2e-90


@pytest.mark.parametrize(
    ("task", "start", "eta", "reason"),
    [
        (TASK, W0, "1/1000", "Assumption D.4 fails"),
        (TASK, INSIDE, "1/700", "Assumption D.2 fails"),
        (SIMTask.from_signal([2, 1]), INSIDE, "1/1000", "Assumption D.5 fails"),
        (TASK, np.diag([1e-90, 1e-90]), "1/1000", "zero entry"),
        (SIMTask([2], 0, 2), INSIDE, "1/1000", "Assumption D.1 fails"),
    ],
)
def test_outside_the_assumptions_windows_are_nan_with_a_reason(task, start, eta, reason):
    schedule = predict(task, start, eta=eta, dynamics="gd")
    assert reason in schedule.window_reason
    for event in schedule.events:
        assert math.isnan(event.lower)
        assert math.isnan(event.upper)


def test_a_free_direction_is_never_learned():
    task = SIMTask([1, 2], 0, 4)
    schedule = predict(task, 1e-3 * np.eye(4), eta=0.01, dynamics="gd")
    assert schedule.half_times[2:].tolist() == [math.inf, math.inf]
    assert not schedule.trapped.any()
    event = events_of(schedule, (3, 3))["half"]
    assert event.time == math.inf
    assert "free direction" in event.reason
    medians = predict(task, omega="1e-6", eta=0.01).half_times
    assert np.isinf(medians).tolist() == [False, False, True, True]


def test_equal_signals_and_a_large_omega_are_warned_of():
    task = SIMTask.from_signal([1, 1])
    assert any("equal signals" in text for text in predict(task, omega="1e-6", eta=0.01).warnings)
    # A W(0) decides itself which of them comes first.
    assert predict(task, W0, eta=0.01).warnings == ()
    apart = predict(SIMTask.from_signal([2, 5, 2, 0]), omega="1e-6", eta=0.01)
    assert apart.warnings == ("concepts 1 and 3 have equal signals: their order is undecided",)
    large = predict(TASK, omega="0.5", eta=0.01, dynamics="gd")
    assert large.warnings == (
        "out of range: omega is at least 0.5, so many entries start above 1/2",
    )
    nothing = [large.half_times, *large.spread, large.never, large.closed_form]
    assert np.isnan(nothing).all()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"W0": None}, "one of W0, U0 and omega must be given"),
        ({"omega": "1e-3"}, "one of W0, U0 and omega must be given, got W0 and omega"),
        ({"eta": 0}, "eta must be positive"),
        ({"eta": "nan"}, "eta must be a number"),
        ({"eta": "1e-400"}, "eta must lie in the float range"),
        ({"dynamics": "adam"}, "dynamics must be one of"),
        ({"edition": "repaired"}, "edition must be printed or corrected"),
        ({"W0": np.eye(3)}, "W0 must have shape"),
        ({"W0": [[1, 2], [0, 1]]}, "W0 must be symmetric"),
        ({"W0": None, "omega": 0}, "omega must be positive"),
        ({"W0": None, "omega": "1e-3", "beta": 0.5}, "beta must be at least 1"),
        ({"W0": None, "omega": "1e-3", "width": 1}, "width must be at least 2"),
        ({"W0": None, "omega": "1e-3", "width": 0}, "width must be at least 1"),
        ({"W0": None, "omega": "1e-3", "width": 2.5}, "width must be a whole number"),
    ],
)
def test_wrong_input_is_named(arguments, named):
    with pytest.raises(InvalidInput, match=named):
        predict(**{"task": TASK, "W0": W0, "eta": 0.01, **arguments})


@pytest.mark.parametrize("eta", ["1e-20", "1e-100", "1e-300"])
@pytest.mark.parametrize("dynamics", ["euler", "gd", "flow"])
def test_a_step_size_however_small_has_half_times_and_bars(eta, dynamics):
    """The logit of w_kk grows by 2 a_k, so that it is 0 at log(1/w_kk(0) - 1) / (2 a_k)."""
    signal, start = [4, 2, 552], [1e-3, 1e-8, 1e-3]
    schedule = predict(SIMTask.from_signal(signal), np.diag(start), eta=eta, dynamics=dynamics)
    expected = np.log(1 / np.array(start) - 1) / (2 * np.array(signal)) / float(eta)
    assert (np.abs(schedule.half_times - expected) <= schedule.error + 1).all()
    assert (schedule.error <= 1e-9 * expected).all()
    assert not schedule.warnings
