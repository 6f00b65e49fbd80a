"""Settings inside the assumptions and outside exactly one, judged by swingby.check; their text."""

import importlib
import subprocess
import sys
from fractions import Fraction
from itertools import pairwise

import mpmath
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

import swingby.testing
from swingby.errors import InvalidInput, MissingExtra
from swingby.testing import Setting, satisfying, violating
from swingby.testing.setting import with_failing_D4
from swingby.testing.strategies import decade, power_of_ten, rounded
from swingby.theory import written
from swingby.theory.initial import Scaled, exact_pivots
from swingby.theory.task import SIMTask
from swingby.verify.check import check
from swingby.verify.checking.feasibility import INFEASIBILITY_CERTIFICATE

QUIET = settings(database=None)
SEARCH = settings(database=None, max_examples=2000, phases=(Phase.generate,))
INSIDE = [("printed", None), ("corrected", 1), ("repaired", None)]
ALONE = [
    *(("printed", name) for name in ("D.1", "D.2", "D.4", "D.5")),
    *(("corrected", name) for name in ("D.2", "D.4", "D.5")),
    ("repaired", "D.4'"),
]


def exists(strategy, condition):
    """Whether a draw meets a condition; it is not made simpler."""
    find(strategy, condition, settings=SEARCH)


def examples(edition):
    """A check of the repaired edition takes a third of a second."""
    return settings(max_examples=25) if edition == "repaired" else settings()


def simplest(strategy, condition=lambda setting: True):
    return repr(find(strategy, condition, settings=QUIET))


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
        # A zero in W(0) is no matter of numbers.
        known = assumption != "D.1" or min(setting.task.exact_signal) == 0
        assert setting.check_numbers().failing == ((assumption,) if known else ())

    run()


def sizes(setting):
    """Sizes of the entries of W(0), exact."""
    rows = setting.W0.matrix.tolist()
    return [abs(Fraction(entry)) * setting.W0.omega for row in rows for entry in row]


@given(satisfying())
def test_printed_settings_agree_with_their_numbers(setting):
    """(D.8), (D.2) and the second inequality of D.5, written out."""
    assert setting.omega <= min(sizes(setting))
    assert max(sizes(setting)) <= setting.beta * setting.omega
    signal = sorted(setting.task.exact_signal, reverse=True)
    assert all(large > 3 * small for large, small in pairwise(signal))
    assert setting.eta <= 1 / (180 * signal[0])


@given(satisfying("repaired"))
def test_repaired_settings_agree_with_their_numbers(setting):
    """D.3' written out, with pivots in exact rationals."""
    order = list(setting.task.order)
    matrix = setting.W0.matrix[order][:, order]
    diagonal = [Fraction(float(matrix[k, k])) * setting.W0.omega for k in range(len(matrix))]
    assert max(diagonal) <= setting.beta * setting.omega
    assert min(exact_pivots(matrix)) * setting.W0.omega >= setting.rho * setting.omega
    assert setting.beta >= 1


def test_omega_goes_far_down_and_near_the_edge():
    exists(satisfying(dim=2), lambda setting: setting.omega < Fraction(1, 10**2000))
    exists(satisfying(dim=3), lambda setting: setting.omega < Fraction(1, 10**300))

    def hugging(setting):
        return 0 < -distance(setting, setting.check_numbers()) < mpmath.mpf("1e-14")

    exists(satisfying(dim=2), hugging)


@pytest.mark.parametrize("dim", [2, 3])
def test_repaired_omega_comes_near_the_largest(dim):
    def hugging(setting):
        if setting.omega.numerator < 10:  # powers of ten are farther away, and a check costs time
            return False
        limit = setting.check_numbers().largest_omega
        return setting.omega / Fraction(str(limit)) > Fraction(99, 100)

    exists(satisfying("repaired", dim), hugging)


def test_eta_reaches_the_limit_of_D2():
    exists(satisfying(), lambda setting: setting.eta == 1 / (180 * max(setting.task.exact_signal)))


def test_matrices_are_degenerate_in_part_of_the_draws():
    def share(setting):
        order = list(setting.task.order)
        matrix = setting.W0.matrix[order][:, order]
        return min(p / Fraction(float(matrix[k, k])) for k, p in enumerate(exact_pivots(matrix)))

    exists(satisfying(dim=3), lambda setting: share(setting) == 0)
    exists(satisfying(dim=3), lambda setting: 0 < share(setting) < Fraction(1, 1000))
    exists(satisfying(dim=3), lambda setting: share(setting) > Fraction(1, 3))


def test_settings_shrink_to_round_numbers_one_at_a_time():
    four_one, ones = "Setting(SIMTask.from_signal([4, 1])", "[[1.0, 1.0], [1.0, 1.0]]"
    tail = f'eta="0.001", beta=2, W0=Scaled({ones}'
    assert simplest(satisfying(), lambda setting: setting.W0.matrix.min() < 0) == (
        f'{four_one}, omega="1e-83", eta="0.001", beta=2, '
        'W0=Scaled([[1.0, -1.0], [-1.0, 1.0]], "1e-83"))'
    )
    assert simplest(satisfying(), lambda setting: setting.omega < Fraction(1, 10**500)) == (
        'Setting(SIMTask.from_signal([1]), omega="1e-1003", eta="0.001", beta=2, '
        'W0=Scaled([[1.0]], "1e-1003"))'
    )
    assert simplest(satisfying("repaired", 2)) == (
        f'{four_one}, omega="0.1", eta="0.01", beta=1, rho=1, '
        'W0=Scaled([[1.0, 0.0], [0.0, 1.0]], "0.1"), edition="repaired", dynamics="flow")'
    )
    assert simplest(violating("D.2", dim=2)) == (
        f'{four_one}, omega="1e-83", {tail.replace("0.001", "0.01")}, "1e-83"))'
    )
    assert simplest(violating("D.4", dim=2)) == (
        f'{four_one}, omega="1e-74", {tail.replace("beta=2", "beta=1")}, "1e-74"))'
    )
    assert simplest(violating("D.5", dim=2)) == (
        f'{four_one.replace("4", "2")}, omega="1e-5", {tail}, "1e-5"))'
    )
    assert simplest(violating("D.1", dim=2)) == (
        f'{four_one.replace("4, 1", "1, 0")}, omega="1e-43", {tail}, "1e-43"))'
    )


@pytest.mark.parametrize("dim", [None, 2, 4])
def test_the_corrected_edition_is_refused_with_its_certificate(dim):
    with pytest.raises(InvalidInput) as caught:
        satisfying("corrected", dim)
    assert INFEASIBILITY_CERTIFICATE in str(caught.value)
    assert "must be 1" in str(caught.value)


def test_a_strategy_of_dimensions_is_refused_when_drawn():
    @settings(QUIET)
    @given(satisfying("corrected", st.just(2)))
    def run(setting):
        pass

    with pytest.raises(InvalidInput, match="No omega, eta or signal"):
        run()


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

    exists(
        violating("D.4", dim=2),
        lambda setting: distance(setting, setting.check()) < mpmath.mpf("1e-14"),
    )


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


@given(st.fractions(min_value=0), st.integers(-600, 600))
def test_numbers_are_written_exactly(mantissa, exponent):
    value = mantissa * Fraction(10) ** exponent
    text = written.number(value)
    assert Fraction(eval(text, {"Fraction": Fraction})) == value


def test_numbers_of_any_size_are_written():
    value = Fraction(1, 3**20000)
    assert eval(written.number(value), {"Fraction": Fraction}) == value


def test_a_failing_example_is_shown_as_text_to_paste():
    @settings(database=None, derandomize=True)
    @given(satisfying(dim=2))
    def fails(setting):
        assert setting.task.dim == 1

    with pytest.raises(AssertionError) as caught:
        fails()
    assert repr(find(satisfying(dim=2), lambda setting: True)) in "\n".join(caught.value.__notes__)


def test_settings_refuse_what_no_check_reads():
    W0, task = Scaled([[1]], "1e-3"), SIMTask([1])
    for call in (
        lambda: Setting(task, 0, 1, 1, W0=W0),
        lambda: Setting(task, 1, 1, 1, 1, W0=W0),
        lambda: Setting(task, 1, 1, 1, W0=W0, edition="repaired"),
        lambda: Setting(task, 1, 1, 1, W0=[[1]]),
        lambda: Setting(SIMTask([1, 2]), 1, 1, 1, W0=W0),
        lambda: Setting([1], 1, 1, 1, W0=W0),
        lambda: Setting(task, 1, 1, 1, W0=W0, dynamics="sgd"),
        lambda: Setting(task, 1, 1, 1, W0=W0, edition="final"),
    ):
        with pytest.raises(InvalidInput):
            call()


def test_importing_the_part_does_not_import_hypothesis():
    code = (
        "import sys, swingby.testing; dir(swingby.testing); "
        "heavy = {'hypothesis', 'numpy', 'sympy', 'flint'}; print(heavy & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_without_hypothesis_the_extra_is_named(monkeypatch):
    for name in list(sys.modules):
        if name.partition(".")[0] == "hypothesis":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    monkeypatch.delitem(vars(swingby.testing), "tasks", raising=False)
    with pytest.raises(MissingExtra, match=r"swingby\[testing\]"):
        swingby.testing.tasks  # noqa: B018


def test_no_module_hides_a_name():
    for name in swingby.testing.__all__:
        home = swingby.testing._HOME[name]
        assert home.rpartition(".")[2] not in swingby.testing.__all__
        importlib.import_module(home)
        assert getattr(swingby.testing, name) is getattr(sys.modules[home], name)
