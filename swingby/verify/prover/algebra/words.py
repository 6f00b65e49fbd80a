"""Noncommutative polynomials: the argument for matrix identities in every dimension.

A polynomial in matrices is a sum of words with scalar coefficients. Two polynomials whose words
agree are equal for all matrices of all sizes; transposition reverses a word, and inside a trace a
word may be rotated and transposed. Three rules are added: the identity is dropped, the pairs of
:data:`RULES` are shortened, and a sum over samples is linear, so that what does not depend on the
sample moves in and out of it.
"""

from __future__ import annotations

import itertools
from typing import Any

import sympy

from swingby.theory.claims.conclusions import A_1, A_2, X, X_inverse, Y, Y_transposed
from swingby.theory.claims.matrices import (
    LETTERS,
    A,
    I,
    Letter,
    n,
    over_samples,
    root,
    s,
    squared_norm,
    substitute,
    transpose,
)

#: Whether a word stands under the sum over samples, and its letters; to its coefficient.
Polynomial = dict[tuple[bool, tuple[Any, ...]], Any]
Where = tuple[tuple[Any, Any], ...]
Rules = dict[tuple[Any, ...], tuple[Any, ...]]

#: Every letter of a word, by its symbol: those of the text, and blocks of any size.
KNOWN = LETTERS | {
    one: Letter(one, other, rows, columns, "", one.name)
    for one, other, rows, columns in (
        (A_1, A_1, "k", "k"),
        (A_2, A_2, "d - k", "d - k"),
        (X, X, "k", "k"),
        (X_inverse, X_inverse, "k", "k"),
        (Y, Y_transposed, "k", "d - k"),
        (Y_transposed, Y, "d - k", "k"),
    )
}
#: What stands for two letters side by side.
RULES: Rules = {(root, root): (A,), (X, X_inverse): (), (X_inverse, X): ()}


class Unsupported(Exception):
    """The expression is outside the language of a prover, which then has no opinion."""


class Misshapen(Unsupported):
    """Two matrices are multiplied whose shapes do not fit: the line has no meaning."""


def polynomial(expression: Any) -> Polynomial:
    """The words of a polynomial in matrices, multiplied out.

    Raises Unsupported where the expression is no such polynomial.
    """
    plain = expression.replace(squared_norm, lambda inner: transpose(inner) * inner)
    terms = []
    for term in sympy.Add.make_args(sympy.expand(plain)):
        scalars, factors = term.args_cnc()
        coefficient = sympy.Mul(*scalars)
        if coefficient.has(sympy.Sum, sympy.Indexed):
            raise Unsupported("an expression in entries is no polynomial in matrices")
        for chosen in itertools.product(*map(_factor_words, factors)):
            words = [word for _, (_, word) in chosen]
            summed = [summed for _, (summed, _) in chosen]
            if sum(summed) > 1:
                raise Unsupported("a product of two sums over samples")
            outside = [word for word, inside in zip(words, summed, strict=True) if not inside]
            if any(summed) and any(map(_has_sample, outside)):
                raise Unsupported("a sample beside a sum over samples")
            value = coefficient * sympy.Mul(*(one for one, _ in chosen))
            terms.append(((any(summed), sum(words, ())), value))
    return _collected(terms)


def _factor_words(factor: Any) -> list[tuple[Any, tuple[bool, tuple[Any, ...]]]]:
    """The words of one factor of an expanded product, with their coefficients."""
    base, power = factor.as_base_exp()
    if power.is_Integer and power > 0:
        if base == I:
            return [(sympy.Integer(1), (False, ()))]
        if base in KNOWN:
            return [(sympy.Integer(1), (False, (base,) * int(power)))]
    if factor.func != over_samples:
        raise Unsupported(f"no words for {factor}")
    found = []
    for (summed, word), value in polynomial(factor.args[0]).items():
        if summed:
            raise Unsupported("a sum over samples inside another")
        inside = _has_sample(word)
        found.append((value if inside else s * n * value, (inside, word)))
    return found


def _has_sample(word: tuple[Any, ...]) -> bool:
    return any(KNOWN[letter].sample for letter in word)


def _collected(terms: Any) -> Polynomial:
    total: Polynomial = {}
    for word, value in terms:
        total[word] = total.get(word, 0) + value
    cleaned = {word: sympy.cancel(value) for word, value in total.items()}
    return {word: value for word, value in cleaned.items() if value != 0}


def normal_form(expression: Any, where: Where = (), trace: bool = False) -> Polynomial:
    """The words of a polynomial, with definitions put in, up to the rules of the module."""
    # a definition of A has to see every A that the root gives, so the root goes first
    others = tuple(rule for rule in where if rule[0] != A)
    words = reduced(polynomial(substitute(expression, others)), trace)
    for _, definition in (rule for rule in where if rule[0] == A):
        again = sympy.Integer(0)
        for (summed, word), value in words.items():
            product = sympy.Mul(I, *word).xreplace({A: definition})
            again += value * (over_samples(product) if summed else product)
        words = reduced(polynomial(again), trace)
    return words


def same(left: Any, right: Any, where: Where = (), trace: bool = False) -> bool:
    """Whether two polynomials agree word by word."""
    for side in (left, right):
        # in the difference, terms whose shapes do not fit could cancel
        normal_form(side, where, trace)
    return not normal_form(left - right, where, trace)


def derivative(words: Polynomial, variable: Any, towards: Any) -> Polynomial:
    """The derivative of a polynomial in the direction of a matrix."""
    swap = {variable: towards, transpose(variable): transpose(towards)}
    return _collected(
        ((summed, (*word[:place], swap[letter], *word[place + 1 :])), value)
        for (summed, word), value in words.items()
        for place, letter in enumerate(word)
        if letter in swap
    )


def reduced(words: Polynomial, trace: bool) -> Polynomial:
    """The words after the rules, and up to rotation and transposition in a trace."""
    terms, shapes = [], set()
    for (summed, word), value in words.items():
        short = shortened(word, RULES)
        if trace:
            while len(short) > 1 and (short[-1], short[0]) in RULES:
                short = shortened((*short[1:], short[0]), RULES)
            short = _first_of_class(short)
        for first, second in itertools.pairwise(short + short[:1] if trace else short):
            if KNOWN[first].columns != KNOWN[second].rows:
                raise Misshapen(f"{first} {second}: the shapes do not fit")
        if short and not trace:
            shapes.add((KNOWN[short[0]].rows, KNOWN[short[-1]].columns))
        terms.append(((summed, short), value))
    if len(shapes) > 1:
        raise Misshapen(f"a sum of {' and '.join(sorted(map(' x '.join, shapes)))}")
    return _collected(terms)


def shortened(word: tuple[Any, ...], rules: Rules) -> tuple[Any, ...]:
    """A word with the pairs of some rules replaced, as they come."""
    out: list[Any] = []
    for letter in word:
        out[-1:] = rules.get((*out[-1:], letter), (*out[-1:], letter))
    return tuple(out)


def _first_of_class(word: tuple[Any, ...]) -> tuple[Any, ...]:
    """The first of all words with the same trace: rotated, and transposed."""
    flipped = tuple(KNOWN[letter].transposed for letter in reversed(word))
    turns = [
        chosen[turn:] + chosen[:turn] for chosen in (word, flipped) for turn in range(len(word))
    ]
    return min(turns, key=lambda turned: [letter.name for letter in turned], default=())
