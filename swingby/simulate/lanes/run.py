"""A batch of small trajectories through the lanes, in stretches of a fraction of a second."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from swingby.simulate.duration import MOST_EXECUTED, most_steps
from swingby.simulate.growth_table import growth_table
from swingby.simulate.lanes.rows import Rows, rows
from swingby.simulate.lanes.tile import Ends, Queue, empty_tile, make_ends
from swingby.simulate.state import Booleans, Floats, Integers, make_problem, make_record, make_state
from swingby.simulate.step_source import LONG_BLOCK
from swingby.theory.initial import Initial

#: Products per lane in one call of compiled code: about a tenth of a second.
STRETCH = 100_000_000


class Stopped(Exception):
    """The caller asked to stop."""


@dataclass(frozen=True, eq=False)
class Arranged:
    """Trajectories as lanes take them. Made by :func:`arrange`.

    numbers, exponent, order: see :class:`swingby.simulate.lanes.tile.Queue`; log_smallest (m,):
    logarithm of the smallest positive w_kk(0), or 0; unclear (m,): floats leave a doubt whether
    all pivots of W(0) are positive.
    """

    signal: Floats
    eta: Floats
    at: Rows
    watched: bool
    numbers: Floats
    exponent: Integers
    order: Integers
    log_smallest: Floats
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
    log_smallest = np.empty(total)
    unclear = prepare.arrange(
        signal,
        W0,
        eta,
        *scale,
        point,
        swing,
        dynamics == "gd",
        at,
        numbers,
        exponent,
        order,
        log_smallest,
    )
    return Arranged(signal, eta, at, swing > 0, numbers, exponent, order, log_smallest, unclear)


def run_lanes(
    arranged: Arranged,
    missing: Booleans,
    steps: int | None,
    dynamics: str,
    *,
    skip: bool,
    halt: Callable[[], bool],
) -> Ends:
    """Run trajectories.

    Parameters
    ----------
    arranged : Arranged
    missing : ndarray of bool, shape (m, d)
        Concepts that W(0) has no component for; under gd their pivot is kept at zero.
    steps : int or None
        Of every trajectory; None until it is at rest, or for the most steps that a single run
        would take.
    dynamics : {"euler", "gd"}
    skip : bool
        Jump over steps that are linear to rounding.
    halt : callable
        Asked a few times a second.

    Returns
    -------
    Ends

    Raises
    ------
    Stopped
        When `halt` says so; what is under way is lost.
    """
    from swingby.simulate.lanes.prepare import distinct
    from swingby.simulate.pivot_kernels import quiet_steps

    total, d = arranged.signal.shape
    growth, which = np.zeros((1, 2, 4, d, d)), np.zeros(total, dtype=np.int64)
    if skip:
        first, which = distinct(arranged.signal, arranged.eta)
        growth = growth_table(arranged.signal[first], arranged.eta[first], dynamics)
    null = missing if dynamics == "gd" else np.zeros_like(missing)
    goal = np.where(arranged.signal > 0, np.where(missing, 0.0, 1.0), np.nan)
    stop = np.full(total, steps or 0)
    if steps is None:
        stop = most_steps(arranged.signal, arranged.eta, arranged.log_smallest, dynamics)
    held = null.any(axis=1)
    arranged.numbers[:, arranged.at.null] = held
    ends = make_ends(total, d)
    fastest = (arranged.signal * arranged.eta[:, None]).max(axis=1)
    blocks = np.full(total, LONG_BLOCK)
    # What rounding makes of an absent component is put back to zero at every look.
    blocks[held] = [quiet_steps(one) for one in fastest[held].tolist()]
    for block in np.unique(blocks).tolist():
        queue = Queue(
            arranged.numbers,
            arranged.exponent,
            arranged.signal,
            arranged.eta,
            stop if steps is not None else -(-stop // block) * block,
            null,
            goal,
            arranged.order,
            growth,
            which,
            np.flatnonzero(blocks == block),
            np.zeros(1, dtype=np.int64),
        )
        _run(queue, ends, arranged, steps, dynamics, block, skip=skip, halt=halt)
    return ends


def _run(
    queue: Queue,
    ends: Ends,
    arranged: Arranged,
    steps: int | None,
    dynamics: str,
    block: int,
    *,
    skip: bool,
    halt: Callable[[], bool],
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
            0 if steps is None else steps % block,
            MOST_EXECUTED // block * block if steps is None else 2**62,
            steps is None,
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
        if halt():
            raise Stopped
