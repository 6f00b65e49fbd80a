"""The identity of a certificate, expanded a second time by other means."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import flint

from swingby.verify.prover.scalar.columns import Column
from swingby.verify.prover.scalar.laurent import Polynomial, PolynomialProblem


def holds_in_flint(problem: PolynomialProblem, pieces: Sequence[tuple[Fraction, Column]]) -> bool:
    """Whether a goal is the sum of some pieces, multiplied out by python-flint.

    Only the factors and the monomial of a piece are used, not the polynomial it carries.
    """
    names = tuple(f"x{place}" for place in range(len(problem.atoms))) or ("x0",)
    ring = flint.fmpq_mpoly_ctx.get(names, flint.Ordering.lex)

    def lower(polynomial: Polynomial, total: dict[int, int]) -> None:
        for term in polynomial:
            for atom, exponent in term:
                total[atom] = min(total.get(atom, 0), exponent)

    def convert(polynomial: Polynomial, floor: dict[int, int]) -> Any:
        terms = {}
        for term, value in polynomial.items():
            exponents = [-floor.get(place, 0) for place in range(len(names))]
            for atom, exponent in term:
                exponents[atom] += exponent
            terms[tuple(exponents)] = flint.fmpq(value.numerator, value.denominator)
        return ring.from_dict(terms)

    # Every factor is cleared by its own power; the rest is made up for by a monomial.
    floors: list[dict[int, int]] = []
    for _, piece in pieces:
        floor: dict[int, int] = {}
        for place in piece.factors:
            own: dict[int, int] = {}
            lower(problem.constraints[place].polynomial, own)
            for atom, exponent in own.items():
                floor[atom] = floor.get(atom, 0) + exponent
        own = {}
        lower(piece.square, own)
        for atom, exponent in own.items():
            floor[atom] = floor.get(atom, 0) + 2 * exponent
        for atom, exponent in piece.monomial:
            floor[atom] = floor.get(atom, 0) + exponent
        floors.append(floor)
    lowest: dict[int, int] = {}
    lower(problem.goal.polynomial, lowest)
    for floor in floors:
        for atom, exponent in floor.items():
            lowest[atom] = min(lowest.get(atom, 0), exponent)
    total = ring.from_dict({})
    for (coefficient, piece), floor in zip(pieces, floors, strict=True):
        # The factors, each without negative powers, times what is left above the common floor.
        rest = tuple((atom, floor.get(atom, 0) - lowest.get(atom, 0)) for atom in range(len(names)))
        value = convert({rest: coefficient}, {})
        for place in piece.factors:
            polynomial = problem.constraints[place].polynomial
            own = {}
            lower(polynomial, own)
            value *= convert(polynomial, own)
        own = {}
        lower(piece.square, own)
        total += value * convert(piece.square, own) ** 2
    return bool(total == convert(problem.goal.polynomial, lowest))
