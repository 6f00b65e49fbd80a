"""Runs of the authors' public code, reproduced in their facts.

The numbers were recorded from ``main.py`` of FFTYYY/ConceptDynamics-code (commit d26bebc) on a CPU
with seed 2333: the epochs at which the output at the test point crosses half of mu (interpolated
between the states after whole epochs), its loss after 39 epochs, and the order of the concepts.
Command 1 trains four clusters, the others two and a third at the origin; sigma is a variance.
"""

from dataclasses import replace

import numpy as np
import pytest

from swingby import SIMTask
from swingby.training import Data, Network, Setting, train
from swingby.training.points import directions
from swingby.training.weights import initial_weights

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

#: Of command 2 and 6, before the first step.
OUTPUT = np.array([-0.23723, -0.07642])
JACOBIAN = np.array([[-0.07999, -0.04368], [0.00025, -0.03054]])


def setting(mu, variances, depth=1, *, center_cluster=True, epochs=40):
    task = SIMTask(mu, np.sqrt(variances).tolist(), dim=64)
    data = Data(center_cluster=center_cluster, rotation=True)
    return Setting(task, data, Network(depth), epochs=epochs)


def half_crossings(run):
    """In epochs, from the outputs after whole epochs, as they were recorded."""
    per_epoch = run.settings[0].steps_per_epoch
    whole = np.flatnonzero(run.steps % per_epoch == 0)
    share = run.output[:, whole, -1] / run.points[:, None, -1]
    # As the recorded runs do, a run has to start below one half.
    share = share[(share[:, 0] < 0.5).all(axis=1)]
    assert len(share) > 0.75 * len(run)
    after = (share >= 0.5).argmax(axis=1)
    above, below = (np.take_along_axis(share, (after - k)[:, None], axis=1)[:, 0] for k in (0, 1))
    return after - 1 + (0.5 - below) / (above - below)


def as_recorded(one):
    """Initial weights with the recorded output and Jacobian at the test point."""
    s, R = one.task.s, directions(one)
    W, b = initial_weights(one)
    R, mu = R[:, :s], one.task.test_point[:s]
    W = W + R @ (JACOBIAN - R.T @ W @ R) @ R.T
    return [W, b + R @ (OUTPUT - JACOBIAN @ mu - R.T @ b)]


@pytest.mark.parametrize(
    ("variances", "crossings", "loss", "order"),
    [
        ((0.05, 0.05), (6.1011, 1.2678), 4.3506e-3, [1, 0]),
        ((2.0, 0.05), (0.9586, 1.2577), 1.7e-7, [0, 1]),
    ],
)
def test_one_layer_from_the_recorded_start(variances, crossings, loss, order):
    one = setting((1, 2), variances)
    settings = [replace(one, seed=seed) for seed in range(12)]
    run = train(settings, start=[as_recorded(each) for each in settings])
    assert run.output[:, 0, -1] == pytest.approx(np.tile(OUTPUT, (12, 1)), abs=1e-4)
    assert run.settings[0].steps_per_epoch == 118
    away = np.abs(half_crossings(run).mean(axis=0) - crossings)
    assert (away < 0.15).all()
    # Only the batches differ from run to run.
    assert (half_crossings(run).std(axis=0) < 0.15).all()
    assert (run.order() == order).all()
    ratio = run.test_loss[:, 39 * 118].mean() / loss
    assert 0.5 < ratio < 2
    assert (run.descents(0.01) == 1).all()


@pytest.mark.parametrize(
    ("one", "crossings", "loss", "order"),
    [
        (
            setting((1, 2, 3, 4), (0.5,) * 4, center_cluster=False),
            (3.2507, 1.1736, 0.6972, 0.6420),
            1.563e-4,
            [3, 2, 1, 0],
        ),
        (setting((2, 4), (0.05, 0.05), 4), (5.0500, 0.6365), 5.2e-6, [1, 0]),
    ],
)
def test_random_starts_agree_on_average(one, crossings, loss, order):
    """The recorded run is one of many: half-crossings agree on average over concepts and seeds."""
    run = train([replace(one, seed=seed) for seed in range(48)], record=one.steps_per_epoch)
    found = half_crossings(run)
    assert np.abs(found.mean(axis=0) - crossings).mean() < 0.15
    # It lies among them.
    share = (found < crossings).mean(axis=0)
    assert ((share > 0.05) & (share < 0.95)).all()
    assert (np.sort(found.mean(axis=0)) == found.mean(axis=0)[order]).all()
    assert (run.order() == order).all(axis=1).mean() > 0.85
    ratio = np.exp(np.log(run.test_loss[:, 39]).mean()) / loss
    assert 0.5 < ratio < 2
    assert (run.descents(0.01) == 1).all()
