"""threshold of the SIM task: closed forms, runs on both sides of a turn, every number, refusals."""

import math

import numpy as np
import pytest

import swingby
from swingby import SIMTask
from swingby.errors import InvalidInput
from swingby.verify.threshold import _Setting
from swingby.verify.turning_values import TurningValues, turning_values

W0 = [[2.0, 1.0], [1.0, 2.0]]


def swings(task, W, eta, dynamics):
    run = swingby.simulate(task, W, eta, dynamics=dynamics)
    swing = 1e-3 * run.test_loss[0]
    values = [point.value for point in run.extrema]
    return np.sum(np.diff(values) < -swing) >= 2 and np.max(np.diff(values)) > swing


GONE = ("lost_psd", "diverged")


def half_times(task, W, eta, dynamics):
    return swingby.simulate(task, W, eta, dynamics=dynamics).half_times


#: Question, how a single run answers it, the arguments, and what makes task, W(0), eta of a value.
ASKED = [
    ("loss rises", swings, {"vary": "omega"}, lambda x: ([4, 1], np.multiply(x, W0), 0.01), 2),
    (
        "1 before 2",
        lambda *run: np.less(*half_times(*run)),
        {"vary": "w_1_1", "omega": 1e-4, "between": (1e-3, 1e3)},
        lambda x: ([4, 1], 1e-4 * np.array([[x, 1e-5], [1e-5, 2e3]]), 0.01),
        1,
    ),
    (
        "2 by 300",
        lambda *run: half_times(*run)[1] <= 300,
        {"vary": "eta", "omega": 1e-4},
        lambda x: ([4, 1], 1e-4 * np.array(W0), x),
        1,
    ),
    (
        "runs away",
        lambda *run: str(swingby.simulate(*run[:3], dynamics=run[3]).outcome) in GONE,
        {"vary": "eta", "omega": 1e-3, "dynamics": "euler"},
        lambda x: ([4, 1], 1e-3 * np.array([[2, 1.99], [1.99, 2]]), x),
        1,
    ),
    (
        "2 never learned",
        lambda *run: math.isnan(half_times(*run)[1]),
        {"vary": "w_1_2", "omega": 1e-3, "eta": 0.05, "dynamics": "euler"},
        lambda x: ([4, 1], 1e-3 * np.array([[2, x], [x, 2]]), 0.05),
        2,
    ),
]


@pytest.mark.parametrize(
    ("question", "answer", "more", "setting", "count"), ASKED, ids=[row[0] for row in ASKED]
)
def test_single_runs_turn_where_threshold_says(question, answer, more, setting, count):
    middle = {"w_1_1": 1.0, "w_1_2": 1.0, "omega": 1.0, "eta": 0.01}[more["vary"]]
    task, W, eta = setting(middle)
    W = np.array(W) / more.get("omega", 1)
    eta = {} if more["vary"] == "eta" else {"eta": eta}
    turn = swingby.threshold(task, question, W, **{**eta, **more})
    assert len(turn.observed) == len(turn.predicted) == count
    assert turn.sides["observed"].first == turn.sides["predicted"].first
    dynamics = more.get("dynamics", "gd")
    for low, high in turn.sides["observed"].brackets:
        assert high - low < 0.1 * abs(high)
        below, above = (answer(*setting(x), dynamics) for x in (low, high))
        assert bool(below) != bool(above)
    pairs = zip(turn.sides["predicted"].brackets, turn.sides["observed"].brackets, strict=True)
    for (low, high), (least, most) in pairs:
        slack = 1e-4 * abs(high)  # runs see whole steps
        assert low - slack <= most
        assert least <= high + slack


def test_of_diagonal_starts_the_order_is_a_closed_form():
    """-log w_1 / log(1 + eta a_1) = -log w_2 / log(1 + eta a_2): the closed law of pivots."""
    turn = swingby.threshold(
        [4, 1], "1 before 2", [[1e-8, 0], [0, 1e-4]], 0.01, vary="w_1_1", between=(1e-20, 1e-3)
    )
    expected = 1e-4 ** (math.log(1.04) / math.log(1.01))
    assert turn.sides["closed form"].values == pytest.approx([expected], rel=1e-4)
    # Logits of w in place of logarithms: 1e-4 counts as 1e-4/(1 - 1e-4).
    assert turn.predicted == pytest.approx([expected * (1 + 4e-4)], rel=2e-3)
    (least, most) = turn.sides["observed"].brackets[0]
    assert least < expected < most


def test_the_closed_law_is_that_of_pivots():
    """2e-2 - 1e-12/w and w are learned at the same step; overlaps move that by 8 %."""
    W = [[2e-6, 1e-6], [1e-6, 2e-2]]
    turn = swingby.threshold([4, 1], "1 before 2", W, 0.01, vary="w_1_1", between=(1e-10, 1e-3))
    (w,) = turn.sides["closed form"].values
    times = math.log(w) / math.log(1.04), math.log(2e-2 - 1e-12 / w) / math.log(1.01)
    assert times[0] == pytest.approx(times[1], rel=1e-5)
    assert 1.05 < turn.predicted[0] / w < 1.12


def test_a_turn_is_the_middle_of_its_bracket():
    turns = TurningValues(((-1.0, 3.0), (4.0, 9.0)), False, 0)
    assert turns.values == (1.0, 6.0)
    assert turns.text("x") == "x from 1 to 6"


def test_an_order_of_signals_flips_once_a_pivot_is_small():
    first = swingby.threshold([4, 1], "order flips", W0, 0.01, vary="w_1_1", omega=1e-8)
    assert first.predicted == first.observed == ()
    assert first.sides["predicted"].first is False
    more = {"omega": 1e-4, "vary": "w_1_1", "between": (1e-15, 1)}
    flips = swingby.threshold([4, 1], "order flips", [[1, 0], [0, 1]], 0.01, **more)
    other = swingby.threshold([4, 1], "1 before 2", [[1, 0], [0, 1]], 0.01, **more)
    assert flips.sides["predicted"].brackets == other.sides["predicted"].brackets
    assert flips.sides["predicted"].first is True
    assert other.sides["predicted"].first is False


@pytest.mark.parametrize("vary", ["mu_1", "sigma_2", "sigma", "a_2", "omega", "eta", "w_1_2"])
def test_a_number_alone_is_varied(vary):
    """The task of each value, made anew."""
    mu, sigma = [1.0, 2.0], [0.5, 0.25]
    task = SIMTask.from_signal([4, 1]) if vary == "a_2" else SIMTask(mu, sigma)
    eta = None if vary == "eta" else 0.01
    omega = None if vary == "omega" else 0.5
    values = np.array([0.1, 0.3])
    setting = _Setting.of(task, W0, eta, "gd", omega, vary, None, 0)
    made = setting.at(values)
    for row, x in enumerate(values):
        m, s = [*mu], [*sigma]
        if vary == "mu_1":
            m[0] = x
        if vary.startswith("sigma"):
            s[1] = x
        if vary == "sigma":
            s[0] = x
        own = SIMTask.from_signal([4, x]) if vary == "a_2" else SIMTask(m, s)
        W = np.array(W0)
        if vary == "w_1_2":
            W[0, 1] = W[1, 0] = x
        np.testing.assert_allclose(made.setting["signal"][row], own.signal, rtol=1e-15)
        np.testing.assert_allclose(made.point[row], own.test_point, rtol=1e-15)
        np.testing.assert_array_equal(made.setting["W0"][row], W)
        assert made.setting["eta"][row] == (x if vary == "eta" else 0.01)
        assert float(made.omega[row]) == (x if vary == "omega" else 0.5)
        assert made.scale[row] == pytest.approx(math.log(float(made.omega[row])), rel=1e-15)


def test_an_entry_is_varied_where_the_start_stays_definite():
    W = np.array([[2.0, 0.5, 0.3], [0.5, 1.0, 0.2], [0.3, 0.2, 1.5]])
    for vary, place in (("w_1_2", (0, 1)), ("w_1_1", (0, 0)), ("w_2_3", (1, 2))):
        setting = _Setting.of(SIMTask.from_signal([4, 2, 1]), W, 0.01, "gd", None, vary, None, 0)
        for end in filter(math.isfinite, setting.definite):
            moved = W.copy()
            moved[place] = moved[place[::-1]] = end
            assert np.linalg.eigvalsh(moved)[0] == pytest.approx(0, abs=1e-14)


def test_turns_are_the_roots_of_a_polynomial():
    """(x - 1)(x - 2)(x + 3) changes its sign three times; beyond 2.5 nothing is known."""

    def answer(x):
        yes = (x - 1) * (x - 2) * (x + 3) > 0
        return {"side": np.where(x > 2.5, np.nan, yes), "none": np.full(len(x), np.nan)}

    turns = turning_values(answer, -4.1, 4.0)
    assert turns["side"].values == pytest.approx([-3, 1, 2], abs=1e-4)
    for root, (low, high) in zip((-3, 1, 2), turns["side"].brackets, strict=True):
        assert low < root < high
    first, second, third = turns["side"].values
    assert [*turns["side"].spans()] == [(first, second), (third, math.inf)]
    assert turns["none"] == TurningValues((), None, 33)
    assert turns["none"].text("x") == "not known"
    assert turns["side"].text("x").startswith("x from -3")


@pytest.mark.parametrize(
    ("question", "more", "match"),
    [
        ("loss falls", {"vary": "omega"}, 'question must be "loss rises", .*got loss falls'),
        ("2 by 1.2.3", {"vary": "omega"}, "question must be a number"),
        (None, {"vary": "omega"}, "question must be"),
        ("loss rises", {"vary": None}, "vary must be"),
        ("1 before 3", {"vary": "omega"}, "of concepts 1 to 2"),
        ("1 before 1", {"vary": "omega"}, "question must be"),
        ("loss rises", {"vary": "beta"}, "beta bounds W\\(0\\) and moves no run"),
        ("loss rises", {"vary": "mu_1"}, "this task is stated by a"),
        ("loss rises", {"vary": "w_1_3"}, "of 2 concepts"),
        ("loss rises", {"vary": "eta"}, "eta must not be given where eta is varied"),
        ("loss rises", {"vary": "omega", "omega": 1}, "omega must not be given"),
        ("loss rises", {"vary": "omega", "width": 3}, "width must not be given beside W0"),
        ("loss rises", {"vary": "omega", "between": (1, 0.1)}, "low < high"),
        ("loss rises", {"vary": "omega", "between": 3}, "between must be \\(low, high\\)"),
        ("loss rises", {"vary": "w_1_2", "between": (-3, 3)}, "must lie within -2 to 2"),
        ("loss rises", {"vary": "omega", "W0": None, "omega": None, "eta": None}, "eta must"),
        ("loss rises", {"vary": "w_1_2", "W0": None}, 'omega="1e-6" draws'),
    ],
)
def test_what_cannot_be_asked_is_refused(question, more, match):
    with pytest.raises(InvalidInput, match=match):
        swingby.threshold([4, 1], question, **{"W0": W0, "eta": 0.01, **more})


def test_a_number_that_is_zero_needs_a_range():
    with pytest.raises(InvalidInput, match="the number is 0 here"):
        swingby.threshold(SIMTask([1, 2]), "loss rises", W0, 0.01, vary="sigma_1")
