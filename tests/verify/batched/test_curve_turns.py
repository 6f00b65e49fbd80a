"""Decisive sizes of a series against the zigzag filter of swingby.simulate.events, run again."""

import numpy as np
import pytest

from swingby.simulate.events import descents, turning_points
from swingby.verify.batched import curve_turns


def sizes_of(values, threshold):
    """Decisive sizes that the compiled filter finds; None where it gives up."""
    series = np.empty(curve_turns.LENGTH)
    curve_turns.start(series, 0.0, float(values[0]), threshold)
    for t, value in enumerate(values[1:], 1):
        curve_turns.see(series, float(t), float(value), series[curve_turns.VALUE])
    count = curve_turns.finish(series)
    if count < 0:
        return None
    sizes = np.full(curve_turns.MOST, np.nan)
    return sizes[: curve_turns.decisive(series, count, sizes)]


def test_as_many_decisive_sizes_as_descents_at_every_threshold():
    rng = np.random.default_rng(1)
    several = 0
    for _ in range(300):
        values = rng.standard_normal(rng.integers(1, 25)).cumsum()
        if rng.random() < 0.5:
            values = np.round(values)  # plateaus, and legs of the same size
        sizes = sizes_of(values, 1.0)
        assert (np.diff(sizes) >= 0).all()
        for level in (0.011, 0.1, 0.51, 1.01, 1.5, 2.53, 4.1):
            expected = descents(turning_points(values, 0.01), level)
            assert (sizes >= level).sum() == expected
            several += expected >= 2
    assert several > 300


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        # Down by 3, up by 1, down by 2: below a threshold of 1 two descents, up to 4 one.
        ([5, 2, 3, 1], [1, 4]),
        # A rise at the start and one at the end are no part of a descent.
        ([2, 3, 0, 7], [3]),
        ([0, 1], []),
        ([1, 0], [1]),
        ([4], []),
        # The rise by 1 goes first and makes one fall by 4 of the two; what is left is one descent.
        ([6, 3, 4, 2, 5, 0], [1, 3, 6]),
    ],
)
def test_decisive_sizes_by_hand(values, expected):
    assert sizes_of(np.array(values, float), 1.0).tolist() == expected


def test_legs_below_a_hundredth_of_the_threshold_are_not_kept():
    values = np.array([1.0, 0.5, 0.5 + 0.009, 0.2])
    assert sizes_of(values, 1.0) == pytest.approx([0.8])
    assert sizes_of(values, 0.5) == pytest.approx([0.009, 0.8])


def test_a_series_that_turns_too_often_is_given_up():
    zigzag = np.arange(200) % 2
    assert sizes_of(zigzag, 1.0) is None
    assert len(sizes_of(zigzag[:40], 1.0)) == 19


def test_a_turn_is_seen_from_the_sample_after_it():
    series = np.empty(curve_turns.LENGTH)
    curve_turns.start(series, 0.0, 3.0, 1.0)
    assert not curve_turns.turns(series, 2.0)
    curve_turns.see(series, 1.0, 2.0, 3.0)
    assert curve_turns.turns(series, 2.5)
    assert not curve_turns.turns(series, 1.5)
    # Too small on both sides to matter.
    curve_turns.see(series, 2.0, 2.0 - 1e-6, 2.0)
    assert not curve_turns.turns(series, 2.0)


def test_the_vertex_of_a_parabola_on_uneven_samples():
    def value(t):
        return 5 - 2 * (t - 0.3) ** 2

    values = value(-0.7), value(0.0), value(0.8)
    assert curve_turns.vertex(0.7, 0.8, *values) == pytest.approx(5)
    assert curve_turns.vertex(0.7, 0.8, *(-one for one in values)) == pytest.approx(-5)
    # No turn: the middle value.
    assert curve_turns.vertex(1.0, 1.0, 1.0, 2.0, 3.0) == 2
    assert curve_turns.vertex(0.0, 1.0, 1.0, 2.0, 1.0) == 2
