"""simulate: events, outcomes, refusals, files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from swingby.errors import InvalidInput, SwingbyWarning
from swingby.simulate.initialization import gaussian, gaussian_factor, uniform
from swingby.simulate.run import simulate
from swingby.simulate.series import Turns, descents, first_reach, turning_points
from swingby.simulate.trajectory import Run
from swingby.theory.initial import Initial, Scaled
from swingby.theory.task import SIMTask
from swingby.verify.predict import predict

TASK = SIMTask.from_signal([4.0, 1.0])
W0 = np.array([[2e-3, 1e-3], [1e-3, 2e-3]])
ONES = np.full((2, 2), 1e-3)
DYNAMICS = ("euler", "gd", "flow")


@pytest.mark.parametrize("dynamics", DYNAMICS)
def test_a_run_ends_converged(dynamics: str) -> None:
    run = simulate(TASK, W0, 0.01, dynamics=dynamics)
    assert run.outcome == "converged"
    assert np.abs(run.W[-1] - np.eye(2)).max() < 1e-12
    assert f"step {run.end}" in run.reason
    assert len(run.steps) <= 10_001
    assert run.steps[-1] == run.last_step


@pytest.mark.parametrize(
    ("start", "omega", "dynamics"),
    [
        *((ONES, omega, name) for omega in (1.0, "1e-400") for name in ("gd", "flow")),
        (np.diag([1e-3, 0]), 1.0, "euler"),
    ],
)
def test_what_has_no_component_is_trapped(start: Any, omega: Any, dynamics: str) -> None:
    run = simulate(TASK, Scaled(start, omega), 0.01, dynamics=dynamics)
    assert run.outcome == "trapped"
    assert "concept 2 stays below 1/2" in run.reason
    assert np.abs(run.W[-1] - np.diag([1.0, 0.0])).max() < 1e-9


def test_rank_one_loses_psd_and_diverges_under_euler() -> None:
    run = simulate(TASK, ONES, 0.01, dynamics="euler")
    assert run.outcome == "diverged"
    assert run.psd_lost == 1
    assert "losing positive semidefiniteness at step 1" in run.reason
    early = simulate(TASK, ONES, 0.01, 200, dynamics="euler")
    assert early.outcome == "lost_psd"
    assert "concept 2" in early.reason


def test_too_few_steps_are_named_with_what_is_missing() -> None:
    run = simulate(TASK, W0, 0.01, 150)
    assert run.outcome == "stopped_early"
    assert np.isnan(run.half_times).tolist() == [False, True]
    assert "w_22" in run.reason
    more = int(run.reason.split("about ")[1].split()[0])
    half_time = simulate(TASK, W0, 0.01, 1000).half_times[1]
    assert abs(150 + more - half_time) < 0.1 * half_time


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"eta": 0}, "eta must be positive"),
        ({"eta": "1e-400"}, "eta"),
        ({"steps": 0}, "steps"),
        ({"dynamics": "adam"}, "dynamics"),
        ({"W0": np.eye(3)}, "W0"),
        ({"W0": [[1, np.nan], [np.nan, 1]]}, "W0"),
        ({"W0": [[1, 2], [2, 1]], "dynamics": "gd"}, "W0"),
        ({"W0": Initial(np.eye(3), 1)}, "W0"),
        ({"record": "all"}, "record"),
        ({"record": [1.5]}, "record"),
        ({"task": "fig8"}, "task"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], named: str) -> None:
    call = {"task": TASK, "W0": W0, "eta": 0.01, "steps": 10, **arguments}
    with pytest.raises(InvalidInput, match=named):
        simulate(**call)


def test_euler_warns_of_an_indefinite_start() -> None:
    with pytest.warns(SwingbyWarning, match="semidefinite"):
        run = simulate(TASK, [[1e-3, 2e-3], [2e-3, 1e-3]], 0.01, 10, dynamics="euler")
    assert run.psd_lost == 0


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ("none", [0, 1000]),
        (300, [0, 300, 600, 900, 1000]),
        ([5, 3, 3, 1000], [0, 3, 5, 1000]),
    ],
)
def test_records_are_those_asked_for(record: Any, expected: list[int]) -> None:
    run = simulate(TASK, W0, 0.01, 1000, record=record)
    assert run.steps.tolist() == expected
    assert run.W.shape == (len(expected), 2, 2)


@pytest.mark.parametrize("steps", [9_999, 10_000, 10_001, 25_001])
def test_the_default_keeps_at_most_ten_thousand_and_one(steps: int) -> None:
    run = simulate(TASK, W0, 0.01, steps)
    assert len(run.steps) <= 10_001
    assert run.steps[-1] == steps
    assert len(simulate(TASK, W0, 0.01, steps, record="log").steps) <= 202


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 broken", b"text"])
def test_foreign_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "foreign.npz"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match="path"):
        Run.load(path)
    facts = '{"format": "something else"}'
    np.savez(path, facts=facts, steps=np.zeros(1), W=np.zeros((1, 2, 2)), rotation=np.zeros(0))
    np.savez(tmp_path / "other.npz", other=np.zeros(3))
    for file in (path, tmp_path / "other.npz", tmp_path / "missing.npz"):
        with pytest.raises(InvalidInput, match="path"):
            Run.load(file)


def test_missing_concepts_are_decided_exactly() -> None:
    signal = np.array([1.0, 4.0])
    assert Initial(ONES, 1).missing(signal, "gd").tolist() == [True, False]
    nearly = ONES * np.array([[1 + 2**-52, 1], [1, 1]])
    assert Initial(nearly, 1).missing(signal, "gd").tolist() == [False, False]


def test_initial_matrices_have_the_scale_asked_for() -> None:
    draws = [gaussian(3, 0.01, width=4, rng=seed) for seed in range(2000)]
    mean = np.mean([np.diag(draw) for draw in draws])
    # w_ii is omega chi^2_4 / 4: relative sd 0.71, over 6000 draws 0.0091; five of them.
    assert abs(mean / 0.01 - 1) < 0.046
    tiny = gaussian(3, "1e-400", rng=0)
    assert isinstance(tiny, Scaled)
    U = gaussian_factor(SIMTask([1, 2]), 0.1, width=7, rng=1)
    assert U.shape == (2, 7)
    assert (uniform(3, 0.1, rng=1) > 0).all()
    for wrong in (0, -1, "x", float("inf")):
        with pytest.raises(InvalidInput):
            gaussian(3, wrong)


TURNING = np.array([[4.0, -6, 2, 0], [-6, 9, -3, 0], [2, -3, 5, -4], [0, 0, -4, 4]])


@pytest.mark.parametrize("dynamics", ["gd", "flow"])
def test_a_component_that_may_turn_is_warned_of(dynamics: str) -> None:
    """W(0) of rank two has components of concepts 1 and 3, and gd learns 3 before it turns into 2.

    The certified run (tests/proofs/certify) reaches 1/2 in w_22 at step 4126.
    """
    task = SIMTask.from_signal([7, 6, 4, 1])
    with pytest.warns(SwingbyWarning, match="no component for concept 2, but a concept of"):
        run = simulate(task, Scaled(TURNING, "1e-56"), 0.01, 2000, dynamics)
    assert run.outcome == "trapped"
    assert "until concepts of smaller signal turn into them" in run.reason
    warned = predict(task, Scaled(TURNING, "1e-56"), eta="0.01", dynamics=dynamics).warnings
    assert any("concept 2" in text and "may turn into it later" in text for text in warned)
    assert not any("concept 4" in text and "may turn into it later" in text for text in warned)


def test_a_component_of_the_largest_signals_does_not_turn() -> None:
    """Rank r with the r largest signals: what is missing stays missing, and nobody is warned."""
    task = SIMTask.from_signal([3, 2, 1])
    leading = np.array([[2e-3, 1e-3, 1e-3], [1e-3, 2e-3, 2e-3], [1e-3, 2e-3, 2e-3]])
    apart = np.diag([1e-3, 0, 1e-3])
    for start in (leading, apart):
        run = simulate(task, start, 0.01, 4000, "gd")
        assert run.outcome == "trapped"
        assert "for ever" in run.reason


@pytest.mark.parametrize("dynamics", DYNAMICS)
def test_events_are_those_of_the_recorded_trajectory(dynamics: str) -> None:
    task = SIMTask([1, 1.7, 2.25], [0.5, 0.25, 0.25])
    run = simulate(task, gaussian(3, 1e-2, width=5, rng=7), 0.01, 3000, dynamics, record=1)
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
    for point, extremum in zip(points, run.extrema, strict=True):
        # The last minimum is the square of rounding: compared by value.
        assert extremum.step == point.step or point.value < 1e-24
        assert extremum.value == pytest.approx(point.value, rel=1e-9, abs=1e-24)
    assert run.descents(1e-3) == descents(points, 1e-3 * run.test_loss[0])
    is_close = np.abs(run.W - np.eye(3)).max(axis=(1, 2)) <= 0.01
    assert run.end is not None
    assert is_close[run.end :].all()
    assert not is_close[run.end - 1]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.integers(1, 5))
def test_turning_points_are_the_extremes_between_their_neighbours(values: Any, swing: int) -> None:
    series, one_by_one = np.array(values, dtype=float), Turns(swing)
    points = turning_points(series, swing)
    for step in range(len(series)):
        one_by_one.follow(series[step : step + 1], np.array([step]))
    assert one_by_one.extrema() == points
    for before, point, after in zip(points, points[1:], points[2:], strict=False):
        sign = 1 if point.kind == "max" else -1
        assert sign * point.value == (sign * series[before.step : after.step + 1]).max()
        assert sign * (point.value - before.value) >= swing <= sign * (point.value - after.value)


@pytest.mark.parametrize(("scale", "steps"), [(1.0, 2000), (200.0, 10)])
def test_the_flow_agrees_with_scipy(scale: float, steps: int) -> None:
    a = np.array([3.0, 1.7, 0.4])
    A, eta = np.diag(a), 0.01 * scale

    def slope(_: float, flat: np.ndarray) -> np.ndarray:
        W = flat.reshape(3, 3)
        return (W @ A + A @ W - (A @ W @ W + W @ W @ A + 2 * W @ A @ W) / 2).ravel()

    W0 = gaussian(3, 1e-3, width=5, rng=1)
    run = simulate(SIMTask.from_signal(a), W0, eta, steps, "flow", record=steps // 10)
    solution = solve_ivp(
        slope, (0, eta * steps), W0.ravel(), "DOP853", eta * run.steps, rtol=1e-12, atol=1e-16
    )
    assert np.abs(solution.y.T.reshape(-1, 3, 3) - run.W).max() < 1e-11
