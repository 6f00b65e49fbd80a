"""Shortcuts of the batched law change nothing: against the same law with nothing left out."""

import numpy as np
import pytest

from swingby.theory.growth import growth_rates
from swingby.theory.law.pivots import stage_pivots
from swingby.theory.law.stages import initial_odds
from swingby.verify.batched import law, pivots
from swingby.verify.predict_batch import predict_batch

DYNAMICS = ("euler", "gd", "flow")


def starts(count, d, seed, low=1e-8, high=1e-3):
    """Gaussian starts of full rank, signals in random order."""
    rng = np.random.default_rng(seed)
    signal = np.cumprod(rng.uniform(1.3, 4.0, (count, d)), axis=1)
    signal = rng.permuted(signal / signal[:, -1:], axis=1)
    U = rng.standard_normal((count, d, d))
    W0 = U @ U.swapaxes(1, 2)
    omega = np.exp(rng.uniform(np.log(low), np.log(high), count))
    W0 *= (omega * d / np.trace(W0, axis1=1, axis2=2))[:, None, None]
    return signal, (W0 + W0.swapaxes(1, 2)) / 2, rng.uniform(0.002, 0.05, count)


def agree(batch, given, dynamics):
    """Assert agreement with the scalar law on every instance."""
    for place, (a, W, eta) in enumerate(zip(*given, strict=True)):
        back = np.argsort(np.argsort(-a, kind="stable"))
        one = law.scalar_law(a, W, float(eta), 0.0, dynamics)
        assert batch.trapped[place].tolist() == one.trapped[back].tolist(), place
        assert batch.undecided[place].tolist() == one.undecided[back].tolist(), place
        np.testing.assert_allclose(batch.crossing[place], one.crossing[back], rtol=1e-9)
        np.testing.assert_allclose(batch.error[place], one.error[back], rtol=1e-6)


def without_shortcuts(given, dynamics):
    """Every instance with one sweep and all of its levels, then with four where that is asked."""
    count, d = given[0].shape
    found = law.Found(
        np.full((count, d), np.nan),
        np.full((count, d), np.nan),
        np.zeros((count, d), dtype=np.bool_),
        np.zeros((count, d), dtype=np.bool_),
        np.full((count, d), np.nan),
        np.zeros(count, dtype=np.bool_),
        np.zeros(count, dtype=np.bool_),
    )
    fate = np.full(count, law.SCALAR, dtype=np.int8)
    scaled = (*given, np.zeros(count))
    law._run(np.arange(count), scaled, dynamics, 1, found, fate)
    more = fate == law.MORE
    found.swept[more] = True
    law._run(np.flatnonzero(more), scaled, dynamics, 4, found, fate)
    return found, fate == law.DONE


SIX = pytest.param(6, 1e-6, marks=pytest.mark.full)


@pytest.mark.parametrize("dynamics", DYNAMICS)
@pytest.mark.parametrize(("d", "low"), [(2, 1e-8), (3, 1e-8), (4, 1e-8), (4, 1e-4), SIX])
def test_shortcuts_change_nothing(dynamics, d, low):
    given = starts(2000, d, 40 + d, low, 1e-3)
    plain, done = without_shortcuts(given, dynamics)
    quick = law.batched_law(*given, np.zeros(2000), dynamics, leading=False)
    assert done.mean() > 0.98
    assert 0 < plain.swept.sum() < 1800
    assert np.array_equal(quick.swept[done], plain.swept[done])
    assert np.array_equal(quick.trapped[done], plain.trapped[done])
    assert np.array_equal(quick.undecided[done], plain.undecided[done])
    np.testing.assert_allclose(quick.crossing[done], plain.crossing[done], rtol=1e-12)
    np.testing.assert_allclose(quick.error[done], plain.error[done], rtol=1e-8)


def test_stages_that_the_sweeps_lose_are_done_in_lanes():
    # Near a trap the sweeps need not converge, or no crossing is seen: the leading order is left.
    given = starts(4000, 4, 23)
    batch = predict_batch(*given, "euler")
    lost = (np.isinf(batch.error) & ~batch.trapped & ~batch.undecided).any(axis=1)
    chosen = np.flatnonzero(lost & ~batch.scalar)[:40]
    assert len(chosen) >= 5
    assert batch.scalar.mean() < 0.001
    some = tuple(part[chosen] for part in given)
    agree(predict_batch(*some, "euler"), some, "euler")


def test_trapped_concepts_near_one_quarter_are_the_scalar_ones():
    # Their highest level decides what is undecided, and may lie at a node that is left out.
    given = starts(1500, 3, 24, 1e-6, 1e-3)
    batch = predict_batch(*given, "euler")
    chosen = np.flatnonzero(batch.trapped.any(axis=1))[:150]
    some = tuple(part[chosen] for part in given)
    again = predict_batch(*some, "euler")
    assert again.undecided.any()
    agree(again, some, "euler")


@pytest.mark.parametrize("dynamics", DYNAMICS)
@pytest.mark.parametrize("d", [2, 4])
def test_pivots_of_many_are_those_of_each_bit_by_bit(dynamics, d):
    rng = np.random.default_rng(d)
    U = rng.standard_normal((60, d, d - 1))
    W = U @ U.swapaxes(1, 2) + np.eye(d) * 10.0 ** rng.uniform(-16, -3, (60, 1, 1))
    W = (W + W.swapaxes(1, 2)) * 10.0 ** rng.uniform(-12, -3, (60, 1, 1))
    W[::9, 0, :] = W[::9, :, 0] = 0
    signal, eta = rng.uniform(0.1, 3, (60, d)), rng.uniform(0.01, 0.05, 60)
    signal[::7, 0] = 0
    scale = np.where(rng.random(60) < 0.3, rng.uniform(-900, 0, 60), 0.0)
    found = pivots.find_pivots(signal, W, eta, scale, dynamics)
    for place in range(60):
        order = np.argsort(-signal[place], kind="stable")
        a, start = signal[place][order], W[place][np.ix_(order, order)]
        with np.errstate(all="ignore"):
            sign, log, rest, _ = initial_odds(start, float(scale[place]))
            growth = growth_rates(a, float(eta[place]), dynamics)
            one = stage_pivots(sign, log, a, float(eta[place]), growth, dynamics, rest)
        for name in ("sign", "log", "column_sign", "column_log", "cancellation", "rounding"):
            assert np.array_equal(getattr(found, name)[place], getattr(one, name)), (place, name)


def test_tiny_numbers_are_not_lost_to_the_caller():
    # The quadrature counts them as zero; afterwards they must be there again.
    predict_batch(*starts(8, 3, 2), "flow")
    assert (np.full(16, 1e-310) * 0.5 > 0).all()
