"""Eight numbers side by side in compiled code: vectors as values. Imports numba.

A loop that a compiler has to turn into vector instructions by itself may or may not become any,
and sums are then taken in an order of its own. Here both are written down: a :func:`load` takes
eight consecutive numbers of an array, ``+ - *`` act on all of them, each rounded once, and
:func:`fused` is a b + c rounded once. Arrays are C-contiguous, of any number of axes; indices
count their numbers from the first one. None of this can be called from Python.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core.cgutils import get_or_insert_function
from numba.core.datamodel import models
from numba.extending import intrinsic, overload, register_model

from swingby.simulate.compiling import compiled
from swingby.simulate.state import Floats

#: Numbers in a vector: one register of AVX-512, two of AVX.
WIDTH = 8

DOUBLES = ir.VectorType(ir.DoubleType(), WIDTH)
INT32 = ir.IntType(32)


class VectorType(types.Type):  # type: ignore[misc]
    """The type of a vector in compiled code."""

    def __init__(self) -> None:
        super().__init__(name="swingby_vector")


VECTOR = VectorType()


@register_model(VectorType)
class _VectorModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, DOUBLES)


def emit_address(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    """The address of one number of an array."""
    return builder.gep(context.make_array(kind)(context, builder, array).data, [index])


def emit_call(builder: Any, name: str, given: Any) -> Any:
    """Call an operation of LLVM on vectors."""
    kind = ir.FunctionType(DOUBLES, [DOUBLES] * len(given))
    full = f"llvm.{name}.v{WIDTH}f64"
    return builder.call(get_or_insert_function(builder.module, kind, full), given)


def emit_spread(builder: Any, number: Any) -> Any:
    """Write down a vector of the same number eight times."""
    start = ir.Constant(DOUBLES, ir.Undefined)
    first = builder.insert_element(start, number, ir.Constant(INT32, 0))
    return builder.shuffle_vector(first, start, ir.Constant(ir.VectorType(INT32, WIDTH), [0] * 8))


def emit_shuffle(builder: Any, left: Any, right: Any, places: list[int]) -> Any:
    """Write down a vector of some places of two others."""
    return builder.shuffle_vector(
        left, right, ir.Constant(ir.VectorType(INT32, len(places)), places)
    )


def emit_store(builder: Any, value: Any, pointer: Any) -> None:
    """Write down that a vector is put at an address."""
    target = builder.bitcast(pointer, DOUBLES.as_pointer())
    builder.store(value, target).align = 8


@compiled
def aligned(count: int) -> Floats:  # pragma: no cover
    """An array of `count` zeros that begins where a vector fits into one line of the cache."""
    room = np.zeros(count + WIDTH)
    first = (-(room.ctypes.data // 8)) % WIDTH
    return room[first : first + count]


@intrinsic  # type: ignore[untyped-decorator]
def load(typing_context: Any, array: Any, index: Any) -> Any:
    """Eight consecutive numbers of an array."""

    def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        pointer = emit_address(context, builder, signature.args[0], *given)
        value = builder.load(builder.bitcast(pointer, DOUBLES.as_pointer()))
        value.align = 8
        return value

    return VECTOR(array, types.int64), emit


@intrinsic  # type: ignore[untyped-decorator]
def store(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    """Put a vector into an array."""

    def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        emit_store(builder, given[2], emit_address(context, builder, signature.args[0], *given[:2]))
        return context.get_dummy_value()

    return types.void(array, types.int64, VECTOR), emit


@intrinsic  # type: ignore[untyped-decorator]
def spread(typing_context: Any, number: Any) -> Any:
    """The same number eight times."""

    def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return emit_spread(builder, given[0])

    return VECTOR(types.float64), emit


@intrinsic  # type: ignore[untyped-decorator]
def spread_at(typing_context: Any, array: Any, index: Any) -> Any:
    """The number at one place of an array, eight times."""

    def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        number = builder.load(emit_address(context, builder, signature.args[0], *given))
        return emit_spread(builder, number)

    return VECTOR(array, types.int64), emit


@intrinsic  # type: ignore[untyped-decorator]
def fused(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    """Products and sums, a b + c, with one rounding each."""

    def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return emit_call(builder, "fma", given)

    return VECTOR(VECTOR, VECTOR, VECTOR), emit


@intrinsic  # type: ignore[untyped-decorator]
def absolute(typing_context: Any, value: Any) -> Any:
    """Sizes."""

    def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return emit_call(builder, "fabs", given)

    return VECTOR(VECTOR), emit


def _choice(sign: str) -> Any:
    def typed(typing_context: Any, a: Any, b: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            return builder.select(builder.fcmp_ordered(sign, *given), *given)

        return VECTOR(VECTOR, VECTOR), emit

    return typed


#: The smaller and the larger of two numbers, place by place; the second where one is nan.
smaller = intrinsic(_choice("<"))
larger = intrinsic(_choice(">"))


@intrinsic  # type: ignore[untyped-decorator]
def any_above(typing_context: Any, a: Any, b: Any) -> Any:
    """Whether a > b somewhere."""

    def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        mask = builder.bitcast(builder.fcmp_ordered(">", *given), ir.IntType(WIDTH))
        return builder.icmp_unsigned("!=", mask, ir.Constant(ir.IntType(WIDTH), 0))

    return types.boolean(VECTOR, VECTOR), emit


@intrinsic  # type: ignore[untyped-decorator]
def count_above(typing_context: Any, a: Any, b: Any) -> Any:
    """How many of the first places in a row have a > b, up to the first that has not."""

    def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        small = ir.IntType(WIDTH)
        mask = builder.bitcast(builder.fcmp_unordered("<=", *given), small)
        return builder.zext(builder.cttz(mask, ir.Constant(ir.IntType(1), 0)), ir.IntType(64))

    return types.int64(VECTOR, VECTOR), emit


@intrinsic  # type: ignore[untyped-decorator]
def until(typing_context: Any, count: Any, a: Any, b: Any) -> Any:
    """The first `count` numbers of a, then those of b."""

    def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        number = builder.trunc(given[0], INT32)
        whole = ir.VectorType(INT32, WIDTH)
        limits = builder.insert_element(ir.Constant(whole, ir.Undefined), number, INT32(0))
        limits = builder.shuffle_vector(limits, limits, ir.Constant(whole, [0] * WIDTH))
        mask = builder.icmp_signed("<", ir.Constant(whole, list(range(WIDTH))), limits)
        return builder.select(mask, given[1], given[2])

    return VECTOR(types.int64, VECTOR, VECTOR), emit


def _fold(combine: str) -> Any:
    def typed(typing_context: Any, value: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            total = given[0]
            for half in (4, 2, 1):
                low = emit_shuffle(builder, total, total, list(range(half)))
                high = emit_shuffle(builder, total, total, list(range(half, 2 * half)))
                mask = builder.fcmp_ordered(combine, low, high)
                total = builder.select(mask, low, high)
            return builder.extract_element(total, ir.Constant(INT32, 0))

        return types.float64(VECTOR), emit

    return typed


#: The smallest and the largest of eight finite numbers.
smallest = intrinsic(_fold("<"))
largest = intrinsic(_fold(">"))


def _arithmetic(name: str) -> Any:
    @intrinsic  # type: ignore[untyped-decorator]
    def apply(typing_context: Any, a: Any, b: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            return getattr(builder, name)(*given)

        return VECTOR(VECTOR, VECTOR), emit

    def typed(a: Any, b: Any) -> Any:
        def use(a: Any, b: Any) -> Any:
            return apply(a, b)

        return use if a is VECTOR and b is VECTOR else None

    return typed


for _sign, _name in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    overload(_sign)(_arithmetic(_name))
