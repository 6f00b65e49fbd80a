r"""Steps of the three maps: in NumPy, and as texts written out for a fixed d.

With :math:`g_{ij} = \eta (a_i + a_j) w_{ij}`, :math:`y_{ij} = \sum_k g_{ik} w_{kj}` and
:math:`c_{ij} = \eta a_i w_{ij} - \tfrac12 y_{ij}` the next entry is

.. math:: \text{euler:} \quad w_{ij} + g_{ij} - \tfrac12 (y_{ij} + y_{ji}), \qquad
          \text{gd:} \quad w_{ij} + c_{ij} + c_{ji} + \eta a_j c_{ij}
          - \tfrac12 \textstyle\sum_k c_{ik} g_{kj},

which is (D.2), and :math:`(I + \eta B) W (I + \eta B)`. The maps in NumPy are written on X, with
``W = D X D`` and squares ``s[k] = 2^(2 m_k)`` (:mod:`.state`). Up to d = 8 sums over an inner
concept run upwards, every product rounded, and the written-out steps have the same bits. Above, one
text of loops and BLAS serves every d, to rounding. A tile holds :data:`LANES` trajectories, a
row of it one number of each; its texts have the loop over lanes innermost and no branch in it, so
that it becomes vector instructions.

Texts have every number written into them (see :mod:`swingby.theory.compiled_text`). numba takes
0.4 s to import and a text 0.3 to 5 s to compile; both are done where a call is predicted to pay.
"""

from __future__ import annotations

import functools
import math
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from swingby.simulate.state import RunProblem, RunState, pairs
from swingby.theory.compiled_text import file_of, load
from swingby.theory.numbers import Floats

#: One step: X, ``sums[i, j] = eta (a_i + a_j)``, the squares as a column, parts of a step.
Step = Callable[[Floats, Floats, Floats, int], Floats]

#: Above this dimension products of matrices are left to BLAS, which sums in an order of its own.
_BLAS_ABOVE = 8


def product(left: Floats, right: Floats) -> Floats:
    """Matrix product, summed upwards over the inner index."""
    if len(left) > _BLAS_ABOVE:
        return left @ right
    return np.asarray((left[:, :, None] * right).sum(axis=1))


def _upwards(weights: Floats, slopes: Floats) -> Floats:
    """The weighted sum of slopes, in their order."""
    return np.asarray(np.add.accumulate(weights[:, None, None] * slopes, axis=0)[-1])


def slope(X: Floats, sums: Floats, squares: Floats) -> Floats:
    """``eta (B W + W B)`` in terms of X: what euler adds in a step."""
    G = sums * X
    Y = product(G, squares * X)
    return G - 0.5 * (Y + Y.T)


def euler(X: Floats, sums: Floats, squares: Floats, parts: int) -> Floats:
    """``W + eta (B W + W B)``, the printed (D.2)."""
    return X + slope(X, sums, squares)


def gd(X: Floats, sums: Floats, squares: Floats, parts: int) -> Floats:
    """``(I + eta B) W (I + eta B)``: gradient descent on U, W = U U^T."""
    d = len(X)
    G = sums * X
    half = 0.5 * sums.diagonal()
    C = half.reshape(d, 1) * X - 0.5 * product(G, squares * X)
    V = X + ((C + C.T) + (half * C - 0.5 * product(C, squares * G)))
    return np.triu(V) + np.triu(V, 1).T


def flow(X: Floats, sums: Floats, squares: Floats, parts: int) -> Floats:
    """The flow over a step, right to rounding: `parts` Runge-Kutta steps of order 8."""
    d = len(X)
    K = np.empty((12, d, d))
    h, weights = 1.0 / parts, stages()
    for _ in range(parts):
        K[0] = slope(X, sums, squares)
        for s in range(1, 12):
            K[s] = slope(X + h * _upwards(weights[s - 1, :s], K[:s]), sums, squares)
        X = X + h * _upwards(weights[11], K)
    return X


@functools.cache
def stages() -> Floats:
    """Weights of the formula of order 8 by Dormand and Prince: later stages, then the step."""
    # SciPy's integrators take a while to load, and euler and gd do without.
    from swingby.theory.law.runge_kutta import STAGES

    return STAGES


#: Up to this dimension steps are written out without loops.
WRITTEN_OUT = 8
#: Trajectories in a tile.
LANES = 32
#: A Runge-Kutta step of the flow covers at most this much of ``2 eta a max(1, w)``.
_REACH = 0.08
#: Most of them in a step.
_MOST_PARTS = 1e6


#: The lines of :func:`change` for any d, in loops. Y is G W, the squares in the right factor.
_LOOPS = """
 d = len(rates)
 X, G, Z, Y, C = work[0], work[1], work[2], work[3], work[4]
 for i in range(d):
  for j in range(i, d):
   X[i, j] = X[j, i] = x[place(d, i, j)]
 for i in range(d):
  for j in range(d):
   G[i, j] = (rates[i] + rates[j]) * X[i, j]
   Z[i, j] = squares[i] * X[i, j]
 np.dot(G, Z, Y)
"""
_SECOND_PRODUCT = """
 for i in range(d):
  for j in range(d):
   C[i, j] = rates[i] * X[i, j] - 0.5 * Y[i, j]
   Z[i, j] = squares[i] * G[i, j]
 np.dot(C, Z, Y)
"""
NEXT = {
    "euler": "X[i, j] + (G[i, j] - 0.5 * (Y[i, j] + Y[j, i]))",
    "gd": "X[i, j] + ((C[i, j] + C[j, i]) + (rates[j] * C[i, j] - 0.5 * Y[i, j]))",
    "flow": "G[i, j] - 0.5 * (Y[i, j] + Y[j, i])",
}
#: One step from x, in place: of a map, and of the flow by Runge-Kutta steps from its slope.
_STEP = """
  change(x, rates, squares, x, work)
"""
_RUNGE_KUTTA = """
  for part in range(parts):
   change(x, rates, squares, K[0], work)
   for stage in range(1, 13):
    for e in range(size):
     y[e] = TABLE[stage - 1, 0] * K[0, e]
    for j in range(1, min(stage, 12)):
     for e in range(size):
      y[e] += TABLE[stage - 1, j] * K[j, e]
    for e in range(size):
     y[e] = x[e] + h * y[e]
    if stage < 12:
     change(y, rates, squares, K[stage], work)
   for e in range(size):
    x[e] = y[e]
"""

#: The step of each map in NumPy; what else sets it apart is in :mod:`swingby.theory.growth`.
MAPS: dict[str, Step] = {"euler": euler, "gd": gd, "flow": flow}
#: Those that run in lanes, where all take their steps together.
IN_LANES = frozenset({"euler", "gd"})

_KEPT = threading.local()


def parts_of_a_step(problem: RunProblem, state: RunState) -> int:
    """The number of Runge-Kutta steps of the flow in a step, so that each is right to rounding."""
    if problem.dynamics != "flow":
        return 1
    largest = max(1.0, float((np.abs(np.diag(state.X)) * np.diag(state.weight)).max()))
    substeps = float(problem.sums.max()) * largest / _REACH
    # A W so large leaves the float range in any case.
    return math.ceil(substeps) if 0.0 < substeps < _MOST_PARTS else 1


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

@compiled
def place(d, i, j):
 return i if i == j else d + i * d - i * (i + 1) // 2 + j - i - 1

@compiled
def change(x, rates, squares, new, work):
{_change_source(d, dynamics)}
@compiled
def plain_steps(start, rates, squares, parts, block, count):
 x, y, K = start.copy(), np.empty_like(start), np.empty((12, len(start)))
 work, h = np.empty((5, len(rates), len(rates))), 1.0 / parts
 size = {d * (d + 1) // 2 if d <= WRITTEN_OUT else "len(x)"}
 for n in range(count):{_RUNGE_KUTTA if dynamics == "flow" else _STEP}
  for e in range(size):
   block[e, n] = x[e]

@njit({typed}, cache=True, nogil=True, error_model="numpy")
def steps(start, rates, squares, parts, block, count):
 past = control(-1)
 plain_steps(start, rates, squares, parts, block, count)
 control(past)
"""


def _change_source(d: int, dynamics: str) -> str:
    """Lines that make the new entries, or the slope of the flow, from x."""
    if d > WRITTEN_OUT:
        second = _SECOND_PRODUCT if dynamics == "gd" else ""
        return f"""{_LOOPS}{second}
 for i in range(d):
  for j in range(i, d):
   new[place(d, i, j)] = {NEXT[dynamics]}
"""
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


def plain_steps(problem: RunProblem, X: Floats, square: Floats, parts: int, count: int) -> Floats:
    """A block of `count` steps from X in NumPy."""
    d = len(X)
    rows, columns = problem.entries
    out = np.empty((count, d, d))
    step, squares = MAPS[problem.dynamics], square[:, None]
    for n in range(count):
        out[n] = X = step(X, problem.sums, squares, parts)
    return out.reshape(count, d * d)[:, rows * d + columns].T


def run_kernel(
    kernel: Any, problem: RunProblem, X: Floats, square: Floats, parts: int, count: int
) -> Floats:
    """A block by a compiled text."""
    start, rates = X[problem.entries], 0.5 * np.ascontiguousarray(problem.sums.diagonal())
    block = _room(len(start), count)
    kernel(start, rates, square, parts, block, count)
    return block


def _room(entries: int, count: int) -> Floats:
    """An array that is used again for every block of a thread: fresh memory is slow."""
    # Rows a power of two apart would share places of the cache.
    width = count + 8
    if getattr(_KEPT, "room", np.empty(0)).size < entries * width:
        _KEPT.room = np.empty(entries * width)
    memory: Floats = _KEPT.room[: entries * width]
    return memory.reshape(entries, width)[:, :count]


def _seconds_of_a_step(d: int, dynamics: str) -> float:
    """About what a plain step takes."""
    if dynamics == "flow":
        return 1.5e-4
    return (2e-5 if dynamics == "gd" and d > WRITTEN_OUT else 1e-5) + 1e-8 * d**2


#: Seconds of plain steps that pay for loading steps compiled before, where numba is imported and
#: where it is not, and for compiling them.
_WORTH_LOADING, _WORTH_IMPORTING, _WORTH_COMPILING = 0.03, 0.4, 1.5
#: The same for steps of any d, which are compiled once for all d.
_WORTH_ANY_SIZE = 0.05
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

_loaded: dict[tuple[int, str], Callable[..., None]] = {}
_spent: dict[tuple[int, str], float] = {}


@functools.cache
def _is_on_disk(d: int, dynamics: str) -> bool:
    """True where the steps of a trajectory were compiled before."""
    path = file_of(single_text(d, dynamics))
    return any(path.parent.glob(f"**/{path.stem}.steps*.nbc"))


def compiled_steps(problem: RunProblem, ahead: float) -> Callable[..., None] | None:
    """The compiled steps of a trajectory, or None where they do not pay.

    Up to d = 8 they have the bits of the plain ones, so which are taken is a question of time
    alone. Above they have not: there `ahead` decides, and not what was loaded before.
    """
    d, dynamics = min(len(problem.signal), WRITTEN_OUT + 1), problem.dynamics
    predicted = ahead * _seconds_of_a_step(len(problem.signal), dynamics)
    if d > WRITTEN_OUT and predicted < _WORTH_ANY_SIZE:
        return None
    if (d, dynamics) not in _loaded:
        if d <= WRITTEN_OUT:
            seconds = max(_spent.get((d, dynamics), 0.0), predicted)
            if seconds < (_WORTH_LOADING if "numba" in sys.modules else _WORTH_IMPORTING):
                return None
            if seconds < _WORTH_COMPILING and not _is_on_disk(d, dynamics):
                return None
        module = load(single_text(d, dynamics), f"steps of {dynamics}")
        _loaded[d, dynamics] = module.steps
    return _loaded[d, dynamics]


def block_of_steps(
    problem: RunProblem, X: Floats, square: Floats, parts: int, count: int, ahead: float
) -> Floats:
    """A block of `count` steps from X, plain or compiled; `ahead`: steps that may still come."""
    kernel = compiled_steps(problem, ahead)
    if kernel is not None:
        return run_kernel(kernel, problem, X, square, parts, count)
    started = time.perf_counter()
    block = plain_steps(problem, X, square, parts, count)
    key = len(X), problem.dynamics
    _spent[key] = _spent.get(key, 0.0) + time.perf_counter() - started
    return block
