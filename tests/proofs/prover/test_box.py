"""Bernstein coefficients on a box: what they prove, what they leave open, and tampered files."""

import copy
from fractions import Fraction

import pytest
import sympy

from swingby.proofs.checkers import check_box, check_witness
from swingby.proofs.language.claims import by_id
from swingby.proofs.prover.scalar.proof_strategies import by_box
from swingby.proofs.prover.scalar.relation import Relation, Sequent
from swingby.proofs.prover.scalar.scalar_claims import decide_scalar, prepare_claim, proof_file

x, y = sympy.symbols("x y", nonnegative=True)
R = sympy.Rational
UNIT = (Relation(x, R(1), "<="), Relation(y, R(1), "<="))
#: It is (x - y)^2 + 1/100 less a bit: positive on the unit box, and not by one piece.
VALLEY = (x - y) ** 2 + R(1, 100)


def proved(small, large, *given, kind="<="):
    goal = Relation(sympy.sympify(small), sympy.sympify(large), kind)
    return by_box(Sequent(tuple(given), goal)).proved


def test_the_coefficients_are_those_of_the_textbook():
    """x^2 has 0, 0, 1 on [0, 1]; on [1, 3] 1, 3, 9."""
    ends = [(sympy.S.Zero, sympy.S.One, True, True)]
    assert check_box.bernstein({(2,): 1}, ends) == {(0,): 0, (1,): 0, (2,): 1}
    ends = [(sympy.S.One, sympy.Integer(3), True, True)]
    assert check_box.bernstein({(2,): 1}, ends) == {(0,): 1, (1,): 3, (2,): 9}


def test_coefficients_are_bounds_of_values():
    """Every value at a rational point lies between the extreme coefficients; corners are values."""
    powers = {(2, 1): Fraction(3), (1, 0): Fraction(-2), (0, 2): Fraction(1, 2)}
    ends = [(Fraction(-1), Fraction(2), True, True), (Fraction(0), Fraction(1, 3), True, True)]
    coefficients = check_box.bernstein(powers, ends)

    def value(a, b):
        return sum(c * a**i * b**j for (i, j), c in powers.items())

    for k in range(11):
        for m in range(11):
            at = value(Fraction(-1) + Fraction(3 * k, 10), Fraction(m, 30))
            assert min(coefficients.values()) <= at <= max(coefficients.values())
    assert coefficients[0, 0] == value(-1, 0)
    assert coefficients[2, 2] == value(2, Fraction(1, 3))


@pytest.mark.parametrize(
    ("small", "large", "kind", "expected"),
    [
        (x * y, (x + y) / 2, "<=", True),
        (x * y, (x + y) / 2, "<", False),  # equal at 0 and at (1, 1)
        (x * y, R(101, 100), "<", True),
        (x * y, R(99, 100), "<=", False),
        (0, VALLEY, "<", False),  # four pieces of each letter are too few
        (0, VALLEY + R(1, 10), "<", True),
        (x / (2 - y), 1, "<=", True),
        (x / (2 - y), R(99, 100), "<=", False),
        (1 / (1 - y), 2 + x, "<=", False),  # a denominator that is 0 at an end
    ],
)
def test_what_is_proved_on_the_unit_box(small, large, kind, expected):
    assert proved(small, large, *UNIT, kind=kind) is expected


def test_an_open_end_counts_for_strict_relations():
    below = Relation(x, R(1), "<")
    assert proved(x * (1 + y), 1 + y, below, UNIT[1], kind="<")
    assert not proved(x * (1 + y), 1 + y, *UNIT, kind="<")
    # 1 - y is positive below 1, so that it may divide
    assert proved(x, 1 / (1 - y), UNIT[0], Relation(y, R(1), "<"))


def test_a_negative_denominator_turns_the_relation():
    assert proved(x / (y - 2), 0, *UNIT)
    assert not proved(0, x / (y - 2), *UNIT)


def test_without_two_ends_nothing_is_said():
    assert not proved(x * y, x * y + 1, UNIT[0])


def test_the_convexity_of_theorem_two_gd_is_settled():
    claim = by_id("Theorem two-gd [3.5.6]")
    judged = decide_scalar(claim)
    assert (judged.verdict, judged.method) == ("proved", "Bernstein coefficients")
    content = proof_file(*prepare_claim(claim), judged.proof)
    assert check_witness.judge_shown(content) == ""


#: Ways to tamper with a file of a box; the first is none.
TAMPERED = {
    "nothing": lambda content, step: None,
    "a larger claim": lambda content, step: step.update(relation=f"{step['relation']} - 1"),
    "a strict sign where it touches": lambda content, step: step.update(
        relation=step["relation"].replace("<=", "<")
    ),
    "a wider range": lambda content, step: content["given"].__setitem__(0, "x <= 2"),
    "no range": lambda content, step: content["given"].__delitem__(0),
    "an open end": lambda content, step: step["box"].update(x=["1"]),
    "cuts out of order": lambda content, step: step["box"].update(x=["1/2", "1/4"]),
    "a letter less": lambda content, step: step["box"].pop("y"),
    "a letter more": lambda content, step: step["box"].update(z=[]),
    "another sign": lambda content, step: content["signs"].update(y="real"),
    "a root": lambda content, step: step.update(relation="x*y <= sqrt(x)"),
    "a function": lambda content, step: step.update(relation="x*y <= exp(x)"),
    "a step with more": lambda content, step: step.update(cuts=[]),
    "too many pieces": lambda content, step: step["box"].update(
        {name: [f"{k}/99" for k in range(1, 99)] for name in "xy"}
    ),
}


@pytest.mark.parametrize("how", TAMPERED)
def test_a_tampered_box_is_refused(how):
    step = {"relation": "x*y <= x/2 + y/2", "box": {"x": ["1/2"], "y": []}}
    signs = {"x": "nonnegative", "y": "nonnegative"}
    given = ["x <= 1", "y <= 1"]
    content = {"format": "swingby proof 2", "id": "", "line": "", "signs": signs, "whole": []}
    content |= {"given": given, "shows": [step]}
    content = copy.deepcopy(content)
    TAMPERED[how](content, content["shows"][0])
    assert bool(check_witness.judge_shown(content)) is (how != "nothing")
