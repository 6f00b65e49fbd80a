r"""The first correction to the composite: one explicit quadrature over the stages.

Exactly, :math:`(\log x_k)' = 2a_k + 2 Z_{kk}` and, beside the linear growth of L,
:math:`L' = L\,S`, with :math:`Z = L^{-1} \mathcal K L` and
:math:`S_{jk} = Z_{jk} + Z_{kj}\, x_j / x_k` below the diagonal (:mod:`swingby.theory.odds`). The
leading order drops Z from the first equation and keeps a part of it in the second. One sweep puts
the leading W(t) into Z and integrates, on Gauss-Legendre panels between the leading stage times;
more sweeps are a Picard iteration and converge to the flow. Under euler and gd the same correction
is applied with growth per step.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.theory.odds import Leading, assemble, logistic, solve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: A correction to log x below this leaves an error of about its square: one sweep is enough.
SMALL_CORRECTION = 0.01
#: A last sweep that moves a logit by more has not converged.
LARGEST_CHANGE = 1.0
#: Sweeps where it is larger; from there on the error of the finite step is the larger one.
MOST_SWEEPS = 4
#: Columns smaller than this are carried by the leading order alone.
SMALLEST_COLUMN = 1e-140


@dataclass(frozen=True, eq=False)
class Correction:
    """The correction on its quadrature nodes, concepts in descending order of a.

    Parameters
    ----------
    nodes : ndarray of shape (n,)
        Steps, ascending.
    shift : ndarray of shape (n, d)
        Added to log x.
    turn : ndarray of shape (n, d, d)
        Added to the columns of L, in the units of :class:`swingby.theory.odds.Leading`.
    crossing : ndarray of shape (d,)
        Corrected step at which w_kk reaches 1/2, before the finite-step shift; nan where the
        panels do not see it.
    size : ndarray of shape (d,)
        Integral of the size of the correction to log x_k up to its stage: the measure of the
        first neglected term.
    change : ndarray of shape (d,)
        What the last of several sweeps has still changed of the logit of w_kk at its stage: the
        iteration need not converge where W(0) is nearly degenerate. 0 for a single sweep.
    highest : ndarray of shape (d,)
        Largest w_kk on the nodes, of the leading order and of the corrected one.
    """

    nodes: Floats
    shift: Floats
    turn: Floats
    crossing: Floats
    size: Floats
    change: Floats
    highest: Floats

    def at(self, t: Floats) -> tuple[Floats, Floats]:
        """Shift and turn at given steps, by linear interpolation between nodes.

        Parameters
        ----------
        t : ndarray of shape (n,)

        Returns
        -------
        shift : ndarray of shape (n, d)
        turn : ndarray of shape (n, d, d)
        """
        place = np.clip(np.searchsorted(self.nodes, t) - 1, 0, len(self.nodes) - 2)
        left, right = self.nodes[place], self.nodes[place + 1]
        share = np.clip((t - left) / (right - left), 0.0, 1.0)
        early = t < self.nodes[0]
        shift = self.shift[place] + share[:, None] * (self.shift[place + 1] - self.shift[place])
        step = self.turn[place + 1] - self.turn[place]
        turn = self.turn[place] + share[:, None, None] * step
        return (
            np.where(early[:, None], 0.0, shift),
            np.where(early[:, None, None], 0.0, turn),
        )


def correct(
    leading: Leading, stage_times: Floats, sweeps: int | None = None, nodes: int = 8
) -> Correction:
    """Correct the leading order.

    Parameters
    ----------
    leading : Leading
    stage_times : ndarray of shape (d,)
        Leading stage times in steps; not finite for concepts that are not learned.
    sweeps : int, optional
        Number of Picard sweeps. By default one, and four where the first one is not small.
    nodes : int
        Gauss-Legendre nodes per panel.

    Returns
    -------
    Correction
    """
    rate = np.diag(leading.growth) / 2
    d = len(rate)
    learned = np.flatnonzero(np.isfinite(stage_times))
    edges = _panels(stage_times[learned], rate[learned], float(rate.min()))
    abscissae, weights, cumulative = quadrature_rule(nodes)
    half = np.diff(edges) / 2
    t = ((edges[1:] + edges[:-1])[:, None] / 2 + half[:, None] * abscissae).ravel()

    def integrate(values: NDArray[np.floating[Any]]) -> Floats:
        panels = values.reshape(len(half), nodes, -1) * half[:, None, None]
        totals = np.tensordot(panels, weights, (1, 0))
        before = np.cumsum(totals, axis=0) - totals
        return np.asarray((cumulative @ panels + before[:, None, :]).reshape(values.shape))

    log_odds, unit = leading.units(t)
    difference = rate[None, :] - rate[:, None]
    risen = logistic(log_odds)
    # What the leading order already has of (log l_jk)'.
    kept = difference * (risen[:, None, :] - risen[:, :, None]) / 2
    carried = unit > SMALLEST_COLUMN
    inverse = np.where(carried, 1 / np.where(carried, unit, 1.0), 0.0)
    shift, turn = np.zeros((len(t), d)), np.zeros((len(t), d, d))
    size = np.zeros(d)
    diagonal = np.arange(d)
    highest = np.zeros(d)
    crossings: list[Floats] = []

    def see(W: Floats) -> None:
        level = W[:, diagonal, diagonal]
        np.maximum(highest, level.max(axis=0), out=highest)
        crossings.append(_crossing(t, level, learned))

    for sweep in range(MOST_SWEEPS if sweeps is None else sweeps):
        column = leading.column + turn
        W, L = assemble(log_odds + shift, unit * column)
        see(W)
        if sweeps is None and sweep == 1 and _is_small(size, crossings, 2 * rate, learned):
            break
        Z = solve(L, (W * (0.5 * difference)) @ L)
        speed = 2 * Z[:, diagonal, diagonal]
        if sweep == 0:
            total = integrate(np.abs(speed))
            for k in learned:
                size[k] = np.interp(stage_times[k], t, total[:, k])
        current = log_odds + shift
        shift = np.clip(integrate(speed), -8, 8)
        ratio = np.exp(np.clip(current[:, :, None] - current[:, None, :], -600, 200))
        turned = L @ np.tril(Z + np.swapaxes(Z, 1, 2) * ratio, -1)
        change = np.where(carried, np.clip(turned * inverse, -1e8, 1e8) - kept * column, 0.0)
        turn = np.clip(integrate(change), -6, 6)
    else:
        see(assemble(log_odds + shift, unit * (leading.column + turn))[0])
    last = np.zeros(d)
    if len(crossings) > 2:
        last[learned] = 2 * (rate * np.abs(crossings[-1] - crossings[-2]))[learned]
    if not np.max(last) <= LARGEST_CHANGE:
        # Not converging: the leading order is the better guess, and nothing is known of its error.
        shift, turn, crossings = np.zeros_like(shift), np.zeros_like(turn), [np.full(d, np.nan)]
    return Correction(t, shift, turn, crossings[-1], size, last, highest)


def _crossing(t: Floats, level: Floats, learned: NDArray[np.int64]) -> Floats:
    """Where each learned entry goes through 1/2; nan where the panels do not see it."""
    level = np.clip(level, 1e-300, 1 - 1e-12)
    logit = np.log(level / (1 - level))
    crossing = np.full(level.shape[1], np.nan)
    for k in learned:
        crossing[k] = _upward_zero(t, logit[:, k])
    return crossing


def _is_small(
    size: Floats, crossings: list[Floats], rate: Floats, learned: NDArray[np.int64]
) -> bool:
    """Whether one sweep is enough, by what it adds to log x and by what that does to the stages."""
    moved = rate[learned] * np.abs(crossings[-1] - crossings[-2])[learned]
    return bool(size.max() < SMALL_CORRECTION and np.max(moved) < SMALL_CORRECTION)


def _panels(times: Floats, rate: Floats, slowest: float) -> Floats:
    """Edges between stage times, with one more where a stage has just saturated."""
    order = np.argsort(times)
    sorted_times, sorted_rate = times[order], rate[order]
    lead = 12.0 / slowest if slowest > 0 else math.inf
    first = max(0.0, sorted_times[0] - lead)
    last = sorted_times[-1] + 1.5 / sorted_rate[-1]
    middle = sorted_times[:-1] + np.minimum(6.0 / sorted_rate[:-1], 0.5 * np.diff(sorted_times))
    return np.unique(np.concatenate([[first], sorted_times, middle, [last]]))


@functools.cache
def quadrature_rule(n: int) -> tuple[Floats, Floats, Floats]:
    """Gauss-Legendre nodes and weights on [-1, 1], and the matrix of integrals up to each node."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    values = np.polynomial.legendre.legvander(nodes, n)
    integrals = np.empty((n, n))
    integrals[:, 0] = nodes + 1
    degree = np.arange(1, n)
    integrals[:, 1:] = (values[:, 2:] - values[:, :-2]) / (2 * degree + 1)
    expansion = (np.arange(n)[:, None] + 0.5) * values[:, :n].T * weights
    return nodes, weights, integrals @ expansion


def _upward_zero(t: Floats, values: Floats) -> float:
    """The first upward zero crossing, by inverse cubic interpolation where it is safe."""
    place = int((values >= 0).argmax())
    if values[place] < 0:
        return math.nan
    if place == 0:
        rise = float(values[1] - values[0])
        return float(t[0] - values[0] * (t[1] - t[0]) / rise) if rise else float(t[0])
    low = max(place - 2, 0)
    y, x = values[low : place + 2].tolist(), t[low : place + 2].tolist()
    before, after = place - 1 - low, place - low
    linear = x[before] - y[before] * (x[after] - x[before]) / (y[after] - y[before])
    if len(y) < 4 or not y[0] < y[1] < y[2] < y[3]:
        return float(linear)
    cubic = 0.0
    for p in range(4):
        term = x[p]
        for q in range(4):
            if q != p:
                term *= y[q] / (y[q] - y[p])
        cubic += term
    return float(cubic if x[before] <= cubic <= x[after] else linear)
