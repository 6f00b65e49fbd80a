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
    assert swingby.compare(beyond).rows[0].verdict == "undecided"


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


eps, b = sp.symbols("eps b", positive=True)
#: x follows a pulse: x = b e (t/eps) e^(-t/eps), which is b at t = eps.
pulse = Theory(
    "pulse",
    {eps: (1e-4, 0.1, 1), b: (0.1, 2, 10)},
    {},
    start=lambda b: np.array([0 * b, np.e * b]),
    step=None,
    flow=lambda z, eps: np.array([(z[1] - z[0]) / eps, -z[1] / eps]),
    observe={"x": lambda z: z[0]},
    predict=[Bound("below", "x", below=1, until=10), Bound("above", "x", above=-1, until=10)],
)


@pytest.mark.parametrize(("height", "verdict"), [(1.05, "broken"), (0.999, "kept")])
def test_a_bound_is_judged_between_looks(height, verdict):
    row = swingby.compare(pulse, eps=1e-3, b=height).rows[0]
    assert row.verdict == verdict
    assert row.observed == pytest.approx(height, rel=1e-6)
    assert row.step == pytest.approx(1e-3, rel=1e-3)


def test_passages_of_two_time_scales_are_met():
    """x = (e^(-a t) - e^(-t/eps))/(1 - eps a) passes 1/2 where bisection of that says."""
    a = sp.Symbol("a", positive=True)
    scales = Theory(
        "two time scales",
        {eps: (1e-4, 1e-2, 1), a: (0.1, 1, 10)},
        {},
        start=lambda a: np.array([0 * a, 1 + 0 * a]),
        step=None,
        flow=lambda z, eps, a: np.array([(z[1] - z[0]) / eps, -a * z[1]]),
        observe={"x": lambda z: z[0], "y": lambda z: z[1]},
        predict=[
            Passage("fast", "x", 0.5, eps * sp.log(2), within=2 * eps**2 * a),
            Passage("slow", "y", 0.5, sp.log(2) / a, within=1e-6 / a, falling=True),
        ],
    )
    low, high = 0.0, 1e-3
    for _ in range(80):
        middle = (low + high) / 2
        x = (np.exp(-0.177 * middle) - np.exp(-middle / 1.3e-4)) / (1 - 1.3e-4 * 0.177)
        low, high = (middle, high) if x < 0.5 else (low, middle)
    table = swingby.compare(scales, eps=1.3e-4, a=0.177)
    assert table.rows[0].observed == pytest.approx(low, rel=1e-7)
    assert table.kept


def test_a_bound_of_a_flow_holds_from_its_start():
    """e^(-5 t) is above 1/2 on [0, 0.139] only."""
    decay = replace(
        pulse,
        start=lambda b: 1 + 0 * b,
        flow=lambda x: -5 * x,
        observe={"x": lambda x: x},
        predict=[Bound("small", "x", below=sp.Rational(1, 2), until=10)],
    )
    row = swingby.compare(decay).rows[0]
    assert (row.verdict, row.step) == ("broken", 0)
    later = replace(decay, predict=[replace(decay.predict[0], start=sp.log(2) / 5)])
    assert swingby.compare(later).kept


@pytest.mark.parametrize(
    ("flow", "words"),
    [
        (lambda z: None, "flow returned None"),
        (lambda z: z[:1], "flow returned .*must return the shape"),
        (lambda z: z * np.nan, "flow is nan at the start"),
        (lambda z: 1j * z, "flow returned complex numbers"),
    ],
)
def test_what_a_flow_returns_is_checked(flow, words):
    with pytest.raises(InvalidInput, match=words):
        swingby.compare(replace(mode, flow=flow))
