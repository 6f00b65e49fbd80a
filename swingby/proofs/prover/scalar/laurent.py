"""Laurent polynomials over the rationals, and problems made of them.

An exponent may be negative where the atom is positive. Nothing here rounds.

A second opinion by z3 on polynomial problems, where the extra ``prove`` is installed.

An answer "unsat" alone is no proof here, and a model is only a candidate for a witness.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

import flint

from swingby.theory.search_time import seconds_left

#: Exponents as (atom, exponent), sorted by atom, without zeros.
Monomial = tuple[tuple[int, int], ...]
Polynomial = dict[Monomial, Fraction]

ONE: Polynomial = {(): Fraction(1)}


@dataclass(frozen=True)
class Atom:
    """An unknown of a polynomial problem: "positive", "nonnegative" or "real".

    `meaning`: what it stands for, in the letters of the claim.
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


def scaled(polynomial: Polynomial, factor: Fraction | int) -> Polynomial:
    """A number, not 0, times a polynomial."""
    return {term: value * factor for term, value in polynomial.items()}


def multiply(first: Polynomial, second: Polynomial) -> Polynomial:
    """The product of two polynomials."""
    total: Polynomial = {}
    for one, factor in first.items():
        for other, by in second.items():
            monomial = times(one, other)
            total[monomial] = total.get(monomial, Fraction(0)) + factor * by
    return {monomial: value for monomial, value in total.items() if value}


def product(factors: Iterable[Polynomial]) -> Polynomial:
    """The product of some polynomials."""
    return reduce(multiply, factors, ONE)


def shift(polynomial: Polynomial, monomial: Monomial) -> Polynomial:
    """A polynomial times a monomial."""
    return {times(term, monomial): value for term, value in polynomial.items()}


def letters_of(polynomial: Polynomial) -> set[int]:
    """The places of the atoms that stand in a polynomial."""
    return {atom for term in polynomial for atom, _ in term}


def lowest_powers(polynomial: Polynomial) -> Monomial:
    """The lowest power of each atom, as far as it is negative: its inverse clears them all."""
    lowest: dict[int, int] = {}
    for term in polynomial:
        for atom, exponent in term:
            lowest[atom] = min(lowest.get(atom, 0), exponent)
    return tuple(sorted((atom, exponent) for atom, exponent in lowest.items() if exponent))


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
    missing = list(second.denominators)
    numerator = second.numerator
    for denominator in first.denominators:
        if denominator in missing:
            missing.remove(denominator)
        else:
            numerator = multiply(numerator, denominator)
    rest = multiply(first.numerator, product(missing))
    return Quotient(add(rest, numerator), first.denominators + tuple(missing))


def product_of(first: Quotient, second: Quotient) -> Quotient:
    """The product of two quotients."""
    return Quotient(
        multiply(first.numerator, second.numerator), first.denominators + second.denominators
    )


def opinion(problem: PolynomialProblem, *, timeout: int = 3000) -> tuple[str, dict[str, Any]]:
    """Whether z3 finds a point that meets all constraints and not the goal, in milliseconds.

    Returns "unsat", "sat", "unknown" or "absent", and for "sat" the letters' values, as rationals.
    """
    try:
        import z3
    except ImportError:
        return "absent", {}
    context = z3.Context()  # the one that z3 has by itself bears no second thread
    solver = z3.Solver(ctx=context)
    solver.set("timeout", int(seconds_left(timeout / 1000) * 1000) + 1)
    solver.set("ctrl_c", False)  # z3 would take Ctrl-C for a question without an answer
    variables = [z3.Real(f"x{place}", context) for place in range(len(problem.atoms))]

    def read(constraint: Constraint) -> Any:
        """The relation with negative powers cleared; only positive atoms have them."""
        clearing = inverse(lowest_powers(constraint.polynomial))
        total = z3.RealVal(0, context)
        for term, value in shift(constraint.polynomial, clearing).items():
            powers = [variables[atom] for atom, exponent in term for _ in range(exponent)]
            total += math.prod(powers, start=z3.Q(value.numerator, value.denominator, context))
        kind = constraint.kind
        return total >= 0 if kind == ">=" else total > 0 if kind == ">" else total == 0

    for variable, atom in zip(variables, problem.atoms, strict=True):
        if atom.sign != "real":
            solver.add(variable > 0 if atom.sign == "positive" else variable >= 0)
    for constraint in problem.constraints:
        solver.add(read(constraint))
    solver.add(z3.Not(read(problem.goal)))
    answer = str(solver.check())
    values: dict[str, Any] = {}
    for variable, atom in zip(variables, problem.atoms, strict=True) if answer == "sat" else ():
        letter, order = atom.meaning.as_base_exp()
        if not letter.is_Symbol:
            continue
        number = solver.model().eval(variable, model_completion=True)
        exact = (number if hasattr(number, "as_fraction") else number.approx(20)).as_fraction()
        values[letter.name] = flint.fmpq(exact.numerator, exact.denominator) ** int(order.q)
    return answer, values
