"""Intervals over seeds: coverage, a second implementation, and what they do not say."""

import math

import numpy as np
import pytest
from scipy import stats

from swingby.diffusion.judging.intervals import slopes, student
from swingby.errors import InvalidInput


@pytest.mark.parametrize("seeds", [3, 5])
def test_coverage(seeds):
    """95 % of 2,000 intervals contain the truth, within four standard errors of that share."""
    rng = np.random.default_rng(0)
    hits = sum(
        found.low <= 2 <= found.high for found in map(student, rng.normal(2, 3, (2_000, seeds)))
    )
    assert abs(hits / 2_000 - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 2_000)


def test_against_scipy():
    values = np.random.default_rng(1).normal(size=5)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    found = student(values)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert found.known


@pytest.mark.parametrize(
    "values", [[], [1.0], [1.0, 2.0], [1.0, 2.0, np.nan], [1.0, 2.0, 3.0, np.inf], [np.nan] * 4]
)
def test_not_known(values):
    assert not student(values).known


def test_wider_by_the_error_of_the_other():
    found = student([1.0, 2.0, 3.0])
    wide = found.wider(found.reach * 3 / 4)
    assert wide.reach == pytest.approx(found.reach * 5 / 4)
    assert wide.mean == found.mean
    assert found.wider(0.0) == found


def test_slopes_against_polyfit():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=6), rng.normal(size=(4, 6))
    y[1, 2] = np.nan
    found = slopes(x, y, least_points=3, least_spread=0.1)
    for seed in range(4):
        kept = np.isfinite(y[seed])
        assert found[seed] == pytest.approx(np.polyfit(x[kept], y[seed, kept], 1)[0])


def test_slopes_over_too_little():
    assert np.isnan(slopes([0, 1], [[0, 1]], least_points=3, least_spread=0.1)).all()
    flat = slopes([0, 0.1, 0.2], [[0, 1, 2]], least_points=3, least_spread=0.3)
    assert np.isnan(flat).all()
    with pytest.raises(InvalidInput, match="values"):
        student([[1.0, 2.0]])
