"""Boxes: true inequalities in one and two letters, tight ones, and what they leave open."""

import flint
import pytest
import sympy

from swingby.proofs.prover.scalar.branch_and_bound import interval, prove_on_boxes, prove_on_line
from swingby.proofs.prover.scalar.relation import Relation, Sequent
from tests.proofs.letters import x

y = sympy.Symbol("y", nonnegative=True)
R = sympy.Rational


def proved(small, large, *given, kind="<=", touching=False):
    sequent = Sequent(tuple(given), Relation(sympy.sympify(small), sympy.sympify(large), kind))
    return prove_on_line(sequent) is not None if touching else prove_on_boxes(sequent)[0]


def between(low, letter, high):
    return (Relation(sympy.sympify(low), letter, "<="), Relation(letter, sympy.sympify(high), "<="))


def test_exp_is_above_its_tangent_on_the_whole_half_line():
    assert proved(1 + y, sympy.exp(y), touching=True)
    assert proved(1 + y + y**2 / 2, sympy.exp(y), touching=True)
    assert not proved(1 + y + R(501, 1000) * y**2, sympy.exp(y), touching=True)


def test_a_touching_point_inside_is_left_open():
    """(x - 1/3)^2 >= 0 is true, but boxes around 1/3 never settle."""
    found, report = prove_on_boxes(
        Sequent(between(0, x, 1), Relation(sympy.Integer(0), x**2 - 2 * x / 3 + R(1, 9), "<="))
    )
    assert not found
    assert report.corner


def test_strict_goals_are_not_proved_by_touching():
    assert proved(x * (1 - x), R(1, 4), *between(0, x, R(1, 2)))
    assert not proved(x * (1 - x), R(1, 4), *between(0, x, R(1, 2)), kind="<")
    assert proved(x * (1 - x), R(13, 50), *between(0, x, 1), kind="<")


@pytest.mark.parametrize("large", [(1 - x) ** -2, 1 / (1 - x), -sympy.log(1 - x), x - sympy.log(x)])
def test_singular_letters_are_left_open_in_bounded_time(large):
    """True, but no number of halvings reaches the singularity."""
    assert not proved(0, large, *between(0, x, 1))


def test_letters_without_a_lower_bound_and_more_than_two_are_refused():
    assert not proved(0, x**2)
    letters = sympy.symbols("p q r", positive=True)
    assert not proved(0, sum(letters))


@pytest.mark.parametrize(
    "expression", [x**2 - x, x * sympy.exp(-x), sympy.log(2 + x) * (x - 1), (1 + x) ** R(-1, 2)]
)
def test_interval_bounds_contain_the_values(expression):
    """Against mpmath-free evaluation by sympy at eleven points of the box."""
    low, high = interval(expression, {x: (flint.arb(-1) / 2, flint.arb(3) / 2)})
    for step in range(11):
        value = float(expression.subs(x, R(-1, 2) + R(step, 5)))
        assert float(low) - 1e-12 <= value <= float(high) + 1e-12
