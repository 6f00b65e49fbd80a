"""check: what a report says, and whether constants exist, against independent transcriptions."""

import functools
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import flint
import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from swingby.errors import InvalidInput
from swingby.theory import assumptions
from swingby.theory.initial import Scaled
from swingby.theory.task import SIMTask
from swingby.theory.verdict import Verdict
from swingby.verify.certify_assumptions import certify_assumptions
from swingby.verify.check import check
from swingby.verify.checking import evaluation, feasibility
from swingby.verify.checking.box import FeasibilityProblem
from swingby.verify.predict import predict

FOUR_ONE = SIMTask.from_signal([4, 1])


#: Three numbers of a gap are rounded: alpha, C, and the gap itself.
ROUNDINGS = 4 * 2.0**-53


def gap(x, y):
    """x - 3 y, rounded once: near zero, floats would lose digits."""
    return float(Fraction(x) - 3 * Fraction(y))


def broken(signal, log_omega, log_beta, eta, power=1, *, alpha, gamma, K, kappa, C, beta, P):
    """Which inequalities of D.1-D.5 the constants break: floats and arrays; beta, P as logarithms.

    Written from the paper's text, sharing no code with the package; D.5 is read with i the
    concept of the larger signal.
    """
    a, tiny = np.sort(np.array(signal, float))[::-1], 1e-9
    phase = P + beta + log_omega
    room = np.log(np.minimum(kappa - 1, 1 - kappa**-0.5))
    noise = room - power * P - np.log(K * gamma * len(a)) - 2 * beta
    pairs = [(x, y) for place, x in enumerate(a) for y in a[place + 1 :]]
    right = np.where(phase < 0, P / (10 * kappa**2 * -phase + P + beta), -np.inf)
    return {
        "(D.7)": (alpha > a[-1] + tiny) | (a[0] > gamma * alpha + tiny),
        "gamma, C > 1": (gamma <= 1) | (C <= 1),
        "beta > 1": (beta <= 0) | (beta < log_beta - tiny),
        "D.2": (eta > 1 / (9 * K * gamma * alpha)) | (K < 20),
        "D.3": phase > math.log(0.4),
        "(D.9)": log_omega > np.minimum(noise, -0.5 * (math.log(2) + beta)),
        "kappa": (kappa <= 1.1) | (kappa > 1 + K / (2 * C)),
        "P >= 2": math.log(2) > P,
        **{f"(D.10) {x} {y}": (x + y) / (2 * x) > right for x, y in pairs},
        **{f"gap {x} {y}": gap(x, y) < alpha / C * (1 - ROUNDINGS) for x, y in pairs},
    }


@given(
    st.lists(st.floats(3.2, 12), max_size=3),
    st.floats(0.05, 60),
    st.floats(1, 20),
    st.floats(0.001, 0.99),
)
# The smallest gap is alpha/C, exactly.
@example([4.75, 3.203125], 10.0, 1.0, 0.5)
def test_the_witness_satisfies_an_independent_transcription(ratios, decades, beta, share):
    signal = np.cumprod([0.7, *ratios])
    task = SIMTask.from_signal(signal)
    eta = share / (180 * float(signal[-1]))
    supremum = check(task, omega="1e-5", eta=eta, beta=beta).largest_omega
    omega = mpmath.mpf(supremum) * mpmath.mpf(10) ** -decades
    report = check(task, omega=omega, eta=eta, beta=beta)
    assert report.holds
    log_omega = float(mpmath.log(omega))
    found = {name: float(report.constants[name]) for name in ("alpha", "gamma", "K", "kappa", "C")}
    found |= {name: float(mpmath.log(report.constants[name])) for name in ("beta", "P")}
    wrong = broken(signal, log_omega, math.log(beta), eta, **found)
    assert [name for name, one in wrong.items() if one] == []


@pytest.mark.parametrize("edition", ["printed", "corrected"])
@pytest.mark.parametrize(
    ("signal", "omega", "eta", "beta"),
    [
        ((4, 1), "1e-80", "1e-4", 1),
        ((4, 1), "1e-90", "1e-2", 3),
        ((20, 5, 1), "1e-60", "1e-4", 2),
        ((1, 16, 4), "1e-110", "1/9000", "3/2"),
    ],
)
def test_margins_are_the_printed_inequalities_written_out(edition, signal, omega, eta, beta):
    # D.2, D.3, (D.9) and (D.10) in mpmath, at the constants that the report says it tried.
    report = check(SIMTask.from_signal(signal), omega=omega, eta=eta, beta=beta, edition=edition)
    with mpmath.workdps(50):
        c, small = report.tried, mpmath.mpf(omega)
        step = mpmath.mpf(Fraction(eta).numerator) / Fraction(eta).denominator
        power = 1 if edition == "printed" else 2
        noise = min(c.kappa - 1, 1 - 1 / mpmath.sqrt(c.kappa)) / (
            c.P**power * c.K * c.gamma * len(signal) * c.beta**2
        )
        right = mpmath.log(c.P) / (
            10 * c.kappa**2 * mpmath.log(1 / (c.P * c.beta * small)) + mpmath.log(c.P * c.beta)
        )
        a = sorted(signal, reverse=True)
        pairs = [(i, j) for i in a for j in a if i > j]
        slack = {
            "D.2": [1 / (9 * c.K * c.gamma * c.alpha) / step],
            "D.3": [mpmath.mpf("0.4") / (c.P * small * c.beta)],
            "D.4": [min(noise, 1 / mpmath.sqrt(2 * c.beta)) / small],
            "D.5": [right / (mpmath.mpf(i + j) / (2 * i)) for i, j in pairs]
            + [mpmath.mpf(i) / (3 * j) for i, j in pairs],
        }
        for label, sides in slack.items():
            expected = float(min(mpmath.log10(side) for side in sides))
            assert report[label].margin == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_an_unknown_id_is_a_key_error_that_lists_the_known_ones():
    report = check(FOUR_ONE, omega="1e-80", eta="1e-4")
    with pytest.raises(KeyError, match=r"D\.6.*not an assumption.*D\.1.*D\.5"):
        report["D.6"]
    with pytest.raises(AttributeError, match="omega"):
        _ = report.constants.omega


@given(
    st.sampled_from(["printed", "corrected"]),
    st.lists(st.floats(0.1, 30), min_size=1, max_size=4),
    st.integers(0, 300),
    st.floats(1, 5),
    st.integers(1, 6),
)
def test_the_sign_of_every_margin_is_its_verdict(edition, signal, exponent, beta, step):
    report = check(
        SIMTask.from_signal(signal),
        omega=Fraction(1, 10**exponent),
        eta=Fraction(1, 10**step),
        beta=beta,
        edition=edition,
    )
    for result in report:
        assert result.verdict in ("holds", "fails")
        assert not math.isnan(result.margin)
        assert (result.margin >= 0) == (result.verdict == "holds")
        assert result.reason
    assert report.holds == all(result.verdict == "holds" for result in report)
    assert (report.constants is not None) == report.holds
    assert report.failing == tuple(r.id for r in report if r.verdict == "fails")
    if not report.holds:
        assert report.binding in report.failing
    else:
        assert report.binding in ("D.2", "D.4")


@pytest.mark.parametrize("beta", [1, 3, 50])
@pytest.mark.parametrize("signal", [(4, 1), (1, 4), (16, 4, 1)])
def test_the_largest_omega_in_closed_form(signal, beta):
    # Neighbours at 4 : 1 have rho = 5/8; with Q = 10 rho 1.1^2, D = log(20 gamma d / (1 -
    # 1.1^-1/2)), (D.9) and (D.10) meet at log(1/omega) = [D (1 - rho + Q) + log(beta) (2 - rho +
    # Q)] / (1 - rho). THEORY.md 2.5: 10^-74.85 and 10^-91.32 for beta = 1.
    rho, Q = 0.625, 7.5625
    D = math.log(20 * max(signal) * len(signal) / (1 - 1.1**-0.5))
    expected = (D * (1 - rho + Q) + math.log(beta) * (2 - rho + Q)) / (1 - rho)
    report = check(SIMTask.from_signal(signal), omega="1e-9", eta="1e-4", beta=beta)
    assert float(-mpmath.log(report.largest_omega)) == pytest.approx(expected, rel=1e-12)
    assert report.nearest[0] == report.largest_omega


def test_what_no_omega_or_eta_mends_binds_before_what_fails_by_more():
    """7 is not above 3 * 2.5: signals too close, by 0.03, beside eta too large, by 0.70."""
    report = check([7, 2.5, 0.8], omega=3e-5, eta=0.004)
    assert report.failing == ("D.2", "D.5")
    assert report["D.2"].margin < report["D.5"].margin
    assert report.binding == "D.5"
    apart = check([7, 2.2, 0.7], omega=3e-5, eta=0.004)
    assert apart.binding == min(apart.failing, key=lambda label: apart[label].margin)
    text = " ".join((Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8").split())
    rule = (
        "**binding** one is one that no omega or eta can repair (D.1, or D.5 for signals that are"
    )
    assert rule in text


def test_the_largest_eta_is_the_border():
    # D.2 with K = 20 and gamma alpha = max a: 1/(180 * 4).
    report = check(FOUR_ONE, omega="1e-80", eta="1/720")
    assert report.holds
    assert report.binding == "D.2"
    assert report["D.2"].margin == 0
    assert float(report.largest_eta) == pytest.approx(1 / 720, rel=1e-15)
    above = check(FOUR_ONE, omega="1e-80", eta="1/719")
    assert (above.failing, above.binding) == (("D.2",), "D.2")
    # No omega helps while eta is too large, and the nearest pair says what would.
    assert above.largest_omega is None
    assert "argest omega once eta is small enough: 1.4059e-75" in str(above)
    assert float(above.nearest[1]) == pytest.approx(1 / 720, rel=1e-15)
    assert float(mpmath.log10(above.nearest[0])) == pytest.approx(-80, abs=1e-12)


@pytest.mark.parametrize(
    ("task", "start", "label", "reason"),
    [
        *((SIMTask.from_signal(one), {}, "D.5", "") for one in ([3, 1], [1, 1], [9, 4, 1])),
        (SIMTask([1, 4], 0, 3), {}, "D.1", "a_3 = 0"),
        # 0 is not above 3 * 0: no C mends it, and the margin says so.
        (SIMTask([4, 2], 0, dim=4), {}, "D.5", "a_i = 0 is not above 3 a_j = 0"),
        (FOUR_ONE, {"omega": None, "W0": np.diag([1e-90, 1e-90])}, "D.1", "zero entry"),
    ],
)
def test_what_fails_at_every_omega(task, start, label, reason):
    """Signals closer than a factor 3, free directions, and a zero in W(0)."""
    report = check(task, **{"omega": "1e-9000", "eta": "1e-6", **start})
    assert report[label].verdict == "fails"
    assert reason in report[label].reason
    assert report[label].margin == -math.inf or not reason
    assert report.binding == report.failing[0]
    assert (report.largest_omega, report.nearest, report.constants) == (None, None, None)


def test_the_corrected_edition_fails_D4_with_its_certificate():
    # THEORY.md 2.6: with P^2 no omega satisfies D.1-D.5.
    report = check(FOUR_ONE, omega="1e-80", eta="1e-4", edition="corrected")
    assert report.failing == ("D.4",)
    assert report.largest_omega is None
    assert any("P^2" in note for note in report.notes)
    assert not check(FOUR_ONE, omega="1e-80", eta="1e-4").notes


def test_one_concept_holds_in_both_editions_and_P_squared_costs_a_factor_two():
    # With d = 1, P = 2 and kappa -> 11: omega < (1 - 11^-1/2) / (2^n * 20 beta^2).
    task = SIMTask.from_signal([3])
    limits = []
    for edition in ("printed", "corrected"):
        report = check(task, omega="1e-3", eta="1e-4", edition=edition)
        assert report.holds
        limits.append(float(report.largest_omega))
    assert limits[0] == pytest.approx((1 - 11**-0.5) / 40, rel=1e-14)
    assert limits[0] / limits[1] == pytest.approx(2, rel=1e-14)


def test_omega_and_beta_are_read_from_W0():
    start = Scaled([[2, 1], [1, 3]], "1e-90")
    report = check(FOUR_ONE, W0=start, eta="1e-4")
    assert report.omega == Fraction(1, 10**90)
    assert report.beta == 3
    assert report.initial is not None
    given = check(FOUR_ONE, omega="1e-90", beta=3, eta="1e-4")
    assert [r.margin for r in report] == [r.margin for r in given]
    assert [r.verdict for r in report] == [r.verdict for r in given]
    assert float(report.constants.beta) >= 3


def test_the_schedule_is_that_of_predict():
    report = check(FOUR_ONE, omega="1e-80", eta="1e-4", dynamics="gd")
    expected = predict(FOUR_ONE, omega="1e-80", eta="1e-4", dynamics="gd")
    assert np.array_equal(report.schedule.half_times, expected.half_times)
    start = Scaled([[2, 1], [1, 2]], "1e-90")
    report = check(FOUR_ONE, W0=start, eta="1e-4")
    assert np.array_equal(
        report.schedule.half_times, predict(FOUR_ONE, start, eta="1e-4").half_times
    )


@pytest.mark.parametrize(
    ("arguments", "named"),
    # What makes a number or a matrix is tested where they are read.
    [
        ({"omega": None}, "omega must be given, or W0"),
        ({"omega": 0}, "omega must be positive"),
        ({"omega": "nan"}, "omega must be a number"),
        ({"omega": [1e-3]}, "omega must be a number"),
        ({"eta": None}, "eta must be given"),
        ({"eta": 0}, "eta must be positive"),
        ({"beta": "1/2"}, "beta must be at least 1"),
        ({"beta": 0}, "beta must be at least 1"),
        ({"edition": "final"}, "edition must be one of"),
        ({"dynamics": "adam"}, "dynamics must be one of"),
        ({"W0": np.eye(2)}, "omega must not be given together with W0"),
        ({"omega": None, "W0": np.eye(3)}, "W0 must have shape"),
    ],
)
def test_wrong_input_is_named(arguments, named):
    with pytest.raises(InvalidInput, match=named):
        check(FOUR_ONE, **{"omega": "1e-3", "eta": "1e-3", **arguments})


@pytest.mark.parametrize("omega", ["1e-90", "1e-3"])
def test_a_report_is_true_where_all_hold(omega):
    report = check(FOUR_ONE, omega, "1e-4")
    assert bool(report) is report.holds is (report.failing == ())
    assert bool(certify_assumptions(FOUR_ONE, omega, "1e-4")) is report.holds


# Do the constants of D.1-D.5 exist.

#: 10,000 in the full profile.
SETS = min(10_000, 25 * settings.default.max_examples)


def problem(signal, omega, eta="1/100000", beta=1, power=1):
    return FeasibilityProblem(
        tuple(Fraction(a) for a in signal), Fraction(omega), Fraction(eta), Fraction(beta), power
    )


def some_constants(signal, log_omega, log_beta, kappas, shares, scales):
    """Whether some point of a grid of (kappa, P, K, alpha) satisfies D.1 and D.3-D.5."""
    a = np.sort(np.array(signal, float))[::-1]
    gaps = a[:-1] - 3 * a[1:]
    kappa = kappas[:, None, None, None]
    log_P = (math.log(2) + shares * (-log_omega - math.log(2)))[None, :, None, None]
    K = np.array([20.0, 25.0, 60.0])[None, None, :, None]
    alpha = (a[-1] * scales)[None, None, None, :]
    C = np.maximum(1 + 1e-9, alpha / gaps.min(initial=np.inf) * (1 + 1e-15))
    given = {"alpha": alpha, "gamma": np.maximum(a[0] / alpha, 1 + 1e-12), "K": K, "kappa": kappa}
    wrong = broken(signal, log_omega, log_beta, 0.0, **given, C=C, beta=log_beta, P=log_P)
    return not functools.reduce(np.logical_or, wrong.values()).all()


def test_random_parameter_sets_agree_with_brute_force():
    generator = np.random.default_rng(0)
    kappas = np.concatenate([1.1 + np.logspace(-7, -1, 9), np.linspace(1.25, 10, 6)])
    scales = np.array([1.0, 0.5, 0.1, 0.01])
    found = {"yes": 0, "no": 0, "too close to call": 0}
    for _ in range(SETS):
        d = int(generator.integers(1, 5))
        ratios = generator.uniform(2.5, 8, d - 1)
        signal = np.cumprod(np.concatenate([[1.0], ratios]))
        beta = float(generator.choice([1.0, generator.uniform(1, 5)]))
        log_omega = -math.log(10) * generator.uniform(0.5, 260)
        # Brute force sees beta > 1 only through its limit; stay a little above it.
        exact = [Fraction(float(value)) for value in signal]
        omega = Fraction(math.exp(log_omega))
        case = problem(exact, omega, beta=Fraction(beta))
        verdict = feasibility.omega_verdict(case)
        log_omega = float(flint.arb(flint.fmpq(omega.numerator, omega.denominator)).log())
        log_beta = max(math.log(beta), 1e-9)
        coarse = np.linspace(0, 1, 160)
        if some_constants(signal, log_omega, log_beta, kappas, coarse, scales):
            found["yes"] += 1
            assert verdict == Verdict.HOLDS
            continue
        # A grid that misses by less than its own spacing decides nothing.
        if verdict == Verdict.HOLDS:
            chosen = float(feasibility.witness(case).log10_P) * math.log(10)
            share = (chosen - math.log(2)) / (-log_omega - math.log(2))
            fine = share + np.linspace(-1, 1, 400) / 160
            fine_kappas = np.append(kappas, float(feasibility.witness(case).kappa))
            near = some_constants(signal, log_omega, log_beta, fine_kappas, fine, scales)
            found["yes" if near else "too close to call"] += 1
        else:
            found["no"] += 1
    assert found["yes"] > 0.2 * SETS
    assert found["no"] > 0.2 * SETS
    assert found["too close to call"] < 0.005 * SETS


@pytest.mark.parametrize(("gamma", "sign"), [("1", -1), ("3/2", 1)])
def test_the_edge_of_a_strict_inequality_between_constants_is_outside(gamma, sign):
    case = problem([4, 1], "1e-90")
    constants = replace(feasibility.nearest_attempt(case), gamma=Fraction(gamma))
    (found,) = (
        one.sign()
        for one in evaluation.instances([assumptions.D1], case, constants)
        if one.condition.relation == (assumptions.gamma > 1)
    )
    assert found == sign
