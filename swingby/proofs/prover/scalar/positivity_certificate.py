r"""Positivity certificates: found by linear programming, verified exactly.

A certificate of :math:`p \ge 0` is an identity
:math:`p = \sum_k c_k\, m_k\, g_{k1} g_{k2} \cdots` with rational :math:`c_k \ge 0`, monomials
:math:`m_k` that are never negative, and constraints :math:`g \ge 0`. Of :math:`p > 0` it is one
with a piece that is positive. The linear program works in floating point and only proposes which
pieces take part; their coefficients are computed over the rationals. Whether the file of it is a
proof is for :mod:`swingby.proofs.checkers.check_proof` to say.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint

from swingby.proofs.prover.scalar import laurent
from swingby.proofs.prover.scalar.chains import chain_columns
from swingby.proofs.prover.scalar.columns import (
    CertificateColumn,
    binomial_columns,
    make_column,
    products_around_goal,
)
from swingby.proofs.prover.scalar.laurent import Monomial, Polynomial
from swingby.proofs.prover.scalar.polynomial_problem import (
    CONTRADICTION,
    PolynomialProblem,
    polynomial_text,
)
from swingby.theory.numbers import fraction
from swingby.theory.search_time import clock_seconds_left

#: Seconds for one linear program.
_MOST_SECONDS = 8.0
#: What HiGHS says where it gets no memory; the first also where numbers defeat it.
_FAILED = ("Solve error", "Not Set", "Memory limit")

#: How much of a strict piece is asked for, over the largest coefficient of the goal.
_SHARES = (Fraction(1), Fraction(1, 1000))

#: A term that only strict pieces have: their sum is asked for as one more equation.
_STRICT: Monomial = ((-1, 1),)


@dataclass(frozen=True)
class PositivityCertificate:
    """An identity that proves a polynomial problem."""

    problem: PolynomialProblem
    pieces: tuple[tuple[Fraction, CertificateColumn], ...]

    def __str__(self) -> str:
        steps = self.steps()
        summands = []
        for number, monomial, used, square in steps["pieces"]:
            facts = [f"({steps['facts'][index][0]})" for index in used]
            coefficient = f"({number})" if number.startswith("-") else number
            factors = [coefficient, monomial, *facts, f"({square})^2" if square != "1" else "1"]
            summands.append(" * ".join([factor for factor in factors if factor != "1"] or ["1"]))
        goal = self.problem.goal
        text = polynomial_text(goal.polynomial, self.problem.atoms)
        return f"{text} = {' + '.join(summands) or '0'} {goal.kind.replace('==', '=')} 0"

    def steps(self) -> dict[str, Any]:
        """The steps for a checker: the facts that take part, and the pieces."""
        atoms, constraints = self.problem.atoms, self.problem.constraints
        indices = list(dict.fromkeys(index for _, piece in self.pieces for index in piece.factors))
        kinds = {">=": "<=", ">": "<", "==": "="}
        # A letter that stands for what is not negative is a fact, and no letter of the line.
        powers = {atom: n for _, piece in self.pieces for atom, n in piece.monomial if n > 0}
        differences = [
            x for x in powers if atoms[x].name.startswith("(") and atoms[x].sign != "real"
        ]
        facts = [
            [polynomial_text(constraint.polynomial, atoms), kinds[constraint.kind]]
            for constraint in (constraints[index] for index in indices)
        ]
        facts += [
            [atoms[atom].name, "<" if atoms[atom].sign == "positive" else "<="]
            for atom in differences
        ]
        pieces = []
        for coefficient, piece in self.pieces:
            outside = [(atom, n) for atom, n in piece.monomial if atom in differences and n > 0]
            used = [indices.index(index) for index in piece.factors]
            used += [
                len(indices) + differences.index(atom) for atom, n in outside for _ in range(n)
            ]
            monomial = tuple(pair for pair in piece.monomial if pair not in outside)
            factor = polynomial_text({monomial: Fraction(1)}, atoms)
            pieces.append([str(coefficient), factor, used, polynomial_text(piece.square, atoms)])
        contradictory = self.problem.goal.label == CONTRADICTION
        tangents = dict.fromkeys(constraints[index].tangent for index in indices)
        return {
            "tangents": [tangent for tangent in tangents if tangent],
            "turned": contradictory,
            "facts": facts,
            "pieces": pieces,
        }

    @property
    def used(self) -> tuple[str, ...]:
        """Labels of the constraints that take part, without repetition."""
        indices = (index for _, piece in self.pieces for index in piece.factors)
        return tuple(dict.fromkeys(self.problem.constraints[index].label for index in indices))


def find_certificate(
    problem: PolynomialProblem, *, effort: int = 1, least: int = 0
) -> PositivityCertificate | None:
    """A verified certificate for a polynomial problem.

    `problem`: its goal is ``>=`` or ``>``. A goal ``0 > 0`` asks for a contradiction between the
    constraints.
    `effort`: 0 for single constraints times monomials, 1 also for chains and products of two, 2 for
    products of three.
    `least`: the effort to begin with.
    Returns None if none was found, which says nothing about the problem.
    """
    for level in range(least, effort + 1):
        if level == 1 and problem.goal.polynomial:
            certificate = _certificate_of_columns(problem, chain_columns(problem))
            if certificate is not None:
                return certificate
        certificate = _certificate_of_columns(
            problem, products_around_goal(problem, level + 1).columns()
        )
        if certificate is not None:
            return certificate
    return None


def evident_certificate(problem: PolynomialProblem) -> PositivityCertificate | None:
    """A certificate of a goal whose terms are not negative, by the signs of the letters alone."""
    goal = problem.goal
    columns = [make_column(problem, (), term) for term in goal.polynomial]
    weighed = zip(goal.polynomial.values(), columns, strict=True)
    pieces = [(value, column) for value, column in weighed if column is not None and value > 0]
    if len(pieces) < len(columns):
        return None
    certificate = PositivityCertificate(problem, tuple(pieces))
    return certificate if verify(certificate) else None


def certificate_of_means(problem: PolynomialProblem) -> PositivityCertificate | None:
    """A verified certificate of squares of binomials, or None."""
    return _certificate_of_columns(problem, binomial_columns(problem))


def _certificate_of_columns(
    problem: PolynomialProblem, columns: list[CertificateColumn]
) -> PositivityCertificate | None:
    """A certificate with some of these columns."""
    goal = problem.goal.polynomial
    strict = problem.goal.kind == ">"
    if not strict and not goal:
        return PositivityCertificate(problem, ())
    raised = set[Monomial]().union(*(piece.signs()[0] for piece in columns))
    lowered = set[Monomial]().union(*(piece.signs()[1] for piece in columns))
    if any(term not in (raised if value > 0 else lowered) for term, value in goal.items()):
        return None
    shares = [*([Fraction(0)] if goal else []), *(_SHARES if strict else ())]
    for share in shares:
        polynomials = [piece.polynomial for piece in columns]
        target = goal
        if share:
            target = goal | {_STRICT: share * max(map(abs, goal.values()), default=Fraction(1))}
            polynomials = [
                piece.polynomial | {_STRICT: Fraction(1)} if piece.strict else piece.polynomial
                for piece in columns
            ]
        try:
            proposed = _propose_coefficients(target, polynomials, columns)
        except OverflowError:  # numbers beyond floating point
            return None
        if proposed is None:
            if not share:
                return None
            continue
        support = [index for index, value in enumerate(proposed) if abs(value) > 1e-9]
        solution = solutions(target, [polynomials[index] for index in support])
        if solution is None:
            continue
        weighed = zip(solution[0], (columns[index] for index in support), strict=True)
        certificate = PositivityCertificate(problem, tuple(pair for pair in weighed if pair[0]))
        if verify(certificate):
            return certificate
    return None


def _propose_coefficients(
    goal: Polynomial, polynomials: list[Polynomial], columns: list[CertificateColumn]
) -> list[float] | None:
    """Coefficients of a vertex solution, in floating point."""
    import numpy as np
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix, hstack

    rows = _rows(goal, polynomials)
    scales = [max(abs(float(value)) for value in piece.polynomial.values()) for piece in columns]
    entries = [
        (rows[term], number, float(factor) / scales[number])
        for number, polynomial in enumerate(polynomials)
        for term, factor in polynomial.items()
    ]
    if not entries:
        return None
    right = np.zeros(len(rows))
    for term, coefficient in goal.items():
        right[rows[term]] = float(coefficient)
    row, column_index, value = (np.array(axis) for axis in zip(*entries, strict=True))
    matrix = coo_matrix((value, (row, column_index)), shape=(len(rows), len(columns))).tocsr()
    weights = [1.0 + 3 * len(piece.factors) + 0.1 * len(piece.monomial) for piece in columns]
    # A free coefficient is the difference of two, so that its size has a price too.
    free_columns = [number for number, piece in enumerate(columns) if piece.free]
    doubled = hstack([matrix, -matrix[:, free_columns]]).tocsc() if free_columns else matrix
    costs = [*weights, *(weights[number] for number in free_columns)]
    # The interior point method sees infeasibility at once where the simplex method cycles;
    # its crossover ends in a vertex too.
    solve: Any = linprog
    limit = {"time_limit": clock_seconds_left(_MOST_SECONDS)}
    start = time.perf_counter()
    for _ in range(2):
        solved = solve(
            costs, A_eq=doubled, b_eq=right, bounds=(0, None), method="highs-ipm", options=limit
        )
        if not any(words in solved.message for words in _FAILED):
            break
    else:
        if time.perf_counter() - start > limit["time_limit"] / 2:
            return None  # the time was over before there was an answer
        if _FAILED[0] not in solved.message:
            raise MemoryError(f"HiGHS has no answer: {solved.message}")
    if solved.x is None or solved.status != 0:
        return None
    values = [float(x) for x in solved.x]
    for extra, number in enumerate(free_columns):
        values[number] -= values[len(columns) + extra]
    return [x / scale for x, scale in zip(values, scales, strict=False)]


def _rows(goal: Mapping[Any, Fraction], polynomials: Sequence[Mapping[Any, Fraction]]) -> Any:
    terms = [*goal, *(term for polynomial in polynomials for term in polynomial)]
    return {term: row for row, term in enumerate(dict.fromkeys(terms))}


def solutions(
    goal: Mapping[Any, Fraction], polynomials: Sequence[Mapping[Any, Fraction]]
) -> tuple[list[Fraction], list[list[Fraction]]] | None:
    """Coefficients with which some polynomials add up to a goal, and all directions between them.

    None if there are no such coefficients.
    """
    rows, width = _rows(goal, polynomials), len(polynomials)
    if not rows or not width:
        return None
    matrix = flint.fmpq_mat(len(rows), width + 1)
    for index, polynomial in enumerate([*polynomials, goal]):
        for term, value in polynomial.items():
            matrix[rows[term], index] = flint.fmpq(value.numerator, value.denominator)
    matrix, rank = matrix.rref()
    pivots = [
        next(index for index in range(width + 1) if matrix[row, index] != 0) for row in range(rank)
    ]
    if width in pivots:
        return None
    loose = sorted(set(range(width)) - set(pivots))
    start = [Fraction(0)] * width
    directions = [
        [Fraction(int(index == free_index)) for index in range(width)] for free_index in loose
    ]
    for row, pivot in enumerate(pivots):
        start[pivot] = fraction(matrix[row, width])
        for direction, index in zip(directions, loose, strict=True):
            direction[pivot] = -fraction(matrix[row, index])
    return start, directions


def verify(certificate: PositivityCertificate) -> bool:
    """Whether a certificate proves its goal: signs, pieces, and the identity."""
    problem = certificate.problem
    rebuilt = []
    for coefficient, piece in certificate.pieces:
        again = make_column(problem, piece.factors, piece.monomial, square=piece.square)
        if again is None or (coefficient <= 0 and not again.free):
            return False
        rebuilt.append((coefficient, again))
    if problem.goal.kind == "==":
        return False
    if problem.goal.kind == ">" and not any(piece.strict for _, piece in rebuilt):
        return False
    remainder = dict(problem.goal.polynomial)
    for coefficient, piece in rebuilt:
        remainder = laurent.add(remainder, piece.polynomial, -coefficient)
    return not remainder
