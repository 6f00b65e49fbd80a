r"""Columns of the linear program behind a positivity certificate.

A column is a product of constraints times a monomial that is never negative. Columns are made
on demand: a constraint product is shifted so that one of its terms meets a wanted monomial.

Chains: one monomial above another by several hypotheses of two terms, one after the other.

Hypotheses such as P >= 2, w >= w(0) and w(0) >= omega multiply to P w >= 2 omega. Each says that
one monomial that is never negative is at least a multiple of another; which product of them
connects two given monomials is looked up among all short products. The steps of a chain are
columns with one constraint each.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from swingby.theory.budget import left
from swingby.verify.prover.scalar.laurent import (
    ONE,
    Monomial,
    Polynomial,
    PolynomialProblem,
    inverse,
    is_nonnegative,
    is_positive,
    multiply,
    product,
    shift,
    times,
)

#: The linear programs stay below this many columns.
MOST_COLUMNS = 6_000

#: Products of constraints with more terms than this are not used.
MOST_TERMS = 40

#: Exponents are digits of this many bits in a monomial's code.
_BITS = 12

#: For each effort: rounds with single constraints, then the largest product in a last round,
#: and the share of a product's terms that have to be wanted already.
EFFORTS = ((2, 1, 1.0), (3, 2, 0.75), (3, 2, 0.5), (3, 3, 0.6))


@dataclass(frozen=True)
class Column:
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


def column(
    problem: PolynomialProblem,
    factors: tuple[int, ...],
    monomial: Monomial,
    multiplied: Polynomial | None = None,
    square: Polynomial | None = None,
) -> Column | None:
    """One column, computed from its parts.

    Returns None if the monomial may be negative or undefined.
    """
    constraints = [problem.constraints[place] for place in factors]
    free = any(constraint.kind == "==" for constraint in constraints)
    defined = all(
        exponent > 0 or problem.atoms[atom].sign == "positive" for atom, exponent in monomial
    )
    if not (defined if free else is_nonnegative(monomial, problem.atoms)):
        return None
    strict = (
        not free
        and is_positive(monomial, problem.atoms)
        and all(constraint.kind == ">" for constraint in constraints)
    )
    base = multiplied or product(constraint.polynomial for constraint in constraints)
    if square is None or square == ONE:
        return Column(factors, monomial, shift(base, monomial), strict, free)
    whole = multiply(base, multiply(square, square))
    return Column(factors, monomial, shift(whole, monomial), False, free, square)


class Workshop:
    """Makes the columns of one problem without repeating any.

    Monomials are handled as whole numbers whose digits are exponents, so that a product of
    monomials is a sum.
    """

    def __init__(self, problem: PolynomialProblem) -> None:
        self.problem = problem
        self.columns: list[Column] = []
        self._seen: set[tuple[tuple[int, ...], int]] = set()
        self._monomials: dict[int, Monomial] = {}
        self._products: dict[tuple[int, ...], Polynomial] = {(): dict(ONE)}

    def grow(self, wanted: set[Monomial], largest: int, share: float) -> None:
        """Add the columns that meet wanted monomials.

        `largest`: products of up to this many constraints; 0 for monomials alone. `share`: products
        of two or more are taken only if at least this share of their terms is wanted.
        """
        targets = sorted(map(code_of, wanted))
        for factors in self._shapes(largest):
            left()
            base = self._product(factors)
            if len(base) > MOST_TERMS:
                continue
            terms = list(map(code_of, base))
            hits = Counter(target - term for target in targets for term in terms)
            least = share * len(terms) if len(factors) > 1 else 1
            for code, count in hits.items():
                if count < least or (factors, code) in self._seen:
                    continue
                self._seen.add((factors, code))
                if code not in self._monomials:
                    self._monomials[code] = monomial_of(code)
                made = column(self.problem, factors, self._monomials[code], base)
                if made is not None:
                    self.columns.append(made)
                if len(self.columns) >= MOST_COLUMNS:
                    return

    def monomials(self) -> set[Monomial]:
        """All monomials of all columns."""
        return {term for made in self.columns for term in made.polynomial}

    def _shapes(self, largest: int) -> Iterator[tuple[int, ...]]:
        places = range(len(self.problem.constraints))
        for count in range(largest + 1):
            yield from itertools.combinations_with_replacement(places, count)

    def _product(self, factors: tuple[int, ...]) -> Polynomial:
        if factors not in self._products:
            last = self.problem.constraints[factors[-1]].polynomial
            self._products[factors] = multiply(self._product(factors[:-1]), last)
        return self._products[factors]


def code_of(monomial: Monomial) -> int:
    """A monomial as a whole number: a product of monomials is a sum of codes."""
    return sum(exponent << (_BITS * atom) for atom, exponent in monomial)


def monomial_of(code: int) -> Monomial:
    """The monomial with a code."""
    half, atom, found = 1 << (_BITS - 1), 0, []
    while code:
        digit = (code + half) % (2 * half) - half
        if digit:
            found.append((atom, digit))
        code = (code - digit) >> _BITS
        atom += 1
    return tuple(found)


def columns_of(problem: PolynomialProblem, effort: int) -> list[Column]:
    """Columns that may take part in a certificate."""
    rounds, largest, share = EFFORTS[effort]
    workshop = Workshop(problem)
    wanted = set(problem.goal.polynomial)
    if not wanted:
        for constraint in problem.constraints:
            wanted |= set(constraint.polynomial)
    for _ in range(rounds):
        workshop.grow(wanted, 1, share)
        found = workshop.monomials() | wanted
        if len(found) > 600 or found == wanted:
            break
        wanted = found
    if largest > 1:
        workshop.grow(wanted, largest, share)
    workshop.grow(workshop.monomials(), 0, share)
    return useful(workshop.columns, set(problem.goal.polynomial))


def useful(columns: list[Column], fixed: set[Monomial]) -> list[Column]:
    """Columns without a term that nothing else could cancel."""
    signed = [
        [(term, value.numerator > 0) for term, value in made.polynomial.items()] for made in columns
    ]
    alive = list(range(len(columns)))
    while True:
        up: set[Monomial] = set(fixed)
        down: set[Monomial] = set(fixed)
        for place in alive:
            for term, rises in signed[place]:
                if rises or columns[place].free:
                    up.add(term)
                if not rises or columns[place].free:
                    down.add(term)
        both = up & down
        kept = [place for place in alive if all(term in both for term, _ in signed[place])]
        if len(kept) == len(alive):
            return [columns[place] for place in kept]
        alive = kept


#: Monomials between which binomials are formed.
MOST_POINTS = 150


def binomial_columns(problem: PolynomialProblem) -> list[Column]:
    """Squares (x^a - x^b)^2 times monomials, and constraints times monomials, around the goal.

    Sums of such squares are what inequalities between means come from. Nothing if there are too
    many monomials.
    """
    shapes = [problem.goal.polynomial, *(found.polynomial for found in problem.constraints)]
    unknowns = sorted({atom for shape in shapes for term in shape for atom, _ in term})
    points = {
        tuple(dict(term).get(atom, 0) for atom in unknowns) for shape in shapes for term in shape
    }
    if not unknowns or not points:
        return []
    low, high = min(map(sum, points)), max(map(sum, points))
    tight = [(min(values), max(values)) for values in zip(*points, strict=True)]
    wide = [(min(0, least), max(most, high)) for least, most in tight]
    inside: list[tuple[int, ...]] = []
    for ends in (wide, tight):
        if not inside and math.prod(most - least + 1 for least, most in ends) <= 40 * MOST_POINTS:
            box = itertools.product(*(range(least, most + 1) for least, most in ends))
            inside = [point for point in box if low <= sum(point) <= high]
            inside = inside if len(inside) <= MOST_POINTS else []

    def monomial(point: Iterable[int]) -> Monomial:
        return tuple((atom, n) for atom, n in zip(unknowns, point, strict=True) if n)

    made: list[Column | None] = [column(problem, (), monomial(point)) for point in inside]
    for one, two in itertools.combinations(inside, 2):
        if any((u - v) % 2 for u, v in zip(one, two, strict=True)):
            continue
        least = [min(pair) for pair in zip(one, two, strict=True)]
        halves = (
            monomial((n - m) // 2 for n, m in zip(end, least, strict=True)) for end in (one, two)
        )
        square = dict(zip(halves, (Fraction(1), Fraction(-1)), strict=True))
        made.append(column(problem, (), monomial(least), square=square))
    terms = {monomial(point) for point in inside}
    for place, found in enumerate(problem.constraints):
        left()
        letters = {atom for term in found.polynomial for atom, _ in term}
        alone = len(letters) == 1 and not problem.atoms[min(letters)].meaning.free_symbols
        if alone and found.kind != "==":
            continue  # both bounds of a number together are a contradiction, up to rounding
        shifts = {times(one, inverse(two)) for one in terms for two in found.polynomial}
        for by in sorted(shifts):
            if terms.issuperset(shift(found.polynomial, by)):
                made.append(column(problem, (place,), by))
    return useful([one for one in made if one is not None], set(problem.goal.polynomial))


#: Products of hypotheses are formed up to this length, and up to this many.
LONGEST, MOST_PRODUCTS = 7, 20_000

#: How often the monomials that may be connected are extended, and how far.
ROUNDS, MOST_MONOMIALS = 4, 400

#: Columns made in all.
MOST_STEPS = 2_000


@dataclass(frozen=True)
class Step:
    """A hypothesis of two terms: the monomial `above` is at least a multiple of `below`.

    `place`: of the constraint. `above`, `below`: codes of the monomials.
    """

    place: int
    above: int
    below: int


def chain_columns(problem: PolynomialProblem) -> list[Column]:
    """Columns that connect monomials around the goal by chains.

    Returns those of the extension first, then the steps of the chains.
    """
    steps = _steps(problem)
    extension = _Extension(problem, {step.place for step in steps})
    found = extension.columns
    if not steps:
        return found
    products = _products(steps)
    seen: set[tuple[int, int]] = set()
    for high in sorted(extension.high):
        left()
        for low in sorted(extension.low):
            if high == low or high - low not in products:
                continue
            for step, code in _walk(high, products[high - low]):
                if (step.place, code) in seen:
                    continue
                seen.add((step.place, code))
                made = column(problem, (step.place,), monomial_of(code))
                if made is not None:
                    found.append(made)
                if len(seen) >= MOST_STEPS:
                    return found
    return found


def _steps(problem: PolynomialProblem) -> list[Step]:
    found = []
    for place, constraint in enumerate(problem.constraints):
        terms = constraint.polynomial
        if len(terms) != 2 or not all(is_nonnegative(term, problem.atoms) for term in terms):
            continue
        one, other = sorted(terms, key=lambda term: terms[term], reverse=True)
        if terms[one] > 0 > terms[other]:
            found.append(Step(place, code_of(one), code_of(other)))
            if constraint.kind == "==":
                found.append(Step(place, code_of(other), code_of(one)))
    return found


def _products(steps: list[Step]) -> dict[int, tuple[Step, ...]]:
    """Short products of steps by the quotient of monomials they bridge, the shortest of each."""
    found: dict[int, tuple[Step, ...]] = {}
    layer: list[tuple[int, int, tuple[Step, ...]]] = [(0, 0, ())]
    for _ in range(LONGEST):
        following = []
        for quotient, first, word in layer:
            for number in range(first, len(steps)):
                step = steps[number]
                extended = quotient + step.above - step.below
                if extended in found or not extended:
                    continue
                found[extended] = (*word, step)
                following.append((extended, number, found[extended]))
                if len(found) >= MOST_PRODUCTS:
                    return found
        layer = following
    return found


def _walk(high: int, word: tuple[Step, ...]) -> Iterator[tuple[Step, int]]:
    for step in word:
        yield step, high - step.above
        high += step.below - step.above


class _Extension:
    """Columns around the goal, most of whose terms are there already, and their loose ends.

    A term with a minus sign in a column may stay, as a monomial is a column too; it also may be
    the upper end of a chain. A term with a plus sign needs something above it.
    """

    def __init__(self, problem: PolynomialProblem, binomials: set[int]) -> None:
        self.problem = problem
        self.columns: list[Column] = []
        goal = problem.goal.polynomial
        self.high = {code_of(term) for term, value in goal.items() if value > 0}
        self.low = {code_of(term) for term, value in goal.items() if value < 0}
        self._seen: set[tuple[int, int]] = set()
        others = [place for place in range(len(problem.constraints)) if place not in binomials]
        for _ in range(ROUNDS):
            size = len(self.columns)
            for place in others:
                if len(self.high) + len(self.low) <= MOST_MONOMIALS:
                    self._extend(place)
            if len(self.columns) == size:
                break

    def _extend(self, place: int) -> None:
        constraint = self.problem.constraints[place]
        free = constraint.kind == "=="
        terms = [(code_of(term), value > 0) for term, value in constraint.polynomial.items()]
        hits: Counter[int] = Counter()
        for term, rises in terms:
            wanted = self.high | self.low if free else self.high if rises else self.low
            hits.update(target - term for target in wanted)
        for code, met in sorted(hits.items()):
            loose = any(
                (rises or free) and term + code not in self.high | (self.low if free else set())
                for term, rises in terms
            )
            if (loose and 2 * met < len(terms)) or (place, code) in self._seen:
                continue
            self._seen.add((place, code))
            made = column(self.problem, (place,), monomial_of(code))
            if made is None:
                continue
            self.columns.append(made)
            for term, rises in terms:
                if free or not rises:
                    self.high.add(term + code)
                if free or rises:
                    self.low.add(term + code)
