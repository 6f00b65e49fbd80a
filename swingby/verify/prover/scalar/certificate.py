r"""Positivity certificates: found by linear programming, verified exactly.

A certificate of :math:`p \ge 0` is an identity
:math:`p = \sum_k c_k\, m_k\, g_{k1} g_{k2} \cdots` with rational :math:`c_k \ge 0`, monomials
:math:`m_k` that are never negative, and constraints :math:`g \ge 0`. Of :math:`p > 0` it is one
with a piece that is positive. The linear program works in floating point and only proposes which
pieces take part; their coefficients are computed over the rationals and the identity is then
checked by expansion, twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint

from swingby.theory.budget import left
from swingby.verify.prover.scalar.columns import (
    EFFORTS,
    Column,
    binomial_columns,
    chain_columns,
    column,
    columns_of,
    useful,
)
from swingby.verify.prover.scalar.laurent import (
    ONE,
    Constraint,
    Monomial,
    Polynomial,
    PolynomialProblem,
    add,
    in_roots,
    text_of,
)

#: Seconds for one linear program.
MOST_SECONDS = 8.0

#: Chains are tried before the search of this effort.
CHAINS_BEFORE = 1


#: Label of the goal 0 > 0, in the place of one whose negation is among the constraints.
CONTRADICTION = "contradiction"


@dataclass(frozen=True)
class Certificate:
    """An identity that proves a polynomial problem."""

    problem: PolynomialProblem
    pieces: tuple[tuple[Fraction, Column], ...]

    def __str__(self) -> str:
        atoms = self.problem.atoms
        parts = []
        for coefficient, piece in self.pieces:
            factors = [
                f"({text_of(self.problem.constraints[place].polynomial, atoms)})"
                for place in piece.factors
            ]
            if piece.square != ONE:
                factors.append(f"({text_of(piece.square, atoms)})^2")
            if piece.monomial or not factors:
                factors.insert(0, text_of({piece.monomial: Fraction(1)}, atoms))
            factors = [factor for factor in factors if factor != "1"] or ["1"]
            if coefficient != 1:
                factors.insert(0, f"({coefficient})" if coefficient < 0 else str(coefficient))
            parts.append(" * ".join(factors))
        sign = self.problem.goal.kind.replace("==", "=")
        return (
            f"{text_of(self.problem.goal.polynomial, atoms)} = {' + '.join(parts) or '0'} {sign} 0"
        )

    def steps(self) -> dict[str, Any]:
        """What a checker needs: the facts that take part, and the pieces."""
        atoms, constraints = self.problem.atoms, self.problem.constraints
        places = list(dict.fromkeys(place for _, piece in self.pieces for place in piece.factors))
        kinds = {">=": "<=", ">": "<", "==": "="}
        # A letter that stands for a difference is a fact, and no letter of the line.
        powers = {atom: n for _, piece in self.pieces for atom, n in piece.monomial if n > 0}
        named = [place for place in powers if atoms[place].name.startswith("(")]
        facts = [
            [text_of(constraints[place].polynomial, atoms), kinds[constraints[place].kind]]
            for place in places
        ]
        facts += [
            [atoms[place].name, "<" if atoms[place].sign == "positive" else "<="] for place in named
        ]

        def outside(monomial: Monomial) -> tuple[Monomial, list[int]]:
            powers = {atom: n for atom, n in monomial if atom in named and n > 0}
            rest = tuple(pair for pair in monomial if pair[0] not in powers)
            return rest, [
                len(places) + named.index(atom) for atom, n in powers.items() for _ in range(n)
            ]

        return {
            "turned": self.problem.goal.label == CONTRADICTION,
            "facts": facts,
            "pieces": [
                [
                    str(coefficient),
                    text_of({monomial: Fraction(1)}, atoms),
                    [*map(places.index, piece.factors), *more],
                    text_of(piece.square, atoms),
                ]
                for coefficient, piece in self.pieces
                for monomial, more in [outside(piece.monomial)]
            ],
        }

    @property
    def used(self) -> tuple[str, ...]:
        """Labels of the constraints that take part, without repetition."""
        labels = (
            self.problem.constraints[place].label
            for _, piece in self.pieces
            for place in piece.factors
        )
        return tuple(dict.fromkeys(labels))


def find(problem: PolynomialProblem, *, effort: int = 2, least: int = 0) -> Certificate | None:
    """A verified certificate for a polynomial problem.

    `problem`: its goal is ``>=`` or ``>``. A goal ``0 > 0`` asks for a contradiction between the
    constraints.
    `effort`: how far the search goes: 0 to 3.
    `least`: where it starts.
    Returns None if none was found, which says nothing about the problem.
    """
    for level in range(least, min(effort, len(EFFORTS) - 1) + 1):
        if level == CHAINS_BEFORE and problem.goal.polynomial:
            found = _combine(problem, _with_chains(problem))
            if found is not None:
                return found
        found = _combine(problem, columns_of(problem, level))
        if found is not None:
            return found
    return None


def means(problem: PolynomialProblem) -> Certificate | None:
    """A verified certificate of squares of binomials, also in the roots of the letters, or None."""
    for form in (problem, in_roots(problem)):
        found = _combine(form, binomial_columns(form))
        if found is not None:
            return found
    return None


def _with_chains(problem: PolynomialProblem) -> list[Column]:
    made = chain_columns(problem) + columns_of(problem, 0)
    terms = {term for piece in made for term in piece.polynomial}
    made += [piece for term in terms if (piece := column(problem, (), term)) is not None]
    distinct = {(piece.factors, piece.monomial): piece for piece in made}
    return useful(list(distinct.values()), set(problem.goal.polynomial))


def _combine(problem: PolynomialProblem, columns: list[Column]) -> Certificate | None:
    strict = problem.goal.kind == ">"
    if not strict and not problem.goal.polynomial:
        return Certificate(problem, ())
    for share in (None, Fraction(1), Fraction(1, 1000)) if strict else (None,):
        if share is None and not problem.goal.polynomial:
            continue
        try:
            proposed = _propose(problem.goal.polynomial, columns, share)
        except OverflowError:  # numbers beyond floating point
            return None
        if proposed is None:
            if share is None:
                return None
            continue
        for threshold in (1e-9, 1e-7, 1e-5):
            support = [
                made
                for made, value in zip(columns, proposed, strict=True)
                if abs(value) > threshold
            ]
            pieces = _solve(problem.goal.polynomial, support, share)
            if pieces is None:
                continue
            certificate = Certificate(problem, pieces)
            if verify(certificate):
                return certificate
    return None


def _propose(goal: Polynomial, columns: list[Column], share: Fraction | None) -> list[float] | None:
    """Coefficients of a vertex solution, in floating point."""
    import numpy as np
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix, hstack

    rows: dict[Monomial, int] = {}
    for term in [*goal, *(term for made in columns for term in made.polynomial)]:
        rows.setdefault(term, len(rows))
    scales = [max(abs(float(value)) for value in made.polynomial.values()) for made in columns]
    entries = [
        (rows[term], number, float(factor) / scales[number])
        for number, made in enumerate(columns)
        for term, factor in made.polynomial.items()
    ]
    height = len(rows)
    right = np.zeros(height + (share is not None))
    for term, wanted in goal.items():
        right[rows[term]] = float(wanted)
    if share is not None:
        size = float(max((abs(value) for value in goal.values()), default=1))
        right[height] = float(share) * size
        entries += [
            (height, place, 1.0 / scales[place])
            for place, made in enumerate(columns)
            if made.strict
        ]
    if not entries:
        return None
    row, place, value = (np.array(part) for part in zip(*entries, strict=True))
    matrix = coo_matrix((value, (row, place)), shape=(len(right), len(columns))).tocsr()
    weights = [1.0 + 3 * len(made.factors) + 0.1 * len(made.monomial) for made in columns]
    # A free coefficient is the difference of two, so that its size has a price too.
    free = [number for number, made in enumerate(columns) if made.free]
    whole = hstack([matrix, -matrix[:, free]]).tocsc() if free else matrix
    costs = [*weights, *(weights[number] for number in free)]
    # The interior point method sees infeasibility at once where the simplex method cycles;
    # its crossover ends in a vertex too.
    solve: Any = linprog
    for objective in (costs, [0.0] * len(costs)):
        limit = {"time_limit": left(MOST_SECONDS)}
        result = solve(
            objective, A_eq=whole, b_eq=right, bounds=(0, None), method="highs-ipm", options=limit
        )
        if result.status == 0:
            break
        if result.status == 2:
            return None
    if result.x is None or result.status != 0:
        return None
    values = [float(x) for x in result.x]
    for extra, number in enumerate(free):
        values[number] -= values[len(columns) + extra]
    values = values[: len(columns)]
    return [x / scale for x, scale in zip(values, scales, strict=True)]


def _solve(
    goal: Polynomial, support: list[Column], share: Fraction | None
) -> tuple[tuple[Fraction, Column], ...] | None:
    """The exact coefficients of the pieces, or None if they do not add up."""
    rows: dict[Monomial, int] = {}
    for term in [*goal, *(term for made in support for term in made.polynomial)]:
        rows.setdefault(term, len(rows))
    height, width = len(rows) + (share is not None), len(support)
    if not width or not height:
        return None
    matrix = flint.fmpq_mat(height, width + 1)
    for place, made in enumerate(support):
        for term, value in made.polynomial.items():
            matrix[rows[term], place] = flint.fmpq(value.numerator, value.denominator)
        if share is not None and made.strict:
            matrix[height - 1, place] = flint.fmpq(1)
    for term, value in goal.items():
        matrix[rows[term], width] = flint.fmpq(value.numerator, value.denominator)
    if share is not None:
        size = max((abs(value) for value in goal.values()), default=Fraction(1)) * share
        matrix[height - 1, width] = flint.fmpq(size.numerator, size.denominator)
    reduced, rank = matrix.rref()
    pieces = []
    for row in range(rank):
        pivot = next(place for place in range(width + 1) if reduced[row, place] != 0)
        if pivot == width:
            return None
        value = reduced[row, width]
        coefficient = Fraction(int(value.p), int(value.q))
        if coefficient:
            pieces.append((coefficient, support[pivot]))
    if any(coefficient < 0 and not piece.free for coefficient, piece in pieces):
        return None
    return tuple(pieces)


def verify(certificate: Certificate) -> bool:
    """Whether a certificate proves its goal: signs, pieces, and the identity by two expansions."""
    problem = certificate.problem
    rebuilt = []
    for coefficient, piece in certificate.pieces:
        again = column(problem, piece.factors, piece.monomial, square=piece.square)
        if again is None or (coefficient <= 0 and not again.free):
            return False
        rebuilt.append((coefficient, again))
    if problem.goal.kind == "==":
        return False
    if problem.goal.kind == ">" and not any(piece.strict for _, piece in rebuilt):
        return False
    remainder = dict(problem.goal.polynomial)
    for coefficient, piece in rebuilt:
        remainder = add(remainder, piece.polynomial, -coefficient)
    return not remainder and holds_in_flint(certificate.problem, certificate.pieces)


def with_negated_goal(problem: PolynomialProblem) -> PolynomialProblem:
    """The same problem as a contradiction: the goal's negation among the constraints."""
    goal = problem.goal
    negated = {term: -value for term, value in goal.polynomial.items()}
    kind = ">" if goal.kind == ">=" else ">="
    added = (Constraint(negated, kind, "negation of the conclusion"),) if negated else ()
    return PolynomialProblem(
        problem.atoms, problem.constraints + added, Constraint({}, ">", CONTRADICTION)
    )


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
