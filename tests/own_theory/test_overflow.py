"""Numbers beyond the range of floats: undecided, never broken and never kept."""

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

import swingby
from swingby.own import Bound, Outcome, Passage, Theory, Value, t
from tests.own_theory.small import decay, h, x0

r = sp.Symbol("r", positive=True)
#: (1 + r)^t <= e^(r t), Bernoulli's inequality, beyond 1e308 for large r.
growth = Theory(
    "growth",
    {x0: (1e-3, 1, 1e3), r: (0.1, 1, 10)},
    {},
    start=lambda x0: 1 * x0,
    step=lambda x, r: x * (1 + r),
    observe={"x": lambda x: x},
    predict=[Bound("b", "x", below=x0 * sp.exp(r * t), until=1000)],
)


def verdict(prediction, **at):
    return swingby.compare(replace(growth, predict=[prediction]), **at).rows[0].verdict


def test_an_overflow_refutes_no_bound():
    assert not swingby.hunt(growth, rng=0, count=64).found
    assert verdict(growth.predict[0], r=0.3) == "kept"
    assert verdict(growth.predict[0], r=3) == "undecided"
    above = Bound("above", "x", above=x0, until=1000)
    assert verdict(above, r=3) == "undecided"


def test_what_is_broken_before_the_overflow_is_broken():
    """(1 + r) > e^(r/2) for r below 2.5129."""
    half = replace(growth.predict[0], below=x0 * sp.exp(r * t / 2))
    assert verdict(half, r=2.5) == "broken"
    assert verdict(half, r=2.52) == "undecided"
    assert verdict(replace(half, until=50), r=2.52) == "kept"


def test_an_overflow_has_no_value_and_no_passage():
    size = x0 * (1 + r) ** 1000
    assert verdict(Value("v", "x", at=1000, value=size, within=size), r=3) == "undecided"
    assert verdict(Value("v", "x", at=1000, value=1, within=1), r=3) == "undecided"
    ratio = replace(growth, observe={"x": lambda x: x / x * 1e-3})
    never = replace(ratio, predict=[Passage("p", "x", level=1, time=900, within=1)])
    assert swingby.compare(never, r=3).rows[0].verdict == "undecided"
    assert swingby.compare(never, r=0.1).rows[0].verdict == "broken"


def test_a_run_that_ends_in_no_number_has_the_label_of_an_infinite_one():
    """Gradient descent at h s = 90 ends in inf - inf: far by the largest, not by the last."""
    s = sp.Symbol("s", positive=True)

    def descent(observed):
        return Theory(
            "descent",
            {s: (0.1, 1, 10), h: (1e-2, 1, 10)},
            {},
            start=lambda s: 1 + 0 * s,
            step=lambda x, s, h: x - h * s * x,
            observe={"size": np.abs},
            predict=[
                Outcome("fate", "size", 200, {"far": h * s > 2, "near": h * s <= 2}, observed)
            ],
        )

    by_last = swingby.compare(descent(lambda last, _: "far" if last > 1 else "near"), s=10, h=9)
    assert by_last.rows[0].verdict == "undecided"
    careful = descent(lambda last, _: "near" if last < 1 else "far")  # nan is far, as inf is
    assert swingby.compare(careful, s=10, h=9).kept
    by_most = swingby.compare(descent(lambda _, most: "far" if most > 2 else "near"), s=10, h=9)
    assert by_most.rows[0].verdict == "kept"


@pytest.mark.parametrize(("falling", "time"), [(False, np.pi / 6), (True, np.pi * 5 / 6)])
def test_a_passage_comes_from_the_other_side(falling, time):
    """sin(h t) starts at 0, passes 1/2 upwards at h t = pi/6 and downwards at 5 pi/6."""
    swing = Passage("p", "x", sp.Rational(1, 2), time / h, within=1, falling=falling)
    sine = replace(
        decay,
        start=lambda h: np.array([0 * h, 1 + 0 * h]),
        step=lambda z, h: np.array(
            [np.cos(h) * z[0] + np.sin(h) * z[1], np.cos(h) * z[1] - np.sin(h) * z[0]]
        ),
        observe={"x": lambda z: z[0]},
        predict=[swing],
    )
    assert swingby.compare(sine, h=0.05).rows[0].observed == pytest.approx(time / 0.05, abs=0.1)
