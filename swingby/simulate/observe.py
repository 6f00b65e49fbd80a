"""What is looked at after every step, once for plain and compiled steps: blocks, in NumPy.

A block holds a row for each entry of X, the diagonal first, and a column for each step
(:func:`swingby.simulate.state.place`). Most rows are settled by their largest and smallest number.
"""

from __future__ import annotations

import numpy as np

from swingby.simulate.state import (
    END,
    LEVELS,
    Kind,
    Problem,
    State,
    clear_starts,
    negative_pivots,
    pairs,
    places,
)
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
#: Extrema of the test loss that are kept.
MOST_EXTREMA = 512


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
        _watch_loss(state, np.concatenate(parts), before + 1)
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


def _watch_loss(state: State, loss: Floats, step: int) -> None:
    """The filter of :func:`swingby.simulate.outcome.turning_points`, from `step` on."""
    if step == 0:
        state.low = state.high = loss[0]
    if not np.isfinite(loss.max()):
        # What is not finite stays so.
        loss = loss[: _first(~np.isfinite(loss))]
    while loss.size:
        heading = state.heading
        rose = _rise(loss, state.low, state.swing) if heading <= 0 else loss.size
        fell = _rise(-loss, -state.high, state.swing) if heading >= 0 else loss.size
        turn = min(rose, fell)
        lowest, highest = loss[:turn].min(initial=np.inf), loss[:turn].max(initial=-np.inf)
        if heading <= 0 and lowest < state.low:
            state.low, state.low_step = lowest, step + int(loss[:turn].argmin())
        if heading >= 0 and highest > state.high:
            state.high, state.high_step = highest, step + int(loss[:turn].argmax())
        if turn == loss.size:
            return
        found: tuple[int, float, Kind] = (state.low_step, state.low, "min")
        if rose < fell:
            state.heading, state.high, state.high_step = 1, loss[turn], step + turn
        else:
            found = (state.high_step, state.high, "max")
            state.heading, state.low, state.low_step = -1, loss[turn], step + turn
        if len(state.extrema) < MOST_EXTREMA:
            state.extrema.append(found)
        else:
            state.all_extrema = False
        loss, step = loss[turn + 1 :], step + turn + 1


def _rise(loss: Floats, lowest: float, swing: float) -> int:
    """The first step at which the loss is by `swing` above its lowest before, or the length."""
    # Mostly it falls all the way, or stays within the swing once it does not.
    at = 0 if loss[0] > lowest else 1 + _first(loss[1:] > loss[:-1])
    rest = loss[at:]
    start = loss[at - 1] if at else lowest
    if not rest.size or rest.max() - min(rest.min(), start) < swing:
        return loss.size
    bottom = np.minimum(np.minimum.accumulate(rest), start)
    return at + _first((rest > bottom) & (rest - bottom >= swing))


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
        return clear_starts(stacked)
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
