r"""Pivots of W(0): where the walk starts, and the closed law that one can read.

With :math:`\pi_k` the pivots of :math:`W(0) = L D L^\top` in descending order of a,

.. math:: t_k = -\log \pi_k / g_{kk}

is the leading order of the step at which :math:`w_{kk}` reaches 1/2. Under euler correlations
drift while k grows, so entries are propagated to :math:`t_k` before the next Schur complement.

A pivot is formed by subtraction. One that has lost all its digits to rounding counts as zero;
whether it is zero, its exact value tells: entries of W(0) are exact numbers.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from swingby.theory.growth import DYNAMICS, growth_rates
from swingby.theory.initial import Initial, exact_pivots
from swingby.theory.law.coordinates import make_flow, slope
from swingby.theory.law.walk import (
    ACTIVE,
    ALLOWED,
    BLOW_UP,
    CONCEPT,
    CROSSING,
    FREE,
    HIGHEST,
    LEAST_LEVEL,
    LOST,
    SIGNAL,
    STEP,
    TIME,
    TOLERANCE,
    WHOLE,
    H,
    Walk,
    begin_lane,
)
from swingby.theory.numbers import Floats, log_of

#: A pivot uncertain by so many roundings of its own size is nothing but rounding.
MOST_ROUNDING = 3e13
#: From so many roundings on pivots are computed exactly.
MANY_ROUNDINGS = 1e5
#: Bounds of what a step of the integration may be wrong by.
LEAST_ALLOWED, LARGEST_ALLOWED = 1e-11, 1e-5
#: log of the largest |w_ij| from which the square of W is added in a first step.
_NEGLIGIBLE = -45.0


class Given(NamedTuple):
    """n instances at their starts; n is the first axis of every array.

    `signal`, `levels` (n, d): by concept: a, and w_kk(0).
    `matrix` (n, d, d), `log_scale` (n,): W(0), by concept, and the logarithm of its factor.
    `eta` (n,); `eigenvalue` (n,): the largest of W(0), 0 where it lies below the float range.
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
    eigenvalue: Any
    order: Any
    sign: Any
    log_pivots: Any
    roundings: Any
    log_sizes: Any
    factors: Any
    unresolved: Any
    steps: Any

    @classmethod
    def of(cls, signal: Floats, initial: Initial, eta: float, dynamics: str) -> Given:
        """Factorize one W(0)."""
        matrix, log_scale = initial.matrix, initial.log_scale
        largest = math.log(float(np.abs(matrix).max())) + log_scale
        scale = math.exp(min(log_scale, 700.0))
        eigenvalue = 0.0
        if largest > _NEGLIGIBLE:
            eigenvalue = float(np.linalg.eigvalsh(matrix)[-1]) * scale
        steps = 0
        found = (
            _eliminate(matrix, signal)
            if initial.factor is None
            else _orthogonalize(initial.factor, initial, signal)
        )
        # A zero pivot under euler: the first steps decide what becomes of it.
        while not DYNAMICS[dynamics].keeps_psd and (found[1] == 0).any() and steps < len(signal):
            matrix, steps = _mapped(matrix, signal, eta, scale), steps + 1
            found = _eliminate(matrix, signal)
        order, sign, logs, roundings, lower, unresolved = found
        if steps:
            # What is left behind the first pivots of the drift is rounding.
            sign = np.where(roundings > MANY_ROUNDINGS**2, 0.0, sign)
        diagonal = np.maximum(np.diag(matrix)[order], 1e-300)
        sizes = np.where(sign != 0, logs, np.log(diagonal))
        half = np.clip((sizes - sizes[:, None]) / 2, -700, 700)
        V = np.tril(lower, -1) * np.exp(half) * (sign != 0)
        levels = np.diag(initial.matrix) * scale
        parts = [signal, levels, initial.matrix, log_scale, eta, eigenvalue]
        parts += [order, sign, logs + log_scale, roundings, sizes + log_scale]
        parts += [V + np.eye(len(signal)), unresolved, steps]
        return cls(*(np.asarray(part)[None] for part in parts))

    def some(self, which: Any) -> Given:
        """Those of some instances, which may come more than once."""
        return Given(*(values[which] for values in self))

    def by_concept(self, values: Any) -> Any:
        """From the order of elimination to the user's order."""
        found = np.empty_like(values)
        np.put_along_axis(found, self.order, values, axis=1)
        return found

    @property
    def reach(self) -> Floats:
        """Eta a_max, times the largest eigenvalue of W(0) where that is above 1."""
        return np.asarray(self.eta * self.signal.max(axis=1) * np.maximum(1.0, self.eigenvalue))


def _eliminate(matrix: Floats, signal: Floats) -> tuple[Any, ...]:
    """Order, sign, log and roundings of the pivots, L, and which of them are unresolved."""
    d = len(signal)
    size = np.sqrt(np.abs(np.diag(matrix)))
    size = np.where(size > 0, size, np.sqrt(np.abs(matrix).max(axis=0)))
    size = np.where(size > 0, size, 1.0)
    rest = matrix / size[:, None] / size
    uncertain = np.maximum(np.abs(np.diag(rest)), 1e-300)
    lower, sign, logs = np.eye(d), np.zeros(d), np.full(d, -np.inf)
    roundings, unresolved = np.zeros(d), np.zeros(d, dtype=bool)
    first: list[int] = []
    waiting: list[int] = []
    ranked = [int(k) for k in np.argsort(-signal, kind="stable")]
    while ranked:
        k = ranked.pop(0)
        pivot = float(rest[k, k])
        lost = float(uncertain[k] / abs(pivot)) if pivot else math.inf
        log = math.log(abs(pivot)) + 2 * math.log(size[k]) if pivot else -math.inf
        if lost > MANY_ROUNDINGS and lost < math.inf:
            places = [*first, k]
            exact = exact_pivots(matrix[np.ix_(places, places)])[-1]
            if exact:
                log, pivot = log_of(abs(exact)), math.copysign(abs(pivot), exact)
            else:
                pivot = 0.0
        sign[k] = np.sign(pivot) if lost <= MOST_ROUNDING else 0.0
        unresolved[k] = pivot > 0 and sign[k] == 0
        roundings[k], logs[k] = lost, log
        if sign[k] <= 0:
            waiting.append(k)
            continue
        first.append(k)
        _remove(rest, uncertain, lower, k, lost, [j for j in range(d) if j not in first])
    for k in waiting:
        # What is left of it after all the others; a negative pivot is removed as well.
        if sign[k] < 0 and rest[k, k] < 0:
            logs[k] = math.log(-rest[k, k]) + 2 * math.log(size[k])
            others = waiting[waiting.index(k) + 1 :]
            _remove(rest, uncertain, lower, k, 1.0, others)
        elif sign[k] < 0:
            sign[k], logs[k] = 0.0, -np.inf
    order = np.array(first + waiting, dtype=np.int64)
    lower = (lower * size[:, None] / size)[np.ix_(order, order)]
    return order, sign[order], logs[order], roundings[order], lower, unresolved


def _orthogonalize(U: Floats, initial: Initial, signal: Floats) -> tuple[Any, ...]:
    """The same from U(0), by QR of its rows: a pivot is the square of a distance, not a difference.

    Gram-Schmidt, twice each, so that a row without a distance of its own can come last. A distance
    is as uncertain as the rows that it is made of: the row sums of R^-T.
    """
    d, m = U.shape
    size = np.linalg.norm(U, axis=1)
    size = np.where(size > 0, size, 1.0)
    rows = U / size[:, None]
    Q, made, lengths = np.zeros((0, m)), np.zeros((0, d)), np.zeros(0)
    sign, logs = np.zeros(d), np.full(d, -np.inf)
    roundings, unresolved = np.full(d, np.inf), np.zeros(d, dtype=bool)
    first: list[int] = []
    ranked = [int(k) for k in np.argsort(-signal, kind="stable")]
    for k in ranked:
        if len(first) == m:
            break
        rest, by = rows[k], np.eye(d)[k]
        for _ in range(2):
            shadow = Q @ rest
            rest, by = rest - shadow @ Q, by - shadow @ made
        length = float(np.linalg.norm(rest))
        if length:
            roundings[k] = 2 * np.abs(by).sum() / length
            logs[k] = 2 * math.log(length) + 2 * math.log(size[k])
        if roundings[k] > MANY_ROUNDINGS:
            places = [*first, k]
            exact = exact_pivots(initial.exact[np.ix_(places, places)])[-1]
            unresolved[k] = exact > 0 and roundings[k] > MOST_ROUNDING
            logs[k] = log_of(exact) if exact else -math.inf
        sign[k] = logs[k] > -math.inf and not unresolved[k]
        if sign[k]:
            first.append(k)
            Q, made = np.vstack([Q, rest / length]), np.vstack([made, by / length])
            lengths = np.append(lengths, length)
    order = np.array(first + [k for k in ranked if k not in first], dtype=np.int64)
    lower = np.zeros((d, d))
    lower[:, : len(first)] = rows[order] @ Q.T / lengths
    lower *= size[order, None] / size[order]
    return order, sign[order], logs[order], roundings[order], lower, unresolved


def _remove(
    rest: Floats, uncertain: Floats, lower: Floats, k: int, lost: float, others: list[int]
) -> None:
    """Schur complement of concept k in the rows of the others, with what rounding does to it."""
    pivot, column = rest[k, k], rest[:, k].copy()
    for i in others:
        lower[i, k] = column[i] / pivot
        uncertain[i] = max(uncertain[i], column[i] * column[i] / abs(pivot) * lost)
    for i in others:
        for j in others:
            rest[i, j] -= column[i] * column[j] / pivot


def _mapped(matrix: Floats, signal: Floats, eta: float, scale: float) -> Floats:
    """One step of (D.2), without its underflow."""
    square = matrix * (scale if scale > 1e-200 else 0.0)
    total = signal[:, None] + signal
    second = (total * (matrix @ square)) / 2 + (matrix * signal) @ square
    return np.asarray(matrix + eta * (total * matrix - second))


def allowed_errors(signal: Any, eta: Any, share: Any) -> Any:
    """What a step of the integration may be wrong by, as a logarithm of each pivot, (d, ...).

    A share of what the concept grows by in half a step: an error in the row of a fast concept
    shifts the slow ones by as many steps as that one itself.
    """
    slowest = np.where(signal > 0, signal, np.inf).min(axis=0)
    rate = eta * np.where(signal > 0, signal, np.where(np.isfinite(slowest), slowest, 0.0))
    return np.clip(share * rate, LEAST_ALLOWED, LARGEST_ALLOWED)


def lanes_of(given: Given, dynamics: str, orders: Any, share: Any, *, whole: Any = 0.0) -> Walk:
    """Lanes at their starts, not looked at yet, each to its order in the step size."""
    a = np.take_along_axis(given.signal, given.order, axis=1).T
    d, n = a.shape
    y = np.zeros((d, d + 2, n))
    y[:, 0], y[:, 1] = given.log_sizes.T, given.sign.T
    y[:, 2:] = given.factors.transpose(1, 2, 0)
    places, numbers = np.zeros((10, d, n)), np.zeros((8, n))
    places[SIGNAL], places[CONCEPT] = a, given.order.T
    keeps_psd = DYNAMICS[dynamics].keeps_psd
    places[FREE] = 1.0 if keeps_psd else np.where(given.sign.T == 0.0, 0.0, 1.0)
    places[CROSSING], places[HIGHEST] = np.nan, -np.inf
    places[LOST] = given.by_concept(given.sign <= 0).T
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = np.where(a > 0, (LEAST_LEVEL - y[:, 0]) / (2 * a), np.inf)
    places[ALLOWED] = allowed_errors(a, given.eta, share)
    numbers[H], numbers[TIME] = given.eta, given.steps * given.eta
    numbers[TOLERANCE] = places[ALLOWED].min(axis=0)
    numbers[STEP] = np.maximum(rates.min(axis=0), 0.1 / a.max(axis=0))
    numbers[BLOW_UP], numbers[ACTIVE], numbers[WHOLE] = np.inf, 1.0, whole
    flow = make_flow(a, numbers[H], orders, dynamics)
    pairs = np.zeros((3, d, d, n))
    return Walk(y, np.zeros_like(y), np.array(flow), pairs, places, numbers)


def begin(given: Given, dynamics: str, orders: tuple[int, ...], share: float, whole: float) -> Walk:
    """Lanes of one instance, one for each order in the step size, at their first state."""
    several = given.some(np.zeros(len(orders), dtype=np.int64))
    walk = lanes_of(several, dynamics, np.array(orders), share, whole=whole)
    for lane in range(len(orders)):
        walk.speed[:] = slope(walk.y, walk.places[FREE], walk.flow, dynamics)
        if begin_lane(walk, lane, DYNAMICS[dynamics].keeps_psd):
            walk.speed[:] = slope(walk.y, walk.places[FREE], walk.flow, dynamics)
    return walk


def closed_law(signal: Floats, W0: Floats, log_scale: Floats, eta: Floats, dynamics: str) -> Floats:
    """The closed law of n instances exp(log_scale) W0, (n, d), in steps and by concept."""
    d = signal.shape[1]
    order = np.argsort(-signal, axis=1, kind="stable")
    a = np.take_along_axis(signal, order, axis=1)
    ratio = np.take_along_axis(W0, order[:, :, None], axis=1)
    ratio = np.take_along_axis(ratio, order[:, None, :], axis=2)
    with np.errstate(all="ignore"):
        size = np.sqrt(np.abs(ratio.diagonal(axis1=1, axis2=2)))
        size = np.where(size > 0, size, 1.0)
        ratio = ratio / size[:, :, None] / size[:, None, :]
        base = 2 * np.log(size) + log_scale[:, None]
        growth = growth_rates(a, eta, dynamics)
        own = growth.diagonal(axis1=1, axis2=2)
        excess = growth - (own[:, :, None] + own[:, None, :]) / 2
        times, now = np.full(a.shape, np.nan), np.zeros(len(a))
        for k in range(d):
            pivot = ratio[:, k, k]
            time = -(base[:, k] + np.log(pivot)) / own[:, k]
            grows = (a[:, k] > 0) & (pivot > 0)
            times[:, k] = np.where(grows, time, np.where(a[:, k] > 0, np.nan, np.inf))
            ahead = np.where(grows, time - now, 0.0)
            if not DYNAMICS[dynamics].keeps_psd:
                ratio = ratio * np.exp(excess * ahead[:, None, None])
            now = now + ahead
            column = np.where(grows[:, None], ratio[:, :, k], 0.0)
            left = column / np.where(grows, ratio[:, k, k], 1.0)[:, None]
            ratio = ratio - left[:, :, None] * column[:, None, :]
    found = np.empty_like(times)
    np.put_along_axis(found, order, np.maximum(times, 0.0), axis=1)
    return found
