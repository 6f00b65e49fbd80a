"""A batch of small trajectories through the lanes, in stretches of a fraction of a second."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from swingby.simulate.growth_table import growth_table
from swingby.simulate.lanes.rows import Rows, rows
from swingby.simulate.lanes.tile import Ends, Queue, empty_tile, make_ends
from swingby.simulate.state import Booleans, Floats, Integers, make_problem, make_record, make_state
from swingby.simulate.step_source import BLOCK, LONG_BLOCK
from swingby.theory.initial import Initial

#: Products per lane in one call of compiled code: about a tenth of a second.
STRETCH = 100_000_000


class Stopped(Exception):
    """The caller asked to stop."""


@dataclass(frozen=True, eq=False)
class Arranged:
    """Trajectories as lanes take them. Made by :func:`arrange`.

    numbers, exponent, order: see :class:`swingby.simulate.lanes.tile.Queue`; unclear (m,): floats
    leave a doubt whether all pivots of W(0) are positive.
    """

    signal: Floats
    eta: Floats
    at: Rows
    watched: bool
    numbers: Floats
    exponent: Integers
    order: Integers
    unclear: Booleans


def arrange(
    signal: Floats,
    W0: Floats,
    eta: Floats,
    scale: tuple[Floats, Integers],
    point: Floats,
    swing: float,
    dynamics: str,
) -> Arranged:
    """Arrange trajectories for the lanes.

    Parameters
    ----------
    signal : ndarray of shape (m, d)
    W0 : ndarray of shape (m, d, d)
    eta : ndarray of shape (m,)
    scale : ndarray of shape (m,), ndarray of int, shape (m,)
        Mantissas and exponents: W(0) is ``mantissa 2^exponent W0``.
    point : ndarray of shape (m, d)
        Test points.
    swing : float
        By what fraction of its initial value the test loss has to fall to descend; 0 where
        trajectories are not watched.
    dynamics : {"euler", "gd"}

    Returns
    -------
    Arranged
    """
    # numba takes 0.4 s to import, so only a run pays for it.
    from swingby.simulate.lanes import prepare

    total, d = signal.shape
    at = rows(d, watched=swing > 0)
    numbers = np.empty((total, at.loaded))
    exponent, order = np.empty((2, total, d), dtype=np.int64)
    unclear = prepare.arrange(
        signal, W0, eta, *scale, point, swing, dynamics == "gd", at, numbers, exponent, order
    )
    return Arranged(signal, eta, at, swing > 0, numbers, exponent, order, unclear)


def run_lanes(
    arranged: Arranged,
    null: Booleans,
    steps: int,
    dynamics: str,
    *,
    skip: bool,
    stop: Callable[[], bool],
) -> Ends:
    """Run trajectories.

    Parameters
    ----------
    arranged : Arranged
    null : ndarray of bool, shape (m, d)
        Concepts whose pivot is kept at zero.
    steps : int
        Of every trajectory.
    dynamics : {"euler", "gd"}
    skip : bool
        Jump over steps that are linear to rounding.
    stop : callable
        Asked a few times a second.

    Returns
    -------
    Ends

    Raises
    ------
    Stopped
        When `stop` says so; what is under way is lost.
    """
    from swingby.simulate.lanes.prepare import distinct

    total, d = arranged.signal.shape
    growth, which = np.zeros((1, 2, 3, d, d)), np.zeros(total, dtype=np.int64)
    if skip:
        first, which = distinct(arranged.signal, arranged.eta)
        growth = growth_table(arranged.signal[first], arranged.eta[first], dynamics)
    held = null.any(axis=1)
    arranged.numbers[:, arranged.at.null] = held
    ends = make_ends(total, d)
    # What rounding makes of an absent component is put back to zero at every look.
    for members, block in ((~held, LONG_BLOCK), (held, BLOCK)):
        if members.any():
            queue = Queue(
                arranged.numbers,
                arranged.exponent,
                arranged.signal,
                arranged.eta,
                null,
                arranged.order,
                growth,
                which,
                np.flatnonzero(members),
                np.zeros(1, dtype=np.int64),
            )
            _run(queue, ends, arranged, steps, dynamics, block, skip=skip, stop=stop)
    return ends


def _run(
    queue: Queue,
    ends: Ends,
    arranged: Arranged,
    steps: int,
    dynamics: str,
    block: int,
    *,
    skip: bool,
    stop: Callable[[], bool],
) -> None:
    from swingby.simulate.lanes.compiled import lane_look, lane_steps
    from swingby.simulate.lanes.kernels import BUDGET_SPENT, run_tile

    d, gd, watched = queue.signal.shape[1], dynamics == "gd", arranged.watched
    plain = lane_steps(d, gd=gd, scaled=False, watched=watched)
    is_scaled = bool(queue.exponent[queue.members].any())
    scaled = lane_steps(d, gd=gd, scaled=True, watched=watched) if is_scaled else plain
    look = lane_look(d, gd=gd, watched=watched)
    tile = empty_tile(d, arranged.at)
    model = make_problem(np.ones(d), 1.0, dynamics)
    state = make_state(Initial(np.eye(d), Fraction(1)), model.point)
    record, work = make_record([], d), np.empty((d, d))
    budget = max(1, STRETCH // d**3)
    while (
        run_tile(
            plain,
            scaled,
            look,
            tile,
            queue,
            ends,
            arranged.at,
            gd,
            watched,
            steps,
            skip,
            budget,
            state,
            model,
            record,
            work,
            block,
        )
        == BUDGET_SPENT
    ):
        if stop():
            raise Stopped
