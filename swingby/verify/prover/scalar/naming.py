"""Factors such as kappa - 1 as letters of their own.

Where a difference that is certainly positive stands as a factor, a positive letter takes its
place, tied to it by an equation. Inequalities between products of such factors then become
inequalities between monomials.
"""

from __future__ import annotations

import math
from typing import Any

import sympy

from swingby.verify.prover.scalar.certificate import find
from swingby.verify.prover.scalar.polynomial_form import polynomial_problem
from swingby.verify.prover.scalar.relation import Relation, Sequent, plain
from swingby.verify.prover.scalar.translation import Untranslatable

#: Logarithms that are compared with each other.
MOST_LOGARITHMS = 4


def name_factors(sequent: Sequent) -> Sequent:
    """A sequent in which differences that stand as factors are letters.

    Returns the same one if no factor is certainly positive.
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

    Returns the same one if there is no such logarithm.
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


def name_tangents(sequent: Sequent) -> Sequent:
    """A sequent with tangents of its exponentials and logarithms among the hypotheses.

    Every logarithm becomes a letter L = log(Q) with 1 - 1/Q <= L <= Q - 1 and L <= Q/e, two of them
    with L_1 - L_2 <= Q_1/Q_2 - 1; an exponential keeps its form, with exp(y) >= 1 + y and
    exp(y) >= e y.
    """
    sides = [side for r in sequent.relations for side in (r.small, r.large)]
    facts = []
    for found in sorted(frozenset().union(*(side.atoms(sympy.exp) for side in sides)), key=str):
        y = found.exp
        facts += [Relation(below, found, "<=", "tangent") for below in (1 + y, sympy.E * y)]
    letters: dict[Any, Any] = {}
    for found in sorted(frozenset().union(*(side.atoms(sympy.log) for side in sides)), key=str):
        if found.free_symbols and not found.args[0].has(sympy.log, sympy.exp):
            letters[found] = sympy.Symbol(f"({plain(found)})", real=True)
    for found, letter in letters.items():
        inside = found.args[0]
        above = (inside - 1, inside / sympy.E)
        facts += [Relation(letter, bound, "<=", "tangent") for bound in above]
        facts += [Relation(1 - 1 / inside, letter, "<=", "tangent")]
        facts += [
            Relation(letter - other, inside / second.args[0] - 1, "<=", "tangent")
            for second, other in letters.items()
            if second is not found and len(letters) <= MOST_LOGARITHMS
        ]
        facts.append(Relation(sympy.Integer(0), inside, "<", "tangent"))
    changed = sequent.substitute(letters)
    return Sequent((*changed.given, *facts), changed.goal)


def name_roots(sequent: Sequent) -> Sequent:
    """A sequent in which roots of sums are letters, tied to what they are roots of."""
    roots: dict[Any, list[Any]] = {}
    for relation in sequent.relations:
        for side in (relation.small, relation.large):
            for power in side.atoms(sympy.Pow):
                base, exponent = power.args
                if exponent.is_Rational and not exponent.is_Integer and base.free_symbols:
                    roots.setdefault(base, []).append(power)
    facts: list[Relation] = []
    letters: dict[Any, Any] = {}
    for base in sorted(roots, key=str):
        if base.is_Symbol or base.has(sympy.log, sympy.exp) or base.atoms(sympy.Pow) & set(letters):
            continue
        order = math.lcm(*(int(power.exp.q) for power in roots[base]))
        positive = base.is_positive or any(power.exp < 0 for power in roots[base])
        name = f"({plain(base)})^(1/{order})"
        letter = sympy.Symbol(name, positive=True if positive else None, nonnegative=True)
        letters |= {power: letter ** (power.exp * order) for power in roots[base]}
        facts.append(Relation(letter**order, base, "==", "definition"))
    changed = sequent.substitute(letters)
    return Sequent((*changed.given, *facts), changed.goal)
