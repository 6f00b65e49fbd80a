"""Certified assumptions: check at the points of a box, mpmath, and exact edges.

Expected verdicts and margins of a box are those of ``check`` at its points, whose margins are
tested against an independent transcription elsewhere.
"""

import json
import math
import random
from fractions import Fraction

import flint
import mpmath
import pytest

from swingby.errors import InvalidInput, Undecided
from swingby.theory.initial import Scaled
from swingby.theory.task import SIMTask
from swingby.verify.certify_assumptions import certify_assumptions
from swingby.verify.check import check
from swingby.verify.checking.box import decimal_text, ends, hull, interval

FOUR_ONE = SIMTask.from_signal([4, 1])
TINY = Fraction(1, 10**40)


def random_box(generator, *, point):
    """Signal, omega, eta, beta as intervals, omega often near the largest one that is admitted."""

    def widen(middle):
        radius = 0 if point else generator.choice([0, 0, 0.01, 0.1, 0.3]) * generator.random()
        share = Fraction(radius).limit_denominator(1000)
        return middle * (1 - share), middle * (1 + share)

    d = generator.choice([1, 1, 2, 2, 3, 4])
    smallest_ratio = generator.choice([200, 310])
    signal = [Fraction(generator.randint(50, 300), 100)]
    for _ in range(d - 1):
        signal.append(signal[-1] * generator.randint(smallest_ratio, 900) / 100)
    generator.shuffle(signal)
    box = [widen(value) for value in signal]
    if d > 1 and generator.random() < 0.08:
        box[-1] = (Fraction(0), generator.choice([Fraction(0), box[-1][1]]))
    elif d > 1 and generator.random() < 0.04:
        box = [box[0]] * d
    beta = Fraction(
        generator.choice([100, 100, 200, 5000, 10**10, generator.randint(100, 500)]), 100
    )
    beta_box = (beta, widen(beta)[1])
    edition = generator.choice(["printed", "printed", "corrected"])
    exponent = generator.choice([0, 0, 1, 2, 5, 50, 100, 300])
    positive = SIMTask.from_signal([high or 1 for _, high in box])
    limit = check(positive, 1, "1e-5", beta, edition).largest_omega
    if limit is not None and generator.random() < 0.5:
        exponent = -math.floor(mpmath.log10(limit)) + generator.choice([-30, -5, 0, 0, 3, 60])
    omega = Fraction(10) ** min(-exponent, 2) * generator.randint(10, 99) / 10
    spread = 0 if point else generator.choice([0, 0, Fraction(1, 10), Fraction(3, 10), 10**6])
    eta = 1 / (180 * max(high for _, high in box)) * generator.choice([1, Fraction(1, 2), 2])
    return box, (omega / (1 + spread), omega * (1 + min(spread, 1))), widen(eta), beta_box, edition


def points(generator, intervals, count):
    for _ in range(count):
        chosen = []
        for low, high in intervals:
            share = Fraction(generator.choice([0, 1000, generator.randint(0, 1000)]), 1000)
            chosen.append(low + (high - low) * share)
        yield chosen


@pytest.mark.parametrize("point", [True, False])
def test_check_at_every_point_lies_in_the_enclosure_of_the_box(point):
    generator = random.Random(7)
    seen = {"holds": 0, "fails": 0, "undecided": 0}
    tight = 0
    for _ in range(500):
        signal, omega, eta, beta, edition = random_box(generator, point=point)
        task = SIMTask.from_signal([high or 1 for _, high in signal])
        found = certify_assumptions(task, omega, eta, beta, edition=edition, signal=signal)
        for *a, at_omega, at_eta, at_beta in points(
            generator, [*signal, omega, eta, beta], 1 if found.box.is_point else 4
        ):
            report = check(task.with_signal(a, ""), at_omega, at_eta, at_beta, edition)
            for row in found:
                low, high = row.margin
                context = (row.id, edition, signal, omega, eta, beta, a)
                assert low <= report[row.id].margin <= high, context
                if row.verdict == "undecided":
                    assert low <= 0 <= high, context
                else:
                    assert row.verdict == report[row.id].verdict, context
                if found.box.is_point:
                    assert row.verdict == report[row.id].verdict, context
                    tight += high - low < 1e-11 * (1 + abs(low))
                seen[str(row.verdict)] += 1
    assert seen["holds"] > 500
    assert seen["fails"] > 500
    assert point == (tight > 1500)


@pytest.mark.parametrize("edition", ["printed", "corrected"])
@pytest.mark.parametrize(
    ("signal", "omega", "beta"),
    [
        # Around beta omega = 1, where check gives up (D.10) and takes P = 2.
        ([(4, 4), (1, 1)], ("1/2", 2), (1, 1)),
        ([(4, 5), (1, 1)], ("1e-9", "1e-7"), (10**8, 10**8)),
        ([(4, 4), (1, 1)], ("1e-31", "1e-29"), (10**30, 2 * 10**30)),
        ([(2, 4), (1, 1)], ("1e-9", "1e-7"), (10**8, 10**8)),
        # A gap that alone decides alpha, under a largest signal that is hardly known.
        ([(10, 100), ("3.005", "3.005"), (1, 1)], ("1e-99", "1e-98"), (1, 1)),
        ([(10, 100), ("3.001", "3.005"), (1, 1)], ("1e-999", "1e-998"), (1, 2)),
        # The order of the concepts is not known, and a pair may be too close.
        ([(1, 100), (1, 100)], ("1e-99", "1e-90"), (1, 2)),
        ([(0, 10), (0, 1)], ("1e-99", "1e-90"), (1, 2)),
    ],
)
def test_boxes_across_an_edge_enclose_check_at_their_points(signal, omega, beta, edition):
    generator = random.Random(3)
    task = SIMTask.from_signal([high for _, high in signal])
    eta = ("1e-9", "1e-1")
    found = certify_assumptions(task, omega, eta, beta, edition=edition, signal=signal)
    assert found.verdict != "holds"
    box = [interval(value, "value") for value in (*signal, omega, eta, beta)]
    for *a, at_omega, at_eta, at_beta in points(generator, box, 60):
        if not any(a):
            continue
        report = check(task.with_signal(a, ""), at_omega, at_eta, at_beta, edition)
        for row in found:
            assert row.margin[0] <= report[row.id].margin <= row.margin[1], (row.id, a)
            if row.verdict != "undecided":
                assert row.verdict == report[row.id].verdict, (row.id, a)


@pytest.mark.parametrize("edition", ["printed", "corrected"])
def test_a_margin_at_a_point_is_that_of_the_printed_inequality_in_mpmath(edition):
    found = certify_assumptions(FOUR_ONE, "1e-80", "1e-4", 3, edition=edition)
    c = check(FOUR_ONE, "1e-80", "1e-4", 3, edition).tried
    with mpmath.workdps(60):
        small, power = mpmath.mpf("1e-80"), 1 if edition == "printed" else 2
        noise = (1 - 1 / mpmath.sqrt(c.kappa)) / (c.P**power * c.K * c.gamma * 2 * c.beta**2)
        right = mpmath.log(c.P) / (
            10 * c.kappa**2 * mpmath.log(1 / (c.P * c.beta * small)) + mpmath.log(c.P * c.beta)
        )
        expected = {
            "D.2": mpmath.log10(10**4 / (9 * c.K * c.gamma * c.alpha)),
            "D.3": mpmath.log10(mpmath.mpf(2) / 5 / (c.P * small * c.beta)),
            "D.4": mpmath.log10(noise / small),
            "D.5": min(mpmath.log10(right / mpmath.mpf("0.625")), mpmath.log10(mpmath.mpf(4) / 3)),
        }
        for label, value in expected.items():
            row = found[label]
            assert mpmath.mpf(row.lower) <= value <= mpmath.mpf(row.upper)
            assert mpmath.mpf(row.upper) - mpmath.mpf(row.lower) < 1e-12


@pytest.mark.parametrize("signal", [(4, 1), (Fraction(7, 3), Fraction(1, 3)), (100, 10, 1)])
def test_the_edge_of_D2_is_decided_by_exact_comparison(signal):
    edge = Fraction(1, 180) / max(signal)
    task = SIMTask.from_signal(signal)
    for step, verdict in ((edge, "holds"), (edge - TINY, "holds"), (edge + TINY, "fails")):
        row = certify_assumptions(task, "1e-200", step)["D.2"]
        assert row.verdict == verdict
        assert row.verdict == check(task, "1e-200", step)["D.2"].verdict
        assert row.margin[0] <= 0 <= row.margin[1]
    # The same inside a box whose edge it is, and with an arb that touches it.
    assert certify_assumptions(task, "1e-200", (edge / 2, edge))["D.2"].verdict == "holds"
    past = certify_assumptions(task, "1e-200", (edge / 2, edge + TINY))["D.2"]
    assert past.verdict == "undecided"
    beyond = certify_assumptions(task, "1e-200", (edge + TINY, 2 * edge))["D.2"]
    assert beyond.verdict == "fails"


def test_D5_is_strict_at_a_ratio_of_three():
    for other, verdict in ((0, "fails"), (TINY, "fails"), (-TINY, "holds")):
        task = SIMTask.from_signal([3, 1 + other])
        assert certify_assumptions(task, "1e-99999", "1e-5")["D.5"].verdict == verdict
    box = certify_assumptions(FOUR_ONE, "1e-99999", "1e-5", signal=[(3, 4), (1, 1)])
    assert box["D.5"].verdict == "undecided"
    box = certify_assumptions(FOUR_ONE, "1e-99999", "1e-5", signal=[(3 + TINY, 4), (1, 1)])
    assert box["D.5"].verdict == "holds"


def test_omega_next_to_the_supremum_is_decided():
    border = check(FOUR_ONE, "1e-80", "1e-4").largest_omega
    for factor, verdict in ((1 - TINY, "holds"), (1 + TINY, "fails")):
        row = certify_assumptions(FOUR_ONE, interval(border, "omega")[0] * factor, "1e-4")["D.4"]
        assert row.verdict == verdict
    around = interval(border, "omega")[0]
    row = certify_assumptions(FOUR_ONE, (around * (1 - TINY), around * (1 + TINY)), "1e-4")["D.4"]
    assert row.verdict == "undecided"
    assert row.margin[0] <= 0 <= row.margin[1]


def test_a_low_precision_is_undecided_and_never_wrong():
    border = check(FOUR_ONE, "1e-80", "1e-4").largest_omega
    omega = interval(border, "omega")[0] * (1 - Fraction(1, 10**20))
    seen = {
        bits: str(certify_assumptions(FOUR_ONE, omega, "1e-4", bits=bits)["D.4"].verdict)
        for bits in (24, 53, 64, 256)
    }
    assert seen[24] == seen[53] == "undecided"
    assert seen[256] == "holds"
    # An inequality between rationals needs no bits.
    assert certify_assumptions(FOUR_ONE, "1e-80", "1/720", bits=24)["D.2"].verdict == "holds"


@pytest.mark.parametrize("edition", ["printed", "corrected", "repaired"])
def test_a_matrix_gives_its_own_omega_and_beta(edition):
    start = Scaled([[2, 1], [1, 3]], "1e-90")
    found = certify_assumptions(FOUR_ONE, eta="1e-4", W0=start, edition=edition)
    report = check(FOUR_ONE, W0=start, eta="1e-4", edition=edition)
    assert found.box.omega == (report.omega,) * 2
    assert found.box.beta == (report.beta,) * 2
    for row in found:
        assert row.verdict == report[row.id].verdict
        assert row.margin[0] <= report[row.id].margin <= row.margin[1]


def test_a_zero_entry_fails_D1_at_a_point_and_over_a_box():
    start = Scaled([[1, 0], [0, 1]], "1e-90")
    for eta in ("1e-4", ("1e-5", "1e-4")):
        found = certify_assumptions(FOUR_ONE, eta=eta, W0=start)
        report = check(FOUR_ONE, eta="1e-4", W0=start)
        for row in found:
            assert row.verdict == report[row.id].verdict
            assert row.margin[0] <= report[row.id].margin <= row.margin[1] or row.id == "D.2"


@pytest.mark.parametrize("signal", [(3,), (4, 1), (9, 8), (16, 4, 1)])
@pytest.mark.parametrize("beta", [1, 2, 5])
def test_the_repaired_edition_agrees_with_check(signal, beta):
    task = SIMTask.from_signal(signal)
    for omega in ("1e-30", "1e-3", "1/20", "1/2", 3):
        found = certify_assumptions(task, omega, "1e-2", beta, edition="repaired")
        report = check(task, omega, "1e-2", beta, "repaired")
        for row in found:
            assert row.verdict == report[row.id].verdict
            assert row.margin[0] <= report[row.id].margin <= row.margin[1]


def test_the_repaired_edition_over_boxes():
    def size(omega, beta=1, **given):
        found = certify_assumptions(FOUR_ONE, omega, 1, beta, edition="repaired", **given)
        return found["D.4'"]

    assert size(("1e-9", "1e-2")).verdict == "holds"
    assert size(("1e-9", "1/2")).verdict == "undecided"
    assert size(("1/2", "2/3")).verdict == "fails"
    for beta in (1, "3/2", 2):
        margin = check(FOUR_ONE, "1e-2", 1, beta, "repaired")["D.4'"].margin
        row = size("1e-2", (1, 2))
        assert row.verdict == "holds"
        assert row.margin[0] <= margin <= row.margin[1]
    assert size((2, 3), (1, 2)).verdict == "fails"
    assert size("1e-2", rho=3).verdict == "fails"
    assert size("1e-2", (1, 4), rho=3).verdict == "undecided"
    found = certify_assumptions(
        FOUR_ONE, "1e-2", 1, edition="repaired", signal=[(3, 5), ("1/2", 2)]
    )
    assert [str(row.verdict) for row in found] == ["holds", "holds", "undecided"]
    found = certify_assumptions(FOUR_ONE, "1e-2", 1, edition="repaired", signal=[(1, 5), (1, 2)])
    assert found["D.1'"].verdict == "undecided"
    found = certify_assumptions(FOUR_ONE, "1e-2", 1, edition="repaired", signal=[2, 2])
    assert found["D.1'"].verdict == "fails"


def test_pairs_balls_and_exact_numbers_say_the_same():
    box = certify_assumptions(FOUR_ONE, ("1e-91", "1e-90"), ("1e-4", "2e-4"), (1, 2))
    with flint.ctx.workprec(200):
        omega = hull(Fraction(1, 10**91), Fraction(1, 10**90))
        eta = hull(Fraction(1, 10**4), Fraction(2, 10**4))
    ball = certify_assumptions(FOUR_ONE, omega, eta, (1, 2))
    for one, other in zip(box, ball, strict=True):
        assert one.verdict == other.verdict == "holds"
        if not math.isinf(one.margin[0]):
            # The radius of a ball has 30 bits, and is rounded up.
            assert other.margin[0] <= one.margin[0]
            assert abs(other.margin[0] - one.margin[0]) < 1e-6
    pair = certify_assumptions(FOUR_ONE, ("1e-90", "1e-90"), "1e-4")
    assert pair == certify_assumptions(FOUR_ONE, "1e-90", "1e-4")


@pytest.mark.parametrize("arguments", [{"omega": "1e-80"}, {"omega": ("1e-80", "1e-10")}])
@pytest.mark.parametrize("edition", ["printed", "corrected", "repaired"])
def test_a_certificate_is_json_a_frame_latex_and_text(arguments, edition):
    found = certify_assumptions(FOUR_ONE, eta="1e-4", edition=edition, **arguments)
    content = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert content["verdict"] == str(found.verdict)
    assert [entry["id"] for entry in content["assumptions"]] == [row.id for row in found]
    for entry, row in zip(content["assumptions"], found, strict=True):
        low, high = entry["margin"]
        if "inf" not in low + high:
            assert Fraction(low) <= row.margin[0] <= row.margin[1] <= Fraction(high)
    frame = found.to_frame()
    assert frame.columns.tolist() == ["id", "title", "verdict", "lower", "upper"]
    assert len(frame) == len(found)
    for text in (str(found), found.to_latex(), found._repr_html_()):
        for row in found:
            assert row.id.rstrip("'") in text
        assert "nan" not in text
    with pytest.raises(KeyError, match="not an assumption"):
        found["D.9"]


def test_truth_of_an_undecided_certificate_is_refused():
    found = certify_assumptions(FOUR_ONE, ("1e-80", "1e-10"), "1e-4")
    assert found.verdict == "undecided"
    with pytest.raises(Undecided):
        _ = found.holds
    assert certify_assumptions(FOUR_ONE, "1e-80", "1e-4").holds
    assert certify_assumptions(FOUR_ONE, "1e-10", "1e-4").failing == ("D.4",)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"omega": None}, "omega must be given, or W0"),
        ({"omega": (2, 1)}, "omega must have its lower end first"),
        ({"omega": (0, 1)}, "omega must be positive"),
        ({"omega": (1, 2, 3)}, "omega must be a number or a pair"),
        ({"omega": flint.arb("nan")}, "omega must be a finite ball"),
        ({"omega": flint.arb(0, 1)}, "omega must be positive"),
        ({"omega": flint.arb(2) ** 10**9}, "exponent of at most"),
        ({"omega": ("1e-3", "nan")}, "omega must be a number"),
        ({"omega": float("inf")}, "omega must be a finite number"),
        ({"omega": True}, "omega must be a number"),
        ({"omega": "1e-3", "W0": [[1, 0], [0, 1]]}, "omega must not be given"),
        ({"eta": None}, "eta must be given"),
        ({"eta": (-1, 1)}, "eta must be positive"),
        ({"beta": ("1/2", 2)}, "beta must be at least 1"),
        ({"edition": "own"}, "edition must be one of"),
        ({"bits": 1}, "bits must be at least 2"),
        ({"bits": 1.5}, "bits must be a whole number"),
        ({"signal": [4]}, "signal must have 2 values"),
        ({"signal": [4, -1]}, r"signal\[2\] must be at least 0"),
        ({"signal": [0, 0]}, "signal must have a positive entry"),
        ({"signal": "4,1"}, "signal must be a sequence"),
        ({"signal": 4}, "signal must be a sequence"),
        ({"task": "4,1"}, "task must be a SIMTask"),
    ],
)
def test_bad_input_is_refused_by_name(arguments, named):
    given = {"task": FOUR_ONE, "omega": "1e-3", "eta": "1e-3"} | arguments
    with pytest.raises(InvalidInput, match=named):
        certify_assumptions(**given)


def test_ends_and_decimals_are_rounded_outwards():
    third = Fraction(1, 3)
    for sign in (1, -1):
        low = Fraction(decimal_text(sign * third, up=False))
        high = Fraction(decimal_text(sign * third, up=True))
        assert low < sign * third < high
        assert high - low == Fraction(1, 10**17)
    assert decimal_text(Fraction(0), up=True) == "0"
    assert decimal_text(-math.inf, up=False) == "-inf"
    assert ends(flint.arb("inf")) == (-math.inf, math.inf)
    low, high = ends(flint.arb(1, 0.25))
    assert low <= Fraction(3, 4)
    assert high >= Fraction(5, 4)
