"""What a running trajectory carries: its problem, its state, its record; NumPy only.

W is held as ``W = D X D`` with ``D = diag(2^m_k)`` and whole m_k. Rescaling by powers of two is
exact, so a run with some m_k below 0 gives the same bits as the plain one (all m_k = 0) wherever
the plain one stays in the float range, and goes on where it does not: in terms of X the maps are
the same except that every product over the inner index k carries the weight ``2^(2 m_k)``, and
where that weight underflows, the product is far below the rounding of the linear terms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swingby.errors import InvalidInput
from swingby.simulate.growth_table import growth_table
from swingby.theory import numbers
from swingby.theory.initial import LARGEST_ENTRY, Initial

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

#: Levels of w_kk whose first passage every run reports.
LEVELS = (0.1, 0.5, 0.8, 0.99)
#: |W - I| at most this on the concepts with a > 0 is the end of learning.
END = 0.01
#: Extrema of the test loss kept; more set the flag OVERFLOW.
MOST_EXTREMA = 512
#: A swing of the test loss counts from this fraction of its initial value on.
SMALLEST_SWING = 1e-9
#: W(0) with a diagonal entry below 2^-400 is held as D X D from the start: squares of its
#: entries would underflow.
PLAIN_RANGE = -400

#: Places in State.counters; a step of -1 means "not yet".
(
    STEP,
    EXECUTED,
    RECORDED,
    PSD_LOST,
    PSD_CONCEPT,
    EXCEEDED,
    EXTREMA,
    OVERFLOW,
    HEADING,
    LOW_STEP,
    HIGH_STEP,
    DIVERGED,
    SETTLED,
    STARTED,
) = range(14)


class Problem(NamedTuple):
    """What does not change during a run.

    signal (d,); sums[i, j] = a_i + a_j; eta; point: the test point (d,); levels;
    goal (d,): the value w_kk tends to; counted (d,): concepts with a > 0; null (d,): concepts
    for which W(0) has no component; order (d,): concepts by descending a; growth: see
    :func:`swingby.simulate.growth_table.growth_table`.
    """

    signal: Floats
    sums: Floats
    eta: float
    point: Floats
    levels: Floats
    goal: Floats
    counted: Booleans
    null: Booleans
    order: Integers
    growth: Floats


class State(NamedTuple):
    """What changes; every field is an array that the kernels write to.

    X (d, d); exponent: m (d,); weight[i, j] = 2^(m_i + m_j); square[k] = 2^(2 m_k);
    still (d,): w_kk did not change in the last step; level_steps (levels, d); peak (d, d):
    largest |x_ij| with its sign; peak_step, suppressed (d, d); turning: the lowest and highest
    test loss since the last extremum, and the swing; extrema: steps, values, kinds (1 maximum);
    counters: see the constants of this module.
    """

    X: Floats
    exponent: Integers
    weight: Floats
    square: Floats
    still: Booleans
    level_steps: Integers
    peak: Floats
    peak_step: Integers
    suppressed: Integers
    turning: Floats
    extremum_step: Integers
    extremum_value: Floats
    extremum_kind: Integers
    counters: Integers


class Record(NamedTuple):
    """Steps to record, ascending, and room for W at each of them."""

    steps: Integers
    W: Floats


# Overflow is an outcome of the run, not a warning; so in make_state.
@np.errstate(all="ignore")
def make_problem(
    signal: Floats,
    eta: float,
    dynamics: str,
    point: Floats | None = None,
    null: Booleans | None = None,
    growth: Floats | None = None,
    exempt: Booleans | None = None,
) -> Problem:
    """Arrange the constants of a run.

    Parameters
    ----------
    signal : ndarray of shape (d,)
    eta : float
    dynamics : {"euler", "gd", "flow"}
    point : ndarray of shape (d,), optional
        The test point; zero by default, which leaves the test loss at 0.
    null : ndarray of shape (d,), optional
        Concepts whose pivot is kept at zero.
    growth : ndarray, optional
        From :func:`swingby.simulate.growth_table.growth_table`, when the caller has it already.
    exempt : ndarray of shape (d,), optional
        Further concepts that tend to 0 rather than 1.

    Returns
    -------
    Problem
    """
    d = len(signal)
    absent = np.zeros(d, dtype=np.bool_) if null is None else null
    unreachable = absent if exempt is None else absent | exempt
    return Problem(
        signal=np.ascontiguousarray(signal),
        sums=signal[:, None] + signal[None, :],
        eta=eta,
        point=np.zeros(d) if point is None else np.ascontiguousarray(point),
        levels=np.array(LEVELS),
        goal=np.where(unreachable, 0.0, 1.0),
        counted=signal > 0,
        null=absent,
        order=np.argsort(-signal, kind="stable").astype(np.int64),
        growth=growth_table(signal, eta, dynamics) if growth is None else growth,
    )


@np.errstate(all="ignore")
def make_state(initial: Initial, point: Floats, *, scaled: bool | None = None) -> State:
    """The state of a run at step 0.

    Parameters
    ----------
    initial : Initial
        W(0).
    point : ndarray of shape (d,)
        The test point, which fixes the size of the test loss.
    scaled : bool, optional
        Hold W as D X D with m_k below 0. Default: only where W(0) needs it.

    Returns
    -------
    State

    Raises
    ------
    InvalidInput
        If an entry of W(0) is above the float range.
    """
    if _too_large(initial):
        raise InvalidInput("W0", numbers.scientific(initial.largest), "must lie in the float range")
    mantissa, shift = binary(initial.scale)
    matrix = initial.matrix * mantissa
    d = len(matrix)
    sizes = [math.frexp(entry)[1] + shift for entry in np.diag(matrix).tolist() if entry]
    smallest = min(sizes, default=0)
    needed = smallest < PLAIN_RANGE or shift < -900
    exponent = np.zeros(d, dtype=np.int64)
    if needed if scaled is None else scaled:
        for k in range(d):
            entry = float(matrix[k, k])
            size = math.frexp(entry)[1] + shift if entry else smallest
            exponent[k] = min(0, size // 2)
    X = np.ldexp(matrix, (shift - exponent[:, None] - exponent[None, :]).clip(-3000, 3000))
    swing = SMALLEST_SWING * 0.5 * float(((_float_matrix(X, exponent) @ point - point) ** 2).sum())
    counters = np.zeros(14, dtype=np.int64)
    for place in (PSD_LOST, PSD_CONCEPT, EXCEEDED, DIVERGED, SETTLED):
        counters[place] = -1
    return State(
        X=X,
        exponent=exponent,
        weight=weights(exponent),
        square=np.ldexp(1.0, np.maximum(2 * exponent, -3000).astype(np.int32)),
        still=np.zeros(d, dtype=np.bool_),
        level_steps=np.full((len(LEVELS), d), -1, dtype=np.int64),
        peak=np.zeros((d, d)),
        peak_step=np.zeros((d, d), dtype=np.int64),
        suppressed=np.full((d, d), -1, dtype=np.int64),
        turning=np.array([0.0, 0.0, swing]),
        extremum_step=np.zeros(MOST_EXTREMA, dtype=np.int64),
        extremum_value=np.zeros(MOST_EXTREMA),
        extremum_kind=np.zeros(MOST_EXTREMA, dtype=np.int64),
        counters=counters,
    )


def make_record(steps: Sequence[int] | Integers, d: int) -> Record:
    """Room for W at the given ascending steps.

    Parameters
    ----------
    steps : sequence of int
    d : int

    Returns
    -------
    Record
    """
    marks = np.asarray(steps, dtype=np.int64)
    return Record(marks, np.zeros((len(marks), d, d)))


def weights(exponent: Integers) -> Floats:
    """The matrix ``2^(m_i + m_j)``, 0 where it lies below the float range.

    Parameters
    ----------
    exponent : ndarray of shape (d,)

    Returns
    -------
    ndarray of shape (d, d)
    """
    total = np.maximum(exponent[:, None] + exponent[None, :], -3000)
    return np.asarray(np.ldexp(1.0, total.astype(np.int32)), dtype=np.float64)


def log_diagonal(state: State) -> Floats:
    """Natural logarithm of each w_kk, at any size; nan where w_kk is not positive.

    Parameters
    ----------
    state : State

    Returns
    -------
    ndarray of shape (d,)
    """
    diagonal = np.diag(state.X)
    positive = diagonal > 0
    logarithm = np.log(np.where(positive, diagonal, 1.0)) + 2 * state.exponent * math.log(2)
    return np.where(positive, logarithm, np.nan)


def float_matrix(state: State) -> Floats:
    """W as floats; entries below the float range become 0.

    Parameters
    ----------
    state : State

    Returns
    -------
    ndarray of shape (d, d)
    """
    return _float_matrix(state.X, state.exponent)


def _float_matrix(X: Floats, exponent: Integers) -> Floats:
    total = np.maximum(exponent[:, None] + exponent[None, :], -3000).astype(np.int32)
    return np.asarray(np.ldexp(X, total), dtype=np.float64)


def _too_large(initial: Initial) -> bool:
    """Whether an entry of W(0) is above the float range, or close to its end."""
    if initial.scale == 1:
        return bool(np.abs(initial.matrix).max() > 1e300)
    return initial.largest > LARGEST_ENTRY


def binary(scale: Fraction) -> tuple[float, int]:
    """A number as mantissa times a power of two.

    Parameters
    ----------
    scale : Fraction
        Positive.

    Returns
    -------
    float, int
        The mantissa, in [1/2, 2], and the exponent.
    """
    if scale == 1:
        return 1.0, 0
    shift = scale.numerator.bit_length() - scale.denominator.bit_length()
    return float(scale / Fraction(2) ** shift), shift
