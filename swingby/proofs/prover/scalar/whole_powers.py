"""Powers with whole letters as exponents, such as (1 - x)^t, as letters with what bounds them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from swingby.proofs.prover.scalar.polynomial_form import short_certificate
from swingby.proofs.prover.scalar.relation import ZERO, Relation, Sequent, expression_text

_ONE = sympy.Integer(1)
#: Letters, each with its base and its exponent.
_Letters = dict[Any, tuple[Any, Any]]


def name_whole_powers(sequent: Sequent) -> Sequent:
    """A sequent in which powers of what may not be positive are letters, and facts about these.

    An exponent is a sum of products of letters for whole numbers that are not negative.
    """
    letters: _Letters = {}
    while powers := _innermost(sequent):
        sequent = sequent.substitute({x: _in_letters(x.base, x.exp, letters) for x in powers})
    facts = [fact for x in letters for fact in _facts(x, letters, sequent)]
    return Sequent((*sequent.hypotheses, *facts), sequent.goal)


def _atoms(sequent: Sequent, kind: Any) -> list[Any]:
    sides = [side for relation in sequent.relations for side in relation.sides]
    return sorted(frozenset().union(*(side.atoms(kind) for side in sides)), key=str)


def _innermost(sequent: Sequent) -> list[Any]:
    """Powers with letters in their exponents, and no others in their bases."""
    powers = {x for x in _atoms(sequent, sympy.Pow) if x.base is not sympy.E and _terms(x.exp)}
    return sorted((x for x in powers if not x.base.atoms(sympy.Pow) & powers), key=str)


def _terms(exponent: Any) -> list[tuple[int, Any]]:
    """An exponent with letters as multiples of products of whole letters; empty for any other."""
    terms = [term.as_coeff_Mul() for term in sympy.Add.make_args(sympy.expand(exponent))]
    whole = all(
        count.is_Integer and count > 0 and x.is_integer and x.is_nonnegative and x.is_polynomial()
        for count, x in terms
    )
    return [(int(count), x) for count, x in terms] if whole and exponent.free_symbols else []


def _in_letters(base: Any, exponent: Any, letters: _Letters) -> Any:
    """A power in letters, which are new or known."""
    if base.is_Mul:
        return sympy.Mul(*(_in_letters(x, exponent, letters) for x in base.args))
    if base.is_Pow and base.exp.is_Integer and base.exp > 0:
        return _in_letters(base.base, exponent, letters) ** base.exp
    if base.is_positive:
        return sympy.exp(exponent * sympy.log(base))
    if base.is_Rational and base != -1:
        return _in_letters(-_ONE, exponent, letters) * _in_letters(-base, exponent, letters)
    product = _ONE
    for count, term in _terms(exponent):
        letter = base
        if term != 1:
            name = f"(({expression_text(base)})^({expression_text(term)}))"
            sign = {"nonnegative": True} if base.is_nonnegative else {"real": True}
            letter = sympy.Symbol(name, **sign)
            letters[letter] = base, term
        product *= letter**count
    return product


def _facts(letter: Any, letters: _Letters, sequent: Sequent) -> Iterator[Relation]:
    """What is known of x^n: the facts of this kind that ``check_proof`` knows."""
    base, term = letters[letter]

    def holds(small: Any, large: Any, kind: str = "<=") -> bool:
        goal = Relation(small, large, kind)
        return short_certificate(Sequent(sequent.hypotheses, goal)) is not None

    def fact(small: Any, large: Any, kind: str = "<=") -> Relation:
        return Relation(small, large, kind, "whole power")

    over = sympy.expand(term * (base - 1))
    is_above, is_below = holds(ZERO, base), holds(base, _ONE)
    if is_above:
        yield from (fact(ZERO, letter), fact(1 + over, letter), fact(letter, sympy.exp(over)))
    if is_below and holds(-_ONE, base):
        yield from (fact(letter, _ONE), fact(-_ONE, letter))
    if is_above and holds(_ONE, base):
        yield fact(_ONE, letter)
    if term.is_positive:
        if is_above and is_below:
            yield fact(letter, base)
        if holds(base, _ONE, "<") and holds(-_ONE, base, "<"):
            yield from (fact(letter, _ONE, "<"), fact(-_ONE, letter, "<"))
        if holds(_ONE, base, "<"):
            yield fact(_ONE, letter, "<")
    powers = {other: larger for other, (larger, same) in letters.items() if same == term}
    counts = {_ONE} | {x.exp for x in _atoms(sequent, sympy.Pow) if x.base == letter}
    for curve in _atoms(sequent, sympy.exp):
        for count in sorted(counts):
            power = sympy.exp(curve.exp / count)
            powers[power] = sympy.exp(sympy.expand(curve.exp / count / term))
    for other, larger in powers.items():
        if other == letter or larger.free_symbols & term.free_symbols:
            continue
        for kind in ("<", "<=") if term.is_positive else ("<=",):
            if holds(-base, larger, kind) and holds(base, larger, kind):
                yield from (fact(letter, other, kind), fact(-letter, other, kind))
                break
