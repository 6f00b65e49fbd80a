"""A run: one trajectory of W from its W(0) to its outcome, with all events."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from swingby.errors import InvalidInput, SwingbyWarning, named
from swingby.simulate.factored import factored_steps, not_semidefinite, resolved
from swingby.simulate.float_pivots import quiet_steps, rounding_in_steps, without_null
from swingby.simulate.jump import NEGLIGIBLE, is_learned, jump_alone
from swingby.simulate.observation import CHUNK, begin, follow, look, peaks
from swingby.simulate.outcome import Outcome, judge
from swingby.simulate.state import (
    LEVELS,
    TRIANGLES,
    BlockSummary,
    RunProblem,
    RunRecord,
    RunState,
    make_problem,
    make_state,
    most_executed,
)
from swingby.simulate.steps import block_of_steps, parts_of_a_step
from swingby.simulate.trajectory import Run
from swingby.theory import budget, numbers
from swingby.theory.growth import require_dynamics
from swingby.theory.initial import Initial, Scaled, initial_state
from swingby.theory.numbers import Booleans, Floats
from swingby.theory.task import SIMTask, as_task

#: Steps until a jump is tried again, at least; most steps in a block.
_SHORTEST_WAIT, _LONGEST_BLOCK = 128, 32768
#: Entries that a block of steps holds, about: what fits into the second cache.
_BLOCK_ENTRIES = 2**17
#: Of whole matrices: a look at a block has costs of its own, so it holds at least so many of them;
#: at most so many, or rows, which is what falls are looked for in; and about so many entries.
_FEWEST_MATRICES, _MOST_MATRICES, _MOST_ROWS, _MATRIX_ENTRIES = 8, 64, 4096, 2**20
#: From this |w_kk| on a concept that is not learned keeps W from jumping; the largest does
#: where a jump has ended.
_UNDER_WAY = 2.0**-60
#: The recorded trajectory has at most this many steps by default.
_MOST_RECORDS = 10_001
#: Steps that record="log" keeps, about.
_LOG_RECORDS = 200
#: Steps from which on a run warns that rounding moves a half-time.
_FELT = 0.5
#: Of a half-time: below this share rounding is that of many steps, and not of a small pivot.
_FELT_SHARE = 1e-6
_RECORD_HELP = 'must be None, "none", "log", k for every k-th step (1 is all), or steps in a list'

#: A computed step takes about this, and this for each of the d^3 products of W with itself.
_SECONDS_A_STEP, _SECONDS_A_PRODUCT = 3e-6, 1e-10


@named
def simulate(
    task: SIMTask | Sequence[Any],
    W0: ArrayLike | Scaled | Initial | None = None,
    eta: Any = None,
    steps: int | None = None,
    dynamics: str = "gd",
    record: int | str | Sequence[int] | None = None,
    *,
    skip: bool = True,
    U0: ArrayLike | Scaled | None = None,
) -> Run:
    r"""Run the dynamics of W from W(0).

    .. math:: W' = A W + W A - \tfrac12 (A W^2 + W^2 A + 2 W A W),

    as one of three: ``"gd"``, the default, is gradient descent on U with W = U U^T,
    ``(I + eta B) W (I + eta B)``; ``"euler"`` is the printed (D.2), ``W + eta W'``; ``"flow"`` is
    exact in time, and eta only converts time to steps.

    Parameters
    ----------
    task : SIMTask or sequence of numbers
        The task, or its signal a.
    W0 : array of shape (d, d) or Scaled
        Symmetric. gd and flow require it to be positive semidefinite; euler warns if it is not.
    eta : number or text
        Step size in the clock of (D.2), positive.
    steps : int, optional
        At least 1. By default the run ends once W no longer changes. It ends at the latest after
        3 (log(1/w) + 60) divided by the growth per step of the smallest positive a, where w is the
        smallest positive w_kk(0), or after 50 million computed steps (fewer above d = 8).
    dynamics : {"gd", "euler", "flow"}
    record : int, str or sequence of int, optional
        Steps to record, besides the first and the last. None: every k-th, with the smallest k that
        records at most 10,001; ``"none"``: no other; an integer k: every k-th; ``"log"``: about
        200, spaced evenly in the logarithm; a sequence: these steps, at most `steps`. Events are
        detected at every step, recorded or not.
    skip : bool
        Jump over steps that are linear up to rounding. The result is the same to about 1e-13.
    U0 : array of shape (d, m) or Scaled, in place of W0
        The run starts from U(0) U(0)^T, summed exactly and rounded once per entry.

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
        If W(0) is not positive semidefinite under euler. If W(0) has deficient rank under gd or
        flow, and a concept without a component may be learned in place of one with a component. If
        it has so only up to rounding, and the run is that of the nearest U. If
        U(0) has a pivot that U(0) U(0)^T in floats loses. If a half-time, or its existence, depends
        on rounding.

    Notes
    -----
    A W(0) of deficient rank (an LDL^T pivot that is exactly 0, or below 0 by rounding) keeps its
    rank under gd and flow: the zero pivots are restored inside the loop. This is right while the
    learned concepts are those of the components of W(0). If these do not have the largest signals,
    W turns later, and a warning says so. Where rounding makes W indefinite under gd or flow, which
    would run away, the run is repeated from a factor U of W(0), without pivots below rounding
    (:mod:`swingby.simulate.factored`). Pivots of about 1e-14 of w_kk, in W(0) or after the drift
    of euler, are resolved only up to the rounding of floats; `rounding` gives the effect in steps.
    For a U0, a warning names the pivots below 1e-12. After a loss of positive semidefiniteness, a
    runaway grows faster than exponentially and amplifies rounding. The last steps before it leaves
    the float range are then not reproducible to a step. Entries below 1e-300 sqrt(w_ii w_jj) are
    stored as 0.

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
    require_dynamics(dynamics)
    task = as_task(task)
    rate = numbers.step_size(eta, task.exact_signal)
    initial = initial_state(W0, U0, task.dim)
    count = read_steps(steps)
    if count is not None and isinstance(record, (list, tuple, range, np.ndarray)):
        for step in record:
            numbers.whole(step, "record", 0, f"steps={count}", most=count)
    return run_from(task, initial, rate, count, dynamics, record, skip=skip)


def read_steps(steps: object) -> int | None:
    """The number of steps, or None for a run until W no longer changes."""
    return None if steps is None else numbers.whole(steps, "steps", 1, most=2**53)


def run_from(
    task: SIMTask,
    initial: Initial,
    eta: Fraction,
    steps: int | None,
    dynamics: str,
    record: object = None,
    *,
    skip: bool = True,
) -> Run:
    """The run of :func:`simulate`, from a W(0) and numbers that are checked."""
    signal = task.signal
    pivots, missing = initial.pivots(signal), initial.missing(signal, dynamics)
    displaceable = initial.displaceable(signal, dynamics)
    # The pivots take a tenth of the time of eigenvalues, which only doubt asks for.
    if not pivots.clear:
        initial.require_psd(dynamics)
        if not initial.is_psd:
            _warn(
                "W0 is not positive semidefinite, as W = U U^T would be: some concept may run away"
            )
        _warn_of(
            pivots.lost,
            "U0 U0^T in floats does not resolve the pivot of",
            ": its half-time in this run is right only up to that rounding; use"
            " swingby.predict(U0=...)",
        )
    if steps is None and not (signal > 0).any():
        raise InvalidInput("steps", None, "must be given when no signal is positive")
    _warn_of(
        displaceable,
        "W0 has deficient rank, and no component for",
        ", but a concept of smaller signal may turn into it later: this run is right only until"
        " then, and floats cannot tell when; use swingby.certify",
    )
    course = _course(task, initial, eta, steps, dynamics, record, missing, 0, skip=skip)
    if course[0].keeps_psd and course[1].exceeded >= course[1].step and is_broken(course[1]):
        present = resolved(initial, signal)
        missing, rank = ~present & (signal > 0), max(1, int(present.sum()))
        displaceable = initial.displaceable(signal, dynamics, missing)
        if initial.factor is None:
            _warn_of(
                missing,
                "W0 is U U^T only up to the rounding of floats, by which W turned indefinite:"
                " this run is made from the nearest U, without a component for",
                "; give U0 where there is one",
            )
        course = _course(task, initial, eta, steps, dynamics, record, missing, rank, skip=skip)
    problem, state, records, spent = course
    outcome = judge(problem, state, missing, spent, displaceable)
    log_start = make_state(initial, task.test_point).log_diagonal
    half_times, counts = state.passages[LEVELS.index(0.5)], (state.step, state.executed)
    moved = rounding_in_steps(
        signal, np.asarray(problem.eta), dynamics, log_start, half_times, *map(np.asarray, counts)
    )
    moved = np.where(missing | pivots.lost, 0.0, moved)
    remedy = ": a pivot is as small as the rounding of floats; swingby.certify resolves it"
    _warn_of(np.isnan(moved), "rounding decides when, and whether, this run learns", remedy)
    felt = np.maximum(_FELT, _FELT_SHARE * half_times)
    _warn_of(moved > felt, "rounding moves the half-time in this run of", remedy)
    return _collect(task, initial, eta, problem, state, records, outcome, moved)


def is_broken(state: RunState) -> bool:
    """Whether W is not positive semidefinite any more, beyond rounding."""
    return bool(not_semidefinite(state.X[None])[0])


def _course(
    task: SIMTask,
    initial: Initial,
    eta: Fraction,
    steps: int | None,
    dynamics: str,
    record: object,
    missing: Booleans,
    rank: int,
    *,
    skip: bool,
) -> tuple[RunProblem, RunState, RunRecord, str]:
    """A run to its end, with its records and what ended it; from a factor of `rank` columns."""
    point = task.test_point
    problem = make_problem(task.signal, float(eta), dynamics, point, missing, rank=rank)
    state = make_state(initial, point)
    rest = steps is None
    last = steps if steps is not None else problem.most_steps(state)
    unknown = rest and _needs_last_step(record)
    marks = [0] if unknown else _record_steps(record, last)
    ahead = min(last, _steps_ahead(problem)) if skip else last
    computed = min(ahead, most_executed(task.dim)) if rest else ahead
    seconds = computed * (_SECONDS_A_STEP + _SECONDS_A_PRODUCT * task.dim**3)
    budget.expect("the run", seconds, 8.0 * len(marks) * task.dim**2, partial=True)
    records = RunRecord.at(marks, task.dim)
    finished = run_on(problem, state, records, last, skip=skip, rest=rest, stop=budget.spent)
    if unknown and not budget.spent():
        # The spacing of the records depends on where the run ends: once more, now knowing it.
        # A run that left the float range did so in the step after the last one that it kept.
        reached = state.step + int(state.diverged >= 0)
        ahead, state = state.ahead, make_state(initial, point)
        state.ahead = ahead
        records = RunRecord.at(_record_steps(record, max(reached, 1)), task.dim)
        run_on(problem, state, records, reached, skip=skip, stop=budget.spent)
    spent = "the requested steps" if steps is not None else "the steps allowed"
    if not finished:
        spent = "the budget" if budget.spent() else "the computed steps allowed"
    return problem, state, records, spent


def _warn_of(concepts: Booleans, before: str, after: str) -> None:
    if concepts.any():
        names = ", ".join(str(k + 1) for k in np.flatnonzero(concepts))
        _warn(f"{before} concept {names}{after}", deeper=1)


def _warn(sentence: str, deeper: int = 0) -> None:
    """Warn at the line that calls the public function, above its check of names."""
    warnings.warn(sentence, SwingbyWarning, stacklevel=5 + deeper)


def run_on(
    problem: RunProblem,
    state: RunState,
    record: RunRecord,
    last: int,
    *,
    skip: bool,
    rest: bool = False,
    stop: Callable[[], bool] = lambda: False,
) -> bool:
    """Run to step `last`, or to the end; False when the bound on computed steps came first.

    `skip` allows jumps; `rest` ends the run once W no longer changes; `stop` is asked now and then.
    """
    limit = most_executed(len(problem.signal)) if rest else math.inf
    while state.executed < limit:
        if not advance(problem, state, record, last, skip=skip, rest=rest):
            return True
        if stop():
            break
    return False


@np.errstate(all="ignore")
def advance(
    problem: RunProblem, state: RunState, record: RunRecord, last: int, *, skip: bool, rest: bool
) -> bool:
    """Take a jump or a block of steps with all its events; False where the run has ended.

    Blocks end where they do whatever takes the steps.
    """
    if not state.started:
        state.started = True
        # As predicted, unless an earlier run to the same end has settled it.
        predicted = min(last, _steps_ahead(problem)) if skip else last
        state.ahead = state.ahead or math.ceil(predicted)
        begin(problem, state, record)
    before = state.step
    if before >= last:
        return False
    state.renormalise()
    state.X = without_null(problem, state.X)
    if skip and state.wait <= 0:
        jumped = jump_alone(problem, state, record, last, rest=rest)
        if jumped:
            look(problem, state)
            state.landed = state.step
        state.wait = _wait(problem, state)
        if jumped:
            return True
    longest = min(max(8, _BLOCK_ENTRIES // len(problem.entries[0])), _LONGEST_BLOCK)
    if (d := len(problem.signal)) > TRIANGLES:
        most = min(CHUNK, max(_MOST_MATRICES, _MOST_ROWS // d))
        longest = min(max(_FEWEST_MATRICES, _MATRIX_ENTRIES // d**2), most)
    if skip:
        longest = min(longest, state.wait)
    block, summary = _steps(problem, state, min(longest, last - before))
    goes_on = follow(problem, state, record, block, summary, rest=rest)
    return goes_on and state.step < last


def _steps(problem: RunProblem, state: RunState, count: int) -> tuple[Floats, BlockSummary | None]:
    """A block of steps; pivots of concepts that are lacking are put back to zero on the way."""
    substeps = parts_of_a_step(problem, state)
    if state.exponent.any():
        # What grows at most so fast stays in the float range until factors of two are moved.
        count = min(count, max(16, int(300 / max(1e-300, float(problem.own_growth[0].max())))))
    if problem.rank:
        return factored_steps(problem, state.X, state.square, substeps, count), None
    if not problem.null.any():
        return block_of_steps(problem, state.X, state.square, substeps, count, state.ahead)
    quiet = quiet_steps(float(problem.sums.max()) / 2)
    blocks, X = [], state.X
    for first in range(0, count, quiet):
        X = without_null(problem, X) if first else X
        length = min(quiet, count - first)
        block, _ = block_of_steps(problem, X, state.square, substeps, length, state.ahead)
        blocks.append(block.copy())
        X = blocks[-1][:, -1][problem.entry_rows]
    return np.concatenate(blocks, axis=1), None


def _wait(problem: RunProblem, state: RunState) -> int:
    """Steps until a jump is tried again: until the concepts under way are learned, or longer."""
    rates, w = problem.rates, state.levels
    since = float(state.step - state.landed)
    up, _, down = problem.own_growth.astype(np.float64)
    bits = -np.log2(NEGLIGIBLE) + np.log2(np.minimum(np.abs(w - 1.0), 1.0))
    moving = (rates > 0.0) & ~is_learned(w, rates)
    size = np.abs(w)
    moving &= size >= (_UNDER_WAY if since else size.max(initial=0.0, where=moving))
    # A sixteenth more, for a growth that slows down on the way.
    until = 17 / 16 * (bits / -down - np.log2(np.minimum(size, 1.0)) / up)
    # What is displaced by others is never learned, so that is looked at after a while.
    growth = up[np.where(moving, size, 0.0).argmax()] if moving.any() else up.max()
    longest = max(since, -3 * np.log2(NEGLIGIBLE) / growth)
    return int(max(_SHORTEST_WAIT, since / 8, min(until.max(initial=0.0, where=moving), longest)))


def _steps_ahead(problem: RunProblem) -> float:
    """About the steps that a run with jumps computes: up and down once for every concept."""
    rates = problem.own_growth[0].astype(np.float64)
    return float((100.0 / rates[rates > 0]).sum()) if (rates > 0).any() else float(_LONGEST_BLOCK)


def _collect(
    task: SIMTask,
    initial: Initial,
    eta: Fraction,
    problem: RunProblem,
    state: RunState,
    record: RunRecord,
    outcome: tuple[Outcome, str],
    rounding: Floats,
) -> Run:
    last = state.step
    steps, W = record.steps[: state.recorded], record.W[: state.recorded]
    if not len(steps) or steps[-1] != last:
        steps = np.append(steps, last)
        W = np.concatenate([W, state.W[None]])
    return Run(
        task=task,
        initial=replace(initial, factor=None),
        eta=eta,
        dynamics=problem.dynamics,
        steps=steps,
        W=W,
        level_times=dict(zip(LEVELS, state.passages, strict=True)),
        peaks=peaks(state),
        extrema=state.turns.extrema(),
        extrema_complete=state.turns.complete,
        psd_lost=state.psd_lost if state.psd_lost >= 0 else None,
        end=state.exceeded + 1 if state.exceeded < last else None,
        last_step=last,
        outcome=outcome[0],
        reason=outcome[1],
        executed_steps=state.executed,
        rounding=rounding,
    )


def _needs_last_step(record: object) -> bool:
    """True where the steps to record depend on the last step of the run."""
    return record is None or (isinstance(record, str) and record == "log")


def _record_steps(record: object, last: int) -> list[int]:
    """Ascending steps to record, from 0; the last step is added after the run where missing."""
    if record is None:
        spacing = max(1, -(-last // (_MOST_RECORDS - 1)))
        marks: Sequence[int] | range = range(0, last + 1, spacing)
        if last % spacing and len(marks) == _MOST_RECORDS:
            marks = range(0, last + 1, spacing + 1)
    elif isinstance(record, str):
        if record not in ("none", "log"):
            raise InvalidInput("record", record, _RECORD_HELP)
        marks = [0]
        if record == "log":
            spaced = np.geomspace(1, last, _LOG_RECORDS)
            marks = sorted({0, *(round(step) for step in spaced.tolist())})
    elif isinstance(record, (list, tuple, range, np.ndarray)):
        marks = sorted({0, *(numbers.whole(step, "record", 0) for step in record)})
    else:
        try:
            spacing = numbers.whole(record, "record", 1)
        except InvalidInput:
            raise InvalidInput("record", record, _RECORD_HELP) from None
        marks = range(0, last + 1, spacing)
        if len(marks) > 10_000_000:
            raise InvalidInput("record", record, f"must keep at most 10 million of {last} steps")
    return [step for step in marks if step <= last]
