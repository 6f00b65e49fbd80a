"""What a running trajectory carries: its problem, state, record and pivots; NumPy only.

W is held as ``W = D X D`` with ``D = diag(2^m_k)`` and whole m_k. Rescaling by powers of two is
exact, so a run with some m_k below 0 gives the same bits as the plain one (all m_k = 0) wherever
the plain one stays in the float range, and goes on where it does not: in terms of X the maps are
the same except that every product over the inner index k carries the weight ``2^(2 m_k)``, and
where that weight underflows, the product is far below the rounding of the linear terms.

Blocks of steps hold the upper triangle of X at each of them: a row for each entry, the diagonal
first (:func:`pairs`), a column for each step.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swingby.errors import InvalidInput
from swingby.simulate.outcome import SMALLEST_SWING, Turns
from swingby.theory import numbers
from swingby.theory.growth import DYNAMICS, growth_rates, log_factors
from swingby.theory.initial import LARGEST_ENTRY, Initial
from swingby.theory.numbers import Booleans, Floats, Integers

#: Levels of w_kk whose first passage every run reports.
LEVELS = (0.1, 0.5, 0.8, 0.99)
#: |W - I| at most this on the concepts with a > 0 is the end of learning.
END = 0.01
#: Extrema of the test loss that are kept.
MOST_EXTREMA = 512
#: W(0) with a diagonal entry below 2^-400 is held as D X D from the start: squares of its
#: entries would underflow.
PLAIN_RANGE = -400
#: x_kk from which on factors of two go to m_k.
LARGE = 2.0**200

#: A float pivot above this fraction of its diagonal entry is positive beyond doubt (the rounding
#: of elimination is about d 2^-53); only below it are exact rationals needed.
CLEARLY_POSITIVE = 1e-9
#: A pivot of LDL^T counts as negative below -PIVOT_ROUNDING * d * w_kk. Eliminating one concept
#: after the other from a positive semidefinite W changes the k-th pivot by at most about
#: (d + 1) 2^-53 w_kk, because no intermediate entry exceeds w_kk; eight times 2^-52 leaves room
#: for the rounding of the step itself, while a genuine loss moves the pivot by a relative
#: (eta (a_i - a_j))^2 per step and passes this bar at once.
PIVOT_ROUNDING = 8 * 2.0**-52

#: A run without a number of steps computes at most this many for d up to 8, and fewer in
#: proportion to 1/d^3 above; jumps are free.
MOST_EXECUTED = 50_000_000


class Problem(NamedTuple):
    """What does not change during a run.

    signal (d,); rates: eta a (d,); sums[i, j] = eta a_i + eta a_j; point: the test point (d,);
    goal (d,): the value w_kk tends to; counted (d,): concepts with a > 0; null (d,): concepts whose
    pivot is kept at zero; order (d,): concepts by descending a; growth (3, d, d): see
    :func:`swingby.theory.growth.log_factors`.
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

    @property
    def keeps_psd(self) -> bool:
        """Whether W stays positive semidefinite."""
        return DYNAMICS[self.dynamics].keeps_psd


@dataclass(eq=False)
class State:
    """What changes; steps are -1 where not yet.

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


class Record(NamedTuple):
    """Steps to record, ascending, and room for W at each of them."""

    steps: Integers
    W: Floats

    @classmethod
    def at(cls, steps: Sequence[int] | Integers, d: int) -> Record:
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
def places(d: int) -> Integers:
    """The row of every entry (i, j) in a block, shape (d, d)."""
    rows, columns = pairs(d)
    found = np.empty((d, d), dtype=np.int64)
    found[rows, columns] = found[columns, rows] = np.arange(len(rows))
    return found


# Overflow is an outcome of the run, not a warning; so in make_state.
@np.errstate(all="ignore")
def make_problem(
    signal: Floats,
    eta: float,
    dynamics: str,
    point: Floats | None = None,
    missing: Booleans | None = None,
    growth: NDArray[np.longdouble] | None = None,
) -> Problem:
    """Arrange the constants of a run; `missing`: concepts that tend to 0 rather than 1."""
    d = len(signal)
    absent = np.zeros(d, dtype=np.bool_) if missing is None else missing
    rates = eta * signal
    return Problem(
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
    )


@np.errstate(all="ignore")
def make_state(initial: Initial, point: Floats) -> State:
    """The state of a run at step 0."""
    plain = initial.scale == 1
    if np.abs(initial.matrix).max() > 1e300 if plain else initial.largest > LARGEST_ENTRY:
        raise InvalidInput("W0", numbers.scientific(initial.largest), "must lie in the float range")
    mantissa, shift = binary(initial.scale)
    matrix = initial.matrix * mantissa
    exponent = choose_exponents(np.diag(matrix)[None], np.array([shift]))[0]
    X = np.ldexp(matrix, (shift - exponent[:, None] - exponent[None, :]).clip(-3000, 3000))
    residual = float_matrix(X, exponent) @ point - point
    swing = SMALLEST_SWING * 0.5 * float((residual**2).sum())
    return State(X, exponent, Turns(swing, MOST_EXTREMA))


def choose_exponents(diagonal: Floats, shift: Integers) -> Integers:
    """The m of W = D X D at step 0, for W_kk = diagonal 2^shift: zero where W(0) allows it."""
    size = np.frexp(diagonal)[1] + shift[:, None]
    there = diagonal != 0
    smallest = np.where(there, size, np.iinfo(np.int64).max).min(axis=1)
    smallest = np.where(there.any(axis=1), smallest, 0)
    needed = (smallest < PLAIN_RANGE) | (shift < -900)
    held = np.minimum(0, np.where(there, size, smallest[:, None]) // 2)
    return np.where(needed[:, None], held, 0)


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


def log_diagonal(state: State) -> Floats:
    """Natural logarithm of each w_kk, at any size; nan where w_kk is not positive."""
    diagonal = np.diag(state.X)
    positive = diagonal > 0
    logarithm = np.log(np.where(positive, diagonal, 1.0)) + 2 * state.exponent * math.log(2)
    return np.where(positive, logarithm, np.nan)


def binary(scale: Fraction) -> tuple[float, int]:
    """A positive number as a mantissa in [1/2, 2] and a power of two."""
    if scale == 1:
        return 1.0, 0
    shift = scale.numerator.bit_length() - scale.denominator.bit_length()
    return float(scale / Fraction(2) ** shift), shift


def most_executed(d: int) -> float:
    """Most computed steps of a run that was given no number of steps."""
    return MOST_EXECUTED * min(1.0, (8 / d) ** 3)


def most_steps(signal: Floats, eta: Floats, log_smallest: Floats, dynamics: str) -> Integers:
    r"""Most steps of runs that were given no number of steps: ``3 (log(1/w) + 60)/g``.

    g is the growth per step of the smallest positive a; w the smallest positive w_kk(0), or 1.
    """
    slowest = np.where(signal > 0, signal, np.inf).min(axis=-1)
    growth = growth_rates(slowest[..., None], eta, dynamics)[..., 0, 0]
    with np.errstate(divide="ignore", over="ignore"):
        most: Floats = np.minimum(3 * (60 - log_smallest) / growth, 2.0**52)
    return np.maximum(1, np.ceil(most)).astype(np.int64)


def most_steps_of(problem: Problem, state: State) -> int:
    """The same of one run at its start."""
    smallest = np.asarray(np.nanmin(log_diagonal(state), initial=0.0))
    return int(most_steps(problem.signal, np.asarray(problem.eta), smallest, problem.dynamics))


def in_order(matrices: Floats, order: Integers) -> Floats:
    """Matrices (m, d, d) with the concepts of each in its own order (m, d)."""
    return matrices[np.arange(len(matrices))[:, None, None], order[:, :, None], order[:, None, :]]


@np.errstate(all="ignore")
def clear_pivots(matrices: Any, share: float = CLEARLY_POSITIVE) -> Any:
    """Whether all LDL^T pivots are above a share of their diagonal entries.

    Of matrices (m, d, d) of NumPy or torch, eliminated in this order.
    """
    rest, clear = matrices * 1.0, matrices[:, 0, 0] > 0.0
    for k in range(matrices.shape[-1]):
        pivot, row = rest[:, k, k], rest[:, k, k + 1 :]
        clear = clear & (pivot > share * abs(matrices[:, k, k]))
        rest[:, k + 1 :, k + 1 :] -= (row / pivot[:, None])[:, :, None] * row[:, None, :]
    return clear


def negative_pivots(M: Floats) -> Integers:
    """The first place k whose LDL^T pivot is negative, -1 for none, of matrices (d, d, n).

    Rows and columns are in the order of elimination; works on X as on W, which have the same
    inertia. A pivot of zero to rounding must have a zero row: otherwise the 2 x 2 minor with the
    offending concept is negative.
    """
    d = len(M)
    work, found = M.copy(), np.full(M.shape[2], -1, dtype=np.int64)
    rounding = PIVOT_ROUNDING * d * np.abs(M[np.arange(d), np.arange(d)])
    with np.errstate(all="ignore"):
        for k in range(d):
            pivot, row = work[k, k], work[k, k + 1 :].copy()
            found[(found < 0) & ~(pivot >= -rounding[k])] = k
            zero = pivot <= rounding[k]
            factor = row / pivot
            if zero.any():
                slack = (work[range(k + 1, d), range(k + 1, d)] + rounding[k + 1 :]) * (
                    pivot + rounding[k]
                )
                wrong = zero & (found < 0) & (row * row > slack)
                if wrong.any():
                    found = np.where(wrong.any(axis=0), k + 1 + wrong.argmax(axis=0), found)
                factor = np.where(zero | (row == 0.0), 0.0, factor)
            work[k + 1 :, k + 1 :] -= factor[:, None] * row[None]
    return found
