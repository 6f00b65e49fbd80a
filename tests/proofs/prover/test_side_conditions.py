"""What a verdict owes besides the truth of a line: that it is defined, says something, and ends.

Expected verdicts are by hand; each line is the shortest on which a prover without the check errs.
"""

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy

from swingby.errors import InvalidInput
from swingby.proofs.language.claim import Claim, Given
from swingby.proofs.language.conclusions import FlowSolution
from swingby.proofs.language.reader import Proof
from swingby.proofs.prover.algebra.algebraic_claims import decide_solution
from swingby.proofs.prover.evidence import TAUTOLOGY
from swingby.proofs.prover.prove import decide
from swingby.proofs.prover.scalar import proof_strategies, scalar_claims
from swingby.proofs.prover.scalar.laurent import ONE, multiply
from swingby.proofs.prover.scalar.polynomial_problem import (
    Atom,
    Constraint,
    PolynomialProblem,
    with_negated_goal,
)
from swingby.proofs.prover.scalar.positivity_certificate import verify
from swingby.proofs.prover.scalar.preparation import resolve_definitions
from swingby.proofs.prover.scalar.relation import Sequent, relation_from
from swingby.proofs.prover.scalar.scalar_claims import decide_scalar
from swingby.proofs.prover.scalar.side_conditions import definedness_conditions
from swingby.proofs.prover.scalar.squares import sum_of_squares
from swingby.theory.budget import budget
from swingby.theory.search_time import OutOfTime, seconds_left
from tests.proofs.letters import eq, ge, gt, le, lt

x, y, z = sympy.symbols("x y z", real=True)
p, q = sympy.symbols("p q", positive=True)
whole = sympy.Symbol("m", integer=True)
ne = sympy.Ne


def claim(conclusion, *hypotheses, **options):
    premises = tuple(Given(hypothesis, "case") for hypothesis in hypotheses)
    return Claim("line", "step", "", conclusion, premises, **options)


def times(*factors):
    return sympy.Mul(*factors, evaluate=False)


def test_what_is_cancelled_is_judged_first():
    """x y (1/y) = x has no left side at y = 0."""
    line = eq(times(x, y, 1 / y), x)
    judged = decide_scalar(claim(line))
    assert (judged.verdict, judged.witness.values["y"]) == ("refuted", "0")
    assert "not defined" in judged.method
    for hypothesis in (gt(y, 0), lt(y, 0), ne(y, 0)):
        judged = decide_scalar(claim(line, hypothesis))
        assert judged.verdict == "proved", hypothesis
        assert any("defined, as y != 0" in reason for reason in judged.evidence)


def test_a_definition_is_cancelled_neither():
    """z = y/y, in which y may be zero."""
    judged = decide_scalar(claim(eq(z, 1), where=((z, times(y, 1 / y)),)))
    assert judged.verdict == "refuted"


@pytest.mark.parametrize(
    ("definitions", "line", "undefined_at"),
    [
        (((y, 1 / x), (z, x * y)), eq(z, 1), "0"),
        (((y, 1 / x), (z, x * y)), ge(z, sympy.Rational(1, 2)), "0"),
        (((y, sympy.sqrt(x)), (z, y**2)), eq(z, x), "-1"),
        (((y, sympy.log(x)), (z, sympy.exp(y))), eq(z, x), "0"),
    ],
)
def test_a_definition_that_another_cancels_is_needed_still(definitions, line, undefined_at):
    """With y = 1/x and z = x y, z = 1 is a claim about x != 0 only."""
    judged = decide_scalar(claim(line, where=definitions))
    assert judged.verdict == "refuted"
    assert "not defined" in judged.method
    assert judged.witness.values == {"x": undefined_at}
    assert decide_scalar(claim(line, gt(x, 0), where=definitions)).verdict == "proved"


def test_a_line_that_is_not_shown_to_be_defined_is_not_proved(monkeypatch):
    """Without a verdict on x - 3 != 0, the line is left open."""
    line = claim(eq(times(1 + x**2, 1 / (1 + x**2), z), z))
    assert decide_scalar(line).verdict == "proved"
    monkeypatch.setattr(scalar_claims, "counterexample", lambda *_, **__: None)
    monkeypatch.setattr(scalar_claims, "confirm", lambda *_: None)
    judged = decide_scalar(claim(eq(times(x - 3, 1 / (x - 3)), 1)))
    assert judged.verdict == "undecided"
    assert "needs to be defined" in judged.tried[1]


def test_a_power_that_has_a_value_at_zero_is_not_refuted_there():
    """x^(1/3) is 0 at 0, also where the exponent is written as 1 * 3^-1; x^y may be."""
    third = times(sympy.Integer(1), sympy.Pow(3, -1, evaluate=False))
    judged = decide_scalar(claim(ge(sympy.Pow(x, third, evaluate=False), 0), ge(x, 0)), seconds=20)
    assert judged.verdict != "refuted"
    judged = decide_scalar(claim(ge(x**p, 0), ge(x, 0)), seconds=4)
    assert judged.verdict == "undecided"


def test_a_division_by_zero_itself_is_undecided():
    nothing = sympy.Pow(sympy.Integer(0), -1, evaluate=False)
    judged = decide_scalar(claim(eq(x, 1), eq(times(x, nothing), 1)))
    assert judged.verdict == "undecided"
    assert judged.tried == ("no prover knows a value of what is undefined: it divides by 0",)


@pytest.mark.parametrize(
    "where",
    [((x, y + 1), (y, x - 1)), ((x, x + 1),), ((x, sympy.Integer(1)), (x, sympy.Integer(2)))],
)
def test_circular_definitions_are_refused(where):
    with pytest.raises(InvalidInput, match="must"):
        decide_scalar(claim(ge(x**2, 0), where=where))


def test_definitions_are_put_in_at_any_depth():
    names = sympy.symbols("c0:20")
    where = tuple(zip(names, (*names[1:], sympy.Integer(7)), strict=True))
    assert set(resolve_definitions(where).values()) == {sympy.Integer(7)}


@pytest.mark.parametrize(
    ("number", "message"),
    [(sympy.Float("0.5"), "exact"), (sympy.oo, "finite"), (sympy.I, "real"), (sympy.nan, "real")],
)
def test_numbers_have_to_be_exact_and_real(number, message):
    with pytest.raises(InvalidInput, match=message):
        decide_scalar(claim(sympy.Le(p, number + 0 * p, evaluate=False)))


def test_one_name_means_one_letter():
    with pytest.raises(InvalidInput, match="one thing"):
        decide_scalar(claim(ge(sympy.Symbol("p"), 0), ge(p, 1)))


@pytest.mark.parametrize("part", [sympy.sin(x), sympy.ceiling(x), sympy.Function("f")(x)])
def test_what_no_prover_knows_is_undecided(part):
    judged = decide_scalar(claim(le(part, part + 1)))
    assert judged.verdict == "undecided"
    assert str(part) in judged.tried[0]


def test_a_root_of_a_negative_number_is_undecided():
    judged = decide_scalar(claim(eq(sympy.Pow(-p, sympy.Rational(1, 2), evaluate=False), 0)))
    reason = "no prover knows the root or logarithm of a negative number"
    assert (judged.verdict, judged.tried) == ("undecided", (reason,))


def test_a_hypothesis_without_a_value_in_a_case_is_no_hypothesis():
    """In the case y = 0, x/y = 1 has no sides; 0/z has no value at z = 0."""
    conclusion = eq(sympy.Add(x / y, times(0, 1 / z), evaluate=False), 1)
    judged = decide_scalar(claim(conclusion, eq(x / y, 1)))
    assert (judged.verdict, judged.witness.values["z"]) == ("refuted", "0")


@pytest.mark.parametrize(
    ("hypotheses", "line", "verdict"),
    [
        ("given matrices: W A = A W [case]", "matrices: W A W = A W W", "undecided"),
        ("given matrices: W = U U^T [case]", "matrices: W = W^T", "undecided"),
        # W = 0 commutes with A, and U = 0 makes it a square
        ("given matrices: W A = A W [case]", "matrices: W A = A A", "refuted"),
        ("given matrices: W = U U^T [case]", "matrices: W A = A A", "refuted"),
        # true everywhere, so at every witness
        ("given matrices: W + A = A + W [case]", "matrices: W A = A W", "refuted"),
        ("given entry: w[i, j] = 0 [case]", "entry: w[i, j] a[i] = 0", "undecided"),
        ("given η = 2 [case]", "matrices: η W = 2 W", "undecided"),
        ("given η > 1/2 [case]", "matrices: η W = 2 W", "refuted"),
        ("given mu[p] = 0 [case]", "mean: mean(x_entry[p]) = 0", "undecided"),
        ("given r = 2 [case]", "formula: r^2 = 2 r", "undecided"),
        ("given r > 0 [case]", "formula: r^2 = 2 r", "refuted"),
        ("given r > 1/2 [case]", "r in [0, 1]: r > 1/4", "undecided"),
        ("given r < 1 [case]", "r in [0, 1]: r > 3/4", "refuted"),
        # r/r has no value at 0
        ("given r/r = 1 [case]", "r in [-1, 1]: r^2 > 0", "undecided"),
        # letters have hypotheses of their own, and one point is not all
        ("for all numbers", "m in [0, 1]: m (1 - m) <= 0", "proved"),
        ("for all numbers", "q_0 in [-1, 1]: q_0 >= 0", "proved"),
        ("for some numbers", "matrices: W A = A W", "undecided"),
    ],
)
def test_an_algebraic_line_is_refuted_only_where_its_hypotheses_hold(hypotheses, line, verdict):
    letters = "use matrices\nletters positive: q_0\nletters integer: m\nletters real: r\n"
    claim_of_file = Proof(f"{letters}step 1: a line\n  {hypotheses}\n  then {line}")["1"]
    judged = decide(claim_of_file)
    assert judged.verdict == verdict
    grounds = {"undecided": judged.tried, "refuted": judged.witness, "proved": judged.evidence}
    assert grounds[verdict]


@pytest.mark.parametrize(
    "line",
    [
        *("entry: w[h, i] = w[h, i]", "entry: w[1, 2] = w[1, 2]", "mean: mean(x_entry[1]) = 0"),
        *("entry: delta(i, 1) = 1", "entry: inside(h) = 1", "mean: mean(delta(h, i)) = 1"),
    ],
)
def test_an_index_is_a_letter_of_whole_numbers(line):
    judged = decide(Proof(f"use matrices\nletters real: h\nstep 1: a line\n  then {line}")["1"])
    assert judged.verdict == "undecided"
    assert "must be a letter for a whole number" in judged.tried[0]


def test_an_unknown_quantifier_is_refused():
    with pytest.raises(InvalidInput, match="quantifier"):
        decide_scalar(claim(ge(x, 0), quantifier="for some"))


def test_tautologies_are_called_so():
    assert decide_scalar(claim(eq(x, x))).method == TAUTOLOGY
    assert decide_scalar(claim(eq(sympy.S.Zero, 0))).method == TAUTOLOGY
    assert decide_scalar(claim(le(x, y), le(x, y))).method == TAUTOLOGY
    assert decide_scalar(claim(eq(z, x + y), where=((z, x + y),))).method == TAUTOLOGY
    assert decide_scalar(claim(eq((x + y) ** 2, x**2 + 2 * x * y + y**2))).method != TAUTOLOGY
    assert decide_scalar(claim(lt(x, x))).verdict == "refuted"


def test_a_proved_line_shows_a_model_or_says_that_none_is_known():
    judged = decide_scalar(claim(ge(x + y, 2), ge(x, 1), ge(y, 1)))
    assert judged.evidence[-1].startswith("its hypotheses hold at x = ")
    judged = decide_scalar(claim(gt(x, sympy.Rational(7, 5)), eq(x**2, 2), gt(x, 0)))
    assert judged.verdict == "proved"
    assert judged.evidence[-1] == "no point that meets its hypotheses is known"
    assert not any("at 0 points" in line for line in judged.evidence)


def test_witnesses_respect_what_sympy_assumes_of_letters():
    """A positive letter is positive also where an equation gives it; an integer is whole."""
    assert decide_scalar(claim(lt(p, 1), eq(p + q, 1))).verdict == "proved"
    for line in (ge(whole**2, whole), ge(whole**2, -whole)):
        judged = decide_scalar(claim(line))
        assert judged.verdict == "proved"
        assert {len(step["certificates"]) for step in judged.proof} == {2}
    wrong = ge(2 * whole**2, 3 * whole)
    assert decide_scalar(claim(wrong), seconds=10).verdict == "refuted"
    assert not proof_strategies.by_whole_numbers(Sequent((), relation_from(wrong))).proved
    assert decide_scalar(claim(ge(whole, 0))).verdict == "refuted"
    below = sympy.Symbol("b", negative=True)
    assert decide_scalar(claim(lt(below, 0))).verdict == "proved"


def test_every_search_ends_with_its_budget():
    judged = decide_scalar(claim(gt(sympy.exp(x), sympy.E * x)), seconds=0.001)
    assert judged.verdict == "undecided"
    assert any("ran out" in line for line in judged.tried)
    with budget(-1), pytest.raises(OutOfTime):
        seconds_left()


def test_a_solution_that_divides_by_a_rate_needs_the_rate():
    """(w_0 + 1/a) exp(a t) - 1/a solves w' = a w + 1 for a > 0, and is nothing at a = 0."""
    a, start, t = sympy.symbols("a w_0 t", real=True)
    body = (start + 1 / a) * sympy.exp(a * t) - 1 / a

    def judged(*cases):
        return decide_solution(claim(FlowSolution(body, (a, sympy.Integer(1)), start, t, cases)))

    assert judged(("a > 0", ())).verdict == "proved"
    assert judged(("", ())).witness.values["a"] == "0"
    assert judged(("a > 0", ()), ("a = 0", ((a, 0),))).verdict == "refuted"


ATOMS = (Atom("x", "real", x), Atom("y", "real", y))


def problem(goal, *constraints, kind=">="):
    facts = tuple(Constraint(polynomial, sign) for polynomial, sign in constraints)
    return PolynomialProblem(ATOMS, facts, Constraint(goal, kind))


def negated(*args, **options):
    return with_negated_goal(problem(*args, **options))


def test_squares_are_verified_exactly():
    """(x - y/2)^2 + 3/4 y^2; with another weight, or without the square, it is no certificate."""
    X, Y = ((0, 1),), ((1, 1),)
    square = {((0, 2),): Fraction(1), ((0, 1), (1, 1)): Fraction(-1), ((1, 2),): Fraction(1)}
    certificate = sum_of_squares(negated(square))
    assert certificate is not None
    assert verify(certificate)
    squares = [pair for pair in certificate.pieces if pair[1].square != ONE]
    (weight, piece), rest = squares[0], [p for p in certificate.pieces if p is not squares[0]]
    assert not verify(replace(certificate, pieces=(*rest, (weight + 1, piece))))
    wrong = replace(piece, square={X: Fraction(1), Y: Fraction(1)})
    assert not verify(replace(certificate, pieces=(*rest, (weight, wrong))))
    assert not verify(replace(certificate, pieces=(*rest, (weight, replace(piece, square=ONE)))))
    assert sum_of_squares(negated(multiply(square, {X: Fraction(1)}))) is None
    assert sum_of_squares(negated(square, kind=">")) is None


@pytest.mark.filterwarnings("error")
def test_squares_are_found_where_the_least_eigenvalue_is_two():
    """2 x^2 + 2 y^2 is far inside the sums of squares: no division by 0 on the way."""
    assert sum_of_squares(negated({((0, 2),): Fraction(2), ((1, 2),): Fraction(2)})) is not None


def test_roots_and_logarithms_have_conditions():
    needed = [
        str(condition)
        for condition in definedness_conditions(
            sympy.sqrt(x) + sympy.log(y) + z ** sympy.Rational(-1, 2)
        )
    ]
    assert set(needed) == {"0 <= x", "0 < y", "0 < z"}
