"""Batches on a device of torch: watched, below the float range, and without a number of steps.

The expected values come from `simulate_batch` without a device: compiled lanes up to d = 8, above
that runs one by one, whose descents are counted from the extrema that they keep.
"""

import numpy as np
import pytest
from swingby.simulate.reference import mpmath_run

from swingby.errors import InvalidInput
from swingby.simulate.batch import simulate_batch

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.torch

HAS_CUDA = torch.cuda.is_available()
OMEGAS = np.array(["1e-1", "1e-3", "1e-8", "1e-40", "1e-320", "1e-400"], dtype=object)


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


def watched_batch(d, count, seed):
    """Signals, W(0) before its scale, and test points."""
    generator = np.random.default_rng(seed)
    points = np.sort(generator.uniform(0.3, 2, (count, d)))[:, ::-1]
    U = generator.standard_normal((count, d, 2 * d))
    return points**2 + 0.01, U @ U.swapaxes(1, 2) / (2 * d), points


def agreeing(found, expected, *, rest=False):
    """`found` is `expected`; what leaves the float range has amplified rounding on its way.

    Where runs end at rest, the last step is a matter of the last bit of W: which may go back and
    forth for long.
    """
    assert np.array_equal(found.half_times, expected.half_times, equal_nan=True)
    assert np.array_equal(found.outcome, expected.outcome)
    away = np.abs(found.last_step - expected.last_step)
    assert (away <= 512).mean() > 0.7 if rest else not away.any()
    left = expected.outcome == "diverged"
    size = np.abs(expected.W).max(axis=(-2, -1))
    away = np.abs(found.W - expected.W).max(axis=(-2, -1))
    assert (away <= np.where(left, 1e-7, 1e-12) * size).all()
    if expected.descents is None:
        assert found.descents is None
        assert found.transient is None
    else:
        assert np.array_equal(found.descents, expected.descents)
        away = np.abs(found.transient - expected.transient)
        assert (away <= np.where(left, 1e-7, 1e-11) * expected.transient).all()
    return found


@pytest.mark.parametrize("dynamics", ["euler", "gd"])
@pytest.mark.parametrize(("d", "count"), [(1, 6), (2, 60), (3, 60), (5, 18), (10, 4)])
def test_descents_and_transients_are_those_of_compiled_runs(d, count, dynamics, device):
    signals, W0, points = watched_batch(d, count, d)
    omegas = np.resize(OMEGAS[: 4 if d == 10 else None], count)
    given = {"omega": omegas, "test_point": points}
    call = (signals, W0, 0.01, 9000 if d < 5 else 4000, dynamics)
    expected = simulate_batch(*call, **given)
    found = agreeing(simulate_batch(*call, **given, device=device), expected)
    assert (found.descents >= 1).any()
    if d in (2, 3):
        assert (found.descents >= 2).any(), "no swing to count"
        assert np.isfinite(found.half_times).all(axis=1).sum() > count / 2


@pytest.mark.parametrize("dynamics", ["euler", "gd"])
def test_the_transient_and_the_descents_are_those_of_forty_digits(dynamics, device):
    # Two overlapping concepts: the loss falls, rises while the first outruns, and falls again.
    signal, point = [4.0, 0.25], [2.0, 0.5]
    W0 = [[1e-2, 9e-3], [9e-3, 1e-2]]
    steps, eta, swing = 900, 0.02, 1e-3
    run = mpmath_run(np.array(signal), W0, eta, steps, dynamics, 40)
    losses = []
    for W in run:
        outputs = [W[k, 0] * point[0] + W[k, 1] * point[1] - point[k] for k in range(2)]
        losses.append(float(sum(output**2 for output in outputs) / 2))
    # A descent ends where the loss turns up by the swing, or with the run.
    bar, descents, top, bottom, falling = swing * losses[0], 0, losses[0], losses[0], False
    for loss in losses[1:]:
        top, bottom = max(top, loss), min(bottom, loss)
        if not falling and top - loss >= bar:
            falling, bottom, descents = True, loss, descents + 1
        elif falling and loss - bottom >= bar:
            falling, top = False, loss
    assert descents == 2
    batch = simulate_batch(
        signal, W0, eta, steps, dynamics, test_point=point, swing=swing, device=device
    )
    assert batch.descents == descents
    largest = max(abs(W[0, 1]) for W in run)
    assert batch.transient == pytest.approx(float(largest), rel=1e-12)


def test_the_swing_decides_and_a_perfect_start_has_no_descent(device):
    W0 = np.array([[1e-2, 9e-3], [9e-3, 1e-2]])
    call = ([4.0, 0.25], W0, 0.02, 900, "gd")
    point = {"test_point": [2.0, 0.5], "device": device}
    assert simulate_batch(*call, **point, swing=1e-3).descents == 2
    assert simulate_batch(*call, **point, swing=0.5).descents == 1
    assert simulate_batch(*call, **point, swing=1.0).descents == 0
    # W(0) x = x.
    perfect = simulate_batch(
        [2.0, 1.0], np.eye(2), 0.01, 300, "gd", test_point=[1, 1], device=device
    )
    assert (perfect.descents, perfect.transient) == (0, 0.0)


def test_to_be_watched_changes_nothing_else(device):
    signals, W0, points = watched_batch(3, 12, 4)
    call = (signals, W0, 0.01, 3000, "euler")
    omegas = np.resize(OMEGAS, 12)
    bare = simulate_batch(*call, omega=omegas, device=device)
    watched = simulate_batch(*call, omega=omegas, test_point=points, device=device)
    assert bare.descents is None
    assert np.array_equal(bare.W, watched.W)
    assert np.array_equal(bare.half_times, watched.half_times, equal_nan=True)


def test_what_leaves_the_float_range_is_watched_to_its_last_finite_step(device):
    # Steps so long that 1 is not stable. The first rows end at once, the others within blocks.
    signals, W0, points = watched_batch(3, 12, 5)
    W0[:3] *= 1e250
    omegas = np.resize(OMEGAS[1:4], 12)
    omegas[:3] = "1"
    call = (signals, W0, 2.5 / signals.max(axis=1), 1000, "gd")
    expected = simulate_batch(*call, omega=omegas, test_point=points)
    found = simulate_batch(*call, omega=omegas, test_point=points, device=device)
    assert (found.outcome == "diverged").all()
    for name in ("outcome", "last_step", "descents", "half_times", "executed_steps"):
        given, wanted = getattr(found, name), getattr(expected, name)
        assert np.array_equal(given, wanted, equal_nan=name == "half_times")
    assert np.allclose(found.transient, expected.transient, rtol=1e-6)
    assert np.isfinite(found.transient).all()


@pytest.mark.parametrize("dynamics", ["euler", "gd"])
def test_a_scale_is_what_it_multiplies_w_by(dynamics, device):
    signals, W0, _ = watched_batch(3, 5, 6)
    scales = np.array([1e-1, 1e-5, 1e-20, 1e-100, 1e-250])
    call = (0.01, 8000, dynamics)
    by_hand = simulate_batch(signals, scales[:, None, None] * W0, *call, device=device)
    agreeing(simulate_batch(signals, W0, *call, omega=scales, device=device), by_hand)
    # Far below the float range: n steps of growth a = 1 take w to (1 + 2 eta)^n omega.
    eta, steps = 0.01, 50_000
    one = simulate_batch(
        [1.0], [[1.0]], eta, steps, dynamics, omega="1e-400", skip=False, device=device
    )
    jumped = simulate_batch([1.0], [[1.0]], eta, steps, dynamics, omega="1e-400", device=device)
    growth = np.log1p(2 * eta) if dynamics == "euler" else 2 * np.log1p(eta)
    # Near 1/2 growth is slower; that costs less than 1/(2 eta) steps.
    begun = 400 * np.log(10) / growth
    assert begun - 1 / eta < one.half_times[0] < begun + 1 / eta
    assert np.array_equal(one.half_times, jumped.half_times)
    assert one.executed_steps == steps
    assert jumped.executed_steps < 12_000


@pytest.mark.parametrize("dynamics", ["euler", "gd"])
@pytest.mark.parametrize("d", [1, 2, 3, 10])
def test_without_steps_runs_end_at_rest_as_compiled_ones_do(d, dynamics, device):
    count = 18 if d < 10 else 3
    signals, W0, points = watched_batch(d, count, d + 20)
    given = {"omega": np.resize(OMEGAS[:4], count), "test_point": points}
    call = (signals, W0, 0.02, None, dynamics)
    expected = simulate_batch(*call, **given)
    found = agreeing(simulate_batch(*call, **given, device=device), expected, rest=True)
    converged = found.outcome == "converged"
    assert converged.sum() > count / 2
    assert (found.last_step[converged] % 256 == 0).all()
    assert (found.last_step > np.nanmax(found.half_times, axis=1))[converged].all()
    stepped = simulate_batch(*call, **given, skip=False, device=device)
    agreeing(stepped, found, rest=True)
    assert np.array_equal(stepped.executed_steps, stepped.last_step)


def test_without_steps_every_kind_of_run_ends(device):
    cases = [
        ([3, 2], np.full((2, 2), 1e-3), "gd"),  # of rank one: the second stays trapped
        ([3, 2], np.diag([1e-3, 0]), "euler"),  # a row of zeros
        ([3, 0], np.diag([1e-3, 1e-20]), "gd"),  # a free direction, tiny
        ([3, 0], np.diag([1e-3, 1e-3]), "gd"),  # another: it ends at the most steps
        ([3, 0], np.diag([1e-3, 1.0]), "gd"),  # one more, which stands still at 1
        ([60, 40], np.diag([1e-3, 1e-3]), "gd"),  # diverges
        ([3, 1e-2], np.diag([1e-3, 1e-30]), "euler"),  # slow
    ]
    seen = set()
    for signal, W0, dynamics in cases:
        call = (np.array(signal, dtype=float), W0, 0.05, None, dynamics)
        expected = simulate_batch(*call)
        found = simulate_batch(*call, device=device)
        assert found.outcome == expected.outcome
        assert np.array_equal(found.half_times, expected.half_times, equal_nan=True)
        assert abs(found.last_step - expected.last_step) <= 256 + 0.02 * expected.last_step
        if found.outcome != "diverged":
            # What still decays is elsewhere where another look ended the run.
            small = 1e-30 if found.last_step == expected.last_step else 1e-11
            assert np.allclose(found.W, expected.W, rtol=1e-9, atol=small)
        seen.add(str(found.outcome))
    assert seen == {"converged", "trapped", "diverged"}


@pytest.mark.parametrize(
    ("argument", "given"),
    [
        ("omega", {"omega": 0}),
        ("omega", {"omega": "nan"}),
        ("swing", {"test_point": [1, 1], "swing": 1e-10}),
        ("test_point", {"test_point": [1, 1, 1]}),
        ("must broadcast", {"test_point": np.ones((2, 2)), "omega": [1, 1, 1]}),
    ],
)
def test_what_makes_no_sense_is_refused(argument, given, device):
    with pytest.raises(InvalidInput, match=argument):
        simulate_batch([2.0, 1.0], np.eye(2), 0.01, 10, device=device, **given)


def test_no_signal_and_no_number_of_steps_is_refused(device):
    with pytest.raises(InvalidInput, match="must be given where no signal is positive"):
        simulate_batch([0.0, 0.0], np.eye(2), 0.01, None, device=device)
