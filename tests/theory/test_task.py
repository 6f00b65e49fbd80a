"""SIMTask: signal, test points, sampling, and refusals."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swingby.errors import InvalidInput
from swingby.theory.task import SIMTask

exact_numbers = st.fractions(min_value=Fraction(1, 100), max_value=100, max_denominator=1000)


@given(st.lists(st.tuples(exact_numbers, exact_numbers), min_size=1, max_size=5), st.integers(0, 3))
def test_signal_is_sigma_squared_plus_mu_squared_over_s(pairs, free):
    mu, sigma = zip(*pairs, strict=True)
    task = SIMTask(mu, sigma, len(mu) + free)
    expected = [b * b + a * a / len(mu) for a, b in pairs] + [0] * free
    assert list(task.exact_signal) == expected
    assert task.signal.shape == task.test_point.shape == (len(mu) + free,)


def test_order_is_by_descending_signal_and_stable():
    assert SIMTask.from_signal([1, 4, 1, 9]).order == (3, 1, 0, 2)


def test_from_signal_keeps_a_exactly():
    task = SIMTask.from_signal(["1/3", "1/7", 0])
    assert task.exact_signal == (Fraction(1, 3), Fraction(1, 7), 0)
    assert task.s == 2
    assert np.allclose(task.test_point, [math.sqrt(2 / 3), math.sqrt(2 / 7), 0])


def test_center_cluster_is_labelled_minus_one_and_centred():
    points, labels = SIMTask([3, 4], [0.1, 0.1]).sample(5_000, rng=2, center_cluster=True)
    assert set(labels) == {-1, 0, 1}
    assert np.abs(points[labels == -1].mean(axis=0)).max() < 0.01


def test_same_seed_same_points():
    task = SIMTask([1, 2], [1, 1])
    first, _ = task.sample(10, rng=5)
    second, _ = task.sample(10, rng=np.random.default_rng(5))
    assert np.array_equal(first, second)


@pytest.mark.parametrize("center_cluster", [False, True])
def test_from_samples_finds_task_and_rotation(center_cluster):
    rotation = np.linalg.qr(np.random.default_rng(3).standard_normal((4, 4)))[0]
    task = SIMTask([1.0, 2.0, 3.0], [0.2, 0.05, 0.1], dim=4)
    points, labels = task.sample(20_000, 4, center_cluster=center_cluster, rotation=rotation)
    found = SIMTask.from_samples(points, labels)
    assert np.allclose(np.array(found.mu, float), [1, 2, 3], atol=0.01)
    assert np.allclose(np.array(found.sigma, float), [0.2, 0.05, 0.1], atol=0.01)
    assert np.allclose(found.rotation[:, :3], rotation[:, :3], atol=0.01)
    # Labels are names: any whole numbers but -1, which is the centre cluster.
    renamed = np.where(labels == -1, -1, np.array([-7, 3, 9])[labels])
    assert SIMTask.from_samples(points, renamed).mu == found.mu
    again, _ = found.sample(20_000, 5)
    assert np.allclose(
        again.T @ again, points[labels >= 0].T @ points[labels >= 0], rtol=0.1, atol=900
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SIMTask([]), "mu must not be empty"),
        (lambda: SIMTask([1, math.nan]), r"mu\[2\] must be a finite number"),
        (lambda: SIMTask([0]), r"mu\[1\] must be positive"),
        (lambda: SIMTask("12"), "mu must be a sequence"),
        (lambda: SIMTask([1], [-0.1]), r"sigma\[1\] must not be negative"),
        (lambda: SIMTask([1, 2], [0.1]), "sigma must have as many values as mu, which has 2"),
        (lambda: SIMTask([1, 2], dim=1), "dim must be at least the number of concepts, 2, got 1"),
        (lambda: SIMTask(np.ones(1025)), "number of values of mu must be at most 1024"),
        (lambda: SIMTask(["1e-200"]), "float range"),
        (lambda: SIMTask(["1.2e154"]), r"2 a\[1\] must lie in the float range"),
        (lambda: SIMTask.from_signal([0, 1]), "zeros"),
        (lambda: SIMTask.from_signal([0]), "positive entry"),
        (lambda: SIMTask.from_signal([-1]), "must not be negative"),
        (lambda: SIMTask([1, 2]).sample(2, rotation=[[1, 1], [0, 1]]), "orthogonal"),
        (lambda: SIMTask([1, 2]).sample(2, rotation=[[1]]), "shape"),
        (lambda: SIMTask([1] * 17).test_points(), "at most 16"),
        (lambda: SIMTask([1, 2]).with_signal([1], "short"), "must have 2 values"),
        (lambda: SIMTask.from_samples([[1.0, 2.0]], [0, 1]), "labels"),
        (lambda: SIMTask.from_samples([[1.0], [2.0]], [0.0, 1.0]), "whole numbers"),
        (lambda: SIMTask.from_samples([[1.0], [2.0]], [0, 1]), "between 1 and d"),
        (lambda: SIMTask.from_samples([[1.0], [2.0]], [0, -1]), "at least two points"),
        (lambda: SIMTask.from_samples([[0.0, 0], [0, 0]], [0, 0]), "class means that are not 0"),
    ],
)
def test_refusals_name_argument_value_and_rule(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()
