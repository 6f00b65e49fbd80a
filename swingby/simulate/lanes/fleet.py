"""A fleet: many trajectories under way together, each in a lane, and the events due in lanes.

Subclasses hold the numbers and take the steps: :class:`swingby.simulate.lanes.tiles.Tiles` in the
lanes of the vector unit, :class:`swingby.simulate.on_torch.Tensors` on a device. What is due (a
jump, an end, an overflow, a doubtful pivot) is done here, in NumPy for all lanes together, by the
functions of single runs. A lane is looked at after whole blocks of its own steps, whatever its
neighbours do, so they do not change a bit of it.
"""

from __future__ import annotations

import abc
import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from swingby.simulate.float_pivots import in_order, negative_pivots, without_null_many
from swingby.simulate.jump import is_learned, land, plan
from swingby.simulate.state import entry_rows, most_executed, pairs
from swingby.theory.growth import DYNAMICS, log_factors
from swingby.theory.numbers import Booleans, Floats, Integers
from swingby.theory.scaled_matrices import LARGE, float_matrix, power_of_two, weights

#: Steps between two looks where nothing is lacking.
LONG_BLOCK = 256
#: Blocks until a jump that failed is tried again, and that a jump has to save.
WAIT, LEAST = 4.0, 4
#: |w_kk| of a concept that is not learned in a lane that has settled.
TINY = 1e-17
#: How close to 1 a concept is at rest, and how close to 0 an entry between two.
AT_REST, NOTHING = 1e-6, 2.0**-52


class Stopped(Exception):
    """The caller asked to stop."""


@functools.cache
def rows(d: int, *, watched: bool = False, full: bool = False) -> SimpleNamespace:
    r"""The first index of every row of a tile; a row has a number for each lane.

    What steps change: X, the entries as in a block of a single run, or all d^2 where it is `full`;
    below (d): 1 as long as w_kk has not reached 1/2, then 0; waited (d): steps for which it has
    not; low, high, heading: the filter of :func:`swingby.simulate.series.turning_points` over the
    test loss; descents: how often it has fallen; transient: the largest \|w_ij\|, i and j different
    (those five only where trajectories are watched).

    What looks and jumps change, up to `changing`: past (d): x_kk one step before; rates (d): eta
    a_k; square (d): 2^(2 m_k), of W = D X D; bar (d): what x_kk has to reach; point (d): the test
    point; root (d): 2^(m_k); swing: by how much the test loss has to fall; null: 1 where a pivot
    is kept at zero; lost: 1 where W was seen not to be positive semidefinite; wait: blocks until a
    jump may be tried, inf where nothing runs.

    What a look finds, from `loaded` on: infinite, ready (for a jump), settled, doubtful, large,
    due; 0 for no. `end`: how many rows there are. All are in one array, so that a compiler knows
    that they do not overlap. `spans`: each of them by name, as an index of columns; `entries`
    (d, d) and `pairs`: where an entry of X is, and which one a row is.
    """
    extra = int(watched)
    sizes = {"X": d * d if full else d * (d + 1) // 2, "below": d, "waited": d}
    sizes |= dict.fromkeys(("low", "high", "heading", "descents", "transient"), extra)
    sizes |= {"changing": 0} | dict.fromkeys(("past", "rates", "square", "bar"), d)
    sizes |= dict.fromkeys(("point", "root"), extra * d)
    sizes |= {"swing": extra, "null": 1, "lost": 1, "wait": 1, "loaded": 0}
    sizes |= dict.fromkeys(("infinite", "ready", "settled", "doubtful", "large", "due"), 1)
    begins = dict(zip([*sizes, "end"], itertools.accumulate([0, *sizes.values()]), strict=True))
    vectors = ("below", "waited", "past", "rates", "square", "bar", "point", "root")
    spans = {name: slice(at, at + d) if name in vectors else at for name, at in begins.items()}
    entries = np.arange(d * d).reshape(d, d) if full else entry_rows(d)
    which = np.divmod(np.arange(d * d), d) if full else pairs(d)
    return SimpleNamespace(**begins, spans=spans, entries=entries, pairs=which)


@dataclass(frozen=True, eq=False)
class Rows:
    """Runs (m,) by their numbers: an array or tensor (m, rows) whose columns have names."""

    values: Any
    at: SimpleNamespace

    def __getitem__(self, name: str) -> Any:
        """The column or columns of a name, to write to: of shape (m,) or (m, d)."""
        return self.values[:, self.at.spans[name]]

    def __setitem__(self, name: str, new: Any) -> None:
        self.values[:, self.at.spans[name]] = new


@dataclass(frozen=True, eq=False)
class Arranged:
    """Trajectories as a fleet takes them. Made by :func:`swingby.simulate.batch.arrange`.

    rows: the numbers of each up to `loaded`; exponent (m, d): W(0) = D X D; order (m, d): concepts
    by descending a; log_smallest (m,): logarithm of the smallest positive w_kk(0), or 0; unclear
    (m,): floats leave a doubt whether all pivots of W(0) are positive.
    """

    signal: Floats
    eta: Floats
    watched: bool
    rows: Rows
    exponent: Integers
    order: Integers
    log_smallest: Floats
    unclear: Booleans


def is_indefinite(X: Floats, order: Integers) -> Booleans:
    """Matrices with a negative pivot, the concepts of each in their order."""
    return negative_pivots(np.moveaxis(in_order(X, order), 0, 2)) >= 0


def largest_between(W: Floats) -> Floats:
    """The largest size of an entry off the diagonal."""
    return np.asarray(np.abs(W * (1.0 - np.eye(W.shape[-1]))).max(axis=(1, 2)))


class Fleet(abc.ABC):
    """Trajectories under way, and what is done where something is due; subclasses take the steps.

    A lane is a place for a trajectory; `owner` says whose it is, -1 for nobody's.
    """

    #: Whether all d^2 entries of X are held.
    full = False

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
        device: Any = None,
    ) -> None:
        self.arranged, self.null, self.goal, self.stop = arranged, null, goal, stop
        self.ends, self.dynamics, self.block = ends, dynamics, block
        self.skip, self.rest, self.at = skip, rest, arranged.rows.at
        self.d, self.device = arranged.signal.shape[1], device
        self.most = int(most_executed(self.d)) // block * block if rest else 2**62
        self.exponent = arranged.exponent.copy()
        self.step = np.zeros(len(stop), dtype=np.int64)
        self.executed = np.zeros(len(stop), dtype=np.int64)
        # The factors of each different pair of signal and eta, and which one is whose.
        kinds = np.concatenate([arranged.signal, arranged.eta[:, None]], axis=1)
        different, which = kinds[:1], np.zeros(len(kinds), dtype=np.int64)
        if (kinds != kinds[0]).any():
            different, which = np.unique(kinds, axis=0, return_inverse=True)
        self.growth = log_factors(different[:, :-1], different[:, -1], dynamics)
        self.grown_by = which.ravel()
        self._lay_out(members, arranged.rows.values[members])

    @abc.abstractmethod
    def room_for(self, count: int) -> int:
        """The number of lanes that are held for so many trajectories."""

    @abc.abstractmethod
    def hold(self, numbers: Floats) -> None:
        """Hold the numbers (lanes, loaded) of all lanes."""

    @abc.abstractmethod
    def read(self, lanes: Integers, *, before: bool = False) -> Floats:
        """All numbers of some lanes, or what steps change of them as it was before a block."""

    @abc.abstractmethod
    def write(self, lanes: Integers, numbers: Floats) -> None:
        """Put back the first columns of what :meth:`read` gave."""

    @abc.abstractmethod
    def take(
        self, left: Integers, count: int, *, whole: bool, scaled: bool
    ) -> tuple[Integers, Booleans]:
        """Take blocks of `count` steps until something is due, at most so many in each lane.

        Returns how many it took in each, and where something is due; `whole`: more than one may be
        taken before the return.
        """

    @abc.abstractmethod
    def trial(self, numbers: Floats, count: int, *, scaled: bool) -> Floats:
        """The columns that steps change, so many steps after numbers like those of :meth:`read`."""

    def _lay_out(self, members: Integers, numbers: Floats) -> None:
        """Put runs into as few lanes as they need."""
        self.owner = np.full(self.room_for(len(members)), -1, dtype=np.int64)
        self.owner[: len(members)] = members
        columns = Rows(np.zeros((len(self.owner), self.at.loaded)), self.at)
        columns["wait"] = np.inf
        columns.values[: len(members)] = numbers
        self.hold(columns.values)

    def run(self, first: int, halt: Callable[[], bool]) -> None:
        """Run all to their ends; `first`: steps before whole blocks begin."""
        self._attend(np.flatnonzero(self.owner >= 0), begins=True)
        self._release()
        if first and (self.owner >= 0).any():
            self._advance(first, whole=False)
        while (self.owner >= 0).any():
            if halt():
                raise Stopped
            self._gather()
            self._advance(self.block, whole=True)

    def _advance(self, count: int, *, whole: bool) -> None:
        lanes = self.owner >= 0
        runs = self.owner[lanes]
        blocks_left = np.full(len(self.owner), np.iinfo(np.int64).max)
        end = np.minimum(self.stop[runs] - self.step[runs], self.most - self.executed[runs])
        blocks_left[lanes] = -(-end // self.block)
        scaled = bool(self.exponent[runs].any())
        taken, due_in = self.take(blocks_left, count, whole=whole, scaled=scaled)
        self.step[runs] += taken[lanes] * count
        self.executed[runs] += taken[lanes] * count
        due = np.flatnonzero(due_in & lanes & (taken > 0))
        if due.size:
            infinite = Rows(self.read(due), self.at)["infinite"] != 0.0
            if infinite.any():
                self._diverge(due[infinite], count, scaled=scaled)
            self._attend(due[~infinite])
        self._release()

    @np.errstate(all="ignore")
    def _attend(self, lanes: Integers, *, begins: bool = False) -> None:
        """Do what is due in some lanes."""
        if not lanes.size:
            return
        at, runs, every = self.at, self.owner[lanes], np.arange(self.d)
        columns = Rows(self.read(lanes), at)
        X, exponent, order = (
            columns.values[:, at.entries],
            self.exponent[runs],
            self.arranged.order[runs],
        )
        ready = columns["ready"] != 0.0
        if begins:
            w = np.abs(X[:, every, every]) * power_of_two(2 * exponent)
            ready = (w <= 1e-12).all(axis=1)
        which = np.flatnonzero(columns["doubtful"])
        if which.size:
            columns["lost"][which] = is_indefinite(X[which], order[which])
        which = np.flatnonzero(columns["null"])
        if which.size:
            X[which] = without_null_many(X[which], self.null[runs[which]], order[which])
        if self.rest and not begins:
            over = (columns["settled"] != 0.0) & self._at_rest(X, exponent, runs)
            self.stop[runs[over]] = self.step[runs[over]]
        goes_on = self.step[runs] < self.stop[runs]
        if columns["large"].any():
            diagonal = X[:, every, every]
            large = (exponent < 0) & (np.abs(diagonal) > LARGE) & goes_on[:, None]
            shift = np.where(large, np.minimum(np.frexp(diagonal)[1] // 2, -exponent), 0)
            X = np.ldexp(X, -shift[:, :, None] - shift[:, None, :])
            exponent = exponent + shift
        which = np.flatnonzero(ready & goes_on)
        if self.skip and which.size:
            jumping = Rows(columns.values[which], at)
            X[which], exponent[which] = self._jump(jumping, X[which], exponent[which], runs[which])
            columns.values[which] = jumping.values
        self.exponent[runs] = exponent
        columns.values[:, : at.below] = X[:, *at.pairs]
        columns["square"] = square = power_of_two(2 * exponent)
        columns["bar"] = 0.5 / square
        if self.arranged.watched:
            columns["root"] = power_of_two(exponent)
        self.write(lanes, columns.values[:, : at.loaded])

    def _jump(
        self, columns: Rows, X: Floats, exponent: Integers, runs: Integers
    ) -> tuple[Floats, Integers]:
        """Jump over what is linear to rounding as far as it goes."""
        remaining, rates, every = (
            self.stop[runs] - self.step[runs],
            columns["rates"],
            np.arange(self.d),
        )
        w = X[:, every, every] * power_of_two(2 * exponent)
        waits = (self.goal[runs] == 1.0) & ~is_learned(w, rates)
        settling = ~waits.any(axis=1) if self.rest else np.zeros(len(runs), dtype=np.bool_)
        shortest = LEAST * self.block
        factors = self.growth[:, self.grown_by[runs]]
        jump = plan(X, exponent, rates, factors, remaining, shortest, settling, self.dynamics)
        # Whole blocks, or all that is left.
        n = np.where(jump.steps >= remaining, jump.steps, jump.steps - jump.steps % self.block)
        X, exponent = land(jump._replace(steps=n), X)
        jumped = n > 0
        self.step[runs] += n
        columns["waited"] += columns["below"] * n[:, None]
        columns["wait"] = np.where(jumped, 0.0, WAIT)
        columns["past"][jumped] = np.nan
        if not DYNAMICS[self.dynamics].keeps_psd:
            lost = is_indefinite(X, self.arranged.order[runs])
            columns["lost"] = np.maximum(columns["lost"], lost & jumped)
        if self.arranged.watched:
            # Entries move one way in a jump, so its end is enough.
            largest = largest_between(np.abs(X) * weights(exponent))
            columns["transient"] = np.maximum(columns["transient"], largest)
        return X, exponent

    def _at_rest(self, X: Floats, exponent: Integers, runs: Integers) -> Booleans:
        """Lanes whose W is at its limit, of those in which nothing moves any more."""
        goal, d = self.goal[runs], self.d
        matters = ~(np.isnan(goal)[:, :, None] | np.isnan(goal)[:, None, :])
        aim = np.where(np.eye(d, dtype=np.bool_), goal[:, :, None], 0.0)
        bar = np.where(np.eye(d, dtype=np.bool_), AT_REST, NOTHING)
        off = np.abs(float_matrix(X, exponent) - aim)
        return np.asarray((~matters | (off <= bar)).all(axis=(1, 2)))

    def _diverge(self, lanes: Integers, count: int, *, scaled: bool) -> None:
        """Take a block again up to its last finite step, at which these lanes end.

        What is not finite stays so: half of the steps that may be left are tried at a time.
        """
        at, runs = self.at, self.owner[lanes]
        numbers = self.read(lanes)[:, : at.loaded]
        numbers[:, : at.changing] = self.read(lanes, before=True)
        taken = np.zeros(len(lanes), dtype=np.int64)
        for size in (2 ** np.arange((count - 1).bit_length())[::-1]).tolist():
            now = self.trial(numbers, size, scaled=scaled)
            finite = np.isfinite(now[:, : at.below]).all(axis=1)
            numbers[finite, : at.changing] = now[finite]
            taken[finite] += size
        self.write(lanes, numbers)
        self.step[runs] -= count - taken
        self.executed[runs] -= count - taken
        self.ends.diverged[runs] = True
        self.stop[runs] = self.step[runs]

    def _release(self) -> None:
        """Keep the ends of those that are over; their lanes stand at W = 0."""
        lanes, ends = np.flatnonzero(self.owner >= 0), self.ends
        runs = self.owner[lanes]
        over = (self.step[runs] >= self.stop[runs]) | (self.executed[runs] >= self.most)
        lanes, runs = lanes[over], runs[over]
        if not lanes.size:
            return
        columns = Rows(self.read(lanes), self.at)
        ends.half_times[runs] = np.where(columns["below"] == 0.0, columns["waited"] + 1.0, np.nan)
        ends.W[runs] = float_matrix(columns.values[:, self.at.entries], self.exponent[runs])
        ends.last_step[runs], ends.executed_steps[runs] = self.step[runs], self.executed[runs]
        ends.lost[runs] = columns["lost"] != 0.0
        if self.arranged.watched:
            ends.descents[runs], ends.transient[runs] = columns["descents"], columns["transient"]
        columns.values[:] = 0.0
        columns["wait"] = np.inf
        self.write(lanes, columns.values)
        self.owner[lanes] = -1

    def _gather(self) -> None:
        """Put what is left into fewer lanes, where half of them stand still."""
        lanes = np.flatnonzero(self.owner >= 0)
        if 2 * self.room_for(len(lanes)) <= len(self.owner):
            self._lay_out(self.owner[lanes], self.read(lanes)[:, : self.at.loaded])
