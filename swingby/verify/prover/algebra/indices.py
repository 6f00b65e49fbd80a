"""Sums over indices for every d and s: the argument by cases of equal and distinct indices.

Free indices are equal or distinct, inside [s] or free directions; two formulas agree if they do
in every case, generic summand against generic summand.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import sympy

from swingby.theory.derivations.matrices import (
    LETTERS,
    U,
    Ut,
    W,
    cluster,
    d,
    i,
    j,
    k,
    s,
    unit,
    unitt,
    z,
    zt,
)
from swingby.theory.derivations.matrices import delta as kronecker
from swingby.verify.prover.algebra.pattern import STATES, Pattern, evaluate, settle
from swingby.verify.prover.algebra.words import Polynomial, Unsupported

#: The direction of the basis vector that stands for z, and the index of a sum inside a word.
basis, inner = sympy.symbols("m r", integer=True, positive=True)


def agree(left: Any, right: Any, *, symmetric: bool = False, square: bool = False) -> bool:
    """Whether two formulas in entries are equal for all sizes and indices.

    Returns False where some case does not come out as zero. Raises Unsupported where a formula is
    outside the language of this module.
    """
    if (
        len({_degree(side) for side in (left, right) if not side.has(basis)} | _basis_degree(left))
        > 1
    ):
        raise Unsupported("the two sides differ in their degree in z")
    difference = _at_basis(left) - _at_basis(right)
    for pattern in patterns(difference, symmetric, square):
        value = settle(evaluate(difference, pattern), pattern)
        if sympy.cancel(sympy.together(value)) != 0:
            return False
    return True


def patterns(expression: Any, symmetric: bool, square: bool) -> Iterator[Pattern]:
    """Every case that a formula in entries needs."""
    indices = sorted(_free_indices(expression), key=str)
    names = {str(base) for base in expression.atoms(sympy.IndexedBase)}
    located = expression.has(s) or "inside" in _operators(expression) or names & {"mu", "sigma"}
    for code in itertools.product(range(len(indices)), repeat=len(indices)):
        if any(label > max(code[:place], default=-1) + 1 for place, label in enumerate(code)):
            continue
        labels = {index: str(label) for index, label in zip(indices, code, strict=True)}
        distinct = sorted(set(labels.values()))
        options = STATES[:2] if square else STATES
        for states in itertools.product(options if located else ("",), repeat=len(distinct)):
            states_by_label = dict(zip(distinct, states, strict=True)) if located else {}
            yield Pattern(labels, states_by_label, symmetric)


def from_words(words: Polynomial) -> Any:
    """Entry (i, j) of a polynomial in matrices, or its value where it is a number.

    Returns a formula in entries.
    """
    total = sympy.Integer(0)
    with_z = int(any(letter in (z, zt) for _, word in words for letter in word))
    for (summed, word), coefficient in words.items():
        if summed:
            raise Unsupported("a sum over samples has no entries here")
        if len([letter for letter in word if letter in (z, zt)]) != with_z:
            raise Unsupported("words of different degree in z")
        total += coefficient * _word(_fold(word))
    return total


def _fold(word: tuple[Any, ...]) -> list[Any]:
    out: list[Any] = []
    for letter in word:
        if letter == Ut and out and out[-1] == U:
            out[-1] = W
        else:
            out.append(letter)
    return out


def _word(word: list[Any]) -> Any:
    row = {zt: basis, unitt: k}
    at = row.get(word[0], i) if word else i
    body, sums, ended = sympy.Integer(1), 0, at != i
    for place, letter in enumerate(word):
        known = LETTERS[letter]
        if letter in row and place == 0:
            continue
        if letter in (z, unit):
            body *= kronecker(at, basis if letter == z else k)
        elif known.diagonal:
            body *= sympy.IndexedBase(known.entries)[at]
        elif (known.rows, known.columns) == ("d", "d"):
            last = all(LETTERS[after].diagonal for after in word[place + 1 :])
            following = j if last else inner
            sums += not last
            flipped = letter.name.endswith("^T")
            body *= sympy.IndexedBase(known.entries)[
                (following, at) if flipped else (at, following)
            ]
            at = following
        else:
            raise Unsupported(f"no entries for {letter}")
    if sums > 1:
        raise Unsupported("a word with more than one inner index")
    if at == i and not ended:
        body *= kronecker(i, j)
    return sympy.Sum(body, (inner, 1, d)) if sums else body


def _at_basis(expression: Any) -> Any:
    swap = {
        entry: kronecker(entry.indices[0], basis)
        for entry in expression.atoms(sympy.Indexed)
        if str(entry.base) == "z"
    }
    return expression.xreplace(swap)


def _degree(expression: Any) -> int:
    if isinstance(expression, sympy.Indexed):
        return int(str(expression.base) == "z")
    if isinstance(expression, sympy.Sum):
        return _degree(expression.function)
    if expression.is_Mul:
        return sum(_degree(factor) for factor in expression.args)
    if expression.is_Add:
        found = {_degree(term) for term in expression.args}
        if len(found) > 1:
            raise Unsupported("terms of different degree in z")
        return found.pop()
    return 0


def _basis_degree(left: Any) -> set[int]:
    # a word that has given the basis vector contains z once, which from_words has seen to
    return {1} if left.has(basis) else set()


def _free_indices(expression: Any) -> set[Any]:
    known = {symbol for symbol in expression.free_symbols if symbol.is_integer}
    bound = {
        operator.args[1] for operator in expression.atoms(sympy.Function) if _is_rest(operator)
    }
    return known - bound - {cluster}


def _is_rest(operator: Any) -> bool:
    return bool(operator.func.__name__ == "rest")


def _operators(expression: Any) -> set[str]:
    return {operator.func.__name__ for operator in expression.atoms(sympy.Function)}
