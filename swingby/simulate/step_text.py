"""The text of steps written out for a fixed d, as numba compiles it.

Sums over an inner concept run upwards, every product rounded. The lines of :func:`change` serve a
trajectory, and lanes, where products and sums are rounded once together. Above :data:`WRITTEN_OUT`
the loops of :mod:`swingby.simulate.panel_text` serve every d.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

from swingby.simulate.state import TRIANGLES, pairs
from swingby.theory.numbers import Floats

#: Up to this dimension steps are written out without loops.
WRITTEN_OUT = TRIANGLES

#: One step from x, in place: of a map, and of the flow by Runge-Kutta steps from its slope.
_STEP = """
  change(x, rates, squares, x)
"""
_RUNGE_KUTTA = """
  for part in range(parts):
   change(x, rates, squares, K[0])
   for stage in range(1, 13):
    for e in range(size):
     y[e] = TABLE[stage - 1, 0] * K[0, e]
    for j in range(1, min(stage, 12)):
     for e in range(size):
      y[e] += TABLE[stage - 1, j] * K[j, e]
    for e in range(size):
     y[e] = x[e] + h * y[e]
    if stage < 12:
     change(y, rates, squares, K[stage])
   for e in range(size):
    x[e] = y[e]
"""


def change(d: int, dynamics: str, *, scaled: bool, fused: bool) -> list[str]:
    """Lines that make the next entries v from w, and r = eta a.

    `scaled`: W is held as D X D, every product over k carries ``s[k]``; `fused`: products and sums
    are rounded once together, by ``fma(a, b, c)``. Where they are is written down and not left to a
    compiler, so that every lane has the same bits in any company. For the flow v is the slope.
    """
    every = [(i, j) for i in range(d) for j in range(d)]
    lines = [f"{_g(i, j)} = (r{i} + r{j}) * {_w(i, j)}" for i, j in entries(d)]
    if scaled:
        lines += [f"z{i}_{j} = s{i} * {_w(i, j)}" for i, j in every]
        lines += [f"h{i}_{j} = s{i} * {_g(i, j)}" for i, j in every if dynamics == "gd"]

    def minus_half(total: str, start: str) -> str:
        return f"fma(-0.5, {total}, {start})" if fused else f"({start} - 0.5 * {total})"

    for i, j in every:
        factors = ((_g(i, k), f"z{k}_{j}" if scaled else _w(k, j)) for k in range(d))
        lines.append(f"y{i}_{j} = {_chain(factors, fused)}")
    if dynamics == "gd":
        for i, j in every:
            lines.append(f"c{i}_{j} = {minus_half(f'y{i}_{j}', f'r{i} * {_w(i, j)}')}")
        for i, j in entries(d):
            factors = ((f"c{i}_{k}", f"h{k}_{j}" if scaled else _g(k, j)) for k in range(d))
            total = minus_half(_chain(factors, fused), f"r{j} * c{i}_{j}")
            lines.append(f"v{i}_{j} = {_w(i, j)} + ((c{i}_{j} + c{j}_{i}) + {total})")
        return lines
    for i, j in entries(d):
        both = f"(y{i}_{j} + y{j}_{i})"
        if dynamics == "flow":
            lines.append(f"v{i}_{j} = {_g(i, j)} - 0.5 * {both}")
        elif fused:
            lines.append(f"v{i}_{j} = fma(-0.5, {both}, {_w(i, j)} + {_g(i, j)})")
        else:
            lines.append(f"v{i}_{j} = {_w(i, j)} + ({_g(i, j)} - 0.5 * {both})")
    return lines


def single_text(d: int, dynamics: str) -> str:
    """The module of ``steps(start, rates, squares, parts, block, count)`` for a trajectory.

    start: the entries of X as a row of a block; rates: eta a; block takes a column for each step.
    """
    arrays = "types.float64[::1]"
    typed = f"({arrays}, {arrays}, {arrays}, types.int64, types.float64[:, :], types.int64)"
    # Products below the float range are 0: as subnormal numbers they take ten times as long.
    return f"""{HEADER}
TABLE = np.array({stages().tolist() if dynamics == "flow" else []})

@inner
def change(x, rates, squares, new):
{_change_source(d, dynamics)}
@inner
def plain_steps(start, rates, squares, parts, block, count):
 x, y, K = start.copy(), np.empty_like(start), np.empty((12, len(start)))
 h, size = 1.0 / parts, {d * (d + 1) // 2}
 for n in range(count):{_RUNGE_KUTTA if dynamics == "flow" else _STEP}
  for e in range(size):
   block[e, n] = x[e]

@compiled({typed})
def steps(start, rates, squares, parts, block, count):
 past = control(-1)
 plain_steps(start, rates, squares, parts, block, count)
 control(past)
"""


def _change_source(d: int, dynamics: str) -> str:
    """Lines that make the new entries, or the slope of the flow, from x."""
    names = [f"{i}_{j}" for i, j in zip(*(index.tolist() for index in pairs(d)), strict=True)]
    lines = [f"r{i}, s{i} = rates[{i}], squares[{i}]" for i in range(d)]
    lines += [f"w{name} = x[{e}]" for e, name in enumerate(names)]
    lines += change(d, dynamics, scaled=True, fused=False)
    lines += [f"new[{e}] = v{name}" for e, name in enumerate(names)]
    return "".join(f" {line}\n" for line in lines)


def entries(d: int) -> list[tuple[int, int]]:
    """Places of the upper triangle, row by row."""
    return [(i, j) for i in range(d) for j in range(i, d)]


def _w(i: int, j: int) -> str:
    return f"w{min(i, j)}_{max(i, j)}"


def _g(i: int, j: int) -> str:
    return f"g{min(i, j)}_{max(i, j)}"


def _chain(factors: Iterable[tuple[str, str]], fused: bool) -> str:
    """A sum of products, in this order."""
    total = ""
    for first, second in factors:
        if not total:
            total = f"{first} * {second}"
        else:
            total = (
                f"fma({first}, {second}, {total})" if fused else f"({total} + {first} * {second})"
            )
    return total


#: What every text begins with. No fast mathematics: rounding is part of the text.
HEADER = '''"""Written by swingby; do not edit."""
import math
import platform
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

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


@functools.cache
def stages() -> Floats:
    """Weights of the formula of order 8 by Dormand and Prince: later stages, then the step."""
    # SciPy's integrators take a while to load, and euler and gd do without.
    from swingby.theory.law.runge_kutta import STAGES

    return STAGES
