"""Means over random letters: linear, and never above the mean of the square.

A random letter, a number or a vector, ends in a tilde. ``E(...)`` is expanded by linearity into
letters for the means of products of random letters; of an inner product with one random vector it
is the inner product with its mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import sympy

from swingby.proofs.language.definedness import put_in_as_written
from swingby.proofs.language.vectors import (
    Vector,
    coefficients,
    factors,
    is_vector,
    product_letter,
)

#: Stands in an instance for: the mean of both sides.
MEAN = sympy.Symbol("E")


class Mean(sympy.Function):  # type: ignore[misc]
    """The mean of a number, as written."""

    is_commutative = True
    is_real = True


def mean(value: Any, **_: bool) -> Any:
    """The mean of a vector, expanded; of a number, as written."""
    if value.has(Mean):
        raise ValueError("a mean of a mean is that mean: write it once")
    if not is_vector(value):
        return Mean(value)
    before = coefficients(value)
    if any(is_random(letter) for number in before.values() for letter in number.free_symbols):
        raise ValueError("the mean of a random number times a vector has no letter")
    return sympy.Add(*(number * mean_letter(letter) for letter, number in before.items()))


def is_random(letter: Any) -> bool:
    """Whether a letter is random, or the inner product of a random vector."""
    return "~" in str(letter)


def mean_letter(letter: Any) -> Any:
    """The letter for the mean of a letter or of a product of letters."""
    name = f"E[{str(letter).replace('~', '').replace('**', '^')}]"
    if isinstance(letter, Vector):
        return Vector(name) if is_random(letter) else letter
    pair = factors(letter)
    if pair and pair[0] != pair[1] and not all(map(is_random, pair)):
        return product_letter(*map(mean_letter, pair))
    if letter.is_nonnegative:
        return sympy.Symbol(name, nonnegative=True)
    return sympy.Symbol(name, real=all(x.is_real for x in letter.free_symbols) or None)


def expanded(value: Any) -> Any:
    """The mean of a number, expanded: what is not random stands before it."""
    terms = []
    for term in sympy.Add.make_args(sympy.expand(value)):
        random = [
            each for each in term.args if term.is_Mul and any(map(is_random, each.free_symbols))
        ]
        if not term.is_Mul and any(map(is_random, term.free_symbols)):
            random = [term]
        product = sympy.Mul(*random)
        terms.append(term / product * (mean_letter(product) if random else 1))
    return sympy.Add(*terms)


def in_means(statement: Any) -> Any:
    """A statement with its means expanded."""
    swaps = {each: expanded(each.args[0]) for each in statement.atoms(Mean)}
    if not swaps:
        return statement
    if statement.is_Relational:
        sides = (put_in_as_written(side, swaps) for side in statement.args)
        return statement.func(*sides, evaluate=False)
    return put_in_as_written(statement, swaps)


def mean_of_both(relation: Any) -> Any:
    """A relation that holds for every outcome, in the mean."""
    return relation.func(*(expanded(side) for side in relation.args), evaluate=False)


def facts(statements: Iterable[Any]) -> Iterator[Any]:
    """The mean of a square is at least the square of the mean."""
    letters = {letter for each in statements for letter in each.free_symbols}
    names = {str(letter): letter for letter in letters}
    vectors = {str(vector) for letter in letters for vector in factors(letter)}
    for name, letter in sorted(names.items()):
        if name.startswith("E[") and name.endswith("^2]"):
            base = name[2:-3].strip("|")
            if f"E[{base}]" in vectors and name.startswith("E[|"):
                yield sympy.Le(product_letter(*[Vector(f"E[{base}]")] * 2), letter, evaluate=False)
            elif f"E[{base}]" in names:
                yield sympy.Le(names[f"E[{base}]"] ** 2, letter, evaluate=False)
