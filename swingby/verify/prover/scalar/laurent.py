"""Laurent polynomials over the rationals, and problems made of them.

An exponent may be negative where the atom is positive. Nothing here rounds.

Polynomial problems in one unknown: decided completely, by isolating all roots exactly.

Between two neighbouring roots of all the polynomials no sign changes, so that one rational point
of each gap and the roots themselves decide. Roots are isolated by sympy over the rationals; the
sign of another polynomial at an irrational root is its sign near it, unless they share the factor.

A second opinion by z3 on polynomial problems, where the extra ``prove`` is installed.

An answer "unsat" alone is no proof here, and a model is only a candidate for a witness.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any

import flint
import sympy

from swingby.theory.budget import left

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


def in_roots(problem: PolynomialProblem) -> PolynomialProblem:
    """The same problem, with the square roots of letters that are never negative as atoms."""
    atoms = tuple(
        replace(atom, name=f"{atom.name}^(1/2)", meaning=sympy.sqrt(atom.meaning))
        if atom.sign != "real" and atom.meaning.is_Symbol
        else atom
        for atom in problem.atoms
    )
    orders = [1 + (new is not old) for new, old in zip(atoms, problem.atoms, strict=True)]

    def powers(found: Constraint) -> Constraint:
        terms = {
            tuple((atom, n * orders[atom]) for atom, n in term): value
            for term, value in found.polynomial.items()
        }
        return replace(found, polynomial=terms)

    return PolynomialProblem(atoms, tuple(map(powers, problem.constraints)), powers(problem.goal))


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


#: Degree of the product of all polynomials that is still looked at.
MOST_DEGREE = 60

X = sympy.Symbol("x")


def by_roots(problem: PolynomialProblem) -> str:
    """Why a problem whose goal has one unknown follows from the constraints on it; empty if not."""
    unknowns = letters_of(problem.goal.polynomial)
    if not unknowns:
        unknowns = set[int]().union(*(letters_of(c.polynomial) for c in problem.constraints))
    if len(unknowns) != 1:
        return ""
    atom = problem.atoms[min(unknowns)]
    near = [c for c in problem.constraints if unknowns >= letters_of(c.polynomial)]
    relations = [(_in_one_letter(c.polynomial), c.kind) for c in (*near, problem.goal)]
    if atom.sign != "real":
        kind = ">" if atom.sign == "positive" else ">="
        relations.insert(0, (sympy.Poly(X, X, domain="QQ"), kind))
    factors = {
        factor.monic()
        for polynomial, _ in relations
        if not polynomial.is_zero
        for factor, _ in polynomial.factor_list()[1]
    }
    whole = math.prod(factors, start=sympy.Poly(1, X, domain="QQ"))
    if whole.degree() > MOST_DEGREE:
        return ""
    count = 0
    for place, factor in _cells(whole, factors):
        left()
        count += 1
        met = [_met(_sign(polynomial, place, factor), kind) for polynomial, kind in relations]
        if all(met[:-1]) and not met[-1]:
            return ""
    return f"all roots in {atom.name} isolated exactly: {count} points and gaps decide"


def _in_one_letter(polynomial: Polynomial) -> Any:
    """The polynomial without negative powers, which only a positive unknown has."""
    cleared = shift(polynomial, inverse(lowest_powers(polynomial)))
    terms = {
        (sum(power for _, power in term),): sympy.Rational(value.numerator, value.denominator)
        for term, value in cleared.items()
    }
    return sympy.Poly.from_dict(terms or {(0,): 0}, X, domain="QQ")


def _cells(whole: Any, factors: set[Any]) -> Iterator[tuple[Any, Any]]:
    """A rational point of each gap, and each root: itself, or a point beside it with its factor."""
    roots = []
    for (low, high), _ in whole.intervals() if whole.degree() else ():
        while low != high and (whole.eval(low) == 0 or whole.eval(high) == 0):
            low, high = whole.refine_root(low, high, steps=1)
        roots.append((low, high))
    yield (roots[0][0] - 1 if roots else sympy.Integer(0)), None
    for place, (low, high) in enumerate(roots):
        own = (f for f in factors if low != high and f.eval(low) * f.eval(high) < 0)
        yield low, next(own, None)
        following = roots[place + 1][0] if place + 1 < len(roots) else high + 2
        yield (high + following) / 2, None


def _sign(polynomial: Any, place: Any, factor: Any) -> int:
    if factor is not None and polynomial.rem(factor).is_zero:
        return 0
    value = polynomial.eval(place)
    return int(bool(value > 0)) - int(bool(value < 0))


def _met(value: Any, kind: str) -> Any:
    return value >= 0 if kind == ">=" else value > 0 if kind == ">" else value == 0


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
    solver.set("timeout", int(left(timeout / 1000) * 1000) + 1)
    solver.set("ctrl_c", False)  # z3 would take Ctrl-C for a question without an answer
    variables = [z3.Real(f"x{place}", context) for place in range(len(problem.atoms))]

    def read(constraint: Constraint) -> Any:
        """The relation with negative powers cleared; only positive atoms have them."""
        clearing = inverse(lowest_powers(constraint.polynomial))
        total = z3.RealVal(0, context)
        for term, value in shift(constraint.polynomial, clearing).items():
            powers = [variables[atom] for atom, exponent in term for _ in range(exponent)]
            total += math.prod(powers, start=z3.Q(value.numerator, value.denominator, context))
        return _met(total, constraint.kind)

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
