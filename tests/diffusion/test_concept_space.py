"""Half-times, errors and speeds of paths that are known in closed form."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swingby.diffusion import concept_space as space
from swingby.diffusion.course import Course
from swingby.errors import InvalidInput


def course(held_out, right=None, steps=None, seed=0, contrast=0.5):
    held_out = np.asarray(held_out, dtype=float)
    n = len(held_out)
    classes = np.zeros((n, 4, 2))
    classes[:, 3] = held_out
    shares = np.ones((n, 4)) if right is None else np.asarray(right, dtype=float)
    steps = np.arange(n) * 100 if steps is None else steps
    return Course(contrast, seed, steps, classes, shares, np.ones(n))


def uneven(n=400, last=20_000):
    return np.unique((np.linspace(0, math.sqrt(last), n) ** 2).astype(int))


@given(st.floats(500, 9_000), st.floats(500, 9_000), st.floats(2e-4, 1e-2))
def test_half_times_of_logistics_on_uneven_steps(colour, size, rate):
    """Closed form: a logistic is 1/2 at its middle, and almost a line between close saves."""
    steps = uneven()
    path = 1 / (1 + np.exp(-rate * (steps[:, None] - np.array([colour, size]))))
    found = space.half_times(steps, path)
    gaps = np.diff(steps)[np.searchsorted(steps, [colour, size]) - 1]
    # A line between saves h apart misses by at most (r h)^2 / 10 of h or so.
    bound = 0.02 * gaps * np.maximum(1, rate * gaps) ** 2 + 1e-6
    if (path[0] > 0.5).any():
        return
    assert (np.abs(np.array(found.stays) - [colour, size]) <= bound).all()
    assert found.first == found.stays
    assert found.early == (False, False)


def test_crossings_that_do_not_last():
    """By hand: up between 0 and 10, down, up again between 20 and 40."""
    path = [[0.0, 0.6], [1.0, 0.7], [0.0, 0.8], [2 / 3, 0.9]]
    found = space.half_times([0, 10, 20, 40], path)
    assert found.first[0] == 5.0
    assert found.stays[0] == pytest.approx(35.0)
    assert math.isnan(found.first[1])
    assert math.isnan(found.stays[1])
    assert found.early == (False, True)
    lost = space.half_times([0, 10, 20], [[0.0, 0.0], [1.0, 0.5], [0.0, 0.5]])
    assert lost.stays == (math.inf, math.inf)
    assert lost.first == (5.0, math.inf)
    dip = space.half_times([0, 10, 20], [[0.9, 0.9], [0.0, 0.9], [1.0, 0.1]])
    assert dip.stays == (15.0, math.inf)
    assert all(math.isnan(one) for one in dip.first)
    assert dip.early == (False, False)


def test_saves_before_the_start_are_not_looked_at():
    path = [[0.9, 0.9], [0.0, 0.9], [0.2, 0.1], [0.8, 0.9]]
    found = space.half_times([0, 1, 2, 3], path, 2)
    assert found.stays == (pytest.approx(2.5), pytest.approx(2.5))
    assert found.first == found.stays
    assert found.start == 2
    nothing = space.half_times([0, 1, 2, 3], path, None)
    assert nothing.start is None
    assert np.isnan([*nothing.stays, *nothing.first]).all()


def test_the_start_is_where_the_trained_classes_follow_a_concept():
    """Responses of colour 0.49, of size 0.5, of none; the held-out class has no say."""
    classes = np.full((4, 4, 2), 0.25)
    classes[1, 2, 0] += 0.49
    classes[2, 1, 1] += 0.5
    classes[:, 3] = [[0.9] * 2, [0.9] * 2, [0] * 2, [1] * 2]
    one = Course(0.5, 0, [0, 100, 200, 300], classes, np.zeros((4, 4)), np.zeros(4))
    assert space.start(one) == 2
    assert space.course_half_times(one).stays == (250.0, 250.0)
    classes[2, 1, 1] -= 0.01
    assert space.start(replace(one, classes=classes)) is None


def test_the_mean_over_seeds():
    first, second = np.zeros((3, 2)), np.ones((3, 2))
    steps, path = space.mean_path([course(first), course(second, seed=1)])
    assert (path == 0.5).all()
    assert steps.tolist() == [0, 100, 200]


@pytest.mark.parametrize(
    "other",
    [
        course(np.zeros((4, 2)), seed=1),
        course(np.zeros((3, 2)), seed=1, steps=[0, 100, 201]),
        course(np.zeros((3, 2)), seed=0),
        course(np.zeros((3, 2)), seed=1, contrast=0.6),
    ],
)
def test_courses_that_do_not_belong_together_are_refused(other):
    with pytest.raises(InvalidInput, match="courses"):
        space.mean_path([course(np.zeros((3, 2))), other])
    with pytest.raises(InvalidInput, match="courses"):
        space.mean_path([])


def test_smoothing_is_a_gaussian_over_saves():
    """Second implementation: the truncated kernel, ends reflected."""
    values = np.random.default_rng(0).uniform(size=(30, 2))
    reach = np.arange(-8, 9)
    kernel = np.exp(-(reach**2) / 8)
    kernel /= kernel.sum()
    padded = np.pad(values, ((8, 8), (0, 0)), mode="symmetric")
    expected = np.stack([np.convolve(padded[:, p], kernel, "valid") for p in range(2)], axis=1)
    np.testing.assert_allclose(space.smooth(values), expected, atol=1e-12)
    for bad in (0, -1, np.nan, True):
        with pytest.raises(InvalidInput, match="sigma"):
            space.smooth(values, bad)


def test_error_and_speed_by_hand():
    path = [[0.0, 1.0], [0.3, 0.6], [0.3, 0.6]]
    np.testing.assert_allclose(space.concept_error(path), [0.5, 0.325, 0.325])
    middles, speeds = space.speed([0, 10, 100], path)
    np.testing.assert_allclose(middles, [5, 55])
    np.testing.assert_allclose(speeds, [0.05, 0], atol=1e-15)


def test_the_speed_of_an_exponential():
    """Closed form: |dC/dt| of 1 - exp(-r t) in both concepts is sqrt(2) r exp(-r t)."""
    steps = uneven(2000)
    rest = np.exp(-steps / 4_000)
    middles, speeds = space.speed(steps, np.stack([1 - rest, 1 - rest], axis=1))
    np.testing.assert_allclose(speeds, math.sqrt(2) / 4_000 * np.exp(-middles / 4_000), rtol=1e-4)


@pytest.mark.parametrize(
    ("steps", "path"),
    [
        ([0, 1], [[0, 0]]), ([0, 1], [[0, 0, 0], [0, 0, 0]]), ([0, 0], [[0, 0], [0, 0]]),
        ([0, 1], [[0, np.nan], [0, 0]]), ([], []), ([0, 1], "ab"), ([0], [[0, 0]]),
    ],
)  # fmt: skip
def test_paths_that_do_not_fit_their_steps_are_refused(steps, path):
    with pytest.raises(InvalidInput, match=r"steps|path"):
        space.speed(steps, path)
