"""What the dynamics leave alone, and where they have a closed form, on drawn tasks.

The invariants are exact statements about the three maps; each test names the formula it rests on.
A bound on a difference is a multiple of the rounding of floats over the steps of the run.
"""

import numpy as np
from hypothesis import assume, given, target
from hypothesis import strategies as st

import swingby
from swingby.simulate.initialization import displaceable, missing_concepts
from swingby.testing import initializations, step_sizes, tasks
from swingby.theory.initial import initial_matrix
from tests.simulate import witnesses as reference

DYNAMICS = ("euler", "gd", "flow")
#: Kinds of W(0) whose runs do not hang on the last bit: no pivot is rounding, as a rule.
SOUND = ("gaussian", "uniform")
STEPS = 400
#: An entry is right to about one rounding per step and term.
ROUNDING = STEPS * 40 * 2.0**-52


@st.composite
def starts(draw, dim=None, dynamics=DYNAMICS, kinds=SOUND):
    """A task, W(0) of everyday size, a step size and one of the dynamics."""
    task = draw(tasks(dim=st.integers(1, 4) if dim is None else dim))
    W0 = draw(initializations(task, kind=draw(st.sampled_from(kinds))))
    # Large enough that all stages happen within the run.
    size = float(np.abs(W0.matrix).max())
    scaled = W0.matrix / size * draw(st.sampled_from([0.5, 0.1, 0.01]))
    # Small numbers make singular matrices once in a few hundred draws.
    assume(np.linalg.eigvalsh(scaled)[0] > 1e-6 * np.abs(scaled).max())
    eta = draw(step_sizes(task))
    return task, (scaled + scaled.T) / 2, float(eta), draw(st.sampled_from(dynamics))


def follow(signal, W0, eta, dynamics):
    """W at every step of a short run."""
    task = swingby.SIMTask.from_signal(list(signal))
    return swingby.simulate(task, W0, eta, STEPS, dynamics, record=1)


def bounded(run):
    """The recorded W before the first loss of positive semidefiniteness, where rounding grows."""
    last = len(run.steps) if run.psd_lost is None else run.psd_lost
    return run.W[: max(last, 1)]


@given(starts(), st.data())
def test_permuting_the_concepts_permutes_W(start, data):
    """All three maps are equivariant: A -> P A P^T, W -> P W P^T."""
    task, W0, eta, dynamics = start
    order = data.draw(st.permutations(range(task.dim)))
    run = follow(task.signal, W0, eta, dynamics)
    moved = follow(task.signal[order], W0[np.ix_(order, order)], eta, dynamics)
    shared = min(len(bounded(run)), len(bounded(moved)))
    difference = np.abs(moved.W[:shared] - run.W[:shared][:, order][:, :, order]).max()
    assert difference <= ROUNDING


@given(starts(), st.data())
def test_flipping_signs_flips_entries_and_no_bit_more(start, data):
    """W -> D W D with D = diag(+-1) commutes with the maps, and a float changes sign exactly."""
    task, W0, eta, dynamics = start
    flip = np.array(data.draw(st.lists(st.sampled_from([1.0, -1.0]), **_exactly(task.dim))))
    run = follow(task.signal, W0, eta, dynamics)
    flipped = follow(task.signal, flip[:, None] * W0 * flip, eta, dynamics)
    assert np.array_equal(flipped.W, flip[:, None] * run.W * flip)
    assert np.array_equal(flipped.half_times, run.half_times, equal_nan=True)
    assert flipped.psd_lost == run.psd_lost


@given(starts(dynamics=("euler", "gd")), st.integers(-6, 6))
def test_rescaling_time_by_a_power_of_two_changes_no_bit(start, m):
    """Only eta a occurs in the maps; a power of two is exact in floats."""
    task, W0, eta, dynamics = start
    run = follow(task.signal, W0, eta, dynamics)
    scaled = follow(task.signal * 2.0**m, W0, eta * 2.0**-m, dynamics)
    assert np.array_equal(scaled.W, run.W)
    assert np.array_equal(scaled.half_times, run.half_times, equal_nan=True)


@given(starts(dim=st.integers(2, 4)), st.data())
def test_turning_the_columns_of_U_changes_nothing(start, data):
    """W = U U^T = (U Q)(U Q)^T, and U -> U + eta B U keeps the turn: run on U, seen on W."""
    task, _, eta, _ = start
    d = task.dim
    entries = st.lists(st.integers(-4, 4), **_exactly(d * d))
    U = np.array(data.draw(entries), dtype=float).reshape(d, d) / 16
    # A turn by a 3-4-5 angle in the first two columns is nearly exact in floats.
    Q = np.eye(d)
    Q[:2, :2] = [[0.6, -0.8], [0.8, 0.6]]
    plain = reference.factor_run(task.signal, U, eta, STEPS)
    turned = reference.factor_run(task.signal, U @ Q, eta, STEPS)
    assert np.abs(plain - turned).max() <= ROUNDING
    if not U.any():
        return
    start = initial_matrix(U @ U.T, d)
    if displaceable(missing_concepts(start, task.signal), start, task.signal).any():
        # Of deficient rank, and a component may turn: a run on W warns that it does not follow.
        return
    run = follow(task.signal, U @ U.T, eta, "gd")
    assert np.abs(run.W - plain).max() <= ROUNDING


@given(starts(dynamics=("gd",)))
def test_under_gd_the_determinant_is_multiplied_by_that_of_the_factor(start):
    """det W' = det W det(I + eta B)^2, one step after the other; so the rank stays, too."""
    task, W0, eta, _ = start
    run = follow(task.signal, W0, eta, "gd")
    A = np.diag(task.signal)
    worst = 0.0
    for before, after in zip(run.W[:50], run.W[1:51], strict=True):
        B = A - (A @ before + before @ A) / 2
        factor = np.linalg.det(np.eye(task.dim) + eta * B) ** 2
        # The determinant is only as good as W is conditioned.
        scale = max(np.prod(np.diagonal(before)), 1e-300)
        worst = max(worst, abs(np.linalg.det(after) - np.linalg.det(before) * factor) / scale)
    target(worst)
    assert worst <= 1e-12


@given(starts(dim=st.integers(2, 4)), st.data())
def test_separate_blocks_do_not_see_each_other(start, data):
    """With w_ij(0) = 0 between two groups of concepts, each runs as if the other were not there."""
    task, W0, eta, dynamics = start
    split = data.draw(st.integers(1, task.dim - 1))
    W0 = W0.copy()
    W0[:split, split:] = W0[split:, :split] = 0
    run = follow(task.signal, W0, eta, dynamics)
    first = follow(task.signal[:split], W0[:split, :split], eta, dynamics)
    second = follow(task.signal[split:], W0[split:, split:], eta, dynamics)
    shared = min(map(len, map(bounded, (run, first, second))))
    assert not run.W[:shared, :split, split:].any()
    assert np.abs(run.W[:shared, :split, :split] - first.W[:shared]).max() <= ROUNDING
    assert np.abs(run.W[:shared, split:, split:] - second.W[:shared]).max() <= ROUNDING


@given(starts(dynamics=("euler", "gd")))
def test_a_diagonal_start_is_one_scalar_map_per_concept(start):
    """euler: w' = w + 2 eta a w (1 - w); gd: w' = w (1 + eta a (1 - w))^2; off the diagonal 0."""
    task, W0, eta, dynamics = start
    w = np.diagonal(W0).copy()
    if not w.any():
        return
    run = follow(task.signal, np.diag(w), eta, dynamics)
    rate = eta * task.signal
    for W in run.W:
        assert np.abs(np.diagonal(W) - w).max() <= ROUNDING
        assert not (W - np.diag(np.diagonal(W))).any()
        w = w + 2 * rate * w * (1 - w) if dynamics == "euler" else w * (1 + rate * (1 - w)) ** 2


@given(starts(dynamics=("flow",)))
def test_a_diagonal_start_is_logistic_under_the_flow(start):
    """logit w_kk(t) = logit w_kk(0) + 2 a_k eta t."""
    task, W0, eta, _ = start
    w = np.diagonal(W0)
    if not (w > 0).all():
        return
    run = follow(task.signal, np.diag(w), eta, "flow")
    odds = (w / (1 - w)) * np.exp(2 * np.outer(run.steps * eta, task.signal))
    found = np.diagonal(run.W, axis1=1, axis2=2)
    assert np.abs(found - odds / (1 + odds)).max() <= ROUNDING


@given(starts(dynamics=("flow",)), st.sampled_from([0.25, 1.0, 3.0]))
def test_equal_signals_have_a_closed_form_under_the_flow(start, a):
    """W(t) = e^(2at) W0 (I + (e^(2at) - 1) W0)^(-1), evaluated on the eigenvalues of W0."""
    task, W0, _, _ = start
    eta = 0.01
    run = follow([a] * task.dim, W0, eta, "flow")
    for step in (0, 10, STEPS // 2, STEPS):
        grown = np.exp(2 * a * eta * step)
        values, vectors = np.linalg.eigh(W0)
        expected = vectors * (grown * values / (1 + (grown - 1) * values)) @ vectors.T
        # Rounding of W0 grows along with W, by up to e^(2at).
        assert np.abs(run.W[step] - expected).max() <= ROUNDING + 100 * grown * 2.0**-52


@given(starts(dynamics=("euler", "gd")))
def test_every_step_is_the_printed_formula(start):
    """The compiled loop against (D.2), and (I + eta B) W (I + eta B), in plain NumPy."""
    task, W0, eta, dynamics = start
    run = follow(task.signal, W0, eta, dynamics)
    shared = bounded(run)
    plain = reference.numpy_run(task.signal, W0, eta, len(shared) - 1, dynamics)
    assert np.abs(shared - plain).max() <= ROUNDING


@given(starts(dynamics=("gd", "flow")))
def test_gd_and_the_flow_stay_positive_semidefinite(start):
    """W = U U^T under both, so no eigenvalue is negative beyond rounding."""
    task, W0, eta, dynamics = start
    run = follow(task.signal, W0, eta, dynamics)
    assert run.psd_lost is None
    assert np.linalg.eigvalsh(run.W).min() >= -ROUNDING


def _exactly(count):
    return {"min_size": count, "max_size": count}
