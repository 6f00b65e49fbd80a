"""Eight by eight matrices in compiled code: eight vectors in a tuple. Imports numba."""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from swingby.simulate.compiling import compiled_inside
from swingby.simulate.state import Floats
from swingby.simulate.vectors import (
    DOUBLES,
    WIDTH,
    emit_address,
    emit_call,
    emit_shuffle,
    emit_spread,
    emit_store,
    load,
)

#: A matrix by its rows.
Tile = tuple[Any, ...]


@compiled_inside
def rows_of(area: Floats, first: int, width: int) -> Tile:  # pragma: no cover
    """Eight rows of a tile."""
    return (
        load(area, first),
        load(area, first + width),
        load(area, first + 2 * width),
        load(area, first + 3 * width),
        load(area, first + 4 * width),
        load(area, first + 5 * width),
        load(area, first + 6 * width),
        load(area, first + 7 * width),
    )


@compiled_inside
def sums(a: Tile, b: Tile) -> Tile:  # pragma: no cover
    """The sum of two matrices."""
    return (
        a[0] + b[0],
        a[1] + b[1],
        a[2] + b[2],
        a[3] + b[3],
        a[4] + b[4],
        a[5] + b[5],
        a[6] + b[6],
        a[7] + b[7],
    )


def _transposed(builder: Any, rows: list[Any]) -> list[Any]:
    """Columns of an 8 by 8 matrix: pairs, then pairs of pairs, then halves."""
    for reach in (1, 2, 4):
        swapped = list(rows)
        for i in range(WIDTH):
            if i & reach:
                continue
            # Blocks of `reach` columns: even ones of both rows, and odd ones of both rows.
            even = [c if not c & reach else c - reach + WIDTH for c in range(WIDTH)]
            odd = [c + reach if not c & reach else c + WIDTH for c in range(WIDTH)]
            swapped[i] = emit_shuffle(builder, rows[i], rows[i + reach], even)
            swapped[i + reach] = emit_shuffle(builder, rows[i], rows[i + reach], odd)
        rows = swapped
    return rows


@intrinsic  # type: ignore[untyped-decorator]
def transposed(typing_context: Any, rows: Any) -> Any:
    """Columns of an 8 by 8 matrix that is given by its rows, a tuple of vectors."""

    def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        parts = [builder.extract_value(given[0], i) for i in range(WIDTH)]
        result = given[0]
        for i, column in enumerate(_transposed(builder, parts)):
            result = builder.insert_value(result, column, i)
        return result

    return rows(rows), emit


@intrinsic  # type: ignore[untyped-decorator]
def product(typing_context: Any, array: Any, index: Any, right: Any) -> Any:
    """The product of an 8 by 8 matrix that lies in an array and one given by its rows.

    Sums run upwards, every one rounded together with its product.
    """

    def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        array, index, right = given
        rows = [builder.extract_value(right, k) for k in range(WIDTH)]
        result = right
        for i in range(WIDTH):
            total = ir.Constant(DOUBLES, [0.0] * WIDTH)
            for k, row in enumerate(rows):
                place = builder.add(index, ir.Constant(index.type, i * WIDTH + k))
                number = builder.load(
                    emit_address(context, builder, signature.args[0], array, place)
                )
                total = emit_call(builder, "fma", [emit_spread(builder, number), row, total])
            result = builder.insert_value(result, total, i)
        return result

    return right(array, types.int64, right), emit


@intrinsic  # type: ignore[untyped-decorator]
def upper(typing_context: Any, rows: Any, columns: Any) -> Any:
    """The 8 by 8 matrix of these rows from the diagonal on, and of these columns below it."""

    def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        result = given[0]
        for i in range(WIDTH):
            places = [WIDTH + j if j < i else j for j in range(WIDTH)]
            parts = [builder.extract_value(matrix, i) for matrix in given]
            result = builder.insert_value(
                result, emit_shuffle(builder, parts[0], parts[1], places), i
            )
        return result

    return rows(rows, rows), emit


@intrinsic  # type: ignore[untyped-decorator]
def store_rows(
    typing_context: Any, array: Any, index: Any, stride: Any, rows: Any, count: Any
) -> Any:
    """Put the first `count` of eight vectors into an array, `stride` numbers apart."""

    def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        first, stride, rows, count = given[1:]
        for i in range(WIDTH):
            with builder.if_then(builder.icmp_signed("<", ir.Constant(count.type, i), count)):
                moved = builder.mul(stride, ir.Constant(stride.type, i))
                place = builder.add(first, moved)
                pointer = emit_address(context, builder, signature.args[0], given[0], place)
                emit_store(builder, builder.extract_value(rows, i), pointer)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64, rows, types.int64), emit
