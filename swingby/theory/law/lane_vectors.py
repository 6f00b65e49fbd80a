"""Vectors of the machine in compiled code: loads, stores and arithmetic. Imports numba.

The compiler cannot know that matrices which lie in one array do not overlap, and makes poor loops
of them. So loads, stores and sums of vectors are written here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

#: Lanes in a vector: one register of AVX-512, two of AVX.
LANES = 8
#: The vector, as a type of the compiler.
DOUBLES = ir.VectorType(ir.DoubleType(), LANES)
_INTEGERS = ir.VectorType(ir.IntType(64), LANES)


class _Lanes(types.Type):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__(name="lanes")


_VECTOR = _Lanes()


@register_model(_Lanes)
class _Model(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, DOUBLES)


def constant(number: float) -> Any:
    """A number in all lanes of a value of the machine."""
    return ir.Constant(DOUBLES, [number] * LANES)


def _place(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Pointer to the lanes that begin at an entry of an array."""
    array = context.make_array(signature.args[0])(context, builder, args[0])
    return builder.bitcast(builder.gep(array.data, [args[1]]), DOUBLES.as_pointer())


@intrinsic  # type: ignore[untyped-decorator]
def load(_: Any, array: Any, place: Any) -> Any:
    """Lanes that begin at an entry of a flat array."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_place(context, builder, signature, args), align=8)

    return _VECTOR(array, types.intp), emit


@intrinsic  # type: ignore[untyped-decorator]
def store(_: Any, array: Any, place: Any, value: Any) -> Any:
    """Write lanes into a flat array."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], _place(context, builder, signature, args), align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, _VECTOR), emit


@intrinsic  # type: ignore[untyped-decorator]
def everywhere(_: Any, number: Any) -> Any:
    """A number in all lanes."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = builder.insert_element(
            ir.Constant(DOUBLES, ir.Undefined), args[0], ir.IntType(32)(0)
        )
        mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return builder.shuffle_vector(vector, vector, mask)

    return _VECTOR(types.float64), emit


def _arithmetic(count: int, make: Callable[..., Any]) -> Any:
    """An operation on vectors, from its emitter; products and sums may be fused."""
    if count == 1:

        @intrinsic  # type: ignore[untyped-decorator]
        def operation(_: Any, a: Any) -> Any:
            return _VECTOR(_VECTOR), lambda _c, builder, _s, args: make(builder, *args)
    elif count == 2:

        @intrinsic  # type: ignore[untyped-decorator]
        def operation(_: Any, a: Any, b: Any) -> Any:
            return _VECTOR(_VECTOR, _VECTOR), lambda _c, builder, _s, args: make(builder, *args)
    else:

        @intrinsic  # type: ignore[untyped-decorator]
        def operation(_: Any, a: Any, b: Any, c: Any) -> Any:
            signature = _VECTOR(_VECTOR, _VECTOR, _VECTOR)
            return signature, lambda _c, builder, _s, args: make(builder, *args)

    return operation


def fused(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """The value a b + c, rounded once where the machine can."""
    kind = ir.FunctionType(DOUBLES, [DOUBLES] * 3)
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fmuladd.v{LANES}f64")
    return builder.call(function, [a, b, c])


def inverse(builder: Any, x: Any) -> Any:
    """The value 1/x, 0 for 0."""
    zero = constant(0.0)
    return builder.select(builder.fcmp_ordered("==", x, zero), zero, builder.fdiv(constant(1.0), x))


#: Adding this leaves a whole number in the last bits of a float.
_SHIFT = 1.5 * 2.0**52
_LN2 = (0.6931471803691238, 1.9082149292705877e-10)
_LARGEST = 700.0


def exponential(builder: Any, x: Any) -> Any:
    """2^k times the Taylor series of exp on half of log 2; held within the float range."""
    for sign, bound in ((">", _LARGEST), ("<", -_LARGEST)):
        x = builder.select(builder.fcmp_ordered(sign, x, constant(bound)), constant(bound), x)
    shifted = fused(builder, x, constant(1 / math.log(2)), constant(_SHIFT))
    k = builder.fsub(shifted, constant(_SHIFT))
    for term in _LN2:
        x = fused(builder, k, constant(-term), x)
    value = constant(1 / math.factorial(13))
    for power in range(12, -1, -1):
        value = fused(builder, value, x, constant(1 / math.factorial(power)))
    power = builder.shl(builder.bitcast(shifted, _INTEGERS), ir.Constant(_INTEGERS, [52] * LANES))
    return builder.bitcast(builder.add(builder.bitcast(value, _INTEGERS), power), DOUBLES)


#: a * b; a * b + c; 1/x, 0 for 0; exp x.
times = _arithmetic(2, lambda builder, a, b: builder.fmul(a, b))
times_plus = _arithmetic(3, fused)
inverse_or_zero = _arithmetic(1, inverse)
exp = _arithmetic(1, exponential)
