"""Quotients of Laurent polynomials, with their denominators kept as factors."""

from __future__ import annotations

from dataclasses import dataclass

from swingby.verify.prover.scalar.laurent import Polynomial, add, multiply


@dataclass(frozen=True)
class Quotient:
    """A polynomial over a product of polynomials that are no monomials."""

    numerator: Polynomial
    denominators: tuple[Polynomial, ...] = ()


def sum_of(first: Quotient, second: Quotient) -> Quotient:
    """The sum of two quotients over their common denominator."""
    missing_first = list(second.denominators)
    missing_second = []
    for denominator in first.denominators:
        if denominator in missing_first:
            missing_first.remove(denominator)
        else:
            missing_second.append(denominator)
    left, right = first.numerator, second.numerator
    for denominator in missing_first:
        left = multiply(left, denominator)
    for denominator in missing_second:
        right = multiply(right, denominator)
    return Quotient(add(left, right), first.denominators + tuple(missing_first))


def product_of(first: Quotient, second: Quotient) -> Quotient:
    """The product of two quotients."""
    return Quotient(
        multiply(first.numerator, second.numerator), first.denominators + second.denominators
    )
