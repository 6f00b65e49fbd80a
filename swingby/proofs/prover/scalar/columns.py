"""Columns of the linear program behind a positivity certificate.

A column is a product of constraints times a monomial that is never negative. Columns are made
on demand: a constraint product is shifted so that one of its terms meets a target monomial.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from swingby.proofs.prover.scalar import laurent
from swingby.proofs.prover.scalar.laurent import ONE, Monomial, Polynomial
from swingby.proofs.prover.scalar.polynomial_problem import (
    PolynomialProblem,
    is_nonnegative,
    is_positive,
)
from swingby.theory.search_time import seconds_left

#: The linear programs stay below this many columns, of products with this many terms.
_MOST_COLUMNS, _MOST_TERMS = 6_000, 40
#: Monomials that are met by single constraints, and by binomials.
_MOST_TARGETS, _MOST_POINTS = 600, 150
#: A product of two constraints is used if this share of its terms is wanted already.
_SHARE = 0.75

#: Exponents are digits of this many bits in a monomial's code.
_BITS = 24


@dataclass(frozen=True)
class CertificateColumn:
    """A certainly nonnegative polynomial: a product of constraints times a monomial.

    `factors`: places of the constraints. `strict`: it is certainly positive. `free`: it is zero, so
    that it may have any coefficient. `square`: its square is a factor too.
    """

    factors: tuple[int, ...]
    monomial: Monomial
    polynomial: Polynomial
    strict: bool
    free: bool
    square: Polynomial = field(default_factory=lambda: dict(ONE))

    def signs(self) -> tuple[Collection[Monomial], Collection[Monomial]]:
        """The terms that it can raise, and those that it can lower."""
        if self.free:
            return self.polynomial, self.polynomial
        # A Fraction itself is slow to compare.
        up = {term for term, value in self.polynomial.items() if value.numerator > 0}
        return up, self.polynomial.keys() - up


def make_column(
    problem: PolynomialProblem,
    factors: tuple[int, ...],
    monomial: Monomial,
    square: Polynomial | None = None,
) -> CertificateColumn | None:
    """One column of its parts; None if the monomial may be negative or undefined."""
    base = ConstraintProduct(problem, factors)
    if not base.allows(monomial):
        return None
    if square is None or square == ONE:
        polynomial = laurent.shift(base.polynomial, monomial)
        return CertificateColumn(factors, monomial, polynomial, base.strictly(monomial), base.free)
    polynomial = laurent.multiply(base.polynomial, laurent.multiply(square, square))
    return CertificateColumn(
        factors, monomial, laurent.shift(polynomial, monomial), False, base.free, square
    )


class ConstraintProduct:
    """The product of the constraints at some places; `free`: it is zero, `strict`: positive.

    `codes`: of its terms. `rising`, `falling`: of those that it can raise, and can lower.
    """

    def __init__(self, problem: PolynomialProblem, factors: tuple[int, ...]) -> None:
        constraints = [problem.constraints[index] for index in factors]
        self.atoms = problem.atoms
        self.polynomial = laurent.product(constraint.polynomial for constraint in constraints)
        self.free = any(constraint.kind == "==" for constraint in constraints)
        self.strict = all(constraint.kind == ">" for constraint in constraints)
        self.codes = list(map(code_of, self.polynomial))
        signs = [value.numerator > 0 for value in self.polynomial.values()]
        pairs = list(zip(self.codes, signs, strict=True))
        self.rising = [code for code, rises in pairs if self.free or rises]
        self.falling = [code for code, rises in pairs if self.free or not rises]

    def allows(self, monomial: Monomial) -> bool:
        """Whether it stays what it is, times a monomial; that has to be defined at least."""
        if not self.free:
            return is_nonnegative(monomial, self.atoms)
        return all(n > 0 or self.atoms[atom].sign == "positive" for atom, n in monomial)

    def strictly(self, monomial: Monomial) -> bool:
        """Whether it is positive, times a monomial."""
        return self.strict and is_positive(monomial, self.atoms)


def code_of(monomial: Monomial) -> int:
    """A monomial as a whole number: a product of monomials is a sum of codes."""
    return sum(exponent << (_BITS * atom) for atom, exponent in monomial)


def _monomial_of(code: int) -> Monomial:
    """The monomial with a code."""
    half, atom, powers = 1 << (_BITS - 1), 0, []
    while code:
        digit = (code + half) % (2 * half) - half
        if digit:
            powers.append((atom, digit))
        code = (code - digit) >> _BITS
        atom += 1
    return tuple(powers)


class ColumnBuilder:
    """Names the columns of a problem by their factors and codes; few of them are made."""

    def __init__(self, problem: PolynomialProblem) -> None:
        self.problem = problem
        self.names: dict[tuple[tuple[int, ...], int], None] = {}
        self.product = functools.cache(functools.partial(ConstraintProduct, problem))
        self._monomial_of = functools.cache(_monomial_of)
        self._allowed: dict[tuple[bool, int], bool] = {}

    def add(self, factors: tuple[int, ...], code: int) -> bool:
        """Add the column of a product of constraints and a monomial; False if it is known."""
        name = factors, code
        if name in self.names:
            return False
        base = self.product(factors)
        allowed = self._allowed.get((base.free, code))
        if allowed is None:
            allowed = base.allows(self._monomial_of(code))
            self._allowed[base.free, code] = allowed
        if allowed:
            self.names[name] = None
        return allowed

    def meet(self, targets: Iterable[int], largest: int) -> None:
        """Add the columns of products of up to so many constraints that meet wanted monomials."""
        targets = sorted(targets)
        places = range(len(self.problem.constraints))
        for count in range(largest + 1):
            for factors in itertools.combinations_with_replacement(places, count):
                seconds_left()
                terms = self.product(factors).codes
                if len(terms) > _MOST_TERMS:
                    continue
                hits: Iterable[int]
                if count > 1:
                    met = Counter(target - term for target in targets for term in terms)
                    hits = [code for code, times in met.items() if times >= _SHARE * len(terms)]
                else:
                    hits = dict.fromkeys(target - term for target in targets for term in terms)
                for code in hits:
                    self.add(factors, code)
                    if len(self.names) >= _MOST_COLUMNS:
                        return

    def monomials(self) -> set[int]:
        """The codes of all monomials of all columns."""
        return {term + code for factors, code in self.names for term in self.product(factors).codes}

    def cancellable(self) -> list[tuple[tuple[int, ...], int]]:
        """The names of the columns without a term that nothing else could cancel."""
        signed = []
        for factors, code in self.names:
            base = self.product(factors)
            up, down = [term + code for term in base.rising], [term + code for term in base.falling]
            signed.append(((factors, code), up, down))
        return cancellable(signed, list(map(code_of, self.problem.goal.polynomial)))

    def columns(self) -> list[CertificateColumn]:
        """The columns without a term that nothing else could cancel."""
        made = []
        for factors, code in self.cancellable():
            base, monomial = self.product(factors), self._monomial_of(code)
            terms = (self._monomial_of(term + code) for term in base.codes)
            polynomial = dict(zip(terms, base.polynomial.values(), strict=True))
            strict = base.strictly(monomial)
            made.append(CertificateColumn(factors, monomial, polynomial, strict, base.free))
        return made


def products_around_goal(problem: PolynomialProblem, most: int) -> ColumnBuilder:
    """Products of up to so many constraints that may take part in a certificate."""
    builder = ColumnBuilder(problem)
    targets = set(map(code_of, problem.goal.polynomial))
    if not targets:
        shapes = (constraint.polynomial for constraint in problem.constraints)
        targets = {code_of(term) for shape in shapes for term in shape}
    for _ in range(3 if most > 1 else 2):
        builder.meet(targets, 1)
        reached = builder.monomials() | targets
        if len(reached) > _MOST_TARGETS or reached == targets:
            break
        targets = reached
    if most > 1:
        builder.meet(targets, most)
    builder.meet(builder.monomials(), 0)
    return builder


def cancellable(
    columns: Sequence[tuple[Any, Collection[Any], Collection[Any]]], goal: Collection[Any]
) -> list[Any]:
    """Names of the columns without a term that nothing else could cancel.

    Of each the terms that it can raise, and those that it can lower.
    """
    while True:
        rising = set(goal).union(*(up for _, up, _ in columns))
        both = rising.intersection(set(goal).union(*(down for _, _, down in columns)))
        survivors = [
            entry for entry in columns if both.issuperset(entry[1]) and both.issuperset(entry[2])
        ]
        if len(survivors) == len(columns):
            return [name for name, _, _ in survivors]
        columns = survivors


def binomial_columns(problem: PolynomialProblem) -> list[CertificateColumn]:
    """Squares (x^a - x^b)^2 and constraints, times monomials, around the goal, if these are few.

    Sums of such squares are what inequalities between means come from.
    """
    shapes = [
        problem.goal.polynomial,
        *(constraint.polynomial for constraint in problem.constraints),
    ]
    unknowns = sorted(set[int]().union(*map(laurent.atoms_in, shapes)))
    points = {
        tuple(dict(term).get(atom, 0) for atom in unknowns) for shape in shapes for term in shape
    }
    if not unknowns or not points:
        return []
    low, high = min(map(sum, points)), max(map(sum, points))
    tight = [(min(values), max(values)) for values in zip(*points, strict=True)]
    wide = [(min(0, bottom), max(top, high)) for bottom, top in tight]
    inside: list[tuple[int, ...]] = []
    for ends in (wide, tight):
        if not inside and math.prod(top - bottom + 1 for bottom, top in ends) <= 40 * _MOST_POINTS:
            box = itertools.product(*(range(bottom, top + 1) for bottom, top in ends))
            inside = [point for point in box if low <= sum(point) <= high]
            inside = inside if len(inside) <= _MOST_POINTS else []

    def monomial(point: Iterable[int]) -> Monomial:
        return tuple((atom, n) for atom, n in zip(unknowns, point, strict=True) if n)

    columns: list[CertificateColumn | None] = [
        make_column(problem, (), monomial(point)) for point in inside
    ]
    for first, second in itertools.combinations(inside, 2):
        if any((u - v) % 2 for u, v in zip(first, second, strict=True)):
            continue
        common = [min(pair) for pair in zip(first, second, strict=True)]
        halves = (
            monomial((n - m) // 2 for n, m in zip(end, common, strict=True))
            for end in (first, second)
        )
        square = dict(zip(halves, (Fraction(1), Fraction(-1)), strict=True))
        columns.append(make_column(problem, (), monomial(common), square=square))
    terms = {monomial(point) for point in inside}
    for index, constraint in enumerate(problem.constraints):
        seconds_left()
        letters = laurent.atoms_in(constraint.polynomial)
        alone = len(letters) == 1 and not problem.atoms[min(letters)].meaning.free_symbols
        if alone and constraint.kind != "==":
            continue  # both bounds of a number together are a contradiction, up to rounding
        shifts = {
            laurent.times(term, laurent.inverse(divisor))
            for term in terms
            for divisor in constraint.polynomial
        }
        for by in sorted(shifts):
            if terms.issuperset(laurent.shift(constraint.polynomial, by)):
                columns.append(make_column(problem, (index,), by))
    made = [entry for entry in columns if entry is not None]
    return cancellable([(entry, *entry.signs()) for entry in made], problem.goal.polynomial)
