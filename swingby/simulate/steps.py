r"""Steps: one table of the three maps, and their texts written out for a fixed d.

With :math:`g_{ij} = \eta (a_i + a_j) w_{ij}`, :math:`y_{ij} = \sum_k g_{ik} w_{kj}` and
:math:`c_{ij} = \eta a_i w_{ij} - \tfrac12 y_{ij}` the next entry is

.. math:: \text{euler:} \quad w_{ij} + g_{ij} - \tfrac12 (y_{ij} + y_{ji}), \qquad
          \text{gd:} \quad w_{ij} + c_{ij} + c_{ji} + \eta a_j c_{ij}
          - \tfrac12 \textstyle\sum_k c_{ik} g_{kj},

which is (D.2), and :math:`(I + \eta B) W (I + \eta B)`. A text is made from d and flags alone,
and is compiled (:mod:`.compiled`) or run as it is: a single run has the same bits either way, and
those of :mod:`.plain`. Above d = 8 one text of loops and BLAS serves every d, to rounding. A tile
holds :data:`LANES` trajectories, a row of it one number of each; its texts have the loop over lanes
innermost and no branch in it, so that it becomes vector instructions.
"""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from swingby.simulate import plain
from swingby.simulate.state import Floats, Problem, State, pairs

#: Up to this dimension steps are written out without loops.
WRITTEN_OUT = 8
#: Up to this dimension the text is faster than NumPy where nothing is compiled.
TEXT_UP_TO = 3
#: Trajectories in a tile.
LANES = 32
#: A Runge-Kutta step of the flow covers at most this much of ``2 eta a max(1, w)``.
REACH = 0.08
#: Most of them in a step.
MOST_PARTS = 1e6


#: One step of each map for any d, in loops. Y is G W, the squares in the right factor.
SLOPE = """
def times(X, rates, squares, G, Z, Y):
 d = len(X)
 for i in range(d):
  for j in range(d):
   G[i, j] = (rates[i] + rates[j]) * X[i, j]
   Z[i, j] = squares[i] * X[i, j]
 np.dot(G, Z, Y)
"""
EULER = """
  for i in range(d):
   for j in range(d):
    X[i, j] += G[i, j] - 0.5 * (Y[i, j] + Y[j, i])
"""
GD = """
  for i in range(d):
   for j in range(d):
    C[i, j] = rates[i] * X[i, j] - 0.5 * Y[i, j]
    Z[i, j] = squares[i] * G[i, j]
  np.dot(C, Z, Y)
  for i in range(d):
   for j in range(i, d):
    X[i, j] += (C[i, j] + C[j, i]) + (rates[j] * C[i, j] - 0.5 * Y[i, j])
    X[j, i] = X[i, j]
"""
_STAGES = f"table, K, h = np.array({plain.DOP853.tolist()}), np.empty((12, d, d)), 1.0 / parts"
FLOW = """
  for part in range(parts):
   for stage in range(13):
    C[:] = X
    for m in range(min(stage, 12)):
     factor = h * table[stage, m]
     if factor != 0.0:
      for i in range(d):
       for j in range(d):
        C[i, j] += factor * K[m, i, j]
    if stage < 12:
     times(C, rates, squares, G, Z, Y)
     for i in range(d):
      for j in range(d):
       K[stage, i, j] = G[i, j] - 0.5 * (Y[i, j] + Y[j, i])
   X[:] = C
"""


@dataclass(frozen=True)
class Map:
    """One of the dynamics: its step in NumPy; the rest is in :mod:`swingby.theory.growth`.

    text: :func:`change` writes its lines; lanes: they are those of whole steps, also of a batch.
    """

    step: plain.Step
    text: bool = False
    lanes: bool = False


_KEPT = threading.local()

MAPS = {
    "euler": Map(plain.euler, text=True, lanes=True),
    "gd": Map(plain.gd, text=True, lanes=True),
    "flow": Map(plain.flow, text=True),
}


def parts_of_a_step(problem: Problem, state: State) -> int:
    """Runge-Kutta steps of the flow in one step, so that each is right to rounding."""
    if problem.dynamics != "flow":
        return 1
    largest = max(1.0, float((np.abs(np.diag(state.X)) * np.diag(state.weight)).max()))
    parts = float(problem.sums.max()) * largest / REACH
    # A W so large leaves the float range in any case.
    return math.ceil(parts) if 0.0 < parts < MOST_PARTS else 1


def change(d: int, dynamics: str, *, scaled: bool, fused: bool) -> list[str]:
    """Lines that make the next entries v from w, and r = eta a.

    `scaled`: W is held as D X D, every product over k carries ``s[k]``; `fused`: products and sums
    are rounded once together, by ``fma(a, b, c)``. Where they are is written down and not left to a
    compiler, so that every lane has the same bits in any company. For the flow v is the slope.
    """
    every = [(i, j) for i in range(d) for j in range(d)]
    lines = [f"{_g(i, j)} = (r{i} + r{j}) * {_w(i, j)}" for i, j in _pairs(d)]
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
        for i, j in _pairs(d):
            factors = ((f"c{i}_{k}", f"h{k}_{j}" if scaled else _g(k, j)) for k in range(d))
            total = minus_half(_chain(factors, fused), f"r{j} * c{i}_{j}")
            lines.append(f"v{i}_{j} = {_w(i, j)} + ((c{i}_{j} + c{j}_{i}) + {total})")
        return lines
    for i, j in _pairs(d):
        both = f"(y{i}_{j} + y{j}_{i})"
        if dynamics == "flow":
            lines.append(f"v{i}_{j} = {_g(i, j)} - 0.5 * {both}")
        elif fused:
            lines.append(f"v{i}_{j} = fma(-0.5, {both}, {_w(i, j)} + {_g(i, j)})")
        else:
            lines.append(f"v{i}_{j} = {_w(i, j)} + ({_g(i, j)} - 0.5 * {both})")
    return lines


def single_source(d: int, dynamics: str, *, scaled: bool) -> str:
    """The text of ``steps(start, rates, squares, parts, block, count)`` for one trajectory.

    start: the entries of X as a row of a block; rates: eta a; block takes a column for each step.
    """
    entries = range(d * (d + 1) // 2)
    if d > WRITTEN_OUT:
        return any_size_source(dynamics)
    given = [f"r{i} = rates[{i}]" for i in range(d)]
    given += [f"s{i} = squares[{i}]" for i in range(d) if scaled]
    rows, columns = (index.tolist() for index in pairs(d))
    names = [f"{i}_{j}" for i, j in zip(rows, columns, strict=True)]
    lines = change(d, dynamics, scaled=scaled, fused=False)
    if dynamics != "flow":
        return _text(
            "def steps(start, rates, squares, parts, block, count):",
            given + [f"w{name} = start[{e}]" for e, name in zip(entries, names, strict=True)],
            " for n in range(count):",
            [*lines, *(f"w{name} = v{name}" for name in names)]
            + [f"block[{e}, n] = v{name}" for e, name in zip(entries, names, strict=True)],
        )
    slope = _text(
        "def slope(x, rates, squares, K, stage):",
        given + [f"w{name} = x[{e}]" for e, name in zip(entries, names, strict=True)] + lines,
        "",
        [f"K[stage, {e}] = v{name}" for e, name in zip(entries, names, strict=True)],
    )
    count = len(names)
    return f"""{slope}
TABLE = np.array({plain.DOP853.tolist()})

def steps(start, rates, squares, parts, block, count):
 x, y, K = np.empty({count}), np.empty({count}), np.empty((12, {count}))
 x[:] = start
 h = 1.0 / parts
 for n in range(count):
  for part in range(parts):
   slope(x, rates, squares, K, 0)
   for stage in range(1, 13):
    for e in range({count}):
     y[e] = TABLE[stage, 0] * K[0, e]
    for j in range(1, min(stage, 12)):
     for e in range({count}):
      y[e] += TABLE[stage, j] * K[j, e]
    for e in range({count}):
     y[e] = x[e] + h * y[e]
    if stage < 12:
     slope(y, rates, squares, K, stage)
   x[:] = y
  block[:, n] = x
"""


def any_size_source(dynamics: str) -> str:
    """The text of the same steps for any d: loops, and products by BLAS."""
    body = {"euler": EULER, "gd": GD, "flow": FLOW}[dynamics]
    return f"""{SLOPE}
def steps(start, rates, squares, parts, block, count):
 d = len(rates)
 X, G, Z, C, Y = {", ".join(["np.empty((d, d))"] * 5)}
 e = d
 for i in range(d):
  X[i, i] = start[i]
  for j in range(i + 1, d):
   X[i, j] = X[j, i] = start[e]
   e += 1
 {_STAGES if dynamics == "flow" else ""}
 for n in range(count):
  {"" if dynamics == "flow" else "times(X, rates, squares, G, Z, Y)"}{body}
  e = d
  for i in range(d):
   block[i, n] = X[i, i]
   for j in range(i + 1, d):
    block[e, n] = X[i, j]
    e += 1
"""


def _text(head: str, before: list[str], loop: str, body: list[str]) -> str:
    indent = "  " if loop else " "
    lines = [head, *(f" {line}" for line in before), loop, *(f"{indent}{line}" for line in body)]
    return "\n".join([*(line for line in lines if line), ""])


def _pairs(d: int) -> list[tuple[int, int]]:
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


def plain_steps(problem: Problem, X: Floats, square: Floats, parts: int, count: int) -> Floats:
    """A block of `count` steps from X: in NumPy, or for few concepts by the text as it is."""
    d = len(X)
    if d <= TEXT_UP_TO and MAPS[problem.dynamics].lanes:
        kernel = _plain_text(d, problem.dynamics, bool((square != 1.0).any()))
        return run_kernel(kernel, problem, X, square, parts, count, listed=True)
    rows, columns = pairs(d)
    out = np.empty((count, d, d))
    step, squares = MAPS[problem.dynamics].step, square[:, None]
    for n in range(count):
        out[n] = X = step(X, problem.sums, squares, parts)
    return out.reshape(count, d * d)[:, rows * d + columns].T


@functools.cache
def _plain_text(d: int, dynamics: str, scaled: bool) -> Any:
    made: dict[str, Any] = {}
    exec(single_source(d, dynamics, scaled=scaled), made)  # noqa: S102
    return made["steps"]


def run_kernel(
    kernel: Any,
    problem: Problem,
    X: Floats,
    square: Floats,
    parts: int,
    count: int,
    *,
    listed: bool = False,
) -> Floats:
    """A block by a text; `listed`: as Python, whose own floats are faster than those of arrays."""
    d = len(X)
    start, rates = X[pairs(d)], 0.5 * np.ascontiguousarray(problem.sums.diagonal())
    block = _room(len(start), count)
    if listed:
        kernel(start.tolist(), rates.tolist(), square.tolist(), parts, block, count)
    else:
        kernel(start, rates, square, parts, block, count)
    return block


def _room(entries: int, count: int) -> Floats:
    """An array that is used again for every block of a thread: fresh memory is slow."""
    # Rows a power of two apart would share places of the cache.
    width = count + 8
    if getattr(_KEPT, "room", np.empty(0)).size < entries * width:
        _KEPT.room = np.empty(entries * width)
    whole: Floats = _KEPT.room[: entries * width]
    return whole.reshape(entries, width)[:, :count]


def seconds_of_a_step(d: int, dynamics: str) -> float:
    """About what a plain step takes."""
    if dynamics == "flow":
        return 1.5e-4
    if d <= TEXT_UP_TO:
        return 4e-7 * d**2
    return (2e-5 if dynamics == "gd" and d > WRITTEN_OUT else 1e-5) + 1e-8 * d**2
