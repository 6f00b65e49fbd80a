"""What a tile of lanes carries, what waits to be run, and what is kept of it; NumPy only."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swingby.simulate.growth_table import growth_table
from swingby.simulate.state import PLAIN_RANGE, Booleans, Floats, Integers
from swingby.simulate.step_source import LANES, rows

#: Rows of Tile.flags: FINITE has 0 or nan; the others 1 or 0.
FINITE, READY, DOUBTFUL, IS_LARGE, HAS_NULL, DUE = range(6)


class Tile(NamedTuple):
    """The trajectories under way, one per lane.

    numbers, start: the rows of :class:`swingby.simulate.step_source.Rows`, flat, now and when the
    block began; past (d, lanes): x_kk one step before; exponent (d, lanes): m of W = D X D;
    owner: which trajectory of the queue, -1 for none; left: steps to go; executed: steps
    computed; lost: W is not positive semidefinite; flags (6, lanes) and work: scratch.
    """

    numbers: Floats
    start: Floats
    past: Floats
    exponent: Integers
    owner: Integers
    left: Integers
    executed: Integers
    lost: Booleans
    flags: Floats
    work: Floats


class Queue(NamedTuple):
    """Trajectories to run, as :mod:`swingby.simulate.state` holds them; `taken` (1,) counts.

    X (m, d, d) and exponent (m, d): W(0) = D X D; signal (m, d); eta (m,); null, counted,
    order (m, d); growth (u, 2, 3, d, d): one for each different pair of signal and eta, and
    which one is whose (m,).
    """

    X: Floats
    exponent: Integers
    signal: Floats
    eta: Floats
    null: Booleans
    counted: Booleans
    order: Integers
    growth: Floats
    which: Integers
    taken: Integers


class Ends(NamedTuple):
    """What is kept of each trajectory.

    half_times (m, d): the first step at which w_kk is at least 1/2, -1 for none; W (m, d, d);
    last_step, executed (m,); diverged (m,): the first step at which W is not finite, -1 for none;
    lost (m,): W was seen not to be positive semidefinite.
    """

    half_times: Integers
    W: Floats
    last_step: Integers
    executed: Integers
    diverged: Integers
    lost: Booleans


def empty_tile(d: int) -> Tile:
    """A tile without trajectories; its lanes stay at W = 0.

    Parameters
    ----------
    d : int

    Returns
    -------
    Tile
    """
    size = rows(d).end * LANES
    return Tile(
        numbers=np.zeros(size),
        start=np.zeros(size),
        past=np.zeros((d, LANES)),
        exponent=np.zeros((d, LANES), dtype=np.int64),
        owner=np.full(LANES, -1, dtype=np.int64),
        left=np.zeros(LANES, dtype=np.int64),
        executed=np.zeros(LANES, dtype=np.int64),
        lost=np.zeros(LANES, dtype=np.bool_),
        flags=np.zeros((6, LANES)),
        work=np.zeros(rows(d).rates * LANES),
    )


def make_queue(signal: Floats, W0: Floats, eta: Floats, null: Booleans, dynamics: str) -> Queue:
    """Arrange trajectories to run.

    Parameters
    ----------
    signal : ndarray of shape (m, d)
    W0 : ndarray of shape (m, d, d)
    eta : ndarray of shape (m,)
    null : ndarray of bool, shape (m, d)
        Concepts whose pivot is kept at zero.
    dynamics : {"euler", "gd"}

    Returns
    -------
    Queue
    """
    X, exponent = _exponents(W0)
    # In a sweep most runs share signal and eta, and a growth table costs as much as 10,000 steps.
    pairs, which = np.unique(
        np.concatenate([signal, eta[:, None]], axis=1), axis=0, return_inverse=True
    )
    return Queue(
        X=X,
        exponent=exponent,
        signal=signal,
        eta=eta,
        null=null,
        counted=signal > 0,
        order=np.argsort(-signal, axis=1, kind="stable").astype(np.int64),
        growth=growth_table(pairs[:, :-1], pairs[:, -1], dynamics),
        which=which.reshape(-1).astype(np.int64),
        taken=np.zeros(1, dtype=np.int64),
    )


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
        half_times=np.full((total, d), -1, dtype=np.int64),
        W=np.zeros((total, d, d)),
        last_step=np.zeros(total, dtype=np.int64),
        executed=np.zeros(total, dtype=np.int64),
        diverged=np.full(total, -1, dtype=np.int64),
        lost=np.zeros(total, dtype=np.bool_),
    )


def _exponents(W0: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """X and m with W(0) = D X D, m = 0 where W(0) allows, as :func:`make_state` does it."""
    diagonal = np.diagonal(W0, axis1=1, axis2=2)
    size = np.frexp(diagonal)[1].astype(np.int64)
    present = diagonal != 0
    smallest = np.where(present, size, 0).min(axis=1, initial=0)
    exponent = np.minimum(0, np.where(present, size, smallest[:, None]) // 2)
    exponent[smallest >= PLAIN_RANGE] = 0
    shift = -(exponent[:, :, None] + exponent[:, None, :])
    return np.ldexp(W0, shift.astype(np.int32)), exponent
