"""What z3 says of a polynomial problem, where the extra ``prove`` is installed.

Where nothing meets the constraints and not the goal, z3 names a few constraints that contradict the
goal's negation: a certificate is looked for among these. Where something does, no certificate of
the problem exists, and its numbers are a candidate for a witness.
"""

from __future__ import annotations

import importlib.util
import math
from dataclasses import dataclass, field, replace
from typing import Any

import flint

from swingby.proofs.prover.scalar.laurent import inverse, lowest_powers, shift
from swingby.proofs.prover.scalar.polynomial_problem import (
    Constraint,
    PolynomialProblem,
    with_negated_goal,
)
from swingby.theory.search_time import clock_seconds_left

#: Steps of z3 for an answer; for the core of one; for each try to make the core smaller. About ten
#: million are a second on most problems; some take a minute, so seconds are a limit, too.
_ANSWER, _CORE, _SMALLER = 30_000_000, 30_000_000, 3_000_000
_STEPS_A_SECOND = 10_000_000


@dataclass(frozen=True)
class Z3Answer:
    """An answer "unsat", "sat", "unknown" or "absent".

    `version`: of z3. `core`: of "unsat", the goal's negation as a constraint, and those that it
    contradicts.
    `point`: of "sat", the letters' values, as rationals.
    """

    word: str
    version: str = ""
    core: PolynomialProblem | None = None
    point: dict[str, Any] = field(default_factory=dict)


def ask_z3(problem: PolynomialProblem) -> Z3Answer:
    """Whether a point meets all constraints of a problem and not its goal."""
    if importlib.util.find_spec("z3") is None:
        return Z3Answer("absent")
    import z3  # an import that fails for want of memory says nothing about the line

    version = z3.get_version_string()
    context = z3.Context()  # the one that z3 has by itself bears no second thread
    variables = [z3.Real(f"x{index}", context) for index in range(len(problem.atoms))]
    signs = [
        variable > 0 if atom.sign == "positive" else variable >= 0
        for variable, atom in zip(variables, problem.atoms, strict=True)
        if atom.sign != "real"
    ]

    def read(constraint: Constraint) -> Any:
        """The relation with negative powers cleared; only positive atoms have them."""
        clearing = inverse(lowest_powers(constraint.polynomial))
        total = z3.RealVal(0, context)
        for term, value in shift(constraint.polynomial, clearing).items():
            powers = [variables[atom] for atom, exponent in term for _ in range(exponent)]
            total += math.prod(powers, start=z3.Q(value.numerator, value.denominator, context))
        kind = constraint.kind
        return total >= 0 if kind == ">=" else total > 0 if kind == ">" else total == 0

    def answered(solver: Any, most: int) -> str:
        solver.set("timeout", int(clock_seconds_left(most / _STEPS_A_SECOND) * 1000) + 1)
        solver.set("rlimit", most)
        solver.set("ctrl_c", False)  # z3 would take Ctrl-C for a question without an answer
        answer = str(solver.check())
        if answer == "unknown" and "memory" in solver.reason_unknown():
            raise MemoryError("z3 has no answer: out of memory")
        return answer

    negated = with_negated_goal(problem)
    formulas = list(map(read, negated.constraints))
    if not problem.goal.polynomial and problem.goal.kind != ">":
        return Z3Answer("unsat", version, negated)
    solver = z3.SolverFor("QF_NRA", ctx=context)
    solver.add(*signs, *formulas)
    answer = answered(solver, _ANSWER)
    if answer == "sat":
        return Z3Answer(answer, version, point=_values(solver.model(), problem, variables))
    if answer == "unknown":
        return Z3Answer(answer, version)

    def core(places: list[int], most: int) -> list[int] | None:
        solver = z3.Solver(ctx=context)
        solver.add(*signs)
        for place in places:
            solver.assert_and_track(formulas[place], f"p{place}")
        if answered(solver, most) != "unsat":
            return None
        return sorted(int(str(name)[1:]) for name in solver.unsat_core())

    places = core(list(range(len(formulas))), _CORE) or list(range(len(formulas)))
    for place in reversed(places) if len(places) <= 25 else ():
        if place in places and len(places) > 1:
            places = core([kept for kept in places if kept != place], _SMALLER) or places
    chosen = tuple(negated.constraints[place] for place in places)
    return Z3Answer(answer, version, replace(negated, constraints=chosen))


def _values(model: Any, problem: PolynomialProblem, variables: list[Any]) -> dict[str, Any]:
    """The letters among the atoms, as rationals near the values of a model."""
    values: dict[str, Any] = {}
    for variable, atom in zip(variables, problem.atoms, strict=True):
        letter, order = atom.meaning.as_base_exp()
        if letter.is_Symbol:
            number = model.eval(variable, model_completion=True)
            exact = (number if hasattr(number, "as_fraction") else number.approx(20)).as_fraction()
            values[letter.name] = flint.fmpq(exact.numerator, exact.denominator) ** int(order.q)
    return values
