"""Preparation of a sequent: definitions, signs, roots as letters, Abs, Max and Min resolved."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import sympy

from swingby.errors import InvalidInput
from swingby.proofs.language.claim import in_order_of_use
from swingby.proofs.language.definedness import put_in_as_written
from swingby.proofs.prover.scalar.relation import ZERO, Relation, Sequent, expression_text

#: What sympy makes of a division by 0.
UNDEFINED = (sympy.zoo, sympy.nan, sympy.oo)


def resolve_definitions(where: tuple[tuple[Any, Any], ...]) -> dict[Any, Any]:
    """Definitions, each with all the others put in; InvalidInput if a letter defines itself."""
    definitions = dict(where)
    if len(definitions) < len(where):
        raise InvalidInput("where", [str(name) for name, _ in where], "must define a letter once")
    try:
        order = in_order_of_use(definitions)
    except ValueError as circle:
        raise InvalidInput("where", str(circle), "must not define a letter by itself") from None
    done: dict[Any, Any] = {}
    for letter in order:
        done[letter] = put_in_as_written(definitions[letter], done)
    return done


#: More cases than this are not looked at.
_MOST_CASES = 64


def eliminate_equations(sequent: Sequent, replaced: list[tuple[Any, Any]] | None = None) -> Sequent:
    """A sequent without hypotheses of the form letter = expression: that takes the letter's place.

    That the letter was positive or nonnegative stays as a hypothesis on the expression.
    `replaced`: each letter with its expression is added to it.
    """
    for relation in sequent.hypotheses:
        for letter, expression in (*itertools.permutations(relation.sides), *_factors(relation)):
            if relation.kind != "==" or not letter.is_Symbol or expression.has(letter):
                continue
            if sequent.goal.substitute({letter: expression}).difference.has(*UNDEFINED):
                continue
            remaining = [
                hypothesis for hypothesis in sequent.hypotheses if hypothesis is not relation
            ]
            if letter.is_nonnegative and not expression.is_nonnegative:
                kind = "<" if letter.is_positive else "<="
                remaining.append(Relation(ZERO, expression, kind, relation.label))
            if replaced is not None:
                replaced.append((letter, expression))
            smaller = Sequent(tuple(remaining), sequent.goal).substitute({letter: expression})
            # A hypothesis that has no value now is left out: that only weakens what is known.
            defined = (
                hypothesis
                for hypothesis in smaller.hypotheses
                if not hypothesis.difference.has(*UNDEFINED)
            )
            return eliminate_equations(replace(smaller, hypotheses=tuple(defined)), replaced)
    return sequent


def _factors(relation: Relation) -> Iterator[tuple[Any, Any]]:
    """The letters of a positive product that is a number, each with what it is then."""
    for product, number in itertools.permutations(relation.sides):
        if relation.kind == "==" and product.is_Mul and product.is_positive and number.is_Rational:
            for letter in product.args:
                if letter.is_Symbol:
                    yield letter, number / (product / letter)


def recognise_signs(sequent: Sequent) -> Sequent:
    """A sequent whose letters carry the signs that a hypothesis of the form e <= letter shows."""
    for relation in sequent.hypotheses:
        letter, bound = relation.large, relation.small
        if not letter.is_Symbol or letter.is_positive or relation.kind == "==":
            continue
        if bound.is_positive or (bound.is_nonnegative and relation.kind == "<"):
            better = sympy.Symbol(letter.name, positive=True, integer=letter.is_integer)
        elif bound.is_nonnegative and not letter.is_nonnegative:
            better = sympy.Symbol(letter.name, nonnegative=True, integer=letter.is_integer)
        else:
            continue
        return recognise_signs(sequent.substitute({letter: better}))
    return sequent


def normal_form(sequent: Sequent) -> Sequent:
    """A sequent whose expressions are built anew, so that none is left unevaluated."""
    relations = [
        replace(relation, small=_rebuilt(relation.small), large=_rebuilt(relation.large))
        for relation in sequent.relations
    ]
    return Sequent(tuple(relations[:-1]), relations[-1])


def _rebuilt(expression: Any) -> Any:
    if not expression.args:
        return expression
    built = expression.func(*map(_rebuilt, expression.args))
    if built.is_Pow and built.base.is_positive and not built.exp.is_number:
        return sympy.exp(built.exp * sympy.log(built.base)) if built.base != sympy.E else built
    return built


def powers_as_exponentials(sequent: Sequent) -> Sequent:
    """A sequent in which b^y is exp(y log(b)), for a b that is positive by a hypothesis."""
    positive = {sympy.expand(r.difference) for r in sequent.hypotheses if r.kind == "<"}
    powers = {
        power: sympy.exp(power.exp * sympy.log(power.base))
        for relation in sequent.relations
        for power in relation.difference.atoms(sympy.Pow)
        if not power.exp.is_number
        if power.base.is_positive or sympy.expand(power.base) in positive
        if power.base is not sympy.E
    }
    facts = (Relation(ZERO, x.base, "<") for x in powers if not x.base.is_positive)
    changed = sequent.substitute(powers)
    return Sequent(tuple(dict.fromkeys((*changed.hypotheses, *facts))), changed.goal)


def name_roots(sequent: Sequent) -> Sequent:
    """A sequent in which roots of sums are letters, tied to what they are roots of."""
    roots: dict[Any, list[Any]] = {}
    sides = [side for relation in sequent.relations for side in relation.sides]
    powers = frozenset().union(*(side.atoms(sympy.Pow) for side in sides))
    for power in sorted(powers, key=str):
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


def relax(sequent: Sequent) -> tuple[Sequent, bool]:
    """A sequent without Abs, Max and Min that is at least as hard, and whether it is exactly so.

    A hypothesis abs(X) <= B becomes X <= B and -X <= B. Where abs(X) stands anywhere else, a letter
    takes its place that is at least X and -X; likewise for Max and Min.
    """
    exact = True
    while (piece := _innermost(sequent)) is not None:
        size = isinstance(piece, sympy.Abs)
        letter = sympy.Symbol(expression_text(piece), nonnegative=True if size else None, real=True)
        values = _branches(piece)
        if isinstance(piece, sympy.Min):
            facts = [Relation(letter, value, "<=", "definition") for value in values]
        else:
            facts = [Relation(value, letter, "<=", "definition") for value in values]
        bounds = [
            relation
            for relation in sequent.hypotheses
            if size and relation.small == piece and relation.kind != "=="
        ]
        direct = [replace(bound, small=value) for bound in bounds for value in values]
        unbounded = [relation for relation in sequent.hypotheses if relation not in bounds]
        hypotheses = (*unbounded, *direct)
        if any(r.small.has(piece) or r.large.has(piece) for r in (*hypotheses, sequent.goal)):
            exact = False
            hypotheses = (*sequent.hypotheses, *direct, *facts)
        sequent = Sequent(hypotheses, sequent.goal).substitute({piece: letter})
    return sequent, exact


def split_cases(sequent: Sequent) -> list[tuple[Sequent, list[Any]]] | None:
    """The sequents without Abs, Max and Min, for each pattern of signs; None if too many.

    With each the pieces, and which of its values each piece has.
    """
    done: list[tuple[Sequent, list[Any]]] = []
    open_cases: list[tuple[Sequent, list[Any]]] = [(sequent, [])]
    while open_cases:
        case, chosen = open_cases.pop()
        if len(done) + len(open_cases) >= _MOST_CASES:
            return None
        piece = _innermost(case)
        if piece is None:
            done.append((recognise_signs(case), chosen))
            continue
        for place, value in enumerate(_branches(piece)):
            # abs(X) is X where 0 <= X; Max(X, Y) is X where Y <= X
            alternatives = [
                alternative for alternative in _branches(piece) if alternative is not value
            ]
            ends = [ZERO] if isinstance(piece, sympy.Abs) else alternatives
            is_minimum = isinstance(piece, sympy.Min)
            facts = [
                Relation(*((value, x) if is_minimum else (x, value)), "<=", "case") for x in ends
            ]
            changed = case.substitute({piece: value})
            branch = [expression_text(piece), place]
            known = replace(changed, hypotheses=(*changed.hypotheses, *facts))
            open_cases.append((known, [*chosen, branch]))
    return done


def _branches(piece: Any) -> tuple[Any, ...]:
    """The values that Abs, Max or Min may have."""
    return (piece.args[0], -piece.args[0]) if isinstance(piece, sympy.Abs) else piece.args


def _innermost(sequent: Sequent) -> Any:
    kinds = (sympy.Abs, sympy.Max, sympy.Min)
    for relation in sequent.relations:
        for side in relation.sides:
            for piece in sorted(side.atoms(*kinds), key=str):
                if not any(argument.has(*kinds) for argument in piece.args):
                    return piece
    return None
