"""Settings inside the assumptions and outside exactly one, judged by swingby.check; their text."""

import decimal
from fractions import Fraction
from itertools import pairwise

import mpmath
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from swingby.errors import InvalidInput
from swingby.testing import Setting, satisfying, violating
from swingby.testing.strategies import rounded
from swingby.theory.initial import Scaled
from swingby.theory.task import SIMTask
from swingby.verify.check import check
from swingby.verify.checking.feasibility import INFEASIBILITY_CERTIFICATE
from tests.forked import FULL, sample

INSIDE = [("printed", None), ("corrected", 1), ("repaired", None)]
ALONE = [
    *(("printed", name) for name in ("D.1", "D.2", "D.4", "D.5")),
    *(("corrected", name) for name in ("D.2", "D.4", "D.5")),
    ("repaired", "D.4'"),
]


def examples(edition):
    """A check of the repaired edition takes a third of a second."""
    most = settings.default.max_examples
    return settings(max_examples=max(3, most // 400) if edition == "repaired" else most)


def distance(setting, report):
    """Omega relative to the largest one, minus 1."""
    with mpmath.workdps(60):
        omega = mpmath.mpf(setting.omega.numerator) / setting.omega.denominator
        return omega / report.largest_omega - 1


@pytest.mark.parametrize(("edition", "dim"), INSIDE)
def test_settings_hold_with_and_without_the_matrix(edition, dim):
    @examples(edition)
    @given(satisfying(edition, dim))
    def run(setting):
        assert setting.edition == edition
        assert setting.check_numbers().holds
        assert setting.check().holds

    run()


@pytest.mark.parametrize(("edition", "assumption"), ALONE)
def test_exactly_one_assumption_fails(edition, assumption):
    @examples(edition)
    @given(violating(assumption, edition))
    def run(setting):
        assert setting.edition == edition
        assert setting.check().failing == (assumption,)
        signal = sorted(setting.task.exact_signal, reverse=True)
        if assumption == "D.1":
            assert signal.count(0) == (0 if (setting.W0.matrix == 0).any() else 1)
        if assumption == "D.5":
            assert any(large <= 3 * small for large, small in pairwise(signal))
        # A zero in W(0) is no matter of numbers.
        known = assumption != "D.1" or signal[-1] == 0
        assert setting.check_numbers().failing == ((assumption,) if known else ())

    run()


def ratio(setting):
    large, small = sorted(setting.task.exact_signal, reverse=True)
    return large / small


def steps(setting):
    """Eta over the largest that D.2 admits."""
    return setting.eta * 180 * max(setting.task.exact_signal)


def hugging_omega_0(setting):
    if setting.omega.numerator < 10:  # powers of ten are farther away, and a check costs time
        return False
    return distance(setting, setting.check_numbers()) > -0.01


TINY = mpmath.mpf("1e-14")
#: Edges, and what is far from them: some draw meets each condition.
REACHED = {
    "omega far down": (satisfying(dim=2), lambda one: one.omega < Fraction(1, 10**2000)),
    "omega next to the largest": (
        satisfying(dim=2),
        lambda one: 0 < -distance(one, one.check_numbers()) < TINY,
    ),
    "omega next to omega_0, d = 2": (satisfying("repaired", 2), hugging_omega_0),
    "the largest eta": (satisfying(), lambda one: steps(one) == 1),
    "equal signals": (violating("D.5", dim=2), lambda one: ratio(one) == 1),
    "a ratio of 3": (violating("D.5", dim=2), lambda one: ratio(one) == 3),
    "eta just above": (violating("D.2"), lambda one: steps(one) < 1 + Fraction(1, 10**8)),
    "omega just above": (violating("D.4", dim=2), lambda one: distance(one, one.check()) < TINY),
    # A hundred draws, each checked by a search of a third of a second.
    "omega next to omega_0, d = 3": (satisfying("repaired", 3), hugging_omega_0),
}


@pytest.mark.parametrize(
    "name",
    [*sample([*REACHED][:-1]), pytest.param([*REACHED][-1], marks=pytest.mark.full)],
)
def test_every_edge_is_reached(name, find_some):
    find_some(*REACHED[name])


#: Pivots of W(0), as a share of their diagonal entry: some draw has the smallest of them there.
PIVOTS = {
    "zero": lambda share: share == 0,
    "small": lambda share: 0 < share < Fraction(1, 1000),
    "large": lambda share: share > Fraction(1, 3),
}


@pytest.mark.parametrize("size", sample([*PIVOTS]))
def test_pivots_of_every_size_are_drawn(size, find_some, smallest_pivot):
    inside = PIVOTS[size]
    find_some(satisfying(dim=3), lambda setting: inside(smallest_pivot(setting.task, setting.W0)))


def text(signal, omega, *, eta="0.001", beta=2, W0="[[1.0, 1.0], [1.0, 1.0]]", rest=""):
    return (
        f'Setting(SIMTask.from_signal({signal}), omega="{omega}", eta="{eta}", beta={beta}, '
        f'W0=Scaled({W0}, "{omega}"){rest})'
    )


def test_settings_shrink_to_round_numbers_one_at_a_time(simplest):
    signs = "[[1.0, -1.0], [-1.0, 1.0]]"
    found = simplest(satisfying(dim=2), lambda setting: setting.W0.matrix.min() < 0)
    assert repr(found) == text([4, 1], "1e-83", W0=signs)
    assert repr(simplest(violating("D.4", dim=2))) == text([4, 1], "1e-74", beta=1)


@pytest.mark.full
def test_more_settings_shrink_to_round_numbers(simplest):
    rest, one = ', edition="repaired", dynamics="flow"', "[[1.0, 0.0], [0.0, 1.0]]"
    expected = text([4, 1], "0.1", eta="0.01", beta="1, rho=1", W0=one, rest=rest)
    assert repr(simplest(satisfying("repaired", 2))) == expected
    found = simplest(satisfying(), lambda setting: setting.omega < Fraction(1, 10**500))
    assert repr(found) == text([1], "1e-1003", W0="[[1.0]]")
    assert repr(simplest(violating("D.1", dim=2))) == text([1, 0], "1e-43")
    assert repr(simplest(violating("D.2", dim=2))) == text([4, 1], "1e-83", eta="0.01")
    assert repr(simplest(violating("D.5", dim=2))) == text([2, 1], "1e-5")


def test_a_strategy_of_dimensions_is_refused_when_drawn(simplest):
    with pytest.raises(InvalidInput, match="No omega, eta or signal"):
        simplest(satisfying("corrected", st.just(2)))


REFUSED = [
    (None, "corrected", None, INFEASIBILITY_CERTIFICATE),
    (None, "corrected", 2, INFEASIBILITY_CERTIFICATE),
    ("D.3", "printed", None, "D.3 holds wherever D.4 does"),
    ("D.1", "corrected", None, INFEASIBILITY_CERTIFICATE),
    ("D.1'", "repaired", None, "D.4' fails with either"),
    ("D.1", "printed", 1, "dim must be"),
    ("D.2", "corrected", 2, "dim must be"),
    ("D.4", "printed", 0, "dim must be"),
]


@pytest.mark.parametrize(("assumption", "edition", "dim", "reason"), REFUSED)
def test_what_cannot_fail_alone_is_refused_with_the_reason(assumption, edition, dim, reason):
    with pytest.raises(InvalidInput) as caught:
        violating(assumption, edition, dim) if assumption else satisfying(edition, dim)
    assert reason in str(caught.value)


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=3),
    st.integers(-160, 2),
    st.sampled_from(["1e-6", "1/180", "1"]),
    st.sampled_from([1, 2, 50]),
    st.sampled_from(["printed", "corrected"]),
)
def test_D3_never_fails_without_D4(signal, exponent, eta, beta, edition):
    """The refusal, over settings that were not made for it."""
    omega = Fraction(10) ** exponent
    report = check(SIMTask.from_signal(signal), omega, eta, beta, edition)
    assert "D.3" not in report.failing or "D.4" in report.failing


@settings(max_examples=20 if FULL else 3)
@given(st.lists(st.integers(1, 3), min_size=2, max_size=3), satisfying("repaired", 2))
def test_omega_0_fails_with_the_signal_and_with_the_pivots(signal, setting):
    more = {"edition": "repaired", "dynamics": "flow"}
    equal = check(SIMTask.from_signal([*signal, signal[0]]), "1e-9", "0.1", **more)
    assert equal.failing == ("D.1'", "D.4'")
    singular = setting.W0.matrix * 0 + 1
    report = check(setting.task, W0=singular, eta="0.1", **more)
    assert report.failing == ("D.3'", "D.4'")


@given(
    st.fractions(min_value=Fraction(1, 10**60), max_value=10**60).filter(bool), st.integers(0, 9)
)
def test_rounding_is_exact(number, digits):
    """As decimals are rounded; without digits to the powers of ten around a number."""
    low, high = rounded(number, digits), rounded(number, digits, up=True)
    for found, way in ((low, decimal.ROUND_FLOOR), (high, decimal.ROUND_CEILING)):
        quotient = decimal.Context(max(digits, 1), way).divide(*number.as_integer_ratio())
        assert found == quotient or not digits
    assert low <= number <= high
    assert digits or (high / low in (1, 10) and set(str(low * 10**60)) <= {"0", "1"})


# As text.

SETTING = Setting(
    SIMTask([1, "1/3"], "1/20").with_signal([4, "1/7"], "chosen"),
    Fraction(1, 3 * 10**500),
    "1/720",
    "1e400",
    W0=Scaled([[1, 0.1], [0.1, 2]], "7.5e-90"),
    edition="corrected",
    dynamics="gd",
)


@given(st.one_of(satisfying(), satisfying("repaired"), violating("D.4"), st.just(SETTING)))
def test_the_text_of_a_setting_makes_the_same_setting(setting):
    names = {"Setting": Setting, "SIMTask": SIMTask, "Scaled": Scaled, "Fraction": Fraction}
    text = repr(setting)
    assert "\n" not in text
    assert eval(text, names) == setting


def test_a_failing_example_is_shown_as_text_to_paste():
    drawn = []

    @settings(database=None, phases=(Phase.generate,))
    @given(satisfying(dim=2))
    def fails(setting):
        drawn.append(setting)
        assert setting.task.dim == 1

    with pytest.raises(AssertionError) as caught:
        fails()
    assert repr(drawn[-1]) in "\n".join(caught.value.__notes__)


def test_settings_refuse_what_no_check_reads():
    W0, task = Scaled([[1]], "1e-3"), SIMTask([1])
    for call in (
        lambda: Setting(task, 0, 1, 1, W0=W0),
        lambda: Setting(task, 1, 1, 1, 1, W0=W0),
        lambda: Setting(task, 1, 1, 1, W0=W0, edition="repaired"),
        lambda: Setting(task, 1, 1, 1, W0=[[1]]),
        lambda: Setting(SIMTask([1, 2]), 1, 1, 1, W0=W0),
        lambda: Setting(task, 1, 1, 1, W0=W0, dynamics="sgd"),
        lambda: Setting(task, 1, 1, 1, W0=W0, edition="final"),
    ):
        with pytest.raises(InvalidInput):
            call()


def test_importing_the_part_does_not_import_hypothesis(fresh):
    """Nor do settings and assertions need it; the strategies name the extra that has it."""
    shown = fresh(
        "import sys, swingby.testing as testing; dir(testing); "
        "heavy = {'hypothesis', 'numpy', 'sympy', 'flint'}; print(heavy & set(sys.modules)); "
        "sys.modules['hypothesis'] = None; testing.Setting, testing.assert_stages\n"
        "try: testing.tasks\n"
        "except ImportError as error: print(error)"
    )
    assert shown.startswith("set()\n")
    assert "swingby[testing]" in shown
