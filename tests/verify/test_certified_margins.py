"""Margins of certificates: how they are shown, how tight they are, and with how many bits."""

import math
from fractions import Fraction

import flint
import pytest

from swingby.errors import InvalidInput
from swingby.theory.assumptions import statements
from swingby.theory.task import SIMTask
from swingby.theory.verdict import Verdict
from swingby.verify.certify_assumptions import MARGIN_BITS, certify_assumptions
from swingby.verify.check import check
from swingby.verify.checking.box import Box, ends
from swingby.verify.checking.certified import CertifiedAssumption, CertifiedAssumptions

FOUR_ONE = SIMTask.from_signal([4, 1])
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
        ("0.5004", "2.2501", "[+0.500, +2.251]"),
        ("-3.2501", "-0.0001", "[-3.251, +0.000]"),
        ("0.1003", "0.10231", "[+0.100, +0.103]"),
        ("0.1003", "0.10229", "[+0.100300, +0.102290]"),
        ("-0.1000005", "-0.0999984", "[-0.100001, -0.099998]"),
        ("-0.1000005", "-0.0999986", "[-0.100000500, -0.099998600]"),
        ("0.1000000003", "0.1000000004", "[+0.100000000, +0.100000001]"),
        ("100.25000000011", "100.25000000012", "[+100.250000000, +100.250000001]"),
        ("0", "0", "[+0.000000000, +0.000000000]"),
        ("0", "1/3", "[+0.000, +0.334]"),
        ("-1/3", "0", "[-0.334, +0.000]"),
        (-INF, "0.25", "[-inf, +0.250]"),
        ("-2/3", INF, "[-0.667, inf]"),
        (INF, INF, "any"),
        (-INF, -INF, "none"),
        (-INF, INF, "unknown"),
    ],
)
def test_a_margin_is_shown_outwards_with_digits_that_tell_its_ends_apart(low, high, text):
    def end(value):
        return value if isinstance(value, float) else Fraction(value)

    found = shown(end(low), end(high))
    if found != text:
        # The widening for floats may cost one unit of the last place where an end is a decimal.
        pairs = [[Fraction(part) for part in each[1:-1].split(", ")] for each in (found, text)]
        unit = Fraction(1, 10 ** len(text[1:-1].split(".")[-1]))
        assert len(found) == len(text)
        assert pairs[1][0] - unit <= pairs[0][0] <= pairs[1][0]
        assert pairs[1][1] <= pairs[0][1] <= pairs[1][1] + unit


def test_the_ends_of_a_row_contain_a_float_of_the_margin():
    for value in (Fraction(1, 3), -Fraction(1, 3), Fraction(0), Fraction(10**5, 7)):
        row = CertifiedAssumption.of(D2, Verdict.HOLDS, (value, value))
        low, high = row.margin
        # By the definition: 2^-49 (1 + |m|) on either side.
        assert value - low == high - value == (1 + abs(value)) / 2**49
        assert low < Fraction(float(value)) < high
        assert Fraction(row.lower) <= low
        assert high <= Fraction(row.upper)


def test_numbers_in_a_dict_are_exact_also_where_python_refuses_their_digits():
    # In hexadecimal past 4300 decimal digits or so.
    for omega in (Fraction(1, 3), Fraction(1, 10**3900), Fraction(1, 10**5000), Fraction(3**9999)):
        found = CertifiedAssumptions("printed", (), point_box(omega=omega), 64).to_dict()
        for text in found["omega"]:
            top, _, bottom = text.partition("/")
            base = 16 if "0x" in text else 10
            assert Fraction(int(top, base), int(bottom or "1", base)) == omega
        assert found["signal"] == [["4", "4"], ["1", "1"]]
        assert (found["eta"], found["beta"]) == (["1/10000"] * 2, ["1", "1"])
        assert (found["bits"], found["edition"]) == (64, "printed")


def test_the_numbers_above_the_table_are_points_or_pairs():
    found = certify_assumptions(
        FOUR_ONE, ("1e-91", "1e-90"), "1/8", (1, 2), signal=[(4, 5), 1], bits=64
    )
    (line,) = found.to_grid().above
    assert line == "a = ([4, 5], 1), omega = [1e-91, 1e-90], beta = [1, 2], eta = 0.125"
    assert "(64 bits)" in found.to_grid().below[-1]
    assert found.to_grid().below[-1].startswith("Fails: D.2.")


# Working precision.


@pytest.mark.parametrize("edition", ["printed", "corrected", "repaired"])
@pytest.mark.parametrize("omega", ["1e-90", ("1e-91", "1e-90")])
def test_the_bits_that_were_asked_for_are_used_and_named(edition, omega):
    for bits in (40, 300):
        found = certify_assumptions(FOUR_ONE, omega, "1e-4", edition=edition, bits=bits)
        assert found.bits == bits
    free = certify_assumptions(FOUR_ONE, omega, "1e-4", edition=edition)
    assert free.bits == MARGIN_BITS == 256


@pytest.mark.parametrize("bits", [12, 20, 40])
def test_few_bits_widen_a_margin_and_keep_it_true(bits):
    coarse = certify_assumptions(FOUR_ONE, "1e-90", "1e-4", bits=bits)
    fine = certify_assumptions(FOUR_ONE, "1e-90", "1e-4")
    widths = []
    for wide, narrow in zip(coarse, fine, strict=True):
        assert wide.margin[0] <= narrow.margin[1]
        assert narrow.margin[0] <= wide.margin[1]
        assert wide.verdict in (narrow.verdict, "undecided")
        if not math.isinf(narrow.margin[0]):
            widths.append(wide.margin[1] - wide.margin[0])
    assert max(widths) > Fraction(1, 2 ** (bits + 4))


@pytest.mark.parametrize("bits", [8, 10])
def test_bits_that_leave_D4_open_keep_the_margins_of_check(bits):
    found = certify_assumptions(FOUR_ONE, "1e-90", "1e-4", bits=bits)
    report = check(FOUR_ONE, "1e-90", "1e-4")
    for row in found:
        assert row.margin[0] <= report[row.id].margin <= row.margin[1]


def test_the_largest_exponent_of_a_ball_that_is_read():
    # 4 times 100000, the largest decimal exponent of a text: a power of two of that size.
    limit = 400_000
    for exponent in (limit, -limit):
        power = flint.arb(2) ** exponent
        assert ends(power) == (Fraction(2) ** exponent,) * 2
        beyond = flint.arb(2) ** (exponent + (1 if exponent > 0 else -1))
        with pytest.raises(InvalidInput, match="must have an exponent of at most 100000"):
            ends(beyond)


# The repaired edition over boxes: its ends are those of check at the corners.


def log10(value):
    return math.log10(value)


def size(omega, beta=1, *, task=FOUR_ONE, **given):
    return certify_assumptions(task, omega, 1, beta, edition="repaired", **given)["D.4'"]


def checked(omega, beta=1, rho="0.1", task=FOUR_ONE):
    return check(task, omega, 1, beta, "repaired", rho=rho)["D.4'"].margin


@pytest.mark.parametrize("signal", [(4, 1), (16, 4, 1)])
@pytest.mark.parametrize("beta", [1, 2])
def test_over_an_interval_of_omega_the_ends_are_the_margins_at_its_ends(signal, beta):
    task = SIMTask.from_signal(signal)
    for low, high in (("1e-9", "1e-3"), ("1e-30", "1e-29"), ("1e-3", "1/2"), ("1/3", "1/2")):
        row = size((low, high), beta, task=task)
        assert row.margin[0] == pytest.approx(checked(high, beta, task=task), abs=1e-9)
        assert row.margin[1] == pytest.approx(checked(low, beta, task=task), abs=1e-9)
        verdicts = {Verdict.HOLDS if at > 0 else Verdict.FAILS for at in row.margin}
        assert row.verdict == (verdicts.pop() if len(verdicts) == 1 else Verdict.UNDECIDED)


def test_over_an_interval_of_beta_no_theorem_reaches_beyond_beta_omega_of_1():
    # The upper end is log10 1/(beta omega) at the smallest of both, by hand.
    row = size("1e-2", (1, 2))
    assert row.verdict == Verdict.HOLDS
    assert row.margin[0] == pytest.approx(checked("1e-2", 2), abs=1e-9)
    assert row.margin[1] == pytest.approx(2)
    row = size(("1e-5", "1e-2"), ("3/2", 2))
    assert row.margin[0] == pytest.approx(checked("1e-2", 2), abs=1e-9)
    assert row.margin[1] == pytest.approx(5 - log10(1.5))
    row = size(("1e-2", "1/2"), (1, 2))
    assert row.verdict == Verdict.UNDECIDED
    assert row.margin[0] == pytest.approx(checked("1/2", 2), abs=1e-9)
    assert row.margin[1] == pytest.approx(2)
    for omega, verdict in ((("1/2", 3), "undecided"), (1, "undecided"), (("11/10", 3), "fails")):
        row = size(omega, (1, 2))
        assert row.verdict == verdict
        first = omega[0] if isinstance(omega, tuple) else omega
        assert row.margin[1] == pytest.approx(-log10(Fraction(first)), abs=1e-9)


def test_over_an_interval_of_a_signal_only_beta_omega_is_left():
    row = size(("1e-3", "1e-2"), 2, signal=[(3, 4), 1])
    assert row.verdict == Verdict.UNDECIDED
    assert row.margin[0] == -INF
    assert row.margin[1] == pytest.approx(3 - log10(2), abs=1e-9)
    assert size(("1/2", 1), 2, signal=[(3, 4), 1]).verdict == Verdict.UNDECIDED
    assert size(("51/100", 1), 2, signal=[(3, 4), 1]).verdict == Verdict.FAILS


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


def test_a_matrix_needs_a_signal_that_is_known():
    with pytest.raises(InvalidInput, match="signal must be exact where W"):
        certify_assumptions(
            FOUR_ONE, eta=1, W0=[[0.01, 0.0], [0.0, 0.01]], edition="repaired", signal=[(3, 4), 1]
        )


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
