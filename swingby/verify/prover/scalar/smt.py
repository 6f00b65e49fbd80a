"""A second opinion by z3 on polynomial problems, where the extra ``prove`` is installed.

An answer "unsat" alone is no proof here, and a model is only a candidate for a witness.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import flint
import sympy

from swingby.verify.prover.scalar.clock import left
from swingby.verify.prover.scalar.laurent import Polynomial, PolynomialProblem

#: Milliseconds.
TIMEOUT = 3000


def opinion(
    problem: PolynomialProblem, only: Iterable[str] | None = None, *, timeout: int = TIMEOUT
) -> tuple[str, dict[str, Any]]:
    """Whether z3 finds a point that meets all constraints and not the goal.

    Returns ``"unsat"``, ``"sat"``, ``"unknown"`` or ``"absent"``, and for ``"sat"`` the letters'
    values as flint.fmpq, rounded where they are irrational.
    """
    try:
        import z3
    except ImportError:
        return "absent", {}
    solver = z3.Solver()
    solver.set("timeout", int(left(timeout / 1000) * 1000) + 1)
    variables = [z3.Real(f"x{place}") for place in range(len(problem.atoms))]
    for variable, atom in zip(variables, problem.atoms, strict=True):
        if atom.sign == "positive":
            solver.add(variable > 0)
        elif atom.sign == "nonnegative":
            solver.add(variable >= 0)
    kept = None if only is None else set(only)
    for constraint in problem.constraints:
        if kept is None or constraint.label in kept:
            value = _term(constraint.polynomial, variables, z3)
            solver.add(_relation(value, constraint.kind))
    goal = _relation(_term(problem.goal.polynomial, variables, z3), problem.goal.kind)
    solver.add(z3.Not(goal))
    answer = str(solver.check())
    return answer, _letters(problem, variables, solver.model()) if answer == "sat" else {}


def _relation(value: Any, kind: str) -> Any:
    return value >= 0 if kind == ">=" else value > 0 if kind == ">" else value == 0


def _term(polynomial: Polynomial, variables: list[Any], z3: Any) -> Any:
    """The polynomial with negative powers cleared; only positive atoms have them."""
    lowest: dict[int, int] = {}
    for term in polynomial:
        for atom, exponent in term:
            lowest[atom] = min(lowest.get(atom, 0), exponent)
    total = z3.RealVal(0)
    for term, value in polynomial.items():
        exponents = {atom: -exponent for atom, exponent in lowest.items()}
        for atom, exponent in term:
            exponents[atom] = exponents.get(atom, 0) + exponent
        piece = z3.Q(value.numerator, value.denominator)
        for atom, exponent in exponents.items():
            for _ in range(exponent):
                piece = piece * variables[atom]
        total = total + piece
    return total


def _letters(problem: PolynomialProblem, variables: list[Any], model: Any) -> dict[str, Any]:
    values = {}
    for variable, atom in zip(variables, problem.atoms, strict=True):
        meaning = atom.meaning
        letter, order = (meaning, 1)
        if meaning.is_Pow and meaning.args[1].is_Rational:
            letter, order = meaning.args[0], int(meaning.args[1].q)
        if not isinstance(letter, sympy.Symbol):
            continue
        number = model.eval(variable, model_completion=True)
        if not hasattr(number, "as_fraction"):
            number = number.approx(20)
        exact = number.as_fraction()
        values[letter.name] = flint.fmpq(int(exact.numerator), int(exact.denominator)) ** order
    return values
