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

import functools
import itertools
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from swingby.proofs.prover.scalar import laurent
from swingby.proofs.prover.scalar.laurent import ONE, Monomial, Polynomial, PolynomialProblem
from swingby.theory.search_time import seconds_left

#: The linear programs stay below this many columns, of products with this many terms.
MOST_COLUMNS, MOST_TERMS = 6_000, 40
#: Monomials that are met by single constraints, from both ends of a chain, and by binomials.
MOST_WANTED, MOST_MONOMIALS, MOST_POINTS = 600, 400, 150
#: A product of two constraints is used if this share of its terms is wanted already.
SHARE = 0.75
#: Products of hypotheses of two terms are formed up to this length, and up to this many.
LONGEST, MOST_PRODUCTS = 7, 20_000
#: How often the ends of chains are extended, and columns made of their steps.
ROUNDS, MOST_STEPS = 4, 2_000

#: Exponents are digits of this many bits in a monomial's code.
_BITS = 24


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
    square: Polynomial | None = None,
) -> Column | None:
    """One column of its parts; None if the monomial may be negative or undefined."""
    base = Product(problem, factors)
    if not base.allows(monomial):
        return None
    if square is None or square == ONE:
        polynomial = laurent.shift(base.polynomial, monomial)
        return Column(factors, monomial, polynomial, base.strictly(monomial), base.free)
    whole = laurent.multiply(base.polynomial, laurent.multiply(square, square))
    return Column(factors, monomial, laurent.shift(whole, monomial), False, base.free, square)


class Product:
    """The product of the constraints at some places; `free`: it is zero, `strict`: positive."""

    def __init__(self, problem: PolynomialProblem, factors: tuple[int, ...]) -> None:
        constraints = [problem.constraints[place] for place in factors]
        self.atoms = problem.atoms
        self.polynomial = laurent.product(constraint.polynomial for constraint in constraints)
        self.free = any(constraint.kind == "==" for constraint in constraints)
        self.strict = all(constraint.kind == ">" for constraint in constraints)
        self.codes = list(map(code_of, self.polynomial))

    def allows(self, monomial: Monomial) -> bool:
        """Whether it stays what it is, times a monomial; that has to be defined at least."""
        if not self.free:
            return laurent.is_nonnegative(monomial, self.atoms)
        return all(n > 0 or self.atoms[atom].sign == "positive" for atom, n in monomial)

    def strictly(self, monomial: Monomial) -> bool:
        """Whether it is positive, times a monomial."""
        return self.strict and laurent.is_positive(monomial, self.atoms)


def code_of(monomial: Monomial) -> int:
    """A monomial as a whole number: a product of monomials is a sum of codes."""
    return sum(exponent << (_BITS * atom) for atom, exponent in monomial)


@functools.lru_cache(maxsize=2**16)
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


class Workshop:
    """Makes the columns of one problem without repeating any."""

    def __init__(self, problem: PolynomialProblem) -> None:
        self.problem = problem
        self.columns: list[Column] = []
        self._seen: set[tuple[tuple[int, ...], int]] = set()
        self.product = functools.cache(functools.partial(Product, problem))

    def add(self, factors: tuple[int, ...], code: int) -> bool:
        """Add one column, of a product of constraints and a monomial; whether it is a new one."""
        if (factors, code) in self._seen:
            return False
        self._seen.add((factors, code))
        base, monomial = self.product(factors), monomial_of(code)
        if not base.allows(monomial):
            return False
        terms = (monomial_of(term + code) for term in base.codes)
        polynomial = dict(zip(terms, base.polynomial.values(), strict=True))
        strict = base.strictly(monomial)
        self.columns.append(Column(factors, monomial, polynomial, strict, base.free))
        return True

    def meet(self, wanted: Iterable[Monomial], largest: int) -> None:
        """Add the columns of products of up to so many constraints that meet wanted monomials."""
        targets = sorted(map(code_of, wanted))
        places = range(len(self.problem.constraints))
        for count in range(largest + 1):
            for factors in itertools.combinations_with_replacement(places, count):
                seconds_left()
                terms = self.product(factors).codes
                if len(terms) > MOST_TERMS:
                    continue
                hits = Counter(target - term for target in targets for term in terms)
                least = SHARE * len(terms) if count > 1 else 1
                for code, met in hits.items():
                    if met >= least:
                        self.add(factors, code)
                    if len(self.columns) >= MOST_COLUMNS:
                        return

    def monomials(self) -> set[Monomial]:
        """All monomials of all columns."""
        return set[Monomial]().union(*(made.polynomial for made in self.columns))


def columns_of(problem: PolynomialProblem, *, products: bool) -> list[Column]:
    """Columns that may take part in a certificate; of single constraints, or also of two."""
    workshop = Workshop(problem)
    wanted = set(problem.goal.polynomial)
    if not wanted:
        wanted = {term for found in problem.constraints for term in found.polynomial}
    for _ in range(3 if products else 2):
        workshop.meet(wanted, 1)
        found = workshop.monomials() | wanted
        if len(found) > MOST_WANTED or found == wanted:
            break
        wanted = found
    if products:
        workshop.meet(wanted, 2)
    workshop.meet(workshop.monomials(), 0)
    return useful(workshop.columns, problem.goal.polynomial)


def useful(columns: list[Column], goal: Polynomial) -> list[Column]:
    """Columns without a term that nothing else could cancel."""
    signed = [(made, *_signs(made)) for made in columns]
    while True:
        rising = set(goal).union(*(up for _, up, _ in signed))
        both = rising & set(goal).union(*(down for _, _, down in signed))
        kept = [one for one in signed if both.issuperset(one[0].polynomial)]
        if len(kept) == len(signed):
            return [made for made, _, _ in kept]
        signed = kept


def _signs(made: Column) -> tuple[set[Monomial], set[Monomial]]:
    """The terms that a column can raise, and those that it can lower."""
    if made.free:
        return set(made.polynomial), set(made.polynomial)
    # A Fraction itself is slow to compare.
    up = {term for term, value in made.polynomial.items() if value.numerator > 0}
    return up, made.polynomial.keys() - up


def binomial_columns(problem: PolynomialProblem) -> list[Column]:
    """Squares (x^a - x^b)^2 and constraints, times monomials, around the goal, if these are few.

    Sums of such squares are what inequalities between means come from.
    """
    shapes = [problem.goal.polynomial, *(found.polynomial for found in problem.constraints)]
    unknowns = sorted(set[int]().union(*map(laurent.letters_of, shapes)))
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
        seconds_left()
        letters = laurent.letters_of(found.polynomial)
        alone = len(letters) == 1 and not problem.atoms[min(letters)].meaning.free_symbols
        if alone and found.kind != "==":
            continue  # both bounds of a number together are a contradiction, up to rounding
        shifts = {
            laurent.times(one, laurent.inverse(two)) for one in terms for two in found.polynomial
        }
        for by in sorted(shifts):
            if terms.issuperset(laurent.shift(found.polynomial, by)):
                made.append(column(problem, (place,), by))
    return useful([one for one in made if one is not None], problem.goal.polynomial)


@dataclass(frozen=True)
class Step:
    """A constraint by which a monomial is at least a multiple of another; both are codes."""

    place: int
    above: int
    below: int


def chain_columns(problem: PolynomialProblem) -> list[Column]:
    """Columns that connect monomials around the goal by chains, and those of single constraints."""
    workshop = Workshop(problem)
    steps = _steps(problem)
    high, low = _ends(workshop, {step.place for step in steps})
    products = _products(steps)
    most = len(workshop.columns) + MOST_STEPS
    for top, bottom in itertools.product(sorted(high), sorted(low)):
        word = products.get(top - bottom, ())
        if word:
            seconds_left()
        for step in word:
            if len(workshop.columns) < most:
                workshop.add((step.place,), top - step.above)
            top += step.below - step.above
    for made in columns_of(problem, products=False):
        workshop.add(made.factors, code_of(made.monomial))
    for term in workshop.monomials():
        workshop.add((), code_of(term))
    return useful(workshop.columns, problem.goal.polynomial)


def _steps(problem: PolynomialProblem) -> list[Step]:
    found = []
    for place, constraint in enumerate(problem.constraints):
        terms = constraint.polynomial
        if len(terms) != 2 or not all(
            laurent.is_nonnegative(term, problem.atoms) for term in terms
        ):
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


def _ends(workshop: Workshop, steps: set[int]) -> tuple[set[int], set[int]]:
    """Monomials at which chains may begin and end: of the goal, and of columns around it.

    A term with a minus sign may stay, and be the upper end of a chain; one with a plus sign needs
    something above it.
    """
    goal = workshop.problem.goal.polynomial
    high = {code_of(term) for term, value in goal.items() if value > 0}
    low = {code_of(term) for term, value in goal.items() if value < 0}
    for _ in range(ROUNDS):
        size = len(workshop.columns)
        for place, constraint in enumerate(workshop.problem.constraints):
            if place in steps or len(high) + len(low) > MOST_MONOMIALS:
                continue
            free = constraint.kind == "=="
            terms = [(code_of(term), value > 0) for term, value in constraint.polynomial.items()]
            hits: Counter[int] = Counter()
            for term, rises in terms:
                wanted = high | low if free else high if rises else low
                hits.update(target - term for target in wanted)
            for code, met in sorted(hits.items()):
                known = high | (low if free else set())
                loose = any((rises or free) and term + code not in known for term, rises in terms)
                if (loose and 2 * met < len(terms)) or not workshop.add((place,), code):
                    continue
                high |= {term + code for term, rises in terms if free or not rises}
                low |= {term + code for term, rises in terms if free or rises}
        if len(workshop.columns) == size:
            break
    return high, low
