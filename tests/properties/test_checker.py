"""Monotonicity and consistency of the checker, on drawn settings.

Expected relations are properties of the statements: D.3 and D.4 bound omega from above, D.2 bounds
eta, entries between omega and beta omega lie between omega and any larger beta omega, and only
eta a and ratios of signals occur.
"""

import json
import math
from fractions import Fraction

import mpmath
import numpy as np
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from swingby.testing import satisfying, step_sizes, tasks, violating
from swingby.theory.initial import Scaled
from swingby.theory.task import SIMTask
from swingby.verify.check import check
from tests.forked import FULL

FACTOR = st.sampled_from(
    [Fraction(1), 1 - Fraction(1, 10**15), Fraction(1, 2), Fraction(1, 10**9), Fraction(1, 10**400)]
)
SCALE = st.sampled_from([Fraction(1, 1000), Fraction(1, 3), Fraction(2), Fraction(7, 5), 10**6])
EXPONENT = st.integers(0, 120)
BETA = st.sampled_from([Fraction(1), Fraction(3, 2), Fraction(2), Fraction(50), Fraction(10**8)])
#: omega_0 is searched for in a third of a second.
FEW = settings(max_examples=max(3, settings.default.max_examples // 20))
#: Twice at a twelfth of a second.
SOME = settings.default if FULL else FEW
EDITION = st.sampled_from(["printed", "corrected"])
#: The repaired one less often, as it takes longer.
EVERY = st.sampled_from([*["printed", "corrected"] * (1 if FULL else 3), "repaired"])
SETTING = st.one_of(satisfying(), *(violating(f"D.{place}") for place in (1, 2, 4, 5)))


def verdicts(report):
    return {result.id: str(result.verdict) for result in report}


def same(one, other):
    assert verdicts(one) == verdicts(other)
    assert [result.margin for result in one] == [result.margin for result in other]
    assert (one.binding, one.largest_omega) == (other.binding, other.largest_omega)


@st.composite
def anything(draw):
    """Numbers that need not satisfy anything: a task, omega, eta, beta."""
    task = draw(tasks(free=draw(st.sampled_from([False, False, False, True]))))
    omega = Fraction(draw(st.integers(1, 99)), 10) / 10 ** draw(EXPONENT)
    eta = draw(step_sizes(task)) * draw(st.sampled_from([1, Fraction(1, 100)]))
    return task, omega, eta, draw(BETA)


@given(SETTING, FACTOR)
def test_a_smaller_omega_never_breaks_a_printed_assumption(setting, factor):
    """At any omega: what held as a whole holds below; what failed of D.1, D.2, D.5 still does."""
    before = setting.check_numbers()
    after = check(setting.task, setting.omega * factor, setting.eta, setting.beta)
    if before.holds:
        assert after.holds
    for label in ("D.1", "D.2"):
        assert after[label].verdict == before[label].verdict
    for label in ("D.3", "D.4"):
        if before[label].verdict == "holds" and before["D.5"].verdict == "holds":
            assert after[label].verdict == "holds"


@given(SETTING, FACTOR)
def test_a_smaller_eta_never_breaks_D2_and_touches_nothing_else(setting, factor):
    before = setting.check_numbers()
    after = check(setting.task, setting.omega, setting.eta * factor, setting.beta)
    if before["D.2"].verdict == "holds":
        assert after["D.2"].verdict == "holds"
    assert after["D.2"].margin >= before["D.2"].margin
    for label in ("D.1", "D.3", "D.4", "D.5"):
        assert after[label].verdict == before[label].verdict
        assert after[label].margin == before[label].margin


@given(SETTING, st.sampled_from([1 + Fraction(1, 10**12), Fraction(3, 2), Fraction(1000)]))
def test_a_larger_beta_never_mends(setting, factor):
    before = setting.check_numbers()
    after = check(setting.task, setting.omega, setting.eta, setting.beta * factor)
    if not before.holds:
        assert not after.holds
    if before.largest_omega is not None and after.largest_omega is not None:
        assert after.largest_omega <= before.largest_omega


@given(anything(), SCALE, EVERY)
def test_scaling_time_changes_no_verdict_and_no_margin(given_numbers, scale, edition):
    """Only eta a and ratios of signals occur: (a, eta) and (c a, eta/c) are the same question."""
    task, omega, eta, beta = given_numbers
    scaled = task.with_signal([scale * a for a in task.exact_signal], "scaled")
    before = check(task, omega, eta, beta, edition)
    after = check(scaled, omega, eta / scale, beta, edition)
    assert verdicts(before) == verdicts(after)
    assert (before.verdict, before.binding) == (after.verdict, after.binding)
    # omega_0 of the repaired edition is searched for in floats, to 1e-4.
    tolerance = 1e-3 if edition == "repaired" else 1e-12
    for one, other in zip(before, after, strict=True):
        assert one.margin == other.margin or math.isclose(
            one.margin, other.margin, rel_tol=tolerance, abs_tol=tolerance
        )


@given(st.data(), anything(), EVERY)
def test_permuting_concepts_changes_no_verdict(data, given_numbers, edition):
    task, omega, eta, beta = given_numbers
    order = data.draw(st.permutations(range(task.dim)))
    turned = task.with_signal([task.exact_signal[k] for k in order], "in another order")
    same(check(task, omega, eta, beta, edition), check(turned, omega, eta, beta, edition))


@given(st.data(), SETTING)
def test_permuting_concepts_and_matrix_changes_no_verdict(data, setting):
    order = list(data.draw(st.permutations(range(setting.task.dim))))
    signal = [setting.task.exact_signal[k] for k in order]
    turned = setting.task.with_signal(signal, "in another order")
    W0 = Scaled(setting.W0.matrix[np.ix_(order, order)], setting.W0.omega)
    same(setting.check(), check(turned, W0=W0, eta=setting.eta))


@given(satisfying(), st.integers(1, 30))
def test_the_largest_omega_is_the_edge(setting, digits):
    border = setting.check_numbers().largest_omega
    with mpmath.workdps(60):
        gap = mpmath.mpf(10) ** -digits
        below, above = border * (1 - gap), border * (1 + gap)
    under = check(setting.task, below, setting.eta, setting.beta)
    over = check(setting.task, above, setting.eta, setting.beta)
    assert under.holds
    assert over.failing == ("D.4",)
    assert over.largest_omega == border


@given(anything())
def test_the_corrected_edition_never_holds_with_two_concepts_or_more(given_numbers):
    """log P > 6.5 log P is false: no omega, eta or signal satisfies it (THEORY, 2.6)."""
    task, omega, eta, beta = given_numbers
    assume(task.dim > 1)
    report = check(task, omega, eta, beta, "corrected")
    assert not report.holds
    assert report.largest_omega is None
    # What holds corrected holds printed.
    for label in ("D.1", "D.2"):
        assert report[label].verdict == check(task, omega, eta, beta)[label].verdict


@FEW
@given(satisfying("repaired"), st.sampled_from([Fraction(1), Fraction(9, 10), Fraction(1, 10**9)]))
def test_repaired_a_smaller_omega_never_breaks_it(setting, factor):
    task, eta, before = setting.task, setting.eta, setting.check_numbers()
    assert before.holds
    more = {"rho": setting.rho, "dynamics": "flow"}
    smaller = check(task, setting.omega * factor, eta, setting.beta, "repaired", **more)
    assert smaller.holds
    assert smaller["D.4'"].margin >= before["D.4'"].margin - 1e-9


@SOME
@given(
    satisfying("repaired"), st.sampled_from([Fraction(1, 2), Fraction(1, 100), Fraction(999, 1000)])
)
def test_repaired_a_smaller_pivot_never_widens_omega_0(setting, factor):
    """omega_0 falls with rho; the search finds it to 1e-4, relative to log omega_0 over 1e6."""
    task, eta, beta = setting.task, setting.eta, setting.beta
    limits = [
        check(task, setting.omega, eta, beta, "repaired", rho=rho, dynamics="flow").largest_omega
        for rho in (setting.rho, setting.rho * factor)
    ]
    assert limits[1] <= limits[0] * mpmath.mpf("1.001")


@example(
    (SIMTask([1, 2, 4, 4], [0, 0, 0, "0.01"]), Fraction(1, 10), Fraction(1, 100), Fraction(1)),
    "repaired",
)
@given(anything(), EVERY)
def test_a_report_survives_json(given_numbers, edition):
    task, omega, eta, beta = given_numbers
    report = check(task, omega, eta, beta, edition)
    content = report.to_dict()
    read = json.loads(json.dumps(content, allow_nan=False))
    assert read == content
    assert {entry["id"]: entry["verdict"] for entry in read["assumptions"]} == verdicts(report)
    for entry, result in zip(read["assumptions"], report, strict=True):
        assert float(entry["margin"]) == result.margin
    assert [Fraction(value) for value in read["signal"]] == list(task.exact_signal)
    assert (content["constants"] is None) == (report.constants is None)
    frame = report.to_frame()
    assert frame.columns.tolist() == ["id", "title", "verdict", "margin", "reason"]
    assert dict(zip(frame["id"], frame["verdict"], strict=True)) == verdicts(report)
    assert repr(report).startswith(f"<Report {edition}: {report.verdict}")
