r"""Chains: one monomial above another by several hypotheses of two terms, one after the other.

Hypotheses such as P >= 2, w >= w(0) and w(0) >= omega multiply to P w >= 2 omega. Each says that
one monomial that is never negative is at least a multiple of another; which product of them
connects two given monomials is looked up among all short products. The steps of a chain are
columns with one constraint each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from swingby.verify.prover.scalar.clock import left
from swingby.verify.prover.scalar.columns import Column, code_of, column, monomial_of
from swingby.verify.prover.scalar.laurent import PolynomialProblem, is_nonnegative

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
        for shift, met in sorted(hits.items()):
            loose = any(
                (rises or free) and term + shift not in self.high | (self.low if free else set())
                for term, rises in terms
            )
            if (loose and 2 * met < len(terms)) or (place, shift) in self._seen:
                continue
            self._seen.add((place, shift))
            made = column(self.problem, (place,), monomial_of(shift))
            if made is None:
                continue
            self.columns.append(made)
            for term, rises in terms:
                if free or not rises:
                    self.high.add(term + shift)
                if free or rises:
                    self.low.add(term + shift)
