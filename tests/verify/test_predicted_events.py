"""Every event of a prediction, its error bar, and W(t), against plain loops over matrices."""

import functools
import math

import numpy as np
import pytest

from swingby import SIMTask, predict, simulate
from swingby.theory.initial import Scaled
from swingby.verify import turns_and_passages
from swingby.verify.predicted_events import Event, curve_events
from swingby.verify.turns_and_passages import Mark, locate, rival_passages, rival_tops
from tests.verify import plain_runs

FULL = pytest.mark.full
DYNAMICS = ("euler", "gd", "flow")


def schedule_of(a, U0, eta, dynamics):
    """W(0) as the loop has it: matrices step under euler, factors under gd and the flow."""
    start = {"W0": U0 @ U0.T} if dynamics == "euler" else {"U0": U0}
    return predict(SIMTask.from_signal(list(a)), **start, eta=eta, dynamics=dynamics)


def bars(a, U0, eta, dynamics):
    """(event, predicted, bar, observed) for all that both sides have, with the schedule and W."""
    W = plain_runs.trajectory(a, U0, eta, dynamics)
    times, turns = plain_runs.events(a, W), plain_runs.loss_turns(a, W, 1e-3)
    schedule = schedule_of(a, U0, eta, dynamics)
    loss = [event for event in schedule.events if event.event.startswith("loss")]
    pairs = [
        (event, times[event.entry, event.event]) for event in schedule.events if event not in loss
    ]
    if [event.event[5:] for event in loss] == [kind for _, kind in turns]:
        pairs += [(event, step) for event, (step, _) in zip(loss, turns, strict=True)]
    return (
        [
            (f"{event.label} {event.event}", event.time, event.error, observed)
            for event, observed in pairs
            if math.isfinite(event.time) and math.isfinite(event.error) and math.isfinite(observed)
        ],
        schedule,
        W,
    )


def member(rng, steps):
    """A random signal, U(0) of full rank and step size."""
    d = int(rng.integers(2, 5))
    a = rng.permutation(1 / np.cumprod(np.append(1.0, rng.uniform(1.1, 4.0, d - 1))))
    U0 = rng.standard_normal((d, d))
    U0 *= math.sqrt(np.exp(rng.uniform(*np.log([1e-6, 1e-1]))) * d / np.sum(U0**2))
    return a, U0, float(rng.uniform(*steps))


@pytest.mark.parametrize(
    ("count", "steps"),
    [(5, (0.1, 0.5)), (4, (0.02, 0.1))]
    + [pytest.param(70, steps, marks=FULL) for steps in ((0.1, 0.5), (0.02, 0.1), (0.005, 0.02))],
)
@pytest.mark.parametrize("dynamics", DYNAMICS)
def test_bars_cover_what_a_plain_loop_shows(dynamics, count, steps):
    rng, hits, sure = np.random.default_rng(3), [], []
    for _ in range(count):
        rows, schedule, W = bars(*member(rng, steps), dynamics)
        runs_away = not np.abs(W).max() < 2
        for name, predicted, bar, observed in rows:
            # What runs away has no peak.
            if not (runs_away and name[0] == "w" and name.split(" ", 1)[1][:4] in ("peak", "supp")):
                hits.append(abs(predicted - observed) <= bar * (1 + 1e-9) + 1e-12 * observed)
                sure.append(bar < 1)
        learned = np.isfinite(schedule.crossing) & (schedule.crossing > 0)
        finite = learned & np.isfinite(schedule.error)
        for k in np.flatnonzero(finite).tolist():
            t = schedule.crossing[k] + schedule.error[k] * np.array([-1.0, 1.0])
            below, above = schedule.evaluate(np.maximum(t, 0))[:, k, k]
            assert below <= 0.5 + 1e-6
            assert above >= 0.5 - 1e-6
    # At coarse steps of euler W often runs away, and then there are fewer events.
    assert len(hits) >= (8 if dynamics == "euler" else 10) * count
    assert np.mean(hits) >= 0.995
    assert np.mean(sure) > 0.85


@pytest.mark.parametrize("dynamics", ["euler", "gd"])
@pytest.mark.parametrize("eta", [0.06, 0.2, 0.25])
@pytest.mark.parametrize(
    ("a", "W0"),
    [
        ([2.0, 1.0], [[0.01, 0.005], [0.005, 0.01]]),
        ([0.7, 2.0, 1.3], [[0.02, 0.004, 0.001], [0.004, 0.01, -0.003], [0.001, -0.003, 0.01]]),
        ([2.0, 1.5], [[1e-22, 4e-23], [4e-23, 2e-22]]),
    ],
)
def test_at_coarse_steps_all_events_are_those_of_the_map(a, W0, eta, dynamics):
    rows, schedule, W = bars(a, np.linalg.cholesky(W0), eta, dynamics)
    assert {name for name, *_ in rows} >= {"w_12 peak", "w_12 suppressed", "all end", "w_11 0.8"}
    for name, predicted, bar, observed in rows:
        # Half-times under gd are those of the expansion.
        allowed = bar if name.endswith("half") else 1e-9 * observed
        assert abs(predicted - observed) <= allowed, name
    assert np.abs(schedule.evaluate(np.arange(len(W))) - W).max() < 1e-6


def near_a_trap(w, eta):
    """The run of a W(0) with w_22 = w, of which the drift takes nearly all."""
    W0 = np.array([[1e-3, 5e-4], [5e-4, w]])
    return W0, plain_runs.trajectory([1.0, 0.4], W0, eta, "euler", matrix=True)


@functools.cache
def least_learned(eta):
    """The smallest w_22(0) that does not run away."""
    low, high = 2.5e-4, 1e-3
    while (middle := (low + high) / 2) not in (low, high):
        runs_away = np.abs(near_a_trap(middle, eta)[1][-1]).max() > 2
        low, high = (middle, high) if runs_away else (low, middle)
    return high


@pytest.mark.parametrize("left", [1e-2, 1e-5, 1e-8])
@pytest.mark.parametrize("eta", [0.06, 0.15])
def test_a_schedule_agrees_with_itself_where_drift_nearly_cancels_a_pivot(eta, left):
    W0, W = near_a_trap(least_learned(eta) * (1 + left), eta)
    a = [1.0, 0.4]
    schedule = predict(SIMTask.from_signal(a), W0, eta=eta, dynamics="euler")
    observed = plain_runs.events(a, W)
    assert not schedule.trapped.any()
    for event in schedule.events:
        if (event.entry, event.event) in observed:
            allowed = event.error * (1 + 1e-9) + 1e-9 * event.time
            assert abs(event.time - observed[event.entry, event.event]) <= allowed, event
            if left > 1e-6 and event.event in ("half", "0.8", "end", "suppressed"):
                assert event.error < 2
    times = {event.event: event.time for event in schedule.events if event.entry == (1, 1)}
    w = schedule.evaluate([schedule.crossing[1], times["0.8"] - 1, times["0.8"]])[:, 1, 1]
    assert w[0] == pytest.approx(0.5, abs=1e-9 + 1e-15 / left)  # rounding, magnified
    assert w[1] < 0.8 <= w[2]


def test_a_start_far_below_the_float_range_is_that_of_a_loop_on_its_own_scale():
    # In steps, W from 1e-400 is W from 1e-40, later by log(1e360)/log(1 + 2 eta a) for each concept
    # alone: a diagonal start.
    a, eta = [2.0, 1.0], 0.15
    for dynamics, factor in (
        ("euler", lambda k: 1 + 2 * eta * k),
        ("gd", lambda k: (1 + eta * k) ** 2),
    ):
        near, far = (
            predict(SIMTask.from_signal(a), Scaled(np.eye(2), omega), eta=eta, dynamics=dynamics)
            for omega in ("1e-40", "1e-400")
        )
        later = [360 * math.log(10) / math.log(factor(k)) for k in a]
        assert far.crossing - near.crossing == pytest.approx(later, abs=1e-3)
        high = [event.time for event in far.events if event.event == "0.8"]
        W = far.evaluate(np.array([*high, *np.subtract(high, 1)]))
        assert (W[[0, 1], [0, 1], [0, 1]] >= 0.8).all()
        assert (W[[2, 3], [0, 1], [0, 1]] < 0.8).all()


def test_a_whole_step_is_as_wrong_as_the_steps_that_its_bar_reaches():
    def whole(event, time, error, **exact):
        rounded = Event((0, 1), event, time, error=error).in_whole_steps(**exact)
        return rounded.time, rounded.error

    assert whole("0.8", 166.9, 0.05) == (167, 0.05)
    assert whole("0.8", 166.98, 0.05) == (167, 1)
    assert whole("0.8", 166.98, 0.05, exact=True) == (167, 0.05)
    assert whole("peak", 166.48, 0.05) == (166, 1)
    assert whole("peak", 166.4, 0.05) == (166, 0.05)
    assert whole("loss max", 166.4, math.inf) == (166, math.inf)
    assert whole("suppressed", math.inf, math.nan)[0] == math.inf
    assert whole("peak height", 0.3, 0.01) == (0.3, 0.01)


def test_what_never_turns_has_no_bar(monkeypatch):
    monkeypatch.setattr("swingby.theory.law.walk.MOST_ATTEMPTS", 50)  # the law gives it up
    # Rank one and equal signals: w_12 rises to its limit.
    start = [[0.01, 0.01], [0.01, 0.01]]
    schedule = predict(SIMTask.from_signal([2, 2]), start, eta=0.1, dynamics="gd")
    events = {event.event: event for event in schedule.events if event.entry == (0, 1)}
    assert math.isnan(events["peak"].error)
    assert events["peak height"].time == pytest.approx(0.5, abs=1e-6)
    assert math.isinf(events["suppressed"].time)


class _Curve:
    """w_11(t) of a formula, in place of a curve of the law."""

    def __init__(self, formula):
        self.formula = formula

    def evaluate(self, t):
        return np.asarray(self.formula(t))[:, None, None]


def test_turns_and_passages_between_looks_and_what_moves_them():
    # The sine, and the same a tenth of a step later: looks every 40 steps of a period of 400.
    rate = 2 * math.pi / 400

    def number(W):
        return W[:, 0, 0]

    curves = [_Curve(lambda t: np.sin(rate * t)), _Curve(lambda t: np.sin(rate * (t - 0.1)))]
    looks = np.arange(0.0, 400.0, 40.0)
    marks = [
        Mark(number, 3, 0.0),
        Mark(number, 7, 0.0, top=False),
        Mark(number, 1, 0.0, levels=(0.5, 0.5)),
        Mark(number, 1, 1e-3, levels=(0.5, 0.5)),
        Mark(number, 3, 1e-3, rival=7.0),
    ]
    top, bottom, rises, doubted, rivalled = locate(curves, looks, marks, rate)
    for place, time in ((top, 100), (bottom, 300), (rises, 400 / 12)):
        assert place.time == pytest.approx(time, abs=0.02)
        assert 0.1 <= place.error <= 0.15
    assert top.sizes[0] == pytest.approx(1, abs=1e-4)
    # A thousandth of the level, over the slope.
    slope = rate * math.cos(math.pi / 6)
    assert doubted.error - rises.error == pytest.approx(5e-4 / slope, rel=0.01)
    # A slope off by a thousandth of the rate, over the bend.
    assert rivalled.error - top.error == pytest.approx(7 + 1e-3 / rate, rel=0.01)


def test_a_whole_step_is_the_higher_of_two():
    # The top lies at 100.6, but falls so much faster behind it that 100 is higher than 101.
    def formula(t):
        x = t - 100.6
        return 5 - 0.05 * x**2 - 0.04 * x**3

    def number(W):
        return W[:, 0, 0]

    (place,) = locate(
        [_Curve(formula)], np.array([99.0, 100.5, 102.0]), [Mark(number, 1, 0.0)], 0.1
    )
    values = formula(np.array([100.0, 101.0]))
    assert round(place.time) == 100 + int(values.argmax())
    assert place.sizes[0] == pytest.approx(values.max(), rel=1e-9)


def test_rivals_are_other_tops_as_high_and_earlier_turns_as_near():
    looks = np.arange(10.0)
    values = np.array([0.1, 1.0, 0.4, 0.3, 0.9995, 0.2, 0.5, 0.3, 0.2, 0.1])
    assert rival_tops(looks, values, 1, 0.0) == 3
    assert rival_tops(looks, values, 1, 0.3) == 5
    assert rival_passages(looks, values, 4, 0.999, 0.0) == 0
    assert rival_passages(looks, values, 6, 0.45, 0.0, 5) == 0
    rising = np.array([0.1, 0.4, 0.7995, 0.5, 0.6, 0.9, 1.0, 1.0, 1.0, 1.0])
    assert rival_passages(looks, rising, 5, 0.8, 0.0) == 3
    assert rival_passages(looks, rising, 5, 0.8, 0.0, 2) == 0


@pytest.mark.parametrize("degree", [5, 6])
def test_zeros_of_many_polynomials_are_those_of_each(degree):
    rng = np.random.default_rng(degree)
    p = rng.standard_normal((60, degree + 1))
    p[::5, 0] = 0.0
    p[::7, -1] = 0.0
    p[3] = 0.0
    p[4, :2] = 0.0
    p[8, 0] = 1e-320
    p[9] = np.nan
    zeros, there = turns_and_passages._zeros(p)
    for row, values, real in zip(p, zeros, there, strict=True):
        row = row[int(abs(row[0]) < 1e-300) :]
        roots = np.roots(row) if np.isfinite(row).all() else np.empty(0)
        near = np.abs(roots.imag) < 1e-9
        expected = np.sort(roots[near & (np.abs(roots) <= turns_and_passages._BELIEVED)].real)
        assert np.allclose(np.sort(values[real]), expected, rtol=1e-9, atol=1e-12)
        assert np.isnan(values[~real]).all()


@pytest.mark.parametrize("eta", ["0.01", "0.2"])
def test_the_passage_of_a_level_is_that_of_the_logistic_curve(eta):
    # Without correlations the flow is logistic: logit w = log(w/(1 - w)) grows by 2 eta a a step.
    w, signal = np.array([1e-3, 2e-2, 4e-5]), np.array([3.0, 1.0, 0.4])
    task = SIMTask.from_signal(signal.tolist())
    stages = predict(task, np.diag(w), eta=eta, dynamics="flow").stages
    events = {(event.entry[0], event.event): event for event in curve_events(stages)}
    for k in range(3):
        rate, start = 2 * float(eta) * signal[k], np.log(w[k] / (1 - w[k]))
        event = events[k, "0.8"]
        assert abs(event.time - (np.log(4.0) - start) / rate) < min(event.error, 1e-4 / rate)
        assert event.error < 1e-2 / rate


@pytest.mark.parametrize("dynamics", ["flow", "gd"])
@pytest.mark.parametrize("omega", ["1e-60", "1e-100", "1e-200"])
def test_the_peak_of_a_tiny_entry_is_that_of_a_run(dynamics, omega):
    # Its row grows by 1e50 while the entry falls: what is small now is not small later.
    task, W0 = SIMTask.from_signal([2.66, 3.73]), Scaled([[0.66, 0.46], [0.46, 0.8]], omega)
    (peak,) = simulate(task, W0, eta=0.011, dynamics=dynamics).peaks
    events = {
        event.event: event
        for event in predict(task, W0, eta=0.011, dynamics=dynamics).events
        if event.entry == (0, 1)
    }
    for name, observed in (
        ("peak", peak.step),
        ("peak height", abs(peak.value)),
        ("suppressed", peak.suppressed),
    ):
        assert abs(events[name].time - observed) <= events[name].error + 1e-9 * observed


@pytest.mark.filterwarnings("ignore:W0 is not positive semidefinite")
def test_what_is_joined_to_a_runaway_has_no_peak_and_another_block_has():
    # Concepts 1 and 2: a pivot of (1 - 1.1^2) runs away under euler. Concepts 3 and 4: none does.
    W0 = np.kron(np.diag([1.0, 0.0]), [[1, 1.1], [1.1, 1]]) + np.kron(
        np.diag([0.0, 1.0]), [[1, 0.6], [0.6, 1]]
    )
    task = SIMTask.from_signal([4, 2, 3.5, 1.5])
    schedule = predict(task, 1e-3 * W0, eta=0.01, dynamics="euler")
    peaks = {event.entry: event for event in schedule.events if event.event == "peak"}
    observed = {
        (peak.i, peak.j): peak for peak in simulate(task, 1e-3 * W0, 0.01, dynamics="euler").peaks
    }
    assert math.isfinite(schedule.blow_up)
    assert observed[0, 1].step > 0.9 * schedule.blow_up
    assert math.isnan(peaks[0, 1].time)
    assert abs(peaks[2, 3].time - observed[2, 3].step) <= peaks[2, 3].error
