"""Side conditions under which the two sides of a relation have values at all.

A denominator is not zero, an even root is of nothing negative, a logarithm of something positive.
Of a hypothesis these are facts, as it holds only where it is defined. Of a conclusion they are
obligations: proved like any other line, or the conclusion is not proved. They are read off what is
written, before sympy has cancelled anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import sympy

from swingby.errors import InvalidInput
from swingby.proofs.language.definedness import ENOUGH, needs
from swingby.proofs.prover.scalar.relation import ZERO, Relation

#: What a claim may be built of; anything else is undecided.
KNOWN = frozenset({"Add", "Mul", "Pow", "exp", "log", "Abs", "Max", "Min", "Exp1", "Pi"})

#: Of a letter that is not declared to be real.
COMPLEX = "complex letters ({}): write its parts, which are real, or an identity after formula:"


def definedness_conditions(expression: Any) -> Iterator[Relation]:
    """The relations that make an expression defined, inner expressions first."""
    for base, sign in needs(expression):
        if sign == "!=":
            yield Relation(base, ZERO, sign)
        else:
            yield Relation(ZERO, base, "<" if sign == ENOUGH else sign, sign * (sign == ENOUGH))


def side_conditions(
    relation: Relation, written: Mapping[Any, Any], values: Mapping[Any, Any]
) -> tuple[Relation, ...]:
    """Relations that make a relation and its definitions defined, unless they are evident.

    Of a definition this is read off what is `written`: put into another, it may cancel.
    `values`: the definitions, each with all the others put in.
    """
    used: dict[Any, None] = {}
    waiting = list(relation.symbols & written.keys())
    while waiting:
        used[letter := waiting.pop()] = None
        waiting += written[letter].free_symbols & written.keys() - used.keys()
    requirements: dict[Relation, None] = {}
    definitions = (written[letter] for letter in sorted(used, key=str))
    for expression in (*definitions, *relation.sides):
        for needed in definedness_conditions(expression):
            requirements[needed.substitute(values)] = None
    return tuple(needed for needed in requirements if not _is_evident(needed))


def _is_evident(needed: Relation) -> bool:
    """Whether the signs of the letters say so by themselves, term by term."""
    expression = sympy.expand(needed.small if needed.kind == "!=" else needed.large)
    terms = sympy.Add.make_args(expression)
    if needed.kind == "!=" and len(terms) == 1:
        return bool(expression.is_nonzero)
    positive = needed.kind == "<=" or any(term.is_positive for term in terms)
    return positive and all(term.is_nonnegative for term in terms)


def as_fact(needed: Relation) -> Relation:
    """A side condition as a hypothesis that the provers know."""
    if needed.kind == "!=":
        return Relation(ZERO, (needed.large - needed.small) ** 2, "<", needed.label)
    return needed


def unknown_term(relations: tuple[Relation, ...]) -> str:
    """The first thing in some relations that no prover here knows, or nothing.

    Raises InvalidInput if something is no exact real number, or two letters share a name.
    """
    letters: dict[str, Any] = {}
    for relation in relations:
        for side in relation.sides:
            for node in sympy.preorder_traversal(side):
                if node.is_Symbol:
                    if letters.setdefault(node.name, node) != node:
                        raise InvalidInput("letter", node, "must mean one thing throughout")
                    if node.is_real is False or not node.is_commutative:
                        raise InvalidInput("letter", node, "must stand for a real number")
                    if node.is_real is None:
                        return COMPLEX.format(node)
                elif node.is_Float:
                    raise InvalidInput("number", node, "must be exact, such as Rational(1, 10)")
                elif node.is_number and node.is_extended_real is not True and not node.args:
                    raise InvalidInput("number", node, "must be a real number")
                elif node.is_infinite and not node.args:
                    raise InvalidInput("number", node, "must be finite")
                elif not node.is_Rational and node.func.__name__ not in KNOWN:
                    return str(node)
    return ""


def signs_of_letters(relations: tuple[Relation, ...]) -> tuple[Relation, ...]:
    """Relations for sympy's assumptions on letters, which the provers read off relations only."""
    facts = []
    for letter in sorted(frozenset().union(*(r.symbols for r in relations)), key=str):
        if letter.is_nonpositive and not letter.is_zero:
            facts.append(Relation(letter, ZERO, "<" if letter.is_negative else "<=", "sign"))
        elif letter.is_nonzero and not letter.is_positive:
            facts.append(Relation(ZERO, letter**2, "<", "sign"))
    return tuple(facts)


def signs_of_denominators(relation: Relation) -> Iterator[Relation]:
    """Relations that denominators are positive, unless their terms say so by themselves."""
    for side in relation.sides:
        for base in dict.fromkeys(base for base, sign in needs(side) if sign == "!="):
            if not all(term.is_nonnegative for term in sympy.Add.make_args(base.expand())):
                yield Relation(ZERO, base, "<", "denominator")
