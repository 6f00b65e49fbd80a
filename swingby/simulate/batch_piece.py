"""A piece of a batch: through the lanes where they take it, else one run after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swingby.simulate import events, readout
from swingby.simulate.batch_arguments import Batch, missing_of
from swingby.simulate.duration import most_executed, most_steps_of
from swingby.simulate.growth_table import growth_table
from swingby.simulate.lanes.run import Stopped, arrange, run_lanes
from swingby.simulate.outcome import Outcome, judge
from swingby.simulate.run import advance_chunk
from swingby.simulate.state import (
    END,
    EXECUTED,
    LEVELS,
    SMALLEST_SWING,
    STEP,
    Booleans,
    Floats,
    Integers,
    State,
    float_matrix,
    make_problem,
    make_record,
    make_state,
)
from swingby.simulate.step_source import WRITTEN_OUT

#: In the order in which they are decided.
OUTCOMES = (Outcome.DIVERGED, Outcome.CONVERGED, Outcome.LOST_PSD, Outcome.TRAPPED)


@dataclass(frozen=True, eq=False)
class Piece:
    """The ends of some runs.

    half_times (m, d), outcome (m,), W (m, d, d), last_step (m,), executed (m,), descents (m,),
    transient (m,); the last two are 0 where runs are not watched.
    """

    half_times: Floats
    outcome: NDArray[np.str_]
    W: Floats
    last_step: Integers
    executed: Integers
    descents: Integers
    transient: Floats


def run_piece(
    batch: Batch,
    steps: int | None,
    dynamics: str,
    *,
    swing: float,
    skip: bool,
    stop: Callable[[], bool],
) -> Piece:
    """Run a piece of a batch.

    Parameters
    ----------
    batch : Batch
    steps : int or None
        None until each run is at rest.
    dynamics : {"euler", "gd", "flow"}
    swing : float
        By what fraction of its initial value the test loss has to fall to descend; 0 where
        runs are not watched.
    skip : bool
    stop : callable
        Asked a few times a second; :class:`Stopped` is raised when it says so.

    Returns
    -------
    Piece
    """
    if dynamics == "flow" or batch.signal.shape[1] > WRITTEN_OUT:
        return _one_by_one(batch, steps, dynamics, swing=swing, skip=skip, stop=stop)
    scale = batch.mantissa, batch.exponent
    arranged = arrange(batch.signal, batch.W0, batch.eta, scale, batch.point, swing, dynamics)
    missing = missing_of(batch, arranged.unclear, dynamics)
    ends = run_lanes(arranged, missing, steps, dynamics, skip=skip, halt=stop)
    return Piece(
        half_times=ends.half_times,
        outcome=outcomes(
            ends.W, ends.half_times, ends.diverged >= 0, ends.lost, batch.signal > 0, missing
        ),
        W=ends.W,
        last_step=ends.last_step,
        executed=ends.executed,
        descents=ends.descents,
        transient=ends.transient,
    )


def outcomes(
    W: Floats,
    half_times: Floats,
    diverged: Booleans,
    lost: Booleans,
    counted: Booleans,
    missing: Booleans,
) -> NDArray[np.str_]:
    """The rules of :func:`swingby.simulate.outcome.judge`, for all runs together.

    counted: concepts with a > 0; missing: those that W(0) has no component for.
    """
    pairs = counted[:, :, None] & counted[:, None, :]
    off = np.abs(W - np.eye(W.shape[-1]))
    converged = ((off <= END) | ~pairs).all(axis=(1, 2))
    trapped = (missing & counted & np.isnan(half_times)).any(axis=1)
    return np.asarray(
        np.select(
            [diverged, converged, lost, trapped],
            [name.value for name in OUTCOMES],
            Outcome.STOPPED_EARLY.value,
        ),
        dtype="<U16",
    )


def _one_by_one(
    batch: Batch,
    steps: int | None,
    dynamics: str,
    *,
    swing: float,
    skip: bool,
    stop: Callable[[], bool],
) -> Piece:
    total, d = batch.signal.shape
    missing = missing_of(batch, np.ones(total, dtype=np.bool_), dynamics)
    growth = growth_table(batch.signal, batch.eta, dynamics)
    kept = Piece(
        half_times=np.empty((total, d)),
        outcome=np.empty(total, dtype="<U16"),
        W=np.empty((total, d, d)),
        last_step=np.zeros(total, dtype=np.int64),
        executed=np.zeros(total, dtype=np.int64),
        descents=np.zeros(total, dtype=np.int64),
        transient=np.zeros(total),
    )
    for k in range(total):
        given: dict[str, Any] = {"growth": growth[k], "point": batch.point[k]}
        given["exempt" if dynamics == "euler" else "null"] = missing[k]
        problem = make_problem(batch.signal[k], float(batch.eta[k]), dynamics, **given)
        state = make_state(batch.initial(k), problem.point)
        record = make_record([], d)
        rest = steps is None
        last = most_steps_of(problem, state, dynamics) if steps is None else steps
        while advance_chunk(problem, state, record, dynamics, last, skip=skip, rest=rest) == 1:
            if stop():
                raise Stopped
            if rest and state.counters[EXECUTED] >= most_executed(d):
                break
        if stop():
            raise Stopped
        kept.half_times[k] = readout.level_array(state)[LEVELS.index(0.5)]
        judgement = judge(problem, state, kept.half_times[k], missing[k], dynamics, "the steps")
        kept.outcome[k] = str(judgement.outcome)
        kept.W[k] = float_matrix(state)
        kept.last_step[k] = state.counters[STEP]
        kept.executed[k] = state.counters[EXECUTED]
        if swing > 0:
            kept.descents[k] = _descents(state, swing)
            kept.transient[k] = max((abs(peak.value) for peak in readout.peaks(state)), default=0)
    return kept


def _descents(state: State, swing: float) -> int:
    # The state holds the smallest swing in the unit of the loss.
    smallest = float(state.turning[2])
    if not smallest > 0:
        return 0
    return events.descents(readout.extrema(state), smallest / SMALLEST_SWING * swing)
