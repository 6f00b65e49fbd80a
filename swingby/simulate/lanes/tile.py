"""What a tile of lanes carries, what waits to be run, and what is kept of it; NumPy only."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swingby.simulate.lanes.rows import Rows
from swingby.simulate.state import Booleans, Floats, Integers
from swingby.simulate.step_source import LANES


class Tile(NamedTuple):
    """The trajectories under way, one per lane.

    numbers: the rows of :class:`swingby.simulate.lanes.rows.Rows`, flat; start: those that
    change, when the block began; exponent (d, lanes): m of W = D X D; owner: which trajectory,
    -1 for none. The clock (1,) of the tile counts the steps of all lanes; ahead: by how much the
    step of a trajectory is ahead of it; loaded: when the trajectory came, by the clock; end: when
    it ends. scratch: a tile to do a block again.
    """

    numbers: Floats
    start: Floats
    exponent: Integers
    owner: Integers
    clock: Integers
    ahead: Integers
    loaded: Integers
    end: Integers
    scratch: Floats


class Queue(NamedTuple):
    """Trajectories to run, those of `members` one after the other; `taken` (1,) counts.

    numbers (m, loaded): rows of each, as a lane takes them; exponent (m, d): W(0) = D X D; signal
    (m, d); eta (m,); stop (m,): the step at which each ends; null (m, d): concepts whose pivot is
    kept at zero; goal (m, d): where w_kk is at rest, nan for anywhere; order (m, d): concepts by
    descending a; growth (u, 2, 4, d, d): one for each different pair of signal and eta, and which
    one is whose (m,).
    """

    numbers: Floats
    exponent: Integers
    signal: Floats
    eta: Floats
    stop: Integers
    null: Booleans
    goal: Floats
    order: Integers
    growth: Floats
    which: Integers
    members: Integers
    taken: Integers


class Ends(NamedTuple):
    """What is kept of each trajectory.

    half_times (m, d): the first step at which w_kk is at least 1/2, nan for none; W (m, d, d);
    last_step, executed (m,); diverged (m,): the first step at which W is not finite, -1 for none;
    lost (m,): W was seen not to be positive semidefinite; descents, transient (m,): of those that
    are watched.
    """

    half_times: Floats
    W: Floats
    last_step: Integers
    executed: Integers
    diverged: Integers
    lost: Booleans
    descents: Integers
    transient: Floats


def empty_tile(d: int, at: Rows) -> Tile:
    """A tile without trajectories; its lanes stay at W = 0.

    Parameters
    ----------
    d : int
    at : Rows

    Returns
    -------
    Tile
    """
    return Tile(
        numbers=_aligned(at.end * LANES),
        start=_aligned(at.changing * LANES),
        exponent=np.zeros((d, LANES), dtype=np.int64),
        owner=np.full(LANES, -1, dtype=np.int64),
        clock=np.zeros(1, dtype=np.int64),
        ahead=np.zeros(LANES, dtype=np.int64),
        loaded=np.zeros(LANES, dtype=np.int64),
        end=np.zeros(LANES, dtype=np.int64),
        scratch=_aligned(at.end * LANES),
    )


def _aligned(size: int) -> Floats:
    """Zeros that begin with a line of the cache: a vector across two lines takes twice as long."""
    room = np.zeros(size + 8)
    first = -(room.ctypes.data // 8) % 8
    return room[first : first + size]


def make_ends(total: int, d: int) -> Ends:
    """Room for the ends of `total` trajectories.

    Parameters
    ----------
    total, d : int

    Returns
    -------
    Ends
    """
    return Ends(
        half_times=np.full((total, d), np.nan),
        W=np.empty((total, d, d)),
        last_step=np.zeros(total, dtype=np.int64),
        executed=np.zeros(total, dtype=np.int64),
        diverged=np.full(total, -1, dtype=np.int64),
        lost=np.zeros(total, dtype=np.bool_),
        descents=np.zeros(total, dtype=np.int64),
        transient=np.zeros(total),
    )
