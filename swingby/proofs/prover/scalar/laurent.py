"""Laurent polynomials over the rationals: exponents may be negative, and nothing rounds."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import reduce

#: Exponents as (atom, exponent), sorted by atom, without zeros.
Monomial = tuple[tuple[int, int], ...]
Polynomial = dict[Monomial, Fraction]

ONE: Polynomial = {(): Fraction(1)}


def constant(value: Fraction | int) -> Polynomial:
    """A constant polynomial."""
    return {(): Fraction(value)} if value else {}


def power_of(atom: int, exponent: int = 1) -> Polynomial:
    """One atom to some power."""
    return {((atom, exponent),): Fraction(1)} if exponent else dict(ONE)


def times(first: Monomial, second: Monomial) -> Monomial:
    """The product of two monomials."""
    if not first or not second:
        return first or second
    exponents = dict(first)
    for atom, exponent in second:
        exponents[atom] = exponents.get(atom, 0) + exponent
    return tuple(sorted((atom, exponent) for atom, exponent in exponents.items() if exponent))


def inverse(monomial: Monomial) -> Monomial:
    """One over a monomial."""
    return tuple((atom, -exponent) for atom, exponent in monomial)


def add(first: Polynomial, second: Polynomial, factor: Fraction | int = 1) -> Polynomial:
    """``first + factor second``."""
    total = dict(first)
    for monomial, coefficient in second.items():
        value = total.get(monomial, Fraction(0)) + coefficient * factor
        if value:
            total[monomial] = value
        else:
            total.pop(monomial, None)
    return total


def scaled(polynomial: Polynomial, factor: Fraction | int) -> Polynomial:
    """A number, not 0, times a polynomial."""
    return {term: value * factor for term, value in polynomial.items()}


def multiply(first: Polynomial, second: Polynomial) -> Polynomial:
    """The product of two polynomials."""
    total: Polynomial = {}
    for first_term, first_value in first.items():
        for second_term, second_value in second.items():
            monomial = times(first_term, second_term)
            total[monomial] = total.get(monomial, Fraction(0)) + first_value * second_value
    return {monomial: value for monomial, value in total.items() if value}


def product(factors: Iterable[Polynomial]) -> Polynomial:
    """The product of some polynomials."""
    return reduce(multiply, factors, ONE)


def shift(polynomial: Polynomial, monomial: Monomial) -> Polynomial:
    """A polynomial times a monomial."""
    return {times(term, monomial): value for term, value in polynomial.items()}


def atoms_in(polynomial: Polynomial) -> set[int]:
    """The places of the atoms that stand in a polynomial."""
    return {atom for term in polynomial for atom, _ in term}


def lowest_powers(polynomial: Polynomial) -> Monomial:
    """The lowest power of each atom, as far as it is negative: its inverse clears them all."""
    lowest: dict[int, int] = {}
    for term in polynomial:
        for atom, exponent in term:
            lowest[atom] = min(lowest.get(atom, 0), exponent)
    return tuple(sorted((atom, exponent) for atom, exponent in lowest.items() if exponent))


def polynomial_content(polynomial: Polynomial) -> Fraction:
    """The positive number that leaves whole coefficients without a common factor."""
    over = math.gcd(*(value.numerator for value in polynomial.values()))
    return Fraction(over, math.lcm(*(value.denominator for value in polynomial.values())))
