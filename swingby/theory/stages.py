r"""The sharp stage-time law: when each major entry reaches 1/2, and W(t) in between.

Leading order. With the pivots :math:`\pi_k` of W(0) (:mod:`swingby.theory.pivots`) taken of the
odds matrix :math:`W(I-W)^{-1}`,

.. math:: t_k = -\log \pi_k / g_{kk}, \qquad
          t_k(\theta) = t_k + \operatorname{logit}(\theta) / g_{kk} .

A concept whose pivot is not positive is **trapped**: W(0) has no component left for it once the
stronger concepts are removed. To this are added one quadrature for the overlap of stages
(:mod:`swingby.theory.correction`) and the finite-step shift (:mod:`swingby.theory.finite_step`).
The law is ours, not the paper's; its accuracy is measured in ``benchmarks/accuracy.py``.

The law gives the real time at which w_kk crosses 1/2. A run counts the first whole step at or
after it, so half-times are that time rounded up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from swingby.theory import finite_step
from swingby.theory.correction import Correction, correct
from swingby.theory.doubts import find_doubts
from swingby.theory.growth import growth_rates
from swingby.theory.initial import Initial
from swingby.theory.odds import Leading, assemble, logistic, softplus
from swingby.theory.pivots import Pivots, stage_pivots
from swingby.theory.reliability import (
    LARGEST_EIGENVALUE,
    LARGEST_STEP,
    blow_up_step,
    error_bars,
    range_warnings,
)
from swingby.theory.task import SIMTask

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Entry = TypeVar("Entry", bound=np.generic)

#: log max|W(0)| above which there is no point in forming W(0) in floats.
_LOG_LARGE = 30.0
#: log max|W(0)| below which W and its odds are the same to rounding.
LOG_NEGLIGIBLE = -39.0


@dataclass(frozen=True, eq=False)
class Stages:
    """The law for one W(0). Made by :func:`stage_law`; arrays of length d are in user order.

    Parameters
    ----------
    task : SIMTask
    dynamics : str
    eta : float
    crossing : ndarray of shape (d,)
        Real time, in steps, at which w_kk crosses 1/2, 0 if it starts there; inf where a_k = 0,
        nan where trapped or cut off.
    error : ndarray of shape (d,)
        Error bar of each half-time in steps; inf where the law is out of its range.
    trapped : ndarray of bool, shape (d,)
    undecided : ndarray of bool, shape (d,)
        Where the law cannot say whether a concept is trapped, whatever `trapped` says; the
        warnings say why (:func:`swingby.theory.doubts.find_doubts`).
    blow_up : float
        Step near which a negative pivot runs to minus infinity; inf if none does.
    warnings : tuple of str
    order : ndarray of int, shape (d,)
        User indices by descending a; the fields below are in that order.
    pivots : Pivots
    leading : Leading
    correction : Correction or None
    """

    task: SIMTask
    dynamics: str
    eta: float
    crossing: Floats
    error: Floats
    trapped: NDArray[np.bool_]
    undecided: NDArray[np.bool_]
    blow_up: float
    warnings: tuple[str, ...]
    order: NDArray[np.int64]
    pivots: Pivots
    leading: Leading
    correction: Correction | None

    @property
    def log_pivots(self) -> Floats:
        """Logarithm of each concept's pivot, nan where it is not positive, in user order."""
        values = np.empty(len(self.order))
        values[self.order] = np.where(self.pivots.sign > 0, self.pivots.log, np.nan)
        return values

    @property
    def half_times(self) -> Floats:
        """First whole step at which each w_kk is at least 1/2, shape (d,)."""
        return np.ceil(self.crossing)

    def evaluate(self, t: Floats) -> Floats:
        """W at given steps.

        Parameters
        ----------
        t : ndarray of shape (n,)
            Steps, at least 0; need not be whole.

        Returns
        -------
        ndarray of shape (n, d, d)
            In user order. Components that a trapped concept lacks are zero.
        """
        with np.errstate(all="ignore"):
            return self._evaluate(t)

    def _evaluate(self, t: Floats) -> Floats:
        log_odds, unit = self.leading.units(t)
        column = self.leading.column
        if self.correction is not None:
            shift, turn = self.correction.at(t)
            log_odds, column = log_odds + shift, column + turn
        lower = unit * column
        if self.dynamics != "flow":
            log_odds, lower = self._finite_step(log_odds, lower)
        W, _ = assemble(log_odds, lower)
        result = np.empty_like(W)
        result[:, self.order[:, None], self.order[None, :]] = W
        return result

    def _finite_step(self, log_odds: Floats, lower: Floats) -> tuple[Floats, Floats]:
        """Solve logit w + u(w) = phase for w, and shift the columns accordingly."""
        signal = self.task.signal[self.order]
        h = self.eta * signal
        start = logistic(self.leading.log_odds)
        phase = log_odds + finite_step.linearizing_shift(start, h, self.dynamics)
        before = softplus(log_odds)
        for _ in range(5):  # contracts by a factor 2h each time
            log_rest = -softplus(log_odds)
            level = logistic(log_odds)
            log_odds = phase - finite_step.linearizing_shift(level, h, self.dynamics, log_rest)
        change = softplus(log_odds) - before
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(signal > 0, signal[:, None] / signal[None, :], 1.0)
        column = finite_step.column_shift(
            level[:, None, :], ratio, h[None, :], self.dynamics, log_rest[:, None, :]
        )
        exponent = (
            self.leading.power_k * change[:, None, :]
            + self.leading.power_j * change[:, :, None]
            + np.tril(column, -1)
        )
        return log_odds, lower * np.exp(exponent)


def stage_law(
    task: SIMTask,
    initial: Initial,
    eta: Fraction,
    dynamics: str,
    *,
    sweeps: int | None = None,
) -> Stages:
    """The sharp stage-time law for a given W(0).

    Parameters
    ----------
    task : SIMTask
    initial : Initial
        W(0), at any scale.
    eta : Fraction
        Step size in the clock of (D.2).
    dynamics : {"euler", "gd", "flow"}
    sweeps : int, optional
        Picard sweeps of the correction; 0 is the leading order alone. By default one, and four
        where the first one is not small.

    Returns
    -------
    Stages
    """
    # Absurd numbers overflow to infinity and come out as out of range, not as a warning.
    with np.errstate(all="ignore"):
        return _stage_law(task, initial, eta, dynamics, sweeps)


def _stage_law(
    task: SIMTask, initial: Initial, eta: Fraction, dynamics: str, sweeps: int | None
) -> Stages:
    order = np.array(task.order)
    signal, step = task.signal[order], float(eta)
    growth = growth_rates(signal, step, dynamics)
    matrix = initial.matrix[np.ix_(order, order)]
    sign, log, log_scale, eigenvalue = initial_odds(matrix, initial.log_scale)
    pivots = stage_pivots(sign, log, signal, step, growth, dynamics, log_scale)
    leading = Leading.of(pivots, growth)
    rate = np.diag(growth)
    learned = (pivots.sign > 0) & (signal > 0)
    times = np.full(len(signal), np.nan)
    times[learned] = np.maximum(-leading.log_odds[learned] / rate[learned], 0.0)
    above_half = np.log(np.maximum(np.diag(matrix), 1e-300)) + initial.log_scale >= -math.log(2)
    correction = None
    lost = np.zeros(len(signal), dtype=bool)
    if sweeps != 0 and len(signal) > 1 and learned.any():
        correction = correct(leading, times, sweeps)
        lost = learned & ~np.isfinite(correction.crossing)
        times = np.where(np.isfinite(correction.crossing), correction.crossing, times)
    h = step * signal
    shift = finite_step.linearizing_shift(0.5, h, dynamics) - finite_step.linearizing_shift(
        logistic(leading.log_odds), h, dynamics
    )
    times[learned] = np.maximum(times + shift / np.where(rate > 0, rate, 1.0), 0.0)[learned]
    times[learned & above_half] = 0.0
    error = error_bars(pivots, correction, signal, step, rate, dynamics, learned)
    error[lost | (learned & above_half)] = math.inf
    coarse = dynamics != "flow" and not h[0] <= LARGEST_STEP
    if eigenvalue >= LARGEST_EIGENVALUE or coarse:
        error[learned] = math.inf
    trapped = (signal > 0) & ~learned
    doubts = find_doubts(matrix, sign, log, signal, rate, times, pivots, correction, dynamics)
    undecided = np.array([bool(doubt) for doubt in doubts.trap])
    error[undecided | [bool(doubt) for doubt in doubts.stage]] = math.inf
    blow_up = blow_up_step(pivots, rate, trapped & ~np.array(doubts.sign), dynamics)
    times[learned & (times > blow_up)] = np.nan
    times[signal == 0] = np.where(above_half, 0.0, math.inf)[signal == 0]
    return Stages(
        task=task,
        dynamics=dynamics,
        eta=step,
        crossing=_unsort(times, order),
        error=_unsort(error, order),
        trapped=_unsort(trapped, order),
        undecided=_unsort(undecided, order),
        blow_up=blow_up,
        warnings=range_warnings(
            task, order, pivots, trapped, doubts, error, eigenvalue, blow_up, coarse=coarse
        ),
        order=order,
        pivots=pivots,
        leading=leading,
        correction=correction,
    )


def _unsort(values: NDArray[Entry], order: NDArray[np.int64]) -> NDArray[Entry]:
    result = np.empty_like(values)
    result[order] = values
    return result


def initial_odds(matrix: Floats, log_scale: float) -> tuple[Floats, Floats, float, float]:
    """Sign, logarithm and log scale of W(0)(I - W(0))^-1; the largest eigenvalue of W(0)."""
    largest = math.log(float(np.abs(matrix).max())) + log_scale
    eigenvalue = math.inf if largest > _LOG_LARGE else 0.0
    if LOG_NEGLIGIBLE < largest <= _LOG_LARGE:
        W = matrix * math.exp(log_scale)
        log_scale = 0.0
        eigenvalue = float(np.linalg.eigvalsh(W)[-1])
        matrix = W
        if eigenvalue < LARGEST_EIGENVALUE:
            odds = np.linalg.solve(np.eye(len(W)) - W, W)
            matrix = (odds + odds.T) / 2
    with np.errstate(divide="ignore"):
        return np.sign(matrix), np.log(np.abs(matrix)), log_scale, eigenvalue
