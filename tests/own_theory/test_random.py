"""Theories of random runs: a true one is not refuted, whatever its tails; a wrong one is."""

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

import swingby
from swingby.own import Theory, Value
from swingby.own_theory.power import examined
from swingby.own_theory.runs import decided

s = sp.Symbol("s", positive=True)


def theory(step, predict, seeds):
    def start(n):
        return np.zeros(n)

    return Theory(
        "random", {s: (0.1, 1, 5)}, {}, start, step, {"x": lambda x: x}, predict, seeds=seeds
    )


#: 20 steps of +-s: a variance of 20 s^2 over 100 seeds, of which low samples have low errors.
walk = theory(
    lambda x, s, rng: x + s * rng.choice([-1.0, 1.0], size=x.shape),
    [
        Value("variance", "x", at=20, value=20 * s**2, within=s**2 / 5, stat="var"),
        Value("mean", "x", at=20, value=0, within=s / 100, stat="mean"),
    ],
    seeds=100,
)
#: s N^4 has the mean 3 s and the variance 96 s^2; its fourth power has tails that 50 seeds miss.
fourth = theory(
    lambda x, s, rng: s * rng.standard_normal(x.shape) ** 4,
    [
        Value("variance", "x", at=1, value=96 * s**2, within=s**2, stat="var"),
        Value("mean", "x", at=1, value=3 * s, within=s / 100, stat="mean"),
    ],
    seeds=50,
)
#: The mean of a lognormal number is 1; at s = 5 no sample shows it.
lognormal = theory(
    lambda x, s, rng: np.exp(s * rng.standard_normal(x.shape) - s**2 / 2),
    [Value("mean", "x", at=1, value=1, within=0.1, stat="mean")],
    seeds=400,
)
ALL = pytest.mark.parametrize(
    "true", [walk, fourth, lognormal], ids=["walk", "fourth", "lognormal"]
)


@ALL
@pytest.mark.parametrize("seed", range(3))
def test_a_true_theory_is_not_refuted(true, seed):
    assert not swingby.hunt(true, rng=seed, count=96).found


@ALL
def test_a_true_theory_is_broken_in_no_test(true):
    for seed in range(8):
        assert not any(row.broken for row in examined(true, 40, seed).rows)


@pytest.mark.parametrize(
    ("true", "rank", "factor"), [(walk, 0, 1.2), (walk, 0, 0.8), (fourth, 1, 2.5), (fourth, 1, 0.2)]
)
def test_a_wrong_theory_is_refuted_and_again(true, rank, factor):
    wrong = replace(true.predict[rank], value=factor * true.predict[rank].value)
    hunt = swingby.hunt(replace(true, predict=[wrong]), rng=0, count=64)
    assert hunt.violation.rows
    assert hunt.rerun()


def test_what_a_tail_decides_is_undecided():
    """exp(4 N - 8) has the mean 1 and the median e^-8; no sample of it is near 1."""
    verdicts = {swingby.compare(lognormal, s=4, rng=seed).rows[0].verdict for seed in range(8)}
    assert "broken" not in verdicts
    assert swingby.hunt(lognormal, rng=0, count=96).verdict == "undecided"


def test_seeds_grow_until_their_error_is_known():
    """N^2 has the skewness 8^0.5, and its mean 0.05 of that at 3200 seeds, not at 200."""
    wrong = Value("mean", "x", at=1, value=2 * s, within=s / 100, stat="mean")
    square = replace(fourth, step=lambda x, s, rng: s * rng.standard_normal(x.shape) ** 2)
    setting = replace(square, predict=[wrong]).sample(1, rng=0)
    row = decided(setting, 1, 4)["mean"]
    assert row.ratio[0] > 1
    assert row.noise[0] < 1.1 * 4 * np.sqrt(2 / 3200) / 0.01


def test_a_threshold_has_no_turns_of_noise():
    """20 s^2 max(1, s) is off by more than the 40 s^2 allowed from s = 3 on."""
    value = 20 * s**2 * sp.Max(1, s)
    drifting = replace(
        walk, predict=[Value("variance", "x", at=20, value=value, within=40 * s**2, stat="var")]
    )
    turns = swingby.threshold(drifting, "variance kept", vary="s").sides["observed"]
    assert turns.first is True
    ((low, high),) = turns.brackets
    assert low < 3 < high < 4
    assert turns.undecided > 0
