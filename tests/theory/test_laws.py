"""The laws as expressions: derived symbolically, and held against the functions in floats.

A float may differ from the ball by the roundings that its formula makes: u = 2^-53 per operation,
and 4 u (two units in the last place) per log, exp or log1p, each times what the formula makes of
it. The bounds below count these; random points cover signals over nine decades and omega down to
exp(-1e6).
"""

import math
from fractions import Fraction

import flint
import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from swingby.errors import InvalidInput
from swingby.simulate.plain import euler_step, gd_step
from swingby.theory import balls, laws, lemmas
from swingby.theory.growth import growth_rates
from swingby.theory.initial import Scaled, initial_matrix
from swingby.theory.law import UNITS
from swingby.theory.lemmas import Scale
from swingby.theory.odds import logistic
from swingby.theory.one_layer import one_layer_output
from swingby.theory.stages import stage_law
from swingby.theory.task import SIMTask

U = Fraction(1, 2**53)
POSITIVE = st.floats(1e-4, 1e5)
STEP = st.floats(1e-9, 0.5)


def off(value, law, given):
    """Distance of a float from the value of a law at exact floats, as a ball."""
    with flint.ctx.workprec(256):
        return abs(balls.ball(Fraction(float(value))) - laws.evaluate(law, given))


def within(value, law, given, bound):
    with flint.ctx.workprec(256):
        assert laws.evaluate(law, given).is_finite()
        return bool(off(value, law, given) <= balls.ball(Fraction(bound)))


def size(law, given):
    with flint.ctx.workprec(256):
        value = abs(laws.evaluate(law, given))
        assert value.is_finite()
        return Fraction(float(value.upper())) * (1 + 4 * U)


# What the laws say, derived.


def test_the_logistic_curve_solves_its_equation_and_the_minor_curve_too():
    # The flow with one concept being learned: (4.3) with the other entries left out.
    a_k, a_j, tau, M = laws.a_k, laws.a_j, laws.tau, laws.M
    rates = {laws.g_kk: 2 * a_k, laws.g_kj: a_k + a_j}
    w = laws.LOGISTIC.expression.subs({laws.log_x: 0, laws.t: tau}).subs(rates)
    assert sympy.simplify(sympy.diff(w, tau) - 2 * a_k * w * (1 - w)) == 0
    minor = laws.MINOR.expression.subs(rates)
    slope = sympy.diff(minor, tau) / minor - ((a_k + a_j) - (3 * a_k + a_j) / 2 * w)
    assert sympy.simplify(slope) == 0
    assert sympy.simplify(minor.subs(tau, 0) / M - 2 ** (-(3 * a_k + a_j) / (4 * a_k))) == 0


def test_the_minor_equation_is_that_of_the_flow():
    # [0.1] of Theorem R with only w_kk and w_kj: the factor 3 a_k + a_j over 2.
    a = sympy.diag(laws.a_k, laws.a_j)
    small, w = sympy.symbols("small w")
    W = sympy.Matrix([[w, small], [small, 0]])
    B = a - (a * W + W * a) / 2
    rate = (B * W + W * B)[0, 1]
    expected = small * ((laws.a_k + laws.a_j) - (3 * laws.a_k + laws.a_j) / 2 * w)
    linear = sympy.diff(sympy.expand(rate), small).subs(small, 0) * small
    assert sympy.expand(linear - expected) == 0


def test_the_peak_is_where_the_curve_is_level():
    a_k, a_j = Fraction(4), Fraction(3, 2)
    with flint.ctx.workprec(300):
        given = {"a_k": a_k, "a_j": a_j, "eta": "1/100", "M_kj": "1/1000"}
        rates = {"g_kk": 2 * a_k / 100, "g_kj": (a_k + a_j) / 100}
        time = laws.evaluate(laws.PEAK_TIME, given)
        level = laws.evaluate(laws.PEAK_LEVEL, given)
        reached = laws.evaluate(laws.LOGISTIC, {**rates, "log x_k": 0, "t": time})
        height = laws.evaluate(laws.PEAK, given)
        curve = laws.evaluate(laws.MINOR, {**given, **rates, "tau": time})
        assert reached.overlaps(level)
        assert float((reached - level).abs_upper()) < 1e-80
        assert curve.overlaps(height)
        for shift in (Fraction(-1, 10), Fraction(1, 10)):
            near = laws.evaluate(laws.MINOR, {**given, **rates, "tau": time + balls.ball(shift)})
            assert near < height


def test_the_level_time_is_where_the_curve_has_that_level():
    with flint.ctx.workprec(300):
        given = {"log x_k": -1000, "g_kk": "1/7"}
        time = laws.evaluate(laws.LEVEL_TIME, {**given, "theta": "9/10"})
        reached = laws.evaluate(laws.LOGISTIC, {**given, "t": time})
        assert float((reached - balls.ball(Fraction(9, 10))).abs_upper()) < 1e-80
        half = laws.evaluate(laws.LEVEL_TIME, {**given, "theta": "1/2"})
        assert half.overlaps(laws.evaluate(laws.HALF_TIME, given))
        assert laws.evaluate(laws.HALF_TIME, given).contains(7000)


def test_the_logistic_map_is_one_step_of_a_single_entry():
    a, eta, w = 1.5, 0.125, 0.375
    given = {"a_k": a, "eta": eta, "w_kk": w}
    start, A = np.array([[w]]), np.array([[a]])
    for name, step in (("euler", euler_step), ("gd", gd_step)):
        grown = float(laws.evaluate(laws.LOGISTIC_MAP[name], given).exp()) * w
        assert grown == pytest.approx(step(start, A, eta)[0, 0], rel=1e-14)
    odds = w / (1 - w) * math.exp(2 * eta * a)
    flow = float(laws.evaluate(laws.LOGISTIC_MAP["flow"], given).exp()) * w
    assert flow == pytest.approx(odds / (1 + odds), rel=1e-14)


def test_the_growth_of_a_small_entry_is_the_limit_of_the_logistic_map():
    a, eta = laws.a_k, laws.eta
    for name in ("euler", "gd", "flow"):
        small = laws.LOGISTIC_MAP[name].expression.subs(laws.w, 0)
        pair = laws.GROWTH[name].expression.subs({laws.a_i: a, laws.a_j: a})
        assert sympy.simplify(sympy.expand_log(small, force=True) - pair) == 0
        assert eta in pair.free_symbols


# The same laws in floats.


@given(POSITIVE, POSITIVE, STEP)
def test_growth_rates_are_the_growth_laws_to_rounding(a_i, a_j, step):
    # euler and gd: at most 3 roundings before log1p, which does not amplify a relative error.
    values = {"a_i": a_i, "a_j": a_j, "eta": step}
    for name, law in laws.GROWTH.items():
        found = growth_rates(np.array([a_i, a_j]), step, name)[0, 1]
        assert within(found, law, values, 12 * U * size(law, values))


@given(st.floats(-1e6, -1), POSITIVE, st.floats(1e-6, 1 - 1e-6))
def test_level_times_and_curves_in_floats(log_x, g_kk, level):
    values = {"log x_k": log_x, "g_kk": g_kk, "theta": level}
    time = (math.log(level / (1 - level)) - log_x) / g_kk
    odds = math.log(level / (1 - level))
    # The quotient inside the logarithm is off by 3 u, in units of 1.
    bound = (8 * U + 8 * U * Fraction(abs(odds)) + 4 * U * Fraction(abs(log_x))) / Fraction(g_kk)
    assert within(time, laws.LEVEL_TIME, values, bound)
    for t in (0.0, 0.5 * time, time, 1.01 * time):
        y = log_x + g_kk * t
        found = float(logistic(np.array(y)))
        # An error of y moves the value by a quarter of it at most, relative to itself by all of it.
        shift = 4 * U * (Fraction(abs(log_x)) + Fraction(g_kk) * Fraction(abs(t)))
        given_t = {**values, "t": t}
        if y > -700:
            bound = (8 * U + 2 * shift) * size(laws.LOGISTIC, given_t)
            assert within(found, laws.LOGISTIC, given_t, bound)


@given(
    st.lists(st.floats(1.3, 9), min_size=1, max_size=3),
    st.sampled_from(["1", "1e-30", "1e-300", "1e-400", "1e-30000"]),
    st.sampled_from(["euler", "gd", "flow"]),
    st.floats(1e-5, 1e-2),
)
def test_the_plain_law_of_stages_is_the_half_time_law(ratios, omega, dynamics, step):
    signal = np.cumprod([0.5, *ratios])[::-1]
    task = SIMTask.from_signal(signal)
    start = initial_matrix(Scaled(np.diag(np.full(len(signal), 0.01)), omega), len(signal))
    found = stage_law(task, start, Fraction(step), dynamics, sweeps=0)
    for k, a in enumerate(signal):
        growth = {"a_i": float(a), "a_j": float(a), "eta": step}
        with flint.ctx.workprec(256):
            rate = laws.evaluate(laws.GROWTH[dynamics], growth)
        log_x = float(found.leading.log_odds[k])
        values = {"log x_k": log_x, "g_kk": rate}
        time = -log_x / found.leading.growth[k, k]
        assert within(time, laws.HALF_TIME, values, 20 * U * size(laws.HALF_TIME, values))
        if dynamics == "flow":
            # Under the flow nothing is added to it.
            bound = 24 * U * size(laws.HALF_TIME, values)
            assert within(found.crossing[k], laws.HALF_TIME, values, bound)


def test_pivots_of_a_tiny_diagonal_matrix_are_its_entries():
    # omega down to 1e-30000: the logarithm of 0.01 omega, to rounding.
    for exponent in (1, 300, 400, 30000):
        task = SIMTask.from_signal([4, 1])
        start = initial_matrix(Scaled(np.eye(2) / 128 + 1e-9, f"1e-{exponent}"), 2)
        found = stage_law(task, start, Fraction(1, 100), "flow", sweeps=0)
        with flint.ctx.workprec(256):
            entry = Fraction(start.matrix[0, 0])
            exact = balls.ball(entry).log() - exponent * flint.arb(10).log()
            if exponent == 1:
                # Odds, not entries: log(w/(1 - w)) of the first concept, up to w_12^2 = 1e-20.
                exact -= (1 - balls.ball(entry / 10)).log()
            gap = abs(balls.ball(Fraction(float(found.leading.log_odds[0]))) - exact)
            assert gap < 1e-14 * (exponent + 10)


SCALES = st.builds(
    Scale,
    log_P=st.floats(0.7, 1e6),
    log_beta=st.floats(0, 50),
    log_omega=st.floats(-3e6, -1e6),
    kappa=st.floats(1.1, 11),
    K=st.floats(20, 1000),
    alpha=POSITIVE,
    gamma=st.floats(1, 1e4),
    eta=STEP,
)


def letters(scale):
    names = ("log_P", "log_beta", "log_omega", "kappa", "K", "alpha", "gamma", "eta")
    return {name: getattr(scale, name) for name in names}


@given(SCALES, POSITIVE, st.floats(-3e6, -1e6), st.floats(0.01, 0.9))
def test_the_windows_in_floats_are_the_laws_to_rounding(scale, a_i, log_start, level):
    values = letters(scale) | {"a_i": a_i, "log_start": log_start, "lambda": level}
    found = lemmas.initial_phase_end(scale)
    law = laws.INITIAL_PHASE_END
    assert within(found, law, values, 8 * U * size(law, values))
    rate = 2 * scale.eta * scale.gamma * scale.alpha * scale.kappa
    assert found == pytest.approx(scale.log_P / rate, rel=1e-14)
    log_level = math.log(level)
    found = lemmas.reach_not_before(scale, a_i, log_start, log_level)
    at_level = values | {"log_level": log_level}
    law = laws.NOT_BEFORE
    assert within(found, law, at_level, 8 * U * size(law, at_level))
    assert lemmas.final_band(scale) == pytest.approx((1 - 2 / scale.K, 1 + 2 / scale.K), rel=1e-15)
    for value, law in zip(lemmas.final_band(scale), (laws.BAND_LOW, laws.BAND_HIGH), strict=True):
        assert within(value, law, values, 4 * U)
    # Sums of logarithms cancel: what counts is the size of the terms.
    terms = sum(Fraction(abs(x)) for x in (scale.log_P, scale.log_beta, scale.log_omega))
    found = lemmas.log_minor_bound(scale)
    assert within(found, laws.MINOR_BOUND, values, 2 * U * terms)
    steps = Fraction(2) * Fraction(scale.eta) * Fraction(a_i)
    kappa = Fraction(scale.kappa)
    for edition, factor in (("printed", 1 / kappa), ("corrected", kappa)):
        found = lemmas.leave_initial_phase_by(scale, a_i, log_start, edition)
        bound = 8 * U * (terms + Fraction(-log_start)) * factor / steps
        assert within(found, laws.LEAVE_BY[edition], values, bound)
        found = lemmas.reach_by(scale, a_i, log_start, level, edition)
        if math.isnan(found):
            assert not scale.log_initial_phase < math.log(level) or not level < 1 - 1 / scale.K
            continue
        after = (terms + Fraction(-log_level)) * kappa / (steps * (1 - Fraction(level)))
        assert within(found, laws.REACH_BY[edition], values, bound + 16 * U * after)


@given(
    st.lists(st.tuples(POSITIVE, st.floats(-1e3, 1e3), st.floats(-1e3, 1e3)), min_size=1).map(
        lambda rows: rows[:4]
    ),
    st.floats(0, 1e3),
)
def test_the_one_layer_output_in_floats_is_the_law(rows, time):
    signal, start, z = (np.array(column) for column in zip(*rows, strict=True))
    d = len(signal)
    matrix = np.zeros((d, d))
    matrix[0] = start
    found = one_layer_output(SIMTask.from_signal(signal), matrix, [time], z)[0, 0]
    values = {"eta t": time}
    for i in range(d):
        values |= {f"a_{i + 1}": signal[i], f"w_k{i + 1}(0)": start[i], f"z_{i + 1}": z[i]}
    # exp(-a t) is off by its argument's rounding, at most u x exp(-x) <= u, and its own.
    terms = Fraction(abs(z[0])) + sum(
        Fraction(abs(x)) * Fraction(abs(y)) for x, y in zip(start, z, strict=True)
    )
    law = laws.one_layer(d)
    assert {str(symbol) for symbol in law.expression.free_symbols} <= set(values)
    assert within(found, law, values, (d + 10) * U * terms + Fraction(1, 10**300))


def test_every_law_has_letters_with_units_a_name_and_latex():
    ids = [law.id for law in laws.laws()]
    assert len(set(ids)) == len(ids)
    for law in laws.laws():
        assert law.letters
        assert law.source
        assert law.title in str(law)
        assert law.to_latex()
        for symbol in law.expression.free_symbols:
            assert symbol in UNITS or law.id.startswith("one layer")


def test_bad_values_are_refused():
    with pytest.raises(InvalidInput, match="g_kk must be given"):
        laws.evaluate(laws.HALF_TIME, {"log x_k": -1})
    for bad in ("nan", float("nan"), True, None, "two", [1]):
        with pytest.raises(InvalidInput, match="g_kk must be"):
            laws.evaluate(laws.HALF_TIME, {"log x_k": -1, "g_kk": bad})
    with pytest.raises(InvalidInput, match="k must be at most 2"):
        laws.one_layer(2, 3)
    assert not laws.evaluate(laws.HALF_TIME, {"log x_k": -1, "g_kk": 0}).is_finite()


@pytest.mark.parametrize("exponent", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("middle", ["0", "1/10", "-1/10", "1"])
def test_whole_powers_of_balls_around_zero_are_tight(exponent, middle):
    # flint has no value for a power of a ball whose middle is 0.
    x = sympy.Symbol("x")
    base = balls.ball(Fraction(middle)) + flint.arb(0, 0.5)
    found = balls.evaluate(x**exponent, {x: base})
    low, high = Fraction(middle) - Fraction(1, 2), Fraction(middle) + Fraction(1, 2)
    corners = [low**exponent, high**exponent]
    for point in (*corners, Fraction(middle) ** exponent):
        assert found.contains(balls.ball(point))
    span = max(corners) - min([*corners, 0 if low <= 0 <= high else min(corners)])
    # An odd power is enclosed by its size on both sides, an even one has 0 as its end.
    tight = exponent % 2 == 0 and low <= 0 <= high
    assert float(2 * found.rad()) <= (1.001 if tight else 2.1) * float(span)


def test_a_ball_around_zero_has_no_reciprocal_and_no_logarithm():
    x = sympy.Symbol("x")
    around = {x: flint.arb(0, 0.5)}
    for expression in (1 / x, x**-2, sympy.log(x), sympy.sqrt(x)):
        assert not balls.evaluate(expression, around).is_finite()


def test_e_and_pi_are_known():
    assert float(balls.evaluate(sympy.E + sympy.pi, {})) == pytest.approx(math.e + math.pi)
