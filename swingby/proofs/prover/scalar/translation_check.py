"""The check of a translation: a polynomial problem against its sequent, at points."""

from __future__ import annotations

import math
from typing import Any

import flint
import numpy as np

from swingby.proofs.prover.scalar.exact_value import Undefined, compile_expression, compile_relation
from swingby.proofs.prover.scalar.polynomial_problem import Constraint, PolynomialProblem
from swingby.proofs.prover.scalar.relation import Sequent
from swingby.proofs.prover.scalar.sampling import Space
from swingby.theory.balls import precision

#: Points that are tried in any case, and until one of them meets the hypotheses.
_DRAWS, _MOST_DRAWS = 12, 200


def check_translation(sequent: Sequent, problem: PolynomialProblem, *, rng: int = 0) -> int:
    """The number of points at which a problem was compared with the sequent it stands for.

    Raises RuntimeError where a constraint fails, or the goals contradict each other.
    """
    generator = np.random.default_rng(rng)
    space = Space.of(sequent.hypotheses, sequent.goal)
    compared = 0
    for count in range(_MOST_DRAWS):
        if count >= _DRAWS and compared:
            break
        point = space.draw({}, generator)
        if point is None or not space.meets(point):
            continue
        with precision(256):
            try:
                atoms = [
                    flint.arb(compile_expression(atom.meaning)(point)) for atom in problem.atoms
                ]
            except (Undefined, ZeroDivisionError):
                continue
            broken = [c for c in problem.constraints if _constraint_holds(c, atoms) is False]
            truth = _constraint_holds(problem.goal, atoms)
        expected = space.goal.decided(point)
        if broken or (truth is not None and expected is not None and truth != expected):
            raise RuntimeError(f"the polynomial form of {sequent.goal} is wrong at {point}")
        compared += 1
    return compared


def _constraint_holds(constraint: Constraint, atoms: list[Any]) -> bool | None:
    """Whether a constraint holds; None if balls do not tell it from an equation."""
    total = flint.arb(0)
    for term, value in constraint.polynomial.items():
        powers = (atoms[atom] ** exponent for atom, exponent in term)
        total += math.prod(powers, start=flint.arb(flint.fmpq(value.numerator, value.denominator)))
    if total > 0:
        return constraint.kind != "=="
    return False if total < 0 else None


def identity_at_points(sequent: Sequent, *, rng: int = 0) -> int:
    """The number of random points at which an equation holds; RuntimeError if it fails at any."""
    generator = np.random.default_rng(rng)
    goal = compile_relation(sequent.goal)
    points = [
        {name: flint.fmpq(*map(int, generator.integers(1, 50, 2))) for name in sorted(goal.letters)}
        for _ in range(6)
    ]
    for point in points:
        if goal.decided(point) is False:
            raise RuntimeError(f"{sequent.goal} was expanded to zero but differs at {point}")
    return len(points)
