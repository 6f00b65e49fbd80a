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


def test_looks_are_losses_of_the_factors_and_their_entries():
    rng, d, width = np.random.default_rng(2), 3, swing_sizes._WIDTH
    u, z = rng.standard_normal((d, width)), rng.uniform(0.5, 2, (d, width))
    V = np.eye(d)[..., None] + np.tril(rng.standard_normal((width, d, d)), -1).transpose(1, 2, 0)
    concept, point = np.array([2, 0, 1]), rng.standard_normal(d)
    y, own = np.concatenate([u[:, None], z[:, None], V], axis=1).ravel(), np.zeros(d * d * width)
    loss = np.empty(width)
    swing_sizes.look_at(y, d, own, point, concept, loss)
    root = np.exp(u / 2)[:, None] * V
    W, x = np.einsum("ikn,kn,jkn->nij", root, z, root), point[concept]
    assert loss == pytest.approx(((W @ x - x) ** 2).sum(axis=1) / 2)
    entries = own.reshape(d, d, width).transpose(2, 0, 1)
    assert np.tril(entries, -1) == pytest.approx(np.tril(W, -1))


@pytest.mark.parametrize("phase", [0.0, 0.5])
@np.errstate(over="ignore")
def test_the_map_is_followed_until_w_is_gone(phase):
    rng, (n, d) = np.random.default_rng(3), (4, 3)
    signal, eta, point = rng.uniform(0.5, 1, (n, d)), rng.uniform(0.1, 0.4, n), rng.random((n, d))
    start = 0.1 * rng.standard_normal((n, d, d))
    start = start + start.swapaxes(1, 2) - 0.3 * np.eye(d)
    expected = []
    for a, h, W, x in zip(signal, eta, start, point, strict=True):
        pair, share, losses = a[:, None] + a, phase, []
        while not losses or np.abs(W).max() < 1e100:
            pull = (pair * W) @ W
            W = W + share * h * (pair * W - (pull + pull.T) / 2)
            losses.append(((W @ x - x) ** 2).sum() / 2)
            share = 1.0
        expected.append([loss for loss in losses if np.isfinite(loss)])
    counts, arguments = np.zeros(n, dtype=np.int64), (signal, eta, phase, start, point, 1e100)
    swing_sizes.run("follow_map", *arguments, 1000, np.empty(0), counts)
    assert counts.tolist() == [len(losses) for losses in expected]
    together = np.empty(counts.sum())
    swing_sizes.run("follow_map", *arguments, 1000, together, counts)
    assert together == pytest.approx(np.concatenate(expected), rel=1e-9)
    swing_sizes.run("follow_map", *arguments, 2, np.empty(0), counts)
    assert counts.tolist() == [2] * n
