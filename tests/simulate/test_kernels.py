"""The compiled loops against independent witnesses."""

from __future__ import annotations

import numpy as np
import pytest

from swingby.simulate.initialization import gaussian
from swingby.simulate.outcome import descents, first_reach, turning_points
from swingby.simulate.run import simulate
from swingby.theory.task import SIMTask
from tests.simulate import witnesses as reference

SIGNALS = {
    "two": [4.0, 1.0],
    "three": [3.0, 1.7, 0.4],
    "five": [4.0, 2.5, 2.5, 1.0, 0.3],
    # Above eight steps are no longer written out.
    "ten": [4.0, 3.6, 3.2, 2.8, 2.4, 2.0, 1.6, 1.2, 0.8, 0.4],
}
CASES = [(name, dynamics) for name in SIGNALS for dynamics in ("euler", "gd")]


def start(d: int, omega: float = 1e-3, seed: int = 1) -> np.ndarray:
    W0 = gaussian(d, omega, width=d + 2, rng=seed)
    assert isinstance(W0, np.ndarray)
    return W0


@pytest.mark.parametrize(("name", "dynamics"), CASES)
def test_every_step_is_that_of_the_printed_formula(name: str, dynamics: str) -> None:
    a = SIGNALS[name]
    run = simulate(SIMTask.from_signal(a), start(len(a)), 0.01, 2500, dynamics, record=1)
    expected = reference.numpy_run(a, start(len(a)), 0.01, 2500, dynamics)
    assert np.abs(run.W - expected).max() < 1e-12


@pytest.mark.parametrize("dynamics", ["euler", "gd", "flow"])
def test_events_are_those_of_the_recorded_trajectory(dynamics: str) -> None:
    task = SIMTask([1, 1.7, 2.25], [0.5, 0.25, 0.25])
    run = simulate(task, start(3, 1e-2, 7), 0.01, 3000, dynamics, record=1)
    assert (run.steps == np.arange(3001)).all()
    for k in range(3):
        for level in (0.1, 0.5, 0.8, 0.99):
            assert run.first_reach(level)[k] == first_reach(run.W[:, k, k], level)
    for peak in run.peaks:
        sizes = np.abs(run.W[:, peak.i, peak.j])
        assert peak.step == int(sizes.argmax())
        assert peak.value == run.W[peak.step, peak.i, peak.j]
        later = np.flatnonzero(sizes[peak.step :] <= sizes.max() / 2)
        assert peak.suppressed == peak.step + int(later[0])
    points = turning_points(run.test_loss, 1e-9 * run.test_loss[0])
    assert [point.kind for point in points] == [point.kind for point in run.extrema]
    for point, found in zip(points, run.extrema, strict=True):
        # The last minimum is the square of rounding: compared by value.
        assert found.step == point.step or point.value < 1e-24
        assert found.value == pytest.approx(point.value, rel=1e-9, abs=1e-24)
    assert run.descents(1e-3) == descents(points, 1e-3 * run.test_loss[0])
    near = np.abs(run.W - np.eye(3)).max(axis=(1, 2)) <= 0.01
    assert run.end is not None
    assert near[run.end :].all()
    assert not near[run.end - 1]


@pytest.mark.parametrize(("scale", "steps"), [(1.0, 2000), (200.0, 10)])
def test_the_flow_agrees_with_scipy(scale: float, steps: int) -> None:
    from scipy.integrate import solve_ivp

    a = np.array(SIGNALS["three"])
    A, eta = np.diag(a), 0.01 * scale

    def slope(_: float, flat: np.ndarray) -> np.ndarray:
        W = flat.reshape(3, 3)
        return (W @ A + A @ W - (A @ W @ W + W @ W @ A + 2 * W @ A @ W) / 2).ravel()

    W0 = start(3)
    run = simulate(SIMTask.from_signal(a), W0, eta, steps, "flow", record=steps // 10)
    solution = solve_ivp(
        slope, (0, eta * steps), W0.ravel(), "DOP853", eta * run.steps, rtol=1e-12, atol=1e-16
    )
    assert np.abs(solution.y.T.reshape(-1, 3, 3) - run.W).max() < 1e-11
