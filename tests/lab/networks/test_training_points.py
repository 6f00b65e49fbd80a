"""Training points: moments, truncation, rotation, and independent streams."""

import numpy as np
import pytest

from swingby.errors import InvalidInput
from swingby.lab.networks import Data, Network, Optimizer, Setting
from swingby.lab.networks.training_points import (
    STREAMS,
    batch_order,
    directions,
    stream,
    training_points,
)
from swingby.lab.networks.weights import initial_weights
from swingby.theory.task import SIMTask

TASK = SIMTask([1, 2], ["1/5", "1/3"], dim=6)


@pytest.mark.parametrize("center", [True, False])
def test_moments_of_the_data_are_those_of_the_clusters(center):
    n = 40_000
    setting = Setting(TASK, Data(n, center_cluster=center, free_sigma=0.3), seed=1)
    points, labels = training_points(setting)
    sigma = np.array([0.2, 1 / 3, 0.3, 0.3, 0.3, 0.3])
    assert sorted(set(labels.tolist())) == ([-1, 0, 1] if center else [0, 1])
    for label in set(labels.tolist()):
        mine = points[labels == label]
        assert len(mine) == n
        mean = np.zeros(6)
        if label >= 0:
            mean[label] = (1, 2)[label]
        # Five standard errors.
        assert (np.abs(mine.mean(axis=0) - mean) < 5 * sigma / np.sqrt(n)).all()
        bound = 5 * np.sqrt(2 / n) * np.outer(sigma, sigma)
        assert (np.abs(np.cov(mine.T) - np.diag(sigma**2)) < bound).all()
    # Closed forms: mu / c, and sigma^2 + mu^2 / c on the diagonal.
    c = 3 if center else 2
    mean, second = setting.moments
    assert mean == pytest.approx([1 / c, 2 / c, 0, 0, 0, 0])
    assert second == pytest.approx(sigma**2 + np.array([1, 4, 0, 0, 0, 0]) / c)


def test_truncation_leaves_no_point_in_the_ball():
    wide, reach = SIMTask([1, 2], [1, 1], dim=4), 0.9
    free = training_points(Setting(wide, Data(3000), seed=2))[0]
    assert (np.linalg.norm(free - wide.test_point, axis=1) <= reach).sum() > 100
    cut, labels = training_points(Setting(wide, Data(3000, truncation=reach), seed=2))
    away = np.linalg.norm(cut - wide.test_point, axis=1)
    assert away.min() > reach
    assert (away < 1.3 * reach).sum() > 50  # no more than the ball was cleared
    assert np.bincount(labels).tolist() == [3000, 3000]
    with pytest.raises(InvalidInput, match="hardly any room"):
        training_points(Setting(TASK, Data(10, truncation=50), seed=2))


def test_rotations_are_orthogonal_and_uniform():
    task = SIMTask([1, 2], dim=3)
    settings = [Setting(task, Data(rotation=True), seed=seed) for seed in range(2000)]
    found = np.array([directions(one) for one in settings])
    assert np.abs(found.swapaxes(1, 2) @ found - np.eye(3)).max() < 1e-13
    # Uniform: both signs of the determinant, entries of mean 0 and mean square 1/3 (Haar), and
    # R_11 R_22 of mean 0; five standard errors. A QR without signs gives a diagonal below 0.
    assert abs((np.linalg.det(found) > 0).mean() - 0.5) < 5 * 0.5 / np.sqrt(2000)
    assert np.abs(found.mean(axis=0)).max() < 5 * np.sqrt(1 / 3 / 2000)
    assert np.abs((found**2).mean(axis=0) - 1 / 3).max() < 5 * 0.3 / np.sqrt(2000)
    assert abs((found[:, 0, 0] * found[:, 1, 1]).mean()) < 5 * 0.35 / np.sqrt(2000)


def test_streams_are_independent_of_each_other_and_of_other_choices():
    base = Setting(TASK, Data(50), seed=5)
    rotated = Setting(TASK, Data(50, rotation=True), seed=5)
    assert np.array_equal(training_points(base)[0], training_points(rotated)[0])
    assert all(map(np.array_equal, initial_weights(base), initial_weights(rotated)))
    # The four children that a seed sequence spawns.
    states = {np.random.default_rng(stream(5, name)).random() for name in STREAMS}
    spawned = np.random.SeedSequence(5).spawn(4)
    assert states == {np.random.default_rng(one).random() for one in spawned}
    other = Setting(TASK, Data(50), seed=6)
    assert not np.array_equal(training_points(base)[0], training_points(other)[0])


def test_the_order_of_an_epoch():
    once = Setting(TASK, Data(50), seed=5)
    each = Setting(TASK, Data(50), optimizer=Optimizer(shuffle="epoch"), seed=5)
    first = batch_order(once, 0)
    assert sorted(first.tolist()) == list(range(100))
    assert np.array_equal(first, batch_order(once, 7))
    assert np.array_equal(first, batch_order(each, 0))
    assert not np.array_equal(first, batch_order(each, 7))
    assert np.array_equal(batch_order(each, 7), batch_order(each, 7))


@pytest.mark.parametrize("kind", ["torch", "gaussian", "uniform"])
def test_initial_weights_have_the_spread_they_claim(kind):
    network = Network(2, 2000, initialization=kind, scale=0.5)
    first, bias, second, _ = initial_weights(Setting(TASK, network=network))
    assert (first.shape, bias.shape, second.shape) == ((2000, 6), (2000,), (6, 2000))
    expected = {"torch": 0.5 / np.sqrt(3 * 6), "gaussian": 0.5, "uniform": 0.5 / np.sqrt(12)}
    spread = 0.5 / np.sqrt(3 * 2000) if kind == "torch" else expected[kind]
    assert first.std() == pytest.approx(expected[kind], rel=0.03)
    assert second.std() == pytest.approx(spread, rel=0.03)
    assert kind != "torch" or np.abs(bias).max() <= 0.5 / np.sqrt(6)
    assert (first.min() >= 0) == (kind == "uniform")
