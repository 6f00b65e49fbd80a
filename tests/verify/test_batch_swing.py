"""predict_swing_batch on arrays: places, pieces, symmetries, axes, and what it refuses."""

import math

import numpy as np
import pytest

from swingby.errors import InvalidInput
from swingby.verify.predict_swing import predict_swing_batch

DYNAMICS = ("euler", "gd", "flow")
FIELDS = (
    "descents",
    "least_descents",
    "most_descents",
    "swing_margin",
    "needed_margin",
    "transient",
    "entry",
    "diverges",
    "undecided",
)


def same(one, other, where=None):
    for name in FIELDS:
        left, right = getattr(one, name), getattr(other, name)
        left = left if where is None else left[where]
        assert left.tobytes() == right.tobytes(), name


@pytest.mark.parametrize("dynamics", DYNAMICS)
def test_the_place_in_the_batch_changes_no_bit(dynamics, starts):
    signal, W0, eta = starts(70, 3, seed=3)
    W0[5], eta[6] = np.ones((3, 3)) * 1e-3, 0.7  # a rank of one, and a step that is too coarse
    whole = predict_swing_batch(signal, W0, eta, dynamics)
    assert whole.undecided[6] == (dynamics != "flow")
    order = np.random.default_rng(4).permutation(70)
    same(whole, predict_swing_batch(signal[order], W0[order], eta[order], dynamics), order)
    for place in (0, 5, 6, 33, 69):
        single = predict_swing_batch(signal[place], W0[place], eta[place], dynamics)
        for name in FIELDS:
            assert np.array_equal(
                getattr(single, name), getattr(whole, name)[place], equal_nan=True
            ), name


def test_pieces_are_put_together_in_order(monkeypatch, starts):
    signal, W0, eta = starts(23, 2, seed=8)
    whole = predict_swing_batch(signal, W0, eta, "gd")
    monkeypatch.setattr("swingby.verify.predict_swing._TOGETHER", 20)
    same(whole, predict_swing_batch(signal, W0, eta, "gd"))


def test_exact_symmetries_change_no_bit(starts):
    signal, W0, eta = starts(30, 4, seed=6)
    plain = predict_swing_batch(signal, W0, eta, "gd")
    # (a, eta) -> (8 a, eta/8); the length of the test point.
    point = np.sqrt(signal)
    same(plain, predict_swing_batch(8 * signal, W0, eta / 8, "gd", test_point=4 * point))
    # W -> D W D with signs D, and the test point along.
    flip = np.array([1.0, -1.0, -1.0, 1.0])
    turned = predict_swing_batch(
        signal, W0 * flip[:, None] * flip, eta, "gd", test_point=point * flip
    )
    assert np.array_equal(plain.descents, turned.descents)
    assert np.allclose(plain.transient, turned.transient, rtol=1e-12)
    assert np.array_equal(plain.entry, turned.entry)
    # Another order of the concepts.
    order = np.array([2, 0, 3, 1])
    moved = predict_swing_batch(signal[:, order], W0[:, order][:, :, order], eta, "gd")
    assert np.array_equal(plain.descents, moved.descents)
    assert np.array_equal(np.sort(order[moved.entry], axis=1), plain.entry)


def test_leading_axes_broadcast(starts):
    signal, W0, _ = starts(3, 2, seed=1)
    eta, swing = np.array([[0.01], [0.02]]), np.array([1e-3, 1e-2, 1e-1])
    found = predict_swing_batch(signal, W0, eta, "gd", swing=swing, test_point=[1.0, 2.0])
    assert found.shape == (2, 3)
    assert found.entry.shape == (2, 3, 2)
    assert len(found) == 2
    for i in range(2):
        for k in range(3):
            one = predict_swing_batch(
                signal[k], W0[k], eta[i, 0], "gd", swing=swing[k], test_point=[1.0, 2.0]
            )
            assert one.shape == ()
            assert one.transient == found.transient[i, k]
            assert one.descents == found.descents[i, k]
    with pytest.raises(TypeError, match="no length"):
        len(one)
    empty = predict_swing_batch(np.empty((4, 0, 3)), np.eye(3) * 1e-3, 0.01)
    assert empty.shape == (4, 0)
    assert empty.entry.shape == (4, 0, 2)


GOOD = {"signal": [2.0, 1.0], "W0": [[1e-3, 0.0], [0.0, 1e-3]], "eta": 0.01}
#: What both batches read is refused in test_predict_batch.py.
BAD = [
    ("signal", [2.0, math.nan]),
    ("swing", 0.0),
    ("swing", -1e-3),
    ("swing", 9e-10),
    ("swing", math.nan),
    ("swing", math.inf),
    ("swing", "x"),
    ("test_point", [0.0, 0.0]),
    ("test_point", [1.0, math.inf]),
    ("test_point", [1.0, 1.0, 1.0]),
    ("test_point", 1.0),
]


@pytest.mark.parametrize(("argument", "value"), BAD)
def test_bad_input_is_refused_by_name(argument, value):
    with pytest.raises(InvalidInput, match=argument):
        predict_swing_batch(**{**GOOD, argument: value})


def test_what_does_not_fit_together_is_refused():
    with pytest.raises(InvalidInput, match="broadcast"):
        predict_swing_batch([[2.0, 1.0]] * 2, np.eye(2) * 1e-3, [0.01] * 3)
    with pytest.raises(InvalidInput, match="dynamics"):
        predict_swing_batch([2.0, 1.0], np.eye(2) * 1e-3, 0.01, "newton")
    with pytest.raises(InvalidInput, match="one at a time"):
        predict_swing_batch([2.0, 1.0], np.eye(2), 0.01, omega=1e-3, log_scale=0.0)
    W0 = np.tile(np.eye(2) * 1e-3, (3, 4, 1, 1))
    W0[2, 1] = 0
    with pytest.raises(InvalidInput, match=r"W0\[2, 1\]"):
        predict_swing_batch([2.0, 1.0], W0, 0.01)
