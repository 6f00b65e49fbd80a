"""Side conditions: where the two sides of a relation have values at all.

A denominator is not zero, an even root is of nothing negative, a logarithm of something positive.
Of a hypothesis these are facts, as it holds only where it is defined. Of a conclusion they are
obligations: proved like any other line, or the conclusion is not proved. They are read off what is
written, before sympy has cancelled anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from swingby.errors import InvalidInput
from swingby.verify.prover.scalar.relation import Relation

ZERO = sympy.Integer(0)

#: Label of a condition that is enough, and not always needed: x^y may have a value at x = 0.
ENOUGH = "enough"

#: What a claim may be built of; anything else is undecided.
KNOWN = frozenset({"Add", "Mul", "Pow", "exp", "log", "Abs", "Max", "Min", "Exp1", "Pi"})

#: Assumptions about a letter that no relation says, and that every value of it is asked for.
_KINDS = ("integer", "even", "odd", "prime", "composite", "irrational", "rational")


def conditions(expression: Any) -> Iterator[Relation]:
    """What an expression needs to be defined, inner parts first.

    Examples
    --------
    >>> x = sympy.Symbol("x")
    >>> [str(found) for found in conditions(sympy.log(1 - 1 / x))]
    ['x != 0', '0 < 1 - 1/x']
    """
    for part in expression.args:
        yield from conditions(part)
    if isinstance(expression, sympy.log):
        yield Relation(ZERO, expression.args[0], "<")
    elif expression.is_Pow and expression.base is not sympy.E:
        base, exponent = expression.args
        if exponent.is_number:
            exponent = exponent.doit()
        if exponent.is_Integer:
            if exponent < 0:
                yield Relation(base, ZERO, "!=")
        elif exponent.is_Rational:
            yield Relation(ZERO, base, "<=" if exponent > 0 else "<")
        else:
            yield Relation(ZERO, base, "<", ENOUGH)


def side_conditions(relation: Relation, where: dict[Any, Any]) -> tuple[Relation, ...]:
    """What a relation and the definitions it uses need to be defined, as far as it is not plain."""
    used = [where[letter] for letter in sorted(relation.symbols, key=str) if letter in where]
    found: dict[Relation, None] = {}
    for part in (*used, relation.small, relation.large):
        for needed in conditions(part):
            found[needed.substitute(where)] = None
    return tuple(needed for needed in found if not is_plain(needed))


def is_plain(needed: Relation) -> bool:
    """Whether the signs of the letters say so by themselves."""
    if needed.kind == "!=":
        return bool(needed.small.is_nonzero)
    return bool(needed.large.is_positive if needed.kind == "<" else needed.large.is_nonnegative)


def as_fact(needed: Relation) -> Relation:
    """A side condition as a hypothesis that the provers know."""
    if needed.kind == "!=":
        return Relation(ZERO, (needed.large - needed.small) ** 2, "<", needed.label)
    return needed


def resolved(where: tuple[tuple[Any, Any], ...]) -> dict[Any, Any]:
    """Definitions free of each other: each with all the others put in.

    Raises InvalidInput if a letter is defined twice, or by way of itself.
    """
    given = dict(where)
    if len(given) < len(where):
        raise InvalidInput("where", [str(name) for name, _ in where], "must define a letter once")
    done: dict[Any, Any] = {}

    def visit(letter: Any, above: tuple[Any, ...]) -> None:
        if letter in above:
            circle = " -> ".join(map(str, (*above, letter)))
            raise InvalidInput("where", circle, "must not define a letter by itself")
        if letter in done:
            return
        inside = [name for name in given if name in given[letter].free_symbols]
        for name in inside:
            visit(name, (*above, letter))
        done[letter] = given[letter].xreplace({name: done[name] for name in inside})

    for letter in given:
        visit(letter, ())
    return done


def unknown_part(relations: tuple[Relation, ...]) -> str:
    """The first thing in some relations that no prover here knows, or nothing.

    Raises InvalidInput if something is no exact real number, or two letters share a name.
    """
    named: dict[str, Any] = {}
    for relation in relations:
        for side in (relation.small, relation.large):
            for part in sympy.preorder_traversal(side):
                if part.is_Symbol:
                    if named.setdefault(part.name, part) != part:
                        raise InvalidInput("letter", part, "must mean one thing throughout")
                    if part.is_real is False or not part.is_commutative:
                        raise InvalidInput("letter", part, "must stand for a real number")
                elif part.is_Float:
                    raise InvalidInput("number", part, "must be exact, such as Rational(1, 10)")
                elif part.is_number and part.is_extended_real is not True and not part.args:
                    raise InvalidInput("number", part, "must be a real number")
                elif part.is_infinite and not part.args:
                    raise InvalidInput("number", part, "must be finite")
                elif not part.is_Rational and part.func.__name__ not in KNOWN:
                    return str(part)
    return ""


def signs_of_letters(relations: tuple[Relation, ...]) -> tuple[Relation, ...]:
    """What sympy assumes of letters and the provers read off relations only."""
    found = []
    for letter in sorted(frozenset().union(*(r.symbols for r in relations)), key=str):
        if letter.is_negative:
            found.append(Relation(letter, ZERO, "<", "sign"))
        elif letter.is_nonpositive and not letter.is_zero:
            found.append(Relation(letter, ZERO, "<=", "sign"))
        elif letter.is_nonzero and not letter.is_positive:
            found.append(Relation(ZERO, letter**2, "<", "sign"))
    return tuple(found)


def may_have(letter: Any, value: Any) -> bool:
    """Whether what sympy assumes of a letter allows a value."""
    asked = [kind for kind in _KINDS if letter.assumptions0.get(kind) is not None]
    if not asked:
        return True
    number = sympy.Rational(int(value.p), int(value.q))
    return all(getattr(number, f"is_{kind}") == letter.assumptions0[kind] for kind in asked)
