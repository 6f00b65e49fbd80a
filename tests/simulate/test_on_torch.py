"""Batches on a device of torch agree with compiled runs, with mpmath, and with runs of a factor.

The expected values come from `simulate_batch` without a device, and for a few runs from the maps
as printed with 40 digits.
"""

import os
import signal
import sys
import threading

import numpy as np
import pytest

from swingby.errors import InvalidInput, MissingExtra
from swingby.simulate import on_torch as devices
from swingby.simulate.batch import Interrupted, simulate_batch
from tests.forked import FULL, sample
from tests.simulate.witnesses import OMEGAS, factor_run, random_batch, special_batch

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

HAS_CUDA = torch.cuda.is_available()
NO_CUDA = pytest.mark.skipif(not HAS_CUDA, reason="torch finds no CUDA device")
BOTH = pytest.mark.parametrize("dynamics", ["euler", "gd"])


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=NO_CUDA)])
def device(request):
    return request.param


def watched_batch(d, count, seed):
    """Signals, W(0) before its scale, and test points."""
    generator = np.random.default_rng(seed)
    points = np.sort(generator.uniform(0.3, 2, (count, d)))[:, ::-1]
    U = generator.standard_normal((count, d, 2 * d))
    return points**2 + 0.01, U @ U.swapaxes(1, 2) / (2 * d), points


def agreeing(found, expected, tolerance=1e-12, entries=1e-9, left=(1e-8, 1e-6), *, rest=False):
    """`found` is `expected`: steps and words exactly, W to a fraction of its largest entry.

    Entry by entry they agree less well where an entry is a difference of larger ones; and what
    leaves the float range has amplified rounding on its way. Where runs end at rest, the last step
    is a matter of the last bit of W, which may go back and forth for long.
    """
    gone = (expected.outcome == "diverged")[..., None, None]
    tolerance, entries = np.where(gone, left[0], tolerance), np.where(gone, left[1], entries)
    assert np.array_equal(found.half_times, expected.half_times, equal_nan=True)
    assert np.array_equal(found.outcome, expected.outcome)
    away = np.abs(found.last_step - expected.last_step)
    assert (away <= 512).mean() > 0.7 if rest else not away.any()
    size, away = np.abs(expected.W), np.abs(found.W - expected.W)
    assert (away <= tolerance * size.max(axis=(-2, -1), keepdims=True)).all()
    assert rest or ((away <= entries * size) | (size <= 1e-200)).all()
    assert np.array_equal(found.W, found.W.swapaxes(-1, -2))
    assert (found.descents is None) == (expected.descents is None)
    if found.descents is not None:
        assert np.array_equal(found.descents, expected.descents)
        away = np.abs(found.transient - expected.transient)
        allowed = np.where(gone[..., 0, 0], 1e-7, 1e-11)
        assert (away <= allowed * expected.transient).all()
    return found


@BOTH
@pytest.mark.parametrize(
    ("d", "smallest", "steps"),
    [
        *sample([(1, 300, 9000), (2, 3, 150), (3, 280, 9000), (6, 8, 1000), (12, 20, 3000)]),
        *sample([(2, 300, 9000), (3, 6, 1000), (3, 6, 12_000), (12, 3, 300), (40, 3, 300)], 5),
        *[(4, 40, 2000), (5, 5, 300), (7, 4, 500), (8, 30, 2000)] * FULL,  # lanes to be compiled
    ],
)
def test_a_device_agrees_with_the_compiled_runs(d, smallest, steps, dynamics, device):
    # Steps of euler so small that most W stay positive semidefinite.
    eta = 0.01 if dynamics == "euler" else 0.05
    starts = random_batch(d, 30 if d < 10 else 6, d, smallest, eta, 3 * d)
    expected = simulate_batch(*starts, steps, dynamics)
    batch = agreeing(simulate_batch(*starts, steps, dynamics, device=device), expected)
    assert np.isfinite(batch.half_times).any()
    if smallest >= 280:
        assert batch.executed_steps.sum() < 0.5 * batch.last_step.sum(), "few steps jumped over"


@BOTH
@pytest.mark.parametrize("steps", sample([3, 63, 257, 3000], 4))
def test_special_starts_end_as_compiled_runs_do(steps, dynamics, device):
    signals, W0 = special_batch()
    expected = simulate_batch(signals, W0, 0.05, steps, dynamics)
    batch = agreeing(simulate_batch(signals, W0, 0.05, steps, dynamics, device=device), expected)
    if steps == 3000:
        trapped = {"trapped"} if dynamics == "gd" else set()
        assert set(batch.outcome) >= {"converged", "diverged", "stopped_early"} | trapped


@pytest.mark.parametrize("eta", sample([0.02, 0.2], 2))
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
    # By (I + eta B) W (I + eta B) the rank stays one, so every 2 x 2 minor is zero.
    minors = batch.W[:, 0, 0] * batch.W[:, 1, 1] - batch.W[:, 0, 1] ** 2
    assert (np.abs(minors) <= 1e-15 * batch.W[:, 0, 0] * batch.W[:, 1, 1]).all()


def test_semidefiniteness_is_lost_as_in_compiled_runs(device):
    signals = np.array([[3.0, 2.0], [3.0, 2.0], [4.0, 1.0], [3.0, 2.0], [3.0, 2.0]])
    # Indefinite from the start, twice; lost on the way; kept; a pivot of zero beside an entry.
    between = np.array([2e-3, 1.01e-3, 9.9e-4, 1e-4, 1e-5])
    W0 = 1e-3 * np.eye(2) + between[:, None, None] * (1 - np.eye(2))
    W0[4, 0, 0] = 0.0
    outcomes = set()
    for steps in (100, 150, 600):
        expected = simulate_batch(signals, W0, 0.01, steps, "euler")
        # What runs away to minus infinity amplifies rounding.
        batch = simulate_batch(signals, W0, 0.01, steps, "euler", device=device)
        outcomes |= set(agreeing(batch, expected, 1e-9).outcome)
    assert outcomes == {"lost_psd", "diverged", "converged", "stopped_early"}


@BOTH
@pytest.mark.parametrize("d", sample([2, 3, 10]))
def test_runs_that_leave_the_float_range_end_at_their_last_finite_step(d, dynamics, device):
    # Steps so long that 1 is not stable: within the first blocks after 1/2 is reached.
    signals, W0, etas = random_batch(d, 12, 5, 12, 2.5, 3 * d)
    W0[:2] *= 1e200 / W0[:2].max()
    for points in (None, np.sqrt(signals)):
        options = {"test_point": points, "dynamics": dynamics}
        expected = simulate_batch(signals, W0, etas, 1000, **options)
        batch = simulate_batch(signals, W0, etas, 1000, **options, device=device)
        agreeing(batch, expected)
        assert (batch.outcome == "diverged").all()
        assert (batch.last_step < 300).all()
        assert np.isfinite(batch.W).all()
        assert np.isfinite(batch.half_times).any()
        assert np.array_equal(batch.executed_steps, expected.executed_steps)


@pytest.mark.parametrize(
    ("dynamics", "omega", "steps", "most"),
    [
        *sample([("euler", 1e-300, 6000, 2500), ("gd", "1e-400", 7000, 2700)], 2),
        *sample([("gd", 1e-300, 6000, 2500), ("euler", "1e-1000", 16_000, 2700)], 4),
    ],
)
def test_below_the_float_range_with_and_without_jumps(dynamics, omega, steps, most, device):
    # By steps alone X has to hand factors of two to D on the way.
    W0 = np.array([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.2], [0.2, 1.0]]])
    starts = ([[3.0, 2.0], [2.0, 1.95]], W0, 0.1)
    call = {"steps": steps, "dynamics": dynamics, "omega": omega}
    jumped = simulate_batch(*starts, **call, device=device)
    compiled = agreeing(simulate_batch(*starts, **call), jumped)
    assert np.array_equal(jumped.executed_steps, compiled.executed_steps)
    stepped = simulate_batch(*starts, **call, skip=False, device=device)
    assert np.array_equal(jumped.half_times, stepped.half_times)
    assert np.isfinite(jumped.half_times).all()
    assert (jumped.executed_steps < most).all()
    assert (stepped.executed_steps == steps).all()
    assert set(jumped.outcome) == {"converged"}


@BOTH
@pytest.mark.parametrize(
    ("d", "count"), [*sample([(1, 6), (2, 60), (3, 60), (10, 4)], 4), *[(5, 18)] * FULL]
)
def test_descents_and_transients_are_those_of_compiled_runs(d, count, dynamics, device):
    signals, W0, points = watched_batch(d, count, d)
    scales = {"omega": np.resize(np.array(OMEGAS[: 4 if d == 10 else None], dtype=object), count)}
    call = (signals, W0, 0.05, 1800 if d < 5 else 800, dynamics)
    expected = simulate_batch(*call, **scales, test_point=points)
    batch = simulate_batch(*call, **scales, test_point=points, device=device)
    agreeing(batch, expected)
    assert (batch.descents >= 1).any()
    if d in (2, 3):
        assert (batch.descents >= 2).any(), "no swing to count"
    if d == 3:
        # To be watched changes nothing else.
        bare = simulate_batch(*call, **scales, device=device)
        assert bare.descents is None
        assert np.array_equal(bare.W, batch.W)


@BOTH
@pytest.mark.parametrize("d", sample([1, 2, 3, 10], 4))
def test_without_steps_runs_end_at_rest_as_compiled_ones_do(d, dynamics, device):
    count = 18 if d < 10 else 3
    signals, W0, points = watched_batch(d, count, d + 20)
    options = {"omega": np.resize(np.array(OMEGAS[:4], dtype=object), count), "test_point": points}
    call = (signals, W0, 0.1 if d < 10 else 0.04, None, dynamics)
    expected = simulate_batch(*call, **options)
    batch = agreeing(simulate_batch(*call, **options, device=device), expected, rest=True)
    converged = batch.outcome == "converged"
    assert converged.sum() > count / 2
    assert (batch.last_step[converged] % 256 == 0).all()
    assert (batch.last_step > np.nanmax(batch.half_times, axis=1))[converged].all()


@pytest.mark.parametrize(
    ("signal", "W0", "dynamics", "outcome"),
    [
        ([3, 2], np.full((2, 2), 1e-3), "gd", "trapped"),  # of rank one
        ([3, 2], np.diag([1e-3, 0]), "euler", "trapped"),  # a row of zeros
        ([3, 0], np.diag([1e-3, 1e-3]), "gd", "converged"),  # ends at the most steps
        ([3, 0], np.diag([1e-3, 1.0]), "gd", "converged"),  # a free direction that stands still
        ([60, 40], np.diag([1e-3, 1e-3]), "gd", "diverged"),
        ([3, 6e-2], np.diag([1e-3, 1e-30]), "euler", "converged"),  # slow
    ],
)
def test_without_steps_every_kind_of_run_ends(signal, W0, dynamics, outcome, device):
    call = (np.array(signal, dtype=float), W0, 0.05, None, dynamics)
    expected, batch = simulate_batch(*call), simulate_batch(*call, device=device)
    assert batch.outcome == expected.outcome == outcome
    assert np.array_equal(batch.half_times, expected.half_times, equal_nan=True)
    assert abs(batch.last_step - expected.last_step) <= 256 + 0.02 * expected.last_step
    if outcome != "diverged":
        # What still decays is elsewhere where another look ended the run.
        small = 1e-30 if batch.last_step == expected.last_step else 1e-11
        assert np.allclose(batch.W, expected.W, rtol=1e-9, atol=small)


def test_arguments_broadcast_and_pieces_change_nothing(device, monkeypatch):
    signals = np.array([[2.0, 1.0, 0.0], [3.0, 0.5, 0.2], [1.0, 0.9, 0.8]])
    arguments = (signals, 1e-2 * (np.eye(3) + 0.1), np.linspace(0.01, 0.03, 6)[:, None], 700, "gd")
    uncut = agreeing(simulate_batch(*arguments, device=device), simulate_batch(*arguments))
    assert uncut.half_times.shape == (6, 3, 3)
    monkeypatch.setattr(devices, "MOST_TOGETHER", 7)
    reports = []
    in_pieces = simulate_batch(*arguments, device=device, progress=lambda *now: reports.append(now))
    agreeing(in_pieces, uncut)
    assert reports == [(7, 18), (14, 18), (18, 18)]
    # As in the example of simulate_batch; nothing is set for the whole process.
    before = torch.get_default_dtype(), torch.are_deterministic_algorithms_enabled()
    single = simulate_batch(
        [2.0, 1.0], 1e-3 * np.eye(2), 0.01, 1000, device=torch.device(device), dynamics="euler"
    )
    assert single.half_times.tolist() == [176.0, 349.0]
    assert before == (torch.get_default_dtype(), torch.are_deterministic_algorithms_enabled())


@pytest.fixture
def ctrl_c():
    """SIGINT raises, also where whoever began the tests has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_is_answered_at_once_and_finished_pieces_are_kept(device, monkeypatch):
    monkeypatch.setattr(devices, "MOST_TOGETHER", 10)
    signals, W0, _ = random_batch(2, 30, 3, 2, columns=6)
    # The last piece would take minutes.
    etas = np.where(np.arange(30) < 20, 0.05, 1e-9)

    def tell(done, _):
        if done == 20:
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()

    with pytest.raises(Interrupted, match="20 of 30 runs are finished") as caught:
        simulate_batch(signals, W0, etas, None, "gd", device=device, workers=2, progress=tell)
    batch = caught.value.batch
    assert (batch.outcome != "not_run").tolist() == [True] * 20 + [False] * 10
    assert np.isfinite(batch.W[:20]).all()
    assert np.isnan(batch.W[20:]).all()


@pytest.mark.parametrize(
    "wrong", ["gpu", "mps", "CUDA", "cuda:", "cuda:-1", "", 3, True, b"cpu", torch.device("meta")]
)
def test_devices_that_do_not_exist_are_refused(wrong):
    with pytest.raises(InvalidInput, match=r'device must be None, "cpu", "cuda"'):
        simulate_batch([2.0, 1.0], 1e-3 * np.eye(2), 0.01, 10, device=wrong)


def test_a_gpu_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert devices.usable_device("cuda:1")[1] == torch.device("cuda:1")
    with pytest.raises(InvalidInput, match="one of the 2 that torch can use, got cuda:2"):
        devices.usable_device("cuda:2")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InvalidInput, match=r"needs a GPU that torch can use.*got cuda:0"):
        simulate_batch([1.0], [[0.1]], 0.01, 10, device="cuda:0")


def test_what_makes_no_sense_is_refused(device):
    arguments = ([2.0, 1.0], 1e-3 * np.eye(2), 0.01)
    with pytest.raises(InvalidInput, match=r"dynamics must be euler or gd on a device.*got flow"):
        simulate_batch(*arguments, 10, "flow", device=device)
    with pytest.raises(InvalidInput, match="must be positive semidefinite"):
        simulate_batch([1.0, 1.0], np.diag([1.0, -1.0]), 0.01, 10, "gd", device=device)


def test_torch_is_imported_only_for_a_device_and_named_where_it_is_missing(monkeypatch, fresh):
    fresh(
        "import sys, swingby; swingby.simulate_batch([1.0], [[0.1]], 0.01, 10);"
        "assert 'torch' not in sys.modules"
    )
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r'torch is not installed: pip install "swingby\[torch'):
        simulate_batch([1.0], [[0.1]], 0.01, 10, device="cpu")
