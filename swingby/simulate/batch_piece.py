"""A piece of a batch: through the lanes where they take it, else one run after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swingby.simulate.batch_arguments import Batch, missing_of
from swingby.simulate.growth_table import growth_table
from swingby.simulate.lanes.run import Stopped, run_lanes
from swingby.simulate.lanes.tile import Ends, make_queue
from swingby.simulate.outcome import Outcome, judge
from swingby.simulate.readout import level_array
from swingby.simulate.run import advance_chunk
from swingby.simulate.state import (
    END,
    EXECUTED,
    LEVELS,
    STEP,
    Booleans,
    Floats,
    Integers,
    float_matrix,
    make_problem,
    make_record,
    make_state,
)
from swingby.simulate.step_source import BLOCK, LONG_BLOCK, WRITTEN_OUT
from swingby.theory.initial import Initial

#: In the order in which they are decided.
OUTCOMES = (Outcome.DIVERGED, Outcome.CONVERGED, Outcome.LOST_PSD, Outcome.TRAPPED)


@dataclass(frozen=True, eq=False)
class Piece:
    """The ends of some runs: arrays of shape (m, d), (m,), (m, d, d), (m,), (m,)."""

    half_times: Floats
    outcome: NDArray[np.str_]
    W: Floats
    last_step: Integers
    executed: Integers


def run_piece(
    batch: Batch, steps: int, dynamics: str, *, skip: bool, stop: Callable[[], bool]
) -> Piece:
    """Run a piece of a batch.

    Parameters
    ----------
    batch : Batch
    steps : int
    dynamics : {"euler", "gd", "flow"}
    skip : bool
    stop : callable
        Asked a few times a second; :class:`Stopped` is raised when it says so.

    Returns
    -------
    Piece
    """
    missing = missing_of(batch, dynamics)
    if dynamics == "flow" or batch.signal.shape[1] > WRITTEN_OUT:
        return _one_by_one(batch, missing, steps, dynamics, skip=skip, stop=stop)
    null = missing if dynamics == "gd" else np.zeros_like(missing)
    kept = _room(*batch.signal.shape)
    for held, block in ((False, LONG_BLOCK), (True, BLOCK)):
        runs = np.flatnonzero(null.any(axis=1) == held)
        if not len(runs):
            continue
        signal = batch.signal[runs]
        queue = make_queue(signal, batch.W0[runs], batch.eta[runs], null[runs], dynamics)
        ends = run_lanes(queue, steps, dynamics, block, skip=skip, stop=stop)
        half_times = np.where(ends.half_times < 0, np.nan, ends.half_times)
        kept.half_times[runs], kept.W[runs] = half_times, ends.W
        kept.outcome[runs] = _outcomes(ends, half_times, signal > 0, missing[runs])
        kept.last_step[runs], kept.executed[runs] = ends.last_step, ends.executed
    return kept


def _room(total: int, d: int) -> Piece:
    return Piece(
        half_times=np.empty((total, d)),
        outcome=np.empty(total, dtype="<U16"),
        W=np.empty((total, d, d)),
        last_step=np.empty(total, dtype=np.int64),
        executed=np.empty(total, dtype=np.int64),
    )


def _outcomes(
    ends: Ends, half_times: Floats, counted: Booleans, missing: Booleans
) -> NDArray[np.str_]:
    """The rules of :func:`swingby.simulate.outcome.judge`, for all runs together."""
    pairs = counted[:, :, None] & counted[:, None, :]
    off = np.abs(ends.W - np.eye(ends.W.shape[-1]))
    converged = ((off <= END) | ~pairs).all(axis=(1, 2))
    trapped = (missing & counted & np.isnan(half_times)).any(axis=1)
    return np.asarray(
        np.select(
            [ends.diverged >= 0, converged, ends.lost, trapped],
            [name.value for name in OUTCOMES],
            Outcome.STOPPED_EARLY.value,
        ),
        dtype="<U16",
    )


def _one_by_one(
    batch: Batch,
    missing: Booleans,
    steps: int,
    dynamics: str,
    *,
    skip: bool,
    stop: Callable[[], bool],
) -> Piece:
    total, d = batch.signal.shape
    growth = growth_table(batch.signal, batch.eta, dynamics)
    kept = _room(total, d)
    for k in range(total):
        given: dict[str, Any] = {"growth": growth[k]}
        given["exempt" if dynamics == "euler" else "null"] = missing[k]
        problem = make_problem(batch.signal[k], float(batch.eta[k]), dynamics, **given)
        state = make_state(Initial(batch.W0[k], Fraction(1)), problem.point)
        record = make_record([], d)
        while advance_chunk(problem, state, record, dynamics, steps, skip=skip, rest=False) == 1:
            if stop():
                raise Stopped
        if stop():
            raise Stopped
        kept.half_times[k] = level_array(state)[LEVELS.index(0.5)]
        judgement = judge(problem, state, kept.half_times[k], missing[k], dynamics, "the steps")
        kept.outcome[k] = str(judgement.outcome)
        kept.W[k] = float_matrix(state)
        kept.last_step[k] = state.counters[STEP]
        kept.executed[k] = state.counters[EXECUTED]
    return kept
