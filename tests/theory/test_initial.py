"""W(0) at any scale: which arrays are taken and refused, pivots, and connected concepts."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import swingby
from swingby import SIMTask, simulate
from swingby.errors import InvalidInput
from swingby.theory.initial import Initial, Scaled, connected_blocks, initial_matrix


@pytest.mark.parametrize(
    ("matrix", "scale", "fits"),
    [
        (np.eye(2), "1e300", True),
        (2 * np.eye(2), "1e300", False),
        (1e200 * np.eye(2), "1e101", False),
        (1e-200 * np.eye(2), "1e502", False),
        (1e299 * np.eye(2), "1e-5000", True),
    ],
)
def test_the_largest_entry_is_that_of_matrix_times_scale(matrix, scale, fits):
    if fits:
        assert initial_matrix(Scaled(matrix, scale), 2).scale == Fraction(scale)
    else:
        with pytest.raises(InvalidInput, match="must be below 1e300"):
            initial_matrix(Scaled(matrix, scale), 2)


@pytest.mark.parametrize(
    ("W0", "message"),
    [
        (np.ones((2, 3)), "must be a square matrix"),
        (np.eye(3), r"must have shape \(2, 2\)"),
        (Initial(np.eye(3), Fraction(1)), r"must have shape \(2, 2\)"),
        (np.zeros((2, 2)), "must not be zero"),
        ([[1, 2], [2.001, 1]], "must be symmetric"),
        ([["one", 0], [0, 1]], "W0"),
    ],
)
def test_what_is_no_initial_matrix_is_refused(W0, message):
    with pytest.raises(InvalidInput, match=message):
        initial_matrix(W0, 2)


def test_rounding_of_symmetry_is_taken_out():
    off = np.nextafter(0.25, 1)
    initial = initial_matrix([[1.0, 0.25], [off, 1.0]], 2)
    assert np.array_equal(initial.matrix, initial.matrix.T)


def test_blocks_are_connected_components_in_the_users_order():
    W0 = np.zeros((5, 5))
    W0[0, 3] = W0[3, 0] = W0[3, 1] = W0[1, 3] = 1
    assert connected_blocks(W0.tolist()) == ((0, 1, 3), (2,), (4,))


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_pivots_are_those_of_ldl_in_the_order_of_a_signal(columns):
    """Against quotients of leading minors in exact arithmetic; they are formed once."""
    U = (np.random.default_rng(columns).integers(-3, 4, (3, columns)) + 0.5) / 64
    signal = np.array([1.0, 3.0, 2.0])
    initial = initial_matrix(U @ U.T, 3)
    pivots = initial.pivots(signal)
    assert initial.pivots(signal.copy()) is pivots
    assert pivots.rank == columns
    order, minor = [1, 2, 0], 1.0
    for n in range(1, columns + 1):
        leading = np.linalg.det(initial.matrix[np.ix_(order[:n], order[:n])])
        k = order[n - 1]
        assert float(pivots.shares[k] * initial.exact[k, k]) == pytest.approx(leading / minor)
        minor = leading
    assert pivots.clear == (columns == 3)
    assert pivots.missing[order].tolist() == [n >= columns for n in range(3)]


@pytest.mark.parametrize("scale", ["1", "1e-3", "1e-400", "1e-5000"])
def test_a_run_holds_w_by_whole_powers_of_two(scale):
    initial = initial_matrix(Scaled([[2, 1e-3], [1e-3, 3]], scale), 2)
    m = initial.exponents.tolist()
    for i in range(2):
        for j in range(2):
            entry = Fraction(initial.held[i, j]) * Fraction(2) ** (m[i] + m[j])
            assert float(entry / initial.entries[i][j]) == pytest.approx(1, rel=1e-15)
    assert (max(m) < 0) == (Fraction(scale) < Fraction(2) ** -400)


def product(dtype):
    """A W(0) as single precision leaves it: rounded before and after the product."""
    rng = np.random.default_rng(4)
    first, second = rng.standard_normal((2, 3, 5)).astype(dtype)
    U = (first + second).astype(dtype)
    W = U.astype(np.float64) @ U.T.astype(np.float64)
    W[0, 1] *= 1 + float(np.finfo(dtype).eps)
    return W.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_asymmetry_at_the_rounding_of_short_floats_is_taken_out(dtype):
    W = product(dtype)
    asymmetry = np.abs(W - W.T).max() / np.abs(W).max()
    assert asymmetry > 1e-9
    expected = (W.astype(float) + W.T.astype(float)) / 2
    for given in (W, list(W), pd.DataFrame(W)):
        assert np.array_equal(initial_matrix(given, 3).matrix, expected)
    task = SIMTask.from_signal([3, 2, 1])
    assert simulate(task, W, 0.01, dynamics="gd").initial.matrix.tolist() == expected.tolist()
    batch = swingby.simulate_batch(task.signal, W[None], 0.01, dynamics="gd")
    assert (
        batch.half_times[0].tolist() == simulate(task, W, 0.01, dynamics="gd").half_times.tolist()
    )
    for call in (
        lambda: initial_matrix(W.astype(float), 3),
        lambda: swingby.simulate_batch(task.signal, W.astype(float), 0.01, dynamics="gd"),
    ):
        with pytest.raises(InvalidInput, match=r"give \(W0 \+ W0.T\) / 2, or a factor") as caught:
            call()
        assert f"{asymmetry:.2g}" in str(caught.value)


@pytest.mark.torch
def test_single_precision_of_torch_is_known():
    torch = pytest.importorskip("torch")
    W = product(np.float32)
    assert (
        initial_matrix(torch.tensor(W), 3).matrix.tolist() == initial_matrix(W, 3).matrix.tolist()
    )
    rough = torch.tensor(W.astype(float)).to(torch.bfloat16)
    rough[0, 1] = rough[0, 1] * 1.01
    assert np.isfinite(initial_matrix(rough, 3).matrix).all()


def test_what_is_not_semidefinite_says_by_how_much():
    with pytest.raises(InvalidInput, match=r"give U0 .*eigenvalue of -0.33 of the largest"):
        simulate([2, 1], [[1, 2], [2, 1]], 0.01, dynamics="gd")
