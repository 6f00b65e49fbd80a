"""Tiles of 32 lanes: the text of their steps and looks, compiled, and the fleet that runs in them.

Compiled are the steps of a tile, the look at it after every block, and the loop over tiles until
something is due in one of them; all three are texts made here from d and flags.
"""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

import numpy as np

from swingby.simulate.float_pivots import PIVOT_ROUNDING
from swingby.simulate.jump import LEARNED, NEGLIGIBLE, STALLED
from swingby.simulate.lanes.fleet import AT_REST, TINY, Fleet, rows
from swingby.simulate.state import entry_rows
from swingby.simulate.step_text import HEADER, change, entries
from swingby.theory.compiled_text import aligned, load
from swingby.theory.growth import DYNAMICS
from swingby.theory.numbers import Booleans, Floats, Integers
from swingby.theory.scaled_matrices import LARGE

#: Trajectories in a tile.
LANES = 32
#: Blocks of all tiles in one call of compiled code: about a tenth of a second.
_STRETCH = 4096


def _row(number: int) -> str:
    return f"tile[{number * LANES} + l]"


def steps_source(d: int, dynamics: str, *, scaled: bool, watched: bool) -> str:
    """The text of ``steps(tile, count)``: steps of all lanes of a flat tile."""
    at = rows(d, watched=watched)
    body = [f"r{i} = {_row(at.rates + i)}" for i in range(d)]
    body += [f"w{i}_{j} = {_row(entry_rows(d)[i, j])}" for i, j in entries(d)]
    if scaled:
        body += [f"s{i} = {_row(at.square + i)}" for i in range(d)]
    body += change(d, dynamics, scaled=scaled, fused=True)
    for i, j in entries(d):
        body.append(f"{_row(entry_rows(d)[i, j])} = v{i}_{j}")
        if i == j:
            body.append(f"b = 0.0 if v{i}_{i} >= {_row(at.bar + i)} else {_row(at.below + i)}")
            body += [f"{_row(at.below + i)} = b", f"{_row(at.waited + i)} += b"]
    if watched:
        body += _watch(d, at, scaled=scaled)
    return _function("steps(tile, count)", [" for n in range(count):"], body)


def _watch(d: int, at: SimpleNamespace, *, scaled: bool) -> list[str]:
    """The test loss of W = v, a step of its zigzag filter, and the largest entry i < j."""
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


def _look_source(d: int, dynamics: str, *, watched: bool) -> str:
    """The text of ``look(tile, skip, rest)``, which says what is due in each lane.

    `skip` is 1.0 where lanes may jump and else 0.0, `rest` where they end once they have settled.
    Pivots of LDL^T are formed in the order of the concepts as given; one that is not clearly
    positive is looked at again in descending order of a. A lane said to be ready need not be.
    """
    at = rows(d, watched=watched)
    every = entries(d)
    body = [f"p{i}_{j} = {_row(entry_rows(d)[i, j])}" for i, j in every]
    # 0 for a finite number, nan for any other.
    body.append("f = " + " + ".join(f"p{i}_{j} * 0.0" for i, j in every))
    body += ["infinite = 0.0 if f == 0.0 else 1.0", "large = 0.0"]
    # Nothing is due where nothing runs.
    body.append(f"settled = 1.0 if {_row(at.wait)} < math.inf else 0.0")
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
    return "\n".join(["@inner", f"def {head}:", *outer, *inner, ""])


def tile_text(d: int, dynamics: str, *, scaled: bool, watched: bool) -> str:
    """The module that advances tiles (m, numbers) until something is due in each."""
    at = rows(d, watched=watched)
    arrays = "types.float64[:, ::1]"
    integer = "types.int64"
    counts = f"{integer}[::1], {integer}[::1], {integer}, {integer}"
    typed = f"({arrays}, {arrays}, {counts}, types.float64, types.float64)"
    return f"""{HEADER}{steps_source(d, dynamics, scaled=scaled, watched=watched)}
{_look_source(d, dynamics, watched=watched)}
@compiled((types.float64[::1], {integer}))
def one(tile, count):
 steps(tile, count)

@compiled({typed})
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


class Tiles(Fleet):
    """Lanes of the vector unit, in tiles of :data:`LANES`."""

    def room_for(self, count: int) -> int:
        """Whole tiles."""
        return -(-count // LANES) * LANES

    def hold(self, numbers: Floats) -> None:
        """Row after row in each tile."""
        self.numbers = self._tiles(numbers)
        self.start = aligned(len(self.numbers), self.at.changing * LANES)

    def _tiles(self, numbers: Floats) -> Floats:
        tiles = aligned(len(numbers) // LANES, self.at.end * LANES)
        columns = numbers.reshape(len(tiles), LANES, -1).swapaxes(1, 2)
        tiles.reshape(len(tiles), -1, LANES)[:, : columns.shape[1]] = columns
        return tiles

    def read(self, lanes: Integers, *, before: bool = False) -> Floats:
        """A copy."""
        tiles = self.start if before else self.numbers
        columns = tiles.reshape(len(tiles), -1, LANES)[lanes // LANES, :, lanes % LANES]
        return np.asarray(columns)

    def write(self, lanes: Integers, numbers: Floats) -> None:
        """Put back some columns."""
        tiles = self.numbers.reshape(len(self.numbers), -1, LANES)
        tiles[lanes // LANES, : numbers.shape[1], lanes % LANES] = numbers

    def _module(self, *, scaled: bool) -> Any:
        return tile_module(self.d, self.dynamics, scaled=scaled, watched=self.arranged.watched)

    def take(
        self, left: Integers, count: int, *, whole: bool, scaled: bool
    ) -> tuple[Integers, Booleans]:
        """A tile is left alone once something is due in it."""
        blocks = left.reshape(-1, LANES).min(axis=1)
        blocks[blocks == np.iinfo(np.int64).max] = 0
        taken, most_blocks = np.zeros(len(blocks), dtype=np.int64), max(1, _STRETCH // len(blocks))
        arguments = (
            blocks,
            taken,
            most_blocks if whole else 1,
            count,
            float(self.skip),
            float(self.rest),
        )
        self._module(scaled=scaled).advance(self.numbers, self.start, *arguments)
        tiles = self.numbers.reshape(len(self.numbers), -1, LANES)
        return np.repeat(taken, LANES), np.asarray(tiles[:, self.at.due] != 0.0).ravel()

    def trial(self, numbers: Floats, count: int, *, scaled: bool) -> Floats:
        """In tiles of their own."""
        padded = np.zeros((self.room_for(len(numbers)), numbers.shape[1]))
        padded[: len(numbers)] = numbers
        tiles = self._tiles(padded)
        for tile in tiles:
            self._module(scaled=scaled).one(tile, count)
        changed = tiles.reshape(len(tiles), -1, LANES)[:, : self.at.changing].swapaxes(1, 2)
        return changed.reshape(-1, self.at.changing)[: len(numbers)]
