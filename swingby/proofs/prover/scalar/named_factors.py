"""Factors of a sequent as letters of their own.

Where a difference such as kappa - 1 that is certainly positive stands as a factor, a positive
letter takes its place, tied to it by an equation. Inequalities between products of such factors
then become inequalities between monomials.
"""

from __future__ import annotations

from typing import Any

import sympy

from swingby.proofs.prover.scalar.polynomial_form import short_certificate
from swingby.proofs.prover.scalar.relation import Relation, Sequent, expression_text


def name_factors(sequent: Sequent) -> Sequent:
    """A sequent in which differences that stand as factors are letters, if certainly positive."""
    differences: dict[Any, None] = {}
    sides = [side for relation in sequent.relations for side in relation.sides]
    pieces = frozenset().union(*(side.atoms(sympy.Mul, sympy.Pow) for side in sides))
    for piece in sorted(pieces, key=str):
        for factor in piece.args if piece.is_Mul else piece.args[:1]:
            if factor.is_Add and not factor.is_positive:
                differences[factor] = None
    for factor in differences:
        positive = Relation(sympy.Integer(0), factor, "<", "factor")
        if short_certificate(Sequent(sequent.hypotheses, positive)) is None:
            continue
        letter = sympy.Symbol(f"({expression_text(factor)})", positive=True)
        changed = sequent.substitute({factor: letter})
        # The definition, and the hypotheses as they were: one may bound the factor's letters.
        unchanged = tuple(r for r in sequent.hypotheses if factor not in r.sides)
        definition = Relation(letter, factor, "==", "definition")
        hypotheses = dict.fromkeys((*changed.hypotheses, *unchanged, definition, positive))
        sequent = Sequent(tuple(hypotheses), changed.goal)
    return sequent
