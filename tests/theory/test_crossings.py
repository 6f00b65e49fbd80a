"""The witnesses of real crossings against each other, before any law is measured by them."""

import math

import numpy as np
import pytest

from benchmarks.instances import CELLS, instances
from benchmarks.observe import observe
from tests.theory import crossings
from tests.theory.crossings import gaussian

DYNAMICS = ("euler", "gd", "flow")


@pytest.mark.parametrize("eta", [0.01, 0.05])
def test_the_cubic_finds_the_crossing_of_the_flow_from_its_values_at_whole_steps(eta):
    a, W0 = 1.0, (lambda U: U @ U.T)(gaussian(1, 3, 1e-2))
    values, vectors = np.linalg.eigh(W0)
    for k, exact in enumerate(crossings.tied(a, W0, eta)):
        first = math.floor(exact) - 1
        growth = np.exp(2 * a * eta * (first + np.arange(4)))[:, None]
        four = (growth * values / (1 + (growth - 1) * values)) @ vectors[k] ** 2
        assert first + crossings.cubic_root(four) == pytest.approx(exact, abs=2e-5)


@pytest.mark.parametrize("seed", range(4))
def test_the_flow_by_a_solver_is_the_closed_form_for_equal_signals(seed):
    U0 = gaussian(seed, 4, 1e-4)
    exact = crossings.tied(0.7, U0 @ U0.T, 0.02)
    solved = crossings.flow([0.7] * 4, U0, 0.02, exact.max() + 10)
    assert solved == pytest.approx(exact, abs=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_the_flow_by_a_solver_is_the_closed_form_for_rank_one(seed):
    a = np.random.default_rng(seed).uniform(0.4, 2.5, 4)
    # A short component for the largest signal lets another concept cross first, for a while.
    u0 = gaussian(seed, 4, 1e-3, 1)[:, 0] * np.where(a == a.max(), 1e-4 if seed % 2 else 1, 1)
    exact = crossings.rank_one(a, u0, 0.02)
    solved = crossings.flow(a, u0[:, None], 0.02, np.nanmax(exact) + 100)
    assert np.isfinite(exact).any()
    assert solved == pytest.approx(exact, abs=1e-5, nan_ok=True)


@pytest.mark.parametrize("dynamics", DYNAMICS)
def test_a_diagonal_start_is_one_scalar_orbit_a_concept(dynamics):
    a, w0 = np.array([1.0, 0.4, 0.7]), np.array([1e-3, 2e-5, 1e-2])
    exact = [crossings.diagonal(*pair, 0.05, dynamics) for pair in zip(a, w0, strict=True)]
    U0 = np.diag(np.sqrt(w0))
    if dynamics == "flow":
        found = crossings.flow(a, U0 + 1e-200, 0.05, max(exact) + 10)
    else:
        found = crossings.brute(a, U0 @ U0.T if dynamics == "euler" else U0, 0.05, dynamics)
    assert found == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize("ratio", [0.25, 0.5, 0.8])
@pytest.mark.parametrize("correlation", [0.3, 0.9])
def test_the_drift_under_euler_is_a_sum_over_the_scalar_orbit(ratio, correlation):
    """As W(0) goes to 0, concept 2 grows alone from what the sum leaves of w_22(0)."""
    eta, scale = 0.05, np.longdouble(10) ** -30
    W0 = scale * np.array([[1, correlation], [correlation, 1]], np.longdouble)
    left = crossings.left_by_drift(1.0, ratio, W0, eta)
    found = crossings.brute([1.0, ratio], W0, eta, "euler")[1]
    if left > 0:
        alone = crossings.diagonal(ratio, left, eta, "euler")
        assert found == pytest.approx(alone, abs=1e-3 if ratio == 0.8 else 1e-6)
        plain = crossings.diagonal(ratio, W0[1][1] * (1 - correlation**2), eta, "euler")
        assert alone > plain + 0.05
    else:
        assert math.isnan(found)


@pytest.mark.parametrize("dynamics", DYNAMICS)
@pytest.mark.parametrize("label", ["omega 1e-2 to 1e-1", "equal signals", "rank one", "drift"])
def test_the_observer_of_the_accuracy_table_sees_what_the_witnesses_see(label, dynamics):
    cell = next(cell for cell in CELLS if cell.label == label)
    for instance in instances(cell, 3):
        run = observe(instance.signal, instance.eta, instance.U0, instance.W0, dynamics)
        last = np.nanmax(run.crossing) + 5
        if dynamics == "flow":
            found = crossings.flow(instance.signal, instance.U0, instance.eta, last)
        else:
            start = instance.W0 if dynamics == "euler" else instance.U0
            found = crossings.brute(instance.signal, start, instance.eta, dynamics, int(last))
        assert run.crossing == pytest.approx(found, abs=1e-4, nan_ok=True)
        assert run.half_times == pytest.approx(np.ceil(run.crossing), nan_ok=True)


def test_the_observer_follows_a_runaway_to_the_last_finite_step():
    signal, W0 = np.array([1.0, 0.5]), np.array([[1e-3, 1.1e-3], [1.1e-3, 1e-3]])
    run = observe(signal, 0.05, np.eye(2), W0, "euler")
    with np.errstate(all="ignore"):
        steps = crossings.steps_of(signal, W0, 0.05, "euler")
        last = next(n for n, values in enumerate(steps) if not np.isfinite(values).all()) - 1
    assert run.runaway == pytest.approx(last, abs=1)
    assert not run.learned.any()
    assert math.isnan(run.crossing[1])
