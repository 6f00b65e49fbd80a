r"""Positive semidefinite matrices whose float entries are exact.

Every matrix is made of dyadic numbers with few bits, so that the products and sums below are
exact in floats. Positive semidefinite by construction: :math:`U U^T`, :math:`L D L^T` with
:math:`D \ge 0`.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from hypothesis import strategies as st

from swingby.testing.arguments import USUAL_DIRECTIONS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

T = TypeVar("T")

#: A small pivot is 4^-k with k in this range: below 1e-3, and above 1e-12 of its diagonal entry.
SMALL_PIVOTS = (5, 15)

_SIGNED = (0, 1, -1, 2, -2)
_PIVOTS = st.sampled_from((1.0, 2.0, 0.5, 4.0, 0.25, 2.0**-4, 2.0**-7, 2.0**-10, 2.0**-20))
_NONZERO = st.sampled_from((1, -1, 2, -2))


def _quantiles() -> tuple[float, ...]:
    """40 quantiles of N(0, 1), rounded away from 0 to sixteenths, simplest first."""
    values = [NormalDist().inv_cdf((place + 0.5) / 40) for place in range(40)]
    rounded = [math.copysign(math.ceil(abs(value) * 16) / 16, value) for value in values]
    return tuple(sorted(rounded, key=lambda value: (abs(math.log(abs(value))), value < 0)))


NORMAL = st.sampled_from(_quantiles())
#: Sixteenths in (0, 1].
UNIFORM = st.sampled_from(
    tuple(sorted((k / 16 for k in range(1, 17)), key=lambda x: Fraction(x).denominator))
)


def gram(draw: st.DrawFn, entries: st.SearchStrategy[float], rows: int, columns: int) -> Floats:
    """U U^T with the entries of U drawn one by one.

    `entries`: dyadic, with few bits. `rows`, `columns`: shape of U.
    """
    U = np.array(draw(many(entries, rows * columns))).reshape(rows, columns)
    return np.asarray(U @ U.T)


def nearly_degenerate(draw: st.DrawFn, order: Sequence[int]) -> Floats:
    """L D L^T with small whole numbers in L, and D = 1 but for one pivot 4^-k.

    `order`: directions in the order of the pivots, at least two. Returns (d, d): its smallest pivot
    is from 1e-12 to 1e-3 of its diagonal entry.
    """
    d = len(order)
    L = np.tril(np.array(draw(many(rows(d, _SIGNED), d)), dtype=float), -1) + np.eye(d)
    place = draw(between(1, d - 1))
    # A row of zeros would make the pivot all of its diagonal entry.
    L[place, 0] = draw(_NONZERO)
    pivots = np.ones(d)
    pivots[place] = 4.0 ** -draw(between(*SMALL_PIVOTS))
    return in_place((L * pivots) @ L.T, order)


def definite(draw: st.DrawFn, order: Sequence[int], most: int = 0) -> tuple[Floats, Floats]:
    """L D L^T with small whole numbers in L and powers of two in D, its largest entry at least 1.

    `most`: how many rows to draw, so that the dimension does not show in the number of choices.
    Returns `matrix` (d, d); `pivots` (d,): D, in that order.
    """
    d = len(order)
    L = np.tril(np.array(draw(many(rows(d, _SIGNED), max(d, most)))[:d], dtype=float), -1)
    L += np.eye(d)
    pivots = np.array(draw(many(_PIVOTS, max(d, most)))[:d])
    ordered = (L * pivots) @ L.T
    factor = 2.0 ** max(0, math.ceil(-math.log2(ordered.max())))
    return in_place(factor * ordered, order), factor * pivots


def in_blocks(matrix: Floats, pattern: int) -> Floats:
    """Keep two diagonal blocks, in any order of the directions, and put zeros between them.

    `matrix` (d, d): at least two directions. `pattern`: from 1 to 2^(d - 1) - 1; its bits tell
    which directions form one of the blocks.
    """
    d = len(matrix)
    first = np.array([bool(pattern >> place & 1) for place in range(d)])
    return np.where(np.equal.outer(first, first), matrix, 0.0)


def in_place(ordered: Floats, order: Sequence[int]) -> Floats:
    """Put the rows and columns of a matrix in descending order of the signal where they belong."""
    matrix = np.empty_like(ordered)
    matrix[np.ix_(order, order)] = ordered
    return matrix


@functools.lru_cache(maxsize=64)
def rows(length: int, digits: tuple[int, ...]) -> st.SearchStrategy[tuple[int, ...]]:
    """Draw a row of small whole numbers by a single choice; few and small numbers are simplest.

    `digits`: what the entries are drawn from, simplest first.
    """
    base = len(digits)
    if length > USUAL_DIRECTIONS:
        return between(0, base**length - 1).map(
            lambda code: tuple(digits[code // base**place % base] for place in range(length))
        )
    table = itertools.product(digits, repeat=length)
    return st.sampled_from(sorted(table, key=_complexity))


def _complexity(row: tuple[int, ...]) -> tuple[int, int, int]:
    return len(row) - row.count(0), sum(map(abs, row)), sum(entry < 0 for entry in row)


@functools.lru_cache(maxsize=1024)
def between(low: int, high: int) -> st.SearchStrategy[int]:
    """Draw a whole number; made once for every range."""
    return st.integers(low, high)


@functools.lru_cache(maxsize=1024)
def many(entries: st.SearchStrategy[T], count: int) -> st.SearchStrategy[tuple[T, ...]]:
    """Draw a fixed number of values; made once for every number."""
    return st.tuples(*[entries] * count)
