"""The noise of reshuffled epochs against every order there is."""

import itertools

import numpy as np
import pytest

from swingby.theory.law.shuffled_epochs import Shuffle, epochs_of


def enumerated(growth, sizes, weights):
    """The variance over all orders of what batches give; growth (steps, n)."""
    n, ends = growth.shape[1], np.cumsum(sizes).astype(int)
    sums = []
    for order in itertools.permutations(range(n)):
        batches = np.split(np.array(order), ends)[: len(sizes)]
        pairs = zip(weights, growth, batches, strict=True)
        sums.append(sum(w * row[batch].sum() for w, row, batch in pairs))
    return np.var(sums)


@pytest.mark.parametrize("batch", [2, 3, 4, 5])
@pytest.mark.parametrize("mean", [True, False])
def test_the_variance_of_an_epoch_is_that_over_all_orders(batch, mean):
    rng = np.random.default_rng(batch)
    for epoch in epochs_of(6, batch, mean=mean):
        growth = rng.standard_normal((epoch.steps, 6))
        # After an epoch that is whole, the half-time lies in the next one.
        shuffle = Shuffle(epoch, 6)
        shuffle.add(epoch.steps, np.zeros(6))
        for step in reversed(range(epoch.steps)):
            shuffle.add(step, growth[step])
        expected = enumerated(growth, epoch.sizes, epoch.weights)
        assert shuffle.total() == pytest.approx(expected, rel=1e-12)
        for count in range(1, epoch.steps + 1):
            same = np.tile(growth[0], (count, 1))
            expected = enumerated(same, epoch.sizes[:count], epoch.weights[:count])
            left = epoch.left(count) * growth[0].var()
            assert left == pytest.approx(expected, rel=1e-12, abs=1e-14)
            last = Shuffle(epoch, 6)
            for row in same:
                count -= 1
                last.add(count, row)
            assert last.total() == pytest.approx(expected, rel=1e-12, abs=1e-14)


def test_of_an_epoch_that_lies_partly_elsewhere_the_rest_is_an_epoch():
    """Equal batches of the same growth cancel there, too."""
    (epoch,) = epochs_of(6, 2, mean=True)
    shuffle, growth = Shuffle(epoch, 6), np.random.default_rng(0).standard_normal(6)
    shuffle.add(3, np.zeros(6))
    for step in (2, 1):
        shuffle.add(step, growth)
    assert shuffle.total() == pytest.approx(0, abs=1e-14)


def test_kicks_of_an_epoch_move_less_at_once_with_momentum():
    (epoch,) = epochs_of(6, 2, mean=True)
    # Ages 1, 1 and 2.
    assert epoch.lag(0.5) == pytest.approx((0.5 + 0.5 + 0.75) / 3)
    assert epoch.lag(0.0) == 1
    assert epochs_of(6, 6, mean=True)[0].lag(0.5) == 0
