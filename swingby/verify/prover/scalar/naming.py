"""Factors such as kappa - 1 as letters of their own.

Where a difference that is certainly positive stands as a factor, a positive letter takes its
place, tied to it by an equation. Inequalities between products of such factors then become
inequalities between monomials.
"""

from __future__ import annotations

from typing import Any

import sympy

from swingby.verify.prover.scalar.certificate import find
from swingby.verify.prover.scalar.polynomial_form import polynomial_problem
from swingby.verify.prover.scalar.relation import Relation, Sequent, plain
from swingby.verify.prover.scalar.translation import Untranslatable


def name_factors(sequent: Sequent) -> Sequent:
    """A sequent in which differences that stand as factors are letters.

    Parameters
    ----------
    sequent : Sequent
        Without Abs, Max and Min.

    Returns
    -------
    Sequent
        The same one if no factor is certainly positive.
    """
    for factor in _differences(sequent):
        positive = Relation(sympy.Integer(0), factor, "<", "factor")
        try:
            problem = polynomial_problem(Sequent(sequent.given, positive))
        except (Untranslatable, ValueError):
            continue
        if find(problem, effort=1) is None:
            continue
        letter = sympy.Symbol(f"({plain(factor)})", positive=True)
        changed = sequent.substitute({factor: letter})
        # The definition, and the hypotheses as they were: one may bound the factor's letters.
        kept = tuple(r for r in sequent.given if factor not in (r.small, r.large))
        definition = Relation(letter, factor, "==", "definition")
        given = dict.fromkeys((*changed.given, *kept, definition, positive))
        sequent = Sequent(tuple(given), changed.goal)
    return sequent


def _differences(sequent: Sequent) -> list[Any]:
    found: dict[Any, None] = {}
    for relation in sequent.relations:
        for side in (relation.small, relation.large):
            for piece in sympy.preorder_traversal(side):
                if not (piece.is_Mul or piece.is_Pow):
                    continue
                for factor in piece.args if piece.is_Mul else piece.args[:1]:
                    if factor.is_Add and not factor.is_positive:
                        found[factor] = None
    return list(found)


def name_logarithms(sequent: Sequent) -> Sequent:
    """A sequent in which logarithms of certain sign in the goal are letters.

    log(Q) with Q >= 1 becomes a nonnegative letter, with Q <= 1 the negative of one. The letter is
    tied to the logarithms of the factors of Q by an equation.

    Parameters
    ----------
    sequent : Sequent
        Without Abs, Max and Min.

    Returns
    -------
    Sequent
        The same one if there is no such logarithm.
    """
    goal, one = sequent.goal, sympy.Integer(1)
    flat = tuple(r for r in sequent.given if not r.difference.has(sympy.log, sympy.exp))
    found = goal.small.atoms(sympy.log) | goal.large.atoms(sympy.log)
    for logarithm in sorted(found, key=str):
        inside = logarithm.args[0]
        if inside.is_Symbol or not inside.free_symbols or inside.has(sympy.log, sympy.exp):
            continue
        for sign, side in ((1, Relation(one, inside, "<=")), (-1, Relation(inside, one, "<="))):
            try:
                problem = polynomial_problem(Sequent(flat, side))
            except (Untranslatable, ValueError):
                continue
            if find(problem, effort=1) is None:
                continue
            letter = sympy.Symbol(f"({plain(sign * logarithm)})", nonnegative=True)
            definition = Relation(sign * letter, logarithm, "==", "definition")
            changed = sequent.substitute({logarithm: sign * letter})
            sequent = Sequent((*changed.given, definition), changed.goal)
            break
    return sequent
