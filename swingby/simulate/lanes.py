"""Many small trajectories at once, one per lane of the vector unit: euler and gd up to d = 8.

Compiled are the steps of a tile of 32 lanes, the look at them after every block, and the loop over
tiles until something is due in one of them; all three are texts made here from d and flags. What is
due (a jump, an end, an overflow, a doubtful pivot) is done in NumPy for all lanes together, by the
functions of single runs. A lane is looked at after whole blocks of its own steps, whatever its
neighbours do, so they do not change a bit of it.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swingby.simulate.initialization import clear_starts, quiet_steps, without_null_many
from swingby.simulate.jump import LEARNED, NEGLIGIBLE, STALLED, is_learned, land, plan, whole_blocks
from swingby.simulate.observe import PIVOT_ROUNDING, negative_pivots
from swingby.simulate.state import (
    LARGE,
    MOST_EXECUTED,
    Booleans,
    Floats,
    Integers,
    choose_exponents,
    float_matrix,
    most_steps,
    pairs,
    place,
    places,
    power_of_two,
    weights,
)
from swingby.simulate.steps import HEADER, LANES, change, entries
from swingby.theory.growth import DYNAMICS, log_factors
from swingby.theory.law.compiled import load

#: Steps between two looks where nothing is lacking.
LONG_BLOCK = 256
#: Blocks until a jump that failed is tried again, and that a jump has to save.
WAIT, LEAST = 4.0, 4
#: |w_kk| of a concept that is not learned in a lane that has settled.
TINY = 1e-17
#: How close to 1 a concept is at rest, and how close to 0 an entry between two.
AT_REST, NOTHING = 1e-6, 2.0**-52
#: Blocks of all tiles in one call of compiled code: about a tenth of a second.
STRETCH = 4096


class Stopped(Exception):
    """The caller asked to stop."""


@functools.cache
def rows(d: int, *, watched: bool = False) -> SimpleNamespace:
    r"""Where the rows of a tile begin; a row has one number for each lane.

    What steps change: X, the entries as in a block of a single run; below (d): 1 as long as w_kk
    has not reached 1/2, then 0; waited (d): steps for which it has not; low, high, heading: the
    filter of :func:`swingby.simulate.outcome.turning_points` over the test loss; descents: how
    often it has fallen; transient: the largest \|w_ij\|, i and j different (those five only where
    trajectories are watched).

    What looks and jumps change, up to `changing`: past (d): x_kk one step before; rates (d): eta
    a_k; square (d): 2^(2 m_k), of W = D X D; bar (d): what x_kk has to reach; point (d): the test
    point; root (d): 2^(m_k); swing: by how much the test loss has to fall; null: 1 where a pivot
    is kept at zero; lost: 1 where W was seen not to be positive semidefinite; wait: blocks until a
    jump may be tried.

    What a look finds, from `loaded` on: infinite, ready (for a jump), settled, doubtful, large,
    due; 0 for no. `end`: how many rows there are. All are in one array, so that a compiler knows
    that they do not overlap.
    """
    extra = int(watched)
    sizes = {"X": d * (d + 1) // 2, "below": d, "waited": d}
    sizes |= dict.fromkeys(("low", "high", "heading", "descents", "transient"), extra)
    sizes |= {"changing": 0} | dict.fromkeys(("past", "rates", "square", "bar"), d)
    sizes |= dict.fromkeys(("point", "root"), extra * d)
    sizes |= {"swing": extra, "null": 1, "lost": 1, "wait": 1, "loaded": 0}
    sizes |= dict.fromkeys(("infinite", "ready", "settled", "doubtful", "large", "due"), 1)
    begins = dict(zip([*sizes, "end"], itertools.accumulate([0, *sizes.values()]), strict=True))
    return SimpleNamespace(**begins)


def _row(number: int) -> str:
    return f"tile[{number * LANES} + l]"


def steps_source(d: int, dynamics: str, *, scaled: bool, watched: bool) -> str:
    """The text of ``steps(tile, count)``: steps of all lanes of a flat tile."""
    at = rows(d, watched=watched)
    body = [f"r{i} = {_row(at.rates + i)}" for i in range(d)]
    body += [f"w{i}_{j} = {_row(place(d, i, j))}" for i, j in entries(d)]
    if scaled:
        body += [f"s{i} = {_row(at.square + i)}" for i in range(d)]
    body += change(d, dynamics, scaled=scaled, fused=True)
    for i, j in entries(d):
        body.append(f"{_row(place(d, i, j))} = v{i}_{j}")
        if i == j:
            body.append(f"b = 0.0 if v{i}_{i} >= {_row(at.bar + i)} else {_row(at.below + i)}")
            body += [f"{_row(at.below + i)} = b", f"{_row(at.waited + i)} += b"]
    if watched:
        body += _watch(d, at, scaled=scaled)
    return _function("steps(tile, count)", [" for n in range(count):"], body)


def _watch(d: int, at: SimpleNamespace, *, scaled: bool) -> list[str]:
    """The test loss of W = v, one step of its zigzag filter, and the largest entry i < j."""
    lines = [f"x{i} = {_row(at.point + i)}" for i in range(d)]
    lines += [f"m{i} = {_row(at.root + i)}" for i in range(d) if scaled]
    lines += [f"y{i} = {f'm{i} * x{i}' if scaled else f'x{i}'}" for i in range(d)]
    total = ""
    for i in range(d):
        terms = f"v0_{i} * y0"
        for j in range(1, d):
            terms = f"fma(v{min(i, j)}_{max(i, j)}, y{j}, {terms})"
        lines.append(f"q{i} = {f'fma(m{i}, {terms}, -x{i})' if scaled else f'{terms} - x{i}'}")
        total = f"fma(q{i}, q{i}, {total})" if total else f"q{i} * q{i}"
    heading, low, high = _row(at.heading), _row(at.low), _row(at.high)
    lines += [
        f"loss = 0.5 * ({total})",
        f"heading, swing, low, high = {heading}, {_row(at.swing)}, {low}, {high}",
        "low = loss if (loss < low) & (heading <= 0.0) else low",
        "high = loss if (loss > high) & (heading >= 0.0) else high",
        "rose = (loss - low >= swing) & (heading <= 0.0)",
        "fell = (high - loss >= swing) & (heading >= 0.0)",
        f"{high} = loss if rose else high",
        f"{low} = loss if fell else low",
        "heading = -1.0 if fell else heading",
        f"{heading} = 1.0 if rose else heading",
        f"{_row(at.descents)} += 1.0 if fell else 0.0",
        f"t = {_row(at.transient)}",
    ]
    for i, j in entries(d):
        if i != j:
            size = f"abs(v{i}_{j} * (m{i} * m{j}))" if scaled else f"abs(v{i}_{j})"
            lines += [f"u = {size}", "t = u if u > t else t"]
    return [*lines, f"{_row(at.transient)} = t"]


def look_source(d: int, dynamics: str, *, watched: bool) -> str:
    """The text of ``look(tile, skip, rest)``, which says what is due in each lane.

    `skip` is 1.0 where lanes may jump and else 0.0, `rest` where they end once they have settled.
    Pivots of LDL^T are formed in the order of the concepts as given; one that is not clearly
    positive is looked at again in descending order of a. A lane said to be ready need not be.
    """
    at = rows(d, watched=watched)
    every = entries(d)
    body = [f"p{i}_{j} = {_row(place(d, i, j))}" for i, j in every]
    # 0 for a finite number, nan for any other.
    body.append("f = " + " + ".join(f"p{i}_{j} * 0.0" for i, j in every))
    body += ["infinite = 0.0 if f == 0.0 else 1.0", "settled, large = 1.0, 0.0"]
    body.append(f"ready = 1.0 if {_row(at.wait)} == 0.0 else 0.0")
    body.append(f"{_row(at.wait)} = {_row(at.wait)} - 1.0 if {_row(at.wait)} > 0.0 else 0.0")
    for k in range(d):
        body += [
            f"s, w = {_row(at.square + k)}, p{k}_{k} * {_row(at.square + k)}",
            # A concept without a signal of its own stays where it is.
            f"free = 1.0 if {_row(at.rates + k)} == 0.0 else 0.0",
            f"b = {STALLED!r} + {LEARNED!r} * {_row(at.rates + k)}",
            f"near{k} = 1.0 if abs(w - 1.0) * {_row(at.rates + k)} <= b else free",
            f"ready *= 1.0 if abs(w) * {2.0**8!r} <= {NEGLIGIBLE!r} else near{k}",
            f"still = 1.0 if p{k}_{k} == {_row(at.past + k)} else free",
            f"still = still if abs(w - 1.0) < {AT_REST!r} else free",
            f"settled *= 1.0 if abs(w) <= {TINY!r} else still",
            # The square is 1 where W is held as it is.
            f"big = 1.0 if abs(p{k}_{k}) > {LARGE!r} else 0.0",
            "large += big if s < 1.0 else 0.0",
        ]
    for i in range(d):
        for j in range(d):
            if i != j:
                # w_ij^2 against w_jj, i learned: what this adds to w_jj.
                product = f"p{min(i, j)}_{max(i, j)} * p{min(i, j)}_{max(i, j)}"
                small = f"{product} * {_row(at.square + i)} <= {NEGLIGIBLE!r} * abs(p{j}_{j})"
                body.append(f"ready = ready if ({small}) | (near{j} != 0.0) else 0.0")
    body.append("doubtful = 0.0")
    if not DYNAMICS[dynamics].keeps_psd:
        body += _doubt(d)
    body += [
        f"doubtful = doubtful if {_row(at.lost)} == 0.0 else 0.0",
        f"{_row(at.infinite)} = infinite",
        f"{_row(at.ready)} = ready",
        f"{_row(at.settled)} = settled",
        f"{_row(at.doubtful)} = doubtful",
        f"{_row(at.large)} = large",
        f"due = infinite + doubtful + large + {_row(at.null)}",
        f"{_row(at.due)} = due + skip * ready + rest * settled",
    ]
    return _function("look(tile, skip, rest)", [], body)


def _doubt(d: int) -> list[str]:
    bar = PIVOT_ROUNDING * d
    lines = [f"size{k} = {bar!r} * abs(p{k}_{k})" for k in range(d)]
    lines.append("sure = 1.0")
    for k in range(d):
        lines.append(f"sure = sure if p{k}_{k} > size{k} else 0.0")
        if k < d - 1:
            lines.append(f"inverse = 1.0 / p{k}_{k}")
        for i in range(k + 1, d):
            lines.append(f"factor = -p{k}_{i} * inverse")
            lines += [f"p{i}_{j} = fma(factor, p{k}_{j}, p{i}_{j})" for j in range(i, d)]
    return [*lines, "doubtful = 1.0 - sure"]


def _function(head: str, outer: list[str], body: list[str]) -> str:
    indent = " " * (len(outer) + 1)
    inner = [f"{indent}for l in range({LANES}):", *(f"{indent} {line}" for line in body)]
    return "\n".join(["@compiled", f"def {head}:", *outer, *inner, ""])


def tile_text(d: int, dynamics: str, *, scaled: bool, watched: bool) -> str:
    """The module that advances tiles (m, numbers) until something is due in each."""
    at = rows(d, watched=watched)
    arrays = "types.float64[:, ::1]"
    whole = "types.int64"
    counts = f"{whole}[::1], {whole}[::1], {whole}, {whole}"
    typed = f"({arrays}, {arrays}, {counts}, types.float64, types.float64)"
    return f"""{HEADER}{steps_source(d, dynamics, scaled=scaled, watched=watched)}
{look_source(d, dynamics, watched=watched)}
@njit((types.float64[::1], {whole}), cache=True, nogil=True, error_model="numpy")
def one(tile, count):
 steps(tile, count)

@njit({typed}, cache=True, nogil=True, error_model="numpy")
def advance(tiles, start, left, taken, most, count, skip, rest):
 for m in range(tiles.shape[0]):
  tile = tiles[m]
  taken[m] = 0
  while taken[m] < min(left[m], most):
   for n in range({at.changing * LANES}):
    start[m, n] = tile[n]
   if count > 1:
    steps(tile, count - 1)
   for n in range({d * LANES}):
    tile[{at.past * LANES} + n] = tile[n]
   steps(tile, 1)
   look(tile, skip, rest)
   taken[m] += 1
   due = 0.0
   for l in range({LANES}):
    due += {_row(at.due)}
   if due != 0.0:
    break
"""


@functools.cache
def tile_module(d: int, dynamics: str, *, scaled: bool, watched: bool) -> Any:
    """The compiled text."""
    text = tile_text(d, dynamics, scaled=scaled, watched=watched)
    return load(text, f"{dynamics} in lanes for d = {d}")


@dataclass(frozen=True, eq=False)
class Arranged:
    """Trajectories as lanes take them. Made by :func:`arrange`.

    numbers (m, loaded): the rows of each; exponent (m, d): W(0) = D X D; order (m, d): concepts by
    descending a; log_smallest (m,): logarithm of the smallest positive w_kk(0), or 0; unclear (m,):
    floats leave a doubt whether all pivots of W(0) are positive.
    """

    signal: Floats
    eta: Floats
    at: SimpleNamespace
    watched: bool
    numbers: Floats
    exponent: Integers
    order: Integers
    log_smallest: Floats
    unclear: Booleans


@np.errstate(all="ignore")
def arrange(
    signal: Floats,
    W0: Floats,
    eta: Floats,
    scale: tuple[Floats, Integers],
    point: Floats,
    swing: float,
    dynamics: str,
) -> Arranged:
    """Arrange trajectories for the lanes, W(0) = mantissa 2^exponent W0.

    `swing`: by what fraction of its initial value the test loss has to fall to descend; 0 where
    trajectories are not watched.
    """
    total, d = signal.shape
    at = rows(d, watched=swing > 0)
    mantissa, shift = scale
    # Half of each, lest the sum overflow.
    M = (W0 / 2 + W0.swapaxes(1, 2) / 2) * mantissa[:, None, None]
    every = np.arange(d)
    diagonal = M[:, every, every]
    order = np.argsort(-signal, axis=1, kind="stable")
    unclear = ~_clearly_positive(_sorted(M, order))
    logs = np.log(np.where(diagonal > 0, diagonal, 1.0)) + shift[:, None] * np.log(2.0)
    log_smallest = np.minimum(np.where(diagonal > 0, logs, 0.0).min(axis=1), 0.0)
    exponent = choose_exponents(diagonal, shift)
    moved = (shift[:, None, None] - exponent[:, :, None] - exponent[:, None, :]).clip(-3000, 3000)
    X = np.ldexp(M, moved)
    numbers = np.zeros((total, at.loaded))
    numbers[:, : at.below] = X[:, *pairs(d)]
    square = power_of_two(2 * exponent)
    reached = X[:, every, every] >= 0.5 / square
    numbers[:, at.below : at.below + d] = np.where(reached, 0.0, 1.0)
    numbers[:, at.waited : at.waited + d] = np.where(reached, -1.0, 0.0)
    numbers[:, at.past : at.past + d] = np.nan
    numbers[:, at.rates : at.rates + d] = eta[:, None] * signal
    numbers[:, at.square : at.square + d] = square
    numbers[:, at.bar : at.bar + d] = 0.5 / square
    if not DYNAMICS[dynamics].keeps_psd and unclear.any():
        which = np.flatnonzero(unclear)
        found = negative_pivots(np.moveaxis(_sorted(X[which], order[which]), 0, 2))
        numbers[which, at.lost] = found >= 0
    if swing > 0.0:
        W = float_matrix(X, exponent)
        loss = 0.5 * (((W * point[:, None, :]).sum(axis=2) - point) ** 2).sum(axis=1)
        numbers[:, at.point : at.point + d] = point
        numbers[:, at.root : at.root + d] = power_of_two(exponent)
        numbers[:, at.low] = numbers[:, at.high] = loss
        numbers[:, at.transient] = np.abs(W * (1.0 - np.eye(d))).max(axis=(1, 2))
        # A loss of zero has nothing to descend from.
        numbers[:, at.swing] = np.where(loss > 0.0, swing * loss, np.inf)
    return Arranged(signal, eta, at, swing > 0, numbers, exponent, order, log_smallest, unclear)


def _sorted(M: Floats, order: Integers) -> Floats:
    """Matrices (m, d, d) with the concepts of each in its own order."""
    return M[np.arange(len(M))[:, None, None], order[:, :, None], order[:, None, :]]


def _clearly_positive(M: Floats) -> Booleans:
    """Whether every pivot of LDL^T is positive beyond rounding, relative to the diagonal."""
    diagonal = M.diagonal(axis1=1, axis2=2)
    root = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    return clear_starts(M / root[:, :, None] / root[:, None, :]) & (diagonal > 0.0).all(axis=1)


class Lanes:
    """Trajectories under way in tiles, with the arrays that say whose they are and where."""

    def __init__(
        self,
        arranged: Arranged,
        members: Integers,
        null: Booleans,
        goal: Floats,
        stop: Integers,
        ends: SimpleNamespace,
        dynamics: str,
        block: int,
        *,
        skip: bool,
        rest: bool,
    ) -> None:
        self.given, self.null, self.goal, self.stop = arranged, null, goal, stop
        self.ends, self.dynamics, self.block = ends, dynamics, block
        self.skip, self.rest, self.at = skip, rest, arranged.at
        self.d = arranged.signal.shape[1]
        self.most = MOST_EXECUTED // block * block if rest else 2**62
        self.exponent = arranged.exponent.copy()
        self.step = np.zeros(len(stop), dtype=np.int64)
        self.executed = np.zeros(len(stop), dtype=np.int64)
        self.growth = _growth(arranged, dynamics) if skip else None
        self._lay_out(members, arranged.numbers[members])

    def _lay_out(self, members: Integers, numbers: Floats) -> None:
        """Put runs into as few tiles as they need."""
        at, tiles = self.at, -(-len(members) // LANES)
        self.numbers = _aligned(tiles, at.end * LANES)
        self.start = _aligned(tiles, at.changing * LANES)
        self.owner = np.full(tiles * LANES, -1, dtype=np.int64)
        self.owner[: len(members)] = members
        room = self.numbers.reshape(tiles, at.end, LANES)
        padded = np.zeros((tiles * LANES, at.loaded))
        padded[: len(members)] = numbers
        room[:, : at.loaded] = padded.reshape(tiles, LANES, at.loaded).swapaxes(1, 2)

    def _view(self) -> Floats:
        return self.numbers.reshape(-1, self.at.end, LANES)

    def run(self, first: int, halt: Callable[[], bool]) -> None:
        """Run all to their ends; `first`: steps before whole blocks begin."""
        every = np.arange(len(self.owner))
        self._treat(every[self.owner >= 0], begins=True)
        self._release()
        if first and (self.owner >= 0).any():
            self._advance(first, 1)
        while (self.owner >= 0).any():
            if halt():
                raise Stopped
            self._gather()
            self._advance(self.block, max(1, STRETCH // len(self.numbers)))

    def _advance(self, count: int, most: int) -> None:
        lanes = self.owner >= 0
        own = self.owner[lanes]
        left = np.full(len(self.owner), np.iinfo(np.int64).max)
        end = np.minimum(self.stop[own] - self.step[own], self.most - self.executed[own])
        left[lanes] = -(-end // self.block)
        blocks = left.reshape(-1, LANES).min(axis=1)
        blocks[blocks == np.iinfo(np.int64).max] = 0
        taken = np.zeros(len(blocks), dtype=np.int64)
        scaled = bool(self.exponent[own].any())
        module = tile_module(self.d, self.dynamics, scaled=scaled, watched=self.given.watched)
        skip, rest = float(self.skip), float(self.rest)
        module.advance(self.numbers, self.start, blocks, taken, most, count, skip, rest)
        steps = np.repeat(taken, LANES)[lanes] * count
        self.step[own] += steps
        self.executed[own] += steps
        due = (self._view()[:, self.at.due] != 0.0).ravel() & lanes & np.repeat(taken > 0, LANES)
        if due.any():
            infinite = (self._view()[:, self.at.infinite] != 0.0).ravel() & due
            if infinite.any():
                self._diverge(np.flatnonzero(infinite), count, module)
            self._treat(np.flatnonzero(due & ~infinite))
        self._release()

    @np.errstate(all="ignore")
    def _treat(self, lanes: Integers, *, begins: bool = False) -> None:
        """Do what is due in some lanes."""
        if not lanes.size:
            return
        at, d, view = self.at, self.d, self._view()
        tile, lane, own = lanes // LANES, lanes % LANES, self.owner[lanes]
        X = view[tile, :, lane][:, places(d)]
        exponent = self.exponent[own]
        flags = {
            name: view[tile, getattr(at, name), lane] != 0.0
            for name in ("doubtful", "ready", "settled", "large", "null")
        }
        if begins:
            every = np.arange(d)
            w = np.abs(X[:, every, every]) * power_of_two(2 * exponent)
            flags["ready"] = (w <= 1e-12).all(axis=1)
        if flags["doubtful"].any():
            which = np.flatnonzero(flags["doubtful"])
            order = self.given.order[own[which]]
            found = negative_pivots(np.moveaxis(_sorted(X[which], order), 0, 2))
            view[tile[which], at.lost, lane[which]] = found >= 0
        if flags["null"].any():
            which = np.flatnonzero(flags["null"])
            order = self.given.order[own[which]]
            X[which] = without_null_many(X[which], self.null[own[which]], order)
        if self.rest and not begins:
            over = flags["settled"] & self._at_rest(X, exponent, own)
            self.stop[own[over]] = self.step[own[over]]
        goes_on = self.step[own] < self.stop[own]
        if flags["large"].any():
            diagonal = X[:, np.arange(d), np.arange(d)]
            large = (exponent < 0) & (np.abs(diagonal) > LARGE) & goes_on[:, None]
            shift = np.where(large, np.minimum(np.frexp(diagonal)[1] // 2, -exponent), 0)
            X = np.ldexp(X, -shift[:, :, None] - shift[:, None, :])
            exponent = exponent + shift
        ready = np.flatnonzero(flags["ready"] & goes_on)
        if self.skip and ready.size:
            X[ready], exponent[ready] = self._jump(ready, X[ready], exponent[ready], lanes)
        self.exponent[own] = exponent
        square = power_of_two(2 * exponent)
        view[tile, : at.below, lane] = X[:, *pairs(d)]
        view[tile, at.square : at.square + d, lane] = square
        view[tile, at.bar : at.bar + d, lane] = 0.5 / square
        if self.given.watched:
            view[tile, at.root : at.root + d, lane] = power_of_two(exponent)

    def _jump(
        self, ready: Integers, X: Floats, exponent: Integers, lanes: Integers
    ) -> tuple[Floats, Integers]:
        """Jump over what is linear to rounding as far as it goes."""
        at, d, view = self.at, self.d, self._view()
        tile, lane = lanes[ready] // LANES, lanes[ready] % LANES
        own = self.owner[lanes[ready]]
        every = np.arange(d)
        left = self.stop[own] - self.step[own]
        w = X[:, every, every] * power_of_two(2 * exponent)
        rates = view[tile, at.rates : at.rates + d, lane]
        waits = (self.goal[own] == 1.0) & ~is_learned(w, rates)
        settling = ~waits.any(axis=1) if self.rest else np.zeros(len(own), dtype=np.bool_)
        if self.growth is None:
            raise AssertionError("runs that jump have growth")
        table, which = self.growth
        least = LEAST * self.block
        jump = plan(X, exponent, rates, table[:, which[own]], left, least, settling)
        jump = jump._replace(steps=whole_blocks(jump.steps, left, self.block))
        n = jump.steps
        X, exponent = land(jump, X)
        self.step[own] += n
        below = view[tile, at.below : at.below + d, lane]
        view[tile, at.waited : at.waited + d, lane] += below * n[:, None]
        view[tile, at.wait, lane] = np.where(n > 0, 0.0, WAIT)
        past = view[tile, at.past : at.past + d, lane]
        view[tile, at.past : at.past + d, lane] = np.where(n[:, None] > 0, np.nan, past)
        if not DYNAMICS[self.dynamics].keeps_psd:
            order = self.given.order[own]
            found = negative_pivots(np.moveaxis(_sorted(X, order), 0, 2)) >= 0
            view[tile, at.lost, lane] = np.maximum(view[tile, at.lost, lane], found & (n > 0))
        if self.given.watched:
            # Entries move one way in a jump, so its end is enough.
            sizes = np.abs(X) * weights(exponent) * (1.0 - np.eye(d))
            largest = view[tile, at.transient, lane]
            view[tile, at.transient, lane] = np.maximum(largest, sizes.max(axis=(1, 2)))
        return X, exponent

    def _at_rest(self, X: Floats, exponent: Integers, own: Integers) -> Booleans:
        """Whether lanes in which nothing moves any more are where they tend to."""
        goal, d = self.goal[own], self.d
        matters = ~(np.isnan(goal)[:, :, None] | np.isnan(goal)[:, None, :])
        aim = np.where(np.eye(d, dtype=np.bool_), goal[:, :, None], 0.0)
        bar = np.where(np.eye(d, dtype=np.bool_), AT_REST, NOTHING)
        off = np.abs(float_matrix(X, exponent) - aim)
        return np.asarray((~matters | (off <= bar)).all(axis=(1, 2)))

    def _diverge(self, lanes: Integers, count: int, module: Any) -> None:
        """Take the steps of a block again, up to the last finite one, where these lanes end.

        What is not finite stays so: half of the steps that may be left are tried at a time.
        """
        at, view = self.at, self._view()
        tile, lane, own = lanes // LANES, lanes % LANES, self.owner[lanes]
        room = np.zeros((-(-len(lanes) // LANES), at.end, LANES))
        where = np.arange(len(lanes)) // LANES, np.arange(len(lanes)) % LANES
        room[where[0], : at.loaded, where[1]] = view[tile, : at.loaded, lane]
        past = self.start.reshape(-1, at.changing, LANES)[tile, :, lane]
        taken = np.zeros(len(lanes), dtype=np.int64)
        for size in 2 ** np.arange((count - 1).bit_length())[::-1]:
            room[where[0], : at.changing, where[1]] = past
            for part in room:
                module.one(part.reshape(-1), size)
            now = room[where[0], : at.changing, where[1]]
            finite = np.isfinite(now[:, : at.below]).all(axis=1)
            past[finite] = now[finite]
            taken[finite] += size
        view[tile, : at.changing, lane] = past
        self.step[own] -= count - taken
        self.executed[own] -= count - taken
        self.ends.diverged[own] = True
        self.stop[own] = self.step[own]

    def _release(self) -> None:
        """Keep the ends of those that are over; their lanes stand at W = 0."""
        at, d, view, ends = self.at, self.d, self._view(), self.ends
        own = self.owner
        over = np.flatnonzero(own >= 0)
        done = (self.step[own[over]] >= self.stop[own[over]]) | (
            self.executed[own[over]] >= self.most
        )
        over = over[done]
        if not over.size:
            return
        tile, lane, own = over // LANES, over % LANES, own[over]
        numbers = view[tile, :, lane]
        below, waited = (numbers[:, a : a + d] for a in (at.below, at.waited))
        ends.half_times[own] = np.where(below == 0.0, waited + 1.0, np.nan)
        ends.W[own] = float_matrix(numbers[:, places(d)], self.exponent[own])
        ends.last_step[own], ends.executed_steps[own] = self.step[own], self.executed[own]
        ends.lost[own] = numbers[:, at.lost] != 0.0
        if self.given.watched:
            ends.descents[own], ends.transient[own] = (
                numbers[:, at.descents],
                numbers[:, at.transient],
            )
        view[tile, :, lane] = 0.0
        self.owner[over] = -1

    def _gather(self) -> None:
        """Put what is left into fewer tiles, where half of the lanes stand still."""
        lanes = np.flatnonzero(self.owner >= 0)
        if -(-len(lanes) // LANES) * 2 <= len(self.numbers):
            numbers = self._view()[lanes // LANES, : self.at.loaded, lanes % LANES]
            self._lay_out(self.owner[lanes], numbers)


def _growth(arranged: Arranged, dynamics: str) -> tuple[NDArray[np.longdouble], Integers]:
    """Factors of each different pair of signal and eta, and which one is whose."""
    given = np.concatenate([arranged.signal, arranged.eta[:, None]], axis=1)
    if (given == given[0]).all():
        different, which = given[:1], np.zeros(len(given), dtype=np.int64)
    else:
        different, which = np.unique(given, axis=0, return_inverse=True)
    return log_factors(different[:, :-1], different[:, -1], dynamics), which.ravel()


def _aligned(count: int, size: int) -> Floats:
    """Zeros that begin with a line of the cache: a vector across two lines takes twice as long."""
    room = np.zeros(count * size + 8)
    first = -(room.ctypes.data // 8) % 8
    return room[first : first + count * size].reshape(count, size)


def run_lanes(
    arranged: Arranged,
    missing: Booleans,
    steps: int | None,
    dynamics: str,
    *,
    skip: bool,
    halt: Callable[[], bool],
) -> SimpleNamespace:
    """Run trajectories; `steps`: of every one, or None until it is at rest.

    `halt` is asked a few times a second; :class:`Stopped` is raised when it says so. The ends are
    as in :class:`swingby.simulate.batch.BatchRun`; diverged and lost: W left the float range, or
    was seen not to be positive semidefinite.
    """
    total, d = arranged.signal.shape
    null = missing if DYNAMICS[dynamics].keeps_psd else np.zeros_like(missing)
    goal = np.where(arranged.signal > 0, np.where(missing, 0.0, 1.0), np.nan)
    stop = np.full(total, steps or 0)
    if steps is None:
        stop = most_steps(arranged.signal, arranged.eta, arranged.log_smallest, dynamics)
    held = null.any(axis=1)
    arranged.numbers[:, arranged.at.null] = held
    ends = SimpleNamespace(
        half_times=np.full((total, d), np.nan),
        W=np.empty((total, d, d)),
        **{name: np.zeros(total, dtype=np.int64) for name in ("last_step", "executed_steps")},
        **{name: np.zeros(total, dtype=np.bool_) for name in ("diverged", "lost")},
        descents=np.zeros(total, dtype=np.int64),
        transient=np.zeros(total),
    )
    fastest = (arranged.signal * arranged.eta[:, None]).max(axis=1)
    blocks = np.full(total, LONG_BLOCK)
    # What rounding makes of an absent component is put back to zero at every look.
    blocks[held] = [quiet_steps(one) for one in fastest[held].tolist()]
    for block in np.unique(blocks).tolist():
        members = np.flatnonzero(blocks == block)
        until = stop.copy() if steps is not None else -(-stop // block) * block
        given = (arranged, members, null, goal, until, ends, dynamics, block)
        lanes = Lanes(*given, skip=skip, rest=steps is None)
        lanes.run(0 if steps is None else steps % block, halt)
    return ends
