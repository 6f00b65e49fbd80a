r"""Positive semidefinite matrices whose entries lie between 1 and beta in size.

As in :mod:`swingby.testing.matrices`, float entries are exact. With a matrix V of entries at least
0 and rows of :math:`|v|^2 \le \beta - 1`, all entries of :math:`1 1^T + V V^T` lie in
:math:`[1, \beta]`, and signs on both sides change neither sizes nor definiteness. Where beta is
at least d - 1, a diagonal that dominates allows all other patterns of signs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from swingby.testing.matrices import SMALL_PIVOTS, between, in_place, many, rows

if TYPE_CHECKING:
    from swingby.testing.matrices import Floats

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
        return nearly_degenerate(drawn, order, beta)
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


def nearly_degenerate(drawn: Draws, order: Sequence[int], beta: Fraction) -> Floats:
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
