"""A second look at a translation: the polynomial problem against the sequent, at points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import flint
import numpy as np

from swingby.verify.prover.scalar.edges import condition
from swingby.verify.prover.scalar.exact_value import Undefined, ball_of, compiled, decide
from swingby.verify.prover.scalar.laurent import Constraint, PolynomialProblem
from swingby.verify.prover.scalar.relation import Sequent
from swingby.verify.prover.scalar.sampling import draw, in_order

#: Points that are tried in any case, and until one of them meets the hypotheses.
DRAWS, MOST_DRAWS = 12, 200


def check_translation(sequent: Sequent, problem: PolynomialProblem, *, rng: int = 0) -> int:
    """Compare a polynomial problem with the sequent it stands for, at points of its hypotheses.

    Where all hypotheses hold, every constraint has to hold, and the goals have to agree.

    Returns how many points were compared. Raises RuntimeError if they contradict each other
    anywhere.
    """
    generator = np.random.default_rng(rng)
    letters = {letter.name: letter for letter in sequent.symbols}
    given, goal = [condition(relation) for relation in sequent.given], condition(sequent.goal)
    compared = 0
    for count in range(MOST_DRAWS):
        if count >= DRAWS and compared:
            break
        point = draw(in_order(frozenset(letters)), letters, {}, given, goal, generator)
        if point is None:
            continue
        if not all(decide(c.margin, c.relation.kind, point) is True for c in given):
            continue
        with flint.ctx.workprec(256):
            try:
                atoms = [ball_of(compiled(atom.meaning)(point)) for atom in problem.atoms]
            except (Undefined, ZeroDivisionError):
                continue
            broken = [c for c in problem.constraints if _truth(c, atoms) is False]
            found = _truth(problem.goal, atoms)
        expected = decide(goal.margin, goal.relation.kind, point)
        if broken or (found is not None and expected is not None and found != expected):
            raise RuntimeError(f"the polynomial form of {sequent.goal} is wrong at {point}")
        compared += 1
    return compared


def _truth(constraint: Constraint, atoms: list[Any]) -> bool | None:
    total = flint.arb(0)
    for term, value in constraint.polynomial.items():
        piece = flint.arb(flint.fmpq(value.numerator, value.denominator))
        for atom, exponent in term:
            piece *= atoms[atom] ** exponent
        total += piece
    if total > 0:
        return constraint.kind != "=="
    if total < 0:
        return False
    return None


def identity_at_points(sequent: Sequent, *, rng: int = 0) -> int:
    """How many random rational points an equation was evaluated at without contradiction.

    Raises RuntimeError if the two sides certainly differ somewhere.
    """
    generator = np.random.default_rng(rng)
    goal = condition(sequent.goal)
    letters = {letter.name: letter for letter in sequent.goal.symbols}
    count = 0
    for _ in range(6):
        point: Mapping[str, Any] = {
            name: flint.fmpq(int(generator.integers(1, 50)), int(generator.integers(1, 50)))
            for name in letters
        }
        found = decide(goal.margin, "==", point)
        if found is False:
            raise RuntimeError(f"{sequent.goal} was expanded to zero but differs at {point}")
        count += 1
    return count
