"""Steps compiled from a text that has every number written into it (see `theory.law.compiled`).

numba takes 0.4 s to import and a text 0.3 to 5 s to compile; both are done where a call is
predicted to pay for them.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from typing import Any

from swingby.simulate import steps
from swingby.simulate.state import Floats, Problem
from swingby.theory.law.compiled import file_of, load

#: Seconds of plain steps that pay for loading steps compiled before, where numba is imported and
#: where it is not, and for compiling them.
WORTH_LOADING, WORTH_IMPORTING, WORTH_COMPILING = 0.03, 0.4, 1.5
#: The same for steps of any d, which are compiled once for all d.
WORTH_ANY_SIZE = 0.05
#: What every text begins with. No fast mathematics: rounding is part of the text.
HEADER = '''"""Written by swingby; do not edit."""
import math
import platform
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

compiled = njit(cache=True, nogil=True, error_model="numpy")

@intrinsic
def fma(context, a, b, c):
    return types.float64(types.float64, types.float64, types.float64), (
        lambda context, builder, signature, given: builder.fma(*given)
    )

X86 = platform.machine().lower() in ("x86_64", "amd64")

@intrinsic
def control(context, value):
    """Set the control word of the vector unit, and return what it was; 0 on other machines."""
    def emit(context, builder, signature, given):
        if not X86:
            return given[0]
        room = cgutils.alloca_once(builder, ir.IntType(32))
        address = builder.bitcast(room, ir.IntType(8).as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer()])
        for name, before in (("llvm.x86.sse.stmxcsr", True), ("llvm.x86.sse.ldmxcsr", False)):
            builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [address])
            if before:
                past = builder.load(room)
                wanted = builder.trunc(given[0], ir.IntType(32))
                unset = builder.icmp_signed("<", given[0], given[0].type(0))
                flushed = builder.or_(past, ir.IntType(32)(0x8040))
                builder.store(builder.select(unset, flushed, wanted), room)
        return builder.zext(past, ir.IntType(64))
    return types.int64(types.int64), emit

'''

_loaded: dict[tuple[Any, ...], Any] = {}
_spent: dict[tuple[Any, ...], float] = {}


def single_text(d: int, dynamics: str, *, scaled: bool) -> str:
    """The module of the steps of one trajectory."""
    text = steps.single_source(d, dynamics, scaled=scaled)
    arrays = "types.float64[::1]"
    typed = f"({arrays}, {arrays}, {arrays}, types.int64, types.float64[:, :], types.int64)"
    made = text.replace("def ", "@compiled\ndef ").replace("def steps", "def plain_steps")
    # Products below the float range are 0: as subnormal numbers they take ten times as long.
    return f"""{HEADER}{made}
@njit({typed}, cache=True, nogil=True, error_model="numpy")
def steps(start, rates, squares, parts, block, count):
 past = control(-1)
 plain_steps(start, rates, squares, parts, block, count)
 control(past)
"""


@functools.cache
def is_on_disk(d: int, dynamics: str, *, scaled: bool) -> bool:
    """Whether the steps of one trajectory were compiled before."""
    path = file_of(single_text(d, dynamics, scaled=scaled))
    return any(path.parent.glob(f"**/{path.stem}.steps*.nbc"))


def compiled_steps(problem: Problem, *, scaled: bool, ahead: float) -> Callable[..., None] | None:
    """The compiled steps of one trajectory, or None where there are none or they do not pay.

    Up to d = 8 they have the bits of the plain ones, so which are taken is a question of time
    alone. Above they have not: there `ahead` decides, and not what was loaded before.
    """
    d, dynamics = len(problem.signal), problem.dynamics
    if not steps.MAPS[dynamics].text:
        return None
    predicted = ahead * steps.seconds_of_a_step(d, dynamics)
    if d > steps.WRITTEN_OUT:
        if predicted < WORTH_ANY_SIZE:
            return None
        d, scaled = steps.WRITTEN_OUT + 1, True
    key = (d, dynamics, scaled)
    if key not in _loaded:
        seconds = max(_spent.get(key, 0.0), predicted)
        if d <= steps.WRITTEN_OUT:
            if seconds < (WORTH_LOADING if "numba" in sys.modules else WORTH_IMPORTING):
                return None
            if seconds < WORTH_COMPILING and not is_on_disk(d, dynamics, scaled=scaled):
                return None
        text = single_text(d, dynamics, scaled=scaled)
        _loaded[key] = load(text, f"steps of {dynamics}").steps
    return _loaded[key]  # type: ignore[no-any-return]


def block_of_steps(
    problem: Problem, X: Floats, square: Floats, parts: int, count: int, ahead: float
) -> Floats:
    """A block of `count` steps from X, plain or compiled; `ahead`: steps that may still come."""
    scaled = bool((square != 1.0).any())
    kernel = compiled_steps(problem, scaled=scaled, ahead=ahead)
    if kernel is not None:
        return steps.run_kernel(kernel, problem, X, square, parts, count)
    started = time.perf_counter()
    block = steps.plain_steps(problem, X, square, parts, count)
    key = (len(X), problem.dynamics, scaled)
    _spent[key] = _spent.get(key, 0.0) + time.perf_counter() - started
    return block
