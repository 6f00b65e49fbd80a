"""Preparation of a sequent: definitions inserted, signs recognised, Abs, Max and Min resolved."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import sympy

from swingby.verify.prover.scalar.relation import Relation, Sequent, plain

#: More cases than this are not looked at.
MOST_CASES = 64


def eliminate_equations(sequent: Sequent) -> Sequent:
    """A sequent without hypotheses of the form letter = expression.

    The expression takes the letter's place everywhere; that the letter was positive or
    nonnegative stays as a hypothesis on the expression.
    """
    for place, relation in enumerate(sequent.given):
        if relation.kind != "==":
            continue
        sides = ((relation.small, relation.large), (relation.large, relation.small))
        for letter, expression in sides:
            if not letter.is_Symbol or letter in expression.free_symbols:
                continue
            rest = list(sequent.given[:place] + sequent.given[place + 1 :])
            if letter.is_nonnegative and not expression.is_nonnegative:
                kind = "<" if letter.is_positive else "<="
                rest.append(Relation(sympy.Integer(0), expression, kind, relation.label))
            smaller = Sequent(tuple(rest), sequent.goal).substitute({letter: expression})
            return eliminate_equations(smaller)
    return sequent


def recognise_signs(sequent: Sequent) -> Sequent:
    """A sequent whose letters carry the signs that a hypothesis of the form e <= letter shows."""
    for relation in sequent.given:
        letter, bound = relation.large, relation.small
        if not letter.is_Symbol or letter.is_positive or relation.kind == "==":
            continue
        if bound.is_positive or (bound.is_nonnegative and relation.kind == "<"):
            better = sympy.Symbol(letter.name, positive=True)
        elif bound.is_nonnegative and not letter.is_nonnegative:
            better = sympy.Symbol(letter.name, nonnegative=True)
        else:
            continue
        return recognise_signs(sequent.substitute({letter: better}))
    return sequent


def normal(sequent: Sequent) -> Sequent:
    """A sequent whose expressions are built anew, so that none is left unevaluated."""
    relations = [
        replace(relation, small=_built(relation.small), large=_built(relation.large))
        for relation in sequent.relations
    ]
    return Sequent(tuple(relations[:-1]), relations[-1])


def _built(expression: Any) -> Any:
    if not expression.args:
        return expression
    return expression.func(*map(_built, expression.args))


def relax(sequent: Sequent) -> tuple[Sequent, bool]:
    """A sequent without Abs, Max and Min that is at least as hard to prove.

    A hypothesis abs(X) <= B becomes X <= B and -X <= B. Where abs(X) stands anywhere else, a letter
    takes its place, of which no more is known than that it is at least X and -X; likewise
    for Max and Min.

    Returns whether it is exactly as hard.
    """
    exact = True
    while (piece := _innermost(sequent)) is not None:
        size = isinstance(piece, sympy.Abs)
        letter = sympy.Symbol(plain(piece), nonnegative=True if size else None, real=True)
        low: tuple[Any, ...]
        if size:
            low = (piece.args[0], -piece.args[0])
        else:
            low = piece.args if isinstance(piece, sympy.Max) else ()
        high = piece.args if isinstance(piece, sympy.Min) else ()
        facts = [Relation(bound, letter, "<=", "definition") for bound in low]
        facts += [Relation(letter, bound, "<=", "definition") for bound in high]
        bounds = [
            relation
            for relation in sequent.given
            if size and relation.small == piece and relation.kind != "=="
        ]
        direct = [replace(bound, small=value) for bound in bounds for value in low]
        rest = Sequent(
            tuple(relation for relation in sequent.given if relation not in bounds), sequent.goal
        )
        kept = (*rest.given, *direct)
        if any(piece in side.atoms(type(piece)) for r in (*kept, rest.goal) for side in _sides(r)):
            exact = False
            kept = (*sequent.given, *direct, *facts)
        sequent = Sequent(kept, rest.goal).substitute({piece: letter})
    return sequent, exact


def _sides(relation: Relation) -> tuple[Any, Any]:
    return relation.small, relation.large


def split(sequent: Sequent) -> list[Sequent] | None:
    """The sequents, one for each pattern of signs, in which no Abs, Max or Min is left.

    Returns None if there are more than :data:`MOST_CASES`.
    """
    done: list[Sequent] = []
    open_cases = [sequent]
    while open_cases:
        case = open_cases.pop()
        if len(done) + len(open_cases) >= MOST_CASES:
            return None
        piece = _innermost(case)
        if piece is None:
            done.append(recognise_signs(case))
        else:
            open_cases.extend(_resolve(case, piece))
    return done


def _innermost(sequent: Sequent) -> Any:
    for relation in sequent.relations:
        for side in (relation.small, relation.large):
            found = side.atoms(sympy.Abs, sympy.Max, sympy.Min)
            for piece in sorted(found, key=str):
                inside = [a.atoms(sympy.Abs, sympy.Max, sympy.Min) for a in piece.args]
                if not any(inside):
                    return piece
    return None


def _resolve(sequent: Sequent, piece: Any) -> list[Sequent]:
    zero = sympy.Integer(0)
    if isinstance(piece, sympy.Abs):
        inside = piece.args[0]
        options = [
            (inside, [Relation(zero, inside, "<=", "case")]),
            (-inside, [Relation(inside, zero, "<=", "case")]),
        ]
        if inside.is_nonnegative:
            options = [(inside, [])]
        elif inside.is_nonpositive:
            options = [(-inside, [])]
    else:
        largest = isinstance(piece, sympy.Max)
        options = []
        for chosen in piece.args:
            others = [other for other in piece.args if other is not chosen]
            options.append(
                (
                    chosen,
                    [
                        Relation(*((o, chosen) if largest else (chosen, o)), "<=", "case")
                        for o in others
                    ],
                )
            )
    cases = []
    for value, conditions in options:
        changed = sequent.substitute({piece: value})
        cases.append(replace(changed, given=(*changed.given, *conditions)))
    return cases
