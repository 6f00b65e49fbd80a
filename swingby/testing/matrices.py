r"""Initial matrices, drawn: positive semidefinite, with float entries that are exact.

Every matrix is :math:`U U^T` with a factor of dyadic numbers of few bits, so that products and sums
are exact in floats. Where U has rows of :math:`|u|^2 \le \beta - 1`, all entries of
:math:`1 1^T + U U^T` lie in :math:`[1, \beta]`, and signs on both sides change neither sizes nor
definiteness.

The number of choices hardly depends on the dimension: otherwise Hypothesis, which varies one of
them, would discard draws.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from hypothesis import strategies as st

from swingby.errors import InvalidInput
from swingby.testing.assumption_setting import choice
from swingby.theory import numbers
from swingby.theory.initial import Scaled
from swingby.theory.task import SIMTask

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

T = TypeVar("T")

#: The dimensions drawn when none is asked for are 1 to this.
USUAL_DIRECTIONS = 4
#: What is drawn is meant to be read; a matrix of more directions is not.
MOST_DIRECTIONS = 32
#: A nearly degenerate pivot is 4^-k with k in this range: below 1e-3, and above 1e-12 of its
#: diagonal entry.
_SMALL_PIVOTS = (5, 15)
#: With a smaller beta - 1 than this, 1 + u^2 would not be exact in a float.
_FINEST = Fraction(1, 4**17)

#: Those that can be kept between omega and beta omega, and that one direction does not have.
_BOUNDED_KINDS = ("rank-deficient", "nearly degenerate")
KINDS = (*_BOUNDED_KINDS, "uniform", "gaussian")


def readable(task: Any) -> SIMTask:
    """Read a task for which matrices can be drawn: at most 32 directions."""
    if not isinstance(task, SIMTask):
        raise InvalidInput("task", task, "must be a SIMTask")
    numbers.whole(task.dim, "task.dim", 1, most=MOST_DIRECTIONS)
    return task


def _quantiles() -> tuple[float, ...]:
    """40 quantiles of N(0, 1), rounded away from 0 to sixteenths, simplest first."""
    values = [NormalDist().inv_cdf((k + 0.5) / 40) for k in range(40)]
    rounded = [math.copysign(math.ceil(abs(value) * 16) / 16, value) for value in values]
    return tuple(sorted(rounded, key=lambda value: (abs(math.log(abs(value))), value < 0)))


#: Entries, simplest first: sixteenths in (0, 1] are uniform.
_GAUSSIAN = _quantiles()
_UNIFORM = tuple(sorted((k / 16 for k in range(1, 17)), key=lambda x: x.as_integer_ratio()[1]))
_SIGNED, _DIGITS = (0, 1, -1, 2, -2), (0, 1, 2, 3)
_NONZERO, _SIZE = st.sampled_from(_SIGNED[1:]), st.integers(*_SMALL_PIVOTS)
#: Square roots of pivots.
_ROOTS = st.sampled_from((1.0, 2.0, 0.5, 4.0, 2.0**-2, 2.0**-4, 2.0**-6, 2.0**-10))
_KINDS = st.sampled_from(("spread", "spread", "nearly degenerate"))


def draw_list(draw: st.DrawFn, values: st.SearchStrategy[T], count: int) -> list[T]:
    """Draw some values, as many as for the largest of the usual dimensions, or more."""
    return [draw(values) for _ in range(max(count, USUAL_DIRECTIONS))][:count]


def _table(draw: st.DrawFn, rows: int, columns: int, entries: Sequence[float]) -> Floats:
    """A matrix of such entries; each whole number drawn holds four of them as digits."""
    base, count = len(entries), rows * columns
    codes = draw_list(draw, st.integers(0, base**4 - 1), -(-count // 4))
    digits = (np.array(codes)[:, None] // base ** np.arange(4) % base).ravel()[:count]
    return np.array(entries, dtype=float)[digits].reshape(rows, columns)


def _in_task_order(ordered: Floats, order: Sequence[int]) -> Floats:
    """Put rows and columns in descending order of the signal where they belong."""
    matrix = np.empty_like(ordered)
    matrix[np.ix_(order, order)] = ordered
    return matrix


def _triangular(draw: st.DrawFn, order: Sequence[int], roots: Floats) -> Floats:
    """L D L^T with small whole numbers in L and the squares of `roots` in D."""
    d = len(order)
    L = np.tril(_table(draw, d, d, _SIGNED), -1) + np.eye(d)
    # A row of zeros would make a small pivot all of its diagonal entry.
    weakest, entry = int(roots.argmin()), draw(_NONZERO)
    L[weakest, 0] = entry if weakest else 1
    factor = L * roots
    return _in_task_order(factor @ factor.T, order)


def definite(draw: st.DrawFn, order: Sequence[int]) -> tuple[Floats, Fraction]:
    """A positive definite matrix whose first pivot is 1, and its smallest pivot."""
    roots = np.array([1.0, *draw_list(draw, _ROOTS, len(order) - 1)])
    return _triangular(draw, order, roots), Fraction(float(roots.min())) ** 2


def bounded(
    draw: st.DrawFn, order: Sequence[int], beta: Fraction, kind: str | None = None
) -> Floats:
    """A matrix whose entries lie between 1 and beta in size; the smallest is 1.

    `order`: directions in the order of the pivots. `kind`: by default any that beta has room for.
    """
    d, room = len(order), beta - 1
    U, drawn = _table(draw, d, d, _DIGITS), draw(_KINDS)
    columns, pivot, size = draw(st.integers(0, d)), draw(st.integers(0, d - 1)), draw(_SIZE)
    code = draw(st.integers(0, 2 ** (d - 1) - 1))
    if d > 1 and _is_wide(beta) and (kind or drawn) == "nearly degenerate":
        pivot = max(pivot, 1)
        while 4 * Fraction(1, 4**size) > room:
            size += 1
        # The first row is made of ones: the other pivots are the squares of the diagonal.
        U = np.tril(U, -1) + np.eye(d)
        U[0] = U[:, 0] = U[pivot, pivot] = 0
        for k, row in enumerate(U):
            row *= _fitting(row, room - (Fraction(1, 4**size) if k == pivot else 0))
        U[pivot, pivot] = 2.0**-size
    else:
        U[:, min(columns, d - 2) if kind else columns :] = 0
        U[pivot] = 0
        for row in U:
            row *= _fitting(row, room)
    signs = np.array([-1.0 if code >> k & 1 else 1.0 for k in range(d)])
    return _in_task_order(1 + U @ U.T, order) * np.outer(signs, signs)


def _is_wide(beta: Fraction) -> bool:
    """Whether beta leaves room for a small pivot inside [1, beta]."""
    return beta - 1 >= Fraction(1, 4 ** (_SMALL_PIVOTS[1] - 1))


def _fitting(row: Floats, room: Fraction) -> float:
    """The largest power of two, at most 1, that makes the square of a row fit; 0 if too small."""
    square, e = int(row @ row), 0
    while room >= _FINEST and square > room * 4**e:
        e += 1
    return 2.0**-e if room >= _FINEST else 0.0


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
    a semidefinite matrix, with signs, nearly degenerate in some of the draws. Shrinks to whole
    numbers, mostly ones.

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
        if kind in _BOUNDED_KINDS and task.dim == 1:
            raise InvalidInput("kind", kind, "must be another kind if there is one direction")
    columns = task.dim if width is None else numbers.whole(width, "width", 1, most=256)
    scale = None if omega is None else numbers.positive(omega, "omega", "Assumption D.4")
    if beta is None:
        return _initial(task, kind, scale, None, columns)
    spread = numbers.positive(beta, "beta", "Assumption D.1")
    if scale is None:
        raise InvalidInput("beta", beta, "must come with omega", "(D.8)")
    if spread < 1:
        raise InvalidInput("beta", beta, "must be at least 1", "Assumption D.1")
    if kind is not None and kind not in _BOUNDED_KINDS:
        raise InvalidInput("kind", kind, f"must be one of {', '.join(_BOUNDED_KINDS)} with beta")
    if width is not None:
        raise InvalidInput("width", width, "must be left out with beta")
    if kind == "nearly degenerate" and not _is_wide(spread):
        raise InvalidInput("beta", beta, "must be at least 1 + 4^-14 for a nearly degenerate W(0)")
    return _initial(task, kind, scale, spread, columns)


@st.composite
def _initial(
    draw: st.DrawFn,
    task: SIMTask,
    kind: str | None,
    omega: Fraction | None,
    beta: Fraction | None,
    width: int,
) -> Scaled:
    """W(0) as :func:`initializations` says."""
    d, order = task.dim, task.order
    scale = draw(_OMEGAS) if omega is None else omega
    if beta is not None:
        return Scaled(bounded(draw, order, beta, kind), scale)
    kind = kind or draw(st.sampled_from(KINDS if d > 1 else KINDS[2:]))
    columns = draw(st.integers(1, max(min(width, d - 1), 1)))
    pivot = draw(st.integers(1, max(d - 1, 1)))
    if kind == "nearly degenerate":
        roots = np.ones(d)
        roots[pivot] = 2.0 ** -draw(_SIZE)
        return Scaled(_triangular(draw, order, roots), scale)
    width = columns if kind == "rank-deficient" else width
    U = _table(draw, d, width, _UNIFORM if kind == "uniform" else _GAUSSIAN)
    return Scaled(U @ U.T, scale)
