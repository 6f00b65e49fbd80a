r"""Positive semidefinite matrices with exact float entries, drawn, and W(0) made of them.

Every matrix is made of dyadic numbers with few bits, so that the products and sums below are
exact in floats. Positive semidefinite by construction: :math:`U U^T`, :math:`L D L^T` with
:math:`D \ge 0`.

Positive semidefinite matrices whose entries lie between 1 and beta in size.

As in :mod:`swingby.testing.draw_matrices`, float entries are exact. With a matrix V of entries at
least 0 and rows of :math:`|v|^2 \le \beta - 1`, all entries of :math:`1 1^T + V V^T` lie in
:math:`[1, \beta]`, and signs on both sides change neither sizes nor definiteness. Where beta is at
least d - 1, a diagonal that dominates allows all other patterns of signs.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from hypothesis import strategies as st

from swingby.errors import InvalidInput
from swingby.theory import numbers
from swingby.theory.initial import Scaled
from swingby.theory.task import SIMTask

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def fractions(text: str) -> tuple[Fraction, ...]:
    """Read a table of exact numbers.

    `text`: numbers with blanks between them.
    """
    return tuple(map(Fraction, text.split()))


#: What is drawn is meant to be read; a matrix of more directions is not.
MOST_DIRECTIONS = 32
#: The dimensions drawn when none is asked for are 1 to this.
USUAL_DIRECTIONS = 4


@dataclass(frozen=True)
class Dimensions:
    """Dimensions to draw from.

    `most`: the largest drawn, as far as it is known.
    """

    strategy: st.SearchStrategy[int]
    most: int


def dimensions(
    dim: Any,
    least: int = 1,
    *,
    argument: str = "dim",
    most: int = MOST_DIRECTIONS,
    requirement: str = "",
) -> Dimensions:
    """Read a dimension: none, a whole number, or a strategy of whole numbers.

    `least`: the smallest that makes sense.
    `argument`: name used in errors.
    `most`: the largest that is accepted.
    `requirement`: what is said where it is not met, in place of the plain bounds.
    Raises InvalidInput: at once for a number; when it is drawn for a strategy.
    """
    if dim is None:
        usual = min(USUAL_DIRECTIONS, most)
        return Dimensions(st.integers(least, usual), usual)

    def checked(value: Any) -> int:
        size = numbers.whole(value, argument)
        if requirement and not least <= size <= most:
            raise InvalidInput(argument, value, requirement)
        return numbers.whole(size, argument, least, most=most)

    if isinstance(dim, st.SearchStrategy):
        return Dimensions(dim.map(checked), USUAL_DIRECTIONS)
    size = checked(dim)
    return Dimensions(st.just(size), size)


def choice(value: Any, argument: str, known: tuple[str, ...]) -> str:
    """Read a word that has to be one of a few."""
    if not isinstance(value, str) or value not in known:
        raise InvalidInput(argument, value, f"must be one of {', '.join(known)}")
    return value


def readable(task: Any) -> SIMTask:
    """Read a task for which matrices can be drawn.

    Raises InvalidInput if it is none, or has more than 32 directions.
    """
    if not isinstance(task, SIMTask):
        raise InvalidInput("task", task, "must be a SIMTask")
    numbers.whole(task.dim, "task.dim", 1, most=MOST_DIRECTIONS)
    return task


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


#: With a smaller beta - 1 than this, 1 + v^2 would not be exact in a float.
_FINEST = Fraction(1, 4**17)
#: More than this is not needed of beta, and would not be exact either.
_LARGEST = Fraction(2**30)
#: Entries off a dominant diagonal in eighths, by digit; 0 stands for the largest.
_EIGHTHS = (8, 12, 16, 0)

FORMS = ("spread", "nearly degenerate", "dominant")
_FORMS = st.sampled_from((FORMS[0], *FORMS))


@dataclass(frozen=True)
class Draws:
    """What every form is made of. All of it is drawn for every form.

    A fixed number of choices keeps Hypothesis from discarding draws when it varies one of them.

    `form`: one of :data:`FORMS`.
    `V` (d, d): digits from 0 to 3.
    `place`, `anchor`: a direction from 1 to d - 1 (0 if d = 1), and one from 0 to d - 1.
    `columns`, `shift`, `size`: how many columns of V are used; by which power of two its rows may
    grow; k of the small pivot 4^-k.
    `signs`: a bit per pair of directions.
    """

    form: str
    V: Floats
    place: int
    anchor: int
    columns: int
    shift: int
    size: int
    signs: int


def draws(draw: st.DrawFn, d: int, most: int) -> Draws:
    """Draw what a matrix is made of.

    `d`, `most`: the dimension, and the number of rows to draw so that it does not show.
    """
    form = draw(_FORMS)
    columns = draw(between(0, d))
    V = np.array(draw(many(rows(d, (0, 1, 2, 3)), max(d, most)))[:d], dtype=float)
    return Draws(
        form,
        V,
        draw(between(min(1, d - 1), d - 1)),
        draw(between(0, d - 1)),
        columns,
        draw(between(0, 3)),
        draw(between(*SMALL_PIVOTS)),
        draw(between(0, 2 ** (d * (d - 1) // 2) - 1)),
    )


def any_form(
    draw: st.DrawFn, order: Sequence[int], beta: Fraction, most: int = 0, *, anchored: bool = False
) -> Floats:
    """A matrix of the form drawn where beta leaves room for it, else a spread one.

    `order`: directions in the order of the pivots. `beta`: at least 1. `most`: see :func:`draws`.
    `anchored`: whether the smallest entry has to be 1.
    """
    d = len(order)
    drawn = draws(draw, d, most)
    if drawn.form == "dominant" and d > 2 and beta >= d - 1:
        return _dominant(drawn, beta)
    if drawn.form == "nearly degenerate" and d > 1 and is_wide(beta):
        return bounded_nearly_degenerate(drawn, order, beta)
    return spread(drawn, beta, drawn.columns, anchored=anchored)


def is_wide(beta: Fraction) -> bool:
    """Whether beta leaves room for a small pivot inside [1, beta]."""
    return beta - 1 >= Fraction(1, 4 ** (SMALL_PIVOTS[1] - 1))


def spread(drawn: Draws, beta: Fraction, columns: int, *, anchored: bool = False) -> Floats:
    """1 1^T + V V^T with signs, of rank at most columns + 1.

    `columns`: of V. `anchored`: whether one row of V has to be 0.
    """
    V = drawn.V[:, :columns].copy()
    if beta - 1 < _FINEST:
        V[:] = 0
    for row in V:
        if row.any():
            row *= 2.0 ** -_scale(int(row @ row), beta - 1, -drawn.shift)
    if anchored:
        V[drawn.anchor] = 0
    return _signed(drawn, 1 + V @ V.T)


def bounded_nearly_degenerate(drawn: Draws, order: Sequence[int], beta: Fraction) -> Floats:
    """1 1^T + V V^T with signs, V lower triangular, its first row 0, and one small pivot.

    As the first row is made of ones, the other pivots are the squares of the diagonal of V.

    `order`: at least two directions. `beta`: one that :func:`is_wide`. Returns (d, d): its smallest
    pivot is from 1e-12 to 1e-3 of its diagonal entry.
    """
    room = beta - 1
    V = np.tril(drawn.V, -1) + np.eye(len(order))
    V[0] = V[:, 0] = 0
    size = drawn.size
    while 4 * Fraction(1, 4**size) > room:
        size += 1
    for k in range(1, len(order)):
        row, small = V[k], Fraction(0)
        if k == drawn.place:
            row[k], small = 0, Fraction(1, 4**size)
        if row.any():
            row *= 2.0 ** -_scale(int(row @ row), room - small, 0)
        if k == drawn.place:
            row[k] = 2.0**-size
    return _signed(drawn, in_place(1 + V @ V.T, order))


def _dominant(drawn: Draws, beta: Fraction) -> Floats:
    """Any signs off the diagonal, in eighths; every w_ii is at least the sum of its row."""
    d = len(drawn.V)
    beta = min(beta, _LARGEST)
    most = math.floor(8 * beta / (d - 1))
    above = np.triu_indices(d, 1)
    sizes = [min(_EIGHTHS[int(digit)] or most, most) for digit in drawn.V[above]]
    sizes[0] = 8
    entries = np.zeros((d, d))
    entries[above] = [
        -size if drawn.signs >> place & 1 else size for place, size in enumerate(sizes)
    ]
    entries += entries.T
    sums, largest = np.abs(entries).sum(axis=1), math.floor(8 * beta)
    entries[np.diag_indices(d)] = [
        total + (largest - int(total)) * drawn.shift // 3 for total in sums
    ]
    return entries / 8


def _scale(square: int, room: Fraction, least: int) -> int:
    """The smallest e of at least `least` with square 4^-e <= room."""
    e = least
    while square > room * Fraction(4) ** e:
        e += 1
    return e


def _signed(drawn: Draws, matrix: Floats) -> Floats:
    signs = np.ones(len(matrix))
    signs[1:] = [-1.0 if drawn.signs >> place & 1 else 1.0 for place in range(len(matrix) - 1)]
    return np.asarray(matrix * np.outer(signs, signs))


#: Those that can be kept between omega and beta omega, and that one direction does not have.
BOUNDED_KINDS = ("rank-deficient", "nearly degenerate")
KINDS = (*BOUNDED_KINDS, "uniform", "gaussian")

#: omega when none is asked for, as powers of ten: mostly of everyday size.
_OMEGAS = st.sampled_from(
    tuple(Fraction(1, 10**k) for k in (2, 3, 1, 4, 5, 6, 8, 10, 12, 30, 300, 400))
)


def initializations(
    task: SIMTask,
    kind: str | None = None,
    omega: Any = None,
    beta: Any = None,
    width: int | None = None,
) -> st.SearchStrategy[Scaled]:
    r"""Draw initial matrices, omega times a matrix of floats that is exactly semidefinite.

    - ``"gaussian"``: :math:`W(0) = \omega U U^T`, U of shape (d, width) with entries from 40
      quantiles of N(0, 1) rounded to sixteenths.
    - ``"uniform"``: the same with sixteenths in (0, 1], the choice of the authors' code.
    - ``"rank-deficient"``: gaussian with at most d - 1 columns, so that some pivot is exactly 0.
    - ``"nearly degenerate"``: :math:`L D L^T` of small whole numbers but for one pivot
      :math:`4^{-k}`, which is from 1e-12 to 1e-3 of its diagonal entry. Pivots are those in
      descending order of the signal (``task.order``).

    With `beta`, all entries satisfy :math:`\omega \le |w_{ij}(0)| \le \beta\omega`: rank one plus
    a semidefinite matrix, with signs, nearly degenerate in some of the draws; or, where beta is at
    least d - 1, a diagonal that dominates arbitrary signs. Shrinks to whole numbers, mostly ones.

    Parameters
    ----------
    task : SIMTask
        At most 32 directions.
    kind : str, optional
        One of the four; by default any.
    omega : number or text, optional
        By default a power of ten, mostly from 1e-12 to 1e-1, and down to 1e-400.
    beta : number or text, optional
        At least 1; needs omega.
    width : int, optional
        Columns of U for gaussian and uniform, the most for rank-deficient; by default d.

    Returns
    -------
    strategy of Scaled

    Raises
    ------
    InvalidInput
        If an argument is out of range, or the kind cannot be had at this dimension or beta.

    References
    ----------
    (D.8), Sec. 4.2.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(initializations(SIMTask([1, 2]), omega="1e-80", beta=2), lambda W0: True)
    Scaled([[1.0, 1.0], [1.0, 1.0]], "1e-80")
    """
    readable(task)
    if kind is not None:
        choice(kind, "kind", KINDS)
        if kind in BOUNDED_KINDS and task.dim == 1:
            raise InvalidInput("kind", kind, "must not be this for one direction: it has one pivot")
    columns = task.dim if width is None else numbers.whole(width, "width", 1, most=256)
    scale = None if omega is None else numbers.positive(omega, "omega", "Assumption D.4")
    if beta is None:
        return _unbounded(task, kind, scale, columns)
    spread = numbers.positive(beta, "beta", "Assumption D.1")
    if scale is None:
        raise InvalidInput("beta", beta, "must come with omega", "(D.8)")
    if spread < 1:
        raise InvalidInput("beta", beta, "must be at least 1", "Assumption D.1")
    if kind is not None and kind not in BOUNDED_KINDS:
        raise InvalidInput("kind", kind, f"must be one of {', '.join(BOUNDED_KINDS)} with beta")
    if width is not None:
        raise InvalidInput("width", width, "must be left out with beta")
    if kind == "nearly degenerate" and not is_wide(spread):
        raise InvalidInput("beta", beta, "must be at least 1 + 4^-14 for a nearly degenerate W(0)")
    return _bounded(task, kind, scale, spread)


@st.composite
def _unbounded(
    draw: st.DrawFn, task: SIMTask, kind: str | None, omega: Fraction | None, width: int
) -> Scaled:
    if kind is None:
        kind = draw(_KINDS_ONE if task.dim == 1 else _KINDS)
    if kind == "nearly degenerate":
        matrix = nearly_degenerate(draw, task.order)
    else:
        columns = width
        if kind == "rank-deficient":
            columns = draw(st.integers(1, min(width, task.dim - 1)))
        entries = UNIFORM if kind == "uniform" else NORMAL
        matrix = gram(draw, entries, task.dim, columns)
    return Scaled(matrix, draw(_OMEGAS) if omega is None else omega)


_KINDS = st.sampled_from(KINDS)
_KINDS_ONE = st.sampled_from(KINDS[2:])


@st.composite
def _bounded(
    draw: st.DrawFn, task: SIMTask, kind: str | None, omega: Fraction, beta: Fraction
) -> Scaled:
    if kind is None:
        return Scaled(any_form(draw, task.order, beta), omega)
    drawn = draws(draw, task.dim, task.dim)
    if kind == "nearly degenerate":
        matrix = bounded_nearly_degenerate(drawn, task.order, beta)
    else:
        matrix = spread(drawn, beta, min(drawn.columns, task.dim - 2))
    return Scaled(matrix, omega)
