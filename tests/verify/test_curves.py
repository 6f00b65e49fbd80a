"""Events of the composite, against the same curve sampled densely at even steps."""

import itertools
import math

import numpy as np
import pytest

from swingby.simulate.series import turning_points
from swingby.theory.task import SIMTask
from swingby.verify.predict import predict
from swingby.verify.predicted_events import curve_events
from tests.forked import sample

SETTINGS = {
    # A loss that falls, rises and falls again: Fig. 5 in essence.
    "two": ([1, 2], [[0.01, 0.009], [0.009, 0.02]], 0.01),
    # The same with a swing below a thousandth of the first loss: it does not count.
    "wiggle": ([1, 2], [[0.01, 0.0068], [0.0068, 0.02]], 0.01),
    "three": (
        [1, 1.6, 2.4],
        [[0.009, 0.003, 0.002], [0.003, 0.009, -0.003], [0.002, -0.003, 0.009]],
        0.004,
    ),
    "one": ([2], [[0.001]], 0.01),
}


def events(schedule):
    """Times by entry and event, the end, and turning points of the loss."""
    curve = curve_events(schedule.stages)
    times = {(event.entry, event.event): event.time for event in curve}
    turns = [(event.time, event.event[5:]) for event in curve if event.event.startswith("loss")]
    return times, times[(-1, -1), "end"], turns


def composite(name, dynamics, scale=1):
    mu, start, eta = SETTINGS[name]
    task = SIMTask([scale * value for value in mu], 0)
    return predict(task, start, eta=eta / scale**2, dynamics=dynamics)


@pytest.mark.parametrize("dynamics", ["euler", "gd", "flow"])
@pytest.mark.parametrize("name", SETTINGS)
def test_events_are_those_of_the_sampled_curve(name, dynamics):
    schedule = composite(name, dynamics)
    times, end, turning = events(schedule)
    t = np.arange(0, 1.5 * end, 0.25)
    W = schedule.evaluate(t)
    point = schedule.task.test_point
    # |W x - x|^2 / 2, row by row.
    loss = np.array([np.linalg.norm(here @ point - point) ** 2 / 2 for here in W])

    turns = turning_points(loss, 1e-3 * loss[0])[:-1]
    expected = [(t[turn.step], turn.kind) for turn in turns if turn.step]
    assert [kind for _, kind in turning] == [kind for _, kind in expected]
    for (time, _), (step, _) in zip(turning, expected, strict=True):
        assert abs(time - step) <= 1

    d = len(point)
    pairs = list(itertools.combinations(range(d), 2))
    assert {entry for entry, event in times if event == "peak"} == set(pairs)
    for entry in pairs:
        time, height, suppressed = (
            times[entry, name] for name in ("peak", "peak height", "suppressed")
        )
        size = np.abs(W[:, entry[0], entry[1]])
        top = int(size.argmax())
        # A run has its peak at a whole step.
        assert height == pytest.approx(size[::4].max(), rel=1e-5)
        assert abs(time - t[top]) <= 1
        later = np.flatnonzero((t > time) & (size <= height / 2))
        assert abs(suppressed - t[later[0]]) <= 1
    for k in range(d):
        reached = t[np.flatnonzero(W[:, k, k] >= 0.8)[0]]
        assert abs(times[(k, k), "0.8"] - reached) <= 0.5
    unfinished = np.abs(W - np.eye(d)).max(axis=(1, 2)) > 0.01
    assert abs(end - t[np.flatnonzero(unfinished)[-1]]) <= 1


@pytest.mark.parametrize("name", sample(["two", "wiggle", "three"]))
def test_times_do_not_depend_on_the_unit_of_the_distances(name):
    # (D.2) holds eta a_k alone, and the loss is measured in its own start: mu -> c mu together
    # with eta -> eta/c^2 changes nothing, nor which swings count. Powers of two, so that floats
    # agree to rounding.
    base = curve_events(composite(name, "euler").stages)
    assert any(event.event == "loss min" for event in base) == (name == "two")
    for scale in (2.0**-10, 2.0**12):
        for event, same in zip(
            curve_events(composite(name, "euler", scale).stages), base, strict=True
        ):
            assert (event.entry, event.event) == (same.entry, same.event)
            tolerance = 1e-4 if event.event == "peak" else 1e-6
            assert event.time == pytest.approx(same.time, rel=tolerance)


def test_a_concept_without_signal_never_ends_and_a_start_above_the_level_is_at_0():
    still = predict(SIMTask.from_signal([4, 0]), [[0.01, 0.001], [0.001, 0.01]], eta=0.01)
    end = events(still)[1]
    assert math.isinf(still.half_times[1])
    # Only the concept that is there has to be learned: 1 - w_11 = 0.01.
    t = np.arange(0, 2 * end, 0.25)
    unfinished = np.abs(still.evaluate(t)[:, 0, 0] - 1) > 0.01
    assert abs(end - t[np.flatnonzero(unfinished)[-1]]) <= 1
