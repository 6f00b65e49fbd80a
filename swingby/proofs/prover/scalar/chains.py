"""Chains of hypotheses of two terms, each of which bounds one monomial by another.

Hypotheses such as P >= 2, w >= w(0) and w(0) >= omega multiply to P w >= 2 omega. Each says that
one monomial that is never negative is at least a multiple of another; which product of them
connects two given monomials is looked up among all short products. The steps of a chain are
columns with one constraint each.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass

from swingby.proofs.prover.scalar.columns import (
    CertificateColumn,
    ColumnBuilder,
    code_of,
    products_around_goal,
)
from swingby.proofs.prover.scalar.polynomial_problem import PolynomialProblem, is_nonnegative
from swingby.theory.search_time import seconds_left

#: Monomials that are met from both ends of a chain.
_MOST_MONOMIALS = 400
#: Products of hypotheses of two terms are formed up to this length, and up to this many.
_LONGEST, _MOST_PRODUCTS = 7, 20_000
#: How often the ends of chains are extended, and columns made of their steps.
_ROUNDS, _MOST_STEPS = 4, 2_000


@dataclass(frozen=True)
class ChainStep:
    """A constraint by which a monomial is at least a multiple of another; both are codes."""

    index: int
    above: int
    below: int


def chain_columns(problem: PolynomialProblem) -> list[CertificateColumn]:
    """Columns that connect monomials around the goal by chains, and those of single constraints."""
    builder = ColumnBuilder(problem)
    steps = _steps(problem)
    high, low = _ends(builder, {step.index for step in steps})
    products = _products(steps)
    limit = len(builder.names) + _MOST_STEPS
    for top, bottom in itertools.product(sorted(high), sorted(low)):
        word = products.get(top - bottom, ())
        if word:
            seconds_left()
        for step in word:
            if len(builder.names) < limit:
                builder.add((step.index,), top - step.above)
            top += step.below - step.above
    for name in products_around_goal(problem, 1).cancellable():
        builder.add(*name)
    for term in builder.monomials():
        builder.add((), term)
    return builder.columns()


def _steps(problem: PolynomialProblem) -> list[ChainStep]:
    steps = []
    for index, constraint in enumerate(problem.constraints):
        terms = constraint.polynomial
        if len(terms) != 2 or not all(is_nonnegative(term, problem.atoms) for term in terms):
            continue
        upper, lower = sorted(terms, key=lambda term: terms[term], reverse=True)
        if terms[upper] > 0 > terms[lower]:
            steps.append(ChainStep(index, code_of(upper), code_of(lower)))
            if constraint.kind == "==":
                steps.append(ChainStep(index, code_of(lower), code_of(upper)))
    return steps


def _products(steps: list[ChainStep]) -> dict[int, tuple[ChainStep, ...]]:
    """Short products of steps by the quotient of monomials they bridge, the shortest of each."""
    products: dict[int, tuple[ChainStep, ...]] = {}
    layer: list[tuple[int, int, tuple[ChainStep, ...]]] = [(0, 0, ())]
    for _ in range(_LONGEST):
        following = []
        for quotient, first, word in layer:
            for number in range(first, len(steps)):
                step = steps[number]
                extended = quotient + step.above - step.below
                if extended in products or not extended:
                    continue
                products[extended] = (*word, step)
                following.append((extended, number, products[extended]))
                if len(products) >= _MOST_PRODUCTS:
                    return products
        layer = following
    return products


def _ends(builder: ColumnBuilder, steps: set[int]) -> tuple[set[int], set[int]]:
    """Monomials at which chains may begin and end: of the goal, and of columns around it.

    A term with a minus sign may stay, and be the upper end of a chain; one with a plus sign needs
    something above it.
    """
    goal = builder.problem.goal.polynomial
    high = {code_of(term) for term, value in goal.items() if value > 0}
    low = {code_of(term) for term, value in goal.items() if value < 0}
    for _ in range(_ROUNDS):
        size = len(builder.names)
        for index, constraint in enumerate(builder.problem.constraints):
            if index in steps or len(high) + len(low) > _MOST_MONOMIALS:
                continue
            equation = constraint.kind == "=="
            terms = [(code_of(term), value > 0) for term, value in constraint.polynomial.items()]
            hits: Counter[int] = Counter()
            for term, rises in terms:
                targets = high | low if equation else high if rises else low
                hits.update(target - term for target in targets)
            for code, met in sorted(hits.items()):
                ends = high | (low if equation else set())
                loose = any(
                    (rises or equation) and term + code not in ends for term, rises in terms
                )
                if (loose and 2 * met < len(terms)) or not builder.add((index,), code):
                    continue
                high |= {term + code for term, rises in terms if equation or not rises}
                low |= {term + code for term, rises in terms if equation or rises}
        if len(builder.names) == size:
            break
    return high, low
