"""Steps of single runs for every d, and the search for lost pivots, against plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from swingby.simulate.observe import extremes, first_negative_pivot, observe
from swingby.simulate.run import run_on
from swingby.simulate.state import Record, make_problem, make_state, negative_pivots, pairs
from swingby.simulate.steps import compiled_steps, parts_of_a_step, plain_steps, run_kernel
from swingby.theory.initial import initial_matrix
from tests.simulate.witnesses import euler_step, gd_step

#: One d of each kind of text, and the places where one kind ends and tiles are not full.
SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 25, 33)
ETA = 0.02


def _start(d):
    rng = np.random.default_rng(d)
    U = rng.standard_normal((d, 2 * d)) / np.sqrt(2 * d)
    W = 0.3 * U @ U.T
    return rng.permutation(np.linspace(2.0, 0.5, d)), (W + W.T) / 2


def _run(d, gd, scaled, ends):
    """X and W after the last of the steps `ends`, with a stop at each of them."""
    signal, W0 = _start(d)
    state = make_state(initial_matrix(W0, d), np.ones(d), scaled=scaled)
    problem = make_problem(signal, ETA, "gd" if gd else "euler", np.ones(d))
    record = Record.at([0], d)
    for end in ends:
        run_on(problem, state, record, end, skip=False)
    return state.X, state.X * state.weight


@pytest.mark.parametrize("d", SIZES)
@pytest.mark.parametrize("gd", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
def test_steps_are_the_printed_maps(d: int, gd: bool, scaled: bool) -> None:
    """Eleven steps against the printed maps in NumPy; W stays symmetric to the bit."""
    signal, expected = _start(d)
    for _ in range(11):
        expected = (gd_step if gd else euler_step)(expected, np.diag(signal), ETA)
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


@pytest.mark.parametrize("d", [1, 2, 3, 5, 9, 16, 40])
@pytest.mark.parametrize("dynamics", ["euler", "gd", "flow"])
@pytest.mark.parametrize("scaled", [False, True])
def test_compiled_and_plain_steps_have_the_same_bits(d: int, dynamics: str, scaled: bool) -> None:
    """So time alone decides which is taken; above d = 8 to rounding, and the length decides."""
    signal, W0 = _start(d)
    state = make_state(initial_matrix(W0, d), np.ones(d), scaled=scaled)
    problem = make_problem(signal, ETA, dynamics, np.ones(d))
    parts = parts_of_a_step(problem, state)
    kernel = compiled_steps(problem, scaled=bool((state.square != 1).any()), ahead=1e12)
    block = run_kernel(kernel, problem, state.X, state.square, parts, 50).copy()
    plain = plain_steps(problem, state.X, state.square, parts, 50)
    assert np.abs(block - plain).max() <= (0.0 if d <= 8 else 1e-12) * np.abs(plain).max()
    if d > 8:
        assert compiled_steps(problem, scaled=scaled, ahead=50) is None


@pytest.mark.parametrize("d", [1, 2, 5, 16, 24, 25, 40, 96, 97])
@pytest.mark.parametrize("lost", [0, 7, 8, 13, 15, 16])
def test_first_negative_pivot(d: int, lost: int) -> None:
    """A block whose pivots are positive until one of them is made negative, at a known place."""
    rng = np.random.default_rng(d + lost)
    order = rng.permutation(d)
    U = rng.standard_normal((16, d, 2 * d))
    W = U @ U.swapaxes(1, 2) / (2 * d)
    for n in range(lost, 16):
        # Below its Schur complement on the others, the last entry of the order is negative.
        W[n, order[-1], order[-1]] -= 1.001 / np.linalg.inv(W[n])[order[-1], order[-1]]
    block = W[:, *pairs(d)].T
    concept = int(order[-1]) if lost < 16 else -1
    assert first_negative_pivot(order, block, *extremes(block)) == (lost, concept)
    found = negative_pivots(np.moveaxis(W[:, order][:, :, order], 0, 2))
    assert found.tolist() == [-1] * lost + [d - 1] * (16 - lost)


def test_a_fall_is_seen_in_a_look_at_a_single_step() -> None:
    """As after a jump: the look before has the peak, and this one nothing but the fall."""
    problem = make_problem(np.array([2.0, 1.0]), ETA, "gd", np.ones(2))
    state = make_state(initial_matrix(0.1 * np.eye(2), 2), np.ones(2))
    for step, between in enumerate((0.02, 0.03, 0.012)):
        observe(problem, state, np.array([[0.1], [0.1], [between]]), step - 1)
    assert (state.peak_step[0, 1], state.suppressed[0, 1]) == (1, 2)
