"""Noncommutative polynomials: the argument for matrix identities in every dimension.

A polynomial in matrices is a sum of words with scalar coefficients. Two polynomials whose words
agree are equal for all matrices of all sizes; transposition reverses a word, and inside a trace a
word may be rotated and transposed. Three rules are added: the identity is dropped,
A^(1/2) A^(1/2) = A, and a sum over samples is linear, so that what does not depend on the sample
moves in and out of it.
"""

from __future__ import annotations

import itertools
from typing import Any

import sympy

from swingby.theory.derivations.matrices import (
    LETTERS,
    A,
    I,
    n,
    over_samples,
    root,
    s,
    squared_norm,
    substitute,
    transpose,
)

#: A word and whether it stands under the sum over samples.
Word = tuple[bool, tuple[Any, ...]]
Polynomial = dict[Word, Any]

ONE: Word = (False, ())


class Unsupported(Exception):
    """The expression is outside the language of a prover, which then has no opinion."""


class Misshapen(Unsupported):
    """Two matrices are multiplied whose shapes do not fit: the line has no meaning."""


def polynomial(expression: Any, where: tuple[tuple[Any, Any], ...] = ()) -> Polynomial:
    """The words of a polynomial in matrices.

    `expression`: in the letters of :mod:`swingby.theory.derivations.matrices`.
    `where`: definitions, put in one after the other; the rule for A^(1/2) is applied in between.
    Returns without words of coefficient zero.
    Raises Unsupported where the expression is no such polynomial.

    Examples
    --------
    >>> from swingby.theory.derivations.matrices import A, I, W
    >>> polynomial((W - I) * A - W * A + A)
    {}
    """
    return _expand(substitute(expression, where))


def normal_form(
    expression: Any, where: tuple[tuple[Any, Any], ...] = (), trace: bool = False
) -> Polynomial:
    """The words of a polynomial up to the rules that hold of every matrix.

    Raises Unsupported where the expression is no polynomial in matrices.

    Examples
    --------
    >>> from swingby.theory.derivations.matrices import U, Ut, A
    >>> normal_form(U * Ut * A, trace=True) == normal_form(Ut * A * U, trace=True)
    True
    """
    # a definition of A has to see every A that the root gives, so the root goes first
    words = reduced(_expand(substitute(expression, tuple(r for r in where if r[0] != A))), trace)
    for symbol, definition in where:
        if symbol == A:
            replaced = {A: _expand(definition)}
            words = reduced(_replace(words, replaced), trace)
    return words


def same(
    left: Any, right: Any, where: tuple[tuple[Any, Any], ...] = (), trace: bool = False
) -> bool:
    """Whether two polynomials agree word by word.

    Raises Unsupported where a side is no polynomial in matrices.
    """
    for side in (left, right):
        # in the difference, terms whose shapes do not fit could cancel
        normal_form(side, where, trace)
    return not normal_form(left - right, where, trace)


def derivative(words: Polynomial, variable: Any, towards: Any) -> Polynomial:
    """The derivative of a polynomial in the direction of a matrix."""
    swap = {variable: towards, transpose(variable): transpose(towards)}
    found: Polynomial = {}
    for (summed, word), coefficient in words.items():
        for place, letter in enumerate(word):
            if letter in swap:
                _add(
                    found, (summed, (*word[:place], swap[letter], *word[place + 1 :])), coefficient
                )
    return _clean(found)


def _expand(expression: Any) -> Polynomial:
    if expression == I:
        return {ONE: sympy.Integer(1)}
    if expression in LETTERS:
        return {(False, (expression,)): sympy.Integer(1)}
    if expression.is_commutative:
        if expression.has(sympy.Sum, sympy.Indexed):
            raise Unsupported("an expression in entries is no polynomial in matrices")
        return {ONE: expression}
    if expression.is_Add:
        total: Polynomial = {}
        for term in expression.args:
            for word, coefficient in _expand(term).items():
                _add(total, word, coefficient)
        return _clean(total)
    if expression.is_Mul:
        product: Polynomial = {ONE: sympy.Integer(1)}
        for factor in expression.args:
            product = _times(product, _expand(factor))
        return product
    if expression.is_Pow and expression.exp.is_Integer and expression.exp > 0:
        return _expand(sympy.Mul(*[expression.base] * int(expression.exp), evaluate=False))
    if expression.func == squared_norm:
        inner = expression.args[0]
        return _times(_expand(transpose(inner)), _expand(inner))
    if expression.func == over_samples:
        return _summed(_expand(expression.args[0]))
    raise Unsupported(f"no words for {expression}")


def _summed(words: Polynomial) -> Polynomial:
    total: Polynomial = {}
    for (summed, word), coefficient in words.items():
        if summed:
            raise Unsupported("a sum over samples inside another")
        if any(LETTERS[letter].sample for letter in word):
            _add(total, (True, word), coefficient)
        else:
            _add(total, (False, word), s * n * coefficient)
    return _clean(total)


def _times(left: Polynomial, right: Polynomial) -> Polynomial:
    product: Polynomial = {}
    for (first_summed, first), one in left.items():
        for (second_summed, second), two in right.items():
            if first_summed and second_summed:
                raise Unsupported("a product of two sums over samples")
            if first_summed or second_summed:
                outside = second if first_summed else first
                if any(LETTERS[letter].sample for letter in outside):
                    raise Unsupported("a sample beside a sum over samples")
            _add(product, (first_summed or second_summed, first + second), one * two)
    return _clean(product)


def _replace(words: Polynomial, rules: dict[Any, Polynomial]) -> Polynomial:
    total: Polynomial = {}
    for (summed, word), coefficient in words.items():
        product: Polynomial = {ONE: coefficient}
        for letter in word:
            product = _times(product, rules.get(letter, {(False, (letter,)): sympy.Integer(1)}))
        for (inner, found), value in product.items():
            if summed and inner:
                raise Unsupported("a sum over samples inside another")
            _add(total, (summed or inner, found), value)
    return _clean(total)


def reduced(words: Polynomial, trace: bool) -> Polynomial:
    """The words after A^(1/2) A^(1/2) = A, and up to rotation and transposition in a trace."""
    total: Polynomial = {}
    for (summed, word), coefficient in words.items():
        short = _pair_roots(word)
        if trace:
            while len(short) > 1 and short[0] == root == short[-1]:
                short = _pair_roots((*short[1:], short[0]))
            short = _first_of_class(short)
        _check_shape(short, trace)
        _add(total, (summed, short), coefficient)
    return _clean(total)


def _pair_roots(word: tuple[Any, ...]) -> tuple[Any, ...]:
    out: list[Any] = []
    for letter in word:
        if letter == root and out and out[-1] == root:
            out[-1] = A
        else:
            out.append(letter)
    return tuple(out)


def _first_of_class(word: tuple[Any, ...]) -> tuple[Any, ...]:
    flipped = tuple(LETTERS[letter].transposed for letter in reversed(word))
    turns = [
        chosen[turn:] + chosen[:turn] for chosen in (word, flipped) for turn in range(len(word))
    ]
    return min(turns, key=lambda turned: [letter.name for letter in turned], default=())


def _check_shape(word: tuple[Any, ...], trace: bool) -> None:
    letters = [LETTERS[letter] for letter in word]
    pairs = list(itertools.pairwise(letters))
    if trace and letters:
        pairs.append((letters[-1], letters[0]))
    for first, second in pairs:
        if first.columns != second.rows:
            raise Misshapen(f"{first.symbol} {second.symbol}: the shapes do not fit")


def _add(words: Polynomial, word: Word, coefficient: Any) -> None:
    words[word] = words.get(word, sympy.Integer(0)) + coefficient


def _clean(words: Polynomial) -> Polynomial:
    cleaned = {word: sympy.cancel(value) for word, value in words.items()}
    return {word: value for word, value in cleaned.items() if value != 0}
