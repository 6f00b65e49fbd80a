"""Many walks in compiled code, eight lanes at a time. Imports numba, so import it late.

The derivative is carried out by instructions (:mod:`swingby.theory.law.tape`), whatever the
dynamics and d; what happens in a lane is decided by the functions of
:mod:`swingby.theory.law.walk`, compiled from their text. A lane whose walk has ended takes the next
one; every lane is computed alike, so a result does not depend on its neighbours, not in a bit.

Numbers of all lanes are one vector of the machine. The compiler cannot know that the registers of
the instructions, which lie in one array, do not overlap, and makes poor loops of them. So loads,
stores and sums of vectors are written here.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import math
from collections.abc import Callable
from importlib import resources
from types import FunctionType
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import typeof, types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

from swingby.theory.compiled_cache import inner
from swingby.theory.compiled_text import aligned, compiling
from swingby.theory.compiled_text import load as load_text
from swingby.theory.growth import DYNAMICS
from swingby.theory.law import tape, walk
from swingby.theory.law.modified_flow import FieldConstants
from swingby.theory.law.runge_kutta import DENSE, EXTRA, FIFTH, STAGES, THIRD
from swingby.theory.law.walk import ACTIVE, CONCEPT, MOVING, TIME, Walk

#: Lanes in a vector: one register of AVX-512, two of AVX.
_LANES = 8
_DOUBLES = ir.VectorType(ir.DoubleType(), _LANES)
_INTEGERS = ir.VectorType(ir.IntType(64), _LANES)


class _Lanes(types.Type):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__(name="lanes")


_VECTOR = _Lanes()


@register_model(_Lanes)
class _Model(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _DOUBLES)


def _constant(number: float) -> Any:
    return ir.Constant(_DOUBLES, [number] * _LANES)


def _place(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Pointer to the lanes that begin at an entry of an array."""
    array = context.make_array(signature.args[0])(context, builder, args[0])
    return builder.bitcast(builder.gep(array.data, [args[1]]), _DOUBLES.as_pointer())


@intrinsic  # type: ignore[untyped-decorator]
def _load(_: Any, array: Any, place: Any) -> Any:
    """Lanes that begin at an entry of a flat array."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_place(context, builder, signature, args), align=8)

    return _VECTOR(array, types.intp), emit


@intrinsic  # type: ignore[untyped-decorator]
def _store(_: Any, array: Any, place: Any, value: Any) -> Any:
    """Write lanes into a flat array."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], _place(context, builder, signature, args), align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, _VECTOR), emit


@intrinsic  # type: ignore[untyped-decorator]
def _everywhere(_: Any, number: Any) -> Any:
    """A number in all lanes."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = builder.insert_element(
            ir.Constant(_DOUBLES, ir.Undefined), args[0], ir.IntType(32)(0)
        )
        mask = ir.Constant(ir.VectorType(ir.IntType(32), _LANES), [0] * _LANES)
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


def _fused(builder: Any, a: Any, b: Any, c: Any) -> Any:
    kind = ir.FunctionType(_DOUBLES, [_DOUBLES] * 3)
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fmuladd.v{_LANES}f64")
    return builder.call(function, [a, b, c])


def _inverse(builder: Any, x: Any) -> Any:
    zero = _constant(0.0)
    return builder.select(
        builder.fcmp_ordered("==", x, zero), zero, builder.fdiv(_constant(1.0), x)
    )


#: Adding this leaves a whole number in the last bits of a float.
_SHIFT = 1.5 * 2.0**52
_LN2 = (0.6931471803691238, 1.9082149292705877e-10)
_LARGEST = 700.0


def _exponential(builder: Any, x: Any) -> Any:
    """2^k times the Taylor series of exp on half of log 2; held within the float range."""
    for sign, bound in ((">", _LARGEST), ("<", -_LARGEST)):
        x = builder.select(builder.fcmp_ordered(sign, x, _constant(bound)), _constant(bound), x)
    shifted = _fused(builder, x, _constant(1 / math.log(2)), _constant(_SHIFT))
    k = builder.fsub(shifted, _constant(_SHIFT))
    for term in _LN2:
        x = _fused(builder, k, _constant(-term), x)
    value = _constant(1 / math.factorial(13))
    for power in range(12, -1, -1):
        value = _fused(builder, value, x, _constant(1 / math.factorial(power)))
    power = builder.shl(builder.bitcast(shifted, _INTEGERS), ir.Constant(_INTEGERS, [52] * _LANES))
    return builder.bitcast(builder.add(builder.bitcast(value, _INTEGERS), power), _DOUBLES)


#: a * b; a * b + c; 1/x, 0 for 0; exp x.
_times = _arithmetic(2, lambda builder, a, b: builder.fmul(a, b))
_times_plus = _arithmetic(3, _fused)
_inverse_lanes = _arithmetic(1, _inverse)
_exp = _arithmetic(1, _exponential)


_MOVING, _FIELDS, _RESULT = 3, 4, tape.RESULT
#: Slopes in a step: twelve stages, that at the end, three for what lies between, and two estimates
#: of the error.
_END, _ESTIMATES, _SLOPES = 12, 16, 18


@inner
def _product(R: Any, c: int, a: int, b: int, down: int, across: int, d: int, both: Any) -> None:
    """A row times d columns."""
    for j in range(d):
        total = _everywhere(0.0)
        for k in range(d):
            row_entry, column_entry = _load(R, a + k * _LANES), _load(R, b + j * across + k * down)
            total = _times_plus(_times(both, row_entry), column_entry, total)
        _store(R, c + j * _LANES, total)


@inner
def _carry_out(code: Any, factors: Any, R: Any, d: int) -> None:
    """Every instruction in turn, on registers (count, d, d, LANES) in a flat array."""
    L = _LANES
    row, size = d * L, d * d * L
    for n in range(code.shape[0]):
        operation, c, a, b = code[n, 0], code[n, 1] * size, code[n, 2] * size, code[n, 3] * size
        fa, fb = _everywhere(factors[n, 0]), _everywhere(factors[n, 1])
        both = _everywhere(factors[n, 0] * factors[n, 1])
        if operation == tape.ADD:
            for i in range(0, size, L):
                _store(R, c + i, _times_plus(fb, _load(R, b + i), _times(fa, _load(R, a + i))))
        elif operation == tape.MULTIPLY:
            for i in range(0, size, L):
                _store(R, c + i, _times(both, _times(_load(R, a + i), _load(R, b + i))))
        elif operation in (tape.DOT, tape.DOT_TRANSPOSE):
            down, across = (row, L) if operation == tape.DOT else (L, row)
            for i in range(0, size, row):
                _product(R, c + i, a + i, b, down, across, d, both)
        elif operation == tape.TRANSPOSE:
            for i in range(d):
                for j in range(d):
                    _store(R, c + i * row + j * L, _times(fa, _load(R, a + j * row + i * L)))
        elif operation == tape.SYMMETRIC:
            for i in range(d):
                for j in range(i + 1):
                    lower, upper = i * row + j * L, j * row + i * L
                    total = _times(fa, _load(R, a + upper))
                    total = _times_plus(fa, _load(R, a + lower), total)
                    _store(R, c + lower, total)
                    _store(R, c + upper, total)
        elif operation == tape.SOLVE:
            minus, negated = _everywhere(-1.0), _everywhere(-factors[n, 1])
            for i in range(d):
                for j in range(0, row, L):
                    total = _times(negated, _load(R, b + i * row + j))
                    for k in range(i):
                        total = _times_plus(
                            _load(R, a + i * row + k * L), _load(R, c + k * row + j), total
                        )
                    _store(R, c + i * row + j, _times(minus, total))
        elif operation == tape.EXP:
            for j in range(0, row, L):
                value = _exp(_times(fa, _load(R, a + j)))
                for i in range(0, size, row):
                    _store(R, c + i + j, value)
        elif operation == tape.DIAGONAL:
            for j in range(d):
                value = _times(fa, _load(R, a + j * row + j * L))
                for i in range(0, size, row):
                    _store(R, c + i + j * L, value)
        else:
            for i in range(0, size, L):
                _store(R, c + i, _inverse_lanes(_times(fa, _load(R, a + i))))


@inner
def _take_slope(
    y: Any, code: Any, factors: Any, R: Any, target: Any, first_slope: int, d: int
) -> None:
    """The derivative of y (d, d + 2, n), written to `target` from `first_slope` on; all flat."""
    L = _LANES
    size = d * d * L
    for i in range(d):
        u, z = _load(y, i * (d + 2) * L), _load(y, i * (d + 2) * L + L)
        for j in range(d):
            _store(R, (j * d + i) * L, u)
            _store(R, size + (j * d + i) * L, z)
            _store(R, 2 * size + (i * d + j) * L, _load(y, (i * (d + 2) + j + 2) * L))
    _carry_out(code, factors, R, d)
    result = _RESULT * size
    for i in range(d):
        first = first_slope + i * (d + 2) * L
        _store(target, first, _load(R, result + i * L))
        _store(target, first + L, _load(R, result + size + i * L))
        for j in range(d):
            _store(target, first + (j + 2) * L, _load(R, result + 2 * size + (i * d + j) * L))


@inner
def _add_up(weights: Any, last: int, slopes: Any, size: int, i: int) -> Any:
    """Weighted sum of slopes at an entry."""
    total = _times(_everywhere(weights[0]), _load(slopes, i))
    for m in range(1, last):
        if weights[m] != 0.0:
            total = _times_plus(_everywhere(weights[m]), _load(slopes, m * size + i), total)
    return total


@inner
def _take_step(
    y: Any, dt: Any, code: Any, factors: Any, R: Any, slopes: Any, new: Any, d: int, dense: bool
) -> None:
    """All stages of a step, from slopes whose first is known; flat."""
    size = d * (d + 2) * _LANES
    ahead = _load(dt, 0)
    for stage in range(12):
        for i in range(0, size, _LANES):
            moved = _add_up(STAGES[stage], stage + 1, slopes, size, i)
            _store(new, i, _times_plus(ahead, moved, _load(y, i)))
        _take_slope(new, code, factors, R, slopes, (stage + 1) * size, d)
    for i in range(0, size, _LANES):
        _store(slopes, _ESTIMATES * size + i, _add_up(FIFTH, 12, slopes, size, i))
        _store(slopes, (_ESTIMATES + 1) * size + i, _add_up(THIRD, 12, slopes, size, i))
    if dense:
        inner = _ESTIMATES * size + 2 * size
        for stage in range(3):
            for i in range(0, size, _LANES):
                moved = _add_up(EXTRA[stage], _END + 1 + stage, slopes, size, i)
                _store(slopes, inner + i, _times_plus(ahead, moved, _load(y, i)))
            inner_y = slopes[inner : inner + size]
            _take_slope(inner_y, code, factors, R, slopes, (_END + 1 + stage) * size, d)


@inner
def _note(y: Any, dt: Any, slopes: Any, new: Any, lane: int, forms: Any) -> None:
    """Write the interpolation of a lane between both ends of a step."""
    size = new.size // _LANES
    for i in range(size):
        at = i * _LANES + lane
        first, last = slopes[at], slopes[_END * new.size + at]
        moved = new[at] - y[at]
        forms[0, i], forms[1, i] = y[at], moved
        forms[2, i] = dt * first - moved
        forms[3, i] = 2.0 * moved - dt * (first + last)
        for form in range(4):
            total = 0.0
            for m in range(_ESTIMATES):
                total += DENSE[form, m] * slopes[m * new.size + at]
            forms[4 + form, i] = dt * total


@inner
def _with_transpose(pull: Any, C: Any) -> Any:
    """The function of that name in ``walk``, in loops for small matrices."""
    total = np.zeros_like(C)
    for i in range(len(C)):
        for k in range(len(C)):
            factor = pull[i, k] * C[i, k]
            for j in range(len(C)):
                total[i, j] += factor * C[k, j]
    for i in range(len(C)):
        for j in range(i + 1):
            total[i, j] = total[j, i] = total[i, j] + total[j, i]
    return total


def _from_text(module: Any, replacements: dict[str, Any]) -> dict[str, Any]:
    """All plain functions of a module, compiled against each other and their replacements."""
    space = {**vars(module), **replacements}
    for name, value in vars(module).items():
        defined_here = isinstance(value, FunctionType) and value.__module__ == module.__name__
        if defined_here and name not in replacements:
            space[name] = inner(FunctionType(value.__code__, space, name))
    return space


_walk = _from_text(walk, {"with_transpose": _with_transpose})
_landings, _judge, _begin_lane = _walk["landings"], _walk["judge"], _walk["begin_lane"]
_follow_all = _walk["follow_all"]


@inner
def _copy(source: Any, i: int, target: Any, j: int) -> None:
    for row in range(source.shape[0]):
        target[row, j] = source[row, i]


@inner
def _move(source: Walk, place: int, target: Walk, j: int) -> None:
    """One lane of a walk into a lane of another."""
    n, m = source.numbers.shape[1], target.numbers.shape[1]
    _copy(source.y.reshape((-1, n)), place, target.y.reshape((-1, m)), j)
    _copy(source.fields.reshape((-1, n)), place, target.fields.reshape((-1, m)), j)
    _copy(source.places.reshape((-1, n)), place, target.places.reshape((-1, m)), j)
    _copy(source.numbers, place, target.numbers, j)
    for row in range(target.pairs.shape[0]):
        for i in range(target.pairs.shape[1]):
            for k in range(target.pairs.shape[1]):
                target.pairs[row, i, k, j] = 0.0


@inner
def _run(
    queued: Walk,
    now: Walk,
    keeps_psd: bool,
    code: Any,
    factors: Any,
    R: Any,
    slopes: Any,
    new: Any,
    steps: Any,
    forms: Any,
) -> int:
    """Walk every queued lane to its end, in the lanes of `now`; steps noted, -1 if too many."""
    d, n = queued.y.shape[0], queued.numbers.shape[1]
    size, room, noted = d * d * _LANES, steps.shape[0], 0
    y, speed, tried = now.y.reshape(-1), now.speed.reshape(-1), new.reshape(-1)
    flat, fields = slopes.reshape(-1), now.fields.reshape(-1)
    before, time, concept = np.empty(y.size), np.empty(_LANES), np.empty((d, _LANES))
    occupant, waiting, under_way = np.full(_LANES, -1), 0, 0
    begun = np.zeros(_LANES)
    now.numbers[:, :] = 0.0
    changed = True
    while True:
        # Lanes whose walk has ended take the next one.
        for lane in range(_LANES):
            if now.numbers[ACTIVE, lane] == 0.0 and occupant[lane] >= 0:
                end = occupant[lane]
                _copy(now.places.reshape((-1, _LANES)), lane, queued.places.reshape((-1, n)), end)
                _copy(now.numbers, lane, queued.numbers, end)
                occupant[lane] = -1
                under_way -= 1
            if occupant[lane] < 0 and waiting < n:
                _move(queued, waiting, now, lane)
                occupant[lane], begun[lane], changed = waiting, 1.0, True
                waiting += 1
                under_way += 1
        if under_way == 0:
            return noted
        while changed:
            for i in range(d):
                for j in range(d):
                    for lane in range(_LANES):
                        R[_MOVING * size + (i * d + j) * _LANES + lane] = now.places[
                            MOVING, j, lane
                        ]
            for i in range(fields.shape[0]):
                R[_FIELDS * size + i] = fields[i]
            _take_slope(y, code, factors, R, speed, 0, d)
            changed = False
            for lane in range(_LANES):
                if begun[lane] > 0.0:
                    begun[lane] = 0.0
                    changed = _begin_lane(now, lane, keeps_psd) or changed
        dt = _landings(now)
        for i in range(y.size):
            flat[i], before[i] = speed[i], y[i]
        _take_step(y, dt, code, factors, R, flat, tried, d, room > 0)
        for lane in range(_LANES):
            time[lane] = now.numbers[TIME, lane]
            for k in range(d):
                concept[k, lane] = now.places[CONCEPT, k, lane]
        ends, fifth, third = slopes[_END], slopes[_ESTIMATES], slopes[_ESTIMATES + 1]
        changed = _judge(now, keeps_psd, dt, new, ends, fifth, third)
        for lane in range(_LANES):
            if room > 0 and occupant[lane] >= 0 and now.numbers[TIME, lane] > time[lane]:
                if noted == room:
                    return -1
                steps[noted, 0], steps[noted, 1], steps[noted, 2] = (
                    occupant[lane],
                    time[lane],
                    dt[lane],
                )
                for k in range(d):
                    steps[noted, 3 + k] = concept[k, lane]
                _note(before, dt[lane], flat, tried, lane, forms[noted])
                noted += 1


#: Compiled code is kept where its text says all that it depends on: the digest stands for the law.
_TEXT = '''"""Written by swingby; do not edit. Of the law {digest}."""
from swingby.theory.law.walk_lanes import _follow_all, _run

@compiled()
def run({run}):
 return _run({run})

@compiled()
def follow_all(walk):
 _follow_all(walk)
'''


@functools.cache
def _entry_points() -> Any:
    """The functions that Python calls, compiled at the first call or loaded from the cache."""
    # As resources: the package may lie in a zip file.
    theory = resources.files("swingby.theory")
    modules = sorted(theory.joinpath("law").iterdir(), key=lambda module: module.name)
    texts = [module for module in modules if module.name.endswith(".py")]
    texts.append(theory.joinpath("growth.py"))
    digest = hashlib.sha256(b"\0".join(text.read_bytes() for text in texts)).hexdigest()
    text = _TEXT.format(digest=digest, run=", ".join(inspect.signature(_run.py_func).parameters))
    return load_text(text, "the stage law in lanes")


def _call(name: str, *arguments: Any) -> Any:
    function = getattr(_entry_points(), name)
    signature = tuple(typeof(argument) for argument in arguments)
    if signature not in function.overloads:
        with compiling("the stage law in lanes"):
            function.compile(signature)
    return function(*arguments)


def follow_all(walks: Walk) -> None:
    """See :func:`swingby.theory.law.walk.follow_all`."""
    _call("follow_all", walks)


def walk_all(walks: Walk, dynamics: str, order: int, room: int = 0) -> tuple[Any, Any] | None:
    """Walk to the end; places and numbers of `walks` are then those of the end.

    With room for so many of them, the steps taken: rows of lane, time, size and concepts, and the
    forms of the interpolation (m, 8, d (d + 2)); None if they are more.
    """
    d, keeps_psd = walks.y.shape[0], DYNAMICS[dynamics].keeps_psd
    code, factors, count = tape.tape_of(dynamics, order)
    shapes = ((d, d + 2), (d, d + 2), (len(FieldConstants._fields), d, d), (3, d, d), (15, d), (9,))
    now = Walk(*(aligned(*shape, _LANES) for shape in shapes))
    registers = aligned(count * d * d * _LANES)
    slopes, new = (
        aligned(_SLOPES + 1, d, d + 2, _LANES),
        aligned(d, d + 2, _LANES),
    )
    steps, forms = np.empty((room, 3 + d)), np.empty((room, 8, d * (d + 2)))
    noted = _call("run", walks, now, keeps_psd, code, factors, registers, slopes, new, steps, forms)
    return None if noted < 0 else (steps[:noted], forms[:noted])
