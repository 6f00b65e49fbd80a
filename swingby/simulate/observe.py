"""What is looked at after every step, and what a run has come to in one word and one sentence.

Plain and compiled steps alike come in blocks, which are looked at in NumPy: a row for each entry of
X, the diagonal first, and a column for each step (:func:`swingby.simulate.state.pairs`). Most rows
are settled by their largest and smallest number.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from swingby.simulate.outcome import Outcome, Peak
from swingby.simulate.state import (
    END,
    LEVELS,
    Problem,
    State,
    clear_pivots,
    log_diagonal,
    negative_pivots,
    pairs,
    places,
)
from swingby.theory import numbers
from swingby.theory.growth import NEITHER
from swingby.theory.numbers import Booleans, Floats, Integers

#: W does not change any more when every update is at most one unit in the last place of 1.
REST = 2.0**-52
#: Steps that are looked at together: what their extremes settle is not looked for one by one.
CHUNK = 256
#: Products in a call of BLAS for which it takes no second thread.
BLAS_ALONE = 2**17
#: Entries of matrices that are eliminated together, so that they stay in the cache; and the d up
#: to which that is faster than Cholesky's method one by one.
ELIMINATED, ALL_TOGETHER = 2**15, 16


def observe(problem: Problem, state: State, block: Floats, before: int) -> None:
    """Update every event with the steps after `before`."""
    count, order = block.shape[1], problem.order
    if not count:
        return
    high, low = extremes(block)
    _levels(state, block, high, before)
    _end(problem, state, block, high, low, before)
    _peaks(state, block, high, low, before)
    if problem.point.any():
        # So few that BLAS uses one thread.
        d = len(problem.signal)
        size = max(16, BLAS_ALONE // (len(block) * d) if d <= 8 else BLAS_ALONE // (16 * d))
        parts = [losses(problem, state, block[:, n : n + size]) for n in range(0, count, size)]
        loss = np.concatenate(parts)
        if not np.isfinite(loss[-1]):
            # What is not finite stays so.
            loss = loss[: _first(~np.isfinite(loss))]
        if loss.size:
            state.turns.follow(loss, np.arange(before + 1, before + 1 + len(loss)))
    if not problem.keeps_psd and state.psd_lost < 0:
        at, concept = first_negative_pivot(order, block, high, low)
        if concept >= 0:
            state.psd_lost, state.psd_concept = before + 1 + at, concept


def extremes(block: Floats, span: int = CHUNK) -> tuple[Floats, Floats]:
    """The largest and smallest number of every row in every `span` steps."""
    at = np.arange(0, block.shape[1], span)
    return np.maximum.reduceat(block, at, axis=1), np.minimum.reduceat(block, at, axis=1)


def _levels(state: State, block: Floats, high: Floats, before: int) -> None:
    """First passages."""
    d = len(state.X)
    tops = high[:d].max(axis=1) * state.weight.diagonal()
    for k in np.flatnonzero((state.level_steps[-1] < 0) & (tops >= LEVELS[0])).tolist():
        for row, level in enumerate(LEVELS):
            if tops[k] >= level and state.level_steps[row, k] < 0:
                begin = CHUNK * _first(high[k] * state.weight[k, k] >= level)
                reached = block[k, begin : begin + CHUNK] * state.weight[k, k] >= level
                state.level_steps[row, k] = before + 1 + begin + _first(reached)


def _distance(problem: Problem, state: State, block: Floats, goal: Floats) -> Floats:
    """How far entries are from their limits where a > 0, at each step."""
    d = len(problem.signal)
    rows, columns = pairs(d)
    chosen = np.flatnonzero(problem.counted[rows] & problem.counted[columns])
    aim = np.where(chosen < d, goal[rows[chosen]], 0.0)
    values = block[chosen] * state.weight[rows[chosen], columns[chosen]][:, None]
    return np.asarray(np.abs(values - aim[:, None]).max(axis=0, initial=0.0))


def _end(
    problem: Problem, state: State, block: Floats, high: Floats, low: Floats, before: int
) -> None:
    """The last step at which W is not within END of the identity."""
    one, d = np.ones(len(problem.signal)), len(problem.signal)
    last = block[:d, -1] * state.weight.diagonal()
    if (np.abs(last - 1.0) > END)[problem.counted].any():
        state.exceeded = before + block.shape[1]
        return
    beyond = _distance(problem, state, high, one) > END
    beyond |= _distance(problem, state, low, one) > END
    if beyond.any():
        begin = CHUNK * int(np.flatnonzero(beyond)[-1])
        away = _distance(problem, state, block[:, begin : begin + CHUNK], one) > END
        state.exceeded = before + 1 + begin + int(np.flatnonzero(away)[-1])


def _peaks(state: State, block: Floats, high: Floats, low: Floats, before: int) -> None:
    """Peaks of the entries off the diagonal, and when they have fallen to half of them."""
    d, last = len(state.X), block.shape[1] - 1
    rows, columns = (index[d:] for index in pairs(d))
    best, sizes = np.abs(state.peak[rows, columns]), np.maximum(high[d:], -low[d:])
    size = sizes.max(axis=1, initial=0.0)
    grown = np.flatnonzero(size > best)
    first = np.zeros(len(rows), dtype=np.int64)
    if grown.size:
        at, sizes = _of_a_chunk(block, d + grown, sizes[grown].argmax(axis=1))
        first[grown] = at[np.arange(len(grown)), sizes.argmax(axis=1)]
        i, j, new = rows[grown], columns[grown], first[grown]
        state.peak[i, j], state.peak_step[i, j] = block[d + grown, new], before + 1 + new
        state.suppressed[i, j] = -1
    half = 0.5 * np.maximum(best, size)[:, None]
    # Where all are of one sign, the smallest size says whether one has fallen to half.
    least = np.maximum(0.0, np.maximum(low[d:], -high[d:]))
    least[first[:, None] // CHUNK > np.arange(least.shape[1])] = np.inf
    waiting = (state.suppressed[rows, columns] < 0) & (half[:, 0] > 0)
    waiting &= (size <= best) | (first < last)
    due = waiting[:, None] & (least <= half)
    while due.any():
        e = np.flatnonzero(due.any(axis=1))
        chunk = due[e].argmax(axis=1)
        at, sizes = _of_a_chunk(block, d + e, chunk)
        fallen = (sizes <= half[e]) & (at >= first[e, None])
        found, where = fallen.any(axis=1), fallen.argmax(axis=1)
        i, j = rows[e[found]], columns[e[found]]
        state.suppressed[i, j] = before + 1 + at[found, where[found]]
        due[e, chunk] = due[e[found]] = False


def _of_a_chunk(block: Floats, rows: Integers, chunk: Integers) -> tuple[Integers, Floats]:
    """The steps of a chunk for each of some rows, and the sizes of their entries there."""
    count = block.shape[1]
    at = np.minimum(CHUNK * chunk[:, None] + np.arange(min(CHUNK, count)), count - 1)
    return at, np.abs(block[rows[:, None], at])


def losses(problem: Problem, state: State, block: Floats) -> Floats:
    """The test loss 1/2 |W x - x|^2 at each step of a block."""
    d = len(problem.signal)
    rows, columns = pairs(d)
    values = problem.point[:, None] * state.weight
    if d > 8:
        residual = (values.T[:, None] @ block[places(d)])[:, 0]
    else:
        given = np.zeros((d, len(block)))
        given[columns, np.arange(len(block))] = values[rows, columns]
        given[rows, np.arange(len(block))] = values[columns, rows]
        residual = given @ block
    residual -= problem.point[:, None]
    np.square(residual, out=residual)
    return np.asarray(0.5 * residual.sum(axis=0))


def _first(found: Booleans) -> int:
    """The first place that is true, or the length."""
    at = int(found.argmax()) if len(found) else 0
    return at if len(found) and found[at] else len(found)


def finite_steps(state: State, block: Floats) -> int:
    """How many of the steps in a block have finite entries only; what is not finite stays so."""
    weight = state.weight[pairs(len(state.X))]
    if np.isfinite(block[:, -1] * weight).all():
        return int(block.shape[1])
    with np.errstate(all="ignore"):
        fine = np.isfinite(block * weight[:, None]).all(axis=0)
    return _first(np.asarray(~fine))


def first_at_rest(problem: Problem, state: State, block: Floats) -> int:
    """The first step of the block that changes nothing among concepts with a > 0, or its length."""
    near = _distance(problem, state, block[:, -1:], problem.goal)[0] <= END
    if not near:
        return int(block.shape[1])
    rows, columns = pairs(len(state.X))
    chosen = np.flatnonzero(problem.counted[rows] & problem.counted[columns])
    moving = np.diff(block[chosen], axis=1, prepend=state.X[rows, columns][chosen, None])
    moving *= state.weight[rows, columns][chosen, None]
    still = np.abs(moving).max(axis=0, initial=0.0) <= REST
    return _first(still & (_distance(problem, state, block, problem.goal) <= END))


def _are_clear(matrices: Floats) -> Booleans:
    """Whether all pivots are clearly positive, of each of the matrices (d, d, n)."""
    stacked = np.ascontiguousarray(matrices.T)
    try:
        np.linalg.cholesky(stacked)
    except np.linalg.LinAlgError:
        return np.asarray(clear_pivots(stacked))
    return np.ones(len(stacked), dtype=np.bool_)


def first_negative_pivot(
    order: Integers, block: Floats, high: Floats, low: Floats
) -> tuple[int, int]:
    """The first step of a block at which W is not positive semidefinite, and the concept.

    The length of the block, and -1, where there is none. `high` and `low` are :func:`extremes`: no
    pivot is below that of the smallest diagonal with the largest entries beside it, below zero.
    """
    d, doubtful = len(order), np.arange(block.shape[1])
    place, size = places(d)[np.ix_(order, order)], max(CHUNK, ELIMINATED // d**2)
    worst = np.concatenate([low[:d], -np.maximum(high[d:], -low[d:])])
    doubtful = doubtful[np.repeat(~_are_clear(worst[place]), CHUNK)[: len(doubtful)]]
    values = block if len(doubtful) == block.shape[1] else block[:, doubtful]
    parts = (values[:, n : n + size][place] for n in range(0, len(doubtful), size))
    if d > ALL_TOGETHER or any((negative_pivots(part) >= 0).any() for part in parts):
        # The rounding of the second pass decides, which takes several times as long.
        doubtful = doubtful[~_are_clear(values[place])]
        found = negative_pivots(block[:, doubtful][place])
        if (found >= 0).any():
            at = _first(found >= 0)
            return int(doubtful[at]), int(order[found[at]])
    return block.shape[1], -1


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
