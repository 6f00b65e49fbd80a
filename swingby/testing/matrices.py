r"""Initial matrices, drawn: positive semidefinite, with float entries that are exact.

Every matrix is made of dyadic numbers with few bits, so that the products and sums below are
exact in floats. Positive semidefinite by construction: :math:`U U^T`, :math:`L D L^T` with
:math:`D \ge 0`. With a matrix V of entries at least 0 and rows of :math:`|v|^2 \le \beta - 1`, all
entries of :math:`1 1^T + V V^T` lie in :math:`[1, \beta]`, and signs on both sides change neither
sizes nor definiteness. Where beta is at least d - 1, a diagonal that dominates allows all other
patterns of signs.

A fixed number of choices keeps Hypothesis from discarding draws when it varies one of them: digits
are drawn for `most` directions, and what one form needs is drawn for every form.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from hypothesis import strategies as st

from swingby.errors import InvalidInput
from swingby.testing.setting import choice
from swingby.theory import numbers
from swingby.theory.initial import Scaled
from swingby.theory.task import SIMTask

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

T = TypeVar("T")

#: What is drawn is meant to be read; a matrix of more directions is not.
MOST_DIRECTIONS = 32
#: The dimensions drawn when none is asked for are 1 to this.
USUAL_DIRECTIONS = 4
#: A small pivot is 4^-k with k in this range: below 1e-3, and above 1e-12 of its diagonal entry.
SMALL_PIVOTS = (5, 15)
#: With a smaller beta - 1 than this, 1 + v^2 would not be exact in a float.
_FINEST = Fraction(1, 4**17)
#: More than this is not needed of beta under a dominant diagonal, and would not be exact either.
_LARGEST = Fraction(2**30)
#: Entries off a dominant diagonal in eighths, by digit; 0 stands for the largest.
_EIGHTHS = (8, 12, 16, 0)

#: Those that can be kept between omega and beta omega, and that one direction does not have.
BOUNDED_KINDS = ("rank-deficient", "nearly degenerate")
KINDS = (*BOUNDED_KINDS, "uniform", "gaussian")


def fractions(text: str) -> tuple[Fraction, ...]:
    """A table of exact numbers with blanks between them."""
    return tuple(map(Fraction, text.split()))


@dataclass(frozen=True)
class Dimensions:
    """Dimensions to draw from, and the largest drawn, as far as it is known."""

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

    `requirement`: what is said where `least` to `most` is not met. A strategy is checked when it
    is drawn.
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


def readable(task: Any) -> SIMTask:
    """Read a task for which matrices can be drawn: at most 32 directions."""
    if not isinstance(task, SIMTask):
        raise InvalidInput("task", task, "must be a SIMTask")
    numbers.whole(task.dim, "task.dim", 1, most=MOST_DIRECTIONS)
    return task


@functools.lru_cache(maxsize=1024)
def many(values: st.SearchStrategy[T], count: int) -> st.SearchStrategy[tuple[T, ...]]:
    """Draw a fixed number of values; made once for every number."""
    return st.tuples(*[values] * count)


def _table(draw: st.DrawFn, d: int, most: int, digits: st.SearchStrategy[int]) -> Floats:
    """A d by d table of digits."""
    size = max(d, most)
    drawn = np.array(draw(many(digits, size * size)), dtype=float)
    return drawn.reshape(size, size)[:d, :d]


def _quantiles() -> tuple[float, ...]:
    """40 quantiles of N(0, 1), rounded away from 0 to sixteenths, simplest first."""
    values = [NormalDist().inv_cdf((place + 0.5) / 40) for place in range(40)]
    rounded = [math.copysign(math.ceil(abs(value) * 16) / 16, value) for value in values]
    return tuple(sorted(rounded, key=lambda value: (abs(math.log(abs(value))), value < 0)))


_ENTRIES = {
    "gaussian": st.sampled_from(_quantiles()),
    # Sixteenths in (0, 1].
    "uniform": st.sampled_from(
        sorted((k / 16 for k in range(1, 17)), key=lambda x: Fraction(x).denominator)
    ),
}
_PIVOTS = st.sampled_from((1.0, 2.0, 0.5, 4.0, 0.25, 2.0**-4, 2.0**-7, 2.0**-10, 2.0**-20))
_FORMS = st.sampled_from(("spread", "spread", "nearly degenerate", "dominant"))
_SIZE = st.integers(*SMALL_PIVOTS)
_SIGNED, _NONZERO = st.sampled_from((0, 1, -1, 2, -2)), st.sampled_from((1, -1, 2, -2))
_DIGITS = st.integers(0, 3)


def nearly_degenerate(draw: st.DrawFn, order: Sequence[int]) -> Floats:
    """L D L^T with small whole numbers in L, and D = 1 but for one pivot 4^-k.

    Its smallest pivot, in the order given, is from 1e-12 to 1e-3 of its diagonal entry.
    """
    d = len(order)
    L = np.tril(_table(draw, d, d, _SIGNED), -1) + np.eye(d)
    place = draw(st.integers(1, d - 1))
    # A row of zeros would make the pivot all of its diagonal entry.
    L[place, 0] = draw(_NONZERO)
    pivots = np.ones(d)
    pivots[place] = 4.0 ** -draw(_SIZE)
    return in_place((L * pivots) @ L.T, order)


def definite(draw: st.DrawFn, order: Sequence[int], most: int) -> tuple[Floats, Floats]:
    """L D L^T with small whole numbers in L and powers of two in D, its largest entry at least 1.

    Returns the matrix, and its pivots in the order given.
    """
    d = len(order)
    L = np.tril(_table(draw, d, most, _SIGNED), -1) + np.eye(d)
    pivots = np.array(draw(many(_PIVOTS, max(d, most)))[:d])
    ordered = (L * pivots) @ L.T
    factor = 2.0 ** max(0, math.ceil(-math.log2(ordered.max())))
    return in_place(factor * ordered, order), factor * pivots


def in_blocks(matrix: Floats, pattern: int) -> Floats:
    """Keep two diagonal blocks and put zeros between them; the bits of `pattern` tell them apart.

    `pattern`: from 1 to 2^(d - 1) - 1.
    """
    first = np.array([bool(pattern >> place & 1) for place in range(len(matrix))])
    return np.where(np.equal.outer(first, first), matrix, 0.0)


def in_place(ordered: Floats, order: Sequence[int]) -> Floats:
    """Put rows and columns in descending order of the signal where they belong."""
    matrix = np.empty_like(ordered)
    matrix[np.ix_(order, order)] = ordered
    return matrix


def bounded(
    draw: st.DrawFn,
    order: Sequence[int],
    beta: Fraction,
    most: int = 0,
    *,
    kind: str | None = None,
    anchored: bool = False,
) -> Floats:
    """A matrix whose entries lie between 1 and beta in size.

    `order`: directions in the order of the pivots. `kind`: by default drawn, as far as beta leaves
    room for it. `anchored`: whether the smallest entry has to be 1.
    """
    d, room = len(order), beta - 1
    form = draw(_FORMS)
    columns = draw(st.integers(0, d))
    V = _table(draw, d, most, _DIGITS)
    place, anchor = draw(st.integers(min(1, d - 1), d - 1)), draw(st.integers(0, d - 1))
    shift, size = draw(st.integers(0, 3)), draw(_SIZE)
    code = draw(st.integers(0, 2 ** (d * (d - 1) // 2) - 1))
    negative = [bool(code >> k & 1) for k in range(d * (d - 1) // 2)]
    form = kind or form
    if form == "dominant" and d > 2 and beta >= d - 1:
        return _dominant(V, negative, shift, min(beta, _LARGEST))
    if form == "nearly degenerate" and d > 1 and is_wide(beta):
        # The first row is made of ones: the other pivots are the squares of V's diagonal.
        V = np.tril(V, -1) + np.eye(d)
        V[0] = V[:, 0] = 0
        while 4 * Fraction(1, 4**size) > room:
            size += 1
        V[place, place] = 0
        for k, row in enumerate(V):
            small = Fraction(1, 4**size) if k == place else 0
            row *= _shrinking(row, room - small, 0)
        V[place, place] = 2.0**-size
        matrix = in_place(1 + V @ V.T, order)
    else:
        columns = min(columns, d - 2) if form == "rank-deficient" else columns
        V = V[:, :columns] if room >= _FINEST else 0 * V
        for row in V:
            row *= _shrinking(row, room, -shift)
        if anchored:
            V[anchor] = 0
        matrix = 1 + V @ V.T
    signs = np.where([False, *negative[: d - 1]], -1.0, 1.0)
    return np.asarray(matrix * np.outer(signs, signs))


def is_wide(beta: Fraction) -> bool:
    """Whether beta leaves room for a small pivot inside [1, beta]."""
    return beta - 1 >= Fraction(1, 4 ** (SMALL_PIVOTS[1] - 1))


def _shrinking(row: Floats, room: Fraction, least: int) -> float:
    """The largest 2^-e, e at least `least`, that makes the square of a row fit."""
    square, e = int(row @ row), least
    while square > room * Fraction(4) ** e:
        e += 1
    return 2.0**-e if square else 1.0


def _dominant(V: Floats, negative: list[bool], shift: int, beta: Fraction) -> Floats:
    """Any signs off the diagonal, in eighths; every w_ii is at least the sum of its row."""
    d = len(V)
    most, largest = math.floor(8 * beta / (d - 1)), math.floor(8 * beta)
    above = np.triu_indices(d, 1)
    sizes = [min(_EIGHTHS[int(digit)] or most, most) for digit in V[above]]
    sizes[0] = 8
    entries = np.zeros((d, d))
    entries[above] = np.where(negative, -1.0, 1.0) * sizes
    entries += entries.T
    sums = np.abs(entries).sum(axis=1)
    entries[np.diag_indices(d)] = sums + (largest - sums) * shift // 3
    return entries / 8


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
    d = task.dim
    if kind is None:
        kind = draw(st.sampled_from(KINDS if d > 1 else KINDS[2:]))
    if kind == "nearly degenerate":
        matrix = nearly_degenerate(draw, task.order)
    else:
        if kind == "rank-deficient":
            width = draw(st.integers(1, min(width, d - 1)))
        entries = _ENTRIES["uniform" if kind == "uniform" else "gaussian"]
        U = np.array(draw(many(entries, d * width))).reshape(d, width)
        matrix = U @ U.T
    return Scaled(matrix, draw(_OMEGAS) if omega is None else omega)


@st.composite
def _bounded(
    draw: st.DrawFn, task: SIMTask, kind: str | None, omega: Fraction, beta: Fraction
) -> Scaled:
    return Scaled(bounded(draw, task.order, beta, kind=kind), omega)
