"""Letters of a law: their names, what they measure, and what kind of numbers they are."""

import flint
import pytest
import sympy

from swingby.errors import InvalidInput
from swingby.theory import laws
from swingby.theory.law import UNITS, Law, evaluate, tau

LAWS = (*laws.laws(), laws.one_layer(3, 2))
#: By what each letter is in the paper: signals and rates per unit of eta times steps, growth per
#: step, logarithms, and plain numbers.
BY_HAND = {
    **dict.fromkeys(["a_i", "a_j", "a_k", "a_1", "a_2", "a_3", "alpha"], "1/(eta step)"),
    **dict.fromkeys(["g_kk", "g_kj"], "1/step"),
    **dict.fromkeys(["K", "M_kj", "gamma", "kappa", "lambda", "theta", "w_kk"], "1"),
    **dict.fromkeys([f"w_k{k}(0)" for k in (1, 2, 3)], "1"),
    **dict.fromkeys([f"z_{k}" for k in (1, 2, 3)], "1"),
    "eta": "step size",
    "eta t": "eta times steps",
    "t": "steps",
    "tau": "steps after t_k",
}


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.id)
def test_letters_are_those_of_the_expression_with_their_units(law):
    names = sorted(str(symbol) for symbol in law.expression.free_symbols)
    assert list(law.letters) == names
    for name in names:
        unit = "natural logarithm" if name.startswith("log") else BY_HAND[name]
        assert law.letters[name] == unit


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.id)
def test_every_letter_is_a_real_number(law):
    # What a user simplifies or solves with sympy must not branch into complex values.
    assert all(symbol.is_real for symbol in law.expression.free_symbols)


def test_letters_that_measure_a_size_are_positive():
    for name in ("w_kk", "theta", "lambda", "g_kk", "g_kj", "eta", "a_k", "kappa"):
        (symbol,) = (symbol for symbol in UNITS if str(symbol) == name)
        assert symbol.is_nonnegative, name


def test_a_law_is_text_and_latex():
    law = Law("doubling", "twice tau", "ours", 2 * tau, "steps")
    assert str(law) == "twice tau (ours): 2*tau, in steps"
    assert law.to_latex() == r"2 \tau"


def test_values_go_by_symbol_or_by_name():
    law = Law("quotient", "tau over w", "ours", tau / sympy.Symbol("w_kk", positive=True), "steps")
    assert evaluate(law, {tau: 3, "w_kk": "1/2"}).overlaps(flint.arb(6))
    assert evaluate(law, {"tau": flint.arb(3), "w_kk": 0.5}) == 6
    assert not evaluate(law, {"tau": 3, "w_kk": 0}).is_finite()
    with pytest.raises(InvalidInput, match="w_kk must be given for quotient"):
        evaluate(law, {"tau": 3})
    with pytest.raises(InvalidInput, match="tau must be a number"):
        evaluate(law, {"tau": "three", "w_kk": 1})
