"""Runs of the authors' loop: every event to the step.

tests/data/reference_runs.json holds six parameter sets of the paper's theory figures, each with
the signal of the code (a squared) and of the paper (a), under the W map and the U map.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from swingby.simulate.run import simulate
from swingby.simulate.series import turning_points
from swingby.simulate.trajectory import Run
from swingby.theory.task import SIMTask

DATA = json.loads((Path(__file__).parents[1] / "data" / "reference_runs.json").read_text())
VARIANTS = ["A2_code", "A_paper", "A2_code_Ugd", "A_paper_Ugd"]
CASES = [(name, variant) for name in DATA["cases"] for variant in VARIANTS]


@pytest.mark.parametrize(("name", "variant"), CASES)
def test_every_event_of_the_reference_runs_is_at_the_same_step(name: str, variant: str) -> None:
    case = DATA["cases"][name]
    expected = case["variants"][variant]
    mu = [value for value in case["mu"] if value]
    sigma = np.broadcast_to(case["sigma"], len(case["mu"]))[: len(mu)].tolist()
    task = SIMTask(mu, sigma, len(case["mu"])).with_signal(expected["signal"], "authors' code")
    U0, on_factor = np.array(case["U0"]), variant.endswith("Ugd")
    W0, dynamics = (U0 @ U0.T, "gd") if on_factor else (np.array(case["W0"]), "euler")
    run = simulate(task, W0, case["eta"], case["steps"], dynamics, record="none")
    for k in range(task.dim):
        for level, step in expected["diag"][f"w{k + 1}{k + 1}"].items():
            reached = run.first_reach(float(level))[k]
            assert (None if np.isnan(reached) else int(reached)) == step, (k, level)
    for peak in run.peaks:
        reference = expected["off"][f"w{peak.i + 1}{peak.j + 1}"]
        assert peak.step == reference["t_peak_abs"]
        assert peak.value == pytest.approx(reference["peak"], rel=1e-10)
    for threshold in ("any", "1e-4_L0", "1e-3_L0", "1e-2_L0"):
        _turns_are_those(run, expected["loss"], threshold)
    assert run.psd_lost == (None if on_factor else expected["first_negative_t"])
    assert np.abs(run.W[-1] - np.array(expected["final_W"])).max() < 1e-11


def _turns_are_those(run: Run, loss: dict[str, Any], threshold: str) -> None:
    """Turns of the test loss that swing by a share of its start, and the descents among them."""
    swing = 1e-9 if threshold == "any" else float(threshold[:4])
    steps, values, _ = zip(*run.extrema, strict=True)
    points = turning_points(values, swing * loss["L0"], steps)
    reference = loss[f"turning_{threshold}"]
    assert [point.kind for point in points] == [kind for _, _, kind in reference]
    for point, (step, value, _) in zip(points, reference, strict=True):
        # A loss below 1e-24 of its initial value is the square of the rounding of W, and the
        # step of its minimum means nothing: it is compared by value.
        if value > 1e-24 * loss["L0"]:
            assert point.step == step
        assert point.value == pytest.approx(value, rel=1e-8, abs=1e-24 * loss["L0"])
    assert run.descents(swing) == loss[f"n_descents_{threshold}"]


def test_figure_10_as_coded_leaves_the_float_range_at_the_known_step() -> None:
    case = DATA["cases"]["fig10_fail"]
    task = SIMTask(case["mu"], 0.05).with_signal(
        case["variants"]["A2_code"]["signal"], "authors' code"
    )
    with np.errstate(all="raise"):
        run = simulate(task, case["W0"], case["eta"], 20_000, dynamics="euler")
    assert run.outcome == "diverged"
    # The authors' list index 17,264 is step 17,265: their list starts after the first update.
    assert run.last_step + 1 == 17_265
    assert run.psd_lost == 32
