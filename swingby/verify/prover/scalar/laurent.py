"""Laurent polynomials over the rationals, and problems made of them.

An exponent may be negative where the atom is positive. Nothing here rounds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

#: Exponents as (atom, exponent), sorted by atom, without zeros.
Monomial = tuple[tuple[int, int], ...]
Polynomial = dict[Monomial, Fraction]

ONE: Polynomial = {(): Fraction(1)}


@dataclass(frozen=True)
class Atom:
    """An unknown of a polynomial problem.

    `sign` in {"positive", "nonnegative", "real"}. `meaning`: what it stands for, in the letters of
    the claim.
    """

    name: str
    sign: str
    meaning: Any


@dataclass(frozen=True)
class Constraint:
    """``polynomial >= 0``, ``> 0`` or ``= 0``."""

    polynomial: Polynomial
    kind: str
    label: str = ""


@dataclass(frozen=True)
class PolynomialProblem:
    """Whether constraints on atoms imply ``goal >= 0`` (or ``> 0``, or ``= 0``)."""

    atoms: tuple[Atom, ...]
    constraints: tuple[Constraint, ...]
    goal: Constraint


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


def multiply(first: Polynomial, second: Polynomial) -> Polynomial:
    """The product of two polynomials."""
    total: Polynomial = {}
    for one, left in first.items():
        for other, right in second.items():
            monomial = times(one, other)
            value = total.get(monomial, Fraction(0)) + left * right
            if value:
                total[monomial] = value
            else:
                total.pop(monomial, None)
    return total


def product(factors: Iterable[Polynomial]) -> Polynomial:
    """The product of some polynomials."""
    result = dict(ONE)
    for factor in factors:
        result = multiply(result, factor)
    return result


def shift(polynomial: Polynomial, monomial: Monomial) -> Polynomial:
    """A polynomial times a monomial."""
    return {times(term, monomial): value for term, value in polynomial.items()}


def is_nonnegative(monomial: Monomial, atoms: tuple[Atom, ...]) -> bool:
    """Whether a monomial is defined and never negative."""
    for atom, exponent in monomial:
        sign = atoms[atom].sign
        if sign == "nonnegative" and exponent < 0:
            return False
        if sign == "real" and (exponent < 0 or exponent % 2):
            return False
    return True


def is_positive(monomial: Monomial, atoms: tuple[Atom, ...]) -> bool:
    """Whether a monomial is a product of powers of positive atoms."""
    return all(atoms[atom].sign == "positive" for atom, _ in monomial)


def surely_positive(polynomial: Polynomial, atoms: tuple[Atom, ...]) -> bool:
    """Whether every term is nonnegative and one of them is positive."""
    return all(
        value > 0 and is_nonnegative(term, atoms) for term, value in polynomial.items()
    ) and any(is_positive(term, atoms) for term in polynomial)


def text_of(polynomial: Polynomial, atoms: tuple[Atom, ...]) -> str:
    """A polynomial as one line of plain mathematics."""
    pieces: list[str] = []
    for term, value in polynomial.items():
        top = [_power(atoms[atom].name, exponent) for atom, exponent in term if exponent > 0]
        bottom = [_power(atoms[atom].name, -exponent) for atom, exponent in term if exponent < 0]
        size = abs(value)
        body = "*".join([*([str(size)] if size != 1 or not top else []), *top])
        if bottom:
            below = "*".join(bottom)
            body += f"/({below})" if len(bottom) > 1 else f"/{below}"
        sign = "-" if value < 0 else "+"
        pieces.append(f"{sign} {body}" if pieces else ("-" if value < 0 else "") + body)
    return " ".join(pieces) or "0"


def _power(name: str, exponent: int) -> str:
    """A power of a letter, where the letter may itself be the root of another."""
    base, power = name, Fraction(exponent)
    if name.endswith("^(1/2)"):
        base, power = name.removesuffix("^(1/2)"), Fraction(exponent, 2)
    if power == 1:
        return base
    return f"{base}^{power}" if power.denominator == 1 else f"{base}^({power})"


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
