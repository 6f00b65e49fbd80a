"""U0 in place of W0: what floats lose of U U^T stays, against 50 digits and exact rationals."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from swingby import InvalidInput, Scaled, SIMTask, SwingbyWarning, check, compare, predict, simulate
from swingby.theory.verdict import Verdict
from tests.forked import FULL
from tests.proofs.certify.reference import printed_step, real

PAIR = SIMTask.from_signal([4, 1])
GAP = 2.0**-27
#: Rows that agree to 7e-9: W(0) has condition 2e17, and rounds to a matrix of rank one.
CLOSE = np.array([[1, 0], [1, GAP]]) * 2.0**-10


def nearly_parallel(gap):
    """Three rows that agree to within `gap`, in no special direction, the slowest concept first."""
    rows = np.array([[1, 2, -1], [1, 2, -1], [1, 2, -1.0]])
    return 1e-3 * (rows + gap * np.array([[0.3, -0.5, 0.8], [0, 0, 0], [-0.7, 0.4, 0.2]]))


def exact_product(U0):
    """U U^T over the rationals."""
    rows = [[Fraction(x) for x in row] for row in U0.tolist()]
    return [[sum(x * y for x, y in zip(p, q, strict=True)) for q in rows] for p in rows]


def half_times_in_50_digits(task, U0, eta, steps):
    """First steps with w_kk >= 1/2 of gradient descent on U."""
    half_times = np.full(task.dim, math.nan)
    with mpmath.workdps(50):
        a, eta = [real(x) for x in task.exact_signal], mpmath.mpf(eta)
        W = [[real(x) for x in row] for row in exact_product(U0)]
        for step in range(steps):
            for k in np.flatnonzero(np.isnan(half_times)):
                if W[k][k] >= 0.5:
                    half_times[k] = step
            W = printed_step("gd", a, eta, W)
    return half_times


@pytest.mark.parametrize(
    ("signal", "U0", "steps"),
    [
        ([4, 1], np.array([[0.6, 0.8], [0.42 - 2.4e-8, 0.56 + 1.8e-8]]) * 1e-3, 1300),
        ([1, 9, 3], nearly_parallel(1e-7), 1300),
    ],
)
def test_half_times_from_U0_are_those_of_the_map_in_50_digits(signal, U0, steps):
    task, eta = SIMTask.from_signal(signal), 0.02
    schedule = predict(task, U0=U0, eta=eta, dynamics="gd")
    expected = half_times_in_50_digits(task, U0, eta, steps)
    assert (schedule.error < 0.03).all()
    assert (np.ceil(schedule.stages.crossing - schedule.error) <= expected).all()
    assert (expected <= np.ceil(schedule.stages.crossing + schedule.error)).all()
    assert schedule.warnings == ()
    # The product in floats does not know, and says so.
    lost = predict(task, U0 @ U0.T, eta=eta, dynamics="gd")
    assert lost.stages.undecided.any() or np.nanmax(lost.error) > 0.1


def test_the_bar_covers_what_rounding_does_to_a_turned_U0():
    # W(0) is that of U0 Q, but for its rounding, which the second row hands on to the third.
    task = SIMTask.from_signal([4, 2, 1])
    U0 = 1e-3 * np.array([[1, 0, 0], [1, 2.0**-41, 0], [0.5, 1, 0.5]])
    schedules = []
    for seed in range(8 if FULL else 4):
        Q, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))
        schedules.append(predict(task, U0=U0 @ Q, eta=0.01, dynamics="flow"))
    exact = predict(task, U0=U0, eta=0.01, dynamics="flow")
    off = np.abs([schedule.stages.crossing - exact.stages.crossing for schedule in schedules])
    assert (off <= [schedule.error for schedule in schedules]).all()
    assert (off[:, 1:].max(axis=0) > 0.005).all()  # more than the integration


@pytest.mark.parametrize("dynamics", ["euler", "gd", "flow"])
def test_U0_and_W0_agree_where_the_matrix_is_well_conditioned(dynamics):
    U0 = np.random.default_rng(1).integers(-8, 9, (3, 5)) * 2.0**-12  # U0 U0^T is exact
    task = SIMTask.from_signal([2, 9, 4])
    first = predict(task, U0=U0, eta=0.005, dynamics=dynamics)
    second = predict(task, U0 @ U0.T, eta=0.005, dynamics=dynamics)
    assert np.allclose(first.stages.crossing, second.stages.crossing, rtol=1e-9)
    assert np.allclose(first.error, second.error, rtol=1e-2)
    t = np.linspace(0, 1000, 7)
    assert np.allclose(first.evaluate(t), second.evaluate(t), rtol=0, atol=1e-9)
    run = simulate(task, U0=U0, eta=0.005, dynamics=dynamics)
    two = simulate(task, U0 @ U0.T, eta=0.005, dynamics=dynamics)
    assert np.array_equal(run.W, two.W)
    assert run.initial.entries == two.initial.entries
    assert str(run) == str(two)


def test_the_pivot_that_the_matrix_loses_decides_whether_concept_2_is_trapped():
    W0 = CLOSE @ CLOSE.T
    assert predict(PAIR, W0, eta=0.01, dynamics="gd").trapped.tolist() == [False, True]
    schedule = predict(PAIR, U0=CLOSE, eta=0.01, dynamics="gd")
    assert schedule.trapped.tolist() == [False, False]
    pivots = [2.0**-20, 2.0**-74]
    assert schedule.stages.log_pivots.tolist() == pytest.approx(np.log(pivots).tolist(), abs=1e-12)


def test_a_pivot_below_the_floats_of_U0_is_undecided_and_none_is_a_trap():
    U0 = [[0.1, 0], [0.1, 0.1 * 2.0**-50]]
    hardly = predict(PAIR, U0=U0, eta=0.01, dynamics="gd")
    assert hardly.stages.undecided.tolist() == [False, True]
    assert math.isinf(hardly.error[1])
    for U0 in ([[1e-3], [2e-3]], [[1e-3, 3e-3], [1e-3, 3e-3]]):
        for dynamics in ("gd", "flow"):
            schedule = predict(PAIR, U0=U0, eta=0.01, dynamics=dynamics)
            assert (schedule.trapped & ~schedule.stages.undecided).tolist() == [False, True]
            run = simulate(PAIR, U0=U0, eta=0.01, dynamics=dynamics)
            assert np.array_equal(run.half_times, schedule.half_times, equal_nan=True)


def test_a_zero_pivot_in_the_middle_takes_nothing_from_the_one_after_it():
    task = SIMTask.from_signal([9, 3, 1])
    U0 = 1e-3 * np.array([[1.0, 0], [2, 0], [1, 1]])
    schedule = predict(task, U0=U0, eta=0.01, dynamics="flow")
    assert schedule.stages.log_pivots.tolist() == pytest.approx(
        [math.log(1e-6), math.nan, math.log(1e-6)], nan_ok=True
    )


@pytest.mark.parametrize(
    "U0", [np.ldexp(CLOSE, -1000), Scaled(CLOSE, Fraction(1, 2**1000))], ids=["floats", "Scaled"]
)
def test_U0_may_be_so_small_that_its_product_underflows(U0):
    schedule = predict(PAIR, U0=U0, eta=0.01, dynamics="flow")
    nearby = predict(PAIR, U0=CLOSE, eta=0.01, dynamics="flow")
    later = 2000 * math.log(2) / (2 * 0.01 * PAIR.signal)
    assert (schedule.error < 0.01).all()
    assert np.allclose(schedule.stages.crossing - nearby.stages.crossing, later, rtol=0, atol=0.01)
    mild = Scaled([[1, 0], [1, 1]], "1e-200")
    table = compare(PAIR, U0=mild, eta=0.01, dynamics="gd")
    assert table.largest_error < 0.01
    assert table.run.initial.entries[1][1] == Fraction(2, 10**400)


def test_compare_shows_what_the_run_has_lost():
    with pytest.warns(SwingbyWarning, match=r"does not resolve the pivot of concept 2: "):
        table = compare(PAIR, U0=CLOSE, eta=0.01, dynamics="gd")
    assert table.schedule.half_times[0] == table.run.half_times[0]
    assert math.isfinite(table.schedule.half_times[1])
    assert np.isnan(table.run.half_times[1])


def test_check_takes_entries_and_pivots_without_a_rounding():
    U0 = np.array([[0.1, 0.7], [0.3, 0.2]])
    exact = exact_product(U0)
    report = check(PAIR, U0=U0, eta="1e-4")
    sizes = [x for row in exact for x in row]
    assert (report.omega, report.beta * report.omega) == (min(sizes), max(sizes))
    assert report.initial.entries == exact
    close = check(PAIR, U0=CLOSE, eta="1e-4", edition="repaired")
    assert close["D.3'"].verdict == Verdict.HOLDS
    lost = check(PAIR, W0=CLOSE @ CLOSE.T, eta="1e-4", edition="repaired")
    assert lost["D.3'"].verdict == Verdict.FAILS
    again = check(PAIR, U0=CLOSE, eta="1e-4", dynamics="gd").schedule
    assert again.trapped.tolist() == [False, False]


PUBLIC = [predict, simulate, compare, check]


@pytest.mark.parametrize("function", PUBLIC)
@pytest.mark.parametrize(
    ("U0", "message"),
    [
        (np.ones(2), r"must have shape \(2, m\), got shape \(2,\) \(W\(0\) = U\(0\) U\(0\)\^T"),
        (np.ones((3, 2)), r"must have shape \(2, m\), got shape \(3, 2\)"),
        (np.ones((2, 2, 2)), r"must have shape \(2, m\), got shape \(2, 2, 2\)"),
        (1.0, r"must have shape \(2, m\), got shape \(\)"),
        (np.ones((2, 0)), r"must not be empty, got an array of shape \(2, 0\)"),
        ([[1, 2], [3]], "must be a rectangular array"),
        ([[1, np.nan], [1, 2]], "must be finite"),
        ([[1, np.inf], [1, 2]], "must be finite"),
        (np.eye(2) * 1j, "must be an array of real numbers"),
        ("factor.npy", "must be an array, not text"),
        ([["1", "2"], ["3", "x"]], "must be a number such as"),
        (np.zeros((2, 3)), r"must not be zero, got zeros of shape \(2, 3\)"),
        (np.eye(2) * 1e200, "must have U0 U0\\^T below 1e300"),
        ([[1, 0], [0, 1e-151]], "must have entries within a factor 1e"),
    ],
)
def test_a_U0_that_is_none_is_refused_by_name(function, U0, message):
    with pytest.raises(InvalidInput, match=rf"U0 {message}"):
        function(PAIR, U0=U0, eta=0.01)


@pytest.mark.parametrize("function", PUBLIC)
def test_exactly_one_start_is_given(function):
    W0 = np.eye(2) * 1e-3
    cases = [
        ({"W0": W0, "U0": W0, "eta": 0.01}, r"W0.*U0"),
        ({"eta": 0.01}, r"W0.* U0"),
        ({"U0": W0}, "eta must be given"),
    ]
    if function in (predict, check):
        cases.append(({"omega": "1e-3", "U0": W0, "eta": 0.01}, r"omega.*U0|U0.*omega"))
    for starts, message in cases:
        with pytest.raises(InvalidInput, match=message):
            function(PAIR, **starts)


def test_each_entry_of_the_start_is_rounded_once():
    U0 = np.random.default_rng(2).standard_normal((4, 9))
    run = simulate(SIMTask.from_signal([4, 3, 2, 1]), U0=U0, eta=1e-9, steps=1, record="none")
    exact = exact_product(U0)
    assert run.W[0].tolist() == [[float(x) for x in row] for row in exact]
    assert run.initial.entries == run.W[0].tolist()  # what it ran from
