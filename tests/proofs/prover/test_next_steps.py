"""Where a line is undecided or fails at one place alone: critical points, advice, steps of z3."""

import pytest

from swingby.proofs.audit.record import _tried
from swingby.proofs.prover.scalar import z3_check
from swingby.proofs.prover.scalar.critical_points import (
    closest_places,
    counterexample_at_critical_points,
)
from swingby.proofs.prover.scalar.next_steps import NEXT, next_steps
from swingby.proofs.prover.scalar.scalar_claims import decide_scalar, prepare_claim
from tests.proofs.prover.test_elementary import claim


def search_of(text):
    search, questions = prepare_claim(claim(text))
    return search.with_goal(questions[0].goal)


@pytest.mark.parametrize(
    ("line", "places"),
    [
        ("p^p >= 6923/10000", {"p": 0.36788}),  # 1/e, where it is e^(-1/e) = 0.69220
        ("p*log(p) >= -36787/100000", {"p": 0.36788}),
        ("exp(x) + exp(-2*x) >= 189/100", {"x": 0.23105}),  # log(2)/3
        ("p - log(p) + x^2 - x >= 7501/10000", {"p": 1, "x": 0.5}),
    ],
)
def test_a_line_that_fails_near_a_critical_point_is_refuted_there(line, places):
    search = search_of(line)
    found = next(closest_places(search))
    assert found == pytest.approx(places, abs=1e-3)
    witness = counterexample_at_critical_points(search)
    assert witness is not None
    assert "mpmath with 60 digits" in witness.checked


@pytest.mark.parametrize("line", ["p^p >= 6922/10000", "p <= 1/4 |- p^p >= 6923/10000"])
def test_a_true_line_has_no_counterexample_at_its_critical_points(line):
    assert counterexample_at_critical_points(search_of(line)) is None


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("p^q*q^p <= (p+q)^(p+q)", "take logarithms of both sides"),
        ("exp(x) - x^3 >= -1/100", "split at the sign of x"),
        ("exp(p) - p^3 >= -1/100", "give a bound of p"),
        ("p^p >= 692/1000", "the sides come closest near p = 0.3679"),
    ],
)
def test_an_undecided_line_says_what_to_try(line, words):
    search = search_of(line)
    advice = list(next_steps(search, search.sequent.goal))
    assert any(words in each for each in advice), advice
    assert all(each.startswith(NEXT) for each in advice)


def test_advice_is_no_attempt():
    judged = decide_scalar(claim("p^q + q^p >= 1"), seconds=2)
    assert judged.verdict == "undecided"
    lines = _tried(judged)
    assert any(line.startswith("next: give a bound of p and q") for line in lines)
    assert any(line.startswith("tried: ") for line in lines)


def test_z3_is_limited_by_its_steps(monkeypatch):
    pytest.importorskip("z3")
    line = "x^4 + y^4 + z^4 >= x*y*z*(x+y+z)"
    from swingby.proofs.prover.scalar.polynomial_form import polynomial_form

    problem = polynomial_form(search_of(line).sequent)
    assert z3_check.ask_z3(problem).word == "unsat"
    monkeypatch.setattr(z3_check, "_ANSWER", 1)
    assert z3_check.ask_z3(problem).word == "unknown"
