"""Terms of a sequent as letters of their own: factors, logarithms, exponentials and roots.

Where a difference such as kappa - 1 that is certainly positive stands as a factor, a positive
letter takes its place, tied to it by an equation. Inequalities between products of such factors
then become inequalities between monomials.
"""

from __future__ import annotations

import math
from typing import Any

import sympy

from swingby.proofs.prover.scalar.polynomial_form import polynomial_form
from swingby.proofs.prover.scalar.positivity_certificate import (
    PositivityCertificate,
    find_certificate,
)
from swingby.proofs.prover.scalar.relation import Relation, Sequent, expression_text
from swingby.proofs.prover.scalar.translation import Untranslatable


def _follows(hypotheses: tuple[Relation, ...], goal: Relation) -> PositivityCertificate | None:
    """A short certificate, if there is one."""
    try:
        return find_certificate(polynomial_form(Sequent(hypotheses, goal)))
    except (Untranslatable, ValueError):
        return None


def _subexpressions(sequent: Sequent, *kinds: Any) -> list[Any]:
    """Parts of some kinds on the sides of a sequent, by name."""
    sides = [side for relation in sequent.relations for side in relation.sides]
    return sorted(frozenset().union(*(side.atoms(*kinds) for side in sides)), key=str)


def name_factors(sequent: Sequent) -> Sequent:
    """A sequent in which differences that stand as factors are letters, if certainly positive."""
    differences: dict[Any, None] = {}
    for piece in _subexpressions(sequent, sympy.Mul, sympy.Pow):
        for factor in piece.args if piece.is_Mul else piece.args[:1]:
            if factor.is_Add and not factor.is_positive:
                differences[factor] = None
    for factor in differences:
        positive = Relation(sympy.Integer(0), factor, "<", "factor")
        if _follows(sequent.hypotheses, positive) is None:
            continue
        letter = sympy.Symbol(f"({expression_text(factor)})", positive=True)
        changed = sequent.substitute({factor: letter})
        # The definition, and the hypotheses as they were: one may bound the factor's letters.
        unchanged = tuple(r for r in sequent.hypotheses if factor not in r.sides)
        definition = Relation(letter, factor, "==", "definition")
        hypotheses = dict.fromkeys((*changed.hypotheses, *unchanged, definition, positive))
        sequent = Sequent(tuple(hypotheses), changed.goal)
    return sequent


def name_logarithms(
    sequent: Sequent, lemmas: dict[str, PositivityCertificate] | None = None
) -> Sequent:
    """A sequent in which logarithms of certain sign in the goal are letters.

    log(Q) with Q >= 1 becomes a nonnegative letter, with Q <= 1 the negative of one. The letter is
    tied to the logarithms of the factors of Q by an equation. That Q >= 1 is added to `lemmas`.
    """
    unity = sympy.Integer(1)
    flat = tuple(r for r in sequent.hypotheses if not r.difference.has(sympy.log, sympy.exp))
    for logarithm in _subexpressions(Sequent((), sequent.goal), sympy.log):
        inside = logarithm.args[0]
        if inside.is_Symbol or not inside.free_symbols or inside.has(sympy.log, sympy.exp):
            continue
        for sign, side in ((1, Relation(unity, inside, "<=")), (-1, Relation(inside, unity, "<="))):
            if (certificate := _follows(flat, side)) is None:
                continue
            if lemmas is not None:
                lemmas[str(side)] = certificate
            letter = sympy.Symbol(f"({expression_text(sign * logarithm)})", nonnegative=True)
            definition = Relation(sign * letter, logarithm, "==", "definition")
            changed = sequent.substitute({logarithm: sign * letter})
            sequent = Sequent((*changed.hypotheses, definition), changed.goal)
            break
    return sequent


def name_roots(sequent: Sequent) -> Sequent:
    """A sequent in which roots of sums are letters, tied to what they are roots of."""
    roots: dict[Any, list[Any]] = {}
    for power in _subexpressions(sequent, sympy.Pow):
        if power.exp.is_Rational and not power.exp.is_Integer and power.base.free_symbols:
            roots.setdefault(power.base, []).append(power)
    facts: list[Relation] = []
    letters: dict[Any, Any] = {}
    for base in sorted(roots, key=str):
        if base.is_Symbol or base.has(sympy.log, sympy.exp) or base.atoms(sympy.Pow) & set(letters):
            continue
        order = math.lcm(*(int(power.exp.q) for power in roots[base]))
        positive = base.is_positive or any(power.exp < 0 for power in roots[base])
        name = f"({expression_text(base)})^(1/{order})"
        letter = sympy.Symbol(name, positive=True if positive else None, nonnegative=True)
        letters |= {power: letter ** (power.exp * order) for power in roots[base]}
        facts.append(Relation(letter**order, base, "==", "definition"))
    changed = sequent.substitute(letters)
    return Sequent((*changed.hypotheses, *facts), changed.goal)
