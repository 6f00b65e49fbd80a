"""Bends, leads and rises of paths that are known, and of noise in which there is nothing."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from swingby.diffusion.concept_space import concept_error
from swingby.diffusion.judging.intervals import student
from swingby.diffusion.judging.turning import (
    ERROR_OF_NOISE,
    bend,
    largest_rise,
    leads,
    rises_beyond_noise,
)
from swingby.errors import InvalidInput


@given(
    st.floats(0, 0.4), st.floats(0, 0.4), st.floats(0.7, 1), st.floats(0.7, 1), st.integers(1, 9)
)
def test_corner_paths_bend_by_one(x0, y0, x1, y1, n):
    """By definition, from any start to any end, whatever the number of saves."""
    part = np.linspace(0, 1, n + 1)
    along = np.stack([x0 + (x1 - x0) * part, np.full(n + 1, y0)], axis=1)
    up = np.stack([np.full(n + 1, x1), y0 + (y1 - y0) * part], axis=1)
    colour_first = np.concatenate([along, up])
    assert bend(colour_first) == pytest.approx(1)
    mirrored = np.concatenate([along, up])[:, ::-1]
    assert bend(mirrored) == pytest.approx(-1)
    straight = np.stack([x0 + (x1 - x0) * part, y0 + (y1 - y0) * part], axis=1)
    assert bend(straight) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("power", [0.2, 0.5, 1.0, 2.0, 7.0])
def test_the_bend_of_a_power(power):
    """Closed form: size = colour^k leaves 1/2 - 1/(k+1) below the chord."""
    x = np.linspace(0, 1, 20_001)
    assert bend(np.stack([x, x**power], axis=1)) == pytest.approx(
        (power - 1) / (power + 1), abs=1e-4
    )


def test_paths_that_do_not_arrive_have_no_bend():
    assert math.isnan(bend([[0, 0], [1, 0.2]]))
    assert math.isnan(bend([[0, 0], [1, 0], [1, -1]]))
    assert math.isnan(bend([[0.5, 0.5]]))


def test_noise_adds_nothing_to_the_bend_on_average():
    """Straight paths with the noise of 32 images: the mean bend is 0 within its error."""
    rng = np.random.default_rng(1)
    line = np.linspace(0.05, 0.95, 40)[:, None] * np.ones(2)
    bends = [bend(rng.binomial(32, line) / 32) for _ in range(400)]
    assert abs(np.mean(bends)) < 4 * np.std(bends) / 20
    assert np.std(bends) < 0.15


def test_leads_by_hand():
    assert leads([[0, 0], [0.9, 0.2], [0.5, 0.75]]) == (pytest.approx(0.7), pytest.approx(0.25))
    assert leads([[0.1, 0.2], [0.2, 0.3]]) == (0.0, pytest.approx(0.1))


@given(arrays(np.float64, st.integers(2, 30), elements=st.floats(0, 1)))
def test_the_largest_rise_is_the_largest(values):
    """Second implementation: all pairs."""
    rise, foot, top = largest_rise(values)
    pairs = [values[j] - values[i] for i in range(len(values)) for j in range(i + 1, len(values))]
    assert rise == max(pairs)
    assert foot < top
    assert values[top] - values[foot] == rise


def falling_and_rising(rng, seeds, rise):
    """Seeds of 32 images: size is lost for a while if `rise`, else both concepts only grow."""
    t = np.linspace(0, 1, 40)
    colour = 0.4 + 0.55 * np.clip(3 * t, 0, 1)
    size = 0.4 + 0.5 * t - (1.2 * np.exp(-(((t - 0.35) / 0.12) ** 2)) * 0.4 if rise else 0)
    truth = np.clip(np.stack([colour, size], axis=1), 0, 1)
    return truth, [rng.binomial(32, truth) / 32 for _ in range(seeds)]


@pytest.mark.parametrize("seeds", [3, 5])
def test_noise_is_rarely_taken_for_a_rise(seeds):
    """A two-sided 95 % interval lies above the truth in 2.5 % of cases: at most 12 of 200."""
    rng = np.random.default_rng(2)
    wrong = naive = 0
    for _ in range(200):
        truth, paths = falling_and_rising(rng, seeds, rise=False)
        assert (np.diff(concept_error(truth)) < 0).all()
        wrong += student(rises_beyond_noise(paths)).low > ERROR_OF_NOISE
        naive += largest_rise(concept_error(np.mean(paths, axis=0)))[0] > ERROR_OF_NOISE
    assert wrong <= 12
    assert naive > 150  # why the largest rise itself tells nothing


def test_a_rise_that_is_there_is_found():
    rng = np.random.default_rng(3)
    truth, _ = falling_and_rising(rng, 1, rise=True)
    known = largest_rise(np.convolve(concept_error(truth), np.ones(5) / 5, "valid"))[0]
    assert known > 0.1
    found = [
        student(rises_beyond_noise(falling_and_rising(rng, 5, rise=True)[1])) for _ in range(100)
    ]
    assert sum(one.low > ERROR_OF_NOISE for one in found) > 60
    assert np.mean([one.mean for one in found]) == pytest.approx(known, rel=0.2)


def test_one_seed_shows_no_rise():
    assert np.isnan(rises_beyond_noise([np.random.default_rng(0).uniform(size=(9, 2))])).all()
    with pytest.raises(InvalidInput, match="paths"):
        rises_beyond_noise([np.zeros((3, 2)), np.zeros((4, 2))])
    with pytest.raises(InvalidInput, match="path"):
        bend([[0, np.nan], [1, 1]])
