r"""Sums of squares: certificates :math:`p = \sum_k g_k \sum_l c_l q_{kl}^2`, exact.

The multipliers g are 1, constraints, letters that are never negative, and products of two of them.
The coefficients of all pieces form Gram matrices that an exact linear system ties to p. Its
solutions are parametrised over the rationals; Newton's method in floating point looks for one with
all matrices positive definite, which is rounded and factored exactly. Where p has zeros there is
none: the kernel that the matrices then have in common is rounded, and their basis shrinks to what
vanishes with p.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from swingby.theory.budget import left
from swingby.verify.prover.scalar.certificate import Certificate, verify, with_negated_goal
from swingby.verify.prover.scalar.columns import Column, column
from swingby.verify.prover.scalar.laurent import (
    ONE,
    Monomial,
    Polynomial,
    PolynomialProblem,
    add,
    inverse,
    multiply,
    shift,
    times,
)

#: Unknowns, degree and Gram entries that are still looked at.
MOST_UNKNOWNS, MOST_DEGREE, MOST_ENTRIES = 7, 8, 450
#: Multipliers besides 1.
MOST_MULTIPLIERS = 24
#: Reductions to a face of the cone.
MOST_FACES = 5
#: Unknowns of a goal that is multiplied.
MOST_MULTIPLIED = 3


@dataclass(frozen=True)
class Block:
    """A multiplier and the polynomials whose products stand in its Gram matrix.

    `factors`: places of constraints.
    `monomial`: never negative; with the powers that clear the constraints.
    `multiplier`: the product of both.
    `free`: an equation: instead of a Gram matrix each product has any coefficient.
    """

    factors: tuple[int, ...]
    monomial: Monomial
    multiplier: Polynomial
    basis: tuple[Polynomial, ...]
    free: bool = False

    @property
    def entries(self) -> list[tuple[int, int]]:
        """Places in the Gram matrix, or of the free coefficients."""
        size = len(self.basis)
        if self.free:
            return [(place, place) for place in range(size)]
        return list(itertools.combinations_with_replacement(range(size), 2))

    def product(self, one: int, two: int) -> Polynomial:
        """What a coefficient stands before."""
        if self.free:
            return multiply(self.multiplier, self.basis[one])
        found = multiply(self.multiplier, multiply(self.basis[one], self.basis[two]))
        return found if one == two else add(found, found)


def sum_of_squares(problem: PolynomialProblem, unknown: int = MOST_UNKNOWNS) -> Certificate | None:
    """A verified certificate with squares, or None, which says nothing about the problem."""
    goal = problem.goal.polynomial or {(): Fraction(-1)}
    clearing = _clearing(goal)
    cleared = shift(goal, clearing)
    unknowns = {atom for term in cleared for atom, _ in term}
    near = [
        place
        for place, found in enumerate(problem.constraints)
        if not unknowns or unknowns >= {atom for term in found.polynomial for atom, _ in term}
    ]
    if not unknowns:
        unknowns = {
            atom for place in near for t in problem.constraints[place].polynomial for atom, _ in t
        }
    degree = _degree(cleared)
    if not problem.goal.polynomial:
        degree = max((_degree(problem.constraints[at].polynomial) for at in near), default=0)
    if len(unknowns) > unknown or degree > MOST_DEGREE or not unknowns:
        return None
    even = degree + degree % 2
    attempts = [(even, False)] if problem.goal.kind == ">=" else []
    for most, wide in [*attempts, (even, True), (even + 2, True)]:
        left()
        blocks = _blocks(problem, sorted(unknowns), near, most, wide)
        if sum(len(block.entries) for block in blocks) > MOST_ENTRIES:
            continue
        pieces = _solve(cleared, blocks)
        made = _made(problem, pieces, clearing)
        if made is not None and not problem.goal.polynomial:
            constant = column(problem, (), ())
            made += [(Fraction(1), constant)] if constant is not None else []
        if made is not None and verify(certificate := Certificate(problem, tuple(made))):
            return certificate
    return None


def multiplied_squares(problem: PolynomialProblem) -> Certificate | None:
    """A contradiction: the goal times 1 + sum x_k^2, or times sum x_k, is a sum of squares.

    x_k are the unknowns of the goal; those that are positive stand without their squares.
    """
    goal = problem.goal.polynomial
    clearing = _clearing(goal)
    cleared = shift(goal, clearing)
    unknowns = sorted({atom for term in cleared for atom, _ in term})
    signs = {problem.atoms[atom].sign for atom in unknowns}
    power = 2 if "real" in signs else 1
    if not 2 <= len(unknowns) <= MOST_MULTIPLIED or _degree(cleared) + power > MOST_DEGREE:
        return None
    letters: list[Monomial] = [((atom, power),) for atom in unknowns]
    homogeneous = len({sum(n for _, n in term) for term in cleared}) == 1
    factor = letters if homogeneous and signs == {"positive"} else [(), *letters]
    target = multiply(cleared, dict.fromkeys(factor, Fraction(1)))
    degree = _degree(target)
    sizes = range(len(unknowns) + 1 if power == 1 else 1)
    blocks = []
    for chosen in itertools.chain.from_iterable(itertools.combinations(unknowns, n) for n in sizes):
        basis = tuple({t: Fraction(1)} for t in _monomials(unknowns, (degree - len(chosen)) // 2))
        monomial = tuple((atom, 1) for atom in chosen)
        if len(chosen) <= degree:
            blocks.append(Block((), monomial, {monomial: Fraction(1)}, basis))
    turned = with_negated_goal(problem)
    made = _made(turned, _solve(target, blocks), clearing)
    negated = [column(turned, (len(problem.constraints),), monomial) for monomial in factor]
    if made is None or None in negated:
        return None
    whole = (*made, *((Fraction(1), piece) for piece in negated if piece is not None))
    certificate = Certificate(turned, whole)
    return certificate if verify(certificate) else None


def _made(
    problem: PolynomialProblem,
    pieces: list[tuple[Fraction, Block, Polynomial]] | None,
    clearing: Monomial,
) -> list[tuple[Fraction, Column]] | None:
    """The pieces of a cleared goal as columns of the goal itself."""
    found = []
    for weight, block, square in pieces or ():
        piece = _piece(problem, block, times(block.monomial, inverse(clearing)), square)
        if piece is None:
            return None
        found.append((weight, piece))
    return None if pieces is None else found


def _piece(
    problem: PolynomialProblem, block: Block, monomial: Monomial, square: Polynomial
) -> Column | None:
    if not block.free:
        return column(problem, block.factors, monomial, square=square)
    ((term, _),) = square.items()
    return column(problem, block.factors, times(monomial, term))


def _clearing(polynomial: Polynomial) -> Monomial:
    """The monomial that takes away all negative powers."""
    lowest: dict[int, int] = {}
    for term in polynomial:
        for atom, exponent in term:
            lowest[atom] = min(lowest.get(atom, 0), exponent)
    return tuple(sorted((atom, -exponent) for atom, exponent in lowest.items() if exponent))


def _degree(polynomial: Polynomial) -> int:
    return max((sum(exponent for _, exponent in term) for term in polynomial), default=0)


def _monomials(unknowns: list[int], most: int) -> list[Monomial]:
    found = []
    for degree in range(most + 1):
        for chosen in itertools.combinations_with_replacement(unknowns, degree):
            found.append(tuple((atom, chosen.count(atom)) for atom in sorted(set(chosen))))
    return found


def _blocks(
    problem: PolynomialProblem, unknowns: list[int], near: list[int], most: int, wide: bool
) -> list[Block]:
    single: list[tuple[tuple[int, ...], Monomial, Polynomial]] = []
    blocks = []
    if wide:
        for atom in unknowns:
            if problem.atoms[atom].sign != "real":
                single.append(((), ((atom, 1),), {((atom, 1),): Fraction(1)}))
        for place in near:
            found = problem.constraints[place]
            power = _clearing(found.polynomial)
            entry = ((place,), power, shift(found.polynomial, power))
            if found.kind != "==":
                single.append(entry)
                continue
            room = most - _degree(entry[2])
            basis = tuple({term: Fraction(1)} for term in _monomials(unknowns, max(room, -1)))
            blocks.append(Block(*entry, basis, free=True))
    pairs = [
        ((*one[0], *two[0]), times(one[1], two[1]), multiply(one[2], two[2]))
        for one, two in itertools.combinations(single, 2)
    ]
    chosen = [((), (), dict(ONE)), *single, *pairs][: MOST_MULTIPLIERS + 1]
    for factors, monomial, multiplier in chosen:
        room = most - _degree(multiplier)
        if room < 0:
            continue
        basis = tuple({term: Fraction(1)} for term in _monomials(unknowns, room // 2))
        blocks.append(Block(factors, monomial, multiplier, basis))
        if problem.goal.kind == ">" and _is_strict(problem, factors, monomial) and len(basis) > 1:
            blocks.append(Block(factors, monomial, multiplier, (dict(ONE),)))
    return blocks


def _is_strict(problem: PolynomialProblem, factors: tuple[int, ...], monomial: Monomial) -> bool:
    made = column(problem, factors, monomial)
    return made is not None and made.strict


def _solve(
    goal: Polynomial, blocks: list[Block]
) -> list[tuple[Fraction, Block, Polynomial]] | None:
    for _ in range(MOST_FACES):
        blocks = _pruned(goal, blocks)
        if sum(len(block.entries) for block in blocks) > MOST_ENTRIES:
            return None
        system = _parametrised(goal, blocks)
        if system is None:
            return None
        try:
            values, shortfall = _interior(blocks, *system)
        except (np.linalg.LinAlgError, OverflowError):  # numbers beyond floating point
            return None
        if shortfall:
            return None
        exact = _rounded(blocks, *system, values)
        if exact is not None:
            return exact
        smaller = _faces(blocks, values, *system)
        if smaller is None:
            return None
        blocks = smaller
    return None


def _pruned(goal: Polynomial, blocks: list[Block]) -> list[Block]:
    """Blocks without the squares of a term that nothing could cancel."""
    while True:
        uses: dict[Monomial, list[tuple[int, int, Fraction] | None]] = {}
        for number, block in enumerate(blocks):
            for one, two in block.entries:
                for term, value in block.product(one, two).items():
                    mark = (number, one, value) if one == two and not block.free else None
                    uses.setdefault(term, []).append(mark)
        dead: set[tuple[int, int]] = set()
        for term, marks in uses.items():
            if term in goal or None in marks:
                continue
            known = [mark for mark in marks if mark is not None]
            if len({mark[2] > 0 for mark in known}) == 1:
                dead |= {mark[:2] for mark in known}
        if not dead:
            return [block for block in blocks if block.basis]
        blocks = [
            Block(
                block.factors,
                block.monomial,
                block.multiplier,
                tuple(q for at, q in enumerate(block.basis) if (number, at) not in dead),
                block.free,
            )
            for number, block in enumerate(blocks)
        ]


def _parametrised(goal: Polynomial, blocks: list[Block]) -> tuple[Any, Any] | None:
    """All exact solutions of the linear system: one of them, and the directions between them."""
    products = [block.product(*at) for block in blocks for at in block.entries]
    rows: dict[Monomial, int] = {}
    for term in [*goal, *(term for product in products for term in product)]:
        rows.setdefault(term, len(rows))
    width = len(products)
    matrix = flint.fmpq_mat(len(rows), width + 1)
    for place, product in enumerate(products):
        for term, value in product.items():
            matrix[rows[term], place] = flint.fmpq(value.numerator, value.denominator)
    for term, value in goal.items():
        matrix[rows[term], width] = flint.fmpq(value.numerator, value.denominator)
    reduced, rank = matrix.rref()
    pivots = []
    for row in range(rank):
        pivot = next(place for place in range(width + 1) if reduced[row, place] != 0)
        if pivot == width:
            return None
        pivots.append(pivot)
    loose = [place for place in range(width) if place not in set(pivots)]
    start = [Fraction(0)] * width
    directions = [[Fraction(0)] * width for _ in loose]
    for row, pivot in enumerate(pivots):
        start[pivot] = _fraction(reduced[row, width])
        for number, place in enumerate(loose):
            directions[number][pivot] = -_fraction(reduced[row, place])
    for number, place in enumerate(loose):
        directions[number][place] = Fraction(1)
    return start, directions


def _fraction(value: Any) -> Fraction:
    return Fraction(int(value.p), int(value.q))


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


def _interior(blocks: list[Block], start: Any, directions: Any) -> tuple[Any, bool]:
    """Parameters that make the least eigenvalue large, and whether it stays negative.

    Newton's method on the barrier -t/mu - log det(Q - t), with a small weight on the parameters.
    """
    first = [np.array(rows, dtype=float) for rows in _matrices(blocks, start, 0)]
    moves = [list(_matrices(blocks, direction, 0)) for direction in directions]
    sizes = range(len(first))
    slopes = [np.array([move[number] for move in moves], dtype=float) for number in sizes]
    slopes = [
        np.concatenate([part.reshape(-1, *one.shape), -np.eye(len(one))[None]])
        for part, one in zip(slopes, first, strict=True)
    ]
    count = len(directions)
    y = np.zeros(count + 1)
    if not first:
        return y[:count], False

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

    ridge = 1e-7
    y[-1] = min(np.linalg.eigvalsh(one)[0] for one in first) - 1
    mu = 1.0
    while mu > 1e-10:
        left()
        for _ in range(30):
            gradient, hessian = 2 * ridge * y, 2 * ridge * np.eye(count + 1)
            gradient[-1] += 1 / (1 - y[-1]) - 1 / mu
            hessian[-1, -1] += 1 / (1 - y[-1]) ** 2
            for one, part in zip(slack(y), slopes, strict=True):
                weighed = np.linalg.solve(one, part)
                gradient -= np.trace(weighed, axis1=1, axis2=2)
                flat = weighed.reshape(count + 1, -1)
                turned = weighed.transpose(0, 2, 1).reshape(count + 1, -1)
                hessian += flat @ turned.T
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
    return y[:count], bool(y[-1] < -1e-5)


def _rounded(
    blocks: list[Block], start: Any, directions: Any, values: Any
) -> list[tuple[Fraction, Block, Polynomial]] | None:
    """The squares of an exact solution near some parameters."""
    for denominator in (1, 2, 12, 120, 10**4, 10**7):
        near = [Fraction(round(float(value) * denominator), denominator) for value in values]
        exact = list(start)
        for factor, direction in zip(near, directions, strict=True):
            if factor:
                exact = [a + factor * b for a, b in zip(exact, direction, strict=True)]
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
        found: list[tuple[Fraction, Polynomial]] | None
        if block.free:
            found = [(exact[at + k], q) for k, q in enumerate(block.basis) if exact[at + k]]
        else:
            found = _factored(next(matrices), block.basis)
        if found is None:
            return None
        at += len(block.entries)
        pieces += [(weight, block, square) for weight, square in found]
    return pieces


def _factored(
    rows: list[list[Fraction]], basis: tuple[Polynomial, ...]
) -> list[tuple[Fraction, Polynomial]] | None:
    """A Gram matrix as weighed squares, or None if it is not positive semidefinite."""
    rows = [list(row) for row in rows]
    size, found = len(rows), []
    for pivot in range(size):
        weight = rows[pivot][pivot]
        if weight < 0 or (weight == 0 and any(rows[pivot][pivot:])):
            return None
        if weight == 0:
            continue
        square: Polynomial = {}
        for place in range(pivot, size):
            square = add(square, basis[place], rows[pivot][place] / weight)
        found.append((weight, square))
        for one in range(pivot + 1, size):
            factor = rows[one][pivot] / weight
            if factor:
                for two in range(pivot, size):
                    rows[one][two] -= factor * rows[pivot][two]
    return found


def _faces(blocks: list[Block], values: Any, start: Any, directions: Any) -> list[Block] | None:
    """Blocks whose basis is orthogonal to the kernel of their matrix, rounded; None without one."""
    numbers = np.array(start, dtype=float)
    if len(directions):
        numbers = numbers + np.array(values) @ np.array(directions, dtype=float)
    matrices = _matrices(blocks, list(numbers), 0.0)
    smaller, changed = [], False
    for block in blocks:
        if block.free:
            smaller.append(block)
            continue
        sizes, vectors = np.linalg.eigh(np.array(next(matrices)))
        kernel = vectors[:, sizes < 1e-3 * max(1.0, sizes[-1])].T
        rounded = _rational_rows(kernel)
        if rounded is None:
            return None
        if not rounded:
            smaller.append(block)
            continue
        changed = True
        basis = []
        pivots = {next(at for at, v in enumerate(row) if v) for row in rounded}
        for place in range(len(block.basis)):
            if place in pivots:
                continue
            found = block.basis[place]
            for row in rounded:
                pivot = next(at for at, v in enumerate(row) if v)
                found = add(found, block.basis[pivot], -row[place])
            basis.append(found)
        smaller.append(
            Block(block.factors, block.monomial, block.multiplier, tuple(basis), block.free)
        )
    return smaller if changed else None


def _rational_rows(kernel: Any) -> list[list[Fraction]] | None:
    """The reduced echelon form of some rows, rounded to small fractions."""
    rows = kernel.copy()
    height, width = rows.shape
    done = 0
    for place in range(width):
        if done == height:
            break
        best = done + int(np.argmax(np.abs(rows[done:, place])))
        if abs(rows[best, place]) < 1e-2:
            continue
        rows[[done, best]] = rows[[best, done]]
        rows[done] /= rows[done, place]
        for other in range(height):
            if other != done:
                rows[other] -= rows[other, place] * rows[done]
        done += 1
    if done < height:
        return None
    found = []
    for row in rows:
        near = [Fraction(float(v)).limit_denominator(60) for v in row]
        if any(abs(float(v) - w) > 2e-2 for v, w in zip(near, row, strict=True)):
            return None
        found.append(near)
    return found
