"""simulate: one trajectory of W, with its events."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from swingby.errors import InvalidInput, SwingbyWarning
from swingby.simulate.duration import most_executed, most_steps_of
from swingby.simulate.missing import clearly_positive, displaceable, lasting, missing_concepts
from swingby.simulate.outcome import judge
from swingby.simulate.readout import extrema, level_array, peaks
from swingby.simulate.recording import needs_last_step, record_steps
from swingby.simulate.result import Run
from swingby.simulate.state import (
    DIVERGED,
    EXCEEDED,
    EXECUTED,
    LEVELS,
    OVERFLOW,
    PSD_LOST,
    RECORDED,
    STEP,
    Booleans,
    Floats,
    Problem,
    Record,
    State,
    float_matrix,
    make_problem,
    make_record,
    make_state,
)
from swingby.theory import numbers
from swingby.theory.growth import require_dynamics
from swingby.theory.initial import Initial, Scaled, initial_matrix
from swingby.theory.task import SIMTask

#: Steps between two returns from compiled code, so that an interrupt is noticed.
CHUNK = 100_000


def simulate(
    task: SIMTask,
    W0: ArrayLike | Scaled | Initial,
    eta: Any,
    steps: int | None = None,
    dynamics: str = "euler",
    record: int | str | Sequence[int] | None = None,
    *,
    skip: bool = True,
) -> Run:
    r"""Run the dynamics of W from W(0).

    .. math:: W' = A W + W A - \tfrac12 (A W^2 + W^2 A + 2 W A W),

    as one of three: ``"euler"`` is the printed (D.2), ``W + eta W'``; ``"gd"`` is gradient
    descent on U with W = U U^T, ``(I + eta B) W (I + eta B)``; ``"flow"`` is exact in time, and
    eta only converts time to steps.

    Parameters
    ----------
    task : SIMTask
    W0 : array_like of shape (d, d), Scaled or Initial
        Symmetric. gd and flow need it positive semidefinite; euler warns when it is not.
    eta : number
        Step size; positive. Exact numbers and text are accepted.
    steps : int, optional
        At least 1. By default the run ends once W no longer changes, and at the latest after
        3 (log(1/w) + 60) divided by the growth per step of the smallest positive a, w being the
        smallest positive w_kk(0), or after computing 50 million steps (fewer above d = 8).
    dynamics : {"euler", "gd", "flow"}
    record : optional
        Which steps are kept, besides the first and the last: None, every k-th with the smallest
        k that keeps at most 10,001; ``"none"`` or 0, no other; an integer k, every k-th;
        ``"log"``, about 200 spaced evenly in the logarithm; or a sequence of steps. Events are
        found at every step whatever is recorded.
    skip : bool
        Jump over steps that are linear to rounding. The result is the same to about 1e-13.

    Returns
    -------
    Run

    Raises
    ------
    InvalidInput
        For a wrong argument, naming it.

    Warns
    -----
    SwingbyWarning
        If W(0) is not positive semidefinite under euler; if it has deficient rank under gd or flow
        and a concept that it has no component for may be learned in place of one that it has.

    Notes
    -----
    A W(0) of deficient rank (an LDL^T pivot that is exactly 0, or below 0 by rounding) keeps its
    rank under gd and flow: the zero pivots are restored inside the loop. That is right as long as
    the concepts learned are those of the components of W(0); where these are not the ones of the
    largest signals, W turns later, and a warning says so. Pivots below about
    1e-14 of w_kk, but not zero, are resolved only up to the rounding of floats. After a loss of
    positive semidefiniteness W runs away faster than exponentially and amplifies rounding: the
    last steps before it leaves the float range are then not reproducible to a step. Entries
    below 1e-300 sqrt(w_ii w_jj) are held as 0.

    References
    ----------
    (D.1), (D.2), (D.3).

    Examples
    --------
    >>> task = SIMTask.from_signal([2, 1])
    >>> run = simulate(task, [[1e-3, 0], [0, 1e-3]], eta="0.01", dynamics="flow")
    >>> run.half_times.tolist(), str(run.outcome)
    ([173.0, 346.0], 'converged')
    """
    rate = numbers.positive(eta, "eta", "(D.2)")
    step_size = numbers.within_float(rate, "eta", "(D.2)")
    require_dynamics(dynamics)
    if not isinstance(task, SIMTask):
        raise InvalidInput("task", task, "must be a SIMTask", "Sec. 2.1")
    initial = initial_matrix(W0, task.dim)
    if initial.matrix.shape != (task.dim, task.dim):
        raise InvalidInput(
            "W0", f"shape {initial.matrix.shape}", f"must have shape ({task.dim}, {task.dim})"
        )
    asked = None if steps is None else numbers.whole(steps, "steps", 1)
    if asked is not None and asked > 2**53:
        raise InvalidInput("steps", steps, "must be at most 2^53")
    signal, point = task.signal, task.test_point
    _check_psd(initial, signal, dynamics)
    if asked is None and not (signal > 0).any():
        raise InvalidInput("steps", None, "must be given when no signal is positive")
    missing = lasting(missing_concepts(initial, signal), initial.matrix, dynamics)
    if dynamics == "euler":
        problem = make_problem(signal, step_size, dynamics, point, exempt=missing)
    else:
        problem = make_problem(signal, step_size, dynamics, point, null=missing)
        _warn_of_turning(displaceable(missing, initial, signal))

    def fresh() -> State:
        return make_state(initial, point)

    rest = asked is None
    last = asked if asked is not None else most_steps_of(problem, fresh(), dynamics)
    schedule = None if rest and needs_last_step(record) else record_steps(record, last)
    state = fresh()
    kept = make_record([0] if schedule is None else schedule, task.dim)
    finished = _advance(problem, state, kept, dynamics, last, skip=skip, rest=rest)
    if schedule is None:
        # The spacing of the records depends on where the run ends: once more, now knowing it.
        # A run that left the float range did so in the step after the last one that it kept.
        reached = int(state.counters[STEP]) + int(state.counters[DIVERGED] >= 0)
        schedule = record_steps(record, max(reached, 1))
        state = fresh()
        kept = make_record(schedule, task.dim)
        _advance(problem, state, kept, dynamics, reached, skip=skip, rest=False)
    spent = "the steps asked for" if asked is not None else "the most steps allowed"
    if not finished:
        spent = "the most computed steps allowed"
    return _collect(task, initial, rate, dynamics, problem, state, kept, missing, spent)


def _warn_of_turning(turning: Booleans) -> None:
    if turning.any():
        names = ", ".join(str(k + 1) for k in np.flatnonzero(turning))
        warnings.warn(
            f"W0 has deficient rank, and no component for concept {names} but one for a concept of"
            " smaller signal, which may turn into it later: this run holds only until then, and"
            " floats cannot tell when; swingby.certify does",
            SwingbyWarning,
            stacklevel=3,
        )


def _check_psd(initial: Initial, signal: Floats, dynamics: str) -> None:
    # The pivots take a tenth of the time of eigenvalues, which only doubt asks for.
    if clearly_positive(initial, signal) or initial.is_psd():
        return
    if dynamics == "euler":
        warnings.warn(
            "W0 is not positive semidefinite, as W = U U^T is: some concept may run to minus"
            " infinity",
            SwingbyWarning,
            stacklevel=3,
        )
        return
    raise InvalidInput(
        "W0",
        "this matrix",
        f"must be positive semidefinite for dynamics={dynamics!r}, which is defined on W = U U^T",
        "(D.1)",
    )


def _advance(
    problem: Problem,
    state: State,
    record: Record,
    dynamics: str,
    last: int,
    *,
    skip: bool,
    rest: bool,
) -> bool:
    """Run in chunks; False when the bound on computed steps ended the run."""
    most = most_executed(len(problem.signal)) if rest else math.inf
    while True:
        code = advance_chunk(problem, state, record, dynamics, last, skip=skip, rest=rest)
        if code != 1:
            return True
        if state.counters[EXECUTED] >= most:
            return False


def advance_chunk(
    problem: Problem,
    state: State,
    record: Record,
    dynamics: str,
    last: int,
    *,
    skip: bool,
    rest: bool,
) -> int:
    """One stretch of compiled steps, at most :data:`CHUNK` of them computed.

    Parameters
    ----------
    problem : Problem
    state : State
        Changed in place.
    record : Record
    dynamics : str
    last : int
        The step to stop at.
    skip, rest : bool
        See :func:`swingby.simulate.kernels.advance`.

    Returns
    -------
    int
        0 at step `last`, 1 when the chunk is used up, 2 at rest, 3 not finite.
    """
    # numba takes 0.4 s to import, so only a run pays for it.
    budget = CHUNK if len(problem.signal) <= 8 else CHUNK // 10
    if dynamics == "flow":
        from swingby.simulate.flow_kernels import advance_flow

        return int(advance_flow(problem, state, record, last, budget, skip, rest))
    from swingby.simulate.compiled_steps import steps_of_a_run
    from swingby.simulate.kernels import advance

    gd = dynamics == "gd"
    plain, scaled = steps_of_a_run(len(problem.signal), gd=gd, scaled=bool(state.exponent.any()))
    return int(advance(plain, scaled, problem, state, record, gd, last, budget, skip, rest))


def _collect(
    task: SIMTask,
    initial: Initial,
    eta: Fraction,
    dynamics: str,
    problem: Problem,
    state: State,
    record: Record,
    missing: Booleans,
    spent: str,
) -> Run:
    counters = state.counters
    last = int(counters[STEP])
    recorded = int(counters[RECORDED])
    steps, W = record.steps[:recorded], record.W[:recorded]
    if not recorded or steps[-1] != last:
        steps = np.append(steps, last)
        W = np.concatenate([W, float_matrix(state)[None]])
    reached = level_array(state)
    turning = displaceable(missing, initial, task.signal) if dynamics != "euler" else None
    half = reached[LEVELS.index(0.5)]
    judgement = judge(problem, state, half, missing, dynamics, spent, turning)
    return Run(
        task=task,
        initial=initial,
        eta=eta,
        dynamics=dynamics,
        steps=steps,
        W=W,
        level_times=dict(zip(LEVELS, reached, strict=True)),
        peaks=peaks(state),
        extrema=extrema(state),
        extrema_complete=not counters[OVERFLOW],
        psd_lost=int(counters[PSD_LOST]) if counters[PSD_LOST] >= 0 else None,
        end=int(counters[EXCEEDED]) + 1 if counters[EXCEEDED] < last else None,
        last_step=last,
        outcome=judgement.outcome,
        reason=judgement.reason,
        executed_steps=int(counters[EXECUTED]),
    )
