r"""Steps of the three maps: in NumPy, or compiled where that pays.

With :math:`g_{ij} = \eta (a_i + a_j) w_{ij}`, :math:`y_{ij} = \sum_k g_{ik} w_{kj}` and
:math:`c_{ij} = \eta a_i w_{ij} - \tfrac12 y_{ij}` the next entry is

.. math:: \text{euler:} \quad w_{ij} + g_{ij} - \tfrac12 (y_{ij} + y_{ji}), \qquad
          \text{gd:} \quad w_{ij} + c_{ij} + c_{ji} + \eta a_j c_{ij}
          - \tfrac12 \textstyle\sum_k c_{ik} g_{kj},

which is (D.2), and :math:`(I + \eta B) W (I + \eta B)`. The maps in NumPy are written on X
(..., d, d), with ``W = D X D`` and squares ``s[k] = 2^(2 m_k)``
(:mod:`swingby.theory.scaled_matrices`). Up to d = 8 sums over an inner concept run upwards, every
product rounded, and the compiled steps (:mod:`swingby.simulate.step_text`) have the same bits.
Above, products in NumPy are left to BLAS, and the compiled steps
(:mod:`swingby.simulate.panel_text`) agree with them to rounding.

Texts have every number written into them (see :mod:`swingby.theory.compiled_text`). numba takes
0.4 s to import and a text 0.3 to 5 s to compile; both are done where a call is predicted to pay.
"""

from __future__ import annotations

import functools
import math
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from swingby.simulate.panel_text import ARRAYS, PANEL, panel_text
from swingby.simulate.state import BlockSummary, RunProblem, RunState
from swingby.simulate.step_text import WRITTEN_OUT, single_text, stages
from swingby.theory.compiled_text import aligned, is_stored, load
from swingby.theory.numbers import Floats, Integers

#: One step: X, ``sums[i, j] = eta (a_i + a_j)``, the squares as a column, parts of a step.
_Step = Callable[[Floats, Floats, Floats, int], Floats]

#: Above this dimension products of matrices are left to BLAS, which sums in an order of its own.
_BLAS_ABOVE = 8


def _product(left: Floats, right: Floats) -> Floats:
    """Matrix product, summed upwards over the inner index."""
    if left.shape[-1] > _BLAS_ABOVE:
        return left @ right
    return np.asarray((left[..., None] * right[..., None, :, :]).sum(axis=-2))


def _transpose(M: Floats) -> Floats:
    return M.swapaxes(-1, -2)


def _upwards(weights: Floats, slopes: Floats) -> Floats:
    """The weighted sum of slopes, in their order."""
    column = weights.reshape(-1, *[1] * (slopes.ndim - 1))
    return np.asarray(np.add.accumulate(column * slopes, axis=0)[-1])


def _slope(X: Floats, sums: Floats, squares: Floats) -> Floats:
    """``eta (B W + W B)`` in terms of X: what euler adds in a step."""
    G = sums * X
    Y = _product(G, squares * X)
    return G - 0.5 * (Y + _transpose(Y))


def euler(X: Floats, sums: Floats, squares: Floats, parts: int) -> Floats:
    """``W + eta (B W + W B)``, the printed (D.2)."""
    return X + _slope(X, sums, squares)


def gd(X: Floats, sums: Floats, squares: Floats, parts: int) -> Floats:
    """``(I + eta B) W (I + eta B)``: gradient descent on U, W = U U^T."""
    d = X.shape[-1]
    G = sums * X
    half = 0.5 * sums.diagonal()
    C = half.reshape(d, 1) * X - 0.5 * _product(G, squares * X)
    V = X + ((C + _transpose(C)) + (half * C - 0.5 * _product(C, squares * G)))
    return np.triu(V) + _transpose(np.triu(V, 1))


def flow(X: Floats, sums: Floats, squares: Floats, parts: int) -> Floats:
    """The flow over a step, right to rounding: `parts` Runge-Kutta steps of order 8."""
    K = np.empty((12, *X.shape))
    h, weights = 1.0 / parts, stages()
    for _ in range(parts):
        K[0] = _slope(X, sums, squares)
        for s in range(1, 12):
            K[s] = _slope(X + h * _upwards(weights[s - 1, :s], K[:s]), sums, squares)
        X = X + h * _upwards(weights[11], K)
    return X


#: A Runge-Kutta step of the flow covers at most this much of ``2 eta a max(1, w)``.
_REACH = 0.08
#: Most of them in a step.
_MOST_PARTS = 1e6

#: The step of each map in NumPy; the rest of it is in :mod:`swingby.theory.growth`.
MAPS: dict[str, _Step] = {"euler": euler, "gd": gd, "flow": flow}
#: Those that run in lanes, where all take their steps together.
IN_LANES = frozenset({"gd", "euler"})

_KEPT = threading.local()


def parts_of_a_step(problem: RunProblem, state: RunState) -> int:
    """The number of Runge-Kutta steps of the flow in a step, so that each is right to rounding."""
    if problem.dynamics != "flow":
        return 1
    return _parts_of(problem.sums, np.abs(np.diag(state.X)) * np.diag(state.weight))


def _parts_of(sums: Floats, sizes: Floats) -> int:
    """Runge-Kutta steps of the flow in a step, for entries of these sizes."""
    substeps = float(np.abs(sums).max()) * max(1.0, float(sizes.max())) / _REACH
    # A W so large leaves the float range in any case.
    return math.ceil(substeps) if 0.0 < substeps < _MOST_PARTS else 1


def steps_of_many(W: Floats, rates: Floats, dynamics: str, counts: Integers) -> Floats:
    """Matrices W (m, d, d) after counts (m,) steps with eta a = `rates` (d,)."""
    W, sums, squares = W.copy(), rates[:, None] + rates, np.ones((len(rates), 1))
    descending = np.argsort(-counts)
    waiting = counts[descending]
    with np.errstate(all="ignore"):
        for n in range(int(waiting[0])):
            moving = descending[: np.searchsorted(-waiting, -n, side="left")]
            parts = _parts_of(sums, np.abs(W[moving])) if dynamics == "flow" else 1
            W[moving] = MAPS[dynamics](W[moving], sums, squares, parts)
    return W


def _product_into(d: int) -> Callable[[Floats, Floats, Floats], Any]:
    """:func:`_product` into a third matrix, with the same bits."""
    if d > _BLAS_ABOVE:
        return np.matmul
    terms = np.empty((d, d, d))

    def product(left: Floats, right: Floats, out: Floats) -> None:
        np.multiply(left.T[:, :, None], right[:, None, :], out=terms)
        np.add.reduce(terms, axis=0, out=out)

    return product


def _euler_into(problem: RunProblem, square: Floats) -> Callable[[Floats, Floats], None]:
    """:func:`euler` from a matrix into another, with the same bits and without fresh memory."""
    d, sums, squares = len(square), problem.sums, square[:, None]
    G, Y, Z, product = *np.empty((3, d, d)), _product_into(d)
    scaled = bool((square != 1.0).any())

    def step(X: Floats, following: Floats) -> None:
        np.multiply(sums, X, G)
        product(G, np.multiply(squares, X, Z) if scaled else X, Y)
        np.add(Y, Y.T, Z)
        np.multiply(Z, 0.5, Z)
        np.subtract(G, Z, G)
        np.add(X, G, following)

    return step


def _gd_into(problem: RunProblem, square: Floats) -> Callable[[Floats, Floats], None]:
    """:func:`gd` from a matrix into another, up to d = 8 with the same bits."""
    d, rates = len(square), 0.5 * problem.sums.diagonal()
    halves, weighted = 0.5 * problem.sums, 0.5 * problem.sums * square
    G, Y, Z, C, product = *np.empty((4, d, d)), _product_into(d)
    below, growth = np.tri(d, k=-1, dtype=np.bool_), np.eye(d) + np.diag(rates)
    column, squares, scaled = rates.reshape(d, 1), square[:, None], bool((square != 1.0).any())

    def written(X: Floats, following: Floats) -> None:
        # Half of everything: a factor of two rounds nothing.
        np.multiply(halves, X, G)
        product(G, np.multiply(squares, X, Z) if scaled else X, Y)
        np.subtract(np.multiply(column, X, C), Y, C)
        product(C, np.multiply(squares, G, Z) if scaled else G, Y)
        np.subtract(np.multiply(rates, C, Z), Y, Y)
        np.add(np.add(C, C.T, Z), Y, Y)
        np.add(X, Y, following)
        np.copyto(following, following.T, where=below)

    def congruent(X: Floats, following: Floats) -> None:
        # In terms of W = D X D, I + eta B is D N D^-1: with fewer passes over all entries.
        np.subtract(growth, np.multiply(weighted, X, G), G)
        np.matmul(X, G.T, Y)
        np.matmul(np.multiply(G, 0.5, C), Y, Z)
        np.add(Z, Z.T, following)

    return written if d <= _BLAS_ABOVE else congruent


#: The maps that a plain run takes in place: fresh memory and views cost as much as the steps.
_IN_PLACE = {"euler": _euler_into, "gd": _gd_into}


def plain_steps(problem: RunProblem, X: Floats, square: Floats, parts: int, count: int) -> Floats:
    """A block of `count` steps from X in NumPy."""
    d = len(X)
    rows, columns = problem.entries
    matrices = _room(count, d * d)
    out = matrices.reshape(count, d, d)
    if problem.dynamics in _IN_PLACE:
        step_into = _IN_PLACE[problem.dynamics](problem, square)
        for following in out:
            step_into(X, following)
            X = following
    else:
        step, squares = MAPS[problem.dynamics], square[:, None]
        for n in range(count):
            out[n] = X = step(X, problem.sums, squares, parts)
    return matrices.T if d > WRITTEN_OUT else matrices[:, rows * d + columns].T


def run_kernel(
    kernel: Any,
    problem: RunProblem,
    X: Floats,
    square: Floats,
    parts: int,
    count: int,
    summary: BlockSummary | None = None,
) -> Floats:
    """A block by a compiled text, and a summary of one of whole matrices."""
    d, rates = len(X), 0.5 * np.ascontiguousarray(problem.sums.diagonal())
    if d > WRITTEN_OUT:
        matrices = _room(count, d * d)
        start, work = np.ascontiguousarray(X), _panels(d, problem.dynamics)
        outputs, high, low = summary or BlockSummary.room(d, count)
        point = np.sqrt(square) * problem.point
        kernel(start, rates, square, parts, matrices, point, outputs, high, low, work)
        return matrices.T
    start = X[problem.entries]
    # Rows a power of two apart would share places of the cache.
    block = _room(len(start), count + 8)[:, :count]
    kernel(start, rates, square, parts, block, count)
    return block


def _room(rows: int, columns: int) -> Floats:
    """An array that is used again for every block of a thread: fresh memory is slow."""
    if getattr(_KEPT, "room", np.empty(0)).size < rows * columns:
        _KEPT.room = np.empty(rows * columns)
    memory: Floats = _KEPT.room[: rows * columns]
    return memory.reshape(rows, columns)


def _panels(d: int, dynamics: str) -> Floats:
    """Memory for the panels of a step, used again for every block of a thread."""
    panels = -(-d // PANEL)
    shape = ARRAYS[dynamics], panels, PANEL * panels, PANEL
    if getattr(_KEPT, "panels", np.empty(0)).shape != shape:
        _KEPT.panels = aligned(*shape)
    memory: Floats = _KEPT.panels
    return memory


def _seconds_of_a_step(d: int, dynamics: str) -> float:
    """About what a plain step takes."""
    if dynamics == "flow":
        return 1.5e-4
    if d <= WRITTEN_OUT:
        return 1e-5 + 1e-8 * d**2
    return (1.6 if dynamics == "gd" else 1.0) * (6e-6 + 2e-9 * d**2 + 4e-11 * d**3)


#: Seconds of plain steps that pay for loading steps compiled before, where numba is imported and
#: where it is not, and for compiling them.
_WORTH_LOADING, _WORTH_IMPORTING, _WORTH_COMPILING = 0.03, 0.4, 1.5
#: The same for steps of any d, which are compiled once for all d. They take less time than plain
#: ones at every d (by a factor of 4 at d = 16, of 1.5 to 2 from d = 64 on), so all but the shortest
#: runs have them, although the first of a process waits half a second: which steps a run has cannot
#: depend on the runs before it.
_WORTH_ANY_SIZE = 0.003

_loaded: dict[tuple[int, str], Callable[..., None]] = {}
_spent: dict[tuple[int, str], float] = {}


@functools.cache
def _is_on_disk(d: int, dynamics: str) -> bool:
    """True where the steps of a trajectory were compiled before."""
    return is_stored(single_text(d, dynamics), "steps")


def compiled_steps(problem: RunProblem, ahead: float) -> Callable[..., None] | None:
    """The compiled steps of a trajectory, or None where they do not pay.

    Up to d = 8 they have the bits of the plain ones, so which are taken is a question of time
    alone. Above they have not: there `ahead` decides, and not what was loaded before.
    """
    d, dynamics = min(len(problem.signal), WRITTEN_OUT + 1), problem.dynamics
    if dynamics not in ARRAYS:  # there is no text to compile
        return None
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
        text = single_text(d, dynamics) if d <= WRITTEN_OUT else panel_text(dynamics)
        module = load(text, f"steps of {dynamics}")
        _loaded[d, dynamics] = module.steps
    return _loaded[d, dynamics]


def block_of_steps(
    problem: RunProblem, X: Floats, square: Floats, parts: int, count: int, ahead: float
) -> tuple[Floats, BlockSummary | None]:
    """A block of `count` steps from X, plain or compiled; `ahead`: steps that may still come.

    Compiled steps of whole matrices, of more than one step, come with a summary.
    """
    kernel = compiled_steps(problem, ahead)
    if kernel is not None:
        d = len(X)
        summary = BlockSummary.room(d, count) if d > WRITTEN_OUT and count > 1 else None
        return run_kernel(kernel, problem, X, square, parts, count, summary), summary
    started = time.perf_counter()
    block = plain_steps(problem, X, square, parts, count)
    key = len(X), problem.dynamics
    _spent[key] = _spent.get(key, 0.0) + time.perf_counter() - started
    return block, None
