"""Decisive sizes and looks of compiled loops, against definitions written out in Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swingby.simulate.series import descents, turning_points
from swingby.verify import swing_sizes

NUMBERS = st.one_of(st.integers(-4, 4).map(float), st.floats(-10, 10))


def decisive(series, least=0.0, most=64):
    stack, out = np.empty(len(series) + 1), np.empty(most)
    count = swing_sizes.decisive.py_func(np.array(series, dtype=float), least, stack, out)
    return out[: min(count, most)], count


@given(st.lists(NUMBERS, min_size=1, max_size=14), st.floats(0.01, 12))
def test_a_series_has_as_many_descents_as_decisive_sizes(series, threshold):
    sizes, _ = decisive(series)
    assert (sizes >= threshold).sum() == descents(turning_points(series), threshold)
    assert len(decisive(series, threshold)[0]) == (sizes > threshold).sum()


def test_decisive_sizes_of_a_zigzag_by_hand():
    # From 9 down to 2, with a hill of 3; up to 6, and down to 5.
    assert sorted(decisive([9, 4, 7, 2, 6, 5])[0]) == [1, 3, 7]
    assert sorted(decisive([0, 1, 1, 0])[0]) == [1]
    assert decisive([3, 3, 3])[1] == decisive([])[1] == decisive([1, 2, np.inf, 4])[1] == 0


def test_more_sizes_than_there_is_room_for_are_told():
    assert decisive([1, 0] * 9, most=3)[1] == 4


def test_extrema_are_vertices_of_parabolas():
    times = np.array([0.0, 0.4, 1.1, 1.1, 1.7, 2.0])
    out = np.empty(8)
    count = swing_sizes.extrema.py_func(times, 3 - (times - 1) ** 2, out)
    assert out[:count] == pytest.approx([2.0, 3.0, 2.0])


def test_a_look_is_the_loss_of_the_factors_and_its_largest_entry():
    rng, d = np.random.default_rng(2), 3
    u, z = rng.standard_normal(d), rng.uniform(0.5, 2, d)
    V = np.tril(rng.standard_normal((d, d)), -1) + np.eye(d)
    concept, point = np.array([2, 0, 1]), rng.standard_normal(d)
    root = np.exp(u / 2)[:, None] * V
    W, x = root @ np.diag(z) @ root.T, point[concept]
    y, own = np.column_stack([u, z, V]).ravel(), np.zeros((d, d))
    loss = swing_sizes._look(y, d, own, point, concept)
    assert loss == pytest.approx(((W @ x - x) ** 2).sum() / 2)
    assert np.tril(own, -1) == pytest.approx(np.tril(abs(W), -1))
