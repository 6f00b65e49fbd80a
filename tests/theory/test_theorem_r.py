"""The theorem on distinct concepts: its certificate and the search."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swingby.errors import InvalidInput
from swingby.theory import theorem_r
from swingby.theory.theorem_r import Setting, Witness, certify, conditions, failing, time_bounds

TWO, TENTH = Fraction(2), Fraction(1, 10)


def setting(*signal):
    return Setting(tuple(map(Fraction, signal)), TWO, TENTH)


# The certificate.


def plain_slacks(a, beta, rho, L, theta, E, N, M):
    """C0 to C6 straight from the statement, in floats, with indices from 1."""
    d, b, ell = len(a), beta * math.exp(L), math.log(beta / rho)
    a, N, M = ([math.nan, *values] for values in (a, N, M))
    concepts = range(1, d + 1)

    def e(i, k):
        return E[i - 1][k - 1]

    found = {"C0": [theta - b]}
    T = {
        i: (math.log(theta / (1 - theta)) - L - math.log(rho) + max(i - 2, 0) * ell + N[i] + M[i])
        / (2 * a[i])
        for i in concepts
    }
    for i in concepts:
        kappa = 1 if i == 1 else 4 * math.exp((i - 1) * ell + N[i])
        H = sum((a[i] + a[k]) * e(i, k) ** 2 for k in concepts if k != i)
        found.setdefault("C1", []).append(2 * a[i] * theta * (1 - theta) - H)
        found.setdefault("C5", []).append(0.16 * a[i] - H)
        found.setdefault("C6", []).append(1 - N[i] - M[i])
        total = later = earlier = 0.0
        for j in range(i + 1, d + 1):
            X = b * math.exp(2 * a[j] * T[i])
            nu = (a[1] + a[i]) / 2 + (a[1] - a[i]) / 2 * math.sqrt(kappa) + a[j]
            total += nu * X / (2 * a[j])
            later += (a[i] + a[j]) * theta * X / (2 * a[j])
            rest = [k for k in concepts if k not in (i, j)]
            s = (1 + a[j] / a[i]) / 2
            rate = theta * (a[i] - a[j]) / 2
            rate -= s / theta * sum((a[i] + a[k]) * e(i, k) ** 2 for k in rest)
            source = sum((a[k] + (a[i] + a[j]) / 2) * e(i, k) * e(k, j) for k in rest)
            P = theta ** (-a[j] / a[i] / 2) * math.sqrt(b) * math.exp(a[j] * T[i])
            found.setdefault("C3", []).append(rate)
            found.setdefault("C4", []).append(e(i, j) - P - theta**-s * source / rate)
        Z = 2 * a[i] * T[i] + math.log(b)
        for k in range(1, i):
            wait = 1 + max(0, Z - 2 * math.log(e(i, k)))
            earlier += (a[i] + a[k]) * e(i, k) ** 2 / (2 * a[i]) * wait
        if i < d:
            found.setdefault("C2", []).append(N[i] - total)
        found.setdefault("C2'", []).append(M[i] - (later + earlier) / (1 - theta))
    return found


def test_conditions_are_those_of_the_statement():
    generator = np.random.default_rng(1)
    for d in (2, 3, 4):
        a = np.sort(generator.uniform(1, 10, d))[::-1].tolist()
        upper = np.triu(generator.uniform(0.01, 0.1, (d, d)), 1)
        E = (upper + upper.T + np.eye(d)).tolist()
        N, M = generator.uniform(0, 1, (2, d)).tolist()
        beta, rho, theta, L = 1.7, 0.3, 0.7, -9.0
        log_peaks = tuple(tuple(Fraction(math.log(value)) for value in row) for row in E)
        witness = Witness(
            Fraction(theta), log_peaks, tuple(map(Fraction, N)), tuple(map(Fraction, M))
        )
        given_ = Setting(tuple(map(Fraction, a)), Fraction(beta), Fraction(rho))
        found = {}
        for name, slack in conditions(given_, Fraction(L), witness):
            found.setdefault(name, []).append(float(slack))
        expected = plain_slacks(a, beta, rho, L, theta, E, N, M)
        for name in ("C1", "C2", "C2'", "C3", "C4", "C5"):
            assert found[name] == pytest.approx(expected[name], rel=1e-9), name
        assert (found["C0"][0] > 0) == (expected["C0"][0] > 0)
        assert [value > 0 for value in found["C6"]] == [value >= 0 for value in expected["C6"]]


@pytest.fixture(scope="module")
def good():
    """A witness for 16 : 4 : 1 with room to spare, at half of omega_0."""
    given_ = setting(16, 4, 1)
    L = theorem_r.search(given_).log_omega_0 - 1
    witness = theorem_r.find_witness(given_, L, (Fraction(3, 4),))
    return given_, L, witness


def with_entry(witness, i, j, value):
    rows = [list(row) for row in witness.log_peaks]
    rows[i][j] = rows[j][i] = Fraction(math.log(value))
    return replace(witness, log_peaks=tuple(map(tuple, rows)))


def test_good_witness_is_accepted(good):
    assert failing(*good) == ()
    assert certify(*good)


def test_omega_too_large_breaks_C0(good):
    given_, _, witness = good
    assert "C0" in failing(given_, Fraction(math.log(0.75 / 2)) + Fraction(1, 1000), witness)
    assert "C0" not in failing(given_, Fraction(math.log(0.75 / 2)) - Fraction(1, 1000), witness)


@pytest.mark.parametrize(
    ("entry", "value", "broken", "kept"),
    [
        ((0, 1), 0.53, "C1", ""),
        ((0, 1), 0.22, "C5", "C1"),
        ((0, 2), 0.6, "C3", ""),
        ((0, 1), 1e-3, "C4", "C5"),
        ((0, 2), 1e-3, "C4", "C5"),
        ((1, 2), 1e-4, "C4", "C5"),
    ],
)
def test_entry_too_large_or_too_small_is_rejected(good, entry, value, broken, kept):
    given_, L, witness = good
    found = failing(given_, L, with_entry(witness, *entry, value))
    assert broken in found
    assert kept not in found


def test_N_and_M_too_small_or_too_large_are_rejected(good):
    given_, L, witness = good
    zero, half = Fraction(0), Fraction(1, 2)
    for i in range(2):
        N = tuple(zero if k == i else value for k, value in enumerate(witness.N))
        assert failing(given_, L, replace(witness, N=N)) == ("C2",)
    for i in range(3):
        M = tuple(zero if k == i else value for k, value in enumerate(witness.M))
        assert failing(given_, L, replace(witness, M=M)) == ("C2'",)
    wide = replace(witness, N=(zero, zero, half), M=(*witness.M[:2], half + Fraction(1, 10**30)))
    assert "C6" in failing(given_, L - 20, wide)
    assert "C6" not in failing(given_, L - 20, replace(wide, M=(*witness.M[:2], half)))


def test_what_is_out_of_range_is_rejected(good):
    given_, L, witness = good
    assert failing(given_, L, replace(witness, theta=Fraction(1))) == ("range",)
    assert failing(given_, L, replace(witness, N=(Fraction(-1), *witness.N[1:]))) == ("range",)
    rows = [list(row) for row in witness.log_peaks]
    rows[0][1] += 1
    assert failing(given_, L, replace(witness, log_peaks=tuple(map(tuple, rows)))) == ("range",)


def test_rate_C3_fails_by_noise_of_the_other_pairs_alone():
    """Close neighbours with a third partner: C3 is violated while C1 and C5 hold."""
    given_ = setting(4, Fraction(39, 10), 1)
    log_e = Fraction(math.log(0.1))
    witness = Witness(Fraction(3, 4), ((log_e,) * 3,) * 3, (TENTH,) * 3, (TENTH,) * 3)
    found = failing(given_, Fraction(-60), witness)
    assert "C3" in found
    assert "C1" not in found
    assert "C5" not in found


def test_smaller_omega_keeps_the_witness_even_scaled(good):
    given_, L, witness = good
    certified = theorem_r.Certified(L, witness)
    for below in (1, 10, 1000, 10**6):
        assert certify(given_, L - below, witness)
        assert certify(given_, L - below, theorem_r.scaled(given_, L - below, certified))


def test_times(good):
    given_, L, witness = good
    a, ell, theta = [16.0, 4.0, 1.0], math.log(20), float(witness.theta)

    def first(i, level):
        base = math.log(level / (1 - level)) - float(L) - math.log(0.1) + max(i - 1, 0) * ell
        return (base + float(witness.N[i] + witness.M[i])) / (2 * a[i])

    low = time_bounds(given_, L, witness, Fraction(7, 10))
    assert low == pytest.approx([first(i, 0.7) for i in range(3)])
    high = time_bounds(given_, L, witness)
    for i in range(3):
        peaks = [math.exp(value) ** 2 for value in witness.log_peaks[i]]
        H = sum((a[i] + a[k]) * peaks[k] for k in range(3) if k != i)
        climb = math.log(4) - math.log(theta / (1 - theta))
        assert high[i] == pytest.approx(first(i, theta) + climb / (2 * a[i] - H / 0.16))
    with pytest.raises(InvalidInput, match="level"):
        time_bounds(given_, L, witness, Fraction(9999, 10000))


# The search.

MEASURED = {
    (4, 1): (-3.039, -6.295),
    (16, 4, 1): (-4.467, -7.359),
    (64, 16, 4, 1): (-5.379, -9.001),
    (2, 1): (-4.723, -9.914),
    (3, 2, 1): (-10.815, -17.357),
}


@pytest.mark.parametrize("signal", MEASURED, ids=str)
def test_omega_0(signal):
    searched, closed = MEASURED[signal]
    found = theorem_r.log_omega_0(tuple(map(Fraction, signal[::-1])), TWO, TENTH)
    assert float(found) / math.log(10) == pytest.approx(searched, abs=5e-3)
    by_formula = theorem_r.closed_form(setting(*signal))
    assert float(by_formula.log_omega_0) / math.log(10) == pytest.approx(closed, abs=1e-3)


@pytest.mark.parametrize("signal", MEASURED, ids=str)
def test_search_ends_at_the_edge(signal):
    given_ = setting(*signal)
    found = theorem_r.search(given_)
    assert certify(given_, found.log_omega_0, found.witness)
    assert theorem_r.find_witness(given_, found.log_omega_0 + Fraction(1, 20)) is None
    assert theorem_r.find_witness(given_, found.log_omega_0 - 1) is not None


def test_a_far_concept_hardly_changes_the_edge_of_close_ones():
    # At omega around exp(-1855) what a concept 98 times weaker adds is of the size of
    # omega^((1 - 1/98)/2): the edge is that of the three close ones alone, in their own run of the
    # search. Among tiny N the search has to stop at a point that balls accept.
    alone = theorem_r.log_omega_0((Fraction(100), Fraction(99), Fraction(98)), TWO, TENTH)
    given_ = setting(100, 99, 98, 1)
    found = theorem_r.search(given_)
    assert found.log_omega_0 == pytest.approx(float(alone), abs=1e-2)
    assert certify(given_, found.log_omega_0, found.witness)


def plain_closed_form(a, beta, rho):
    """Corollary R1 straight from the words of its module, in floats; log omega_0."""
    d, theta, ell = len(a), 0.8, math.log(beta / rho)
    log_e = []
    for i in range(d):
        others = [k for k in range(d) if k != i]
        log_e.append(math.log(0.16 * a[i] / sum(a[i] + a[k] for k in others)) / 2)
        if i:
            h = a[i] / 20 / sum(a[i] + a[k] for k in range(i))
            Y = 1.5 + math.log(4) + ell + (i - 1) * ell + max(0, math.log(1 / h))
            log_e.append(math.log(h / (2 * Y)) / 2)
        for j in range(i + 1, d if d > 2 else 0):
            s = (1 + a[j] / a[i]) / 2
            rest = [k for k in others if k != j]
            noise = sum(a[i] + a[k] for k in rest)
            source = sum(a[k] + (a[i] + a[j]) / 2 for k in rest)
            log_e.append(math.log(theta**2 * (a[i] - a[j]) / (4 * s * noise)) / 2)
            log_e.append(math.log(theta ** (1 + s) * (a[i] - a[j]) / (8 * source)))
    limits = [math.log(4 / (5 * beta))]
    for i in range(d):
        kappa = 1 if i == 0 else 4 * math.exp(i * ell + 0.25)
        for j in range(i + 1, d):
            nu = (a[0] + a[i]) / 2 + (a[0] - a[i]) / 2 * math.sqrt(kappa) + a[j]
            share = d - i - 1
            X = 2 * a[j] * min(1 / (4 * nu * share), 1 / (32 * (a[i] + a[j]) * share))
            target = min(math.log(0.49) + min(log_e), math.log(X) / 2)

            def log_P(L, i=i, j=j):
                # The module's P_ij with theta = 4/5 and N_i = M_i = 1/4, from 2 a_j T_i.
                wait = math.log(4) - L - math.log(rho) + max(i - 1, 0) * ell + 0.5
                grown = a[j] / a[i] * wait
                return (-a[j] / a[i] * math.log(theta) + math.log(beta) + L + grown) / 2

            slope = log_P(1.0) - log_P(0.0)
            limits.append((target - log_P(0.0)) / slope)
    return min(limits)


@pytest.mark.parametrize(
    "signal",
    [
        (4, 1),
        (16, 4, 1),
        (3, 2, 1),
        (1000, 1),
        (100, 1, "1/10"),
        (50, 49, 1),
        (9, "1/1000", "1/10000"),
    ],
    ids=str,
)
@pytest.mark.parametrize(("beta", "rho"), [(2, "1/10"), (1, 1), (30, "1/50")])
def test_the_closed_form_is_what_its_words_say(signal, beta, rho):
    given_ = Setting(tuple(map(Fraction, signal)), Fraction(beta), Fraction(rho))
    found = float(theorem_r.closed_form(given_).log_omega_0)
    expected = plain_closed_form(*(list(map(float, given_.signal)), float(beta), float(given_.rho)))
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-4)


ratios = st.lists(st.fractions(Fraction(1, 20), Fraction(9, 10)), min_size=1, max_size=4)
spreads = st.fractions(Fraction(1, 100), 1)


@settings(max_examples=25)
@given(ratios=ratios, beta=st.fractions(Fraction(1, 2), 10), spread=spreads)
def test_closed_form_is_certified_and_never_above_the_search(ratios, beta, spread):
    signal = tuple(itertools.accumulate([Fraction(3), *ratios], lambda x, y: x * y))
    given_ = Setting(signal, beta, beta * spread)
    closed = theorem_r.closed_form(given_)
    searched = theorem_r.search(given_)
    assert certify(given_, closed.log_omega_0, closed.witness)
    assert certify(given_, searched.log_omega_0, searched.witness)
    assert closed.log_omega_0 <= searched.log_omega_0


def test_units_of_time_do_not_matter():
    found = [
        float(theorem_r.search(setting(*(scale * value for value in (9, 5, 1)))).log_omega_0)
        for scale in (1, Fraction(1, 10**200), 10**200)
    ]
    assert found == pytest.approx([found[0]] * 3, abs=1e-9)


@pytest.mark.parametrize(
    "signal",
    [(1, Fraction(1, 10**120)), (1 + Fraction(1, 10**30), 1), (1000, Fraction(1001, 1000), 1)],
)
def test_extreme_signals_have_a_certified_omega_0(signal):
    given_ = setting(*signal)
    found = theorem_r.search(given_)
    assert certify(given_, found.log_omega_0, found.witness)


@pytest.mark.parametrize("signal", [(4,), (4, 4), (4, 0), (1, 4)])
def test_signal_that_the_theorem_does_not_speak_of(signal):
    with pytest.raises(InvalidInput, match="signal"):
        setting(*signal)


def test_rho_above_beta_is_refused():
    with pytest.raises(InvalidInput, match="rho"):
        Setting((TWO, TENTH), TENTH, TWO)
