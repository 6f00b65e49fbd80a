r"""Pivots of W(0): the start of the walk, and the closed law.

With :math:`\pi_k` the pivots of :math:`W(0) = L D L^\top` in descending order of a,

.. math:: t_k = -\log \pi_k / g_{kk}

is the leading order of the step at which :math:`w_{kk}` reaches 1/2. Under euler correlations
drift while k grows, so entries are propagated to :math:`t_k` before the next Schur complement.

A pivot is formed by subtraction. One that has lost all its digits to rounding counts as zero;
whether it is zero, its exact value tells: entries of W(0) are exact numbers.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from swingby.theory.growth import DYNAMICS, growth_rates
from swingby.theory.initial import Initial, exact_pivots
from swingby.theory.law.modified_flow import make_flow
from swingby.theory.law.walk import (
    ACTIVE,
    ALLOWED,
    BLOW_UP,
    CONCEPT,
    CROSSING,
    HIGHEST,
    LEAST_LEVEL,
    LOST,
    MOVING,
    REST_SIZE,
    SIGNAL,
    SLOPE,
    STEP,
    SUMMIT,
    TIME,
    TOLERANCE,
    H,
    Walk,
)
from swingby.theory.numbers import Floats

#: A pivot uncertain by so many roundings of its own size is nothing but rounding.
_MOST_ROUNDING = 3e13
#: From so many roundings on pivots are computed exactly.
_MANY_ROUNDINGS = 1e5
#: Powers of two of a_max beyond which signals are held over one.
_MOST_POWER = 64
#: Bounds of what a step of the integration may be wrong by.
_LEAST_ALLOWED, _LARGEST_ALLOWED = 1e-11, 1e-5


class Starts(NamedTuple):
    """n instances at their starts; n is the first axis of every array.

    `signal`, `levels` (n, d): by concept: a, and w_kk(0).
    `matrix` (n, d, d), `log_scale` (n,): W(0), by concept, and the logarithm of its factor.
    `eta` (n,); `reach` (n,): eta a_max, times the largest eigenvalue of W(0) where that is above 1.
    `order` (n, d): concepts by descending a, those without a positive pivot last.
    `sign`, `log_pivots`, `roundings` (n, d): in this order, of each pivot; its relative error in
    roundings of a float.
    `log_sizes` (n, d), `factors` (n, d, d): in this order, u and V of
    :mod:`swingby.theory.law.coordinates`.
    `unresolved` (n, d): by concept: pivots that count as zero and are positive.
    `steps` (n,): steps of the map taken before, to where no pivot is zero.
    """

    signal: Any
    levels: Any
    matrix: Any
    log_scale: Any
    eta: Any
    reach: Any
    order: Any
    sign: Any
    log_pivots: Any
    roundings: Any
    log_sizes: Any
    factors: Any
    unresolved: Any
    steps: Any

    @classmethod
    def of(cls, signal: Floats, initial: Initial, eta: float, dynamics: str) -> Starts:
        """The start of a single instance; its pivots are more certain from U(0) than from W(0)."""
        pivots = None
        if initial.factor is not None:
            pivots = _orthogonalize(initial.factor, initial, signal)
        step, log_scale = np.array([eta]), np.array([initial.log_scale])
        return prepare(signal[None], initial.matrix[None], step, log_scale, dynamics, pivots)

    def take(self, which: Any) -> Starts:
        """The starts of chosen instances, which may repeat."""
        return Starts(*(values[which] for values in self))

    def joined(self) -> Any:
        """Pairs of concepts in one block of W(0), (n, d, d)."""
        d = self.signal.shape[1]
        joined = (self.matrix != 0) | np.eye(d, dtype=bool)
        for _ in range(d.bit_length()):
            joined = joined @ joined
        return joined

    def by_concept(self, values: Any) -> Any:
        """From the order of elimination to the user's order."""
        return _by_concept(self.order, values)


class _Pivots(NamedTuple):
    """An elimination, with `order`, `sign`, `roundings` and `unresolved` as in :class:`Starts`.

    pivots (n, d), lower (n, d, d): of W(0) with rows and columns over `size` (n, d); L is unit
    lower triangular.
    """

    lower: Any
    unresolved: Any
    order: Any
    sign: Any
    pivots: Any
    size: Any
    roundings: Any


def prepare(
    signal: Floats,
    W0: Floats,
    eta: Floats,
    log_scale: Floats,
    dynamics: str,
    pivots: _Pivots | None = None,
) -> Starts:
    """Factorize n matrices exp(log_scale) W0, unless their first pivots are known.

    Signals of an extreme scale are held over a power of two, and step sizes times it.
    """
    n, d = signal.shape
    power = np.frexp(signal.max(axis=1))[1]
    power = np.where(np.abs(power) > _MOST_POWER, power, 0)
    # What is out of reach beside the largest stays positive.
    signal = np.maximum(np.ldexp(signal, -power[:, None]), np.where(signal > 0, 5e-324, 0.0))
    eta = np.ldexp(eta, power)
    start = matrix = (W0 + W0.swapaxes(1, 2)) / 2
    scale = np.exp(np.minimum(log_scale, 700.0))
    elimination, steps = pivots or _eliminate(matrix, signal), np.zeros(n, dtype=np.int64)
    while not DYNAMICS[dynamics].keeps_psd:
        # A zero pivot under euler: the first steps decide what becomes of it.
        due = (elimination.sign == 0).any(axis=1) & (steps < d)
        if not due.any():
            break
        matrix, steps = matrix.copy(), steps + due
        matrix[due] = _mapped(*(array[due] for array in (matrix, signal, eta, scale)))
        for values, new in zip(elimination, _eliminate(matrix[due], signal[due]), strict=True):
            values[due] = new
    lower, unresolved, order, sign, relative, size, roundings = elimination
    # What is left behind the first pivots of the drift is rounding.
    sign = np.where((steps > 0)[:, None] & (roundings > _MANY_ROUNDINGS**2), 0.0, sign)
    diagonal = np.take_along_axis(matrix.diagonal(axis1=1, axis2=2), order, axis=1) / size / size
    relative = np.where(sign != 0, np.abs(relative), np.maximum(diagonal, 1e-300))
    logs = np.log(relative) + 2 * np.log(size) + log_scale[:, None]
    # L_ij sqrt(pi_j / pi_i): V, relative to the square roots of the pivots.
    root = np.sqrt(relative[:, None, :] / relative[:, :, None])
    V = np.tril(lower * root * (sign != 0)[:, None, :], -1) + np.eye(d)
    largest = np.ones(n)
    large = d * np.abs(start).max(axis=(1, 2), initial=0.0) * scale > 1
    largest[large] = np.linalg.eigvalsh(start[large])[:, -1] * scale[large]
    reach = eta * signal.max(axis=1) * np.maximum(1.0, largest)
    levels = start.diagonal(axis1=1, axis2=2) * scale[:, None]
    by_pivot = order, sign, np.where(sign != 0, logs, -np.inf), roundings, logs, V
    return Starts(signal, levels, start, log_scale, eta, reach, *by_pivot, unresolved, steps)


def _by_concept(order: Any, values: Any) -> Any:
    reordered = np.empty_like(values)
    np.put_along_axis(reordered, order, values, axis=1)
    return reordered


def _ordered(matrix: Any, order: Any) -> Any:
    """Rows and columns of n matrices in another order."""
    rows = np.take_along_axis(matrix, order[:, :, None], axis=1)
    return np.take_along_axis(rows, order[:, None, :], axis=2)


def _ranked(matrix: Any, signal: Floats) -> tuple[Any, Any, Any]:
    """Concepts by descending signal; the sizes of their rows; n matrices over these, in that order.

    So nothing that follows depends on the units of the rows, or leaves the float range.
    """
    order = np.argsort(-signal, axis=1, kind="stable")
    ranked = _ordered(matrix, order)
    size = np.sqrt(np.abs(ranked.diagonal(axis1=1, axis2=2)))
    size = np.where(size > 0, size, np.sqrt(np.abs(ranked).max(axis=1)))
    size = np.where(size > 0, size, 1.0)
    return order, size, ranked / size[:, :, None] / size[:, None, :]


def _eliminate(matrix: Floats, signal: Floats) -> _Pivots:
    """LDL^T of n matrices by descending signal; pivots that are not positive come last."""
    d = signal.shape[1]
    order, size, rest = _ranked(matrix, signal)
    uncertain = np.maximum(np.abs(rest.diagonal(axis1=1, axis2=2)), 1e-300)
    lower = np.zeros_like(rest) + np.eye(d)
    sign, pivots, roundings = (np.zeros(signal.shape) for _ in range(3))
    unresolved = np.zeros(signal.shape, dtype=bool)

    def remove(k: int, which: Any, others: Any, lost: Any) -> None:
        """Schur complement of pivot k in the other rows, with its rounding."""
        pivot = np.where(which, rest[:, k, k], 1.0)[:, None]
        column = np.where(which[:, None] & others & (np.arange(d) != k), rest[:, :, k], 0.0)
        lower[:, :, k] += column / pivot
        more = column * column / np.abs(pivot) * np.where(which, lost, 1.0)[:, None]
        np.maximum(uncertain, more, out=uncertain)
        rest[:] -= column[:, :, None] * column[:, None, :] / pivot[:, :, None]

    for k in range(d):
        pivots[:, k] = rest[:, k, k]
        with np.errstate(divide="ignore"):
            roundings[:, k] = lost = uncertain[:, k] / np.abs(rest[:, k, k])
        for i in np.flatnonzero((lost > _MANY_ROUNDINGS) & (lost < np.inf)):
            places = order[i, [*np.flatnonzero(sign[i] > 0), k]]
            exact = exact_pivots(matrix[i][np.ix_(places, places)])[-1]
            pivots[i, k] = float(exact / Fraction(size[i, k]) ** 2)
        sign[:, k] = np.where(lost <= _MOST_ROUNDING, np.sign(pivots[:, k]), 0.0)
        unresolved[:, k] = (pivots[:, k] > 0) & (sign[:, k] == 0)
        remove(k, sign[:, k] > 0, sign <= 0, lost)
    last = sign <= 0
    for k in range(d if (sign < 0).any() else 0):
        # What is left of it after all the others; a negative pivot is removed as well.
        negative = sign[:, k] < 0
        pivots[negative, k] = rest[negative, k, k]
        sign[negative, k] = np.sign(rest[negative, k, k])
        remove(k, negative & (sign[:, k] != 0), last & (np.arange(d) > k), 1.0)
    unresolved = _by_concept(order, unresolved)
    moved = np.argsort(last, axis=1, kind="stable")
    by_pivot = (order, sign, pivots, size, roundings)
    reordered = (np.take_along_axis(values, moved, axis=1) for values in by_pivot)
    return _Pivots(_ordered(lower, moved), unresolved, *reordered)


def _orthogonalize(U: Floats, initial: Initial, signal: Floats) -> _Pivots:
    """Eliminate by QR of the rows of U(0): a pivot is the square of a distance, not a difference.

    Gram-Schmidt, twice each, so that a row without a distance of its own can come last. A distance
    is as uncertain as the rows that it is made of: the row sums of R^-T.
    """
    d, m = U.shape
    size = np.linalg.norm(U, axis=1)
    size = np.where(size > 0, size, 1.0)
    rows = U / size[:, None]
    Q, combinations, lengths = np.zeros((0, m)), np.zeros((0, d)), np.zeros(0)
    sign, pivots, roundings = np.zeros(d), np.zeros(d), np.full(d, np.inf)
    unresolved, first = np.zeros(d, dtype=bool), list[int]()
    ranked = [int(k) for k in np.argsort(-signal, kind="stable")]
    for k in ranked:
        if len(first) == m:
            break
        rest, combination = rows[k], np.eye(d)[k]
        for _ in range(2):
            shadow = Q @ rest
            rest, combination = rest - shadow @ Q, combination - shadow @ combinations
        length = float(np.linalg.norm(rest))
        pivots[k] = length**2
        if length:
            roundings[k] = 2 * np.abs(combination).sum() / length
        if roundings[k] > _MANY_ROUNDINGS:
            places = [*first, k]
            exact = exact_pivots(initial.exact[np.ix_(places, places)])[-1]
            unresolved[k] = exact > 0 and roundings[k] > _MOST_ROUNDING
            pivots[k] = float(exact / Fraction(size[k]) ** 2)
        sign[k] = pivots[k] > 0 and not unresolved[k]
        if sign[k]:
            first.append(k)
            Q, combinations = (
                np.vstack([Q, rest / length]),
                np.vstack([combinations, combination / length]),
            )
            lengths = np.append(lengths, length)
    order = np.array(first + [k for k in ranked if k not in first], dtype=np.int64)
    lower = np.zeros((d, d))
    lower[:, : len(first)] = rows[order] @ Q.T / lengths
    by_pivot = (values[order] for values in (sign, pivots, size, roundings))
    return _Pivots(*(array[None] for array in (lower, unresolved, order, *by_pivot)))


def _mapped(matrix: Floats, signal: Floats, eta: Floats, scale: Floats) -> Floats:
    """A step of (D.2), without its underflow."""
    square = matrix * np.where(scale > 1e-200, scale, 0.0)[:, None, None]
    total = signal[:, :, None] + signal[:, None, :]
    second = (total * (matrix @ square)) / 2 + (matrix * signal[:, None, :]) @ square
    return np.asarray(matrix + eta[:, None, None] * (total * matrix - second))


def allowed_errors(signal: Any, eta: Any, share: Any) -> Any:
    """Tolerated error of an integration step in the logarithm of each pivot, (d, ...).

    A share of what the concept grows by in half a step: an error in the row of a fast concept
    shifts the slow ones by as many steps as that one itself.
    """
    slowest = np.where(signal > 0, signal, np.inf).min(axis=0)
    rate = eta * np.where(signal > 0, signal, np.where(np.isfinite(slowest), slowest, 0.0))
    return np.clip(share * rate, _LEAST_ALLOWED, _LARGEST_ALLOWED)


def lanes_of(
    starts: Starts, dynamics: str, orders: Any, share: Any, *, rest_size: Any = 0.0
) -> Walk:
    """Lanes at their starts, before the first look, each with its order in the step size."""
    a = np.take_along_axis(starts.signal, starts.order, axis=1).T
    d, n = a.shape
    y = np.zeros((d, d + 2, n))
    y[:, 0], y[:, 1] = starts.log_sizes.T, starts.sign.T
    y[:, 2:] = starts.factors.transpose(1, 2, 0)
    places, numbers = np.zeros((15, d, n)), np.zeros((9, n))
    places[SIGNAL], places[CONCEPT] = a, starts.order.T
    keeps_psd = DYNAMICS[dynamics].keeps_psd
    places[MOVING] = 1.0 if keeps_psd else np.where(starts.sign.T == 0.0, 0.0, 1.0)
    places[CROSSING], places[HIGHEST] = np.nan, -np.inf
    places[SLOPE], places[SUMMIT] = np.nan, -np.inf
    places[LOST] = starts.by_concept(starts.sign <= 0).T
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = np.where(a > 0, (LEAST_LEVEL - y[:, 0]) / (2 * a), np.inf)
    places[ALLOWED] = allowed_errors(a, starts.eta, share)
    numbers[H], numbers[TIME] = starts.eta, starts.steps * starts.eta
    numbers[TOLERANCE] = places[ALLOWED].min(axis=0)
    numbers[STEP] = np.maximum(rates.min(axis=0), 0.1 / a.max(axis=0))
    numbers[BLOW_UP], numbers[ACTIVE], numbers[REST_SIZE] = np.inf, 1.0, rest_size
    flow = make_flow(a, numbers[H], orders, dynamics)
    pairs = np.zeros((3, d, d, n))
    return Walk(y, np.zeros_like(y), np.array(flow), pairs, places, numbers)


def closed_law(
    signal: Floats, W0: Floats, eta: Floats, log_scale: Floats, dynamics: str
) -> tuple[Floats, Floats]:
    """The closed law of n instances exp(log_scale) W0, in steps: (n, d) by concept, and (n,).

    The second is when the first negative pivot has run away: at its size, as if it were learned.
    """
    d = signal.shape[1]
    order, size, ratio = _ranked(W0, signal)
    a = np.take_along_axis(signal, order, axis=1)
    with np.errstate(all="ignore"):
        base = 2 * np.log(size) + log_scale[:, None]
        growth = growth_rates(a, eta, dynamics)
        diagonal_growth = growth.diagonal(axis1=1, axis2=2)
        excess = growth - (diagonal_growth[:, :, None] + diagonal_growth[:, None, :]) / 2
        times, now = np.full(a.shape, np.nan), np.zeros(len(a))
        blow_up = np.full(len(a), np.inf)
        for k in range(d):
            pivot = ratio[:, k, k]
            time = -(base[:, k] + np.log(np.abs(pivot))) / diagonal_growth[:, k]
            runs_away = (a[:, k] > 0) & (pivot < 0) & (not DYNAMICS[dynamics].keeps_psd)
            blow_up = np.where(runs_away, np.minimum(blow_up, time), blow_up)
            grows = (a[:, k] > 0) & (pivot > 0)
            times[:, k] = np.where(grows, time, np.where(a[:, k] > 0, np.nan, np.inf))
            ahead = np.where(grows, time - now, 0.0)
            if not DYNAMICS[dynamics].keeps_psd:
                ratio = ratio * np.exp(excess * ahead[:, None, None])
            now = now + ahead
            column = np.where(grows[:, None], ratio[:, :, k], 0.0)
            multipliers = column / np.where(grows, ratio[:, k, k], 1.0)[:, None]
            ratio = ratio - multipliers[:, :, None] * column[:, None, :]
    return np.asarray(_by_concept(order, np.maximum(times, 0.0))), blow_up
