"""Nothing more is said than what was looked at: power, undecided settings, scans and thresholds."""

import json
import math
import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import sympy as sp

import swingby
from swingby.cli import run
from swingby.cli.theory import _values
from swingby.own import Bound, Order, Outcome, Value
from swingby.own_theory.power import examined
from swingby.own_theory.runs import can_differ, judge
from swingby.own_theory.settings import family, usual
from swingby.testing import assert_theory
from tests.own_theory.small import decay, h, modes, noisy, v, x0

#: |1 - h|^t: of h up to 2 it stays at most 1.
size = replace(
    decay,
    numbers={x0: (1, 1, 1), h: (0.01, 0.1, 2)},
    assume={"stable": h <= 2},
    observe={"x": lambda x: abs(x)},
)


def of(*predictions, **changes):
    return replace(size, predict=predictions, **changes)


def bound(**changes):
    return Bound(**{"name": "b", "of": "x", "until": 20, **changes})


def outcome(predicted, observed=lambda last, _: "a" if last < 9 else "b"):
    return Outcome("o", "x", at=5, predicted=predicted, observed=observed)


# tests without power

POWERLESS = {
    "far above": (
        bound(below=10**6, start=0),
        "at most 1e-06 of it is used at 95% .* 1e\\+06 times nearer",
    ),
    "below what is not negative": (bound(above=-1), "at most 0 of it .* that a run comes near"),
    "a label that nothing predicts": (
        outcome({"a": h <= 3, "b": h > 3}),
        "o: b is predicted at no setting inside: widen the numbers",
    ),
    "a label that any run has": (
        outcome({"a": True}, lambda last, _: "a"),
        "o: observed= says a of any run: write what else a run may show",
    ),
    "a mean within five times itself": (
        Value("m", "x", at=0, value=1, within=5, stat="mean"),
        r"within is 5.0 times the predicted value; a prediction wrong by a factor 2 would pass",
    ),
}


@pytest.mark.parametrize("name", POWERLESS)
def test_a_test_without_power_fails_and_says_what_to_type(name):
    prediction, words = POWERLESS[name]
    theory = of(prediction, seeds=2)
    assert swingby.compare(theory).kept
    with pytest.raises(AssertionError) as failure:
        assert_theory(theory, count=40)
    text = " ".join(str(failure.value).split())
    assert "POWERLESS" in text
    assert re.search(words, text)


@pytest.mark.parametrize(("share", "ok"), [(0.51, True), (0.49, False)])
def test_a_bound_has_power_where_half_of_it_would_be_broken(share, ok):
    """x is 1 at step 0: of the limit 1/share a share is used, and of half of it twice as much."""
    (row,) = examined(of(bound(below=1 / share, start=0)), 40).rows
    assert not row.broken
    assert bool(row.faults) is not ok


def test_a_limit_from_below_has_power_where_twice_of_it_would_be_broken():
    start = Bound("b", "x", above=0.6, start=0, until=0)
    assert not examined(of(start), 40).faults
    assert examined(of(replace(start, above=0.4)), 40).faults


def test_a_bound_that_is_no_estimate_may_be_loose():
    sign = bound(above=0, loose=True)
    assert "loose, as stated" in assert_theory(of(sign), count=40).rows[0].words
    wrong = of(sign, observe={"x": lambda x: x - 0.5})
    with pytest.raises(AssertionError, match="b: broken at"):
        assert_theory(wrong, count=40)


def test_a_bound_that_is_never_tested_is_undecided():
    theory = of(bound(below=1e-9, floor=100))
    assert swingby.compare(theory).rows[0].verdict == "undecided"
    with pytest.raises(
        AssertionError, match=r"undecided at 100% .*: no step of it is above its floor"
    ):
        assert_theory(theory, count=40)
    # Above its floor at the first steps, it is tested there.
    assert swingby.compare(of(bound(below=1, floor=0.5))).rows[0].verdict == "kept"


@pytest.mark.parametrize(
    ("below", "above", "verdict", "ratio"),
    [
        (-1, None, "broken", 2),
        (-0.5, None, "kept", 1),
        (-0.25, None, "kept", 0.5),
        (0, None, "kept", 0),
        (None, -1, "kept", 0.5),
        (None, -0.25, "broken", 2),
        (None, 0, "broken", math.inf),
    ],
)
def test_bounds_of_negative_numbers_are_judged(below, above, verdict, ratio):
    negative = of(bound(below=below, above=above, start=0), start=lambda x0: -x0 / 2, step=None)
    negative = replace(negative, observe={"x": lambda x: x})
    (row,) = swingby.compare(negative).rows
    assert row.verdict == verdict
    assert row.ratio == pytest.approx(ratio, rel=1e-6)


def test_a_label_may_be_the_only_one():
    assert not examined(of(outcome({"a": True})), 40).faults
    assert can_differ(outcome({}, lambda last, _: "b" if math.isnan(last) else "a"))
    assert can_differ(outcome({}, lambda last, top: "b" if top > 5 else "a"))
    assert not can_differ(outcome({}, lambda last, _: "ab"[int(last) - int(last)]))


# undecided


UNDECIDED = {
    "no label": (of(outcome({"a": h >= 5})), "o: undecided at 100% of the settings: no label"),
    "a run of nan": (
        of(bound(below=2), step=lambda x: x * np.nan),
        "b: undecided at 100% of the settings: a number of the run is not finite",
    ),
    "a limit of nan": (
        of(bound(below=lambda h: h * np.nan)),
        "b: undecided at 100% of the settings: its limit is not finite",
    ),
    "no step": (of(bound(below=0.1, until=0)), "undecided at 100% of the settings: it asks for no"),
    "below its floor": (of(bound(below=1e-9, floor=100)), "no step of it is above its floor"),
    "a promise O(e)": (
        of(Value("v", "x", at=1, value=1, within=Order(h))),
        "v: undecided at 100% of the settings: of a promise O(e) a setting alone decides nothing",
    ),
}


@pytest.mark.parametrize("name", UNDECIDED)
def test_a_hunt_of_what_is_never_decided_is_undecided(name):
    theory, words = UNDECIDED[name]
    hunt = swingby.hunt(theory, rng=0, count=40)
    assert hunt.verdict == "undecided"
    assert math.isnan(hunt.closest)
    assert words in " ".join(str(hunt).split())
    assert "Closest" not in str(hunt)


@pytest.mark.parametrize(("edge", "verdict"), [(1.5, "tested"), (0.02, "undecided")])
def test_a_hunt_says_the_share_that_is_undecided(edge, verdict):
    theory = of(bound(below=1.001), step=lambda x, h: np.where(h > edge, np.nan, x))
    hunt = swingby.hunt(theory, rng=0, count=200)
    assert hunt.verdict == verdict
    share = hunt.undecided["b"]
    assert (share > 0.5) == (verdict == "undecided")
    assert 0 < share < 1
    assert f"b: undecided at {share:.0%} of the settings: a number of the run" in str(hunt)
    sure = swingby.hunt(of(bound(below=1.001)), rng=0, count=64)
    assert sure.undecided == {}
    assert "undecided" not in str(sure)


def test_undecided_beside_what_is_decided_is_said():
    """One prediction is tested; of the other nothing is."""
    theory = of(bound(below=1.001), outcome({"a": h >= 5}))
    hunt = swingby.hunt(theory, rng=0, count=64)
    assert hunt.undecided == {"o": 1.0}
    assert hunt.verdict == "undecided"


def test_reasons_are_those_of_each_setting():
    batch = usual(family(size, 1)).repeated(2).with_scalars(h=np.array([0.1, 1.0]))
    judged = judge(replace(batch, family=family(of(bound(below=1, until=20 * h)), 1)))["b"]
    assert judged.reason.tolist() == ["", ""]
    short = family(of(bound(below=1, until=20 * h), steps=5), 1)
    judged = judge(replace(batch, family=short))["b"]
    assert judged.reason.tolist() == ["", "the run is longer than 5 steps"]


UNDECIDED_FILE = """import numpy as np, sympy as sp, swingby
from swingby.own import Bound
r = sp.Symbol("r", positive=True)
theory = swingby.Theory("r", {r: (0.1, 1, 10)}, {}, lambda r: r, lambda x: x * np.nan,
                        {"x": lambda x: x}, [Bound("b", "x", below=9 * r)])
loose = swingby.Theory("r", {r: (0.1, 1, 10)}, {}, lambda r: r, lambda x: x,
                       {"x": lambda x: x}, [Bound("b", "x", below=9 * r)])
wrong = swingby.Theory("r", {r: (0.1, 1, 10)}, {}, lambda r: r, lambda x: x,
                       {"x": lambda x: x}, [Bound("b", "x", below=r / 2)])
"""


def test_the_command_has_the_same_verdicts(tmp_path, capsys):
    file = tmp_path / "my.py"
    file.write_text(UNDECIDED_FILE)
    assert run(["theory", f"{file}:theory", "hunt", "--count", "16"]) == 3
    assert "undecided at 100%" in capsys.readouterr().out
    assert run(["theory", f"{file}:loose", "hunt", "--count", "16"]) == 0
    assert run(["theory", f"{file}:loose", "test", "--count", "16"]) == 1
    assert "POWERLESS" in capsys.readouterr().out
    assert run(["theory", f"{file}:wrong", "hunt", "--count", "16", "--json"]) == 1
    (row,) = json.loads(capsys.readouterr().out)["broken"]
    assert (row["prediction"], row["observed"], row["predicted"]) == ("b", 1.0, None)
    assert row["ratio"] == pytest.approx(2)


# scans and thresholds

#: x = 1 for good, broken for h below 0.3, between 0.5 and 0.7, and from 1.2 on.
windows = of(
    Bound(
        "b",
        "x",
        below=sp.Piecewise((1, (h >= 0.3) & (h < 0.5)), (1, (h >= 0.7) & (h < 1.2)), (0.5, True)),
    ),
    step=lambda x: x,
)


def test_a_scan_is_of_its_whole_range():
    hunt = swingby.hunt(windows, rng=0, count=64)
    (line,) = [line for line in hunt.scan if " h: " in line]
    words = [word.split()[0] for word in line.split(": ")[1].split(", ")]
    assert words == ["broken", "kept", "broken", "kept", "broken"]
    ends = [float(x) for x in line.split(": ")[1].replace(",", "").split() if x[0].isdigit()]
    for low, high in pairwise(ends):
        assert low <= high
    assert all(
        swingby.compare(windows, h=x).kept is (0.3 <= x < 0.5 or 0.7 <= x < 1.2) for x in ends
    )


def test_a_threshold_is_of_its_whole_range():
    turns = swingby.threshold(windows, "b kept", vary="h").observed
    assert turns == pytest.approx([0.3, 0.5, 0.7, 1.2], rel=1e-4)


def test_the_usual_value_is_looked_at():
    """Kept at the usual h alone, within 1e-7 of it."""
    narrow = of(
        Bound("b", "x", below=sp.Piecewise((1, sp.Abs(h - 0.1234) < 1e-5), (0.5, True))),
        step=lambda x: x,
        numbers={x0: (1, 1, 1), h: (0.01, 0.1234, 2)},
    )
    turns = swingby.threshold(narrow, "b kept", vary="h")
    assert turns.observed == pytest.approx([0.1234 - 1e-5, 0.1234 + 1e-5], rel=1e-3)
    (line,) = [line for line in swingby.hunt(narrow, rng=0, count=64).scan if " h: " in line]
    assert "kept at 0.123," in line


def test_nowhere_is_said_where_every_value_has_an_answer():
    nowhere = of(bound(below=0.5, start=0))
    assert "nowhere, of 130 values" in str(swingby.threshold(nowhere, "b kept", vary="h"))
    lost = replace(
        nowhere, step=lambda x, h: np.where(h > 0.1, np.nan, x), predict=[bound(below=0.5)]
    )
    text = str(swingby.threshold(lost, "b kept", vary="h"))
    assert "not known: no at every value with an answer" in text
    assert "of 130 values" in text
    kept = replace(lost, predict=[bound(below=2)])
    text = str(swingby.threshold(kept, "b kept", vary="h"))
    assert "not known: yes at every value with an answer" in text


def test_ends_without_an_answer_are_said():
    lost = of(
        Bound("b", "x", below=sp.Piecewise((2, h < 0.1), (0.5, True))),
        step=lambda x, h: np.where((h > 1) | (h < 0.02), np.nan, x),
    )
    text = " ".join(str(swingby.threshold(lost, "b kept", vary="h")).split())
    assert "h from 0.0" in text
    assert "(first answer) to 0.1" in text
    broken = replace(lost, predict=[Bound("b", "x", below=sp.Piecewise((2, h > 0.1), (0.5, True)))])
    assert "(last answer)" in str(swingby.threshold(broken, "b kept", vary="h"))


def test_noise_that_leaves_it_open_names_the_seeds():
    true = Value("variance", "x", 6 / h, h * v / (2 - h), within=h * v / 20, stat="var")
    few = replace(noisy, predict=(true,), seeds=400)
    turns = swingby.threshold(few, "variance kept", vary="h", between=(0.1, 0.2))
    text = str(turns)
    assert "not known" in text
    assert "nowhere" not in text
    assert "400 seeds leave these open; try seeds=" in text
    # Where there is an answer, it is that of a comparison.
    seeds = int(text.rpartition("seeds=")[2].rstrip("."))
    more = swingby.threshold(
        replace(few, seeds=seeds), "variance kept", vary="h", between=(0.1, 0.2)
    )
    assert more.sides["observed"].first is True


def test_turns_outside_the_assumptions_are_said():
    small = replace(windows, assume={"small": h <= 0.4})
    (note,) = swingby.threshold(small, "b kept", vary="h").notes
    assert note.startswith(
        "Outside the assumptions: the turn at 0.5, 0.7, 1.2. Inside them: h up to 0.4"
    )
    assert swingby.threshold(windows, "b kept", vary="h").notes == ()
    (note,) = swingby.threshold(small, "b kept", vary="h", between=(1.3, 1.9)).notes
    assert note == "Every value looked at of h is outside the assumptions."


def test_a_law_without_an_answer_is_not_known():
    """Under euler at coarse steps the law answers at few of the 33 values."""
    turns = swingby.threshold(
        [4, 1], "runs away", vary="eta", omega=1e-3, between=(0.05, 2), dynamics="euler"
    )
    assert turns.sides["predicted"].undecided
    assert "nowhere" not in str(turns)
    assert turns.observed


# words


def test_what_is_off_is_compared_with_what_is_allowed_over_seeds():
    """20 seeds of a mean 1 +- 1: off by more than `within`, and by less than with their error."""
    theory = of(
        Value("m", "x", at=1, value=1, within=1e-3, stat="mean"),
        step=lambda x, rng: x + rng.standard_normal(x.shape),
        observe={"x": lambda x: x},
        seeds=20,
    )
    (row,) = swingby.compare(theory).rows
    off = abs(row.observed - row.predicted)
    assert row.ratio == pytest.approx(off / row.allowed)
    assert row.allowed == pytest.approx(1e-3 + 4 / math.sqrt(20), rel=0.5)
    assert 1e-3 < off < row.allowed
    assert row.verdict == "kept"


def test_noise_about_zero_is_said_in_a_sentence():
    zero = Value("m", "x", 6 / h, 0, within=h * sp.sqrt(v) / 1000, stat="mean")
    with pytest.raises(AssertionError) as failure:
        assert_theory(replace(noisy, predict=(zero,), seeds=100), count=20)
    text = " ".join(str(failure.value).split())
    assert re.search(r"m: 100 seeds are off by \S+ x within, which is more than within: give", text)


def test_a_setting_that_breaks_a_bound_is_said_without_nan():
    theory = of(bound(below=0.5 * (1 - h) ** sp.Symbol("t")))
    setting = theory.sample(1, rng=0)
    with pytest.raises(AssertionError, match=r"decay: b: observed \S+ at step \d+, off/allowed"):
        assert_theory(theory, setting)


def test_a_rounding_breaks_no_promise_of_nothing():
    exact = of(Value("v", "x", at=3, value=(1 - h) ** 3, within=0), assume={"small": h <= 0.5})
    verdicts = {swingby.compare(exact, h=x).rows[0].verdict for x in np.linspace(0.01, 0.5, 20)}
    assert "undecided" in verdicts
    assert verdicts <= {"kept", "undecided"}
    near = swingby.compare(exact, h=0.9999999)  # 1 - h has lost seven digits
    assert near.rows[0].verdict in ("kept", "undecided")
    wrong = of(Value("v", "x", at=3, value=(1 - h) ** 3 + 1e-12, within=0))
    row = swingby.compare(wrong).rows[0]
    assert row.verdict == "broken"
    sides = re.findall(r"0[.]729\d*", row.text)
    assert len({*sides}) == 2  # not the same five digits twice


def test_a_constant_that_does_is_not_called_the_repair():
    twice = of(Value("v", "x", at=1, value=2 * (1 - h), within=0.01), assume={"small": h <= 0.5})
    (hint,) = swingby.hunt(twice, rng=0, count=64).hints
    assert hint.endswith("failures: a constant that does for these, not yet the repair")


@pytest.mark.parametrize("words", [["h=0.2,r=2"], ["h=0.2", "r=2"], ["h=0.2, r=2"]])
def test_numbers_are_typed_together_or_apart(words):
    assert _values(tuple(words)) == {"h": "0.2", "r": "2"}
    assert _values(("s=4,1,h=2",)) == {"s": ["4", "1"], "h": "2"}


def test_a_number_for_a_vector_is_refused():
    with pytest.raises(swingby.InvalidInput, match="s must be a list of 2: s is a vector"):
        swingby.check(modes, s=1)
