"""Means over random letters: linear, and what holds of the means of any distribution.

A random letter, a number or a vector, ends in a tilde. ``E(...)`` is expanded by linearity into
letters for the means of products of random letters; of an inner product with one random vector it
is the inner product with its mean.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import sympy

from swingby.proofs.language.definedness import partial, put_in_as_written
from swingby.proofs.language.vectors import (
    Vector,
    coefficients,
    factors,
    is_vector,
    product_letter,
    put_in,
)

#: Stands in an instance for: the mean of both sides.
MEAN = sympy.Symbol("E")


class Mean(sympy.Function):  # type: ignore[misc]
    """The mean of a number, as written."""

    is_commutative = True
    is_real = True


class MeanLetter(sympy.Symbol):  # type: ignore[misc]
    """The letter for the mean of a random number, positive where that is for every outcome."""

    __slots__ = ("of",)

    def __new__(cls, of: Any) -> MeanLetter:
        """The letter for the mean of a number."""
        signs = {"positive": of.is_positive, "nonnegative": of.is_nonnegative}
        sign = next((name for name, holds in signs.items() if holds), "real")
        known = {sign: True} if sign != "real" or all(x.is_real for x in of.free_symbols) else {}
        name = f"E[{str(of).replace('~', '').replace('**', '^')}]"
        letter: MeanLetter = sympy.Symbol.__xnew__(cls, name, **known)
        letter.of = of
        return letter

    def __getnewargs_ex__(self) -> tuple[tuple[Any], dict[str, Any]]:
        """What makes a copy."""
        return (self.of,), {}

    def _hashable_content(self) -> tuple[Any, ...]:
        return (self.of,)

    def _sympyrepr(self, printer: Any) -> str:
        return f"MeanLetter({printer.doprint(self.of)})"

    def put_in(self, values: Mapping[Any, Any]) -> Any:
        """The mean with values put in for the letters behind it, expanded."""
        return expanded(put_in(self.of, values))

    def changed(self, letter: Callable[[Any], Any]) -> MeanLetter:
        """The letter for the mean with other letters behind it."""
        return MeanLetter(self.of.xreplace({x: letter(x) for x in self.of.free_symbols}))


def mean(value: Any) -> Any:
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
    if isinstance(letter, Vector):
        return Vector(f"E[{str(letter).replace('~', '')}]") if is_random(letter) else letter
    pair = factors(letter)
    if pair and pair[0] != pair[1] and not all(map(is_random, pair)):
        return product_letter(*map(mean_letter, pair))
    if counting := [x for x in letter.free_symbols if x.is_integer and not is_random(x)]:
        raise ValueError(f"a mean has no counting letter {counting[0]} inside a function")
    return MeanLetter(letter)


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
    """What holds of the means in statements, whatever the distribution.

    E(c)^2 <= E(a) E(b) where c^2 = a b (Cauchy and Schwarz), and what holds for every outcome.
    """
    letters = {letter for each in statements for letter in each.free_symbols}
    means = sorted((x for x in letters if isinstance(x, MeanLetter)), key=str)
    for letter in means:
        pair = factors(letter.of)
        square = product_letter(*map(mean_letter, pair)) if len({*pair}) == 1 else None
        if square in letters:
            yield sympy.Le(square, letter, evaluate=False)
    one = sympy.Integer(1)
    by_value = {one: one} | {x.of: x for x in means if not partial(x.of)}
    sizes = [x for x in by_value if x.is_nonnegative]
    products = {sympy.expand(a * b): (a, b) for a, b in itertools.combinations(sizes, 2)}
    for value, letter in by_value.items():
        pair = factors(value)
        largest = (
            sympy.Mul(*(product_letter(x, x) for x in pair)) if len({*pair}) == 2 else value**2
        )
        if bounds := products.get(sympy.expand(largest)):
            above = sympy.Mul(*(by_value[x] for x in bounds))
            yield sympy.Le(letter**2, above, evaluate=False)
        for small, large in _bounds(value) if value != 1 else ():
            if small.free_symbols | large.free_symbols <= letters:
                yield sympy.Le(small, large, evaluate=False)


def _bounds(value: Any) -> Iterator[tuple[Any, Any]]:
    """Bounds of a mean: by what is never larger or smaller; by Jensen's inequality."""
    letter = mean_letter(value)
    if isinstance(value, sympy.Abs):
        yield from ((expanded(sign * value.args[0]), letter) for sign in (1, -1))
    elif isinstance(value, sympy.Max):
        yield from ((expanded(x), letter) for x in value.args)
    elif isinstance(value, sympy.Min):
        yield from ((letter, expanded(x)) for x in value.args)
    elif isinstance(value, sympy.exp):
        yield sympy.exp(expanded(value.args[0])), letter
    elif isinstance(value, sympy.log):
        yield letter, sympy.log(expanded(value.args[0]))
