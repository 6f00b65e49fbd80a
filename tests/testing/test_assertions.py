"""Assertions: what they accept, and what they say where something is wrong."""

from dataclasses import replace

import numpy as np
import pytest
import sympy

import swingby
from swingby.errors import InvalidInput
from swingby.proofs.language.claim import Claim
from swingby.testing.assumption_setting import Setting
from swingby.testing.claim_assertions import assert_claim
from swingby.testing.run_assertions import (
    assert_lemmas,
    assert_stages,
    assert_windows_match_statements,
)
from swingby.theory import lemmas

PAIR = swingby.SIMTask.from_signal([4, 1])
W0 = np.array([[2e-6, 1e-6], [1e-6, 2e-6]])
SMALL = swingby.Scaled([[2, 1], [1, 2]], "1e-90")


@pytest.fixture(scope="module")
def plain():
    """A run and its prediction, which agree."""
    run = swingby.simulate(PAIR, W0, eta=0.01, dynamics="gd")
    return run, swingby.predict(PAIR, W0, eta=0.01, dynamics="gd")


@pytest.fixture(scope="module")
def inside():
    """A run inside D.1 to D.5, with the few steps and the pivots that the lemmas need."""
    return swingby.simulate(PAIR, SMALL, eta="1/2000")


def message(call, *arguments, **others):
    with pytest.raises(AssertionError) as caught:
        call(*arguments, **others)
    return str(caught.value)


# claims


def test_a_claim_of_ones_own_and_a_line_of_the_ledger():
    x = sympy.Symbol("x", positive=True)
    claim = Claim("square", "step", "a square", sympy.Ge(x**2, x, evaluate=False))
    assert_claim(claim, "refuted")
    assert_claim("D.62")
    text = message(assert_claim, claim)
    assert text.splitlines()[0] == "square: expected proved, found refuted"
    assert "Counterexample:" in text
    text = message(assert_claim, "(D.61)")
    assert text.startswith("D.61: expected proved, found refuted\nD.61 (proof of Lemma D.7) says: ")
    assert "a_i − 3 a_j ≥ α/C" in text


@pytest.mark.parametrize(
    ("claim", "verdict", "said"),
    [
        ("D.99", "proved", "must be the id of a line"),
        *(
            ("D.61", word, "verdict must be one of proved")
            for word in ("true", "", None, 1, "Proved")
        ),
        (61, "proved", "claim must be a Claim"),
    ],
)
def test_wrong_claims_are_named(claim, verdict, said):
    with pytest.raises(InvalidInput, match=said):
        assert_claim(claim, verdict)


# stages


def test_a_wrong_half_time_is_told_in_a_table(plain):
    run, schedule = plain
    assert_stages(run, schedule, rtol=0, atol=0)
    wrong = replace(schedule, half_times=schedule.half_times * [1, 1.05])
    lines = message(assert_stages, run, wrong).splitlines()
    assert lines[0] == (
        "stage law: half-time of concept 2 predicted 707.7, observed 674: off by 33.7 steps, "
        "14.5 allowed"
    )
    heads = ("concept", "a", "predicted", "observed", "relative error", "allowed", "verdict")
    assert all(head in lines[2] for head in heads)
    assert lines[-2].split() == ["1", "4", "167", "167", "0%", "4.34", "ok"]
    assert lines[-1].split() == ["2", "1", "708", "674", "+5%", "14.5", "off"]
    assert_stages(run, wrong, rtol=0.06)
    assert_stages(run, wrong, rtol=0, atol=34)
    assert "33.7 steps, 33 allowed" in message(assert_stages, run, wrong, rtol=0, atol=33)


@pytest.mark.parametrize("dynamics", ["euler", "gd", "flow"])
def test_a_trapped_concept_stays_trapped(dynamics):
    task, start = swingby.SIMTask.from_signal([1, 4, 0]), np.diag([0.0, 1e-5, 1e-5])
    run = swingby.simulate(task, start, 0.01, dynamics=dynamics)
    schedule = swingby.predict(task, start, eta=0.01, dynamics=dynamics)
    assert_stages(run, schedule)
    freed = replace(schedule, half_times=np.array([500.0, *schedule.half_times[1:]]))
    assert "concept 1 predicted 500, not observed: the run ends" in message(
        assert_stages, run, freed
    )
    never = replace(schedule, half_times=np.array([np.inf, *schedule.half_times[1:]]))
    assert "concept 1 predicted never, with a_1 = 1" in message(assert_stages, run, never)
    full = swingby.simulate(task, np.eye(3) * 1e-5, 0.01, dynamics=dynamics)
    assert "concept 1 predicted trapped, observed" in message(assert_stages, full, schedule)


def test_a_run_that_ends_too_early_is_no_confirmation(plain):
    run = swingby.simulate(PAIR, W0, eta=0.01, dynamics="gd", steps=300)
    text = message(assert_stages, run, plain[1])
    assert "concept 2 predicted 674, not observed: the run ends at step 300" in text


def test_what_the_law_disclaims_is_left_out_where_that_is_asked_for(plain):
    run, schedule = plain
    wrong = replace(schedule, half_times=schedule.half_times * 2, error=np.array([1.0, np.inf]))
    text = message(assert_stages, run, wrong, in_range_only=True)
    assert text.startswith("stage law: half-time of concept 1")
    assert "not judged" in text
    assert "off, out of range" in message(assert_stages, run, wrong)
    assert_stages(run, replace(wrong, error=np.full(2, np.inf)), in_range_only=True)


def test_windows_are_held_to_where_that_is_asked_for(inside, plain):
    corrected = swingby.predict(PAIR, SMALL, eta="1/2000", edition="corrected")
    assert_stages(inside, corrected, windows=True)
    printed = swingby.predict(PAIR, SMALL, eta="1/2000")
    assert_stages(inside, printed)
    text = message(assert_stages, inside, printed, windows=True)
    assert text.startswith("Lemma D.4 (printed, with D.3): w_11 reaches 0.5 at step ")
    # Events moved out of their windows.
    moved = tuple(
        replace(event, lower=event.lower * 2, upper=event.upper * bool(event.lower))
        for event in corrected.events
    )
    elsewhere = replace(corrected)
    vars(elsewhere)["events"] = moved
    text = message(assert_stages, inside, elsewhere, windows=True)
    assert "Lemma D.1: w_11 reaches 0.5 at step" in text
    assert "Lemma D.8: w_12 is" in text
    with pytest.raises(InvalidInput, match=r"no lemma windows: Assumption D\.2 fails"):
        assert_stages(*plain, windows=True)


def other(**changes):
    given = {"eta": 0.01, "dynamics": "gd"} | changes
    return swingby.predict(given.pop("task", PAIR), given.pop("start", W0), **given)


@pytest.mark.parametrize(
    ("schedule", "said"),
    [
        (other(eta=0.02), r"schedule.eta must be that of the run, 0.01, got 0.02"),
        (other(dynamics="flow"), "schedule.dynamics must be that of the run, gd, got flow"),
        (other(task=swingby.SIMTask.from_signal([4, 2])), r"signal .* \(4, 1\), got \(4, 2\)"),
        (other(task=swingby.SIMTask.from_signal([4]), start=[[1e-6]]), r"got \(4\)"),
        (swingby.predict(PAIR, omega=1e-6, eta=0.01, dynamics="gd"), r"from the W\(0\) of the run"),
        (3, "schedule must be a Schedule"),
    ],
)  # fmt: skip
def test_a_schedule_of_another_setting_is_refused(plain, schedule, said):
    with pytest.raises(InvalidInput, match=said):
        assert_stages(plain[0], schedule)


@pytest.mark.parametrize("value", [-1, np.nan, np.inf, "much", None, True, "1e400"])
@pytest.mark.parametrize("name", ["rtol", "atol"])
def test_tolerances_are_numbers_of_at_least_zero(plain, name, value):
    with pytest.raises(InvalidInput, match=name):
        assert_stages(*plain, **{name: value})
    report = swingby.check(PAIR, omega="1e-90", eta="1/2000", beta=2)
    with pytest.raises(InvalidInput, match="rtol"):
        assert_windows_match_statements(report, rtol=value)
    with pytest.raises(InvalidInput, match="run must be a Run"):
        assert_stages(plain[1], plain[1])


# lemmas


def test_a_run_keeps_to_the_corrected_lemmas_and_not_to_the_printed_ones(inside):
    setting = Setting(PAIR, "1e-90", "1/2000", 2, W0=SMALL)
    for given in (None, setting, setting.check(), setting.check_numbers()):
        assert_lemmas(inside, given)
    text = message(assert_lemmas, inside, setting, edition="printed")
    assert text.startswith("Lemma D.3 (printed): w_11 is below P beta omega at step ")
    assert "Lemma D.4 (printed, with D.3): w_22 reaches 0.5 at step" in text


def test_the_missing_hypothesis_is_named_where_a_lemma_fails():
    # W(0) = omega 1 1^T satisfies D.1 to D.5 and has a zero pivot: w_22 runs away under euler.
    run = swingby.simulate(
        PAIR, swingby.Scaled(np.ones((2, 2)), "1e-90"), eta="1/2000", dynamics="euler"
    )
    lines = message(assert_lemmas, run).splitlines()
    assert all(line.startswith(("Lemma D.", "Note: ")) for line in lines)
    assert [line[:9] for line in lines[:-1]] == sorted(line[:9] for line in lines[:-1])
    assert {"Lemma D.5", "Lemma D.7", "Lemma D.8"} <= {line[:9] for line in lines}
    assert "a pivot of W(0) is 0 of its diagonal entry" in lines[-1]


BROKEN = {
    "Lemma D.1": ("reach_not_before", lambda *_: 1e9),
    "Lemma D.2": ("initial_phase_end", lambda *_: 1e9),
    "Lemma D.3": ("leave_initial_phase_by", lambda *_: 10.0),
    "Lemma D.4": ("reach_by", lambda *_: 10.0),
    "Lemma D.5": ("final_band", lambda *_: (0.9, 0.99)),
    "Lemma D.6": ("final_band", lambda *_: (0.5, 0.4)),
    "Lemma D.8": ("log_minor_bound", lambda *_: -200.0),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_window_that_is_wrong_is_found_by_the_run_and_by_the_text(name, inside, monkeypatch):
    function, wrong = BROKEN[name]
    monkeypatch.setattr(lemmas, function, wrong)
    report = swingby.check(PAIR, W0=SMALL, eta="1/2000")
    text = message(assert_windows_match_statements, report)
    assert name in {line[:9] for line in text.splitlines()}
    if name != "Lemma D.6":
        assert name in {line[:9] for line in message(assert_lemmas, inside).splitlines()}


def test_lemmas_six_and_seven_look_at_every_recorded_step(inside):
    late = int(np.searchsorted(inside.steps, inside.first_reach(0.99)[0])) + 5
    for name, entry, value in (("Lemma D.6", (0, 0), 0.5), ("Lemma D.7", (0, 1), 1e-5)):
        W = inside.W.copy()
        W[late + 20, *entry] = W[late + 20, *entry[::-1]] = value
        text = message(assert_lemmas, replace(inside, W=W))
        assert text.startswith(name)
        assert f"step {inside.steps[late + 20]}" in text


def test_a_concept_that_is_not_learned_in_time_violates_lemma_four(inside):
    shown = {level: np.array([times[0], np.nan]) for level, times in inside.level_times.items()}
    text = message(assert_lemmas, replace(inside, level_times=shown))
    assert text.startswith("Lemma D.4 (corrected, with D.3): w_22 has not reached 0.1 at step ")


def test_windows_and_text_agree_and_say_nothing_outside_the_range_of_lemma_four(monkeypatch):
    report = swingby.check(PAIR, omega="1e-90", beta=2, eta="1/2000")
    assert_windows_match_statements(report)
    before = lemmas.reach_by

    def everywhere(scale, a_i, log_start, level, edition="printed"):
        return before(scale, a_i, log_start, min(max(level, 1e-3), 0.9), edition)

    monkeypatch.setattr(lemmas, "reach_by", everywhere)
    text = message(assert_windows_match_statements, report)
    assert "of which the text says nothing" in text


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda run: assert_lemmas(3), "run must be a Run"),
        (lambda run: assert_lemmas(run, edition="repaired"), "edition must be one of"),
        (lambda run: assert_lemmas(run, "inside"), "setting must be a Setting or the Report"),
        (lambda run: assert_lemmas(swingby.simulate(PAIR, W0, 0.01)), "must satisfy Assumptions"),
        (
            lambda run: assert_lemmas(run, swingby.check(PAIR, W0=SMALL, eta="1/3000")),
            "setting.eta must be that of the run",
        ),
        (
            lambda run: assert_lemmas(run, swingby.check(PAIR, "1e-91", "1/2000", 2)),
            r"of size 1e-90 to 2e-90.*\(D.8\)",
        ),
        (
            lambda run: assert_lemmas(
                run, swingby.check(swingby.SIMTask.from_signal([5, 1]), W0=SMALL, eta="1/2000")
            ),
            r"setting.signal must be that of the run, \(4, 1\), got \(5, 1\)",
        ),
        (
            lambda run: assert_windows_match_statements(
                swingby.check(PAIR, "1e-6", "1/2000", edition="repaired")
            ),
            "must be of the printed edition",
        ),
        (lambda run: assert_windows_match_statements(PAIR), "setting must be a Setting"),
    ],
)
def test_wrong_arguments_are_named(call, said, inside):
    with pytest.raises(InvalidInput, match=said):
        call(inside)
