"""Polynomial problems: constraints on atoms with signs, and a goal that is to follow from them.

An exponent may be negative where its atom is positive.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from swingby.proofs.prover.scalar.laurent import Monomial, Polynomial, scaled

#: Label of the goal 0 > 0, in the place of one whose negation is among the constraints.
CONTRADICTION = "contradiction"
#: Label of the negation of a goal among the constraints.
NEGATION = "negation of the conclusion"


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
    """``polynomial >= 0``, ``> 0`` or ``= 0``.

    `tangent`: a y such that it says that exp(y) >= 1 + y. `reasons`: certificates of
    signs that it rests on, of denominators that were cleared and of exponents.
    """

    polynomial: Polynomial
    kind: str
    label: str = ""
    tangent: str = ""
    reasons: tuple[Any, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class PolynomialProblem:
    """The question if constraints on atoms imply ``goal >= 0`` (or ``> 0``, or ``= 0``)."""

    atoms: tuple[Atom, ...]
    constraints: tuple[Constraint, ...]
    goal: Constraint


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


def polynomial_text(polynomial: Polynomial, atoms: tuple[Atom, ...]) -> str:
    """A polynomial as a line of plain mathematics."""
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
    """A power of a letter, which may itself be the root of another."""
    base, power = name, Fraction(exponent)
    root = re.fullmatch(r"(.+)\^\(1/(\d+)\)", name)
    if root is not None and name.startswith("("):  # of a sum, which stays a root
        base = f"({name})"
    elif root is not None:
        base, power = root[1], Fraction(exponent, int(root[2]))
    if power == 1:
        return base
    return f"{base}^{power}" if power.denominator == 1 else f"{base}^({power})"


def with_negated_goal(problem: PolynomialProblem) -> PolynomialProblem:
    """The same problem as a contradiction: the goal's negation among the constraints."""
    goal = problem.goal
    negated = scaled(goal.polynomial, -1)
    kind = ">" if goal.kind == ">=" else ">="
    added = (Constraint(negated, kind, NEGATION),) if negated else ()
    return PolynomialProblem(
        problem.atoms, problem.constraints + added, Constraint({}, ">", CONTRADICTION)
    )
