"""The repaired edition: decisions at any size.

Its promises are held against the flow in tests/proofs/prover/test_theorems.py, and by the suite of
the docs.
"""

import math
from fractions import Fraction

import mpmath
import pytest

import swingby
from swingby.errors import InvalidInput
from swingby.theory import numbers, repaired
from swingby.theory.repaired import theorem_g, theorem_r, theorem_two
from swingby.theory.repaired.repaired_setting import RepairedSetting
from swingby.theory.verdict import Verdict

TWO, TENTH = Fraction(2), Fraction(1, 10)


def fractions(*values):
    return tuple(map(Fraction, values))


def test_theorem_G_refuses_what_it_does_not_speak_of():
    with pytest.raises(InvalidInput, match="log_start"):
        theorem_g.reach_by(1.0, -0.1, 0.0)
    with pytest.raises(InvalidInput, match="log_det"):
        theorem_g.reach_by(1.0, -3.0, 0.1)


def test_statements_print_and_those_of_the_flow_have_no_assumption_on_eta():
    assert [statement.id for statement in repaired.STATEMENTS] == ["D.1'", "D.3'", "D.4'"]
    text = "\n".join(str(statement) for statement in repaired.STATEMENTS)
    for line in ("a_k > 0", "q < 1", "w_kk(0) <= beta omega", "omega <= omega_0"):
        assert line in text
    assert "nothing is proved for euler" in text
    assert all(statement.to_latex() for statement in repaired.STATEMENTS)


@pytest.mark.parametrize("signal", [(4,), (4, 1), (1, 16, 4)])
def test_the_largest_omega_is_covered_and_hardly_more_is(signal):
    signal = fractions(*signal)
    largest = numbers.exact(repaired.largest_omega(signal, TWO, TENTH), "omega")
    at = repaired.findings(signal, largest, TWO, TENTH)
    assert at.verdict == Verdict.HOLDS
    assert at.margin == pytest.approx(0, abs=1e-12)
    above = repaired.findings(signal, largest * (1 + Fraction(1, 10**25)), TWO, TENTH)
    assert above.verdict == Verdict.FAILS
    assert (above.theorem, above.log_peaks, above.reach_by, above.constants) == (None,) * 4
    assert "does not say" in above.reason


@pytest.mark.parametrize("signal", [(4, 1), (3, 2), (50, 1), (1, 16, 4)])
@pytest.mark.parametrize("promise", [{"peak": Fraction(1, 20)}, {"extra": Fraction(4)}])
def test_the_largest_omega_for_a_promise_keeps_it_and_hardly_more_does(signal, promise):
    signal = fractions(*signal)
    largest = numbers.exact(repaired.largest_omega(signal, TWO, TENTH, **promise), "omega")

    def worst(omega):
        found = repaired.findings(signal, omega, TWO, TENTH)
        logit = math.log(4 * (1 - float(TENTH * omega)) / float(TENTH * omega))
        extra = max(2 * a * t - logit for a, t in zip(signal, found.reach_by, strict=True))
        return {"peak": math.exp(max(found.log_peaks.values())), "extra": extra}

    ((name, size),) = promise.items()
    assert worst(largest)[name] <= size
    assert worst(largest * Fraction(10005, 10000))[name] > size


def test_a_promise_that_no_omega_keeps_has_none():
    # Three concepts are late by log(beta/rho) at least, whatever omega is.
    assert repaired.largest_omega(fractions(16, 4, 1), TWO, TENTH, extra=Fraction(1, 2)) is None
    with pytest.raises(InvalidInput, match="peak"):
        repaired.largest_omega(fractions(4, 1), TWO, TENTH, peak=Fraction(0))


@pytest.mark.parametrize("signal", [(4, 1), (16, 4, 1)])
def test_omega_below_the_float_range(signal):
    findings = repaired.findings(fractions(*signal), Fraction("1e-400"), TWO, TENTH)
    assert findings.verdict == Verdict.HOLDS
    assert findings.margin == pytest.approx(400 + float(mpmath.log10(findings.omega_0)), rel=1e-9)
    # exponent (1 - q)/2 of omega
    assert findings.log_peaks[0, 1] == pytest.approx(-400 * math.log(10) * 3 / 8, abs=2)


@pytest.mark.parametrize("large", [Fraction(11, 10), 2, 4, 30])
def test_two_concepts_take_the_larger_bound(large):
    signal = fractions(large, 1)
    setting = RepairedSetting(signal, TWO, TENTH)
    two, many = theorem_two.log_omega_0(setting), theorem_r.search(setting).log_omega_0
    largest = repaired.largest_omega(signal, TWO, TENTH)
    assert float(mpmath.log(largest)) == pytest.approx(float(max(two, many)), rel=1e-12)


def test_order_of_the_signal_is_the_users():
    descending = repaired.findings(fractions(16, 4, 1), Fraction(1, 10**6), TWO, TENTH)
    permuted = repaired.findings(fractions(1, 16, 4), Fraction(1, 10**6), TWO, TENTH)
    assert permuted.reach_by == tuple(descending.reach_by[rank] for rank in (2, 0, 1))
    assert permuted.log_peaks[0, 1] == descending.log_peaks[0, 2]
    assert permuted.log_peaks[0, 2] == descending.log_peaks[1, 2]
    assert permuted.constants["E_23"] == descending.constants["E_12"]
    assert permuted.constants["N_2"] == descending.constants["N_1"]


def test_one_concept_that_starts_at_the_level_waits_for_nothing():
    started = repaired.findings(fractions(3), Fraction(1, 2), TWO, TWO)
    assert (started.verdict, started.theorem) == (Verdict.HOLDS, "one concept")
    assert started.reach_by[0] == pytest.approx(0, abs=1e-12)
    assert repaired.findings(fractions(3), Fraction(501, 1000), TWO, TENTH).verdict == "fails"


@pytest.mark.parametrize("signal", [(4, 4), (4, 0), (0,), (4, 1, 4)])
def test_signals_that_no_omega_mends(signal):
    assert repaired.largest_omega(fractions(*signal), TWO, TENTH) is None
    findings = repaired.findings(fractions(*signal), Fraction(1, 100), TWO, TENTH)
    assert (findings.verdict, findings.omega_0, findings.margin) == (Verdict.FAILS, None, -math.inf)


def test_what_is_refused():
    with pytest.raises(InvalidInput, match="rho"):
        repaired.largest_omega(fractions(4, 1), TENTH, TWO)
    with pytest.raises(InvalidInput, match="omega"):
        repaired.findings(fractions(4, 1), Fraction(0), TWO, TENTH)


def test_ten_concepts():
    signal = fractions(*(4**k for k in range(10)))
    findings = repaired.findings(signal, Fraction(1, 10**30), TWO, TENTH)
    assert findings.verdict == Verdict.HOLDS
    assert "E_1,10" in findings.constants
    assert len(findings.log_peaks) == 45


def test_pivots_as_large_as_the_diagonal_leave_no_room_for_minor_entries():
    # rho = beta: w_12^2/w_22 <= beta omega - rho omega = 0. The theorem is about the flow.
    task = swingby.SIMTask.from_signal([1, 4])
    report = swingby.check(
        task, omega="0.01", eta="0.01", beta=1, rho=1, edition="repaired", dynamics="flow"
    )
    assert report.holds
    assert "Promised for all time: w_12 = 0." in str(report)
