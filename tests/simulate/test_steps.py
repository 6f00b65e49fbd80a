"""Steps of single runs for every d, and the search for lost pivots, against plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from swingby.simulate.compiled_steps import steps_of_a_run
from swingby.simulate.kernels import advance
from swingby.simulate.pivot_kernels import find_negative_pivot, first_doubtful, pivot_work
from swingby.simulate.state import Floats, make_problem, make_record, make_state
from swingby.theory.initial import initial_matrix

#: One d of each kind of text, and the places where one kind ends and tiles are not full.
SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 25, 33)
ETA = 0.02


def _start(d: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(d)
    U = rng.standard_normal((d, 2 * d)) / np.sqrt(2 * d)
    W = 0.3 * U @ U.T
    return rng.permutation(np.linspace(2.0, 0.5, d)), (W + W.T) / 2


def _expected(W: Floats, signal: Floats, gd: bool) -> Floats:
    """The maps as they are printed, with whole matrices."""
    A = np.diag(signal)
    if gd:
        B = A - (A @ W + W @ A) / 2
        growth = np.eye(len(signal)) + ETA * B
        return growth @ W @ growth
    return W + ETA * (A @ W + W @ A - (A @ W @ W + W @ W @ A + 2 * W @ A @ W) / 2)


def _run(d: int, gd: bool, scaled: bool, ends: tuple[int, ...]) -> tuple[Floats, Floats]:
    """X and W after the last of the steps `ends`, with a stop at each of them."""
    signal, W0 = _start(d)
    state = make_state(initial_matrix(W0, d), np.ones(d), scaled=scaled)
    problem = make_problem(signal, ETA, "gd" if gd else "euler", np.ones(d))
    plain, other = steps_of_a_run(d, gd=gd, scaled=True)
    record = make_record([0], d)
    for end in ends:
        advance(plain, other, problem, state, record, gd, end, 10**6, False, False)
    return state.X, state.X * state.weight


@pytest.mark.parametrize("d", SIZES)
@pytest.mark.parametrize("gd", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
def test_steps_are_the_printed_maps(d: int, gd: bool, scaled: bool) -> None:
    """Eleven steps against the printed maps in NumPy; W stays symmetric to the bit."""
    signal, expected = _start(d)
    for _ in range(11):
        expected = _expected(expected, signal, gd)
    X, W = _run(d, gd, scaled, (11,))
    assert np.array_equal(X, X.T)
    np.testing.assert_allclose(W, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("d", SIZES)
@pytest.mark.parametrize("gd", [False, True])
def test_bits_do_not_depend_on_where_a_block_begins(d: int, gd: bool) -> None:
    """The same run, stopped at several places on its way."""
    at_once, _ = _run(d, gd, False, (43,))
    in_parts, _ = _run(d, gd, False, (3, 11, 20, 43))
    assert np.array_equal(at_once, in_parts)


@pytest.mark.parametrize("d", [1, 2, 5, 16, 24, 25, 40, 96, 97])
@pytest.mark.parametrize("lost", [0, 7, 8, 13, 15, 16])
def test_first_doubtful_place(d: int, lost: int) -> None:
    """A block whose pivots are positive until one of them is made negative, at a known place."""
    rng = np.random.default_rng(d + lost)
    order = rng.permutation(d)
    U = rng.standard_normal((16, d, 2 * d))
    W = U @ U.swapaxes(1, 2) / (2 * d)
    for n in range(lost, 16):
        # Below its Schur complement on the others, the last entry of the order is negative.
        W[n, order[-1], order[-1]] -= 1.001 / np.linalg.inv(W[n])[order[-1], order[-1]]
    block = np.ascontiguousarray(W.transpose(1, 2, 0))
    assert first_doubtful(block, order, 16, pivot_work(d)) == lost
    work = np.empty((d, d))
    found = [find_negative_pivot(W[n], order, work) for n in range(16)]
    assert found == [-1] * lost + [int(order[-1])] * (16 - lost)
