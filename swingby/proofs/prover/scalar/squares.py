r"""Sums of squares: certificates :math:`p = \sum_k g_k \sum_l c_l q_{kl}^2`, exact.

The multipliers g are 1, constraints, and products of letters that are never negative; p is the
goal, or the goal times :math:`1 + \sum x_k^2`. The coefficients of all pieces form Gram matrices
that an exact linear system ties to p. Its solutions are parametrised over the rationals; Newton's
method in floating point looks for one with all matrices positive definite, which is rounded and
factored exactly.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from swingby.proofs.prover.scalar import laurent
from swingby.proofs.prover.scalar.columns import Column, column, useful
from swingby.proofs.prover.scalar.laurent import Monomial, Polynomial, PolynomialProblem
from swingby.proofs.prover.scalar.positivity_certificate import (
    Certificate,
    solutions,
    verify,
    with_negated_goal,
)
from swingby.theory.search_time import seconds_left

#: Unknowns, degree and Gram entries that are still looked at.
MOST_UNKNOWNS, MOST_DEGREE, MOST_ENTRIES = 7, 8, 450
#: Unknowns of a goal that is multiplied.
MOST_MULTIPLIED = 3


@dataclass(frozen=True)
class Block:
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
        places = range(len(self.basis))
        if self.free:
            return [(place, place) for place in places]
        return list(itertools.combinations_with_replacement(places, 2))

    def product(self, one: int, two: int) -> Polynomial:
        """What a coefficient stands before."""
        if self.free:
            return laurent.shift(self.multiplier, self.basis[one])
        found = laurent.shift(self.multiplier, laurent.times(self.basis[one], self.basis[two]))
        return laurent.scaled(found, 1 + (one != two))


def sum_of_squares(problem: PolynomialProblem) -> Certificate | None:
    """A verified certificate with squares, or None, which says nothing about the problem.

    A goal that is multiplied contradicts its negation: by 1 + sum x_k^2, or without the squares
    where all unknowns are never negative.
    """
    goal = problem.goal.polynomial
    clearing = laurent.inverse(laurent.lowest_powers(goal))
    cleared = laurent.shift(goal, clearing)
    unknowns = sorted(laurent.letters_of(cleared))
    if not 1 <= len(unknowns) <= MOST_UNKNOWNS or _degree(cleared) > MOST_DEGREE:
        return None
    for most in (0, 2):
        blocks = _blocks(problem, unknowns, _degree(cleared), most, constraints=most > 0)
        found = _certified(problem, cleared, clearing, blocks, [])
        if found is not None:
            return found
    signs = {problem.atoms[atom].sign for atom in unknowns}
    power = 2 if "real" in signs else 1
    if not 2 <= len(unknowns) <= MOST_MULTIPLIED or _degree(cleared) + power > MOST_DEGREE:
        return None
    factor: list[Monomial] = [((atom, power),) for atom in unknowns]
    if signs != {"positive"} or len({sum(n for _, n in term) for term in cleared}) > 1:
        factor.insert(0, ())
    target = laurent.multiply(cleared, dict.fromkeys(factor, Fraction(1)))
    turned = with_negated_goal(problem)
    negated = [column(turned, (len(problem.constraints),), monomial) for monomial in factor]
    blocks = _blocks(problem, unknowns, _degree(target), len(unknowns))
    return _certified(turned, target, clearing, blocks, negated)


def _blocks(
    problem: PolynomialProblem,
    unknowns: list[int],
    degree: int,
    most: int,
    *,
    constraints: bool = False,
) -> list[Block]:
    """Blocks of products of up to so many letters, and of constraints on the unknowns alone."""
    letters = [atom for atom in unknowns if problem.atoms[atom].sign != "real"]
    blocks = []
    for size in range(most + 1):
        for chosen in itertools.combinations(letters, size):
            monomial = tuple((atom, 1) for atom in chosen)
            basis = _monomials(unknowns, (degree - size + 1) // 2)
            blocks.append(Block((), monomial, {monomial: Fraction(1)}, basis))
    for place, found in enumerate(problem.constraints if constraints else ()):
        power = laurent.inverse(laurent.lowest_powers(found.polynomial))
        multiplier = laurent.shift(found.polynomial, power)
        room, free = degree - _degree(multiplier) + 1, found.kind == "=="
        basis = _monomials(unknowns, room if free else room // 2)
        if basis and laurent.letters_of(multiplier) <= set(unknowns):
            blocks.append(Block((place,), power, multiplier, basis, free))
    # Of a strict goal, a piece that is certainly positive.
    strict = [replace(one, basis=((),)) for one in blocks if problem.goal.kind == ">"]
    return blocks + [one for one in strict if not one.free]


def _certified(
    problem: PolynomialProblem,
    target: Polynomial,
    clearing: Monomial,
    blocks: list[Block],
    others: list[Column | None],
) -> Certificate | None:
    """The goal, cleared, as a sum over some blocks, and other columns once each."""
    seconds_left()
    made = [(Fraction(1), other) for other in others if other is not None]
    solved = _solve(target, blocks)
    if solved is None or len(made) < len(others):
        return None
    for weight, block, square in solved:
        monomial = laurent.times(block.monomial, laurent.inverse(clearing))
        if block.free:
            ((term, _),) = square.items()
            piece = column(problem, block.factors, laurent.times(monomial, term))
        else:
            piece = column(problem, block.factors, monomial, square=square)
        if piece is None:
            return None
        made.append((weight, piece))
    certificate = Certificate(problem, tuple(made))
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
    goal: Polynomial, blocks: list[Block]
) -> list[tuple[Fraction, Block, Polynomial]] | None:
    if sum(len(block.entries) for block in blocks) > MOST_ENTRIES:
        return None
    blocks = _pruned(goal, blocks)
    products = [block.product(*at) for block in blocks for at in block.entries]
    system = solutions(goal, products)
    if system is None:
        return None
    try:
        values = _interior(blocks, *system)
    except (np.linalg.LinAlgError, OverflowError):  # numbers beyond floating point
        return None
    return None if values is None else _rounded(blocks, *system, values)


def _pruned(goal: Polynomial, blocks: list[Block]) -> list[Block]:
    """Blocks without the squares of a term that nothing could cancel."""
    while True:
        columns = [
            Column((number, *at), (), block.product(*at), False, block.free or at[0] != at[1])
            for number, block in enumerate(blocks)
            for at in block.entries
        ]
        alive = {column.factors for column in useful(columns, goal)}
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


def _matrices(blocks: list[Block], values: Any, zero: Any) -> Iterator[Any]:
    """The Gram matrices that a list of coefficients stands for, as lists of rows."""
    at = 0
    for block in blocks:
        size = len(block.basis)
        rows = [[zero] * size for _ in range(size)]
        for one, two in block.entries:
            rows[one][two] = rows[two][one] = values[at]
            at += 1
        if not block.free:
            yield rows


def _interior(blocks: list[Block], start: Any, directions: Any) -> Any:
    """Parameters that make the least eigenvalue large, or None where it stays negative.

    Newton's method on the barrier -t/mu - log det(Q - t), with a small weight on the parameters.
    """
    first = [np.array(rows, dtype=float) for rows in _matrices(blocks, start, 0)]
    moves = [list(_matrices(blocks, direction, 0)) for direction in directions]
    count = len(directions)
    y, ridge = np.zeros(count + 1), 1e-7
    if not first:
        return y[:count]
    slopes = []
    for number, one in enumerate(first):
        own = np.array([move[number] for move in moves], dtype=float)
        slopes.append(np.concatenate([own.reshape(-1, *one.shape), -np.eye(len(one))[None]]))

    def slack(y: Any) -> list[Any]:
        return [one + np.tensordot(y, part, 1) for one, part in zip(first, slopes, strict=True)]

    def value(y: Any, mu: float) -> float:
        if y[-1] >= 1:
            return np.inf
        total = -y[-1] / mu - np.log(1 - y[-1]) + ridge * y @ y
        for one in slack(y):
            try:
                total -= 2 * np.log(np.diag(np.linalg.cholesky(one))).sum()
            except np.linalg.LinAlgError:
                return np.inf
        return float(total)

    y[-1] = min(0.0, *(np.linalg.eigvalsh(one)[0] - 1 for one in first))
    mu = 1.0
    while mu > 1e-10:
        seconds_left()
        for _ in range(30):
            gradient, hessian = 2 * ridge * y, 2 * ridge * np.eye(count + 1)
            gradient[-1] += 1 / (1 - y[-1]) - 1 / mu
            hessian[-1, -1] += 1 / (1 - y[-1]) ** 2
            for one, part in zip(slack(y), slopes, strict=True):
                weighed = np.linalg.solve(one, part)
                gradient -= np.trace(weighed, axis1=1, axis2=2)
                hessian += np.tensordot(weighed, weighed, ([1, 2], [2, 1]))
            step = np.linalg.solve(hessian, -gradient)
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
    return None if y[-1] < -1e-5 else y[:count]


def _rounded(
    blocks: list[Block], start: Any, directions: Any, values: Any
) -> list[tuple[Fraction, Block, Polynomial]] | None:
    """The squares of an exact solution near some parameters."""
    for denominator in (1, 2, 12, 120, 10**4, 10**7):
        exact = list(start)
        for value, direction in zip(values, directions, strict=True):
            near = Fraction(round(float(value) * denominator), denominator)
            if near:
                exact = [a + near * b for a, b in zip(exact, direction, strict=True)]
        pieces = _pieces(blocks, exact)
        if pieces is not None:
            return pieces
    return None


def _pieces(
    blocks: list[Block], exact: list[Fraction]
) -> list[tuple[Fraction, Block, Polynomial]] | None:
    matrices = _matrices(blocks, exact, Fraction(0))
    pieces: list[tuple[Fraction, Block, Polynomial]] = []
    at = 0
    for block in blocks:
        if block.free:
            for weight, term in zip(exact[at:], block.basis, strict=False):
                pieces += [(weight, block, {term: Fraction(1)})] if weight else []
        else:
            squares = _factored(next(matrices), block.basis)
            if squares is None:
                return None
            pieces += [(weight, block, square) for weight, square in squares]
        at += len(block.entries)
    return pieces


def _factored(
    rows: list[list[Fraction]], basis: tuple[Monomial, ...]
) -> list[tuple[Fraction, Polynomial]] | None:
    """A Gram matrix as weighed squares, or None if it is not positive semidefinite."""
    size, found = len(rows), []
    for pivot in range(size):
        weight = rows[pivot][pivot]
        if weight < 0 or (weight == 0 and any(rows[pivot][pivot:])):
            return None
        if weight == 0:
            continue
        row = [value / weight for value in rows[pivot]]
        square = {basis[place]: row[place] for place in range(pivot, size) if row[place]}
        found.append((weight, square))
        for one in range(pivot + 1, size):
            factor = rows[one][pivot]
            rows[one] = [value - factor * by for value, by in zip(rows[one], row, strict=True)]
    return found
