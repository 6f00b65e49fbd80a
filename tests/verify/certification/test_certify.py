"""certify against closed forms and theory; test_replay.py has the second implementation."""

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
from swingby.verify.certification.events import Doubt, Watch
from swingby.verify.certify import LOOK, Telling, certify, first_steps, follow_in_balls, read_given

LEVELS = ("1/10", "1/2", "4/5", "99/100")


def inside(value, enclosure):
    return mpmath.mpf(enclosure.lower) <= value <= mpmath.mpf(enclosure.upper)


def task_of(*signal):
    return SIMTask.from_signal(signal)


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
    original = verb.follow

    def watched(*given, **more):
        seen.append(flint.ctx.prec)
        return original(*given, **more)

    monkeypatch.setattr(verb, "follow", watched)
    certify(task_of(2, 2), [["1e-6", "1e-6"], ["1e-6", "1e-6"]], "1/100")
    assert seen == [256 * 2**n for n in range(len(seen))]
    assert len(seen) > 1


def test_progress_and_interruption(monkeypatch):
    clock = itertools.count()
    monkeypatch.setattr(verb.time, "monotonic", lambda: next(clock))
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


def test_a_run_that_explodes_ends_before_1e100():
    # 2 eta a = 20: digits double in every step. The same last step whatever is asked for.
    matrix = Scaled([[4, -4], [-4, 4]], "1e-23")
    found = [certify(task_of(5, 1), matrix, 2, steps=steps) for steps in (23, 25, 40, 196)]
    assert [one.steps for one in found] == [23, 23, 23, 23]
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


def logistic(w, eta, steps):
    """(D.2) of one concept alone, exactly."""
    for _ in range(steps):
        w += 2 * eta * w * (1 - w)
    return w


@pytest.mark.parametrize(
    ("steps", "last"),
    # By hand, with eta a = 1: -1, -5, -65, -8645, and then about -1.5e8, past 10^6. With a
    # number of steps the limit is 10^100.
    [(None, 3), (3, 3), (4, 4)],
)
def test_a_run_that_leaves_the_range_in_exact_steps_needs_no_bits(steps, last):
    certificate = certify(task_of(1), [[-1]], 1, steps=steps)
    assert certificate.steps == last
    assert certificate.bits is None
    assert "decided with" not in str(certificate)
    (end,) = certificate.end[0]
    exact = logistic(Fraction(-1), 1, last)
    assert Fraction(end.lower) <= exact <= Fraction(end.upper)
    assert [away.step for away in certificate.runs_away] == [0]
    assert certificate.undecided == ()


def in_balls(bits, steps=None):
    given = read_given(task_of(1), [["1e-9"]], "1/10", "euler", steps)
    with flint.ctx.workprec(bits):
        start, finished = first_steps(given, Telling(None))
        assert not finished
        return follow_in_balls(given, start, bits, strict=False, tell=Telling(None))


def test_balls_that_are_wide_between_two_looks_do_not_end_a_run():
    # With 16 bits w is known to less than a thousandth around step 115, where it rises; the map
    # contracts near 1, so that it is known again long before the next look.
    coarse = in_balls(16)
    fine = in_balls(256)
    assert fine.watch.undecided == set()
    for (name, k), reached in fine.watch.passages.items():
        path = f"passages/{name}/{k + 1}"
        found = coarse.watch.passages.get((name, k))
        # A level in the wide part may be open, but what is decided is right.
        assert path in coarse.watch.undecided if found is None else found.step == reached.step
    assert coarse.watch.passages["99/100", 0].step < LOOK
    assert abs(coarse.W[0][0] - 1) < 1e-3
