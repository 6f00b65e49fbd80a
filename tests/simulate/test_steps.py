"""Steps of single runs for every d, and the search for lost pivots, against plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from swingby.simulate.float_pivots import negative_pivots
from swingby.simulate.observation import extremes, first_negative_pivot, observe
from swingby.simulate.run import run_on
from swingby.simulate.state import RunRecord, block_entries, make_problem, make_state
from swingby.simulate.steps import compiled_steps, parts_of_a_step, plain_steps, run_kernel
from swingby.theory.initial import initial_matrix
from tests.simulate.witnesses import numpy_run

#: One d of each kind of text, and the places where one kind ends and tiles are not full.
SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 25, 33)
ETA = 0.02


def _begin(d, dynamics, *, scaled=False):
    """A run at its start, its W held as D X D where it is scaled."""
    rng = np.random.default_rng(d)
    U = rng.standard_normal((d, 2 * d)) / np.sqrt(2 * d)
    signal = rng.permutation(np.linspace(2.0, 0.5, d))
    state = make_state(initial_matrix(0.3 * U @ U.T, d), np.ones(d))
    if scaled:
        state.raise_exponents(-np.arange(d) % 3 - 1)
    return make_problem(signal, ETA, dynamics, np.ones(d)), state


def _after(problem, state, ends):
    """W after the last of the steps `ends`, with a stop at each of them."""
    for end in ends:
        run_on(problem, state, RunRecord.at([], len(state.X)), end, skip=False)
    assert np.array_equal(state.X, state.X.T)
    return state.X * state.weight


@pytest.mark.parametrize("d", SIZES)
@pytest.mark.parametrize("dynamics", ["euler", "gd"])
@pytest.mark.parametrize("scaled", [False, True])
def test_steps_are_the_printed_maps(d: int, dynamics: str, scaled: bool) -> None:
    """Eleven steps against the printed maps in NumPy; W stays symmetric to the bit."""
    problem, state = _begin(d, dynamics, scaled=scaled)
    expected = numpy_run(problem.signal, state.X * state.weight, ETA, 11, dynamics)
    np.testing.assert_allclose(_after(problem, state, [11]), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("d", SIZES)
@pytest.mark.parametrize("dynamics", ["euler", "gd"])
def test_bits_do_not_depend_on_where_a_block_begins(d: int, dynamics: str) -> None:
    """The same run, stopped at several places on its way."""
    at_once, in_parts = (_after(*_begin(d, dynamics), ends) for ends in ([43], [3, 11, 20, 43]))
    assert np.array_equal(at_once, in_parts)


@pytest.mark.parametrize("d", [1, 2, 3, 5, 9, 16, 40])
@pytest.mark.parametrize("dynamics", ["euler", "gd", "flow"])
@pytest.mark.parametrize("scaled", [False, True])
def test_compiled_and_plain_steps_have_the_same_bits(d: int, dynamics: str, scaled: bool) -> None:
    """So time alone decides which is taken; above d = 8 to rounding, and the length decides."""
    problem, state = _begin(d, dynamics, scaled=scaled)
    start = problem, state.X, state.square, parts_of_a_step(problem, state), 50
    block = run_kernel(compiled_steps(problem, ahead=1e12), *start).copy()
    by_numpy = plain_steps(*start)
    assert np.abs(block - by_numpy).max() <= (0.0 if d <= 8 else 1e-12) * np.abs(by_numpy).max()
    if d > 8:
        assert compiled_steps(problem, ahead=10) is None


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
    block = W[:, *block_entries(d)].T
    concept = int(order[-1]) if lost < 16 else -1
    assert first_negative_pivot(order, block, *extremes(block)[:2]) == (lost, concept)
    concepts = negative_pivots(np.moveaxis(W[:, order][:, :, order], 0, 2))
    assert concepts.tolist() == [-1] * lost + [d - 1] * (16 - lost)


def test_a_fall_is_seen_in_a_look_at_a_single_step() -> None:
    """As after a jump: the look before has the peak, and this one nothing but the fall."""
    problem, state = _begin(2, "gd")
    for step, between in enumerate((0.02, 0.03, 0.012)):
        observe(problem, state, np.array([[0.1], [0.1], [between]]), step - 1)
    assert (state.peak_step[0, 1], state.suppressed[0, 1]) == (1, 2)
