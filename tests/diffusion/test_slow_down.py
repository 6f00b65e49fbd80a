"""The end of learning: exact curves, shares of 32 images, and too little to tell."""

import math

import numpy as np
import pytest

from swingby.diffusion.judging.intervals import student
from swingby.diffusion.judging.slow_down import slow_down
from swingby.errors import InvalidInput

STEPS = np.unique((np.linspace(5, 140, 60) ** 2).astype(int))


def path(later, concept=1):
    """The other concept learned at once."""
    soon = 1 - np.exp(-STEPS / 200)
    return np.stack([soon, later] if concept else [later, soon], axis=1)


@pytest.mark.parametrize("rate", [3e-4, 1e-3])
@pytest.mark.parametrize("concept", [0, 1])
def test_an_exponential(rate, concept):
    """Closed form: the rate comes back, and the exponential wins by far."""
    found = slow_down(STEPS, path(1 - np.exp(-rate * STEPS), concept))
    assert found.concept == concept
    assert found.rate == pytest.approx(rate, rel=1e-6)
    assert found.evidence > 2
    assert found.points >= 6


def test_a_power_law():
    found = slow_down(STEPS, path(1 - np.minimum(1, (1_000 / STEPS) ** 1.5)))
    assert found.power == pytest.approx(1.5, rel=1e-6)
    assert found.evidence < -5


def test_saves_below_the_floor_do_not_count():
    """What happens after the rest has first fallen to the floor changes nothing."""
    later = 1 - np.exp(-1e-3 * STEPS)
    whole = slow_down(STEPS, path(later))
    after = np.flatnonzero(1 - later <= 1 / 64)[5:]
    later[after] = np.random.default_rng(0).uniform(0.9, 1, len(after))
    assert slow_down(STEPS, path(later)) == whole


def test_too_little_to_tell():
    at_once = np.where(STEPS > 3_000, 1.0, 0.0)
    found = slow_down(STEPS, path(at_once))
    assert found.concept == 1
    assert found.points < 6
    assert math.isnan(found.rate)
    assert math.isnan(found.evidence)
    flat = slow_down(STEPS, path(np.where(STEPS > 3_000, 0.7, 0.0)))
    assert flat.points > 6
    assert math.isnan(flat.evidence)
    assert slow_down(STEPS, path(np.full(len(STEPS), 0.3))).concept is None
    assert slow_down(STEPS, path(np.full(len(STEPS), 0.9)), None).concept is None
    with pytest.raises(InvalidInput, match="floor"):
        slow_down(STEPS, path(at_once), floor=0)
    with pytest.raises(InvalidInput, match="path"):
        slow_down(STEPS, path(at_once + 1))


def test_one_save_above_the_floor_is_not_fitted():
    """0.5 and then nothing: every rate would do, the larger the better."""
    later = np.where(STEPS > 3_000, 1.0, 0.0)
    later[np.flatnonzero(STEPS > 3_000)[2]] = 0.51
    found = slow_down(STEPS, path(later))
    assert found.points >= 6
    assert math.isnan(found.rate)


def test_a_dip_begins_the_fit_anew():
    """A concept that rises early and is lost again is fitted from its last rise on."""
    later = 1 - np.exp(-1e-3 * np.maximum(STEPS - 2_000, 0))
    later[(STEPS > 500) & (STEPS < 1_000)] = 0.7
    found = slow_down(STEPS, path(later))
    assert found.rate == pytest.approx(1e-3, rel=1e-6)


@pytest.mark.parametrize("rate", [2e-4, 5e-4])
def test_shares_of_32_images(rate):
    """Five seeds of exponentials with the noise of 32 images, 200 times.

    The rate has no bias to speak of, intervals cover it in 95 % of cases (within four standard
    errors of that share), and the exponential is often told from a power, but not mistaken for it.
    """
    rng = np.random.default_rng(4)
    covered = found = mistaken = 0
    means = []
    for _ in range(200):
        fits = [
            slow_down(STEPS, path(rng.binomial(32, 1 - np.exp(-rate * STEPS)) / 32))
            for _ in range(5)
        ]
        rates, evidence = student([f.rate for f in fits]), student([f.evidence for f in fits])
        means.append(rates.mean)
        covered += rates.low <= rate <= rates.high
        found += evidence.low > 0
        mistaken += evidence.high < 0
    assert covered >= 200 * 0.95 - 4 * math.sqrt(200 * 0.95 * 0.05)
    assert np.mean(means) == pytest.approx(rate, rel=0.03)
    assert mistaken <= 5
    assert found > 80


def test_shares_of_32_images_of_a_power_law():
    rng = np.random.default_rng(5)
    found = mistaken = 0
    for _ in range(100):
        truth = 1 - np.minimum(1, 800 / STEPS)
        fits = [slow_down(STEPS, path(rng.binomial(32, truth) / 32)) for _ in range(5)]
        evidence = student([f.evidence for f in fits])
        found += evidence.high < 0
        mistaken += evidence.low > 0
    assert mistaken <= 3
    assert found > 15
