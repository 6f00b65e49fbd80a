"""Numbers as Python text: read back exactly, and in the form that the module states."""

import ast
import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swingby.theory import numbers
from swingby.theory.written import number, vector


def read(text):
    """What Python and then swingby make of the text."""
    made = re.fullmatch(r"Fraction\((0x[0-9a-f]+), (0x[0-9a-f]+)\)", text)
    if made:
        return Fraction(int(made[1], 16), int(made[2], 16))
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
    assert read(number(value)) == value


@pytest.mark.parametrize(
    ("value", "text"),
    # By hand, from the limits that the module states.
    [
        (Fraction(0), "0"),
        (Fraction(10**15 - 1), "999999999999999"),
        (Fraction(10**15), '"1e15"'),
        (Fraction(12 * 10**78), '"1.2e79"'),
        (Fraction(5, 2), '"2.5"'),
        (Fraction(10**7 + 5, 10**6), '"10.000005"'),
        (Fraction(1, 10**4), '"0.0001"'),
        (Fraction(3, 4 * 10**4), '"7.5e-5"'),
        (Fraction(10**6 + 1, 10), '"100000.1"'),
        (Fraction(10**7 + 1, 10), '"1.0000001e6"'),
        (Fraction(10**11 + 1, 10**6), '"100000.000001"'),
        (Fraction(10**12 + 1, 10**7), '"1.000000000001e5"'),
        (Fraction(1, 3), '"1/3"'),
        (Fraction(1, 75), '"1/75"'),
        (Fraction(10**40 - 1, 10**80), f'"9.{"9" * 39}e-41"'),
        (Fraction(10**40 + 1, 10**80), f'"{10**40 + 1}/{10**80}"'),
        (Fraction(10**40 + 1), f'"{10**40 + 1}"'),
        # 2^-57 = 5^57 / 10^57, and 5^57 is the last power of 5 below 10^40.
        (Fraction(1, 2**57), f'"6.{str(5**57)[1:]}e-18"'),
        (Fraction(1, 2**58), "3.469446951953614e-18"),
        (Fraction(1, 3 * 2**58), f'"1/{3 * 2**58}"'),
        (Fraction(10**400 - 1), f'"{10**400 - 1}"'),
        (Fraction(10**400 + 1), f"Fraction({10**400 + 1:#x}, 0x1)"),
        (Fraction(10**400, 3), f"Fraction({10**400:#x}, 0x3)"),
        (Fraction(1, 10**400 - 1), f'"1/{10**400 - 1}"'),
        (Fraction(3, 10**400 + 1), f"Fraction(0x3, {10**400 + 1:#x})"),
        (Fraction(1, 10**100_000), '"1e-100000"'),
        (Fraction(1, 10**100_001), f"Fraction(0x1, {10**100_001:#x})"),
    ],
    ids=range(27),
)
def test_the_form_at_the_limits(value, text):
    assert number(value) == text
    assert read(text) == value


def test_a_vector_is_a_list_of_numbers():
    assert vector((Fraction(4), Fraction(1, 2), Fraction(1, 3))) == '[4, "0.5", "1/3"]'
    assert vector(()) == "[]"
