"""The derivative of the coordinates by the instructions of a tape, written out for small d.

Every entry of every register is a value of the machine, of eight lanes at once: nothing is stored
on the way, no loop is counted, and what is zero at every start is left out. Every number is formed
by the same sums in the same order as in :mod:`swingby.theory.law.tape_in_columns`, so it has the
same bits. Imports numba.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from swingby.theory.law import lane_vectors as vectors
from swingby.theory.law import tape
from swingby.theory.law.lane_vectors import LANES
from swingby.theory.law.modified_flow import FieldConstants

#: Largest d that is written out.
LARGEST = 8
_POINTER = types.CPointer(types.float64)
#: Of a derivative: from y and `moving`, which end in an axis of lanes, and the fields, to a target.
SIGNATURE = types.void(_POINTER, _POINTER, _POINTER, _POINTER)
#: Constants of the field that are diagonal, and those that are a number.
_DIAGONAL, _NUMBERS = ("drive", "linear"), ("first", "second", "third", "fourth")

#: A matrix of values; None is zero.
_Matrix = list[list[Any]]


class _Writer(NamedTuple):
    """Machine code under way, for matrices (d, d)."""

    builder: Any
    d: int

    def entry(self, pointer: Any, number: int) -> Any:
        """Where the lanes of an entry of an array begin."""
        first = self.builder.gep(pointer, [ir.Constant(ir.IntType(64), number * LANES)])
        return self.builder.bitcast(first, vectors.DOUBLES.as_pointer())

    def load(self, pointer: Any, number: int) -> Any:
        """The lanes of an entry."""
        return self.builder.load(self.entry(pointer, number), align=8)

    def times(self, a: Any, b: Any) -> Any:
        """The product a b."""
        return None if a is None or b is None else self.builder.fmul(a, b)

    def times_plus(self, a: Any, b: Any, c: Any) -> Any:
        """The sum a b + c, rounded once."""
        if a is None or b is None:
            return c
        return self.times(a, b) if c is None else vectors.fused(self.builder, a, b, c)

    def matrix(self, entry: Callable[[int, int], Any]) -> _Matrix:
        """The matrix of these entries."""
        return [[entry(i, j) for j in range(self.d)] for i in range(self.d)]

    def product(self, a: _Matrix, b: _Matrix, both: Any) -> _Matrix:
        """The matrix `both` a b."""

        def entry(i: int, j: int) -> Any:
            total = None
            for k in range(self.d):
                total = self.times_plus(self.times(both, a[i][k]), b[k][j], total)
            return total

        return self.matrix(entry)

    def solution(self, a: _Matrix, b: _Matrix, fb: Any) -> _Matrix:
        """The matrix a^-1 b fb for unit lower triangular a."""
        minus, rows = vectors.constant(-1.0), list[list[Any]]()
        for i in range(self.d):
            row = [self.times(self.times(minus, fb), entry) for entry in b[i]]
            for k in range(i):
                row = [
                    self.times_plus(a[i][k], entry, total)
                    for entry, total in zip(rows[k], row, strict=True)
                ]
            rows.append([self.times(minus, total) for total in row])
        return rows

    def constants(self, name: str, pointer: Any, number: int) -> _Matrix:
        """Constants of the field, the matrix of this number behind a pointer."""

        def entry(i: int, j: int) -> Any:
            if name == "strict":
                return vectors.constant(1.0) if j < i else None
            if name in _DIAGONAL and i != j:
                return None
            if name in _NUMBERS:
                i = j = 0
            if name == "pair":
                i, j = max(i, j), min(i, j)
            return self.load(pointer, (number * self.d + i) * self.d + j)

        return self.matrix(entry)

    def result(self, operation: int, a: _Matrix, b: _Matrix, factors: list[float]) -> _Matrix:
        """What an instruction makes of two registers."""
        fa, fb, both = (
            None if factor == 0.0 else vectors.constant(factor)
            for factor in (*factors, factors[0] * factors[1])
        )
        times, times_plus = self.times, self.times_plus
        builder, matrix = self.builder, self.matrix
        match operation:
            case tape.ADD:
                return matrix(lambda i, j: times_plus(fb, b[i][j], times(fa, a[i][j])))
            case tape.MULTIPLY:
                return matrix(lambda i, j: times(both, times(a[i][j], b[i][j])))
            case tape.DOT:
                return self.product(a, b, both)
            case tape.DOT_TRANSPOSE:
                return self.product(a, matrix(lambda i, j: b[j][i]), both)
            case tape.TRANSPOSE:
                return matrix(lambda i, j: times(fa, a[j][i]))
            case tape.SYMMETRIC:
                lower = matrix(lambda i, j: times_plus(fa, a[i][j], times(fa, a[j][i])))
                return matrix(lambda i, j: lower[max(i, j)][min(i, j)])
            case tape.SOLVE:
                return self.solution(a, b, fb)
            case tape.EXP:
                row = [vectors.exponential(builder, times(fa, entry)) for entry in a[0]]
            case tape.DIAGONAL:
                row = [times(fa, a[j][j]) for j in range(self.d)]
            case _:
                row = [vectors.inverse(builder, times(fa, entry)) for entry in a[0]]
        return [row] * self.d


def _write(builder: Any, pointers: Any, dynamics: str, order: int, d: int) -> None:
    """Machine code from y, `moving` and the fields to the target."""
    writer, (y, moving, fields, target) = _Writer(builder, d), pointers
    code, factors, _ = tape.tape_of(dynamics, order)
    u, z = ([writer.load(y, j * (d + 2) + row) for j in range(d)] for row in (0, 1))

    def factor(i: int, j: int) -> Any:
        if j < i:
            return writer.load(y, i * (d + 2) + j + 2)
        return vectors.constant(1.0) if i == j else None

    registers: dict[int, _Matrix] = {0: [u] * d, 1: [z] * d, 2: writer.matrix(factor)}
    registers[3] = [[writer.load(moving, j) for j in range(d)]] * d
    for number, name in enumerate(FieldConstants._fields):
        registers[4 + number] = writer.constants(name, fields, number)
    for (operation, out, a, b), pair in zip(code.tolist(), factors.tolist(), strict=True):
        registers[out] = writer.result(operation, registers[a], registers[b], pair)
    u, z = (registers[tape.RESULT + row][0] for row in (0, 1))
    for i in range(d):
        for j, value in enumerate([u[i], z[i], *registers[tape.RESULT + 2][i]]):
            value = vectors.constant(0.0) if value is None else value
            builder.store(value, writer.entry(target, i * (d + 2) + j), align=8)


def slope_of(dynamics: str, order: int, d: int) -> Any:
    """The derivative as code of its caller, see ``SIGNATURE``.

    Not a function: stored ones are known by their name, which would be that of other derivatives.
    """

    @intrinsic  # type: ignore[untyped-decorator]
    def write(_: Any, y: Any, moving: Any, fields: Any, target: Any) -> Any:
        def emit(context: Any, builder: Any, _: Any, args: Any) -> Any:
            _write(builder, args, dynamics, order, d)
            return context.get_dummy_value()

        return types.void(y, moving, fields, target), emit

    return write


@intrinsic  # type: ignore[untyped-decorator]
def pointer(_: Any, array: Any, entry: Any) -> Any:
    """Pointer to an entry of an array, counted through all of it."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.gep(data, [args[1]])

    return _POINTER(array, types.intp), emit


@intrinsic  # type: ignore[untyped-decorator]
def call(_: Any, address: Any, y: Any, moving: Any, fields: Any, target: Any) -> Any:
    """Call the derivative at an address."""

    def emit(context: Any, builder: Any, _: Any, args: Any) -> Any:
        double = ir.DoubleType().as_pointer()
        function = ir.FunctionType(ir.VoidType(), [double] * 4).as_pointer()
        builder.call(builder.inttoptr(args[0], function), args[1:])
        return context.get_dummy_value()

    return types.void(types.intp, y, moving, fields, target), emit
