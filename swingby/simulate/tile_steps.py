r"""Compiled: steps of euler and gd for any d, in tiles of eight by eight entries. Imports numba.

With :math:`g_{ij} = \eta (a_i + a_j) w_{ij}` and :math:`y = g w`, the euler step is
:math:`w + g - \tfrac12 (y + y^T)`. A tile on the diagonal is one product of rows and columns and
its own transpose. Of two tiles that mirror one another the upper one is computed, as
:math:`\eta a_i` times the sum of :math:`w_{ik} w_{kj}`, plus the sum of
:math:`\eta w_{ik} (2 a_k + a_j) w_{kj}`, and transposed. For gd, :math:`c_{ij} = \eta a_i w_{ij} -
\tfrac12 y_{ij}` is computed in full and

.. math:: w_{ij} + \bigl((c_{ij} + c_{ji}) + (\eta a_j c_{ij} - \tfrac12 \textstyle\sum_k c_{ik}
          g_{kj})\bigr)

from the diagonal on. Where W is held as D X D, the factor on one side of every sum over k carries
``square[k]``. Sums run over k upwards, each product rounded together with its sum, so an entry
depends on nothing but W one step before; W stays exactly symmetric.

Matrices lie one after the other in a work array, in rows of :func:`stride` numbers. The last
eight steps are kept there; every eight steps they are written to the block, where the steps of
an entry lie side by side.
"""

from __future__ import annotations

from typing import Any

from swingby.simulate.compiling import compiled, compiled_inside
from swingby.simulate.state import Floats
from swingby.simulate.tiles import Tile, rows_of, store_rows, sums, transposed, upper
from swingby.simulate.vectors import WIDTH, aligned, fused, load, spread, spread_at, store

#: Matrices in the work array: W before the eight steps and after each, then C.
_SLOTS = WIDTH + 1


@compiled
def stride(d: int) -> int:  # pragma: no cover
    """Numbers from one row to the next: whole vectors, odd in number where they are many.

    Rows a power of two apart would share few places of the cache.
    """
    vectors = (d + WIDTH - 1) // WIDTH
    return WIDTH * (vectors | 1 if vectors >= 4 else vectors)


@compiled
def work_array(d: int) -> Floats:  # pragma: no cover
    """Room for :func:`tile_steps`, all zero: what lies beyond d must remain so."""
    rows = WIDTH * ((d + WIDTH - 1) // WIDTH)
    return aligned(((_SLOTS + 1) * rows + 2 * WIDTH) * stride(d) + 2 * rows)


@compiled_inside
def _product(area: Floats, left: int, panel: int, width: int, d: int) -> Tile:  # pragma: no cover
    """A tile of a product: eight rows from `left` on times a panel of eight columns."""
    a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = spread(0.0)
    for k in range(d):
        row = load(area, panel + k * WIDTH)
        a0 = fused(spread_at(area, left + k), row, a0)
        a1 = fused(spread_at(area, left + width + k), row, a1)
        a2 = fused(spread_at(area, left + 2 * width + k), row, a2)
        a3 = fused(spread_at(area, left + 3 * width + k), row, a3)
        a4 = fused(spread_at(area, left + 4 * width + k), row, a4)
        a5 = fused(spread_at(area, left + 5 * width + k), row, a5)
        a6 = fused(spread_at(area, left + 6 * width + k), row, a6)
        a7 = fused(spread_at(area, left + 7 * width + k), row, a7)
    return a0, a1, a2, a3, a4, a5, a6, a7


@compiled_inside
def _two_products(
    area: Floats, left: int, rates: int, panel: int, second: int, width: int, d: int
) -> Tile:  # pragma: no cover
    """The same rows times two panels; the first product times the rate of the row is added."""
    a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = spread(0.0)
    b0 = b1 = b2 = b3 = b4 = b5 = b6 = b7 = spread(0.0)
    for k in range(d):
        row, other = load(area, panel + k * WIDTH), load(area, second + k * WIDTH)
        at = left + k
        w = spread_at(area, at)
        a0, b0 = fused(w, row, a0), fused(w, other, b0)
        w = spread_at(area, at + width)
        a1, b1 = fused(w, row, a1), fused(w, other, b1)
        w = spread_at(area, at + 2 * width)
        a2, b2 = fused(w, row, a2), fused(w, other, b2)
        w = spread_at(area, at + 3 * width)
        a3, b3 = fused(w, row, a3), fused(w, other, b3)
        w = spread_at(area, at + 4 * width)
        a4, b4 = fused(w, row, a4), fused(w, other, b4)
        w = spread_at(area, at + 5 * width)
        a5, b5 = fused(w, row, a5), fused(w, other, b5)
        w = spread_at(area, at + 6 * width)
        a6, b6 = fused(w, row, a6), fused(w, other, b6)
        w = spread_at(area, at + 7 * width)
        a7, b7 = fused(w, row, a7), fused(w, other, b7)
    return (
        fused(spread_at(area, rates), a0, b0),
        fused(spread_at(area, rates + 1), a1, b1),
        fused(spread_at(area, rates + 2), a2, b2),
        fused(spread_at(area, rates + 3), a3, b3),
        fused(spread_at(area, rates + 4), a4, b4),
        fused(spread_at(area, rates + 5), a5, b5),
        fused(spread_at(area, rates + 6), a6, b6),
        fused(spread_at(area, rates + 7), a7, b7),
    )


@compiled_inside
def _euler_row(rate: Any, rates: Any, x: Any, y: Any) -> Any:  # pragma: no cover
    return x + fused(spread(-0.5), y, (rate + rates) * x)


@compiled_inside
def _euler_rows(
    area: Floats, rates: int, i: int, j: int, x: Tile, y: Tile
) -> Tile:  # pragma: no cover
    """The next rows i to i + 7 of W from those of W and of Y + Y^T."""
    own = load(area, rates + j)
    r = rates + i
    return (
        _euler_row(spread_at(area, r), own, x[0], y[0]),
        _euler_row(spread_at(area, r + 1), own, x[1], y[1]),
        _euler_row(spread_at(area, r + 2), own, x[2], y[2]),
        _euler_row(spread_at(area, r + 3), own, x[3], y[3]),
        _euler_row(spread_at(area, r + 4), own, x[4], y[4]),
        _euler_row(spread_at(area, r + 5), own, x[5], y[5]),
        _euler_row(spread_at(area, r + 6), own, x[6], y[6]),
        _euler_row(spread_at(area, r + 7), own, x[7], y[7]),
    )


@compiled_inside
def _panel(
    area: Floats, x: int, j: int, panel: int, rates: int, squares: int, width: int, d: int
) -> None:  # pragma: no cover
    """Columns j to j + 7 of G, with the squares, row after row."""
    own = load(area, rates + j)
    for k in range(d):
        z = spread_at(area, squares + k) * load(area, x + k * width + j)
        store(area, panel + k * WIDTH, (spread_at(area, rates + k) + own) * z)


@compiled_inside
def _panels(
    area: Floats,
    x: int,
    j: int,
    panel: int,
    second: int,
    rates: int,
    squares: int,
    width: int,
    d: int,
) -> None:  # pragma: no cover
    """Columns j to j + 7 of s_k w_kj and of (2 r_k + r_j) s_k w_kj."""
    own = load(area, rates + j)
    for k in range(d):
        z = spread_at(area, squares + k) * load(area, x + k * width + j)
        store(area, panel + k * WIDTH, z)
        rate = spread_at(area, rates + k)
        store(area, second + k * WIDTH, (rate + (rate + own)) * z)


@compiled
def _euler(
    area: Floats, x: int, new: int, panel: int, rates: int, squares: int, width: int, d: int
) -> None:  # pragma: no cover
    """One step of euler, from the matrix at `x` to the one at `new`."""
    second = panel + WIDTH * width
    for j in range(0, d, WIDTH):
        _panel(area, x, j, panel, rates, squares, width, d)
        y = _product(area, x + j * width, panel, width, d)
        here = j * width + j
        w = rows_of(area, x + here, width)
        rows = _euler_rows(area, rates, j, j, w, sums(y, transposed(y)))
        store_rows(area, new + here, width, rows, WIDTH)
        if j > 0:
            _panels(area, x, j, panel, second, rates, squares, width, d)
        for i in range(0, j, WIDTH):
            y = _two_products(area, x + i * width, rates + i, panel, second, width, d)
            here = i * width + j
            rows = _euler_rows(area, rates, i, j, rows_of(area, x + here, width), y)
            store_rows(area, new + here, width, rows, WIDTH)
            store_rows(area, new + j * width + i, width, transposed(rows), WIDTH)


@compiled_inside
def c_row(rate: Any, x: Any, y: Any) -> Any:  # pragma: no cover
    """Eight entries of C, or of its transpose."""
    return fused(spread(-0.5), y, rate * x)


@compiled_inside
def gd_row(x: Any, c: Any, mirrored: Any, rate: Any, total: Any) -> Any:  # pragma: no cover
    """Eight entries of the next W under gd; `total` is the sum of c_ik g_kj."""
    return x + ((c + mirrored) + fused(spread(-0.5), total, rate * c))


@compiled
def _gd(
    area: Floats,
    x: int,
    new: int,
    C: int,
    panel: int,
    rates: int,
    squares: int,
    width: int,
    d: int,
) -> None:  # pragma: no cover
    """One step of gd, from the matrix at `x` to the one at `new`."""
    for j in range(0, d, WIDTH):
        _panel(area, x, j, panel, rates, squares, width, d)
        own = load(area, rates + j)
        for i in range(0, d, WIDTH):
            y = _product(area, x + i * width, panel, width, d)
            w = rows_of(area, x + i * width + j, width)
            # Rows of the transpose of C.
            rows = (
                c_row(own, w[0], y[0]),
                c_row(own, w[1], y[1]),
                c_row(own, w[2], y[2]),
                c_row(own, w[3], y[3]),
                c_row(own, w[4], y[4]),
                c_row(own, w[5], y[5]),
                c_row(own, w[6], y[6]),
                c_row(own, w[7], y[7]),
            )
            store_rows(area, C + j * width + i, width, transposed(rows), WIDTH)
    for j in range(0, d, WIDTH):
        _panel(area, x, j, panel, rates, squares, width, d)
        own = load(area, rates + j)
        for i in range(0, j + 1, WIDTH):
            here, mirrored = i * width + j, j * width + i
            q = _product(area, C + i * width, panel, width, d)
            w, c = rows_of(area, x + here, width), rows_of(area, C + here, width)
            e = transposed(rows_of(area, C + mirrored, width))
            rows = (
                gd_row(w[0], c[0], e[0], own, q[0]),
                gd_row(w[1], c[1], e[1], own, q[1]),
                gd_row(w[2], c[2], e[2], own, q[2]),
                gd_row(w[3], c[3], e[3], own, q[3]),
                gd_row(w[4], c[4], e[4], own, q[4]),
                gd_row(w[5], c[5], e[5], own, q[5]),
                gd_row(w[6], c[6], e[6], own, q[6]),
                gd_row(w[7], c[7], e[7], own, q[7]),
            )
            columns = transposed(rows)
            if i == j:
                store_rows(area, new + here, width, upper(rows, columns), WIDTH)
            else:
                store_rows(area, new + here, width, rows, WIDTH)
                store_rows(area, new + mirrored, width, columns, WIDTH)


@compiled
def tile_steps(
    X: Floats,
    signal: Floats,
    eta: float,
    square: Floats,
    gd: bool,
    count: int,
    block: Floats,
    area: Floats,
) -> None:  # pragma: no cover
    """Take `count` steps from X into the block; `area` is from :func:`work_array`.

    ``block[i, j, n]`` for i <= j takes x_ij after step n; its last axis holds whole vectors.
    """
    d = X.shape[0]
    width = stride(d)
    rows = WIDTH * ((d + WIDTH - 1) // WIDTH)
    size = rows * width
    C = _SLOTS * size
    panel = C + size
    rates = panel + 2 * WIDTH * width
    squares = rates + rows
    for i in range(d):
        area[rates + i] = eta * signal[i]
        area[squares + i] = square[i]
        for j in range(d):
            area[i * width + j] = X[i, j]
    length = block.shape[2]
    for first in range(0, count, WIDTH):
        taken = min(WIDTH, count - first)
        for x in range(0, taken * size, size):
            if gd:
                _gd(area, x, x + size, C, panel, rates, squares, width, d)
            else:
                _euler(area, x, x + size, panel, rates, squares, width, d)
        for i in range(d):
            for j in range(i - i % WIDTH, d, WIDTH):
                columns = transposed(rows_of(area, size + i * width + j, size))
                store_rows(block, (i * d + j) * length + first, length, columns, d - j)
            for j in range(i * width, i * width + d, WIDTH):
                store(area, j, load(area, taken * size + j))
