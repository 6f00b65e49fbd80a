"""The theorems for gradient descent on U: their numbers, their promises, and proved half-times.

Omega_0 comes from the derivation's own table, half-times from the plain map in floats, in exact
rationals and in balls. ``python -m benchmarks.proved`` does the same on 100,000 instances.
"""

import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest

import swingby
from benchmarks import proved as bench
from swingby.errors import InvalidInput
from swingby.theory import balls
from swingby.theory.repaired import (
    edition_gd,
    scalar_map,
    theorem_g_gd,
    theorem_r_gd,
    theorem_s_gd,
    theorem_two_gd,
)
from swingby.theory.repaired.edition_gd import DescentRange

TWO, TENTH = Fraction(2), Fraction(1, 10)
W_12 = [[2e-6, 1e-6], [1e-6, 2e-6]]


def range_of(signal, y, beta=TWO, rho=TENTH):
    """The range of a signal at eta a_1 = y."""
    signal = tuple(map(Fraction, signal))
    return DescentRange(signal, Fraction(y) / max(signal), beta, rho)


# omega_0


@pytest.mark.parametrize(
    ("signal", "y", "expected"),
    [
        ((4, 1), "1/50", 0.0758),
        ((4, 1), "1/20", 0.0661),
        ((4, 1), "1/10000", 0.0825),
        ((4, 1), "1/5", 0.0283),
        ((2, 1), "1/50", 0.0038),
        ((2, 1), "1/20", 0.003),
        ((16, 1), "1/5", 0.117),
        ((5, 4), "1/50", 4.5e-09),
    ],
)
def test_omega_0_of_two_concepts_is_that_of_the_derivation(signal, y, expected):
    limit = math.exp(range_of(signal, y).limits["two-gd"])
    assert limit == pytest.approx(expected, rel=0.02)  # two digits


@pytest.mark.parametrize(
    ("signal", "at_least"),
    [((16, 4, 1), 3.2e-5), ((64, 16, 4, 1), 2.9e-6), ((4, 2, 1), 1.06e-8), ((9, 3, 1), 5.2e-6)],
)
def test_omega_0_of_many_concepts_is_no_smaller_than_the_derivation_has(signal, at_least):
    """With more values of theta, and (1 + y) for its (1 + 2y), up to twice as large."""
    limit = math.exp(range_of(signal, "1/50").limits["R-gd"])
    assert at_least <= limit < 3 * at_least


def test_as_eta_falls_omega_0_becomes_that_of_the_flow():
    flow = swingby.check((4, 1), "1e-9", "1e-9", 2, "repaired", dynamics="flow").largest_omega
    descent = swingby.check((4, 1), "1e-9", "1e-9", 2, "repaired").largest_omega
    assert float(descent / flow) == pytest.approx(1, abs=1e-6)


def test_a_promise_bounds_omega():
    numbers = (Fraction(1), Fraction(4)), Fraction(1, 200), TWO, TENTH
    late = edition_gd.largest_omega(*numbers, extra=Fraction(1, 2))
    assert float(late) == pytest.approx(0.0092, rel=0.01)  # the derivation's table
    small = edition_gd.largest_omega(*numbers, peak=Fraction(9, 100))
    assert float(small) == pytest.approx(1e-3, rel=0.02)  # .090 at 1e-3 in that table
    assert edition_gd.largest_omega(*numbers) > late
    with pytest.raises(InvalidInput, match="peak"):
        edition_gd.largest_omega(*numbers, peak=Fraction(0))
    assert edition_gd.largest_omega(numbers[0], Fraction(1), TWO, TENTH) is None


SETTINGS = [
    (tuple(2 ** (k * r) for k in range(d))[::-1], y)
    for d, r in ((2, 1), (2, 2), (3, 2), (3, 3), (4, 2))
    for y in ("1/100", "1/20", "1/6", "33/100")
]


@pytest.mark.parametrize(("signal", "y"), SETTINGS)
def test_what_is_covered_at_an_omega_is_covered_below(signal, y):
    """The first repair of the second reading: T_i in place of its ceiling makes this true."""
    limits = range_of(signal, y).limits
    assert limits
    top = max(limits.values())
    numbers = range_of(signal, y)
    for share in np.linspace(0, 3, 60):
        L = top - Fraction(float(share)) - Fraction(1, 10**12)
        two = len(signal) == 2 and limits.get("two-gd", -math.inf) >= L
        assert two or numbers.covered_by_r(L), (signal, y, share)


def test_conditions_see_a_constant_that_is_too_small():
    """Each of E, N and M, taken too small, breaks its condition; a step that is too large too."""
    with balls.precision(256):
        rates = theorem_r_gd.at_precision([Fraction(k, 100) for k in (16, 4, 1)])
        start = theorem_r_gd.of_class(3, TWO, TENTH, Fraction(-14))
        witness = theorem_r_gd.find_witness(rates, start)
        assert theorem_r_gd.holds(rates, start, witness)

        def broken(**changes):
            changed = theorem_r_gd.DescentWitness(**(vars(witness) | changes))
            slacks = theorem_r_gd.conditions(rates, start, changed)
            return {name for name, slack in slacks if not slack > 0}

        rows = witness.log_peaks
        smaller = tuple(tuple(x - Fraction(1, 100) for x in row) for row in rows)
        assert broken(log_peaks=smaller) == {"C4"}
        assert broken(N=tuple(x / 2 for x in witness.N)) >= {"C2"}
        assert broken(M=tuple(x / 2 for x in witness.M)) >= {"C2'"}
        assert broken(theta=Fraction(1, 10**7)) >= {"C0"}
        lopsided = (rows[0], (rows[1][0] + 1, *rows[1][1:]), rows[2])
        assert "range" in broken(log_peaks=lopsided)
        crowded = theorem_r_gd.of_class(3, TWO, TENTH, Fraction(0))
        assert not all(slack > 0 for _, slack in theorem_r_gd.conditions(rates, crowded, witness))
        assert theorem_r_gd.at_precision([Fraction(1, 3)])
        with pytest.raises(InvalidInput, match="eta a_1"):
            theorem_r_gd.at_precision([Fraction(1, 3) + Fraction(1, 10**30)])


def test_o_d_bounds_the_step_of_many_concepts():
    """Repair R9: with the entries of s in its place (64,16,4,1) is covered up to 1/3."""
    assert range_of((64, 16, 4, 1), "33/100").limits
    close = tuple(Fraction(1000 - k) for k in range(9))
    assert not range_of(close, "33/100").limits


# the scalar map


@pytest.mark.parametrize("y", ["1/3", "1/20", "1/500"])
@pytest.mark.parametrize("start", ["2/5", "1/1000", "1e-30", "1e-300"])
def test_a_first_passage_is_that_of_the_map(y, start):
    y, w = Fraction(y), Fraction(start)
    with balls.precision(256):
        xi = (balls.ball(w) / (1 - balls.ball(w))).log()
        zero = balls.ball(0)
    with mpmath.workdps(60):
        value, steps = mpmath.mpf(w.numerator) / w.denominator, 0
        rate = mpmath.mpf(y.numerator) / y.denominator
        while value < 0.5:
            value, steps = value * (1 + rate * (1 - value)) ** 2, steps + 1
            if steps > 40_000:
                pytest.skip("too many steps for mpmath")
    assert scalar_map.first_passage(y, (xi, xi), (zero, zero)) == (steps, steps)


def test_a_wide_start_gives_an_interval():
    with balls.precision(128):
        low, high, zero = balls.ball(Fraction(-9)), balls.ball(Fraction(-7)), balls.ball(0)
    first, last = scalar_map.first_passage(Fraction(1, 20), (low, high), (zero, zero))
    ends = [
        scalar_map.first_passage(Fraction(1, 20), (end, end), (zero, zero))[0]
        for end in (high, low)
    ]
    assert [first, last] == ends


def test_steps_that_take_too_long_are_not_covered():
    with balls.precision(128):
        xi, zero = balls.ball(Fraction(-9)), balls.ball(0)
    assert scalar_map.first_passage(Fraction(1, 10**9), (xi, xi), (zero, zero)) is None


# half-times


def test_the_half_times_of_the_readme_are_theorems():
    schedule = swingby.predict([4, 1], W_12, eta=0.01, proved=True)
    assert schedule.proved.tolist() == [[167, 167], [674, 674]]
    assert schedule.proved.dtype == np.int64
    table = swingby.compare([4, 1], W_12, eta=0.01, proved=True)
    assert table.to_frame().set_index(["entry", "event"]).proved["w_22", "half"] == "674"
    assert "Proved half-times: 2 of 2; the observed lie inside." in str(table)
    open_ = str(swingby.compare([4, 1], [[0.2, 0.1], [0.1, 0.2]], eta=0.12, proved=True))
    assert "Proved half-times: none of 2 is covered by the theorem." in open_
    assert "lie inside" not in open_
    assert "proved" not in swingby.compare([4, 1], W_12, eta=0.01).to_frame()
    assert swingby.predict([4, 1], W_12, eta=0.01).proved is None


def test_the_order_of_the_signal_is_the_users():
    W = np.array([[2.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 4.0]])
    start = swingby.Scaled(W, "1e-20")
    forward = swingby.predict([9, 3, 1], start, eta=0.005, proved=True).proved
    backward = swingby.predict(
        [1, 3, 9], swingby.Scaled(W[::-1, ::-1], "1e-20"), eta=0.005, proved=True
    ).proved
    assert (forward == backward[::-1]).all()


@pytest.mark.parametrize(
    ("signal", "W0", "eta", "words"),
    [
        ((4, 4), W_12, 0.01, "two signals of its block are equal"),
        ((4, 0), W_12, 0.01, "a signal of its block is 0"),
        ((4, 1), W_12, 0.2, "eta a_1 is above 1/3"),
        ((4, 1), [[1e-6, 1e-6], [1e-6, 1e-6]], 0.01, "a pivot of W(0) is not positive"),
        ((4, 1), [[0.5, 0.1], [0.1, 0.2]], 0.01, "at least 1/2"),
        ((4, 3.9), [[0.02, 0.01], [0.01, 0.02]], 0.01, "too large for two-gd"),
        ((4, 2, 1), [[0.2, 0.1, 0], [0.1, 0.2, 0.1], [0, 0.1, 0.2]], 0.01, "have no witness"),
    ],
)
def test_what_no_theorem_covers_says_why(signal, W0, eta, words):
    schedule = swingby.predict(signal, W0, eta=eta, proved=True)
    assert schedule.proved == "not covered"
    assert any(words in text for text in schedule.theorem.theorems)
    assert "not covered" in str(schedule)


def test_blocks_are_runs_of_their_own():
    """Equal signals in two blocks, and a concept alone, which is the scalar map itself."""
    W = [[2e-6, 1e-6, 0], [1e-6, 2e-6, 0], [0, 0, 1e-6]]
    schedule = swingby.predict([4, 1, 4], W, eta=0.01, proved=True)
    observed = swingby.simulate([4, 1, 4], W, eta=0.01).half_times
    assert schedule.proved.tolist() == [[step, step] for step in observed.astype(int)]
    assert schedule.theorem.theorems[2] == "scalar map"


def test_what_cannot_be_proved_is_refused():
    with pytest.raises(InvalidInput, match="dynamics"):
        swingby.predict([4, 1], W_12, eta=0.01, dynamics="euler", proved=True)
    with pytest.raises(InvalidInput, match="dynamics"):
        swingby.compare([4, 1], W_12, eta=0.01, dynamics="flow", proved=True)
    with pytest.raises(InvalidInput, match="proved"):
        swingby.predict([4, 1], omega="1e-8", eta=0.01, proved=True)


def exact_half_times(y, U, most):
    """Half-times of the plain map, with U (d, m) of Fractions."""
    d, times = len(y), {}
    for step in range(most):
        W = U @ U.T
        for k in range(d):
            if W[k, k] >= Fraction(1, 2):
                times.setdefault(k, step)
        if len(times) == d:
            break
        rates = np.array([[(first + second) / 2 for second in y] for first in y])
        U = U + np.array(y)[:, None] * U - (rates * W) @ U
        # Without a rounding the digits would triple in every step.
        U = np.array([[Fraction(round(x * 10**60), 10**60) for x in row] for row in U])
    return [times[k] for k in range(d)]


@pytest.mark.parametrize("seed", range(12))
def test_exact_runs_lie_inside(seed):
    """Rationals rounded to 60 digits in every step, with steps so large that runs are short."""
    rng = np.random.default_rng(seed)
    d = 2 + seed % 2
    y = [Fraction(1, 3), Fraction(1, 12), Fraction(1, 48)][:d]
    U = np.array(
        [[Fraction(int(x), 10**6) for x in row] for row in rng.integers(-300, 300, (d, d))]
    )
    W = U @ U.T
    pivots, diagonal = bench.exact_pivots(W), [W[k, k] for k in range(d)]
    answers = [theorem_s_gd.half_times(y, diagonal, pivots)]
    if d == 2:
        answers.append(theorem_two_gd.half_times(tuple(y), tuple(diagonal), tuple(pivots)))
    times = exact_half_times(y, U, 700)
    intervals = [row for answer in answers if not isinstance(answer, str) for row in [answer]]
    assert intervals
    for answer in intervals:
        for interval, step in zip(answer, times, strict=True):
            assert interval is None or interval[0] <= step <= interval[1]


def test_random_starts_down_to_1e_minus_300():
    """A few of the 500 of the benchmark: covered, nearly all a single step, equal to runs."""
    tally = bench.intervals(25, np.random.default_rng(7), (1.3, 4.0))
    assert tally.outside == tally.disagree == 0
    assert tally.covered >= 0.9 * tally.half_times
    assert tally.single >= 0.8 * tally.covered
    assert tally.certified >= 3


@pytest.mark.parametrize(
    ("measure", "count", "promised"),
    [
        (bench.promises_r, 400, {"peak", "reach", "keep"}),
        (bench.promises_s, 120, {"inside"}),
        (bench.promises_g, 200, {"loss", "norm", "reach"}),
    ],
    ids=["R-gd", "S-gd", "G-gd"],
)
def test_random_instances_keep_every_promise(measure, count, promised):
    tally = measure(count, np.random.default_rng(3))
    assert tally.instances == count
    assert set(tally.slack) == promised
    assert not tally.broken.total(), (tally.broken, tally.slack)


def test_climbing_over_starts_breaks_nothing():
    closest, outside = bench.climb(3, np.random.default_rng(5))
    assert outside == 0
    assert closest >= 0


def test_intervals_of_large_starts_are_wide_and_not_empty():
    """Two concepts are covered up to everyday sizes; one more, and no theorem speaks."""
    W = [[0.02, 0.01], [0.01, 0.02]]
    rows = swingby.predict([4, 1], W, eta=0.0125, proved=True).proved
    observed = swingby.simulate([4, 1], W, eta=0.0125).half_times
    assert (rows[:, 0] <= observed).all()
    assert (observed <= rows[:, 1]).all()
    assert (rows[:, 0] < rows[:, 1]).any()


def test_the_error_of_a_pivot_is_never_above_its_bound():
    """Sum |log p(t+1) - log F(p(t))| up to the half-time against e_i, along runs in floats."""
    rng = np.random.default_rng(2)
    checked = 0
    for _ in range(40):
        d = int(rng.integers(2, 4))
        y = bench.drawn_signal(rng, d, (2.0, 5.0)) * rng.uniform(0.05, 0.3)
        W = 10 ** rng.uniform(-9, -6) * bench.gaussian_start(rng, d, d + 1)
        matrix = np.array([bench.exact(row) for row in W])
        pivots, diagonal = bench.exact_pivots(matrix), [matrix[k, k] for k in range(d)]
        with balls.precision(256):
            rates = theorem_r_gd.at_precision(bench.exact(y))
            start = theorem_r_gd.of_pivots(diagonal, pivots)
            witness = theorem_r_gd.find_witness(rates, start, (Fraction(1, 2),))
            if witness is None:
                continue
            spreads = theorem_s_gd.pivot_errors(rates, start, witness)
        U = np.linalg.cholesky(W)
        totals, done = np.zeros(d), np.zeros(d, dtype=bool)
        p = np.array([float(x) for x in pivots])
        for _ in range(5000):
            W = U @ U.T
            done |= W.diagonal() >= 0.5
            if done.all():
                break
            U = U + y[:, None] * U - (y[:, None] + y) / 2 * W @ U
            new = np.linalg.qr(U.T, mode="r").diagonal() ** 2
            moved = np.abs(np.log(new / (p * (1 + y * (1 - p)) ** 2)))
            totals += np.where(done, 0, moved)
            p = new
        for total, spread in zip(totals, spreads, strict=True):
            if spread is not None:
                checked += 1
                # D is larger than e, in logits.
                assert total <= float(spread[0].upper()) + 1e-9
    assert checked > 20


# G-gd


def test_a_time_to_a_level_is_kept_and_its_range_is_checked():
    matrix = np.array([[Fraction(1, 100), Fraction(1, 200)], [Fraction(1, 200), Fraction(1, 50)]])
    pivots, diagonal = bench.exact_pivots(matrix), [matrix[k, k] for k in range(2)]
    y = [Fraction(1, 20), Fraction(1, 20)]  # a tie
    bound = theorem_g_gd.steps_to(y, diagonal, pivots, Fraction(1, 10), Fraction(1, 2))
    run = bench.plain_runs(np.array([[0.05, 0.05]]), matrix.astype(float)[None], 400)[0][0.5][0]
    assert (run <= np.array(bound)).all()
    assert (run >= 0).all()
    with pytest.raises(InvalidInput, match="eta a_i"):
        theorem_g_gd.steps_to([Fraction(1, 2)] * 2, diagonal, pivots, Fraction(1), Fraction(1, 2))
    with pytest.raises(InvalidInput, match="level"):
        theorem_g_gd.steps_to(y, diagonal, pivots, Fraction(1), Fraction(1))
    with pytest.raises(InvalidInput, match="W0"):
        theorem_g_gd.steps_to(y, [Fraction(1), Fraction(1)], pivots, Fraction(1), Fraction(1, 2))


def test_a_norm_is_bounded_exactly():
    ones = np.array([[Fraction(1), Fraction(1)], [Fraction(1), Fraction(1)]])
    assert theorem_g_gd.norm_is_at_most(ones, Fraction(2))
    assert not theorem_g_gd.norm_is_at_most(ones, Fraction(2) - Fraction(1, 10**30))
    assert theorem_g_gd.norm_is_at_most(ones, Fraction(2) + Fraction(1, 10**30))


# check


def test_a_check_says_which_theorem_applies():
    report = swingby.check([4, 1], W0=W_12, eta=0.01, edition="repaired")
    assert report.holds
    assert [result.id for result in report.results] == ["D.1'", "D.2'", "D.3'", "D.4'"]
    verdicts = {row.theorem: row for row in report.theorems}
    assert list(verdicts) == ["G-gd", "two-gd", "R-gd", "S-gd"]
    assert all(row.verdict == "holds" and row.margin > 0 for row in verdicts.values())
    assert "w_11 167 by two-gd and S-gd, w_22 674 by" in verdicts["S-gd"].reason
    assert [row["theorem"] for row in report.to_dict()["theorems"]] == list(verdicts)
    assert float(report.largest_eta) == pytest.approx(1 / 12)
    # The margin is decades of W(0): at the edge it still applies, beyond it no more.
    edge = 10 ** verdicts["S-gd"].margin
    for factor, holds in ((0.95, True), (1.1, False)):
        W = np.array(W_12) * edge * factor
        again = swingby.check([4, 1], W0=W, eta=0.01, edition="repaired").theorems[-1]
        assert (again.verdict == "holds") == holds


def test_a_margin_of_s_gd_is_positive_where_it_applies():
    for x in (0.118636724, 0.12, 0.2, 0.2499, 0.26):
        W0 = [[2 * x, x], [x, 2 * x]]
        row = swingby.check([16, 1], W0=W0, eta="1/160", edition="repaired").theorems[-1]
        assert (row.verdict == "holds") == (row.margin > 0) == (x < 0.25)


def test_a_first_passage_from_above_the_level_takes_no_steps():
    high, zero = balls.ball(40), balls.ball(0)
    assert scalar_map.first_passage(Fraction(1, 20), (high, high), (zero, zero)) == (0, 0)


def test_the_margin_of_s_gd_counts_no_steps(monkeypatch):
    """Beyond the two half-times of this W(0) it asks for conditions alone."""
    calls, count = [], scalar_map._passage
    monkeypatch.setattr(scalar_map, "_passage", lambda *of: calls.append(1) or count(*of))
    W0 = swingby.Scaled(np.eye(3) + 0.3, "1e-12")
    row = swingby.check([100, 10, 1], W0=W0, eta=1e-4, edition="repaired").theorems[-1]
    assert row.margin > 6
    assert len(calls) <= 12


def test_ties_leave_theorem_g():
    report = swingby.check([4, 4, 1], "1e-6", 0.01, 2, "repaired")
    assert report.failing == ("D.1'", "D.4'")
    assert [str(row.verdict) for row in report.theorems] == ["holds", "fails"]


def test_a_step_that_is_too_large_binds():
    report = swingby.check([4, 1], "1e-6", 0.5, 2, "repaired")
    assert report.failing == ("D.2'", "D.4'")
    assert report.binding == "D.2'"
    assert report.largest_omega is None
    assert next(row.binding for row in report.theorems) == "eta a_1 <= 43/100"


def test_the_largest_eta_covers_and_hardly_more_does():
    signal, omega = (4, 1), Fraction(1, 20)
    eta = Fraction(float(swingby.check(signal, omega, "1/100", 2, "repaired").largest_eta))
    assert swingby.check(signal, omega, eta * Fraction(999, 1000), 2, "repaired").holds
    assert not swingby.check(signal, omega, eta * Fraction(101, 100), 2, "repaired").holds


def test_promises_of_a_check_are_kept_by_a_run():
    report = swingby.check([9, 3, 1], "1e-8", 0.005, 2, "repaired")
    promise = range_of((9, 3, 1), "45/1000").promise(Fraction("1e-8"))
    assert any("Promised by R-gd" in note for note in report.notes)
    W = 1e-8 * (np.diag([1.0, 1.0, 1.0]) + 0.5)
    run = swingby.simulate([9, 3, 1], W, eta=0.005)
    assert (run.first_reach(0.8) <= np.array(promise.reach_by)).all()
    for peak in run.peaks:
        assert math.log(abs(peak.value)) < promise.log_peaks[peak.i, peak.j]


def test_the_rows_of_a_witness_are_in_order():
    promise = range_of((1, 16, 4), "1/20").promise(Fraction("1e-9"))
    assert all(late > early for late, early in pairwise(promise.reach_by[i] for i in (0, 2, 1)))


# a second reading of the formulas: plain loops and mpmath, from the docstrings alone


def logit(w):
    return mpmath.log(w) - mpmath.log1p(-w)


def passage(y, xi, level):
    """n_F(xi; level) in mpmath."""
    w, steps = 1 / (1 + mpmath.exp(-xi)), 0
    while w < level:
        w, steps = w * (1 + y * (1 - w)) ** 2, steps + 1
    return steps


def r_gd_constants(y, b, c, theta, E, N, M):
    """T, X, mu, kappa, Xi, o, H and A of R-gd in floats, for l = 0."""
    d, top = len(y), y[0]
    kappa = 1 + top / 3
    chi = (1 + top - top * kappa / 2) / (1 + top) ** 2 - top
    w = 1 / ((1 - top * kappa) * chi)
    lam = [2 * math.log1p(x) for x in y]
    Z = [math.log(theta / (1 - theta)) + w * (c[i] + N[i]) + M[i] for i in range(d)]
    T = [(Z[i] - math.log(b[i])) / lam[i] + 1 for i in range(d)]
    s = [[(y[i] + y[j]) / 2 for j in range(d)] for i in range(d)]
    cond = [1.0 if i == 0 else 4 * math.exp(c[i] + N[i]) for i in range(d)]
    o = [
        math.sqrt(sum(s[k][m] ** 2 for k in range(i + 1) for m in range(i + 1) if m != k))
        for i in range(d)
    ]
    X, Xi, mu, A = {}, [0.0] * d, {}, {}
    for i in range(d):
        for j in range(i + 1, d):
            X[i, j] = b[j] * math.exp(lam[j] * T[i])
            Xi[i] += X[i, j]
    for i in range(d):
        root, room = math.sqrt(cond[i]), 1 - o[i]
        n = top * root * Xi[i] / room
        for j in range(d):
            hi = top + y[j]
            lo = hi if i == 0 else (y[i] + y[j]) / (1 + y[i])
            mu[i, j] = (hi + lo) / 2 + root * (hi - lo) / 2 + 2 * top * root * o[i] / room
            mu[i, j] += top**2 * cond[i] * Xi[i] / (room**2 * (1 - n))
        for k in range(i):
            log_term = max(0.0, Z[i] + lam[i] - 2 * math.log(E[i][k]))
            A[i, k] = E[i][k] ** 2 / (2 * y[i]) * (1 + y[i]) ** 2 * (1 + log_term)
    return T, X, mu, cond, Xi, o, A, kappa


@pytest.mark.parametrize("seed", range(4))
def test_D_and_epsilon_of_S_gd_are_those_of_plain_loops(seed):
    rng = np.random.default_rng(seed)
    d = 2 + seed % 3
    y = bench.drawn_signal(rng, d, (3.0, 5.0)) * rng.uniform(0.05, 0.3)
    W = 10 ** rng.uniform(-9, -8) * bench.gaussian_start(rng, d, d + 2)
    matrix = np.array([bench.exact(row) for row in W])
    pivots, diagonal = bench.exact_pivots(matrix), [matrix[k, k] for k in range(d)]
    with balls.precision(256):
        rates = theorem_r_gd.at_precision(bench.exact(y))
        start = theorem_r_gd.of_pivots(diagonal, pivots)
        witness = theorem_r_gd.find_witness(rates, start, (Fraction(1, 2),))
        spreads = theorem_s_gd.pivot_errors(rates, start, witness)
    E = [[math.exp(x) for x in row] for row in witness.log_peaks]
    b = [float(x) for x in diagonal]
    logs = [math.log(pi / w) for pi, w in zip(pivots, diagonal, strict=True)]
    c = [-sum(logs[: i + 1]) for i in range(d)]
    N, M = ([float(x) for x in values] for values in (witness.N, witness.M))
    T, X, mu, cond, Xi, o, A, kappa = r_gd_constants(list(y), b, c, 0.5, E, N, M)
    assert all(early <= late for early, late in pairwise(T))
    top, room = y[0], 1 - y[0] * kappa
    for i in range(d):
        plus = {
            (m, j): mu[m, j] + 4 * (m + 1) * top**2 * cond[m] * Xi[m] / (1 - o[m]) ** 2
            for m in range(d)
            for j in range(d)
        }
        e = sum(plus[i, j] * X[i, j] / (2 * y[j]) for j in range(i + 1, d))
        gap = 0.0
        if i:
            h = 0.5 - max(sum(E[k][m] for m in range(i) if m != k) for k in range(i))
            m = top / (room * h) * sum(E[k][j] ** 2 for k in range(i) for j in range(i, d))
            factor = 2 / (room * (1 - m)) + top * kappa / (room * (1 - m)) ** 2
            e += 1.1 * top / room * sum((y[i] + y[k]) * A[i, k] for k in range(i))
            e += sum(plus[i - 1, j] * X[i - 1, j] / (2 * y[j]) for j in range(i, d))
            later = sum(X[i, j] / (2 * y[j]) for j in range(i + 1, d))
            e += top * factor / h * sum(A[i, k] + later for k in range(i))
            e += X[i - 1, i] + 2 * y[i] / h * sum(A[i, k] for k in range(i))
            gap = sum(E[k][i] ** 2 for k in range(i)) / h
        D = e / (1 - 0.5 * (1 + y[i] / 2) ** 2 * math.exp(e))
        assert float(spreads[i][0]) == pytest.approx(D, rel=1e-9)
        assert float(spreads[i][1]) == pytest.approx(gap, rel=1e-9)
        assert gap == 0 or gap < 0.5


def test_the_ends_of_S_gd_are_those_of_the_map():
    """n_F(logit pi + D; 1/2 - epsilon) and n_F(logit pi - D; 1/2), where D and epsilon matter."""
    y = [Fraction(1, 40), Fraction(1, 160)]
    x = Fraction(44, 10**5)  # without epsilon the interval of concept 2 begins three steps later
    matrix = np.array([[x, x * Fraction(7, 10)], [x * Fraction(7, 10), x]])
    pivots, diagonal = bench.exact_pivots(matrix), [matrix[k, k] for k in range(2)]
    with balls.precision(256):
        rates = theorem_r_gd.at_precision(y)
        start = theorem_r_gd.of_pivots(diagonal, pivots)
        witness = theorem_r_gd.find_witness(rates, start, (Fraction(1, 2),))
        spreads = theorem_s_gd.pivot_errors(rates, start, witness)
    intervals = theorem_s_gd.half_times(y, diagonal, pivots)
    widths = []
    for rate, pi, spread, interval in zip(y, pivots, spreads, intervals, strict=True):
        if spread is None:
            continue
        D, gap = (mpmath.mpf(float(x)) for x in spread)
        rate, xi = mpmath.mpf(float(rate)), logit(mpmath.mpf(float(pi)))
        ends = passage(rate, xi + D, mpmath.mpf(0.5) - gap), passage(rate, xi - D, mpmath.mpf(0.5))
        assert interval == ends
        widths.append(ends[1] - ends[0])
    assert max(widths) > 0


@pytest.mark.parametrize(
    "sizes", [(".02", ".01", ".03"), (".001", ".0005", ".002"), (".1", ".02", ".1")]
)
@pytest.mark.parametrize("rates", [("1/20", "1/80"), ("1/4", "1/25"), ("1/40", "1/100")])
def test_the_ends_of_two_gd_are_those_of_quadrature(sizes, rates):
    """e and e_2 by mpmath's quadrature, and first passages of the map from them."""
    x, w, z = (Fraction(size) for size in sizes)
    first, second = (Fraction(rate) for rate in rates)
    p = z - w * w / x
    intervals = theorem_two_gd.half_times((first, second), (x, z), (x, p))
    y, ry, x, w, p = (mpmath.mpf(n.numerator) / n.denominator for n in (first, second, x, w, p))
    r, s = ry / y, (y + ry) / 2
    lam = 2 * mpmath.log1p(y)
    ratio, nu = mpmath.log1p(ry) / mpmath.log1p(y), (1 - r) / 2 * (1 - 2 * y) / (1 - y)
    k = w**2 / (x ** (1 + ratio) * (1 - x) ** nu)

    def E(theta):
        return 2 * s * k / ((1 - 2 * y) * lam) * theta**ratio * (1 - theta) ** (nu - 1)

    half = mpmath.mpf(1) / 2
    integral = mpmath.quad(lambda t: t ** (ratio - 1) * (1 - t) ** (nu - 2), [x, half])
    e = 2 * s * k / ((1 - 2 * y) * lam * (1 - E(half))) * integral
    expected = (passage(y, logit(x), half), passage(y, logit(x) - e, half))
    assert intervals[0] == (expected if E(half) < 1 else None)
    top = ratio / (ratio + nu)
    ph = top**ratio * (1 - top) ** nu
    ub, sig = k * ph, (y * (1 - r) / 2 + s * r * y) / (1 - s)
    F = half * (1 + ry / 2) ** 2
    c, eb = F / (1 - F), (1 + ub * sig) ** 2 - 1
    sums = []
    for t in map(mpmath.mpf, (".5", ".6", ".7", ".8", ".85", ".9", ".95", ".98")):
        if E(t) < 1 and s * t > ry and y <= t / 2:
            whole = mpmath.quad(lambda v: v ** (ratio - 1) * (1 - v) ** (nu - 1), [0, t / 100, t])
            sums.append(whole / (lam * (1 - E(t))) + 2 * ph + ph / (1 - (1 + ry - s * t) ** 2))
    if not (sums and ub < half and c * eb < 1):
        assert intervals[1] is None
        return
    e_2 = (2 * sig + sig**2 * ub) * (1 + c / (1 - c * eb)) * k * min(sums)
    early = passage(ry, logit(p) + e_2, half - ub)
    assert intervals[1] == (early, passage(ry, logit(p), half))


@pytest.mark.parametrize("y", ["1/3", "1/20"])
def test_the_linear_phase_of_the_map_is_enclosed(y):
    """After so many steps that the sum of [0.3] is no longer small."""
    rate = Fraction(y)
    with balls.precision(192):
        start = balls.ball(Fraction(-40))
        steps, xi = scalar_map._linear_phase(balls.ball(rate), start, 5)
        linear = start + steps * scalar_map.growth(balls.ball(rate))
    with mpmath.workdps(50):
        w, y = 1 / (1 + mpmath.exp(40)), mpmath.mpf(rate.numerator) / rate.denominator
        for _ in range(steps):
            w = w * (1 + y * (1 - w)) ** 2
        true = balls.of_midpoint(logit(w))
    assert steps > 50
    assert xi.contains(true)
    assert true > linear.upper() + flint_power(-12)


def flint_power(exponent):
    return balls.ball(Fraction(2) ** exponent)
