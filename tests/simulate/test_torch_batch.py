"""Batches on a device of torch: the compiled lanes, the runs one by one, and the maps in mpmath.

The expected values come from `simulate_batch` without a device, and for a few runs from the maps
as printed with 40 digits.
"""

import numpy as np
import pytest

from swingby.simulate.batch import Interrupted, simulate_batch
from swingby.simulate import device as device_module
from swingby.simulate.reference import factor_run, mpmath_run

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.torch

HAS_CUDA = torch.cuda.is_available()


@pytest.fixture(autouse=True)
def one_thread():
    """Threads of torch wait for each other where other tests hold the processors."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(
    params=[
        "cpu",
        pytest.param(
            "cuda", marks=pytest.mark.skipif(not HAS_CUDA, reason="torch finds no CUDA device")
        ),
    ]
)
def device(request):
    return request.param


def random_batch(d, count, seed, smallest, eta=0.05):
    """W(0) whose pivots are not much smaller than its diagonal, so that rounding stays rounding."""
    generator = np.random.default_rng(seed)
    signals = generator.uniform(0.3, 4, (count, d))
    U = generator.standard_normal((count, d, 3 * d))
    W0 = U @ U.swapaxes(1, 2)
    omega = 10.0 ** -generator.uniform(1, smallest, count)
    W0 *= (omega / np.diagonal(W0, axis1=1, axis2=2).max(axis=1))[:, None, None]
    return signals, (W0 + W0.swapaxes(1, 2)) / 2, eta / signals.max(axis=1)


def agreeing(found, expected, tolerance=1e-12, entries=1e-9):
    """`found` is `expected`: steps and words exactly, W to a fraction of its largest entry.

    Entry by entry they agree less well where an entry is a difference of larger ones; and what
    leaves the float range has amplified rounding on its way.
    """
    left = (expected.outcome == "diverged")[..., None, None]
    tolerance, entries = np.where(left, 1e-8, tolerance), np.where(left, 1e-6, entries)
    entries = np.broadcast_to(entries, expected.W.shape)
    assert np.array_equal(found.half_times, expected.half_times, equal_nan=True)
    assert np.array_equal(found.outcome, expected.outcome)
    assert np.array_equal(found.last_step, expected.last_step)
    size = np.abs(expected.W).max(axis=(-2, -1), keepdims=True)
    assert (np.abs(found.W - expected.W) <= tolerance * size).all()
    seen = np.abs(expected.W) > 1e-200
    away = np.abs(found.W - expected.W)[seen]
    assert (away <= (entries * np.abs(expected.W))[seen]).all()
    assert np.array_equal(found.W, found.W.swapaxes(-1, -2))
    return found


@pytest.mark.parametrize("dynamics", ["euler", "gd"])
@pytest.mark.parametrize(
    ("d", "smallest", "steps"),
    [
        *((1, 300, 9000), (2, 3, 150), (2, 300, 9000), (3, 6, 1000), (3, 6, 12_000)),
        *((3, 280, 9000), (4, 40, 2000), (5, 5, 300), (6, 8, 1000)),
        *(pytest.param(*one, marks=pytest.mark.full) for one in ((7, 4, 500), (8, 30, 2000))),
        *((12, 3, 300), (12, 20, 3000), (40, 3, 300)),
    ],
)
def test_a_device_agrees_with_the_compiled_runs(d, smallest, steps, dynamics, device):
    # Steps of euler so small that most W stay positive semidefinite.
    eta = 0.01 if dynamics == "euler" else 0.05
    given = random_batch(d, 30 if d < 10 else 6, d, smallest, eta)
    expected = simulate_batch(*given, steps, dynamics)
    found = agreeing(simulate_batch(*given, steps, dynamics, device=device), expected)
    assert np.isfinite(found.half_times).any()
    if steps > 5000:
        print(d, smallest, steps, dynamics, 'JUMPED', expected.executed_steps.sum(), found.executed_steps.sum(), found.last_step.sum())


@pytest.mark.parametrize("dynamics", ["euler", "gd"])
def test_a_device_agrees_with_forty_digits(dynamics, device):
    signals, W0, etas = random_batch(3, 4, 17, 4)
    batch = simulate_batch(signals, W0, etas, 120, dynamics, device=device)
    for k in range(4):
        by_hand = mpmath_run(signals[k], W0[k].tolist(), float(etas[k]), 120, dynamics, 40)
        exact = np.array(by_hand[-1].tolist(), dtype=object)
        largest = max(abs(entry) for entry in exact.ravel())
        assert max(abs(entry) for entry in (exact - batch.W[k]).ravel()) < 1e-13 * largest
        for concept in range(3):
            reached = [t for t, W in enumerate(by_hand) if W[concept, concept] >= 0.5]
            half = batch.half_times[k, concept]
            assert half == reached[0] if reached else np.isnan(half)


@pytest.mark.parametrize("dynamics", ["euler", "gd"])
@pytest.mark.parametrize("steps", [3, 63, 100, 257, 3000])
def test_special_starts_end_as_compiled_runs_do(steps, dynamics, device):
    ones = np.full((3, 3), 1e-4)
    cases = [
        ([3, 2, 1], ones),  # of rank one
        ([1, 2, 3], np.outer([1, -2, 0], [1, -2, 0]) / 1e3),  # of rank one, a row of zeros
        ([3, 2, 1], np.diag([1e-3, 0, 1e-3])),  # a concept that is absent
        ([3, 1, 0], 1e-3 * np.eye(3)),  # a free direction
        ([0, 0, 0], 1e-3 * np.eye(3)),  # nothing happens
        ([2, 2, 1], 1e-3 * (np.eye(3) + 0.2)),  # equal signals
        ([3, 2, 1], np.diag([0.9, 0.5, 0.1])),  # above 1/2 from the start
        ([3, 2, 1], np.diag([2.0, 1.5, 1.0])),  # above 1
        ([3, 2, 1], 1e-3 * np.eye(3) + 1e-308),  # an entry at the end of the float range
        ([1e-3, 1e-3, 1e-3], 1e-3 * np.eye(3)),  # hardly anything happens
        ([12, 9, 1], 1e-2 * (np.eye(3) + 0.3)),  # eta a = 0.6: coarse steps
        ([3, 2, 1], np.diag([1e200, 1e-3, 1e-3])),  # leaves the float range at once
    ]
    signals = np.array([case[0] for case in cases], dtype=float)
    W0 = np.array([case[1] for case in cases])
    expected = simulate_batch(signals, W0, 0.05, steps, dynamics)
    found = simulate_batch(signals, W0, 0.05, steps, dynamics, device=device)
    agreeing(found, expected)
    if steps == 3000:
        trapped = {"trapped"} if dynamics == "gd" else set()
        assert set(found.outcome) >= {"converged", "diverged", "stopped_early"} | trapped


@pytest.mark.parametrize("d", [2, 5, 9])
def test_a_missing_component_stays_missing_under_gd(d, device):
    # Rank one: by (I + eta B) W (I + eta B) the rank stays one, so every 2 x 2 minor is zero.
    generator = np.random.default_rng(d)
    # Products of small whole numbers and a power of two are exact.
    u = generator.integers(1, 9, (6, d)).astype(float)
    W0 = 2.0**-16 * u[:, :, None] * u[:, None, :]
    signals = np.sort(generator.uniform(0.5, 3, (6, d)), axis=1)[:, ::-1]
    expected = simulate_batch(signals, W0, 0.02, 4000, "gd")
    found = agreeing(simulate_batch(signals, W0, 0.02, 4000, "gd", device=device), expected)
    assert set(found.outcome) == {"trapped"}
    minors = found.W[:, 0, 0] * found.W[:, 1, 1] - found.W[:, 0, 1] ** 2
    assert (np.abs(minors) <= 1e-15 * found.W[:, 0, 0] * found.W[:, 1, 1]).all()


@pytest.mark.parametrize("eta", [0.02, 0.2])
def test_rank_one_is_the_run_of_its_factor(eta, device):
    # Gradient descent on U of one column is W of rank one without any projection. At eta = 0.2 a
    # component that rounding makes would grow by 1e31 within a block.
    signals = np.array([[4.3, 3.6, 1.0], [2.9, 2.7, 2.6], [3.0, 1.0, 0.0]])
    u = np.array([[5.0, 1.0, 2.0], [8.0, -1.0, 3.0], [1.0, 7.0, 1.0]])
    W0 = 2.0**-20 * u[:, :, None] * u[:, None, :]
    steps = round(60 / eta)
    batch = simulate_batch(signals, W0, eta, steps, "gd", device=device)
    assert set(batch.outcome) == {"trapped"}
    for k in range(3):
        run = factor_run(signals[k], 2.0**-10 * u[k][:, None], eta, steps)
        assert np.abs(batch.W[k] - run[-1]).max() < 1e-12
        assert batch.half_times[k, 0] == np.argmax(run[:, 0, 0] >= 0.5)


def test_semidefiniteness_is_lost_as_in_compiled_runs(device):
    signals = np.array([[3.0, 2.0], [3.0, 2.0], [4.0, 1.0], [3.0, 2.0]])
    W0 = np.array(
        [
            [[1e-3, 2e-3], [2e-3, 1e-3]],  # indefinite from the start
            [[1e-3, 1.01e-3], [1.01e-3, 1e-3]],
            [[1e-3, 9.9e-4], [9.9e-4, 1e-3]],  # lost on the way
            [[1e-3, 1e-4], [1e-4, 1e-3]],
        ]
    )
    seen = set()
    for steps in (100, 150, 600):
        expected = simulate_batch(signals, W0, 0.01, steps, "euler")
        # What runs away to minus infinity amplifies rounding.
        found = simulate_batch(signals, W0, 0.01, steps, "euler", device=device)
        agreeing(found, expected, 1e-9)
        seen |= set(found.outcome)
    assert seen == {"lost_psd", "diverged", "converged", "stopped_early"}


@pytest.mark.parametrize("dynamics", ["euler", "gd"])
@pytest.mark.parametrize("d", [2, 3, 10])
def test_runs_that_leave_the_float_range_end_at_their_last_finite_step(d, dynamics, device):
    # Steps so long that 1 is not stable: within the first blocks after 1/2 is reached.
    signals, W0, etas = random_batch(d, 12, 5, 12, 2.5)
    for steps in (200, 1000):
        expected = simulate_batch(signals, W0, etas, steps, dynamics)
        found = simulate_batch(signals, W0, etas, steps, dynamics, device=device)
        agreeing(found, expected)
    assert (found.outcome == "diverged").all()
    assert (found.last_step < 300).all()
    assert np.isfinite(found.W).all()
    assert np.isfinite(found.half_times).any()
    assert np.array_equal(found.executed_steps, expected.executed_steps)


@pytest.mark.parametrize("dynamics", ["euler", "gd"])
def test_below_the_float_range_with_and_without_jumps(dynamics, device):
    # w_kk^2 is below the smallest float, so W is held as D X D; by steps alone X has to hand
    # factors of two to D on the way.
    W0 = 1e-300 * np.array([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.2], [0.2, 1.0]]])
    given = ([[3.0, 2.0], [2.0, 1.95]], W0, 0.1)
    expected = simulate_batch(*given, 6000, dynamics)
    jumped = agreeing(simulate_batch(*given, 6000, dynamics, device=device), expected)
    stepped = simulate_batch(*given, 6000, dynamics, skip=False, device=device)
    agreeing(stepped, simulate_batch(*given, 6000, dynamics, skip=False))
    assert np.array_equal(jumped.half_times, stepped.half_times)
    assert np.isfinite(jumped.half_times).all()
    assert (jumped.executed_steps < 2500).all()
    assert (stepped.executed_steps == 6000).all()
    assert set(jumped.outcome) == {"converged"}


def test_arguments_broadcast_and_pieces_change_nothing(device, monkeypatch):
    etas = np.linspace(0.01, 0.03, 6)[:, None]
    signals = np.array([[2.0, 1.0, 0.0], [3.0, 0.5, 0.2], [1.0, 0.9, 0.8]])
    given = (signals, 1e-2 * (np.eye(3) + 0.1), etas)
    expected = simulate_batch(*given, 700, "gd")
    whole = agreeing(simulate_batch(*given, 700, "gd", device=device), expected)
    assert whole.half_times.shape == (6, 3, 3)
    monkeypatch.setattr(device_module, "MOST_TOGETHER", 7)
    told = []

    def tell(done, total):
        told.append((done, total))

    by_pieces = simulate_batch(*given, 700, "gd", device=device, progress=tell)
    agreeing(by_pieces, expected)
    assert told == [(7, 18), (14, 18), (18, 18)]
    alone = simulate_batch([2.0, 1.0], 1e-3 * np.eye(2), 0.01, 1000, device=torch.device(device))
    # As in the example of simulate_batch.
    assert alone.half_times.tolist() == [176.0, 349.0]
    assert alone.outcome.shape == ()


def test_runs_that_ended_make_room_and_the_rest_goes_on(device):
    # Three quarters end at once, so the tensors shrink while the others are under way.
    signals = np.tile([[3.0, 2.0]], (16, 1))
    W0 = np.tile(1e-3 * np.eye(2), (16, 1, 1))
    W0[np.arange(16) % 4 > 0, 0, 0] = 1e250
    expected = simulate_batch(signals, W0, 0.01, 1500, "gd")
    found = agreeing(simulate_batch(signals, W0, 0.01, 1500, "gd", device=device), expected)
    assert (found.outcome == "diverged").sum() == 12


def test_an_interrupted_batch_keeps_what_was_finished(device, monkeypatch):
    monkeypatch.setattr(device_module, "MOST_TOGETHER", 10)
    given = random_batch(2, 40, 3, 5)
    whole = simulate_batch(*given, 300, "gd", device=device)

    def interrupt(done, total):
        assert total == 40
        if done >= 20:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="20 of 40 runs are finished") as caught:
        simulate_batch(*given, 300, "gd", device=device, workers=2, progress=interrupt)
    batch = caught.value.batch
    finished = batch.outcome != "not_run"
    assert finished.tolist() == [True] * 20 + [False] * 20
    assert np.array_equal(batch.W[finished], whole.W[finished])
    assert np.isnan(batch.W[~finished]).all()
