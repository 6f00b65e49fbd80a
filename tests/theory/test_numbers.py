"""Numbers in and out: exact where the user is exact, refused where they make no sense."""

import ast
import decimal
import math
import re
from fractions import Fraction
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from swingby.errors import InvalidInput
from swingby.report.number_text import python_list, python_text, scientific
from swingby.theory import numbers


@pytest.mark.parametrize(
    ("given_value", "expected"),
    [
        (3, Fraction(3)),
        (0.1, Fraction(0.1)),
        ("0.1", Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        (" 2.5e-3 ", Fraction(1, 400)),
        ("1e-400", Fraction(1, 10**400)),
        (".5", Fraction(1, 2)),
        ("3.", Fraction(3)),
        (decimal.Decimal("1e-400"), Fraction(1, 10**400)),
        (np.float32(0.5), Fraction(1, 2)),
        (np.int64(7), Fraction(7)),
        (np.array(2.5), Fraction(5, 2)),
        (sympy.Rational(-22, 7), Fraction(-22, 7)),
        (sympy.Float("0.5"), Fraction(1, 2)),
        (mpmath.mpf("0.25"), Fraction(1, 4)),
        (-(mpmath.mpf(2) ** -2000), -Fraction(1, 2**2000)),
    ],
)
def test_exact_keeps_what_was_given(given_value, expected):
    assert numbers.exact(given_value, "x") == expected


REFUSED = (
    *(math.nan, math.inf, -math.inf, "", "nan", "inf", "abc", "1e", "1_000", "0x10", "1e3/2", "٣"),
    *("__import__('os')", "1e999999999", "1/0", None, True, np.bool_(True), [1], {}, 1j),
    *(mpmath.mpf("nan"), mpmath.inf, mpmath.mpf(2) ** 10**7, decimal.Decimal("NaN"), object()),
    *(sympy.Symbol("x"), sympy.oo, sympy.pi, sympy.sqrt(2), sympy.zoo, sympy.nan),
    np.datetime64("2020-01-01"),
    # What only looks like a rational.
    SimpleNamespace(p=1, q=0, is_Rational=True),
    SimpleNamespace(p=1, q=2, is_Rational=False),
    SimpleNamespace(p=1, q=2),
    SimpleNamespace(p=1, is_Rational=True),
)


@pytest.mark.parametrize("bad", REFUSED)
def test_exact_refuses_by_name_and_value(bad):
    with pytest.raises(InvalidInput, match=r"^eta must"):
        numbers.exact(bad, "eta")


@given(st.text(max_size=30))
def test_any_text_is_a_number_or_refused(text):
    try:
        value = numbers.exact(text, "x")
    except InvalidInput:
        return
    assert isinstance(value, Fraction)


@given(st.fractions(min_value=Fraction(1, 10**30), max_value=10**30), st.integers(-3000, 3000))
def test_log_of_agrees_with_forty_digits(value, exponent):
    scaled = value * Fraction(10) ** exponent
    with mpmath.workdps(40):
        expected = mpmath.log(mpmath.mpf(scaled.numerator)) - mpmath.log(scaled.denominator)
        error = abs(numbers.log_of(scaled) - expected)
    # Two roundings near the result and one near log 2 times the shift.
    assert error <= 4e-16 * max(1.0, abs(float(expected)))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(1, 10**400), "1e-400"),
        (Fraction(1, 3), "0.3333"),
        (Fraction(-1, 10**7), "-1e-07"),
        (Fraction(123456), "123456"),
    ],
)
def test_scientific_reads_like_a_number(value, text):
    assert scientific(value) == text


REFUSED_BY = {
    "vector": ([], "12", {1: 2}, [1, None], [1, "x"], [math.nan], np.zeros((2, 2)), b"1"),
    "real_array": (
        [],
        [[1, 2], [3]],
        [["a"]],
        [[math.nan]],
        [[math.inf]],
        [[1j]],
        None,
        [["1e999"]],
    ),
    "whole": (1.5, -1, "x", math.nan),
    "positive": (0, -1, "x"),
}


@pytest.mark.parametrize(
    ("reader", "bad"), [(name, value) for name, values in REFUSED_BY.items() for value in values]
)
def test_readers_refuse_by_name(reader, bad):
    with pytest.raises(InvalidInput, match="W0"):
        getattr(numbers, reader)(bad, "W0")


def test_real_array_copies():
    original = np.eye(2)
    copy = numbers.real_array(original, "W0")
    original[0, 0] = 5
    assert copy[0, 0] == 1


@pytest.mark.parametrize("value", [Fraction(1, 10**320), Fraction(10**400)])
def test_within_float_refuses_what_would_underflow_or_overflow(value):
    with pytest.raises(InvalidInput, match="float range"):
        numbers.within_float(value, "eta")


def read(text):
    """What Python and then swingby make of the text."""
    match = re.fullmatch(r"Fraction\((0x[0-9a-f]+), (0x[0-9a-f]+)\)", text)
    if match:
        return Fraction(int(match[1], 16), int(match[2], 16))
    return numbers.exact(ast.literal_eval(text), "value")


@given(
    st.one_of(
        st.fractions(0),
        st.builds(
            lambda digits, exponent: Fraction(digits) * Fraction(10) ** exponent,
            st.integers(0, 10**40 - 1),
            st.one_of(st.integers(-20, 20), st.integers(-1000, 1000)),
        ),
        st.floats(0, allow_infinity=False).map(Fraction),
        st.builds(Fraction, st.integers(0, 10**450), st.integers(1, 10**450)),
        st.builds(lambda p, q: Fraction(p) / 2**q, st.integers(0, 10**50), st.integers(0, 2000)),
        st.builds(lambda p, q: Fraction(p) / 5**q, st.integers(0, 10**50), st.integers(0, 800)),
    )
)
def test_every_number_is_read_back_exactly(value):
    assert read(python_text(value)) == value


@pytest.mark.parametrize(
    ("value", "text"),
    # By hand, from the limits that the module states.
    [
        (Fraction(0), "0"),
        (Fraction(10**15 - 1), "999999999999999"),
        (Fraction(10**15), '"1e15"'),
        (Fraction(5, 2), '"2.5"'),
        (Fraction(10**7 + 5, 10**6), '"10.000005"'),
        (Fraction(1, 10**4), '"0.0001"'),
        (Fraction(10**11 + 1, 10**6), '"100000.000001"'),
        (Fraction(10**12 + 1, 10**7), '"1.000000000001e5"'),
        (Fraction(1, 3), '"1/3"'),
        (Fraction(10**40 - 1, 10**80), f'"9.{"9" * 39}e-41"'),
        (Fraction(10**40 + 1, 10**80), f'"{10**40 + 1}/{10**80}"'),
        # 2^-57 = 5^57 / 10^57, and 5^57 is the last power of 5 below 10^40.
        (Fraction(1, 2**57), f'"6.{str(5**57)[1:]}e-18"'),
        (Fraction(1, 2**58), "3.469446951953614e-18"),
        (Fraction(10**400 - 1), f'"{10**400 - 1}"'),
        (Fraction(10**400 + 1), f"Fraction({10**400 + 1:#x}, 0x1)"),
        (Fraction(3, 10**400 + 1), f"Fraction(0x3, {10**400 + 1:#x})"),
        (Fraction(1, 10**100_000), '"1e-100000"'),
        (Fraction(1, 10**100_001), f"Fraction(0x1, {10**100_001:#x})"),
    ],
)
def test_the_form_at_the_limits(value, text):
    assert python_text(value) == text
    assert read(text) == value


def test_a_vector_is_a_list_of_numbers():
    assert python_list((Fraction(4), Fraction(1, 2), Fraction(1, 3))) == '[4, "0.5", "1/3"]'
    assert python_list(()) == "[]"
