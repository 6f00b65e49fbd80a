"""Vectors of instances in compiled code: arithmetic written as on floats. Imports numba.

A :class:`Vector` stands for one number of each of :data:`LANES` instances while a compiled
function is being written down: its operators emit LLVM instructions on vectors of doubles, so a
loop over concepts in Python is unrolled, and every instruction serves all instances at once. The
numbers live in the rows of an array of shape (rows, LANES).

Every lane is computed by the same instructions, so a result does not depend on its place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

#: Instances side by side: one register of AVX-512, two of AVX.
LANES = 8

#: The type of a vector.
DOUBLES = ir.VectorType(ir.DoubleType(), LANES)
_WHOLE = ir.VectorType(ir.IntType(64), LANES)
#: Product and sum may be rounded once instead of twice.
_FLAGS = ("contract",)
#: Bits of the control word of x86: results below the normal range, and operands, are zero.
_TINY_IS_ZERO = 0x8040


class Mask:
    """A truth value of each instance."""

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def __and__(self, other: Mask) -> Mask:
        return Mask(self.builder, self.builder.and_(self.value, other.value))

    def __or__(self, other: Mask) -> Mask:
        return Mask(self.builder, self.builder.or_(self.value, other.value))

    def __invert__(self) -> Mask:
        return Mask(self.builder, self.builder.not_(self.value))


class Vector:
    """A number of each instance. Operands may be floats."""

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def like(self, other: Vector | float) -> Vector:
        """`other` as a vector."""
        if isinstance(other, Vector):
            return other
        return Vector(self.builder, ir.Constant(DOUBLES, [float(other)] * LANES))

    def _two(self, name: str, left: Vector | float, right: Vector | float) -> Vector:
        make = getattr(self.builder, name)
        value = make(self.like(left).value, self.like(right).value, flags=_FLAGS)
        return Vector(self.builder, value)

    def _compare(self, sign: str, other: Vector | float) -> Mask:
        value = self.builder.fcmp_ordered(sign, self.value, self.like(other).value)
        return Mask(self.builder, value)

    def __add__(self, other: Vector | float) -> Vector:
        return self._two("fadd", self, other)

    def __radd__(self, other: float) -> Vector:
        return self._two("fadd", other, self)

    def __sub__(self, other: Vector | float) -> Vector:
        return self._two("fsub", self, other)

    def __rsub__(self, other: float) -> Vector:
        return self._two("fsub", other, self)

    def __mul__(self, other: Vector | float) -> Vector:
        return self._two("fmul", self, other)

    def __rmul__(self, other: float) -> Vector:
        return self._two("fmul", other, self)

    def __truediv__(self, other: Vector | float) -> Vector:
        return self._two("fdiv", self, other)

    def __rtruediv__(self, other: float) -> Vector:
        return self._two("fdiv", other, self)

    def __neg__(self) -> Vector:
        return self._two("fsub", -0.0, self)

    def __abs__(self) -> Vector:
        return _library(self, "fabs")

    def __lt__(self, other: Vector | float) -> Mask:
        return self._compare("<", other)

    def __le__(self, other: Vector | float) -> Mask:
        return self._compare("<=", other)

    def __gt__(self, other: Vector | float) -> Mask:
        return self._compare(">", other)

    def __ge__(self, other: Vector | float) -> Mask:
        return self._compare(">=", other)

    def bits(self) -> Any:
        """The bits, as whole numbers."""
        return self.builder.bitcast(self.value, _WHOLE)


def _library(x: Vector, name: str) -> Vector:
    kind = ir.FunctionType(DOUBLES, [DOUBLES])
    full = f"llvm.{name}.v{LANES}f64"
    function = cgutils.get_or_insert_function(x.builder.module, kind, full)
    return Vector(x.builder, x.builder.call(function, [x.value]))


def whole_numbers(number: int) -> Any:
    """The same whole number in every lane."""
    return ir.Constant(_WHOLE, [number] * LANES)


def sqrt(x: Vector) -> Vector:
    """Square root."""
    return _library(x, "sqrt")


def where(mask: Mask, then: Vector | float, other: Vector | float) -> Vector:
    """`then` where the mask holds, otherwise `other`."""
    pattern = then if isinstance(then, Vector) else other
    if not isinstance(pattern, Vector):
        pattern = Vector(mask.builder, None)
    value = mask.builder.select(mask.value, pattern.like(then).value, pattern.like(other).value)
    return Vector(mask.builder, value)


def largest(bound: Vector | float, x: Vector) -> Vector:
    """The larger number; nan where x is."""
    return where(x.like(bound) > x, bound, x)


def smallest(bound: Vector | float, x: Vector) -> Vector:
    """The smaller number; nan where x is."""
    return where(x.like(bound) < x, bound, x)


def clip(x: Vector, low: float, high: float) -> Vector:
    """X between two bounds; nan where x is."""
    return smallest(high, largest(low, x))


class Rows:
    """The rows of an array, while a compiled function that works on it is being written down."""

    def __init__(self, builder: Any, pointer: Any, first: Any, places: dict[str, Any]) -> None:
        self._builder, self._pointer, self._first, self._places = builder, pointer, first, places
        self.zero = Vector(builder, ir.Constant(DOUBLES, [0.0] * LANES))

    def _address(self, name: str, place: tuple[Any, ...]) -> Any:
        start, shape, shared = self._places[name]
        builder = self._builder
        zero = ir.Constant(ir.IntType(64), 0)
        constant, stride, running = start, 1, zero if shared else self._first
        for index, length in zip(reversed(place), reversed(shape), strict=True):
            if isinstance(index, tuple):
                index, more = index
                constant += more * stride
            if isinstance(index, int):
                constant += index * stride
            else:
                moved = builder.mul(index, ir.Constant(ir.IntType(64), stride))
                running = builder.add(running, moved)
            stride *= length
        row = builder.add(running, ir.Constant(ir.IntType(64), constant))
        return builder.gep(self._pointer, [row])

    def __getitem__(self, key: Any) -> Vector:
        name, *place = key if isinstance(key, tuple) else (key,)
        value = self._builder.load(self._address(name, tuple(place)))
        value.align = 8
        return Vector(self._builder, value)

    def __setitem__(self, key: Any, value: Vector | float) -> None:
        name, *place = key if isinstance(key, tuple) else (key,)
        stored = self.zero.like(value).value
        self._builder.store(stored, self._address(name, tuple(place))).align = 8


def written(layout: Callable[[int], dict[str, Any]]) -> Callable[[Callable[..., None]], Any]:
    """Make a function on rows callable from compiled code.

    Parameters
    ----------
    layout : callable
        From d to the start and the shape of every group of rows.

    Returns
    -------
    callable
        Decorates ``body(rows, d, kind, i, j)``; the result is called as
        ``name(array, first_row, d, kind, i, j)`` with d and kind constant.
    """

    def decorate(body: Callable[..., None]) -> Any:
        def typed(context: Any, array: Any, first: Any, d: Any, kind: Any, i: Any, j: Any) -> Any:
            if not isinstance(d, types.IntegerLiteral):
                return None
            if not isinstance(kind, types.IntegerLiteral):
                return None
            signature = types.void(array, types.int64, d, kind, types.int64, types.int64)
            size, constant = d.literal_value, kind.literal_value

            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                made = context.make_array(signature.args[0])(context, builder, arguments[0])
                pointer = builder.bitcast(made.data, DOUBLES.as_pointer())
                rows = Rows(builder, pointer, arguments[1], layout(size))
                body(rows, size, constant, arguments[4], arguments[5])
                return context.get_dummy_value()

            return signature, generate

        typed.__name__ = body.__name__
        return intrinsic(prefer_literal=True)(typed)

    return decorate


def _control(builder: Any, name: str, place: Any) -> None:
    kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer()])
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.x86.sse.{name}")
    builder.call(function, [builder.bitcast(place, ir.IntType(8).as_pointer())])


def _flush_tiny(_context: Any) -> Any:
    """Let numbers below 2e-308 be zeros in this thread; what to :func:`restore` afterwards.

    Processors take many times as long for such a number. Elsewhere than on x86 nothing is changed.
    """

    def generate(_context: Any, builder: Any, _signature: Any, _arguments: Any) -> Any:
        place = cgutils.alloca_once_value(builder, ir.Constant(ir.IntType(32), 0))
        if not _is_x86(builder):
            return builder.load(place)
        _control(builder, "stmxcsr", place)
        before = builder.load(place)
        builder.store(builder.or_(before, ir.Constant(ir.IntType(32), _TINY_IS_ZERO)), place)
        _control(builder, "ldmxcsr", place)
        return before

    return types.int32(), generate


def _restore(_context: Any, before: Any) -> Any:
    """Undo :func:`flush_tiny`."""

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        if _is_x86(builder):
            _control(builder, "ldmxcsr", cgutils.alloca_once_value(builder, arguments[0]))
        return context.get_dummy_value()

    return types.void(types.int32), generate


flush_tiny: Any = intrinsic(_flush_tiny)
restore: Any = intrinsic(_restore)


def _is_x86(builder: Any) -> bool:
    return str(builder.module.triple).startswith(("x86_64", "i686"))
