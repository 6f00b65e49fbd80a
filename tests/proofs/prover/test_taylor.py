"""Relations in one letter by Taylor series: true ones, tight ones, and what they leave open."""

import pytest
import sympy

from swingby.proofs.checkers import check_line, check_witness
from swingby.proofs.prover.scalar.proof_strategies import by_line
from swingby.proofs.prover.scalar.relation import Relation, Sequent
from tests.proofs.letters import x

y = sympy.Symbol("y", nonnegative=True)
R = sympy.Rational


def proved(small, large, *given, kind="<="):
    goal = Relation(sympy.sympify(small), sympy.sympify(large), kind)
    return by_line(Sequent(tuple(given), goal)).proved


def between(low, letter, high):
    return (Relation(sympy.sympify(low), letter, "<="), Relation(letter, sympy.sympify(high), "<="))


def test_exp_is_above_its_tangent_on_the_whole_half_line():
    assert proved(1 + y, sympy.exp(y))
    assert proved(1 + y + y**2 / 2, sympy.exp(y))
    assert not proved(1 + y + R(501, 1000) * y**2, sympy.exp(y))


def test_a_touching_point_inside_is_a_cut():
    """(x - 1/3)^2 >= 0 on [0, 1]; a little less fails."""
    square = x**2 - 2 * x / 3 + R(1, 9)
    assert proved(0, square, *between(0, x, 1))
    assert not proved(R(1, 10**6), square, *between(0, x, 1))


def test_strict_goals_are_not_proved_by_touching():
    assert proved(x * (1 - x), R(1, 4), *between(0, x, R(1, 2)))
    assert not proved(x * (1 - x), R(1, 4), *between(0, x, R(1, 2)), kind="<")
    assert proved(x * (1 - x), R(13, 50), *between(0, x, 1), kind="<")
    assert not proved(0, x, *between(0, x, 1), kind="<")


@pytest.mark.parametrize("large", [(1 - x) ** -2, 1 / (1 - x), -sympy.log(1 - x), x - sympy.log(x)])
def test_singular_letters_are_left_open_in_bounded_time(large):
    """True, but no number of halvings reaches the singularity."""
    assert not proved(0, large, *between(0, x, 1))


@pytest.mark.parametrize(
    ("relation", "cuts", "accepted"),
    [
        ("z <= 1", [], True),
        ("z < 1", [], False),
        ("z <= 99/100", [], False),
        ("z*(1 - z) <= 1/4", ["1/2"], True),
        ("z*(1 - z) <= 1/4", ["1/2", "1/4"], False),
        ("z <= 1", ["2"], False),
    ],
)
def test_the_checker_decides_by_the_hypotheses(relation, cuts, accepted):
    step = {"relation": relation, "letter": "z", "cuts": cuts}
    tools, given = check_witness.line_tools(), ["0 <= z", "z <= 1"]
    try:
        check_line.judge(step, {"z": "real"}, given, tools, check_witness.number)
    except ValueError:
        assert not accepted
    else:
        assert accepted
