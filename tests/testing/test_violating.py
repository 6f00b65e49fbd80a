"""Settings outside one assumption, judged by swingby.check; and what cannot fail alone."""

from fractions import Fraction
from itertools import pairwise

import mpmath
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from swingby.errors import InvalidInput
from swingby.testing import satisfying, violating
from swingby.testing.setting import with_failing_D4
from swingby.testing.strategies import decade, power_of_ten, rounded
from swingby.theory.task import SIMTask
from swingby.verify.check import check
from swingby.verify.checking.feasibility import INFEASIBILITY_CERTIFICATE

QUIET = settings(database=None)
SEARCH = settings(database=None, max_examples=2000, phases=(Phase.generate,))
ALONE = [
    *(("printed", name) for name in ("D.1", "D.2", "D.4", "D.5")),
    *(("corrected", name) for name in ("D.2", "D.4", "D.5")),
]


def exists(strategy, condition):
    """Whether a draw meets a condition; it is not made simpler."""
    find(strategy, condition, settings=SEARCH)


@pytest.mark.parametrize(("edition", "assumption"), ALONE)
def test_exactly_one_assumption_fails(edition, assumption):
    @given(violating(assumption, edition))
    def run(setting):
        assert setting.edition == edition
        assert setting.check().failing == (assumption,)
        # A zero in W(0) is no matter of numbers.
        known = assumption != "D.1" or min(setting.task.exact_signal) == 0
        assert setting.check_numbers().failing == ((assumption,) if known else ())

    run()


@settings(max_examples=25)
@given(violating("D.4'", "repaired"))
def test_exactly_D4_fails_in_the_repaired_edition(setting):
    assert setting.check().failing == ("D.4'",)
    assert setting.check_numbers().failing == ("D.4'",)


@given(violating("D.1"))
def test_D1_fails_through_a_zero(setting):
    zero_signal = 0 in setting.task.exact_signal
    assert zero_signal != bool((setting.W0.matrix == 0).any())
    assert setting.task.exact_signal.count(0) == zero_signal


@given(violating("D.5", dim=st.integers(2, 4)))
def test_D5_fails_through_close_signals(setting):
    signal = sorted(setting.task.exact_signal, reverse=True)
    assert any(large <= 3 * small for large, small in pairwise(signal))


def test_every_edge_is_reached():
    """Equal signals, a ratio of 3 exactly, eta and omega just above their limits."""

    def ratio(setting):
        large, small = sorted(setting.task.exact_signal, reverse=True)
        return large / small

    exists(violating("D.5", dim=2), lambda setting: ratio(setting) == 1)
    exists(violating("D.5", dim=2), lambda setting: ratio(setting) == 3)
    just_above = 1 + Fraction(1, 10**8)
    exists(
        violating("D.2"),
        lambda setting: setting.eta * 180 * max(setting.task.exact_signal) < just_above,
    )

    def hugging(setting):
        with mpmath.workdps(60):
            omega = mpmath.mpf(setting.omega.numerator) / setting.omega.denominator
            return omega / setting.check().largest_omega - 1 < mpmath.mpf("1e-14")

    exists(violating("D.4", dim=2), hugging)


def test_D4_fails_alone_up_to_where_D3_fails_too():
    """The limit that omega is drawn below is not far from the true one."""
    for signal, beta in (((4, 1), 2), ((100, 5, 1), 10), ((1,), 1)):
        exact = tuple(map(Fraction, signal))
        limit = with_failing_D4(exact, Fraction(beta))
        task = SIMTask.from_signal(signal)
        assert check(task, limit, "1e-6", beta).failing == ("D.4",)
        assert "D.3" in check(task, 20 * limit, "1e-6", beta).failing


def test_D4_settings_reach_that_limit():
    def at_the_end(setting):
        shape = tuple(sorted(setting.task.exact_signal, reverse=True))
        limit = with_failing_D4(tuple(a / shape[-1] for a in shape), setting.beta)
        return setting.omega * 1000 > limit

    exists(violating("D.4", dim=2), at_the_end)


def test_violations_shrink_to_round_numbers():
    shown = {
        "D.2": 'Setting(SIMTask.from_signal([4, 1]), omega="1e-83", eta="0.01", beta=2, '
        'W0=Scaled([[1.0, 1.0], [1.0, 1.0]], "1e-83"))',
        "D.4": 'Setting(SIMTask.from_signal([4, 1]), omega="1e-74", eta="0.001", beta=1, '
        'W0=Scaled([[1.0, 1.0], [1.0, 1.0]], "1e-74"))',
        "D.5": 'Setting(SIMTask.from_signal([2, 1]), omega="1e-5", eta="0.001", beta=2, '
        'W0=Scaled([[1.0, 1.0], [1.0, 1.0]], "1e-5"))',
        "D.1": 'Setting(SIMTask.from_signal([1, 0]), omega="1e-43", eta="0.001", beta=2, '
        'W0=Scaled([[1.0, 1.0], [1.0, 1.0]], "1e-43"))',
    }
    for assumption, text in shown.items():
        found = find(violating(assumption, dim=2), lambda setting: True, settings=QUIET)
        assert repr(found) == text


REFUSED = [
    ("D.3", "printed", "D.3 holds wherever D.4 does"),
    ("D.3", "corrected", "D.3 holds wherever D.4 does"),
    ("D.1", "corrected", INFEASIBILITY_CERTIFICATE),
    ("D.1'", "repaired", "D.4' fails with either"),
    ("D.3'", "repaired", "D.4' fails with either"),
]


@pytest.mark.parametrize(("assumption", "edition", "reason"), REFUSED)
def test_what_cannot_fail_alone_is_refused_with_the_reason(assumption, edition, reason):
    with pytest.raises(InvalidInput) as caught:
        violating(assumption, edition)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("assumption", "edition", "dim"),
    [("D.1", "printed", 1), ("D.5", "printed", 1), ("D.2", "corrected", 2), ("D.4", "printed", 0)],
)
def test_dimensions_in_which_it_cannot_fail_alone_are_refused(assumption, edition, dim):
    with pytest.raises(InvalidInput) as caught:
        violating(assumption, edition, dim)
    assert caught.value.argument == "dim"


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=3),
    st.integers(-160, 2),
    st.sampled_from(["1e-6", "1/180", "1"]),
    st.sampled_from([1, 2, 50]),
    st.sampled_from(["printed", "corrected"]),
)
def test_D3_never_fails_without_D4(signal, exponent, eta, beta, edition):
    """The refusal, over settings that were not made for it."""
    omega = power_of_ten(exponent)
    report = check(SIMTask.from_signal(signal), omega, eta, beta, edition)
    assert "D.3" not in report.failing or "D.4" in report.failing


@settings(max_examples=20)
@given(st.lists(st.integers(1, 3), min_size=2, max_size=3), satisfying("repaired", 2))
def test_omega_0_fails_with_the_signal_and_with_the_pivots(signal, setting):
    equal = check(SIMTask.from_signal([*signal, signal[0]]), "1e-9", "0.1", edition="repaired")
    assert equal.failing == ("D.1'", "D.4'")
    singular = setting.W0.matrix * 0 + 1
    report = check(setting.task, W0=singular, eta="0.1", edition="repaired")
    assert report.failing == ("D.3'", "D.4'")


@given(
    st.fractions(min_value=Fraction(1, 10**60), max_value=10**60).filter(bool), st.integers(0, 9)
)
def test_rounding_is_exact(number, digits):
    """Both sides within one unit of the last digit kept."""
    low, high = rounded(number, digits), rounded(number, digits, up=True)
    assert low <= number <= high
    unit = power_of_ten(decade(number) - max(digits - 1, 0))
    assert high - low in ((0, unit) if digits else (0, 9 * unit))
    assert (low / unit).denominator == 1
    assert power_of_ten(decade(number)) <= number
    assert number < power_of_ten(decade(number) + 1)
