"""Initial matrices W(0)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from swingby.errors import InvalidInput
from swingby.testing import bounded_matrices, matrices
from swingby.testing.arguments import choice, readable
from swingby.theory import numbers
from swingby.theory.initial import Scaled
from swingby.theory.task import SIMTask

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
    if kind == "nearly degenerate" and not bounded_matrices.is_wide(spread):
        raise InvalidInput("beta", beta, "must be at least 1 + 4^-14 for a nearly degenerate W(0)")
    return _bounded(task, kind, scale, spread)


@st.composite
def _unbounded(
    draw: st.DrawFn, task: SIMTask, kind: str | None, omega: Fraction | None, width: int
) -> Scaled:
    if kind is None:
        kind = draw(_KINDS_ONE if task.dim == 1 else _KINDS)
    if kind == "nearly degenerate":
        matrix = matrices.nearly_degenerate(draw, task.order)
    else:
        columns = width
        if kind == "rank-deficient":
            columns = draw(st.integers(1, min(width, task.dim - 1)))
        entries = matrices.UNIFORM if kind == "uniform" else matrices.NORMAL
        matrix = matrices.gram(draw, entries, task.dim, columns)
    return Scaled(matrix, draw(_OMEGAS) if omega is None else omega)


_KINDS = st.sampled_from(KINDS)
_KINDS_ONE = st.sampled_from(KINDS[2:])


@st.composite
def _bounded(
    draw: st.DrawFn, task: SIMTask, kind: str | None, omega: Fraction, beta: Fraction
) -> Scaled:
    if kind is None:
        return Scaled(bounded_matrices.any_form(draw, task.order, beta), omega)
    drawn = bounded_matrices.draws(draw, task.dim, task.dim)
    if kind == "nearly degenerate":
        matrix = bounded_matrices.nearly_degenerate(drawn, task.order, beta)
    else:
        matrix = bounded_matrices.spread(drawn, beta, min(drawn.columns, task.dim - 2))
    return Scaled(matrix, omega)
