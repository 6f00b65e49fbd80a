r"""Sums of squares: certificates :math:`0 = s + \sum_k g_k \sum_l c_l q_{kl}^2`, exact.

The multipliers g are products of constraints and of letters that are never negative; s is positive:
a product of strict constraints, times letters. The coefficients of all pieces form Gram matrices
that an exact linear system ties to p. Its solutions are parametrised over the rationals; Newton's
method in floating point looks for one with all matrices positive definite, which is rounded and
factored exactly.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from swingby.proofs.prover.scalar import laurent
from swingby.proofs.prover.scalar.columns import CertificateColumn, cancellable, make_column
from swingby.proofs.prover.scalar.laurent import Monomial, Polynomial
from swingby.proofs.prover.scalar.polynomial_problem import (
    PolynomialProblem,
    is_nonnegative,
    is_positive,
)
from swingby.proofs.prover.scalar.positivity_certificate import (
    PositivityCertificate,
    solutions,
    verify,
)
from swingby.theory.search_time import seconds_left

#: Unknowns, degree, Gram entries that are still looked at, and those that are solved for.
_MOST_UNKNOWNS, _MOST_DEGREE, _MOST_ENTRIES, _MOST_SOLVED = 7, 8, 4000, 450
#: Sums that a strict constraint is multiplied by; constraints that are multiplied by each other.
_MOST_MULTIPLIED, _MOST_FACTORS = 12, 5


#: The weight of a monomial.
Weight = Callable[[Monomial], tuple[int, ...]]


@dataclass(frozen=True)
class GramBlock:
    """A multiplier, of a constraint or of letters, and the monomials of its Gram matrix.

    `free`: an equation: instead of a Gram matrix each monomial has any coefficient.
    """

    factors: tuple[int, ...]
    monomial: Monomial
    multiplier: Polynomial
    basis: tuple[Monomial, ...]
    free: bool = False

    @property
    def entries(self) -> list[tuple[int, int]]:
        """Places in the Gram matrix, or of the free coefficients."""
        indices = range(len(self.basis))
        if self.free:
            return [(index, index) for index in indices]
        return list(itertools.combinations_with_replacement(indices, 2))

    def product(self, row: int, col: int) -> Polynomial:
        """The polynomial that a coefficient stands before."""
        if self.free:
            return laurent.shift(self.multiplier, self.basis[row])
        polynomial = laurent.shift(self.multiplier, laurent.times(self.basis[row], self.basis[col]))
        return laurent.scaled(polynomial, 1 + (row != col))


def sum_of_squares(problem: PolynomialProblem) -> PositivityCertificate | None:
    """A verified certificate with squares, or None, which says nothing about the problem.

    `problem`: a contradiction between its constraints. A product of strict constraints, times a sum
    of monomials, is the opposite of a sum of squares times products of constraints. What scaling of
    the unknowns leaves every constraint as it is leaves every piece as it is, too.
    """
    polynomials = [constraint.polynomial for constraint in problem.constraints]
    unknowns = sorted(set[int]().union(*map(laurent.atoms_in, polynomials)))
    if not 1 <= len(unknowns) <= _MOST_UNKNOWNS:
        return None
    weight = _grading(polynomials, unknowns)
    products = list(_products(problem))
    for factors, multiplier in _strict_pieces(problem, unknowns, weight):
        columns = [make_column(problem, factors, monomial) for monomial in multiplier]
        pieces = [(Fraction(1), column) for column in columns if column is not None]
        total: Polynomial = {}
        for _, column in pieces:
            total = laurent.add(total, column.polynomial)
        clearing = laurent.inverse(laurent.lowest_powers(total))
        target = laurent.shift(laurent.scaled(total, -1), clearing)
        degree = max(_degree(target), *map(_degree, polynomials))
        if len(pieces) < len(columns) or degree > _MOST_DEGREE:
            continue
        weights = {weight(term) for term in target}
        if len(weights) == 1:
            blocks = _blocks(problem, products, unknowns, degree + degree % 2, weight, *weights)
            certificate = _certificate_from(problem, target, clearing, blocks, pieces)
            if certificate is not None:
                return certificate
    return None


def _grading(polynomials: list[Polynomial], unknowns: list[int]) -> Weight:
    """The weights of monomials under the scalings that leave the polynomials as they are."""
    moves = [
        [dict(laurent.times(term, laurent.inverse(first))).get(atom, 0) for atom in unknowns]
        for polynomial in polynomials
        for first, *others in [list(polynomial)]
        for term in others
    ]
    null, nullity = flint.fmpz_mat(moves or [[0] * len(unknowns)]).nullspace()
    rows = [[int(null[row, at]) for row in range(len(unknowns))] for at in range(nullity)]

    def weight(monomial: Monomial) -> tuple[int, ...]:
        powers = dict(monomial)
        return tuple(
            sum(factor * powers.get(atom, 0) for factor, atom in zip(row, unknowns, strict=True))
            for row in rows
        )

    return weight


def _products(
    problem: PolynomialProblem,
) -> Iterator[tuple[tuple[int, ...], Monomial, Polynomial, bool]]:
    """Products of up to two constraints, with what clears their denominators."""
    places = range(len(problem.constraints))
    pairs = itertools.combinations(places, 2) if len(places) <= _MOST_FACTORS else ()
    for factors in ((), *((place,) for place in places), *pairs):
        chosen = [problem.constraints[place] for place in factors]
        polynomial = laurent.product(constraint.polynomial for constraint in chosen)
        clearing = laurent.inverse(laurent.lowest_powers(polynomial))
        free = any(constraint.kind == "==" for constraint in chosen)
        yield factors, clearing, laurent.shift(polynomial, clearing), free


def _strict_pieces(
    problem: PolynomialProblem, unknowns: list[int], weight: Weight
) -> Iterator[tuple[tuple[int, ...], list[Monomial]]]:
    """Products of strict constraints, and monomials whose sum they are multiplied by."""
    strict = [place for place, c in enumerate(problem.constraints) if c.kind == ">"][::-1]
    unity: list[Monomial] = [()]
    yield from (((place,), unity) for place in strict)
    yield (), unity
    yield from ((pair, unity) for pair in itertools.combinations_with_replacement(strict[:3], 2))
    multipliers: dict[Any, list[Monomial]] = {}
    for degree in (1, 2):
        for term in _monomials(unknowns, degree):
            if is_nonnegative(term, problem.atoms):
                multipliers.setdefault((degree, weight(term)), []).append(term)
    for terms in list(multipliers.values())[:_MOST_MULTIPLIED]:
        if terms != [()] and any(is_positive(term, problem.atoms) for term in terms):
            yield from (((place,), terms) for place in strict[:1])


def _blocks(
    problem: PolynomialProblem,
    products: Any,
    unknowns: list[int],
    degree: int,
    weight: Weight,
    wanted: tuple[int, ...],
) -> list[GramBlock]:
    """Blocks of products of constraints and of up to two letters, of one weight."""
    letters = [atom for atom in unknowns if problem.atoms[atom].sign != "real"]
    blocks: list[GramBlock] = []
    for factors, clearing, polynomial, free in products:
        for size in range(1 if free else 3):
            for chosen in itertools.combinations(letters, size):
                monomial = tuple((atom, 1) for atom in chosen)
                multiplier = laurent.shift(polynomial, monomial)
                room = degree - _degree(multiplier)
                if room < 0:
                    continue
                rest = [a - b for a, b in zip(wanted, weight(next(iter(multiplier))), strict=True)]
                times = 1 if free else 2
                basis = tuple(
                    term
                    for term in _monomials(unknowns, room // times)
                    if [times * part for part in weight(term)] == rest
                )
                if basis:
                    around = laurent.times(monomial, clearing)
                    blocks.append(GramBlock(factors, around, multiplier, basis, free))
    return blocks


def _certificate_from(
    problem: PolynomialProblem,
    target: Polynomial,
    clearing: Monomial,
    blocks: list[GramBlock],
    extras: list[tuple[Fraction, CertificateColumn]],
) -> PositivityCertificate | None:
    """The target, cleared, as a sum over some blocks, and other pieces besides."""
    seconds_left()
    pieces = list(extras)
    solved = _solve(target, blocks)
    if solved is None:
        return None
    for weight, block, square in solved:
        monomial = laurent.times(block.monomial, laurent.inverse(clearing))
        if block.free:
            ((term, _),) = square.items()
            piece = make_column(problem, block.factors, laurent.times(monomial, term))
        else:
            piece = make_column(problem, block.factors, monomial, square=square)
        if piece is None:
            return None
        pieces.append((weight, piece))
    certificate = PositivityCertificate(problem, tuple(pieces))
    return certificate if verify(certificate) else None


def _degree(polynomial: Polynomial) -> int:
    return max((sum(exponent for _, exponent in term) for term in polynomial), default=0)


def _monomials(unknowns: list[int], most: int) -> tuple[Monomial, ...]:
    return tuple(
        tuple((atom, chosen.count(atom)) for atom in sorted(set(chosen)))
        for degree in range(most + 1)
        for chosen in itertools.combinations_with_replacement(unknowns, degree)
    )


def _solve(
    goal: Polynomial, blocks: list[GramBlock]
) -> list[tuple[Fraction, GramBlock, Polynomial]] | None:
    if sum(len(block.entries) for block in blocks) > _MOST_ENTRIES:
        return None
    blocks = _pruned(goal, blocks)
    if sum(len(block.entries) for block in blocks) > _MOST_SOLVED:
        return None
    products = [block.product(*at) for block in blocks for at in block.entries]
    system = solutions(goal, products)
    if system is None:
        return None
    try:
        values = _interior(blocks, *system)
    except (np.linalg.LinAlgError, OverflowError):  # numbers beyond floating point
        return None
    return None if values is None else _rounded(blocks, *system, values)


def _pruned(goal: Polynomial, blocks: list[GramBlock]) -> list[GramBlock]:
    """Blocks without the squares of a term that nothing could cancel."""
    while True:
        columns = []
        for number, block in enumerate(blocks):
            for at in block.entries:
                terms = block.product(*at)
                up = {term for term, value in terms.items() if value.numerator > 0}
                is_free = block.free or at[0] != at[1]
                signs = (terms, terms) if is_free else (up, terms.keys() - up)
                columns.append(((number, *at), *signs))
        alive = set(cancellable(columns, goal))
        smaller = [
            replace(
                block,
                basis=tuple(q for at, q in enumerate(block.basis) if (number, at, at) in alive),
            )
            for number, block in enumerate(blocks)
        ]
        if smaller == blocks:
            return [block for block in blocks if block.basis]
        blocks = smaller


def _matrices(blocks: list[GramBlock], values: Any, zero: Any) -> Iterator[Any]:
    """The Gram matrices that a list of coefficients stands for, as lists of rows."""
    at = 0
    for block in blocks:
        size = len(block.basis)
        rows = [[zero] * size for _ in range(size)]
        for row, col in block.entries:
            rows[row][col] = rows[col][row] = values[at]
            at += 1
        if not block.free:
            yield rows


def _interior(blocks: list[GramBlock], start: Any, directions: Any) -> Any:
    """Parameters that make the least eigenvalue large, or None if it stays negative.

    Newton's method on the barrier -t/mu - log det(Q - t), with a small weight on the parameters.
    """
    first = [np.array(rows, dtype=float) for rows in _matrices(blocks, start, 0)]
    moves = [list(_matrices(blocks, direction, 0)) for direction in directions]
    count = len(directions)
    y, ridge = np.zeros(count + 1), 1e-7
    if not first:
        return y[:count]
    slopes = []
    for number, matrix in enumerate(first):
        stack = np.array([move[number] for move in moves], dtype=float)
        slopes.append(
            np.concatenate([stack.reshape(-1, *matrix.shape), -np.eye(len(matrix))[None]])
        )

    def slack(y: Any) -> list[Any]:
        return [
            matrix + np.tensordot(y, slope, 1) for matrix, slope in zip(first, slopes, strict=True)
        ]

    def value(y: Any, mu: float) -> float:
        if y[-1] >= 1:
            return np.inf
        total = -y[-1] / mu - np.log(1 - y[-1]) + ridge * y @ y
        for matrix in slack(y):
            try:
                total -= 2 * np.log(np.diag(np.linalg.cholesky(matrix))).sum()
            except np.linalg.LinAlgError:
                return np.inf
        return float(total)

    y[-1] = min(0.0, *(np.linalg.eigvalsh(matrix)[0] - 1 for matrix in first))
    mu = 1.0
    while mu > 1e-10:
        seconds_left()
        for _ in range(30):
            gradient, hessian = 2 * ridge * y, 2 * ridge * np.eye(count + 1)
            gradient[-1] += 1 / (1 - y[-1]) - 1 / mu
            hessian[-1, -1] += 1 / (1 - y[-1]) ** 2
            for matrix, slope in zip(slack(y), slopes, strict=True):
                weighed = np.linalg.solve(matrix, slope)
                gradient -= np.trace(weighed, axis1=1, axis2=2)
                hessian += np.tensordot(weighed, weighed, ([1, 2], [2, 1]))
            try:
                step = np.linalg.solve(hessian, -gradient)
            except np.linalg.LinAlgError:  # no interior: the numbers are as good as they get
                return y[:count] if y[-1] > -1e-3 else None
            here, length = value(y, mu), 1.0
            while length > 1e-9 and not value(y + length * step, mu) < here:
                length /= 2
            if length <= 1e-9:
                break
            y = y + length * step
            if -gradient @ step < 1e-9:
                break
        if y[-1] > 1e-3:
            break
        mu /= 5
    return y[:count] if y[-1] > -1e-3 else None


def _rounded(
    blocks: list[GramBlock], start: Any, directions: Any, values: Any
) -> list[tuple[Fraction, GramBlock, Polynomial]] | None:
    """The squares of an exact solution near some parameters."""
    for denominator in (1, 2, 12, 120, 10**4, 10**7):
        exact = list(start)
        for value, direction in zip(values, directions, strict=True):
            rounded = Fraction(round(float(value) * denominator), denominator)
            if rounded:
                exact = [a + rounded * b for a, b in zip(exact, direction, strict=True)]
        pieces = _pieces(blocks, exact)
        if pieces is not None:
            return pieces
    return None


def _pieces(
    blocks: list[GramBlock], exact: list[Fraction]
) -> list[tuple[Fraction, GramBlock, Polynomial]] | None:
    matrices = _matrices(blocks, exact, Fraction(0))
    pieces: list[tuple[Fraction, GramBlock, Polynomial]] = []
    at = 0
    for block in blocks:
        if block.free:
            for weight, term in zip(exact[at:], block.basis, strict=False):
                pieces += [(weight, block, {term: Fraction(1)})] if weight else []
        else:
            squares = _factor_gram(next(matrices), block.basis)
            if squares is None:
                return None
            pieces += [(weight, block, square) for weight, square in squares]
        at += len(block.entries)
    return pieces


def _factor_gram(
    rows: list[list[Fraction]], basis: tuple[Monomial, ...]
) -> list[tuple[Fraction, Polynomial]] | None:
    """A Gram matrix as weighed squares, or None if it is not positive semidefinite."""
    size, squares = len(rows), []
    for pivot in range(size):
        weight = rows[pivot][pivot]
        if weight < 0 or (weight == 0 and any(rows[pivot][pivot:])):
            return None
        if weight == 0:
            continue
        row = [value / weight for value in rows[pivot]]
        square = {basis[index]: row[index] for index in range(pivot, size) if row[index]}
        squares.append((weight, square))
        for below in range(pivot + 1, size):
            factor = rows[below][pivot]
            rows[below] = [value - factor * by for value, by in zip(rows[below], row, strict=True)]
    return squares
