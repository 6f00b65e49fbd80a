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

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
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


def in_roots(problem: PolynomialProblem) -> PolynomialProblem:
    """The same problem, with the square roots of letters that are never negative as atoms."""
    rooted = {
        place
        for place, atom in enumerate(problem.atoms)
        if atom.sign != "real" and atom.meaning.is_Symbol
    }

    def twice(found: Constraint) -> Constraint:
        terms = {
            tuple((atom, n * (1 + (atom in rooted))) for atom, n in term): value
            for term, value in found.polynomial.items()
        }
        return Constraint(terms, found.kind, found.label)

    atoms = tuple(
        Atom(f"{atom.name}^(1/2)", atom.sign, sympy.sqrt(atom.meaning)) if place in rooted else atom
        for place, atom in enumerate(problem.atoms)
    )
    constraints = tuple(map(twice, problem.constraints))
    return PolynomialProblem(atoms, constraints, twice(problem.goal))


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
    for one, factor in first.items():
        for other, by in second.items():
            monomial = times(one, other)
            value = total.get(monomial, Fraction(0)) + factor * by
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


#: Degree of the product of all polynomials that is still looked at.
MOST_DEGREE = 60

X = sympy.Symbol("x")


def by_roots(problem: PolynomialProblem) -> tuple[bool, str, Any]:
    """Whether a problem whose goal has one unknown follows from the constraints on it.

    Returns whether it is proved, by what, and a value of the unknown at which the goal fails.
    """
    unknowns = {atom for term in problem.goal.polynomial for atom, _ in term}
    if not unknowns:
        unknowns = {atom for c in problem.constraints for term in c.polynomial for atom, _ in term}
    if len(unknowns) != 1:
        return False, "", None
    (unknown,) = unknowns
    near = [c for c in problem.constraints if _only(c, unknown)]
    relations = [(_polynomial(c, unknown), c.kind) for c in (*near, problem.goal)]
    sign = problem.atoms[unknown].sign
    if sign != "real":
        kind = ">" if sign == "positive" else ">="
        relations.insert(0, (sympy.Poly(X, X, domain="QQ"), kind))
    factors = {
        factor.monic()
        for polynomial, _ in relations
        if not polynomial.is_zero
        for factor, _ in polynomial.factor_list()[1]
    }
    product = sympy.Poly(1, X, domain="QQ")
    for factor in factors:
        product *= factor
    if product.degree() > MOST_DEGREE:
        return False, "", None
    count = 0
    for place, factor in _cells(product, factors):
        left()
        count += 1
        signs = [_sign(polynomial, place, factor) for polynomial, _ in relations]
        met = [_met(value, kind) for value, (_, kind) in zip(signs, relations, strict=True)]
        if all(met[:-1]) and not met[-1]:
            return False, "", place if factor is None else None
    name = problem.atoms[unknown].name
    return True, f"all roots in {name} isolated exactly: {count} points and gaps decide", None


def _only(constraint: Constraint, unknown: int) -> bool:
    return all(atom == unknown for term in constraint.polynomial for atom, _ in term)


def _polynomial(constraint: Constraint, unknown: int) -> Any:
    """The polynomial without negative powers, which only a positive unknown has."""
    powers = {dict(term).get(unknown, 0): value for term, value in constraint.polynomial.items()}
    lowest = min((0, *powers))
    found = {
        (power - lowest,): sympy.Rational(value.numerator, value.denominator)
        for power, value in powers.items()
    }
    return sympy.Poly.from_dict(found or {(0,): 0}, X, domain="QQ")


def _cells(product: Any, factors: set[Any]) -> Iterator[tuple[Any, Any]]:
    """A rational point of each gap, and each root: itself, or a point beside it with its factor."""
    roots = []
    for (low, high), _ in product.intervals() if product.degree() else ():
        while low != high and (product.eval(low) == 0 or product.eval(high) == 0):
            low, high = product.refine_root(low, high, steps=1)
        roots.append((low, high))
    edges = [high for _, high in roots]
    if not roots:
        yield sympy.Integer(0), None
        return
    yield roots[0][0] - 1, None
    for place, (low, high) in enumerate(roots):
        if low == high:
            yield low, None
        else:
            yield low, next(f for f in factors if f.eval(low) * f.eval(high) < 0)
        following = roots[place + 1][0] if place + 1 < len(roots) else high + 2
        yield (edges[place] + following) / 2, None


def _sign(polynomial: Any, place: Any, factor: Any) -> int:
    if factor is not None and polynomial.rem(factor).is_zero:
        return 0
    value = polynomial.eval(place)
    return int(bool(value > 0)) - int(bool(value < 0))


def _met(sign: int, kind: str) -> bool:
    return {">=": sign >= 0, ">": sign > 0, "==": sign == 0}[kind]


#: Milliseconds.
TIMEOUT = 3000


def opinion(
    problem: PolynomialProblem, only: Iterable[str] | None = None, *, timeout: int = TIMEOUT
) -> tuple[str, dict[str, Any]]:
    """Whether z3 finds a point that meets all constraints and not the goal.

    Returns ``"unsat"``, ``"sat"``, ``"unknown"`` or ``"absent"``, and for ``"sat"`` the letters'
    values as flint.fmpq, rounded where they are irrational.
    """
    try:
        import z3
    except ImportError:
        return "absent", {}
    context = z3.Context()  # the one that z3 has by itself bears no second thread
    solver = z3.Solver(ctx=context)
    solver.set("timeout", int(left(timeout / 1000) * 1000) + 1)
    variables = [z3.Real(f"x{place}", context) for place in range(len(problem.atoms))]
    for variable, atom in zip(variables, problem.atoms, strict=True):
        if atom.sign == "positive":
            solver.add(variable > 0)
        elif atom.sign == "nonnegative":
            solver.add(variable >= 0)
    kept = None if only is None else set(only)
    for constraint in problem.constraints:
        if kept is None or constraint.label in kept:
            value = _term(constraint.polynomial, variables, z3, context)
            solver.add(_relation(value, constraint.kind))
    goal = _relation(_term(problem.goal.polynomial, variables, z3, context), problem.goal.kind)
    solver.add(z3.Not(goal))
    answer = str(solver.check())
    return answer, _letters(problem, variables, solver.model()) if answer == "sat" else {}


def _relation(value: Any, kind: str) -> Any:
    return value >= 0 if kind == ">=" else value > 0 if kind == ">" else value == 0


def _term(polynomial: Polynomial, variables: list[Any], z3: Any, context: Any) -> Any:
    """The polynomial with negative powers cleared; only positive atoms have them."""
    lowest: dict[int, int] = {}
    for term in polynomial:
        for atom, exponent in term:
            lowest[atom] = min(lowest.get(atom, 0), exponent)
    total = z3.RealVal(0, context)
    for term, value in polynomial.items():
        exponents = {atom: -exponent for atom, exponent in lowest.items()}
        for atom, exponent in term:
            exponents[atom] = exponents.get(atom, 0) + exponent
        piece = z3.Q(value.numerator, value.denominator, context)
        for atom, exponent in exponents.items():
            for _ in range(exponent):
                piece = piece * variables[atom]
        total = total + piece
    return total


def _letters(problem: PolynomialProblem, variables: list[Any], model: Any) -> dict[str, Any]:
    values = {}
    for variable, atom in zip(variables, problem.atoms, strict=True):
        meaning = atom.meaning
        letter, order = (meaning, 1)
        if meaning.is_Pow and meaning.args[1].is_Rational:
            letter, order = meaning.args[0], int(meaning.args[1].q)
        if not isinstance(letter, sympy.Symbol):
            continue
        number = model.eval(variable, model_completion=True)
        if not hasattr(number, "as_fraction"):
            number = number.approx(20)
        exact = number.as_fraction()
        values[letter.name] = flint.fmpq(int(exact.numerator), int(exact.denominator)) ** order
    return values
