"""What certify takes, its balls and its lemma; test_replay.py has the second implementation."""

import itertools
from fractions import Fraction
from functools import partial

import flint
import mpmath
import numpy as np
import pytest
import sympy

from swingby.errors import InvalidInput
from swingby.proofs.certify import certify as verb
from swingby.proofs.certify.ball_run import exactly_semidefinite, follow, semidefinite_in_balls
from swingby.proofs.certify.certify import certify
from swingby.proofs.certify.events import Doubt, Watch
from swingby.proofs.certify.neighbourhood import neighbourhood
from swingby.simulate.run import simulate
from swingby.theory.balls import ball
from swingby.theory.initial import Initial, Scaled
from swingby.theory.task import SIMTask
from tests.proofs.certify.reference import LEVELS, printed_step


def task_of(*signal):
    return SIMTask.from_signal(signal)


@pytest.mark.parametrize("dynamics", ["euler", "gd"])
def test_omega_far_below_the_float_range(dynamics):
    # Linear growth from 2e-1000 to about 1/2 takes log(2.5e999)/g steps; the float kernels, which
    # keep the scale apart, see the same steps.
    matrix = Scaled([[2, 1], [1, 2]], "1e-1000")
    certificate = certify(task_of(4, 1), matrix, "1/20", dynamics)
    run = simulate(task_of(4, 1), matrix, "1/20", certificate.steps, dynamics)
    for level in LEVELS:
        steps = [passage.step for passage in certificate.passages[level]]
        observed = run.first_reach(float(Fraction(level)))
        assert steps == [None if np.isnan(time) else int(time) for time in observed]
    first = mpmath.log(mpmath.mpf("5e999")) / mpmath.log(1.4 if dynamics == "euler" else 1.44)
    assert abs(certificate.half_times[0] - first) < 10
    assert certificate.to_dict()["W0"][0][0] == f"1/{5 * 10**999}"


def test_numbers_of_more_than_4300_digits():
    certificate = certify(
        task_of(4, 1), Scaled([[2, 1], [1, 2]], "1e-5000"), "1/20", steps=30, dynamics="euler"
    )
    assert certificate.end[0][0].lower.endswith("e-4996")
    assert len(certificate.to_dict()["W0"][0][1]) == 5003


def test_what_is_open_is_named_by_concept_and_level(monkeypatch):
    # Concept 3 is apart: its entries with the others are 0, whatever the bits.
    apart = Scaled([[2, 1, 0], [1, 2, 0], [0, 0, 1]], "1e-6")
    block = ("end/1,1", "end/1,2", "end/2,1", "end/2,2", "end/3,3")
    monkeypatch.setattr(verb, "PRECISIONS", (24,))
    early = certify(task_of(4, 2, 1), apart, "1/50", steps=20, dynamics="euler")
    assert early.undecided == (*block, "peaks/1,2")
    assert early.end[0][2].lower == early.end[0][2].upper == "0"
    # Stage 1 is at step 88 and stage 2 at 177 (ln(1/2e-6)/ln(1.16) and ln(1/1.5e-6)/ln(1.08)).
    later = certify(task_of(4, 2, 1), apart, "1/50", steps=140, dynamics="euler")
    first = tuple(f"passages/{level}/1" for level in ("1/10", "1/2", "4/5", "99/100"))
    assert later.undecided == (*block, *first, "peaks/1,2")
    # 8 bits are lost within the run: everything that could still have happened is open.
    monkeypatch.setattr(verb, "PRECISIONS", (8,))
    lost = certify(task_of(4, 2, 1), apart, "1/50", steps=140, dynamics="euler")
    concepts = range(1, 4)
    expected = {f"end/{i},{j}" for i in concepts for j in concepts}
    expected |= {f"passages/{level}/{k}" for level in LEVELS for k in concepts}
    expected |= {f"runs_away/{k}" for k in concepts} | {"peaks/1,2", "psd", "converges"}
    assert set(lost.undecided) == expected


def test_precision_rises_only_where_it_has_to(monkeypatch):
    precisions = []
    original = verb.follow

    def watched(*given, **more):
        precisions.append(flint.ctx.prec)
        return original(*given, **more)

    monkeypatch.setattr(verb, "follow", watched)
    certify(task_of(2, 2), [["1e-6", "1e-6"], ["1e-6", "1e-6"]], "1/100", dynamics="euler")
    assert precisions == [256 * 2**n for n in range(len(precisions))]
    assert len(precisions) > 1


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
        certify(task_of(4, 1), matrix, "1/1000", steps=2000, progress=interrupt, dynamics="euler")
    assert flint.ctx.prec == before


def test_a_run_that_explodes_ends_before_1e100():
    # 2 eta a = 20: digits double in every step. The same last step whatever is asked for.
    matrix = Scaled([[4, -4], [-4, 4]], "1e-23")
    certificates = [
        certify(task_of(5, 1), matrix, 2, steps=steps, dynamics="euler")
        for steps in (23, 25, 40, 196)
    ]
    assert [certificate.steps for certificate in certificates] == [23, 23, 23, 23]
    assert certify(task_of(5, 1), matrix, 2, dynamics="euler").steps == 20


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
    certificate = certify(task_of(1), [[-1]], 1, steps=steps, dynamics="euler")
    assert certificate.steps == last
    assert certificate.bits is None
    assert "decided with" not in str(certificate)
    (end,) = certificate.end[0]
    exact = logistic(Fraction(-1), 1, last)
    assert Fraction(end.lower) <= exact <= Fraction(end.upper)
    assert [away.step for away in certificate.runs_away] == [0]
    assert certificate.undecided == ()


def test_floats_are_binary_numbers_and_symmetrised():
    third = 1 / 3
    certificate = certify(
        task_of(2, 1), [[0.5, third], [np.nextafter(third, 1), 0.5]], 0.1, steps=0, dynamics="euler"
    )
    exact = Initial(np.array([[0.5, third], [np.nextafter(third, 1), 0.5]]), Fraction(1))
    mean = (exact.matrix[0, 1] + exact.matrix[1, 0]) / 2
    assert certificate.W0[0][1] == Fraction(mean)
    assert certificate.eta == Fraction(0.1)
    assert certify(task_of(2, 1), [[1, 0], [0, 1]], "1/10", steps=0).W0[0][0] == 1
    big = 2**53 + 1
    assert certify(task_of(2, 1), [[big, 0], [0, 1]], "1/10", steps=0).W0[0][0] == big
    assert certify(task_of(1), [[mpmath.mpf(0.25)]], "1/10", steps=0).W0[0][0] == Fraction(1, 4)


GOOD = [["1/4", "1/8"], ["1/8", "1/4"]]
BAD = {
    "task": ["task"],
    "W0": [
        *([["1/4", "1/8"], ["1/9", "1/4"]], [[0.25, 0.1], [0.2, 0.25]]),
        *([[0.25, float("nan")], [float("nan"), 0.25]], [["1/4", "x"], ["x", "1/4"]]),
        *([[True, "0"], ["0", True]], [["1/4"]], [["1/4", 0.1], ["1/8"]], [[0.25, 0.1], [0.1]]),
        *([[0, 0], [0, 0]], [["0", "0"], ["0", "0"]], [["1e301", "0"], ["0", "1"]], [], [[], []]),
        *(None, 3, "text", [1, 2], ["ab", "ab"], {1: 2}, np.zeros((2, 2, 2))),
        *(np.array([[1j, 0], [0, 1]]), Scaled(np.eye(3), 1), Initial(np.eye(3), Fraction(1))),
    ],
    "eta": [0, -1, float("inf"), "text", None, True],
    "dynamics": ["flow", "adam", None, ["gd"]],
    "steps": [-1, 1.5, True, "many"],
    "progress": [3],
}


@pytest.mark.parametrize("name", BAD)
def test_bad_calls_name_the_argument(name):
    good = {"task": task_of(2, 1), "W0": GOOD, "eta": "1/10", "steps": 3}
    for wrong in BAD[name]:
        with pytest.raises(InvalidInput, match=name):
            certify(**{**good, name: wrong})
    with pytest.raises(InvalidInput, match="W0"):
        certify(**{**good, "W0": [["1/4", "1/2"], ["1/2", "1/4"]]}, dynamics="gd")
    with pytest.raises(InvalidInput, match="task"):
        certify(SIMTask.from_signal([1] * 7), np.eye(7), "1/10")


def test_balls_stay_narrow_at_the_fixed_point():
    # Without x = 1 - w_ii the radius would grow by exp(6 a_1 eta) in every step.
    start_value = [[Fraction(1, 10)]]
    with flint.ctx.workprec(128):
        *_, last = follow((Fraction(3),), start_value, Fraction(1, 100), "euler", 5000)
        assert last.is_sound
        assert last.W[0][0].rel_accuracy_bits() > 100
        assert float(last.rest[0]) < 1e-100


def test_semidefinite_agrees_with_sympy():
    rng = np.random.default_rng(3)
    for _ in range(60):
        d = int(rng.integers(1, 5))
        M = rng.integers(-2, 3, (d, int(rng.integers(1, d + 1))))
        W = (M @ M.T - int(rng.integers(0, 2)) * np.diag(rng.integers(0, 2, d))).tolist()
        expected = sympy.Matrix(W).is_positive_semidefinite
        rows = [[flint.fmpq(entry) for entry in row] for row in W]
        assert exactly_semidefinite(rows, range(d)) == expected
        answer = semidefinite_in_balls([[flint.arb(entry) for entry in row] for row in W], range(d))
        assert answer in (None, expected)
        assert answer or sympy.Matrix(W).det() == 0 or not expected


def test_an_entry_that_may_be_zero_is_eliminated():
    # Entries of 0 +- 1/2 between pivots of 1 and 1/10: some of these matrices are not semidefinite.
    open_entry = flint.arb(0, 0.5)
    W = [[flint.arb(1), open_entry], [open_entry, flint.arb("0.1")]]
    assert semidefinite_in_balls(W, range(2)) is None


def norm(M):
    """A ball around the norm of Frobenius of rows of fractions."""
    return ball(sum(entry * entry for row in M for entry in row)).sqrt()


@pytest.mark.parametrize("dynamics", ["euler", "gd"])
def test_one_step_obeys_the_lemma(dynamics):
    # Random rationals in balls of 100 bits: the bound for any E, the rate inside the radius.
    rng = np.random.default_rng(5)
    tight = 0.0
    with flint.ctx.workprec(100):
        for _ in range(150):
            d = int(rng.integers(1, 5))
            signal = [Fraction(int(n), 7) for n in rng.integers(1, 20, d)]
            eta = Fraction(int(rng.integers(1, 60)), 100) / max(signal)
            size = Fraction(int(rng.integers(1, 100)), 100)
            E = rng.integers(-9, 10, (d, d))
            E = (E + E.T).tolist()
            if rng.integers(0, 2):
                E = [[E[i][j] if i == j == d - 1 else 0 for j in range(d)] for i in range(d)]
            if not any(map(any, E)):
                continue
            lemma = neighbourhood(signal, eta, dynamics)
            rho = max(abs(1 - 2 * eta * min(signal)), abs(1 - 2 * eta * max(signal)))
            assert (lemma is None) == (rho >= 1)
            if lemma is None:
                continue
            assert 0 < lemma.radius <= Fraction(1, 2)
            assert lemma.rate == (1 + rho) / 2
            # E scaled to `size` times the radius, rounded down by using an upper bound of its norm.
            bound = Fraction(float(norm(E).upper())) * Fraction(1001, 1000)
            E = [[x * size * lemma.radius / bound for x in row] for row in E]
            W = [[x + (i == j) for j, x in enumerate(row)] for i, row in enumerate(E)]
            after = printed_step(dynamics, signal, eta, W)
            after = [[x - (i == j) for j, x in enumerate(row)] for i, row in enumerate(after)]
            e, y = norm(E), ball(eta * max(signal))
            allowed = ball(rho) * e + 2 * y * e * e
            if dynamics == "gd":
                allowed += y * y * e * e * (1 + e)
            slack = flint.arb(2) ** -80
            assert norm(after) <= allowed + slack
            assert norm(after) <= ball(lemma.rate) * e + slack
            tight = max(tight, float(norm(after) / (ball(lemma.rate) * e)))
    # The rate is nearly attained, so a rate that is too small would be noticed.
    assert tight > 0.97


def test_no_neighbourhood_without_signal_or_with_too_large_a_step():
    assert neighbourhood([Fraction(1), Fraction(0)], Fraction(1, 10), "euler") is None
    assert neighbourhood([Fraction(1)], Fraction(1), "gd") is None
    # rho = |1 - 2 (3/4)| = 1/2, R = (1/2) / (4 (3/4)) = 1/6, and 1/6 / (7/4) for gd.
    assert neighbourhood([Fraction(3)], Fraction(1, 4), "euler") == (Fraction(1, 6), Fraction(3, 4))
    assert neighbourhood([Fraction(3)], Fraction(1, 4), "gd")[0] == Fraction(2, 21)
