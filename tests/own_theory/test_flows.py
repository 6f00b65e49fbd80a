"""Theories in continuous time: exact solutions, settings on their own, blow-ups, refusals."""

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

import swingby
from swingby.errors import InvalidInput
from swingby.own import Bound, Outcome, Passage, Theory, Value, t
from swingby.own_theory.runs import judge
from swingby.testing import assert_theory

s, u0 = sp.symbols("s u0", positive=True)
time = sp.log(s / u0 - 1) / (2 * s)
#: A mode of a linear network in the limit of small steps: u = s / (1 + (s/u0 - 1) e^(-2 s t)).
mode = Theory(
    "flow of a mode",
    {s: (0.1, 1, 10), u0: (1e-12, 1e-3, 0.1)},
    {"small start": u0 <= s / 10},
    start=lambda u0: np.sqrt([u0, u0]),
    step=None,
    flow=lambda z, s: z[::-1] * (s - z[0] * z[1]),
    observe={"u": lambda z: z[0] * z[1]},
    predict=[
        Passage("half", "u", s / 2, time, within=1e-6 * time),
        Value("later", "u", 1.2 * time, s / (1 + (s / u0 - 1) ** sp.Rational(-1, 5)), 1e-6 * s),
        Bound("growth", "u", below=u0 * sp.exp(2 * s * t), start=0, until=time),
        Outcome(
            "side",
            "u",
            at=1.2 * time,
            predicted={"above": s > 0},
            observed=lambda last, _: "above" if last > 0.003 else "below",
        ),
    ],
)


def test_exact_solutions_are_met_to_a_millionth():
    test = assert_theory(mode, count=40)
    assert max(row.worst for row in test.rows[:2]) < 0.5
    assert swingby.hunt(mode, rng=0, count=64).verdict == "tested"


@pytest.mark.parametrize("field", ["time", "value", "below"])
def test_an_error_of_a_thousandth_is_found(field):
    rank = ("time", "value", "below").index(field)
    factor = 0.999 if field == "below" else 1.001
    wrong = replace(mode.predict[rank], **{field: factor * getattr(mode.predict[rank], field)})
    hunt = swingby.hunt(replace(mode, predict=[wrong]), rng=0, count=64)
    assert hunt.violation.numbers == {"s": 1.0, "u0": 0.001}


def test_a_setting_is_the_same_alone_and_beside_others():
    settings = mode.sample(5, rng=1)
    together = judge(settings)
    for q in range(5):
        for name, alone in judge(settings.take(q)).items():
            assert alone.observed[0] == together[name].observed[q]


def test_states_of_several_arrays_and_a_blow_up():
    """x' = x^2 from 1/s is at 10/s at the time 0.9 s, and at infinity at s."""
    escape = Theory(
        "escape",
        {s: (0.1, 1, 10)},
        {},
        start=lambda s: (1 / s, 0 * s),
        step=None,
        flow=lambda z, t: (z[0] ** 2, 0 * z[1] + 2 * t),
        observe={"x": lambda z: z[0], "t^2": lambda z: z[1]},
        predict=[
            Passage("ten", "x", 10 / s, 0.9 * s, within=1e-5 * s),
            Value("clock", "t^2", 0.5 * s, 0.25 * s**2, within=1e-6 * s**2),
        ],
    )
    assert swingby.compare(escape, s=3).kept
    beyond = replace(escape, predict=[Value("end", "x", 2 * s, 1, within=1)])
    assert swingby.compare(beyond).rows[0].verdict == "broken"


def test_the_picture_has_times():
    ax = swingby.compare(mode).plot()
    assert ax.get_xlabel() == "t"
    assert ax.lines[0].get_xdata()[-1] == pytest.approx(1.25 * 1.2 * float(np.log(999) / 2))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"step": lambda z: z}, "flow stands in place of step= and runs="),
        ({"flow": lambda z, eta: z}, "flow asks for eta"),
        ({"seeds": 3}, "has no seeds"),
    ],
)
def test_what_a_flow_cannot_be_is_refused(change, words):
    with pytest.raises(InvalidInput, match=words):
        replace(mode, **change)


def test_a_stiff_flow_is_refused():
    stiff = replace(mode, flow=lambda z, s: 1e6 * (np.cos(z) - z), predict=mode.predict[1:2])
    with pytest.raises(InvalidInput, match="it is stiff; give a step= of its own"):
        swingby.compare(stiff)
