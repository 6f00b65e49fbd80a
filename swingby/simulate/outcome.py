"""How a run ended, in one word and one sentence, and its events out of the arrays of a state.

The compiled loops find turning points, descents and first passages while they run; the functions
here define them, and serve series that a user already has.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from swingby.errors import InvalidInput
from swingby.simulate.state import SMALLEST_SWING, Kind, Problem, State, log_diagonal
from swingby.theory import numbers
from swingby.theory.growth import NEITHER
from swingby.theory.numbers import Booleans, Floats


class Extremum(NamedTuple):
    """A local extremum: `step`, `value`, and `kind`, which is ``"min"`` or ``"max"``."""

    step: int
    value: float
    kind: Kind


class Peak(NamedTuple):
    """The largest size that an off-diagonal entry reached.

    `i` and `j` index the entry (from 0, i < j), `step` is the first step of the largest
    ``|w_ij|``, `value` the signed entry there (0 when it lies below the float range), and
    `suppressed` the first later step at which ``|w_ij|`` is at most half of it, or None.
    """

    i: int
    j: int
    step: int
    value: float
    suppressed: int | None


def turning_points(
    values: ArrayLike, swing: float = 0.0, steps: ArrayLike | None = None
) -> tuple[Extremum, ...]:
    """Turning points of a series, ignoring swings smaller than `swing` (a zigzag filter).

    A minimum counts once the series has risen by at least `swing` above it, a maximum once it
    has fallen by at least `swing` below it; of equal values the first counts. The last
    extremum, which nothing confirms, is included; so is the first value, where the series
    moves away from it.

    `values` (n,).
    `swing`: smallest move that counts, in the unit of `values`; with 0 every change counts.
    `steps` (n,): step of each value; default 0, 1, 2, .
    Returns kinds alternate. Empty when the series never moves by `swing`.
    Raises InvalidInput if the series has not one axis, is not finite, or the swing is negative.
    """
    series = numbers.real_array(values, "values")
    if series.ndim != 1:
        raise InvalidInput("values", f"an array of shape {series.shape}", "must have one axis")
    marks = np.arange(series.size) if steps is None else np.asarray(steps)
    if marks.shape != series.shape:
        raise InvalidInput("steps", f"shape {marks.shape}", f"must have shape {series.shape}")
    if not swing >= 0:
        raise InvalidInput("swing", swing, "must not be negative")
    found: list[Extremum] = []
    low = high = (float(series[0]), int(marks[0]))
    heading = 0
    for value, step in zip(series.tolist(), marks.tolist(), strict=True):
        if heading <= 0 and value < low[0]:
            low = (value, step)
        if heading >= 0 and value > high[0]:
            high = (value, step)
        if heading <= 0 and value > low[0] and value - low[0] >= swing:
            found.append(Extremum(low[1], low[0], "min"))
            high, heading = (value, step), 1
        elif heading >= 0 and value < high[0] and high[0] - value >= swing:
            found.append(Extremum(high[1], high[0], "max"))
            low, heading = (value, step), -1
    if heading:
        last = high if heading > 0 else low
        found.append(Extremum(last[1], last[0], "max" if heading > 0 else "min"))
    return tuple(found)


def least_swing(swing: object) -> float:
    """A share of the initial loss that is not below what the extrema of a run are kept for."""
    value = float(numbers.exact(swing, "swing"))
    if not value >= SMALLEST_SWING:
        raise InvalidInput("swing", swing, f"must be at least {SMALLEST_SWING}")
    return value


def descents(extrema: Iterable[Extremum], swing: float) -> int:
    """Number of legs from a maximum down to a minimum that fall by at least `swing`.

    `extrema`: turning points found with a smaller swing; they are filtered again. `swing`: in the
    unit of the values. Raises InvalidInput if the swing is negative.
    """
    given = tuple(extrema)
    if not given:
        return 0
    kept = turning_points([point.value for point in given], swing, [point.step for point in given])
    return sum(earlier.kind == "max" for earlier in kept[:-1])


def loss_at(point: Floats, W: Floats) -> Floats:
    """The test loss ``1/2 |W x - x|^2`` of matrices (n, d, d)."""
    with np.errstate(all="ignore"):
        return np.asarray(0.5 * ((W @ point - point) ** 2).sum(axis=-1))


def first_reach(values: ArrayLike, level: float, steps: ArrayLike | None = None) -> float:
    """The first of `steps` (n,), by default 0, 1, ..., with a value of at least `level`, or nan."""
    reached = np.flatnonzero(np.asarray(values) >= level)
    if not reached.size:
        return float("nan")
    place = int(reached[0])
    return float(place if steps is None else np.asarray(steps)[place])


class Outcome(StrEnum):
    """How a run ended.

    The first that applies, in this order:

    diverged
        An entry of W left the float range.
    converged
        At the last step W is within 0.01 of the identity on the concepts with a > 0. When W had
        lost positive semidefiniteness on the way and came back, the reason says so.
    lost_psd
        W is no longer positive semidefinite (euler only), so the theory no longer applies; the
        concept named is on its way to minus infinity.
    trapped
        A concept stays below 1/2 because W(0) has no component left for it: for ever, or, as the
        reason then says, until one of smaller signal turns into it.
    stopped_early
        The steps ran out.
    """

    CONVERGED = "converged"
    TRAPPED = "trapped"
    LOST_PSD = "lost_psd"
    DIVERGED = "diverged"
    STOPPED_EARLY = "stopped_early"


def judge(
    problem: Problem,
    state: State,
    half_times: Floats,
    missing: Booleans,
    spent: str,
    displaceable: Booleans | None = None,
) -> tuple[Outcome, str]:
    """Name the outcome of a run and say what happened, what is missing and what to change."""
    last = state.step
    waiting = problem.counted & np.isnan(half_times)
    pivot = f"pivot of concept {state.psd_concept + 1}"
    remedy = "; use a smaller eta"
    if not problem.keeps_psd:
        remedy += ", or dynamics='gd', which keeps W = U U^T"
    if state.diverged >= 0:
        sentence = f"W left the float range at step {state.diverged}"
        if state.psd_lost >= 0:
            step = state.psd_lost
            sentence += f", after losing positive semidefiniteness at step {step} ({pivot})"
        return Outcome.DIVERGED, f"{sentence}{remedy}."
    if state.exceeded < last or not problem.counted.any():
        sentence = f"W is within 0.01 of the identity from step {state.exceeded + 1} on"
        if state.psd_lost >= 0:
            step = state.psd_lost
            sentence += f", although it was not positive semidefinite at step {step} ({pivot})"
        return Outcome.CONVERGED, sentence + "."
    if state.psd_lost >= 0:
        sentence = (
            f"W is not positive semidefinite from step {state.psd_lost} on: the LDL^T {pivot}"
        )
        return Outcome.LOST_PSD, f"{sentence} turned negative{remedy}."
    stuck = missing & waiting
    if stuck.any():
        names = _names(stuck)
        turning = displaceable is not None and bool((stuck & displaceable).any())
        how_long = "until concepts of smaller signal turn into them" if turning else "for ever"
        sentence = (
            f"{names} below 1/2 {how_long}: W(0) has no component left for"
            f" {'it' if stuck.sum() == 1 else 'them'} (LDL^T pivot at most 0 in descending order"
            " of a); start from a W(0) of full rank"
        )
        if turning:
            sentence += " (when they turn is below the rounding of floats: swingby.certify tells)"
        others = waiting & ~stuck
        if others.any():
            sentence += f"; {_waiting_clause(problem, state, others)}"
        return Outcome.TRAPPED, sentence + "."
    if waiting.any():
        sentence = f"{spent} ended at step {last}: {_waiting_clause(problem, state, waiting)}"
    else:
        sentence = (
            f"{spent} ended at step {last}: every concept with a > 0 has reached 1/2, but W is"
            " not yet within 0.01 of the identity; give more steps"
        )
    return Outcome.STOPPED_EARLY, sentence + "."


def _names(which: Booleans) -> str:
    numbers_from_one = [str(k + 1) for k in np.flatnonzero(which)]
    if len(numbers_from_one) == 1:
        return f"concept {numbers_from_one[0]} stays"
    return f"concepts {', '.join(numbers_from_one)} stay"


def _waiting_clause(problem: Problem, state: State, waiting: Booleans) -> str:
    logs = log_diagonal(state)
    parts = []
    needed = 0.0
    for k in np.flatnonzero(waiting):
        if math.isnan(logs[k]):
            parts.append(f"w_{k + 1}{k + 1} = {state.X[k, k] * state.weight[k, k]:.3g}")
            continue
        shown = numbers.scientific_log10(logs[k] / math.log(10), 3)
        parts.append(f"w_{k + 1}{k + 1} = {shown}")
        rate = float(problem.growth[NEITHER, k, k]) * math.log(2)
        needed = max(needed, -logs[k] / rate if rate > 0 else math.inf)
    clause = f"{', '.join(parts)} below 1/2"
    if 0 < needed < math.inf:
        more = math.ceil(needed) if needed < 1e15 else f"{needed:.3g}"
        clause += f"; at the present growth about {more} more steps are needed"
    return clause


def level_array(state: State) -> Floats:
    """First passages of every level as floats, shape (levels, d), nan where not reached."""
    return np.where(state.level_steps < 0, np.nan, state.level_steps.astype(np.float64))


def peaks(state: State) -> tuple[Peak, ...]:
    """The peaks of all off-diagonal entries so far."""
    found = []
    for i, j in itertools.combinations(range(len(state.X)), 2):
        later = int(state.suppressed[i, j])
        shift = int(max(-3000, state.exponent[i] + state.exponent[j]))
        value = math.ldexp(float(state.peak[i, j]), shift)
        found.append(Peak(i, j, int(state.peak_step[i, j]), value, later if later >= 0 else None))
    return tuple(found)


def extrema(state: State) -> tuple[Extremum, ...]:
    """The turning points of the test loss so far, and the one under way."""
    found = list(state.extrema)
    if state.heading > 0:
        found.append((state.high_step, state.high, "max"))
    elif state.heading < 0:
        found.append((state.low_step, state.low, "min"))
    return tuple(Extremum(step, float(value), kind) for step, value, kind in found)
