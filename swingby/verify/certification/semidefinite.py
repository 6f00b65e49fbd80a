r"""Whether W(t) is positive semidefinite, exactly and in balls.

An exactly singular matrix cannot be told from an indefinite one in balls. Two facts about (D.2)
make this a matter of the exact first steps alone.

*What stays singular.* Let v lie in an eigenspace of A, :math:`Av = av` (so v is supported on
concepts of equal signal), and :math:`W(t)v = 0`. Then

.. math:: Bv = av - \tfrac12 (AWv + WAv) = av, \qquad W(t+1)v = Wv + \eta(BWv + WBv) = 0,

and the same for :math:`(I + \eta B)W(I + \eta B)v`. Let K be the span of all such v. If J are
concepts such that every vector is the sum of one in K and one supported on J, then W(t) is positive
semidefinite if and only if its rows and columns J are, at this step and at every later one.

*What does not.* Under (D.2) let W be positive semidefinite with no eigenvalue 2 and small enough
that :math:`I + \eta B` is invertible, :math:`Wu = 0`, and :math:`v = (I + \eta B)^{-1}u`. Since
:math:`W' = (I + \eta B)W(I + \eta B) - \eta^2 BWB`,

.. math:: v^T W' v = -\eta^2 (Bv)^T W (Bv), \qquad \eta Bv = u - v, \qquad \eta WBv = -Wv,

which is negative unless Wv = 0. If Wv = 0 for every u of the kernel, then
:math:`(I + \eta B)^{-1}`, and so B, maps the kernel into itself: :math:`WBu = W(I - W/2)Au = 0`,
and so WAu = 0. So either A keeps the kernel, which is then spanned by vectors of the first kind, or
semidefiniteness is lost in the next step, by an amount that balls of enough bits see.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import flint

from swingby.verify.certification.exact_run import Rows


def exactly_semidefinite(W: Rows, concepts: Sequence[int]) -> bool:
    """Whether a principal submatrix is positive semidefinite, by exact LDL^T.

    `W`: symmetric. `concepts`: rows and columns of the submatrix.

    Examples
    --------
    >>> one = flint.fmpq(1)
    >>> exactly_semidefinite([[one, one], [one, one]], [0, 1])
    True
    """
    return not any(pivot < 0 for pivot in exact_pivots(W, concepts))


def exact_pivots(W: Rows, concepts: Sequence[int]) -> list[Any]:
    """Pivots of LDL^T in the given order; a pivot of 0 with a nonzero row counts as -1.

    Returns ends with the first negative one.
    """
    rest = [[W[i][j] for j in concepts] for i in concepts]
    pivots = []
    for k in range(len(rest)):
        pivot = rest[k][k]
        if pivot == 0 and any(rest[k][j] != 0 for j in range(k + 1, len(rest))):
            # The 2 x 2 minor of a zero and a nonzero entry beside it is negative.
            pivot = flint.fmpq(-1)
        pivots.append(pivot)
        if pivot < 0:
            break
        if pivot == 0:
            continue
        for i in range(k + 1, len(rest)):
            factor = rest[i][k] / pivot
            for j in range(k + 1, len(rest)):
                rest[i][j] -= factor * rest[k][j]
    return pivots


def semidefinite_in_balls(W: list[list[flint.arb]], concepts: Sequence[int]) -> bool | None:
    """Whether a principal submatrix is positive definite or indefinite, by LDL^T in balls.

    `W`: symmetric.
    `concepts`: the order in which concepts are eliminated.
    Returns True: every matrix in the balls is positive definite. False: none is semidefinite. None:
    the balls do not decide it.
    """
    left = list(concepts)
    rest = [[W[i][j] for j in left[: place + 1]] for place, i in enumerate(left)]
    size = len(left)
    for k in range(size):
        pivot = rest[k][k]
        if not pivot > 0:
            return False if any(rest[i][i] < 0 for i in range(k, size)) else None
        for i in range(k + 1, size):
            entry = rest[i][k]
            if entry == 0:
                continue
            factor = entry / pivot
            row = rest[i]
            for j in range(k + 1, i + 1):
                row[j] -= factor * rest[j][k]
    return True


def independent_concepts(signal: Sequence[Fraction], W: Rows, concepts: Sequence[int]) -> list[int]:
    """The concepts J that decide semidefiniteness, at this step and at every later one.

    `signal`: a, length d. `concepts`: the concepts to choose from: a union of blocks. Returns in
    descending order of a, which is the order in which W's entries are largest.

    Examples
    --------
    >>> one = flint.fmpq(1)
    >>> independent_concepts([Fraction(1)] * 2, [[one, one], [one, one]], [0, 1])
    [0]
    """
    kept = []
    for value in sorted({signal[k] for k in concepts}, reverse=True):
        group = [k for k in concepts if signal[k] == value]
        columns = flint.fmpq_mat(len(W), len(group), [row[k] for row in W for k in group])
        reduced, rank = columns.rref()
        # Column k leads a row of the reduced form, or it is a combination of those that do and
        # gives one vector of the kernel with a 1 in place k.
        leads = [next(c for c in range(len(group)) if reduced[r, c] != 0) for r in range(rank)]
        kept += [group[c] for c in leads]
    return kept
