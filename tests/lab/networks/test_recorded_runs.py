"""Runs of the authors' public code, reproduced in their facts.

What was recorded stands in ``benchmarks/recorded_runs.py``: half-crossings, final losses, order.
"""

import numpy as np
import pytest

from benchmarks import recorded_runs as recorded
from tests.forked import FULL

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

RUNS = {one.command: one for one in recorded.RUNS}


def agrees(one, run):
    """Order, one descent, and the final loss within a factor of two."""
    assert (run.order() == one.order).all(axis=1).mean() > 0.85
    assert 0.5 < recorded.final_loss(run) / one.loss < 2
    assert (run.descents(0.01) == 1).all()


@pytest.mark.parametrize("command", ["2", "6"])
def test_one_layer_from_the_recorded_start(command):
    one = RUNS[command]
    run = recorded.trained(one, 12)
    assert run.output[:, 0, -1] == pytest.approx(np.tile(recorded.OUTPUT, (12, 1)), abs=1e-4)
    assert run.settings[0].steps_per_epoch == 118
    found = recorded.half_crossings(run)
    assert (np.abs(found.mean(axis=0) - one.crossings) < 0.15).all()
    # Only the batches differ from run to run.
    assert (found.std(axis=0) < 0.15).all()
    agrees(one, run)


@pytest.mark.parametrize("command", ["1", "28"])
def test_random_starts_agree_on_average(command):
    """The recorded run is one of many: half-crossings agree on average over concepts and seeds."""
    one = RUNS[command]
    run = recorded.trained(one, 48 if FULL else 24)
    found = recorded.half_crossings(run)
    assert len(found) > 0.75 * len(run)
    assert np.abs(found.mean(axis=0) - one.crossings).mean() < 0.15
    # It lies among them.
    share = (found < one.crossings).mean(axis=0)
    assert ((share > 0.05) & (share < 0.95)).all()
    agrees(one, run)
