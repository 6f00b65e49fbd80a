"""Compiled: steps of euler and gd for d up to 8, with W in eight vectors. Imports numba.

The formulas of :mod:`swingby.simulate.tile_steps` for a single tile: the rows of W and of all
that is made of them stay in the registers.
"""

from __future__ import annotations

from swingby.simulate.compiling import compiled, compiled_inside
from swingby.simulate.state import Floats
from swingby.simulate.tile_steps import c_row, gd_row
from swingby.simulate.tiles import Tile, product, rows_of, store_rows, sums, transposed, upper
from swingby.simulate.vectors import WIDTH, fused, load, spread

#: Largest d.
MOST_IN_ROWS = WIDTH
#: Numbers of an 8 by 8 matrix.
_SIZE = WIDTH * WIDTH
#: Where they begin in the work array: W before the eight steps and after each; eta (a_i + a_j);
#: the same times the squares; eta a_j; C.
_SUMS = (WIDTH + 1) * _SIZE
_FACTORS = _SUMS + _SIZE
_RATES = _FACTORS + _SIZE
_C = _RATES + WIDTH
#: Numbers in the work array.
ROW_WORK = _C + _SIZE


@compiled_inside
def _times(area: Floats, first: int, w: Tile) -> Tile:  # pragma: no cover
    """Entries of a constant matrix times those of W."""
    return (
        load(area, first) * w[0],
        load(area, first + 8) * w[1],
        load(area, first + 16) * w[2],
        load(area, first + 24) * w[3],
        load(area, first + 32) * w[4],
        load(area, first + 40) * w[5],
        load(area, first + 48) * w[6],
        load(area, first + 56) * w[7],
    )


@compiled_inside
def _less_half(x: Tile, y: Tile) -> Tile:  # pragma: no cover
    """The matrix x - y/2."""
    half = spread(-0.5)
    return (
        fused(half, y[0], x[0]),
        fused(half, y[1], x[1]),
        fused(half, y[2], x[2]),
        fused(half, y[3], x[3]),
        fused(half, y[4], x[4]),
        fused(half, y[5], x[5]),
        fused(half, y[6], x[6]),
        fused(half, y[7], x[7]),
    )


@compiled_inside
def _gd(area: Floats, x: int, w: Tile) -> Tile:  # pragma: no cover
    """The next W under gd."""
    rates = load(area, _RATES)
    panel = _times(area, _FACTORS, w)
    y = product(area, x, panel)
    # The transpose of C.
    e = (
        c_row(rates, w[0], y[0]),
        c_row(rates, w[1], y[1]),
        c_row(rates, w[2], y[2]),
        c_row(rates, w[3], y[3]),
        c_row(rates, w[4], y[4]),
        c_row(rates, w[5], y[5]),
        c_row(rates, w[6], y[6]),
        c_row(rates, w[7], y[7]),
    )
    c = transposed(e)
    store_rows(area, _C, WIDTH, c, WIDTH)
    q = product(area, _C, panel)
    rows = (
        gd_row(w[0], c[0], e[0], rates, q[0]),
        gd_row(w[1], c[1], e[1], rates, q[1]),
        gd_row(w[2], c[2], e[2], rates, q[2]),
        gd_row(w[3], c[3], e[3], rates, q[3]),
        gd_row(w[4], c[4], e[4], rates, q[4]),
        gd_row(w[5], c[5], e[5], rates, q[5]),
        gd_row(w[6], c[6], e[6], rates, q[6]),
        gd_row(w[7], c[7], e[7], rates, q[7]),
    )
    new: Tile = upper(rows, transposed(rows))
    return new


@compiled
def row_steps(
    X: Floats,
    signal: Floats,
    eta: float,
    square: Floats,
    gd: bool,
    count: int,
    block: Floats,
    area: Floats,
) -> None:  # pragma: no cover
    """Take `count` steps from X into the block; `area` has ROW_WORK numbers, zero at first.

    ``block[i, j, n]`` for i <= j takes x_ij after step n; its last axis holds whole vectors.
    """
    d = X.shape[0]
    length = block.shape[2]
    for i in range(d):
        area[_RATES + i] = eta * signal[i]
    for i in range(d):
        for j in range(d):
            area[i * WIDTH + j] = X[i, j]
            rate = area[_RATES + i] + area[_RATES + j]
            area[_SUMS + i * WIDTH + j] = rate
            area[_FACTORS + i * WIDTH + j] = square[i] * rate
    w = rows_of(area, 0, WIDTH)
    for first in range(0, count, WIDTH):
        taken = min(WIDTH, count - first)
        for n in range(taken):
            if gd:
                w = _gd(area, n * _SIZE, w)
            else:
                y = product(area, n * _SIZE, _times(area, _FACTORS, w))
                y = sums(y, transposed(y))
                w = sums(w, _less_half(_times(area, _SUMS, w), y))
            store_rows(area, (n + 1) * _SIZE, WIDTH, w, WIDTH)
        store_rows(area, 0, WIDTH, w, WIDTH)
        for i in range(d):
            columns = transposed(rows_of(area, _SIZE + i * WIDTH, _SIZE))
            store_rows(block, i * d * length + first, length, columns, d)
