"""Settings as text, what they refuse, and the lazy face of swingby.testing."""

import importlib
import subprocess
import sys
from fractions import Fraction

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

import swingby.testing
from swingby.errors import InvalidInput, MissingExtra
from swingby.testing import Setting, satisfying, violating
from swingby.theory import written
from swingby.theory.initial import Scaled
from swingby.theory.task import SIMTask

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
