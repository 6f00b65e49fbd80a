"""simulate: one trajectory of W, with its events."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from swingby.errors import MISSING, InvalidInput, SwingbyWarning, named
from swingby.simulate.initialization import (
    clearly_positive,
    displaceable,
    doubtful_concepts,
    lasting,
    quiet_steps,
    without_null,
)
from swingby.simulate.jump import NEGLIGIBLE, is_learned, jump_alone
from swingby.simulate.observe import (
    finite_steps,
    first_at_rest,
    judge,
    level_array,
    observe,
    peaks,
)
from swingby.simulate.state import (
    LEVELS,
    Problem,
    Record,
    State,
    float_matrix,
    make_problem,
    make_state,
    most_executed,
    most_steps_of,
    pairs,
    places,
)
from swingby.simulate.steps import block_of_steps, parts_of_a_step
from swingby.simulate.trajectory import Run, needs_last_step, record_steps
from swingby.theory import budget, numbers
from swingby.theory.growth import DYNAMICS, require_dynamics
from swingby.theory.initial import Initial, Scaled, initial_state, require_psd
from swingby.theory.numbers import Booleans, Floats
from swingby.theory.task import SIMTask, as_task

#: Steps until a jump is tried again, at least; most steps in a block.
SHORTEST_WAIT, LONGEST_BLOCK = 128, 32768
#: Entries that a block of steps holds, about: what fits into the second cache.
BLOCK_ENTRIES = 2**17
#: From this |w_kk| on a concept that is not learned keeps W from jumping; the largest does
#: where a jump has ended.
UNDER_WAY = 2.0**-60
#: A coupling of two concepts this close to 1 has no event left.
LEARNED = 1e-6
#: Entries between two learned concepts below this are held as 0.
SMALLEST = 1e-300

#: A computed step takes about this, and this for each of the d^3 products of W with itself.
SECONDS_A_STEP, SECONDS_A_PRODUCT = 3e-6, 1.3e-9


@named
def simulate(
    task: SIMTask | Sequence[Any],
    W0: ArrayLike | Scaled | Initial | None = None,
    eta: Any = None,
    steps: int | None = None,
    dynamics: str = "euler",
    record: int | str | Sequence[int] | None = None,
    *,
    skip: bool = True,
    U0: ArrayLike | Scaled | None = None,
) -> Run:
    r"""Run the dynamics of W from W(0).

    .. math:: W' = A W + W A - \tfrac12 (A W^2 + W^2 A + 2 W A W),

    as one of three: ``"euler"`` is the printed (D.2), ``W + eta W'``; ``"gd"`` is gradient
    descent on U with W = U U^T, ``(I + eta B) W (I + eta B)``; ``"flow"`` is exact in time, and
    eta only converts time to steps.

    `W0` (d, d): symmetric. gd and flow need it positive semidefinite; euler warns when it is not.
    `eta`: step size; positive. Exact numbers and text are accepted.
    `steps`: at least 1. By default the run ends once W no longer changes, and at the latest after 3
    (log(1/w) + 60) divided by the growth per step of the smallest positive a, w being the smallest
    positive w_kk(0), or after computing 50 million steps (fewer above d = 8).
    `dynamics` in {"euler", "gd", "flow"}.
    `record`: which steps are kept, besides the first and the last: None, every k-th with the
    smallest k that keeps at most 10,001; ``"none"`` or 0, no other; an integer k, every k-th;
    ``"log"``, about 200 spaced evenly in the logarithm; or a sequence of steps. Events are found at
    every step whatever is recorded.
    `skip`: jump over steps that are linear to rounding. The result is the same to about 1e-13.
    `U0` (d, m): in place of W0: the run starts from U(0) U(0)^T, summed exactly and rounded once
    per entry.
    Raises InvalidInput for a wrong argument, naming it.

    Warns
    -----
    SwingbyWarning
        If W(0) is not positive semidefinite under euler; if it has deficient rank under gd or flow
        and a concept that it has no component for may be learned in place of one that it has; if
        U(0) has a pivot that U(0) U(0)^T in floats loses.

    Notes
    -----
    A W(0) of deficient rank (an LDL^T pivot that is exactly 0, or below 0 by rounding) keeps its
    rank under gd and flow: the zero pivots are restored inside the loop. That is right as long as
    the concepts learned are those of the components of W(0); where these are not the ones of the
    largest signals, W turns later, and a warning says so. Pivots below about 1e-14 of w_kk, but
    not zero, are resolved only up to the rounding of floats; of a U0, a warning names those below
    1e-12. After a loss of positive semidefiniteness W runs away faster than exponentially and
    amplifies rounding: the last steps before it leaves the float range are then not reproducible
    to a step. Entries below 1e-300 sqrt(w_ii w_jj) are held as 0.

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
    if eta is None:
        raise InvalidInput("eta", MISSING, "must be given", "(D.2)")
    rate = numbers.positive(eta, "eta", "(D.2)")
    step_size = numbers.within_float(rate, "eta", "(D.2)")
    require_dynamics(dynamics)
    task = as_task(task)
    initial = initial_state(W0, U0, task.dim)
    asked = None if steps is None else numbers.whole(steps, "steps", 1, most=2**53)
    signal, point = task.signal, task.test_point
    # The pivots take a tenth of the time of eigenvalues, which only doubt asks for.
    missing = np.zeros(task.dim, dtype=np.bool_)
    if not clearly_positive(initial, signal):
        _check_psd(initial, dynamics)
        missing, lost = doubtful_concepts(initial, signal)
        _warn_of(
            lost,
            "U0 U0^T in floats does not resolve the pivot of",
            ": this run shows its half-time only up to that rounding; swingby.predict(U0=...) keeps"
            " it",
        )
        missing = lasting(missing, initial.matrix, dynamics)
    if asked is None and not (signal > 0).any():
        raise InvalidInput("steps", None, "must be given when no signal is positive")
    if DYNAMICS[dynamics].keeps_psd:
        _warn_of(
            displaceable(missing, initial, signal),
            "W0 has deficient rank, and no component for",
            " but one for a concept of smaller signal, which may turn into it later: this run holds"
            " only until then, and floats cannot tell when; swingby.certify does",
        )
    problem = make_problem(signal, step_size, dynamics, point, missing)
    state = make_state(initial, point)
    rest = asked is None
    last = asked if asked is not None else most_steps_of(problem, state)
    unknown = rest and needs_last_step(record)
    marks = [0] if unknown else record_steps(record, last)
    ahead = min(last, _steps_ahead(problem)) if skip else last
    computed = min(ahead, most_executed(task.dim)) if rest else ahead
    seconds = computed * (SECONDS_A_STEP + SECONDS_A_PRODUCT * task.dim**3)
    budget.expect("the run", seconds, 8.0 * len(marks) * task.dim**2, partial=True)
    kept = Record.at(marks, task.dim)
    finished = run_on(problem, state, kept, last, skip=skip, rest=rest, stop=budget.spent)
    if unknown and not budget.spent():
        # The spacing of the records depends on where the run ends: once more, now knowing it.
        # A run that left the float range did so in the step after the last one that it kept.
        reached = state.step + int(state.diverged >= 0)
        ahead, state = state.ahead, make_state(initial, point)
        state.ahead = ahead
        kept = Record.at(record_steps(record, max(reached, 1)), task.dim)
        run_on(problem, state, kept, reached, skip=skip, stop=budget.spent)
    spent = "the steps asked for" if asked is not None else "the most steps allowed"
    if not finished:
        spent = "the budget" if budget.spent() else "the most computed steps allowed"
    return _collect(task, initial, rate, problem, state, kept, missing, spent)


def _warn_of(which: Booleans, before: str, after: str) -> None:
    if which.any():
        names = ", ".join(str(k + 1) for k in np.flatnonzero(which))
        warnings.warn(f"{before} concept {names}{after}", SwingbyWarning, stacklevel=3)


def _check_psd(initial: Initial, dynamics: str) -> None:
    require_psd(initial, dynamics)
    if not initial.is_psd():
        warnings.warn(
            "W0 is not positive semidefinite, as W = U U^T is: some concept may run to minus"
            " infinity",
            SwingbyWarning,
            stacklevel=3,
        )


def run_on(
    problem: Problem,
    state: State,
    record: Record,
    last: int,
    *,
    skip: bool,
    rest: bool = False,
    stop: Callable[[], bool] = lambda: False,
) -> bool:
    """Run to step `last`, or to the end; False when the bound on computed steps came first.

    `skip` allows jumps; `rest` ends the run once W no longer changes; `stop` is asked now and then.
    """
    most = most_executed(len(problem.signal)) if rest else math.inf
    while state.executed < most:
        if not advance(problem, state, record, last, skip=skip, rest=rest):
            return True
        if stop():
            break
    return False


@np.errstate(all="ignore")
def advance(
    problem: Problem, state: State, record: Record, last: int, *, skip: bool, rest: bool
) -> bool:
    """One jump or one block of steps, and all that is to be seen in it; whether the run goes on.

    Blocks end where they do whatever takes the steps.
    """
    d = len(problem.signal)
    if not state.started:
        state.started = True
        # As predicted, unless an earlier run to the same end has settled it.
        predicted = min(last, _steps_ahead(problem)) if skip else last
        state.ahead = state.ahead or math.ceil(predicted)
        state.X = without_null(problem, state.X)
        _observe_now(problem, state)
        _write(state, record, state.X[pairs(d)][:, None], -1)
    before = state.step
    if before >= last:
        return False
    state.renormalise()
    state.X = without_null(problem, state.X)
    if skip and state.wait <= 0:
        jumped = jump_alone(problem, state, record, last, rest=rest)
        if jumped:
            state.X = without_null(problem, state.X)
            _observe_now(problem, state)
            state.landed = state.step
        state.wait = _wait(problem, state)
        if jumped:
            return True
    longest = min(max(8, BLOCK_ENTRIES // len(pairs(d)[0])), LONGEST_BLOCK)
    if skip:
        longest = min(longest, state.wait)
    block = _steps(problem, state, min(longest, last - before))
    goes_on, count = True, finite_steps(state, block)
    if count < block.shape[1]:
        goes_on, state.diverged = False, before + count + 1
    if rest and count:
        quiet = first_at_rest(problem, state, block[:, :count])
        if quiet < count:
            goes_on, count = False, quiet + 1
    block = block[:, :count]
    state.step += count
    state.executed += count
    state.wait -= count
    observe(problem, state, block, before)
    _write(state, record, block, before)
    if count:
        _take_over(state, block[:, -1])
    return goes_on and state.step < last


def _observe_now(problem: Problem, state: State) -> None:
    observe(problem, state, state.X[pairs(len(state.X))][:, None], state.step - 1)


def _steps(problem: Problem, state: State, count: int) -> Floats:
    """A block of steps; pivots of concepts that are lacking are put back to zero on the way."""
    parts = parts_of_a_step(problem, state)
    if state.exponent.any():
        # What grows at most so fast stays in the float range until factors of two are moved.
        count = min(count, max(16, int(300 / max(1e-300, float(problem.growth[0].max())))))
    if not problem.null.any():
        return block_of_steps(problem, state.X, state.square, parts, count, state.ahead)
    quiet = quiet_steps(float(problem.sums.max()) / 2)
    blocks, X = [], state.X
    for first in range(0, count, quiet):
        X = without_null(problem, X) if first else X
        some = min(quiet, count - first)
        blocks.append(block_of_steps(problem, X, state.square, parts, some, state.ahead).copy())
        X = blocks[-1][:, -1][places(len(X))]
    return np.concatenate(blocks, axis=1)


def _wait(problem: Problem, state: State) -> int:
    """Steps until a jump is tried again: until the concepts under way are learned, or longer."""
    rates, w = problem.rates, state.levels
    since = float(state.step - state.landed)
    up, _, down = problem.growth.diagonal(axis1=1, axis2=2).astype(np.float64)
    bits = -np.log2(NEGLIGIBLE) + np.log2(np.minimum(np.abs(w - 1.0), 1.0))
    moving = (rates > 0.0) & ~is_learned(w, rates)
    size = np.abs(w)
    moving &= size >= (UNDER_WAY if since else size.max(initial=0.0, where=moving))
    # A sixteenth more, for a growth that slows down on the way.
    until = 17 / 16 * (bits / -down - np.log2(np.minimum(size, 1.0)) / up)
    # What is displaced by others is never learned, so that is looked at after a while.
    growth = up[np.where(moving, size, 0.0).argmax()] if moving.any() else up.max()
    most = max(since, -3 * np.log2(NEGLIGIBLE) / growth)
    return int(max(SHORTEST_WAIT, since / 8, min(until.max(initial=0.0, where=moving), most)))


def _steps_ahead(problem: Problem) -> float:
    """About the steps that a run with jumps computes: up and down once for every concept."""
    rates = np.diag(problem.growth[0]).astype(np.float64)
    return float((100.0 / rates[rates > 0]).sum()) if (rates > 0).any() else float(LONGEST_BLOCK)


def _write(state: State, record: Record, block: Floats, before: int) -> None:
    """Record W at those steps of the block that are to be recorded."""
    first = state.recorded
    last = int(np.searchsorted(record.steps, before + block.shape[1], side="right"))
    if last > first:
        values = block[:, record.steps[first:last] - before - 1]
        record.W[first:last] = values.T[:, places(len(state.X))] * state.weight
        state.recorded = last


def _take_over(state: State, last: Floats) -> None:
    """Make the last step of a block the present one.

    An entry between two learned concepts that has decayed below SMALLEST becomes zero: it would
    come to rest as a subnormal number, of which every step takes twice as long.
    """
    X = last[places(len(state.X))]
    learned = np.abs(np.diag(X) * np.diag(state.weight) - 1.0) < LEARNED
    tiny = (np.abs(X) < SMALLEST) & learned[:, None] & learned[None, :]
    state.X = np.where(tiny, 0.0, X)


def _collect(
    task: SIMTask,
    initial: Initial,
    eta: Fraction,
    problem: Problem,
    state: State,
    record: Record,
    missing: Booleans,
    spent: str,
) -> Run:
    last = state.step
    steps, W = record.steps[: state.recorded], record.W[: state.recorded]
    if not len(steps) or steps[-1] != last:
        steps = np.append(steps, last)
        W = np.concatenate([W, float_matrix(state.X, state.exponent)[None]])
    reached = level_array(state)
    turning = displaceable(missing, initial, task.signal) if problem.keeps_psd else None
    half = reached[LEVELS.index(0.5)]
    word, reason = judge(problem, state, half, missing, spent, turning)
    return Run(
        task=task,
        initial=replace(initial, factor=None),
        eta=eta,
        dynamics=problem.dynamics,
        steps=steps,
        W=W,
        level_times=dict(zip(LEVELS, reached, strict=True)),
        peaks=peaks(state),
        extrema=state.turns.found(),
        extrema_complete=state.turns.complete,
        psd_lost=state.psd_lost if state.psd_lost >= 0 else None,
        end=state.exceeded + 1 if state.exceeded < last else None,
        last_step=last,
        outcome=word,
        reason=reason,
        executed_steps=state.executed,
    )
