"""predict_batch against the law of each instance; what both batches promise of shapes and input."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest

from swingby.errors import InvalidInput
from swingby.theory.growth import growth_rates
from swingby.theory.initial import Initial
from swingby.theory.law.stages import stage_law
from swingby.theory.task import SIMTask
from swingby.verify.predict_batch import predict_batch
from swingby.verify.predict_swing import predict_swing_batch
from tests.forked import FULL, sample

DYNAMICS = ("euler", "gd", "flow")
#: Largest difference from the law alone in steps, and beside that as a share of the error bar.
CROSSING, SHARE = 1e-3, 1e-2
#: Instances of a kind: under euler the law of a tiny W(0) alone takes seconds.
MOST = dict.fromkeys(DYNAMICS, 8) if FULL else {"euler": 1, "gd": 2, "flow": 2}


def starts(count, d, seed, low=1e-8, high=1e-3, closest=1.3, farthest=4.0):
    """Gaussian starts of full rank, signals in random order."""
    rng = np.random.default_rng(seed)
    ratios = np.concatenate(
        [np.ones((count, 1)), rng.uniform(closest, farthest, (count, d - 1))], 1
    )
    signal = np.cumprod(ratios, axis=1)
    signal = rng.permuted(signal / signal[:, -1:], axis=1)
    omega = np.exp(rng.uniform(np.log(low), np.log(high), count))
    U = rng.standard_normal((count, d, d))
    W0 = U @ U.swapaxes(1, 2)
    W0 *= (omega * d / np.trace(W0, axis1=1, axis2=2))[:, None, None]
    return signal, (W0 + W0.swapaxes(1, 2)) / 2, rng.uniform(0.002, 0.05, count)


def alone(a, W, eta, dynamics, *, scale=Fraction(1)):
    """The law of one instance."""
    order = np.argsort(-a, kind="stable")
    task = SIMTask.from_signal(a[order].tolist())
    start = Initial(W[np.ix_(order, order)], scale)
    return stage_law(task, start, Fraction(float(eta)), dynamics), np.argsort(order)


def agree(batch, given, dynamics, *, scales=None):
    """Assert agreement on every instance."""
    for number, (a, W, eta) in enumerate(zip(*given, strict=True)):
        scale = Fraction(1) if scales is None else scales[number]
        law, back = alone(a, W, eta, dynamics, scale=scale)
        assert batch.trapped[number].tolist() == law.trapped[back].tolist(), number
        assert batch.undecided[number].tolist() == law.undecided[back].tolist(), number
        mine, its = batch.crossing[number], law.crossing[back]
        assert np.isnan(mine).tolist() == np.isnan(its).tolist(), number
        assert np.isinf(mine).tolist() == np.isinf(its).tolist(), number
        finite = np.isfinite(its)
        bar, its_bar = batch.error[number], law.error[back]
        assert np.isfinite(bar).tolist() == np.isfinite(its_bar).tolist(), number
        assert np.isnan(bar).tolist() == np.isnan(its_bar).tolist(), number
        off = np.abs(mine[finite] - its[finite])
        # A pivot that the drift nearly cancels magnifies the tolerance, and has a wide bar.
        allowed = CROSSING + SHARE * np.where(np.isfinite(its_bar), its_bar, np.inf)[finite]
        assert (off <= allowed).all(), (number, off)
        sure = np.isfinite(its_bar)
        assert (bar[sure] <= its_bar[sure] * 1.2 + 0.02).all(), number
        assert (its_bar[sure] <= bar[sure] * 1.2 + 0.02).all(), number


@pytest.mark.parametrize("d", [1, 3, *(pytest.param(d, marks=pytest.mark.full) for d in (2, 4, 8))])
@pytest.mark.parametrize("dynamics", DYNAMICS)
def test_random_instances_agree_with_the_law_of_each_alone(dynamics, d):
    instances = [array[: 2 * MOST[dynamics]] for array in starts(8, d, seed=d)]
    agree(predict_batch(*instances, dynamics), instances, dynamics)


@pytest.mark.parametrize("dynamics", DYNAMICS)
@pytest.mark.parametrize(("low", "high"), [(1e-2, 1e-1), (1e-300, 1e-290), (0.1, 2.0)])
def test_agreement_from_a_large_omega_to_the_end_of_the_float_range(dynamics, low, high):
    if dynamics == "euler" and low < 1e-200 and not FULL:
        pytest.skip("takes long; test_scales_below_the_float_range is as far out")
    instances = [array[: MOST[dynamics]] for array in starts(5, 3, 7, low, high)]
    agree(predict_batch(*instances, dynamics), instances, dynamics)


def special():
    """Instances that are not like Gaussian ones, five of each name."""
    signal, W0, eta = starts(5, 4, 11)
    rng = np.random.default_rng(12)
    unlearned, middle, tie = np.sort(signal, axis=1)[:, ::-1].copy(), signal.copy(), signal.copy()
    unlearned[:, 3] = unlearned[3:, 2] = middle[:, 1] = 0
    tie[:, 2] = signal[:, 0]
    for name, signals in (("free direction", unlearned), ("another", middle), ("tie", tie)):
        yield name, signals, W0, eta
    yield "nearly equal signals", *starts(5, 4, 13, 1e-8, 1e-2, 1.0001, 1.05)
    yield "coarse", signal, W0, rng.uniform(0.3, 0.7, 5)
    U, V = rng.standard_normal((5, 4, 2)), rng.integers(-3, 4, (5, 4, 3)).astype(float)
    V[:, :, 0] = np.where(np.abs(V).sum(axis=2) == 0, 1.0, V[:, :, 0])
    low, root = 1e-5 * (U @ U.swapaxes(1, 2)), 10.0 ** rng.uniform(-50, 0, (5, 4))
    above, absent, unit = W0.copy(), W0.copy(), np.eye(4)
    above[:, 0, 0] = rng.uniform(0.4, 0.9, 5)
    absent[:, 1, :] = absent[:, :, 1] = 0
    largest = rng.uniform(0.9, 1.0, 5) / np.linalg.eigvalsh(W0)[:, -1]
    for name, signals in {
        "rank two": low,
        "nearly degenerate": low + 1e-5 * 10.0 ** rng.uniform(-12, 0, (5, 1, 1)) * unit,
        "diagonal": unit * 10.0 ** rng.uniform(-12, -1, (5, 1, 4)),
        "entries above one half": above,
        "largest eigenvalue": W0 * largest[:, None, None],
        "scales apart": W0 * root[:, :, None] * root[:, None, :],
        "indefinite": W0 * np.where(unit == 1, 1.0, 1.7),
        "integers of low rank": 1e-4 * (V @ V.swapaxes(1, 2)),
        "absent concept": absent,
    }.items():
        yield name, signal, (signals + signals.swapaxes(1, 2)) / 2, eta


SPECIAL = {name: given for name, *given in special()}


@pytest.mark.parametrize("dynamics", ["euler", pytest.param("gd", marks=pytest.mark.full), "flow"])
@pytest.mark.parametrize("name", sample(SPECIAL))
def test_special_instances_agree_with_the_law_of_each_alone(name, dynamics):
    instances = [array[: MOST[dynamics]] for array in SPECIAL[name]]
    if name == "indefinite" and dynamics != "euler":
        with pytest.raises(InvalidInput, match="must be positive semidefinite"):
            predict_batch(*instances, dynamics)
        return
    agree(predict_batch(*instances, dynamics), instances, dynamics)


@pytest.mark.parametrize("dynamics", ["gd", "flow"])
def test_the_leading_order_is_the_closed_pivot_law(dynamics):
    signal, W0, eta = starts(40, 4, 5)
    batch = predict_batch(signal, W0, eta, dynamics, accuracy="leading")
    full = predict_batch(signal, W0, eta, dynamics)
    for number in range(40):
        order = np.argsort(-signal[number])
        lower = np.linalg.cholesky(W0[number][np.ix_(order, order)])
        growth = growth_rates(signal[number], eta[number], dynamics).diagonal()[order]
        expected = -2 * np.log(lower.diagonal()) / growth
        assert batch.crossing[number][order] == pytest.approx(expected, rel=1e-9)
    assert not np.array_equal(batch.crossing, full.crossing, equal_nan=True)
    assert np.array_equal(batch.trapped, full.trapped)
    distance = np.abs(batch.crossing / full.crossing - 1)
    assert np.median(distance) < 0.1


def test_the_leading_order_of_euler_follows_the_drift():
    # Concepts 1 and 2 are correlated; the drift takes from the pivot of 2 until stage 1.
    W0, a, eta = 1e-4 * np.array([[1.0, 0.8], [0.8, 1.0]]), np.array([4.0, 2.0]), 0.02
    crossing = predict_batch(a, W0, eta, "euler", accuracy="leading").crossing
    first = -math.log(1e-4) / math.log1p(2 * eta * a[0])
    rates = [math.log1p(eta * (a[i] + a[j])) for i, j in ((0, 0), (0, 1), (1, 1))]
    w = [1.0, 0.8 * 1e-4 * math.exp(first * rates[1]), 1e-4 * math.exp(first * rates[2])]
    pivot = w[2] - w[1] ** 2 / w[0]
    assert crossing == pytest.approx([first, first - math.log(pivot) / rates[2]])


@pytest.mark.parametrize("dynamics", DYNAMICS)
def test_scales_below_the_float_range(dynamics):
    instances = [array[: MOST[dynamics]] for array in starts(6, 3, 9, 0.5, 1.0)]
    powers = np.random.default_rng(10).integers(-4000, -7, 6)[: MOST[dynamics]]
    batch = predict_batch(*instances, dynamics, log_scale=powers * math.log(2.0))
    agree(batch, instances, dynamics, scales=[Fraction(2) ** int(power) for power in powers])


def test_what_the_euler_drift_leaves_open_is_undecided():
    # Concepts 1 and 2 are correlated to within what the drift takes; 3 is slow and apart.
    correlations = np.linspace(0.9, 0.9999, 200)
    W0 = np.tile(1e-3 * np.eye(3), (200, 1, 1))
    W0[:, 0, 1] = W0[:, 1, 0] = 1e-3 * correlations
    instances = (np.tile([4.0, 2.0, 0.05], (200, 1)), W0, np.full(200, 0.01))
    batch = predict_batch(*instances, "euler")
    assert not batch.undecided[:, [0, 2]].any()
    # More correlation, less pivot: one change from learned to trapped, doubts at most between.
    sure = ~batch.undecided[:, 1]
    assert batch.undecided[:, 1].sum() <= 20
    assert (np.diff(batch.trapped[sure, 1].astype(int)) >= 0).all()
    cut = batch.trapped[:, 1] & sure
    assert 0 < cut.sum() < 200
    assert np.isnan(batch.crossing[cut][:, 2]).all()
    sample = slice(80, 200, 30)
    agree(
        predict_batch(*(array[sample] for array in instances), "euler"),
        [p[sample] for p in instances],
        "euler",
    )


BOTH = pytest.mark.parametrize("function", [predict_batch, predict_swing_batch])


def fields(batch, where=...):
    """Bytes of every array of some instances."""
    values = {field.name: getattr(batch, field.name) for field in dataclasses.fields(batch)}
    return {
        name: np.ascontiguousarray(value[where]).tobytes()
        for name, value in values.items()
        if name != "dynamics"
    }


@BOTH
def test_an_instance_does_not_depend_on_the_others_not_in_a_bit(function):
    signal, W0, eta = starts(70, 3, 3, 1e-8, 1e-2)
    W0[5], eta[6] = 1e-3, 0.7  # a rank of one, and a step that is too coarse
    together = function(signal, W0, eta, "euler")
    assert len(together) == 70
    order = np.random.default_rng(4).permutation(70)
    assert fields(function(signal[order], W0[order], eta[order], "euler")) == fields(
        together, order
    )
    for number in (0, 5, 6, 7, 8, 33, 69):
        single = function(signal[number], W0[number], eta[number], "euler")
        assert single.shape == ()
        assert fields(single) == fields(together, number)
    with pytest.raises(TypeError, match="no length"):
        len(single)


@BOTH
def test_leading_axes_broadcast(function):
    signal, W0, _ = starts(3, 2, 1)
    eta, scales = np.array([[0.01], [0.02]]), np.array([0.0, -1.0, -5.0])
    more = {} if function is predict_batch else {"swing": [1e-3, 1e-2, 1e-1], "test_point": [1, 2]}
    batch = function(signal, W0, eta, "gd", log_scale=scales, **more)
    assert batch.shape == (2, 3)
    for i in range(2):
        for k in range(3):
            options = {name: value[k] for name, value in more.items() if name == "swing"}
            arguments = (signal[k], W0[k], eta[i, 0], "gd")
            assert fields(
                function(*arguments, log_scale=scales[k], **{**more, **options})
            ) == fields(batch, (i, k))
    empty = function(np.empty((4, 0, 3)), np.eye(3) * 1e-3, 0.01)
    assert empty.shape == (4, 0)
    assert len(empty) == 4
    assert len(function(np.empty((0, 3)), np.eye(3) * 1e-3, 0.01)) == 0


@BOTH
def test_a_task_gives_its_signal_and_its_test_point(function):
    task, eta = SIMTask([1, 2], [1, 0.5]), [0.01, 0.02]
    W0 = 1e-4 * (np.eye(2) + 0.3)
    more = {} if function is predict_batch else {"test_point": task.test_point}
    assert fields(function(task, W0, eta, "gd")) == fields(
        function(task.signal, W0, eta, "gd", **more)
    )


def test_it_prints_as_a_line_and_becomes_a_frame():
    batch = predict_batch([2.0, 1.0], 1e-3 * np.eye(2), [0.01, 0.02, 0.03], "gd")
    assert repr(batch) == (
        "<BatchSchedule gd: shape (3,), 2 concepts; 6 half-times, 0 trapped, 0 undecided>"
    )
    assert np.array_equal(batch.half_times, np.ceil(batch.crossing))
    assert len(predict_batch([1.0, 2.0], np.empty((4, 0, 2, 2)), 0.01, "gd").to_frame()) == 0
    frame = batch.to_frame()
    assert frame["half_time"].tolist() == batch.half_times.ravel().tolist()
    assert frame["instance"].tolist() == [0, 0, 1, 1, 2, 2]
    assert frame["concept"].tolist() == [1, 2, 1, 2, 1, 2]


GOOD = {"signal": [2.0, 1.0], "W0": [[1e-3, 0.0], [0.0, 1e-3]], "eta": 0.01}
BAD = {
    "signal": [
        *([2.0, math.nan], [2.0, math.inf], [2.0, -1.0], [0.0, 0.0], 2.0, "4, 1", ["4", "x"]),
        *([True, False], [1e-306, 1.0], [1e306, 1.0], [[1.0, 2.0], [1.0]], [1.0, 2.0j], None),
    ],
    "W0": [
        *([[1e-3, math.nan], [math.nan, 1e-3]], [[1e-3, 1e-4], [2e-4, 1e-3]], np.zeros((2, 2))),
        *([[1e301, 0.0], [0.0, 1.0]], [1e-3, 1e-3], np.eye(3), "1e-3"),
    ],
    "eta": [0.0, -0.01, math.nan, math.inf, 1e-306, "small", True],
    "dynamics": ["adam"],
    "omega": [0, "x", math.nan],
    "log_scale": [math.nan, 1e6, "x"],
    "accuracy": ["some"],
}


@pytest.mark.parametrize("argument", BAD)
def test_bad_input_is_refused_by_name(argument):
    for value in BAD[argument]:
        with pytest.raises(InvalidInput) as refused:
            predict_batch(**{**GOOD, argument: value})
        assert refused.value.argument.removeprefix("an entry of ").startswith(argument)


def test_the_refused_instance_is_named():
    W0 = np.tile(np.eye(2) * 1e-3, (2, 3, 1, 1))
    W0[1, 2, 0, 1] = 1
    with pytest.raises(InvalidInput) as refused:
        predict_batch([2.0, 1.0], W0, 0.01)
    assert refused.value.argument == "W0[1, 2]"
    with pytest.raises(InvalidInput, match="below 1e300"):
        predict_batch([2.0, 1.0], np.eye(2), 0.01, log_scale=700)
    with pytest.raises(InvalidInput, match="must broadcast"):
        predict_batch(np.ones((3, 2)), np.ones((2, 2, 2)), 0.01)
    with pytest.raises(InvalidInput, match="one at a time"):
        predict_batch(**GOOD, omega=1, log_scale=0.0)
