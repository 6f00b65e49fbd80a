"""Witnesses: rechecked from their printed values, inside the assumptions where they have to be."""

from fractions import Fraction

import flint
import pytest
import sympy

from swingby.proofs.prover.scalar.counterexample import (
    LONG,
    Search,
    _conditions,
    confirm,
    counterexample,
    satisfies,
    settings,
)
from swingby.proofs.prover.scalar.exact_value import compiled, condition, holds
from swingby.proofs.prover.scalar.relation import Relation, Sequent
from tests.proofs.letters import K, a_i, a_j, alpha, beta, d, gamma, kappa, omega, w, x


def number(text):
    """A printed value such as 1/7040*10^90 as a Fraction."""
    body, _, exponent = text.partition("10^")
    factor = Fraction(body.rstrip("*") or "1")
    return factor * Fraction(10) ** int(exponent or 0)


def below(small, large, kind="<="):
    return Relation(sympy.sympify(small), sympy.sympify(large), kind)


ALL = list(settings())


@pytest.mark.parametrize("name", ["P", "omega", "eta", "K", "kappa", "C", "gamma"])
def test_a_spoiled_set_is_refused(name):
    setting = ALL[4]
    factor = flint.fmpq(1, 100) if name in ("kappa", "C", "gamma", "K") else flint.fmpq(10) ** 60
    wrong = type(setting)(setting.signal, {**setting.values, name: setting.values[name] * factor})
    assert satisfies(setting, _conditions())
    assert not satisfies(wrong, _conditions())


def test_the_last_bound_of_d47_fails_only_at_extreme_constants():
    small = (kappa - 1) ** 2 * alpha / (K**2 * gamma * d * beta**2)
    found = counterexample(
        Search(Sequent((), below(small, a_i / K)), True, "diagonal"), effort=LONG
    )
    values = {name: number(text) for name, text in found.values.items()}
    assert values["kappa"] > 20
    assert values["omega"] < Fraction(1, 10**30000)
    left = (values["kappa"] - 1) ** 2 * values["alpha"]
    right = values["a_i"] * values["K"] * values["gamma"] * values["d"] * values["beta"] ** 2
    assert left > right
    assert len(found.values["omega"]) < 12


def test_a_witness_is_exact_and_round():
    """w > omega fails at w = omega only."""
    found = counterexample(Search(Sequent((below(omega, w),), below(omega, w, "<"))))
    assert found.values == {"omega": "1", "w_ij(t)": "1"}
    assert found.checked == ("exact rationals", "mpmath with 60 digits")


@pytest.mark.parametrize(
    ("indices", "comparison"), [("diagonal", "=="), ("larger first", ">"), ("off-diagonal", "!=")]
)
@pytest.mark.parametrize("in_force", [True, False])
def test_witnesses_respect_the_indices(indices, comparison, in_force):
    found = counterexample(Search(Sequent((), below(a_i + a_j, alpha)), in_force, indices))
    i, j = number(found.values["a_i"]), number(found.values["a_j"])
    assert {"==": i == j, ">": i > j, "!=": i != j}[comparison]


def test_proposed_points_are_checked():
    search = Search(Sequent((below(omega, w),), below(w, 2 * omega)))
    good = {"omega": flint.fmpq(1), "w_ij(t)": flint.fmpq(3)}
    assert confirm(search, good) is not None
    assert confirm(search, {**good, "w_ij(t)": flint.fmpq(2)}) is None
    assert confirm(search, {**good, "omega": flint.fmpq(-1)}) is None


def test_a_proposed_point_need_not_name_what_an_equation_defines():
    """z3 is asked after v = w + x has been put in."""
    v = sympy.Symbol("v", positive=True)
    search = Search(Sequent((below(v, w + x, "=="),), below(v, 2 * w)))
    found = confirm(search, {"w_ij(t)": flint.fmpq(1), "x": flint.fmpq(3)})
    assert found.values == {"w_ij(t)": "1", "x": "3", "v": "4"}
    assert confirm(search, {"w_ij(t)": flint.fmpq(3), "x": flint.fmpq(1)}) is None
    assert confirm(search, {"w_ij(t)": flint.fmpq(-1), "x": flint.fmpq(1)}) is None


def test_what_an_equation_defines_is_drawn_after_what_defines_it():
    """q = 2/(p + r) is no value of r for most p and q; x^2 + y^2 = 0 takes two zeros."""
    p, q, r = sympy.symbols("p q r", positive=True)
    steep = below(sympy.exp(q * p), 1 + q * p + (q * p) ** 2 + r)
    found = counterexample(Search(Sequent((below(q, 2 / (p + r), "=="),), steep)), effort=LONG)
    assert number(found.values["q"]) == 2 / sum(number(found.values[one]) for one in "pr")
    y, u, v = sympy.symbols("y u v", real=True)
    given = below(u, y - x**3, "=="), below(v, -x - y, "==")
    goal = below(1, sympy.exp(x**2 + y**2) + u**2 + v**2, "<")
    found = counterexample(Search(Sequent(given, goal)), effort=LONG)
    assert set(found.values.values()) == {"0"}


def test_values_stay_exact_where_they_are_rational():
    root = compiled(1 - kappa ** sympy.Rational(-1, 2))
    assert root({"kappa": flint.fmpq(121, 100)}) == flint.fmpq(1, 11)
    assert isinstance(root({"kappa": flint.fmpq(2)}), flint.arb)
    assert compiled(sympy.exp(x))({"x": flint.fmpq(0)}) == 1


def test_undefined_and_undecided_relations_do_not_hold():
    assert condition(below(0, 1 / x)).decided({"x": flint.fmpq(0)}) is None
    assert holds(flint.arb(0, 1), "<=") is None
    assert condition(below(0, sympy.log(x))).decided({"x": flint.fmpq(-1)}) is None
