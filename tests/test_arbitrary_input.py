"""Whatever is handed in, the answer is a result or an error that names the argument."""

import json
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import swingby
from swingby.errors import SwingbyError, SwingbyWarning
from tests.forked import WHOLE

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**6), 10**6),
    st.floats(),
    st.fractions(max_denominator=10**6),
    st.text(max_size=8),
    st.sampled_from(["1e-400", "1e400", "nan", "-1", "0", "1/3", " 2 ", b"1", 1j, object]),
)
junk = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3), max_leaves=9)
positive = st.one_of(
    st.floats(1e-300, 1e300), st.sampled_from([0.01, "1e-6", "1e-400", Fraction(1, 7)])
)


def answered(call):
    """The result, or None when the input was refused in words."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", SwingbyWarning)
        try:
            return call()
        except SwingbyError as error:
            refusal = str(error)
    assert refusal
    assert "\n" not in refusal
    return None


@given(junk, junk, junk)
def test_tasks(mu, sigma, dim):
    task = answered(lambda: swingby.SIMTask(mu, sigma, dim))
    if task is not None:
        assert np.isfinite(task.signal).all()
        assert (task.signal[: task.s] > 0).all()


@example(1, 4.5e307, 1, "printed")  # eta a is no float
@given(junk, junk, junk, st.sampled_from(["printed", "corrected", "repaired", "none", 3]))
def test_checks(omega, eta, beta, edition):
    task = swingby.SIMTask.from_signal([4, 1])
    report = answered(lambda: swingby.check(task, omega, eta, beta, edition))
    if report is not None:
        assert str(report.verdict) in ("holds", "fails", "undecided")
        assert not any(math.isnan(result.margin) for result in report)
        json.dumps(report.to_dict(), allow_nan=False)
        assert str(report)


@example(1, 4.5e307, "flow")
@given(junk, junk, st.sampled_from(["euler", "gd", "flow", "sgd", None]))
def test_predictions_and_runs_of_junk(W0, eta, dynamics):
    task = swingby.SIMTask.from_signal([4, 1])
    answered(lambda: str(swingby.predict(task, W0, eta=eta, dynamics=dynamics)))
    answered(lambda: str(swingby.simulate(task, W0, eta, 5, dynamics)))


@settings(max_examples=settings.default.max_examples if WHOLE else 6)
@example([[0.0], [8.0]], "euler")  # no pivot is left after a step
@example([[0.0], [1.5e39]], "euler")  # W is gone at once
@example([[1.0], [5.0]], "gd")
@given(
    st.integers(1, 3).flatmap(
        lambda m: st.lists(st.lists(st.floats(), min_size=m, max_size=m), min_size=2, max_size=2)
    )
    | junk,
    st.sampled_from(["euler", "gd", "flow"]),
)
def test_factors(U0, dynamics):
    task = swingby.SIMTask.from_signal([4, 1])
    schedule = answered(lambda: swingby.predict(task, U0=U0, eta=0.01, dynamics=dynamics))
    if schedule is not None:
        missing = np.isnan(schedule.half_times)
        assert (~missing | schedule.trapped | bool(schedule.warnings)).all()
        assert str(schedule)
    run = answered(lambda: swingby.simulate(task, None, 0.01, 5, dynamics, U0=U0))
    assert (run is None) == (schedule is None)
    answered(lambda: str(swingby.check(task, U0=U0, eta="1e-4")))


layers = st.sampled_from([np.eye(2) / 10, np.ones((3, 2)), np.ones((4, 2, 2)), [[1, 2]], {}])
weights = st.recursive(
    st.one_of(scalars, layers, st.dictionaries(st.text(max_size=3), layers, max_size=3)),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)


@given(weights, junk, junk, junk)
@example([[[[1.0]], [[1.0]]]] * 2, 0.1, None, 1)
@example(["1", "2"], 0.1, None, 1)
@example([[], []], 0.1, None, None)
def test_weights_of_networks(given_weights, lr, steps, every):
    X = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    answered(lambda: str(swingby.predict_network(given_weights, X=X, Y=X, lr=lr, budget=200)))
    for more in ({}, {"observed": given_weights}):
        more |= {"X": X, "Y": X, "steps": steps, "every": every, "budget": 200}
        answered(lambda more=more: str(swingby.compare_network(given_weights, lr=lr, **more)))


@pytest.mark.full
@given(
    st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=4),
    st.integers(0, 2**32 - 1),
    positive,
    positive,
    st.sampled_from(["euler", "gd", "flow"]),
)
@example([1.0, 1.0], 0, 1.0, 1e-300, "euler")
@example([1.0, 2.0], 0, 1e-300, 1e-300, "euler")  # slopes and bends below the float range
def test_no_silent_nan_in_a_prediction(signal, seed, omega, eta, dynamics):
    """Seconds each, where signals and steps are far apart."""
    task = swingby.SIMTask.from_signal(signal)
    W0 = answered(lambda: swingby.gaussian(task, omega, rng=seed))
    if W0 is None:
        return
    schedule = answered(lambda: swingby.predict(task, W0, eta=eta, dynamics=dynamics))
    if schedule is None:
        return
    missing = np.isnan(schedule.half_times)
    assert (~missing | schedule.trapped | bool(schedule.warnings)).all()
    assert str(schedule)
    json.dumps(schedule.to_dict(), allow_nan=False)
