"""Observation of a run: which steps of a block are events, and which are recorded.

Plain and compiled steps alike come in blocks, which hold X at each of them: a row for each entry
(:func:`swingby.simulate.state.block_entries`), a column for each step. Most rows are settled by
their largest and smallest number.
"""

from __future__ import annotations

import functools

import numpy as np

from swingby.simulate.float_pivots import negative_pivots, without_null
from swingby.simulate.psd_bound import clear_steps
from swingby.simulate.series import Peak
from swingby.simulate.state import (
    LEVELS,
    TRIANGLES,
    BlockSummary,
    RunProblem,
    RunRecord,
    RunState,
    block_entries,
    block_rows,
    by_rows,
    diagonal_rows,
)
from swingby.theory.initial import clear_pivots
from swingby.theory.numbers import Booleans, Floats, Integers

#: |W - I| at most this on the concepts with a > 0 is the end of learning.
END = 0.01
#: W does not change any more when every update is at most one unit in the last place of 1.
_REST = 2.0**-52
#: Steps that are looked at together: what their extremes settle is not looked for one by one.
CHUNK = 256
#: Products in a call of BLAS for which it takes no second thread.
_BLAS_ALONE = 2**17
#: Entries of matrices that are eliminated together, so that they stay in the cache; and the d up
#: to which that is faster than Cholesky's method one by one.
_ELIMINATED, _ALL_TOGETHER = 2**15, 16

#: Entries between two learned concepts below this are held as 0, and a coupling of two concepts
#: this close to 1 has no event left.
_SMALLEST, _LEARNED = 1e-300, 1e-6


def begin(problem: RunProblem, state: RunState, record: RunRecord) -> None:
    """Look at step 0 and record it."""
    look(problem, state)
    _write(state, record, state.X[problem.entries][:, None], -1)


def look(problem: RunProblem, state: RunState) -> None:
    """Update every event with the present step, with null concepts back at zero."""
    state.X = without_null(problem, state.X)
    observe(problem, state, state.X[problem.entries][:, None], state.step - 1)


def follow(
    problem: RunProblem,
    state: RunState,
    record: RunRecord,
    block: Floats,
    summary: BlockSummary | None,
    *,
    rest: bool,
) -> bool:
    """Go to the end of a block with all its events and records; False where the run ends in it.

    It ends where W leaves the float range, and with `rest` where nothing changes any more.
    """
    goes_on, count = True, _finite_steps(state, block)
    if count < block.shape[1]:
        goes_on, state.diverged = False, state.step + count + 1
    if rest and count:
        still = _first_at_rest(problem, state, block[:, :count])
        if still < count:
            goes_on, count = False, still + 1
    if count < block.shape[1]:
        block, summary = block[:, :count], None
    observe(problem, state, block, state.step, summary)
    _write(state, record, block, state.step)
    state.step += count
    state.executed += count
    state.wait -= count
    if count:
        _take_over(state, block[:, -1])
    return goes_on


def _write(state: RunState, record: RunRecord, block: Floats, before: int) -> None:
    """Record W at those steps of the block that are to be recorded."""
    first = state.recorded
    last = int(np.searchsorted(record.steps, before + block.shape[1], side="right"))
    if last > first:
        entries = block.T[record.steps[first:last] - before - 1]
        matrices = entries[:, block_rows(len(state.X))] if len(state.X) <= TRIANGLES else entries
        np.multiply(matrices.reshape(-1, *state.X.shape), state.weight, out=record.W[first:last])
        state.recorded = last


def _take_over(state: RunState, last: Floats) -> None:
    """Make the last step of a block the present step.

    An entry between two learned concepts that has decayed below SMALLEST becomes zero: it would
    come to rest as a subnormal number, of which every step takes twice as long.
    """
    d = len(state.X)
    X = last[block_rows(d)] if d <= TRIANGLES else last.reshape(d, d).copy()
    learned = np.abs(np.diag(X) * np.diag(state.weight) - 1.0) < _LEARNED
    if learned.any():
        X[(np.abs(X) < _SMALLEST) & learned[:, None] & learned[None, :]] = 0.0
    state.X = X


def observe(
    problem: RunProblem,
    state: RunState,
    block: Floats,
    before: int,
    summary: BlockSummary | None = None,
) -> None:
    """Update every event with the steps after `before`."""
    count, order = block.shape[1], problem.order
    if not count:
        return
    high, low, earlier = extremes(block, summary)
    _levels(state, block, high, before)
    _end(problem, state, block, high, low, before)
    sizes = _peaks(state, block, high, low, earlier, before)
    if problem.point.any():
        # So few that BLAS uses one thread.
        d = len(problem.signal)
        size = max(16, _BLAS_ALONE // (len(block) * d) if d <= TRIANGLES else count)
        if summary is not None:
            root = np.sqrt(state.square)[:, None]
            loss = _loss_of(root * summary.outputs.T - problem.point[:, None])
        else:
            pieces = (block[:, n : n + size] for n in range(0, count, size))
            loss = np.concatenate([_losses(problem, state, piece) for piece in pieces])
        if not np.isfinite(loss[-1]):
            # What is not finite stays so.
            loss = loss[: _first(~np.isfinite(loss))]
        if loss.size:
            state.turns.follow(loss, np.arange(before + 1, before + 1 + len(loss)))
    if not problem.keeps_psd and state.psd_lost < 0:
        clear = None
        if len(order) > TRIANGLES:
            matrices = block.T.reshape(count, *state.X.shape)
            clear = clear_steps(problem.sums, state.square, matrices, sizes.reshape(state.X.shape))
        at, concept = first_negative_pivot(order, block, high, low, clear)
        if concept >= 0:
            state.psd_lost, state.psd_concept = before + 1 + at, concept


def extremes(
    block: Floats, summary: BlockSummary | None = None
) -> tuple[Floats, Floats, Floats | None]:
    """The largest and smallest number of every row in every :data:`CHUNK` steps.

    Of a block of whole matrices, which is no longer, also the largest size before the last step.
    """
    if block.strides[1] > block.itemsize:
        last, count = block[:, -1], block.shape[1] - 1
        if summary is not None:
            high, low = summary.high, summary.low
        else:
            high = np.maximum.reduce(block[:, :count], axis=1, initial=-np.inf)
            low = np.minimum.reduce(block[:, :count], axis=1, initial=np.inf)
        earlier = np.maximum(high, np.negative(low))
        high, low = np.maximum(high, last, out=high), np.minimum(low, last, out=low)
        return high[:, None], low[:, None], earlier
    at = np.arange(0, block.shape[1], CHUNK)
    return np.maximum.reduceat(block, at, axis=1), np.minimum.reduceat(block, at, axis=1), None


def _levels(state: RunState, block: Floats, high: Floats, before: int) -> None:
    """First passages."""
    diagonal, weight = diagonal_rows(len(state.X)), state.weight.diagonal()
    block, high = block[diagonal], high[diagonal]
    levels = np.array(LEVELS)
    due = (state.level_steps < 0) & (high.max(axis=1) * weight >= levels[:, None])
    if due.any():
        row, k = np.nonzero(due)
        chunk = (high[k] * weight[k, None] >= levels[row, None]).argmax(axis=1)
        at, values = _of_a_chunk(block, k, chunk)
        reached = (values * weight[k, None] >= levels[row, None]).argmax(axis=1)
        state.level_steps[row, k] = before + 1 + at[np.arange(len(k)), reached]


def _distance(problem: RunProblem, state: RunState, block: Floats, goal: Floats) -> Floats:
    """The largest distance of entries from their limits where a > 0, at each step."""
    rows, columns = block_entries(len(problem.signal))
    chosen = np.flatnonzero(problem.counted[rows] & problem.counted[columns])
    aim = np.where(rows[chosen] == columns[chosen], goal[rows[chosen]], 0.0)
    values = block[chosen] * state.weight[rows[chosen], columns[chosen]][:, None]
    return np.asarray(np.abs(values - aim[:, None]).max(axis=0, initial=0.0))


def _end(
    problem: RunProblem, state: RunState, block: Floats, high: Floats, low: Floats, before: int
) -> None:
    """The last step at which W is not within END of the identity."""
    ones, d = np.ones(len(problem.signal)), len(problem.signal)
    last = block[diagonal_rows(d), -1] * state.weight.diagonal()
    if (np.abs(last - 1.0) > END)[problem.counted].any():
        state.exceeded = before + block.shape[1]
        return
    beyond = _distance(problem, state, high, ones) > END
    beyond |= _distance(problem, state, low, ones) > END
    if beyond.any():
        begin = CHUNK * int(np.flatnonzero(beyond)[-1])
        away = _distance(problem, state, block[:, begin : begin + CHUNK], ones) > END
        state.exceeded = before + 1 + begin + int(np.flatnonzero(away)[-1])


def _peaks(
    state: RunState,
    block: Floats,
    high: Floats,
    low: Floats,
    earlier: Floats | None,
    before: int,
) -> Floats:
    """Peaks of the entries off the diagonal, and when they have fallen to half of them.

    Returns the largest size of every row of the block.
    """
    d, last = len(state.X), block.shape[1] - 1
    watched = _off_diagonal(d)
    peak = by_rows(state.peak)
    peak_step, suppressed = by_rows(state.peak_step), by_rows(state.suppressed)
    best, sizes = np.abs(peak), np.maximum(high, np.negative(low))
    size: Floats = sizes.max(axis=1, initial=0.0) if earlier is None else sizes[:, 0]
    grown, first = (size > best) & watched, np.zeros(len(peak), dtype=np.int64)
    rows = np.flatnonzero(grown)
    if rows.size and earlier is not None:
        # Mostly they grow up to the last step.
        rising = grown & (size > earlier)
        np.copyto(peak, block[:, last], where=rising)
        peak_step[rising], suppressed[rising], first[rising] = before + 1 + last, -1, last
        rows = np.flatnonzero(grown & ~rising)
    if rows.size:
        at, values = _of_a_chunk(block, rows, sizes[rows].argmax(axis=1))
        first[rows] = new = at[np.arange(len(rows)), np.abs(values).argmax(axis=1)]
        peak[rows], peak_step[rows], suppressed[rows] = block[rows, new], before + 1 + new, -1
    half = np.maximum(best, size)[:, None]
    half *= 0.5
    waiting = (suppressed < 0) & (half[:, 0] > 0) & watched
    waiting &= (size <= best) | (first < last)
    # Where all are of one sign, the smallest size says whether one has fallen to half.
    smallest = np.maximum(low, np.negative(high))
    smallest[first[:, None] // CHUNK > np.arange(smallest.shape[1])] = np.inf
    due = waiting[:, None] & (smallest <= half)
    while due.any():
        e = np.flatnonzero(due.any(axis=1))
        chunk = due[e].argmax(axis=1)
        at, values = _of_a_chunk(block, e, chunk)
        fallen = (np.abs(values) <= half[e]) & (at >= first[e, None])
        has_fallen, fell_at = fallen.any(axis=1), fallen.argmax(axis=1)
        suppressed[e[has_fallen]] = before + 1 + at[has_fallen, fell_at[has_fallen]]
        due[e, chunk] = due[e[has_fallen]] = False
    if d <= TRIANGLES:
        entries = block_entries(d)
        state.peak[entries], state.peak_step[entries] = peak, peak_step
        state.suppressed[entries] = suppressed
    return size


@functools.cache
def _off_diagonal(d: int) -> Booleans:
    """The rows of a block that are entries above the diagonal."""
    rows, columns = block_entries(d)
    return rows < columns


def _of_a_chunk(block: Floats, rows: Integers, chunk: Integers) -> tuple[Integers, Floats]:
    """The steps of a chunk for each of some rows, and their entries there."""
    count = block.shape[1]
    if count <= CHUNK:
        # From a block of whole matrices, copies of a step at a time.
        return np.broadcast_to(np.arange(count), (len(rows), count)), block.T[:, rows].T
    at = np.minimum(CHUNK * chunk[:, None] + np.arange(CHUNK), count - 1)
    return at, block[rows[:, None], at]


def _losses(problem: RunProblem, state: RunState, block: Floats) -> Floats:
    """The test loss 1/2 |W x - x|^2 at each step of a block."""
    d = len(problem.signal)
    rows, columns = block_entries(d)
    values = problem.point[:, None] * state.weight
    if d > TRIANGLES:
        # Not by BLAS, which would take more threads.
        residual = np.einsum("nij,ij->ni", block.T.reshape(-1, d, d), values.T).T
    else:
        weighted = np.zeros((d, len(block)))
        weighted[columns, np.arange(len(block))] = values[rows, columns]
        weighted[rows, np.arange(len(block))] = values[columns, rows]
        residual = weighted @ block
    residual -= problem.point[:, None]
    return _loss_of(residual)


def _loss_of(residual: Floats) -> Floats:
    """The test loss of residuals W x - x (d, n)."""
    np.square(residual, out=residual)
    return np.asarray(0.5 * residual.sum(axis=0))


def _first(marks: Booleans) -> int:
    """The first place that is true, or the length."""
    at = int(marks.argmax()) if len(marks) else 0
    return at if len(marks) and marks[at] else len(marks)


def _finite_steps(state: RunState, block: Floats) -> int:
    """The number of steps in a block whose entries are finite; what is not finite stays so."""
    weight = by_rows(state.weight)
    if np.isfinite(block[:, -1] * weight).all():
        return int(block.shape[1])
    with np.errstate(all="ignore"):
        fine = np.isfinite(block * weight[:, None]).all(axis=0)
    return _first(np.asarray(~fine))


def _first_at_rest(problem: RunProblem, state: RunState, block: Floats) -> int:
    """The first step of the block that changes nothing among concepts with a > 0, or its length."""
    is_close = _distance(problem, state, block[:, -1:], problem.goal)[0] <= END
    if not is_close:
        return int(block.shape[1])
    rows, columns = block_entries(len(state.X))
    chosen = np.flatnonzero(problem.counted[rows] & problem.counted[columns])
    moving = np.diff(block[chosen], axis=1, prepend=state.X[rows, columns][chosen, None])
    moving *= state.weight[rows, columns][chosen, None]
    still = np.abs(moving).max(axis=0, initial=0.0) <= _REST
    return _first(still & (_distance(problem, state, block, problem.goal) <= END))


def _are_clear(matrices: Floats) -> Booleans:
    """The matrices (d, d, n) of which all pivots are clearly positive."""
    stacked = np.ascontiguousarray(matrices.T)
    try:
        np.linalg.cholesky(stacked)
    except np.linalg.LinAlgError:
        return np.asarray(clear_pivots(stacked))
    return np.ones(len(stacked), dtype=np.bool_)


def first_negative_pivot(
    order: Integers, block: Floats, high: Floats, low: Floats, clear: Booleans | None = None
) -> tuple[int, int]:
    """The first step of a block at which W is not positive semidefinite, and the concept.

    The length of the block, and -1, where there is none. `high` and `low` are :func:`extremes`: no
    pivot is below that of the smallest diagonal with the largest entries beside it, below zero.
    `clear`: steps without one.
    """
    if clear is not None and clear.all():
        return block.shape[1], -1
    d, doubtful = len(order), np.arange(block.shape[1])
    row_of, size = block_rows(d)[np.ix_(order, order)], max(CHUNK, _ELIMINATED // d**2)
    worst, diagonal = -np.maximum(high, -low), diagonal_rows(d)
    worst[diagonal] = low[diagonal]
    uncertain = np.repeat(~_are_clear(worst[row_of]), CHUNK)[: len(doubtful)]
    doubtful = doubtful[uncertain if clear is None else uncertain & ~clear]
    values = block if len(doubtful) == block.shape[1] else block[:, doubtful]
    pieces = (values[:, n : n + size][row_of] for n in range(0, len(doubtful), size))
    if d > _ALL_TOGETHER or any((negative_pivots(piece) >= 0).any() for piece in pieces):
        # The rounding of the second pass decides, which takes several times as long.
        doubtful = doubtful[~_are_clear(values[row_of])]
        negative = negative_pivots(block[:, doubtful][row_of])
        if (negative >= 0).any():
            at = _first(negative >= 0)
            return int(doubtful[at]), int(order[negative[at]])
    return block.shape[1], -1


@np.errstate(all="ignore")
def peaks(state: RunState) -> tuple[Peak, ...]:
    """The peaks of all off-diagonal entries so far."""
    rows, columns = np.triu_indices(len(state.X), 1)
    later = state.suppressed[rows, columns].tolist()
    shift = np.maximum(-3000, state.exponent[rows] + state.exponent[columns]).astype(np.int32)
    fields = (
        rows.tolist(),
        columns.tolist(),
        state.peak_step[rows, columns].tolist(),
        np.ldexp(state.peak[rows, columns], shift).tolist(),
        [step if step >= 0 else None for step in later],
    )
    # Of many thousands the function of the class takes as long as the steps.
    return tuple(map(functools.partial(tuple.__new__, Peak), zip(*fields, strict=True)))
