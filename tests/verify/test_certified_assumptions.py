"""Certified assumptions: check at the points of a box, mpmath, and exact edges.

Expected verdicts and margins of a box are those of ``check`` at its points, whose margins are
tested against an independent transcription elsewhere.
"""

import json
import math
import random
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from math import log10

import flint
import mpmath
import pytest
from hypothesis import settings

from swingby.errors import InvalidInput, Undecided
from swingby.theory.assumptions import statements
from swingby.theory.initial import Scaled
from swingby.theory.task import SIMTask
from swingby.theory.verdict import Verdict
from swingby.verify.certify_assumptions import certify_assumptions
from swingby.verify.check import check
from swingby.verify.checking.box import Box
from swingby.verify.checking.certified import CertifiedAssumption, CertifiedAssumptions
from swingby.verify.checking.evaluation import MARGIN_BITS
from swingby.verify.checking.feasibility import hull
from swingby.verify.checking.intervals import interval
from tests.forked import FULL

FOUR_ONE = SIMTask.from_signal([4, 1])
TINY = Fraction(1, 10**40)


def random_box(generator):
    """Signal, omega, eta, beta as intervals, omega often near the largest one that is admitted."""

    def widen(middle):
        radius = generator.choice([0, 0, 0.01, 0.1, 0.3]) * generator.random()
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
    spread = generator.choice([0, 0, Fraction(1, 10), Fraction(3, 10), 10**6])
    eta = 1 / (180 * max(high for _, high in box)) * generator.choice([1, Fraction(1, 2), 2])
    return box, (omega / (1 + spread), omega * (1 + min(spread, 1))), widen(eta), beta_box, edition


def points(generator, intervals, count):
    for _ in range(count):
        chosen = []
        for low, high in intervals:
            share = Fraction(generator.choice([0, 1000, generator.randint(0, 1000)]), 1000)
            chosen.append(low + (high - low) * share)
        yield chosen


def assert_encloses(found, report):
    """Every margin of a report lies in that of the box, and a verdict of the box is its verdict."""
    for row in found:
        low, high = row.margin
        assert low <= report[row.id].margin <= high, (row, report.signal)
        if row.verdict == "undecided":
            assert low <= 0 <= high, row
        else:
            assert row.verdict == report[row.id].verdict, (row, report.signal)


def certified(generator, signal, omega, eta, beta, edition, count):
    """A box, after it was compared with check at some of its points."""
    task = SIMTask.from_signal([high or 1 for _, high in signal])
    found = certify_assumptions(task, omega, eta, beta, edition=edition, signal=signal)
    for point in points(generator, [*signal, omega, eta, beta], count):
        a, at = point[:-3], point[-3:]
        if any(a):
            assert_encloses(found, check(task.with_signal(a, ""), *at, edition))
    return found


def test_check_at_every_point_lies_in_the_enclosure_of_the_box():
    generator = random.Random(7)
    boxes = min(500, settings.default.max_examples)
    found = [certified(generator, *random_box(generator), 4) for _ in range(boxes)]
    seen = Counter(str(row.verdict) for one in found for row in one)
    assert min(seen["holds"], seen["fails"]) > boxes / 4


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
    ends = [interval(value, "value") for value in (*signal, omega, ("1e-9", "1e-1"), beta)]
    count = 60 if FULL else 20
    found = certified(random.Random(3), ends[:-3], *ends[-3:], edition, count)
    assert found.verdict != "holds"


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
@pytest.mark.parametrize("matrix", [[[2, 1], [1, 3]], [[1, 0], [0, 1]]], ids=str)
@pytest.mark.parametrize("eta", ["1e-4", ("9e-5", "1e-4")], ids=str)
def test_a_matrix_gives_its_own_omega_and_beta(edition, matrix, eta):
    """A zero entry fails D.1, at a point and over a box."""
    start = Scaled(matrix, "1e-90")
    found = certify_assumptions(FOUR_ONE, eta=eta, W0=start, edition=edition)
    report = check(FOUR_ONE, W0=start, eta="1e-4", edition=edition)
    assert found.box.omega == (report.omega,) * 2
    assert found.box.beta == (report.beta,) * 2
    assert_encloses(found, report)
    assert found.verdict != "undecided"


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
def test_a_certificate_is_json_and_a_frame(arguments, edition):
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
        ({"omega": flint.arb(2) ** 10**9}, "exponent of at most"),
        ({"omega": ("1e-3", "nan")}, "omega must be a number"),
        ({"omega": "1e-3", "W0": [[1, 0], [0, 1]]}, "omega must not be given"),
        ({"eta": None}, "eta must be given"),
        ({"beta": ("1/2", 2)}, "beta must be at least 1"),
        ({"edition": "own"}, "edition must be one of"),
        ({"bits": 1}, "bits must be at least 2"),
        ({"signal": [4]}, "signal must have 2 values"),
        ({"signal": [4, -1]}, r"signal\[2\] must be at least 0"),
        ({"signal": [0, 0]}, "signal must have a positive entry"),
        ({"signal": "4,1"}, "signal must be a sequence"),
        ({"task": "4,1"}, "task must be a SIMTask"),
        (
            {"omega": None, "W0": [[1, 0], [0, 1]], "edition": "repaired", "signal": [(3, 4), 1]},
            "signal must be exact where W",
        ),
    ],
)
def test_bad_input_is_refused_by_name(arguments, named):
    given = {"task": FOUR_ONE, "omega": "1e-3", "eta": "1e-3"} | arguments
    with pytest.raises(InvalidInput, match=named):
        certify_assumptions(**given)


# How margins are shown, how tight they are, and with how many bits.

D2 = statements("printed")[1]
INF = math.inf


def point_box(signal=(4, 1), omega=Fraction(1, 10**80)):
    numbers = [(Fraction(value),) * 2 for value in signal]
    one = (Fraction(1),) * 2
    return Box(tuple(numbers), (omega, omega), (Fraction(1, 10**4),) * 2, one)


def shown(low, high, verdict=Verdict.HOLDS):
    """The margin's cell in the table."""
    row = CertifiedAssumption.of(D2, verdict, (low, high))
    (cells,) = CertifiedAssumptions("printed", (row,), point_box(), 256).to_grid().rows
    assert cells[:3] == ["D.2", D2.title, str(verdict)]
    return cells[3]


@pytest.mark.parametrize(
    ("low", "high", "text"),
    # By hand: 3, 6 or 9 decimals, the fewest of which 2 units fit between the ends, outwards.
    [
        ("0.50041", "2.25011", "[+0.500, +2.251]"),
        ("-3.25011", "-0.00011", "[-3.251, +0.000]"),
        ("0.1003001", "0.1022901", "[+0.100300, +0.102291]"),
        ("0.1000000003", "0.1000000004", "[+0.100000000, +0.100000001]"),
        (-INF, "0.2501", "[-inf, +0.251]"),
        (INF, INF, "any"),
        (-INF, -INF, "none"),
        (-INF, INF, "unknown"),
    ],
)
def test_a_margin_is_shown_outwards_with_digits_that_tell_its_ends_apart(low, high, text):
    ends_given = (end if isinstance(end, float) else Fraction(end) for end in (low, high))
    assert shown(*ends_given) == text


def test_numbers_in_a_dict_are_exact_also_where_python_refuses_their_digits():
    for omega in (Fraction(1, 3), Fraction(1, 10**5000), Fraction(3**9999)):
        found = CertifiedAssumptions("printed", (), point_box(omega=omega), 64).to_dict()
        for text in found["omega"]:
            top, bottom = (int(Decimal(part)) for part in f"{text}/1".split("/")[:2])
            assert Fraction(top, bottom) == omega
        assert found["signal"] == [["4", "4"], ["1", "1"]]
        assert (found["eta"], found["beta"]) == (["1/10000"] * 2, ["1", "1"])


# Working precision.


@pytest.mark.parametrize("edition", ["printed", "corrected", "repaired"])
@pytest.mark.parametrize("omega", ["1e-90", ("1e-91", "1e-90")])
def test_the_bits_that_were_asked_for_are_used_and_named(edition, omega):
    for bits in (40, 300):
        found = certify_assumptions(FOUR_ONE, omega, "1e-4", edition=edition, bits=bits)
        assert found.bits == bits
    free = certify_assumptions(FOUR_ONE, omega, "1e-4", edition=edition)
    assert free.bits == MARGIN_BITS == 256


# The repaired edition over boxes: its ends are those of check at the corners.


def size(omega, beta=1, *, task=FOUR_ONE, **given):
    return certify_assumptions(task, omega, 1, beta, edition="repaired", **given)["D.4'"]


def checked(omega, beta=1, rho="0.1", task=FOUR_ONE):
    return check(task, omega, 1, beta, "repaired", rho=rho, dynamics="flow")["D.4'"].margin


#: As far as the largest 1/(beta omega) reaches, no theorem does without a signal.
WIDE = {"signal": [(3, 4), 1]}
THREE = {"task": SIMTask.from_signal((16, 4, 1))}
PAIRS = (("1e-9", "1e-3"), ("1e-30", "1e-29"), ("1e-3", "1/2"), ("1/3", "1/2"))


@pytest.mark.parametrize(
    ("omega", "beta", "given", "low", "high"),
    # An end is what check says at this omega and beta, or log10 1/(beta omega) by hand.
    [
        *((pair, 2, {}, (pair[1], 2), (pair[0], 2)) for pair in PAIRS),
        *((pair, 1, THREE, (pair[1], 1), (pair[0], 1)) for pair in PAIRS),
        ("1e-2", (1, 2), {}, ("1e-2", 2), 2),
        (("1e-5", "1e-2"), ("3/2", 2), {}, ("1e-2", 2), 5 - log10(1.5)),
        (("1e-2", "1/2"), (1, 2), {}, ("1/2", 2), 2),
        (("1/2", 3), (1, 2), {}, None, log10(2)),
        (1, (1, 2), {}, None, 0),
        (("11/10", 3), (1, 2), {}, None, -log10(1.1)),
        (("1e-3", "1e-2"), 2, WIDE, -INF, 3 - log10(2)),
        (("1/2", 1), 2, WIDE, -INF, 0),
        (("51/100", 1), 2, WIDE, -INF, -log10(1.02)),
    ],
)
def test_over_an_interval_the_ends_are_those_of_its_corners(omega, beta, given, low, high):
    row = size(omega, beta, **given)
    task = given.get("task", FOUR_ONE)
    for end, expected in zip(row.margin, (low, high), strict=True):
        if isinstance(expected, tuple):
            expected = checked(*expected, task=task)
        assert expected is None or float(end) == pytest.approx(expected, abs=1e-9)
    below, above = row.margin
    assert row.verdict == ("holds" if below > 0 else "fails" if above < 0 else "undecided")


@pytest.mark.parametrize(
    ("beta", "rho", "verdict"),
    # A pivot is never above its diagonal entry: rho <= beta.
    [
        (2, 2, "holds"),
        (2, "21/10", "fails"),
        ((2, 3), 2, "holds"),
        ((2, 3), "5/2", "undecided"),
        ((2, 3), 3, "undecided"),
        ((2, 3), "31/10", "fails"),
    ],
)
def test_rho_against_an_interval_of_beta(beta, rho, verdict):
    found = certify_assumptions(FOUR_ONE, "1e-9", 1, beta, edition="repaired", rho=rho)
    assert found["D.3'"].verdict == verdict
    ends_by_hand = {"holds": (INF, INF), "fails": (-INF, -INF), "undecided": (-INF, INF)}
    assert found["D.3'"].margin == ends_by_hand[verdict]
    if verdict == "fails":
        assert found["D.4'"].margin == (-INF, -INF)


@pytest.mark.parametrize(
    ("signal", "verdict", "low", "high"),
    # log10 of 1/q over the box, q the largest ratio of neighbours, by hand.
    [
        ([4, 1], "holds", log10(4), log10(4)),
        ([1, 4, 2], "holds", log10(2), log10(2)),
        ([(4, 6), (1, 2)], "holds", log10(2), log10(6)),
        ([(2, 6), (1, 2)], "undecided", 0, log10(6)),
        ([(2, 6), (1, 3)], "undecided", 0, log10(6)),
        ([3, 3], "fails", 0, 0),
        ([4, 0], "fails", -INF, -INF),
        ([4, (0, 1)], "undecided", -INF, INF),
        ([4, 4, (0, 1)], "fails", -INF, 0),
        ([5], "holds", INF, INF),
    ],
)
def test_distinct_signals_over_a_box(signal, verdict, low, high):
    task = SIMTask.from_signal([2**-k for k in range(len(signal))])
    found = certify_assumptions(task, "1e-9", 1, edition="repaired", signal=signal)["D.1'"]
    assert found.verdict == verdict
    for end, by_hand in zip(found.margin, (low, high), strict=True):
        assert float(end) == pytest.approx(by_hand, abs=1e-12)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_pivots_of_a_matrix_are_taken_in_descending_order_of_the_signal(order):
    # By hand: in the order of a, [[p, r], [r, q]] has pivots p and q - r^2/p; omega is max(p, q).
    p, q, r = 0.25, 0.5, 0.25
    matrix = [[p, r], [r, q]]
    start = [[matrix[i][j] / 1024 for j in order] for i in order]
    task = SIMTask.from_signal([(4, 1)[k] for k in order])
    found = certify_assumptions(task, eta=1, W0=start, edition="repaired")
    # The smallest pivot is 1/4, half of omega.
    same = size(Fraction(1, 2048), 1, rho="1/2")
    assert found["D.4'"].margin == same.margin
    assert found.box.omega == (Fraction(1, 2048),) * 2
    assert found.box.beta == (1, 1)
