"""The stage law against real crossings: brute force, and closed forms where there are any."""

import math

import numpy as np
import pytest

import swingby
from benchmarks.accuracy import Predicted, Tally, quantile
from benchmarks.instances import CELLS, instances
from benchmarks.observe import observe
from tests import forked
from tests.theory import crossings
from tests.theory.crossings import gaussian

DYNAMICS = ("euler", "gd", "flow")
FULL = pytest.mark.full
CLOSE = 0.02


def predict(a, W0, eta, dynamics):
    task = swingby.SIMTask.from_signal(np.asarray(a, dtype=float).tolist())
    return swingby.predict(task, W0, eta=eta, dynamics=dynamics)


def seen(a, U0, eta, dynamics, guess):
    last = int(np.nanmax(guess) * 1.05) + 20
    if dynamics == "flow":
        return crossings.flow(a, U0, eta, last)
    return crossings.brute(a, U0 @ U0.T if dynamics == "euler" else U0, eta, dynamics, last)


def agrees(schedule, observed, close=CLOSE):
    timed = np.isfinite(schedule.crossing)
    assert np.array_equal(timed, np.isfinite(observed))
    off = np.abs(schedule.crossing - observed)[timed]
    assert (off <= close).all()
    assert (off <= schedule.error[timed]).all()


# --- closed forms ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8 if forked.FULL else 4))
@pytest.mark.parametrize("omega", [1e-1, 1e-3, 1e-6])
def test_equal_signals_under_the_flow(seed, omega):
    U0 = gaussian(seed, 2 + seed % 4, omega)
    exact = crossings.tied(1.0, U0 @ U0.T, 0.05)
    schedule = predict([1.0] * len(U0), U0 @ U0.T, 0.05, "flow")
    assert schedule.crossing == pytest.approx(exact, abs=1e-4)
    assert (np.abs(schedule.crossing - exact) <= schedule.error).all()
    assert schedule.error.max() <= 0.05
    assert schedule.half_times.tolist() == np.ceil(exact).tolist()


@pytest.mark.parametrize("dynamics", DYNAMICS)
@pytest.mark.parametrize("eta", [0.005, 0.05, 0.2])
def test_diagonal_starts(dynamics, eta):
    a, w0 = [1.0, 0.3, 0.7, 0.7], [1e-3, 0.2, 1e-12, 3e-2]
    exact = [crossings.diagonal(*pair, eta, dynamics) for pair in zip(a, w0, strict=True)]
    agrees(predict(a, np.diag(w0), eta, dynamics), np.array(exact))


@pytest.mark.parametrize("seed", range(6 if forked.FULL else 3))
def test_rank_one_under_the_flow(seed):
    d = 2 + seed % 3
    a = np.random.default_rng(seed).permutation(np.cumprod([1.0, *[0.6] * (d - 1)]))
    u0 = gaussian(seed, d, 1e-4, 1)[:, 0]
    schedule = predict(a, np.outer(u0, u0), 0.02, "flow")
    exact = crossings.rank_one(a, u0, 0.02)
    first = int(np.argmax(a))
    assert schedule.crossing[first] == pytest.approx(exact[first], abs=1e-3)
    assert abs(schedule.crossing[first] - exact[first]) <= schedule.error[first]
    assert schedule.trapped.tolist() == (np.arange(d) != first).tolist()


@pytest.mark.parametrize("ratio", [0.2, 0.4, 0.6])
@pytest.mark.parametrize("correlation", [0.3, 0.6, 0.8])
def test_the_drift_under_euler_as_the_start_goes_to_zero(ratio, correlation):
    eta, scale = 0.05, 1e-40
    W0 = np.array([[1.0, correlation], [correlation, 1.0]]) * scale
    remaining = crossings.left_by_drift(1.0, ratio, W0, eta)
    schedule = predict([1.0, ratio], W0, eta, "euler")
    assert schedule.trapped.tolist() == [False, bool(remaining <= 0)]
    if remaining > 0:
        alone = crossings.diagonal(ratio, remaining, eta, "euler")
        assert schedule.crossing[1] == pytest.approx(alone, abs=CLOSE)
        assert abs(schedule.crossing[1] - alone) <= schedule.error[1]


def test_the_drift_is_in_the_bar_where_hardly_anything_of_the_pivot_is_left():
    """The correlation at which nothing is left, by bisection of the exact sum; then just below."""
    eta, ratio = 0.05, 0.4

    def start(correlation):
        return np.array([[1.0, correlation], [correlation, 1.0]]) * 1e-30

    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        positive = crossings.left_by_drift(1.0, ratio, start(middle), eta) > 0
        low, high = (middle, high) if positive else (low, middle)
    for below in (1e-1, 1e-2, 1e-3):
        W0 = start(low * (1 - below))
        remaining = crossings.left_by_drift(1.0, ratio, W0, eta)
        alone = crossings.diagonal(ratio, remaining, eta, "euler")
        schedule = predict([1.0, ratio], W0, eta, "euler")
        assert abs(schedule.crossing[1] - alone) <= schedule.error[1] or schedule.undecided[1]


# --- brute force ----------------------------------------------------------------------------


@pytest.mark.parametrize("dynamics", DYNAMICS)
@pytest.mark.parametrize(
    ("seed", "eta"),
    [
        pytest.param(seed, eta, marks=() if (seed, eta) in ((0, 0.01), (3, 0.048)) else FULL)
        for seed in range(4)
        for eta in (0.01, 0.048)
    ],
)
@pytest.mark.parametrize(
    "a",
    [
        (1.0, 1.0),
        (1.0, 1.0, 1.0, 1.0),
        (1.0, 1.0, 0.5, 0.5),
        (1.0, 0.957, 0.973, 0.951),
        (1.0, 0.999, 0.9),
    ],
    ids=["two equal", "four equal", "two pairs", "near ties", "nearly equal"],
)
def test_ties_and_near_ties(dynamics, seed, eta, a):
    U0 = gaussian(seed, len(a), 10.0 ** -(1.5 + seed))
    schedule = predict(a, U0 @ U0.T, eta, dynamics)
    agrees(schedule, seen(a, U0, eta, dynamics, schedule.crossing))


#: label: (smallest share of stages within .02 step, largest median bar); None where not owed.
PROMISED = {
    **dict.fromkeys(
        ("omega 1e-2 to 1e-1", "omega 1e-8 to 1e-4", "equal signals", "ratios 1 to 1.2"),
        (0.99, 0.05),
    ),
    **dict.fromkeys(("uniform U(0)", "drift", "near a runaway", "d = 8"), (0.99, 0.05)),
    "coarse, eta a_max .2 to .5": (0.0, math.inf),
}


@pytest.mark.parametrize("label", forked.sample(PROMISED, 2))
def test_rows_of_the_accuracy_table(label):
    cell = next(cell for cell in CELLS if cell.label == label)
    share, bar = PROMISED[label]
    for dynamics in cell.dynamics:
        tally = Tally()
        for instance in instances(cell, 15 if forked.FULL else 2 if label == "d = 8" else 4):
            run = observe(instance.signal, instance.eta, instance.U0, instance.W0, dynamics)
            tally.add(Predicted.of(instance, dynamics), run)
        assert np.mean(tally.covered) >= 0.995, dynamics
        assert np.mean(np.array(tally.distance) <= CLOSE) >= share, dynamics
        assert quantile(tally.bar, 0.5) <= bar, dynamics
        assert tally.overconfident == tally.blind == 0, dynamics


@pytest.mark.parametrize("dynamics", ["euler", "gd"])
@pytest.mark.parametrize("eta", [0.2, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_bars_hold_at_coarse_steps(dynamics, eta, seed):
    a, U0 = np.array([1.0, 0.9, 0.4]), gaussian(seed, 3, 1e-3)
    schedule = predict(a, U0 @ U0.T, eta, dynamics)
    run = observe(a, eta, U0, U0 @ U0.T, dynamics)
    for k in range(3):
        if np.isfinite(run.crossing[k]) and not schedule.undecided[k]:
            assert abs(schedule.crossing[k] - run.crossing[k]) <= schedule.error[k]


@pytest.mark.parametrize("level", [0.3, 0.4, 0.45, 0.49])
@pytest.mark.parametrize("eta", [0.15, 0.3])
def test_a_crossing_in_the_first_steps_of_the_map_is_read_off_four_of_them(level, eta):
    a, W0 = np.array([1.0, 0.8]), np.array([[level, 0.1], [0.1, 0.3]])
    schedule = predict(a, W0, eta, "euler")
    observed = crossings.brute(a, W0, eta, "euler", 100)
    np.testing.assert_allclose(schedule.crossing, observed, rtol=0, atol=1e-9)


def test_the_runaway_has_a_bar_that_holds():
    cell = next(cell for cell in CELLS if cell.label == "near a runaway")
    inside = []
    for instance in instances(cell, 20):
        run = observe(instance.signal, instance.eta, instance.U0, instance.W0, "euler")
        schedule = predict(instance.signal, instance.W0, instance.eta, "euler")
        if not schedule.undecided.any():
            inside.append(abs(schedule.blow_up - run.runaway) <= schedule.blow_up_error)
    assert len(inside) >= 10
    assert all(inside)
