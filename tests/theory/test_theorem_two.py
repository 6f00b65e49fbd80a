"""The theorem on two concepts: omega_0 and the edges of the constants.

The steps of the proof are judged in tests/theory/test_derivations_repaired.py; the constants are
written a second time in docs/examples/test_theory.py.
"""

import math
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from swingby.errors import InvalidInput
from swingby.theory.repaired import theorem_two
from swingby.theory.repaired.theorem_two import Setting

TWO, TENTH = Fraction(2), Fraction(1, 10)
GOOD = Setting((Fraction(4), Fraction(1)), TWO, TENTH)
positive = st.fractions(Fraction(1, 1000), Fraction(1000))


@given(
    a=positive,
    ratio=st.fractions(Fraction(1, 50), Fraction(49, 50)),
    beta=positive,
    share=st.fractions(Fraction(1, 10**6), 1),
)
def test_omega_0_is_certified_and_cannot_be_raised(a, ratio, beta, share):
    setting = Setting((a, a * ratio), beta, beta * max(share, Fraction(1, 10**6)))
    found = theorem_two.log_omega_0(setting)
    with flint.ctx.workprec(256):
        assert theorem_two.certify(setting, found)
        assert not theorem_two.certify(setting, found + Fraction(1, 10**15))
        assert theorem_two.certify(setting, found - 3)


def test_above_one_the_first_concept_waits_at_most_the_logarithm_of_beta_over_rho():
    found = theorem_two.constants(Setting((TWO, Fraction(1)), TWO, TENTH), Fraction(-1))
    assert found.E1 > 1
    assert float(found.extra) == pytest.approx(5 * math.log(20))


def test_peak_is_sharp_for_small_omega():
    """The bound on w_12 is attained to leading order, so no smaller constant is true."""
    a, b, beta, rho, L = 4.0, 1.0, 2.0, 0.1, -16.0
    omega = math.exp(L)
    start = np.array([math.log(rho * omega), math.log(beta * omega), math.sqrt(1 - rho / beta)])

    def flow(_, state):
        w, c = np.exp(state[:2]), state[2]
        f = (a + b) * w[::-1] * c**2
        drop = -(a + b) / 2 * w.sum() + f.sum() / 2
        return [2 * a * (1 - w[0]) - f[0], 2 * b * (1 - w[1]) - f[1], c * drop]

    solved = solve_ivp(flow, (0, 5), start, rtol=1e-10, atol=1e-13, max_step=0.01)
    highest = (np.log(np.abs(solved.y[2])) + solved.y[:2].sum(axis=0) / 2).max()
    setting = Setting((Fraction(a), Fraction(b)), Fraction(beta), TENTH)
    bound = theorem_two.log_peak(setting, Fraction(L))
    assert bound - 1e-3 < highest <= bound + 1e-9


def test_bounds_grow_with_omega():
    logs = [Fraction(-40), Fraction(-20), Fraction(-10), Fraction(-4)]
    peaks = [theorem_two.log_peak(GOOD, L) for L in logs]
    assert peaks == sorted(peaks)
    times = [theorem_two.time_bounds(GOOD, L) for L in logs]
    assert times == sorted(times, reverse=True)


def test_beta_equal_to_rho_leaves_nothing_off_the_diagonal():
    setting = Setting(GOOD.signal, TWO, TWO)
    assert theorem_two.log_peak(setting, Fraction(-3)) == -math.inf
    assert math.exp(theorem_two.log_omega_0(setting)) == pytest.approx(1 / 4)
    assert theorem_two.constants(setting, Fraction(-3)).extra == 0


@pytest.mark.parametrize("excess", [Fraction(1, 10**12), Fraction(1, 10**60)])
def test_signals_that_almost_agree(excess):
    found = theorem_two.log_omega_0(Setting((1 + excess, Fraction(1)), TWO, TENTH))
    # r -> 1: E_1 = (beta/rho - 1) omega^(1-r) 0.8/0.2, set to 9/10.
    assert found * excess == pytest.approx(math.log(0.9 / 4 / 19), rel=1e-3)


def test_what_is_refused():
    with pytest.raises(InvalidInput, match="beta omega < 1"):
        theorem_two.log_peak(GOOD, Fraction(0))
    with pytest.raises(InvalidInput, match="beta omega < theta"):
        theorem_two.time_bounds(GOOD, -Fraction(7, 10))
    with pytest.raises(InvalidInput, match="2048 bits"):
        theorem_two.log_omega_0(Setting((1 + Fraction(1, 10**700), Fraction(1)), TWO, TENTH))
