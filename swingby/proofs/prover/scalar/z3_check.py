"""A second opinion by z3 on polynomial problems, where the extra ``prove`` is installed.

An answer "unsat" alone is no proof here, and a model is only a candidate for a witness.
"""

from __future__ import annotations

import importlib.util
import math
from typing import Any

import flint

from swingby.proofs.prover.scalar.laurent import inverse, lowest_powers, shift
from swingby.proofs.prover.scalar.polynomial_problem import Constraint, PolynomialProblem
from swingby.theory.search_time import seconds_left


def check_with_z3(problem: PolynomialProblem, *, timeout: int = 3000) -> tuple[str, dict[str, Any]]:
    """Whether z3 finds a point that meets all constraints and not the goal, in milliseconds.

    Returns "unsat", "sat", "unknown" or "absent", and for "sat" the letters' values, as rationals.
    """
    if importlib.util.find_spec("z3") is None:
        return "absent", {}
    import z3  # an import that fails for want of memory says nothing about the line

    context = z3.Context()  # the one that z3 has by itself bears no second thread
    solver = z3.Solver(ctx=context)
    solver.set("timeout", int(seconds_left(timeout / 1000) * 1000) + 1)
    solver.set("ctrl_c", False)  # z3 would take Ctrl-C for a question without an answer
    variables = [z3.Real(f"x{index}", context) for index in range(len(problem.atoms))]

    def read(constraint: Constraint) -> Any:
        """The relation with negative powers cleared; only positive atoms have them."""
        clearing = inverse(lowest_powers(constraint.polynomial))
        total = z3.RealVal(0, context)
        for term, value in shift(constraint.polynomial, clearing).items():
            powers = [variables[atom] for atom, exponent in term for _ in range(exponent)]
            total += math.prod(powers, start=z3.Q(value.numerator, value.denominator, context))
        kind = constraint.kind
        return total >= 0 if kind == ">=" else total > 0 if kind == ">" else total == 0

    for variable, atom in zip(variables, problem.atoms, strict=True):
        if atom.sign != "real":
            solver.add(variable > 0 if atom.sign == "positive" else variable >= 0)
    for constraint in problem.constraints:
        solver.add(read(constraint))
    solver.add(z3.Not(read(problem.goal)))
    answer = str(solver.check())
    if answer == "unknown" and "memory" in solver.reason_unknown():
        raise MemoryError("z3 has no answer: out of memory")
    values: dict[str, Any] = {}
    for variable, atom in zip(variables, problem.atoms, strict=True) if answer == "sat" else ():
        letter, order = atom.meaning.as_base_exp()
        if not letter.is_Symbol:
            continue
        number = solver.model().eval(variable, model_completion=True)
        exact = (number if hasattr(number, "as_fraction") else number.approx(20)).as_fraction()
        values[letter.name] = flint.fmpq(exact.numerator, exact.denominator) ** int(order.q)
    return answer, values
