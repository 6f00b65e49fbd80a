"""The state of a run: W, the events seen so far, and how steps change both; NumPy only.

W is held as ``W = D X D`` with ``D = diag(2^m_k)`` and whole m_k. Rescaling by powers of two is
exact, so a run with some m_k below 0 gives the same bits as the plain one (all m_k = 0) wherever
the plain one stays in the float range, and goes on where it does not: in terms of X the maps are
the same except that every product over the inner index k carries the weight ``2^(2 m_k)``, and
where that weight underflows, the product is far below the rounding of the linear terms.

Plain and compiled steps alike come in blocks, which hold the upper triangle of X at each of them: a
row for each entry, the diagonal first (:func:`pairs`), a column for each step. Events are found in
blocks; most rows are settled by their largest and smallest number.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swingby.simulate.outcome import SMALLEST_SWING, Peak, Turns
from swingby.theory.growth import DYNAMICS, growth_rates, log_factors
from swingby.theory.initial import Initial, clear_pivots
from swingby.theory.numbers import Booleans, Floats, Integers

#: Levels of w_kk whose first passage every run reports.
LEVELS = (0.1, 0.5, 0.8, 0.99)
#: |W - I| at most this on the concepts with a > 0 is the end of learning.
END = 0.01
#: Extrema of the test loss that are kept.
_MOST_EXTREMA = 512
#: x_kk from which on factors of two go to m_k.
LARGE = 2.0**200

#: A pivot of LDL^T counts as negative below -PIVOT_ROUNDING * d * w_kk. Eliminating one concept
#: after the other from a positive semidefinite W changes the k-th pivot by at most about
#: (d + 1) 2^-53 w_kk, because no intermediate entry exceeds w_kk; eight times 2^-52 leaves room
#: for the rounding of the step itself, while a genuine loss moves the pivot by a relative
#: (eta (a_i - a_j))^2 per step and passes this bar at once.
PIVOT_ROUNDING = 8 * 2.0**-52

#: W does not change any more when every update is at most one unit in the last place of 1.
_REST = 2.0**-52
#: Steps that are looked at together: what their extremes settle is not looked for one by one.
_CHUNK = 256
#: Products in a call of BLAS for which it takes no second thread.
_BLAS_ALONE = 2**17
#: Entries of matrices that are eliminated together, so that they stay in the cache; and the d up
#: to which that is faster than Cholesky's method one by one.
_ELIMINATED, _ALL_TOGETHER = 2**15, 16

#: Entries between two learned concepts below this are held as 0, and a coupling of two concepts
#: this close to 1 has no event left.
_SMALLEST, _LEARNED = 1e-300, 1e-6

#: Between two projections rounding of 1e-16 may grow to 1e-12.
_NOISE_GROWTH = 1e4
#: Most steps between two projections.
_MOST_QUIET = 256

#: A run without a number of steps computes at most this many for d up to 8, and fewer in
#: proportion to 1/d^3 above; jumps are free.
_MOST_EXECUTED = 50_000_000


class RunProblem(NamedTuple):
    """The constants of a run.

    signal (d,); rates: eta a (d,); sums[i, j] = eta a_i + eta a_j; point: the test point (d,);
    goal (d,): the value w_kk tends to; counted (d,): concepts with a > 0; null (d,): concepts whose
    pivot is kept at zero; order (d,): concepts by descending a; growth (3, d, d): see
    :func:`swingby.theory.growth.log_factors`; entries, entry_rows: those of :func:`pairs` and
    :func:`entry_rows`.
    """

    signal: Floats
    rates: Floats
    sums: Floats
    eta: float
    dynamics: str
    point: Floats
    goal: Floats
    counted: Booleans
    null: Booleans
    order: Integers
    growth: NDArray[np.longdouble]
    entries: tuple[Integers, Integers]
    entry_rows: Integers

    @property
    def keeps_psd(self) -> bool:
        """True where W stays positive semidefinite."""
        return DYNAMICS[self.dynamics].keeps_psd


@dataclass(eq=False)
class RunState:
    """The numbers that steps change; steps of events are -1 before them.

    X (d, d); exponent: m (d,); weight[i, j] = 2^(m_i + m_j); square[k] = 2^(2 m_k);
    level_steps (levels, d); peak (d, d): largest |x_ij| with its sign; peak_step, suppressed
    (d, d); turns: of the test loss; exceeded: the last step at which W is not within END of the
    identity; wait: steps until a jump is tried again; landed: where the last one ended; ahead:
    steps that the run was predicted to compute, at its start.
    """

    X: Floats
    exponent: Integers
    turns: Turns
    level_steps: Integers = field(init=False)
    peak: Floats = field(init=False)
    peak_step: Integers = field(init=False)
    suppressed: Integers = field(init=False)
    step: int = 0
    executed: int = 0
    recorded: int = 0
    psd_lost: int = -1
    psd_concept: int = -1
    exceeded: int = -1
    diverged: int = -1
    started: bool = False
    wait: int = 0
    landed: int = 0
    ahead: int = 0

    def __post_init__(self) -> None:
        d = len(self.X)
        self.level_steps = np.full((len(LEVELS), d), -1, dtype=np.int64)
        self.peak, self.peak_step = np.zeros((d, d)), np.zeros((d, d), dtype=np.int64)
        self.suppressed = np.full((d, d), -1, dtype=np.int64)
        self.weight, self.square = weights(self.exponent), power_of_two(2 * self.exponent)

    @property
    def levels(self) -> Floats:
        """Every w_kk."""
        return np.asarray(self.X.diagonal() * self.weight.diagonal())

    @property
    def W(self) -> Floats:
        """W as floats; entries below the float range are 0."""
        return float_matrix(self.X, self.exponent)

    @property
    def passages(self) -> Floats:
        """First passages of every level, shape (levels, d), nan where not reached."""
        return np.where(self.level_steps < 0, np.nan, self.level_steps.astype(np.float64))

    @property
    def log_diagonal(self) -> Floats:
        """Natural logarithm of each w_kk, at any size; nan where w_kk is not positive."""
        diagonal = np.diag(self.X)
        positive = diagonal > 0
        logarithm = np.log(np.where(positive, diagonal, 1.0)) + 2 * self.exponent * math.log(2)
        return np.where(positive, logarithm, np.nan)

    def raise_exponents(self, shift: Integers) -> None:
        """Move factors of two from X and the peaks to m, exactly; below 1e-300 is 0."""
        by = -(shift[:, None] + shift[None, :])
        self.X, self.peak = scale_up(self.X, by), scale_up(self.peak, by)
        self.exponent = self.exponent + shift
        self.weight, self.square = weights(self.exponent), power_of_two(2 * self.exponent)

    def renormalise(self) -> None:
        """Keep X away from overflow: move factors of two from x_kk to m_k, exactly."""
        diagonal = self.X.diagonal()
        large = (self.exponent < 0) & (np.abs(diagonal) > LARGE)
        if large.any():
            shift = np.minimum(np.frexp(diagonal)[1] // 2, -self.exponent)
            self.raise_exponents(np.where(large, shift, 0))


class RunRecord(NamedTuple):
    """Steps to record, ascending, and room for W at each of them."""

    steps: Integers
    W: Floats

    @classmethod
    def at(cls, steps: Sequence[int] | Integers, d: int) -> RunRecord:
        """Room for W at the given steps."""
        marks = np.asarray(steps, dtype=np.int64)
        return cls(marks, np.zeros((len(marks), d, d)))


@functools.cache
def pairs(d: int) -> tuple[Integers, Integers]:
    """Rows and columns of the entries of a block, in order: the diagonal, then row by row."""
    rows, columns = np.triu_indices(d, 1)
    diagonal = np.arange(d)
    return np.concatenate([diagonal, rows]), np.concatenate([diagonal, columns])


@functools.cache
def entry_rows(d: int) -> Integers:
    """The row of every entry (i, j) in a block, shape (d, d)."""
    rows, columns = pairs(d)
    row_of = np.empty((d, d), dtype=np.int64)
    row_of[rows, columns] = row_of[columns, rows] = np.arange(len(rows))
    return row_of


# Overflow is an outcome of the run, not a warning; so in make_state.
@np.errstate(all="ignore")
def make_problem(
    signal: Floats,
    eta: float,
    dynamics: str,
    point: Floats | None = None,
    missing: Booleans | None = None,
    growth: NDArray[np.longdouble] | None = None,
) -> RunProblem:
    """Arrange the constants of a run; `missing`: concepts that tend to 0 rather than 1."""
    d = len(signal)
    absent = np.zeros(d, dtype=np.bool_) if missing is None else missing
    rates = eta * signal
    return RunProblem(
        signal=np.ascontiguousarray(signal),
        rates=rates,
        sums=rates[:, None] + rates[None, :],
        eta=eta,
        dynamics=dynamics,
        point=np.zeros(d) if point is None else np.ascontiguousarray(point),
        goal=np.where(absent, 0.0, 1.0),
        counted=signal > 0,
        # euler does not keep the rank, so there a pivot has no reason to be zero.
        null=absent & DYNAMICS[dynamics].keeps_psd,
        order=np.argsort(-signal, kind="stable").astype(np.int64),
        growth=log_factors(signal, eta, dynamics) if growth is None else growth,
        entries=pairs(d),
        entry_rows=entry_rows(d),
    )


@np.errstate(all="ignore")
def make_state(initial: Initial, point: Floats) -> RunState:
    """The state of a run at step 0."""
    residual = float_matrix(initial.held, initial.exponents) @ point - point
    swing = SMALLEST_SWING * 0.5 * float((residual**2).sum())
    return RunState(initial.held, initial.exponents, Turns(swing, _MOST_EXTREMA))


def power_of_two(exponent: Integers) -> Floats:
    """``2^exponent``, 0 below the float range."""
    return np.asarray(np.ldexp(1.0, np.maximum(exponent, -3000).astype(np.int32)))


def weights(exponent: Integers) -> Floats:
    """The matrix ``2^(m_i + m_j)``, 0 where it lies below the float range; exponents (..., d)."""
    return power_of_two(exponent[..., :, None] + exponent[..., None, :])


def scale_up(values: Floats, exponent: Integers) -> Floats:
    """The numbers ``values 2^exponent``, 0 below about 1e-300: subnormals are slow."""
    low = np.frexp(values)[1] + exponent < -1000
    scaled = np.ldexp(values, np.clip(exponent, -3000, 3000).astype(np.int32))
    return np.where(low, 0.0, scaled)


def float_matrix(X: Floats, exponent: Integers) -> Floats:
    """D X D as floats, of shape (..., d, d); entries below the float range become 0."""
    total = np.maximum(exponent[..., :, None] + exponent[..., None, :], -3000).astype(np.int32)
    return np.asarray(np.ldexp(X, total), dtype=np.float64)


def most_executed(d: int) -> float:
    """Most computed steps of a run that was given no number of steps."""
    return _MOST_EXECUTED * min(1.0, (8 / d) ** 3)


def most_steps(signal: Floats, eta: Floats, log_smallest: Floats, dynamics: str) -> Integers:
    r"""Most steps of runs that were given no number of steps: ``3 (log(1/w) + 60)/g``.

    g is the growth per step of the smallest positive a; w the smallest positive w_kk(0), or 1.
    """
    slowest = np.where(signal > 0, signal, np.inf).min(axis=-1)
    growth = growth_rates(slowest[..., None], eta, dynamics)[..., 0, 0]
    with np.errstate(divide="ignore", over="ignore"):
        steps: Floats = np.minimum(3 * (60 - log_smallest) / growth, 2.0**52)
    return np.maximum(1, np.ceil(steps)).astype(np.int64)


def most_steps_of(problem: RunProblem, state: RunState) -> int:
    """The most steps of a run, from its state at the start."""
    smallest = np.asarray(np.nanmin(state.log_diagonal, initial=0.0))
    return int(most_steps(problem.signal, np.asarray(problem.eta), smallest, problem.dynamics))


def in_order(matrices: Floats, order: Integers) -> Floats:
    """Matrices (m, d, d) with the concepts of each in its own order (m, d)."""
    return matrices[np.arange(len(matrices))[:, None, None], order[:, :, None], order[:, None, :]]


def negative_pivots(M: Floats) -> Integers:
    """The first place k whose LDL^T pivot is negative, -1 for none, of matrices (d, d, n).

    Rows and columns are in the order of elimination; works on X as on W, which have the same
    inertia. A pivot of zero to rounding must have a zero row: otherwise the 2 x 2 minor with the
    offending concept is negative.
    """
    d = len(M)
    schur, first = M.copy(), np.full(M.shape[2], -1, dtype=np.int64)
    rounding = PIVOT_ROUNDING * d * np.abs(M[np.arange(d), np.arange(d)])
    with np.errstate(all="ignore"):
        for k in range(d):
            pivot, row = schur[k, k], schur[k, k + 1 :].copy()
            first[(first < 0) & ~(pivot >= -rounding[k])] = k
            zero = pivot <= rounding[k]
            factor = row / pivot
            if zero.any():
                slack = (schur[range(k + 1, d), range(k + 1, d)] + rounding[k + 1 :]) * (
                    pivot + rounding[k]
                )
                wrong = zero & (first < 0) & (row * row > slack)
                if wrong.any():
                    first = np.where(wrong.any(axis=0), k + 1 + wrong.argmax(axis=0), first)
                factor = np.where(zero | (row == 0.0), 0.0, factor)
            schur[k + 1 :, k + 1 :] -= factor[:, None] * row[None]
    return first


def quiet_steps(fastest: float) -> int:
    """The number of steps between two projections: a power of two.

    `fastest` is the largest eta a. What rounding makes of an absent component grows by at most
    (1 + eta a)^2 a step; it is not to grow by more than NOISE_GROWTH.
    """
    steps = _MOST_QUIET
    while steps > 1 and 2.0 * steps * math.log1p(fastest) > math.log(_NOISE_GROWTH):
        steps //= 2
    return steps


def without_null(problem: RunProblem, X: Floats) -> Floats:
    """X with the pivots of the null concepts back at exactly zero."""
    if not problem.null.any():
        return X
    return np.asarray(without_null_many(X[None], problem.null[None], problem.order[None])[0])


def without_null_many(X: Floats, null: Booleans, order: Integers) -> Floats:
    """Matrices (m, d, d) with the pivots of their null concepts (m, d) back at exactly zero.

    gd and the flow keep the rank of W; in floats a zero pivot becomes rounding noise, which would
    then grow like a concept. Only the Schur complement rows of null concepts are removed, and they
    are nothing but that noise. Concepts are eliminated in `order` (m, d).
    """
    ordered = in_order(X, order)
    schur, absent = ordered.copy(), np.take_along_axis(null, order, axis=1)
    with np.errstate(all="ignore"):
        for k in range(X.shape[1]):
            row = np.where(
                absent[:, k, None], ordered[:, k, k:] - schur[:, k, k:], ordered[:, k, k:]
            )
            ordered[:, k, k:], ordered[:, k:, k] = row, row
            pivot = schur[:, k, k]
            eliminated = (~absent[:, k] & (pivot > 0.0))[:, None]
            factor = np.where(eliminated, schur[:, k, k + 1 :] / pivot[:, None], 0.0)
            schur[:, k + 1 :, k + 1 :] -= factor[:, :, None] * schur[:, k, None, k + 1 :]
    return in_order(ordered, np.argsort(order, axis=1))


def begin(problem: RunProblem, state: RunState, record: RunRecord) -> None:
    """Look at step 0 and record it."""
    look(problem, state)
    _write(state, record, state.X[problem.entries][:, None], -1)


def look(problem: RunProblem, state: RunState) -> None:
    """Update every event with the present step, with null concepts back at zero."""
    state.X = without_null(problem, state.X)
    observe(problem, state, state.X[problem.entries][:, None], state.step - 1)


def follow(
    problem: RunProblem, state: RunState, record: RunRecord, block: Floats, *, rest: bool
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
    block = block[:, :count]
    observe(problem, state, block, state.step)
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
        columns = block[:, record.steps[first:last] - before - 1]
        record.W[first:last] = columns.T[:, entry_rows(len(state.X))] * state.weight
        state.recorded = last


def _take_over(state: RunState, last: Floats) -> None:
    """Make the last step of a block the present step.

    An entry between two learned concepts that has decayed below SMALLEST becomes zero: it would
    come to rest as a subnormal number, of which every step takes twice as long.
    """
    X = last[entry_rows(len(state.X))]
    learned = np.abs(np.diag(X) * np.diag(state.weight) - 1.0) < _LEARNED
    tiny = (np.abs(X) < _SMALLEST) & learned[:, None] & learned[None, :]
    state.X = np.where(tiny, 0.0, X)


def observe(problem: RunProblem, state: RunState, block: Floats, before: int) -> None:
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
        size = max(16, _BLAS_ALONE // (len(block) * d) if d <= 8 else _BLAS_ALONE // (16 * d))
        pieces = [_losses(problem, state, block[:, n : n + size]) for n in range(0, count, size)]
        loss = np.concatenate(pieces)
        if not np.isfinite(loss[-1]):
            # What is not finite stays so.
            loss = loss[: _first(~np.isfinite(loss))]
        if loss.size:
            state.turns.follow(loss, np.arange(before + 1, before + 1 + len(loss)))
    if not problem.keeps_psd and state.psd_lost < 0:
        at, concept = first_negative_pivot(order, block, high, low)
        if concept >= 0:
            state.psd_lost, state.psd_concept = before + 1 + at, concept


def extremes(block: Floats, span: int = _CHUNK) -> tuple[Floats, Floats]:
    """The largest and smallest number of every row in every `span` steps."""
    at = np.arange(0, block.shape[1], span)
    return np.maximum.reduceat(block, at, axis=1), np.minimum.reduceat(block, at, axis=1)


def _levels(state: RunState, block: Floats, high: Floats, before: int) -> None:
    """First passages."""
    d = len(state.X)
    tops = high[:d].max(axis=1) * state.weight.diagonal()
    for k in np.flatnonzero((state.level_steps[-1] < 0) & (tops >= LEVELS[0])).tolist():
        for row, level in enumerate(LEVELS):
            if tops[k] >= level and state.level_steps[row, k] < 0:
                begin = _CHUNK * _first(high[k] * state.weight[k, k] >= level)
                reached = block[k, begin : begin + _CHUNK] * state.weight[k, k] >= level
                state.level_steps[row, k] = before + 1 + begin + _first(reached)


def _distance(problem: RunProblem, state: RunState, block: Floats, goal: Floats) -> Floats:
    """The largest distance of entries from their limits where a > 0, at each step."""
    d = len(problem.signal)
    rows, columns = pairs(d)
    chosen = np.flatnonzero(problem.counted[rows] & problem.counted[columns])
    aim = np.where(chosen < d, goal[rows[chosen]], 0.0)
    values = block[chosen] * state.weight[rows[chosen], columns[chosen]][:, None]
    return np.asarray(np.abs(values - aim[:, None]).max(axis=0, initial=0.0))


def _end(
    problem: RunProblem, state: RunState, block: Floats, high: Floats, low: Floats, before: int
) -> None:
    """The last step at which W is not within END of the identity."""
    ones, d = np.ones(len(problem.signal)), len(problem.signal)
    last = block[:d, -1] * state.weight.diagonal()
    if (np.abs(last - 1.0) > END)[problem.counted].any():
        state.exceeded = before + block.shape[1]
        return
    beyond = _distance(problem, state, high, ones) > END
    beyond |= _distance(problem, state, low, ones) > END
    if beyond.any():
        begin = _CHUNK * int(np.flatnonzero(beyond)[-1])
        away = _distance(problem, state, block[:, begin : begin + _CHUNK], ones) > END
        state.exceeded = before + 1 + begin + int(np.flatnonzero(away)[-1])


def _peaks(state: RunState, block: Floats, high: Floats, low: Floats, before: int) -> None:
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
    smallest = np.maximum(0.0, np.maximum(low[d:], -high[d:]))
    smallest[first[:, None] // _CHUNK > np.arange(smallest.shape[1])] = np.inf
    waiting = (state.suppressed[rows, columns] < 0) & (half[:, 0] > 0)
    waiting &= (size <= best) | (first < last)
    due = waiting[:, None] & (smallest <= half)
    while due.any():
        e = np.flatnonzero(due.any(axis=1))
        chunk = due[e].argmax(axis=1)
        at, sizes = _of_a_chunk(block, d + e, chunk)
        fallen = (sizes <= half[e]) & (at >= first[e, None])
        has_fallen, fell_at = fallen.any(axis=1), fallen.argmax(axis=1)
        i, j = rows[e[has_fallen]], columns[e[has_fallen]]
        state.suppressed[i, j] = before + 1 + at[has_fallen, fell_at[has_fallen]]
        due[e, chunk] = due[e[has_fallen]] = False


def _of_a_chunk(block: Floats, rows: Integers, chunk: Integers) -> tuple[Integers, Floats]:
    """The steps of a chunk for each of some rows, and the sizes of their entries there."""
    count = block.shape[1]
    at = np.minimum(_CHUNK * chunk[:, None] + np.arange(min(_CHUNK, count)), count - 1)
    return at, np.abs(block[rows[:, None], at])


def _losses(problem: RunProblem, state: RunState, block: Floats) -> Floats:
    """The test loss 1/2 |W x - x|^2 at each step of a block."""
    d = len(problem.signal)
    rows, columns = pairs(d)
    values = problem.point[:, None] * state.weight
    if d > 8:
        residual = (values.T[:, None] @ block[entry_rows(d)])[:, 0]
    else:
        weighted = np.zeros((d, len(block)))
        weighted[columns, np.arange(len(block))] = values[rows, columns]
        weighted[rows, np.arange(len(block))] = values[columns, rows]
        residual = weighted @ block
    residual -= problem.point[:, None]
    np.square(residual, out=residual)
    return np.asarray(0.5 * residual.sum(axis=0))


def _first(marks: Booleans) -> int:
    """The first place that is true, or the length."""
    at = int(marks.argmax()) if len(marks) else 0
    return at if len(marks) and marks[at] else len(marks)


def _finite_steps(state: RunState, block: Floats) -> int:
    """The number of steps in a block whose entries are finite; what is not finite stays so."""
    weight = state.weight[pairs(len(state.X))]
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
    rows, columns = pairs(len(state.X))
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
    order: Integers, block: Floats, high: Floats, low: Floats
) -> tuple[int, int]:
    """The first step of a block at which W is not positive semidefinite, and the concept.

    The length of the block, and -1, where there is none. `high` and `low` are :func:`extremes`: no
    pivot is below that of the smallest diagonal with the largest entries beside it, below zero.
    """
    d, doubtful = len(order), np.arange(block.shape[1])
    row_of, size = entry_rows(d)[np.ix_(order, order)], max(_CHUNK, _ELIMINATED // d**2)
    worst = np.concatenate([low[:d], -np.maximum(high[d:], -low[d:])])
    doubtful = doubtful[np.repeat(~_are_clear(worst[row_of]), _CHUNK)[: len(doubtful)]]
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


def peaks(state: RunState) -> tuple[Peak, ...]:
    """The peaks of all off-diagonal entries so far."""
    events = []
    for i, j in itertools.combinations(range(len(state.X)), 2):
        later = int(state.suppressed[i, j])
        shift = int(max(-3000, state.exponent[i] + state.exponent[j]))
        value = math.ldexp(float(state.peak[i, j]), shift)
        events.append(Peak(i, j, int(state.peak_step[i, j]), value, later if later >= 0 else None))
    return tuple(events)
