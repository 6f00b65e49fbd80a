"""certify against closed forms, a second implementation, and runs that are known by theory."""

import itertools
from fractions import Fraction
from functools import partial

import flint
import mpmath
import numpy as np
import pytest

from swingby.simulate.run import simulate
from swingby.theory.initial import Scaled
from swingby.theory.task import SIMTask
from swingby.verify import certify as verb
from swingby.verify.certification import followed
from swingby.verify.certification.events import Doubt, Watch
from swingby.verify.certify import certify

LEVELS = ("1/10", "1/2", "4/5", "99/100")


def task_of(*signal):
    return SIMTask.from_signal(signal)


def step(a, W, eta, dynamics):
    """(D.2), or (I + eta B) W (I + eta B), as printed, over any numbers."""
    d = range(len(a))

    def product(X, Y):
        return [[sum(X[i][k] * Y[k][j] for k in d) for j in d] for i in d]

    B = [[(a[i] if i == j else 0) - (a[i] + a[j]) * W[i][j] / 2 for j in d] for i in d]
    if dynamics == "gd":
        M = [[eta * B[i][j] + (i == j) for j in d] for i in d]
        return product(product(M, W), M)
    BW, WB = product(B, W), product(W, B)
    return [[W[i][j] + eta * (BW[i][j] + WB[i][j]) for j in d] for i in d]


def is_semidefinite(W):
    """LDL^T; a pivot of 0 needs a row of zeros."""
    rest = [list(row) for row in W]
    for k in range(len(rest)):
        if rest[k][k] < 0 or (rest[k][k] == 0 and any(rest[k][k + 1 :])):
            return False
        if rest[k][k]:
            for i in range(k + 1, len(rest)):
                for j in reversed(range(k, len(rest))):
                    rest[i][j] -= rest[i][k] * rest[k][j] / rest[k][k]
    return True


def number(value):
    return mpmath.mpf(value.numerator) / value.denominator


def inside(value, enclosure):
    return mpmath.mpf(enclosure.lower) <= value <= mpmath.mpf(enclosure.upper)


def expect(certificate, digits=200):
    """Every entry but `converges`, from the printed formula in mpmath numbers."""
    c, d = certificate, range(certificate.dim)
    with mpmath.workdps(digits):
        W = [[number(entry) for entry in row] for row in c.W0]
        a, eta = [number(value) for value in c.signal], number(c.eta)
        history = [W]
        for _ in range(c.steps):
            W = step(a, W, eta, c.dynamics)
            history.append(W)
        for level, k in itertools.product(LEVELS, d):
            one, bar = c.passages[level][k], number(Fraction(level))
            first = next((t for t, W in enumerate(history) if W[k][k] >= bar), None)
            assert one.step == first
            if first is not None:
                assert inside(history[first][k][k], one.at)
                assert first == 0 or inside(history[first - 1][k][k], one.before)
        for peak in c.peaks:
            sizes = [abs(W[peak.i - 1][peak.j - 1]) for W in history]
            assert peak.step == sizes.index(max(sizes))
            assert inside(history[peak.step][peak.i - 1][peak.j - 1], peak.value)
        if c.dynamics == "euler":
            first = next((t for t, W in enumerate(history) if not is_semidefinite(W)), None)
            assert c.first_loss == first
            away = {
                k + 1: next(t for t, W in enumerate(history) if W[k][k] < 0)
                for k in d
                if a[k] > 0 and any(W[k][k] < 0 for W in history)
            }
            assert {one.k: one.step for one in c.runs_away} == away
        for i, j in itertools.product(d, d):
            assert inside(W[i][j], c.end[i][j])
    assert not c.undecided


@pytest.mark.parametrize("dynamics", ["euler", "gd"])
def test_a_diagonal_matrix_is_a_product_of_scalar_maps(dynamics):
    # w' = w (1 + eta a (1 - w))^2 for gd, w + 2 eta a w (1 - w) for euler, with 200 digits.
    signal, eta = (Fraction(3), Fraction(1), Fraction(1, 2)), Fraction(1, 20)
    start = (Fraction(1, 10**30), Fraction(1, 7), Fraction(3, 2))
    W0 = [[start[i] if i == j else 0 for j in range(3)] for i in range(3)]
    found = certify(task_of(*signal), W0, eta, dynamics)
    with mpmath.workdps(200):
        for k in range(3):
            w, a = number(start[k]), number(eta * signal[k])
            walk = [w]
            for _ in range(found.steps):
                w = w * (1 + a * (1 - w)) ** 2 if dynamics == "gd" else w + 2 * a * w * (1 - w)
                walk.append(w)
            for level in LEVELS:
                first = next(t for t, w in enumerate(walk) if w >= number(Fraction(level)))
                assert found.passages[level][k].step == first
                assert inside(walk[first], found.passages[level][k].at)
            assert inside(w, found.end[k][k])
        # The norm of W - I is that of three numbers.
        rest = [number(start[k]) - 1 for k in range(3)]
        assert found.converges.step > 0
        assert mpmath.mpf(found.converges.distance.upper) <= number(found.converges.radius)
        assert mpmath.sqrt(sum(x * x for x in rest)) > number(found.converges.radius)
    assert all(peak.for_all_time and peak.value == ("0", "0") for peak in found.peaks)


CASES = [
    ((4, 1), [[2, 1], [1, 2]], "1e-6", "1/50"),
    ((4, 2, 1), [[2, 1, -1], [1, 2, 1], [-1, 1, 3]], "1e-12", "1/30"),
    ((2, 2, 1), [[2, 1, 1], [1, 2, 1], [1, 1, 2]], "1e-9", "1/20"),
    ((3, 1, 0), [[2, 1, 1], [1, 2, 1], [1, 1, 2]], "1e-2", "1/20"),
    ((3, 2, 1), [[1, 1, 0], [1, 2, 0], [0, 0, 1]], "1/7", "1/10"),
    ((5, 2, 1, "1/2"), [[3, 1, 0, 0], [1, 3, 1, 0], [0, 1, 3, 1], [0, 0, 1, 3]], "1e-3", "1/25"),
]


@pytest.mark.parametrize("dynamics", ["euler", "gd"])
@pytest.mark.parametrize(("signal", "matrix", "omega", "eta"), CASES)
def test_a_second_implementation_agrees(signal, matrix, omega, eta, dynamics):
    expect(certify(task_of(*signal), Scaled(matrix, omega), eta, dynamics))


@pytest.mark.parametrize(
    ("signal", "matrix", "eta"),
    [
        ((4, 1), [["1e-6", "1e-6"], ["1e-6", "1e-6"]], "1/50"),
        ((4, 2, 1), [[1, "1/3", 0], ["1/3", "1/5", "1/4"], [0, "1/4", "1/3"]], "1/50"),
        ((1, 1), [["-1/3", 0], [0, "1/5"]], "1/10"),
        ((2, 1), [["1/10", "-1/2"], ["-1/2", 0]], "1/50"),
        ((16, 4, 1), [["1e-30", "9e-31", "0"], ["9e-31", "1e-30", "0"], [0, 0, 1]], "1/100"),
    ],
)
def test_traps_of_euler_agree(signal, matrix, eta):
    found = certify(task_of(*signal), matrix, eta)
    expect(found)
    assert found.first_loss is not None
    for one in found.runs_away:
        for level in LEVELS:
            passage = found.passages[level][one.k - 1]
            assert passage.never == (passage.step is None)


def test_rank_one_under_euler_is_lost_in_the_first_step():
    # THEORY: W = omega 1 1^T stays semidefinite under gd alone; the second concept is trapped.
    found = certify(task_of(4, 1), [["1e-6", "1e-6"], ["1e-6", "1e-6"]], "1/100")
    assert found.first_loss == 1
    assert found.half_times[1] is None
    assert found.passages["1/2"][1].never
    assert [one.k for one in found.runs_away] == [2]
    assert found.converges is None
    # The last step before an entry passes 10^6.
    assert all(abs(float(entry.lower)) <= 1e6 for row in found.end for entry in row)
    longer = certify(task_of(4, 1), [["1e-6", "1e-6"], ["1e-6", "1e-6"]], "1/100", steps=10_000)
    assert found.steps < longer.steps < found.steps + 20
    assert any(abs(mpmath.mpf(entry.lower)) > 1e6 for row in longer.end for entry in row)


def test_an_exact_hit_counts():
    # w(1) = 1/3 + 3/4 (1/3)(2/3) = 1/2, and then 11/16, 1/2 + ... by the scalar map.
    found = certify(task_of(1), [["1/3"]], "3/8")
    assert found.half_times == (1,)
    assert found.bits is None
    assert found.passages["1/2"][0].at.middle == Fraction(1, 2)
    assert found.converges.step == 1
    assert found.converges.distance.middle == Fraction(1, 2)


@pytest.mark.parametrize("dynamics", ["euler", "gd"])
def test_equal_signals_and_rank_one_have_a_closed_form(dynamics):
    # W = x 1 1^T: y = 2 x follows the scalar map, so w_kk tends to 1/2 from below.
    matrix = [["1e-6", "1e-6"], ["1e-6", "1e-6"]]
    found = certify(task_of(2, 2), matrix, "1/100", dynamics, steps=6000)
    assert found.first_loss is None
    assert found.half_times == (None, None)
    assert not found.passages["1/2"][0].never
    assert found.peaks[0].step == found.steps
    assert found.bits > 256  # the rest is unstable: bits in proportion to the steps
    with mpmath.workdps(400):
        y = mpmath.mpf(2) / 10**6
        for _ in range(found.steps):
            h = mpmath.mpf(2) / 100
            y = y + 2 * h * y * (1 - y) if dynamics == "euler" else y * (1 + h * (1 - y)) ** 2
        for i, j in itertools.product(range(2), range(2)):
            assert inside(y / 2, found.end[i][j])


def test_a_fixed_point_ties_with_itself_for_ever():
    # W^2 = W and A = 2 I: W never moves, and exactly 1/2 is reached at step 0.
    found = certify(task_of(2, 2), [["1/2", "1/2"], ["1/2", "1/2"]], "1/100", steps=10**6)
    assert found.half_times == (0, 0)
    assert (found.steps, found.peaks[0].step, found.first_loss) == (10**6, 0, None)
    assert found.end[0][1].middle == Fraction(1, 2)


def test_a_tie_of_two_steps_goes_to_the_first():
    # With 2 eta a = 5/2 the eigenvalue of W = x 1 1^T goes 3/5, 6/5, 3/5, ...: a cycle.
    found = certify(task_of(1, 1), [["3/10", "3/10"], ["3/10", "3/10"]], "5/4", steps=1001)
    assert found.peaks[0].step == 1
    assert found.peaks[0].value.middle == Fraction(3, 5)
    assert found.half_times == (1, 1)
    assert found.first_loss is None
    assert found.end[0][0].middle == Fraction(3, 5)


def test_the_identity_is_at_rest():
    for dynamics in ("euler", "gd"):
        found = certify(task_of(4, 1), np.eye(2), "1/100", dynamics)
        assert (found.steps, found.half_times, found.bits) == (0, (0, 0), None)
        assert found.converges.step == 0
        assert found.converges.distance == ("0", "0")
        assert found.peaks[0].for_all_time


@pytest.mark.parametrize("dynamics", ["euler", "gd"])
def test_a_block_is_a_run_of_its_own(dynamics):
    one = [["2e-4", "1e-4"], ["1e-4", "2e-4"]]
    two = [["3e-5", "-2e-5"], ["-2e-5", "5e-5"]]
    whole = [[0] * 5 for _ in range(5)]
    for i, j in itertools.product(range(2), range(2)):
        whole[2 * i][2 * j] = one[i][j]
        whole[1 + 2 * i][1 + 2 * j] = two[i][j]
    found = certify(task_of(4, 3, 2, 1, 1), whole, "1/50", dynamics, steps=800)
    first = certify(task_of(4, 2), one, "1/50", dynamics, steps=800)
    second = certify(task_of(3, 1), two, "1/50", dynamics, steps=800)
    assert found.half_times[:4:2] == first.half_times
    assert found.half_times[1:4:2] == second.half_times
    peaks = {(peak.i, peak.j): peak for peak in found.peaks}
    assert peaks[1, 3].value == first.peaks[0].value
    assert peaks[2, 4].value == second.peaks[0].value
    assert peaks[1, 2].for_all_time
    assert found.end[0][2] == first.end[0][1]
    assert found.end[1][3] == second.end[0][1]
    assert all(found.passages[level][4].never for level in LEVELS)
    assert found.converges is None
    assert found.first_loss is None


def test_a_concept_without_a_signal_is_never_learned_under_euler():
    matrix = [["1/3", "1/9"], ["1/9", "1/3"]]
    euler = certify(task_of(1, 0), matrix, "1/8")
    assert euler.passages["1/2"][1].never
    assert euler.passages["1/10"][1].step == 0
    gd = certify(task_of(1, 0), matrix, "1/8", "gd")
    assert not gd.passages["1/2"][1].never
    assert euler.converges is None
    assert gd.converges is None


@pytest.mark.parametrize("dynamics", ["euler", "gd"])
def test_omega_far_below_the_float_range(dynamics):
    # Linear growth from 2e-1000 to about 1/2 takes log(2.5e999)/g steps; the float kernels, which
    # keep the scale apart, see the same steps.
    matrix = Scaled([[2, 1], [1, 2]], "1e-1000")
    found = certify(task_of(4, 1), matrix, "1/20", dynamics)
    run = simulate(task_of(4, 1), matrix, "1/20", found.steps, dynamics)
    for level in LEVELS:
        steps = [one.step for one in found.passages[level]]
        seen = run.first_reach(float(Fraction(level)))
        assert steps == [None if np.isnan(time) else int(time) for time in seen]
    first = mpmath.log(mpmath.mpf("5e999")) / mpmath.log(1.4 if dynamics == "euler" else 1.44)
    assert abs(found.half_times[0] - first) < 10
    assert found.to_dict()["W0"][0][0] == f"1/{5 * 10**999}"


def test_numbers_of_more_than_4300_digits():
    found = certify(task_of(4, 1), Scaled([[2, 1], [1, 2]], "1e-5000"), "1/20", steps=30)
    assert found.end[0][0].lower.endswith("e-4996")
    assert len(found.to_dict()["W0"][0][1]) == 5003


def test_what_the_bits_leave_open_is_listed(monkeypatch):
    matrix = Scaled([[2, 1, 1], [1, 2, 1], [1, 1, 2]], "1e-6")
    good = certify(task_of(4, 2, 1), matrix, "1/100", steps=900)
    monkeypatch.setattr(verb, "PRECISIONS", (32,))
    poor = certify(task_of(4, 2, 1), matrix, "1/100", steps=900)
    assert "end/1,1" in poor.undecided
    assert poor.end[0][0] is None
    assert any(one is None for row in poor.passages.values() for one in row)
    for level in LEVELS:
        for first, second in zip(good.passages[level], poor.passages[level], strict=True):
            assert second is None or first == second
    assert poor.first_loss is None
    # 8 bits are not enough for anything, and still nothing is guessed.
    monkeypatch.setattr(verb, "PRECISIONS", (8,))
    worse = certify(task_of(4, 2, 1), matrix, "1/100", steps=900)
    assert {"psd", "converges", "peaks/1,2", "passages/1/2/3"} <= set(worse.undecided)
    assert worse.converges is None


def test_what_is_open_is_named_by_concept_and_level(monkeypatch):
    # Concept 3 is apart: its entries with the others are 0, whatever the bits.
    apart = Scaled([[2, 1, 0], [1, 2, 0], [0, 0, 1]], "1e-6")
    block = ("end/1,1", "end/1,2", "end/2,1", "end/2,2", "end/3,3")
    monkeypatch.setattr(verb, "PRECISIONS", (24,))
    early = certify(task_of(4, 2, 1), apart, "1/50", steps=20)
    assert early.undecided == (*block, "peaks/1,2")
    assert early.end[0][2].lower == early.end[0][2].upper == "0"
    # Stage 1 is at step 88 and stage 2 at 177 (ln(1/2e-6)/ln(1.16) and ln(1/1.5e-6)/ln(1.08)).
    later = certify(task_of(4, 2, 1), apart, "1/50", steps=140)
    first = tuple(f"passages/{level}/1" for level in ("1/10", "1/2", "4/5", "99/100"))
    assert later.undecided == (*block, *first, "peaks/1,2")
    # 8 bits are lost within the run: everything that could still have happened is open.
    monkeypatch.setattr(verb, "PRECISIONS", (8,))
    lost = certify(task_of(4, 2, 1), apart, "1/50", steps=140)
    concepts = range(1, 4)
    expected = {f"end/{i},{j}" for i in concepts for j in concepts}
    expected |= {f"passages/{level}/{k}" for level in LEVELS for k in concepts}
    expected |= {f"runs_away/{k}" for k in concepts} | {"peaks/1,2", "psd", "converges"}
    assert set(lost.undecided) == expected


def test_precision_rises_only_where_it_has_to(monkeypatch):
    seen = []
    original = followed.follow

    def watched(*given, **more):
        seen.append(flint.ctx.prec)
        return original(*given, **more)

    monkeypatch.setattr(followed, "follow", watched)
    certify(task_of(2, 2), [["1e-6", "1e-6"], ["1e-6", "1e-6"]], "1/100")
    assert seen == [256 * 2**n for n in range(len(seen))]
    assert len(seen) > 1


def test_progress_and_interruption(monkeypatch):
    clock = itertools.count()
    monkeypatch.setattr(followed.time, "monotonic", lambda: next(clock))
    lines = []
    matrix = Scaled([[2, 1], [1, 2]], "1e-6")
    certify(task_of(4, 1), matrix, "1/1000", steps=2000, progress=lines.append)
    assert lines[0] == "step 0, exact"
    assert lines[1] == "step 256, 256 bits"

    def interrupt(line):
        raise KeyboardInterrupt

    before = flint.ctx.prec
    with pytest.raises(KeyboardInterrupt):
        certify(task_of(4, 1), matrix, "1/1000", steps=2000, progress=interrupt)
    assert flint.ctx.prec == before


@pytest.mark.parametrize("dynamics", ["euler", "gd"])
def test_the_checker_accepts(dynamics):
    # The replay in integer arithmetic, which shares no code with certify.
    pytest.importorskip("swingby.verify.certification.replay")
    singular, diagonal = [["1/4", "1/4"], ["1/4", "1/4"]], [["1/3", 0], [0, "1/5"]]
    for W0 in ([["1/4", "1/8"], ["1/8", "1/4"]], singular, diagonal):
        assert certify(task_of(3, 1), W0, "1/20", dynamics).verify() == []


def test_a_run_that_explodes_ends_before_1e100():
    # 2 eta a = 20: digits double in every step. The same last step whatever is asked for, and the
    # printed formula in exact rationals for the last steps it can reach.
    matrix = Scaled([[4, -4], [-4, 4]], "1e-23")
    found = [certify(task_of(5, 1), matrix, 2, steps=steps) for steps in (23, 25, 40, 196)]
    assert [one.steps for one in found] == [23, 23, 23, 23]
    expect(found[-1], 600)
    assert certify(task_of(5, 1), matrix, 2).steps == 20


def rows(first, off, second):
    return [[flint.arb(first), flint.arb(off)], [flint.arb(off), flint.arb(second)]]


def look(watch, step, W, semidefinite=True):
    rest = [1 - W[0][0], 1 - W[1][1]]
    watch.observe(step, W, rest, partial(lambda answer: answer, semidefinite))


#: Short binary fractions are exact balls.
OPEN = {
    "passages/1/2/1": (rows("0.5 +/- 1e-9", "0.015625", "0.0625"), True),
    "peaks/1,2": (rows("0.25", "0.03125 +/- 1e-9", "0.0625"), True),
    "runs_away/2": (rows("0.25", "0.015625", "0 +/- 1e-9"), True),
    "psd": (rows("0.25", "0.015625", "0.0625"), None),
}


@pytest.mark.parametrize("path", OPEN)
def test_an_open_entry_is_doubted_or_noted(path):
    """A ball across a level, a tie, a sign, a pivot: the entry is named, and not filled in."""
    W, semidefinite = OPEN[path]
    for strict in (True, False):
        watch = Watch(((0, 1),), None, (0, 1), frozenset(), watches_psd=True, strict=strict)
        look(watch, 0, rows("0.25", "0.03125", "0.0625"))
        if strict:
            with pytest.raises(Doubt, match=f"^{path}$"):
                look(watch, 1, W, semidefinite)
        else:
            look(watch, 1, W, semidefinite)
            assert watch.undecided == {path}
            assert ("1/2", 0) not in watch.passages
            assert not watch.negative
            assert watch.first_loss is None
        assert watch.peaks[0, 1].step == 0
