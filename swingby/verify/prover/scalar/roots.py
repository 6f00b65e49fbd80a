"""Polynomial problems in one unknown: decided completely, by isolating all roots exactly.

Between two neighbouring roots of all the polynomials no sign changes, so that one rational point
of each gap and the roots themselves decide. Roots are isolated by sympy over the rationals; the
sign of another polynomial at an irrational root is its sign near it, unless they share the factor.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from swingby.verify.prover.scalar.clock import left
from swingby.verify.prover.scalar.laurent import Constraint, PolynomialProblem

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
