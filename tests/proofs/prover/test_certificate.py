"""Certificates: found where an identity exists, and refused when anything in them is changed."""

import itertools
import sys
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import pytest
import scipy.optimize
import sympy

from swingby.proofs.prover.scalar.columns import make_column
from swingby.proofs.prover.scalar.laurent import power_of
from swingby.proofs.prover.scalar.polynomial_form import polynomial_form
from swingby.proofs.prover.scalar.polynomial_problem import Atom, Constraint, PolynomialProblem
from swingby.proofs.prover.scalar.positivity_certificate import (
    PositivityCertificate,
    find_certificate,
    verify,
)
from swingby.proofs.prover.scalar.preparation import recognise_signs, relax
from swingby.proofs.prover.scalar.relation import Relation, Sequent
from swingby.proofs.prover.scalar.translation import Untranslatable
from swingby.proofs.prover.scalar.z3_check import ask_z3
from tests.proofs.letters import K, a_i, a_j, alpha, w


def problem(goal, *given):
    return polynomial_form(Sequent(tuple(given), goal))


def below(small, large, kind="<="):
    return Relation(sympy.sympify(small), sympy.sympify(large), kind)


F = sympy.Rational(1001, 1000)
EASY = problem(below(alpha**2, a_i * a_j), below(alpha, a_i), below(alpha, a_j))


def test_a_product_of_hypotheses_is_found_and_names_what_it_uses():
    """a_i a_j - alpha^2 = a_i (a_j - alpha) + alpha (a_i - alpha)."""
    certificate = find_certificate(EASY)
    assert verify(certificate)
    assert set(certificate.used) == {"alpha <= a_i", "alpha <= a_j"}
    assert str(certificate).endswith(">= 0")


@pytest.mark.parametrize("words", ["4: Solve error", "0: Not Set", "18: Memory limit reached"])
def test_a_program_that_got_no_memory_says_nothing_about_the_line(words, monkeypatch):
    """HiGHS does not say so by an error: the messages are those of refused calls of malloc."""
    solve = scipy.optimize.linprog
    failed = SimpleNamespace(x=None, status=4, message=f"(HiGHS Status {words})")
    answers = iter([failed])
    monkeypatch.setattr(
        "scipy.optimize.linprog", lambda *a, **k: next(answers, None) or solve(*a, **k)
    )
    assert verify(find_certificate(EASY))
    monkeypatch.setattr("scipy.optimize.linprog", lambda *a, **k: failed)
    if "Solve" in words:  # numbers may have defeated it
        assert find_certificate(EASY) is None
    else:
        with pytest.raises(MemoryError, match="HiGHS"):
            find_certificate(EASY)


def test_a_changed_coefficient_and_a_missing_piece_are_refused():
    pieces = find_certificate(EASY).pieces
    for index, (coefficient, piece) in enumerate(pieces):
        for changed in ([(coefficient + Fraction(1, 10**12), piece)], []):
            others = (*pieces[:index], *changed, *pieces[index + 1 :])
            assert not verify(PositivityCertificate(EASY, others))


def test_a_negative_coefficient_is_refused_even_in_a_true_identity():
    """-1 = (-1) * 1 is no proof of -1 >= 0, nor is a column that lies about its polynomial."""
    absurd = replace(EASY, goal=Constraint({(): Fraction(-1)}, ">="))
    honest = make_column(absurd, (), ())
    lying = replace(honest, polynomial={(): Fraction(-1)})
    for piece in ((Fraction(-1), honest), (Fraction(1), lying)):
        assert not verify(PositivityCertificate(absurd, (piece,)))


def test_a_strict_goal_needs_a_strict_piece():
    """x >= 0 does not give x > 0, but x > 0 does."""
    atoms = (Atom("x", "real", sympy.Symbol("x")),)
    x = power_of(0)
    for kind, provable in ((">=", False), (">", True)):
        certificate = find_certificate(
            PolynomialProblem(atoms, (Constraint(x, kind),), Constraint(x, ">"))
        )
        assert (certificate is not None) is provable


@pytest.mark.parametrize(("sign", "defined"), [("positive", True), ("real", False)])
def test_only_positive_atoms_have_odd_or_negative_powers(sign, defined):
    atoms = (Atom("x", sign, sympy.Symbol("x")),)
    task = PolynomialProblem(atoms, (), Constraint(power_of(0), ">="))
    for exponent in (1, -1):
        assert (make_column(task, (), ((0, exponent),)) is not None) is defined
    assert make_column(task, (), ((0, 2),)) is not None


def test_a_denominator_of_unknown_sign_is_not_cleared():
    with pytest.raises(Untranslatable, match="no certain sign"):
        problem(below(0, 1 / (a_i - a_j)))
    assert find_certificate(problem(below(0, 1 / (a_i - a_j)), below(a_j, a_i, "<"))) is not None


def test_the_inverse_of_an_exponential_keeps_its_number():
    """Exp(y) at y = log(4/(5 a)) is 4/(5 a), not 1/a: exp(-y) >= 1 - y is multiplied by it."""
    y = sympy.log(4 / (5 * alpha))
    sequent = Sequent((), below(sympy.exp(y, evaluate=False), 1 / alpha))
    task = polynomial_form(sequent)
    (fact,) = [c for c in task.constraints if c.tangent == "-log(4/(5*alpha))"]
    index = [atom.name for atom in task.atoms].index("alpha")
    assert fact.polynomial[((index, -1),)] == Fraction(-4, 5)


def test_a_chain_of_hypotheses_of_two_terms_is_found():
    """K w >= 2 alpha over seven steps, each by another letter; two rounds of columns do not do."""
    names = sympy.symbols("p q r s u", positive=True)
    letters = (alpha, *names, w)
    steps = [below(low, high) for low, high in itertools.pairwise(letters)]
    positive = below(0, w, "<")
    sequent = recognise_signs(Sequent((*steps, below(2, K), positive), below(2 * alpha, K * w)))
    task = polynomial_form(sequent)
    assert find_certificate(task, effort=0) is None
    certificate = find_certificate(task, effort=1, least=1)
    assert verify(certificate)
    assert len(certificate.used) == 7
    worse = polynomial_form(replace(sequent, goal=below(F * 2 * alpha, K * sequent.goal.large)))
    assert find_certificate(worse, effort=1, least=1) is None


SIZE = Relation(sympy.Abs(w), K, "==")
HIGHEST, LOWEST = sympy.Max(w, K), sympy.Min(w, K)


@pytest.mark.parametrize(
    ("goal", "true", "given"),
    [
        # of abs(w) = K follows w <= K, and neither w = K nor K <= 0
        *((below(w, K), True, (SIZE,)), (below(K, w), False, (SIZE,))),
        (below(K, 0), False, (SIZE,)),
        # Max(w, K) is at least w, and not at most w
        *((below(w, HIGHEST), True, ()), (below(HIGHEST, w), False, ())),
        *((below(LOWEST, w), True, ()), (below(w, LOWEST), False, ())),
    ],
)
def test_sizes_maxima_and_minima_are_relaxed_in_one_direction_only(goal, true, given):
    relaxed, _ = relax(Sequent(given, goal))
    assert (find_certificate(polynomial_form(relaxed), effort=1) is not None) is true


def test_z3_has_the_same_opinion_where_it_is_installed():
    pytest.importorskip("z3")
    answer = ask_z3(EASY)
    assert answer.word == "unsat"
    assert {c.label for c in answer.core.constraints} > {"alpha <= a_i", "alpha <= a_j"}
    answer = ask_z3(problem(below(a_i, alpha)))
    assert answer.word == "sat"
    assert answer.point["a_i"] > answer.point["alpha"]


def test_a_second_opinion_that_breaks_is_not_an_absent_one(monkeypatch):
    z3 = pytest.importorskip("z3")
    with monkeypatch.context() as patch:
        patch.setattr(z3.Solver, "check", lambda solver: z3.unknown)
        patch.setattr(z3.Solver, "reason_unknown", lambda solver: "out of memory")
        with pytest.raises(MemoryError, match="z3"):
            ask_z3(EASY)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert ask_z3(EASY).word == "absent"
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "z3.z3", None)
    monkeypatch.delitem(sys.modules, "z3")
    with pytest.raises(ImportError):
        ask_z3(EASY)
