"""The state of a run: its constants, W with the events seen so far, and its records.

W is held as ``W = D X D`` (:mod:`swingby.theory.scaled_matrices`), so that it may lie below the
float range. Plain and compiled steps alike come in blocks, which hold X at each of them: a row for
each entry (:func:`block_entries`), a column for each step.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from swingby.simulate.series import SMALLEST_SWING, Turns
from swingby.theory.growth import DYNAMICS, growth_rates, log_factors
from swingby.theory.initial import Initial
from swingby.theory.numbers import Booleans, Floats, Integers
from swingby.theory.scaled_matrices import LARGE, float_matrix, power_of_two, scale_up, weights

#: Up to this dimension a block holds the upper triangle of X, the steps of an entry in turn; above
#: all of X, the entries of a step in turn, which needs no copies and is looked at in whole steps.
TRIANGLES = 8
#: Levels of w_kk whose first passage every run reports.
LEVELS = (0.1, 0.5, 0.8, 0.99)
_Number = TypeVar("_Number", np.float64, np.int64)

#: Extrema of the test loss that are kept.
_MOST_EXTREMA = 512
#: A run without a number of steps computes at most this many for d up to 8, and fewer in
#: proportion to 1/d^3 above; jumps are free.
_MOST_EXECUTED = 50_000_000


class RunProblem(NamedTuple):
    """The constants of a run.

    signal (d,); rates: eta a (d,); sums[i, j] = eta a_i + eta a_j; point: the test point (d,);
    goal (d,): the value w_kk tends to; counted (d,): concepts with a > 0; null (d,): concepts whose
    pivot is kept at zero; order (d,): concepts by descending a; own_growth (3, d): the diagonal of
    growth; entries: those of :func:`block_entries`; entry_rows
    (d, d): the row of every entry in a block; rank: the columns of the factor that steps are made
    from (:mod:`swingby.simulate.factored`), 0 for steps of W.
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
    own_growth: NDArray[np.longdouble]
    make_growth: Callable[[], NDArray[np.longdouble]]
    entries: tuple[Integers, Integers]
    entry_rows: Integers
    rank: int = 0

    @property
    def growth(self) -> NDArray[np.longdouble]:
        """Those of :func:`swingby.theory.growth.log_factors`: only jumps ask for all of them."""
        return self.make_growth()

    @property
    def keeps_psd(self) -> bool:
        """True where W stays positive semidefinite."""
        return DYNAMICS[self.dynamics].keeps_psd

    def most_steps(self, state: RunState) -> int:
        """The most steps of the run, from its state at the start."""
        smallest = np.asarray(np.nanmin(state.log_diagonal, initial=0.0))
        return int(most_steps(self.signal, np.asarray(self.eta), smallest, self.dynamics))


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


class BlockSummary(NamedTuple):
    """What compiled steps say of a block of whole matrices while they are at hand.

    outputs (steps, d): X D x at the test point x; high, low (d d,): the largest and the smallest
    number of every entry before the last step.
    """

    outputs: Floats
    high: Floats
    low: Floats

    @classmethod
    def room(cls, d: int, steps: int) -> BlockSummary:
        """Room for what is said of so many steps."""
        return cls(np.empty((steps, d)), np.empty(d * d), np.empty(d * d))


@functools.cache
def pairs(d: int) -> tuple[Integers, Integers]:
    """Rows and columns of the upper triangle, in order: the diagonal, then row by row."""
    rows, columns = np.triu_indices(d, 1)
    diagonal = np.arange(d)
    return np.concatenate([diagonal, rows]), np.concatenate([diagonal, columns])


@functools.cache
def entry_rows(d: int) -> Integers:
    """The place of every entry (i, j) among :func:`pairs`, shape (d, d)."""
    rows, columns = pairs(d)
    row_of = np.empty((d, d), dtype=np.int64)
    row_of[rows, columns] = row_of[columns, rows] = np.arange(len(rows))
    return row_of


@functools.cache
def block_entries(d: int) -> tuple[Integers, Integers]:
    """Rows and columns of the entries of a block, in order."""
    if d <= TRIANGLES:
        return pairs(d)
    rows, columns = np.divmod(np.arange(d * d), d)
    return rows, columns


def block_rows(d: int) -> Integers:
    """The row of every entry (i, j) in a block, shape (d, d)."""
    return entry_rows(d) if d <= TRIANGLES else np.arange(d * d).reshape(d, d)


def diagonal_rows(d: int) -> slice:
    """The rows of the diagonal in a block."""
    return slice(0, d) if d <= TRIANGLES else slice(0, None, d + 1)


def by_rows(values: NDArray[_Number]) -> NDArray[_Number]:
    """Numbers (d, d) in the order of the rows of a block; a view where it holds all entries."""
    d = len(values)
    return values[block_entries(d)] if d <= TRIANGLES else values.reshape(d * d)


# Overflow is an outcome of the run, not a warning; so in make_state.
@np.errstate(all="ignore")
def make_problem(
    signal: Floats,
    eta: float,
    dynamics: str,
    point: Floats | None = None,
    missing: Booleans | None = None,
    growth: NDArray[np.longdouble] | None = None,
    rank: int = 0,
) -> RunProblem:
    """Arrange the constants of a run; `missing`: concepts that tend to 0 rather than 1."""
    d = len(signal)
    absent = np.zeros(d, dtype=np.bool_) if missing is None else missing
    rates = eta * signal
    if growth is None:
        own_growth = log_factors(signal[:, None], eta, dynamics)[..., 0, 0]
        make_growth = functools.partial(log_factors, signal, eta, dynamics)
    else:
        own_growth = growth.diagonal(axis1=1, axis2=2)
        make_growth = functools.partial(np.asarray, growth)
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
        null=absent & DYNAMICS[dynamics].keeps_psd & (rank == 0),
        order=np.argsort(-signal, kind="stable").astype(np.int64),
        own_growth=own_growth,
        make_growth=functools.cache(make_growth),
        entries=block_entries(d),
        entry_rows=block_rows(d),
        rank=rank,
    )


@np.errstate(all="ignore")
def make_state(initial: Initial, point: Floats) -> RunState:
    """The state of a run at step 0."""
    residual = float_matrix(initial.held, initial.exponents) @ point - point
    swing = SMALLEST_SWING * 0.5 * float((residual**2).sum())
    return RunState(initial.held, initial.exponents, Turns(swing, _MOST_EXTREMA))


def most_executed(d: int) -> float:
    """Most computed steps of a run that was given no number of steps."""
    return _MOST_EXECUTED * min(1.0, (8 / d) ** 3)


def allowed_steps(growth: Any, log_smallest: Any) -> Any:
    """``3 (log(1/w) + 60)/g``, of any numbers: the explorer prints it as JavaScript."""
    return 3 * (60 - log_smallest) / growth


def most_steps(signal: Floats, eta: Floats, log_smallest: Floats, dynamics: str) -> Integers:
    r"""Most steps of runs that were given no number of steps, by :func:`allowed_steps`.

    g is the growth per step of the smallest positive a; w the smallest positive w_kk(0), or 1.
    """
    slowest = np.where(signal > 0, signal, np.inf).min(axis=-1)
    growth = growth_rates(slowest[..., None], eta, dynamics)[..., 0, 0]
    with np.errstate(divide="ignore", over="ignore"):
        steps: Floats = np.minimum(allowed_steps(growth, log_smallest), 2.0**52)
    return np.maximum(1, np.ceil(steps)).astype(np.int64)
