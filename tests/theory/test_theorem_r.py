"""The theorems on distinct concepts and on two: certificates, the search, omega_0, edges.

The steps of the proof are judged in tests/proofs/language/test_derivations_repaired.py; the
conditions and the times are written a second time in docs/examples/test_theory.py.
"""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from swingby.errors import InvalidInput
from swingby.theory.repaired import theorem_r, theorem_two
from swingby.theory.repaired.repaired_setting import RepairedSetting
from swingby.theory.repaired.theorem_r import certify, failing
from tests.forked import FULL

TWO, TENTH = Fraction(2), Fraction(1, 10)


def setting(*signal):
    return RepairedSetting(tuple(map(Fraction, signal)), TWO, TENTH)


# The certificate.


@pytest.fixture(scope="module")
def good():
    """A witness for 16 : 4 : 1 with room to spare, at half of omega_0."""
    given_ = setting(16, 4, 1)
    L = theorem_r.search(given_).log_omega_0 - 1
    witness = theorem_r.find_witness(given_, L, (Fraction(3, 4),))
    return given_, L, witness


def test_good_witness_is_accepted(good):
    assert failing(*good) == ()
    assert certify(*good)


def test_a_sum_of_N_and_M_above_1_and_entries_that_differ_are_rejected(good):
    """The other conditions are held against a second transcription in docs/examples."""
    given_, L, witness = good
    zero, half = Fraction(0), Fraction(1, 2)
    wide = replace(witness, N=(zero, zero, half), M=(*witness.M[:2], half + Fraction(1, 10**30)))
    assert "C6" in failing(given_, L - 20, wide)
    assert "C6" not in failing(given_, L - 20, replace(wide, M=(*witness.M[:2], half)))
    rows = [list(row) for row in witness.log_peaks]
    rows[0][1] += 1
    assert failing(given_, L, replace(witness, log_peaks=tuple(map(tuple, rows)))) == ("range",)


def test_smaller_omega_keeps_the_witness_even_scaled(good):
    given_, L, witness = good
    certified = theorem_r.Certified(L, witness)
    for below in (1, 10, 1000, 10**6):
        assert certify(given_, L - below, witness)
        assert certify(given_, L - below, theorem_r.scaled(given_, L - below, certified))


# The search.

MEASURED = {
    **{(4, 1): -3.039, (16, 4, 1): -4.467, (64, 16, 4, 1): -5.379},
    **{(2, 1): -4.723, (3, 2, 1): -10.815},
}


@pytest.mark.parametrize("signal", MEASURED, ids=str)
def test_search_ends_at_the_edge(signal):
    given_ = setting(*signal)
    found = theorem_r.search(given_)
    assert float(found.log_omega_0) / math.log(10) == pytest.approx(MEASURED[signal], abs=5e-3)
    assert certify(given_, found.log_omega_0, found.witness)
    assert theorem_r.find_witness(given_, found.log_omega_0 + Fraction(1, 20)) is None
    assert theorem_r.find_witness(given_, found.log_omega_0 - 1) is not None


def test_a_far_concept_hardly_changes_the_edge_of_close_ones():
    # At omega around exp(-1855) what a concept 98 times weaker adds is of the size of
    # omega^((1 - 1/98)/2): the edge is that of the three close ones alone, in their own run of the
    # search. Among tiny N the search has to stop at a point that balls accept.
    alone = theorem_r.search(setting(100, 99, 98)).log_omega_0
    given_ = setting(100, 99, 98, 1)
    found = theorem_r.search(given_)
    assert found.log_omega_0 == pytest.approx(float(alone), abs=1e-2)
    assert certify(given_, found.log_omega_0, found.witness)


ratios = st.lists(st.fractions(Fraction(1, 20), Fraction(9, 10)), min_size=1, max_size=4)
spreads = st.fractions(Fraction(1, 100), 1)


@settings(max_examples=25 if FULL else 8)
@given(ratios=ratios, beta=st.fractions(Fraction(1, 2), 10), spread=spreads)
def test_closed_form_is_certified_and_never_above_the_search(ratios, beta, spread):
    signal = tuple(itertools.accumulate([Fraction(3), *ratios], lambda x, y: x * y))
    given_ = RepairedSetting(signal, beta, beta * spread)
    closed = theorem_r.closed_form(given_)
    searched = theorem_r.search(given_)
    assert certify(given_, closed.log_omega_0, closed.witness)
    assert certify(given_, searched.log_omega_0, searched.witness)
    assert closed.log_omega_0 <= searched.log_omega_0


def test_units_of_time_do_not_matter():
    units = (1, Fraction(1, 10**200), 10**200)
    found = [theorem_r.search(setting(9 * unit, 5 * unit, unit)).log_omega_0 for unit in units]
    assert list(map(float, found)) == pytest.approx([float(found[0])] * 3, abs=1e-9)


@pytest.mark.parametrize(
    "signal",
    [(1, Fraction(1, 10**120)), (1 + Fraction(1, 10**30), 1), (1000, Fraction(1001, 1000), 1)],
)
def test_extreme_signals_have_a_certified_omega_0(signal):
    given_ = setting(*signal)
    found = theorem_r.search(given_)
    assert certify(given_, found.log_omega_0, found.witness)


@pytest.mark.parametrize(
    ("signal", "beta", "rho", "name"),
    [
        *((signal, TWO, TENTH, "signal") for signal in [(4,), (4, 4), (4, 0), (1, 4)]),
        *(((2, 1), *pair, "rho") for pair in [(TENTH, TWO), (TWO, Fraction(0)), (TWO, -TENTH)]),
    ],
)
def test_what_the_theorem_does_not_speak_of_is_refused(signal, beta, rho, name):
    with pytest.raises(InvalidInput, match=name):
        RepairedSetting(tuple(map(Fraction, signal)), beta, rho)


# Two concepts.

GOOD = setting(4, 1)
positive = st.fractions(Fraction(1, 1000), Fraction(1000))


@given(
    a=positive,
    ratio=st.fractions(Fraction(1, 50), Fraction(49, 50)),
    beta=positive,
    share=st.fractions(Fraction(1, 10**6), 1),
)
def test_omega_0_is_certified_and_cannot_be_raised(a, ratio, beta, share):
    setting = RepairedSetting((a, a * ratio), beta, beta * max(share, Fraction(1, 10**6)))
    found = theorem_two.log_omega_0(setting)
    with flint.ctx.workprec(256):
        assert theorem_two.certify(setting, found)
        assert not theorem_two.certify(setting, found + Fraction(1, 10**15))
        assert theorem_two.certify(setting, found - 3)


def test_above_one_the_first_concept_waits_at_most_the_logarithm_of_beta_over_rho():
    found = theorem_two.constants(RepairedSetting((TWO, Fraction(1)), TWO, TENTH), Fraction(-1))
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
    setting = RepairedSetting((Fraction(a), Fraction(b)), Fraction(beta), TENTH)
    bound = theorem_two.log_peak(setting, Fraction(L))
    assert bound - 1e-3 < highest <= bound + 1e-9


def test_bounds_grow_with_omega():
    logs = [Fraction(-40), Fraction(-20), Fraction(-10), Fraction(-4)]
    peaks = [theorem_two.log_peak(GOOD, L) for L in logs]
    assert peaks == sorted(peaks)
    times = [theorem_two.time_bounds(GOOD, L) for L in logs]
    assert times == sorted(times, reverse=True)


def test_beta_equal_to_rho_leaves_nothing_off_the_diagonal():
    setting = RepairedSetting(GOOD.signal, TWO, TWO)
    assert theorem_two.log_peak(setting, Fraction(-3)) == -math.inf
    assert math.exp(theorem_two.log_omega_0(setting)) == pytest.approx(1 / 4)
    assert theorem_two.constants(setting, Fraction(-3)).extra == 0


@pytest.mark.parametrize("excess", [Fraction(1, 10**12), Fraction(1, 10**60)])
def test_signals_that_almost_agree(excess):
    found = theorem_two.log_omega_0(RepairedSetting((1 + excess, Fraction(1)), TWO, TENTH))
    # r -> 1: E_1 = (beta/rho - 1) omega^(1-r) 0.8/0.2, set to 9/10.
    assert found * excess == pytest.approx(math.log(0.9 / 4 / 19), rel=1e-3)


def test_what_the_theorem_on_two_does_not_speak_of():
    with pytest.raises(InvalidInput, match="beta omega < 1"):
        theorem_two.log_peak(GOOD, Fraction(0))
    with pytest.raises(InvalidInput, match="beta omega < theta"):
        theorem_two.time_bounds(GOOD, -Fraction(7, 10))
    with pytest.raises(InvalidInput, match="2048 bits"):
        theorem_two.log_omega_0(
            RepairedSetting((1 + Fraction(1, 10**700), Fraction(1)), TWO, TENTH)
        )
