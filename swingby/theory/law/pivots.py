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
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.theory.growth import growth_rates
from swingby.theory.initial import Initial
from swingby.theory.law.coordinates import slope
from swingby.theory.law.modified import KIND, make_flow
from swingby.theory.law.walk import LEAST_LEVEL, Walk, level_of, look

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: A pivot uncertain by so many roundings of its own size is nothing but rounding.
MOST_ROUNDING = 3e13
#: From so many roundings on pivots are computed exactly.
MANY_ROUNDINGS = 1e5
#: log of the largest |w_ij| from which the square of W is added in a first step.
_NEGLIGIBLE = -45.0


def exact_pivots(matrix: Floats) -> list[Fraction]:
    """Pivots of LDL^T in the given order, exactly; a pivot of at most 0 is not eliminated."""
    return _exact_factors(matrix)[0]


def _exact_factors(matrix: Floats) -> tuple[list[Fraction], list[list[Fraction]]]:
    """The same with the columns of L."""
    rest = [[Fraction(entry) for entry in row] for row in matrix.tolist()]
    pivots: list[Fraction] = []
    lower = [[Fraction(0)] * len(rest) for _ in rest]
    for k in range(len(rest)):
        pivot = rest[k][k]
        pivots.append(pivot)
        if pivot > 0:
            for i in range(k + 1, len(rest)):
                lower[i][k] = factor = rest[i][k] / pivot
                if factor:
                    for j in range(k + 1, len(rest)):
                        rest[i][j] -= factor * rest[k][j]
    return pivots, lower


@dataclass(frozen=True, eq=False)
class Start:
    """W(0) as the walk sees it; arrays in the order of elimination unless they say otherwise.

    Parameters
    ----------
    signal, levels : ndarray of shape (d,)
        By concept: a, and w_kk(0).
    matrix : ndarray of shape (d, d)
        By concept: W(0) up to a positive factor.
    order : ndarray of int, shape (d,)
        Concepts by descending a, those without a positive pivot last.
    sign, log_pivots, roundings : ndarray of shape (d,)
        Of each pivot; its relative error in roundings of a float.
    factors : ndarray of shape (d, d)
        V of :mod:`swingby.theory.law.coordinates`.
    log_sizes : ndarray of shape (d,)
        u of the same.
    unresolved : ndarray of bool, shape (d,)
        By concept: pivots that count as zero and are positive.
    eigenvalue : float
        The largest of W(0); 0 where it lies below the float range.
    steps : int
        Steps of the map taken before, to where no pivot is zero.
    """

    signal: Floats
    levels: Floats
    matrix: Floats
    order: NDArray[np.int64]
    sign: Floats
    log_pivots: Floats
    roundings: Floats
    factors: Floats
    log_sizes: Floats
    unresolved: NDArray[np.bool_]
    eigenvalue: float
    steps: int

    @classmethod
    def of(cls, signal: Floats, initial: Initial, eta: float, dynamics: str) -> Start:
        """Factorize W(0)."""
        matrix, log_scale = initial.matrix, initial.log_scale
        largest = math.log(float(np.abs(matrix).max())) + log_scale
        scale = math.exp(min(log_scale, 700.0))
        levels = np.diag(matrix) * scale
        eigenvalue = 0.0
        if largest > _NEGLIGIBLE:
            eigenvalue = float(np.linalg.eigvalsh(matrix)[-1]) * scale
        steps = 0
        found = _eliminate(matrix, signal)
        # A zero pivot under euler: the first steps decide what becomes of it.
        while dynamics == "euler" and (found[1] == 0).any() and steps < len(signal):
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
        return cls(
            signal=signal,
            levels=levels,
            matrix=initial.matrix,
            order=order,
            sign=sign,
            log_pivots=logs + log_scale,
            roundings=roundings,
            factors=V + np.eye(len(signal)),
            log_sizes=sizes + log_scale,
            unresolved=unresolved,
            eigenvalue=eigenvalue,
            steps=steps,
        )

    @classmethod
    def of_factor(cls, signal: Floats, U: Floats, log_scale: float) -> Start:
        """The same from U(0): QR keeps the pivots that W(0) in floats has lost."""
        d = len(signal)
        order = np.argsort(-signal, kind="stable")
        size = np.sqrt((U * U).sum(axis=1))
        rows = (U / np.where(size > 0, size, 1.0)[:, None])[order]
        R = np.zeros((d, d))
        made = np.linalg.qr(rows.T, mode="r")
        R[: len(made)] = made
        pivots = np.diag(R)
        with np.errstate(all="ignore"):
            roundings = np.minimum(1 / np.abs(pivots), 1e300)
            sign = (roundings < 1e14).astype(float)
            logs = 2 * np.log(np.abs(pivots)) + 2 * np.log(size[order])
            sizes = np.where(sign > 0, logs, 2 * np.log(np.maximum(size[order], 1e-150)))
            lower = R.T / np.where(sign > 0, pivots, 1.0) * size[order][:, None] / size[order]
            half = np.clip((sizes - sizes[:, None]) / 2, -700, 700)
            V = np.tril(np.nan_to_num(lower), -1) * np.exp(half) * (sign > 0)
        last = np.argsort(sign <= 0, kind="stable")
        if (last != np.arange(d)).any():
            return cls.of(signal, Initial(U @ U.T, Fraction(1)), 0.0, "gd")
        scale = math.exp(min(2 * log_scale, 700.0))
        return cls(
            signal=signal,
            levels=size**2 * scale,
            matrix=U @ U.T,
            order=order,
            sign=sign,
            log_pivots=logs + 2 * log_scale,
            roundings=roundings,
            factors=V + np.eye(d),
            log_sizes=sizes + 2 * log_scale,
            unresolved=np.zeros(d, dtype=bool),
            eigenvalue=float(np.linalg.norm(U, 2) ** 2) * scale,
            steps=0,
        )

    def by_concept(self, values: Any) -> Any:
        """From the order of elimination to the user's order."""
        found = np.empty_like(values)
        found[self.order] = values
        return found


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
                from swingby.theory.numbers import log_of

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


def begin(
    start: Start,
    eta: float,
    dynamics: str,
    orders: tuple[int, ...],
    tolerance: float,
    *,
    whole: bool = False,
) -> Walk:
    """Lanes for one instance, one for each order in the step size."""
    d, n = len(start.signal), len(orders)
    a = np.repeat(start.signal[start.order][:, None], n, axis=1)
    steps = np.full(n, eta)
    flow = make_flow(a, steps, np.array(orders), dynamics)
    y = np.zeros((d, d + 2, n))
    y[:, 0], y[:, 1] = start.log_sizes[:, None], start.sign[:, None]
    y[:, 2:] = start.factors[:, :, None]
    free = np.ones((d, n))
    if dynamics == "euler":
        free[start.sign == 0.0] = 0.0
    kind = KIND[dynamics]
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = np.where(a > 0, (LEAST_LEVEL - y[:, 0]) / (2 * a), np.inf)
    lost = start.by_concept(start.sign <= 0)
    walk = Walk(
        flow=flow,
        signal=a,
        y=y,
        speed=slope(y, free, flow, kind),
        free=free,
        concept=np.repeat(start.order[:, None], n, axis=1),
        largest=np.zeros((d, d, n)),
        crossing=np.full((d, n), np.nan),
        highest=np.full((d, n), -np.inf),
        lost=np.repeat(lost[:, None], n, axis=1),
        share=np.ones((d, n)),
        h=steps,
        tolerance=np.full(n, tolerance),
        time=np.full(n, start.steps * eta),
        step=np.maximum(rates.min(axis=0), 0.1 / start.signal.max()),
        blow_up=np.full(n, np.inf),
        attempts=np.zeros(n, dtype=np.int64),
        active=np.ones(n, dtype=bool),
        whole=np.full(n, whole),
    )
    for lane in range(n):
        for k in range(d):
            if a[k, lane] > 0 and level_of(y, walk.speed, k, lane)[0] >= 0.5:
                walk.crossing[start.order[k], lane] = walk.time[lane]
        if look(walk, lane, kind):
            walk.speed[:] = slope(y, free, flow, kind)
    return walk


def leading_times(start: Start, eta: float, dynamics: str) -> Floats:
    """The closed law in steps, by concept; nan where a pivot is not positive."""
    growth = growth_rates(start.signal, eta, dynamics)
    size = np.sqrt(np.abs(np.diag(start.matrix)))
    size = np.where(size > 0, size, 1.0)
    scale = start.by_concept(start.log_pivots)[start.order[0]] - math.log(
        abs(start.matrix[start.order[0], start.order[0]])
    )
    base = 2 * np.log(size) + scale
    ratio = start.matrix / size[:, None] / size
    times, now = np.full(len(start.signal), np.nan), 0.0
    excess = growth - (np.diag(growth)[:, None] + np.diag(growth)) / 2
    for k in np.argsort(-start.signal, kind="stable"):
        if start.signal[k] == 0.0:
            times[k] = np.inf
        elif ratio[k, k] > 0:
            times[k] = -(base[k] + math.log(ratio[k, k])) / growth[k, k]
            ratio = ratio * np.exp(excess * (times[k] - now))
            now = times[k]
            ratio = ratio - np.outer(ratio[:, k], ratio[k]) / ratio[k, k]
    return np.maximum(times, 0.0)
